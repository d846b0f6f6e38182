r"""Linear processes: :math:`z_t = \sum_i \varphi_i z_{t-i} + e_t + \sum_j \theta_j e_{t-j}`.

The innovations :math:`e_t` are uncorrelated with variance one. Everything is exact: from a
stationary start the autoregressive filter leaves a matrix of few bands, whose Cholesky factor
whitens the rest in a time that grows with n.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cholesky_banded, solve_triangular, toeplitz
from scipy.linalg.lapack import dtbtrs
from scipy.sparse.linalg import LinearOperator

from mercer._lazily import lazily
from mercer._typing import Array, LinearMap

Filter: TypeAlias = Callable[[Array], Array]

lfilter = lazily("scipy.signal", "lfilter")


def partial(phi: Array) -> Array:
    """Return the partial autocorrelations of an autoregression; all below one: it is stationary.

    Examples
    --------
    >>> partial(np.array([0.5, 0.2])).round(12)
    array([0.625, 0.2  ])
    """
    phi, r = np.array(phi, dtype=np.float64), np.empty(len(phi))
    for k in range(len(phi) - 1, -1, -1):
        r[k] = phi[k]
        if not abs(r[k]) < 1.0:
            return np.full(len(r), np.inf)
        phi = (phi[:k] + r[k] * phi[:k][::-1]) / (1.0 - r[k] ** 2)
    return r


def autoregression(r: Array) -> Array:
    """Return the coefficients with given partial autocorrelations, by Durbin and Levinson.

    Examples
    --------
    >>> autoregression(np.array([0.625, 0.2])).round(12)
    array([0.5, 0.2])
    """
    phi = np.empty(0)
    for value in np.asarray(r, dtype=np.float64):
        phi = np.append(phi - value * phi[::-1], value)
    return phi


def responses(phi: Array, theta: Array, n: int) -> Array:
    """Return the weights of the last n innovations in a value: one, then the memory."""
    impulse = np.zeros(n)
    impulse[:1] = 1.0
    return np.asarray(lfilter(np.r_[1.0, theta], np.r_[1.0, -phi], impulse))


def autocovariance(phi: Array, theta: Array, n: int) -> Array:
    r"""Return the covariances of values 0, ..., n - 1 apart in the stationary process.

    They solve :math:`\gamma_h - \sum_i \varphi_i \gamma_{|h-i|} = \sum_{j \ge h} \theta_j
    \psi_{j-h}` with the responses :math:`\psi`, for h up to p, and follow from it beyond.

    Examples
    --------
    >>> autocovariance(np.array([0.5]), np.empty(0), 3)
    array([1.33333333, 0.66666667, 0.33333333])
    >>> autocovariance(np.empty(0), np.array([0.5]), 3)
    array([1.25, 0.5 , 0.  ])
    """
    p, q = len(phi), len(theta)
    size = max(n, p + 1, q + 1)
    weights, right = np.r_[1.0, theta], np.zeros(size)
    psi = responses(phi, theta, q + 1)
    for h in range(q + 1):
        right[h] = weights[h:] @ psi[: q + 1 - h]
    equations = np.eye(p + 1)
    for h in range(p + 1):
        for i in range(1, p + 1):
            equations[h, abs(h - i)] -= phi[i - 1]
    gamma = np.zeros(size)
    gamma[: p + 1] = np.linalg.solve(equations, right[: p + 1])
    for h in range(p + 1, size):
        gamma[h] = right[h] + phi @ gamma[h - p : h][::-1]
    return gamma[:n]


def covariance(phi: Array, theta: Array, n: int, stationary: bool) -> Array:
    """Return the covariance of n values in a row."""
    if stationary:
        return np.asarray(toeplitz(autocovariance(phi, theta, n)))
    psi = np.tril(toeplitz(responses(phi, theta, n)))
    return np.asarray(psi @ psi.T)


def whitening(phi: Array, theta: Array, n: int, stationary: bool) -> LinearMap:
    """Return the map from n values in a row to innovations: sparse if nothing is averaged."""
    if stationary:
        return _from_stationarity(phi, theta, n)
    if not len(theta):
        return _filter(phi, n, 0)
    ar, ma = np.r_[1.0, -phi], np.r_[1.0, theta]

    def forward(v: Array) -> Array:
        return np.asarray(lfilter(ar, ma, v, axis=0))

    # A lower triangular Toeplitz matrix is transposed by turning the order of time around.
    return operator(n, forward, lambda v: forward(v[::-1])[::-1])


def _filter(phi: Array, n: int, start: int) -> sparse.csr_array:
    """Return the autoregressive filter; values before `start` are left as they are."""
    rows = np.arange(n) >= start
    bands = [np.ones(n), *(-value * rows[k:] for k, value in enumerate(phi, 1) if k < n)]
    offsets = [-k for k in range(len(bands))]
    return sparse.csr_array(sparse.diags_array(bands, offsets=offsets, shape=(n, n)))


def _from_stationarity(phi: Array, theta: Array, n: int) -> LinearMap:
    p, q = len(phi), len(theta)
    start = min(max(p, q), n)
    T = _filter(phi, n, start)
    gamma = autocovariance(phi, theta, start + q + 1)
    if not q:
        first = np.linalg.cholesky(toeplitz(gamma[:start])) if start else np.empty((0, 0))
        inverse = solve_triangular(first, np.eye(start), lower=True)
        return sparse.csr_array(sparse.block_diag([inverse, sparse.eye_array(n - start)]) @ T)
    # What the filter leaves: values of the process, then averages of innovations. It is correlated
    # over at most `width` steps.
    width = min(max(start - 1, q), n - 1)
    ma = np.r_[1.0, theta]
    averages = np.array([ma[: q + 1 - h] @ ma[h:] if h <= q else 0.0 for h in range(width + 1)])
    bands = np.tile(averages[:, None], n)
    for j in range(start):
        for i in range(j, min(j + width + 1, n)):
            mixed = gamma[i - j] if i - j < len(gamma) else 0.0
            if i >= start:
                mixed = 0.0
                if i - j <= q:
                    lags = np.abs(i - j - np.arange(p + 1))
                    mixed = np.r_[1.0, -phi] @ gamma[lags]
            bands[i - j, j] = mixed
    L = cholesky_banded(bands, lower=True)

    def forward(v: Array) -> Array:
        return np.asarray(dtbtrs(L, T @ v, uplo="L")[0])

    def backward(v: Array) -> Array:
        return np.asarray(T.T @ dtbtrs(L, v, uplo="L", trans="T")[0])

    return operator(n, forward, backward)


def bridged(phi: float, gaps: Array) -> sparse.csr_array:
    r"""Return the map to innovations of an autoregression of order one over gaps in time.

    Given the value before, a value :math:`\Delta` later has mean :math:`\varphi^\Delta` times it
    and variance :math:`(1 - \varphi^{2\Delta})/(1 - \varphi^2)`.
    """
    memory = phi**gaps
    scale = np.sqrt((1.0 - phi**2) / np.r_[1.0, 1.0 - memory**2])
    return sparse.csr_array(
        sparse.diags_array([scale, -memory * scale[1:]], offsets=[0, -1], shape=(len(scale),) * 2)
    )


def operator(n: int, forward: Filter, backward: Filter) -> LinearOperator:
    """Return a square map from functions of vectors or matrices."""

    def guarded(function: Filter) -> Filter:
        # The wrappers of LAPACK write into memory that a matrix without columns does not have.
        return lambda v: function(v) if np.size(v) else np.zeros(np.shape(v))

    forward, backward = guarded(forward), guarded(backward)
    return LinearOperator(
        (n, n), matvec=forward, rmatvec=backward, matmat=forward, rmatmat=backward, dtype=float
    )


def reordered(W: LinearMap, order: NDArray[np.intp]) -> LinearMap:
    """Return the map that puts values in order, applies `W`, and puts them back."""
    back, T = np.argsort(order), W.T
    if isinstance(W, sparse.csr_array):
        return W[back][:, back]
    return operator(len(order), lambda v: (W @ v[order])[back], lambda v: (T @ v[order])[back])
