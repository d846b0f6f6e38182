r"""Fourier transforms of radial functions by quadrature, with estimates of their errors.

In d dimensions, with :math:`\Omega(t) = t^{-\nu} J_\nu(t)` and :math:`\nu = d/2 - 1`,

.. math:: F(\omega) = \int_0^\infty r^{d-1} f(r) \, \Omega(\omega r) \, dr

in the unitary convention. The half line is cut at powers of two, so that any algebraic behaviour at
zero and at infinity looks alike on every piece, and pieces on which f is no polynomial are halved
until it is. Two Gauss rules on all pieces, cut further by the wave length, give a value and an
error. What is left of a tail with very many waves is an alternating series, accelerated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from scipy import special

from mercer.kernels.points import (
    BLOCK_BYTES,
    CHUNK_BYTES,
    Array,
    Data,
    row_slices,
)

EPS = float(np.finfo(np.float64).eps)
ROUNDING = 48.0 * EPS
"""Relative error that kernels and Bessel functions, made of logarithms and powers, may have."""

COARSE, FINE = (np.polynomial.legendre.leggauss(n) for n in (16, 20))
"""Both integrate a polynomial of degree 12 times a wave of `PHASE` to rounding."""

PHASE = 8.0
"""Radians of a wave on one piece."""

WAVES, MOST = 2000.0, 1e5
"""Radians beyond which a tail is accelerated instead of integrated, and beyond which not even what
comes before it is: the value is then only bounded."""

OCTAVES = 60
"""Powers of two on either side of one that are looked at."""

PIECES = 4096
"""Pieces after which a function that is still rough, like a wave without end, is left so."""


class Transform(NamedTuple):
    """Values of a Fourier transform, with bounds on their errors."""

    values: Array
    """Not a number where the transform is smaller than its error: unknown, not zero."""

    error: Array
    """Estimated absolute error: two quadrature rules apart, plus the floor."""

    floor: Array
    """What rounding alone hides: a few units in the last place of the integral of ``|f|``."""


class StationaryKernel(Protocol):
    """The properties of a kernel that its Fourier transform needs."""

    @property
    def stationary(self) -> bool: ...
    @property
    def radial(self) -> bool: ...
    @property
    def order(self) -> int: ...
    @property
    def period(self) -> float | None: ...
    def __call__(self, X: Data, Z: Data | None = None) -> Array: ...


def fourier_transform(kernel: StationaryKernel, omega: Array, dim: int = 1) -> Transform:
    r"""Return the spectrum of a stationary kernel by quadrature, with an estimate of its error.

    .. math:: P(\omega) = (2\pi)^{-d/2} \int e^{-i \langle\omega, u\rangle} k(u) \, du

    For kernels without a closed form, and to check those with one. Values below the resolution of
    double precision, about :math:`10^{-15}` of the peak, are unknown and not a number.

    Parameters
    ----------
    kernel : Kernel
        Stationary and decaying; radial if `dim` is more than 1.
    omega : (m,) or (m, dim) array
        Frequencies: vectors or their lengths.
    dim : int, default=1
        The dimension d of the space.

    Returns
    -------
    Transform
        The values, their errors, and the part of the errors that is due to rounding; each ``(m,)``.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.45) to (3.47).

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> found = fourier_transform(Gaussian(), [0.0, 1.0, 9.0])
    >>> found.values.round(6)
    array([1.      , 0.606531,      nan])
    >>> bool(found.error.max() < 1e-13)
    True
    """
    if not kernel.stationary or (dim > 1 and not kernel.radial):
        raise NotImplementedError(
            f"The transform of {kernel!r} in dimension {dim} is not computed numerically: that "
            "takes a kernel of the difference of one feature, or of the distance of several."
        )
    if kernel.period is not None or kernel.order > 0:
        what = "coefficients" if kernel.order == 0 else "a closed form"
        raise NotImplementedError(f"{kernel!r} does not decay: its spectrum is known by {what}.")
    omega = np.asarray(omega, dtype=float)
    lengths = np.abs(omega) if omega.ndim == 1 else np.linalg.norm(omega, axis=1)
    zero = np.zeros((1, dim))

    def profile(r: Array) -> Array:
        points = np.zeros((r.size, dim))
        points[:, 0] = r.ravel()
        return kernel(points, zero)[:, 0].reshape(r.shape)

    return radial_transform(profile, lengths, dim)


def radial_transform(profile: Callable[[Array], Array], omega: Array, dim: int) -> Transform:
    """Return the Fourier transform of a radial function that tends to zero.

    Parameters
    ----------
    profile : callable
        The function of the distance; takes and returns arrays of one shape.
    omega : (m,) array
        Lengths of frequencies, at least 0.
    dim : int
        The dimension d of the space.

    Returns
    -------
    Transform

    Examples
    --------
    >>> found = radial_transform(lambda r: np.exp(-r), np.array([0.0, 1.0]), 3)
    >>> found.values / np.sqrt(2 / np.pi)
    array([2. , 0.5])
    """
    mesh = _Mesh(profile, dim)
    columns = np.array([mesh.transform(float(w)) for w in omega]).reshape(-1, 3).T
    values, error, floor = columns
    known = np.abs(values) > error
    return Transform(np.where(known, values, np.nan), error, floor)


def oscillation(t: Array, dim: int) -> Array:
    r"""Return :math:`\Omega(t) = t^{-\nu} J_\nu(t)`, with its limit at zero."""
    if dim == 1:
        return np.asarray(np.sqrt(2.0 / np.pi) * np.cos(t))
    if dim == 2:
        return np.asarray(special.j0(t))
    if dim == 3:
        return np.asarray(np.sqrt(2.0 / np.pi) * np.sinc(t / np.pi))
    nu = 0.5 * dim - 1.0
    # The power series below 1, where t^-nu may overflow; its tenth term is below 1e-18.
    small = t < 1.0
    series = np.ones_like(t)
    for k in range(9, 0, -1):
        series = 1.0 - np.where(small, 0.25 * t * t, 0.0) / (k * (nu + k)) * series
    t = np.where(small, 1.0, t)
    near = 2.0**-nu / special.gamma(nu + 1.0) * series
    return np.where(small, near, t**-nu * special.jv(nu, t))


def polynomial_transform(
    profile: Callable[[Array], Array], at_zero: Array, at_one: Array, omega: Array, dim: int
) -> Transform:
    r"""Return the Fourier transform of a polynomial of the distance inside the unit ball.

    By quadrature at low frequencies. At high ones, with the Hankel function of the first kind
    instead of Omega, the path from 0 to 1 is replaced by those from 0 and from 1 upwards in the
    complex plane, where waves decay: the first integral is known,

    .. math:: \frac{2}{\pi} \omega^{-\nu} \int_0^\infty s^{\nu+1+j} K_\nu(\omega s) \, ds
              = \frac{2^{\nu+j+1}}{\pi} \omega^{-d-j} \Gamma(\nu + 1 + j/2) \Gamma(1 + j/2)

    for odd powers j and without a real part for even ones, and the second is one for Gauss and
    Laguerre. Nothing cancels, so that also values far below the peak have their digits.

    Parameters
    ----------
    profile : callable
        The polynomial, evaluated without cancellation.
    at_zero, at_one : arrays
        Its coefficients in powers of r and of 1 - r, exact.
    omega : (m,) array
        Lengths of frequencies, at least 0.
    dim : int
        The dimension d of the space.

    Returns
    -------
    Transform

    Examples
    --------
    >>> coef = np.array([1.0]), np.array([1.0])
    >>> polynomial_transform(np.ones_like, *coef, np.array([0.9]), 3).values.round(8)
    array([0.24503258])
    """
    parts = [
        _polynomial_transform(profile, at_zero, at_one, omega[part], dim)
        for part in row_slices(len(omega), 16 * 80, BLOCK_BYTES)
    ]
    value, error = np.concatenate(parts, axis=1) if parts else np.empty((2, 0))
    return Transform(np.where(np.abs(value) > error, value, np.nan), error, error)


def _polynomial_transform(
    profile: Callable[[Array], Array], at_zero: Array, at_one: Array, omega: Array, dim: int
) -> Array:
    nu = 0.5 * dim - 1.0
    r, weight = np.polynomial.legendre.leggauss(80)
    r, weight = 0.5 * (r + 1.0), 0.5 * weight
    # 80 nodes see waves of 64 radians to 1e-40.
    terms = weight * r ** (dim - 1) * profile(r)
    terms = terms * oscillation(np.minimum(omega, 64.0)[:, None] * r, dim)
    error = np.where(omega <= 64.0, ROUNDING * np.abs(terms).sum(axis=1), np.inf)
    value = terms.sum(axis=1)
    w = np.maximum(omega, 0.5)[:, None]
    j = np.arange(1, len(at_zero), 2)
    moments = special.gamma(nu + 1.0 + 0.5 * j) * special.gamma(1.0 + 0.5 * j)
    start = at_zero[1::2] * (-1.0) ** ((j + 1) // 2) * 2.0 ** (nu + j + 1.0) / np.pi * moments
    start = start * w ** (-dim - j)
    x, weight = np.polynomial.laguerre.laggauss(40)
    s = 1j * x / w
    end = np.polynomial.polynomial.polyval(-s, at_one) * (1.0 + s) ** (nu + 1.0)
    end = 1j * weight * w ** (-nu - 1.0) * end * special.hankel1e(nu, w * (1.0 + s))
    half_wave = (end * np.exp(1j * w)).real
    # Where waves are few, the singularity at zero is too near to the path for this rule.
    size = np.abs(start).sum(axis=1) + np.abs(half_wave).sum(axis=1)
    other = np.where(omega > 20.0, 4.0 * ROUNDING * size, np.inf)
    better = other < error
    value = np.where(better, start.sum(axis=1) - half_wave.sum(axis=1), value)
    return np.stack([value, np.where(better, other, error)])


class _Mesh:
    """Pieces of the half line on each of which a function is a polynomial to rounding."""

    def __init__(self, profile: Callable[[Array], Array], dim: int) -> None:
        self.profile, self.dim = profile, dim
        self.peak = float(oscillation(np.zeros(1), dim)[0])
        edges = np.ldexp(1.0, np.arange(-OCTAVES, OCTAVES + 1))
        self.mass = self._mass(edges[:-1], edges[1:])
        height = np.abs(profile(edges))
        if not np.isfinite(height).all() or height[-1] > 0.5 * height.max():
            raise NotImplementedError(
                "The function does not decay: it has no spectrum that is a function."
            )
        # Where the function is half its height, all but the tail has happened.
        bulk = int(np.flatnonzero(height > 0.5 * height.max())[-1]) + 1
        self.scale = float(self.mass[: bulk + 1].sum())
        first = int(np.flatnonzero(np.cumsum(self.mass) > EPS / 64.0 * self.scale)[0])
        beyond = np.cumsum(self.mass[::-1])[::-1]
        light = np.flatnonzero(beyond <= EPS / 64.0 * self.scale)
        last = int(light[0]) if light.size else len(self.mass)
        self.light = bool(light.size)
        stops = edges[first + 1 : last + 1]
        starts = np.append(0.0, stops[:-1])
        self.unresolved = 0.0
        self.starts, self.stops, kink = self._refine(starts, stops)
        # A kink exactly at a power of two shows between others.
        *_, hidden = self._refine(np.sqrt(2.0) * starts, np.sqrt(2.0) * stops)
        self.tail = max(float(edges[bulk]), kink, hidden)

    def _mass(self, a: Array, b: Array) -> Array:
        r, weight = _nodes(a, b, FINE)
        with np.errstate(over="ignore"):
            return np.asarray((weight * r ** (self.dim - 1) * np.abs(self.profile(r))).sum(axis=1))

    def _refine(self, a: Array, b: Array) -> tuple[Array, Array, float]:
        """Halve pieces until all are resolved, and return where the last kink is."""
        n = len(FINE[0])
        # From values at the nodes to the last three Legendre coefficients.
        legendre = np.polynomial.legendre.legvander(FINE[0], n - 1)[:, -3:]
        project = FINE[1][:, None] * legendre * (np.arange(n - 3, n) + 0.5)
        done, kink = [np.empty((0, 2))], 0.0
        for depth in range(OCTAVES):
            r, _weight = _nodes(a, b, FINE)
            last = np.abs(self.profile(r) @ project).max(axis=1)
            with np.errstate(over="ignore"):
                rough = last * (b - a) * b ** (self.dim - 1) > EPS / 4.0 * self.scale
            # Beyond the bulk of a heavy tail only the shape matters, which is scale free.
            rough &= last > 1e-13 * np.abs(self.profile(r)).max(axis=1)
            done.append(np.stack([a, b], axis=1)[~rough])
            a, b = a[rough], b[rough]
            if not a.size:
                break
            if sum(map(len, done)) + 2 * a.size > PIECES:
                with np.errstate(over="ignore"):
                    left = last[rough] * (b - a) * b ** (self.dim - 1)
                self.unresolved += self.peak * float(left.sum())
                done.append(np.stack([a, b], axis=1))
                break
            # An exponential is halved a few times, for its height; a kink until it is nothing.
            kink = max(kink, float(b.max())) if depth > 4 else kink
            middle = 0.5 * (a + b)
            a, b = np.concatenate([a, middle]), np.concatenate([middle, b])
        pieces = np.concatenate(done)
        order = np.argsort(pieces[:, 0])
        return pieces[order, 0], pieces[order, 1], kink

    def transform(self, omega: float) -> tuple[float, float, float]:
        """Return the value at a frequency, its error, and the part of it that is rounding."""
        value, error, floor = self._at_zero() if omega == 0.0 else self._at(omega)
        return value, error + self.unresolved, floor

    def _at(self, omega: float) -> tuple[float, float, float]:
        end = float(self.stops[-1])
        if self.light and omega * end < WAVES:
            return self._between(self.starts, self.stops, omega)
        # A zero of the wave (nearly: far out) after the bulk and after the first few waves.
        shift = 0.25 * (self.dim - 3)
        start = (
            (np.ceil(max(self.tail * omega, 3.0 * np.pi) / np.pi - shift) + shift) * np.pi / omega
        )
        if self.light and start >= end:
            start = end
        if omega * start > MOST:
            return 0.0, self.peak * float(self.mass.sum()) if self.light else np.inf, 0.0
        inside = self.starts < start
        stops = np.minimum(self.stops[inside], start)
        value, error, floor = self._between(self.starts[inside], stops, omega)
        if start == end:
            return value, error, floor
        tail, uncertain, rounding = self._accelerated(start, omega)
        return value + tail, error + uncertain, floor + rounding

    def _at_zero(self) -> tuple[float, float, float]:
        value, error, floor = self._between(self.starts, self.stops, 0.0)
        if self.light:
            return value, error, floor
        # An algebraic tail is a geometric series over octaves.
        ratio = self.mass[-1] / self.mass[-2]
        if not ratio < 1.0:
            return (0.0, np.inf, 0.0) if self.unresolved else (np.inf, 0.0, 0.0)
        rest = self.peak * float(self.mass[-1]) * ratio / (1.0 - ratio)
        earlier = self.mass[-2] / self.mass[-3]
        uncertain = abs(rest) * abs(ratio - earlier) / (1.0 - ratio) ** 2
        return value + rest, error + uncertain + 4.0 * EPS * abs(rest), floor

    def _between(self, a: Array, b: Array, omega: float) -> tuple[float, float, float]:
        """Integrate over pieces, each cut into as many as there are waves."""
        count = np.ceil((b - a) * omega / PHASE).astype(int).clip(1)
        index = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        width = np.repeat((b - a) / count, count)
        a = np.repeat(a, count) + index * width
        coarse, fine = np.zeros((2, 3))
        for part in row_slices(len(a), 8 * len(FINE[0]), 8 * CHUNK_BYTES):
            pieces = a[part], a[part] + width[part], omega
            coarse += self._integrals(*pieces, COARSE).sum(axis=1)
            fine += self._integrals(*pieces, FINE).sum(axis=1)
        floor = _floor(*fine[1:])
        return float(fine[0]), abs(float(fine[0] - coarse[0])) + floor, floor

    def _integrals(self, a: Array, b: Array, omega: float, rule: tuple[Array, Array]) -> Array:
        """Return integrals over pieces, of values and modulus, and squared turns of waves."""
        r, weight = _nodes(a, b, rule)
        terms = weight * r ** (self.dim - 1) * self.profile(r) * oscillation(omega * r, self.dim)
        turned = ((omega * r * terms) ** 2).sum(axis=1)
        return np.stack([terms.sum(axis=1), np.abs(terms).sum(axis=1), turned])

    def _accelerated(self, start: float, omega: float) -> tuple[float, float, float]:
        """Sum the half waves from a zero on as an alternating series."""
        n = 30
        a = start + np.arange(n) * (np.pi / omega)
        fine = self._integrals(a, a + np.pi / omega, omega, FINE)
        coarse = self._integrals(a, a + np.pi / omega, omega, COARSE)
        value = float(_alternating(n) @ fine[0])
        other = float(_alternating(n - 6) @ coarse[0, : n - 6])
        # The sum is about half the first term, and its rounding that of the first few.
        floor = _floor(*fine[1:, :4].sum(axis=1))
        return value, abs(value - other) + floor, floor


def _floor(absolute: float, turned: float) -> float:
    """Return the rounding error: errors of values add up, errors of r turn waves at random."""
    return ROUNDING * float(absolute) + 4.0 * EPS * float(np.sqrt(turned))


def _nodes(a: Array, b: Array, rule: tuple[Array, Array]) -> tuple[Array, Array]:
    half = 0.5 * (b - a)[:, None]
    return a[:, None] + half * (rule[0] + 1.0), half * rule[1]


def _alternating(n: int) -> Array:
    r"""Return the weights of n terms that sum an alternating series to :math:`5.8^{-n}`.

    References
    ----------
    H. Cohen, F. Rodriguez Villegas and D. Zagier, *Convergence acceleration of alternating
    series*, Experimental Mathematics 9, 2000, algorithm 1.
    """
    d = (3.0 + np.sqrt(8.0)) ** n
    d = 0.5 * (d + 1.0 / d)
    b, c, weights = -1.0, -d, []
    for k in range(n):
        c = b - c
        # The terms here carry their signs, those of the algorithm do not.
        weights.append((-1) ** k * c / d)
        b *= (k + n) * (k - n) / ((k + 0.5) * (k + 1.0))
    return np.array(weights)
