"""How far the spectrum of a kernel reaches: bands, dimensions, decay, and wider kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import optimize

from mercer.inspect.decay import Decay, classify_decay
from mercer.inspect.printing import PrintedReport
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array

MAX_FOURIER_COEFFICIENTS = 256
"""Fourier coefficients of a periodic kernel that are looked at."""


def band_edge(kernel: Kernel, precision: float, dim: int = 1) -> float:
    r"""Return the largest frequency that passes: :math:`P(\omega) > \eta P(0)`.

    Parameters
    ----------
    kernel : Kernel
        Stationary with a spectrum, or periodic with coefficients.
    precision : float
        The share :math:`\eta`, between 0 and 1.
    dim : int, default=1

    Returns
    -------
    float
        Infinite if the spectrum stays above, not a number if it has a pole at zero.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> round(band_edge(Gaussian(), np.exp(-2.0)), 10)
    2.0
    """
    if not 0.0 < precision < 1.0:
        raise ValueError(f"precision must lie between 0 and 1, got {precision}.")
    if kernel.period is not None:
        n = np.arange(MAX_FOURIER_COEFFICIENTS)
        c = kernel.coefficients(n)
        return float(2.0 * np.pi * n[c > precision * c.max()].max(initial=0) / kernel.period)
    check_stationary(kernel)
    start = frequency_scale(kernel, dim)
    reference = reference_frequency(kernel, dim)
    scale = float(along(kernel, np.array([reference]), dim)[0])
    if not np.isfinite(scale) or reference > 0.0:
        return np.nan  # a pole at zero is infinitely high: no share of it means anything
    last: tuple[Array, int] | None = None
    for octave in range(-12, 60):
        lower, upper = start * 2.0**octave, start * 2.0 ** (octave + 1)
        grid = np.linspace(lower, upper, resolution(kernel, lower, upper))
        above = np.flatnonzero(along(kernel, grid, dim) > precision * scale)
        if len(above):
            last = (grid, int(above[-1]))
        elif octave > 0:
            break
    else:
        return np.inf
    if last is None:
        return 0.0
    grid, i = last
    upper = grid[i + 1] if i + 1 < len(grid) else 2.0 * grid[i] - grid[i - 1]
    return float(_crossing(kernel, dim, grid[i], upper, precision * scale))


@dataclass(frozen=True, repr=False)
class Bandwidth(PrintedReport):
    """The band of a spectrum that matters at a precision, from :func:`bandwidth`."""

    frequency: float
    """The largest frequency that passes."""

    count: int | None
    """Frequencies below it on the domain, each a dimension; None if no length is given."""

    precision: float

    def _title(self) -> str:
        return f"at precision {self.precision:g}"

    def _lines(self) -> list[tuple[str, object]]:
        return [("frequencies up to", self.frequency), ("dimensions", self.count)]


def bandwidth(
    kernel: Kernel, precision: float, dim: int = 1, length: float | None = None
) -> Bandwidth:
    r"""Return which part of the spectrum matters at a precision.

    On a cube with sides of length v the frequencies are the points of the lattice
    :math:`(2\pi/v) \mathbb{Z}^d`. Those with :math:`P(\omega) > \eta P(0)` are the dimensions in
    which a machine can move; the others cost more than a factor :math:`1/\eta`.

    Parameters
    ----------
    kernel : Kernel
        Stationary with a spectrum; radial if `dim` is above 1.
    precision : float
        The share :math:`\eta`.
    dim : int, default=1
    length : float, optional
        The length v of the domain.

    Returns
    -------
    Bandwidth

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 3.3.5.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> bandwidth(Gaussian(), 0.01, length=20.0)
    at precision 0.01
      frequencies up to  3.035
      dimensions         19
    """
    edge = band_edge(kernel, precision, dim)
    if length is None:
        return Bandwidth(edge, None, precision)
    if not 0.0 < length < np.inf:
        raise ValueError(f"length must be a positive number, got {length}.")
    if not np.isfinite(edge):
        raise ValueError("The spectrum does not fall below this precision: nothing can be counted.")
    if dim > 1 and not kernel.radial:
        raise ValueError("Frequencies in several dimensions are counted for radial kernels only.")
    step = 2.0 * np.pi / length
    reach = int(edge / step)
    if (2 * reach + 1) ** dim > 10**7:
        raise ValueError("More than ten million frequencies; raise the precision or the width.")
    axes = np.meshgrid(*[step * np.arange(-reach, reach + 1)] * dim)
    radius = np.sqrt(sum(axis**2 for axis in axes)).ravel()
    distinct, index = np.unique(radius.round(12), return_inverse=True)
    top = float(along(kernel, np.zeros(1), dim)[0])
    passing = along(kernel, distinct, dim) > precision * top
    return Bandwidth(edge, int(passing[index].sum()), precision)


def spectral_decay(kernel: Kernel, dim: int = 1) -> Decay | None:
    """Return how fast a spectrum falls, from the largest value in each of many frequency bands.

    Parameters
    ----------
    kernel : Kernel
        Stationary with a spectrum.
    dim : int, default=1

    Returns
    -------
    Decay or None
        None if too little of the tail can be seen.
    """
    start, reference = frequency_scale(kernel, dim), reference_frequency(kernel, dim)
    scale = abs(float(along(kernel, np.array([reference]), dim)[0]))
    ends = start * np.geomspace(1.0, 2.0**12, 61)
    n = 9 if kernel.support is None else 33
    omega, envelope = [], []
    for lower, upper in pairwise(ends):
        # Compact kernels ripple: the top of the ripple, met by some of many phases, is the law.
        grid = np.linspace(lower, upper, n, endpoint=False)
        values = np.abs(along(kernel, grid, dim)) / scale
        values[~np.isfinite(values)] = 0.0
        top = int(values.argmax())
        if values[top] < 1e-12:
            break
        omega.append(grid[top])
        envelope.append(values[top])
    return classify_decay(np.array(envelope), np.array(omega))


def widen(kernel: Kernel, factor: float) -> Kernel:
    """Return the kernel with every length scale in it multiplied by a factor.

    Parameters
    ----------
    kernel : Kernel
    factor : float
        Positive.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Matern
    >>> widen(Gaussian(2.0) + Matern(1.0), 0.5)
    Gaussian(length_scale=1.0) + Matern(length_scale=0.5, nu=1.5)
    """
    names = widths(kernel)
    if not names:
        raise ValueError(f"{kernel!r} has no length_scale to widen.")
    for name, value in names.items():
        wide = value * factor if np.ndim(value) == 0 else np.asarray(value) * factor
        kernel = _with(kernel, name, wide)
    return kernel


def widths(kernel: Kernel) -> dict[str, Any]:
    """Return every length scale in a kernel by the name of its parameter.

    Parameters
    ----------
    kernel : Kernel

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> widths(Gaussian(2.0) + Linear()), widths(Linear())
    ({'left__length_scale': 2.0}, {})
    """
    own = kernel.get_params().items()
    return {name: value for name, value in own if name.split("__")[-1] == "length_scale"}


def _with(kernel: Any, name: str, value: Any) -> Any:
    head, _, rest = name.partition("__")
    return replace(kernel, **{head: _with(getattr(kernel, head), rest, value) if rest else value})


def check_stationary(kernel: Kernel) -> None:
    """Refuse a kernel that has no spectrum, and say where else to look."""
    if not kernel.stationary:
        raise ValueError(
            f"{kernel!r} does not depend on the difference of its arguments: it has no spectrum. "
            "Look at its Gram matrix instead (mercer.inspect.gram_report)."
        )


def along(kernel: Kernel, omega: Array, dim: int) -> Array:
    """Return the spectrum at frequencies along the first axis."""
    if dim > 1 and not kernel.radial:
        omega = np.pad(omega[:, None], ((0, 0), (0, dim - 1)))
    return np.asarray(kernel.spectrum(omega, dim), dtype=float)


def reference_frequency(kernel: Kernel, dim: int, omega: Array | None = None) -> float:
    """Return zero, or the first frequency where the spectrum is finite if it has a pole there."""
    with np.errstate(all="ignore"):
        if np.isfinite(along(kernel, np.zeros(1), dim)[0]):
            return 0.0
    positive = np.ones(1) if omega is None else omega[omega > 0.0]
    if not len(positive):
        raise ValueError("The spectrum has a pole at zero: ask for positive frequencies.")
    return float(positive[0])


def frequency_scale(kernel: Kernel, dim: int) -> float:
    """Return the power of two at which the spectrum first falls below half its value at zero."""
    powers = 2.0 ** np.arange(-40, 41)
    with np.errstate(all="ignore"):
        top = float(along(kernel, np.zeros(1), dim)[0])
        if not np.isfinite(top):
            return 1.0
        below = np.flatnonzero(along(kernel, powers, dim) < 0.5 * top)
    return float(powers[below[0]]) if len(below) else 1.0


def resolution(kernel: Kernel, lower: float, upper: float, least: int = 257) -> int:
    """Return how many points see every ripple of a compact kernel's spectrum."""
    if kernel.support is None:
        return least
    reach = 2.0 * float(np.max(kernel.support.scale))
    return int(min(max(least, 4.0 * (upper - lower) * reach / np.pi), 2**12))


def _crossing(kernel: Kernel, dim: int, lower: float, upper: float, level: float) -> float:
    def above(omega: float) -> float:
        return float(along(kernel, np.array([omega]), dim)[0]) - level

    if above(upper) > 0.0:
        return upper
    return float(optimize.brentq(above, lower, upper, xtol=1e-14 * upper, rtol=1e-14))
