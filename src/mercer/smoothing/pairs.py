"""Pairs of points: all, some or the closest, in units of the features' spreads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from mercer._typing import Array, PointsLike
from mercer.kernels.points import to_dense

__all__ = [
    "Pairs",
    "all_pairs",
    "as_sample",
    "feature_scales",
    "in_units",
    "nearest_pairs",
    "neighbours",
    "some_rows",
]

Index = NDArray[np.intp]

# Trees find neighbours in a few features; in many they compare all, so that rows are fewer.
TREE_FEATURES, WIDE_ROWS = 15, 4000
# Features of sparse rows that are given a scale each.
MAX_SCALES = 10_000_000


class Pairs(NamedTuple):
    """Pairs of rows, ``first < second``, with the squares of their distances."""

    first: Index
    second: Index
    squares: Array


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


def all_pairs(X: Array, max_pairs: int) -> Pairs:
    """Return all pairs of rows, or as many drawn evenly where there are more."""
    n = len(X)
    if n * (n - 1) // 2 <= max_pairs:
        first, second = np.triu_indices(n, 1)
    else:
        rng = np.random.default_rng(0)
        one = rng.integers(0, n, size=max_pairs)
        other = (one + rng.integers(1, n, size=max_pairs)) % n
        first, second = np.minimum(one, other), np.maximum(one, other)
    return Pairs(first, second, squared_distances(X, first, second))


def squared_distances(X: Array, first: Index, second: Index) -> Array:
    """Return the squared distances of pairs of rows, a few at a time."""
    out = np.empty(len(first))
    step = max(1, 2**22 // X.shape[1])
    for start in range(0, len(first), step):
        part = slice(start, start + step)
        out[part] = np.square(X[first[part]] - X[second[part]]).sum(axis=1)
    return out


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


def nearest_pairs(X: Array, k: int, max_pairs: int) -> Pairs:
    """Return every row paired with its nearest others, each pair once."""
    rows, near, _ = neighbours(X, k)
    one, other = np.repeat(rows, near.shape[1]), near.ravel()
    codes = np.unique(np.minimum(one, other) * len(X) + np.maximum(one, other))
    if len(codes) > max_pairs:
        codes = codes[some_rows(len(codes), max_pairs)]
    first, second = np.divmod(codes, len(X))
    return Pairs(first, second, squared_distances(X, first, second))
