"""Means of a target within categories, apart for every fold of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.data import DataError
from mercer.data.base import Block
from mercer.data.sampling import fold_of
from mercer.data.statistics import column_of
from mercer.data.table import factorized

__all__ = ["FOLD_SEED", "Groups", "grouped", "key_of", "merged", "shrunk"]


# Of the folds.
FOLD_SEED = 1


def key_of(value: Any) -> Any:
    """Return a value as the key of a category: one NaN for all.

    Parameters
    ----------
    value : object
    """
    return np.nan if value != value else value


def merged(a: Array, b: Array) -> Array:
    """Return counts, means and squared deviations of two sets of values as those of one.

    Parameters
    ----------
    a, b : (..., 3, K) arrays
        Counts, means, sums of squared deviations.
    """
    n = a[..., 0, :] + b[..., 0, :]
    share = b[..., 0, :] / np.maximum(n, 1.0)
    delta = b[..., 1, :] - a[..., 1, :]
    squares = a[..., 2, :] + b[..., 2, :] + delta**2 * a[..., 0, :] * share
    return np.stack([n, a[..., 1, :] + delta * share, squares], axis=-2)


@dataclass(frozen=True)
class Groups:
    """Counts, means and squared deviations of targets by column, category and fold.

    Parameters
    ----------
    tables : tuple of dict
        For each column, from a category to an array (cv, 3, K).
    """

    tables: tuple[dict[Any, Array], ...]

    def __add__(self, other: Groups) -> Groups:
        joined = []
        for mine, theirs in zip(self.tables, other.tables, strict=True):
            table = dict(mine)
            for key, stats in theirs.items():
                table[key] = merged(table[key], stats) if key in table else stats
            joined.append(table)
        return Groups(tuple(joined))


def grouped(block: Block, shared: tuple[tuple[int, ...], int, Any], state: None) -> Groups:
    """Return the groups of a block; the work of a pass.

    Parameters
    ----------
    block : Block
    shared : tuple
        Columns, number of folds, and the classes or None if targets are numbers.
    state : None
    """
    columns, cv, classes = shared
    targets = np.asarray(block.y)
    if targets.ndim != 1:
        raise DataError(f"one target a row encodes categories; these have shape {targets.shape}")
    if classes is None:
        Y = targets.astype(np.float64)[:, None]
    else:
        Y = np.stack([targets == c for c in classes], axis=1).astype(np.float64)
    fold = fold_of(block.X, cv, FOLD_SEED)
    tables = []
    for j in columns:
        keys, codes = factorized(column_of(block.X, j))
        size = len(keys) * cv
        group = codes * cv + fold
        n = np.bincount(group, minlength=size).astype(np.float64)
        stats = np.zeros((size, 3, Y.shape[1]))
        stats[:, 0] = n[:, None]
        for k, y in enumerate(Y.T):
            mean = np.bincount(group, y, minlength=size) / np.maximum(n, 1.0)
            stats[:, 1, k] = mean
            stats[:, 2, k] = np.bincount(group, (y - mean[group]) ** 2, minlength=size)
        each = stats.reshape(len(keys), cv, 3, Y.shape[1])
        tables.append({key_of(key): each[i] for i, key in enumerate(keys)})
    return Groups(tuple(tables))


def shrunk(stats: Array, overall: Array, smooth: float | str) -> Array:
    r"""Return means of categories, drawn towards the mean of all as far as they are uncertain.

    .. math:: \lambda \bar y_c + (1 - \lambda) \bar y, \qquad
              \lambda = \frac{n_c}{n_c + m}, \quad m = \hat\sigma_c^2 / \hat\sigma^2

    with the variance within the category and that of all targets, or a given m.

    Parameters
    ----------
    stats : (k, 3, K) array
        Counts, means and squared deviations of the categories.
    overall : (3, K) array
        Those of all rows.
    smooth : float or "auto"
        The number m of rows that the mean of all counts for.

    References
    ----------
    D. Micci-Barreca, A preprocessing scheme for high-cardinality categorical attributes in
    classification and prediction problems, SIGKDD Explorations 3 (2001), eqs. (3)-(5).
    """
    n, mean, squares = stats[:, 0], stats[:, 1], stats[:, 2]
    all_mean, all_variance = overall[1], overall[2] / np.maximum(overall[0], 1.0)
    if smooth == "auto":
        weight = all_variance * n
        noise = squares / np.maximum(n, 1.0)
    else:
        weight, noise = n, np.full_like(n, float(smooth))
    total = weight + noise
    share = np.where(total > 0, weight / np.where(total > 0, total, 1.0), 0.0)
    found: Array = np.where(n > 0, share * mean + (1 - share) * all_mean, all_mean)
    return found
