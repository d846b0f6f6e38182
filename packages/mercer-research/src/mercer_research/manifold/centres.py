"""The point of least cost in the middle of rows: mean, median, Huber's centre."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer.kernels.points import Array
from mercer.manifold.distortions import AbsoluteDistortion, Distortion, HuberDistortion

__all__ = ["Centre", "centre_of", "weighted_median"]

# Reweighted means of a Huber cost, and the gap relative to the cost at which they end.
INNER, CLOSE = 200, 1e-9


class Centre(NamedTuple):
    """A point of least cost."""

    point: Array
    """(d,)"""

    gap: float
    """Bound on the excess of its weighted cost over the least."""


def centre_of(distortion: Distortion, X: Array, s: Array, start: Array) -> Centre:
    """Return the point of least weighted cost.

    Parameters
    ----------
    distortion : Distortion
    X : (n, d) array
        Rows in coordinates of the cost, NaN where a cell is missing.
    s : (n,) array
        Weights.
    start : (d,) array
        Point whose coordinates are kept for features without a known cell, and that the answer is
        never worse than.
    """
    if isinstance(distortion, AbsoluteDistortion):
        medians = [weighted_median(x, s, c) for x, c in zip(X.T, start, strict=True)]
        return Centre(np.array(medians), 0.0)
    if isinstance(distortion, HuberDistortion):
        return _huber_centre(distortion, X, s, start)
    return Centre(_mean(X, s, start), 0.0)


def _mean(X: Array, s: Array, start: Array) -> Array:
    known = ~np.isnan(X)
    weight = s @ known
    # About the start, so that equal rows give this row to the last bit.
    moved = s @ np.where(known, X - start, 0.0)
    return np.asarray(start + np.divide(moved, weight, out=np.zeros_like(moved), where=weight > 0))


def weighted_median(x: Array, s: Array, start: float) -> float:
    """Return the median of known numbers: the middle of all medians, where there are several.

    Parameters
    ----------
    x : (n,) array
        Numbers, NaN where they are missing.
    s : (n,) array
        Weights.
    start : float
        Returned where no number is known.
    """
    some = ~np.isnan(x) & (s > 0)
    if not some.any():
        return start
    order = np.argsort(x[some], kind="stable")
    x, below = x[some][order], np.cumsum(s[some][order])
    half = 0.5 * below[-1]
    # Sums of weights such as 0.1 reach the half up to rounding.
    low = int(np.searchsorted(below, half * (1.0 - 1e-12)))
    high = int(np.searchsorted(below, half * (1.0 + 1e-12), side="right"))
    return float(0.5 * (x[low] + x[min(high, len(x) - 1)]))


def _huber_centre(distortion: HuberDistortion, X: Array, s: Array, start: Array) -> Centre:
    r"""Return the reweighted mean, iterated until its duality gap is small.

    Weights :math:`1/\max(\sigma, r)` make a sum of squares above the cost that touches it, so that
    its minimum, the weighted mean, never costs more. The slopes :math:`u_i = w_i r_i` at the mean
    have the weighted sum zero, so that, shortened to length one at most, they bound the least cost
    by :math:`\sum_i s_i (u_i' x_i - \tfrac\sigma2 |u_i|^2)`.
    """
    best, gap = start, np.inf
    R = np.where(np.isnan(X), 0.0, X - start)
    value = float(s @ distortion(R))
    for _ in range(INNER):
        w = np.asarray(distortion.weights(R))
        point = _mean(X, s * w, best)
        R = np.where(np.isnan(X), 0.0, X - point)
        new = float(s @ distortion(R))
        U = 2.0 * w[:, None] * R
        U /= max(1.0, float(np.sqrt(np.einsum("nd,nd->n", U, U)).max(initial=0.0)))
        # The weighted sum of slopes is zero, so rows may be taken about the point.
        dual = np.einsum("nd,nd->n", U, R) - 0.5 * distortion.sigma * np.einsum("nd,nd->n", U, U)
        gap = min(gap, max(new - float(s @ dual), 0.0))
        # Rounding of the cost hides where a point still moves, by which the bound still falls.
        if new > value * (1.0 + 1e-13):
            break
        best, value = point, new
        if gap <= CLOSE * value:
            break
    return Centre(best, gap)
