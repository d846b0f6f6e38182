r"""The squared loss off its unpenalized columns, in units in which all samples weigh alike.

With weights s, :math:`W = \operatorname{diag}(\sqrt s)` and U an orthonormal basis of the columns
of WB, the coefficients of the machine are :math:`a = W \tilde a` with :math:`U'\tilde a = 0` and

.. math:: (PWKWP + \tfrac1C) \tilde a = PWy, \qquad P = 1 - UU'.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.blas import dsyr2k

from mercer._params import check_sample_weight
from mercer._typing import Array
from mercer.gram.factor import orthonormal

__all__ = ["Array", "OffColumns"]

# Share of the diagonal that must be left for it to be no rounding, whatever else is in the matrix.
ALIKE = 1e-6


class OffColumns:
    """K projected off the columns of B, over the samples that have a weight.

    Parameters
    ----------
    K : (n, n) array
        Kernel matrix, positive definite at least off the columns of B.
    B : (n, q) array, optional
        Unpenalized columns; none by default.
    weights : (n,) array, optional
        Weights of the samples, not negative; ones by default.
    overwrite : bool, default=False
        Whether the memory of K may be used.

    Attributes
    ----------
    matrix : (m, m) array
        The projected matrix of the samples with weight, contiguous by columns; what is above its
        diagonal is not projected.
    """

    def __init__(
        self,
        K: ArrayLike,
        B: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        overwrite: bool = False,
    ) -> None:
        K = np.asarray(K, dtype=np.float64)
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise ValueError(f"K must be a square matrix, got shape {K.shape}.")
        self.n = n = len(K)
        self.B = np.zeros((n, 0)) if B is None else np.asarray(B, dtype=np.float64)
        if self.B.shape[:1] != (n,) or self.B.ndim != 2:
            raise ValueError(f"K is of {n} samples, but B of shape {self.B.shape}.")
        s = check_sample_weight(weights, n, "weights")
        self.weights = s
        self.live = np.flatnonzero(s > 0)
        self.root = np.sqrt(s[self.live])
        whole = len(self.live) == n
        # Samples without weight are predicted from the others, and never enter.
        dead = np.flatnonzero(s == 0)
        self.dead, self.cross = dead, K[np.ix_(dead, self.live)]
        KW = K if whole else K[np.ix_(self.live, self.live)]
        if whole and not overwrite:
            KW = K.copy()
        if np.any(self.root != 1):
            KW *= self.root[:, None]
            KW *= self.root
        self.U, self.back = orthonormal(self.root[:, None] * self.B[self.live])
        self.KU = KW @ self.U
        self.matrix = _project(KW, self.U, self.KU)

    @property
    def rank(self) -> int:
        """How many unpenalized columns there are that do not depend on each other."""
        return int(self.U.shape[1])

    def targets(self, y: ArrayLike) -> Array:
        """Return weighted targets projected off the columns, (m, d)."""
        Y = np.asarray(y, dtype=np.float64)
        if Y.shape[:1] != (self.n,) or Y.ndim > 2:
            raise ValueError(f"y must have {self.n} rows, got shape {Y.shape}.")
        Y = self.root[:, None] * Y.reshape(self.n, -1)[self.live]
        return np.asarray(Y - self.U @ (self.U.T @ Y))

    def coefficients(self, y: Array, a: Array) -> tuple[Array, Array]:
        """Return a (n, d) and b (q, d) of the machine from weighted coefficients of live samples.

        Parameters
        ----------
        y : (n, d) array
            Targets.
        a : (m, d) array
            Weighted coefficients, orthogonal to U.
        """
        t = self.U.T @ (self.root[:, None] * y[self.live]) - self.KU.T @ a
        full = np.zeros((self.n, a.shape[1]))
        full[self.live] = self.root[:, None] * a
        return full, self.back @ t

    def outside(self, a: Array, b: Array) -> Array:
        """Return the predictions for samples without weight."""
        return np.asarray(self.cross @ a[self.live] + self.B[self.dead] @ b)


def _project(K: Array, U: Array, KU: Array) -> Array:
    """Return ``(1 - UU')K(1 - UU')`` in the place of K; zero where nothing else but rounding is."""
    # The transpose of a symmetric array by rows is itself, by columns.
    M = np.asfortranarray(K.T)
    if U.shape[1]:
        before = float(np.max(np.abs(np.diag(M)), initial=0.0))
        V = KU - 0.5 * U @ (U.T @ KU)
        rest = np.diag(M) - 2.0 * np.sum(U * V, axis=1)
        # The variance of the function is the unit of C: points that are all alike have none.
        if float(np.max(np.abs(rest), initial=0.0)) <= ALIKE * before or not before:
            unseen = len(K) * float(np.finfo(np.float64).eps) * max(float(K.max()), -float(K.min()))
            if np.max(np.abs(rest), initial=0.0) <= unseen:
                M[:] = 0.0
                return M
        M = dsyr2k(-1.0, U, V, beta=1.0, c=M, lower=1, overwrite_c=1)
    return M
