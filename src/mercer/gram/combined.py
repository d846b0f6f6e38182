"""K with further rows: linear functionals of the same functions beside the values at points."""

from __future__ import annotations

import numpy as np

from mercer.gram.base import Gram, Index, positions
from mercer.gram.dense import Dense
from mercer.kernels.points import Array

__all__ = ["Extended", "extend"]


class Extended(Gram):
    r"""The Gram matrix of a sample and of some functionals beside it.

    .. math:: \begin{pmatrix} K & V \\ V' & H \end{pmatrix}, \qquad
              V_{ij} = L_j k(x_i, \cdot), \quad H_{ij} = L_i L_j k

    For functionals :math:`L_j f = \sum_k G_{jk} f(z_k)` these are :math:`V = K_{XZ} G'` and
    :math:`H = G K_{ZZ} G'`. The matrix of the sample stays wherever it is.

    Parameters
    ----------
    K : Gram
        Of the sample, (n, n).
    V : (n, r) array
    H : (r, r) array

    Examples
    --------
    >>> gram = Extended(Dense(np.eye(2)), np.array([[1.0], [0.0]]), np.array([[3.0]]))
    >>> gram.matvec(np.array([1.0, 1.0, 1.0]))
    array([2., 1., 4.])
    """

    dtype = np.dtype(np.float64)

    def __init__(self, K: Gram, V: Array, H: Array) -> None:
        n, r = K.shape[0], len(H)
        if V.shape != (n, r) or H.shape != (r, r):
            raise ValueError(
                f"{n} samples and {r} functionals need V of shape {(n, r)} and H of shape "
                f"{(r, r)}, got {V.shape} and {H.shape}."
            )
        self.K, self.V, self.H = K, V, H

    @property
    def shape(self) -> tuple[int, int]:
        total = self.K.shape[0] + len(self.H)
        return total, total

    def block(self, rows: Index, columns: Index) -> Array:
        n, total = self.K.shape[0], self.shape[0]
        i, j = positions(rows, total), positions(columns, total)
        top, left = i < n, j < n
        out = np.empty((len(i), len(j)))
        if top.any() and left.any():
            out[np.ix_(top, left)] = self.K.block(i[top], j[left])
        out[np.ix_(top, ~left)] = self.V[np.ix_(i[top], j[~left] - n)]
        out[np.ix_(~top, left)] = self.V[np.ix_(j[left], i[~top] - n)].T
        out[np.ix_(~top, ~left)] = self.H[np.ix_(i[~top] - n, j[~left] - n)]
        return out

    def diag(self) -> Array:
        return np.concatenate([self.K.diag(), self.H.diagonal()])

    def matvec(self, v: Array) -> Array:
        v = self._vector(v)
        n = self.K.shape[0]
        a, t = v[:n], v[n:]
        return np.concatenate([self.K.matvec(a) + self.V @ t, self.V.T @ a + self.H @ t])


def extend(K: Gram, V: Array, H: Array) -> Gram:
    """Return the Gram of a sample and functionals, in the form that suits the sample's Gram.

    Parameters
    ----------
    K, V, H :
        As in :class:`Extended`.

    Examples
    --------
    >>> type(extend(Dense(np.eye(2)), np.ones((2, 1)), np.ones((1, 1)))).__name__
    'Dense'
    """
    if not K.held:
        return Extended(K, V, H)
    return Dense(np.block([[K.dense(), V], [V.T, H]]))
