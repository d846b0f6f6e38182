r"""Best linear prediction of :math:`Bb + u` for unknown b and :math:`\operatorname{cov} u = V`.

All of it happens off the columns of B. With P the projector there and U an orthonormal basis of the
columns, :math:`M = PVP + \tau UU'` is positive definite for every kernel whose null space B holds,
conditionally positive definite or not, and coefficients, variances and the restricted likelihood
are those of V.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.optimize import minimize

from mercer._typing import Array
from mercer.gram.factor import cholesky, mirrored, orthonormal, squared, triangular_inverse

__all__ = ["BestLinear", "most_likely"]


# Q_ii V_ii is one for a sample alone, and rounding where the sample determines a trend by itself.
ROUNDING = 1e-10


class BestLinear:
    """The factorized problem.

    Parameters
    ----------
    V : (n, n) array
        Covariance of what is not trend, at least off the columns of B.
    B : (n, q) array
        Trend; its columns may depend on each other.

    Examples
    --------
    >>> ordinary = BestLinear(np.eye(3), np.ones((3, 1)))
    >>> a, b = ordinary.coefficients(np.array([1.0, 2.0, 6.0]))
    >>> a, b
    (array([-2., -1.,  3.]), array([3.]))
    """

    def __init__(self, V: Array, B: Array) -> None:
        self.V = V
        self.U, self.back = orthonormal(B)
        # What is left of V would be rounding, positive or negative as it happens.
        if self.U.shape[1] == len(V):
            raise ValueError(
                f"the trend explains all of n_samples={len(V)} and leaves none for the covariance: "
                "give more samples or a smaller trend."
            )
        VU = V @ self.U
        W = VU - 0.5 * self.U @ (self.U.T @ VU)
        # PVP = V - UW' - WU', whose trace is needed before the matrix.
        self.tau = float(np.trace(V) - 2.0 * np.vdot(self.U, W)) / len(V) or 1.0
        W -= 0.5 * self.tau * self.U
        both = np.hstack([self.U, W]) @ np.hstack([W, self.U]).T
        M = np.subtract(V, both, order="C")
        # Only the lower triangle is the factor; the transpose is contiguous by columns.
        self.L = M.T
        if not cholesky(self.L):
            raise ValueError(
                "the covariance is not positive definite where the trend leaves room: give a "
                "nugget, remove repeated points, or use another kernel."
            )

    def _off(self, v: Array) -> Array:
        """Return the part of columns that the trend does not reach."""
        return np.asarray(v - self.U @ (self.U.T @ v))

    def whitened(self, v: Array) -> Array:
        """Return columns off the trend with unit covariance, as far as they are seen there."""
        return np.asarray(solve_triangular(self.L, self._off(v), lower=True))

    def coefficients(self, y: Array) -> tuple[Array, Array]:
        """Return a and b of the prediction ``k(x)'a + p(x)'b``."""
        a = self._off(cho_solve((self.L, True), self._off(y)))
        return a, self.back @ (self.U.T @ (y - self.V @ a))

    @cached_property
    def inverse(self) -> Array:
        """The block Q of the inverse of the bordered matrix, with ``a = Q y``."""
        inverse = mirrored(squared(triangular_inverse(self.L)))
        return np.asarray(inverse - self.U @ self.U.T / self.tau)

    @cached_property
    def diagonal(self) -> Array:
        """The diagonal of Q, from the inverse of the factor: half of the work of all of Q."""
        root = triangular_inverse(self.L)
        return np.asarray(np.einsum("ij,ij->j", root, root) - np.sum(self.U**2, axis=1) / self.tau)

    def left_out(self, y: Array) -> Array:
        r"""Return the errors of observations predicted by the others, :math:`a_i / Q_{ii}`.

        They are infinite where an observation determines a function of the trend by itself.
        """
        q = self.diagonal
        alone = q * np.diag(self.V) <= ROUNDING
        a = self.coefficients(y)[0]
        return np.asarray((a.T / np.where(alone, 1.0, q) + np.where(alone, np.inf, 0.0)).T)

    def weights(self, K: Array, B: Array) -> Array:
        """Return the weights of observations in predictions, (m, n), whose trend they reproduce.

        Parameters
        ----------
        K : (m, n) array
            Covariances of new values with the sample.
        B : (m, q) array
            Trend at the new points.
        """
        w = self.U @ (B @ self.back).T
        return np.asarray((w + self._off(cho_solve((self.L, True), self._off(K.T - self.V @ w)))).T)

    def variance(self, K: Array, B: Array, diagonal: Array) -> Array:
        """Return the variances of the errors of prediction.

        Parameters
        ----------
        K : (m, n) array
            Covariances of new values with the sample.
        B : (m, q) array
            Trend at the new points.
        diagonal : (m,) array
            Variances of the new values.
        """
        w = self.U @ (B @ self.back).T  # weights that reproduce the trend, if no better ones
        left = K.T - self.V @ w
        prior = diagonal - np.sum(w * (K.T + left), axis=0)
        known = solve_triangular(self.L, self._off(left), lower=True)
        return np.asarray(np.maximum(prior - np.sum(known**2, axis=0), 0.0))

    def coefficient_covariance(self) -> Array:
        r"""Return :math:`(B'V^{-1}B)^{-1}`, the covariance of b."""
        known = solve_triangular(self.L, self._off(self.V @ self.U), lower=True)
        inner = self.U.T @ self.V @ self.U - known.T @ known
        return np.asarray(self.back @ inner @ self.back.T)

    @property
    def log_det(self) -> float:
        """Logarithm of the determinant of the covariance of contrasts."""
        whole = 2 * float(np.sum(np.log(np.diag(self.L))))
        return whole - float(self.U.shape[1] * np.log(self.tau))

    def likelihood(self, y: Array) -> tuple[float, float]:
        r"""Return the restricted likelihood and the scale of V that maximizes it.

        .. math:: -2 \ell = \log |Z'VZ| + m \log \frac{z'(Z'VZ)^{-1}z}{m} + m (1 + \log 2\pi)

        for the m contrasts :math:`z = Z'y` with :math:`Z'Z = 1` and :math:`Z'B = 0`.
        """
        m = len(y) - self.U.shape[1]
        white = self.whitened(y)
        scale = float(white @ white) / m
        return -0.5 * float(self.log_det + m * (np.log(scale) + 1 + np.log(2 * np.pi))), scale


def most_likely(covariance: Callable[[Array], Array], B: Array, y: Array, start: Array) -> Array:
    """Return the parameters that maximize the restricted likelihood, from any numbers on.

    Parameters
    ----------
    covariance : callable
        Maps parameters, any numbers, to a covariance up to its scale.
    B, y : (n, q) and (n,) arrays
        Trend and observations.
    start : (k,) array
        Where to begin.
    """

    def cost(x: Array) -> float:
        try:
            return -BestLinear(covariance(x), B).likelihood(y)[0]
        except ValueError:
            return np.inf

    if not len(start):
        return start
    simplex = np.vstack([start, start + 0.5 * np.eye(len(start))])
    # A simplex: the likelihood may end where a covariance becomes singular, and has no slope there.
    # Four digits of logarithms are far below the standard errors of any estimate.
    answer = minimize(
        cost,
        start,
        method="Nelder-Mead",
        options={"initial_simplex": simplex, "xatol": 1e-4, "fatol": 1e-7, "maxiter": 2000},
    )
    return np.asarray(answer.x)
