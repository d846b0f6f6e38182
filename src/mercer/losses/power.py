r"""Powers of the residual: convex losses whose conjugate is a power, not a parabola.

Heavy-tailed alternatives whose value grows slower than linearly (Cauchy, Student, Welsch, Tukey)
are not convex and therefore declined: no certificate exists for them. :class:`PiecewisePolynomial`
and :class:`~mercer.losses.Huber` are the convex robust losses.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from mercer._typing import Array
from mercer.losses.base import BOX_SLACK, Loss, check_positive, check_width, numbers
from mercer.losses.conjugate import keep_nan, shortfall

__all__ = ["PiecewisePolynomial", "PolynomialLoss"]


class PowerLoss(Loss):
    r"""A loss of the excess over a tube, :math:`\rho(r) = h(\max(0, |r| - \epsilon))`.

    The slope is a power of the excess up to a bound,
    :math:`h'(\xi) = \min((\xi/\sigma)^{p-1}, \text{bound})`, and the conjugate is
    :math:`\epsilon |u| + \tfrac{p-1}{p}\,\sigma\, |u|^{p/(p-1)}` on :math:`|u| \le` ``bound``.
    """

    power: float
    epsilon: float | Array

    @property
    def smooth(self) -> bool:
        """Whether the curvature is locally bounded: not for powers below two, sharp at zero."""
        return self.power >= 2.0

    @property
    @abstractmethod
    def _scale(self) -> float | Array:
        """Return sigma, the excess at which the slope is one."""

    @property
    @abstractmethod
    def _bound(self) -> float:
        """Return the largest slope, one or infinity."""

    def _check(self) -> None:
        if not 1 < numbers(self.power, "power") < np.inf:
            raise ValueError(
                f"power must be finite and exceed 1, got {self.power}; "
                "use Absolute or EpsilonInsensitive for 1"
            )
        check_width(self.epsilon)

    def _slope(self, y: Array, f: Array) -> tuple[Array, Array]:
        """Return the excess over the tube and the magnitude of the slope there."""
        excess = np.maximum(np.abs(y - f) - self.epsilon, 0.0)
        return excess, np.minimum((excess / self._scale) ** (self.power - 1.0), self._bound)

    def value(self, y: Array, f: Array) -> Array:
        excess, slope = self._slope(y, f)
        # The integral of the slope, written so that no rounding is raised to the power 1 / (p - 1).
        curved = np.minimum(excess, self._scale * self._bound)
        # At least a part of the excess is left of it, which is infinite if the excess is.
        with np.errstate(invalid="ignore"):
            rest = np.fmax(excess - (1.0 - 1.0 / self.power) * curved, excess / self.power)
        return np.asarray(slope * rest)

    def gradient(self, y: Array, f: Array) -> Array:
        return np.asarray(-np.sign(y - f) * self._slope(y, f)[1])

    def curvature(self, y: Array, f: Array) -> Array:
        excess, slope = self._slope(y, f)
        p, sigma = self.power, self._scale
        with np.errstate(divide="ignore"):
            curved = (p - 1.0) / sigma * (excess / sigma) ** (p - 2.0)
        # Without a tube the vertex belongs to the curve, like that of a parabola.
        straight = (slope >= self._bound) & np.isfinite(self._bound)
        arched = ((excess > 0) | (np.asarray(self.epsilon) == 0)) & ~straight
        return keep_nan(np.where(arched, curved, 0.0), excess)

    def conjugate(self, y: Array, v: Array) -> Array:
        beyond = np.isinf(v) | (np.abs(v) > self._bound * (1.0 + BOX_SLACK))
        v = np.where(beyond, 0.0, v)
        reach = self.epsilon + (1.0 - 1.0 / self.power) * self._reach(v)
        return np.where(beyond, np.inf, v * y + np.abs(v) * reach)

    def conjugate_gradient(self, y: Array, v: Array) -> Array:
        return np.asarray(y + np.sign(v) * (self.epsilon + self._reach(v)))

    def conjugate_curvature(self, y: Array, v: Array) -> Array:
        p = self.power
        with np.errstate(divide="ignore"):
            bend = self._scale * np.abs(v) ** ((2.0 - p) / (p - 1.0)) / (p - 1.0)
        return keep_nan(bend, v)

    def slopes(self, y: Array) -> tuple[Array, Array]:
        bound = np.full(np.shape(y), self._bound)
        return -bound, bound

    def violation(self, y: Array, f: Array, v: Array) -> Array:
        r"""Measure how far ``(f, v)`` is from :math:`v \in \partial l(y, f)`.

        In units of the slope for powers from two on. Below two the slope is no Lipschitz function
        of ``f``: an error of :math:`10^{-10}` in ``f`` may change it by a tenth. There, as for
        losses with quadratic dual, it is the distance of ``f`` from where the slope is ``v``.
        """
        if self.smooth:
            return super().violation(y, f, v)
        magnitude = np.abs(v)
        low = self.epsilon + self._reach(np.minimum(magnitude, self._bound))
        high = np.where(magnitude >= self._bound * (1.0 - BOX_SLACK), np.inf, low)
        # With the sign of the residual that the slope asks for; a zero slope allows the whole tube.
        r = np.where(v == 0, np.abs(y - f), -np.sign(v) * (y - f))
        distance = np.abs(shortfall(r, np.where(v == 0, 0.0, low), high))
        return np.where(magnitude > self._bound * (1.0 + BOX_SLACK), np.inf, distance)

    def _reach(self, v: Array) -> Array:
        """Return the excess at which the slope has the magnitude of ``v``."""
        return np.asarray(self._scale * np.abs(v) ** (1.0 / (self.power - 1.0)))


@dataclass(eq=False)
class PolynomialLoss(PowerLoss):
    r"""A power of the excess over a tube, :math:`\tfrac1p \max(0, |r| - \epsilon)^p`.

    Parameters
    ----------
    power : float, default=2.0
        The exponent :math:`p > 1`; 2 gives :class:`~mercer.losses.Squared`.
    epsilon : float or ndarray of shape (n,), default=0.0
        Half-width of the tube inside which errors cost nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import PolynomialLoss
    >>> PolynomialLoss(3.0).value(np.array([3.0]), np.array([0.0]))
    array([9.])
    """

    power: float = 2.0
    epsilon: float | Array = 0.0
    _scale = 1.0
    _bound = np.inf

    def __post_init__(self) -> None:
        self._check()


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
    _bound = 1.0

    def __post_init__(self) -> None:
        self._check()
        check_positive(self.sigma, "sigma")

    @property
    def _scale(self) -> float | Array:
        return self.sigma
