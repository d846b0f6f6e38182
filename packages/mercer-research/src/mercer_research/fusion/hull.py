"""Convex combinations of machines: the best on validation data, over nodes or a whole path."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mercer._typing import Array
from mercer_research.fusion.filters import ValidationPath

__all__ = ["Hull", "minimize_over_hull", "nearest_point", "simplex_least_squares"]

Oracle = Callable[[Array], tuple[float, Array]]

MAX_ITER = 1000
EPS = float(np.finfo(np.float64).eps)


class Hull(NamedTuple):
    """The point of a convex hull that is nearest to the origin, and its corners."""

    labels: Array
    """What the oracle called the corners, (k,)."""
    weights: Array
    """Their shares, positive, adding up to one."""
    point: Array
    cost: float
    """Its squared length."""
    gap: float
    """No point of the hull has a squared length below ``cost - gap``."""


def nearest_point(oracle: Oracle, start: tuple[float, Array], *, tol: float = 1e-10) -> Hull:
    r"""Find the point of a convex hull nearest to the origin.

    Corners are made when they are asked for: the oracle returns the one farthest against the
    present point x, :math:`\min_p x'p`, and
    :math:`\|x'\|^2 \ge \|x\|^2 - 2(\|x\|^2 - \min_p x'p)` for all x' of the hull. Between two
    questions x is the nearest point of the corners at hand, exactly.

    Parameters
    ----------
    oracle : callable
        Maps a vector to the label of a corner and the corner.
    start : tuple of float and array
        A corner to begin with.
    tol : float, default=1e-10
        Gap at which to stop, relative to the squared length of `start`.

    References
    ----------
    P. Wolfe, Finding the nearest point in a polytope, Mathematical Programming 11 (1976).
    """
    labels, corners = [start[0]], start[1][None, :]
    weights, scale = np.ones(1), float(start[1] @ start[1]) or 1.0
    best: Hull | None = None
    for _ in range(MAX_ITER):
        x = weights @ corners
        cost = float(x @ x)
        label, corner = oracle(x)
        gap = max(2.0 * float(x @ (x - corner)), 0.0)
        # What products of so many numbers can be off, so that the bound holds as it is computed.
        gap += 4.0 * len(x) * EPS * (cost + np.sqrt(cost) * float(np.linalg.norm(corner)))
        if best is None or cost < best.cost or gap < best.gap:
            best = Hull(np.array(labels), weights, x, cost, gap)
        # A corner that is there already cannot help: what is left is rounding.
        if gap <= tol * scale or label in labels:
            break
        labels.append(label)
        corners = np.concatenate([corners, corner[None, :]])
        weights = np.append(weights, 0.0)
        while True:
            free = _affine(corners)
            if np.all(free > 0):
                weights = free
                break
            down = free <= 0
            step = np.min(weights[down] / (weights[down] - free[down]))
            weights = (1.0 - step) * weights + step * free
            keep = weights > 1e-14
            keep[np.flatnonzero(down)[np.argmin(weights[down])]] = False
            weights, corners = weights[keep] / np.sum(weights[keep]), corners[keep]
            labels = [label for label, kept in zip(labels, keep, strict=True) if kept]
    assert best is not None
    return best


def _affine(corners: Array) -> Array:
    """Return the weights, of any sign, of the combination of corners nearest to the origin."""
    last, rest = corners[-1], corners[:-1]
    g = np.linalg.lstsq((rest - last).T, -last, rcond=None)[0]
    return np.append(g, 1.0 - np.sum(g))


def simplex_least_squares(P: ArrayLike, y: ArrayLike, *, tol: float = 1e-12) -> Array:
    r"""Return the weights of the convex combination of columns nearest to a target.

    .. math:: \min_g \|Pg - y\|^2 \quad\text{subject to}\quad g \ge 0, \; 1'g = 1

    Parameters
    ----------
    P : (n, q) array
        Columns, such as predictions of q machines.
    y : (n,) array
        Targets.
    tol : float, default=1e-12
        Certified distance of the squared error from its minimum, relative to the best column.

    Returns
    -------
    (q,) array

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.fusion import simplex_least_squares
    >>> simplex_least_squares([[0.0, 4.0, 9.0], [0.0, 0.0, 5.0]], [1.0, 0.0]).round(6)
    array([0.75, 0.25, 0.  ])
    """
    P, y = np.asarray(P, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if P.ndim != 2 or not P.shape[1] or y.shape != P.shape[:1]:
        raise ValueError(f"P must have {y.shape} rows and at least one column, got {P.shape}.")
    corners = (P - y[:, None]).T

    def oracle(x: Array) -> tuple[float, Array]:
        k = int(np.argmin(corners @ x))
        return float(k), corners[k]

    k = int(np.argmin(np.sum(corners**2, axis=1)))
    found = nearest_point(oracle, (float(k), corners[k]), tol=tol)
    g = np.zeros(P.shape[1])
    g[found.labels.astype(np.intp)] = found.weights
    return g


def minimize_over_hull(
    path: ValidationPath, nodes: ArrayLike | None = None, *, tol: float = 1e-10
) -> Hull:
    r"""Return the convex combination of least-squares machines with the least validation errors.

    .. math:: \min_g \sum_l \Bigl\| \sum_q g_q F_l\mu_l(C_q) - t_l \Bigr\|^2
              \quad\text{subject to}\quad g \ge 0, \; \sum_q g_q = 1

    Over given nodes, or over all C from zero to infinity: nodes are then generated where they
    lower the cost most.

    Parameters
    ----------
    path : ValidationPath
        Errors along C.
    nodes : array-like of shape (q,), optional
        Values of C to combine; the whole path by default.
    tol : float, default=1e-10
        Gap at which to stop, relative to the cost of the best single C.

    Returns
    -------
    Hull
        ``labels`` are the values of C with a positive weight.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (8.15), whose weights add up to
    one, not zero, eq. (8.16) and algorithm 8.1.
    """
    if nodes is None:
        C = path.minimum().C
        return nearest_point(path.towards, (C, path.errors(C)), tol=tol)
    Cs = np.asarray(nodes, dtype=np.float64)
    corners = path.errors(Cs)

    def oracle(x: Array) -> tuple[float, Array]:
        k = int(np.argmin(corners @ x))
        return float(Cs[k]), corners[k]

    k = int(np.argmin(np.sum(corners**2, axis=1)))
    return nearest_point(oracle, (float(Cs[k]), corners[k]), tol=tol)
