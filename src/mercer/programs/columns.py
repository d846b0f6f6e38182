r"""Sparse expansions by column generation: few functions of a large dictionary, with a certificate.

A problem :class:`~mercer.problems.sparse_risk.SparseRisk` over all functions is solved over some of
them, the restricted master, whose multipliers u price the others by one product :math:`G'u`: a
function whose price exceeds its weight is taken in. The objective can only fall. Multipliers shrunk
until no price exceeds its weight are feasible for the dual of the whole problem, so that every
round ends with a lower bound and the difference to it is an honest gap.

Piecewise linear losses have linear masters. While functions are missing they are solved to a rough
gap on their central path, and priced in single precision; then at a vertex
(:mod:`mercer.programs.linear_master`), priced in double precision, which is what the certificate
rests on. Curved losses are solved by the interior point of the one functional.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer._deadline import no_deadline
from mercer._linear_program import NoOptimumError, linear_program
from mercer._typing import Array
from mercer.problems.sparse_risk import SparseRisk
from mercer.programs._curved import curved_master
from mercer.programs.linear_master import LinearMaster, methods_for
from mercer.solvers import Progress, Solution, Status
from mercer.solvers.certify import snap_to_box
from mercer.solvers.monitor import Monitor
from mercer.solvers.rounding import SUMMATION_ROUNDING, rounding_effect

__all__ = ["SparseSolution", "generate_columns", "threshold"]

Indices = NDArray[np.intp]

# Functions of a linear program that are not worth choosing from.
MAX_WHOLE_FUNCTIONS = 150
# Functions of the first master, and the least and largest number that a round takes in.
FIRST_FUNCTIONS, MIN_ADDED_FUNCTIONS, MAX_ADDED_FUNCTIONS = 60, 20, 200
# Samples and functions beyond which a part of them is solved first, the gap of that, and how many
# functions that were too dear are asked again before all others.
MAX_EXACT_START, ROUGH_GAP, MAX_POOL_FUNCTIONS = 3000, 0.3, 4000
# Relative gap of masters as long as functions are missing: until the gap of a round is as small as
# the second number, or for as many rounds.
ROUGH_MASTER_GAP, VERTEX_SHARE, MAX_ROUGH_ROUNDS = 1e-2, 0.1, 40
# A value of the problem of a margin that is nothing.
NEGLIGIBLE_VALUE = 1e-6
# Part of the objective that it has to fall by for functions to be let go.
MIN_FALL = 1e-9
# A function without coefficient whose price is below this part of its weight is let go.
DROPPED_PRICE_PART = 0.99


class SparseSolution(NamedTuple):
    """A certified minimizer, with its dual solution.

    Parameters
    ----------
    solution : Solution
        Coefficients a (m,) and b (q,), objective, dual, gap, status.
    u : ndarray of shape (n,)
        Multipliers of the samples, feasible for the dual of the whole problem.
    columns : ndarray of int
        The functions of the last master, among them all with a coefficient.
    """

    solution: Solution
    u: Array
    columns: Indices


def generate_columns(
    risk: SparseRisk,
    *,
    tol: float = 1e-6,
    max_iter: int = -1,
    max_time: float | None = None,
    start: Indices | None = None,
    listener: Callable[[Progress], object] | None = None,
) -> SparseSolution:
    r"""Minimize a sparse risk over all functions of its dictionary.

    Parameters
    ----------
    risk : SparseRisk
        The problem.
    tol : float, default=1e-6
        Largest gap between objective and lower bound, relative to one plus the objective, or to the
        objective where the norm is bounded.
    max_iter : int, default=-1
        Largest number of rounds, -1 for no limit.
    max_time : float, optional
        Seconds after which no round is begun.
    start : ndarray of int, optional
        Functions to begin with, those of a similar problem.
    listener : callable, optional
        Called with each :class:`~mercer.solvers.Progress`; a true answer stops.

    Returns
    -------
    SparseSolution

    References
    ----------
    K. P. Bennett, A. Demiriz, J. Shawe-Taylor, A column generation algorithm for boosting, ICML
    2000, for linear programs of this kind; A. J. Smola, *Learning with Kernels*, TU Berlin 1998,
    eq. (3.101).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram.dictionary import DenseDictionary
    >>> from mercer.losses import Absolute
    >>> from mercer.problems.sparse_risk import SparseRisk
    >>> from mercer.programs.columns import generate_columns
    >>> G = np.array([[1.0, 0.0, 0.9], [0.0, 1.0, 0.9]])
    >>> risk = SparseRisk(Absolute(), DenseDictionary(G), np.array([1.0, 1.0]), np.full(2, 9.0))
    >>> found = generate_columns(risk).solution
    >>> found.a.round(6) + 0.0, round(found.objective, 6)
    (array([0.      , 0.      , 1.111111]), 1.111111)
    """
    monitor, (n, m) = Monitor(max_iter, max_time, listener), risk.G.shape
    rng = np.random.default_rng(m)
    solve: Any = LinearMaster(risk) if risk.linear else curved_master(risk, tol)
    J = np.arange(m if risk.linear and m <= MAX_WHOLE_FUNCTIONS else 0)
    if start is not None:
        J = np.unique(start)
    elif max(n, m) > MAX_EXACT_START:
        J, f = _rehearse(risk, max_time)
        if risk.linear:
            solve.f = f
    best, u_best, rounds = -np.inf, np.zeros(len(risk.y)), 0
    GJ, pool, limit = risk.G.columns(J), np.empty(0, dtype=np.intp), 1.0
    # Masters need not be solved better than the functions that are still missing allow.
    enough = ROUGH_MASTER_GAP if start is None and risk.linear and len(J) < m else 0.0
    value, lowest, fell = np.inf, np.inf, True
    while True:
        try:
            a, b, u = solve(GJ, J, enough)[:3]
        except NoOptimumError:
            if not monitor.late:
                raise
            if rounds:
                status = Status.MAX_TIME
                break
            # Not even the first master ends in time: an answer without functions is one.
            J, GJ = J[:0], GJ[:, :0]
            with no_deadline():
                a, b, u = solve(GJ, J, 0.0)[:3]
        u = snap_to_box(risk.free, u)
        if len(pool) and not monitor.spent(0):
            # The dearest of the last round are asked first: all of them cost a product with G.
            dear = risk.excess(risk.G.price(u, pool), pool)
            pool, chosen = pool[dear > limit * (1.0 + 1e-9)], dear[dear > limit * (1.0 + 1e-9)]
            fresh = pool[_choose_columns(chosen - limit, len(J), rng)]
            if len(fresh):
                pool = pool[~np.isin(pool, fresh)]
                keep = (a != 0) | (risk.excess(GJ.T @ u, J) >= DROPPED_PRICE_PART * limit)
                keep |= not fell
                J, GJ = _exchange(risk, J, GJ, keep, fresh)
                continue
        price = risk.G.rough_price(u) if enough else risk.G.price(u)
        excess, bound = risk.excess(price), risk.bound(u, price)
        if bound >= best or not rounds:
            largest = max(1.0, float(np.max(excess, initial=0.0)))
            best, u_best = bound, u if risk.radius is not None else u / largest
        now = np.zeros(m)
        now[J], f_now = a, GJ @ a + risk.B @ b
        if (value_now := risk.value(now, b, f_now)) <= value or not enough:
            whole, free, f, value = now, b, f_now, value_now
        gap = max(value - best, 0.0)
        limit = 1.0 if risk.radius is None else float(np.max(excess[J], initial=0.0))
        rounds += 1
        stop = monitor.report(rounds, value, gap, float(np.max(excess, initial=0.0) - limit))
        # A margin may be small without being nothing: its problem has no other unit than itself.
        share = gap / ((1.0 if risk.radius is None else NEGLIGIBLE_VALUE) + abs(value))
        if share <= tol and not enough:
            status = Status.CONVERGED
            break
        held = np.zeros(m, dtype=bool)
        held[J] = True
        pool = np.flatnonzero(~held & (excess > limit * (1.0 + 1e-9)))
        pool = pool[np.argsort(-excess[pool], kind="stable")]
        if enough and not stop:
            if share <= max(VERTEX_SHARE, tol) or rounds >= MAX_ROUGH_ROUNDS or not len(pool):
                enough, best = 0.0, -np.inf
        elif stop or not len(pool):
            # No function is worth taking in, so what is left of the gap is rounding in the master.
            status = monitor.status or Status.STALLED
            break
        fresh = pool[_choose_columns(excess[pool] - limit, len(J), rng)]
        kept = 0 if enough or m <= MAX_EXACT_START else MAX_POOL_FUNCTIONS
        pool = pool[~np.isin(pool, fresh)][:kept]
        # Where multipliers are not unique, functions could be let go and taken in for ever.
        fell = value < lowest - MIN_FALL * abs(lowest) or lowest == np.inf
        lowest = min(value, lowest)
        keep = (a != 0) | (excess[J] >= DROPPED_PRICE_PART * limit)
        keep |= not fell
        J, GJ = _exchange(risk, J, GJ, keep, fresh)
    if enough:
        # Stopped on the way: what single precision priced proves nothing yet.
        price = risk.G.price(u_best)
        best = risk.bound(u_best, price)
        if risk.radius is None:
            u_best = u_best / max(1.0, float(np.max(risk.excess(price), initial=0.0)))
    proved = best
    best, worst = _rounded(risk, whole, free, u_best, f, value, best)
    gap = max(worst - best, 0.0)
    rounding = (worst - value) + (proved - best)
    solved = monitor.elapsed
    solution = Solution(
        a=whole,
        b=free,
        objective=value,
        dual=best,
        gap=gap,
        violation=max(float(np.max(excess, initial=0.0)) - limit, 0.0),
        residual=risk.free.residual(u),
        status=status,
        n_iter=rounds,
        solver="column generation",
        reason="a 1-norm of coefficients",
        f=f,
        times={"solve": solved, "certify": 0.0},
        history=tuple(monitor.history),
        # An objective that is nothing but rounding has no smaller gap than that.
        resolution=2.0 * rounding if abs(value) <= rounding else 0.0,
    )
    return SparseSolution(solution, u_best, J)


def _rounded(
    risk: SparseRisk, a: Array, b: Array, u: Array, f: Array, value: float, bound: float
) -> tuple[float, float]:
    """Return the bound, and the objective, at the worst of rounding of prices and predictions.

    Predictions add up the same terms in another order, and prices are sums over the samples. A
    price that is too large by a part of its weight lets the bound be too large by this part of the
    largest norm of coefficients that an optimum can have: the objective, or the radius.
    """
    support, slack = np.flatnonzero(a), abs(float(b @ (risk.B.T @ u - risk.d)))
    G = risk.G.columns(support)
    terms = np.linalg.norm(G * a[support], axis=1)
    values = risk.G.value_error() * float(np.linalg.norm(np.max(np.abs(G), axis=0) * a[support]))
    sizes = np.maximum.reduce([np.abs(risk.y), np.abs(f), np.abs(risk.B) @ np.abs(b), terms])
    moved = rounding_effect(risk.free, np.zeros_like(u), f, SUMMATION_ROUNDING * sizes + values)
    prices = np.linalg.norm(G * u[:, None], axis=0) / risk.weights[support]
    norm = max(value, risk.norm(a)) if risk.radius is None else risk.radius
    sums = float(np.max(prices, initial=0.0)) * norm + float(np.abs(u) @ np.abs(risk.y))
    return bound - SUMMATION_ROUNDING * sums - slack, value + moved


def _exchange(
    risk: SparseRisk, J: Indices, GJ: Array, keep: NDArray[np.bool_], fresh: Indices
) -> tuple[Indices, Array]:
    """Return the functions of the next master and their values."""
    return np.append(J[keep], fresh), np.column_stack([GJ[:, keep], risk.G.columns(fresh)])


def _choose_columns(excess: Array, held: int, rng: np.random.Generator) -> Indices:
    """Return which of the functions that are too dear to take in: half of them the worst.

    The worst alone would be neighbours of each other, of which one is enough.
    """
    many = int(
        np.clip(held, FIRST_FUNCTIONS if not held else MIN_ADDED_FUNCTIONS, MAX_ADDED_FUNCTIONS)
    )
    order = np.argsort(-excess, kind="stable")
    if len(order) <= many:
        return order
    worst, rest = order[: many // 2], order[many // 2 :]
    others = rng.choice(rest, many - len(worst), replace=False, p=excess[rest] / excess[rest].sum())
    return np.append(worst, others)


def _rehearse(risk: SparseRisk, max_time: float | None) -> tuple[Indices, Array]:
    """Let some samples choose from some functions; return these and their decision values."""
    n, m = risk.G.shape
    rng, kept = np.random.default_rng(n), risk.G.essential
    rows = np.sort(rng.choice(n, min(n, MAX_EXACT_START), replace=False))
    others = np.setdiff1d(np.arange(m), kept)
    index = np.append(
        np.sort(rng.choice(others, min(len(others), MAX_EXACT_START), replace=False)), kept
    )
    found = generate_columns(risk.take(rows, index), tol=ROUGH_GAP, max_time=max_time).solution
    J = np.unique(np.append(index[found.support], kept))
    a = np.zeros(m)
    a[index] = found.a
    return J, risk.G.columns(J) @ a[J] + risk.B @ found.b


def threshold(risk: SparseRisk) -> float:
    r"""Return the factor of the weights c up to which no function has a coefficient.

    Without functions the multipliers are some :math:`u^0`, in proportion to c; all coefficients are
    zero as long as no price :math:`|G'u^0|_j` exceeds its weight. Where multipliers are not unique,
    at kinks of the loss, those of the lowest prices count, found by a linear program.

    Parameters
    ----------
    risk : SparseRisk
        The problem.

    Returns
    -------
    float
        Infinite if no function is ever needed.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 3.9.1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram.dictionary import DenseDictionary
    >>> from mercer.losses import Hinge
    >>> from mercer.problems.sparse_risk import SparseRisk
    >>> y = np.array([1.0, 1.0, -1.0])
    >>> K = np.array([[1.0, 0.5, 0.1], [0.5, 1.0, 0.1], [0.1, 0.1, 1.0]])
    >>> risk = SparseRisk(Hinge(), DenseDictionary(K), y, np.ones(3))
    >>> round(1 / threshold(risk), 9)  # max_j y_j (K y)_j
    1.4
    """
    none = np.empty(0, dtype=np.intp)
    empty = np.zeros((len(risk.y), 0))
    if not risk.linear:
        u = snap_to_box(risk.free, curved_master(risk, 1e-8)(empty, none)[2])
        return _inverse(float(np.max(risk.excess(risk.G.price(u)), initial=0.0)))
    master = LinearMaster(risk)
    found = master(empty, none)
    f = risk.B @ found.b
    t = master.terms
    scale = 1e-9 * max(1.0, float(np.max(np.abs(risk.y), initial=0.0)))
    up, down = np.abs(f + t.p_pos) <= scale, np.abs(f + t.p_neg) <= scale
    kinks = np.flatnonzero((up & (t.upper > 0)) | (down & (t.lower < 0)))
    u, m = found.u.copy(), risk.G.shape[1]
    if not len(kinks) or len(kinks) > MAX_ADDED_FUNCTIONS:
        return _inverse(float(np.max(risk.excess(risk.G.price(u)), initial=0.0)))
    low = np.where(down & (t.lower < 0), t.lower, np.where(up, 0.0, u))[kinks]
    high = np.where(up & (t.upper > 0), t.upper, np.where(down, 0.0, u))[kinks]
    u[kinks] = 0.0
    # The lowest largest price over all multipliers of the kinks: rows are read as they bind.
    base, best = risk.G.price(u) / risk.weights, np.inf
    J = np.argsort(-risk.excess(base * risk.weights), kind="stable")[:FIRST_FUNCTIONS]
    q, unit = risk.B.shape[1], float(np.max(risk.c))
    while True:
        P = risk.G.columns(J)[kinks].T / risk.weights[J][:, None]
        over, under = risk.signs[J] >= 0, risk.signs[J] <= 0
        rest: dict[str, Any] = {
            "A_eq": np.hstack([risk.B[kinks].T, np.zeros((q, 1))]),
            "b_eq": (risk.d - risk.B.T @ u) / unit,
        }
        answer = linear_program(
            np.append(np.zeros(len(kinks)), 1.0),
            methods=methods_for(len(kinks)),
            A_ub=np.column_stack(
                [np.vstack([P[over], -P[under]]), -np.ones(over.sum() + under.sum())]
            ),
            b_ub=np.append(-base[J][over], base[J][under]) / unit,
            bounds=np.vstack([np.column_stack([low, high]) / unit, [0.0, np.inf]]),
            **(rest if q else {}),
        )
        z = u.copy()
        z[kinks] = unit * answer.x[:-1]
        # Multipliers off the kinks are those of the base, and few others are cheap to price.
        excess = risk.excess(base * risk.weights + risk.G.price(z - u))
        best = min(best, float(np.max(excess, initial=0.0)))
        if best <= unit * answer.x[-1] * (1.0 + 1e-7) + 1e-300 or len(J) == m:
            return _inverse(best)
        worst = np.argsort(-excess, kind="stable")[:FIRST_FUNCTIONS]
        grown = np.union1d(J, worst)
        if len(grown) == len(J):
            return _inverse(best)
        J = grown


def _inverse(price: float) -> float:
    return np.inf if price <= 0 else 1.0 / price
