r"""Linear systems of several functions of one kernel that the curvature of a softmax couples.

At weights :math:`D_c = \operatorname{diag}(w_{ic})` the curvature of the softmax loss is
:math:`W = D - D R (R'DR)^{-1} R'D`, where R adds up the classes. Then

.. math::

    S = (1 + WK)^{-1} W = E - E R (R'ER)^{-1} R'E, \qquad E_c = (K + D_c^{-1})^{-1}:

one matrix of n rows is factorized for each class and one for their sum, never a matrix of all
samples and classes.

References
----------
C. E. Rasmussen, C. K. I. Williams (2006), Gaussian Processes for Machine Learning, MIT Press,
section 3.5 and algorithm 3.3.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.linalg.blas import dsymm, dsymv

from mercer._typing import Array
from mercer.gram.factor import (
    EPS,
    jittered_cholesky,
    mirrored,
    squared,
    triangular_inverse,
)

__all__ = ["SoftmaxSystem", "off_columns"]

# Directions of unpenalized columns, relative to the most curved one, that are not seen any more.
UNSEEN_PART = 1e-13


def off_columns(K: Array, U: Array) -> Array:
    """Return K off orthonormal columns (n, p): what coefficients orthogonal to them see of it.

    A conditionally positive definite kernel is positive definite there.
    """
    UK = U.T @ K
    across = U @ UK
    return np.asarray(K - across - across.T + U @ ((UK @ U) @ U.T))


class SoftmaxSystem:
    r"""The factorized system, with a border of unpenalized columns.

    Parameters
    ----------
    K : (n, n) array
        Kernel matrix, positive semidefinite.
    weights : (n, k) array
        :math:`c_i q_{ic}`, positive in the sum over the classes.
    U : (n, p) array
        Unpenalized columns, orthonormal; coefficients for each class.
    check : callable, optional
        Called before each class, and may raise.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram.softmax_system import SoftmaxSystem
    >>> system = SoftmaxSystem(np.eye(2), np.full((2, 2), 0.5), np.zeros((2, 0)))
    >>> system.solve(np.array([[1.0, 0.0], [0.0, 0.0]]), np.zeros((0, 2)))[0]  # W / (1 + 1/2)
    array([[ 0.16666667, -0.16666667],
           [ 0.        ,  0.        ]])
    """

    def __init__(
        self, K: Array, weights: Array, U: Array, check: Callable[[], object] | None = None
    ) -> None:
        n, k = weights.shape
        p = U.shape[1]
        total: Array = np.zeros((n, n), order="F")
        # The lower triangles of the matrices E.
        self.E: list[Array] = []
        for w in weights.T:
            if check is not None:
                check()
            root = np.sqrt(w)
            M = K * root[:, None] * root
            factor = jittered_cholesky(M.copy, 1.0 + np.diag(M), n * EPS)
            self.E.append(squared(triangular_inverse(factor) * root))
            total += self.E[-1]
        self.total, self.U = jittered_cholesky(total.copy, np.diag(total).copy(), n * EPS), U
        self.EU = np.stack([dsymm(1.0, E, U, lower=1) for E in self.E])
        columns = self.EU.transpose(1, 0, 2).reshape(n, k * p)
        self.Z = cho_solve((self.total, True), columns)
        square = -columns.T @ self.Z
        for j in range(k):
            square[j * p : (j + 1) * p, j * p : (j + 1) * p] += U.T @ self.EU[j]
        self.columns, self.square = columns, 0.5 * (square + square.T)

    def solve(self, V: Array, d: Array) -> tuple[Array, Array]:
        """Return ``S (V + U t)`` (n, k) and the t (p, k) with which its product with U' is d."""
        k, p = len(self.E), self.U.shape[1]
        EV = np.stack([_times(E, v) for E, v in zip(self.E, V.T, strict=True)])
        z = cho_solve((self.total, True), EV.sum(axis=0))
        seen = np.einsum("cnp,nc->cp", self.EU, V) - (self.columns.T @ z).reshape(k, p)
        t = np.linalg.lstsq(self.square, (d.T - seen).ravel(), rcond=UNSEEN_PART)[0].reshape(k, p)
        z = z + self.Z @ t.ravel()
        out = np.empty_like(V)
        for c, E in enumerate(self.E):
            out[:, c] = EV[c] + self.EU[c] @ t[c] - _times(E, z)
        return out, t.T

    def blocks(self) -> Array:
        """Return the k x k block of each sample of S off the columns, (n, k, k)."""
        n, k = len(self.U), len(self.E)
        S, Y = np.zeros((n, k, k)), np.empty((n, k, self.Z.shape[1]))
        halves = []
        for c, E in enumerate(self.E):
            whole = mirrored(E.copy(order="F"))
            S[:, c, c] = np.diag(whole)
            Y[:, c] = -whole @ self.Z
            Y[:, c, c * self.U.shape[1] : (c + 1) * self.U.shape[1]] += self.EU[c]
            halves.append(solve_triangular(self.total, whole, lower=True, check_finite=False))
        for c in range(k):
            for j in range(c + 1):
                product = np.einsum("ij,ij->j", halves[c], halves[j])
                S[:, c, j] -= product
                S[:, j, c] -= product * (c != j)
        inverse = np.linalg.pinv(self.square, rcond=UNSEEN_PART, hermitian=True)
        return np.asarray(S - Y @ inverse @ Y.transpose(0, 2, 1))


def _times(lower: Array, v: Array) -> Array:
    """Return the product of a symmetric matrix, of which the lower triangle is known."""
    return np.asarray(dsymv(1.0, lower, v, lower=1))
