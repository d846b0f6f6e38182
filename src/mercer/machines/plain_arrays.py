"""Checks of data that have nothing to complain about, without the checks that find out what.

scikit-learn's validation asks a data frame, a list, an array of another library and a sparse matrix
each what they are, in a millisecond. A float64 array of finite numbers needs none of that: what is
asked here is what makes the answer the same, and whatever is in doubt goes the long way.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix

from mercer._typing import PointsLike, TargetsLike

__all__ = ["is_plain_points", "is_plain_targets", "number_classes"]

CSR = (csr_array, csr_matrix)

# From so many samples on scikit-learn warns of labels that look like numbers.
MIN_WARNED_ROWS = 20


def is_plain_points(X: PointsLike) -> bool:
    """Answer whether points are a float64 matrix of finite numbers, contiguous or CSR, not empty.

    Parameters
    ----------
    X : object

    Examples
    --------
    >>> is_plain_points(np.ones((2, 3))), is_plain_points([[1.0]]), is_plain_points(np.ones(3))
    (True, False, False)
    """
    if type(X) in CSR:
        values, laid_out = X.data, X.indices.dtype == X.indptr.dtype == np.int32
    elif type(X) is np.ndarray:
        # A matrix of columns one after the other, as data frames have it, is read as it lies.
        values = X if X.flags.c_contiguous else X.T
        laid_out = values.flags.c_contiguous
    else:
        return False
    if not laid_out or X.ndim != 2 or X.dtype != np.float64 or 0 in X.shape:
        return False
    # A product warns of nothing; squares that overflow are in doubt like what is not finite.
    return math.isfinite(np.vdot(values, values))


def is_plain_targets(y: TargetsLike, n: int) -> bool:
    """Answer whether targets are n finite numbers or truth values in a one-dimensional array.

    Parameters
    ----------
    y : object
    n : int

    Examples
    --------
    >>> is_plain_targets(np.arange(3), 3), is_plain_targets(np.array([1.0, np.nan]), 2)
    (True, False)
    """
    if type(y) is not np.ndarray or y.shape != (n,) or y.dtype.kind not in "biuf":
        return False
    return y.dtype.kind != "f" or math.isfinite(np.vdot(y, y))


def number_classes(y: TargetsLike) -> tuple[Any, Any] | None:
    """Return the classes of integer labels and the position of each label; None if in doubt.

    Parameters
    ----------
    y : object

    Examples
    --------
    >>> number_classes(np.array([3, 1, 3]))
    (array([1, 3]), array([1, 0, 1]))
    """
    if type(y) is not np.ndarray or y.ndim != 1 or y.dtype.kind not in "biu":
        return None
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) > 2 and len(y) > MIN_WARNED_ROWS and len(classes) > round(0.5 * len(y)):
        return None
    return classes, codes
