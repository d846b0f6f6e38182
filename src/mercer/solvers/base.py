"""The one door to a solver: check the pairing, run it, certify the answer, say how it ended."""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer._params import Params
from mercer._patience import time_left
from mercer.losses.base import Array
from mercer.problems.fallback import pull_back
from mercer.problems.intercept import centre_intercepts
from mercer.problems.risk import Certificate, RegularizedRisk
from mercer.problems.several import fold, unfold
from mercer.solvers.status import LOOSE, ConvergenceWarning, Status, check, relative_gap

__all__ = [
    "ConvergenceWarning",
    "Monitor",
    "Progress",
    "Solution",
    "Solver",
    "Status",
    "Terms",
    "alike",
    "join",
    "minimize",
    "minimize_together",
]

# The one support-vector threshold: a coefficient smaller than this fraction of its box (of the
# largest coefficient where the box is infinite) is zero, one as close to the box is on it.
SUPPORT = 1e-12

# The equality rows hold to rounding at an answer: sums of n terms, none of them large.
RESIDUAL = 1e-9

# Entries of a solver's product that are computed again, and by what part of the tolerance they may
# differ, beyond the error that the solver admits, for the product to be believed.
CHECKED, CHECK = 64, 0.25

# How often the tolerance is lowered where it is met next to a gap that is not small. That may take
# so many times the iterations so far, and as many of n numbers each as a tenth of a second does:
# enough for separable classes and small targets, and an end where problems are stiff.
ROUNDS, EXTRA, NUMBERS = 4, 10, 3e7

# Rounding errors up to which a decision value is known.
ROUNDED = 64 * float(np.finfo(np.float64).eps)

# An objective below this part of the losses of a constant counts as that part.
NOTHING = 1e-6


@dataclass(frozen=True)
class Progress:
    """One line of a solver's report.

    Parameters
    ----------
    iteration : int
        Iterations so far, in the solver's own unit.
    objective : float
        Value of the regularized risk.
    gap : float
        Duality gap, or an upper estimate of it; nan where the solver has none yet.
    violation : float
        Largest violation of an optimality condition.
    elapsed : float
        Seconds since the solver started.
    """

    iteration: int
    objective: float
    gap: float
    violation: float
    elapsed: float


class Monitor:
    """What a solver reports to, and what tells it to stop: clock, budget and listener in one.

    Parameters
    ----------
    max_iter : int, default=-1
        Largest number of iterations, -1 for no limit.
    max_time : float, optional
        Largest number of seconds; fewer if a deadline around it comes first.
    listener : callable, optional
        Called with each :class:`Progress`; a true answer stops the solver.

    Attributes
    ----------
    evaluations : int
        Kernel values that were computed.
    certified : float
        Seconds of the solver that its certificate takes.
    """

    def __init__(
        self,
        max_iter: int = -1,
        max_time: float | None = None,
        listener: Callable[[Progress], object] | None = None,
    ) -> None:
        self.max_iter = max_iter
        left = time_left()
        self.max_time = left if max_time is None else min(max_time, left)
        self.listener = listener
        self.history: list[Progress] = []
        self.status: Status | None = None
        self.evaluations = 0
        self.certified = 0.0
        self._start = time.perf_counter()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._start

    def left(self, done: int, at_most: int) -> int:
        """Return how many of ``at_most`` further iterations the budget allows after ``done``."""
        return at_most if self.max_iter < 0 else max(0, min(at_most, self.max_iter - done))

    def spent(self, done: int) -> bool:
        """Answer whether iterations or time are used up after ``done`` iterations."""
        late = self.elapsed >= self.max_time
        return late or not self.left(done, 1)

    def report(
        self, iteration: int, objective: float, gap: float = np.nan, violation: float = np.nan
    ) -> bool:
        """Record one line and answer whether the solver has to stop now."""
        progress = Progress(iteration, objective, gap, violation, self.elapsed)
        self.history.append(progress)
        if self.listener is not None and self.listener(progress):
            self.status = Status.STOPPED
        elif 0 <= self.max_iter <= iteration:
            self.status = Status.MAX_ITER
        elif progress.elapsed >= self.max_time:
            self.status = Status.MAX_TIME
        return self.status is not None

    def rest(self, done: int, at_most: int) -> Monitor:
        """Return the monitor of a search that goes on after ``done`` iterations."""
        seconds = max(self.max_time - self.elapsed, 0.0)
        before, listener = self.elapsed, self.listener

        def told(line: Progress) -> object:
            return listener and listener(_after(line, done, before))

        return Monitor(self.left(done, at_most), seconds, told)

    def follow(self, rest: Monitor, done: int) -> None:
        """Take over what a search that went on after ``done`` iterations has reported."""
        before = rest._start - self._start
        self.history += [_after(line, done, before) for line in rest.history]
        self.status = rest.status if rest.status is Status.STOPPED else self.status


