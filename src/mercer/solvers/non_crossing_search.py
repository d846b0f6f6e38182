"""Non-crossing functions: solve one by one, then together the functions that cross."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mercer._deadline import time_left
from mercer._typing import Array
from mercer.gram.base import Gram
from mercer.gram.dense import Dense
from mercer.losses.base import Loss
from mercer.problems.non_crossing import Crossings, ordered, ordered_back
from mercer.solvers.base import Solver
from mercer.solvers.minimizing import minimize
from mercer.solvers.solution import Solution, join
from mercer.solvers.status import ConvergenceWarning, Status

__all__ = ["NonCrossingSolution", "order"]

# Walls begin at so many times the largest coefficient without them; multipliers are of that size.
# They are raised by this factor while one of them is held, and the problem always has a solution.
FIRST_WALL_RATIO, STEEPER_FACTOR = 4.0, 10.0
# A multiplier this close to the weight of its wall is held by it.
HELD_WEIGHT_PART = 0.99
# Differences up to this part of the worst crossing are added with those that are violated.
NEAR_CROSSING_PART = 0.02
# Rounds of adding points where functions cross.
MAX_ROUNDS = 30


@dataclass(frozen=True, eq=False)
class NonCrossingSolution:
    """Functions in their order."""

    a: Array
    """Coefficients over the points, (N, m)."""

    b: Array
    """Coefficients of the unpenalized columns, (q, m)."""

    solution: Solution
    """The joint problem, or the separate ones taken together if none cross."""

    crossings: Crossings
    """Functions and points whose order took part in the problem."""

    apart: float
    """How much they cross if fitted one by one; not positive if they do not."""

    worst: float
    """How much they still do at the points: less than the tolerance."""


def order(
    K: Gram,
    y: Array,
    c: Array,
    losses: Sequence[Loss],
    B: Array,
    apart: Sequence[Solution],
    solver: Solver,
    *,
    tol: float = 1e-3,
    warning: type[Warning] = ConvergenceWarning,
) -> NonCrossingSolution:
    r"""Make functions that were fitted one by one keep their order at all points.

    Differences take part from the round on in which they are violated, so that functions which do
    not cross are left as they are.

    Parameters
    ----------
    K : Gram
        Kernel matrix of N points, of which the first n are the sample.
    y, c : ndarray of shape (n,)
    losses : sequence of m Loss
    B : ndarray of shape (N, q)
        As in :func:`mercer.problems.non_crossing.ordered`.
    apart : sequence of m Solution
        The functions one by one.
    solver : Solver
        For the joint problem.
    tol : float, default=1e-3
        By how much functions may cross; more where a deadline leaves no time for the joint problem.
    warning : type of Warning, default=ConvergenceWarning

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.losses import Pinball
    >>> from mercer.problems import RegularizedRisk
    >>> from mercer.solvers import SMO, minimize
    >>> from mercer.solvers.non_crossing_search import order
    >>> K, y, c, B = Dense(np.eye(4)), np.array([0.0, 1.0, 2.0, 3.0]), np.ones(4), np.ones((4, 1))
    >>> losses = [Pinball(0.4), Pinball(0.6)]
    >>> apart = [minimize(RegularizedRisk(loss, K, y, c, B), SMO()) for loss in losses]
    >>> found = order(K, y, c, losses, B, apart, SMO())
    >>> bool(np.all(np.diff(K.matvec(found.a) + B @ found.b, axis=1) >= -1e-3))
    True
    """
    n, N, m = len(y), K.shape[0], len(losses)
    a = np.zeros((N, m))
    a[:n] = np.stack([s.a for s in apart], axis=1)
    b = np.stack([s.b for s in apart], axis=1).reshape(B.shape[1], m)
    solution, taken = join(list(apart)), (np.empty(0, dtype=np.intp),) * 2
    wall = FIRST_WALL_RATIO * max(float(np.max(np.abs(a))), np.finfo(np.float64).tiny)
    # A sample without weight asks for nothing, not even for order.
    asked = np.append(c > 0, np.ones(N - n, dtype=bool))
    F = K.matvec(a) + B @ b
    first = worst = _worst(F[asked])
    # The matrix of all functions is so many times as large as theirs together.
    needed = m * sum(sum(s.times.values()) for s in apart)
    for _ in range(MAX_ROUNDS):
        if worst <= tol:
            break
        if time_left() < needed:
            warnings.warn(
                f"No time was left for making functions that cross by {worst:.1e} keep their "
                "order; increase max_time.",
                warning,
                stacklevel=3,
            )
            solution = replace(solution, status=Status.MAX_TIME)
            break
        if K.held and not K.resident:
            K = Dense(K.dense())  # what is factorized again and again is laid out once
        # With those that nearly cross, so that they need no round of their own.
        j, k = np.nonzero((np.diff(F, axis=1) < NEAR_CROSSING_PART * worst - tol) & asked[:, None])
        pairs = np.unique(np.stack([np.append(taken[0], k), np.append(taken[1], j)]), axis=1)
        start = _extended(solution, taken, (pairs[0], pairs[1]), n * m, b, F)
        taken = (pairs[0], pairs[1])
        while True:
            risk = ordered(K, y, c, losses, B, taken, wall)
            solution = minimize(risk, solver, start, warning=warning)
            if not (solution.converged and np.any(solution.a[n * m :] >= HELD_WEIGHT_PART * wall)):
                break
            wall, start = STEEPER_FACTOR * wall, solution
        a, b = ordered_back(risk, solution.a, solution.b, N)
        F = K.matvec(a) + B @ b
        worst = _worst(F[asked])
        if not solution.converged:
            break  # further rounds would begin where floating point, or a limit, ended this one
    return NonCrossingSolution(a, b, solution, taken, first, worst)


def _worst(F: Array) -> float:
    """Return by how much a function exceeds the next at most."""
    return float(np.max(-np.diff(F, axis=1), initial=-np.inf))


def _extended(
    last: Solution, old: Crossings, new: Crossings, size: int, b: Array, F: Array
) -> Solution:
    """Return a solution with zeros for the differences that have come since."""
    (k, j), values = new, np.diff(F, axis=1)
    where = {pair: i for i, pair in enumerate(zip(*(x.tolist() for x in old), strict=True))}
    eta = np.array(
        [
            last.a[size + where[pair]] if pair in where else 0.0
            for pair in zip(k.tolist(), j.tolist(), strict=True)
        ]
    )
    return replace(
        last,
        a=np.append(last.a[:size], eta),
        b=b.T.ravel(),
        f=np.append(last.f[:size], values[j, k]),
    )
