"""Samples of rows by a hash of their contents, not of where they lie or who reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer._typing import PointsLike, TargetsLike, WeightsLike
from mercer.data.base import Block, Source
from mercer.data.table import Table, hashes, stack

__all__ = ["FingerprintSample", "draw", "fingerprints", "fold_of"]

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
