"""Kernels on the circle: periodic functions of the difference, with their Fourier coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from mercer._params import check_integer
from mercer.kernels.featurewise import (
    Factor,
    Featurewise,
    OneFeature,
    check_length_scale,
    check_scale_fits,
    scale_of_feature,
)
from mercer.kernels.points import Array
from mercer.kernels.stationary import LengthScale


class Circular(Featurewise):
    """A product over the features of periodic functions of the difference."""

    period: float
    stationary = True
    domain = "circle"

    def _check_period(self) -> None:
        if not 0.0 < self.period < np.inf:
            raise ValueError(f"period must be a positive number, got {self.period}.")

    def _angle(self, x: Array, z: Array) -> Array:
        """Return the difference as an angle between -pi and pi."""
        turns = (x - z) / float(self.period)
        turns -= np.rint(turns)
        return np.asarray(2.0 * np.pi * turns)

    def spectrum(self, omega: Array, dim: int = 1) -> Array:
        raise NotImplementedError(
            f"{self!r} is periodic: its spectrum is discrete, given by coefficients(n) at the "
            "frequencies 2 pi n / period."
        )


def cosine_series(angle: Array, weights: Array) -> Array:
    r"""Return :math:`\sum_n w_n \cos(n t)` by Clenshaw's recurrence, which needs one cosine.

    Examples
    --------
    >>> float(cosine_series(np.array(np.pi), np.array([1.0, 2.0, 3.0])))
    2.0
    """
    twice = 2.0 * np.cos(angle)
    now, last = np.zeros_like(twice), np.zeros_like(twice)
    for weight in weights[:0:-1]:
        now, last = twice * now - last + weight, now
    return np.asarray(0.5 * twice * now - last + weights[0])


@dataclass(eq=False)
class PeriodicGaussian(Circular):
    r"""The Gaussian wrapped around a circle, a theta function of the difference.

    .. math:: k(x, z) = \prod_j \Bigl(\tfrac12 + \sum_{n \ge 1} e^{-n^2 \sigma_j^2/2} \cos n t_j
              \Bigr), \qquad t = \frac{2\pi}{p}(x - z), \quad \sigma = \frac{2\pi}{p} l

    The frequency n is penalized by :math:`e^{n^2\sigma^2/2}`, which is the penalty of the Gaussian
    of width l. The same function is a sum of Gaussians, one for each turn,

    .. math:: \tfrac12 + \sum_{n \ge 1} e^{-n^2\sigma^2/2} \cos n t
              = \frac{\sqrt{2\pi}}{2\sigma} \sum_{j \in \mathbb{Z}} e^{-(t + 2\pi j)^2/2\sigma^2}

    and of both sums the one is used that needs a handful of terms: the first for
    :math:`\sigma \ge 1`.

    Parameters
    ----------
    length_scale : float or (p,) array, default=1.0
        The width l in the units of the features, one for all of them or one for each.
    period : float, default=2*pi
        The period p of every feature.
    drop_constant : bool, default=False
        Leave the first term 1/2 out: constants are then no longer in the space.
    normalize : {None, "range", "diagonal"}, default=None
        In every feature, shift and scale the values to the range from 0 to 1, or divide them by
        the value at zero.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.32)-(3.34), where the printed
    scaling to the range [0, 1] is corrected: the divisor is
    :math:`2 \sum_{l \ge 1} e^{-(2l - 1)^2 \sigma^2/2}`.

    Examples
    --------
    >>> kernel = PeriodicGaussian(0.5, period=24.0, normalize="diagonal")
    >>> kernel([[23.5]], [[0.0], [0.5], [12.0]]).round(4)
    array([[0.6065, 0.1353, 0.    ]])
    """

    length_scale: LengthScale = 1.0
    period: float = 2.0 * np.pi
    drop_constant: bool = False
    normalize: str | None = None

    def __post_init__(self) -> None:
        check_length_scale(self.length_scale)
        self._check_period()
        if self.normalize not in (None, "range", "diagonal"):
            raise ValueError(
                f"normalize must be None, 'range' or 'diagonal', got {self.normalize!r}."
            )
        if self.drop_constant and self.normalize == "range":
            raise ValueError(
                "normalize='range' sets the constant, with or without drop_constant: leave "
                "drop_constant at False."
            )

    def _check_features(self, p: int) -> None:
        check_scale_fits(self.length_scale, p)

    def _sigma(self, j: int) -> float:
        return 2.0 * np.pi * scale_of_feature(self.length_scale, j) / float(self.period)

    def _unit(self, sigma: float) -> tuple[float, float]:
        """Return the frequency whose term is 1, and the constant, before normalization."""
        ratios_only = self.normalize == "range" or (self.normalize and self.drop_constant)
        if ratios_only and sigma >= 1.0:
            # The first term may underflow; as nothing else depends on it, it is the unit.
            return 1.0, 0.0
        return 0.0, 0.0 if self.drop_constant else 0.5

    def _theta(self, t: Array, sigma: float, slope: bool = False) -> Array:
        """Return the sum before it is normalized, or its derivative by sigma."""
        first, constant = self._unit(sigma)
        if sigma >= 1.0:
            # 9 frequencies reach 1e-17 of the first at sigma = 1.
            decay = np.arange(1.0, 10.0) ** 2 - first
            weights = np.exp(-0.5 * decay * sigma**2)
            if slope:
                weights, constant = -sigma * decay * weights, 0.0
            return cosine_series(t, np.concatenate([[constant], weights]))
        total = np.zeros_like(t)
        # The next turn, 3 pi away, has exp(-(3 pi)^2 / 2) = 5e-20 at sigma = 1.
        for turn in (-1.0, 0.0, 1.0):
            square = ((t + 2.0 * np.pi * turn) / sigma) ** 2
            total += np.exp(-0.5 * square) * ((square - 1.0) / sigma if slope else 1.0)
        total *= 0.5 * np.sqrt(2.0 * np.pi) / sigma
        return total if slope else total - (0.5 - constant)

    def _ends(self, sigma: float, slope: bool = False) -> tuple[float, float]:
        """Return the values that normalization maps to 0 and 1, or their derivatives."""
        if self.normalize is None:
            return 0.0, 0.0 if slope else 1.0
        low, high = self._theta(np.array([np.pi, 0.0]), sigma, slope)
        return (float(low) if self.normalize == "range" else 0.0), float(high)

    def _factors(self) -> Factor:
        def factor(x: Array, z: Array, j: int) -> Array:
            sigma = self._sigma(j)
            low, high = self._ends(sigma)
            return (self._theta(self._angle(x, z), sigma) - low) / (high - low)

        return factor

    def _derivatives(self, x: Array, z: Array, j: int) -> dict[str, Array]:
        sigma, t = self._sigma(j), self._angle(x, z)
        (low, high), (low_slope, high_slope) = self._ends(sigma), self._ends(sigma, slope=True)
        value = (self._theta(t, sigma) - low) / (high - low)
        slope = self._theta(t, sigma, slope=True) - low_slope - value * (high_slope - low_slope)
        return {"length_scale": slope * (2.0 * np.pi / float(self.period)) / (high - low)}

    def coefficients(self, n: Array) -> Array:
        n, sigma = np.abs(np.asarray(n, dtype=float)), self._sigma(0)
        (first, constant), (low, high) = self._unit(sigma), self._ends(sigma)
        c = 0.5 * np.exp(-0.5 * np.maximum(n**2 - first, 0.0) * sigma**2)
        return np.where(n == 0.0, constant - low, c) / (high - low)


@dataclass(eq=False)
class Periodic(Circular):
    r"""The Gaussian of the chord between two points on a circle.

    .. math:: k(x, z) = \exp\Bigl(-\sum_j \frac{2 \sin^2(\pi (x_j - z_j)/p)}{l_j^2}\Bigr)

    With :math:`a = 1/l^2` its Fourier coefficients are :math:`c_n = e^{-a} I_n(a)`: they fall
    faster than those of a wrapped exponential and more slowly than those of a wrapped Gaussian.

    Parameters
    ----------
    length_scale : float or (p,) array, default=1.0
        The width l, one for all features or one for each. It has no unit: 1 is the distance of
        two points that are 1/6 of a period apart.
    period : float, default=1.0
        The period p of every feature.

    References
    ----------
    D. J. C. MacKay, *Introduction to Gaussian processes*, 1998, eq. (47).

    Examples
    --------
    >>> Periodic(1.0, period=7.0)([[0.0]], [[7.0], [3.5]]).round(4)
    array([[1.    , 0.1353]])
    """

    length_scale: LengthScale = 1.0
    period: float = 1.0

    def __post_init__(self) -> None:
        check_length_scale(self.length_scale)
        self._check_period()

    def _check_features(self, p: int) -> None:
        check_scale_fits(self.length_scale, p)

    def _exponent(self, x: Array, z: Array, j: int) -> Array:
        half = 0.5 * self._angle(x, z)
        return np.asarray(2.0 * (np.sin(half) / scale_of_feature(self.length_scale, j)) ** 2)

    def _factors(self) -> Factor:
        return lambda x, z, j: np.exp(-self._exponent(x, z, j))

    def _derivatives(self, x: Array, z: Array, j: int) -> dict[str, Array]:
        exponent = self._exponent(x, z, j)
        rate = 2.0 / scale_of_feature(self.length_scale, j)
        return {"length_scale": rate * exponent * np.exp(-exponent)}

    def coefficients(self, n: Array) -> Array:
        rate = scale_of_feature(self.length_scale, 0) ** -2
        return np.asarray(special.ive(np.abs(np.asarray(n, dtype=float)), rate))


@dataclass(eq=False)
class PeriodicSpline(Circular, OneFeature):
    r"""The kernel of periodic smoothing splines, which penalizes the derivative of order m.

    .. math:: k(x, z) = \frac{(-1)^{m-1} p^{2m-1}}{(2m)!}
              B_{2m}\Bigl(\frac{(x - z) \bmod p}{p}\Bigr), \qquad
              |f|^2 = \int_0^p f^{(m)}(u)^2 \, du

    with Bernoulli's polynomials B. Constants are not in the space: leave them free. With m = 1
    functions are polygons, and the penalty of a closed curve of constant speed is its squared
    length over p.

    Parameters
    ----------
    derivative : int, default=1
        The order m of the derivative, from 1 to 8.
    period : float, default=2*pi
        The period p.

    References
    ----------
    G. Wahba, *Spline Models for Observational Data*, 1990, eq. (2.1.7).

    Examples
    --------
    >>> PeriodicSpline(1, period=1.0)([[0.0]], [[0.0], [0.5], [1.0]]).round(4)
    array([[ 0.0833, -0.0417,  0.0833]])
    """

    derivative: int = 1
    period: float = 2.0 * np.pi

    def __post_init__(self) -> None:
        check_integer("derivative", self.derivative, 1)
        if self.derivative > 8:
            raise ValueError(f"derivative must be at most 8, got {self.derivative}.")
        self._check_period()

    def _factors(self) -> Factor:
        twice = 2 * int(self.derivative)
        ordinary = special.bernoulli(twice)
        ordinary[1] = -0.5
        powers = special.binom(twice, np.arange(twice + 1)) * ordinary
        scale = (-1.0) ** (self.derivative - 1) * float(self.period) ** (twice - 1)

        def factor(x: Array, z: Array, j: int) -> Array:
            turns = np.abs(self._angle(x, z)) / (2.0 * np.pi)
            return np.asarray(scale / special.factorial(twice) * np.polyval(powers, turns))

        return factor

    def coefficients(self, n: Array) -> Array:
        omega = 2.0 * np.pi * np.abs(np.asarray(n, dtype=float)) / float(self.period)
        some = omega > 0.0
        squared = np.where(some, omega, 1.0) ** (2.0 * self.derivative)
        return np.where(some, 1.0 / (float(self.period) * squared), 0.0)
