"""Capacity against the width of a kernel, and what part of the spectrum matters at a precision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from mercer._params import check_nonnegative, check_positive
from mercer.inspect.bands import widen
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array
from mercer_research.covering.ball import CoefficientBall, KernelBall
from mercer_research.covering.base import Best, Covering, Scaled, Sum
from mercer_research.covering.scaling import BestScaling
from mercer_research.covering.spectra import Spectrum


class NoWidthError(ValueError):
    """No width gives a kernel the capacity that is asked for."""


@dataclass(frozen=True)
class EffectiveHead:
    """What a bound resolves at a radius, from :func:`effective_head`."""

    radius: float
    active: str
    """The name of the argument that gives the bound."""

    head: int | None
    """How many dimensions it resolves; None if it resolves none in particular."""

    frequency: float | None
    """The highest frequency among them, if their spectrum has frequencies."""


def effective_head(
    covering: Covering, radius: float, spectrum: Spectrum | None = None
) -> EffectiveHead:
    r"""Return how many dimensions the active bound resolves at a radius, and its cut-off frequency.

    At a precision :math:`\varepsilon` only the first k eigenvalues are told apart, those of
    frequencies up to :math:`\omega_c = (2\pi/v)\,|j_k|` for a kernel wrapped around a box of sides
    v; all others together change a function by less.

    Parameters
    ----------
    covering : Covering
        Also the best of several, of which the active one is asked.
    radius : float
    spectrum : Spectrum, optional
        Whose eigenvalues the covering was made of.

    Returns
    -------
    EffectiveHead

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 3.3.5.

    Examples
    --------
    >>> from mercer_research.covering import periodized_spectrum
    >>> from mercer.kernels import Gaussian
    >>> spectrum = periodized_spectrum(Gaussian(0.5), 6.0)
    >>> found = effective_head(spectrum.ball(), 0.1, spectrum)
    >>> found.head, round(found.frequency, 3), found.active
    (13, 6.283, 'truncation')
    """
    head = _head(covering, radius)
    known = head is not None and spectrum is not None and spectrum.frequencies is not None
    frequency = spectrum.cutoff(head) if known else None  # type: ignore[union-attr, arg-type]
    return EffectiveHead(radius, covering.active(radius), head, frequency)


def _head(covering: Covering, radius: float) -> int | None:
    if isinstance(covering, Best):
        active = min(covering.coverings, key=lambda c: c.log_covering(radius))
        return _head(active, radius)
    if isinstance(covering, KernelBall | CoefficientBall):
        return _head(covering.best, radius)
    if isinstance(covering, BestScaling):
        # Its head is told for a number of balls, here as many as the bound needs at the radius.
        log_n = covering.log_covering(radius)
        return covering.head(log_n) if 0 < log_n < np.inf else 0
    if isinstance(covering, Scaled):
        return _head(covering.covering, radius / covering.factor) if covering.factor else 0
    if isinstance(covering, Sum):
        share = covering._share(radius)[1] * radius
        heads = [_head(covering.first, share), _head(covering.second, radius - share)]
        known = [head for head in heads if head is not None]
        return sum(known) if known else None
    resolved = getattr(covering, "head", None)
    return None if resolved is None else int(resolved(radius))


@dataclass(frozen=True, eq=False)
class WidthCurve:
    """Capacity against width, from :func:`capacity_by_width`."""

    factors: Array
    """By which the length scales of the kernel were multiplied."""

    kernels: tuple[Kernel, ...]
    radius: float
    log_covering: Array
    active: tuple[str, ...]
    heads: tuple[int | None, ...]

    risk: Array | None = None
    """Training risk at each width."""

    deviation: Array | None = None
    """How far the risk may lie above it, at each width."""

    @property
    def total(self) -> Array:
        """Training risk plus deviation."""
        if self.risk is None or self.deviation is None:
            raise ValueError("give both risk= and deviation= to compare their sums.")
        return np.asarray(self.risk + self.deviation)

    @property
    def best(self) -> Kernel:
        """The kernel whose training risk and deviation have the least sum."""
        return self.kernels[int(np.argmin(self.total))]


def capacity_by_width(
    kernel: Kernel,
    factors: Array,
    radius: float,
    covering: Callable[[Kernel], Covering],
    *,
    risk: Callable[[Kernel], float] | None = None,
    deviation: Callable[[Covering], float] | None = None,
) -> WidthCurve:
    r"""Return the capacity of a kernel's unit ball at a fixed radius for several widths.

    Widening the kernel by s turns its spectrum :math:`S(\omega)` into :math:`s^d S(s\omega)`: fewer
    frequencies pass, and :math:`\ln N(\varepsilon)` falls. Beside the training risk, which rises,
    it says what a width costs and what it buys. A bound that holds for each width holds for the
    chosen one only if the choice is paid for.

    Parameters
    ----------
    kernel : Kernel
        With length scales.
    factors : (m,) array
        By which these are multiplied.
    radius : float
        The precision :math:`\varepsilon`.
    covering : callable
        From a kernel to the covering numbers of its ball of functions.
    risk : callable, optional
        From a kernel to the training risk of its machine.
    deviation : callable, optional
        From covering numbers to how far the risk may lie above the training risk.

    Returns
    -------
    WidthCurve

    Examples
    --------
    >>> from mercer_research.covering import MeasuredFrame, PrincipalCovering
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> def cover(kernel):
    ...     return PrincipalCovering(MeasuredFrame.from_gram(kernel(X)))
    >>> capacity_by_width(Gaussian(), [0.5, 1.0, 2.0], 0.1, cover).log_covering.round(1)
    array([56.2, 30.5, 17.6])
    """
    check_positive(radius=radius)
    factors = np.asarray(factors, dtype=float)
    if factors.ndim != 1 or not np.all((factors > 0) & (factors < np.inf)):
        raise ValueError(f"factors must be a row of positive finite numbers, got {factors!r}.")
    kernels = tuple(widen(kernel, float(s)) for s in factors)
    covers = [covering(k) for k in kernels]
    return WidthCurve(
        factors,
        kernels,
        radius,
        np.array([c.log_covering(radius) for c in covers]),
        tuple(c.active(radius) for c in covers),
        tuple(_head(c, radius) for c in covers),
        None if risk is None else np.array([risk(k) for k in kernels]),
        None if deviation is None else np.array([deviation(c) for c in covers]),
    )


@dataclass(frozen=True, eq=False)
class CapacityMatch:
    """The width that gives a kernel a wanted capacity, from :func:`equal_capacity`."""

    kernel: Kernel
    factor: float
    log_covering: float
    target: float


def equal_capacity(
    kernel: Kernel,
    target: Kernel | float,
    radius: float,
    covering: Callable[[Kernel], Covering],
) -> CapacityMatch:
    r"""Return a kernel with the width at which its capacity equals a target.

    Machines of different families are compared at equal :math:`\ln N(\varepsilon)`, not at equal
    numbers called width. Bisection in the logarithm of the width, at the end with the lesser
    capacity where it jumps.

    Parameters
    ----------
    kernel : Kernel
        With length scales.
    target : Kernel or float
        The capacity :math:`\ln N`, or another kernel which has it.
    radius : float
        The precision :math:`\varepsilon`.
    covering : callable
        From a kernel to the covering numbers of its ball of functions.

    Returns
    -------
    CapacityMatch

    Examples
    --------
    >>> from mercer_research.covering import MeasuredFrame, PrincipalCovering
    >>> from mercer.kernels import Gaussian, Matern
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> def cover(kernel):
    ...     return PrincipalCovering(MeasuredFrame.from_gram(kernel(X)))
    >>> match = equal_capacity(Matern(nu=2.5), Gaussian(), 0.1, cover)
    >>> round(match.factor, 2), round(match.log_covering, 2), round(match.target, 2)
    (1.86, 30.52, 30.52)
    """
    check_positive(radius=radius)
    if not isinstance(target, Kernel):
        check_nonnegative(target=target)
    wanted = covering(target).log_covering(radius) if isinstance(target, Kernel) else float(target)

    def excess(log_factor: float) -> float:
        size = covering(widen(kernel, float(np.exp(log_factor)))).log_covering(radius)
        return min(size, 1e9) - wanted

    low, high = -0.5, 0.5
    while excess(low) < 0:
        low -= 1.0
        if low < -12:
            raise NoWidthError(
                f"no width gives {kernel!r} a capacity of {wanted:.4g}: all are less."
            )
    while excess(high) > 0:
        high += 1.0
        if high > 12:
            raise NoWidthError(
                f"no width gives {kernel!r} a capacity of {wanted:.4g}: all are more."
            )
    found = float(brentq(excess, low, high, xtol=1e-10))
    while excess(found) > 1e-6 * max(wanted, 1.0):
        found += 1e-8
    factor = float(np.exp(found))
    return CapacityMatch(widen(kernel, factor), factor, excess(found) + wanted, wanted)
