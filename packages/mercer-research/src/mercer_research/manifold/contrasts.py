"""Contrasts of projections: how interesting the distribution of a feature is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from mercer._typing import Array

__all__ = ["CONTRASTS", "Contrast", "power"]

Function: TypeAlias = Callable[[Array], Any]


@dataclass(frozen=True)
class Contrast:
    r"""A contrast of a projection, :math:`Q(\xi) = \sum_i w_i\, q(\xi_i)` or its distance.

    Parameters
    ----------
    value, slope : callable
        q and its derivative, elementwise.
    curvature : callable, optional
        The second derivative, which makes steps of Newton's kind possible.
    reference : float, optional
        The mean of q under the standard Gaussian. With it, the contrast is the distance
        :math:`|\sum_i w_i\, q(\xi_i) - c|` from this number, and projections have unit variance.
    convex : bool
        Whether q is convex, so that :math:`\sum_i w_i\, q(\xi_i)` is largest at an extreme point.
    even : bool
        Whether the contrast of a projection is the contrast of its negative.

    Examples
    --------
    >>> CONTRASTS["variance"].of(np.array([1.0, -1.0]), np.array([0.5, 0.5]))
    1.0
    """

    value: Function
    slope: Function
    curvature: Function | None = None
    reference: float | None = None
    convex: bool = False
    even: bool = False

    def mean(self, xi: Array, w: Array) -> float:
        """Return the weighted mean of q, less the reference."""
        return float(w @ np.asarray(self.value(xi), dtype=np.float64)) - (self.reference or 0.0)

    def side(self, xi: Array, w: Array) -> float:
        """Return 1, or -1 where q is on average below its reference."""
        return -1.0 if self.reference is not None and self.mean(xi, w) < 0.0 else 1.0

    def of(self, xi: Array, w: Array) -> float:
        """Return the contrast of a projection."""
        return self.side(xi, w) * self.mean(xi, w)


def power(p: float) -> Contrast:
    """Return the contrast of the p-th absolute moment, convex for p at least 1."""
    return Contrast(
        lambda xi: np.abs(xi) ** p,
        lambda xi: p * np.sign(xi) * np.abs(xi) ** (p - 1.0),
        convex=True,
        even=True,
    )


def _log_cosh(xi: Array) -> Array:
    # Written so that large projections do not overflow.
    return np.asarray(np.abs(xi) + np.log1p(np.exp(-2.0 * np.abs(xi))) - np.log(2.0))


def _gaussian_mean(q: Function) -> float:
    """Integrate q against the standard Gaussian, to twelve digits for smooth q."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    return float(weights @ q(nodes) / np.sqrt(2.0 * np.pi))


CONTRASTS: dict[str, Contrast] = {
    "variance": Contrast(
        lambda xi: xi**2, lambda xi: 2.0 * xi, lambda xi: 2.0 + 0.0 * xi, convex=True, even=True
    ),
    "kurtosis": Contrast(
        lambda xi: xi**4,
        lambda xi: 4.0 * xi**3,
        lambda xi: 12.0 * xi**2,
        reference=3.0,
        even=True,
    ),
    "skewness": Contrast(
        lambda xi: xi**3, lambda xi: 3.0 * xi**2, lambda xi: 6.0 * xi, reference=0.0, even=True
    ),
    "logcosh": Contrast(
        _log_cosh,
        np.tanh,
        lambda xi: 1.0 - np.tanh(xi) ** 2,
        reference=_gaussian_mean(_log_cosh),
        even=True,
    ),
    # E exp(-x^2/2) of a standard Gaussian is 1/sqrt(2).
    "exp": Contrast(
        lambda xi: -np.exp(-0.5 * xi**2),
        lambda xi: xi * np.exp(-0.5 * xi**2),
        lambda xi: (1.0 - xi**2) * np.exp(-0.5 * xi**2),
        reference=-1.0 / np.sqrt(2.0),
        even=True,
    ),
}
"""Contrasts by name; all but the variance are distances from the Gaussian."""
