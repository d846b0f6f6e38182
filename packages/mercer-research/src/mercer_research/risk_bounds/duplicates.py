"""Rows that occur twice: copies of one measurement, or equal by chance as in a table of counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._typing import PointsLike
from mercer.kernels.points import is_sparse

__all__ = ["CopiedRows", "find_copies", "identify"]

# Cells that are compared to tell copies from rows that are equal by chance: about a second.
MAX_CELLS_COMPARED = 2e8

# A row that is equal by chance has neighbours that differ from it in one column, or in two where
# one column follows from another; a copy stands alone.
MIN_DIFFERING_COLUMNS = 3

# Splits drawn at random; as many rows on both sides as none of them has is no chance.
N_RANDOM_SPLITS = 999


def identify(*parts: object) -> list[NDArray[np.intp]]:
    """Return a number for every row, the same for equal rows of all parts.

    Parameters
    ----------
    *parts : (n, p) arrays, sparse matrices or sequences of objects

    Examples
    --------
    >>> identify(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[3.0, 4.0]]))
    [array([0, 1]), array([1])]
    """
    lengths = [_count(part) for part in parts]
    keys: Sequence[bytes] = [key for part in parts for key in _keys(part)]
    seen: dict[bytes, int] = {}
    numbers = np.fromiter((seen.setdefault(key, len(seen)) for key in keys), np.intp, len(keys))
    return np.split(numbers, np.cumsum(lengths)[:-1])


def _count(part: Any) -> int:
    return int(part.shape[0]) if hasattr(part, "shape") else len(part)


def _keys(part: Any) -> list[bytes]:
    """Return the bytes of every row; 0 and -0 are one number."""
    if is_sparse(part):
        rows = part.tocsr(copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        ends, where, values = rows.indptr, rows.indices.astype(np.int64), rows.data.astype(float)
        return [where[a:b].tobytes() + values[a:b].tobytes() for a, b in pairwise(ends)]
    table = np.asarray(part)
    if table.dtype.kind in "biuf":
        plain = np.ascontiguousarray(table, dtype=np.float64) + 0.0
        return [row.tobytes() for row in plain]
    return [repr(list(np.ravel(row))).encode() for row in table]


@dataclass(frozen=True, eq=False)
class CopiedRows:
    """Which rows repeat others; see :func:`find_copies`."""

    train: NDArray[np.bool_]
    """Training rows that copy an earlier training row, (n,)."""

    test: NDArray[np.bool_]
    """Held-out rows that copy a training row or an earlier held-out row, (m,)."""

    crossing: int
    """Held-out rows that copy a training row."""

    chance: int
    """Held-out rows that equal a training row as discrete values do, and are no copies."""

    expected: float
    """How many of those a split at random has, on average."""

    unlikely: bool
    """Whether no split of 999 at random has so many."""


def find_copies(X: PointsLike, X_test: PointsLike = None, *, random_state: int = 0) -> CopiedRows:
    r"""Find rows that are copies of others, within the training rows and across the split.

    Two rows of continuous features are never equal by chance, two rows of a table of counts often
    are. A row that is equal by chance has neighbours that agree with it in all columns but one; a
    copy stands alone, with every other row different in three columns or more (in both of two).
    Columns of two values do not count, since a code of indicators changes two of them at a time.

    Rows that are equal by chance are as often on the same side of the split as on both: where more
    of the held-out rows have a twin in training than in any of 999 splits drawn at random, the
    split copied them.

    Parameters
    ----------
    X : (n, p) points
        Training rows.
    X_test : (m, p) points, optional
        Held-out rows.
    random_state : int, default=0
        Splits drawn.

    Returns
    -------
    Copies

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> find_copies(X[:40], np.concatenate([X[40:], X[:2]])).crossing
    2
    >>> dice = np.random.default_rng(0).integers(1, 7, size=(300, 2))
    >>> found = find_copies(dice[:200], dice[200:])
    >>> found.crossing, found.chance, found.unlikely
    (0, 100, False)
    """
    n = _count(X)
    groups = np.concatenate(identify(X) if X_test is None else identify(X, X_test))
    sizes = np.bincount(groups)
    first = np.full(len(sizes), len(groups))
    np.minimum.at(first, groups, np.arange(len(groups)))
    train_sizes = np.bincount(groups[:n], minlength=len(sizes))
    twinned = np.flatnonzero(sizes > 1)
    copied = np.zeros(len(sizes), dtype=bool)
    if len(twinned) and not (is_sparse(X) or _objects(X)):
        table = np.asarray(X, dtype=np.float64)
        if X_test is not None:
            table = np.concatenate([table, np.asarray(X_test, dtype=np.float64)])
        copied[twinned] = _stand_alone(table[first], twinned)
    repeats = copied[groups] & (first[groups] < np.arange(len(groups)))
    test = groups[n:]
    crossing = copied[test] & (train_sizes[test] > 0)
    shared = ~copied[test] & (train_sizes[test] > 0)
    expected, unlikely = _by_chance(
        groups[~copied[groups]], len(test), int(shared.sum()), random_state
    )
    return CopiedRows(
        repeats[:n], repeats[n:], int(crossing.sum()), int(shared.sum()), expected, unlikely
    )


def _objects(X: PointsLike) -> bool:
    return np.asarray(X).dtype.kind not in "biuf"


def _stand_alone(rows: NDArray[np.float64], which: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which of the distinct rows, among those asked for, have no near neighbour."""
    several = [len(np.unique(column)) > 2 for column in rows.T]
    rows = rows[:, several]
    d = rows.shape[1]
    if d < 2:
        return np.zeros(len(which), dtype=bool)
    # Beyond the budget a share of the repeated rows speaks for the rest.
    some = which[:: max(1, int(np.ceil(len(which) * rows.size / MAX_CELLS_COMPARED)))]
    alone = np.zeros(len(some), dtype=bool)
    for k, row in enumerate(some):
        agreeing = np.zeros(len(rows), dtype=np.int32)
        for j in range(d):
            agreeing += rows[:, j] == rows[row, j]
        agreeing[row] = 0
        alone[k] = d - agreeing.max() >= min(MIN_DIFFERING_COLUMNS, d)
    if len(some) < len(which):
        return np.full(len(which), bool(np.mean(alone) > 0.5))
    return alone


def _by_chance(
    groups: NDArray[np.intp], m: int, seen: int, random_state: int
) -> tuple[float, bool]:
    """Return how many held-out rows have a twin in training at random, and whether more have."""
    if not seen:
        return 0.0, False
    rng = np.random.default_rng(random_state)
    _, groups = np.unique(groups, return_inverse=True)
    sizes, m = np.bincount(groups), min(m, len(groups))
    counts = np.empty(N_RANDOM_SPLITS)
    for k in range(N_RANDOM_SPLITS):
        held = np.bincount(groups[rng.permutation(len(groups))[:m]], minlength=len(sizes))
        counts[k] = held[held < sizes].sum()
    return float(counts.mean()), bool(seen > counts.max())
