"""The door to a source for whatever holds rows."""

from __future__ import annotations

from typing import Any

from mercer.data.arrays import Arrays
from mercer.data.base import Source

__all__ = ["as_source"]


def as_source(X: Any, y: Any = None, s: Any = None) -> Source:
    """Return rows, with their targets and weights, as a source.

    Parameters
    ----------
    X : Source, array, sparse matrix, memory map, data frame, Arrow table, or Dask collection
    y, s : array-like, optional
        Targets and weights, if `X` does not bring them.

    Examples
    --------
    >>> import numpy as np
    >>> as_source(np.zeros((3, 2))).n_rows
    3
    """
    if isinstance(X, Source):
        return X
    return Arrays(X, y, s)
