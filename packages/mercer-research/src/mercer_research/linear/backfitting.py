"""Backfitting: additive models fitted one component at a time, to compare joint fits with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve

from mercer._typing import Array

__all__ = ["Backfit", "backfit", "marginal_integration"]


@dataclass(frozen=True, eq=False)
class Backfit:
    """Components on the sample.

    Parameters
    ----------
    components : ndarray of shape (n, P)
        Values of the components.
    intercept : float
        The constant.
    n_iter : int
        Rounds over all components.
    change : float
        Largest change of a component in the last round.
    """

    components: Array
    intercept: float
    n_iter: int
    change: float

    @property
    def fitted(self) -> Array:
        """Values of the sum."""
        return np.asarray(self.components.sum(axis=1) + self.intercept)


def backfit(
    Ks: Sequence[ArrayLike],
    y: ArrayLike,
    C: float = 1.0,
    *,
    tol: float = 1e-10,
    max_iter: int = 10_000,
) -> Backfit:
    r"""Fit an additive model by smoothing residuals, one component after the other.

    .. math:: f_p \leftarrow S_p \Bigl(y - b - \sum_{q \ne p} f_q\Bigr), \qquad
              S_p = K_p (K_p + 1/C)^{-1}, \qquad b \leftarrow \overline{y - \textstyle\sum_p f_p}

    which is block Gauss-Seidel on the equations of the joint machine, and converges to it: the
    slower, the more components resemble each other.

    Parameters
    ----------
    Ks : sequence of (n, n) arrays
        Kernel matrices of the components.
    y : (n,) array
        Targets.
    C : float, default=1.0
        Weight of the squared loss.
    tol : float, default=1e-10
        Largest change of a component, relative to the spread of y, at which it ends.
    max_iter : int, default=10000
        Largest number of rounds.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (4.16); T. Hastie and R.
    Tibshirani, *Generalized Additive Models*, 1990.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).uniform(size=(40, 2))
    >>> y = np.sin(6 * X[:, 0]) + X[:, 1]
    >>> found = backfit([Gaussian(0.3)(X[:, [j]]) for j in range(2)], y, C=100.0)
    >>> bool(np.std(y - found.fitted) < 0.02)
    True
    """
    target = np.asarray(y, dtype=np.float64)
    n = len(target)
    matrices = [np.asarray(K, dtype=np.float64) for K in Ks]
    factors = [cho_factor(K + np.eye(n) / C, lower=True) for K in matrices]
    F, b = np.zeros((n, len(matrices))), float(target.mean())
    scale = float(np.ptp(target)) or 1.0
    change, rounds = np.inf, 0
    while change > tol * scale and rounds < max_iter:
        rounds += 1
        before = F.copy()
        for p, (K, factor) in enumerate(zip(matrices, factors, strict=True)):
            left = target - b - F.sum(axis=1) + F[:, p]
            F[:, p] = K @ cho_solve(factor, left)
        b = float(np.mean(target - F.sum(axis=1)))
        change = float(np.max(np.abs(F - before), initial=0.0))
    return Backfit(F, b, rounds, change)


def marginal_integration(X: ArrayLike, y: ArrayLike, bandwidth: ArrayLike) -> Backfit:
    r"""Average a local mean over all features but one.

    .. math:: f_p(x) = \frac1n \sum_i \hat m(x, X_{i, -p}) - \bar y, \qquad
              \hat m(x) = \frac{\sum_j y_j \prod_q k((x_q - X_{jq}) / h_q)}
                               {\sum_j \prod_q k((x_q - X_{jq}) / h_q)}

    with Gaussian k. It needs no iteration, but a pilot in as many dimensions as there are features,
    whose curse it inherits.

    Parameters
    ----------
    X : (n, p) array
        Inputs.
    y : (n,) array
        Targets.
    bandwidth : float or (p,) array
        Bandwidths h of the pilot.

    Returns
    -------
    Backfit
        Components that are zero on average, in one round.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 4.2; O. Linton and J. P.
    Nielsen, *A kernel method of estimating structured nonparametric regression*, Biometrika 82
    (1995).

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(size=(200, 2))
    >>> found = marginal_integration(X, 2 * X[:, 0], 0.1)
    >>> bool(np.corrcoef(found.components[:, 0], X[:, 0])[0, 1] > 0.99)
    True
    """
    points, target = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    n, p = points.shape
    h = np.broadcast_to(np.asarray(bandwidth, dtype=np.float64), (p,))
    logs = [
        -0.5 * np.square((x[:, None] - x) / width) for x, width in zip(points.T, h, strict=True)
    ]
    whole = np.sum(logs, axis=0)
    F = np.empty((n, p))
    for q in range(p):
        # Largest entries are one in every row, so that a point far from all has a neighbour left.
        others = whole - logs[q]
        others = np.exp(others - others.max(axis=1, keepdims=True))
        own = np.exp(logs[q])
        below = own @ others.T
        F[:, q] = np.mean((own * target) @ others.T / np.maximum(below, 1e-300), axis=1)
    F -= F.mean(axis=0)
    return Backfit(F, float(target.mean()), 1, 0.0)
