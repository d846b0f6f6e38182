r"""Kernel matrices off the values of unpenalized functions, with weights of the rows.

.. math:: \tilde\Phi(x) = \Phi(x) - \sum_l h_l(x) \Phi(x_l), \qquad
          h(x)' = z(x)' (Z'SZ)^{-1} Z'S

With z = 1 this subtracts the weighted mean in feature space.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la

from mercer.gram.base import Gram, Index
from mercer.gram.projected import Projected
from mercer.kernels.points import Array
from mercer.manifold.eigen import Spectrum, frobenius

__all__ = ["Centred", "Scaled", "centre"]

DEPENDENT = 1e-10
"""Singular value of columns of unit length below which they depend on each other."""


class Scaled(Gram):
    """The matrix ``diag(d) K diag(d)``.

    Parameters
    ----------
    K : Gram
        The matrix below.
    d : (n,) array
        Factors of its rows and columns.

    Examples
    --------
    >>> from mercer.gram import Dense
    >>> Scaled(Dense(np.eye(2)), np.array([1.0, 2.0])).dense()
    array([[1., 0.],
           [0., 4.]])
    """

    def __init__(self, K: Gram, d: Array) -> None:
        self.K, self.d = K, d

    @property
    def shape(self) -> tuple[int, int]:
        return self.K.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.K.dtype

    @property
    def in_memory(self) -> bool:
        return self.K.in_memory

    def block(self, rows: Index, columns: Index) -> Array:
        return np.asarray(self.d[rows][:, None] * self.K.block(rows, columns) * self.d[columns])

    def diag(self) -> Array:
        return np.asarray(self.d**2 * self.K.diag())

    def matvec(self, v: Array) -> Array:
        d = self.d if np.ndim(v) == 1 else self.d[:, None]
        return np.asarray(d * self.K.matvec(d * v))


class _Off(Projected):
    """A projected matrix that is multiplied as fast as the matrix below."""

    @property
    def in_memory(self) -> bool:
        return self.K.in_memory


@dataclass(frozen=True)
class Centred:
    """A weighted kernel matrix off some columns, and the coefficients that new points need.

    Parameters
    ----------
    spectrum : Spectrum
        The matrix :math:`(1 - P) S^{1/2} K S^{1/2} (1 - P)` with the projector P on the weighted
        columns.
    root : (n,) array
        Roots of the weights.
    H : (n, q) array
        Coefficients of the functions :math:`g(x) = H' k(X, x)`, so that :math:`h(x)'k(X, x) =
        z(x)'g(x)`.
    U, KU : (n, r) array
        An orthonormal basis of the weighted columns, and its products with the weighted matrix.
    back : (q, r) array
        From coordinates in that basis to coefficients of the columns.
    Q : (q, q) array
        The matrix with :math:`h(x)' K h(x) = z(x)'Q z(x)`.
    """

    spectrum: Spectrum
    root: Array
    H: Array
    U: Array
    KU: Array
    back: Array
    Q: Array

    def coefficients(self, values: Array, V: Array) -> tuple[Array, Array]:
        """Return the expansions whose values are scores: of the kernel, and of the columns.

        Parameters
        ----------
        values : (k,) array
            Eigenvalues.
        V : (n, k) array
            Eigenvectors.

        Returns
        -------
        A : (n, k) array
        b : (k, q) array
        """
        # What rounding leaves on the columns is multiplied by kernel values, large far from zero.
        V = (V - self.U @ (self.U.T @ V)) / np.sqrt(np.abs(values))
        return self.root[:, None] * V, -(self.back @ (self.KU.T @ V)).T


def centre(K: Gram, B: Array, weights: Array, definite: bool, strictly: bool) -> Centred:
    """Return a kernel matrix off the span of some columns.

    Parameters
    ----------
    K : Gram
        The kernel matrix.
    B : (n, q) array
        Values of functions to be projected out; they may depend on each other.
    weights : (n,) array
        Weights of the rows, positive.
    definite : bool
        Whether the matrix is positive semidefinite off the columns.
    strictly : bool
        Whether it is so without them: then its Frobenius norm is at most its trace, and need not
        be read off its entries.
    """
    root = np.sqrt(weights)
    weighted: Gram = K if np.all(weights == 1.0) else Scaled(K, root)
    U, back = _basis(root[:, None] * B)
    KU = weighted.matvec(U) if U.shape[1] else np.zeros_like(U)
    gram: Gram = _Off(weighted, U, KU=KU) if U.shape[1] else weighted
    trace = float(np.sum(gram.diag(), dtype=np.float64))
    size = float(np.sum(weighted.diag(), dtype=np.float64)) if strictly else frobenius(weighted)
    spectrum = Spectrum(gram, trace, size, definite)
    H = root[:, None] * (U @ back.T)
    return Centred(spectrum, root, H, U, KU, back, back @ (U.T @ KU) @ back.T)


def _basis(Z: Array) -> tuple[Array, Array]:
    """Return an orthonormal basis U of columns, and the matrix T with ``Z T = U``.

    Of all coefficients that give a function, the shortest in units of the columns.
    """
    lengths = la.norm(Z, axis=0)
    lengths = np.where(lengths > 0.0, lengths, 1.0)
    U, d, Wt = la.svd(Z / lengths, full_matrices=False)
    kept = d > DEPENDENT * np.max(d, initial=0.0)
    return U[:, kept], (Wt[kept].T / d[kept]) / lengths[:, None]
