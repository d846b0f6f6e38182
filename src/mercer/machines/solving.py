"""The problems of a machine solved one after the other or together, warm and watched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning as SklearnWarning

from mercer._linear_program import NoOptimumError
from mercer.machines.callbacks import Listener, TaskContext, watched
from mercer.machines.protocol import Solving
from mercer.machines.subproblems import Subproblem, SubproblemBatch
from mercer.problems.risk import RegularizedRisk
from mercer.solvers import ConvergenceWarning, Solution
from mercer.solvers.minimizing import minimize_all
from mercer.solvers.small import RiskBatch

__all__ = ["EarlyStop", "finite", "last_solution", "solve_subproblems"]


class EarlyStop(ConvergenceWarning, SklearnWarning):  # type: ignore[misc]
    """A fit stopped before its tolerance: caught as this library's warning or as scikit-learn's."""


@contextmanager
def finite() -> Iterator[None]:
    """Raise ValueError where a solver meets numbers that are not finite, or too large."""
    try:
        yield
    except (FloatingPointError, NoOptimumError) as error:
        raise ValueError(f"The dual coefficients or intercepts are not finite: {error}") from error


def solve_subproblems(
    machine: Solving, subproblems: Sequence[Subproblem], context: TaskContext
) -> Sequence[Solution]:
    """Solve the problems of a machine, telling whoever listens.

    A callback that stops after a problem ends those that are left at their first report,
    because a machine needs all of them.
    """
    stop, n = False, len(subproblems)

    @contextmanager
    def watch(k: int) -> Iterator[tuple[Solution | None, Listener | None]]:
        nonlocal stop
        title, risk, _ = subproblems[k]
        task = context.subcontext(task_name=title or "problem", max_subtasks=None)
        task.call_on_fit_task_begin(estimator=machine)
        with watched(machine, title, task, stop) as listener, finite():
            yield last_solution(machine, k, n, risk), listener
        stop |= bool(task.call_on_fit_task_end(estimator=machine))

    batch: RiskBatch | None = None
    risks: Sequence[RegularizedRisk]
    if isinstance(subproblems, SubproblemBatch):
        batch, risks = subproblems.parts, subproblems.risks
    else:
        risks = [one.risk for one in subproblems]
    heard = machine.warm_start or machine.verbose or bool(getattr(machine, "_skl_callbacks", None))
    return minimize_all(
        risks, machine._make_solver(), watch, batch=batch, quick=not heard, warning=EarlyStop
    )


def last_solution(
    machine: Solving, k: int, n_problems: int, risk: RegularizedRisk
) -> Solution | None:
    """Return the last solution of problem ``k`` if it can start this one and that is wanted.

    Coefficients grow in proportion to a new ``C``, which keeps those on their bounds there and
    the equality rows satisfied; unless the dual value is better where they are, as it is where
    few are on a bound.
    """
    weight, solutions = getattr(machine, "_last", (1.0, ()))
    if not machine.warm_start or len(solutions) != n_problems:
        return None
    last: Solution = solutions[k]
    ratio = machine._weight() / weight
    if last.a.shape != (risk.n,) or last.b.shape != (risk.q,):
        return None
    moved = replace(last, a=ratio * last.a, b=ratio * last.b, f=ratio * last.f)
    lower, upper = risk.box()
    if ratio <= 1.0 or not np.all((last.a >= lower) & (last.a <= upper)):
        return moved

    def value(start: Solution) -> float:
        # What is scaled may miss its bound by rounding.
        a = np.clip(start.a, lower, upper)
        return 0.5 * float(a @ (start.f - risk.B @ start.b)) + risk.conjugate(a)

    return min(moved, last, key=value)
