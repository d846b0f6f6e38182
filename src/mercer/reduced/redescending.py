"""Losses of weights that fall with the error, by weighted least squares over blocks of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np

from mercer._typing import Array
from mercer.losses.base import Loss
from mercer.smoothing.weights import WeightFunction

__all__ = ["Redescending"]


@dataclass(eq=False)
class Redescending(Loss):
    r"""The loss :math:`\rho(r) = \int_0^r t\,w(t)\,dt` with w as its curvature, convex or not.

    The parabola :math:`\rho(r_0) + \tfrac12 w(r_0)(r^2 - r_0^2)` lies above it, so that a step of
    Newton's method with this curvature is a least-squares machine with new weights, and never leads
    up. Weights are those of the point itself: nothing has to be kept of a row.

    Parameters
    ----------
    kind : WeightFunction
    c : float or (1, k) array
        The size from which errors count less, for each problem.
    squares : bool, default=False
        Return half the weighted squares as values, of which the slopes are those of the
        least-squares machine with the weights found.

    Examples
    --------
    >>> from mercer.smoothing.weights import MyriadWeights
    >>> loss = Redescending(MyriadWeights(), 2.0)
    >>> r = np.array([0.0, 2.0])
    >>> loss.gradient(r, np.zeros(2)), loss.curvature(r, np.zeros(2))
    (array([-0., -1.]), array([1. , 0.5]))
    """

    kind: WeightFunction
    c: float | Array
    squares: bool = False
    smooth = True

    @property
    def weights(self) -> WeightFunction:
        """The weights of errors of these sizes."""
        weights = replace(self.kind)
        weights.c = self.c  # type: ignore[assignment]
        return weights

    def value(self, y: Array, f: Array) -> Array:
        r = y - f
        return 0.5 * self.weights.weight(r) * r * r if self.squares else self.weights.value(r)

    def gradient(self, y: Array, f: Array) -> Array:
        return -self.weights.slope(y - f)

    def curvature(self, y: Array, f: Array) -> Array:
        return self.weights.weight(y - f)

    def conjugate(self, y: Array, v: Array) -> NoReturn:
        raise ValueError("weights that redescend belong to no convex loss, which has a conjugate.")

    def conjugate_gradient(self, y: Array, v: Array) -> NoReturn:
        self.conjugate(y, v)

    def conjugate_curvature(self, y: Array, v: Array) -> NoReturn:
        self.conjugate(y, v)

    def slopes(self, y: Array) -> tuple[Array, Array]:
        return np.full(np.shape(y), -np.inf), np.full(np.shape(y), np.inf)
