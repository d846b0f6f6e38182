r"""Kernels realized from a series: from its autocovariance to the kernel that would explain it.

A smooth part :math:`\gamma \sigma \Omega z` and noise :math:`\sigma e`, both from white noise and
independent, have the covariance :math:`C = \gamma^2 \sigma^2 \Omega \Omega' + \sigma^2 I`.
Knowing :math:`\sigma^2`, the matrix :math:`\Omega` of the kernel is a square root.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import fft, linalg, optimize

from mercer._typing import Seed
from mercer.kernels import Gaussian, Kernel, Matern
from mercer.kernels.points import Array
from mercer_research.kernels import Fourier
from mercer_research.kernels.tabulated import Tabulated
from mercer_research.series.autocovariance import autocovariance
from mercer_research.series.power_spectrum import as_series
from mercer_research.series.projection import nearest_moving_average

SHAPES: list[Kernel] = [Gaussian(), Matern(nu=0.5), Matern(nu=1.5), Matern(nu=2.5)]
"""Kernels that are fitted to a table, for length scale 1."""


@dataclass(frozen=True, eq=False)
class Realization:
    """A kernel estimated from a series, whose convolution with itself is the covariance."""

    lags: Array
    """Lags in time."""

    values: Array
    """The kernel at these lags, 1 at lag 0."""

    gamma: float
    """The weight of the kernel against unit noise: its value at lag 0 over that of the noise."""

    noise_variance: float

    suggestion: Kernel
    """A multiple of the closest of some common kernels; lag 0, which holds a spurious peak, does
    not count, so that its factor is the value that the others point at."""

    band: Array | None = None
    """Lower and upper ends of a bootstrap band for the values, ``(2, m)``."""

    @cached_property
    def kernel(self) -> Tabulated:
        """The nearest table that is positive definite, found when it is asked for."""
        return Tabulated(self.lags, nearest_moving_average(self.values))


def realize(
    y: ArrayLike,
    noise_variance: float,
    *,
    spacing: float = 1.0,
    max_lag: int | None = None,
    taper: bool = True,
    center: bool = True,
    moment: str = "independent",
    method: str = "matrix",
    read: str = "diagonals",
    n_bootstrap: int = 0,
    bootstrap: str = "parametric",
    level: float = 0.9,
    random_state: Seed = None,
) -> Realization:
    r"""Read a kernel from an equally spaced series with noise of known variance.

    .. math:: \gamma \sigma \Omega = (C - \sigma^2 I)_+^{1/2}

    with the Toeplitz matrix C of the sample autocovariances. Its eigenvalues fall far below the
    variance of the noise (to a tenth of it for 200 samples), so those of the difference are
    clipped at zero, and covariances at long lags, which are noise, are tapered.

    Parameters
    ----------
    y : (n,) array
        Equally spaced in time.
    noise_variance : float
        The variance of the noise, :math:`\sigma^2`.
    spacing : float, default=1.0
        Time between two samples.
    max_lag : int, optional
        Largest lag of a covariance that is used; a quarter of the series if not given.
    taper : bool, default=True
        Multiply covariances by Parzen's window.
    center : bool, default=True
        Subtract the mean of the series; this also removes part of what is slow, so leave it if the
        mean is known to be zero.
    moment : {"independent", "self"}, default="independent"
        Whether the smooth part is driven by noise of its own, or is
        :math:`\gamma \Omega e` with the noise e that is observed too; then
        :math:`C = \sigma^2 (\gamma \Omega + I)^2`.
    method : {"matrix", "fft"}, default="matrix"
        Take the root of the matrix, or of the spectrum of the autocovariances, which is the same
        for long series and has no ends.
    read : {"diagonals", "middle"}, default="diagonals"
        Take the kernel from the means of the diagonals or from the middle row of the matrix; the
        first row would suffer from the end of the series.
    n_bootstrap : int, default=0
        Number of series to repeat the estimate on, for a band.
    bootstrap : {"parametric", "block"}, default="parametric"
        Draw these from the Gaussian process found, or from blocks of the series whose length is
        `max_lag`.
    level : float, default=0.9
        Share of repetitions inside the band at each lag.
    random_state : int, Generator or None

    Returns
    -------
    Realization

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (9.66)-(9.70), Algorithm 9.1,
    whose condition that no eigenvalue is below the noise fails on every sample.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> t = np.arange(500)
    >>> H = np.exp(-((t[:, None] - t) ** 2) / 50.0)
    >>> found = realize(H @ rng.normal(size=500) + rng.normal(size=500), noise_variance=1.0)
    >>> found.suggestion.kernel
    Gaussian(length_scale=4.5...)
    """
    y = as_series(y)
    n = len(y)
    m = max(1, n // 4) if max_lag is None else int(max_lag)
    for name, value, known in (
        ("moment", moment, ("independent", "self")),
        ("method", method, ("matrix", "fft")),
        ("read", read, ("diagonals", "middle")),
        ("bootstrap", bootstrap, ("parametric", "block")),
    ):
        if value not in known:
            raise ValueError(f"{name} must be one of {known}, got {value!r}.")
    if not 0.0 < noise_variance < np.inf:
        raise ValueError(f"noise_variance must be a positive number, got {noise_variance}.")
    sigma = float(np.sqrt(noise_variance))

    def amplitudes(series: Array) -> Array:
        c = autocovariance(series, m, method="tapered" if taper else "biased", center=center)
        return _root(c, n, sigma, moment, method, read)[: m + 1]

    found = amplitudes(y)
    if not found[0] > 0.0:
        raise ValueError(
            "Nothing is left of the series after the noise: its variance is below noise_variance."
        )
    lags = spacing * np.arange(len(found))  # the middle row shows half of the series at most
    band = None
    if n_bootstrap:
        rng = np.random.default_rng(random_state)
        draw = _parametric if bootstrap == "parametric" else _blocks
        runs = np.array([amplitudes(draw(y, found, sigma, m, rng)) for _ in range(n_bootstrap)])
        tails = [0.5 * (1.0 - level), 0.5 * (1.0 + level)]
        band = np.quantile(runs / found[0], tails, axis=0)
    values = found / found[0]
    gamma, suggestion = float(found[0] / sigma), suggest(lags, values)
    return Realization(lags, values, gamma, float(noise_variance), suggestion, band)


def _root(c: Array, n: int, sigma: float, moment: str, method: str, read: str) -> Array:
    """Return the kernel times gamma sigma, at lags 0 to n - 1."""

    def root(power: Array) -> Array:
        if moment == "independent":
            return np.sqrt(np.maximum(power - sigma**2, 0.0))
        return np.maximum(np.sqrt(np.maximum(power, 0.0)) - sigma, 0.0)

    if method == "fft":
        length = fft.next_fast_len(4 * n, real=True)
        power = fft.hfft(np.pad(c, (0, length // 2 + 1 - len(c))), length)
        return np.asarray(fft.ihfft(root(np.asarray(power))).real[:n])
    row = np.pad(c, (0, n - len(c)))
    values, vectors = linalg.eigh(linalg.toeplitz(row))
    Omega = (vectors * root(values)) @ vectors.T
    if read == "middle":
        return np.asarray(Omega[n // 2, n // 2 :])
    return np.array([Omega.diagonal(lag).mean() for lag in range(len(c))])


def _parametric(y: Array, found: Array, sigma: float, m: int, rng: np.random.Generator) -> Array:
    """Return a series from the process found: white noise filtered, and noise."""
    both = np.concatenate([found[:0:-1], found])
    z = rng.normal(size=len(y) + len(both) - 1)
    return np.asarray(np.convolve(z, both, mode="valid") + sigma * rng.normal(size=len(y)))


def _blocks(y: Array, found: Array, sigma: float, m: int, rng: np.random.Generator) -> Array:
    """Return a series of blocks of the one given, each longer than any lag that is used."""
    length = min(2 * m, len(y))
    starts = rng.integers(0, len(y) - length + 1, size=-(-len(y) // length))
    return np.asarray(y[(starts[:, None] + np.arange(length)).ravel()[: len(y)]])


def suggest(lags: Array, values: Array) -> Kernel:
    r"""Return the multiple of a common kernel that is closest to a table, lag 0 left aside.

    Least squares over factor and width for each of Gaussian, exponential and Matern kernels.

    Parameters
    ----------
    lags : (m,) array
        From 0 on.
    values : (m,) array

    Examples
    --------
    >>> t = np.linspace(0, 10, 40)
    >>> suggest(t, np.append(1.0, 0.5 * np.exp(-t[1:] / 2))).kernel
    Matern(length_scale=2.0..., nu=0.5)
    """
    t, v = np.asarray(lags, dtype=float)[1:], np.asarray(values, dtype=float)[1:]
    best: tuple[float, Kernel] = (np.inf, Gaussian())
    for shape in SHAPES:

        def profile(log_scale: float, shape: Kernel = shape) -> tuple[float, float]:
            phi = shape(np.zeros((1, 1)), t[:, None] / np.exp(log_scale))[0]
            factor = max(float(phi @ v) / max(float(phi @ phi), 1e-300), 0.0)
            return float(((v - factor * phi) ** 2).sum()), factor

        grid = np.log(np.geomspace(0.3 * t[0], 3.0 * t[-1], 40))
        start = int(np.argmin([profile(g)[0] for g in grid]))
        ends = grid[max(start - 1, 0)], grid[min(start + 1, len(grid) - 1)]
        scale = optimize.minimize_scalar(
            lambda g: profile(g)[0], bounds=ends, method="bounded", options={"xatol": 1e-6}
        ).x
        error, factor = profile(scale)
        if error < best[0]:
            best = error, factor * copy(shape).set_params(length_scale=float(np.exp(scale)))
    return best[1]


@dataclass(frozen=True, eq=False)
class CirculantRealization:
    """The periodic kernel with the smallest expected error."""

    frequencies: Array
    """Angular frequencies, from 0 to the highest."""

    shrinkage: Array
    """What the smoother keeps of each of them."""

    criterion: float
    """Mallows' estimate of the mean squared error."""

    fitted: Array
    """The smoothed series."""

    lags: Array
    values: Array
    """The kernel at these lags, 1 at lag 0."""

    gamma: float
    """Its weight: the smoother solves ``(gamma K + I) e = y`` and returns ``y - e``."""

    kernel: Fourier
    """The kernel itself; its period is that of the series."""


