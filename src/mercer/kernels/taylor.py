r"""Derivatives of kernels along a feature, by the arithmetic of power series.

.. math:: k(x + t e_j, z) = \sum_q c_q(x, z) \, t^q

Sums, products, powers and restrictions of kernels are sums, products, powers and restrictions of
series; a profile of the squared distance is composed with a parabola.
"""

from __future__ import annotations

from functools import singledispatch
from math import factorial

import numpy as np

from mercer.kernels import matern
from mercer.kernels.algebra import ActiveDims, Power, Product, Scaled, Sum, terms
from mercer.kernels.base import Kernel
from mercer.kernels.dot_product import Linear, Polynomial
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.matern import Matern
from mercer.kernels.points import Array
from mercer.kernels.rational_quadratic import RationalQuadratic
from mercer.kernels.stationary import Profile
from mercer.kernels.stretched import Stretched

__all__ = ["derivatives", "differentiable", "features_of", "roughness"]


def derivatives(kernel: Kernel, X: Array, Z: Array, feature: int, order: int) -> Array:
    r"""Return the derivatives of a kernel in its first argument along a feature.

    .. math:: \partial_j^q k(x, z), \qquad q = 0, \dots, \text{order}

    Parameters
    ----------
    kernel : Kernel
        Made of Gaussian, Matern, rational quadratic, linear and polynomial kernels.
    X : (n, p) array
    Z : (m, p) array
    feature : int
        The feature j.
    order : int
        Largest derivative.

    Returns
    -------
    (order + 1, n, m) array

    Raises
    ------
    NotImplementedError
        If the derivatives of the kernel are not known here, or do not exist.

    Examples
    --------
    >>> derivatives(Gaussian(1.0), np.zeros((1, 1)), np.ones((1, 1)), 0, 2).ravel().round(4) + 0.0
    array([0.6065, 0.6065, 0.    ])
    """
    c = _series(kernel, np.asarray(X, float), np.asarray(Z, float), feature, order)
    factors = np.array([float(factorial(q)) for q in range(order + 1)])
    return np.asarray(c * factors[:, None, None])


def differentiable(kernel: Kernel, order: int, p: int) -> bool:
    """Answer whether :func:`derivatives` up to an order are known.

    Examples
    --------
    >>> differentiable(Matern(nu=1.5), 1, 1), differentiable(Matern(nu=1.5), 2, 1)
    (True, False)
    """
    X, Z = np.zeros((1, p)), np.ones((1, p))
    try:
        # Widths so small that one overflows count as no derivatives.
        with np.errstate(over="ignore", invalid="ignore"):
            series = [_series(kernel, X, Z, j, order) for j in range(p)]
    except NotImplementedError:
        return False
    return bool(np.all(np.isfinite(series)))


def roughness(kernel: Kernel, feature: int, order: int, p: int) -> float:
    r"""Return how large a derivative of a function of norm one can be anywhere.

    .. math:: |\partial_j^q f(x)| \le \|f\| \sqrt{\partial_j^q \partial_j'^q k(x, x')}
              = \|f\| \sqrt{(-1)^q \, \partial_j^{2q} k}

    at :math:`x' = x`, for a kernel that depends on the difference of its arguments only.

    Parameters
    ----------
    kernel : Kernel
        Stationary.
    feature, order : int
        The feature j and the derivative q.
    p : int
        Number of features.

    Returns
    -------
    float
        Infinite where the functions of the kernel have no such derivative.

    Examples
    --------
    >>> roughness(Gaussian(2.0), 0, 1, 1)
    0.5
    """
    if not kernel.stationary:
        raise NotImplementedError(f"{kernel!r} is not stationary.")
    point = np.zeros((1, p))
    try:
        top = derivatives(kernel, point, point, feature, 2 * order)[-1, 0, 0]
    except NotImplementedError:
        return np.inf
    return float(np.sqrt(max((-1.0) ** order * top, 0.0)))


def features_of(kernel: Kernel, p: int) -> set[int]:
    """Return the features that a kernel sees.

    Examples
    --------
    >>> features_of(Gaussian(1.0).on([1]), 3)
    {1}
    """
    if isinstance(kernel, Sum | Product):
        return features_of(kernel.left, p) | features_of(kernel.right, p)
    if isinstance(kernel, ActiveDims):
        here = range(p)[kernel.dims] if isinstance(kernel.dims, slice) else kernel._positions
        return {here[j] % p for j in features_of(kernel.kernel, len(here))}
    if isinstance(kernel, Scaled | Power | Stretched):
        return features_of(kernel.kernel, p)
    return set(range(p))


def separate(kernel: Kernel, feature: int, p: int) -> bool:
    """Answer whether the terms of a kernel that see a feature see nothing else.

    Examples
    --------
    >>> separate(Gaussian(1.0).on([0]) + Gaussian(1.0).on([1]), 0, 2)
    True
    """
    return all(
        features_of(term, p) == {feature}
        for term in terms(kernel)
        if feature in features_of(term, p)
    )


@singledispatch
def _series(kernel: Kernel, X: Array, Z: Array, j: int, order: int) -> Array:
    raise NotImplementedError(f"derivatives of {kernel!r} are not known.")


