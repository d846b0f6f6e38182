"""Descent between bounds with an inverse Hessian that fewer rows have shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mercer._typing import Array

__all__ = ["End", "descend"]

# A step must bring this share of what its slope promises; it is shortened at most so many times.
MIN_DESCENT_SHARE, MAX_SHORTENINGS = 1e-4, 6
# Logarithms by which a step moves one parameter at most.
MAX_LOG_STEP = 2.0
# A gain below this share of what is enough, when little more was expected, ends the descent.
LITTLE_GAIN_SHARE, EXPECTED_GAIN_SHARE = 0.3, 3.0
# At a bound: so near, with the slope pointing out.
BOUND_DISTANCE = 1e-9


class End(NamedTuple):
    """Where a descent ended."""

    x: Array
    value: float
    inverse: Array
    """Inverse Hessian."""

    used: int
    """Evaluations after that of the start."""

    spent: bool
    """Whether it ended because there were no more evaluations."""


def descend(
    function: Callable[[Array], tuple[float, Array]],
    x: Array,
    bounds: tuple[Array, Array],
    inverse: Array,
    enough: float,
    budget: int,
) -> End:
    """Minimize a function near its minimum, whose inverse Hessian is known approximately (BFGS).

    It ends where another step promises less than `enough`: curvatures that a part of a sample has
    shown tell how far the optimum of the whole is, which a descent that has to learn them does not
    know.

    Parameters
    ----------
    function : callable
        Value and gradient; infinite where it is not defined.
    x : (k,) array
        The start, within the bounds.
    bounds : pair of (k,) arrays
        Lower and upper bounds.
    inverse : (k, k) array
        Inverse Hessian, positive definite.
    enough : float
        Gain that is not worth another evaluation.
    budget : int
        Largest number of evaluations after that of the start.

    Examples
    --------
    >>> A = np.diag([1.0, 10.0])
    >>> box = np.full(2, -3.0), np.array([0.5, 3.0])
    >>> end = descend(
    ...     lambda x: (0.5 * x @ A @ x - x.sum(), A @ x - 1.0),
    ...     np.zeros(2),
    ...     box,
    ...     np.linalg.inv(A),
    ...     1e-9,
    ...     10,
    ... )
    >>> end.x.round(6), end.spent
    (array([0.5, 0.1]), False)
    """
    lower, upper = bounds
    value, slope = function(x)
    H, used = inverse, 0
    while np.isfinite(value):
        held = ((x <= lower + BOUND_DISTANCE) & (slope > 0)) | (
            (x >= upper - BOUND_DISTANCE) & (slope < 0)
        )
        free = ~held
        step = np.zeros_like(x)
        step[free] = -H[np.ix_(free, free)] @ slope[free]
        promised = -0.5 * float(slope @ step)
        if promised < enough:
            break
        part = min(1.0, MAX_LOG_STEP / float(np.max(np.abs(step))))
        for _ in range(MAX_SHORTENINGS):
            if used >= budget:
                return End(x, value, H, used, True)
            moved = np.clip(x + part * step, lower, upper)
            found, turned = function(moved)
            used += 1
            along = float(slope @ (moved - x))
            if found <= value + MIN_DESCENT_SHARE * along:
                break
            bent = found - value - along
            part *= float(np.clip(-0.5 * along / bent, 0.1, 0.5)) if np.isfinite(bent) else 0.2
        else:
            break
        gain, s, t = value - found, moved - x, turned - slope
        H = _updated(H, s, t)
        x, value, slope = moved, found, turned
        if (
            gain < LITTLE_GAIN_SHARE * enough
            and promised < EXPECTED_GAIN_SHARE * enough
            and part == 1.0
        ):
            break
    return End(x, value, H, used, False)


def _updated(H: Array, s: Array, t: Array) -> Array:
    """Return the inverse Hessian after a step s that changed the gradient by t."""
    bend = float(s @ t)
    if bend <= 1e-12 * float(np.linalg.norm(s) * np.linalg.norm(t)):
        return H
    V = np.eye(len(s)) - np.outer(s, t) / bend
    return np.asarray(V @ H @ V.T + np.outer(s, s) / bend)
