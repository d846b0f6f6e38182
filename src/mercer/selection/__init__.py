"""Choosing hyperparameters: criteria, their optimization, paths and fusion."""

__all__: list[str] = []
