"""Ordinary least squares, with variances by the Gauss-Markov theorem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._params import check_weights
from mercer._typing import Array

__all__ = ["LeastSquaresFit", "least_squares"]


@dataclass(frozen=True)
class LeastSquaresFit:
    r"""A least-squares fit, its smoother and its covariances.

    Parameters
    ----------
    coef : ndarray of shape (p,)
        The shortest of the minimizers.
    rank : int
        Dimension of the model: the trace of the hat matrix.
    residuals : ndarray of shape (n,)
        What is left.
    noise_variance : float
        :math:`\sum_i s_i r_i^2 / (\sum_i s_i - \text{rank})`, infinite if nothing is left to
        estimate it from.
    cofactor : ndarray of shape (p, p)
        :math:`(X'SX)^+`: the covariance of ``coef`` for errors of variance one.
    root : ndarray of shape (n, rank)
        Orthonormal columns that span the design; the hat matrix is ``root @ root.T``.
    """

    coef: Array
    rank: int
    residuals: Array
    noise_variance: float
    cofactor: Array
    root: Array

    @property
    def hat(self) -> Array:
        r"""The hat matrix :math:`H = X(X'X)^{+}X'` of the weighted design."""
        return np.asarray(self.root @ self.root.T)

    @property
    def leverages(self) -> Array:
        """The diagonal of the hat matrix, without forming it."""
        return np.asarray(np.sum(self.root**2, axis=1))

    def covariance(self, noise_variance: float | None = None) -> Array:
        """Return the covariance of the coefficients, of estimable directions of them.

        Parameters
        ----------
        noise_variance : float, optional
            Variance of the errors if it is known; else it is estimated.
        """
        scale = self.noise_variance if noise_variance is None else noise_variance
        return np.asarray(scale * self.cofactor)


def least_squares(X: Array, y: Array, sample_weight: Array | None = None) -> LeastSquaresFit:
    r"""Fit a linear model by least squares.

    .. math:: \min_w \sum_i s_i (y_i - w'x_i)^2, \qquad
              H = X(X'X)^{-1}X', \qquad \operatorname{cov}(\hat w) = \sigma^2 (X'X)^{-1}

    Of all linear unbiased estimators this one has the smallest covariance. Where columns depend on
    each other the shortest minimizer is returned, and ``rank`` tells so.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        The design, with a column of ones if a constant is wanted.
    y : ndarray of shape (n,)
        Targets.
    sample_weight : ndarray of shape (n,), optional
        How often each sample counts.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, lemmas 3.1 and 3.2, eq. (3.2) to
    (3.5).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import least_squares
    >>> X = np.column_stack([np.ones(4), np.arange(4.0)])
    >>> fit = least_squares(X, np.array([1.0, 3.0, 5.0, 7.0]))
    >>> fit.coef.round(12), fit.rank, float(np.trace(fit.hat).round(12))
    (array([1., 2.]), 2, 2.0)
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    s = np.ones(len(X)) if sample_weight is None else check_weights(sample_weight, len(X))
    root = np.sqrt(s)
    U, d, Vt = np.linalg.svd(root[:, None] * X, full_matrices=False)
    rank = int(np.sum(d > max(X.shape) * np.finfo(float).eps * (d[0] if len(d) else 0.0)))
    U, back = U[:, :rank], Vt[:rank].T / d[:rank]
    coef = back @ (U.T @ (root * y))
    residuals = y - X @ coef
    spare = float(s.sum()) - rank
    variance = float(s @ residuals**2) / spare if spare > 1e-9 * len(s) else np.inf
    return LeastSquaresFit(coef, rank, residuals, variance, back @ back.T, U)
