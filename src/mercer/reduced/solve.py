"""From a source and the declarations of a machine to its coefficients and their certificate."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._threads import usable_cores
from mercer._typing import Array
from mercer.data.base import Block, Source
from mercer.data.memory import block_rows, parse
from mercer.data.sampling import FingerprintSample
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.reduced.approximation_error import (
    COST_ROWS,
    SOLVED_ROWS,
    Cost,
    Total,
    approximation_cost,
    total_gap,
)
from mercer.reduced.base import MAX_DENSE_FEATURES, Approximation, FeatureMap
from mercer.reduced.multipliers import MATRICES, check_memory, largest_map, minimize_kinked
from mercer.reduced.newton import Minimum, Newton
from mercer.reduced.oracle import CURVATURE_ROWS, SIZE_ROWS, Oracle, score
from mercer.reduced.passes import Census, Passes
from mercer.reduced.problem import Problem, Some, Targets, VariableWidth, columns_of, loss_of
from mercer.regularizers.null_space import NullSpace
from mercer.solvers.monitor import Progress
from mercer.solvers.rounding import SUMMATION_ROUNDING
from mercer.solvers.solution import Solution, Terms
from mercer.solvers.status import GAP_ROUNDING, ConvergenceWarning, Status

# Number of functions to begin with, share and number of rows held out to judge them, and by what
# part their error has to fall.
FIRST_FUNCTIONS, HELD_OUT_SHARE, MAX_HELD_OUT_ROWS, MIN_ERROR_FALL = 256, 0.2, 20_000, 0.01

# Part of the memory that factors of curvature of several problems may take.
FACTOR_MEMORY_SHARE = 0.25

# Part of the memory in which rows and values at them may be held from one pass to the next.
HELD_MEMORY_SHARE = 0.5

Listener = Callable[[Progress], object]

# Gap relative to the objective, for a tolerance of one: losses without kinks have it for a step.
SMOOTH_GAP, KINKED_GAP = 1e-3, 0.1

# Memory that is held back by allocators, and by threads for their stacks.
SPARE_BYTES = 3 * 2**22

# Where nearly nothing is left of the losses at zero, gaps are to be small beside this part of them.
MIN_OBJECTIVE_SHARE = 1e-6

# Part of the losses at zero below which those at the mean of the targets stand for them.
MAX_MEAN_SHARE = 0.01


# Part of the objective up to which a bound on what an approximation costs says something.
MAX_TELLING_SHARE = 0.5


@dataclass(frozen=True, repr=False)
class ReducedSolution(Solution):
    """A minimizer of the low-rank problem with its certificate.

    ``gap`` and ``dual`` are of the reduced problem: they say how far the objective is above the
    minimum *among these functions*. ``total_gap`` is what can be said of the whole problem.

    ``a`` are coefficients of the raw functions, those of one problem after the other; ``f`` is
    empty, because decision values of the rows are not kept.

    Parameters
    ----------
    passes : int
        Passes over the rows.
    rows : int
        Number of rows.
    m : int
        Number of functions.
    approximation_cost : float
        How much further above the minimum of the whole problem the objective can be than `gap`
        says, as estimated from two samples of rows; nan where there is no estimate.
    approximation_error : float
        Standard error of that estimate.
    total_gap : float
        How far the objective can be above the minimum of the whole problem, over all functions of
        the kernel; nan where nothing is known of it. Of random features the objective is that of
        the reduced problem, because their functions are none of the kernel's.
    total_gap_proved : bool
        Whether that is a proved bound, from all rows; otherwise it is estimated from a sample, and
        four standard errors are added.
    """

    passes: int = 0
    rows: int = 0
    m: int = 0
    approximation_cost: float = np.nan
    approximation_error: float = np.nan
    total_gap: float = np.nan
    total_gap_proved: bool = False

    def _size(self) -> list[str]:
        found = [f"{self.m} functions for {self.rows} rows, {self.passes} passes over them"]
        if np.isfinite(self.total_gap):
            sure = "proved" if self.total_gap_proved else "estimated"
            share = self.total_gap / max(abs(self.objective), np.finfo(float).tiny)
            if share <= MAX_TELLING_SHARE:
                part = f"{self.total_gap:.2g} ({100.0 * share:.2g} %)"
                found.append(f"{sure} to be within {part} of the optimum of the exact machine")
            else:
                found.append(
                    "how much better the exact machine would be is not known (no useful bound): "
                    f"compare the score on new rows with that of {2 * self.m} functions"
                )
        return found


@dataclass
class Task:
    """The problems that a machine declares, with tolerances and limits.

    Parameters
    ----------
    kernel : Kernel
    null_space : NullSpace
    targets : Targets
    loss : Loss
    C : (k,) array
    tol : float
    max_iter : int
    max_time : float, optional
    listener : callable, optional
    warning : type
        Of the warning that a fit stopped early.
    walls : VariableWidth, optional
        A margin or tube whose width is a variable.
    """

    kernel: Kernel
    null_space: NullSpace
    targets: Targets
    loss: Loss
    C: Array
    tol: float = 1e-3
    max_iter: int = -1
    max_time: float | None = None
    listener: Callable[[Progress], object] | None = None
    warning: type[Warning] = ConvergenceWarning
    walls: VariableWidth | None = None


@dataclass
class Reduced:
    """The machine that was found.

    Parameters
    ----------
    map : FeatureMap
    A : (m, k) array
        Coefficients of its raw functions.
    b : (q, k) array
        Coefficients of the unpenalized functions.
    solution : ReducedSolution
    index : array or None
        Which rows of the source the centres are.
    W : (r, k) array
        Coefficients of the features.
    """

    map: FeatureMap
    A: Array
    b: Array
    solution: ReducedSolution
    index: Any
    W: Array

    @property
    def points(self) -> Any:
        """The centres, (m, p); without columns where functions have no centres."""
        return np.zeros((self.map.m, 0)) if self.map.Z is None else self.map.Z


def open_passes(
    source: Source,
    how: Approximation,
    m: int,
    k: int,
    pool: int,
    bar: Callable[[str, int | None], Any] | None = None,
    low_memory: bool = False,
) -> Passes:
    """Return passes over a source whose blocks keep within the memory granted.

    Parameters
    ----------
    source : Source
    how : Approximation
    m, k : int
        Number of raw functions and of problems.
    pool : int
        Number of rows that are drawn.
    bar : callable, optional
        As in :class:`Passes`.
    low_memory : bool, default=False
        Whether fewer matrices will do, where as many as usual do not fit.
    """
    threads = how.n_jobs or usable_cores()
    p = source.n_features

    def rows(m: int) -> int:
        size = 8.0 * m * m
        # The factor and its copy, the two of the curvature, what each thread sums, and the rows
        # drawn, those of a block among them while they are merged.
        fixed = 4 * size + threads * (2**22 + (size if m <= MAX_DENSE_FEATURES else 0) * k)
        fixed += source.reading_bytes + 3 * 8.0 * p * pool + SPARE_BYTES
        # Raw values, features and weighted features of the rows whose curvature is added at once.
        fixed += (threads if m <= MAX_DENSE_FEATURES else 1) * 3 * 8.0 * CURVATURE_ROWS * m
        return block_rows(how.memory_limit, 8.0 * (p + 24 * k), threads, fixed, 8.0 * p, 16384)

    def fewer(m: int) -> int:
        # The factor, what preconditions in float32, features of rows that the cost is estimated
        # from and of half of them again, and those that are solved for together.
        fixed = 12.0 * m * m + 8.0 * m * (2.0 * COST_ROWS + 3.0 * SOLVED_ROWS) + threads * 2**22
        fixed += source.reading_bytes + 3 * 8.0 * p * pool + SPARE_BYTES
        return block_rows(how.memory_limit, 8.0 * (p + 24 * k), threads, fixed, 8.0 * p, 16384)

    refusal = ""
    try:
        height = rows(m)
    except ValueError as error:
        most = _largest(rows, m)
        refusal = f"{error}; {most} centres or random features fit" if most else str(error)
        if not low_memory:
            raise ValueError(refusal) from None
    if refusal:
        try:
            height = fewer(m)
        except ValueError as error:
            most = _largest(fewer, m)
            raise ValueError(f"{error}; {most} centres fit" if most else str(error)) from None
    memory = parse(how.memory_limit) if source.memory is None else source.memory
    return Passes(
        source,
        rows=height,
        n_jobs=how.n_jobs,
        directory=how.checkpoint,
        bar=bar,
        room=HELD_MEMORY_SHARE * memory,
        low_memory=bool(refusal),
        refusal=refusal,
    )


def _largest(rows: Callable[[int], int], m: int) -> int:
    """Return the largest number of functions below m whose passes fit in memory, perhaps zero."""

    def fits(number: int) -> bool:
        try:
            return rows(number) >= 1
        except ValueError:
            return False

    # Beyond that number threads share one sum, and need less memory.
    step = MAX_DENSE_FEATURES + 1
    low, high = (step, m) if m > step and fits(step) else (0, min(m, step))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def solve(
    task: Task,
    census: Census,
    passes: Passes,
    how: Approximation,
    phi: FeatureMap | None = None,
    first: tuple[Array, Array] | None = None,
) -> Reduced:
    """Minimize the problems of a task over the functions of an approximation.

    Parameters
    ----------
    task : Task
    census : Census
    passes : Passes
    how : Approximation
    phi : FeatureMap, optional
        Where it is settled already.
    first : (r, k) and (q, k) arrays, optional
        Coefficients to begin with.
    """
    start = time.perf_counter()
    if phi is not None or how.number != "auto":
        check_memory(task.loss, passes, int(how.number) if phi is None else phi.r)
    phi = choose_map(task, census, passes, how) if phi is None else phi
    limit = FACTOR_MEMORY_SHARE * parse(how.memory_limit) / (8.0 * (phi.r + 8) ** 2)
    limit /= 1 if task.loss.smooth else MATRICES
    at_once = task.targets.k if share_curvature(task) else max(1, min(task.targets.k, int(limit)))
    if task.walls is not None and not task.walls.joint:
        at_once = 1
    parts: list[_Part] = []
    for columns in np.split(np.arange(task.targets.k), range(at_once, task.targets.k, at_once)):
        if parts and parts[-1].found.status is Status.INTERRUPTED:
            raise KeyboardInterrupt  # a machine that lacks some of its problems is none
        parts.append(_solve(task, census, passes, how, phi, columns, first))
    solution = _joined(parts, passes, census, phi, time.perf_counter() - start)
    if solution.status not in (Status.CONVERGED, Status.STOPPED):
        warnings.warn(_shortfall(solution), task.warning, stacklevel=4)
    rows = None if phi.index is None else census.pool.rows[phi.index]
    return Reduced(
        phi,
        np.hstack([part.A for part in parts]),
        np.hstack([part.found.b for part in parts]),
        solution,
        rows,
        np.hstack([part.found.W for part in parts]),
    )


def _shortfall(solution: ReducedSolution) -> str:
    """Return what a fit lacks that did not converge, and what to do about it."""
    return (
        f"the fit ended early ({solution.status.value}): its objective can be "
        f"{solution.gap:.3g} above the minimum {solution.dual:.6g} among these functions, a "
        f"relative gap of {solution.relative_gap:.2g}. Allow more iterations or time, or scale "
        "the inputs."
    )


def share_curvature(task: Task) -> bool:
    """Return whether all problems have the same curvature."""
    return task.loss.quadratic and len(set(task.C.tolist())) == 1


def choose_map(task: Task, census: Census, passes: Passes, how: Approximation) -> FeatureMap:
    """Return the map, with as many functions as the error of rows held out asks for.

    Their number doubles as long as that error falls by a hundredth.
    """
    C = float(np.max(task.C))
    if how.number != "auto":
        phi = how.settle_in_low_memory(task.kernel, census.pool, C) if passes.low_memory else None
        return how.settle(task.kernel, census.pool, C) if phi is None else phi
    quick = replace(task, tol=10.0 * task.tol, listener=None)
    share = min(HELD_OUT_SHARE, MAX_HELD_OUT_ROWS / census.n)
    # More functions than a quarter of the rows are no approximation any more.
    most = min(how.largest, census.n // 4, largest_map(task.loss, passes))
    m, best, phi = min(FIRST_FUNCTIONS, len(census.pool.keys)), np.inf, None
    while True:
        wider = how.set_m(m).settle(task.kernel, census.pool, C)
        problem = problem_of(quick, wider, passes, how, held_out=share)
        oracle, found = minimize_reduced(quick, problem, passes, census.pool)
        if found.status is Status.INTERRUPTED:
            raise KeyboardInterrupt  # there is no machine yet
        sums = passes("score", score, problem, oracle.state(found.W, found.b))
        each = sums["loss"] / np.maximum(sums["weight"], 1e-300)
        error = float(np.sum(each if problem.walls is None else problem.walls.score(each, found.b)))
        if phi is not None and not error < (1.0 - MIN_ERROR_FALL) * best:
            return wider if error < best else phi
        phi, best = wider, error
        if 2 * m > most:
            return phi
        m *= 2


def problem_of(
    task: Task,
    phi: FeatureMap,
    passes: Passes,
    how: Approximation,
    columns: Any = None,
    held_out: float = 0.0,
) -> Problem:
    """Return the reduced problem of a task, or of some of its columns."""
    whole = columns is None or len(columns) == task.targets.k
    return Problem(
        map=phi,
        null_space=task.null_space,
        targets=task.targets if whole else Some(task.targets, columns),
        loss=task.loss if whole else columns_of(task.loss, columns),
        C=task.C if whole else task.C[columns],
        p=passes.source.n_features,
        seed=how.random_state,
        held_out=held_out,
        walls=task.walls if whole or task.walls is None else task.walls.of(columns),
    )


def minimize_reduced(
    task: Task,
    problem: Problem,
    passes: Passes,
    pool: FingerprintSample,
    first: tuple[Array, Array] | None = None,
) -> tuple[Oracle, Minimum]:
    """Return the oracle of a problem and its minimum.

    Parameters
    ----------
    task : Task
        What says when to stop.
    problem : Problem
    passes : Passes
    pool : Sample
        Some of the rows.
    first : (r, k) and (q, k) arrays, optional
        Coefficients to begin with.
    """
    oracle = Oracle(problem, passes, pool)
    block = Block(pool.X, pool.y, pool.s, 0)
    Y, s = problem.targets(block)
    value = loss_of(problem.loss, block, pool.rows).value
    share = pool.n / len(Y)

    def losses(f: Array) -> Array:
        values = value(Y, np.broadcast_to(f, Y.shape))
        return np.asarray(np.sum(s * problem.C * values, axis=0) * share)

    at_zero = losses(np.zeros(Y.shape[1]))
    if problem.free:
        # What is free explains targets far from zero, up to rounding.
        at_mean = losses(np.mean(Y, axis=0))
        far = at_mean < MAX_MEAN_SHARE * at_zero
        at_zero = np.where(far, at_mean + MIN_OBJECTIVE_SHARE * at_zero, at_zero)
    # Wide enough that most rows are curved at the start.
    width, listener = 2.0 * (float(np.std(Y)) or 1.0), task.listener
    W, b = np.zeros((problem.map.r, problem.k)), np.zeros((problem.free, problem.k))
    if problem.walls is not None:
        if not (oracle.feasible or problem.held_out):
            raise ValueError(
                "specified nu is infeasible: it asks for more margin errors than the smaller class "
                "has weight; choose nu at most twice its share"
            )
        width, listener = oracle.spread() or width, _bounded(oracle, listener)
        # Homogeneous problems have no value at zero; the price of a first width stands for it.
        at_zero = at_zero + width * np.sum(np.abs(oracle.d), axis=0)
        b = problem.walls.start(problem.null_space.size(problem.p), problem.k, Y, width)
    newton = Newton(
        tol=task.tol * (SMOOTH_GAP if task.loss.smooth else KINKED_GAP),
        max_iter=task.max_iter,
        max_time=task.max_time,
        width=width,
        least=MIN_OBJECTIVE_SHARE * at_zero,
        listener=listener,
    )
    start = (W, b) if first is None else first
    if task.loss.smooth:
        return oracle, newton.minimize(oracle, *start)
    return oracle, minimize_kinked(newton, oracle, *start)


def _bounded(oracle: Oracle, listener: Listener | None) -> Listener:
    r"""Return a listener that notices where a margin of variable width is not bounded.

    The dual value is at least :math:`-\tfrac12 |\Phi'a|^2`, and :math:`|\Phi'a|` at most
    :math:`\max_i |\phi_i| \sum_i |a_i|`, the last of which is the price of the width.
    """
    pool = oracle.pool
    some = pool.X[: min(SIZE_ROWS, len(pool.keys))]
    phi = oracle.problem.map.features(np.asarray(oracle.problem.map.raw(some)))
    # The largest of some rows, doubled, stands for that of all.
    length = 2.0 * float(np.sqrt(np.max(np.sum(phi * phi, axis=1))))
    lowest = -0.5 * float(np.sum(np.square(length * np.sum(np.abs(oracle.d), axis=0))))

    def watch(progress: Progress) -> object:
        if progress.objective < lowest:
            raise ValueError(
                "specified nu is infeasible: functions that are not penalized leave fewer margin "
                "errors than nu asks for, so that no margin is the widest; raise nu, or leave "
                "fewer functions unpenalized"
            )
        return None if listener is None else listener(progress)

    return watch


@dataclass
class _Part:
    """The minimum of some of the problems."""

    A: Array
    found: Minimum
    cost: Cost
    total: Total
    rounding: float


def _solve(
    task: Task,
    census: Census,
    passes: Passes,
    how: Approximation,
    phi: FeatureMap,
    columns: NDArray[np.intp],
    first: tuple[Array, Array] | None,
) -> _Part:
    problem = problem_of(task, phi, passes, how, columns)
    start = None if first is None else (first[0][:, columns], first[1][:, columns])
    oracle, found = minimize_reduced(task, problem, passes, census.pool, start)
    state = oracle.state(found.W, found.b) | {
        "slopes": found.slopes,
        "rows": census.pool.rows,
    }
    cost = approximation_cost(task.kernel, problem, state, census.pool)
    total = total_gap(task.kernel, problem, state, found, census.pool, cost, passes.count)
    rounding = _rounding_effect(task.kernel, problem, state, census.pool)
    return _Part(state["A"], found, cost, total, rounding)


def _rounding_effect(
    kernel: Kernel, problem: Problem, state: dict[str, Any], pool: FingerprintSample
) -> float:
    """Return by how much rounding of predictions can change objectives, from some of the rows.

    The objective is that of coefficients in features, and predictions add up terms of the
    expansion in the landmarks, which may be large and cancel.
    """
    rows = slice(0, min(SIZE_ROWS, len(pool.keys)))
    y, weights = (None if values is None else values[rows] for values in (pool.y, pool.s))
    block = Block(pool.X[rows], y, weights, 0)
    _, Y, s, B, loss = problem.admit(block, pool.rows[rows])
    raw = np.repeat(np.asarray(problem.map.raw(block.X)), problem.views, axis=0)
    # Labels have no size where the margin is a variable.
    sizes = np.abs(Y) if problem.walls is None or problem.views > 1 else np.zeros_like(Y)
    free = np.abs(B) @ np.abs(state["b"])
    f = raw @ state["A"] + B @ state["b"]
    terms = np.sqrt(np.square(raw) @ np.square(state["A"]))
    with np.errstate(over="ignore", invalid="ignore"):
        delta = SUMMATION_ROUNDING * np.maximum(terms + free, np.abs(f) + sizes)
        delta += kernel.value_error(block.X) * terms
        value = loss.value(Y, f)
        moved = np.maximum(loss.value(Y, f + delta), loss.value(Y, f - delta)) - value
        effect = 2.0 * float(np.sum(s * problem.C * moved)) * pool.n / block.n
        # A factor of the landmarks' matrix has the rounding of its largest value in each.
        square = float(np.sum(np.square(state["A"])))
        effect += SUMMATION_ROUNDING * getattr(problem.map, "top", 0.0) * square
    return float(np.nan_to_num(effect, nan=np.inf))


def _joined(
    parts: list[_Part], passes: Passes, census: Census, phi: FeatureMap, elapsed: float
) -> ReducedSolution:
    """Return the solutions of all problems as one."""
    values = [part.found.value for part in parts]
    primal = sum(float(np.sum(value.primal)) for value in values if value is not None)
    gap = sum(float(np.sum(value.gap)) for value in values if value is not None)
    # Half of it is of the losses, and a quarter each of the penalties of both values.
    rounding = sum(part.rounding for part in parts)
    rounding = rounding if rounding > GAP_ROUNDING * abs(primal) else 0.0
    dual, gap = primal - gap - 0.25 * rounding, gap + rounding
    worst = next((p.found for p in parts if p.found.status is not Status.CONVERGED), parts[0].found)
    penalties = np.concatenate([0.5 * np.sum(part.found.W**2, axis=0) for part in parts])
    unknown = np.full(len(penalties), np.nan)
    return ReducedSolution(
        a=np.concatenate([part.A.T.ravel() for part in parts]),
        b=np.concatenate([part.found.b.T.ravel() for part in parts]),
        objective=primal,
        dual=dual,
        gap=gap,
        violation=max(float(np.max(np.abs(v.gw), initial=0.0)) for v in values if v is not None),
        residual=max(float(np.max(v.residual, initial=0.0)) for v in values if v is not None),
        status=worst.status,
        n_iter=sum(part.found.n_iter for part in parts),
        solver=worst.solver,
        reason=f"{phi.m} functions stand for {census.n} rows",
        f=np.empty(0),
        times={"solve": elapsed, "certify": 0.0, **passes.times},
        history=tuple(line for part in parts for line in part.found.history),
        passes=passes.count,
        rows=census.n,
        m=phi.m,
        terms=Terms(penalties, unknown, unknown),
        # Constant targets leave an objective that is nothing but rounding.
        resolution=sum(part.found.resolution for part in parts)
        + (2.0 * rounding if abs(primal) <= rounding else 0.0),
        approximation_cost=sum(part.cost.value for part in parts),
        approximation_error=float(np.sqrt(sum(part.cost.error**2 for part in parts))),
        total_gap=sum(part.total.value for part in parts),
        total_gap_proved=all(part.total.proved for part in parts),
    )
