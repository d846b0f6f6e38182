"""Kernels written against the array API: the same formulas for arrays of any library and device.

Kernels of squared distances are fused where the library can write into an array: product, norms,
profile and factor follow each other in the memory of one block.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce, singledispatch
from math import factorial
from operator import add, mul
from typing import Any

import numpy as np

from mercer._typing import PointsLike
from mercer.kernels.algebra import ActiveDims, Power, Product, Scaled, Sum, factors, terms
from mercer.kernels.anova import EachFeature, Tensor
from mercer.kernels.base import Kernel
from mercer.kernels.compact import Wendland
from mercer.kernels.distances import MAX_SINGLE_ERROR
from mercer.kernels.dot_product import Linear, Polynomial, Sigmoid
from mercer.kernels.exponential import Laplacian, PoweredExponential
from mercer.kernels.featurewise import scale_of_feature
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.matern import Matern
from mercer.kernels.multiquadric import PowerLaw
from mercer.kernels.periodic import Periodic
from mercer.kernels.points import row_slices
from mercer.kernels.polyharmonic import PowerOfDistance
from mercer.kernels.power_series import PowerSeries
from mercer.kernels.rational_quadratic import RationalQuadratic
from mercer.kernels.roundoff import precision_of
from mercer.kernels.stationary import Dimensional, Profile
from mercer.kernels.stretched import Stretched

__all__ = ["in_place", "known", "prepare"]

Values = Callable[[Any], Any]
"""From points on a device to kernel values there, or from squared distances, which they may use up.
"""

Writing = Callable[[Any, Any], Any]
"""From points on a device, and memory there or None, to kernel values, there where possible."""

LARGEST_HALF = 12.5
"""Smoothness up to which Matern kernels are computed by their closed form."""

PAIRS = 2**20
"""Near pairs whose differences are held at once."""

SERIES: dict[str, Callable[[Any, Any], Any]] = {
    "exp": lambda xp, s: xp.exp(s),
    "cosh": lambda xp, s: xp.cosh(s),
    "sinh": lambda xp, s: xp.sinh(s),
    "geometric": lambda xp, s: 1.0 / (1.0 - s),
    "logarithm": lambda xp, s: -xp.log1p(-s),
    "arcsine": lambda xp, s: xp.asin(s),
}


def known(kernel: Kernel, p: int) -> bool:
    """Whether a kernel of p features has a formula here, and is computed where its points are.

    Examples
    --------
    >>> from mercer.kernels import Spline
    >>> known(2.0 * Gaussian() + Linear(), 3), known(Spline() + Gaussian(), 3)
    (True, False)
    """
    match kernel:
        case Sum() | Product():
            return known(kernel.left, p) and known(kernel.right, p)
        case ActiveDims():
            return known(kernel.kernel, len(_here(kernel, p)))
        case EachFeature():
            return known(kernel.kernel, 1)
        case PowerSeries() | Scaled() | Power() | Stretched():
            return known(kernel.kernel, p)
        case Dimensional():
            return known(kernel._in(p), p)
        case Profile():
            return profile(kernel, None) is not None
    return isinstance(kernel, Linear | Polynomial | Sigmoid | Laplacian | Periodic)


@singledispatch
def prepare(kernel: Kernel, Z: PointsLike, at: Any) -> Values:
    """Return the function ``X -> k(X, Z)`` of points on a device.

    Parameters
    ----------
    kernel : Kernel
    Z : (m, p) array
        On the host, in the precision of the device.
    at : Device

    Returns
    -------
    callable
        Maps ``(n, p)`` points on the device to ``(n, m)`` values there. A kernel without a formula
        is evaluated on the host: correct, but its values travel.
    """
    return _on_host(kernel, Z, at)


def _on_host(kernel: Kernel, Z: PointsLike, at: Any) -> Values:
    evaluate = kernel.against(Z)
    return lambda X: at.to_device(evaluate(at.to_numpy(X)), single=Z.dtype == np.float32)


@singledispatch
def in_place(kernel: Kernel, Z: PointsLike, at: Any) -> Writing:
    """Return the function ``X, out -> k(X, Z)`` of points on a device and memory for the values.

    Parameters
    ----------
    kernel : Kernel
        Those of squared distances need no other memory of the size of their values; others make
        their own, and leave `out` as it is.
    Z : (m, p) array
    at : Device
    """
    values = prepare(kernel, Z, at)
    return lambda X, out: values(X)


@singledispatch
def profile(kernel: Kernel, xp: Any) -> Values | None:
    """Return the function of the squared distance, in units of the length scale, if known.

    It may write over the squared distances, and so may the functions of `xp` over what they get.
    """
    return None


def _gaussian(s: Any, xp: Any) -> Any:
    s *= -0.5
    return xp.exp(s)


@profile.register
def _(kernel: Gaussian, xp: Any) -> Values:
    return lambda s: _gaussian(s, xp)


@profile.register
def _(kernel: Matern, xp: Any) -> Values | None:
    nu = float(kernel.nu)
    if np.isinf(nu):
        return lambda s: _gaussian(s, xp)
    if nu % 1.0 != 0.5 or nu > LARGEST_HALF:
        return None
    # e^-a q!/(2q)! sum_i (q + i)!/(i! (q - i)!) (2a)^(q - i), from the highest power on.
    q = int(nu)
    coefficients = [
        factorial(q) / factorial(2 * q) * factorial(q + i) / factorial(i) / factorial(q - i)
        for i in range(q + 1)
    ]

    def values(s: Any) -> Any:
        s *= 2.0 * nu
        a = xp.sqrt(s)
        polynomial = _horner([c * 2.0 ** (q - i) for i, c in enumerate(coefficients)], a)
        a *= -1.0
        decay = xp.exp(a)
        decay *= polynomial
        return decay

    return values


@profile.register
def _(kernel: RationalQuadratic, xp: Any) -> Values:
    alpha = float(kernel.alpha)

    def values(s: Any) -> Any:
        s /= 2.0 * alpha
        logarithm = xp.log1p(s)
        logarithm *= -alpha
        return xp.exp(logarithm)

    return values


@profile.register
def _(kernel: PowerLaw, xp: Any) -> Values:
    def values(s: Any) -> Any:
        s += 1.0
        s **= kernel._power
        s *= kernel._sign
        return s

    return values


@profile.register
def _(kernel: PoweredExponential, xp: Any) -> Values:
    def values(s: Any) -> Any:
        s **= 0.5 * float(kernel.exponent)
        s *= -1.0
        return xp.exp(s)

    return values


@profile.register
def _(kernel: PowerOfDistance, xp: Any) -> Values:
    e, weight = float(kernel.exponent), float(kernel._weight)
    if e % 2.0:
        return lambda s: weight * s ** (0.5 * e)

    def plate(s: Any) -> Any:
        # Zero times the logarithm of zero is zero.
        logarithm = xp.log(xp.where(s > 0.0, s, xp.ones_like(s)))
        return (0.5 * weight) * s ** (0.5 * e) * logarithm

    return plate


@profile.register
def _(kernel: Wendland, xp: Any) -> Values:
    power, coef = kernel._factors

    def values(s: Any) -> Any:
        r = xp.clip(xp.sqrt(s), 0.0, 1.0)
        return (1.0 - r) ** power * _horner([float(c) for c in (coef / coef[0])[::-1]], r)

    return values


def _horner(coefficients: list[float], x: Any) -> Any:
    """Return a polynomial, its highest power first; a number if it is constant."""
    if len(coefficients) == 1:
        return coefficients[0]
    result = coefficients[0] * x
    result += coefficients[1]
    for c in coefficients[2:]:
        result *= x
        result += c
    return result


@prepare.register
def _(kernel: Profile, Z: PointsLike, at: Any) -> Values:
    values = in_place(kernel, Z, at)
    return lambda X: values(X, None)


@in_place.register
def _(kernel: Profile, Z: PointsLike, at: Any) -> Writing:
    values = profile(kernel, at.overwriting)
    if values is None:
        on_host = _on_host(kernel, Z, at)
        return lambda X, out: on_host(X)
    single = Z.dtype == np.float32
    factor = at.to_device(np.broadcast_to(kernel._factor(Z), Z.shape[1]), single)
    Q = at.to_device(Z, single) * factor
    smooth = kernel._smooth
    return lambda X, out: values(_squared(at, X * factor, Q, smooth, out))


def _squared(at: Any, P: Any, Q: Any, smooth: bool, out: Any = None) -> Any:
    """Return squared distances by one product, of near points from differences where that matters.

    The rules are those of :func:`mercer.kernels.distances.squared_distances`.
    """
    xp = at.xp
    if P.shape[0] == 0:
        return P @ Q.T
    pp, qq = xp.sum(P * P, axis=1), xp.sum(Q * Q, axis=1)
    single = P.dtype == xp.float32
    dtype = np.dtype(np.float32 if single else np.float64)
    rounding, error, digits = map(float, precision_of(dtype, P.shape[1]))
    largest = float(xp.max(pp)) + float(xp.max(qq))
    if single and 2.0 * rounding * largest > MAX_SINGLE_ERROR * error:
        s = _squared(at, xp.astype(P, xp.float64), xp.astype(Q, xp.float64), smooth)
        return xp.astype(s, xp.float32)
    s = at.squared_distances(P, Q, pp, qq, out)
    if not smooth or (not single and 2.0 * rounding * largest > error):
        share = 2.0 * rounding / digits
        # A first look with the largest bound of all is cheap, and mostly the last.
        if float(xp.min(s)) <= share * largest:
            bound = share * (pp[:, None] + qq[None, :])
            near = s <= bound
            if smooth:
                near &= bound >= error / digits
            i, j = xp.nonzero(near)
            if i.shape[0]:
                parts = row_slices(i.shape[0], P.shape[1], PAIRS)
                s[near] = xp.concat([_pairs(xp, P, Q, i[part], j[part]) for part in parts])
    return s


def _pairs(xp: Any, P: Any, Q: Any, i: Any, j: Any) -> Any:
    difference = xp.take(P, i, axis=0) - xp.take(Q, j, axis=0)
    return xp.sum(difference * difference, axis=1)


@prepare.register
def _(kernel: Dimensional, Z: PointsLike, at: Any) -> Values:
    return prepare(kernel._in(Z.shape[1]), Z, at)


@in_place.register
def _(kernel: Dimensional, Z: PointsLike, at: Any) -> Writing:
    return in_place(kernel._in(Z.shape[1]), Z, at)


@prepare.register
def _(kernel: Laplacian, Z: PointsLike, at: Any) -> Values:
    xp, Q = at.xp, at.to_device(Z, Z.dtype == np.float32)
    factor = np.broadcast_to(kernel._factor(Z), Z.shape[1])
    categories = set(kernel._columns(Z.shape[1]))

    def values(X: PointsLike) -> Any:
        def distance(j: int) -> Any:
            d = xp.abs(X[:, j, None] - Q[None, :, j])
            return (xp.sign(d) if j in categories else d) * float(factor[j])

        return xp.exp(-_over_features(distance, Z.shape[1]))

    return values


@prepare.register
def _(kernel: Periodic, Z: PointsLike, at: Any) -> Values:
    xp, Q = at.xp, at.to_device(Z, Z.dtype == np.float32)
    kernel._check_features(Z.shape[1])
    rate = np.pi / float(kernel.period)

    def values(X: PointsLike) -> Any:
        def square(j: int) -> Any:
            wave = xp.sin(rate * (X[:, j, None] - Q[None, :, j]))
            return wave * wave * (2.0 / scale_of_feature(kernel.length_scale, j) ** 2)

        return xp.exp(-_over_features(square, Z.shape[1]))

    return values


def _over_features(term: Callable[[int], Any], p: int) -> Any:
    """Add one matrix for every feature, never holding more than two of them."""
    total = term(0)
    for j in range(1, p):
        total += term(j)
    return total


@prepare.register
def _(kernel: Linear, Z: PointsLike, at: Any) -> Values:
    Q = at.to_device(Z, Z.dtype == np.float32)
    return lambda X: X @ Q.T


@prepare.register
def _(kernel: Polynomial, Z: PointsLike, at: Any) -> Values:
    Q = at.to_device(Z, Z.dtype == np.float32)
    gamma, coef0, degree = float(kernel.gamma), float(kernel.coef0), int(kernel.degree)
    return lambda X: (gamma * (X @ Q.T) + coef0) ** degree


@prepare.register
def _(kernel: Sigmoid, Z: PointsLike, at: Any) -> Values:
    Q, xp = at.to_device(Z, Z.dtype == np.float32), at.xp
    return lambda X: xp.tanh(float(kernel.gamma) * (X @ Q.T) + float(kernel.coef0))


@prepare.register
def _(kernel: PowerSeries, Z: PointsLike, at: Any) -> Values:
    inner, xp = prepare(kernel.kernel, Z, at), at.xp
    if isinstance(kernel.series, str):
        function = SERIES[kernel.series]
        return lambda X: function(xp, inner(X))
    coefficients = [float(c) for c in np.asarray(kernel.series)[::-1]]
    return lambda X: _horner(coefficients, inner(X))


@prepare.register
def _(kernel: Sum, Z: PointsLike, at: Any) -> Values:
    parts = [prepare(term, Z, at) for term in terms(kernel)]
    return lambda X: reduce(add, (part(X) for part in parts))


@prepare.register
def _(kernel: Product, Z: PointsLike, at: Any) -> Values:
    parts = [prepare(factor, Z, at) for factor in factors(kernel)]
    return lambda X: reduce(mul, (part(X) for part in parts))


@prepare.register
def _(kernel: Scaled, Z: PointsLike, at: Any) -> Values:
    values = in_place(kernel, Z, at)
    return lambda X: values(X, None)


@in_place.register
def _(kernel: Scaled, Z: PointsLike, at: Any) -> Writing:
    inner, factor = in_place(kernel.kernel, Z, at), float(kernel.factor)

    def values(X: Any, out: Any) -> Any:
        K = inner(X, out)
        K *= factor
        return K

    return values


@prepare.register
def _(kernel: Power, Z: PointsLike, at: Any) -> Values:
    inner, exponent = prepare(kernel.kernel, Z, at), int(kernel.exponent)
    return lambda X: inner(X) ** exponent


@prepare.register
def _(kernel: ActiveDims, Z: PointsLike, at: Any) -> Values:
    here = _here(kernel, Z.shape[1])
    inner = prepare(kernel.kernel, np.ascontiguousarray(Z[:, here]), at)
    columns = at.xp.asarray(here, device=at.device)
    return lambda X: inner(at.xp.take(X, columns, axis=1))


def _here(kernel: ActiveDims, p: int) -> list[int]:
    if isinstance(kernel.dims, slice):
        return list(range(p))[kernel.dims]
    try:
        return [range(p)[j] for j in kernel._positions]
    except IndexError:
        raise ValueError(
            f"The kernel acts on features {kernel.dims!r} but the points have {p}."
        ) from None


@prepare.register
def _(kernel: Stretched, Z: PointsLike, at: Any) -> Values:
    single = Z.dtype == np.float32
    inner = prepare(kernel.kernel, kernel._in_units(Z), at)
    factor = at.to_device(np.broadcast_to(1.0 / kernel._scale, Z.shape[1]), single)
    return lambda X: inner(X * factor)


@prepare.register
def _(kernel: EachFeature, Z: PointsLike, at: Any) -> Values:
    p = Z.shape[1]
    each = [prepare(kernel.kernel, np.ascontiguousarray(Z[:, [j]]), at) for j in range(p)]

    def values(X: PointsLike) -> Any:
        of_features = (one(X[:, j : j + 1]) for j, one in enumerate(each))
        if isinstance(kernel, Tensor):
            return reduce(mul, of_features)
        return reduce(add, kernel._symmetric(of_features, kernel._largest(p)))

    return values
