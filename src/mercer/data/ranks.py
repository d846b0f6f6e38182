"""Mid-ranks of the values of columns, in bounded memory and in any order of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer._typing import AnyArray, Array
from mercer.data.base import Block, Source, Sums
from mercer.data.sampling import fingerprints
from mercer.data.table import DataError, Table

__all__ = ["MidRanks", "mid_ranks"]

Counts = NDArray[np.int64]

VALUES_PER_EXTREME = 64
"""The smallest and the largest values that are always kept are this part of all that are kept."""


@dataclass(frozen=True)
class MidRanks:
    """Values of a column in order, and the numbers of rows below and at each of them.

    Parameters
    ----------
    values : (k,) array
        Different values, ascending.
    below, equal : (k,) arrays of int
        Numbers of rows with a smaller and with the same value.
    n : int
        Number of rows whose value is not missing.
    """

    values: Array
    below: Counts
    equal: Counts
    n: int

    @property
    def levels(self) -> Array:
        """Share of the rows below a value and of half the rows at it: its mid-rank over n."""
        return np.asarray((self.below + 0.5 * self.equal) / max(self.n, 1))

    @property
    def gap(self) -> float:
        """Largest step of `levels` across values that are not held; 0 if every value is."""
        skipped = np.diff(self.below) > self.equal[:-1]
        return float(np.diff(self.levels)[skipped].max(initial=0.0))


@dataclass(frozen=True)
class _Values:
    """Some of the different values of a column: frequent, extreme and drawn by their hashes.

    `frequent` are Misra and Gries' counters. There are at most `size` of them, and all are lowered
    alike where there would be more; so a value is missing only if it has at most a share of
    1 / (size + 1) of the rows, and counts are exact if nothing was lowered.
    """

    size: int
    n: int
    frequent: Array
    counts: Counts
    lowered: bool
    keys: NDArray[np.uint64]
    drawn: Array
    ends: Array

    @classmethod
    def of(cls, x: Array, size: int) -> _Values:
        values, counts = np.unique(x, return_counts=True)
        keys = fingerprints(values[:, None])
        return cls(size, len(x), values, counts, False, keys, values, values)._bounded()

    def __add__(self, other: _Values) -> _Values:
        frequent, index = np.unique(
            np.concatenate([self.frequent, other.frequent]), return_inverse=True
        )
        counts = np.zeros(len(frequent), dtype=np.int64)
        np.add.at(counts, index, np.concatenate([self.counts, other.counts]))
        drawn, first = np.unique(np.concatenate([self.drawn, other.drawn]), return_index=True)
        return _Values(
            self.size,
            self.n + other.n,
            frequent,
            counts,
            self.lowered or other.lowered,
            np.concatenate([self.keys, other.keys])[first],
            drawn,
            np.union1d(self.ends, other.ends),
        )._bounded()

    def _bounded(self) -> _Values:
        size, frequent, counts, lowered = self.size, self.frequent, self.counts, self.lowered
        if len(counts) > size:
            left = counts - np.partition(counts, -size - 1)[-size - 1]
            frequent, counts, lowered = frequent[left > 0], left[left > 0], True
        keys, drawn, ends = self.keys, self.drawn, self.ends
        if len(keys) > size:
            chosen = np.sort(np.argpartition(keys, size)[:size])
            keys, drawn = keys[chosen], drawn[chosen]
        few = max(size // VALUES_PER_EXTREME, 1)
        if len(ends) > 2 * few:
            ends = np.concatenate([ends[:few], ends[-few:]])
        return _Values(size, self.n, frequent, counts, lowered, keys, drawn, ends)


def _values(block: Block, size: int, names: Sequence[str]) -> Sums:
    X = _numbers(block)
    found = {}
    for j, name in enumerate(names):
        x = X[:, j].astype(np.float64) + 0.0  # one zero, not two
        if np.isinf(x).any():
            raise DataError(f"Input X contains infinity, which has no rank: column {name!r}")
        found[str(j)] = _Values.of(x[~np.isnan(x)], size)
    return Sums(found)


def _counts(block: Block, shared: None, knots: dict[int, Array]) -> Sums:
    X = _numbers(block)
    found = {}
    for j, values in knots.items():
        x = np.sort(X[:, j].astype(np.float64))
        x = x[: len(x) - np.count_nonzero(np.isnan(x))]  # NaN is sorted to the end
        below, upto = (np.searchsorted(x, values, side=side) for side in ("left", "right"))
        found[str(j)] = np.stack([below, upto - below])
    return Sums(found)


def _numbers(block: Block) -> AnyArray:
    if sp.issparse(block.X):
        raise DataError("ranks of sparse columns are not sparse; use X.toarray()")
    return block.X.numbers() if isinstance(block.X, Table) else block.X


def mid_ranks(source: Source, size: int = 10_000, **how: Any) -> list[MidRanks]:
    """Return values of every column with their numbers of rows below and equal.

    In one pass, columns with at most `size` different values are held whole. Of others there are
    `size` values drawn by their hashes, all values with more than a share 1 / (size + 1) of the
    rows, and the smallest and largest; a second pass counts the rows below and at each of them.
    All counts are exact, and neither they nor the choice depend on blocks or on the order of rows.

    Parameters
    ----------
    source : Source
    size : int, default=10,000
        Different values of a column that are held at once.
    **how
        Passed to :meth:`Source.total`.

    References
    ----------
    J. Misra and D. Gries, Finding repeated elements, Science of Computer Programming 2 (1982);
    P. K. Agarwal et al., Mergeable summaries, PODS 2012, Theorem 1.

    Examples
    --------
    >>> from mercer.data import as_source
    >>> found = mid_ranks(as_source(np.array([[3.0], [1.0], [3.0], [7.0]])))[0]
    >>> found.values.tolist(), found.below.tolist(), found.equal.tolist()
    ([1.0, 3.0, 7.0], [0, 1, 3], [1, 2, 1])
    >>> found.levels.tolist(), found.gap
    ([0.125, 0.5, 0.875], 0.0)
    """
    names = source.feature_names or [f"x{j}" for j in range(source.n_features)]
    first = source.total(_values, size, names, **how)
    held: list[_Values] = [first[str(j)] for j in range(len(names))]
    knots = {
        j: np.unique(np.concatenate([v.frequent, v.drawn, v.ends]))
        for j, v in enumerate(held)
        if v.lowered
    }
    second = source.total(_counts, None, knots, **how) if knots else {}
    result = []
    for j, v in enumerate(held):
        if not v.lowered:
            below = np.cumsum(v.counts) - v.counts
            result.append(MidRanks(v.frequent, below, v.counts, v.n))
            continue
        below, equal = second[str(j)]
        # Counters depend on the order of rows, but not which of them certainly has a counter.
        kept = (equal * (size + 1) > v.n) | np.isin(knots[j], np.union1d(v.drawn, v.ends))
        result.append(MidRanks(knots[j][kept], below[kept], equal[kept], v.n))
    return result
