"""Kernels and expansions as graphs: one emitter for every kind of kernel.

Points are centred on the mean of the support vectors before anything is squared: far from zero,
float32 would lose all digits of a distance. What is a polynomial of the features (intercepts,
trends, linear kernels) is expanded around the same point, in float64, before it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mercer._typing import Array
from mercer.io.errors import CannotConvert
from mercer.io.symbols import Value
from mercer.kernels.algebra import ActiveDims, Power, Product, Scaled, Sum, terms
from mercer.kernels.anova import Additive, Tensor
from mercer.kernels.base import Kernel
from mercer.kernels.compact import Wendland
from mercer.kernels.dot_product import Linear, Polynomial, Sigmoid
from mercer.kernels.exponential import Laplacian, PoweredExponential
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.matern import Matern
from mercer.kernels.multiquadric import PowerLaw
from mercer.kernels.polyharmonic import PowerOfDistance
from mercer.kernels.rational_quadratic import RationalQuadratic
from mercer.kernels.stationary import Dimensional, Profile
from mercer.kernels.stretched import Stretched
from mercer.regularizers import null_space
from mercer.regularizers.null_space import NullSpace

__all__ = ["Points", "around", "expansion", "free_part", "gram", "is_wide", "origin_of"]


class Points(NamedTuple):
    """New points and support vectors, both less an origin, with units of the features.

    Units go into the constants of a product, so that points themselves are not scaled.
    """

    u: Value
    v: Array
    origin: Array
    units: Array

    def on(self, dims: Any) -> Points:
        """Return some features."""
        index = np.arange(self.v.shape[1])[dims]
        return Points(
            self.u.columns(index), self.v[:, index], self.origin[index], self.units[index]
        )

    def over(self, scale: ArrayLike) -> Points:
        """Return the points in other units."""
        return self._replace(units=self.units * np.asarray(scale, dtype=float))

    def squares(self, exact: bool) -> Value:
        """Return squared distances; exact near zero, feature by feature, where that matters."""
        if exact:
            return reduce(Value.__add__, [d * d for d in self.differences()])
        return self.multiple(1.0).at_least(0.0)

    def multiple(self, factor: float) -> Value:
        """Return a multiple of squared distances, by one product; rounding may change its sign.

        A pass over all pairs costs as much as their product: norms are columns of the points.
        """
        u, v, w = self.u, self.v, self.units**-2.0
        norms = (u * u) @ w[:, None]
        points = u.beside(norms, norms * np.zeros((1, 1)) + 1.0)
        ends = np.column_stack([-2.0 * v * w, np.ones(len(v)), v**2 @ w])
        return points @ (factor * ends.T)

    def differences(self) -> list[Value]:
        """Return what every feature differs by, each (n, m)."""
        u, v = self.u, self.v
        return [
            (u.columns([j]) - v[None, :, j]) * (1.0 / float(self.units[j]))
            for j in range(v.shape[1])
        ]

    def dot(self, factor: float = 1.0) -> Value:
        """Return products of the points as they were before they were centred."""
        z = (self.v + self.origin) * (factor * self.units**-2.0)
        return (self.u + self.origin[None]) @ z.T


def origin_of(Z: Array) -> Array:
    """Return the mean of points, to the digits of float32: subtracting it is then exact there.

    Parameters
    ----------
    Z : (m, p) array
        Points.
    """
    return np.asarray(np.mean(Z, axis=0).astype(np.float32), dtype=np.float64)


def around(x: Value, Z: Array) -> Points:
    """Return new points and support vectors, both less the mean of the latter.

    Parameters
    ----------
    x : Value
        New points, (n, p).
    Z : (m, p) array
        Support vectors.
    """
    origin = origin_of(Z)
    return Points(x - origin[None], Z - origin, origin, np.ones(Z.shape[1]))


# Profiles: kernel values of squared distances in units of the length scale ----------------------


def _gaussian(kernel: Matern, s: Value) -> Value:
    return (s * -0.5).map("Exp")


def _matern(kernel: Matern, s: Value) -> Value:
    nu = float(kernel.nu)
    if np.isinf(nu):
        return _gaussian(kernel, s)
    if nu not in (0.5, 1.5, 2.5):
        raise CannotConvert(f"Matern(nu={nu:g}) needs Bessel functions; nu may be 0.5, 1.5 or 2.5.")
    a = (s * (2.0 * nu)).map("Sqrt")
    decay = (-a).map("Exp")
    if nu == 0.5:
        return decay
    return ((a + 1.0) if nu == 1.5 else (a * a * (1.0 / 3.0) + a + 1.0)) * decay


def _rational(kernel: RationalQuadratic, s: Value) -> Value:
    alpha = float(kernel.alpha)
    return ((s * (0.5 / alpha) + 1.0).map("Log") * -alpha).map("Exp")


def _powered(kernel: PoweredExponential, s: Value) -> Value:
    exponent = float(kernel.exponent)
    root = s.map("Sqrt") if exponent == 1.0 else s.power(0.5 * exponent)
    return (-root).map("Exp")


def _power_law(kernel: PowerLaw, s: Value) -> Value:
    return (s + 1.0).power(float(kernel._power)) * float(kernel._sign)


def _power_of_distance(kernel: PowerOfDistance, s: Value) -> Value:
    k, rest = divmod(float(kernel.exponent), 2.0)
    if rest == 0.0:
        # s log s is zero at zero, for which the least positive number stands in.
        values, k = s * s.at_least(float(np.finfo(np.float32).tiny)).map("Log") * 0.5, k - 1.0
    else:
        values = s.map("Sqrt") if rest == 1.0 else s.power(0.5 * rest)
    for _ in range(int(k)):
        values = values * s
    return values * float(kernel._weight)


def _wendland(kernel: Wendland, s: Value) -> Value:
    power, coef = kernel.factors
    r = s.map("Sqrt").at_most(1.0)
    factor: Any = float(coef[-1] / coef[0])
    for c in coef[-2::-1]:
        factor = r * factor + float(c / coef[0])
    value: Value = (1.0 - r).power(float(power)) * factor
    return value


PROFILES: dict[type[Any], Callable[[Any, Value], Value]] = {
    Matern: _matern,
    RationalQuadratic: _rational,
    PoweredExponential: _powered,
    PowerLaw: _power_law,
    PowerOfDistance: _power_of_distance,
    Wendland: _wendland,
}

# Kernels of two points ---------------------------------------------------------------------------


def _profile(kernel: Profile, points: Points) -> Value:
    if isinstance(kernel, Gaussian):
        return points.over(kernel.length_scale).multiple(-0.5).map("Exp")
    for kind, emit in PROFILES.items():
        if isinstance(kernel, kind):
            s = points.over(kernel.length_scale).squares(exact=not kernel._smooth)
            return emit(kernel, s)
    raise _unknown(kernel)


def _laplacian(kernel: Laplacian, points: Points) -> Value:
    r"""Write :math:`\exp(-\sum_j |u_j - v_j|)` by sums of maxima, and categories by one product.

    .. math:: -|u - v| = u + v - 2 \max(u, v), \qquad -1[u \ne v] = \sum_c 1[u = c] 1[v = c] - 1

    Sums over one of the points are columns of the product: beside the maxima it is all there is.
    """
    rates = 1.0 / points.over(kernel.length_scale).units
    named = [int(j) for j in kernel.categories]
    numbers = [j for j in range(points.v.shape[1]) if j not in named]
    v = points.v[:, numbers] * rates[numbers]
    columns = [points.u.columns([0]) * np.zeros((1, 1)) + 1.0]
    ends = [v.sum(axis=1) - rates[named].sum()]
    for j in named:
        labels = np.unique(points.v[:, j])
        columns.append(points.u.columns([j]).equals(labels[None]))
        ends += [*(rates[j] * (points.v[:, [j]] == labels)).T]
    if numbers:
        u = points.u.columns(numbers) * rates[None, numbers]
        columns.append(u.total(len(numbers)))
        ends.append(np.ones(len(v)))
    value: Value = columns[0].beside(*columns[1:]) @ np.array(ends)
    return (value - (u * 2.0).larger(2.0 * v) if numbers else value).map("Exp")


def _each(kernel: Additive | Tensor, points: Points) -> list[Value]:
    return [gram(kernel.kernel, points.on([j])) for j in range(points.v.shape[1])]


EMITTERS: dict[type[Any], Callable[[Any, Points], Value]] = {
    Sum: lambda k, p: gram(k.left, p) + gram(k.right, p),
    Product: lambda k, p: gram(k.left, p) * gram(k.right, p),
    Scaled: lambda k, p: gram(k.kernel, p) * float(k.factor),
    Power: lambda k, p: gram(k.kernel, p).power(float(k.exponent)),
    ActiveDims: lambda k, p: gram(k.kernel, p.on(k.dims)),
    Stretched: lambda k, p: gram(k.kernel, p.over(k.scale)),
    Additive: lambda k, p: reduce(Value.__add__, _each(k, p)),
    Tensor: lambda k, p: reduce(Value.__mul__, _each(k, p)),
    Linear: lambda k, p: p.dot(),
    Polynomial: lambda k, p: (p.dot(float(k.gamma)) + float(k.coef0)).power(float(k.degree)),
    Sigmoid: lambda k, p: (p.dot(float(k.gamma)) + float(k.coef0)).map("Tanh"),
    Laplacian: _laplacian,
    Dimensional: lambda k, p: gram(k._in(p.v.shape[1]), p),
    Profile: _profile,
}
"""How a kernel of each kind is written; the kinds that it is made of are written by their own."""


def gram(kernel: Kernel, points: Points) -> Value:
    """Write the kernel values of new points and support vectors, (n, m)."""
    for kind, emit in EMITTERS.items():
        if isinstance(kernel, kind):
            return emit(kernel, points)
    raise _unknown(kernel)


def _unknown(part: object) -> CannotConvert:
    return CannotConvert(f"{type(part).__name__} has no form in ONNX's plain operators.")


def is_wide(kernel: Kernel | None) -> bool:
    """Return whether a kernel grows with its points, and needs float64 far from zero.

    Parameters
    ----------
    kernel : Kernel or None
        The kernel; linear terms do not count, which are written as planes.
    """
    if kernel is None or isinstance(kernel, Linear):
        return False
    parts = [getattr(kernel, name, None) for name in ("left", "right", "kernel")]
    grows = isinstance(kernel, Polynomial | Sigmoid)
    if isinstance(kernel, Product | Power | Tensor | Additive):
        grows |= any(isinstance(part, Linear) for part in parts)
    return grows or any(is_wide(part) for part in parts if isinstance(part, Kernel))


# Polynomials -------------------------------------------------------------------------------------

Terms = dict[tuple[int, ...], Array]


def _add(terms: Terms, monomial: Sequence[int], coef: Array, origin: Array) -> None:
    """Add a monomial of x = u + origin as monomials of u."""
    for k in range(len(monomial) + 1):
        for kept in combinations(range(len(monomial)), k):
            rest = [monomial[i] for i in range(len(monomial)) if i not in kept]
            key = tuple(sorted(monomial[i] for i in kept))
            terms[key] = terms.get(key, 0.0) + coef * np.prod(origin[rest])


def _write(terms: Terms, u: Value, width: int) -> Value:
    """Write a polynomial of centred points, (n, width): planes at once, other terms one by one."""
    p = max((j for key in terms for j in key), default=-1) + 1
    linear = np.zeros((p, width))
    for key, coef in terms.items():
        if len(key) == 1:
            linear[key[0]] = coef
    constant = np.broadcast_to(terms.get((), np.zeros(width)), width)[None]
    used = np.flatnonzero(np.any(linear != 0, axis=1))
    # A column of zeros, so that there is a value for every point.
    f = u.columns([0]) * np.zeros((1, width)) + constant
    if len(used):
        f = u.columns(used.tolist()) @ linear[used] + constant
    for key, coef in terms.items():
        if len(key) > 1:
            f = f + reduce(Value.__mul__, [u.columns([j]) for j in key]) * coef[None]
    return f


def _collect(
    space: NullSpace, p: int, b: Array, origin: Array, terms: Terms
) -> list[Callable[..., Value]]:
    """Add unpenalized functions with coefficients (q, D) to a polynomial; return the others."""
    if isinstance(space, null_space.Sum):
        q = space.left.size(p)
        left = _collect(space.left, p, b[:q], origin, terms)
        return left + _collect(space.right, p, b[q:], origin, terms)
    if isinstance(space, null_space.Empty):
        return []
    if isinstance(space, null_space.Functions) and len(space.functions) == 1:
        picked: Any = space.functions[0]
        if hasattr(picked, "space") and hasattr(picked, "columns"):  # some of its columns
            whole = np.zeros((picked.space.size(p), b.shape[1]))
            whole[picked.columns] = b
            return _collect(picked.space, p, whole, origin, terms)
    if isinstance(space, null_space.Breaks):
        return [lambda u: _breaks(space, u, p, b, origin)]
    if isinstance(space, null_space.Constant):
        monomials: Any = [()]
    elif isinstance(space, null_space.Polynomial):
        monomials = list(space._monomials(p))
    elif isinstance(space, null_space.Monomials):
        monomials = space.monomials
    elif isinstance(space, null_space.Columns):
        monomials = [(int(j) % p,) for j in np.asarray(space.columns)]
    else:
        raise CannotConvert(f"unpenalized {type(space).__name__} cannot be written as operators.")
    for monomial, coef in zip(monomials, b, strict=True):
        _add(terms, [int(j) for j in monomial], coef, origin)
    return []


def _breaks(space: null_space.Breaks, u: Value, p: int, b: Array, origin: Array) -> Value:
    j, order = int(space.column) % p, int(space.order)
    d = u.columns([j]) - (np.asarray(space.knots, dtype=float) - origin[j])[None]
    values = d.positive() if order == 0 else d.at_least(0.0).power(float(order))
    value: Value = values @ (b / float(np.prod(np.arange(1, order + 1))))
    return value


# Expansions --------------------------------------------------------------------------------------


def _plane_of(kernel: Kernel, Z: Array, A: Array) -> Array | None:
    """Return the weights (p, D) of the features where a kernel's expansion is a plane."""
    if isinstance(kernel, Linear):
        return np.asarray(Z.T @ A)
    if isinstance(kernel, Scaled):
        inner = _plane_of(kernel.kernel, Z, A)
        return None if inner is None else float(kernel.factor) * inner
    if isinstance(kernel, Stretched):
        scale = np.broadcast_to(np.asarray(kernel.scale, dtype=float), Z.shape[1:])
        inner = _plane_of(kernel.kernel, Z / scale, A)
        return None if inner is None else inner / scale[:, None]
    if isinstance(kernel, ActiveDims):
        dims: Any = kernel.dims
        index = np.arange(Z.shape[1])[dims]
        inner = _plane_of(kernel.kernel, Z[:, index], A)
        if inner is None:
            return None
        weights = np.zeros((Z.shape[1], A.shape[1]))
        np.add.at(weights, index, inner)
        return weights
    return None


