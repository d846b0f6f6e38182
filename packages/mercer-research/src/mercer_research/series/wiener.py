"""Optimal linear filters that see the past only."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from mercer.kernels.points import Array
from mercer_research.series.autocovariance import autocovariance, cross_covariance


def wiener_hopf(
    R_U: ArrayLike, R_YU: ArrayLike, mode: str = "filter", *, jitter: float = 0.0
) -> Array:
    r"""Return the linear map of a series that predicts another one best, seeing the past only.

    .. math:: \min_K E |K U - Y|^2 \quad \text{with K lower triangular}, \qquad
              K = [R_{YU} L^{-\top}]_{\text{lower}} L^{-1}, \quad R_U = L L'

    :math:`L^{-1} U` are the innovations of U: row i regresses :math:`y_i` on those up to i.

    Parameters
    ----------
    R_U : (n, n) array
        Covariance :math:`E[U U']`, positive definite.
    R_YU : (m, n) array
        Covariance :math:`E[Y U']`.
    mode : {"filter", "predictor", "smoother"}, default="filter"
        Whether :math:`y_i` may depend on :math:`u_j` with j up to i, below i, or all j.
    jitter : float, default=0.0
        Added to the variances of U, as a share of their mean, if R_U is singular.

    Returns
    -------
    (m, n) array

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (9.50), where U and Y are
    exchanged.

    Examples
    --------
    >>> wiener_hopf(np.eye(2), [[1.0, 0.5], [0.5, 1.0]])
    array([[1. , 0. ],
           [0.5, 1. ]])
    """
    R, S = np.asarray(R_U, dtype=float), np.asarray(R_YU, dtype=float)
    if R.ndim != 2 or R.shape[0] != R.shape[1] or S.ndim != 2 or S.shape[1] != len(R):
        raise ValueError(
            f"R_U must be square and R_YU have as many columns, got {R.shape} and {S.shape}."
        )
    if mode not in ("filter", "predictor", "smoother"):
        raise ValueError(f"mode must be 'filter', 'predictor' or 'smoother', got {mode!r}.")
    try:
        L = linalg.cholesky(R + jitter * R.trace() / len(R) * np.eye(len(R)), lower=True)
    except linalg.LinAlgError:
        raise ValueError("R_U is not positive definite; add a jitter such as 1e-10.") from None
    innovations = linalg.solve_triangular(L, S.T, lower=True).T
    if mode != "smoother":
        innovations = np.tril(innovations, 0 if mode == "filter" else -1)
    return np.asarray(linalg.solve_triangular(L, innovations.T, lower=True, trans="T").T)


def wiener_taps(u: ArrayLike, y: ArrayLike, order: int) -> Array:
    r"""Return the coefficients of the stationary filter that predicts y from the past of u.

    :math:`\hat y_t = \sum_{k=0}^{q-1} h_k u_{t-k}` (after subtracting means) from the normal
    equations with biased covariances, a Toeplitz system solved by Levinson's recursion.

    Parameters
    ----------
    u, y : (n,) arrays
    order : int
        The number q of coefficients.

    Returns
    -------
    (order,) array

    Examples
    --------
    >>> u = np.random.default_rng(0).normal(size=5000)
    >>> y = np.convolve(u, [1.0, 0.5])[:5000]
    >>> wiener_taps(u, y, 3).round(2) + 0.0
    array([1. , 0.5, 0. ])
    """
    right = cross_covariance(y, u, order - 1)
    return np.asarray(linalg.solve_toeplitz(autocovariance(u, order - 1), right))
