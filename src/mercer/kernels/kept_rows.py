"""Rows of a symmetric matrix that are computed once and kept between products."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer._typing import DType
from mercer.kernels.points import Array

__all__ = ["KeptRows"]


class KeptRows:
    """Keep the first blocks of rows of a lower triangle, as many as a memory bound takes.

    Which rows are kept follows from the bound alone, so that products do not depend on the order
    in which threads compute them. They share one array, because the pages of many small arrays
    would have to be met one by one.

    Parameters
    ----------
    n : int
        Rows of the matrix.
    max_bytes : float
        Memory for kernel values.
    dtype : dtype
        Of kernel values.
    height : int
        Rows of a block, which is kept up to the end of its square on the diagonal.

    Examples
    --------
    >>> kept = KeptRows(100, 4e4, np.dtype(np.float32), 10)
    >>> kept.rows(slice(0, 10), lambda block: block.fill(3.0)).shape
    (10, 10)
    >>> kept.rows(slice(0, 10), lambda block: block.fill(5.0))[0, 0]
    np.float32(3.0)
    >>> kept.rows(slice(90, 100), lambda block: block.fill(1.0)).shape
    (10, 100)
    """

    def __init__(self, n: int, max_bytes: float, dtype: DType, height: int) -> None:
        self.height = height
        entries = max_bytes / dtype.itemsize
        blocks = -(-n // height)
        # The first k blocks of h rows have h^2 (1 + ... + k) entries.
        k = int(np.sqrt(0.25 + 2.0 * entries / height**2) - 0.5)
        self.end = n if k >= blocks else k * height
        whole = self.end - self.end % height
        self._memory = np.empty(self._start(whole) + (self.end - whole) * self.end, dtype=dtype)
        self._filled: set[int] = set()

    def _start(self, row: int) -> int:
        """Return the entries of all blocks before a row at which a block begins."""
        return row * (row + self.height) // 2

    @property
    def nbytes(self) -> int:
        """Memory of all kept values, computed or not."""
        return int(self._memory.nbytes)

    def rows(self, part: slice, fill: Callable[[Array], None]) -> Array | None:
        """Return the kernel values of a block of rows, or None if they are not kept.

        Parameters
        ----------
        part : slice
            A block of rows.
        fill : callable
            Writes the kernel values of these rows and all columns up to the last of them.

        Returns
        -------
        (rows, columns) array or None
        """
        if part.stop > self.end:
            return None
        first, shape = self._start(part.start), (part.stop - part.start, part.stop)
        block: Array = self._memory[first : first + shape[0] * shape[1]].reshape(shape)
        if part.start not in self._filled:
            fill(block)
            self._filled.add(part.start)
        return block
