r"""How far a low-rank machine can be from the minimum of the whole problem.

The function that was found is one of the whole space, with the same norm, and the dual vector a of
the reduced problem is one of the whole problem, so the value of the whole problem is at most

.. math:: \text{gap} + \tfrac12 a'(K - \hat K) a, \qquad \hat K = \Phi \Phi'

above its minimum. The second term is estimated from a sample of rows. In general, whatever
coefficients a keep their bounds and :math:`B'a = d` prove that an objective P is at most

.. math:: P - D(a), \qquad D(a) = -\tfrac12 a'Ka - \sum_i c_i\, l^*(y_i, -a_i / c_i)

above the minimum. Slopes of the losses at the reduced machine are such coefficients, and poor ones:
what few functions leave unexplained is large in them, and :math:`a'Ka` counts it squared. Where the
kernel matrix is in memory they are scaled, and improved by some steps of a solver of the whole
problem; otherwise :math:`a'Ka` is estimated from a sample of rows and they are scaled only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.data.base import Block
from mercer.data.sampling import FingerprintSample
from mercer.gram.dense import Dense
from mercer.kernels.base import Kernel
from mercer.kernels.points import take
from mercer.losses.base import Loss
from mercer.problems.risk import RegularizedRisk
from mercer.reduced.newton import Minimum
from mercer.reduced.oracle import Evaluation
from mercer.reduced.problem import Problem, rows_of
from mercer.solvers import SMO, ConjugateGradient, Newton, Solver
from mercer.solvers.certify import snap_to_box
from mercer.solvers.monitor import Monitor
from mercer.solvers.solution import Solution
from mercer.solvers.status import MAX_RESIDUAL, Status

# Groups that the rows of a sample are divided into, for an error of the estimate.
N_GROUPS = 16

# Rows that are looked at, and those whose features are solved for together.
COST_ROWS, SOLVED_ROWS = 2000, 256


@dataclass(frozen=True)
class Cost:
    r"""A bound on the error that the approximation adds to the objective.

    Parameters
    ----------
    value : float
        Estimate of :math:`a'(K - \hat K)a / 2`, summed over the problems; nan where none is known.
    error : float
        Standard error of the estimate; 0 where every row was looked at.
    """

    value: float
    error: float


def taken(sample: FingerprintSample, rows: NDArray[np.intp]) -> FingerprintSample:
    """Return some rows of a sample."""
    y, s = (None if part is None else np.asarray(part)[rows] for part in (sample.y, sample.s))
    return replace(
        sample, keys=sample.keys[rows], X=take(sample.X, rows), y=y, s=s, rows=sample.rows[rows]
    )


def duals(
    problem: Problem, state: dict[str, Any], sample: FingerprintSample
) -> tuple[Array, Array]:
    """Return dual coefficients a (s, k) and features (s, r) of the rows of a sample."""
    block = Block(sample.X, sample.y, sample.s, 0)
    X, Y, s, P, loss = problem.admit(block, sample.rows)
    c = np.broadcast_to(s * problem.C, Y.shape)
    views = problem.views
    a, features = np.zeros(Y.shape), np.zeros((len(Y), problem.map.r))
    if state.get("slopes") is not None:
        order = np.argsort(state["rows"])
        place = order[np.searchsorted(state["rows"], sample.rows, sorter=order)]
        a = -c * state["slopes"][:, place].reshape(problem.k, -1).T
        features = problem.map.features(np.asarray(problem.map.raw(X)))
        return a.reshape(-1, views, problem.k).sum(axis=1), features

    def slopes(F: Array, part: slice, R: Any) -> Array:
        F = F + P[part] @ state["b"]
        a[part] = -c[part] * rows_of(loss, part).gradient(Y[part], F)
        features[part] = problem.map.features(R)
        return F[:, :0]

    # By solves, features of few rows would read the factor too often.
    problem.sweep(X, state["A"], slopes, rows=SOLVED_ROWS if problem.map.low_memory else None)
    return a.reshape(-1, views, problem.k).sum(axis=1), features[::views]


def approximation_cost(
    kernel: Kernel, problem: Problem, state: dict[str, Any], pool: FingerprintSample
) -> Cost:
    r"""Estimate the error of the approximation from a sample of the rows.

    Rows that are centres are represented without error. Of the others, the squares
    :math:`a_i^2 (k - \hat k)(x_i, x_i)` and the products of pairs from two halves of the sample
    are means that stand for those of all rows.

    Parameters
    ----------
    kernel : Kernel
        That of the whole problem.
    problem : Problem
    state : dict
        The point, as passes see it.
    pool : Sample
        Rows drawn at random.
    """
    if kernel.order or not (kernel.positive_definite and problem.map.natural):
        return Cost(np.nan, np.nan)  # the form is positive only for coefficients of all rows
    known = np.zeros(len(pool.keys), dtype=bool)
    if problem.map.index is not None:
        known[problem.map.index] = True
    rows = np.flatnonzero(~known)
    n = pool.n - int(known.sum())
    whole = len(pool.keys) == pool.n and len(rows) <= COST_ROWS
    rows = rows if whole else rows[:COST_ROWS]
    if len(rows) < 2 * N_GROUPS and not whole:
        return Cost(np.nan, np.nan)
    if not len(rows):
        return Cost(0.0, 0.0)
    a, phi = duals(problem, state, taken(pool, rows))
    X = take(pool.X, rows)
    if whole:
        left = kernel(X) - phi @ phi.T
        return Cost(max(0.0, 0.5 * float(np.sum(a * (left @ a)))), 0.0)
    own = np.sum(a * a, axis=1) * (kernel.diag(X) - np.einsum("ij,ij->i", phi, phi))
    odd, even = (np.arange(k, len(rows), 2) for k in (1, 0))
    left = kernel(take(X, odd), take(X, even)) - phi[odd] @ phi[even].T
    groups, others = (np.array_split(np.arange(len(half)), N_GROUPS) for half in (odd, even))
    sums = np.stack([a[odd[i]].T @ left[i] / len(i) for i in groups])
    values = np.stack(
        [np.sum(sums[:, :, j] * a[even[j]].T, axis=(1, 2)) / len(j) for j in others], axis=1
    )
    spread = np.var(values.mean(axis=0), ddof=1) + np.var(values.mean(axis=1), ddof=1)
    value = 0.5 * (n * float(own.mean()) + n * (n - 1.0) * float(values.mean()))
    error = 0.5 * np.hypot(n * np.std(own) / np.sqrt(len(own)), n * n * np.sqrt(spread / N_GROUPS))
    return Cost(max(0.0, value), float(error))


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
