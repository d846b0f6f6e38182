"""A stationary kernel as a filter: which frequencies pass, which are damped, which cannot be."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize

from mercer.inspect.bands import (
    MAX_FOURIER_COEFFICIENTS,
    along,
    band_edge,
    check_stationary,
    reference_frequency,
    spectral_decay,
    widen,
)
from mercer.inspect.decay import Decay, classify_decay
from mercer.inspect.printing import PrintedReport
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array

ZERO_SHARE = 1e-12
"""A minimum below this share of its surroundings is a zero of the spectrum."""

MIN_SHARE = 1e-14
"""Attenuation below which a spectrum is not searched: there is nothing left to pass."""


@dataclass(frozen=True, eq=False, repr=False)
class FilterCurve(PrintedReport):
    r"""The spectrum of a kernel, from :func:`filter_curve`."""

    kernel: Kernel
    dim: int
    convention: str

    omega: Array
    """Frequencies; multiples of :math:`2\\pi` over the period if the spectrum is discrete."""

    power: Array
    """The spectrum P; for a periodic kernel its Fourier coefficients."""

    reference: float
    """Frequency of attenuation 1: zero, unless the spectrum has a pole there."""

    zeros: Array
    """Frequencies on the grid's range that cannot occur, because P is zero there."""

    lobes: Array
    """Side lobes, ``(m, 2)``: frequency and attenuation of each maximum behind the first zero."""

    negative: Array
    """Where P is negative, ``(m, 4)``: from, to, frequency and attenuation of the minimum."""

    half: float
    """Largest frequency with half of the power left, -3 dB; not a number if there is a pole."""

    decay: Decay | None
    """How fast the spectrum falls; None if it does not, or is not positive."""

    discrete: bool = False

    @property
    def attenuation(self) -> Array:
        """The spectrum as a share of its value at the reference."""
        scale = self._power_at_reference
        return np.asarray(self.power / scale)

    @property
    def penalty(self) -> Array:
        """The penalty on a unit of each frequency, 1 / P; infinite where the spectrum is zero."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.where(self.power > 0.0, 1.0 / self.power, np.inf))

    @property
    def decibels(self) -> Array:
        r"""The attenuation in decibels, :math:`10 \log_{10}`."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(10.0 * np.log10(self.attenuation))

    @property
    def nonnegative(self) -> bool:
        """Whether the spectrum is nowhere negative, so that the kernel is positive definite."""
        return not len(self.negative)

    @property
    def integrable(self) -> bool | None:
        """Whether the spectrum has a finite integral at large frequencies; None if not known."""
        if self.discrete or self.decay is None:
            return None
        return self.decay.kind != "polynomial" or self.decay.exponent > self.dim

    def edge(self, precision: float) -> float:
        """Return the largest frequency whose attenuation is above `precision`."""
        if self.discrete:
            passing = self.attenuation > precision
            return float(self.omega[passing].max(initial=0.0))
        return band_edge(self.kernel, precision, self.dim)

    def widened(self, factor: float) -> FilterCurve:
        r"""Return the curve of :math:`k(x / s)`, its spectrum :math:`s^d P(s \omega)`.

        A wider kernel is the same filter with all frequencies divided by the factor s: nothing is
        computed again.
        """
        if self.discrete:
            raise ValueError("A periodic kernel cannot be widened without changing its period.")
        if not factor > 0.0:
            raise ValueError(f"factor must be positive, got {factor}.")
        negative, lobes = self.negative.copy(), self.lobes.copy()
        negative[:, :3] /= factor
        lobes[:, :1] /= factor
        return replace(
            self,
            kernel=widen(self.kernel, factor),
            omega=self.omega / factor,
            power=self.power * factor**self.dim,
            reference=self.reference / factor,
            zeros=self.zeros / factor,
            lobes=lobes,
            negative=negative,
            half=self.half / factor,
            decay=None if self.decay is None else self.decay.stretched(1.0 / factor),
        )

    @property
    def _power_at_reference(self) -> float:
        if self.discrete:
            return float(self.power.max())
        value = along(self.kernel, np.array([self.reference]), self.dim)[0]
        return _unit(self.convention, self.dim) * float(value)

    def _title(self) -> str:
        return f"{self.kernel!r} as a filter" + (
            f" in {self.dim} dimensions" if self.dim > 1 else ""
        )

    def _lines(self) -> list[tuple[str, object]]:
        first = [float(z) for z in self.zeros[:1]]
        negative = [f"{row[3]:.4g} at {row[2]:.4g}" for row in self.negative[:1]]
        return [
            ("half power at", None if np.isnan(self.half) else self.half),
            ("1 % at", None if np.isnan(self.half) else self.edge(0.01)),
            ("decay", None if self.decay is None else str(self.decay)),
            ("first zero", first[0] if first else None),
            ("highest side lobe", np.abs(self.lobes[:, 1]).max() if len(self.lobes) else None),
            ("negative", negative[0] if negative else "nowhere"),
        ]