@_series.register
def _(kernel: Profile, X: Array, Z: Array, j: int, order: int) -> Array:
    scale = np.broadcast_to(np.asarray(kernel.length_scale, dtype=float), X.shape[1])
    P, Q = X / scale, Z / scale
    s = np.sum((P[:, None, :] - Q[None, :, :]) ** 2, axis=2)
    # s(t) = s + u(t), a parabola in the step t.
    u = np.zeros((order + 1, *s.shape))
    if order > 0:
        u[1] = 2.0 * (P[:, None, j] - Q[None, :, j]) / scale[j]
    if order > 1:
        u[2] = 1.0 / scale[j] ** 2
    # At a point itself only the parabola is left, and half of the slopes suffice.
    slopes = _slopes(kernel, s, order if order and u[1].any() else order // 2)
    total, power = np.zeros_like(u), np.zeros_like(u)
    power[0] = 1.0
    for i, slope in enumerate(slopes):
        total += slope / factorial(i) * power
        power = _product(power, u)
    return total


@_series.register
def _(kernel: Linear, X: Array, Z: Array, j: int, order: int) -> Array:
    c = np.zeros((order + 1, len(X), len(Z)))
    c[0] = X @ Z.T
    if order > 0:
        c[1] = Z[:, j]
    return c


@_series.register
def _(kernel: Polynomial, X: Array, Z: Array, j: int, order: int) -> Array:
    base = kernel.gamma * _series(Linear(), X, Z, j, order)
    base[0] += kernel.coef0
    return _power(base, int(kernel.degree))


@_series.register
def _(kernel: Sum, X: Array, Z: Array, j: int, order: int) -> Array:
    return _series(kernel.left, X, Z, j, order) + _series(kernel.right, X, Z, j, order)


@_series.register
def _(kernel: Product, X: Array, Z: Array, j: int, order: int) -> Array:
    return _product(_series(kernel.left, X, Z, j, order), _series(kernel.right, X, Z, j, order))


@_series.register
def _(kernel: Scaled, X: Array, Z: Array, j: int, order: int) -> Array:
    return float(kernel.factor) * _series(kernel.kernel, X, Z, j, order)


@_series.register
def _(kernel: Power, X: Array, Z: Array, j: int, order: int) -> Array:
    return _power(_series(kernel.kernel, X, Z, j, order), int(kernel.exponent))


@_series.register
def _(kernel: Stretched, X: Array, Z: Array, j: int, order: int) -> Array:
    scale = np.broadcast_to(np.asarray(kernel.scale, dtype=float), X.shape[1])
    c = _series(kernel.kernel, X / scale, Z / scale, j, order)
    return np.asarray(c / scale[j] ** np.arange(order + 1.0)[:, None, None])


@_series.register
def _(kernel: ActiveDims, X: Array, Z: Array, j: int, order: int) -> Array:
    p = X.shape[1]
    here = range(p)[kernel.dims] if isinstance(kernel.dims, slice) else kernel._positions
    dims = [i % p for i in here]
    if j in dims:
        return _series(kernel.kernel, X[:, dims], Z[:, dims], dims.index(j), order)
    c = np.zeros((order + 1, len(X), len(Z)))
    c[0] = kernel.kernel(X[:, dims], Z[:, dims])
    return c


def _product(a: Array, b: Array) -> Array:
    """Return the product of two truncated series."""
    return np.stack([np.sum(a[: q + 1] * b[q::-1], axis=0) for q in range(len(a))])


def _power(a: Array, exponent: int) -> Array:
    result = np.zeros_like(a)
    result[0] = 1.0
    for _ in range(exponent):
        result = _product(result, a)
    return result


@singledispatch
def _slopes(kernel: Kernel, s: Array, order: int) -> list[Array]:
    """Return the derivatives of a profile in the squared distance, up to an order."""
    raise NotImplementedError(f"derivatives of {kernel!r} are not known.")


@_slopes.register
def _(kernel: Gaussian, s: Array, order: int) -> list[Array]:
    value = np.exp(-0.5 * s)
    return [(-0.5) ** i * value for i in range(order + 1)]


@_slopes.register
def _(kernel: RationalQuadratic, s: Array, order: int) -> list[Array]:
    alpha = float(kernel.alpha)
    base, factor, found = 1.0 + s / (2.0 * alpha), 1.0, []
    for i in range(order + 1):
        found.append(factor * base ** (-alpha - i))
        factor *= -(alpha + i) / (2.0 * alpha)
    return found


@_slopes.register
def _(kernel: Matern, s: Array, order: int) -> list[Array]:
    # M_nu(s)' = -r/2 M_{nu-1}(r s) with r = nu / (nu - 1), as long as nu > 1.
    nu, factor, stretch, found = float(kernel.nu), 1.0, 1.0, []
    for i in range(order + 1):
        found.append(factor * matern.value(stretch * s, nu))
        if i < order and np.isfinite(nu):
            if nu <= 1.0:
                raise NotImplementedError(f"{kernel!r} has no derivative of order {order}.")
            ratio = nu / (nu - 1.0)
            factor *= -0.5 * ratio * stretch
            stretch, nu = stretch * ratio, nu - 1.0
        elif i < order:
            factor *= -0.5
    return found
