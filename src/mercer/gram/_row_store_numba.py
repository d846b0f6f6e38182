"""The compiled assembly of a square of kernel values from those at hand."""

from mercer._compile_numba import njit

__all__ = ["assemble"]

# Side of the tiles in which a block is transposed.
TILE_ROWS = 32


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
    for top in range(0, here.shape[0], TILE_ROWS):
        for i in range(new.shape[0]):
            of = out[new[i]]
            for j in range(top, min(top + TILE_ROWS, here.shape[0])):
                out[here[j], new[i]] = of[here[j]]