def filter_curve(
    kernel: Kernel,
    omega: Array | None = None,
    dim: int = 1,
    convention: str = "unitary",
) -> FilterCurve:
    r"""Return a kernel's spectrum as a filter curve, with cutoff and attenuation.

    .. math:: \|f\|^2 = (2\pi)^{-d/2} \int \frac{|\hat f(\omega)|^2}{P(\omega)} \, d\omega

    The smaller P, the more a frequency costs; where it is zero the frequency cannot occur in a
    function of the space; where it is negative the function is no kernel.

    Parameters
    ----------
    kernel : Kernel
        Stationary with a spectrum, or periodic with coefficients.
    omega : (m,) array, optional
        Frequencies at least 0, in rising order (for a periodic kernel integers: cycles per
        period); by default from zero to where next to nothing passes. In several dimensions they
        lie along the first axis.
    dim : int, default=1
        Dimension of the space. The same radial profile has another spectrum in each.
    convention : {"unitary", "angular"}, default="unitary"
        :math:`P = (2\pi)^{-d/2} \int k(u) e^{-i\omega u} du`, or without the factor.

    Returns
    -------
    FilterCurve

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.23) to (3.25) and (3.45).

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> curve = filter_curve(Gaussian(0.5), np.array([0.0, 2.0]))
    >>> curve.power.round(6), curve.attenuation.round(6)
    (array([0.5     , 0.303265]), array([1.      , 0.606531]))
    >>> filter_curve(Gaussian(0.5))
    Gaussian(length_scale=0.5) as a filter
      half power at  2.355
      1 % at         6.07
      decay          Gaussian, exp(-0.125 omega^2)
      negative       nowhere
    """
    unit = _unit(convention, dim)
    if kernel.period is not None:
        return _discrete(kernel, omega, dim, convention)
    check_stationary(kernel)
    if omega is None:
        omega = _grid(kernel, dim)
    omega = np.asarray(omega, dtype=float)
    if omega.ndim != 1 or not len(omega) or omega[0] < 0.0 or (np.diff(omega) <= 0.0).any():
        raise ValueError("omega must hold frequencies at least 0 in rising order.")
    values = along(kernel, omega, dim)
    reference = reference_frequency(kernel, dim, omega)
    scale = float(along(kernel, np.array([reference]), dim)[0])
    attenuation = values / scale
    zeros = _zeros(kernel, dim, omega, attenuation, scale)
    return FilterCurve(
        kernel=kernel,
        dim=dim,
        convention=convention,
        omega=omega,
        power=unit * values,
        reference=reference,
        zeros=zeros,
        lobes=_lobes(kernel, dim, omega, attenuation, scale, zeros),
        negative=_negative(kernel, dim, omega, attenuation, scale),
        half=band_edge(kernel, 0.5, dim),
        decay=spectral_decay(kernel, dim),
    )


def _unit(convention: str, dim: int) -> float:
    if convention not in ("unitary", "angular"):
        raise ValueError(f"convention must be 'unitary' or 'angular', got {convention!r}.")
    return 1.0 if convention == "unitary" else float((2.0 * np.pi) ** (0.5 * dim))


def _grid(kernel: Kernel, dim: int) -> Array:
    if reference_frequency(kernel, dim, np.ones(1)) > 0.0:
        return np.geomspace(1e-2, 1e2, 401)
    half = band_edge(kernel, 0.5, dim)
    if not np.isfinite(half):
        return np.linspace(0.0, 100.0, 1001)  # no scale to be found
    far = along(kernel, half * np.linspace(25.0, 30.0, 101), dim)
    seen = np.nanmax(np.abs(far), initial=0.0) > 1e-12 * along(kernel, np.zeros(1), dim)[0]
    end = 30.0 * half if seen else min(30.0 * half, 1.2 * band_edge(kernel, 1e-12, dim))
    return np.linspace(0.0, end, 1201)