def _after(line: Progress, done: int, before: float) -> Progress:
    return replace(line, iteration=line.iteration + done, elapsed=line.elapsed + before)


class Terms(NamedTuple):
    r"""The objectives of one or several problems, term by term.

    Parameters
    ----------
    penalties : ndarray of shape (k,)
        :math:`Q = \tfrac12 a'Ka`, half the squared norm of the expansion.
    losses : ndarray of shape (k,)
        :math:`\sum_i c_i l(y_i, f_i)`.
    weights : ndarray of shape (k,)
        :math:`\sum_i c_i`; nan where it is not known.
    """

    penalties: Array
    losses: Array
    weights: Array


@dataclass(frozen=True)
class Solution:
    """A minimizer with its certificate.

    Parameters
    ----------
    a, b : ndarray of shape (n,) and (q,)
        Coefficients of the expansion and of the unpenalized columns.
    objective, dual : float
        Value of the regularized risk, and the lower bound that duality proves for it.
    gap : float
        Duality gap, measured from scratch at ``(a, b)``. Of an approximated machine it is that of
        the reduced problem; see ``total_gap`` of
        :class:`~mercer.reduced.solve.ReducedSolution` for the whole one.
    violation, residual : float
        Largest violation of an optimality condition and of ``B'a = d``.
    status : Status
        How the solver ended.
    n_iter : int
        Iterations, in the solver's own unit.
    solver, reason : str
        Which solver ran, and why it was picked.
    times : dict
        Seconds spent in ``solve`` and ``certify``; the latter with products in float64 that a
        solver in float32 needs for its certificate.
    history : tuple of Progress
        The solver's report, line by line.
    f : ndarray of shape (n,)
        Decision values of the sample.
    n_free, n_bound : int
        Coefficients inside their bounds and on them, those that are zero apart.
    evaluations : int
        Kernel values that decomposition asked for; zero for solvers that take the matrix whole.
    b_interval : ndarray of shape (q, 2), optional
        Smallest and largest optimal value of each entry of ``b`` while the others stay.
    terms : Terms, optional
        Penalty, losses and weights, of each problem.
    resolution : float
        Gap that counts as none (rounding, or nothing beside the losses of a constant), measured
        where the gap is large beside the objective.

    Notes
    -----
    A solution is never converged next to a gap that is not finite, or that is more than a
    hundredth of the objective: :func:`mercer.solvers.status.check` is asked when it is made.
    """

    a: Array
    b: Array
    objective: float
    dual: float
    gap: float
    violation: float
    residual: float
    status: Status
    n_iter: int
    solver: str
    reason: str
    f: Array
    times: dict[str, float] = field(default_factory=dict)
    history: tuple[Progress, ...] = ()
    n_free: int = 0
    n_bound: int = 0
    evaluations: int = 0
    b_interval: Array | None = None
    terms: Terms | None = None
    resolution: float = 0.0

    def __post_init__(self) -> None:
        status = check(self.status, self.objective, self.dual, self.gap, self.resolution)
        object.__setattr__(self, "status", status)

    @property
    def support(self) -> NDArray[np.intp]:
        """Indices of the non-zero coefficients."""
        return np.flatnonzero(self.a)

    @property
    def relative_gap(self) -> float:
        """Gap divided by the larger magnitude of objective and dual value."""
        return relative_gap(self.objective, self.dual, self.gap)

    @property
    def significant_figures(self) -> float:
        r"""Digits of the objective that are certain, :math:`-\log_{10}(gap / (1 + |objective|))`.

        The published stopping rule, whose one counts digits after the point where the objective is
        small; `relative_gap` has no such unit.
        """
        part = self.gap / (1.0 + abs(self.objective))
        return float(-np.log10(max(part, np.finfo(float).eps)))

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self.status is Status.CONVERGED


