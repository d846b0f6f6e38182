"""Autocovariances of a series."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import fft

from mercer.kernels.points import Array
from mercer_research.series.power_spectrum import as_series


def autocovariance(
    y: ArrayLike, max_lag: int | None = None, *, method: str = "biased", center: bool = True
) -> Array:
    r"""Return the autocovariances of a series.

    .. math:: c_\tau = \frac1n \sum_{k=1}^{n-\tau} (y_k - \bar y)(y_{k+\tau} - \bar y)

    Every pair is counted once.

    Parameters
    ----------
    y : (n,) array
        Equally spaced in time.
    max_lag : int, optional
        The largest lag :math:`\tau`; n - 1 if not given.
    method : {"biased", "unbiased", "tapered"}, default="biased"
        The divisor n makes the sequence positive definite, n - :math:`\tau` makes it unbiased, and
        not positive definite. Tapered values are the biased ones times Parzen's window, which
        is positive definite: less noise, still valid.
    center : bool, default=True
        Subtract the mean first.

    Returns
    -------
    (max_lag + 1,) array

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (9.67), where pairs are
    counted twice.

    Examples
    --------
    >>> autocovariance([1.0, -1.0, 1.0, -1.0], max_lag=2)
    array([ 1.  , -0.75,  0.5 ])
    """
    return cross_covariance(y, y, max_lag, method=method, center=center)


def cross_covariance(
    y: ArrayLike,
    u: ArrayLike,
    max_lag: int | None = None,
    *,
    method: str = "biased",
    center: bool = True,
) -> Array:
    r"""Return covariances of a series with the past of another, :math:`E[y_{t+\tau} u_t]`.

    Parameters
    ----------
    y, u : (n,) arrays
    max_lag, method, center
        As for :func:`autocovariance`.

    Returns
    -------
    (max_lag + 1,) array

    Examples
    --------
    >>> 3 * cross_covariance([0.0, 1.0, 0.0], [1.0, 0.0, 0.0], center=False).round(12) + 0.0
    array([0., 1., 0.])
    """
    left, right = as_series(y), as_series(u, "u")
    n = len(left)
    if len(right) != n:
        raise ValueError(f"Both series must have one length, got {n} and {len(right)}.")
    m = n - 1 if max_lag is None else int(max_lag)
    if not 0 <= m < n:
        raise ValueError(f"max_lag must be between 0 and {n - 1}, got {max_lag}.")
    if center:
        left, right = left - left.mean(), right - right.mean()
    length = fft.next_fast_len(2 * n, real=True)
    product = fft.rfft(left, length) * np.conj(fft.rfft(right, length))
    sums = np.asarray(fft.irfft(product, length)[: m + 1])
    if method == "biased":
        return sums / n
    if method == "unbiased":
        return sums / (n - np.arange(m + 1))
    if method == "tapered":
        return sums / n * parzen(m + 1)
    raise ValueError(f"method must be 'biased', 'unbiased' or 'tapered', got {method!r}.")


def parzen(m: int) -> Array:
    r"""Return Parzen's lag window at lags 0 to m - 1, zero from lag m on.

    :math:`1 - 6u^2 + 6u^3` up to :math:`u = \tau/m = 1/2` and :math:`2(1 - u)^3` beyond: a cubic
    B-spline, so that its spectrum is nowhere negative.

    Examples
    --------
    >>> parzen(2)
    array([1.  , 0.25])
    """
    u = np.arange(m) / m
    return np.where(u <= 0.5, 1.0 - 6.0 * u**2 * (1.0 - u), 2.0 * (1.0 - u) ** 3)