def _extremum(
    kernel: Kernel, dim: int, bracket: tuple[float, float], scale: float, sign: float, log: bool
) -> tuple[float, float]:
    """Return where sign * P (or the logarithm of |P|) is smallest in a bracket, and P / P(0)."""

    def objective(omega: float) -> float:
        value = float(along(kernel, np.array([omega]), dim)[0]) / scale
        return float(np.log(abs(value) + np.finfo(float).tiny)) if log else sign * value

    width = bracket[1] - bracket[0]
    found = optimize.minimize_scalar(
        objective, bounds=bracket, method="bounded", options={"xatol": 1e-12 * width}
    )
    return float(found.x), float(along(kernel, np.array([found.x]), dim)[0]) / scale


def _zeros(kernel: Kernel, dim: int, omega: Array, attenuation: Array, scale: float) -> Array:
    size = np.abs(attenuation)
    low = (
        (size[1:-1] <= size[:-2]) & (size[1:-1] <= size[2:]) & (size[1:-1] > MIN_SHARE * size.max())
    )
    low |= np.signbit(attenuation[1:-1]) != np.signbit(attenuation[2:])
    found: list[float] = []
    for i in (np.flatnonzero(low) + 1).tolist():
        bracket = (float(omega[i - 1]), float(omega[min(i + 2, len(omega) - 1)]))
        where, value = _extremum(kernel, dim, bracket, scale, 1.0, log=True)
        surroundings = max(size[i - 1], size[min(i + 2, len(omega) - 1)])
        new = not found or where - found[-1] > 1e-6 * where
        if abs(value) < ZERO_SHARE * surroundings and new:
            found.append(where)
    return np.array(found)


def _lobes(
    kernel: Kernel, dim: int, omega: Array, attenuation: Array, scale: float, zeros: Array
) -> Array:
    if not len(zeros):
        return np.empty((0, 2))
    size = np.abs(attenuation)
    high = (size[1:-1] > size[:-2]) & (size[1:-1] > size[2:]) & (omega[1:-1] > zeros[0])
    peaks = []
    for i in (np.flatnonzero(high) + 1).tolist():
        sign = -1.0 if attenuation[i] > 0.0 else 1.0
        bracket = (float(omega[i - 1]), float(omega[i + 1]))
        peaks.append(_extremum(kernel, dim, bracket, scale, sign, log=False))
    return np.array(peaks).reshape(-1, 2)


def _negative(kernel: Kernel, dim: int, omega: Array, attenuation: Array, scale: float) -> Array:
    below = np.concatenate([[False], attenuation < -MIN_SHARE, [False]])
    starts = np.flatnonzero(~below[:-1] & below[1:])
    stops = np.flatnonzero(below[:-1] & ~below[1:]) - 1
    parts = []
    for i, j in zip(starts.tolist(), stops.tolist(), strict=True):
        lowest = i + int(attenuation[i : j + 1].argmin())
        around = (float(omega[max(lowest - 1, 0)]), float(omega[min(lowest + 1, len(omega) - 1)]))
        parts.append((omega[i], omega[j], *_extremum(kernel, dim, around, scale, 1.0, log=False)))
    return np.array(parts, dtype=float).reshape(-1, 4)


def _discrete(kernel: Kernel, n: Array | None, dim: int, convention: str) -> FilterCurve:
    if dim != 1:
        raise ValueError("Fourier coefficients exist for a periodic kernel of one feature.")
    if n is None:
        n = np.arange(MAX_FOURIER_COEFFICIENTS)
        c = kernel.coefficients(n)
        n = np.arange(
            max(int(np.flatnonzero(np.abs(c) > MIN_SHARE * np.abs(c).max()).max()) + 3, 8)
        )
    n = np.asarray(n)
    if n.ndim != 1 or n.dtype.kind not in "iu" or (np.diff(n) <= 0).any() or n[0] < 0:
        raise ValueError("Frequencies of a periodic kernel are integers, at least 0, rising.")
    c = np.asarray(kernel.coefficients(n), dtype=float)
    top, step = float(c.max()), 2.0 * np.pi / float(kernel.period)  # type: ignore[arg-type]
    omega = step * n
    negative = [(w, w, w, v) for w, v in zip(omega, c / top, strict=True) if v < -MIN_SHARE]
    passing = omega[c > 0.5 * top]
    return FilterCurve(
        kernel=kernel,
        dim=1,
        convention=convention,
        omega=omega,
        power=c,
        reference=float(omega[int(c.argmax())]),
        zeros=omega[c == 0.0],
        lobes=np.empty((0, 2)),
        negative=np.array(negative, dtype=float).reshape(-1, 4),
        half=float(passing.max(initial=0.0)),
        decay=classify_decay(np.abs(c[n > 0]) / top, omega[n > 0]),
        discrete=True,
    )
