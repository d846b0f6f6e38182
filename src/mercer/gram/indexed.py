"""A view of another Gram matrix: some of its points, in any order, any number of times."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mercer._typing import DType, PointsLike
from mercer.gram.base import EVERYTHING, Gram, Index, positions
from mercer.kernels.packed_tiles import PackedPoints
from mercer.kernels.points import BLOCK_BYTES, Array, row_slices, take
from mercer.kernels.roundoff import Roundoff


class Indexed(Gram):
    """The Gram matrix ``K[index][:, index]``, without a copy of K.

    Two classes out of many and samples that occur twice are such views. Whatever is asked of
    it, each row or column of the matrix below is read once.

    Parameters
    ----------
    gram : Gram
        The matrix below.
    index : (m,) array of int, slice or mask
        Its points; they may repeat.

    Examples
    --------
    >>> from mercer.gram import Dense
    >>> Indexed(Dense(np.array([[2.0, 1.0], [1.0, 3.0]])), [1, 1, 0]).rows([0])
    array([[3., 3., 1.]])
    """

    def __init__(self, gram: Gram, index: Index) -> None:
        self.gram = gram
        self.index = positions(index, gram.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.index), len(self.index)

    @property
    def dtype(self) -> DType:
        return self.gram.dtype

    @cached_property
    def _distinct(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Distinct points below, and which of them each point here is."""
        return np.unique(self.index, return_inverse=True)

    def _below(self, index: Index) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        if isinstance(index, slice) and index == EVERYTHING:
            return self._distinct
        return np.unique(self.index[positions(index, len(self.index))], return_inverse=True)

    def block(self, rows: Index, columns: Index) -> Array:
        (r, rows_back), (c, columns_back) = self._below(rows), self._below(columns)
        return _spread(_spread(self.gram.block(r, c), rows_back, 0), columns_back, 1)

    def origin(self) -> tuple[Gram, NDArray[np.intp]]:
        base, back = np.unique(self.index, return_inverse=True)
        if len(base) == len(self.index):
            return self, np.arange(len(base))
        return (self.gram if len(base) == self.gram.shape[0] else Indexed(self.gram, base)), back

    def part_of(self) -> tuple[Gram, NDArray[np.intp]]:
        return self.gram, self.index

    def root(self) -> PointsLike:
        return self._root

    @cached_property
    def _root(self) -> PointsLike:
        below = self.gram.root()
        return None if below is None else take(below, self.index)

    def single(self) -> Gram:
        below = self.gram.single()
        return below.restrict(self.index) or Indexed(below, self.index)

    def diag(self) -> Array:
        return self.gram.diag()[self.index]

    def matvec(self, v: Array) -> Array:
        v = self._vector(v)
        base, back = self._distinct
        u = np.zeros((len(base), *v.shape[1:]))
        np.add.at(u, back, v)
        n = self.gram.shape[0]
        if 2 * len(base) >= n:
            full = np.zeros((n, *v.shape[1:]))
            full[base] = u
            return self.gram.matvec(full)[self.index]
        support = np.flatnonzero(u if u.ndim == 1 else u.any(axis=1))
        out = np.empty_like(u)
        for part in row_slices(len(base), 8 * max(1, len(support)), BLOCK_BYTES):
            block = self.gram.block(base[part], base[support])
            out[part] = block.astype(np.float64, copy=False) @ u[support]
        return out[back]

    def product(self, v: Array, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        whole = np.zeros(self.gram.shape[0])
        np.add.at(whole, self.index, v)
        below, back = np.unique(self.index[rows], return_inverse=True)
        return self.gram.product(whole, below)[back]

    def packed(self) -> PackedPoints | None:
        return self._packed

    @cached_property
    def _packed(self) -> PackedPoints | None:
        """The points here, prepared once."""
        below = self.gram.packed()
        return None if below is None else below.take(self.index)

    def roundoff(self) -> Roundoff | None:
        known = self.gram.roundoff()
        return None if known is None else known.take(self.index)


def _spread(block: Array, back: Array, axis: int) -> Array:
    """Take the entries `back` along an axis; the block itself if that is all of them in order."""
    if len(back) == block.shape[axis] and (back == np.arange(len(back))).all():
        return block
    return block.take(back, axis=axis)
