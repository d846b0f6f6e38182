"""Eigenvalues of kernels wrapped around a box: their spectrum on the points of a lattice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.special import comb, gammaln

from mercer._params import check_integer, check_positive
from mercer.inspect.bands import along, check_stationary
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array
from mercer.risk_bounds import Assumption
from mercer_research.covering.lattice import lattice_shells, log_lattice_shells
from mercer_research.covering.spectra import Spectrum, product_of
from mercer_research.kernels.periodic import Periodized

# Frequencies of one feature, shells of a lattice and points of a box that are looked at.
LINE, SHELLS, POINTS = 2**17, 2**14, 2_000_000

# Values below this share of the largest lose their digits to underflow.
SMALLEST = 1e-290

# Sums of kernel values by image and of eigenvalues agree to this share of the sum.
ROUNDING = 1e-14


def periodized_spectrum(
    kernel: Kernel | Sequence[Kernel], period: float | Sequence[float], dim: int = 1
) -> Spectrum:
    r"""Return the eigenvalues of a kernel wrapped around a box with sides of length v.

    The wrapped kernel :math:`k_v(u) = \sum_{j \in \mathbb{Z}^d} k(u - jv)` has the eigenvalues

    .. math:: \lambda_j = S(2\pi j / v), \quad j \in \mathbb{Z}^d, \qquad
              S(\omega) = \int k(u) e^{-i\langle\omega, u\rangle} du ,

    and sines and cosines for eigenfunctions, of which those of one frequency have squares with the
    sum :math:`2 v^{-d}` everywhere: the constant C of the spectrum is :math:`v^{-d/2}`. A radial
    kernel has one eigenvalue for each shell of the lattice (:func:`lattice_shells`).

    Parameters
    ----------
    kernel : Kernel, or sequence of Kernel
        Stationary with a spectrum. A sequence is a product of kernels of one feature each.
    period : float or sequence of float
        The length v of the sides, one for all or one for each feature.
    dim : int, default=1
        The number d of features; that of the sequence, if there is one.

    Returns
    -------
    Spectrum
        With the sum of what is left out. It is the exact trace :math:`v^d k_v(0)` minus the sum of
        what is held where that has digits, and the integral of a monotone spectrum otherwise.

    Notes
    -----
    A bound from these eigenvalues speaks of the wrapped kernel. For the kernel itself the period
    has to grow with the precision, like :math:`\sqrt{\ln(1/\varepsilon)}` for a Gaussian, and
    :math:`\ln N = O(\ln^{1+d/2}(1/\varepsilon))` becomes :math:`O(\ln^{1+d}(1/\varepsilon))`. See
    :func:`choose_period`, and :meth:`MeasuredFrame.on_domain` for a bound on the kernel itself.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (8.46)-(8.53), (8.60) and (8.61).

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> spectrum = periodized_spectrum(Gaussian(0.5), 6.0)
    >>> np.exp(spectrum.log_values[:4]).round(6)
    array([1.253314, 1.092768, 0.724321, 0.364981])
    >>> spectrum.counts[:3]
    array([1., 2., 2.])
    >>> periodized_spectrum(Gaussian(), 6.0, dim=3).counts[:5]
    array([ 1.,  6., 12.,  8.,  6.])
    """
    if not isinstance(kernel, Kernel):
        sides = np.broadcast_to(np.asarray(period, dtype=float), len(kernel))
        return product_of([periodized_spectrum(k, v) for k, v in zip(kernel, sides, strict=True)])
    check_integer("dim", dim, 1)
    sides = np.broadcast_to(np.asarray(period, dtype=float), dim)
    if not (sides > 0).all() or not np.isfinite(sides).all():
        raise ValueError(f"the period must be positive and finite, got {period}.")
    check_stationary(kernel)
    if kernel.period is not None:
        raise ValueError(f"{kernel!r} is periodic already: see its coefficients.")
    with np.errstate(all="ignore"):
        top = float(along(kernel, np.zeros(1), dim)[0])
    if not np.isfinite(top):
        raise ValueError(
            f"the spectrum of {kernel!r} in {dim} dimensions is infinite at frequency zero: the "
            "kernel does not fall fast enough to be wrapped around a box."
        )
    shells = (kernel.radial or dim == 1) and (sides == sides[0]).all()
    lattice = _Shells(kernel, float(sides[0]), dim) if shells else _Box(kernel, sides)
    return lattice.spectrum()


class _Shells:
    """Frequencies of equal length, for a kernel that only knows their length."""

    def __init__(self, kernel: Kernel, side: float, dim: int) -> None:
        self.kernel, self.side, self.dim = kernel, side, dim

    def values(self, radius: Array) -> Array:
        """Return S at lattice radii."""
        omega = 2.0 * np.pi / self.side * radius
        S = (2.0 * np.pi) ** (0.5 * self.dim) * along(self.kernel, omega, self.dim)
        return np.asarray(S)

    def spectrum(self) -> Spectrum:
        if self.dim == 1:
            radius = np.arange(LINE, dtype=float)
            counts = np.where(radius > 0, np.log(2.0), 0.0)
        else:
            radius = np.sqrt(np.arange(SHELLS, dtype=float))
            counts = np.zeros(SHELLS)
        S = _checked(self.kernel, self.values(radius))
        seen = int(np.flatnonzero(SMALLEST * S.max() < S)[-1]) + 1
        # A shell less than what underflows: the next one is still of the law.
        radius, S = radius[:seen], S[:seen]
        if self.dim > 1:
            counts = log_lattice_shells(self.dim, seen - 1)
        else:
            counts = counts[:seen]
        next_radius = radius[-1] + 1 if self.dim == 1 else float(np.sqrt(seen))
        kept = float(np.sum(S * np.exp(counts)))
        tail, assumptions = _tail(kept, self._trace(), self._integral(next_radius), float(S.max()))
        with np.errstate(divide="ignore"):
            logs = np.log(S)
        return Spectrum(
            logs,
            counts,
            tail,
            self.side ** (-0.5 * self.dim),
            2.0 * np.pi / self.side * radius,
            assumptions,
        )

    def _trace(self) -> float | None:
        """Return the volume times the wrapped kernel at zero, if its images can be summed."""
        if self.dim == 1:
            try:
                at_zero = float(Periodized(self.kernel, self.side).diag(np.zeros((1, 1)))[0])
            except ValueError:
                return None
            return self.side * at_zero
        q = np.arange(1024)
        points = np.zeros((1024, self.dim))
        points[:, 0] = self.side * np.sqrt(q)
        terms = lattice_shells(self.dim, 1023).astype(float)
        terms *= self.kernel(points, np.zeros((1, self.dim)))[:, 0]
        if abs(terms[512:]).sum() > 0.1 * ROUNDING * abs(terms.sum()):
            return None
        return float(self.side**self.dim * terms.sum())

    def _integral(self, start: float) -> float | None:
        r"""Return an upper bound on the sum over the lattice from a radius on, if S is monotone.

        A point of which k coordinates differ from zero has a unit cube of k dimensions on its side
        of the origin, where S is at least its value at the point: the sum is at most

        .. math:: \sum_{k=1}^{d} \binom{d}{k} s_k \int_{r - \sqrt{k}}^\infty S(t) t^{k-1} dt

        with the surfaces :math:`s_k` of unit balls.
        """
        grid = max(start - np.sqrt(self.dim), 0.0) + np.r_[0.0, np.geomspace(1e-3, 1e7, 8001)]
        S = self.values(grid)
        if (S < 0).any() or (np.diff(S) > 1e-12 * S[:-1]).any():
            return None
        total = 0.0
        for k in range(1, self.dim + 1):
            surface = np.exp(np.log(2.0) + 0.5 * k * np.log(np.pi) - gammaln(0.5 * k))
            cells = np.diff(np.maximum(grid, start - np.sqrt(k)) ** k) / k
            total += comb(self.dim, k) * surface * float(np.sum(S[:-1] * cells))
        # The grid ends where a spectrum that falls like a power has next to nothing left.
        return total if S[-1] * grid[-1] ** self.dim <= 1e-3 * total or S[-1] == 0 else None


class _Box:
    """Every frequency of a box of the lattice, for a kernel that tells directions apart."""

    def __init__(self, kernel: Kernel, sides: Array) -> None:
        self.kernel, self.sides, self.dim = kernel, sides, len(sides)

    def spectrum(self) -> Spectrum:
        volume = float(np.prod(self.sides))
        trace = self._trace()
        if trace is None:
            raise ValueError(
                f"images of {self.kernel!r} at the sides {self.sides} fall too slowly to be summed."
            )
        reach = 4
        while True:
            axes = [2.0 * np.pi * np.arange(-reach, reach + 1) / v for v in self.sides]
            omega = np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")], axis=1)
            S = (2.0 * np.pi) ** (0.5 * self.dim) * self.kernel.spectrum(omega, self.dim)
            S = _checked(self.kernel, np.asarray(S, dtype=float))
            kept = float(S.sum())
            larger = (4 * reach + 1) ** self.dim
            if kept > trace * (1 - ROUNDING) or larger > POINTS:
                break
            reach *= 2
        tail, assumptions = _tail(kept, trace, None, float(S.max()))
        with np.errstate(divide="ignore"):
            logs = np.log(np.where(SMALLEST * S.max() < S, S, 0.0))
        return Spectrum(logs, None, tail, volume**-0.5, np.linalg.norm(omega, axis=1), assumptions)

    def _trace(self) -> float | None:
        reach = 1
        while (2 * reach + 1) ** self.dim <= POINTS // 4:
            turns = np.array(list(product(range(-reach, reach + 1), repeat=self.dim)), dtype=float)
            values = self.kernel(turns * self.sides, np.zeros((1, self.dim)))[:, 0]
            edge = np.abs(turns).max(axis=1) == reach
            if np.abs(values[edge]).sum() <= 0.01 * ROUNDING * abs(values.sum()):
                return float(np.prod(self.sides) * values.sum())
            reach += 1 if reach < 8 else reach
        return None


def _checked(kernel: Kernel, S: Array) -> Array:
    """Refuse a spectrum with negative parts; a rounding below zero is zero."""
    worst = float(S.min(initial=0.0))
    if not np.isfinite(S).all() or worst < -1e-12 * S.max():
        raise ValueError(
            f"{kernel!r} is not positive definite: its spectrum is negative or infinite somewhere "
            f"({worst:.3g})."
        )
    return np.maximum(S, 0.0)


def _tail(
    kept: float, trace: float | None, integral: float | None, top: float
) -> tuple[float, tuple[Assumption, ...]]:
    """Return the logarithm of the best bound on what is left out, and what that rests on."""
    floor = np.finfo(float).tiny * top
    choices = []
    if trace is not None:
        text = "the eigenvalues left out sum to the trace of the wrapped kernel minus the others"
        choices.append((max(trace - kept, 0.0) + ROUNDING * trace, text))
    if integral is not None:
        text = "the spectrum falls for all frequencies that were left out"
        choices.append((integral, text))
    if not choices:
        raise ValueError(
            "neither the images of the kernel nor its eigenvalues can be summed to the end: "
            "take a smoother kernel or a longer period."
        )
    value, text = min(choices)
    return float(np.log(max(value, floor))), (Assumption(text, "checked"),)


@dataclass(frozen=True)
class WrappedPeriod:
    """A period, and how far it makes the wrapped kernel differ; from :func:`choose_period`."""

    period: float
    """The length v of the sides."""

    error: float
    """The largest difference between the wrapped kernel and the kernel, as a share of k(0)."""


def choose_period(
    kernel: Kernel, half_width: float, precision: float = 1e-3, dim: int = 1
) -> WrappedPeriod:
    r"""Return the shortest period at which a wrapped kernel is still the kernel, on given data.

    .. math:: \min v \quad \text{subject to} \quad
              \max_{|u_i| \le 2b} |k_v(u) - k(u)| \le \eta\, k(0)

    for data in the cube :math:`[-b, b]^d`. A longer period has a denser spectrum, hence a larger
    capacity; a shorter one wraps the kernel upon the data. A kernel with the support
    :math:`[-a, a]` is not changed at all from :math:`v = a + 2b` on.

    Parameters
    ----------
    kernel : Kernel
        Stationary.
    half_width : float
        The b.
    precision : float, default=1e-3
        The :math:`\eta`; 0 is possible for a compact support.
    dim : int, default=1

    Returns
    -------
    WrappedPeriod

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 8.5.2, where 2(a + b) is asked for.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> found = choose_period(Gaussian(0.5), half_width=1.5, precision=1e-3)
    >>> round(found.period, 4), round(found.error, 6)
    (4.8585, 0.001)
    """
    check_stationary(kernel)
    check_integer("dim", dim, 1)
    check_positive(half_width=half_width)
    if not 0 <= precision < 1:
        raise ValueError(f"precision must be at least 0 and below 1, got {precision!r}.")
    shortest = 2.0 * half_width
    if kernel.support is not None:
        reach = float(np.max(kernel.support.scale))
        if precision == 0:
            return WrappedPeriod(shortest + reach, 0.0)
    elif precision == 0:
        raise ValueError(f"{kernel!r} has no compact support: any period changes it a little.")
    step = shortest
    while (error := wrap_error(kernel, shortest + step, half_width, dim)) > precision:
        step *= 2.0
        if step > 1e6 * half_width:
            raise ValueError(f"the images of {kernel!r} fall too slowly for any period.")
    low, high, best = 0.0, step, error
    while high - low > 1e-9 * shortest:
        middle = 0.5 * (low + high)
        error = wrap_error(kernel, shortest + middle, half_width, dim)
        if error <= precision:
            high, best = middle, error
        else:
            low = middle
    return WrappedPeriod(shortest + high, best)


def wrap_error(kernel: Kernel, period: float, half_width: float, dim: int = 1) -> float:
    r"""Return the largest sum of images, :math:`\max_u |\sum_{j \ne 0} k(u - jv)|/k(0)`.

    The maximum is over a grid of differences u with the ends, at which it lies for kernels that
    fall; images further than the sixteenth are left out in one dimension, the third in two and
    more.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> round(wrap_error(Gaussian(1.0), 6.0, half_width=1.5), 6)
    0.011109
    """
    check_integer("dim", dim, 1)
    check_positive(period=period, half_width=half_width)
    per_axis, reach = (257, 16) if dim == 1 else (9, 3)
    axis = np.linspace(-2.0 * half_width, 2.0 * half_width, per_axis)
    u: Any = np.array(list(product(axis, repeat=dim)))
    origin = np.zeros((1, dim))
    turns = np.array([t for t in product(range(-reach, reach + 1), repeat=dim) if any(t)])
    images = (u[:, None, :] - period * turns).reshape(-1, dim)
    total = kernel(images, origin)[:, 0].reshape(len(u), -1).sum(axis=1)
    return float(np.abs(total).max() / kernel.diag(origin)[0])
