r"""Powers of the residual: convex losses whose conjugate is a power, not a parabola.

Heavy-tailed alternatives whose value grows slower than linearly (Cauchy, Student, Welsch, Tukey) are
not convex and therefore declined: no certificate exists for them. :class:`PiecewisePolynomial` and
:class:`~mercer.losses.Huber` are the convex robust losses.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from mercer.losses.base import SLACK, Array, Loss

__all__ = ["PiecewisePolynomial", "Polynomial"]


class PowerLoss(Loss):
    r"""A loss of the excess over a tube, :math:`\rho(r) = h(\max(0, |r| - \epsilon))`.

    With :math:`h` a power :math:`h'(\xi) = s(\xi/\sigma)^{p-1}`, the conjugate is
    :math:`\epsilon |u| + \sigma \tfrac{p-1}{p} |u|^{p/(p-1)}` on :math:`|u| \le` ``bound``.
    """

    power: float
    epsilon: float | Array

    @property
    def smooth(self) -> bool:
        """Whether the curvature is bounded: not for powers below two, which bend sharply at zero."""
        return self.power >= 2.0

    @property
    @abstractmethod
    def _scale(self) -> float | Array:
        """Return sigma, the excess at which the slope is one."""

    @property
    @abstractmethod
    def _bound(self) -> float:
        """Return the largest slope."""

    def _check(self) -> None:
        if not self.power > 1:
            raise ValueError(
                f"power must exceed 1, got {self.power}; use Absolute or EpsilonInsensitive for 1"
            )
        if not np.all(np.asarray(self.epsilon) >= 0):
            raise ValueError(f"epsilon must not be negative, got {self.epsilon}")

    def _slope(self, y: Array, f: Array) -> tuple[Array, Array]:
        """Return the excess over the tube and the magnitude of the slope there."""
        excess = np.maximum(np.abs(y - f) - self.epsilon, 0.0)
        return excess, np.minimum((excess / self._scale) ** (self.power - 1.0), self._bound)

    def value(self, y: Array, f: Array) -> Array:
        excess, slope = self._slope(y, f)
        return np.asarray(slope * excess - self._power_conjugate(slope))

    def gradient(self, y: Array, f: Array) -> Array:
        return np.asarray(-np.sign(y - f) * self._slope(y, f)[1])

    def curvature(self, y: Array, f: Array) -> Array:
        excess, slope = self._slope(y, f)
        p, sigma = self.power, self._scale
        with np.errstate(divide="ignore", invalid="ignore"):
            curved = (p - 1.0) / sigma * (excess / sigma) ** (p - 2.0)
        return np.where((excess > 0) & (slope < self._bound), curved, 0.0)

    def conjugate(self, y: Array, v: Array) -> Array:
        u = np.abs(v)
        inside = u <= self._bound * (1.0 + SLACK)
        u = np.minimum(u, self._bound)
        return np.where(inside, v * y + self.epsilon * u + self._power_conjugate(u), np.inf)

    def conjugate_gradient(self, y: Array, v: Array) -> Array:
        reach = self._scale * np.abs(v) ** (1.0 / (self.power - 1.0))
        return np.asarray(y + np.sign(v) * (self.epsilon + reach))

    def conjugate_curvature(self, y: Array, v: Array) -> Array:
        p = self.power
        with np.errstate(divide="ignore"):
            return np.asarray(self._scale * np.abs(v) ** ((2.0 - p) / (p - 1.0)) / (p - 1.0))

    def slopes(self, y: Array) -> tuple[Array, Array]:
        bound = np.full_like(y, self._bound)
        return -bound, bound

    def _power_conjugate(self, u: Array) -> Array:
        p = self.power
        return np.asarray((p - 1.0) / p * self._scale * u ** (p / (p - 1.0)))


@dataclass(eq=False)
class Polynomial(PowerLoss):
    r"""A power of the excess over a tube, :math:`\tfrac1p \max(0, |r| - \epsilon)^p` with :math:`p > 1`.

    Parameters
    ----------
    power : float, default=2.0
        The exponent :math:`p > 1`; 2 gives :class:`~mercer.losses.Squared`.
    epsilon : float or ndarray of shape (n,), default=0.0
        Half-width of the tube inside which errors cost nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Polynomial
    >>> Polynomial(3.0).value(np.array([3.0]), np.array([0.0]))
    array([9.])
    """

    power: float = 2.0
    epsilon: float | Array = 0.0

    def __post_init__(self) -> None:
        self._check()

    @property
    def _scale(self) -> float | Array:
        return 1.0

    @property
    def _bound(self) -> float:
        return np.inf


@dataclass(eq=False)
class PiecewisePolynomial(PowerLoss):
    r"""A power near zero with straight arms beyond :math:`\sigma`: robust for any :math:`p > 1`.

    .. math::

        h(\xi) = \frac{\xi^p}{p\,\sigma^{p-1}} \ (\xi \le \sigma), \qquad
        \xi - \sigma \frac{p-1}{p} \ (\xi > \sigma), \qquad \xi = \max(0, |r| - \epsilon)

    Parameters
    ----------
    power : float, default=2.0
        The exponent :math:`p > 1`; 2 gives :class:`~mercer.losses.Huber` divided by its ``delta``.
    sigma : float or ndarray of shape (n,), default=1.0
        Excess at which the power turns into a line of slope one.
    epsilon : float or ndarray of shape (n,), default=0.0
        Half-width of the tube inside which errors cost nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import PiecewisePolynomial
    >>> PiecewisePolynomial(2.0, sigma=1.0).value(np.array([3.0]), np.array([0.0]))
    array([2.5])
    """

    power: float = 2.0
    sigma: float | Array = 1.0
    epsilon: float | Array = 0.0

    def __post_init__(self) -> None:
        self._check()
        if not np.all(np.asarray(self.sigma) > 0):
            raise ValueError(f"sigma must be positive, got {self.sigma}")

    @property
    def _scale(self) -> float | Array:
        return self.sigma

    @property
    def _bound(self) -> float:
        return 1.0
