"""The one door to a solver: check the pairing, run it, certify the answer, say how it ended."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from mercer.problems.copied_samples import fold, unfold
from mercer.problems.risk import RegularizedRisk
from mercer.solvers.base import Answer, Solver
from mercer.solvers.certify import (
    MAX_EXTRA_ITERATIONS_RATIO,
    MAX_EXTRA_NUMBERS,
    MAX_TIGHTENINGS,
    certify,
    count_support,
    sharper,
)
from mercer.solvers.monitor import Monitor, Progress
from mercer.solvers.rounding import RELATIVE_ROUNDING, decision_error, rounding_of
from mercer.solvers.small import RiskBatch, minimize_batch, minimize_small
from mercer.solvers.solution import Solution
from mercer.solvers.status import MAX_RELATIVE_GAP, ConvergenceWarning, Status, is_met

__all__ = ["Watch", "alike", "minimize", "minimize_all", "minimize_together"]


Watch: TypeAlias = Callable[
    [int],
    AbstractContextManager[tuple[Solution | None, Callable[[Progress], object] | None]],
]


def minimize(
    risk: RegularizedRisk,
    solver: Solver,
    start: Solution | None = None,
    *,
    listener: Callable[[Progress], object] | None = None,
    warning: type[Warning] = ConvergenceWarning,
) -> Solution:
    """Minimize a regularized risk and certify the answer.

    Parameters
    ----------
    risk : RegularizedRisk
        The problem.
    solver : Solver
        How to minimize it.
    start : Solution, optional
        Coefficients to start from, of a problem over the same sample.
    listener : callable, optional
        Called with each :class:`Progress`; a true answer stops the solver.
    warning : type of Warning, default=ConvergenceWarning
        Category of the warning when the tolerance was not reached.

    Returns
    -------
    Solution
        The coefficients with objective, duality gap, violations, status and timings.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.losses import Squared
    >>> from mercer.problems import RegularizedRisk
    >>> from mercer.solvers import Direct, minimize
    >>> risk = RegularizedRisk(
    ...     Squared(), Dense(np.eye(2)), np.array([1.0, 3.0]), 1.0, np.ones((2, 1))
    ... )
    >>> solution = minimize(risk, Direct())
    >>> solution.b, solution.a, solution.gap < 1e-12
    (array([2.]), array([-0.5,  0.5]), True)
    """
    return minimize_together([risk], solver, [start], listeners=[listener], warning=warning)[0]


def minimize_together(
    risks: Sequence[RegularizedRisk],
    solver: Solver,
    starts: Sequence[Solution | None] | None = None,
    *,
    listeners: Sequence[Callable[[Progress], object] | None] | None = None,
    warning: type[Warning] = ConvergenceWarning,
) -> list[Solution]:
    """Minimize problems that differ in their targets only, and certify each answer.

    A squared loss is one factorization for all of them, or one space of conjugate gradients in
    which every product with K serves all.

    Parameters
    ----------
    risks : sequence of RegularizedRisk
        The problems; see :func:`alike`.
    solver : Solver
        How to minimize them.
    starts : sequence of Solution or None, optional
        As in :func:`minimize`, one for each.
    listeners : sequence of callables or None, optional
        As in :func:`minimize`, one for each; a true answer of one stops all.
    warning : type of Warning, default=ConvergenceWarning
        Category of the warning when the tolerance was not reached.

    Returns
    -------
    list of Solution
        Seconds are divided among them.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.losses import Squared
    >>> from mercer.problems import RegularizedRisk
    >>> from mercer.solvers import ConjugateGradient
    >>> from mercer.solvers.minimizing import minimize_together
    >>> K, Y = Dense(np.eye(2)), np.array([[2.0, 4.0], [6.0, 8.0]])
    >>> risks = [RegularizedRisk(Squared(), K, y, 1.0) for y in Y]
    >>> [solution.a for solution in minimize_together(risks, ConjugateGradient(tol=1e-9))]
    [array([1., 2.]), array([3., 4.])]
    """
    starts = [None] * len(risks) if starts is None else starts
    listeners = [None] * len(risks) if listeners is None else listeners
    copies = [unfold(risk) for risk in risks]
    if any(copy is not risk for copy, risk in zip(copies, risks, strict=True)):
        # The value of the copies is that of the sum, and so is every bound on it.
        found = minimize_together(copies, solver, listeners=listeners, warning=warning)
        return [_fold_solution(risk, solution) for risk, solution in zip(risks, found, strict=True)]
    chosen, reason = solver.choose(risks[0])
    for risk in risks:
        if missing := chosen.refuses(risk):
            raise ValueError(f"{type(chosen).__name__} cannot take this problem: {missing}")
    monitors = [Monitor(chosen.max_iter, chosen.max_time, listener) for listener in listeners]
    answers = chosen.solve_together(risks, starts, monitors)
    solutions = []
    for risk, monitor, answer in zip(risks, monitors, answers, strict=True):
        solution = _certify_tightly(risk, chosen, reason, monitor, answer, 1.0 / len(risks))
        last = chosen
        for other, why in solver.instead(chosen, solution, monitor.elapsed):
            try:
                last, solution = other, _go_on(risk, other, why, solution, monitor)
                break
            except (ValueError, FloatingPointError):
                continue
        if solution.status not in (Status.CONVERGED, Status.STOPPED):
            warnings.warn(_advice(risk, solution, last), warning, stacklevel=3)
        solutions.append(solution)
    return solutions


def minimize_all(
    risks: Sequence[RegularizedRisk],
    solver: Solver,
    watch: Watch,
    *,
    batch: RiskBatch | None = None,
    quick: bool = True,
    warning: type[Warning] = ConvergenceWarning,
) -> Sequence[Solution]:
    """Minimize the problems of a machine: in one compiled call, together, or one after the other.

    Small problems over one kernel matrix are a :class:`~mercer.solvers.small.RiskBatch` with a
    :class:`~mercer.solvers.small.SolutionBatch`; problems that differ in their targets only are
    minimized together where their solver is better so; whatever is left, and what a batch does not
    certify, goes through :func:`minimize`.

    Parameters
    ----------
    risks : sequence of RegularizedRisk
        The problems; of a batch, each is asked for only if it is left.
    solver : Solver
        How to minimize them.
    watch : callable
        Maps the number of a problem to a context, entered while it is minimized alone or together,
        that gives a solution to start from and a listener, or None for either.
    batch : RiskBatch, optional
        The same problems, laid end to end.
    quick : bool, default=True
        Whether nobody listens and nothing is known to start from, so that a batch may be solved.
    warning : type of Warning, default=ConvergenceWarning
        Category of the warning when the tolerance was not reached.
    """
    known: Sequence[Solution | None] = [None] * len(risks)
    if batch is not None:
        found = minimize_batch(batch, solver) if quick else None
        if found is not None and found.met.all():
            return found
        if found is not None:
            known = [found[k] if found.met[k] else None for k in range(len(risks))]
    elif len(risks) > 1 and alike(risks) and solver.choose(risks[0])[0].joint:
        with ExitStack() as stack:
            watched = [stack.enter_context(watch(k)) for k in range(len(risks))]
            starts, listeners = zip(*watched, strict=True)
            return minimize_together(risks, solver, starts, listeners=listeners, warning=warning)
    elif quick:
        known = minimize_small(risks, solver)
    solutions = []
    for k, solution in enumerate(known):
        if solution is None:
            with watch(k) as (start, listener):
                solution = minimize(risks[k], solver, start, listener=listener, warning=warning)
        solutions.append(solution)
    return solutions


def _go_on(
    risk: RegularizedRisk, solver: Solver, reason: str, start: Solution, before: Monitor
) -> Solution:
    """Go on from a solution with another solver, under the same listener."""
    monitor = Monitor(solver.max_iter, solver.max_time, before.listener)
    monitor.evaluations = before.evaluations
    found = _certify_tightly(risk, solver, reason, monitor, solver.solve(risk, start, monitor), 1.0)
    times = {key: found.times[key] + start.times[key] for key in found.times}
    return replace(found, times=times, history=start.history + found.history)


def alike(risks: Sequence[RegularizedRisk]) -> bool:
    """Answer whether problems differ in their targets only.

    Parameters
    ----------
    risks : sequence of RegularizedRisk
    """
    first = risks[0]
    return all(
        risk.K is first.K
        and (risk.loss is first.loss or risk.loss == first.loss)
        and np.array_equal(risk.c, first.c)
        and np.array_equal(risk.B, first.B)
        and np.array_equal(risk.d, first.d)
        for risk in risks[1:]
    )


def _certify_tightly(
    risk: RegularizedRisk,
    chosen: Solver,
    reason: str,
    monitor: Monitor,
    answer: Answer,
    share: float,
) -> Solution:
    """Certify an answer, and go on where its gap says little."""
    solution = certify(risk, chosen, reason, monitor, answer, share)
    return _tighten(risk, chosen, monitor, solution)


def _tighten(
    risk: RegularizedRisk, chosen: Solver, monitor: Monitor, solution: Solution
) -> Solution:
    """Lower the tolerance of an answer that meets it next to a gap that is not small.

    A violation of tol leaves a gap of up to tol times the sum of the weights c, which is much
    where an objective is small beside them: separable classes with a large C, small targets.
    """
    most = MAX_EXTRA_ITERATIONS_RATIO * solution.n_iter + int(MAX_EXTRA_NUMBERS / risk.n)
    tol = chosen.tol
    for _ in range(MAX_TIGHTENINGS):
        if solution.status is not Status.LOOSE or monitor.status is not None:
            break
        if rounding_of(risk, solution) > 0.5 * solution.gap:
            break  # which no tolerance lowers
        tol *= float(sharper(solution.objective, solution.gap))
        rest = monitor.rest(solution.n_iter, most)
        strict = replace(chosen, tol=tol)
        try:
            answer = strict.solve(risk, solution, rest)
            found = certify(risk, strict, solution.reason, rest, answer, 1.0)
        except (FloatingPointError, np.linalg.LinAlgError):
            break  # floating point goes no further
        monitor.follow(rest, solution.n_iter)
        met = is_met(found.violation, found.residual, chosen.tol)
        better = met and found.gap < solution.gap
        kept = replace(found, status=Status.CONVERGED) if better else solution
        solution = replace(
            kept,
            status=kept.status if monitor.status is not Status.STOPPED else Status.STOPPED,
            n_iter=solution.n_iter + found.n_iter,
            times={key: solution.times[key] + found.times[key] for key in solution.times},
            history=tuple(monitor.history),
            evaluations=solution.evaluations + found.evaluations,
        )
        if rest.status is not None or (found.status is Status.STALLED and not better):
            break  # no budget, nobody who wants more, or no further digits
    return solution


def _fold_solution(risk: RegularizedRisk, solution: Solution) -> Solution:
    """Return the solution of a problem from the solution of its copies."""
    a = fold(risk, solution.a)
    n_free, n_bound = count_support(risk, a)
    terms = solution.terms
    if terms is not None:
        terms = terms._replace(weights=np.array([float(np.sum(risk.c))]))
    return replace(
        solution,
        a=a,
        f=solution.f[: risk.n],
        n_free=n_free,
        n_bound=n_bound,
        terms=terms,
        samples=None,
        n_samples=None,
    )


def _advice(risk: RegularizedRisk, solution: Solution, solver: Solver) -> str:
    s = solution
    rounding = rounding_of(risk, s)
    if s.status is Status.LOOSE and rounding > 0.5 * s.gap:
        error = float(np.max(decision_error(risk, s.a, s.b, s.f)))
        return (
            f"{s.solver} meets tol={solver.tol:.2e}, but double precision cannot tell how good the "
            f"answer is: decision values are known to {error:.1e}, and weights "
            f"C * sample_weight of up to {np.max(risk.c):.1e} make that {rounding:.1e} beside the "
            f"objective {s.objective:.6g} (duality gap {s.gap:.2e}). Lower C or the weights."
        )
    if s.status is Status.LOOSE:
        return (
            f"{s.solver} meets tol={solver.tol:.2e}, but the duality gap {s.gap:.2e} is "
            f"{s.relative_gap:.2g} times the objective {s.objective:.6g}, more than "
            f"{MAX_RELATIVE_GAP:g}. Scale the targets and inputs (StandardScaler, MinMaxScaler), "
            "lower C or lower tol."
        )
    told = (
        f"Solver terminated early ({s.solver}: {s.status.value} after "
        f"{s.n_iter} iterations). Duality gap {s.gap:.2e} at objective "
        f"{s.objective:.6g}, violation {s.violation:.2e} against tol={solver.tol:.2e}. "
    )
    size = risk.size(s.a, s.b, s.f)
    rounding = RELATIVE_ROUNDING * size
    if s.status is Status.STALLED and rounding > 0.1 * solver.tol:
        return told + (
            f"Rounding errors of the decision values are about {rounding:.1e} here, because "
            f"targets or terms of the expansion are up to {size:.1e}: no solver gets much below. "
            f"Subtract the mean from the targets and scale them, lower C, or ask for "
            f"tol={10 ** np.ceil(np.log10(2 * rounding)):.0e}."
        )
    remedy = {
        Status.MAX_ITER: f"Raise max_iter={solver.max_iter}, or",
        # The limit may be that of the whole fit.
        Status.MAX_TIME: f"Raise max_time={solver.max_time or ''}, or".replace("=,", ","),
    }.get(s.status, "You may want to")
    return told + (
        f"{remedy} scale the inputs (StandardScaler, MinMaxScaler), lower C or loosen tol."
    )
