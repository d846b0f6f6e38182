"""Least squares under linear inequalities, with a bound on how far the answer is from the best."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

__all__ = ["Bounded", "least_squares_in_polytope"]

Array = NDArray[np.float64]

MAX_ITER = 200
# Of the way to the boundary that an interior point goes in one step.
FRACTION = 0.995
TINY = 1e-200
# Steps without a better bound after which rounding has taken over.
PATIENCE = 10


class Bounded(NamedTuple):
    """A point of the polytope with a bound on its distance from the optimum."""

    x: Array
    cost: float
    """The squared length of ``F x - t``."""
    gap: float
    """No point of the polytope has a cost below ``cost - gap``."""


def least_squares_in_polytope(
    F: Array, t: Array, G: Any, h: Array, inside: Array, *, tol: float = 1e-9
) -> Bounded:
    r"""Minimize a sum of squares over a polytope inside the unit cube.

    .. math:: \min_x \|Fx - t\|^2 \quad\text{subject to}\quad Gx \le h, \qquad
              \{Gx \le h\} \subset [0, 1]^m

    A primal-dual interior-point method with Mehrotra's corrector. For any multipliers
    :math:`z \ge 0` and :math:`r = 2F'(Fx - t) + G'z`, convexity gives for every x' of the polytope

    .. math:: \|Fx' - t\|^2 \ge \|Fx - t\|^2 - z'(h - Gx) - \sum_j \max_{0 \le x'_j \le 1}
              r_j (x_j - x'_j),

    which bounds the distance from the minimum whatever rounding did to the steps.

    Parameters
    ----------
    F : (n, m) array
    t : (n,) array
    G : (k, m) array or sparse matrix
    h : (k,) array
    inside : (m,) array
        A point with ``G x < h``.
    tol : float, default=1e-9
        Relative to the cost of `inside`.
    """
    m, k = F.shape[1], len(h)
    if not m:
        return Bounded(np.zeros(0), float(t @ t), 0.0)
    G = G if isinstance(G, np.ndarray) else sp.csr_array(G)
    H = 2.0 * F.T @ F
    x, s = inside.copy(), h - G @ inside
    scale = float(np.sum((F @ x - t) ** 2)) or 1.0
    z = np.full(k, scale / k) / np.maximum(s, 1e-3)
    best, idle = Bounded(x, np.inf, np.inf), 0
    for _ in range(MAX_ITER):
        error = F @ x - t
        r = 2.0 * F.T @ error + G.T @ z
        cost = float(error @ error)
        feasible = h - G @ x
        gap = float(z @ np.maximum(feasible, 0.0) + np.sum(np.maximum(r * x, r * (x - 1.0))))
        if gap < best.gap:
            best, idle = Bounded(x.copy(), cost, gap), 0
        else:
            idle += best.gap < np.sqrt(tol) * scale
        # The end of the road is rounding in the steps: the bound above holds regardless.
        if gap <= tol * scale or idle > PATIENCE or not np.isfinite(gap):
            break
        weight = np.minimum(z / s, 1e200)
        M = H + _weighted_square(G, weight)
        # Rounding must not make the sum of two positive semidefinite matrices indefinite.
        M[np.diag_indices(m)] *= 1.0 + 1e-14
        try:
            factor = cho_factor(M, lower=True, check_finite=False)
        except np.linalg.LinAlgError:  # of positive semidefinite matrices: rounding again
            break
        off = G @ x + s - h

        def solve(v: Array, factor: Any = factor) -> Array:
            return np.asarray(cho_solve(factor, v, check_finite=False))

        now = float(s @ z) / k
        _, ds, dz = _direction(solve, G, r, off, s, z, np.zeros(k))
        ahead = float((s + _length(s, ds) * ds) @ (z + _length(z, dz) * dz)) / k
        target = (ahead / now) ** 3 * now - ds * dz
        dx, ds, dz = _direction(solve, G, r, off, s, z, target)
        one, two = FRACTION * _length(s, ds), FRACTION * _length(z, dz)
        x, s, z = x + one * dx, np.maximum(s + one * ds, TINY), np.maximum(z + two * dz, TINY)
    return best


def _weighted_square(G: Any, weight: Array) -> Array:
    if isinstance(G, np.ndarray):
        return np.asarray(G.T @ (weight[:, None] * G))
    return np.asarray((G.T @ sp.diags_array(weight) @ G).toarray())


def _direction(
    solve: Callable[[Array], Array], G: Any, r: Array, off: Array, s: Array, z: Array, target: Array
) -> tuple[Array, Array, Array]:
    """Return steps of x, s and z towards ``s z = target``."""
    dx = solve(-r - G.T @ ((target - s * z + z * off) / s))
    ds = -off - G @ dx
    return dx, ds, (target - s * z - z * ds) / s


def _length(v: Array, step: Array) -> float:
    """Return how much of a step keeps a positive vector from turning negative, at most 1."""
    down = step < -v
    return min(1.0, float(np.min(-v[down] / step[down], initial=1.0)))
