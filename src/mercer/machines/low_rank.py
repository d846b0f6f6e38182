"""Low-rank approximation of a machine, fitted over rows that come in blocks."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from mercer._optional import plugin
from mercer._params import check_sample_weight
from mercer._progress import Bar
from mercer._sklearn import num_samples
from mercer._typing import AnyArray, Array, Function, PointsLike, TargetsLike, WeightsLike
from mercer.data.arrays import Arrays
from mercer.data.base import Source
from mercer.data.memory import parse
from mercer.data.opening import as_source, is_source
from mercer.gram.dense import Dense
from mercer.kernels.points import take
from mercer.losses.base import Loss
from mercer.machines.callbacks import TaskContext, fit_task, watched
from mercer.machines.evaluating import PREDICTED_ROWS
from mercer.machines.expansion import OVERFLOW
from mercer.machines.kernel_kinds import compares_objects, is_function, is_precomputed
from mercer.machines.protocol import LowRankMachine
from mercer.machines.subproblems import (
    Coefficients,
    Rows,
    Sample,
    SolvedSubproblem,
    check_loss,
    left_to_sample,
    read_coefficients,
    weight_is_free,
)
from mercer.machines.unpenalized import unpenalized_columns
from mercer.reduced.approximation_error import COST_ROWS
from mercer.reduced.base import Approximation
from mercer.reduced.normal_equations import NormalEquations
from mercer.reduced.nystrom import Nystrom
from mercer.reduced.oracle import CURVATURE_ROWS_PER_FEATURE
from mercer.reduced.passes import Census, Passes, take_census
from mercer.reduced.problem import Targets, VariableWidth
from mercer.reduced.solve import Reduced, Task, choose_map, open_passes, problem_of, solve
from mercer.solvers import Solution, Status

__all__ = [
    "LowRankFit",
    "LowRankProblem",
    "by_blocks",
    "irreducible",
    "prepare_reduced",
    "set_parameters_on",
    "solve_reduced",
    "validate_blocks",
]

Reader: TypeAlias = Callable[[Solution], Coefficients]

# Rows that settings left to the sample are chosen on.
SETTING_ROWS = 2000

# Functions up to which all weights of the squared loss are looked at in one pass.
MAX_SUMMED_FUNCTIONS = 2000


def by_blocks(method: Function) -> Function:
    """Let a method of new points take them from a source, block by block, or from Dask, lazily."""

    @functools.wraps(method)
    def streamed(self: Any, X: PointsLike) -> Any:
        if not is_source(X):
            local = getattr(self, "_local", None)
            return method(self, X) if local is None else local.evaluate(self, method.__name__, X)
        if not isinstance(X, Source):
            return plugin("dask").predict(self, X, method.__name__)
        _compare_names(self, X)
        local = getattr(self, "_local", None)
        rows = PREDICTED_ROWS if local is None else local.batch(X.n_features)
        with warnings.catch_warnings():
            # Blocks are arrays; the source has the names, and they were compared.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            return np.concatenate([streamed(self, block.X) for block in X.checked().blocks(rows)])

    return streamed


def _compare_names(machine: object, source: Source) -> None:
    """Refuse a source whose features have other names than those of the fit."""
    fitted, given = getattr(machine, "feature_names_in_", None), source.given_names
    if fitted is not None and given is not None and list(fitted) != list(given):
        raise ValueError(
            f"The feature names should match those that were passed during fit: "
            f"{', '.join(map(str, fitted))}; the source has {', '.join(map(str, given))}."
        )


@dataclass(frozen=True, eq=False)
class LowRankProblem:
    """What a machine minimizes over rows that come in blocks, and how its solution is read."""

    loss: Loss
    targets: Targets
    """What the problems see of a row."""
    factors: Array
    """Factors of C, one a problem."""
    width: VariableWidth | None = None
    """A margin or tube whose width is a variable."""
    read: Reader = read_coefficients
    """The way back from the solution of a problem."""


def irreducible(machine: object) -> ValueError:
    """Return the error of a machine that no sum over blocks of rows describes."""
    return ValueError(
        f"{type(machine).__name__} cannot be approximated: its problem is more than a sum of "
        "losses. Use SVC, SVR, QuantileSVR or LSSVR, whose parameters can be chosen by 'auto'."
    )


@dataclass(frozen=True)
class LowRankFit:
    """Fit a low-rank approximation of a machine, by passes over the rows."""

    warning: type[Warning]
    """Category of the warning that a fit stopped early."""

    def fit(
        self, machine: LowRankMachine, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike
    ) -> None:
        """Fit the machine to rows in memory, or to those of a source."""
        with fit_task(machine, 1, X, y, sample_weight) as context:
            self._fit(machine, X, y, sample_weight, context)
            machine._fit_extras(X, y, sample_weight)

    def _fit(
        self,
        machine: LowRankMachine,
        X: PointsLike,
        y: TargetsLike,
        sample_weight: WeightsLike,
        context: TaskContext,
    ) -> None:
        if (
            is_function(machine.kernel)
            or is_precomputed(machine.kernel)
            or compares_objects(machine.kernel)
        ):
            raise ValueError(
                "an approximation evaluates the kernel at new pairs of points; give a Kernel of "
                "numbers or its name, not a function, a matrix or objects."
            )
        how = machine._how()
        source, rows = machine._validate_blocks(X, y, sample_weight)
        m = how.largest if how.number == "auto" else int(how.number)
        size = max(how.pool_size, CURVATURE_ROWS_PER_FEATURE * (m + 8)) + COST_ROWS
        columns = 1 if rows.y is None or np.ndim(rows.y) == 1 else int(np.shape(rows.y)[1])

        def bar(name: str, total: int | None) -> Bar:
            return Bar(f"{type(machine).__name__}, {name}", total, show=bool(machine.verbose))

        able = isinstance(how, Nystrom) and how.number != "auto"
        passes = open_passes(
            source, how, m, columns, size, bar, low_memory=able and _minimizes_squares(machine)
        )
        census = take_census(passes, size, how.random_state, machine._labelled and rows.X is None)
        if not np.isfinite(census.variance):
            raise ValueError(OVERFLOW)
        if census.pool.y is None and not machine.__sklearn_tags__().target_tags.required:
            census = replace(census, pool=replace(census.pool, y=np.ones(len(census.pool.keys))))
        task, read, labels = prepare_reduced(machine, rows, census, self.warning)
        if passes.low_memory and (task.kernel.order or not task.loss.quadratic):
            # Fewer matrices do not do for kernels with polynomials of their own.
            raise ValueError(passes.refusal)
        found = _watched(machine, task, census, passes, how, context)
        machine.solution_ = found.solution
        machine.fit_status_ = int(found.solution.status is not Status.CONVERGED)
        _store(machine, found, read, census, labels)


def _minimizes_squares(machine: LowRankMachine) -> bool:
    """Answer whether the loss of a machine is known to be quadratic before its data are."""
    try:
        return bool(machine._loss().quadratic)
    except (AttributeError, TypeError, ValueError):  # it depends on the sample
        return False


def validate_blocks(
    machine: LowRankMachine, X: PointsLike, y: TargetsLike, s: Any
) -> tuple[Source, Rows]:
    """Return the rows as a source, and arrays, encoded targets and weights if they are at hand."""
    if is_source(X) or isinstance(X, np.memmap):
        source = as_source(X, y, s).checked()
        machine.n_features_in_ = source.n_features
        names = source.given_names
        machine.__dict__.pop("feature_names_in_", None)
        if names is not None:
            machine.feature_names_in_ = np.asarray(names, dtype=object)
        return source, Rows(None)
    X, y = validate_data(
        machine,
        X,
        y,
        dtype=[np.float64, np.float32],
        order="C",
        accept_sparse="csr",
        accept_large_sparse=False,
        **({"multi_output": True} if machine._several else {}),
    )
    y, _ = machine._encode(y)
    s = None if s is None else check_sample_weight(s, num_samples(X))
    return Arrays(X, y, s), Rows(X, y, s)


def prepare_reduced(
    machine: LowRankMachine, rows: Rows, census: Census, warning: type[Warning]
) -> tuple[Task, Reader, Any]:
    """Settle what depends on the data; return problems, the way back, and labels of the classes.

    Parameters
    ----------
    machine : KernelMachine
    rows : Rows
        Points, encoded targets and weights, if they are at hand.
    census : Census
    warning : type
        Of the warning that a fit stopped early.
    """
    if rows.X is None:
        labels = census.classes
        if labels is not None:
            machine._count_classes(labels, census.counts)
    else:
        labels = np.arange(len(machine.classes_)) if machine._labelled else None
    if census.pool.y is None:
        raise ValueError(
            f"{type(machine).__name__} requires y to be passed, but the target y is None."
        )
    if rows.X is None and not machine._labelled:
        machine._encode(census.pool.y)
    set_parameters_on(machine, rows, census, labels)
    problem: LowRankProblem = machine._low_rank_problem(rows, labels)
    task = Task(
        kernel=machine.kernel_,
        null_space=machine.null_space_,
        targets=problem.targets,
        loss=check_loss(problem.loss, census.n),
        C=machine._weight() * problem.factors,
        tol=machine.tol,
        max_iter=machine.max_iter,
        max_time=machine.max_time,
        warning=warning,
        walls=problem.width,
    )
    return task, problem.read, labels


def set_parameters_on(
    machine: LowRankMachine, rows: Rows, census: Census, labels: AnyArray | None
) -> None:
    """Settle kernel, unpenalized functions and what is left to the sample.

    Parameters
    ----------
    machine : KernelMachine
    rows : Rows
        Points, encoded targets and weights, if they are at hand.
    census : Census
    labels : array or None
        Classes.
    """
    pool = census.pool
    chosen = np.arange(min(SETTING_ROWS, len(pool.keys)))
    y = np.asarray(pool.y)[chosen]
    if labels is not None:
        y = np.searchsorted(labels, y)
    s = np.ones(len(chosen)) if pool.s is None else np.asarray(pool.s)[chosen]
    some = Rows(take(pool.X, chosen), y, s)
    machine._sparse = sp.issparse(pool.X)
    machine._X_fit, machine._kernel_fit = None, None
    machine.shape_fit_ = (census.n, pool.X.shape[1])
    gamma, seen = None, some
    if rows.X is not None:
        seen = replace(rows, weights=np.ones(len(rows.y)) if rows.weights is None else rows.weights)
    elif machine.gamma == "scale" and not machine.standardize:
        # That of all rows, as for an array, and not of those that were drawn.
        spread = census.variance * machine.n_features_in_
        gamma = 1.0 / spread if spread else 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        machine.kernel_ = machine._resolved(seen, gamma)
    if not machine.kernel_.positive_definite:
        machine._warn_if_indefinite(some.X)
    B = unpenalized_columns(machine, some.X, machine._null_space())
    if not left_to_sample(machine):
        machine._set_parameters(None)
        return
    K = Dense(np.asarray(machine.kernel_(some.X), dtype=np.float64))
    machine._choose_parameters(Sample(some.X, y, s, K=K, B=B))


def solve_reduced(
    machine: LowRankMachine, task: Task, census: Census, passes: Passes, how: Approximation
) -> Reduced:
    """Solve the problems that were declared.

    The weight of the squared loss that is left to the sample is chosen by generalized
    cross-validation over all rows, in the pass that solves the problem too.
    """
    if not (weight_is_free(machine) and task.loss.quadratic and np.ptp(task.C) == 0):
        return solve(task, census, passes, how)
    phi = choose_map(task, census, passes, how)
    if phi.r > MAX_SUMMED_FUNCTIONS or 32.0 * phi.r**2 > 0.25 * parse(how.memory_limit):
        return solve(task, census, passes, how, phi)
    equations = NormalEquations.gather(problem_of(task, phi, passes, how), passes)
    machine.C_ = equations.choose("gcv")
    task = replace(task, C=np.full(task.targets.k, machine.C_))
    return solve(task, census, passes, how, phi, equations.coefficients(machine.C_))


def _watched(
    machine: LowRankMachine,
    task: Task,
    census: Census,
    passes: Any,
    how: Approximation,
    context: TaskContext,
) -> Reduced:
    subtask = context.subcontext(task_name="reduced problem", max_subtasks=None)
    subtask.call_on_fit_task_begin(estimator=machine)
    with watched(machine, "", subtask, False) as listener:
        found: Reduced = machine._solve_reduced(
            replace(task, listener=listener), census, passes, how
        )
    subtask.call_on_fit_task_end(estimator=machine)
    return found


def _store(
    machine: LowRankMachine, found: Reduced, read: Reader, census: Census, labels: AnyArray | None
) -> None:
    """Make the machine of the coefficients of its functions."""
    k = found.A.shape[1]
    solutions = [replace(found.solution, a=found.A[:, j], b=found.b[:, j]) for j in range(k)]
    y = np.zeros(found.map.m, dtype=np.intp)
    if labels is not None and found.map.index is not None:
        centres = np.asarray(census.pool.y)[found.map.index]
        y = np.searchsorted(labels, centres)
    machine._last = (1.0, ())
    machine._functions = found.map if found.map.Z is None else None
    solved = [SolvedSubproblem(solution, *read(solution)) for solution in solutions]
    machine._assemble_reduced(found, Sample(found.points, y, K=None, B=found.b), solved)
    machine._kept = kept = machine.support_
    if found.index is not None:
        machine.support_ = np.asarray(found.index)[kept].astype(np.int64)
