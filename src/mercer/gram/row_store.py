"""The rows of K that a solver works with, computed once and kept while memory lasts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mercer._native import add_rows, assemble
from mercer._threads import map_blocks
from mercer._typing import DType
from mercer.gram.base import Gram
from mercer.kernels.points import BLOCK_BYTES, Array, row_slices

# A matrix of so few samples is computed as a whole: the time is that of a few calls.
MAX_WHOLE_ROWS = 2048
# Rows unused for so many requests make room for others; younger ones stay, and what does not fit
# is computed, used and forgotten: a store that evicts what comes back next is worth nothing.
STALE_REQUESTS = 6


class RowStore:
    """Products with a Gram matrix, row by row, from rows that are kept in bounded memory.

    Parameters
    ----------
    K : Gram
        Where rows come from.
    max_bytes : float
        Memory for rows.
    outlasts : bool, default=False
        Whether other solvers will ask for rows too: then all that are computed are worth keeping.

    Attributes
    ----------
    evaluations : int
        Kernel values computed so far.

    Examples
    --------
    >>> from mercer.gram import Dense
    >>> store = RowStore(Dense(np.array([[2.0, 1.0], [1.0, 3.0]])), 1e6)
    >>> F = np.zeros(2)
    >>> store.add(F, np.array([1]), np.array([10.0]))
    >>> F
    array([10., 30.])
    >>> store.square(np.array([1, 0]))
    array([[3., 1.],
           [1., 2.]])
    """

    def __init__(self, K: Gram, max_bytes: float, outlasts: bool = False) -> None:
        self.K, self.outlasts = K, outlasts
        n = K.shape[0]
        row = n * K.dtype.itemsize
        self._clock = 0
        self._batch = min(BLOCK_BYTES, int(max_bytes) // 2)
        self._index = np.empty(0, dtype=np.intp)  # of the last square, and where it has them
        self._place = np.full(n, -1)
        self._square = np.empty((0, 0), dtype=K.dtype)
        self._buffer = self._spare = self._scratch = np.empty(0, dtype=K.dtype)
        self.evaluations = self._told = 0
        if K.in_memory or (n <= MAX_WHOLE_ROWS and n * row <= max_bytes):
            self.complete()
            return
        capacity = 0 if K.sparse else min(n, int(max_bytes // max(1, row)))
        self._store = np.empty((capacity, n), dtype=K.dtype)
        self._slot, self._owner = np.full(n, -1), np.full(capacity, -1)
        self._used, self._filled = np.zeros(capacity, dtype=np.int64), 0

    def complete(self) -> None:
        """Compute all rows at once, which takes less time than one by one."""
        n = self.K.shape[0]
        self._store = self.K.dense() if self.K.in_memory else self.K.every_row()
        self._slot = self._owner = np.arange(n)
        self._used, self._filled = np.zeros(n, dtype=np.int64), n
        self.evaluations += n * n

    @property
    def keeps(self) -> bool:
        """Whether there is room for rows."""
        return len(self._store) > 0

    @property
    def is_complete(self) -> bool:
        """Whether no row is missing."""
        return self._filled == self.K.shape[0]

    def square(self, index: NDArray[np.intp]) -> Array:
        """Return ``K[index][:, index]``, computing only values that are not stored."""
        if np.array_equal(index, self._index):
            return self._square
        if self.K.sparse:
            # Neighbours are put into a matrix of zeros faster than a square is copied.
            self._index, self._square = index, self.K.block(index, index)
            return self._square
        if len(self._store) == len(index) and np.array_equal(index, self._owner):
            return self._store
        out = self._blank(len(index))
        there = self._place[index]
        here, new = np.flatnonzero(there >= 0), np.flatnonzero(there < 0)
        slots = self._slot[index[new]]
        lacking = new[slots < 0]
        self.evaluations += len(lacking) * len(index)
        if len(lacking) == len(index):
            out = self.K.block(index, index)
        else:
            if len(lacking):
                out[lacking] = self.K.block(index[lacking], index)
            assemble(out, self._square, here, there[here], new, slots, self._store, index)
        self._place[self._index] = -1
        self._place[index] = np.arange(len(index))
        self._index, self._square = index, out
        return out

    def _blank(self, m: int) -> Array:
        """Return room for a square: two buffers take turns, because new memory is slow memory."""
        self._spare, self._buffer = self._buffer, self._spare
        if len(self._buffer) < m * m:
            self._buffer = np.empty(m * m, dtype=self.K.dtype)
        return self._buffer[: m * m].reshape(m, m)

    def add(
        self,
        F: NDArray[np.float64],
        index: NDArray[np.intp],
        t: Array,
        keep: NDArray[np.bool_] | None = None,
    ) -> None:
        """Add ``t @ K[index]`` to `F`, keeping rows that had to be computed where `keep` says so.

        Two vectors of weights t, of shape (2, m), add to two vectors of sums, of shape (2, n).

        A row is written to new memory in the time that it takes to compute it: it is worth keeping
        only if it is read again.
        """
        self._clock += 1
        slots = self._slot[index]
        stored = slots >= 0
        self._add_stored(F, slots[stored], t[..., stored])
        wanted = ~stored if keep is None or self.outlasts else ~stored & keep
        place = self._room(int(np.count_nonzero(wanted)))
        kept = np.flatnonzero(wanted)[: len(place)]
        for part in row_slices(len(kept), F.shape[-1] * self.K.dtype.itemsize, self._batch):
            self._add_new(F, index[kept[part]], t[..., kept[part]], place[part])
        rest = ~stored
        rest[kept] = False
        for part in row_slices(int(np.count_nonzero(rest)), 1, 1024):
            some = np.flatnonzero(rest)[part]
            self.K.add_rows(F, index[some], t[..., some])
        self.evaluations += int(np.count_nonzero(~stored)) * F.shape[-1]

    def _add_stored(self, F: NDArray[np.float64], slots: NDArray[np.intp], t: Array) -> None:
        self._used[slots] = self._clock
        flat, n, weights = self._store.reshape(-1), F.shape[-1], np.ascontiguousarray(t)

        def columnwise(columns: slice) -> None:
            add_rows(F[..., columns], flat, n * slots + columns.start, weights)

        if len(slots):
            map_blocks(columnwise, row_slices(n, 1, max(4096, -(-n // 8))))

    def _add_new(
        self,
        F: NDArray[np.float64],
        index: NDArray[np.intp],
        t: Array,
        slots: NDArray[np.intp],
    ) -> None:
        if np.all(np.diff(slots) == 1):
            self.K.add_rows(F, index, t, self._store[slots[0] : slots[-1] + 1])
        else:
            rows = self._blank_rows(len(slots))
            self.K.add_rows(F, index, t, rows)
            self._store[slots] = rows
        self._keep(index, slots)

    def _blank_rows(self, m: int) -> Array:
        """Return room for rows that are used once, always the same."""
        n = self.K.shape[0]
        if len(self._scratch) < m * n:
            self._scratch = np.empty(m * n, dtype=self.K.dtype)
        return self._scratch[: m * n].reshape(m, n)

    def _room(self, wanted: int) -> NDArray[np.intp]:
        """Return slots for new rows: unused slots, then slots of stale rows."""
        capacity = len(self._store)
        first = np.arange(self._filled, min(capacity, self._filled + wanted))
        self._filled += len(first)
        if len(first) == wanted:
            return first
        stale = np.flatnonzero(self._used[: self._filled] < self._clock - STALE_REQUESTS)
        stale = stale[stale < first[0]] if len(first) else stale
        oldest = stale[np.argsort(self._used[stale], kind="stable")][: wanted - len(first)]
        return np.concatenate([first, oldest])

    def _keep(self, index: NDArray[np.intp], slots: NDArray[np.intp]) -> None:
        evicted = self._owner[slots]
        self._slot[evicted[evicted >= 0]] = -1
        self._slot[index] = slots
        self._owner[slots] = index
        self._used[slots] = self._clock

    def has(self, index: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Answer which rows are kept."""
        return np.asarray(self._slot[index] >= 0)

    def row(self, i: int) -> Array:
        """Return a row that is kept; the caller must not write to it."""
        return np.asarray(self._store[self._slot[i]])

    def spent(self) -> int:
        """Return the number of kernel values computed since this was asked before."""
        spent, self._told = self.evaluations - self._told, self.evaluations
        return spent

    @property
    def dtype(self) -> DType:
        """The dtype of the rows."""
        return self.K.dtype
