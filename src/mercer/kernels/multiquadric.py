"""Powers of one plus the squared distance: multiquadrics, their inverses, Cauchy's kernel."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import ceil

import numpy as np

from mercer.kernels.points import Array, Data, as_points, squared_norms
from mercer.kernels.rational_quadratic import power_law_spectrum
from mercer.kernels.stationary import Dimensional, LengthScale, Radial


class PowerLaw(Radial):
    r"""The kernel :math:`\pm (1 + |(x - z)/l|^2)^q`."""

    @property
    @abstractmethod
    def _power(self) -> float:
        """The number q."""

    @property
    def _sign(self) -> float:
        return 1.0

    def _profile(self, s: Array) -> None:
        s += 1.0
        np.multiply(s**self._power, self._sign, out=s)

    def _slope(self, s: Array) -> Array:
        return np.asarray(-2.0 * self._sign * self._power * (1.0 + s) ** (self._power - 1.0))

    def _unit_spectrum(self, omega: Array) -> Array:
        return power_law_spectrum(np.sqrt(squared_norms(omega)), self._power, omega.shape[1])


@dataclass(eq=False)
class Multiquadric(PowerLaw):
    r"""The multiquadric, conditionally positive definite of order 1 for the square root.

    .. math:: k(x, z) = (-1)^{\lceil e \rceil} (1 + |(x - z)/l|^2)^e

    In other words :math:`-\sqrt{l^2 + r^2}` divided by l. The order is :math:`\lceil e \rceil`:
    polynomials of a lower degree stay free. For :math:`l = 1` the spectrum, away from zero, is
    :math:`\frac{2^{1+e}}{|\Gamma(-e)|} |\omega|^{-e-d/2} K_{e+d/2}(|\omega|)`: like that of
    :math:`r^{2e}` at low frequencies, exponentially small at high ones.

    Parameters
    ----------
    length_scale : float or (p,) array, default=1.0
        The distance l at which the function bends, one for all features or one for each.
    exponent : float, default=0.5
        The number e, positive and not an integer (where the function is a polynomial).

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.82);
    H. Wendland, *Scattered Data Approximation*, 2005, theorem 8.15.

    Examples
    --------
    >>> kernel = Multiquadric(3.0)
    >>> 3.0 * kernel([[0.0]], [[0.0], [4.0]])
    array([[-3., -5.]])
    >>> kernel.order
    1
    """

    length_scale: LengthScale = 1.0
    exponent: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.exponent < np.inf or self.exponent % 1.0 == 0.0:
            raise ValueError(
                f"exponent must be positive and not an integer, got {self.exponent}, because "
                "integer powers are polynomials."
            )

    @property
    def order(self) -> int:
        return ceil(self.exponent)

    @property
    def _power(self) -> float:
        return float(self.exponent)

    @property
    def _sign(self) -> float:
        return (-1.0) ** self.order

    def diag(self, X: Data) -> Array:
        X = as_points(X)
        return np.full(X.shape[0], self._sign, dtype=X.dtype)


@dataclass(eq=False)
class InverseMultiquadric(PowerLaw):
    r"""The inverse multiquadric, :math:`k(x, z) = (1 + |(x - z)/l|^2)^{-e}`.

    In other words :math:`(l^2 + r^2)^{-e}` times :math:`l^{2e}`; positive definite in all
    dimensions. For :math:`l = 1` the spectrum is
    :math:`\frac{2^{1-e}}{\Gamma(e)} |\omega|^{e-d/2} K_{e-d/2}(|\omega|)`, exponentially small at
    high frequencies and, for :math:`e \le d/2`, infinite at zero. It is the
    :class:`RationalQuadratic` with another unit of length.

    Parameters
    ----------
    length_scale : float or (p,) array, default=1.0
        The distance l at which the function bends, one for all features or one for each.
    exponent : float, default=0.5
        The number e, positive.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.83);
    H. Wendland, *Scattered Data Approximation*, 2005, theorem 6.13.

    Examples
    --------
    >>> InverseMultiquadric(3.0)([[0.0]], [[0.0], [4.0]])
    array([[1. , 0.6]])
    """

    length_scale: LengthScale = 1.0
    exponent: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.exponent < np.inf:
            raise ValueError(f"exponent must be a positive number, got {self.exponent}.")

    @property
    def _power(self) -> float:
        return -float(self.exponent)


@dataclass(eq=False)
class DampedOscillator(PowerLaw):
    r"""The kernel of the damped harmonic oscillator, :math:`k(x, z) = 1 / (1 + |(x - z)/l|^2)`.

    In other words :math:`1 / (l^2 + r^2)` times :math:`l^2`, in all dimensions the same function.
    With :math:`\nu = d/2 - 1` its spectrum is :math:`l^d t^{-\nu} K_\nu(t)` for
    :math:`t = l |\omega|`, in one dimension :math:`\sqrt{\pi/2} \, l \, e^{-l|\omega|}`. From two
    dimensions on the function is not integrable and its spectrum infinite at zero; wrapped around
    a circle it would be infinite everywhere.

    Parameters
    ----------
    length_scale : float or (p,) array, default=1.0
        The distance l at which the value is a half, one for all features or one for each.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.52) to (3.54), which hold up to
    four dimensions as integrals and beyond as generalized transforms.

    Examples
    --------
    >>> DampedOscillator(2.0)([[0.0]], [[0.0], [2.0], [4.0]])
    array([[1. , 0.5, 0.2]])
    """

    length_scale: LengthScale = 1.0
    _power = -1.0


@dataclass(eq=False)
class Cauchy(Dimensional):
    r"""The kernel whose spectrum is a plain exponential in every dimension.

    .. math:: k(x, z) = (1 + |(x - z)/l|^2)^{-(d+1)/2}, \qquad
              P(\omega) = \frac{\sqrt\pi \, 2^{-d/2}}{\Gamma((d+1)/2)} \, l^d e^{-l |\omega|}

    with the number d of features: Poisson's kernel, in one dimension Cauchy's curve.

    Parameters
    ----------
    length_scale : float or (p,) array, default=1.0
        The width l, one for all features or one for each.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 3.4.1, the remark after eq. (3.51).

    Examples
    --------
    >>> Cauchy()([[0.0, 0.0, 0.0]], [[1.0, 0.0, 0.0]])
    array([[0.25]])
    """

    length_scale: LengthScale = 1.0

    def __post_init__(self) -> None:
        self._in(1)

    @property
    def radial(self) -> bool:
        return self._in(1).radial

    def _in(self, p: int) -> InverseMultiquadric:
        return InverseMultiquadric(self.length_scale, 0.5 * (p + 1))
