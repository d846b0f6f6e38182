"""Linear smoothers: all that one factorization of the squared loss tells."""

__all__: list[str] = []
