"""Convex hulls of two classes: their distance, with a certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mercer._deadline import time_left
from mercer._typing import Array

__all__ = ["HullCertificate", "NotSeparable", "nearest_points", "value_rounding"]

EPS = float(np.finfo(np.float64).eps)

# Steps of the active set beyond one for each feature, which it usually takes.
MAX_EXTRA_STEPS = 100


@dataclass(frozen=True, eq=False)
class HullCertificate:
    r"""How far the convex hulls of two classes are apart, in the norm in which it was asked.

    The distance is enclosed from both sides: two points of the hulls are no further apart than
    ``distance``, and a hyperplane leaves ``lower`` between the classes, rounding subtracted,

    .. math:: \frac{\min_{y_i = 1} w'x_i - \max_{y_i = -1} w'x_i}{\|w\|_p} \le \min_\alpha
              \Bigl\|\sum_i \alpha_i y_i x_i\Bigr\|_q, \qquad \tfrac1p + \tfrac1q = 1 .

    References
    ----------
    A. J. Smola, P. Bartlett, B. Schoelkopf, D. Schuurmans, Introduction to large margin
    classifiers, in *Advances in Large Margin Classifiers*, figure 1.2; with equality by duality.
    """

    separable: bool
    """Whether a hyperplane divides the classes: ``lower`` is positive."""

    weights: Array
    """Convex weights of the samples, adding up to one in each class: the two points, (n,)."""

    distance: float
    """Their distance, no less than that of the hulls."""

    lower: float
    """What the distance of the hulls is no less than; zero or less if nothing is proven."""

    radius: float
    """The largest norm of a point, from the mean of the points where an intercept is free."""

    @property
    def margin(self) -> float:
        """Half of the proven distance: how far every sample is from the hyperplane at least."""
        return 0.5 * max(self.lower, 0.0)


class NotSeparable(ValueError):  # noqa: N818
    """No hyperplane divides the classes.

    Parameters
    ----------
    message : str
    certificate : HullCertificate
        Convex weights of both classes that make the same point.
    """

    def __init__(self, message: str, certificate: HullCertificate) -> None:
        super().__init__(message)
        self.certificate = certificate


def value_rounding(terms: int, radius: float, length: float) -> float:
    r"""Return how far :math:`w'x` computed from rounded coordinates may be from the exact value.

    A sum of d products has an error of at most :math:`d u \|w\|_p \|x\|_q`, and so have the
    rounding of x around a mean, by :math:`u \|w\|_p \|x\|_q`, and of w.

    Parameters
    ----------
    terms : int
        Number of features d.
    radius, length : float
        Norms of x and w.
    """
    return (terms + 3) * EPS * radius * length


def nearest_points(
    P: Array, group: NDArray[np.intp], alpha: Array | None = None
) -> tuple[Array, int]:
    r"""Find the nearest points of two convex hulls by an active set, to the rounding of the points.

    .. math:: \min_\alpha \Bigl\|\sum_i \alpha_i p_i\Bigr\|_2 \quad\text{subject to}\quad
              \sum_{g_i = g} \alpha_i = \text{const.}, \quad \alpha \ge 0

    Solvers over kernel values square the distance, and lose half of its digits. The least squares
    problems here have the points as columns.

    Parameters
    ----------
    P : ndarray of shape (n, d)
        Points; those of the second class with the other sign.
    group : ndarray of shape (n,)
        Which weights have a common sum, 0 or 1; all 0 for the hull of one class and the origin.
    alpha : ndarray of shape (n,), optional
        Weights to start from, which have these sums; by default those of a point of each class.

    Returns
    -------
    alpha : ndarray of shape (n,)
        The weights.
    n_iter : int
        Steps, each of which changes the active set.

    References
    ----------
    P. Wolfe (1976), Finding the nearest point in a polytope, Mathematical Programming 11.

    Examples
    --------
    >>> P = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [-1.0, 0.0]])
    >>> alpha, n_iter = nearest_points(P, np.array([0, 0, 1, 1]))
    >>> alpha @ P
    array([0., 1.])
    """
    if alpha is None:
        alpha = _first_points(P, group)
    alpha, length = np.where(alpha > 1e-12, alpha, 0.0), np.inf
    active, n_iter = alpha > 0, 0
    while n_iter < P.shape[1] + MAX_EXTRA_STEPS and time_left() > 0.0:
        n_iter += 1
        w = alpha @ P
        change = np.zeros_like(alpha)
        change[active] = _towards_affine_minimum(P[active], group[active], alpha[active], w)
        # A weight at zero that would fall does not bound the step: it leaves.
        falls = active & (alpha + change < 0)
        if falls.any():
            reach = alpha[falls] / -change[falls]
            step = float(np.min(reach))
            alpha = np.maximum(alpha + step * change, 0.0)
            out = np.flatnonzero(falls)[reach <= step]
            alpha[out], active[out] = 0.0, False
            continue
        alpha = alpha + change
        w = alpha @ P
        if not float(np.linalg.norm(w)) < length:
            break
        length = float(np.linalg.norm(w))
        f = P @ w
        least = np.full(int(group.max()) + 1, np.inf)
        np.minimum.at(least, group[active], f[active])
        lacking = f - least[group]
        lacking[active] = 0.0
        nearest = int(np.argmin(lacking))
        if lacking[nearest] >= 0.0:
            break
        active[nearest] = True
    return alpha, n_iter


def _first_points(P: Array, group: NDArray[np.intp]) -> Array:
    """Return a weight of one for the point of each class nearest to the mean of the other."""
    groups = np.unique(group)
    between = np.sum([P[group == g].mean(axis=0) for g in groups], axis=0)
    f, alpha = P @ between, np.zeros(len(P))
    for g in groups:
        alpha[np.argmin(np.where(group == g, f, np.inf))] = 1.0
    return alpha


def _towards_affine_minimum(P: Array, group: NDArray[np.intp], alpha: Array, w: Array) -> Array:
    """Return the least change of weights, with their sums, to the affine hull's nearest point."""
    change = np.zeros(len(P))
    heaviest = {int(g): int(np.argmax(np.where(group == g, alpha, -1.0))) for g in np.unique(group)}
    base = np.array([heaviest[int(g)] for g in group])
    moved = np.flatnonzero(base != np.arange(len(P)))
    if len(moved):
        change[moved] = np.linalg.lstsq((P[moved] - P[base[moved]]).T, -w, rcond=None)[0]
        np.subtract.at(change, base[moved], change[moved])
    return change