def join(solutions: Sequence[Solution]) -> Solution:
    """Return the solution of independent problems taken together.

    Objectives, bounds, gaps, iterations and times add up; violations and residuals are the largest,
    and the status is the worst. The only solution of one problem is returned as it is.
    """
    if len(solutions) == 1:
        return solutions[0]
    worst = next((s for s in solutions if not s.converged), solutions[0])
    intervals = [s.b_interval for s in solutions if s.b_interval is not None]
    terms = [s.terms for s in solutions if s.terms is not None]
    return Solution(
        a=np.concatenate([s.a for s in solutions]),
        b=np.concatenate([s.b for s in solutions]),
        objective=sum(s.objective for s in solutions),
        dual=sum(s.dual for s in solutions),
        gap=sum(s.gap for s in solutions),
        violation=max(s.violation for s in solutions),
        residual=max(s.residual for s in solutions),
        status=worst.status,
        n_iter=sum(s.n_iter for s in solutions),
        solver=worst.solver,
        reason=worst.reason,
        f=np.concatenate([s.f for s in solutions]),
        times={key: sum(s.times[key] for s in solutions) for key in worst.times},
        history=tuple(progress for s in solutions for progress in s.history),
        n_free=sum(s.n_free for s in solutions),
        n_bound=sum(s.n_bound for s in solutions),
        evaluations=sum(s.evaluations for s in solutions),
        b_interval=np.concatenate(intervals) if len(intervals) == len(solutions) else None,
        terms=(
            Terms(*(np.concatenate(column) for column in zip(*terms, strict=True)))
            if len(terms) == len(solutions)
            else None
        ),
        # Gaps that are small one by one are small together.
        resolution=sum(s.gap if s.converged else s.resolution for s in solutions),
    )


@dataclass(frozen=True)
class Answer:
    """What a solver hands to :func:`minimize`, which judges it.

    Parameters
    ----------
    a, b : ndarray of shape (n,) and (q,)
        Coefficients.
    n_iter : int
        Iterations.
    Ka : ndarray of shape (n,), optional
        The product that the solver kept up to date; believed where it passes a check.
    error : ndarray of shape (n,), optional
        Proved bound on the error of each entry of the product, where it is more than the rounding
        of float64; the certificate takes the worst case.
    """

    a: Array
    b: Array
    n_iter: int
    Ka: Array | None = None
    error: Array | None = None