def realize_circulant(
    y: ArrayLike, noise_variance: float, *, spacing: float = 1.0, monotone: bool = True
) -> CirculantRealization:
    r"""Choose among all periodic kernels the one with the smallest expected error.

    On a circle every stationary smoother multiplies the frequencies of the series by numbers
    :math:`\mu_k`, and Mallows' criterion

    .. math:: C_p = \frac1n \sum_k \bigl((1 - \mu_k)^2 P_k + 2 \sigma^2 \mu_k\bigr) - \sigma^2

    is smallest at :math:`\mu_k = (1 - \sigma^2/P_k)_+` with the periodogram :math:`P_k`. The
    kernel has the eigenvalues :math:`\mu_k/(1 - \mu_k)`.

    Parameters
    ----------
    y : (n,) array
        Equally spaced over one period; its mean is kept as it is.
    noise_variance : float
        The variance of the noise, :math:`\sigma^2`.
    spacing : float, default=1.0
        Time between two samples.
    monotone : bool, default=True
        Replace the periodogram by the closest one that does not increase with the frequency;
        without this every frequency is judged by one number, which is noise.

    Returns
    -------
    CirculantRealization

    Notes
    -----
    Samples that are not equally spaced mix the frequencies. A sum of waves, ``1.0 * Fourier(...)``
    for each, has one factor a frequency, and :func:`mercer.tune` chooses all of them by the
    gradient of its criterion: on a circle, by the evidence, these are the same shrinkages with
    the variance of the frequencies that are left out.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (9.65), Example 9.5.

    Examples
    --------
    >>> t = np.arange(64)
    >>> y = 3 * np.sin(2 * np.pi * t / 64) + np.random.default_rng(0).normal(size=64)
    >>> realize_circulant(y, 1.0).shrinkage.round(2)[:4]
    array([0.  , 0.99, 0.5 , 0.5 ])
    """
    y = as_series(y)
    n = len(y)
    if not 0.0 < noise_variance < np.inf:
        raise ValueError(f"noise_variance must be a positive number, got {noise_variance}.")
    transform = fft.rfft(y - y.mean())
    power = np.abs(transform) ** 2 / n
    times = np.full(len(power), 2.0)
    times[0] = 1.0
    if n % 2 == 0:
        times[-1] = 1.0
    smooth = power.copy()
    if monotone:
        fit = optimize.isotonic_regression(power[1:], weights=times[1:], increasing=False)
        smooth[1:] = fit.x
    mu = np.zeros(len(power))
    np.divide(noise_variance, smooth, out=mu, where=smooth > 0.0)
    mu = np.where(smooth > noise_variance, 1.0 - mu, 0.0)
    mu[0] = 0.0
    if not mu.any():
        raise ValueError(
            "No frequency of the series is stronger than the noise: there is nothing to realize."
        )
    eigenvalues = mu / (1.0 - mu)
    kernel = np.asarray(fft.irfft(eigenvalues, n))
    # The eigenvalue of a pair of waves is n / (2 g); the highest one of an even n is alone.
    with np.errstate(divide="ignore"):
        penalties = n / (times * eigenvalues)
    error = float((times * ((1.0 - mu) ** 2 * power + 2.0 * noise_variance * mu))[1:].sum() / n)
    half = n // 2 + 1
    return CirculantRealization(
        2.0 * np.pi * np.arange(len(mu)) / (n * spacing),
        mu,
        error - float(noise_variance) * (n - 1) / n,
        np.asarray(fft.irfft(mu * transform, n) + y.mean()),
        spacing * np.arange(half),
        kernel[:half] / kernel[0],
        float(kernel[0]),
        Fourier(penalties, period=n * spacing),
    )
