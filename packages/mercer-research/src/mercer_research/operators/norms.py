"""The squared norm of a function in the reproducing kernel Hilbert space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from mercer.inspect.bands import frequency_scale
from mercer.inspect.printing import PrintedReport
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array, Data
from mercer_research.operators._fourier import cosine_integrals

MAX_LAGS = 400
"""Integrals that a check of self-consistency may take, a few milliseconds each."""


@dataclass(frozen=True, repr=False)
class Penalty(PrintedReport):
    """The squared norm of a function, from :func:`penalty`."""

    value: float
    """Infinite if the function is not in the space."""

    error: float
    """An estimate of its absolute error."""

    method: str

    def __float__(self) -> float:
        return self.value

    def _title(self) -> str:
        if np.isinf(self.value):
            return "infinite: the function is not in the space"
        return f"{self.value:.6g} with an error of about {self.error:.1e}"

    def _lines(self) -> list[tuple[str, Any]]:
        return [("by", self.method)]


def inner_product(kernel: Kernel, a: Array, X: Data, b: Array, Z: Data) -> float:
    r"""Return the inner product of two expansions in the space of a kernel.

    .. math:: \Bigl\langle \sum_i a_i k(x_i, \cdot), \sum_j b_j k(z_j, \cdot) \Bigr\rangle
              = \sum_{ij} a_i b_j k(x_i, z_j)

    With one point z of weight 1 it is the value of the first function at z: the kernel reproduces.

    Parameters
    ----------
    kernel : Kernel
    a, b : (n,) and (m,) arrays
        Coefficients; orthogonal to what a conditionally positive definite kernel leaves free.
    X, Z : n and m points

    Returns
    -------
    float

    References
    ----------
    B. Schoelkopf and A. J. Smola in *Advances in Large Margin Classifiers*, MIT Press 2000,
    eq. (1.69) to (1.71).

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> inner_product(Linear(), [1.0, 1.0], [[1.0], [2.0]], [1.0], [[5.0]])
    15.0
    """
    return float(np.asarray(a, dtype=float) @ kernel(X, Z) @ np.asarray(b, dtype=float))


def penalty(
    kernel: Kernel,
    f: Any,
    X: Data | None = None,
    *,
    interval: tuple[float, float] | None = None,
    rtol: float = 1e-6,
) -> Penalty:
    r"""Return the penalty of a kernel on a function, its squared norm.

    .. math:: \|f\|^2 = a'Ka \;\text{ for }\; f = \sum_i a_i k(x_i, \cdot), \qquad
              \|f\|^2 = (2\pi)^{-1/2} \int \frac{|\hat f(\omega)|^2}{P(\omega)} \, d\omega
              \;\text{ for any other}

    The integral is computed from samples of f, whose number is doubled until two answers agree. It
    is infinite if the integrand does not fall fast enough before rounding hides it: then f is too
    rough for the space. It is also infinite if f holds a frequency at which the spectrum is zero,
    as nearly all functions do for a kernel with compact support.

    Parameters
    ----------
    kernel : Kernel
        For a function that is not an expansion: stationary with a spectrum, of one feature, or
        periodic with coefficients.
    f : (n,) array, fitted machine or callable
        Coefficients of an expansion; a machine of the same kernel; or a function of an array of
        numbers.
    X : (n, p) points
        Of the expansion.
    interval : (float, float)
        For a callable, unless the kernel is periodic: where it differs from zero.
    rtol : float, default=1e-6
        When two answers agree.

    Returns
    -------
    Penalty
        Converts to a float.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.23); B. Schoelkopf and A. J. Smola
    in *Advances in Large Margin Classifiers*, MIT Press 2000, eq. (1.80) and (1.81).

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Matern
    >>> bump = lambda x: np.exp(-0.5 * x**2)
    >>> round(float(penalty(Gaussian(), bump, interval=(-12, 12))), 6)  # it is k(0, .) itself
    1.0
    >>> penalty(Gaussian(2.0), bump, interval=(-12, 12))
    infinite: the function is not in the space
      by  Fourier integral
    """
    if hasattr(f, "dual_coef_"):
        if getattr(f, "kernel_", None) != kernel or f.dual_coef_.shape[0] != 1:
            raise ValueError(
                "A machine is an expansion in its own kernel: pass machine.kernel_, and a machine "
                "with one decision function."
            )
        coef = f.dual_coef_
        f, X = np.ravel(coef.toarray() if hasattr(coef, "toarray") else coef), f.support_vectors_
    if not callable(f):
        if X is None:
            raise ValueError("Coefficients of an expansion need the points X they belong to.")
        value = inner_product(kernel, f, X, f, X)
        scale = float(np.abs(f) @ np.abs(kernel(X)) @ np.abs(f))
        return Penalty(value, len(f) * np.finfo(float).eps * scale, "expansion")
    if kernel.period is not None:
        return _converge(lambda n: _periodic(kernel, f, n), rtol, "Fourier series")
    if interval is None or not interval[0] < interval[1]:
        raise ValueError("A function needs an interval (lower, upper) outside of which it is zero.")
    lower, upper = map(float, interval)
    grid = np.linspace(lower, upper, 2049)
    values = np.abs(f(grid))
    if max(values[0], values[-1]) > 1e-6 * values.max():
        raise ValueError(
            f"The function is not zero at the ends of {interval}: choose a wider interval, or "
            "subtract the functions that the kernel leaves unpenalized."
        )
    return _converge(lambda n: _line(kernel, f, lower, upper, n), rtol, "Fourier integral")


def _converge(compute: Callable[[int], tuple[float, float]], rtol: float, method: str) -> Penalty:
    """Double the number of samples until two answers agree."""
    last, value, error = np.nan, np.nan, np.inf
    for n in 2 ** np.arange(10, 20):
        last = value
        value, hidden = compute(int(n))
        error = abs(value - last) + hidden
        if np.isinf(value) and np.isinf(last):
            return Penalty(np.inf, 0.0, method)
        if abs(value - last) <= rtol * abs(value):
            break
    return Penalty(float(value), float(error), method)


def _line(kernel: Kernel, f: Any, lower: float, upper: float, n: int) -> tuple[float, float]:
    # Padded to four times the length, so that the sum over frequencies is as good as the integral.
    h = (upper - lower) / n
    samples = np.asarray(f(lower + h * np.arange(n)), dtype=float)
    transform = np.abs(np.fft.rfft(samples, 4 * n)) * h / np.sqrt(2.0 * np.pi)
    step = 2.0 * np.pi / (4.0 * n * h)
    omega = step * np.arange(len(transform))
    floor = 4.0 * np.finfo(float).eps * float(np.abs(samples).sum()) * h
    power = kernel.spectrum(omega)
    # Both signs of every frequency but zero; where the spectrum has a pole nothing is penalized.
    weight = np.where(omega > 0.0, 2.0, 1.0) * step / np.sqrt(2.0 * np.pi)
    return _sum(omega, transform, power, weight, floor)


def _periodic(kernel: Kernel, f: Any, n: int) -> tuple[float, float]:
    period = float(kernel.period or 1.0)
    samples = np.asarray(f(period * np.arange(n) / n), dtype=float)
    transform = np.abs(np.fft.rfft(samples)) / n
    floor = 4.0 * np.finfo(float).eps * float(np.abs(samples).mean())
    index = np.arange(len(transform))
    weight = np.where(index > 0, 2.0, 1.0)
    return _sum(index.astype(float), transform, kernel.coefficients(index), weight, floor)


def _sum(
    omega: Array, transform: Array, power: Array, weight: Array, floor: float
) -> tuple[float, float]:
    """Sum |f|^2 / P up to a quarter of the sampling rate or rounding, and estimate what is left.

    Returns the sum, and how much of it is the estimate if rounding hides what is left: more
    samples would not show it.
    """
    known = np.flatnonzero(transform > 16.0 * floor)
    known = known[known <= len(omega) // 4]
    if not len(known):
        return 0.0, 0.0
    last = int(known[-1])
    size, power, weight = transform[: last + 1], power[: last + 1], weight[: last + 1]
    if (power[size > 16.0 * floor] <= 0.0).any():
        return np.inf, 0.0
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        integrand = np.where(size > 16.0 * floor, size**2 / power, 0.0)
    total = float(weight @ integrand)
    if last < 64 or not np.isfinite(total):
        return total, 0.0
    # The mean over half octaves does not mind ripples; a power law continues the last of them.
    edges = np.round(last * 2.0 ** np.array([-2.0, -1.5, -1.0, -0.5, 0.0])).astype(int)
    bands = [integrand[a:b].mean() for a, b in pairwise(edges)]
    if min(bands) <= 0.0:
        return total, 0.0
    slope = float(np.polyfit(np.arange(4) * 0.5 * np.log(2.0), np.log(bands), 1)[0])
    if slope > -1.1:
        return np.inf, 0.0
    level = float(bands[-1]) * 2.0 ** (0.25 * slope)  # from the middle of the band to its end
    tail = float(level * omega[last] / (-slope - 1.0) * weight[-1] / (omega[1] - omega[0]))
    return total + tail, tail if last < len(omega) // 4 - 1 else 0.0


@dataclass(frozen=True, eq=False, repr=False)
class Consistency(PrintedReport):
    """Whether kernel and operator belong together, from :func:`self_consistency`."""

    error: float
    """The largest difference of D and K over the largest entry of K."""

    consistent: bool | None
    """Whether it is within the tolerance; None if the check does not apply."""

    D: Array
    r"""Inner products :math:`\langle P k(x_i, \cdot), P k(x_j, \cdot) \rangle`."""

    K: Array
    """Kernel values."""

    reason: str = ""
    """Why the check does not apply; empty if it does."""

    def __bool__(self) -> bool:
        return bool(self.consistent)

    def _title(self) -> str:
        if self.consistent is None:
            return f"not applicable: {self.reason}"
        return ("D = K" if self.consistent else "D differs from K") + f" by {self.error:.1e}"


def self_consistency(
    kernel: Kernel,
    X: Data,
    operator: Sequence[float] | Callable[[Array], Array] | None = None,
    *,
    features: Callable[[Data], Array] | Array | None = None,
    tol: float = 1e-8,
) -> Consistency:
    r"""Check that a kernel is the Green's function of a penalty.

    .. math:: D_{ij} = \langle P k(x_i, \cdot), P k(x_j, \cdot) \rangle = k(x_i, x_j)

    Only then does a machine with this kernel minimize that penalty. The penalty of a conditionally
    positive definite kernel leaves polynomials free and is not an inner product of the functions
    :math:`k(x, \cdot)`: for these the check does not apply, and the answer says so.

    Parameters
    ----------
    kernel : Kernel
        Of one feature, with a spectrum, unless features are given.
    X : (n, p) points
        A few.
    operator : sequence of float or callable, optional
        The penalty: numbers :math:`c_0, c_1, \dots` for :math:`\sum_a c_a \int |f^{(a)}|^2`, or
        the function p(ω) of :math:`\int |\hat f(\omega)|^2 p(\omega) d\omega` with the unitary
        transform. Without it the kernel's own spectrum is checked against its values.
    features : callable or (n, m) array, optional
        Instead of an operator: :math:`P k(x, \cdot)` as a vector, for every point.
    tol : float, default=1e-8
        What counts as equal.

    Returns
    -------
    Consistency
        True if D = K; False, with ``consistent=None`` and a reason, if the check does not apply.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.14) to (3.20), proposition 3.2.

    Examples
    --------
    >>> from mercer.kernels import Matern
    >>> X = np.array([[0.0], [0.5], [2.0]])
    >>> bool(self_consistency(0.5 * Matern(nu=0.5), X, [1.0, 1.0]))  # |f|^2 + |f'|^2
    True
    >>> bool(self_consistency(Matern(nu=0.5), X, [1.0, 1.0]))  # the factor is missing
    False
    """
    K = np.asarray(kernel(X), dtype=float)
    if features is None and kernel.order > 0:
        reason = (
            f"the kernel is conditionally positive definite of order {kernel.order}, and functions "
            f"k(x, .) have no finite penalty: polynomials of degree below {kernel.order} are free"
        )
        return Consistency(np.nan, None, np.full_like(K, np.nan), K, reason)
    if features is not None:
        F = np.asarray(features(X) if callable(features) else features, dtype=float)
        D = F @ F.T
    else:
        D = _by_quadrature(kernel, np.asarray(X, dtype=float), _symbol(operator), 0.01 * tol)
    error = float(np.abs(D - K).max() / np.abs(K).max())
    return Consistency(error, error <= tol, D, K)


Symbol = Callable[[Array], Array]


def _symbol(operator: Sequence[float] | Symbol | None) -> Symbol | None:
    if operator is None or callable(operator):
        return operator
    coefficients = np.zeros(2 * len(operator) - 1)
    coefficients[::2] = operator
    return lambda omega: np.polynomial.polynomial.polyval(omega, coefficients)


def _by_quadrature(kernel: Kernel, X: Array, symbol: Symbol | None, tol: float) -> Array:
    """Return D(t) = 2 int_0^inf cos(wt) F(w)^2 p(w) dw at the differences of the points."""
    if X.ndim != 2 or X.shape[1] != 1:
        raise ValueError("Operators are checked for points of one feature, shape (n, 1).")
    lags, index = np.unique(np.abs(X - X.T).round(14), return_inverse=True)
    if len(lags) > MAX_LAGS:
        raise ValueError(f"{len(lags)} different distances; {MAX_LAGS} are enough for a check.")

    def integrand(omega: Array) -> Array:
        F = np.asarray(kernel.spectrum(omega), dtype=float)
        if symbol is None:
            return np.asarray(F * (2.0 * np.pi) ** -0.5)
        # A penalty that overflows meets a spectrum that is long zero.
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(np.where(np.abs(F) > 1e-100, F * (F * symbol(omega)), 0.0))

    values, _ = cosine_integrals(integrand, lags, frequency_scale(kernel, 1), tol)
    return np.asarray(2.0 * values[index].reshape(len(X), len(X)))
