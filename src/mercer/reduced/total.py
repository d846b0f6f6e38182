r"""How far an approximated machine can be from the minimum of the whole problem.

Whatever coefficients a keep their bounds and :math:`B'a = d` prove a lower bound for the whole
problem, so that an objective P of the reduced one is at most

.. math:: P - D(a), \qquad D(a) = -\tfrac12 a'Ka - \sum_i c_i\, l^*(y_i, -a_i / c_i)

above the minimum. Slopes of the losses at the reduced machine are such coefficients, and poor ones:
what few functions leave unexplained is large in them, and :math:`a'Ka` counts it squared. Where the
kernel matrix is at hand they are scaled, and improved by some steps of a solver of the whole
problem; otherwise :math:`a'Ka` is estimated from a sample of rows and they are scaled only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.data.base import Block
from mercer.data.sampling import FingerprintSample
from mercer.gram.dense import Dense
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.problems.risk import RegularizedRisk
from mercer.reduced.cost import Cost, duals
from mercer.reduced.newton import Minimum
from mercer.reduced.oracle import Evaluation
from mercer.reduced.problem import Problem
from mercer.solvers import SMO, ConjugateGradient, Newton, Solver
from mercer.solvers.certify import snap_to_box
from mercer.solvers.monitor import Monitor
from mercer.solvers.solution import Solution
from mercer.solvers.status import MAX_RESIDUAL, Status

__all__ = ["Total", "total_gap"]

# Rows up to which the whole kernel matrix is made: always, and if the fit evaluated as many values.
MAX_WHOLE_ROWS, MAX_EVALUATED_WHOLE_ROWS = 2000, 4000

# Steps of a solver of the whole problem, which cost some products with its matrix: pairs of
# coefficients for each row, directions, linear systems.
PAIR_STEPS_PER_ROW, MAX_DIRECTIONS, MAX_SYSTEMS = 20, 30, 6

# Problems up to which such steps are made.
MAX_IMPROVED_PROBLEMS = 10

# Standard errors that are added to an estimate.
ADDED_STANDARD_ERRORS = 4.0

# Factors of the coefficients that are tried.
COEFFICIENT_FACTORS = np.linspace(0.0, 1.0, 41)


@dataclass(frozen=True)
class Total:
    """How much the objective can exceed the minimum of the whole problem.

    Parameters
    ----------
    value : float
        The bound; nan where there is none.
    proved : bool
        Whether it is computed from all rows, and not estimated from a sample of them.
    """

    value: float
    proved: bool


def total_gap(
    kernel: Kernel,
    problem: Problem,
    state: dict[str, Any],
    found: Minimum,
    pool: FingerprintSample,
    cost: Cost,
    passes: int,
) -> Total:
    """Bound the gap between the objective of a reduced problem and the exact minimum.

    Parameters
    ----------
    kernel : Kernel
        That of the whole problem.
    problem : Problem
    state : dict
        The point, as passes see it.
    found : Minimum
        The same with its certificate in the reduced problem.
    pool : Sample
        Rows drawn at random.
    cost : Cost
        Estimate of what the coefficients cost more in the whole problem.
    passes : int
        How often values of all functions were computed: as many values more may be.
    """
    value = found.value
    assert value is not None
    if kernel.order or not (kernel.positive_definite and problem.map.natural):
        return Total(np.nan, False)
    X, Y, s, P, loss = problem.admit(Block(pool.X, pool.y, pool.s, 0), pool.rows)
    try:
        at_zero = loss.conjugate(Y, np.zeros(Y.shape))
    except ValueError:  # a loss that is not convex has no dual
        return Total(np.nan, False)
    n, primal = len(pool.keys), float(np.sum(value.primal))
    few = n <= max(MAX_WHOLE_ROWS, min(MAX_EVALUATED_WHOLE_ROWS, passes * problem.map.m))
    if few and n == pool.n and problem.walls is None and _plain(loss):
        a, _ = duals(problem, state, pool)
        K = Dense(np.asarray(kernel(X), dtype=np.float64))
        c = np.broadcast_to(s * problem.C, Y.shape)
        risks = [RegularizedRisk(loss, K, Y[:, j], c[:, j], P) for j in range(problem.k)]
        # Who stopped a fit, or has many problems, does not wait for further steps.
        further = found.status is Status.CONVERGED and problem.k <= MAX_IMPROVED_PROBLEMS
        columns = zip(risks, a.T, state["b"].T, strict=True)
        bounds = [_lower_bound(*column, further) for column in columns]
        return Total(max(0.0, primal - sum(bounds)), True)
    if not np.all(np.isfinite(value.gap)):
        return Total(np.nan, False)
    scaled = problem.walls is None and not np.any(at_zero)
    return Total(_estimated(found.W - value.gw, value, cost, scaled), False)


def _estimated(features: Array, value: Evaluation, cost: Cost, scaled: bool) -> float:
    r"""Return the bound that an estimate of the cost of the coefficients gives, scaled.

    Conjugates are convex, so that those of :math:`t a` are at most t times those of a where those
    of zero are zero: with s = dual value + q / 2 and q = a'Ka the bound is
    :math:`t s - t^2 q / 2` at least. `features` are :math:`\Phi'a`.
    """
    gap, primal = float(np.sum(value.gap)), float(np.sum(value.primal))
    extra = 2.0 * (cost.value + ADDED_STANDARD_ERRORS * cost.error)
    whole = gap + 0.5 * extra
    if not (scaled and np.isfinite(extra)):
        return whole
    q = float(np.sum(np.square(features)))
    s = primal - gap + 0.5 * q
    t = np.clip(s / (q + extra), 0.0, 1.0) if q + extra > 0 else 1.0
    return max(0.0, min(whole, primal - float(t * s - 0.5 * t * t * (q + extra))))


def _plain(loss: Loss) -> bool:
    """Answer whether a loss, and those it is made of, are the same for all rows and problems."""
    parts = list(getattr(loss, "__dict__", {}).values())
    return all(_plain(part) if isinstance(part, Loss) else np.ndim(part) == 0 for part in parts)


def _lower_bound(risk: RegularizedRisk, a: Array, b: Array, further: bool) -> float:
    """Return the best of the dual values of scaled coefficients, and of some steps from there."""
    a = snap_to_box(risk, a)
    quadratic = float(a @ risk.K.matvec(a))
    values = [-(0.5 * t * t * quadratic + risk.conjugate(t * a)) for t in COEFFICIENT_FACTORS]
    if risk.residual(a) > MAX_RESIDUAL:
        values = values[:1]  # no coefficients at all keep every equality
    t = COEFFICIENT_FACTORS[int(np.argmax(values))]
    best, solver = float(max(values)), _solver(risk) if further else None
    if solver is None:
        return best
    unknown = float("nan")
    certificate = (unknown, unknown, unknown, unknown, unknown, Status.STALLED, 0, "", "")
    start = Solution(t * a, b, *certificate, np.zeros(risk.n))
    try:
        answer = solver.solve(risk, start, Monitor(solver.max_iter))
    except (ValueError, ArithmeticError, np.linalg.LinAlgError):
        return best
    if not (np.all(np.isfinite(answer.a)) and np.all(np.isfinite(answer.b))):
        return best
    better = risk.certificate(snap_to_box(risk, answer.a), answer.b)
    return max(best, better.dual) if better.residual <= MAX_RESIDUAL else best


def _solver(risk: RegularizedRisk) -> Solver | None:
    """Return a solver whose first steps cost some products with the matrix, if any solver does."""
    solvers: list[Solver] = [
        ConjugateGradient(max_iter=MAX_DIRECTIONS),
        SMO(max_iter=PAIR_STEPS_PER_ROW * risk.n),
        Newton(max_iter=MAX_SYSTEMS, max_bytes=0.0),
    ]
    return next((solver for solver in solvers if solver.accepts(risk)), None)
