"""K off the span of a few columns, or on top of them: a matrix and a change of low rank."""

from __future__ import annotations

import numpy as np

from mercer._typing import DType
from mercer.gram.base import Gram, Index
from mercer.kernels.points import Array


class Projected(Gram):
    r"""The matrix :math:`(1 - P) K (1 - P) + \rho P` with the projector :math:`P = UU'`.

    A kernel that is conditionally positive definite with respect to polynomials is positive
    definite off their values on the sample. Entries are those of K and a few products,

    .. math:: K - U W' - W U', \qquad W = KU - \tfrac12 U (U'KU) - \tfrac{\rho}{2} U.

    Parameters
    ----------
    K : Gram
        The matrix below.
    U : (n, r) array
        Orthonormal columns.
    rho : float, default=0.0
        What the matrix does on them.
    KU : (n, r) array, optional
        The product, if it is known.

    Examples
    --------
    >>> from mercer.gram import Dense
    >>> distances = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    >>> U = np.full((3, 1), 3**-0.5)
    >>> Projected(Dense(-distances), U).dense().round(4) + 0.0
    array([[ 1.1111, -0.2222, -0.8889],
           [-0.2222,  0.4444, -0.2222],
           [-0.8889, -0.2222,  1.1111]])
    """

    def __init__(self, K: Gram, U: Array, rho: float = 0.0, KU: Array | None = None) -> None:
        self.K, self.U, self.rho = K, U, rho
        self.KU = K.matvec(U) if KU is None else KU
        self.W = self.KU - 0.5 * U @ (U.T @ self.KU) - 0.5 * rho * U

    @property
    def shape(self) -> tuple[int, int]:
        return self.K.shape

    @property
    def dtype(self) -> DType:
        return self.K.dtype

    def block(self, rows: Index, columns: Index) -> Array:
        U, W = (A.astype(self.dtype, copy=False) for A in (self.U, self.W))
        change = U[rows] @ W[columns].T
        change += W[rows] @ U[columns].T
        return np.asarray(self.K.block(rows, columns) - change)

    def diag(self) -> Array:
        return np.asarray(self.K.diag() - 2.0 * np.sum(self.U * self.W, axis=1))

    def matvec(self, v: Array) -> Array:
        v = self._vector(v)
        out: Array = self.K.matvec(v) - self.U @ (self.W.T @ v) - self.W @ (self.U.T @ v)
        return out

    def single(self) -> Gram:
        below = self.K.single()
        return self if below is self.K else Projected(below, self.U, self.rho, self.KU)
