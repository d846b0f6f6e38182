r"""Powers of the slack of a margin: between counting what is wrong and fearing the worst of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._typing import Array
from mercer.losses.base import Loss, numbers
from mercer.losses.conjugate import keep_nan

__all__ = ["PowerHinge"]


@dataclass(eq=False)
class PowerHinge(Loss):
    r"""A power of the soft margin, :math:`\tfrac1p \max(0, 1 - m)^p`.

    The conjugate is :math:`u + \tfrac{p-1}{p} |u|^{p/(p-1)}` for slopes :math:`u \le 0`. Powers
    near one count errors, large ones fear the worst.

    Parameters
    ----------
    power : float, default=1.5
        The exponent :math:`p > 1`; 2 gives :class:`~mercer.losses.SquaredHinge`, and
        :class:`~mercer.losses.Hinge` is the limit of 1, the smallest power that is convex.

    References
    ----------
    The powered slack :math:`\sum_i \xi_i^\delta` of C. Cortes and V. Vapnik (1995), Support-vector
    networks, Machine Learning 20.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import PowerHinge
    >>> PowerHinge(3.0).value(np.array([1.0]), np.array([-2.0]))
    array([9.])
    """

    power: float = 1.5

    def __post_init__(self) -> None:
        if not 1 < numbers(self.power, "power") < np.inf:
            raise ValueError(
                f"power must be finite and exceed 1, got {self.power}; use Hinge for 1, and no "
                "power below has a convex loss"
            )

    @property
    def smooth(self) -> bool:
        """Whether the curvature is bounded: not for powers below two, sharp at the margin."""
        return self.power >= 2.0

    def value(self, y: Array, f: Array) -> Array:
        return np.asarray(np.maximum(1.0 - y * f, 0.0) ** self.power / self.power)

    def gradient(self, y: Array, f: Array) -> Array:
        return np.asarray(-y * np.maximum(1.0 - y * f, 0.0) ** (self.power - 1.0))

    def curvature(self, y: Array, f: Array) -> Array:
        slack = np.maximum(1.0 - y * f, 0.0)
        with np.errstate(divide="ignore"):
            bend = (self.power - 1.0) * slack ** (self.power - 2.0)
        return keep_nan(np.where(slack > 0, bend, 0.0), slack)

    def conjugate(self, y: Array, v: Array) -> Array:
        beyond = np.isinf(v) | (y * v > 0)
        u = np.where(beyond, 0.0, -y * v)
        return np.where(beyond, np.inf, u * ((1.0 - 1.0 / self.power) * self._slack(u) - 1.0))

    def conjugate_gradient(self, y: Array, v: Array) -> Array:
        return np.asarray(y * (1.0 - self._slack(np.maximum(-y * v, 0.0))))

    def conjugate_curvature(self, y: Array, v: Array) -> Array:
        p = self.power
        with np.errstate(divide="ignore"):
            return keep_nan(np.abs(v) ** ((2.0 - p) / (p - 1.0)) / (p - 1.0), v)

    def slopes(self, y: Array) -> tuple[Array, Array]:
        return np.where(y > 0, -np.inf, 0.0), np.where(y > 0, 0.0, np.inf)

    def violation(self, y: Array, f: Array, v: Array) -> Array:
        r"""Measure how far ``(f, v)`` is from :math:`v \in \partial l(y, f)`.

        In units of the slope for powers from two on; below, where the slope is no Lipschitz
        function, the distance of ``f`` from where the slope is ``v``.
        """
        if self.smooth:
            return super().violation(y, f, v)
        u, m = -y * v, y * f
        place = 1.0 - self._slack(np.maximum(u, 0.0))
        distance = np.where(u == 0, np.maximum(place - m, 0.0), np.abs(place - m))
        return np.where(u < 0, np.inf, distance)

    def _slack(self, u: Array) -> Array:
        """Return the slack at which the slope has the magnitude ``u``."""
        return np.asarray(u ** (1.0 / (self.power - 1.0)))
