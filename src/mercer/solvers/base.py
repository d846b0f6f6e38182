"""The one door to a solver: check the pairing, run it, certify the answer, say how it ended."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mercer._params import Params
from mercer.losses.base import Array
from mercer.problems.copied_samples import fold, unfold
from mercer.problems.fallback import pull_back
from mercer.problems.intercept import centre_intercepts
from mercer.problems.risk import Certificate, RegularizedRisk
from mercer.solvers.monitor import Monitor, Progress
from mercer.solvers.solution import Solution, Terms
from mercer.solvers.status import LOOSE, TINY, ConvergenceWarning, Status, check

__all__ = [
    "Answer",
    "Solver",
    "alike",
    "minimize",
    "minimize_together",
]

# The one support-vector threshold: a coefficient smaller than this fraction of its box (of the
# largest coefficient where the box is wider) is zero, one as close to the box is on it.
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

# Rounding errors of decision values, relative to the largest target or term in them.
ROUND = 2.0 * float(np.finfo(np.float64).eps)
# Rounding errors up to which a decision value is known; and by which two ways to add up the same
# terms differ, as a certificate and a prediction do.
ROUNDED = 64 * float(np.finfo(np.float64).eps)
APART = 4.0 * ROUND

# An objective below this part of the losses of a constant counts as that part, as long as the gap
# proves that the function is within this part of the targets.
NOTHING, NEGLIGIBLE = 1e-6, 1e-3


@dataclass(frozen=True)
class Answer:
    """The answer of a solver, which :func:`minimize` certifies.

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
    bound : float, optional
        Proved lower bound of the objective. With it the machine is returned as it is where the run
        was stopped, although its coefficients are not those of slopes of the loss.
    """

    a: Array
    b: Array
    n_iter: int
    Ka: Array | None = None
    error: Array | None = None
    bound: float | None = None


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
        """Return the reason why this solver cannot take the problem; empty if it can."""

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
        """Return the solvers to try after the chosen solver, with reasons; by default no solver."""
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
    >>> from mercer.solvers import ConjugateGradient
    >>> from mercer.solvers.base import minimize_together
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
    a = snap_to_box(risk, answer.a)
    Ka, error = answer.Ka, answer.error
    trusted = believed(risk, answer, chosen.tol)
    # A product of all rows takes longer than that of the rows drawn as there are more of them.
    product = (monitor.elapsed - solved) * risk.n / CHECKED
    late = monitor.elapsed + product >= monitor.max_time
    if error is not None and late and _moved(risk, a, answer.a):
        a = answer.a  # for which there is a product
    if Ka is None or not trusted or _moved(risk, a, answer.a):
        Ka, error = risk.K.matvec(a), None
    b, interval = centre_intercepts(risk, a, answer.b, Ka)
    certificate = risk.certificate(a, b, Ka, error)
    known = error is None or _status(certificate, monitor, chosen.tol) is Status.CONVERGED
    if not known and late:
        monitor.status = monitor.status or Status.MAX_TIME
    elif not known:
        # Not a word about the worst case where the truth is one product away, and there is time.
        Ka, error = risk.K.product(a, np.arange(risk.n)), None
        b, interval = centre_intercepts(risk, a, answer.b, Ka)
        certificate = risk.certificate(a, b, Ka)
    stopped = _status(certificate, monitor, chosen.tol) is not Status.CONVERGED
    if stopped and answer.bound is not None:
        a, b = answer.a, answer.b
        certificate = _outside(risk, a, b, answer.bound, monitor.history[-1].violation)
    elif stopped:
        a, b, Ka = pull_back(risk, a, b, Ka, certificate.primal)
        certificate = risk.certificate(a, b, Ka, error)
    interval = np.column_stack([b, b]) if stopped else interval
    if not stopped or answer.bound is None:
        certificate = _doubted(risk, a, b, certificate)
    if not monitor.history or monitor.history[-1].iteration != answer.n_iter:
        monitor.report(answer.n_iter, certificate.primal, certificate.gap, certificate.violation)
    status = _status(certificate, monitor, chosen.tol)
    if status is Status.MAX_ITER and certificate.violation <= ROUND * risk.size(
        a, b, certificate.f
    ):
        status = Status.STALLED  # more steps would not see the difference
    n_free, n_bound = _support(risk, a)
    if not np.isfinite(certificate.primal):
        raise FloatingPointError(
            f"the objective of the answer of {type(chosen).__name__} is {certificate.primal}, "
            "beyond the range of floating point: scale the targets and inputs, or lower C"
        )
    values = certificate.primal, certificate.dual, certificate.gap
    part = risk.K.part_of()
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
        samples=None if part is None else part[1],
        n_samples=None if part is None else part[0].shape[0],
    )


def _outside(
    risk: RegularizedRisk, a: Array, b: Array, bound: float, violation: float
) -> Certificate:
    """Measure a machine whose coefficients prove no bound themselves, at the worst of rounding.

    No decision value has such slopes, so that the violation is what the solver measured.
    """
    Ka = risk.K.matvec(a)
    f = Ka + risk.B @ b
    found = risk.certificate(a, b, Ka, np.full(risk.n, APART * risk.size(a, b, f)))
    return replace(found, dual=bound, gap=found.primal - bound, violation=violation, f=f)


def _moved(risk: RegularizedRisk, a: Array, before: Array) -> bool:
    """Answer whether snapping changed a decision value by more than its rounding error."""
    root = np.sqrt(np.maximum(risk.K.diag(), 0.0))
    change = float(np.max(root, initial=0.0)) * float(root @ np.abs(a - before))
    return change > ROUNDED * max(risk.size(a, np.zeros(risk.q), risk.y), TINY)


def _doubted(risk: RegularizedRisk, a: Array, b: Array, found: Certificate) -> Certificate:
    """Return the certificate, of the worst case where rounding could decide what it is worth.

    Decision values add up in one order here and in another in a prediction. That is nothing beside
    most objectives; weights of 1e12 make it more than all the rest. Then decision values are
    multiplied again, and objective, gap and dual value hold for all that are as close as rounding.
    """
    if not _fragile(risk, a, b, found):
        return found
    Ka = risk.K.product(a, np.arange(risk.n))
    found = risk.certificate(a, b, Ka)
    error = np.full(risk.n, APART * risk.size(a, b, found.f))
    worst = risk.certificate(a, b, Ka, error)
    gap = max(worst.gap, worst.primal - worst.dual)
    if gap <= _negligible(risk, found.f) or not np.isfinite(gap):
        return found
    return replace(found, primal=worst.primal, dual=worst.dual, gap=gap)


def _fragile(risk: RegularizedRisk, a: Array, b: Array, found: Certificate) -> bool:
    """Answer whether rounding of decision values can change the objective by a useless gap."""
    limit = max(LOOSE * abs(found.primal), _negligible(risk, found.f))
    return _felt(risk, a, found.f, APART * risk.size(a, b, found.f)) > limit


def _felt(risk: RegularizedRisk, a: Array, f: Array, delta: float) -> float:
    """Return by how much a change of decision values by ``delta`` can change objective and gap."""
    value = risk.terms.value
    with np.errstate(over="ignore", invalid="ignore"):
        moved = np.maximum(value(f + delta), value(f - delta)) - value(f)
        return float(np.nan_to_num(np.sum(moved + np.abs(a) * delta), nan=np.inf))


def _negligible(risk: RegularizedRisk, f: Array) -> float:
    r"""Return a gap that proves the function: no better one is a thousandth of the targets away.

    Because half the squared norm is strongly convex, no function with a lower objective differs by
    more than :math:`\sqrt{2\,gap\,k(x, x)}` at x.
    """
    largest = float(np.max(np.abs(risk.K.diag()), initial=0.0))
    price = float(np.sum(np.abs(risk.d)))
    size = float(np.max(np.abs(risk.y), initial=0.0))
    if price:
        # Coefficients of a region add up to the price of its width, and make nothing where the
        # origin is among its points: labels are no unit of decision values, but a limit of one.
        size = min(size, NEGLIGIBLE * price * largest)
    size = max(size, float(np.max(np.abs(f), initial=0.0)))
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        found = np.square(NEGLIGIBLE * size) / (2.0 * np.float64(largest))
    return float(np.nan_to_num(found, nan=np.inf, posinf=np.inf))


def _resolution(risk: RegularizedRisk, a: Array, b: Array, f: Array) -> float:
    """Return a duality gap that is negligible: rounding, and a part of the losses of a constant.

    That is what rounding of decision values and targets can cause: constant targets, or a single
    class, leave an objective that is nothing else. And it is a part of the losses of a constant
    (of the price of a width, if there is one), where the optimum explains all but a millionth of
    them. Neither counts where the gap leaves open what the function is, as with weights of 1e12.
    """
    lower, upper = risk.box()
    slopes = np.where(np.isfinite(upper - lower), upper - lower, np.abs(a))
    value = risk.terms.value
    with np.errstate(over="ignore", invalid="ignore"):
        rounding = _felt(risk, a, f, ROUNDED * risk.size(a, b, f))
        rounding += float(np.sum(ROUNDED * slopes * np.abs(risk.y)))
        losses = float(np.sum(np.abs(value(np.full(risk.n, np.mean(risk.y))))))
    price = float(np.sum(np.abs(risk.d)))
    width = 0.5 * price**2 * float(np.max(risk.K.diag())) if price else 0.0
    none = float(np.nan_to_num(rounding + LOOSE * NOTHING * (losses + width), posinf=0.0))
    return min(none, _negligible(risk, f))


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
        if _rounding(risk, solution) > 0.5 * solution.gap:
            break  # which no tolerance lowers
        tol *= float(sharper(solution.objective, solution.gap))
        rest = monitor.rest(solution.n_iter, most)
        strict = replace(chosen, tol=tol)
        try:
            answer = strict.solve(risk, solution, rest)
            found = _certified(risk, strict, solution.reason, rest, answer, 1.0)
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


def _rounding(risk: RegularizedRisk, s: Solution) -> float:
    """Return how much of the gap of a solution may be rounding of its decision values."""
    return _felt(risk, s.a, s.f, APART * risk.size(s.a, s.b, s.f))


def sharper(objective: Array | float, gap: Array | float) -> Array:
    """Return the factor of a tolerance that should bring the duality gap below its limit."""
    return np.clip(0.3 * LOOSE * np.abs(objective) / gap, 1e-6, 0.3)


def _support(risk: RegularizedRisk, a: Array) -> tuple[int, int]:
    """Count the coefficients inside their bounds and on them."""
    lower, upper = risk.box()
    n, n_bound = np.count_nonzero(a), np.count_nonzero((a != 0) & ((a <= lower) | (a >= upper)))
    return int(n - n_bound), int(n_bound)


def _folded(risk: RegularizedRisk, solution: Solution) -> Solution:
    """Return the solution of a problem from the solution of its copies."""
    a = fold(risk, solution.a)
    n_free, n_bound = _support(risk, a)
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


def snap_to_box(risk: RegularizedRisk, a: Array) -> Array:
    """Put coefficients within the support threshold on zero or on their box, and restore B'a = d.

    The certificate is measured afterwards, so that nothing hides behind the rounding done here.
    """
    lower, upper = risk.box()
    near = SUPPORT * np.minimum(upper - lower, np.max(np.abs(a), initial=0.0))
    a = np.minimum(np.maximum(a, lower), upper)
    a = np.where(np.abs(a) <= near, 0.0, a)
    a = np.where(a <= lower + near, lower, np.where(a >= upper - near, upper, a))
    if risk.residual(a) > 0:
        # The least change, scaled by each coefficient's own room, that meets the equality rows.
        room = np.minimum(np.minimum(a - lower, upper - a), np.abs(a))
        if np.any(room):
            room = room / np.max(room)
            missing = risk.d - risk.B.T @ a
            if risk.q <= risk.n:
                square = (risk.B * room[:, None]).T @ risk.B
                move = room * (risk.B @ np.linalg.lstsq(square, missing, rcond=None)[0])
            else:
                # The same change from as many unknowns as samples: 70 features have 2,556 columns
                # of second degree, whose square took ten seconds for three samples.
                root = np.sqrt(room)
                move = root * np.linalg.lstsq((risk.B * root[:, None]).T, missing, rcond=None)[0]
            a = np.clip(a + move, lower, upper)
    return a + 0.0  # no negative zeros


def _status(certificate: Certificate, monitor: Monitor, tol: float) -> Status:
    """Believe the certificate first, then the monitor."""
    if certificate.violation <= tol and certificate.residual <= RESIDUAL:
        return Status.CONVERGED
    return monitor.status or Status.STALLED


def _advice(risk: RegularizedRisk, solution: Solution, solver: Solver) -> str:
    s = solution
    rounding = _rounding(risk, s)
    if s.status is Status.LOOSE and rounding > 0.5 * s.gap:
        size = risk.size(s.a, s.b, s.f)
        return (
            f"{s.solver} meets tol={solver.tol:.2e}, but double precision cannot tell how good the "
            f"answer is: decision values are known to {APART * size:.1e}, and weights C * "
            f"sample_weight of up to {np.max(risk.c):.1e} make that {rounding:.1e} beside the "
            f"objective {s.objective:.6g} (duality gap {s.gap:.2e}). Lower C or the weights."
        )
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
    rounding = ROUND * size
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
