"""Blocks as frames, for estimators that ask for features by name."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import scipy.sparse as sp

from mercer._typing import PointsLike
from mercer.data.table import Table

__all__ = ["frame"]


def frame(X: PointsLike, names: Sequence[str]) -> pd.DataFrame:
    """Return rows as a data frame; an array is not copied.

    Parameters
    ----------
    X : (n, p) array, CSR matrix or Table
    names : sequence of str

    Examples
    --------
    >>> import numpy as np
    >>> frame(np.zeros((2, 2)), ["a", "b"]).columns.tolist()
    ['a', 'b']
    """
    if isinstance(X, Table):
        return pd.DataFrame(dict(zip(names, X.columns.values(), strict=True)))
    if sp.issparse(X):
        return pd.DataFrame.sparse.from_spmatrix(X, columns=list(names))
    return pd.DataFrame(X, columns=list(names), copy=False)
