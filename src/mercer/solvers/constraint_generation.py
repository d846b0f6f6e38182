"""Let knowledge take part where it matters: solve, look where it is violated, add, solve again."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mercer._deadline import time_left
from mercer._typing import Array
from mercer.gram.dense import Dense
from mercer.losses.base import DualTerms, ResidualLoss
from mercer.problems.constrained import ConstrainedRisk
from mercer.problems.risk import RegularizedRisk
from mercer.regularizers.constraints import Rows
from mercer.solvers.base import Solver
from mercer.solvers.interior_point import InteriorPoint
from mercer.solvers.minimizing import minimize
from mercer.solvers.solution import Solution
from mercer.solvers.status import ConvergenceWarning, Status

__all__ = ["Conflict", "ConstrainedSolution", "satisfy"]

# A multiplier this close to the weight of its wall is held by it: the wall is not steep enough.
HELD_WEIGHT_PART = 0.99
# By how much walls are made steeper, and how often, before knowledge counts as contradictory.
STEEPER_FACTOR, MAX_STEEPENINGS = 30.0, 4
# The share of the tolerance that solutions are looked for with, so that what is left over does not
# count as a violation.
SEARCH_TOL_PART = 0.1
# Multiplications a second of a factorization, and steps of an interior point without which there is
# nothing that deserves the name of a solution.
FACTOR_FLOPS, MIN_STEPS = 4e10, 10


# Coefficients that are solved for besides those off their bounds, and how often they are chosen.
MIN_FIXING_MARGIN, MAX_FIXINGS = 100, 6


class Conflict(ValueError):  # noqa: N818
    """Pieces of knowledge that cannot hold together; ``rows`` says which rows of theirs."""

    def __init__(self, message: str, rows: NDArray[np.intp]) -> None:
        super().__init__(message)
        self.rows = rows


@dataclass(frozen=True)
class ConstrainedSolution:
    """A solution in which all that is known holds.

    Parameters
    ----------
    solution : Solution
        Coefficients of what the sample says, then of the rows that take part.
    multipliers : ndarray of shape (r,)
        Of all rows: what an additional unit of the wall would cost, zero where it does not matter.
    values : ndarray of shape (r,)
        Functionals of all rows.
    violation : float
        Largest violation of a row, those of the last look at other ones included.
    rounds : int
        How often knowledge was added.
    weight : float
        The weight of the walls that was steep enough.
    """

    solution: Solution
    multipliers: Array
    values: Array
    violation: float
    rounds: int
    weight: float


def satisfy(
    problem: ConstrainedRisk,
    solver: Solver,
    weight: float,
    *,
    tol: float = 1e-3,
    batch: int = 100,
    max_rounds: int = 100,
    name: Callable[[NDArray[np.intp]], str] = lambda rows: f"{len(rows)} rows",
    warning: type[Warning] = ConvergenceWarning,
    start: ConstrainedSolution | None = None,
    more: Callable[[int], Rows] | None = None,
    looks: int = 25,
    report: Callable[[int, int, float], object] | None = None,
) -> ConstrainedSolution:
    """Minimize a risk so that all that is known of its function holds up to a tolerance.

    The rows to begin with take part from the start; then, round by round, some of those that the
    solution violates most. Rows that never matter cost one evaluation a round. For the squared
    loss the sample is eliminated once, and rounds are problems of the rows alone.

    Parameters
    ----------
    problem : ConstrainedRisk
        The sample and what is known.
    solver : Solver
        For the problem with the sample in it.
    weight : float
        Weight of the walls to begin with; raised while a multiplier needs it.
    tol : float, default=1e-3
        Largest violation of a row, in the unit of the function.
    batch : int, default=100
        Rows that are added a round.
    max_rounds : int, default=100
        Largest number of rounds.
    name : callable, optional
        Words for rows that contradict each other.
    warning : type of Warning, default=ConvergenceWarning
        Category of the warning where a solver stops early.
    start : ConstrainedSolution, optional
        A solution of nearly the same problem, with the same rows.
    more : callable, optional
        Other rows to look at, number by number, once the known ones hold; those that are violated
        become known. The margins of their owners are those of the problem.
    looks : int, default=25
        Largest number of times that other rows are looked at.
    report : callable, optional
        Hears of every round: its number, the rows that took part and the largest violation of
        those that did not.

    Returns
    -------
    ConstrainedSolution

    Raises
    ------
    Conflict
        If walls however steep do not hold: the pieces of knowledge contradict each other, or what
        the functions of the kernel can do.
    """
    began = time.perf_counter()
    rng = np.random.default_rng(0)
    weight = max(weight, 0.0 if start is None else start.weight)
    most = max(batch, _affordable(len(problem.said.y), time_left()))
    fresh = np.setdiff1d(np.flatnonzero(problem.rows.first), problem.chosen)
    if len(fresh):
        # The others take part where they turn out to be violated.
        problem.add(fresh if len(fresh) <= most else rng.permutation(fresh)[:most])
    last: Solution | None = None
    rounds, look, unseen = 0, 0, 0.0
    while rounds < max_rounds:
        rounds += 1
        a, b, last, weight = _steep_enough(problem, solver, weight, tol, name, warning, last)
        excess = problem.walls.violation(problem.values(a, b))
        excess[problem.chosen] = 0.0
        if report is not None:
            report(rounds, len(problem.chosen), float(np.max(excess, initial=0.0)))
        if not time_left():
            break
        if np.max(excess, initial=0.0) > tol:
            problem.add(_draw(excess, tol, batch, rng))
            continue
        if more is None or look == looks:
            break
        look += 1
        other = more(look)
        excess = problem.move(other).violation(problem.values(a, b, other))
        unseen = float(np.max(excess, initial=0.0))
        if unseen <= tol:
            break
        known = problem.rows.r
        problem.append(other.take(_draw(excess, tol, batch, rng)))
        problem.add(np.arange(known, problem.rows.r))
    if last is None:
        risk = problem.risk(weight)
        offered = _as_start(a, b)
        certified = minimize(risk, InteriorPoint(tol=tol), offered, warning=warning)
        last = certified
    multipliers = np.zeros(problem.rows.r)
    multipliers[problem.chosen] = last.a[len(problem.said.y) :]
    values = problem.values(last.a, last.b)
    times = {**last.times, "solve": time.perf_counter() - began}
    return ConstrainedSolution(
        replace(last, times=times),
        multipliers,
        values,
        max(unseen, float(np.max(problem.rows.violation(values), initial=0.0))),
        rounds,
        weight,
    )


def _affordable(n: int, seconds: float) -> int:
    """Return how many rows may take part at first, beside n losses, in half of the seconds.

    Examples
    --------
    >>> _affordable(400, 1.0), _affordable(400, 100.0)
    (1777, 8394)
    """
    if seconds == np.inf:
        return sys.maxsize
    # The sample is eliminated by n r^2 multiplications, a step is a factorization of r^3 / 3.
    work = [MIN_STEPS / 3.0, float(n), 0.0, -0.5 * seconds * FACTOR_FLOPS]
    return int(np.max(np.roots(work).real))


def _steep_enough(
    problem: ConstrainedRisk,
    solver: Solver,
    weight: float,
    tol: float,
    name: Callable[[NDArray[np.intp]], str],
    warning: type[Warning],
    last: Solution | None,
) -> tuple[Array, Array, Solution | None, float]:
    """Solve with penalties that are steep enough, or name the constraints in contradiction."""
    for _ in range(MAX_STEEPENINGS):
        if not np.isfinite(weight):
            raise FloatingPointError("walls as steep as the targets ask for overflow")
        # What solvers have to say counts for walls that are steep enough only.
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", warning)
            a, b, eta, last = _once(problem, solver, weight, tol, warning, last)
        held = np.abs(eta) >= HELD_WEIGHT_PART * weight
        if not held.any() or not time_left():
            for message in said if last is not None else ():
                warnings.warn(message.message, stacklevel=4)
            return a, b, last, weight
        weight *= STEEPER_FACTOR
    # Whatever pulls against the walls that do not hold is part of the contradiction.
    rows = problem.chosen[np.abs(eta) > 1e-6 * np.max(np.abs(eta))]
    raise Conflict(
        f"the constraints cannot all hold: {name(rows)} stay violated under any penalty; "
        "leave out or loosen a constraint, or take a kernel (a null space) whose functions can do "
        "both.",
        rows,
    )


def _once(
    problem: ConstrainedRisk,
    solver: Solver,
    weight: float,
    tol: float,
    warning: type[Warning],
    last: Solution | None,
) -> tuple[Array, Array, Array, Solution | None]:
    """Return the coefficients for penalties of a weight, and the solution if it is complete."""
    if problem.eliminable and len(problem.chosen):
        small = problem.eliminated(weight)
        # Often the sample alone has the shape: then no multiplier is needed, and no factorization.
        none = _as_start(np.zeros(small.n), np.zeros(0))
        eta = minimize(small, InteriorPoint(tol=SEARCH_TOL_PART * tol), none, warning=warning).a
        return *problem.whole(eta), eta, None
    risk = problem.risk(weight)
    begin = None if last is None else _padded(last, risk.n)
    if begin is not None and isinstance(problem.said.loss, ResidualLoss):
        begin = _with_others_fixed(risk, begin, solver)
    found = minimize(risk, solver, begin, warning=warning)
    return found.a, found.b, found.a[len(problem.said.y) :], found


def _with_others_fixed(risk: RegularizedRisk, last: Solution, solver: Solver) -> Solution:
    """Return an answer in which the coefficients that a few new rows can move are solved for.

    Most coefficients are on a bound, or zero, and stay there: what they add to the values of the
    others is taken off the targets. Whoever turns out to be wrong is solved for the next time; the
    answer is a start, which counts only as far as the conditions of the whole problem hold.
    """
    a, b, terms = last.a, last.b, risk.terms
    if not isinstance(terms, DualTerms):
        return last
    f = risk.K.matvec(a) + risk.B @ b
    for _ in range(MAX_FIXINGS):
        low, high = terms.interval(a)
        slack = np.minimum(f - low, high - f)
        loose = int(np.count_nonzero(slack <= solver.tol))
        many = loose + max(MIN_FIXING_MARGIN, loose // 4)
        if 2 * many > risk.n:
            return last
        S = np.sort(np.argpartition(slack, many)[:many])
        fixed = a.copy()
        fixed[S] = 0.0
        small = RegularizedRisk(
            risk.loss.take(S),
            Dense(risk.K.block(S, S)),
            risk.y[S] - risk.K.matvec(fixed)[S],
            risk.c[S],
            risk.B[S],
            risk.d - risk.B.T @ fixed,
        )
        if solver.refuses(small):
            return last
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = minimize(small, solver)
        a, b = fixed, found.b
        a[S] = found.a
        f = risk.K.matvec(a) + risk.B @ b
        if np.max(terms.violation(a, f)) <= solver.tol:
            break
    return replace(last, a=a, b=b, f=f)


def _draw(excess: Array, tol: float, batch: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return rows to add: the most violated rows, and some of the other violated rows."""
    order = np.argsort(-excess)
    order = order[excess[order] > tol]
    worst, rest = order[: batch // 2], order[batch // 2 :]
    return np.concatenate([worst, rng.permutation(rest)[: batch - len(worst)]])


def _padded(last: Solution, n: int) -> Solution:
    """Return a solution with zeros for the rows that have come since."""
    more = n - len(last.a)
    return replace(last, a=np.append(last.a, np.zeros(more)), f=np.append(last.f, np.zeros(more)))


def _as_start(a: Array, b: Array) -> Solution:
    """Return coefficients as a solution that nobody has certified yet."""
    unknown = float("nan")
    return Solution(
        a,
        b,
        unknown,
        unknown,
        unknown,
        unknown,
        unknown,
        Status.STALLED,
        0,
        "",
        "",
        np.zeros_like(a),
    )