@dataclass(eq=False)
class Solver(Params, ABC):
    """Settings of a minimization method; no state between calls.

    Parameters
    ----------
    tol : float, default=1e-3
        Largest violation of an optimality condition at the answer: how far a decision value may be
        from where its coefficient says it should be (for losses without quadratic dual, how far the
        slope may be). The same for every solver.
    max_iter : int, default=-1
        Largest number of iterations, -1 for no limit.
    max_time : float, optional
        Largest number of seconds.
    """

    tol: float = 1e-3
    max_iter: int = -1
    max_time: float | None = None

    @abstractmethod
    def refuses(self, risk: RegularizedRisk) -> str:
        """Say what is missing for this solver to take the problem; empty if nothing is."""

    @abstractmethod
    def solve(self, risk: RegularizedRisk, start: Solution | None, monitor: Monitor) -> Answer:
        """Minimize; called by :func:`minimize` only."""

    def solve_together(
        self,
        risks: Sequence[RegularizedRisk],
        starts: Sequence[Solution | None],
        monitors: Sequence[Monitor],
    ) -> list[Answer]:
        """Minimize problems that differ in their targets only; here one after the other."""
        return [self.solve(*problem) for problem in zip(risks, starts, monitors, strict=True)]

    @property
    def joint(self) -> bool:
        """Whether problems that differ in their targets only are better solved together."""
        return False

    def accepts(self, risk: RegularizedRisk) -> bool:
        """Answer whether this solver takes the problem."""
        return not self.refuses(risk)

    def choose(self, risk: RegularizedRisk) -> tuple[Solver, str]:
        """Return the solver to run and why; itself unless it is a chooser."""
        return self, "asked for"

    def instead(self, chosen: Solver, found: Solution, elapsed: float) -> list[tuple[Solver, str]]:
        """Return solvers to go on with after the chosen one, and why; none unless a chooser's."""
        return []


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
    >>> from mercer.solvers import ConjugateGradient, minimize_together
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
        return [_folded(risk, solution) for risk, solution in zip(risks, found, strict=True)]
    chosen, reason = solver.choose(risks[0])
    for risk in risks:
        if missing := chosen.refuses(risk):
            raise ValueError(f"{type(chosen).__name__} cannot take this problem: {missing}")
    monitors = [Monitor(chosen.max_iter, chosen.max_time, listener) for listener in listeners]
    answers = chosen.solve_together(risks, starts, monitors)
    solutions = []
    for risk, monitor, answer in zip(risks, monitors, answers, strict=True):
        solution = _judged(risk, chosen, reason, monitor, answer, 1.0 / len(risks))
        last = chosen
        for other, why in solver.instead(chosen, solution, monitor.elapsed):
            try:
                last, solution = other, _taken_over(risk, other, why, solution, monitor)
                break
            except (ValueError, FloatingPointError):
                continue
        if solution.status not in (Status.CONVERGED, Status.STOPPED):
            warnings.warn(_advice(risk, solution, last), warning, stacklevel=3)
        solutions.append(solution)
    return solutions


def _taken_over(
    risk: RegularizedRisk, solver: Solver, reason: str, start: Solution, before: Monitor
) -> Solution:
    """Go on from a solution with another solver, under the same listener."""
    monitor = Monitor(solver.max_iter, solver.max_time, before.listener)
    monitor.evaluations = before.evaluations
    found = _judged(risk, solver, reason, monitor, solver.solve(risk, start, monitor), 1.0)
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


def _judged(
    risk: RegularizedRisk,
    chosen: Solver,
    reason: str,
    monitor: Monitor,
    answer: Answer,
    share: float,
) -> Solution:
    """Certify an answer, and go on where its gap says little."""
    solution = _certified(risk, chosen, reason, monitor, answer, share)
    return _tightened(risk, chosen, monitor, solution)


