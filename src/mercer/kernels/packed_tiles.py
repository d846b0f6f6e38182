r"""Points packed for register tiles: kernel values that are summed as they are computed.

A matrix product and a pass over it read and write every kernel value twice. A register tile
finishes values where it sums products: with few features that takes a quarter of the time, and
values that are only summed are never written.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from mercer._native import add_rows, fill_tiles, weigh_tiles
from mercer._threads import map_blocks
from mercer._typing import AnyArray, DType
from mercer.kernels.points import Array, pieces

# Rows of a tile, and bytes of its columns: two full registers.
TILE_ROWS, TILE_COLUMN_BYTES = 12, 128
# Blocks of columns that threads share, the same however many there are, and the least number of
# kernel values of one: fewer take less time than a thread needs to begin.
MAX_COLUMN_BLOCKS, MIN_BLOCK_VALUES = 64, 2**18


class PackedPoints:
    r"""Dense points of one precision, for a kernel that tiles know by a number.

    Parameters
    ----------
    columns : (p, m) array of float32 or float64
        Points in units of the kernel, transposed.
    half : (m,) array
        Half their squared norms; not read of a polynomial.
    kernel : int
        0 for the Gaussian :math:`2^{-q}` of half squared distances q, 3 and 5 for twice the nu of a
        Matern kernel, minus the degree of a polynomial.
    offset : float, default=0.0
        What a polynomial adds to products.

    Examples
    --------
    >>> points = PackedPoints(np.array([[0.0, 1.0]]), np.array([0.0, 0.5]), 0)
    >>> F = np.zeros(2)
    >>> points.add(F, np.array([1]), np.array([10.0]))
    >>> F.round(4)
    array([ 7.0711, 10.    ])
    """

    def __init__(self, columns: Array, half: Array, kernel: int, offset: float = 0.0) -> None:
        self.columns, self.half = columns, half
        self.kernel, self.offset = kernel, offset
        self.width = TILE_COLUMN_BYTES // columns.dtype.itemsize

    @property
    def is_bounded(self) -> bool:
        """Whether kernel values lie between 0 and 1."""
        return self.kernel >= 0

    @property
    def n_features(self) -> int:
        """The number p."""
        return len(self.columns)

    def take(self, index: NDArray[np.intp]) -> PackedPoints:
        """Return some of the points."""
        return PackedPoints(self.columns[:, index], self.half[index], self.kernel, self.offset)

    def groups(self, index: NDArray[np.intp] | None, width: int) -> Array:
        """Return points in groups of a width: features side by side, half norms last, then zeros.

        Parameters
        ----------
        index : (m,) array of int or None
            Which points; None for all.
        width : int
            Points of a group.
        """
        columns, half = self.columns, self.half
        if index is not None:
            columns, half = columns.take(index, axis=1), half[index]
        p, m = columns.shape
        count = -(-m // width)
        flat = np.zeros((p + 1, count * width), dtype=columns.dtype)
        flat[:p, :m], flat[p, :m] = columns, half
        grouped = flat.reshape(p + 1, count, width).swapaxes(0, 1)
        return np.ascontiguousarray(grouped).reshape(count, -1)

    @cached_property
    def _all(self) -> Array:
        """All points in groups of columns."""
        return self.groups(None, self.width)

    def add(
        self,
        F: Array,
        index: NDArray[np.intp],
        t: Array,
        out: Array | None = None,
        at: NDArray[np.intp] | None = None,
    ) -> None:
        """Add sums of rows of the kernel matrix to F, keeping the rows in `out` if it is given.

        Parameters
        ----------
        F : (m,) or (2, m) array of float64
        index : (k,) array of int
            Points whose rows are summed.
        t : (k,) or (2, k) array of float64
            Their weights.
        out : (k, m) array, optional
        at : (l,) array of int, optional
            Columns that are summed; F has so many entries. All by default, and with `out`.
        """
        rows = self.groups(index, TILE_ROWS)
        columns = self._all if at is None else self.groups(at, self.width)
        sums = np.atleast_2d(F)
        weights = np.zeros((len(sums), TILE_ROWS * len(rows)), dtype=self.columns.dtype)
        weights[:, : len(index)] = t
        places = np.arange(len(index))
        step = 0 if out is None else out.strides[0] // out.itemsize
        flat = np.empty(0) if out is None else row_memory(out)
        exact = np.ascontiguousarray(np.atleast_2d(t), dtype=np.float64)

        def blockwise(part: slice) -> None:
            few = slice(part.start * self.width, min(part.stop * self.width, sums.shape[1]))
            if out is not None:
                self.fill(rows, columns[part], places, out[:, few])
                starts = step * places + few.start
                if len(sums) == 2:
                    add_rows(sums[:, few], flat, starts, exact)
                else:
                    add_rows(sums[0, few], flat, starts, exact[0])
                return
            total = np.zeros((len(sums), (part.stop - part.start) * self.width))
            weigh_tiles(rows, columns[part], weights, total, self.kernel, self.offset)
            sums[:, few] += total[:, : few.stop - few.start]

        map_blocks(blockwise, self._blocks(len(rows), len(columns)))

    def fill(self, rows: Array, columns: Array, places: NDArray[np.intp], out: AnyArray) -> None:
        """Write kernel values of groups of points to some rows of a matrix.

        Parameters
        ----------
        rows, columns : arrays
            From :meth:`groups`.
        places : (k,) array of int
            The row of each point.
        out : array of the dtype of the points, or of uint16
            Sixteen bits hold parts of 65,535 of values between 0 and 1.
        """
        fill_tiles(rows, columns, places, out, self.kernel, self.offset)

    def fill_blocks(
        self, rows: Array, columns: Array, places: NDArray[np.intp], out: AnyArray
    ) -> None:
        """Do the same on all cores."""

        def blockwise(part: slice) -> None:
            few = slice(part.start * self.width, min(part.stop * self.width, out.shape[1]))
            self.fill(rows, columns[part], places, out[:, few])

        map_blocks(blockwise, self._blocks(len(rows), len(columns)))

    def _blocks(self, n_rows: int, n_columns: int) -> list[slice]:
        """Return blocks of groups of columns, in equal shares."""
        least = -(-MIN_BLOCK_VALUES // max(1, n_rows * TILE_ROWS * self.width))
        return list(pieces(0, n_columns, max(least, -(-n_columns // MAX_COLUMN_BLOCKS))))


def has_rows(out: Array, dtype: DType) -> bool:
    """Whether rows are contiguous and follow each other, whatever lies between them."""
    (down, across), size = out.strides, dtype.itemsize
    return out.dtype == dtype and across == size and down >= 0 and down % size == 0


def row_memory(out: Array) -> Array:
    """Return the memory from the first to the last entry of a matrix with contiguous rows."""
    if not out.size:
        return np.empty(0, dtype=out.dtype)
    size = (out.shape[0] - 1) * (out.strides[0] // out.itemsize) + out.shape[1]
    return as_strided(out, (size,), (out.itemsize,))
