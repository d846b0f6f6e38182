"""Gram matrices of linear maps of the sample: whitened errors, or observed functionals."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mercer._typing import LinearMap
from mercer.gram.base import Gram, Index, positions, submatrix
from mercer.gram.dense import Dense
from mercer.kernels.points import BLOCK_BYTES, Array, row_slices

__all__ = ["Whitened", "whiten"]


class Whitened(Gram):
    r"""The Gram matrix :math:`W K W'` of a linear map of the sample.

    Products apply the three factors one after the other, so neither K nor the result needs to be
    in memory; once :meth:`dense` was asked for, the result is held.

    Parameters
    ----------
    K : Gram
        The (n, n) matrix below.
    W : array, sparse array or LinearOperator of shape (m, n)
        The map; m and n need not agree.

    Examples
    --------
    >>> gram = Whitened(Dense(np.eye(2)), np.array([[1.0, 0.0], [-1.0, 1.0]]))
    >>> gram.dense()
    array([[ 1., -1.],
           [-1.,  2.]])
    """

    dtype = np.dtype(np.float64)

    def __init__(self, K: Gram, W: LinearMap) -> None:
        if len(W.shape) != 2 or W.shape[1] != K.shape[0]:
            raise ValueError(
                f"W must have one column for each of the {K.shape[0]} points of K, "
                f"got shape {W.shape}."
            )
        self.K = K
        self.W = W

    @property
    def shape(self) -> tuple[int, int]:
        return self.W.shape[0], self.W.shape[0]

    @property
    def in_memory(self) -> bool:
        return "_matrix" in self.__dict__

    @property
    def resident(self) -> bool:
        return self.in_memory

    @cached_property
    def _matrix(self) -> Array:
        half = np.asarray(self.W @ self.K.dense().astype(np.float64, copy=False))
        matrix = np.asarray(self.W @ half.T)
        # The order of the two products rounds the halves differently; solvers count on symmetry.
        return np.asarray(0.5 * (matrix + matrix.T))

    def dense(self) -> Array:
        return self._matrix

    def block(self, rows: Index, columns: Index) -> Array:
        if self.in_memory:
            return submatrix(self._matrix, rows, columns)
        m = self.shape[0]
        i, j = positions(rows, m), positions(columns, m)
        few, many = (i, j) if len(i) <= len(j) else (j, i)
        out = np.empty((len(few), len(many)))
        for part in row_slices(len(few), 8 * max(m, self.K.shape[0]), BLOCK_BYTES):
            out[part] = self.matvec(_units(few[part], m))[many].T
        return out if few is i else out.T

    def diag(self) -> Array:
        if self.in_memory:
            return self._matrix.diagonal().copy()
        m = self.shape[0]
        out = np.empty(m)
        for part in row_slices(m, 8 * max(m, self.K.shape[0]), BLOCK_BYTES):
            V = self.W.T @ _units(np.arange(m)[part], m)
            out[part] = np.einsum("ij,ij->j", V, self.K.matvec(V))
        return out

    def matvec(self, v: Array) -> Array:
        v = self._vector(v)
        if self.in_memory:
            return np.asarray(self._matrix @ v)
        return np.asarray(self.W @ self.K.matvec(np.asarray(self.W.T @ v)))


def _units(index: Array, m: int) -> Array:
    """Return the unit vectors of some of m coordinates as columns."""
    E = np.zeros((m, len(index)))
    E[index, np.arange(len(index))] = 1.0
    return E


def whiten(K: Gram, W: LinearMap) -> Gram:
    r"""Return :math:`W K W'` in the form that suits K.

    A low-rank K stays of low rank and a sparse K stays sparse under a sparse map; a matrix that is
    or will be in memory is multiplied out; any other is multiplied factor by factor.

    Parameters
    ----------
    K : Gram
    W : array, sparse array or LinearOperator of shape (m, n)

    Examples
    --------
    >>> from mercer.gram.low_rank import LowRank
    >>> type(whiten(LowRank(np.ones((3, 1))), 2.0 * np.eye(3))).__name__
    'LowRank'
    """
    own = K.conjugated(W)
    if own is not None:
        return own
    whitened = Whitened(K, W)
    return Dense(whitened.dense()) if K.held else whitened
