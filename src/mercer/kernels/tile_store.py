"""Tiles of a symmetric matrix that are computed once and kept between products."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.kernels.points import Array

__all__ = ["TileStore"]


class TileStore:
    """Keep the tiles of the first rows of a lower triangle, as many as a memory bound takes.

    Which rows are kept follows from the bound alone, so that products do not depend on the order
    in which threads fill the store.

    Parameters
    ----------
    max_bytes : float
        Memory for kernel values.
    itemsize : int
        Bytes of a kernel value.
    height : int
        Rows of a tile; tiles on the diagonal are kept whole.

    Examples
    --------
    >>> store = TileStore(4e4, 4, 10)
    >>> store.end
    131
    >>> one = store.tile(slice(0, 10), slice(0, 10), lambda: np.ones((10, 10)))
    >>> store.tile(slice(0, 10), slice(0, 10), lambda: np.zeros((10, 10))) is one
    True
    """

    def __init__(self, max_bytes: float, itemsize: int, height: int) -> None:
        # A triangle of r rows with whole tiles on its diagonal has (r^2 + r height) / 2 entries.
        entries = max_bytes / itemsize
        self.end = int(np.sqrt(2.0 * entries + 0.25 * height**2) - 0.5 * height)
        while self.end * (self.end + height) > 2.0 * entries:
            self.end -= 1
        self._tiles: dict[tuple[int, int], Array] = {}

    def tile(self, rows: slice, columns: slice, compute: Callable[[], Array]) -> Array:
        """Return a tile, computed now unless it is kept.

        Parameters
        ----------
        rows, columns : slice
            Where the tile is.
        compute : callable
            Returns its values, which may be overwritten later.
        """
        if rows.stop > self.end:
            return compute()
        key = rows.start, columns.start
        if key not in self._tiles:
            self._tiles[key] = compute().copy()
        return self._tiles[key]
