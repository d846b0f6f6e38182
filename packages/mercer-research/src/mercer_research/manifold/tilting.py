r"""Planes of least cost, by alternating reweighted least squares.

.. math:: \min_{b, V, z} \; \sum_i s_i\, c(x_i, b + V'z_i)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer.kernels.points import Array
from mercer.manifold.distortions import Distortion
from mercer.manifold.low_rank import Plane, principal_plane
from mercer_research.manifold.centres import weighted_median

__all__ = ["Tilted", "nearest_coordinates", "spherical_plane", "tilt_plane"]

# Reweighted projections of new rows under a cost of single cells.
INNER = 100


def spherical_plane(X: Array, s: Array, q: int) -> Plane:
    """Return the plane of the directions in which rows lie from their median.

    Every row counts alike however far it is, so that few rows far away hardly turn the plane.

    Parameters
    ----------
    X : (n, d) array
    s : (n,) array
        Weights.
    q : int
        Number of directions.
    """
    middle = np.array([weighted_median(x, s, 0.0) for x in X.T])
    R = X - middle
    size = np.linalg.norm(R, axis=1, keepdims=True)
    unit = np.divide(R, size, out=np.zeros_like(R), where=size > 0)
    # Directions and their opposites, so that their mean is the median.
    found = principal_plane(np.vstack([unit, -unit]), np.concatenate([s, s]), q)
    return found._replace(mean=middle)


class Tilted(NamedTuple):
    """A plane that alternating minimization arrived at."""

    plane: Plane
    objective: list[float]
    """Weighted cost after every half step: projections at even places."""

    n_iter: int
    converged: bool


def tilt_plane(
    distortion: Distortion, X: Array, s: Array, start: Plane, max_iter: int, tol: float
) -> Tilted:
    """Alternate between coordinates of rows and the plane until the cost stops falling.

    Each half step minimizes weighted squares that lie above the cost and touch it, in closed form;
    missing cells have the weight zero.

    Parameters
    ----------
    distortion : Distortion
    X : (n, d) array
        Rows in coordinates of the cost, NaN where a cell is missing.
    s : (n,) array
        Weights, whose sum is one.
    start : Plane
    max_iter : int
    tol : float
        Relative fall of the cost in one iteration at which it ends.
    """
    known = ~np.isnan(X)
    rows = np.where(known, X, 0.0)
    q = len(start.axes)
    b, V = start.mean, start.axes
    Z = np.zeros((len(X), q))

    def residual(b: Array, V: Array, Z: Array) -> Array:
        return np.where(known, rows - b - Z @ V, 0.0)

    def weights(R: Array) -> Array:
        w = distortion.weights(R)
        w = np.ones(len(X)) if w is None else w
        return np.where(known, w[:, None] if w.ndim == 1 else w, 0.0)

    objective = [float(s @ distortion(residual(b, V, Z)))]
    for iteration in range(1, max_iter + 1):
        first = objective[-1]
        new = project_rows(rows - b, V, weights(residual(b, V, Z)))
        # Row by row, so that rounding of one row does not undo the others.
        better = distortion(residual(b, V, new)) < distortion(residual(b, V, Z))
        Z = np.where(better[:, None], new, Z)
        objective.append(float(s @ distortion(residual(b, V, Z))))
        Omega = s[:, None] * weights(residual(b, V, Z))
        P = np.hstack([np.ones((len(X), 1)), Z])
        W = project_rows(rows.T, P.T, Omega.T).T
        value = float(s @ distortion(residual(W[0], W[1:], Z)))
        if value < objective[-1]:
            b, V = W[0], W[1:]
            objective.append(value)
        else:
            objective.append(objective[-1])
        if first - objective[-1] <= tol * objective[-1] and iteration > 1:
            break
    centre = s @ Z
    found = principal_plane((Z - centre) @ V, s, q, start.axes)
    plane = Plane(b + centre @ V, found.axes, found.variances)
    return Tilted(plane, objective[1:], iteration, iteration < max_iter)


def project_rows(R: Array, V: Array, weights: Array) -> Array:
    """Return coordinates of least weighted squares along directions, (n, q).

    Parameters
    ----------
    R : (n, d) array
        Rows less a point of the plane.
    V : (q, d) array
        Directions.
    weights : (n, d) array
        Of the cells.
    """
    H = np.einsum("nd,kd,ld->nkl", weights, V, V, optimize=True)
    g = np.einsum("nd,kd->nk", weights * R, V)
    # Rows with too few known cells take the shortest of their solutions.
    return np.asarray(np.einsum("nkl,nl->nk", np.linalg.pinv(H, hermitian=True), g))


def nearest_coordinates(distortion: Distortion, X: Array, plane: Plane) -> Array:
    """Return the coordinates of the cheapest points of a plane, (n, q).

    Parameters
    ----------
    distortion : Distortion
    X : (n, d) array
        Rows in coordinates of the cost, NaN where a cell is missing.
    plane : Plane
    """
    known = ~np.isnan(X)
    R = np.where(known, X - plane.mean, 0.0)
    if distortion.isotropic:
        if known.all():
            return np.asarray(R @ plane.axes.T)
        return project_rows(R, plane.axes, known.astype(np.float64))
    Z = project_rows(R, plane.axes, known.astype(np.float64))
    best, least = Z, distortion(np.where(known, R - Z @ plane.axes, 0.0))
    for _ in range(INNER):
        w = np.asarray(distortion.weights(np.where(known, R - Z @ plane.axes, 0.0)))
        Z = project_rows(R, plane.axes, np.where(known, w, 0.0))
        cost = distortion(np.where(known, R - Z @ plane.axes, 0.0))
        best = np.where((cost < least)[:, None], Z, best)
        least = np.minimum(cost, least)
    return best
