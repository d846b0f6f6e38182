"""The rows of K used last, kept in a bounded amount of memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.gram.base import EVERYTHING, Gram, Index, nonzero_rows, positions
from mercer.gram.factor import MAX_BYTES, Solve
from mercer.kernels._pairwise import BLOCK_BYTES, Array, row_slices


class RowCache(Gram):
    """A Gram matrix that remembers the full rows it was last asked for.

    The rows live in one array that is allocated once; the least recently used make room.
    At no time is more memory taken than `max_bytes` and the block that is returned.

    Parameters
    ----------
    gram : Gram
        Where missing rows come from, all those of a request in a single call.
    max_bytes : int, default=200 * 2**20
        Size of the cache; if not even one row fits nothing is kept.

    Attributes
    ----------
    hits, misses : int
        Distinct rows of requests that were found and not found.
    evaluations : int
        Kernel values computed below.

    Examples
    --------
    >>> from mercer.gram import Dense
    >>> cache = RowCache(Dense(np.eye(3)))
    >>> _ = cache.rows([0, 1]), cache.rows([1, 2])
    >>> cache.hits, cache.misses, cache.evaluations
    (1, 3, 9)
    """

    def __init__(self, gram: Gram, max_bytes: int = 200 * 2**20) -> None:
        self.gram = gram
        n = gram.shape[0]
        self.capacity = min(n, int(max_bytes) // max(1, n * gram.dtype.itemsize))
        self._store = np.empty((self.capacity, n), dtype=gram.dtype)
        self._slot = np.full(n, -1, dtype=np.intp)
        self._owner = np.full(self.capacity, -1, dtype=np.intp)
        self._used = np.zeros(self.capacity, dtype=np.int64)
        self._clock = 0
        self.hits = self.misses = self.evaluations = 0

    @property
    def shape(self) -> tuple[int, int]:
        return self.gram.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.gram.dtype

    @property
    def in_memory(self) -> bool:
        return self.gram.in_memory

    @property
    def resident(self) -> bool:
        return self.gram.resident

    @property
    def factor_bytes(self) -> float:
        return self.gram.factor_bytes

    def origin(self) -> tuple[Gram, NDArray[np.intp]]:
        return self.gram.origin()

    def dense(self) -> Array:
        return self.gram.dense()

    def shifted(self, e: Array, max_bytes: float = MAX_BYTES) -> Solve:
        return self.gram.shifted(e, max_bytes)

    def diag(self) -> Array:
        return self.gram.diag()

    def rows(self, index: Index) -> Array:
        index = positions(index, self.shape[0])
        wanted = np.unique(index)
        if len(wanted) > self.capacity:
            return self._pass_through(index)
        missing = wanted[self._slot[wanted] < 0]
        self._clock += 1
        self._used[self._slot[wanted[self._slot[wanted] >= 0]]] = self._clock
        if len(missing):
            self._keep(missing, self._fetch(missing))
        self.hits += len(wanted) - len(missing)
        return self._store[self._slot[index]]

    def _fetch(self, index: Array) -> Array:
        self.misses += len(index)
        self.evaluations += len(index) * self.shape[0]
        return self.gram.rows(index)

    def _keep(self, index: Array, rows: Iterable[Array]) -> None:
        """Store rows in the slots unused for longest, never in one used at this tick."""
        slots = np.argpartition(self._used, len(index) - 1)[: len(index)]
        evicted = self._owner[slots]
        self._slot[evicted[evicted >= 0]] = -1
        for slot, row in zip(slots, rows, strict=True):
            self._store[slot] = row
        self._slot[index] = slots
        self._owner[slots] = index
        self._used[slots] = self._clock

    def _pass_through(self, index: Array) -> Array:
        """Answer a request larger than the cache, keeping the part of it that fits."""
        values = self._fetch(index)
        wanted, first = np.unique(index, return_index=True)
        new = first[self._slot[wanted] < 0][: self.capacity]
        if len(new):
            self._clock += 1
            self._keep(index[new], (values[i] for i in new))
        return values

    def block(self, rows: Index, columns: Index) -> Array:
        """Return a block, from stored rows where they are stored; nothing new is kept."""
        if isinstance(columns, slice) and columns == EVERYTHING:
            return self.rows(rows)
        n = self.shape[0]
        rows, columns = positions(rows, n), positions(columns, n)
        stored = self._slot[rows] >= 0
        if not stored.any():
            self.evaluations += len(rows) * len(columns)
            return self.gram.block(rows, columns)
        out = np.empty((len(rows), len(columns)), dtype=self.dtype)
        out[stored] = self._store[self._slot[rows[stored]][:, None], columns]
        if not stored.all():
            self.evaluations += int((~stored).sum()) * len(columns)
            out[~stored] = self.gram.block(rows[~stored], columns)
        return out

    def matvec(self, v: Array) -> Array:
        """Return ``K v`` from stored rows where `v` meets them, and from below for the rest."""
        v = self._vector(v)
        support = nonzero_rows(v)
        stored = support[self._slot[support] >= 0]
        rest = v.copy()
        rest[stored] = 0.0
        missing = len(support) - len(stored)
        self.evaluations += missing * self.shape[0]
        out = self.gram.matvec(rest) if missing else np.zeros_like(v)
        for part in row_slices(len(stored), 8 * self.shape[0], BLOCK_BYTES):
            s = stored[part]
            out += self._store[self._slot[s]].T.astype(np.float64, copy=False) @ v[s]
        return out
