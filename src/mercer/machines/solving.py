"""The problems of a machine solved one after the other or together, warm and watched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning as SklearnWarning

from mercer.machines.callbacks import watched
from mercer.machines.subproblems import Subproblem, SubproblemBatch
from mercer.problems.risk import RegularizedRisk
from mercer.solvers import ConvergenceWarning, Solution, Solver, minimize
from mercer.solvers.base import alike, minimize_together
from mercer.solvers.small import minimize_batch, minimize_small

__all__ = ["EarlyStop", "finite", "solve_subproblems"]


class EarlyStop(ConvergenceWarning, SklearnWarning):  # type: ignore[misc]
    """A fit stopped before its tolerance: caught as this library's warning or as scikit-learn's."""


@contextmanager
def finite() -> Iterator[None]:
    """Refuse data on which a solver meets numbers that are not finite."""
    try:
        yield
    except FloatingPointError as error:
        raise ValueError(f"The dual coefficients or intercepts are not finite: {error}") from error


def solve_subproblems(
    machine: Any, subproblems: Sequence[Subproblem], context: Any
) -> Sequence[Solution]:
    """Solve the problems of a machine one after the other, telling whoever listens.

    Small ones are solved together first, where nobody does; what is left comes in turn.

    A callback that stops after a problem ends those that are left at their first report,
    because a machine needs all of them.
    """
    solver, stop, solutions = machine._make_solver(), False, []
    alone = machine.warm_start or machine.verbose or bool(getattr(machine, "_skl_callbacks", None))
    quick: list[Solution | None] = [None] * len(subproblems)
    if isinstance(subproblems, SubproblemBatch):
        found = None if alone else minimize_batch(subproblems.parts, solver)
        if found is not None and found.met.all():
            return found
        if found is not None:
            quick = [found[k] if found.met[k] else None for k in range(len(subproblems))]
    else:
        risks = [one.risk for one in subproblems]
        if len(risks) > 1 and alike(risks) and solver.choose(risks[0])[0].joint:
            return _solve_together(machine, subproblems, solver, context)
        quick = quick if alone else minimize_small(risks, solver)
    for k in range(len(subproblems)):
        if (known := quick[k]) is not None:
            solutions.append(known)
            continue
        title, risk, _ = subproblems[k]
        task = context.subcontext(task_name=title or "problem", max_subtasks=None)
        task.call_on_fit_task_begin(estimator=machine)
        with watched(machine, title, task, stop) as listener, finite():
            solution = minimize(
                risk,
                solver,
                _start(machine, k, len(subproblems), risk),
                listener=listener,
                warning=EarlyStop,
            )
        solutions.append(solution)
        stop |= bool(task.call_on_fit_task_end(estimator=machine))
    return solutions


def _solve_together(
    machine: Any, subproblems: Sequence[Subproblem], solver: Solver, context: Any
) -> list[Solution]:
    """Solve problems that differ in their targets only at the price of one, or little more."""
    titles, risks, _ = zip(*subproblems, strict=True)
    tasks = [context.subcontext(task_name=title, max_subtasks=None) for title in titles]
    with ExitStack() as stack:
        listeners = []
        for title, task in zip(titles, tasks, strict=True):
            task.call_on_fit_task_begin(estimator=machine)
            listeners.append(stack.enter_context(watched(machine, title, task, False)))
        stack.enter_context(finite())
        solutions = minimize_together(
            risks,
            solver,
            [_start(machine, k, len(risks), risk) for k, risk in enumerate(risks)],
            listeners=listeners,
            warning=EarlyStop,
        )
    for task in tasks:
        task.call_on_fit_task_end(estimator=machine)
    return solutions


def _start(machine: Any, k: int, n_problems: int, risk: RegularizedRisk) -> Solution | None:
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
