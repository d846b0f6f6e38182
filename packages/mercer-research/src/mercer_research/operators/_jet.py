"""Derivatives of a function of one variable by the arithmetic of truncated power series."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._typing import Array


class Jet:
    r"""The Taylor coefficients of a function, at many points at once.

    A jet stands for :math:`\sum_n c_n e^n` up to a fixed order. Sums, products, quotients and
    powers of jets are jets, and so are ``np.exp``, ``np.log``, ``np.sqrt`` and the like: a function
    written with them returns all its derivatives when it is called on :func:`variable`. Beside the
    coefficients runs a majorant: the same recursion with every term taken by its absolute
    value, so that ``eps * majorant`` bounds what rounding and cancellation have done.

    Parameters
    ----------
    c : (order + 1, ...) array
        Taylor coefficients.
    majorant : (order + 1, ...) array
        At least their absolute values.
    """

    __slots__ = ("c", "majorant")

    def __init__(self, c: Array, majorant: Array | None = None) -> None:
        self.c = c
        self.majorant = np.abs(c) if majorant is None else majorant

    def _lift(self, other: Any) -> Jet:
        if isinstance(other, Jet):
            return other
        c = np.zeros_like(self.c)
        c[0] = np.asarray(other, dtype=float)
        return Jet(c)

    def __add__(self, other: Any) -> Jet:
        other = self._lift(other)
        return Jet(self.c + other.c, self.majorant + other.majorant)

    def __neg__(self) -> Jet:
        return Jet(-self.c, self.majorant)

    def __pos__(self) -> Jet:
        return self

    def __sub__(self, other: Any) -> Jet:
        return self + -self._lift(other)

    def __rsub__(self, other: Any) -> Jet:
        return self._lift(other) + -self

    def __mul__(self, other: Any) -> Jet:
        other = self._lift(other)
        return Jet(_cauchy(self.c, other.c), _cauchy(self.majorant, other.majorant))

    __radd__ = __add__
    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Jet:
        return self * self._lift(other) ** -1.0

    def __rtruediv__(self, other: Any) -> Jet:
        return self._lift(other) * self**-1.0

    def __pow__(self, exponent: Any) -> Jet:
        if isinstance(exponent, Jet):
            return exp(log(self) * exponent)
        p = float(exponent)
        if p >= 0.0 and p.is_integer() and p <= len(self.c):
            result = self._lift(1.0)
            for _ in range(int(p)):
                result = result * self
            return result
        return _power(self, p)

    def __rpow__(self, base: Any) -> Jet:
        return exp(self * np.log(base))

    def __abs__(self) -> Jet:
        if (self.c[0] > 0.0).all():
            return self
        if (self.c[0] < 0.0).all():
            return -self
        raise TypeError("the absolute value has no derivatives where its argument changes sign")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        function = FUNCTIONS.get(ufunc)
        if function is None or method != "__call__" or kwargs:
            return NotImplemented
        first = next(x for x in inputs if isinstance(x, Jet))
        return function(*(first._lift(x) for x in inputs))


def variable(at: Array, order: int, step: Array | float | None = None) -> Jet:
    r"""Return the jet of the variable :math:`t + s e` at points t.

    With the step s = t, which is the default, the coefficients of a function h are
    :math:`h^{(n)}(t) \, t^n / n!`: of the sign of the derivatives, and of one size on a logarithmic
    grid. At t = 0 with step 1 they are those of its power series.

    Examples
    --------
    >>> (1.0 / variable(np.array([2.0]), 3)).c[:, 0]
    array([ 0.5, -0.5,  0.5, -0.5])
    >>> np.exp(variable(np.zeros(1), 3, step=1.0)).c[:, 0].round(4)
    array([1.    , 1.    , 0.5   , 0.1667])
    """
    c = np.zeros((order + 1, *np.shape(at)))
    c[0] = at
    c[1] = at if step is None else step
    return Jet(c)


def exp(a: Jet) -> Jet:
    """Return the exponential, from ``g' = a' g``."""
    return _solve(a, np.exp(a.c[0]))


def log(a: Jet) -> Jet:
    """Return the logarithm, from ``a g' = a'``."""
    if (a.c[0] <= 0.0).any():
        raise ValueError("the logarithm needs a positive argument")
    g, m = np.zeros_like(a.c), np.zeros_like(a.c)
    g[0] = np.log(a.c[0])
    m[0] = np.abs(g[0]) + a.majorant[0] / a.c[0]
    for n in range(1, len(g)):
        k = _orders(1, n, g)
        g[n] = (a.c[n] - (k * g[1:n] * a.c[n - 1 : 0 : -1]).sum(axis=0) / n) / a.c[0]
        lower = (k * m[1:n] * a.majorant[n - 1 : 0 : -1]).sum(axis=0) / n
        m[n] = (a.majorant[n] + lower) / a.c[0]
    return Jet(g, m)


def _orders(start: int, stop: int, like: Array) -> Array:
    return np.arange(start, stop, dtype=float).reshape(-1, *[1] * (like.ndim - 1))


def _cauchy(a: Array, b: Array) -> Array:
    return np.stack([(a[: n + 1] * b[n::-1]).sum(axis=0) for n in range(len(a))])


def _solve(a: Jet, start: Array) -> Jet:
    """Solve ``g' = a' g`` from its value at zero."""
    g, m = np.zeros_like(a.c), np.zeros_like(a.c)
    g[0] = start
    m[0] = np.abs(start) * (1.0 + a.majorant[0])
    for n in range(1, len(g)):
        k = _orders(1, n + 1, g)
        g[n] = (k * a.c[1 : n + 1] * g[n - 1 :: -1]).sum(axis=0) / n
        m[n] = (k * a.majorant[1 : n + 1] * m[n - 1 :: -1]).sum(axis=0) / n
    return Jet(g, m)


def _power(a: Jet, p: float) -> Jet:
    """Return ``a^p`` from ``a g' = p a' g``; the base must not be zero."""
    a0 = a.c[0]
    if (a0 == 0.0).any() or (not p.is_integer() and (a0 < 0.0).any()):
        raise ValueError("a power needs a base that is positive, or not zero and an integer power")
    g, m = np.zeros_like(a.c), np.zeros_like(a.c)
    g[0] = a0**p
    m[0] = np.abs(g[0]) * (1.0 + abs(p) * a.majorant[0] / np.abs(a0))
    for n in range(1, len(g)):
        weight = (p + 1.0) * _orders(1, n + 1, g) - n
        g[n] = (weight * a.c[1 : n + 1] * g[n - 1 :: -1]).sum(axis=0) / (n * a0)
        lower = (np.abs(weight) * a.majorant[1 : n + 1] * m[n - 1 :: -1]).sum(axis=0)
        m[n] = lower / (n * np.abs(a0))
    return Jet(g, m)


def _tanh(a: Jet) -> Jet:
    """Return the hyperbolic tangent, from ``g' = a' (1 - g^2)``."""
    g, m = np.zeros_like(a.c), np.zeros_like(a.c)
    g[0] = np.tanh(a.c[0])
    m[0] = np.abs(g[0]) + a.majorant[0]
    for n in range(1, len(g)):
        k = _orders(1, n + 1, g)
        rest, bound = -_cauchy(g[:n], g[:n]), _cauchy(m[:n], m[:n])
        rest[0] += 1.0
        bound[0] += 1.0
        g[n] = (k * a.c[1 : n + 1] * rest[::-1]).sum(axis=0) / n
        m[n] = (k * a.majorant[1 : n + 1] * bound[::-1]).sum(axis=0) / n
    return Jet(g, m)


def _cosine(a: Jet, shift: float) -> Jet:
    """Return ``cos(a - shift)`` from the pair of equations of cosine and sine."""
    c, s = np.zeros_like(a.c), np.zeros_like(a.c)
    c[0], s[0] = np.cos(a.c[0] - shift), np.sin(a.c[0] - shift)
    m = np.zeros_like(a.c)
    m[0] = 1.0 + a.majorant[0]
    for n in range(1, len(c)):
        k = _orders(1, n + 1, c) * a.c[1 : n + 1]
        c[n] = -(k * s[n - 1 :: -1]).sum(axis=0) / n
        s[n] = (k * c[n - 1 :: -1]).sum(axis=0) / n
        m[n] = (np.abs(k) * m[n - 1 :: -1]).sum(axis=0) / n
    return Jet(c, m)


FUNCTIONS: dict[np.ufunc, Callable[..., Jet]] = {
    np.add: lambda a, b: a + b,
    np.subtract: lambda a, b: a - b,
    np.multiply: lambda a, b: a * b,
    np.divide: lambda a, b: a / b,
    np.negative: lambda a: -a,
    np.positive: lambda a: a,
    np.absolute: abs,
    np.square: lambda a: a * a,
    np.reciprocal: lambda a: a**-1.0,
    np.power: lambda a, b: a ** (b.c[0].flat[0] if _constant(b) else b),
    np.sqrt: lambda a: a**0.5,
    np.cbrt: lambda a: a ** (1.0 / 3.0),
    np.exp: exp,
    np.exp2: lambda a: exp(a * np.log(2.0)),
    np.expm1: lambda a: exp(a) - 1.0,
    np.log: log,
    np.log2: lambda a: log(a) / np.log(2.0),
    np.log10: lambda a: log(a) / np.log(10.0),
    np.log1p: lambda a: log(a + 1.0),
    np.sin: lambda a: _cosine(a, 0.5 * np.pi),
    np.cos: lambda a: _cosine(a, 0.0),
    np.sinh: lambda a: 0.5 * (exp(a) - exp(-a)),
    np.cosh: lambda a: 0.5 * (exp(a) + exp(-a)),
    np.tanh: _tanh,
}
"""The functions of NumPy that take a jet."""


def _constant(a: Jet) -> bool:
    return not a.c[1:].any() and bool((a.c[0] == a.c[0].flat[0]).all())
