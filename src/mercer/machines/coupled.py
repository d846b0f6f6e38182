"""Classes that are one problem under the softmax loss: posed, solved, warm and watched."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from mercer._typing import Array, PointsLike
from mercer.data.opening import is_source
from mercer.machines.callbacks import TaskContext, watched
from mercer.machines.solving import EarlyStop, finite
from mercer.machines.subproblems import Sample, Subproblem
from mercer.problems.multinomial import MultinomialRisk
from mercer.solvers import Solution
from mercer.solvers.coupled_newton import CoupledNewton
from mercer.solvers.status import Status

__all__ = ["pose_coupled", "refuse_uncoupled", "solve_coupled"]


def refuse_uncoupled(machine: Any, X: PointsLike) -> None:
    """Refuse settings that only machines of one class against the rest follow."""
    name = type(machine).__name__
    if machine.approximation is not None or is_source(X):
        raise ValueError(
            f"{name}(multi_class='multinomial') is fitted to all rows in memory, without an "
            "approximation. Fit fewer rows, or multi_class='ovr' with approximation=Nystrom(2000)."
        )
    if machine.solver not in ("auto", "newton"):
        raise ValueError(
            f"{name}(multi_class='multinomial') is solved by Newton's method: give solver='auto', "
            f"not {machine.solver!r}."
        )


def pose_coupled(machine: Any, sample: Sample) -> Subproblem:
    """Return the problem of all classes."""
    c = np.asarray(machine._weight() * sample.weights)
    labels: Any = sample.y
    return Subproblem("", MultinomialRisk(sample.K, labels, len(machine.classes_), c, sample.B))


def solve_coupled(machine: Any, subproblem: Subproblem, context: TaskContext) -> Solution:
    """Solve the problem of all classes, telling whoever listens."""
    risk = subproblem.risk
    solver = CoupledNewton(machine.tol, machine.max_iter, machine.max_time)
    task = context.subcontext(task_name="problem", max_subtasks=None)
    task.call_on_fit_task_begin(estimator=machine)
    with watched(machine, "", task, False) as listener, finite():
        found = solver.minimize(risk, _start(machine, risk), listener)
    task.call_on_fit_task_end(estimator=machine)
    if found.status not in (Status.CONVERGED, Status.STOPPED):
        warnings.warn(
            f"Solver terminated early ({found.status.value}) after {found.n_iter} iterations. "
            f"Duality gap {found.gap:.2e} at objective {found.objective:.6g}. Raise max_iter or "
            "max_time, scale the inputs (StandardScaler, MinMaxScaler), or lower C.",
            EarlyStop,
            stacklevel=6,
        )
    return found


def _start(machine: Any, risk: MultinomialRisk) -> tuple[Array, Array] | None:
    """Return the last solution, if it can start this one and that is wanted.

    Coefficients in proportion to C are those of the same probabilities, a point of the dual again.
    """
    weight, solutions = getattr(machine, "_last", (1.0, []))
    if not machine.warm_start or len(solutions) != 1:
        return None
    (last,) = solutions
    a, b = last.a, last.b
    if a.shape != (risk.n * risk.k,) or b.shape != (risk.q * risk.k,):
        return None
    return machine._weight() / weight * a.reshape(risk.k, -1).T, b.reshape(risk.k, -1).T
