"""Monotone ascent of a contrast: over directions of unit length, and over the l1 ball."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from mercer._typing import Array
from mercer_research.manifold.contrasts import Contrast

__all__ = ["Ascent", "ascend", "ascend_l1", "standardized"]

# Shifts that are tried before a step counts as lost to rounding: 2^40 turns a step by 1e-12.
SHIFTS = 40

# Steps towards a vertex that are compared, as parts of the way.
PARTS = np.append(np.geomspace(1e-3, 0.5, 20), np.linspace(0.55, 1.0, 10))

# A gain below this part of the contrast is rounding.
GAIN = 1e-12


class Ascent(NamedTuple):
    """A local maximum of a contrast and the way to it."""

    direction: Array
    """Unit vector, or coefficients of l1 norm one."""

    values: Array
    """Contrast at the start and after each step, never falling."""

    converged: bool
    """Whether the ascent ended at a stationary point and not at the largest number of steps."""


def standardized(xi: Array, w: Array) -> Array:
    """Return a projection less its mean, over its standard deviation."""
    centred = xi - w @ xi
    return np.asarray(centred / np.sqrt(w @ centred**2))


def ascend(
    Y: Array,
    w: Array,
    contrast: Contrast,
    start: Array,
    *,
    white: bool,
    tol: float,
    max_iter: int,
) -> Ascent:
    r"""Raise the contrast of :math:`\langle u, y_i \rangle` over unit vectors u.

    The fixed point :math:`u \leftarrow \sum_i w_i\, q'(\langle u, y_i \rangle)\, y_i`, normalized,
    never lowers a convex contrast: its linearization at u is a lower bound, which this u maximizes.
    For other contrasts multiples of u are added until the contrast rises, which makes the step as
    short as needed. On white coordinates a step of Newton's kind is tried first.

    Parameters
    ----------
    Y : (m, r) array
        Coordinates.
    w : (m,) array
        Weights, whose sum is one.
    contrast : Contrast
    start : (r,) array
        First direction, of any length.
    white : bool
        Whether the coordinates have unit covariance.
    tol : float
        Sine of the angle between u and the gradient that counts as stationary.
    max_iter : int
    """
    u = start / la.norm(start)
    xi = Y @ u
    value = contrast.of(xi, w)
    values = [value]
    for _ in range(max_iter):
        side = contrast.side(xi, w)
        gradient = side * (Y.T @ (w * np.asarray(contrast.slope(xi), dtype=np.float64)))
        size = float(la.norm(gradient))
        across = la.norm(gradient - (gradient @ u) * u)
        if across <= tol * size:
            return Ascent(u, np.array(values), True)
        for proposal in _proposals(u, xi, w, gradient, side, contrast, white):
            v = proposal / la.norm(proposal)
            new = contrast.of(Y @ v, w)
            if new > value:
                break
        else:
            # No step raises the contrast in double precision.
            return Ascent(u, np.array(values), True)
        u, xi, value = v, Y @ v, new
        values.append(value)
    return Ascent(u, np.array(values), False)


def _proposals(
    u: Array, xi: Array, w: Array, gradient: Array, side: float, contrast: Contrast, white: bool
) -> Iterator[Array]:
    if white and contrast.curvature is not None:
        # The Hessian of white coordinates is nearly a multiple of the identity.
        newton = gradient - side * float(w @ contrast.curvature(xi)) * u
        if la.norm(newton) > 0:
            yield newton
            yield -newton
    yield gradient
    shift = float(la.norm(gradient))
    for _ in range(SHIFTS):
        yield gradient + shift * u
        shift *= 2.0


def ascend_l1(K: Array, w: Array, contrast: Contrast, *, white: bool, max_iter: int) -> Ascent:
    r"""Raise the contrast of :math:`K \alpha` over the l1 ball, from its best vertex.

    For a convex contrast of centred projections the best vertex is the maximum. Otherwise steps
    lead towards the vertex along which the contrast grows most, as far as it grows, so that each
    step adds at most one kernel function.

    Parameters
    ----------
    K : (m, m) array
        Kernel matrix.
    w : (m,) array
        Weights, whose sum is one; points without weight are not used.
    contrast : Contrast
    white : bool
        Take the contrast of standardized projections instead of centred projections.
    max_iter : int
    """
    V = K - w @ K
    lengths = np.sqrt(w @ V**2)
    top = float(np.max(lengths[w > 0], initial=0.0))
    live = (w > 0) & (lengths > 1e-10 * top)
    if not live.any():
        return Ascent(np.zeros(len(w)), np.zeros(1), True)

    def of(xi: Array) -> float:
        return contrast.of(standardized(xi, w) if white else xi, w)

    scores = np.full(len(w), -np.inf)
    signs = np.ones(len(w))
    for i in np.flatnonzero(live):
        scores[i] = of(V[:, i])
        if not contrast.even and (turned := of(-V[:, i])) > scores[i]:
            scores[i], signs[i] = turned, -1.0
    best = int(np.argmax(scores))
    a = np.zeros(len(w))
    a[best] = signs[best]
    xi, value = V[:, best] * signs[best], float(scores[best])
    values = [value]
    if contrast.convex and not white:
        return Ascent(a, np.array(values), True)
    for _ in range(max_iter):
        j, sign = _steepest(V, xi, w, live, contrast, white)
        trials = [of((1.0 - t) * xi + t * sign * V[:, j]) for t in PARTS]
        best = int(np.argmax(trials))
        if not trials[best] > value + GAIN * abs(value):
            return Ascent(a, np.array(values), True)
        t, value = float(PARTS[best]), float(trials[best])
        a *= 1.0 - t
        a[j] += t * sign
        xi = (1.0 - t) * xi + t * sign * V[:, j]
        values.append(value)
    return Ascent(a, np.array(values), False)


def _steepest(
    V: Array, xi: Array, w: Array, live: NDArray[np.bool_], contrast: Contrast, white: bool
) -> tuple[int, float]:
    """Return the vertex of the l1 ball along which the contrast grows most, and its sign."""
    z = standardized(xi, w) if white else xi
    slope = contrast.side(z, w) * np.asarray(contrast.slope(z), dtype=np.float64)
    if white:
        # The derivative through the division by the standard deviation.
        slope = (slope - w @ slope - z * float(w @ (slope * z))) / np.sqrt(w @ (xi - w @ xi) ** 2)
    growth = np.where(live, V.T @ (w * slope), 0.0)
    j = int(np.argmax(np.abs(growth)))
    return j, float(np.sign(growth[j])) or 1.0
