"""Power spectra of series, and kernels with such a spectrum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import signal

from mercer.kernels import SpectralMixture
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array
from mercer_research.kernels import FromSpectrum

UNITARY = np.sqrt(2.0 * np.pi)


def as_series(y: ArrayLike, name: str = "y") -> Array:
    """Return a series as an array of float; refuse short, infinite or several series."""
    series = np.asarray(y, dtype=float)
    if series.ndim != 1 or len(series) < 2 or not np.isfinite(series).all():
        raise ValueError(
            f"{name} must be a series of two or more finite numbers, got shape {series.shape}."
        )
    return series


@dataclass(frozen=True, eq=False)
class PowerSpectrum:
    r"""The power of a series at some frequencies, in units of its covariance.

    .. math:: c(\tau) = (2\pi)^{-1/2} \int P(\omega) \cos(\omega\tau) \, d\omega
    """

    omega: Array
    """Angular frequencies, increasing from 0 or nearly 0."""

    power: Array
    """P, in the convention of :meth:`mercer.kernels.Kernel.spectrum`."""

    spacing: float
    """Mean time between samples: frequencies above pi over this are aliases of lower ones."""


def power_spectrum(
    y: ArrayLike,
    *,
    times: ArrayLike | None = None,
    spacing: float = 1.0,
    segment: int | None = None,
    n_frequencies: int | None = None,
    average: int = 1,
) -> PowerSpectrum:
    r"""Estimate the power spectrum of a series.

    Of an equally spaced series by Welch's means over segments, each without its linear trend and
    under Hann's window; at arbitrary times by the periodogram of Lomb and Scargle. The units are
    those of kernels: white noise of variance :math:`\sigma^2` has the power
    :math:`\sigma^2 \Delta / \sqrt{2\pi}` at spacing :math:`\Delta`.

    Parameters
    ----------
    y : (n,) array
    times : (n,) array, optional
        When the samples were taken, if not equally spaced.
    spacing : float, default=1.0
        Time between samples, if equally spaced.
    segment : int, optional
        Length of the segments; an eighth of the series, but at least 16 samples, if not given.
    n_frequencies : int, optional
        For arbitrary times: how many frequencies, up to pi over the mean spacing; half as many as
        samples if not given.
    average : int, default=1
        For arbitrary times: how many neighbouring frequencies to average, because a periodogram is
        noisy however long the series is.

    Returns
    -------
    PowerSpectrum

    Examples
    --------
    >>> noise = np.random.default_rng(0).normal(size=20_000)
    >>> estimate = power_spectrum(noise)
    >>> (estimate.power.mean() * np.sqrt(2 * np.pi)).round(1)
    np.float64(1.0)
    """
    y = as_series(y)
    n = len(y)
    if times is None:
        length = min(n, max(16, n // 8)) if segment is None else int(segment)
        if not 2 <= length <= n:
            raise ValueError(f"segment must be between 2 and {n}, got {segment}.")
        f, density = signal.welch(y, fs=1.0 / spacing, nperseg=length, detrend=signal.detrend)
        # One-sided and per cycle: half of it per side, and 2 pi radians a cycle.
        power = np.asarray(density) / (2.0 * UNITARY)
        power[0] *= 2.0
        if length % 2 == 0:
            power[-1] *= 2.0
        return PowerSpectrum(2.0 * np.pi * np.asarray(f), power, float(spacing))
    t = as_series(times, "times")
    if len(t) != n or not (np.diff(t) > 0.0).all():
        raise ValueError("times must increase, one for each sample.")
    mean = float(t[-1] - t[0]) / (n - 1)
    m = max(1, n // 2) if n_frequencies is None else int(n_frequencies)
    omega = np.pi / mean * np.arange(1, m + 1) / m
    periodogram = np.asarray(signal.lombscargle(t, y - y.mean(), omega))
    if average > 1:
        periodogram = _averages(periodogram, average)
    return PowerSpectrum(omega, periodogram * mean / UNITARY, mean)


def _averages(values: Array, width: int) -> Array:
    """Return running means, of fewer numbers near the ends."""
    box = np.ones(width)
    counts = np.convolve(np.ones_like(values), box, "same")
    return np.asarray(np.convolve(values, box, "same") / counts)


def kernel_from_power_spectrum(
    source: PowerSpectrum | Callable[[Array], Array] | ArrayLike,
    *,
    noise_variance: float = 0.0,
    tail: float | None = None,
    components: int | None = None,
    **options: Any,
) -> Kernel:
    r"""Return the kernel whose functions have a given power spectrum.

    A Gaussian process, which is what the penalty :math:`\tfrac12 \|f\|^2` assumes, has the power
    spectrum of its covariance; so the kernel for functions with an expected spectrum is the one
    with this spectrum.

    Parameters
    ----------
    source : PowerSpectrum, callable, or (n,) array
        The spectrum; or a series, of which it is estimated.
    noise_variance : float, default=0.0
        Variance of white noise, whose power is subtracted; what becomes negative is set to 0.
    tail : float, optional
        Exponent of a decay :math:`|\omega|^{-tail}` above the highest frequency of an estimate,
        which cannot know it: without it there is no power there.
    components : int, optional
        Fit so many Gaussian bands instead of taking the estimate as a table.
    **options
        For :func:`power_spectrum` of a series.

    Returns
    -------
    FromSpectrum or SpectralMixture

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 3.3.5, whose eq. (3.36)-(3.38) hold
    for white coefficients instead.

    Examples
    --------
    >>> kernel_from_power_spectrum(lambda w: np.exp(-0.5 * w**2))([[0.0]], [[1.0]]).round(4)
    array([[0.6065]])
    """
    if callable(source):
        return FromSpectrum(source)
    if not isinstance(source, PowerSpectrum):
        source = power_spectrum(source, **options)
    omega = source.omega
    power = np.maximum(source.power - noise_variance * source.spacing / UNITARY, 0.0)
    if not power.any():
        raise ValueError("No power is left above the power of the noise.")
    if components is not None:
        return _mixture(omega, power, int(components))
    if tail is None:
        return FromSpectrum((omega, power))
    if not tail > 1.0:
        raise ValueError(f"tail must exceed 1 for a finite variance, got {tail}.")
    return FromSpectrum(_TailedDensity(omega, power, float(tail)), breaks=tuple(omega))


@dataclass(frozen=True, eq=False)
class _TailedDensity:
    """A table of a density, continued by a power."""

    omega: Array
    power: Array
    tail: float

    def __call__(self, w: Array) -> Array:
        inside = np.interp(w, self.omega, self.power)
        beyond = np.maximum(w / self.omega[-1], 1.0) ** -self.tail
        return np.asarray(inside * beyond)


def _mixture(omega: Array, power: Array, components: int) -> SpectralMixture:
    """Fit bands by expectation and maximization, the power being the number of observations.

    A band and its mirror image count as one, so that one around zero frequency is not pushed away.
    """
    step = np.gradient(omega)
    mass = power * step / (power * step).sum()
    edges = np.interp((np.arange(components) + 0.5) / components, np.cumsum(mass), omega)
    means, scales = (
        edges.copy(),
        np.full(components, max(float(omega[-1]) / (4 * components), step[0])),
    )
    shares = np.full(components, 1.0 / components)
    before = -np.inf
    for _ in range(2000):
        sides = np.stack([omega[:, None] - means, omega[:, None] + means])
        logs = np.log(0.5 * shares / scales) - 0.5 * (sides / scales) ** 2
        top = logs.max(axis=(0, 2), keepdims=True)
        likelihood = np.exp(logs - top)
        total = likelihood.sum(axis=(0, 2), keepdims=True)
        weight = mass[:, None] * likelihood / total
        score = float((mass * (np.log(total) + top)[0, :, 0]).sum())
        shares = np.maximum(weight.sum(axis=(0, 1)), 1e-300)
        means = np.abs((weight[0] - weight[1]).T @ omega) / shares
        sides = np.stack([omega[:, None] - means, omega[:, None] + means])
        variance = (weight * sides**2).sum(axis=(0, 1)) / shares
        # No band is narrower than what the frequencies of the estimate resolve.
        scales = np.sqrt(np.maximum(variance, (0.5 * step.mean()) ** 2))
        if score - before < 1e-10:
            break
        before = score
    # Twice the integral over positive frequencies is the variance.
    size = 2.0 / UNITARY * float((power * step).sum())
    return SpectralMixture(size * shares / shares.sum(), means, scales)
