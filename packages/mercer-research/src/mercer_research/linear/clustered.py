"""Ridge regression with one shrinkage for each cluster of eigenvalues: a convex relaxation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from mercer._typing import Array
from mercer_research.linear._model import centre
from mercer_research.linear._validation import Split
from mercer_research.linear.constrained import constrained_least_squares
from mercer_research.linear.fused_ridge import spectrum

__all__ = ["ClusteredRidge", "cluster_spectrum", "clustered_ridge"]


@dataclass(frozen=True)
class ClusteredRidge:
    """Two linear models: the relaxed model, and ridge regression with the nearest penalty.

    Parameters
    ----------
    coef, intercept : ndarray of shape (p,) and float
        The relaxed model.
    refit_coef, refit_intercept : ndarray of shape (p,) and float
        Ridge regression with ``alpha``.
    alpha : float
        The penalty whose shrinkages are closest.
    filters : ndarray of shape (k,)
        The factors of the clusters, centres descending.
    centres : ndarray of shape (k,)
        Geometric means of the eigenvalues of each cluster.
    labels : ndarray of shape (r,)
        Cluster of each eigenvalue, descending.
    cost, refit_cost : float
        Half of the squared errors of validation of both. If every eigenvalue is its own cluster the
        former is a lower bound for every penalty.
    """

    coef: Array
    intercept: float
    refit_coef: Array
    refit_intercept: float
    alpha: float
    filters: Array
    centres: Array
    labels: NDArray[np.intp]
    cost: float
    refit_cost: float


def cluster_spectrum(values: Array, n_clusters: int) -> NDArray[np.intp]:
    """Divide descending positive numbers at their largest gaps in logarithm.

    Examples
    --------
    >>> import numpy as np
    >>> cluster_spectrum(np.array([100.0, 90.0, 1.0, 0.9]), 2)
    array([0, 0, 1, 1])
    """
    gaps = -np.diff(np.log(values))
    cuts = np.sort(np.argsort(-gaps, kind="stable")[: n_clusters - 1])
    labels = np.zeros(len(values), dtype=np.intp)
    for cut in cuts:
        labels[cut + 1 :] += 1
    return labels


def clustered_ridge(
    X: Array,
    y: Array,
    X_val: Array,
    y_val: Array,
    *,
    n_clusters: int | None = 2,
    fit_intercept: bool = True,
) -> ClusteredRidge:
    r"""Fuse ridge regression with validation by a small convex program.

    The eigenvalues of :math:`X'X` fall in clusters :math:`\pi_i` around :math:`\sigma_i`, and

    .. math:: w = \sum_i \lambda_i \sum_{d \in \pi_i} U_d U_d' X'y, \qquad
              0 \le \lambda_i \le 1/\sigma_i, \qquad \lambda_i \le \lambda_j
              \text{ for } \sigma_i \ge \sigma_j

    replaces :math:`\lambda_d = 1/(\sigma_d + \alpha)`: the inequalities hold along the path of
    ridge regression, and the error of validation is convex in :math:`\lambda`. Penalty and ridge
    fit are then read off by :math:`\min_\alpha \sum_i q_i^2 (\sigma_i \lambda_i -
    \sigma_i/(\sigma_i + \alpha))^2` with :math:`q_i` the length of the fit in the cluster.

    Parameters
    ----------
    X, y : ndarray of shape (n, p) and (n,)
        Training data.
    X_val, y_val : ndarray of shape (m, p) and (m,)
        Validation data.
    n_clusters : int or None, default=2
        How many clusters, divided at the largest gaps of the logarithms; None for one for each
        eigenvalue.
    fit_intercept : bool, default=True
        Fit a free constant.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (7.7) and (7.8), whose sums
    lack the eigenvectors; the inequalities are those of eq. (7.23).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import clustered_ridge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50, 4)) * [10.0, 10.0, 0.1, 0.1]
    >>> y = X @ np.ones(4) + rng.standard_normal(50)
    >>> fit = clustered_ridge(X[:30], y[:30], X[30:], y[30:])
    >>> fit.labels
    array([0, 0, 1, 1])
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    X_val, y_val = np.asarray(X_val, dtype=np.float64), np.asarray(y_val, dtype=np.float64)
    split = Split.of(X, y, X_val, y_val, fit_intercept)
    U, s2, q = spectrum(split.train)
    if not len(s2):
        raise ValueError("X is constant; there is no spectrum to divide.")
    q = q[:, 0]
    if n_clusters is not None and not 1 <= n_clusters <= len(s2):
        raise ValueError(f"n_clusters must be from 1 to the rank {len(s2)}, got {n_clusters}.")
    labels = cluster_spectrum(s2, n_clusters or len(s2))
    k = int(labels[-1]) + 1
    member = np.equal.outer(labels, np.arange(k)).astype(np.float64)
    centres = np.exp(member.T @ np.log(s2) / member.sum(axis=0))
    # In units of 1/centre the factors are shrinkages in [0, 1]; the fit of eigenvalue d in cluster
    # i is X'y along U_d times lambda_i, and X'y along U_d is s2_d q_d.
    E = split.X_val @ (U * (s2 * q)) @ member / centres
    ordered = np.diag(np.ones(k)) - np.diag(centres[1:] / centres[:-1], -1)
    G = np.vstack([ordered, -np.eye(k)])
    h = np.concatenate([np.zeros(k), -np.ones(k)])
    mu = np.clip(constrained_least_squares(E, split.y_val, G, h).x, 0.0, 1.0)
    length = member.T @ q**2

    def misfit(theta: float) -> float:
        return float(length @ (mu - centres / (centres + np.exp(theta))) ** 2)

    grid = np.linspace(np.log(1e-8 * s2[-1]), np.log(1e8 * s2[0]), 200)
    best = int(np.argmin([misfit(theta) for theta in grid]))
    ends = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, 199)])
    theta = minimize_scalar(misfit, bounds=ends, method="bounded", options={"xatol": 1e-10}).x
    alpha = float(np.exp(theta))
    w = U @ (s2 * q * (member @ (mu / centres)))
    refit = U @ (q * s2 / (s2 + alpha))
    train = centre(X, y, fit_intercept)
    return ClusteredRidge(
        w,
        train.intercept(w),
        refit,
        train.intercept(refit),
        alpha,
        mu / centres,
        centres,
        labels,
        split.cost(w),
        split.cost(refit),
    )
