"""Compiled passes over stored kernel rows: memory is read once, in its order."""

import numpy as np
from numba import njit

__all__ = ["add_rows", "assemble"]

# Columns handled at once: their sums stay in the fastest cache while many rows pass by.
COLUMNS = 2048
# Side of the tiles in which a block is transposed.
TILE = 32


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "nsz"})
def add_rows(F, store, slots, t, first, last):
    """Add ``sum_k t[k] store[slots[k]]`` to ``F``, on the columns from first to last."""
    m = slots.shape[0]
    one = store.dtype.type
    for begin in range(first, last, COLUMNS):
        end = min(begin + COLUMNS, last)
        sums = F[begin:end]
        for k in range(0, m - m % 4, 4):
            r0, r1 = store[slots[k], begin:end], store[slots[k + 1], begin:end]
            r2, r3 = store[slots[k + 2], begin:end], store[slots[k + 3], begin:end]
            t0, t1, t2, t3 = one(t[k]), one(t[k + 1]), one(t[k + 2]), one(t[k + 3])
            for c in range(end - begin):
                sums[c] += np.float64(t0 * r0[c] + t1 * r1[c] + (t2 * r2[c] + t3 * r3[c]))
        for k in range(m - m % 4, m):
            r0, t0 = store[slots[k], begin:end], one(t[k])
            for c in range(end - begin):
                sums[c] += np.float64(t0 * r0[c])


@njit(cache=True, nogil=True, error_model="numpy")
def assemble(out, old, here, there, new, slots, store, columns):
    """Fill a square of kernel values from the last one, from stored rows and by mirroring.

    Rows and columns ``here`` of `out` are ``there`` in `old`. Of the others, numbered by `new`, a
    row is read from the store where its slot is not negative, and stands in `out` already if not.
    """
    for i in range(here.shape[0]):
        to, of = out[here[i]], old[there[i]]
        for j in range(here.shape[0]):
            to[here[j]] = of[there[j]]
    for i in range(new.shape[0]):
        if slots[i] >= 0:
            to, of = out[new[i]], store[slots[i]]
            for j in range(columns.shape[0]):
                to[j] = of[columns[j]]
    for top in range(0, here.shape[0], TILE):
        for i in range(new.shape[0]):
            of = out[new[i]]
            for j in range(top, min(top + TILE, here.shape[0])):
                out[here[j], new[i]] = of[here[j]]
