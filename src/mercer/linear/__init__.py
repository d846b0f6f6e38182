"""Linear models beside the kernel machines: the relatives that scikit-learn lacks."""

__all__: list[str] = []