def _certified(
    risk: RegularizedRisk,
    chosen: Solver,
    reason: str,
    monitor: Monitor,
    answer: Answer,
    share: float,
) -> Solution:
    """Measure an answer."""
    if not (np.all(np.isfinite(answer.a)) and np.all(np.isfinite(answer.b))):
        raise FloatingPointError(
            f"{type(chosen).__name__} returned coefficients that are not finite; the data may "
            "contain very large values: scale the inputs and targets, or lower C"
        )
    solved = monitor.elapsed
    a = settle(risk, answer.a)
    Ka, error = answer.Ka, answer.error
    if Ka is None or not believed(risk, answer, chosen.tol):
        Ka, error = risk.K.matvec(a), None
    b, interval = centre_intercepts(risk, a, answer.b, Ka)
    certificate = risk.certificate(a, b, Ka, error)
    if error is not None and _status(certificate, monitor, chosen.tol) is not Status.CONVERGED:
        # Not a word about the worst case where the truth is one product away.
        Ka = risk.K.product(a, np.arange(risk.n))
        b, interval = centre_intercepts(risk, a, answer.b, Ka)
        certificate = risk.certificate(a, b, Ka)
    if _status(certificate, monitor, chosen.tol) is not Status.CONVERGED:
        a, b, Ka = pull_back(risk, a, b, Ka, certificate.primal)
        interval = np.column_stack([b, b])
        certificate = risk.certificate(a, b, Ka)
    if not monitor.history or monitor.history[-1].iteration != answer.n_iter:
        monitor.report(answer.n_iter, certificate.primal, certificate.gap, certificate.violation)
    status = _status(certificate, monitor, chosen.tol)
    n_free, n_bound = _support(risk, a)
    if not np.isfinite(certificate.primal):
        raise FloatingPointError(
            f"the objective of the answer of {type(chosen).__name__} is {certificate.primal}, "
            "beyond the range of floating point: scale the targets and inputs, or lower C"
        )
    values = certificate.primal, certificate.dual, certificate.gap
    loose = check(status, *values) is Status.LOOSE
    return Solution(
        a=a,
        b=b,
        objective=certificate.primal,
        dual=certificate.dual,
        gap=certificate.gap,
        violation=certificate.violation,
        residual=certificate.residual,
        status=status,
        n_iter=answer.n_iter,
        solver=type(chosen).__name__,
        reason=reason,
        f=certificate.f,
        times={
            "solve": share * (solved - monitor.certified),
            "certify": monitor.elapsed - solved + monitor.certified,
        },
        history=tuple(monitor.history),
        n_free=n_free,
        n_bound=n_bound,
        evaluations=monitor.evaluations,
        b_interval=interval,
        terms=Terms(
            penalties=np.array([0.5 * float(a @ (certificate.f - risk.B @ b))]),
            losses=np.array([risk.risk(certificate.f)]),
            weights=np.array([float(np.sum(risk.c))]),
        ),
        resolution=_resolution(risk, a, b, certificate.f) if loose else 0.0,
    )


def _resolution(risk: RegularizedRisk, a: Array, b: Array, f: Array) -> float:
    """Return a gap that is nothing beside what the problem is about.

    That is what rounding of decision values and targets can cause: constant targets, or a single
    class, leave an objective that is nothing else. And it is a part of the losses of a constant
    (of the price of a width, if there is one), where the optimum explains all but a millionth of
    them.
    """
    delta = ROUNDED * risk.size(a, b, f)
    lower, upper = risk.box()
    slopes = np.where(np.isfinite(upper - lower), upper - lower, np.abs(a))
    value = risk.terms.value
    with np.errstate(over="ignore", invalid="ignore"):
        moved = np.maximum(value(f + delta), value(f - delta)) - value(f)
        rounding = float(np.sum(moved + np.abs(a) * delta + ROUNDED * slopes * np.abs(risk.y)))
        losses = float(np.sum(np.abs(value(np.full(risk.n, np.mean(risk.y))))))
    price = float(np.sum(np.abs(risk.d)))
    width = 0.5 * price**2 * float(np.max(risk.K.diag())) if price else 0.0
    return float(np.nan_to_num(rounding + LOOSE * NOTHING * (losses + width), posinf=0.0))


def _tightened(
    risk: RegularizedRisk, chosen: Solver, monitor: Monitor, solution: Solution
) -> Solution:
    """Lower the tolerance of an answer that meets it next to a gap that is not small.

    A violation of tol leaves a gap of up to tol times the sum of the weights c, which is much
    where an objective is small beside them: separable classes with a large C, small targets.
    """
    tol, most = chosen.tol, EXTRA * solution.n_iter + int(NUMBERS / risk.n)
    for _ in range(ROUNDS):
        if solution.status is not Status.LOOSE or monitor.status is not None:
            break
        tol *= float(np.clip(0.3 * LOOSE * abs(solution.objective) / solution.gap, 1e-6, 0.3))
        rest = monitor.rest(solution.n_iter, most)
        sharper = replace(chosen, tol=tol)
        try:
            answer = sharper.solve(risk, solution, rest)
            found = _certified(risk, sharper, solution.reason, rest, answer, 1.0)
        except (FloatingPointError, np.linalg.LinAlgError):
            break  # floating point goes no further
        monitor.follow(rest, solution.n_iter)
        met = found.violation <= chosen.tol and found.residual <= RESIDUAL
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
        if rest.status is not None:
            break  # no budget, or nobody who wants more
    return solution


