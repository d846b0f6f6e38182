"""Quantiles of streams: a sketch with a certain error in one pass, and exactly in a few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mercer._typing import Array
from mercer.data.base import Block, Source
from mercer.data.categories import column_of
from mercer.data.table import DataError

__all__ = ["Sketch", "Sketches", "quantiles", "sketches"]


@dataclass(frozen=True)
class Sketch:
    r"""Some of the values of a column, with weights, that tell ranks up to a known error.

    Level h holds values that stand for :math:`2^h` each. Where a level has more than `size` values
    they are sorted, every other one goes up a level, and a rank may be wrong by :math:`2^h` more.
    This is counted, so that `error` is certain: at most :math:`\log_2(n / k)` levels make one such
    step in :math:`k 2^h` values, which is :math:`n \log_2(n / k) / k` in all.

    Parameters
    ----------
    size : int
        Values a level may hold, k.
    levels : tuple of arrays
        Values of every level.
    n : int
        Number of values that were seen.
    error : int
        Most by which a rank is wrong.
    low, high : float
        Smallest and largest value.
    odd : bool
        Which of two neighbours goes up next: in turn, so that errors do not add up on one side.

    References
    ----------
    G. S. Manku, S. Rajagopalan and B. G. Lindsay, Approximate medians and other quantiles in one
    pass and with limited memory, SIGMOD 1998; P. K. Agarwal et al., Mergeable summaries, PODS 2012.

    Examples
    --------
    >>> sketch = Sketch.of(np.arange(10_000.0), 500) + Sketch.of(np.arange(10_000.0, 20_000.0), 500)
    >>> low, high = sketch.bracket(9_999)
    >>> bool(low <= 9_999 <= high), sketch.error / sketch.n < 0.01
    (True, True)
    """

    size: int
    levels: tuple[Array, ...]
    n: int
    error: int
    low: float
    high: float
    odd: bool = False

    @classmethod
    def of(cls, values: ArrayLike, size: int) -> Sketch:
        """Return the sketch of some values.

        Parameters
        ----------
        values : (n,) array
            Without NaN.
        size : int
        """
        x = np.asarray(values, dtype=np.float64)
        low, high = (float(x.min()), float(x.max())) if len(x) else (np.inf, -np.inf)
        return cls(size, (x,), len(x), 0, low, high)._compact()

    def __add__(self, other: Sketch) -> Sketch:
        height = max(len(self.levels), len(other.levels))
        nothing = np.empty(0)
        a, b = (s.levels + (nothing,) * (height - len(s.levels)) for s in (self, other))
        return Sketch(
            self.size,
            tuple(np.concatenate(pair) for pair in zip(a, b, strict=True)),
            self.n + other.n,
            self.error + other.error,
            min(self.low, other.low),
            max(self.high, other.high),
            self.odd ^ other.odd,
        )._compact()

    def _compact(self) -> Sketch:
        levels, error, odd = list(self.levels), self.error, self.odd
        h = 0
        while h < len(levels):
            if len(levels[h]) > self.size:
                if h + 1 == len(levels):
                    levels.append(np.empty(0))
                x = np.sort(levels[h])
                alone = len(x) % 2  # one of an odd number stays
                levels[h] = x[:alone]
                levels[h + 1] = np.concatenate([levels[h + 1], x[alone + int(odd) :: 2]])
                error, odd = error + 2**h, not odd
            h += 1
        return Sketch(self.size, tuple(levels), self.n, error, self.low, self.high, odd)

    def _ranked(self) -> tuple[Array, NDArray[np.int64]]:
        """Return the values in order, and how many values each and those before it stand for."""
        x = np.concatenate(self.levels)
        weights = np.concatenate(
            [np.full(len(level), 2**h, dtype=np.int64) for h, level in enumerate(self.levels)]
        )
        order = np.argsort(x, kind="stable")
        return x[order], np.cumsum(weights[order])

    def bracket(self, rank: int) -> tuple[float, float]:
        """Return two values that the value of this rank certainly lies between.

        Parameters
        ----------
        rank : int
            From 0 for the smallest to n - 1 for the largest.
        """
        x, total = self._ranked()
        if not self.error:
            return float(x[rank]), float(x[rank])
        # The number of values up to x[i] is total[i], give or take the error.
        below = int(np.searchsorted(total + self.error, rank, side="right")) - 1
        above = int(np.searchsorted(total - self.error, rank, side="right"))
        return (
            float(x[below]) if below >= 0 else self.low,
            float(x[above]) if above < len(x) else self.high,
        )

    def quantile(self, q: float) -> float:
        """Return a value whose rank is nearest to the rank of a quantile.

        Parameters
        ----------
        q : float
            Between 0 and 1.
        """
        if not self.n:
            return float("nan")
        x, total = self._ranked()
        i = int(np.searchsorted(total, q * (self.n - 1), side="right"))
        return float(x[min(i, len(x) - 1)])


@dataclass(frozen=True)
class Sketches:
    """A quantile sketch for each of several columns, or for a range of their values.

    Parameters
    ----------
    each : tuple of Sketch
    n, below, at : (k,) arrays
        Numbers of all values, of those below the range, and of those at its lower end.
    """

    each: tuple[Sketch, ...]
    n: NDArray[np.int64]
    below: NDArray[np.int64]
    at: NDArray[np.int64]

    def __add__(self, other: Sketches) -> Sketches:
        each = tuple(a + b for a, b in zip(self.each, other.each, strict=True))
        return Sketches(each, self.n + other.n, self.below + other.below, self.at + other.at)


Part = tuple[int, float, float]
"""A column, and the ends of a range of its values."""

EVERYTHING = (-np.inf, np.inf)


def _work(block: Block, shared: int, state: Sequence[Part]) -> Sketches:
    each, n, below, at = [], [], [], []
    column, values = -1, np.empty(0)
    for j, low, high in state:
        if j != column:
            found = column_of(block.X, j)
            if found.dtype == object:
                raise DataError(f"column {j} holds words, which have no quantiles")
            column, values = j, found[~np.isnan(found)]
        each.append(Sketch.of(values[(values > low) & (values < high)], shared))
        n.append(len(values))
        below.append(np.count_nonzero(values < low))
        at.append(np.count_nonzero(values == low))
    return Sketches(tuple(each), np.array(n), np.array(below), np.array(at))


def sketches(
    source: Source, columns: Sequence[int] | None = None, size: int = 2048, **how: Any
) -> Sketches:
    """Return a sketch of every column, in one pass.

    Parameters
    ----------
    source : Source
    columns : sequence of int, optional
        Numbers of the columns; all by default.
    size : int, default=2048
        Values that a level of a sketch may hold; ranks of n values are wrong by less than
        ``n * log2(n / size) / size``, usually by much less, and the sketch tells by how much.
    **how
        Passed to :meth:`Source.total`.

    Examples
    --------
    >>> from mercer.data import as_source
    >>> found = sketches(as_source(np.arange(101.0)[:, None]))
    >>> found.each[0].quantile(0.5), found.each[0].error
    (50.0, 0)
    """
    chosen = range(source.n_features) if columns is None else columns
    result: Sketches = source.total(
        _work, size, [(j, *EVERYTHING) for j in chosen], **({"rows": 65_536} | how)
    )
    return result


def quantiles(
    source: Source,
    q: ArrayLike,
    columns: Sequence[int] | None = None,
    *,
    size: int = 2048,
    **how: Any,
) -> Array:
    """Return quantiles of columns, exactly, whatever the blocks and their order.

    A sketch brackets each quantile, and further passes sketch what lies inside the brackets until
    it is held whole. Each divides the number of values in question by about
    ``size / log2(n / size)``: a million rows take two passes, 10^9 take three or four.

    Parameters
    ----------
    source : Source
    q : (k,) array-like
        Between 0 and 1.
    columns : sequence of int, optional
        Numbers of the columns; all by default.
    size : int, default=2048
    **how
        Passed to :meth:`Source.total`.

    Returns
    -------
    (k, columns) array
        As NumPy's, linear between neighbours; NaN where a column has no value.

    Examples
    --------
    >>> from mercer.data import as_source
    >>> X = np.random.default_rng(0).normal(size=(5000, 2))
    >>> bool(
    ...     (quantiles(as_source(X), [0.25, 0.5], size=64) == np.quantile(X, [0.25, 0.5], 0)).all()
    ... )
    True
    """
    chosen = list(range(source.n_features) if columns is None else columns)
    levels = np.atleast_1d(np.asarray(q, dtype=np.float64))
    result = np.full((len(levels), len(chosen)), np.nan)
    how = {"rows": 65_536} | how
    # What is still open: for a quantile of a column, the range it is known to lie in.
    ranges = {(c, i): EVERYTHING for c in range(len(chosen)) for i in range(len(levels))}
    while ranges:
        parts = [(chosen[c], *ends) for (c, _), ends in ranges.items()]
        found: Sketches = source.total(_work, size, parts, **how)
        left = {}
        for k, ((c, i), ends) in enumerate(ranges.items()):
            if not found.n[k]:
                continue
            at = levels[i] * (found.n[k] - 1)
            floor, ceil = (
                _located(rank - found.below[k], found.at[k], found.each[k], ends)
                for rank in (int(np.floor(at)), int(np.ceil(at)))
            )
            if floor[0] == floor[1] and ceil[0] == ceil[1]:
                result[i, c] = _between(floor[0], ceil[0], at - np.floor(at))
            else:
                left[c, i] = (floor[0], ceil[1])
        ranges = left
    return result


def _located(rank: int, at: int, inside: Sketch, ends: tuple[float, float]) -> tuple[float, float]:
    """Return bounds of the value of a rank, counted from the lower end of a range."""
    if rank < at:
        return ends[0], ends[0]
    if rank - at >= inside.n:
        return ends[1], ends[1]
    return inside.bracket(rank - at)


def _between(a: float, b: float, t: float) -> float:
    """Interpolate at t between two neighbours, rounded as NumPy rounds it."""
    return a + (b - a) * t if t < 0.5 else b - (b - a) * (1 - t)
