"""Several functions with one kernel, seen through combinations of their values."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.gram.base import Gram, Index, positions
from mercer.gram.indexed import Indexed
from mercer.kernels._pairwise import Array

__all__ = ["Levels"]


class Levels(Gram):
    r"""The Gram matrix of functionals :math:`\sum_k U_{ik} f_k(x_i)` of functions with one kernel.

    .. math:: K_{ij} = (UU')_{ij}\, k(x_i, x_j)

    for functions :math:`f_1, \dots, f_m` whose squared norms add up: values of one of them,
    differences of two at a point.

    Parameters
    ----------
    gram : Gram
        The matrix of the points.
    index : (n,) array of int
        At which of its points a functional looks.
    combine : (n, m) array
        The matrix U.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.gram.levels import Levels
    >>> K = Dense(np.array([[2.0, 1.0], [1.0, 3.0]]))
    >>> Levels(K, [0, 1], np.array([[1.0, 0.0], [-1.0, 1.0]])).dense()
    array([[ 2., -1.],
           [-1.,  6.]])
    """

    def __init__(self, gram: Gram, index: Index, combine: Array) -> None:
        self.points = Indexed(gram, index)
        self.combine = np.asarray(combine, dtype=np.float64)
        if self.combine.ndim != 2 or len(self.combine) != self.points.shape[0]:
            raise ValueError(
                f"combine needs a row for each of {self.points.shape[0]} functionals, got shape "
                f"{self.combine.shape}."
            )

    @property
    def shape(self) -> tuple[int, int]:
        return self.points.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.points.dtype

    def block(self, rows: Index, columns: Index) -> Array:
        n = self.shape[0]
        U = self.combine.astype(self.dtype, copy=False)
        rows, columns = positions(rows, n), positions(columns, n)
        return np.asarray(self.points.block(rows, columns) * (U[rows] @ U[columns].T))

    def diag(self) -> Array:
        return np.asarray(self.points.diag() * np.sum(self.combine**2, axis=1))

    def matvec(self, v: Array) -> Array:
        v = self._vector(v)
        U = self.combine.reshape(len(v), -1, *(1,) * (v.ndim - 1))
        out = np.zeros_like(v)
        for k in range(U.shape[1]):
            if np.any(seen := U[:, k] * v):
                out += U[:, k] * self.points.matvec(seen)
        return out

    def single(self) -> Gram:
        below = self.points.gram.single()
        return Levels(below, self.points.index, self.combine)