def _support(risk: RegularizedRisk, a: Array) -> tuple[int, int]:
    """Count the coefficients inside their bounds and on them."""
    lower, upper = risk.box()
    n, n_bound = np.count_nonzero(a), np.count_nonzero((a != 0) & ((a <= lower) | (a >= upper)))
    return int(n - n_bound), int(n_bound)


def _folded(risk: RegularizedRisk, solution: Solution) -> Solution:
    """Return the solution of a problem from that of its copies."""
    a = fold(risk, solution.a)
    n_free, n_bound = _support(risk, a)
    terms = solution.terms
    if terms is not None:
        terms = terms._replace(weights=np.array([float(np.sum(risk.c))]))
    return replace(
        solution, a=a, f=solution.f[: risk.n], n_free=n_free, n_bound=n_bound, terms=terms
    )


def believed(risk: RegularizedRisk, answer: Answer, tol: float) -> bool:
    """Answer whether exact entries of ``Ka``, drawn at random, agree with a solver's.

    This is about mistakes, not about rounding: a solver that says how far its product may be off
    is taken at its word, and one that says nothing vouches for float64.
    """
    if answer.Ka is None:
        return False
    some = _drawn(risk.n)
    support = np.flatnonzero(answer.a)
    exact = risk.K.block(some, support).astype(np.float64, copy=False) @ answer.a[support]
    off = np.abs(exact - answer.Ka[some])
    if answer.error is not None:
        off = np.maximum(off - answer.error[some], 0.0)
    return bool(np.max(off, initial=0.0) <= CHECK * tol)


@lru_cache(maxsize=64)
def _drawn(n: int) -> NDArray[np.intp]:
    """Return the samples out of n at which products are checked."""
    some = np.random.default_rng(n).permutation(n)[:CHECKED]
    some.flags.writeable = False
    return some


def settle(risk: RegularizedRisk, a: Array) -> Array:
    """Put coefficients within the support threshold on zero or on their box, and restore B'a = d.

    The certificate is measured afterwards, so that nothing hides behind the rounding done here.
    """
    lower, upper = risk.box()
    width = upper - lower
    if not np.all(np.isfinite(width)):
        width = np.where(np.isfinite(width), width, np.max(np.abs(a)))
    near = SUPPORT * width
    a = np.minimum(np.maximum(a, lower), upper)
    a = np.where(np.abs(a) <= near, 0.0, a)
    a = np.where(a <= lower + near, lower, np.where(a >= upper - near, upper, a))
    if risk.residual(a) > 0:
        # The least change, scaled by each coefficient's own room, that meets the equality rows.
        room = np.minimum(np.minimum(a - lower, upper - a), np.abs(a))
        if np.any(room):
            room = room / np.max(room)
            missing = risk.d - risk.B.T @ a
            normal = np.linalg.lstsq((risk.B * room[:, None]).T @ risk.B, missing, rcond=None)[0]
            a = np.clip(a + room * (risk.B @ normal), lower, upper)
    return a + 0.0  # no negative zeros


def _status(certificate: Certificate, monitor: Monitor, tol: float) -> Status:
    """Believe the certificate first, then the monitor."""
    if certificate.violation <= tol and certificate.residual <= RESIDUAL:
        return Status.CONVERGED
    return monitor.status or Status.STALLED


def _advice(risk: RegularizedRisk, solution: Solution, solver: Solver) -> str:
    s = solution
    if s.status is Status.LOOSE:
        return (
            f"{s.solver} meets tol={solver.tol:.2e}, but the duality gap {s.gap:.2e} is "
            f"{s.relative_gap:.2g} times the objective {s.objective:.6g}, more than {LOOSE:g}. "
            "Scale the targets and inputs (StandardScaler, MinMaxScaler), lower C or lower tol."
        )
    told = (
        f"Solver terminated early ({s.solver}: {s.status.value} after "
        f"{s.n_iter} iterations). Duality gap {s.gap:.2e} at objective "
        f"{s.objective:.6g}, violation {s.violation:.2e} against tol={solver.tol:.2e}. "
    )
    size = risk.size(s.a, s.b, s.f)
    rounding = 2.0 * float(np.finfo(np.float64).eps) * size
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
