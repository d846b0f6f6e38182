r"""The kernel matrices of all pairs of classes, cut from blocks that are computed once.

.. math::

    K_{\{i, j\}} = \begin{pmatrix} K_{ii} & K_{ij} \\ K_{ij}' & K_{jj} \end{pmatrix}

Of k classes each :math:`K_{ii}` serves k - 1 pairs and each :math:`K_{ij}` is computed in one
orientation, so that all pairs together take a quarter of the kernel values that they read.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._typing import AnyArray, DType
from mercer.gram.base import Gram, Index, positions, submatrix
from mercer.gram.indexed import Indexed
from mercer.gram.tiled import Tiled
from mercer.kernels.base import Evaluator, into
from mercer.kernels.points import Array, take
from mercer.kernels.roundoff import Roundoff

__all__ = ["ClassBlocks"]

# Rows that are transposed at once: what they touch stays in the cache.
BLOCK_ROWS = 64


class ClassBlocks:
    """Blocks of a kernel matrix whose points lie class by class.

    Blocks of a class with itself are kept, those of two classes are computed when they are asked
    for, which is once if every pair is solved once.

    Parameters
    ----------
    gram : Gram
        The matrix of all points.
    ends : sequence of int
        Where the points of each class end.

    Examples
    --------
    >>> from mercer.gram import Dense
    >>> blocks = ClassBlocks(Dense(np.arange(9.0).reshape(3, 3) % 4), [1, 2, 3])
    >>> blocks.pair(0, 2).dense()
    array([[0., 2.],
           [2., 0.]])
    """

    def __init__(self, gram: Gram, ends: Any) -> None:
        self.gram = gram
        self.holds = (-1, -1)  # the pair whose matrix is in memory
        self.starts = np.concatenate([[0], ends]).tolist()
        self._own: dict[int, Array] = {}
        self._evaluators: dict[int, Evaluator] = {}
        self._memory = np.empty(0, dtype=gram.dtype)

    @cached_property
    def diag(self) -> Array:
        """The diagonal of the whole matrix."""
        return self.gram.diag()

    @cached_property
    def single(self) -> ClassBlocks:
        """The same blocks in float32."""
        below = self.gram.single()
        return self if below is self.gram else ClassBlocks(below, self.starts[1:])

    def points(self, i: int) -> NDArray[np.intp]:
        """Return the points of a class."""
        return np.arange(self.starts[i], self.starts[i + 1])

    def pair(self, i: int, j: int) -> Gram:
        """Return the matrix of two classes, the points of the first one first."""
        return _Pair(self, i, j)

    def own(self, i: int) -> Array:
        """Return the block of a class with itself."""
        if i not in self._own:
            points = self.points(i)
            self._own[i] = self.gram.block(points, points)
        return self._own[i]

    def square(self, i: int, j: int) -> Array:
        """Return the matrix of two classes, in memory that the next pair takes over."""
        first, second = self.own(i), self.own(j)
        n, size = len(first), len(first) + len(second)
        if self.holds != (i, j):
            self.holds = (-1, -1)
            if len(self._memory) < size * size:
                self._memory = np.empty(size * size, dtype=self.gram.dtype)
            K = self._memory[: size * size].reshape(size, size)
            K[:n, :n], K[n:, n:] = first, second
            self._across(i, j, K[:n, n:])
            for top in range(0, n, BLOCK_ROWS):
                K[n:, top : min(top + BLOCK_ROWS, n)] = K[top : min(top + BLOCK_ROWS, n), n:].T
            self.holds = (i, j)
        return self._memory[: size * size].reshape(size, size)

    def _across(self, i: int, j: int, out: Array) -> None:
        """Write the block of two classes, by an evaluator that is prepared once a class."""
        gram = self.gram
        if gram.in_memory or not isinstance(gram, Tiled):
            out[...] = gram.block(self.points(i), self.points(j))
            return
        if j not in self._evaluators:
            self._evaluators[j] = gram.kernel.against(take(gram.X, self.points(j)))
        into(self._evaluators[j], take(gram.X, self.points(i)), out)


class _Pair(Gram):
    """The kernel matrix of two classes, assembled from blocks when all of it is read."""

    def __init__(self, blocks: ClassBlocks, i: int, j: int) -> None:
        self.blocks, self.i, self.j = blocks, i, j
        self.index = np.concatenate([blocks.points(i), blocks.points(j)])

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.index), len(self.index)

    @property
    def dtype(self) -> DType:
        return self.blocks.gram.dtype

    def diag(self) -> Array:
        return np.asarray(self.blocks.diag[self.index])

    def part_of(self) -> tuple[Gram, NDArray[np.intp]]:
        return self.blocks.gram, self.index

    def single(self) -> Gram:
        return self.blocks.single.pair(self.i, self.j)

    def product(self, v: Array, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        return Indexed(self.blocks.gram, self.index).product(v, rows)

    def roundoff(self) -> Roundoff | None:
        return Indexed(self.blocks.gram, self.index).roundoff()

    def dense(self) -> Array:
        return self.blocks.square(self.i, self.j).copy()

    def rows(self, index: Index, out: Array | None = None) -> Array:
        if out is None and _everything(index, len(self.index)):
            return self.blocks.square(self.i, self.j)
        return super().rows(index, out)

    def block(self, rows: Index, columns: Index) -> Array:
        if self.blocks.holds == (self.i, self.j):
            return submatrix(self.blocks.square(self.i, self.j), rows, columns)
        n = len(self.index)
        r, c = (self.index[positions(index, n)] for index in (rows, columns))
        return self.blocks.gram.block(r, c)


def _everything(index: Any, n: int) -> bool:
    """Whether an index is all points in order."""
    if isinstance(index, slice):
        return index.indices(n) == (0, n, 1)
    array: AnyArray = np.asarray(index)
    return array.shape == (n,) and array.dtype != bool and bool((array == np.arange(n)).all())
