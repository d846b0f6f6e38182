"""The least that a run which was stopped returns: nothing worse than the unpenalized part alone."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array
from mercer.problems.risk import RegularizedRisk

__all__ = ["fit_columns", "pull_back"]

# Halvings of an interval: the last ones change nothing in double precision.
MAX_HALVINGS, MAX_DOUBLINGS = 60, 60
# Part of an interval that golden sections keep, and how many leave a millionth of it.
GOLDEN_PART, GOLDEN_SECTIONS = 0.5 * (np.sqrt(5.0) - 1.0), 30


def fit_columns(risk: RegularizedRisk) -> Array:
    """Return coefficients of the unpenalized columns for the machine without an expansion.

    One after the other to the lowest objective, by bisection of its slope: for an intercept that is
    the constant of lowest risk. Columns that overlap are not fitted again after the others.

    Parameters
    ----------
    risk : RegularizedRisk
        The problem.

    Returns
    -------
    ndarray of shape (q,)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.losses import Squared
    >>> y = np.array([1.0, 2.0, 6.0])
    >>> risk = RegularizedRisk(Squared(), Dense(np.eye(3)), y, 1.0, np.ones((3, 1)))
    >>> fit_columns(risk)
    array([3.])
    """
    b, f = np.zeros(risk.q), np.zeros(risk.n)
    for j, column in enumerate(risk.B.T):
        largest = float(np.max(np.abs(column), initial=0.0))
        if not largest:
            continue

        def rises(t: float, f: Array = f, column: Array = column, cost: float = risk.d[j]) -> bool:
            slopes = risk.c * risk.loss.gradient(risk.y, f + t * column)
            return float(slopes @ column) + cost > 0

        reach = (1.0 + float(np.max(np.abs(risk.y)))) / largest
        up = not rises(0.0)
        for _ in range(MAX_DOUBLINGS):
            if rises(reach if up else -reach) == up:
                break
            reach *= 2.0
        low, high = (0.0, reach) if up else (-reach, 0.0)
        for _ in range(MAX_HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if rises(middle) else (middle, high)
        b[j] = high if abs(high) < abs(low) else low
        f = f + b[j] * column
    return b


def pull_back(
    risk: RegularizedRisk, a: Array, b: Array, Ka: Array, primal: float
) -> tuple[Array, Array, Array]:
    """Return ``(a, b, Ka)``, or a better point on the line from the machine without expansion.

    Answers of a run that was stopped meet the constraints of the dual, and may be worse in the
    primal than a constant. The objective is convex: on the segment between both, its lowest point
    is no worse than either end.

    Parameters
    ----------
    risk : RegularizedRisk
        The problem.
    a, b, Ka : ndarray
        Coefficients, and the product of the kernel matrix with ``a``.
    primal : float
        The objective there.
    """
    lower, upper = risk.box()
    if np.any(risk.d) or np.any(lower > 0) or np.any(upper < 0):
        return a, b, Ka  # without an expansion the constraints of the dual are not met
    alone = fit_columns(risk)
    if primal <= risk.risk(risk.B @ alone):
        return a, b, Ka
    quadratic, begin, end = 0.5 * float(a @ Ka), risk.B @ alone, Ka + risk.B @ b

    def value(t: float) -> float:
        return t * t * quadratic + risk.risk((1.0 - t) * begin + t * end)

    low, high, best = 0.0, 1.0, (value(0.0), 0.0)
    left, right = high - GOLDEN_PART * (high - low), low + GOLDEN_PART * (high - low)
    at = value(left), value(right)
    for _ in range(GOLDEN_SECTIONS):
        best = min(best, (at[0], left), (at[1], right))
        if at[0] <= at[1]:
            high, right = right, left
            left = high - GOLDEN_PART * (high - low)
            at = value(left), at[0]
        else:
            low, left = left, right
            right = low + GOLDEN_PART * (high - low)
            at = at[1], value(right)
    t = best[1]
    return t * a, (1.0 - t) * alone + t * b, t * Ka
