"""Random samples of rows that do not depend on who reads them, and quantiles from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from mercer._typing import Array, PointsLike, TargetsLike, WeightsLike
from mercer.data.base import Block, Source
from mercer.data.statistics import column_of
from mercer.data.table import DataError, Table, hashes, stack

__all__ = ["FingerprintSample", "draw", "fingerprints", "fold_of", "quantiles", "sampled_columns"]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)


def _mixed(h: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scatter the bits of 64-bit numbers: a bijection in which every bit depends on every bit."""
    h = (h ^ (h >> np.uint64(30))) * FIRST
    h = (h ^ (h >> np.uint64(27))) * SECOND
    return h ^ (h >> np.uint64(31))


def fingerprints(X: PointsLike, seed: int = 0) -> NDArray[np.uint64]:
    """Return a pseudo-random number for every row that depends on its values only.

    Parameters
    ----------
    X : (n, p) array, CSR matrix or Table
    seed : int

    Returns
    -------
    (n,) array of uint64
        Equal for equal rows, whatever their type and storage, and as if drawn at random otherwise.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 0.0]])
    >>> h = fingerprints(X)
    >>> bool(h[0] == h[2]), bool(h[0] == h[1]), bool((h == fingerprints(sp.csr_array(X))).all())
    (True, False, True)
    """
    with np.errstate(over="ignore"):
        start = _mixed(np.array([seed], dtype=np.uint64) * GOLDEN + GOLDEN)[0]
        if sp.issparse(X):
            X = sp.csr_array(X)  # type: ignore[call-overload]
            bits = (X.data.astype(np.float64) + 0.0).view(np.uint64)
            columns = X.indices.astype(np.uint64)
            terms = _mixed(bits ^ _mixed(columns * GOLDEN + start))
            terms[X.data == 0.0] = 0
            ends = np.concatenate([[np.uint64(0)], np.cumsum(terms, dtype=np.uint64)])
            total = ends[X.indptr[1:]] - ends[X.indptr[:-1]]
        else:
            table = isinstance(X, Table)
            total = np.zeros(len(X), dtype=np.uint64)
            for j, column in enumerate(X.columns.values() if table else X.T):
                key = _mixed(np.array([j], dtype=np.uint64) * GOLDEN + start)[0]
                if column.dtype == object:
                    total += _mixed(hashes(column) ^ key)
                    continue
                values = np.ascontiguousarray(column, dtype=np.float64) + 0.0  # one zero, not two
                bits = values.view(np.uint64)
                total += np.where(values == 0.0, np.uint64(0), _mixed(bits ^ key))
        return _mixed(total + start)


def fold_of(X: PointsLike, folds: int, seed: int) -> NDArray[np.intp]:
    """Return the fold of each row, by what it holds: equal rows are in the same one, whoever asks.

    Parameters
    ----------
    X : (n, p) array, CSR matrix or Table
    folds, seed : int

    Examples
    --------
    >>> fold = fold_of(np.array([[1.0], [2.0], [1.0]]), 5, 0)
    >>> bool(fold[0] == fold[2])
    True
    """
    return (fingerprints(X, seed) % np.uint64(folds)).astype(np.intp)


@dataclass(frozen=True)
class FingerprintSample:
    """The rows of the smallest fingerprints, each different row once.

    Parameters
    ----------
    size : int
        Number of rows that are kept.
    keys : (k,) array of uint64
        Fingerprints, ascending.
    X, y, s : arrays with k rows
        Inputs, targets and weights; None as in :class:`Block`.
    rows : (k,) array of int
        Where the rows were seen.
    n : int
        Number of rows that were seen, of which these are a sample.
    """

    size: int
    keys: NDArray[np.uint64]
    X: PointsLike
    y: TargetsLike
    s: WeightsLike
    rows: NDArray[np.int64]
    n: int

    def __add__(self, other: FingerprintSample) -> FingerprintSample:
        both = np.concatenate([self.keys, other.keys])
        # Of equal rows, the one that was met first: its place and targets do not depend on blocks.
        rows = np.concatenate([self.rows, other.rows])
        order = np.lexsort((rows, both))
        order = order[np.r_[True, np.diff(both[order]) > 0][: len(order)]][: self.size]

        def merge(a: Any, b: Any) -> Any:
            return None if a is None else stack([a, b])[order]

        return FingerprintSample(
            self.size,
            both[order],
            merge(self.X, other.X),
            merge(self.y, other.y),
            merge(self.s, other.s),
            rows[order],
            self.n + other.n,
        )


def sampled(block: Block, size: int, seed: int) -> FingerprintSample:
    """Return the sample of one block; the work of a pass, with its size and seed as shared."""
    keys = fingerprints(block.X, seed)
    _, first = np.unique(keys, return_index=True)
    index = first[:size]
    y = None if block.y is None else np.asarray(block.y)[index]
    s = None if block.s is None else np.asarray(block.s)[index]
    rows = (block.start + index).astype(np.int64)
    return FingerprintSample(size, keys[index], block.X[index], y, s, rows, block.n)


