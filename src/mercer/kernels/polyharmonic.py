"""Powers of the distance: splines in several dimensions, conditionally positive definite."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import factorial, gamma, pi

import numpy as np
from scipy import special

from mercer._params import check_integer
from mercer.kernels.points import Array, Data, as_points, squared_norms
from mercer.kernels.stationary import Dimensional, Profile


class PowerOfDistance(Profile):
    r"""A multiple of :math:`r^e`, or of :math:`r^e \ln r` if e is an even integer."""

    # A unit of length changes a multiple and the null space only: there is no width to choose.
    length_scale = 1.0
    exponent: float

    @property
    @abstractmethod
    def _weight(self) -> float:
        """The multiple."""

    @property
    def order(self) -> int:
        return int(self.exponent // 2.0) + 1

    def diag(self, X: Data) -> Array:
        X = as_points(X)
        return np.zeros(X.shape[0], dtype=X.dtype)

    def _profile(self, s: Array) -> None:
        k, rest = divmod(float(self.exponent), 2.0)
        if rest == 0.0:
            values, k = 0.5 * special.xlogy(s, s), k - 1.0
        else:
            values = np.sqrt(s) if rest == 1.0 else s ** (0.5 * rest)
        for _ in range(int(k)):
            values *= s
        np.multiply(values, self._weight, out=s)

    def _unit_spectrum(self, omega: Array) -> Array:
        e, d = float(self.exponent), omega.shape[1]
        with np.errstate(divide="ignore"):
            power = squared_norms(omega) ** (-0.5 * (e + d))
        return np.asarray(abs(self._weight) * spectral_constant(e, d) * power)


def spectral_constant(exponent: float, d: int) -> float:
    r"""Return C in the generalized transform :math:`C |\omega|^{-e-d}` of a power of the distance.

    .. math:: C = 2^{e + d/2} \frac{\Gamma((e + d)/2)}{|\Gamma(-e/2)|}, \qquad
              C = 2^{e + d/2 - 1} \, \Gamma((e + d)/2) \, (e/2)!

    for :math:`r^e`, and for :math:`r^e \ln r` with an even e.

    Parameters
    ----------
    exponent : float
    d : int
        The dimension.

    Examples
    --------
    >>> spectral_constant(2.0, 2)
    4.0
    """
    e = float(exponent)
    common: float = 2.0 ** (e + 0.5 * d) * gamma(0.5 * (e + d))
    if e % 2.0 == 0.0:
        return 0.5 * common * factorial(int(e) // 2)
    return common / abs(gamma(-0.5 * e))


@dataclass(eq=False)
class Polyharmonic(PowerOfDistance):
    r"""A power of the distance with the sign that makes it conditionally positive definite.

    .. math:: k(x, z) = (-1)^{\lceil e/2 \rceil} r^e, \qquad
              k(x, z) = (-1)^{e/2 + 1} r^e \ln r \ \text{ for even } e, \qquad r = |x - z|

    The order is :math:`\lfloor e/2 \rfloor + 1`: polynomials of a lower degree stay free. So
    :math:`-r` has order 1, :math:`r^2 \ln r` and :math:`r^3` have order 2. The spectrum exists
    away from zero: it is a multiple of :math:`|\omega|^{-e-d}`, for :math:`r^2 \ln r` the multiple
    :math:`2^{1 + d/2} \Gamma(1 + d/2)`, and infinite at zero, where nothing is penalized.

    Parameters
    ----------
    exponent : float, default=2.0
        Positive. :class:`ThinPlate` chooses it by the penalty and the dimension.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.81) to (3.85);
    H. Wendland, *Scattered Data Approximation*, 2005, theorems 8.15 to 8.17.

    Examples
    --------
    >>> Polyharmonic(2.0)([[0.0]], [[0.0], [2.0], [np.e]]).round(4)
    array([[0.    , 2.7726, 7.3891]])
    >>> [Polyharmonic(e).order for e in (1, 2, 3)]
    [1, 2, 2]
    """

    exponent: float = 2.0

    def __post_init__(self) -> None:
        if not 0.0 < self.exponent < np.inf:
            raise ValueError(f"exponent must be a positive number, got {self.exponent}.")

    @property
    def _weight(self) -> float:
        return (-1.0) ** self.order


@dataclass(eq=False)
class Plate(PowerOfDistance):
    """The thin plate in a known dimension: a power of the distance times any number."""

    exponent: float
    weight: float

    @property
    def _weight(self) -> float:
        return self.weight


@dataclass(eq=False)
class ThinPlate(Dimensional):
    r"""The thin-plate spline, which penalizes all derivatives of one order.

    .. math:: \tfrac12 a'Ka = \tfrac12 \sum_{|n| = m} \frac{m!}{n!}
              \int_{\mathbb{R}^d} (\partial^n f)^2 \, dx, \qquad f = \sum_i a_i k(x_i, \cdot) + q

    for coefficients orthogonal to the polynomials q of degree below m, which stay free. In d
    dimensions, and only for :math:`2m > d`, the kernel is :math:`\theta r^{2m-d}`, with a factor
    :math:`\ln r` if d is even, and :math:`\theta` is such that its generalized spectrum is exactly
    :math:`(2\pi)^{-d/2} |\omega|^{-2m}`. Thus it is :math:`\frac{1}{12} r^3` for cubic splines
    (m = 2, d = 1), :math:`\frac{1}{8\pi} r^2 \ln r` in the plane and
    :math:`-\frac{1}{8\pi} r` in space, and a smoothing parameter means what it means in the
    literature on smoothing splines.

    Parameters
    ----------
    order : int, default=2
        The order m of the derivatives, more than half the number of features.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.85);
    G. Wahba, *Spline Models for Observational Data*, 1990, sec. 2.4;
    P. J. Green and B. W. Silverman, *Nonparametric Regression and Generalized Linear Models*,
    1994, ch. 7.

    Examples
    --------
    >>> kernel = ThinPlate()
    >>> (8 * np.pi * kernel([[0.0, 0.0]], [[0.0, np.e]])).round(4)
    array([[7.3891]])
    >>> kernel.unpenalized(2)
    [(), (0,), (1,)]
    """

    order: int = 2
    radial = True

    def __post_init__(self) -> None:
        check_integer("order", self.order, 1)

    def _in(self, p: int) -> Plate:
        m = int(self.order)
        if 2 * m <= p:
            raise ValueError(
                f"A thin plate of order {m} has no values at points of {p} features, because twice "
                f"the order must exceed their number: take order {p // 2 + 1} or more, or fewer "
                "features."
            )
        e = 2 * m - p
        sign = (-1.0) ** (e // 2 + 1)
        return Plate(float(e), sign * (2.0 * pi) ** (-0.5 * p) / spectral_constant(e, p))
