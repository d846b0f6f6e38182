r"""The method of multipliers for losses with kinks, over rows that are held in memory.

.. math:: \min_{w, b}\ \tfrac12 |w|^2 + d'b + \sum_i c_i\, l_i(t_i),
          \qquad t = \Phi w + P b

Slopes :math:`v_0` of the losses are known from before; each outer step minimizes the problem with
losses rounded around them,

.. math:: l_\mu(t) = \max_v\ v t - l^*(v) - \tfrac{\mu}{2} (v - v_0)^2

by Newton's method, and takes the slopes v at its minimum for :math:`v_0`. Only rows whose rounded
loss is curved have a part in the curvature, and between two steps few rows change their slopes. The
unpenalized coefficients b are moved until :math:`P'(c v) + d = 0`, so that every v is feasible in
the dual problem and proves a bound: :math:`-\tfrac12 |\Phi'(c v)|^2 - \sum_i c_i l_i^*(v_i)`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk, ssyrk

from mercer._deadline import time_left
from mercer._threads import stream_blocks, team
from mercer._typing import Array
from mercer.data.base import Block, Sums
from mercer.kernels.points import pieces
from mercer.losses.base import ConjugateLoss
from mercer.reduced._kinked_numba import fenchel_young, rounded
from mercer.reduced.held_rows import FEATURE_ROWS, HeldRows, RowLosses, hold
from mercer.reduced.newton import STRAIGHT_CURVATURE, Minimum, Newton
from mercer.reduced.oracle import Evaluation, Oracle
from mercer.reduced.problem import Problem
from mercer.solvers.monitor import Progress
from mercer.solvers.status import Status

__all__ = ["accepts", "minimize_held"]

# Features up to which a factor of their curvature is made in every step.
MAX_FEATURES = 2000

# Beyond this steepness features of values in float32 have too few digits.
MAX_SINGLE_STEEPNESS = 300.0

# Relative gap up to which values in float32 lead.
MIN_SINGLE_GAP = 3e-5

# Rows that a search begins with: so many for each feature, or this part of all; and their gap.
START_ROWS_PER_FEATURE, START_SHARE, START_GAP = 8, 1.0 / 16.0, 1e-2

# Widths over which kinks are rounded at first, in spreads of the targets: on the first rows, and
# at least on all.
START_WIDTH, WHOLE_WIDTH = 1.0, 0.1

# By what the width shrinks after a problem that took one step, or while so many rows are curved for
# every feature.
WIDTH_FACTOR, CURVED_ROWS_PER_FEATURE = 0.3, 6

# Part of the rows up to which sums over rows that changed are cheaper than those over all.
CHANGED_SHARE = 0.25

# Sums of curvatures that are made apart, whatever the number of threads.
N_SUMS = 4

# Multiple of its diagonal by which a matrix whose digits were lost is positive definite.
MAX_SLACK = 1e6

# Steps of a search along a direction, and of one for the unpenalized coefficients.
MAX_LINE_STEPS, MAX_FREE_STEPS = 12, 60

# Shortest part of a step that is tried.
MIN_STEP_PART = 1e-6

# Steps in which slopes of curved rows are changed so that unpenalized columns balance.
MAX_BALANCE_STEPS = 5

# Residual of the unpenalized columns beside the size of its terms that counts as none.
MAX_FREE_RESIDUAL = 1e-13

# Part of the curvature of all rows that is added for columns that few of them tell apart.
MIN_CURVATURE_SHARE = 1e-10

# The same where slopes still count as feasible in the dual problem; what is left open by them is
# added to the gap.
MAX_DUAL_RESIDUAL = 1e-10

# Steps after which a search ends whose gap has not fallen by half meanwhile, in either precision.
STILL_SINGLE_STEPS, STILL_STEPS = 10, 30


@dataclass(frozen=True)
class Values:
    """Asks for values of the function with these coefficients at all rows."""

    w: Array


@dataclass(frozen=True)
class Slopes:
    """Asks for the sum of features times weighted slopes."""

    u: Array


@dataclass(frozen=True)
class Curvature:
    """Asks for the sum of products of features over rows with these weights."""

    rows: NDArray[np.intp]
    weights: Array
    columns: Array
    """Weighted unpenalized columns of these rows."""


@dataclass(frozen=True)
class Report:
    """Says that a step is done: the point has the best value and the best bound so far."""


Request = Values | Slopes | Curvature | Report
Search = Generator[Request, Any, None]


@dataclass
class Point:
    """Where the search of a problem is, and the best that it has found.

    Parameters
    ----------
    w, b : (r,) and (q,) arrays
    mu : float
        Width over which kinks are rounded.
    v0 : (N,) array
        Slopes that they are rounded around.
    """

    w: Array
    b: Array
    mu: float
    v0: Array
    first: bool = False
    """Whether nothing is known of these slopes, but of the coefficients."""
    best: tuple[Array, Array] = field(init=False)
    """Coefficients of the least value."""
    v: Array = field(init=False)
    """Slopes of the best bound."""
    primal: float = np.inf
    dual: float = -np.inf
    steps: int = 0
    done: bool = False
    active: int = 0

    def __post_init__(self) -> None:
        self.best, self.v = (self.w, self.b), self.v0


class Rounding:
    """Rounded losses of all rows around known slopes, at values that change.

    Parameters
    ----------
    losses : RowLosses
    d : (q,) array
        Linear cost of the unpenalized coefficients.
    v0 : (N,) array
    mu : float
    """

    def __init__(self, losses: RowLosses, d: Array, v0: Array, mu: float) -> None:
        self.losses, self.d, self.v0, self.mu = losses, d, v0, mu
        self.v, self.bent = np.empty_like(v0), np.empty_like(v0)

    def look(self, t: Array) -> float:
        """Return the sum of rounded losses, and keep slopes and weighted curvatures."""
        own = self.losses
        return float(rounded(t, self.v0, self.mu, own.c, *own.terms, self.v, self.bent))

    def settle(self, f: Array, b: Array) -> tuple[Array, float]:
        """Return coefficients of the unpenalized columns that minimize, and what is left.

        Slopes there are kept; what is left is the residual of the columns beside its terms.
        """
        if not len(b):
            self.look(f)
            return b, 0.0
        P, c = self.losses.P, self.losses.c
        value, slope, wrong = self._at(f, b)
        low, high, stride, ease = -np.inf, np.inf, self.mu, 1.0
        for _ in range(MAX_FREE_STEPS):
            if wrong <= MAX_FREE_RESIDUAL:
                break
            S = (P * self.bent[:, None]).T @ P
            if len(b) > 1:
                # On straight pieces steps grow as long as whole ones lead down.
                floor = ease * _floor(S, c, P, self.mu)
                step = -_solve_positive(S + np.diag(floor), slope)
                moved = self._descend(f, b, step, value, slope, wrong)
                whole = moved is not None and np.array_equal(moved[0], b + step)
                ease = max(0.1 * ease, MIN_STEP_PART) if whole else min(1.0, 10.0 * ease)
            else:
                # Slopes grow with the coefficient: Newton's step, or the middle where it leaves.
                low, high = (b[0], high) if slope[0] < 0 else (low, b[0])
                step, stride = (
                    (-slope / S[0], stride)
                    if S[0, 0] > 0
                    else (-np.sign(slope) * stride, 2.0 * stride)
                )
                new = b + step
                if not low < new[0] < high and np.isfinite(low + high):
                    new = np.array([0.5 * (low + high)])
                moved = None if new[0] == b[0] else (new, *self._at(f, new))
            if moved is None:
                self._at(f, b)
                break
            b, value, slope, wrong = moved
        return b, self._balance(slope, wrong)

    def _balance(self, slope: Array, wrong: float) -> float:
        """Change slopes of curved rows until columns balance, and return what is left.

        Next to rows of large weight the last digit of b moves more slope than others have.
        """
        P, c = self.losses.P, self.losses.c
        low, high = self.losses.terms[4:]
        rows = np.flatnonzero(self.bent)
        for _ in range(MAX_BALANCE_STEPS):
            if wrong <= MAX_FREE_RESIDUAL or not len(rows):
                break
            columns = P[rows]
            y = _solve_positive((columns * self.bent[rows, None]).T @ columns, slope)
            moved = self.v[rows] - self.bent[rows] / c[rows] * (columns @ y)
            self.v[rows] = np.clip(moved, low[rows], high[rows])
            slope, wrong = self._residual()
        return wrong

    def _residual(self) -> tuple[Array, float]:
        """Return the slope in b, and its largest entry beside the size of its terms."""
        P, u = self.losses.P, self.losses.c * self.v
        slope, size = P.T @ u + self.d, np.abs(P).T @ np.abs(u) + np.abs(self.d)
        return slope, float(np.max(np.abs(slope) / np.where(size > 0.0, size, 1.0)))

    def _descend(
        self, f: Array, b: Array, step: Array, value: float, slope: Array, wrong: float
    ) -> tuple[Array, float, Array, float] | None:
        """Return the first of shorter and shorter steps that is better, by value or by slope."""
        descent, part = float(slope @ step), 1.0
        while part > MIN_STEP_PART:
            new = b + part * step
            tried = self._at(f, new)
            # Where values are equal up to rounding, slopes still tell.
            told = tried[2] < wrong and -descent <= 1e-8 * abs(value)
            if tried[0] <= value + 1e-4 * part * descent or told:
                return (new, *tried)
            part *= 0.5
        return None

    def _at(self, f: Array, b: Array) -> tuple[float, Array, float]:
        """Return value, slope in b, and its largest entry beside the size of its terms."""
        value = self.look(f + self.losses.P @ b) + float(self.d @ b)
        return (value, *self._residual())

    def line(self, f: Array, g: Array, b: Array, norms: tuple[float, float, float]) -> Any:
        """Minimize over the length of a step and the unpenalized coefficients.

        Parameters
        ----------
        f, g : (N,) arrays
            Values, and how they change along the step.
        b : (q,) array
        norms : three floats
            Products w'w, w'd and d'd of the coefficients and the step.
        """
        P, c, q = self.losses.P, self.losses.c, len(b)
        ww, wd, dd = norms
        s = 1.0

        def at(s: float, b: Array) -> float:
            smooth = self.look(f + s * g + P @ b)
            return smooth + 0.5 * (ww + 2.0 * s * wd + s * s * dd) + float(self.d @ b)

        still = at(0.0, b)
        value = at(s, b)
        if not value < still:
            s, value = 0.0, at(0.0, b)
        for _ in range(MAX_LINE_STEPS):
            u, bent = c * self.v, self.bent
            slope = np.concatenate([[g @ u + wd + s * dd], P.T @ u + self.d])
            weighted = bent * g
            H = np.empty((q + 1, q + 1))
            H[0, 0] = weighted @ g + dd
            H[0, 1:] = H[1:, 0] = P.T @ weighted
            H[1:, 1:] = (P * bent[:, None]).T @ P
            floor = np.zeros(q + 1)
            floor[1:] = _floor(H[1:, 1:], c, P, self.mu)
            step = -_solve_positive(H + np.diag(floor), slope)
            descent = float(slope @ step)
            if -descent <= 1e-10 * abs(value):
                break
            part, tried = 1.0, at(s + float(step[0]), b + step[1:])
            while tried > value + 1e-4 * part * descent and part > MIN_STEP_PART:
                part *= 0.5
                tried = at(s + part * float(step[0]), b + part * step[1:])
            if tried > value:
                break
            s, b = s + part * float(step[0]), b + part * step[1:]
            fell, value = value - tried, tried
            if fell <= 1e-9 * abs(value):
                break
        return s, b


def _floor(S: Array, c: Array, P: Array, mu: float) -> Array:
    """Return curvatures that stand for those of rows on straight pieces.

    They are parts of what all rows would have if all were curved: directions of the columns in
    which few rows are curved, or none, get steps of a length that makes sense.
    """
    size = np.array([float(c @ np.square(column)) for column in P.T]) / mu
    share = np.where(np.diag(S) > 0.0, MIN_CURVATURE_SHARE, STRAIGHT_CURVATURE)
    return np.maximum(share * size, np.sqrt(np.finfo(float).tiny))


def _solve_positive(S: Array, right: Array) -> Array:
    """Solve with a positive definite matrix, to whose diagonal more is added until it is."""
    diagonal = np.diag(S)
    scale = np.maximum(np.abs(diagonal), max(float(np.mean(np.abs(diagonal))), 1e-150))
    slack = 0.0
    while slack < MAX_SLACK:
        try:
            factor = la.cho_factor(S + np.diag(slack * scale), lower=True, check_finite=False)
            return np.asarray(la.cho_solve(factor, right, check_finite=False))
        except la.LinAlgError:
            slack = max(10.0 * slack, np.finfo(float).eps)
    # Only numbers that are not finite come here.
    raise ValueError(
        "the curvature is not finite in floating point: the data contain very large values. Scale "
        "the inputs and targets, or lower C."
    )


def _search(
    losses: RowLosses, d: Array, views: int, point: Point, tol: float, least: float, patience: int
) -> Search:
    """Minimize a problem, asking for what needs values of functions at rows."""
    r, c, P = len(point.w), losses.c, losses.P
    w, b = point.w, point.b
    f = np.repeat((yield Values(w)), views)
    since, before, fell = 0, np.inf, point.steps
    if point.first:
        # Slopes at the first values are better than none to round around.
        loss = Rounding(losses, d, point.v0, point.mu)
        b, _ = loss.settle(f, b)
        point.v0 = loss.v
    while True:
        loss = Rounding(losses, d, point.v0, point.mu)
        b, wrong = loss.settle(f, b)
        t = f + P @ b
        p = yield Slopes(c * loss.v)
        value, conjugate, young = fenchel_young(t, loss.v, c, *losses.terms)
        primal = 0.5 * float(w @ w) + float(d @ b) + value
        dual = -0.5 * float(p @ p) - conjugate
        if primal < point.primal:
            point.primal, point.best = primal, (w, b)
        if dual > point.dual and wrong <= MAX_DUAL_RESIDUAL:
            point.dual, point.v = dual, loss.v
        gap, goal = point.primal - point.dual, tol * max(abs(point.primal), least)
        point.done = gap <= goal
        if gap <= 0.5 * before and gap < np.inf:
            before, fell = gap, point.steps
        yield Report()
        if point.done or point.steps - fell >= patience:
            return
        slope = w + p
        left = 0.5 * float(slope @ slope)
        if left <= young or left <= 1e-3 * goal:
            point.v0 = loss.v
            if since <= 1 or np.count_nonzero(loss.bent) > CURVED_ROWS_PER_FEATURE * r:
                point.mu *= WIDTH_FACTOR
            since = 0
            loss = Rounding(losses, d, point.v0, point.mu)
            b, _ = loss.settle(f, b)
            slope = w + (yield Slopes(c * loss.v))
        curved = np.flatnonzero(loss.bent)
        point.active = len(curved)
        weights = loss.bent[curved]
        columns = weights[:, None] * P[curved]
        H, h = yield Curvature(curved, weights, columns)
        S = columns.T @ P[curved]
        step = -_newton_step(H, h, S + np.diag(_floor(S, c, P, point.mu)), slope)
        g = np.repeat((yield Values(step)), views)
        length, b = loss.line(f, g, b, (float(w @ w), float(w @ step), float(step @ step)))
        w, f = w + length * step, f + length * g
        point.w, point.b = w, b
        point.steps += 1
        since += 1


def _newton_step(H: Array, h: Array, S: Array, slope: Array) -> Array:
    """Solve ``(H - h S^-1 h') x = slope``, H in its lower triangle; unpenalized columns are S."""
    return _solve_positive(H - h @ _solve_positive(S, h.T) if len(S) else H, slope)


class _Server:
    """Answers what searches ask for, those of all problems in one pass over the rows."""

    def __init__(self, rows: HeldRows, k: int) -> None:
        self.rows = rows
        self.views = rows.problem.views
        self.known: list[tuple[Array, Array] | None] = [None] * k

    def __call__(self, asked: Mapping[int, Request]) -> dict[int, Any]:
        """Answer requests by the number of the problem."""
        phi = self.rows.problem.map
        found: dict[int, Any] = {}
        values = [j for j, one in asked.items() if isinstance(one, Values)]
        whole: list[tuple[int, Array]] = []
        for j, one in asked.items():
            if isinstance(one, Slopes):
                u = one.u.reshape(-1, self.views).sum(axis=1) if self.views > 1 else one.u
                before = self.known[j]
                if before is not None:
                    changed = np.flatnonzero(u != before[0])
                    if len(changed) <= CHANGED_SHARE * len(u):
                        self.rows.add(changed, u[changed] - before[0][changed], before[1])
                        self.known[j] = u, before[1]
                        found[j] = phi.lower(before[1][:, None])[:, 0]
                        continue
                whole.append((j, u))
            elif isinstance(one, Curvature):
                found[j] = self._curvature(one)
        if values or whole:
            W = np.zeros((phi.r, len(values)))
            for column, j in enumerate(values):
                W[:, column] = asked[j].w  # type: ignore[union-attr]
            U = np.stack([u for _, u in whole], axis=1) if whole else np.zeros((self.rows.n, 0))
            F, sums = self.rows.products(phi.lift(W), U)
            for column, j in enumerate(values):
                found[j] = F[:, column]
            for (j, u), total in zip(whole, sums.T, strict=True):
                self.known[j] = u, total.copy()
                found[j] = phi.lower(total[:, None])[:, 0]
        return found

    def _curvature(self, asked: Curvature) -> tuple[Array, Array]:
        """Return the curvature of features, the penalty's included, and beside free columns."""
        rows, r = asked.rows, self.rows.problem.map.r
        weights, columns = asked.weights, asked.columns
        if self.views > 1:
            rows, place = np.unique(rows // self.views, return_inverse=True)
            weights = np.asarray(np.bincount(place, weights), dtype=float)
            columns = np.stack([np.bincount(place, column) for column in columns.T], axis=1)
        H, h = np.zeros((r, r)), np.zeros((r, columns.shape[1]))
        if len(rows):
            self.rows.prepare(rows)
            dtype, add = self.rows.dtype, ssyrk if self.rows.single else dsyrk
            roots = np.sqrt(weights).astype(dtype)[:, None]
            share = -(-len(rows) // N_SUMS)

            def part(all_rows: slice) -> tuple[Any, Array]:
                total: Any = np.zeros((r, r), dtype=dtype, order="F")
                beside = np.zeros(h.shape)
                for piece in pieces(all_rows.start, all_rows.stop, FEATURE_ROWS):
                    Z = self.rows.features(rows[piece])
                    beside += np.asarray(Z.T @ columns[piece].astype(dtype), dtype=float)
                    Z = Z * roots[piece]
                    total = add(1.0, Z.T, lower=1, beta=1.0, c=total, overwrite_c=1)
                return total, beside

            for one, beside in stream_blocks(part, pieces(0, len(rows), share), self.rows.n_jobs):
                H += one
                h += beside
        H[np.diag_indices(r)] += 1.0
        return H, h


def _run(
    searches: Sequence[Search], server: _Server, told: Callable[[], Status | None]
) -> Status | None:
    """Lead searches side by side until all have ended, or whoever is told says why to end."""
    asked: dict[int, Request] = {}
    for j, search in enumerate(searches):
        asked[j] = next(search)
    while asked:
        open_ones = {j: one for j, one in asked.items() if not isinstance(one, Report)}
        found: dict[int, Any]
        if open_ones:
            found = server(open_ones)
        else:
            ended = told()
            if ended is not None:
                return ended
            found = dict.fromkeys(asked)
        for j, answer in found.items():
            try:
                asked[j] = searches[j].send(answer)
            except StopIteration:
                del asked[j]
    return None


def accepts(oracle: Oracle) -> bool:
    """Answer whether a problem is one of losses with kinks that this method can take.

    Parameters
    ----------
    oracle : Oracle
    """
    problem = oracle.problem
    loss = problem.loss
    if loss.smooth or not isinstance(loss, ConjugateLoss) or problem.map.core is not problem.map:
        return False
    terms = loss.terms()
    bounded = np.all(np.isfinite(terms.lower)) and np.all(np.isfinite(terms.upper))
    passes = oracle.passes
    return bool(bounded) and problem.map.r <= MAX_FEATURES and passes.room > 0.0


def certify(block: Block, problem: Problem, state: dict[str, Any]) -> Sums:
    """Return sums that make value and gap at a point, for slopes that are given, in float64."""
    X, Y, s, P, loss = problem.admit(block)
    c = np.broadcast_to(s * problem.C, Y.shape)
    views = problem.views
    v = state["v"][:, views * block.start : views * (block.start + block.n)].T
    F = np.empty_like(Y)
    G = c * v

    def slopes(f: Array, part: slice, R: Any) -> Array:
        F[part] = f + P[part] @ state["b"]
        return np.asarray(G[part])

    raw = problem.sweep(X, state["A"], slopes)
    value = loss.value(Y, F)
    young = np.maximum(value + loss.conjugate(Y, v) - v * F, 0.0)
    return Sums(
        n=np.array(block.n),
        raw=raw,
        free=P.T @ G,
        size=np.abs(P).T @ np.maximum(np.abs(G), 1e-6 * c),
        loss=np.sum(c * value, axis=0),
        young=np.sum(np.where(c > 0, c * young, 0.0), axis=0),
    )


def minimize_held(how: Newton, oracle: Oracle, W: Array, b: Array) -> Minimum | None:
    """Minimize all problems of an oracle; None where memory does not hold their rows.

    Parameters
    ----------
    how : Newton
        Tolerance and limits; its width is two spreads of the targets.
    oracle : Oracle
    W, b : (r, k) and (q, k) arrays
        Coefficients to begin with.
    """
    single = oracle.problem.map.steepness <= MAX_SINGLE_STEEPNESS
    held = hold(oracle.problem, oracle.passes, single)
    if held is None:
        return None
    with team():
        return _Run(how, oracle, W, b).go(*held)


class _Run:
    """A run of the method for all problems: their points, and what is known of them."""

    def __init__(self, how: Newton, oracle: Oracle, W: Array, b: Array) -> None:
        self.how, self.oracle = how, oracle
        self.start = time.perf_counter()
        self.problem = oracle.problem
        self.k = W.shape[1]
        self.least = np.broadcast_to(np.asarray(how.least, dtype=float), (self.k,))
        self.spread = 0.5 * how.width
        self.found = Minimum(W, b, np.full(self.k, self.spread), solver="method of multipliers")
        self.found.resolution = how.tol * float(np.sum(self.least))
        self.first = W, b
        self.points: list[Point] = []

    def go(self, rows: HeldRows, losses: list[RowLosses]) -> Minimum | None:
        """Minimize over rows that are held, again in float64 if that is needed."""
        found, how = self.found, self.how
        self.points = self._begin(rows, losses)
        tol = max(how.tol, MIN_SINGLE_GAP) if rows.single else how.tol
        status = self._search(rows, losses, tol, range(self.k))
        while True:
            self._certify()
            value = found.value
            assert value is not None
            open_ones = [int(j) for j in np.flatnonzero(~self._met(value))]
            if not open_ones or status is not None:
                found.status = Status.CONVERGED if not open_ones else status or Status.STALLED
                return found
            held = hold(self.problem, self.oracle.passes, False) if rows.single else None
            if held is None:
                # Passes over rounded losses, which need no feasible slopes, may go on from there.
                found.status = Status.STALLED
                other = how.minimize(self.oracle, *self.first)
                assert other.value is not None
                lower = float(np.sum(other.value.primal)) < float(np.sum(value.primal))
                return other if lower else found
            rows, losses = held
            for j in open_ones:
                self.points[j].primal, self.points[j].dual = np.inf, -np.inf
            status = self._search(rows, losses, how.tol, open_ones)

    def _met(self, value: Evaluation) -> NDArray[np.bool_]:
        goal = self.how.tol * np.maximum(np.abs(value.primal), self.least)
        return np.asarray(value.gap <= goal)

    def _begin(self, rows: HeldRows, losses: list[RowLosses]) -> list[Point]:
        """Return points to begin with: where some of the rows have their minimum, or as given."""
        n, views, d = rows.n, self.problem.views, self.oracle.d
        size = max(START_ROWS_PER_FEATURE * rows.problem.map.r, int(START_SHARE * n))
        W, b = self.found.W, self.found.b
        mu = [START_WIDTH * self.spread] * self.k
        if 2 * size < n and not np.any(W):
            some = np.sort(np.random.default_rng(self.problem.seed).permutation(n)[:size])
            seen = (views * some[:, None] + np.arange(views)).ravel()
            few = [own.take(seen, n / size) for own in losses]
            points = [Point(W[:, j], b[:, j], mu[j], _middle(few[j])) for j in range(self.k)]
            tol, patience = max(self.how.tol, START_GAP), STILL_SINGLE_STEPS
            searches = [
                _search(few[j], d[:, j], views, points[j], tol, float(self.least[j]), patience)
                for j in range(self.k)
            ]
            _run(searches, _Server(rows.take(some), self.k), lambda: None)
            W = np.stack([point.w for point in points], axis=1)
            b = np.stack([point.b for point in points], axis=1)
            mu = [WHOLE_WIDTH * self.spread] * self.k
        first = bool(np.any(W))
        return [Point(W[:, j], b[:, j], mu[j], _middle(losses[j]), first) for j in range(self.k)]

    def _search(
        self, rows: HeldRows, losses: list[RowLosses], tol: float, columns: Sequence[int]
    ) -> Status | None:
        d, views = self.oracle.d, self.problem.views
        patience = STILL_SINGLE_STEPS if rows.single else STILL_STEPS
        searches = [
            _search(losses[j], d[:, j], views, self.points[j], tol, float(self.least[j]), patience)
            for j in columns
        ]
        try:
            return _run(searches, _Server(rows, len(columns)), self._told)
        except KeyboardInterrupt:
            if not all(np.isfinite(point.dual) for point in self.points):
                raise
            return Status.INTERRUPTED

    def _told(self) -> Status | None:
        """Tell whoever listens where the searches are, and return why to end."""
        found, how, points = self.found, self.how, self.points
        found.n_iter = max(point.steps for point in points)
        primal = sum(point.primal for point in points)
        if not np.isfinite(primal):
            raise ValueError(
                "the objective is not finite in floating point: the data contain very large "
                "values. Scale the inputs and targets, or lower C."
            )
        elapsed = time.perf_counter() - self.start
        gap = max(0.0, primal - sum(point.dual for point in points))
        progress = Progress(found.n_iter, primal, gap, 0.0, elapsed)
        found.history.append(progress)
        if how.listener is not None and how.listener(progress):
            return Status.STOPPED
        if all(point.done for point in points):
            return None
        if 0 <= how.max_iter <= found.n_iter:
            return Status.MAX_ITER
        late = how.max_time is not None and elapsed >= how.max_time
        return Status.MAX_TIME if late or not time_left() else None

    def _certify(self) -> None:
        """Evaluate the best coefficients and slopes in float64, by a pass over all rows."""
        found, problem, d = self.found, self.problem, self.oracle.d
        W = found.W = np.stack([point.best[0] for point in self.points], axis=1)
        b = found.b = np.stack([point.best[1] for point in self.points], axis=1)
        found.mu = np.array([point.mu for point in self.points])
        found.v = np.stack([point.v for point in self.points])
        state = {"A": problem.map.lift(W), "b": b, "v": found.v}
        sums = self.oracle.passes("certify", certify, problem, state, anew=True)
        gw = W + problem.map.lower(sums["raw"])
        gb, size = sums["free"] + d, sums["size"] + np.abs(d)
        # A residual of the unpenalized columns leaves the bound open by what b can still move.
        floor = STRAIGHT_CURVATURE * size / self.how.width
        open_part = np.divide(gb * gb, floor, out=np.zeros_like(gb), where=floor > 0)
        ratio = np.divide(np.abs(gb), size, out=np.zeros_like(gb), where=size > 0)
        primal = 0.5 * np.sum(W * W, axis=0) + np.sum(b * d, axis=0) + sums["loss"]
        gap = 0.5 * np.sum(gw * gw, axis=0) + sums["young"]
        gap += np.abs(np.sum(b * gb, axis=0)) + np.sum(open_part, axis=0)
        found.value = Evaluation(
            smooth=primal,
            primal=primal,
            gap=gap,
            gw=gw,
            gb=gb,
            young=sums["young"],
            residual=np.max(ratio, axis=0, initial=0.0),
            size=size,
            active=np.array([point.active for point in self.points], dtype=float),
            H=None,
        )
        found.known = (W, b, found.mu)


def _middle(losses: RowLosses) -> Array:
    """Return slopes to round around before any are known: of no loss, or halfway at a kink."""
    above, below, _, _, low, high = losses.terms
    return np.where(above > below, 0.0, 0.5 * (low + high))
