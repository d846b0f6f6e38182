"""K evaluated row by row until someone asks for the whole of it, and held from then on."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mercer.gram.base import Gram, Index
from mercer.gram.dense import Dense
from mercer.gram.tiled import Tiled
from mercer.kernels.points import Array


class LazyGram(Tiled):
    """A Gram matrix that is small enough to be kept, but computed only if it is needed.

    A solver that touches few rows never pays for the others; one that factorizes asks for
    :meth:`dense`, and whoever comes next finds the matrix in memory.

    Parameters
    ----------
    kernel, X, max_bytes
        As in :class:`Tiled`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> gram = LazyGram(Linear(), np.array([[1.0], [2.0]]))
    >>> before = gram.in_memory
    >>> gram.dense()
    array([[1., 2.],
           [2., 4.]])
    >>> before, gram.in_memory
    (False, True)
    """

    held = True

    @cached_property
    def _dense(self) -> Dense:
        return Dense(super().dense())

    @property
    def in_memory(self) -> bool:
        return "_dense" in self.__dict__

    @property
    def resident(self) -> bool:
        return self.in_memory

    def dense(self) -> Array:
        return self._dense.dense()

    def single(self) -> Gram:
        return self if self.in_memory else super().single()

    def keeping(self, max_bytes: float) -> Gram:
        return self if self.in_memory else super().keeping(max_bytes)

    def rows(self, index: Index, out: Array | None = None) -> Array:
        return self._dense.rows(index, out) if self.in_memory else super().rows(index, out)

    def block(self, rows: Index, columns: Index) -> Array:
        return self._dense.block(rows, columns) if self.in_memory else super().block(rows, columns)

    def product(self, v: Array, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        return self._dense.product(v, rows) if self.in_memory else super().product(v, rows)

    def matvec(self, v: Array) -> Array:
        return self._dense.matvec(v) if self.in_memory else super().matvec(v)
