"""A smooth loss between the square and the absolute value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlog1py

from mercer._typing import Array
from mercer.losses.base import BOX_SLACK, Loss, check_positive

__all__ = ["LogCosh"]


@dataclass(eq=False)
class LogCosh(Loss):
    r"""Huber's loss without a corner in its curvature: errors of a logistic kind.

    .. math:: \rho(r) = \delta^2 \log \cosh(r / \delta), \qquad
              \rho^*(u) = \tfrac{\delta^2}{2} \bigl((1 + s) \log(1 + s)
              + (1 - s) \log(1 - s)\bigr), \quad s = u / \delta \in [-1, 1]

    A parabola for small errors and :math:`\delta |r| - \delta^2 \log 2` for large ones.

    Parameters
    ----------
    delta : float or ndarray of shape (n,), default=1.0
        The largest slope, and the size of an error at which the parabola turns into a line.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import LogCosh
    >>> LogCosh().value(np.array([0.1, 100.0]), np.zeros(2)).round(4)
    array([5.00000e-03, 9.93069e+01])
    """

    delta: float | Array = 1.0
    smooth = True

    def __post_init__(self) -> None:
        check_positive(self.delta, "delta", "; use Absolute for 0, Squared for infinity")

    def value(self, y: Array, f: Array) -> Array:
        u = np.abs(y - f) / self.delta
        # log cosh u = u + log((1 + exp(-2u))/2) cancels near zero, where sinh does not.
        near = 0.5 * np.log1p(np.sinh(np.minimum(u, 1.0)) ** 2)
        far = u + np.log1p(np.exp(-2.0 * u)) - np.log(2.0)
        return np.asarray(np.square(self.delta) * np.where(u < 1.0, near, far))

    def gradient(self, y: Array, f: Array) -> Array:
        return np.asarray(-self.delta * np.tanh((y - f) / self.delta))

    def curvature(self, y: Array, f: Array) -> Array:
        # Beyond a few hundred the square of cosh overflows, and one over it is zero.
        return np.asarray(1.0 / np.cosh(np.minimum(np.abs(y - f) / self.delta, 300.0)) ** 2)

    def conjugate(self, y: Array, v: Array) -> Array:
        beyond = np.abs(v) > self.delta * (1.0 + BOX_SLACK)
        v = np.where(beyond, 0.0, v)
        s = self._share(v)
        entropy = 0.5 * (xlog1py(1.0 + s, s) + xlog1py(1.0 - s, -s))
        return np.where(beyond, np.inf, v * y + np.square(self.delta) * entropy)

    def conjugate_gradient(self, y: Array, v: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(y + self.delta * np.arctanh(self._share(v)))

    def conjugate_curvature(self, y: Array, v: Array) -> Array:
        s = self._share(v)
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / ((1.0 - s) * (1.0 + s)))

    def slopes(self, y: Array) -> tuple[Array, Array]:
        return np.zeros_like(y) - self.delta, np.zeros_like(y) + self.delta

    def _share(self, v: Array) -> Array:
        """Return slopes in units of the largest."""
        return np.clip(v / self.delta, -1.0, 1.0)
