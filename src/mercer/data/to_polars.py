"""Columns as frames of Polars."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from mercer._typing import PointsLike

__all__ = ["frame"]


def frame(X: PointsLike, names: Sequence[str]) -> pl.DataFrame:
    """Return an array as a data frame of Polars.

    Parameters
    ----------
    X : (n, p) array
    names : sequence of str

    Examples
    --------
    >>> import numpy as np
    >>> frame(np.zeros((2, 2)), ["a", "b"]).columns
    ['a', 'b']
    """
    return pl.DataFrame(X, schema=list(names))
