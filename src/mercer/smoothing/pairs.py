"""Samples in units of the features' spreads, some of their rows, and neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from mercer._typing import Array, PointsLike
from mercer.kernels.points import to_dense

__all__ = [
    "as_sample",
    "feature_scales",
    "in_units",
    "neighbours",
    "some_rows",
]

Index = NDArray[np.intp]

# Trees find neighbours in a few features; in many they compare all, so that rows are fewer.
TREE_FEATURES, WIDE_ROWS = 15, 4000
# Features of sparse rows that are given a scale each.
MAX_SCALES = 10_000_000


def as_sample(X: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Return features (n, p) and targets (n,); refuse other shapes."""
    points, targets = np.asarray(to_dense(X), dtype=float), np.asarray(y, dtype=float)
    points = points[:, None] if points.ndim == 1 else points
    if targets.ndim != 1 or points.ndim != 2 or len(points) != len(targets):
        raise ValueError(
            f"X and y must be n rows and n numbers, got shapes {points.shape} and {targets.shape}."
        )
    if not (np.isfinite(points).all() and np.isfinite(targets).all()):
        raise ValueError("X and y must be finite; leave out or fill in what is missing.")
    return points, targets


def in_units(X: Array, weights: Array | None = None) -> Array:
    """Return features divided by their standard deviations; constant features as they are."""
    return X / feature_scales(X, weights)


def feature_scales(X: PointsLike, weights: Array | None = None) -> Array:
    r"""Return the standard deviation of every feature; one for those that are constant.

    Parameters
    ----------
    X : (n, p) array or sparse matrix
    weights : (n,) array, optional
        Of the rows; equal by default.

    Returns
    -------
    (p,) array

    Examples
    --------
    >>> feature_scales(np.array([[1.0, 5.0], [3.0, 5.0]]))
    array([1., 1.])
    """
    if hasattr(X, "multiply") and X.shape[1] > MAX_SCALES:
        raise ValueError(
            f"a standard deviation for each of {X.shape[1]:,} features is more than {MAX_SCALES:,} "
            "numbers: use standardize=False, select features, or hash them into fewer "
            "(FeatureHasher(n_features=2**20))."
        )
    w = np.ones(X.shape[0]) if weights is None else np.asarray(weights, dtype=float)
    w = w / np.sum(w)
    mean = np.asarray(w @ X).ravel()
    if hasattr(X, "multiply"):
        square = np.asarray(w @ X.multiply(X)).ravel()
        variance = square - mean**2
    else:
        square = w @ np.square(X)
        variance = w @ np.square(X - mean)
    # A column of one value has the variance of its rounding, relative to its square.
    varies = variance > len(w) * np.finfo(float).eps * square
    return np.where(varies, np.sqrt(np.where(varies, variance, 1.0)), 1.0)


def some_rows(n: int, most: int) -> Index:
    """Return at most so many row numbers, ascending, always the same for a size."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).permutation(n)[:most])


def neighbours(X: Array, k: int) -> tuple[Index, Index, Array]:
    """Return rows, their k nearest others and the distances, (m,), (m, k), (m, k)."""
    rows = np.arange(len(X)) if X.shape[1] <= TREE_FEATURES else some_rows(len(X), WIDE_ROWS)
    k = min(k, len(rows) - 1)
    if k < 1:
        raise ValueError("Neighbours need at least two points.")
    found: tuple[Any, Any] = cKDTree(X[rows]).query(X[rows], k + 1)
    distances, index = found
    # A row is its own nearest, unless others coincide with it: then it may stand elsewhere.
    own = index == np.arange(len(rows))[:, None]
    own[~own.any(axis=1), -1] = True
    index, distances = (part[~own].reshape(len(rows), k) for part in (index, distances))
    return rows, rows[index], distances