def _work(block: Block, shared: tuple[int, int], state: None) -> FingerprintSample:
    return sampled(block, *shared)


def draw(source: Source, size: int, seed: int = 0, **how: Any) -> FingerprintSample:
    """Return a random sample of the different rows of a source.

    Whatever the blocks, their order and the machines they lie on, the same rows are drawn.

    Parameters
    ----------
    source : Source
    size : int
        Number of rows; all, if there are fewer that differ.
    seed : int, default=0
        Another seed draws another sample.
    **how
        Passed to :meth:`Source.total`.

    Examples
    --------
    >>> from mercer.data import as_source, draw
    >>> X = np.arange(10.0)[:, None]
    >>> a, b = draw(as_source(X), 3), draw(as_source(X[::-1]), 3)
    >>> bool((a.X == b.X).all())
    True
    """
    sample: FingerprintSample = source.total(_work, (size, seed), None, **how)
    return sample


SAMPLED_ROWS = 100_000
"""Rows that quantiles are computed from: the standard error of a rank is at most 0.16 % of them."""

SAMPLE_BYTES = 2**27
"""Memory of the columns that are sampled in one pass."""


@dataclass(frozen=True)
class _PlaceSample:
    """Values of the rows with the smallest keys, which are random numbers by the row's place."""

    size: int
    keys: NDArray[np.uint64]
    values: Array

    def __add__(self, other: _PlaceSample) -> _PlaceSample:
        keys = np.concatenate([self.keys, other.keys])
        return _PlaceSample(self.size, keys, np.concatenate([self.values, other.values]))._bounded()

    def _bounded(self) -> _PlaceSample:
        if len(self.keys) <= self.size:
            return self
        kept = np.sort(np.argpartition(self.keys, self.size - 1)[: self.size])
        return _PlaceSample(self.size, self.keys[kept], self.values[kept])


def _place_sample(block: Block, shared: int, columns: Sequence[int]) -> _PlaceSample:
    values = np.empty((block.n, len(columns)))
    for k, j in enumerate(columns):
        column = column_of(block.X, j)
        if column.dtype == object:
            raise DataError(f"column {j} holds words, which have no quantiles")
        values[:, k] = column
    places = np.arange(block.start, block.start + block.n, dtype=np.float64)
    return _PlaceSample(shared, fingerprints(places[:, None]), values)._bounded()


def sampled_columns(
    source: Source, columns: Sequence[int], size: int = SAMPLED_ROWS, **how: Any
) -> list[Array]:
    """Return the values of each column in a random sample of the rows, without missing ones.

    The sample depends on the order of the rows, but not on blocks and threads.

    Parameters
    ----------
    source : Source
    columns : sequence of int
        Numbers of the columns.
    size : int, default=100_000
        Number of rows; all, if there are fewer.
    **how
        Passed to :meth:`Source.total`.

    Examples
    --------
    >>> from mercer.data import as_source
    >>> X = np.array([[1.0, np.nan], [2.0, 3.0]])
    >>> [values.tolist() for values in sampled_columns(as_source(X), [0, 1])]
    [[1.0, 2.0], [3.0]]
    """
    result = []
    together = max(1, SAMPLE_BYTES // (8 * size))
    for first in range(0, len(columns), together):
        part = columns[first : first + together]
        sample: _PlaceSample = source.total(_place_sample, size, part, **({"rows": 65_536} | how))
        result += [values[~np.isnan(values)] for values in sample.values.T]
    return result


def quantiles(
    source: Source,
    q: ArrayLike,
    columns: Sequence[int] | None = None,
    *,
    size: int = SAMPLED_ROWS,
    **how: Any,
) -> Array:
    r"""Return quantiles of columns, exactly if there are at most `size` rows.

    Of more rows `size` are drawn at random, the same whatever the blocks and threads. The standard
    error of the rank of a quantile is then :math:`\sqrt{q (1 - q) / \text{size}}`. One pass reads
    about 160 columns.

    Parameters
    ----------
    source : Source
    q : (k,) array-like
        Between 0 and 1.
    columns : sequence of int, optional
        Numbers of the columns; all by default.
    size : int, default=100_000
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
    >>> bool((quantiles(as_source(X), [0.25, 0.5]) == np.quantile(X, [0.25, 0.5], 0)).all())
    True
    """
    chosen = list(range(source.n_features) if columns is None else columns)
    levels = np.atleast_1d(np.asarray(q, dtype=np.float64))
    result = np.full((len(levels), len(chosen)), np.nan)
    for k, values in enumerate(sampled_columns(source, chosen, size, **how)):
        if len(values):
            result[:, k] = np.quantile(values, levels)
    return result