def expansion(
    x: Value, kernel: Kernel | None, Z: Array, A: Array, space: NullSpace, b: Array
) -> Value:
    r"""Write :math:`f_d = \sum_i A_{id} k(z_i, x) + \sum_j b_{dj} p_j(x)`, (n, D).

    Parameters
    ----------
    x : Value
        New points, (n, p).
    kernel : Kernel or None
        The kernel; None for unpenalized functions only.
    Z : (m, p) array
        Support vectors.
    A : (m, D) array
        Their coefficients.
    space : NullSpace
        The unpenalized functions.
    b : (D, q) array
        Their coefficients.
    """
    p, width = Z.shape[1], len(b)
    origin = origin_of(Z) if len(Z) else np.zeros(p)
    u, v = x - origin[None], Z - origin
    found: Terms = {}
    parts = [write(u) for write in _collect(space, p, b.T, origin, found)]
    for term in [] if kernel is None or not len(Z) else terms(kernel):
        weights = _plane_of(term, Z, A)
        if weights is None:
            parts.append(gram(term, Points(u, v, origin, np.ones(p))).expanded(A))
            continue
        for j, coef in enumerate(weights):
            _add(found, (j,), coef, origin)
    f = _write(found, u, width)
    return reduce(Value.__add__, parts, f)


def free_part(x: Value, space: NullSpace, b: Array, p: int, origin: Array) -> Value:
    """Write unpenalized functions alone, (n, D), around an origin.

    Parameters
    ----------
    x : Value
        New points.
    space : NullSpace
        The functions.
    b : (D, q) array
        Their coefficients.
    p : int
        Number of features.
    origin : (p,) array
        Where polynomials are expanded.
    """
    u, found = x - origin[None], Terms()
    parts = [write(u) for write in _collect(space, p, b.T, origin, found)]
    return reduce(Value.__add__, parts, _write(found, u, len(b)))
