r"""The method of multipliers for losses with kinks.

.. math:: \min_{w, b}\ \tfrac12 |w|^2 + d'b + \sum_i c_i\, l_i(t_i),
          \qquad t = \Phi w + P b

Slopes :math:`v_0` of the losses are known from before; each outer step minimizes the problem with
losses rounded around them,

.. math:: l_\mu(t) = \max_v\ v t - l^*(v) - \tfrac{\mu}{2} (v - v_0)^2

by Newton's method, and takes the slopes v at its minimum for :math:`v_0`. Only rows whose rounded
loss is curved have a part in the curvature, and between two steps few rows change their slopes. The
unpenalized coefficients b are moved until :math:`P'(c v) + d = 0`, so that every v is feasible in
the dual problem and proves a bound: :math:`-\tfrac12 |\Phi'(c v)|^2 - \sum_i c_i l_i^*(v_i)`.

The search of a problem is a generator: it yields requests (:mod:`mercer.reduced.row_state`), and is
sent sums over the rows, wherever they are: in this process, in files, or on the workers of a
cluster. What the searches of all problems ask for is one request to every block. They begin on the
rows that were drawn, go on in float32 where that has enough digits, and end with a certificate in
float64.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from mercer._deadline import time_left
from mercer._threads import team, usable_cores
from mercer._typing import Array
from mercer.data.arrays import Arrays
from mercer.data.base import Block, Keeping, Sums
from mercer.losses.base import Loss, QuadraticDualLoss
from mercer.reduced.base import FeatureMap
from mercer.reduced.checkpoint import digest
from mercer.reduced.newton import (
    MAX_DUAL_RESIDUAL,
    STRAIGHT_CURVATURE,
    Minimum,
    Newton,
    residual_gap,
)
from mercer.reduced.oracle import Evaluation, Oracle
from mercer.reduced.passes import Passes
from mercer.reduced.problem import at_rows
from mercer.reduced.row_state import (
    ALL,
    Again,
    Balance,
    BlockRows,
    Certify,
    Curvature,
    Held,
    Look,
    Pick,
    Refine,
    Request,
    Slopes,
    Values,
    answer,
)
from mercer.solvers.monitor import Progress
from mercer.solvers.status import GAP_ROUNDING, Status

# By what the width shrinks after a problem that took one step, or while so many rows are curved for
# every feature.
WIDTH_FACTOR, CURVED_ROWS_PER_FEATURE = 0.3, 6

# Part of the curved rows whose curvature may have changed for differences to be summed instead.
MAX_CHANGED_SHARE = 0.7

# Multiple of its diagonal by which a matrix whose digits were lost is positive definite.
MAX_SLACK = 1e6

# Steps of a search along a direction, and of one for the unpenalized coefficients.
MAX_LINE_STEPS, MAX_FREE_STEPS = 12, 60

# Shortest part of a step that is tried.
MIN_STEP_PART = 1e-12

# Steps in which slopes of curved rows are changed so that unpenalized columns balance.
MAX_BALANCE_STEPS = 5

# Residual of the unpenalized columns beside the size of its terms that counts as none.
MAX_FREE_RESIDUAL = 1e-13

# Part of the curvature of all rows that is added for columns that few of them tell apart.
MIN_CURVATURE_SHARE = 1e-10


@dataclass(frozen=True)
class Report:
    """Says that a step is done: the point has the best value and the best bound so far."""


Search = Generator[Request | Report, Any, Any]


@dataclass
class Point:
    """Where the search of a problem is, and the best that it has found.

    Parameters
    ----------
    w, b : (r,) and (q,) arrays
    mu : float
        Width over which kinks are rounded.
    first : bool
        Whether nothing is known of slopes, but of the coefficients.
    """

    w: Array
    b: Array
    mu: float
    first: bool = False
    best: tuple[Array, Array] = field(init=False)
    """Coefficients of the least value."""
    primal: float = np.inf
    dual: float = -np.inf
    steps: int = 0
    done: bool = False
    active: float = 0.0
    changes: dict[str, Any] = field(default_factory=dict)
    """What the next request changes before it asks; see :class:`Request`."""

    def __post_init__(self) -> None:
        self.best = self.w, self.b

    def taken(self) -> dict[str, Any]:
        """Return the changes, which are made once."""
        changes, self.changes = self.changes, {}
        return changes


@dataclass
class _Rounded:
    """The problem with losses rounded around the slopes that rows have for v0."""

    point: Point
    d: Array
    columns: Array
    """Sums of weighted squares of the unpenalized columns."""

    def at(self, b: Array) -> Generator[Request, Any, tuple[float, Array, float, Sums]]:
        """Return value, slope in b, its largest entry beside the size of its terms, and sums."""
        found = yield Look(b, self.point.mu, **self.point.taken())
        return (float(found["value"]) + float(self.d @ b), *self._residual(found), found)

    def _residual(self, found: Sums) -> tuple[Array, float]:
        slope, size = found["free"] + self.d, found["size"] + np.abs(self.d)
        ratios = np.abs(slope) / np.where(size > 0.0, size, 1.0)
        return slope, float(np.max(ratios, initial=0.0))

    def settle(self, b: Array) -> Generator[Request, Any, tuple[Array, float, Sums]]:
        """Return coefficients of the unpenalized columns that minimize, and what is left.

        Slopes of the rows are those there; what is left is the residual of the columns beside its
        terms.
        """
        value, slope, wrong, found = yield from self.at(b)
        low, high, stride, ease = -np.inf, np.inf, self.point.mu, 1.0
        for _ in range(MAX_FREE_STEPS if len(b) else 0):
            if wrong <= MAX_FREE_RESIDUAL:
                break
            S = found["S"]
            if len(b) > 1:
                # On straight pieces steps grow as long as whole ones lead down.
                step = -solve_positive(S + np.diag(ease * self.floor(S)), slope)
                moved = yield from self._descend(b, step, value, slope, wrong)
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
                moved = None if new[0] == b[0] else (new, *(yield from self.at(new)))
            if moved is None:
                if len(b) > 1:
                    *_, found = yield from self.at(b)
                break
            b, value, slope, wrong, found = moved
        wrong = yield from self._balance(b, slope, wrong, found)
        return b, wrong, found

    def _balance(
        self, b: Array, slope: Array, wrong: float, found: Sums
    ) -> Generator[Request, Any, float]:
        """Change slopes of curved rows until columns balance, and return what is left.

        Next to rows of large weight the last digit of b moves more slope than others have.
        """
        for _ in range(MAX_BALANCE_STEPS):
            if wrong <= MAX_FREE_RESIDUAL or not found["active"]:
                break
            y = solve_positive(found["S"], slope)
            slope, wrong = self._residual((yield Balance(b, self.point.mu, y)))
        return wrong

    def _descend(
        self, b: Array, step: Array, value: float, slope: Array, wrong: float
    ) -> Generator[Request, Any, tuple[Array, float, Array, float, Sums] | None]:
        """Return the first of shorter and shorter steps that is better, by value or by slope."""
        descent, part = float(slope @ step), 1.0
        while part > MIN_STEP_PART:
            new = b + part * step
            tried = yield from self.at(new)
            # Where values are equal up to rounding, slopes still tell.
            told = tried[2] < wrong and -descent <= 1e-8 * abs(value)
            if tried[0] <= value + 1e-4 * part * descent or told:
                return (new, *tried)
            part *= 0.5
        return None

    def line(
        self, b: Array, norms: tuple[float, float, float], losses: float
    ) -> Generator[Request, Any, tuple[float, Array]]:
        """Minimize over the length of the step and the unpenalized coefficients.

        Parameters
        ----------
        b : (q,) array
        norms : three floats
            Products w'w, w'd and d'd of the coefficients and the step.
        losses : float
            Sum of rounded losses before the step.
        """
        q, s = len(b), 1.0
        ww, wd, dd = norms

        def at(s: float, b: Array) -> Generator[Request, Any, tuple[float, Sums]]:
            found = yield Look(b, self.point.mu, s, True, **self.point.taken())
            smooth = float(found["value"]) + 0.5 * (ww + 2.0 * s * wd + s * s * dd)
            return smooth + float(self.d @ b), found

        value, found = yield from at(s, b)
        if not value < losses + 0.5 * ww + float(self.d @ b):
            s = 0.0
            value, found = yield from at(s, b)
        for _ in range(MAX_LINE_STEPS):
            slope = np.concatenate([[found["gu"] + wd + s * dd], found["free"] + self.d])
            H = np.empty((q + 1, q + 1))
            H[0, 0] = found["gg"] + dd
            H[0, 1:] = H[1:, 0] = found["gP"]
            H[1:, 1:] = found["S"]
            floor = np.zeros(q + 1)
            floor[1:] = self.floor(H[1:, 1:])
            step = -solve_positive(H + np.diag(floor), slope)
            descent = float(slope @ step)
            if -descent <= 1e-10 * abs(value):
                # Values do not tell any more, but slopes have their digits: Newton's step is made.
                return s + float(step[0]), b + step[1:]
            part = 1.0
            tried, new = yield from at(s + float(step[0]), b + step[1:])
            while tried > value + 1e-4 * part * descent and part > MIN_STEP_PART:
                part *= 0.5
                tried, new = yield from at(s + part * float(step[0]), b + part * step[1:])
            if tried > value:
                break
            s, b = s + part * float(step[0]), b + part * step[1:]
            fell, value, found = value - tried, tried, new
            if fell <= 1e-9 * abs(value):
                break
        return s, b

    def floor(self, S: Array) -> Array:
        """Return curvatures that stand for those of rows on straight pieces.

        They are parts of what all rows would have if all were curved: directions of the columns in
        which few rows are curved, or none, get steps of a length that makes sense.
        """
        share = np.where(np.diag(S) > 0.0, MIN_CURVATURE_SHARE, STRAIGHT_CURVATURE)
        size = self.columns / self.point.mu
        return np.asarray(np.maximum(share * size, np.sqrt(np.finfo(float).tiny)))


def solve_positive(S: Array, right: Array) -> Array:
    """Solve with a positive definite matrix, to whose diagonal more is added until it is."""
    diagonal = np.diag(S)
    scale = np.maximum(np.abs(diagonal), max(float(np.mean(np.abs(diagonal))), 1e-150))
    slack = 0.0
    while slack < MAX_SLACK:
        try:
            M = np.array(S, order="F")
            M[np.diag_indices(len(M))] += slack * scale
            factor = la.cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
            return np.asarray(la.cho_solve(factor, right, check_finite=False))
        except la.LinAlgError:
            slack = max(10.0 * slack, np.finfo(float).eps)
    # Only numbers that are not finite come here.
    raise ValueError(
        "the curvature is not finite in floating point: the data contain very large values. Scale "
        "the inputs and targets, or lower C."
    )


def search(
    phi: FeatureMap, d: Array, point: Point, tol: float, least: float, patience: int
) -> Search:
    """Minimize a problem, asking for what needs its rows.

    Parameters
    ----------
    phi : FeatureMap
    d : (q,) array
        Linear cost of the unpenalized coefficients.
    point : Point
        Where the search begins; changed.
    tol : float
        Largest gap relative to the value, or to `least` where that is larger.
    least : float
    patience : int
        Steps after which the search ends if its gap has not fallen by half meanwhile.
    """
    w, b = point.w, point.b
    sums = yield Values(phi.lift(w[:, None])[:, 0], **point.taken())
    loss = _Rounded(point, d, sums["columns"])
    since, before, fell = 0, np.inf, point.steps
    width, H, h = 0.0, np.zeros((phi.r, phi.r)), np.zeros((phi.r, len(b)))
    if point.first:
        # Slopes at the first values are better than none to round around.
        b, _, _ = yield from loss.settle(b)
        point.changes["recentre"] = True
    while True:
        b, wrong, found = yield from loss.settle(b)
        sums = yield Slopes(b, point.mu)
        p = phi.lower(sums["raw"][:, None])[:, 0]
        primal = 0.5 * float(w @ w) + float(d @ b) + float(sums["loss"])
        dual = -0.5 * float(p @ p) - float(sums["conjugate"])
        if primal < point.primal:
            point.primal, point.best = primal, (w, b)
        if dual > point.dual and wrong <= MAX_DUAL_RESIDUAL:
            point.dual, point.changes["keep"] = dual, True
        gap, goal = point.primal - point.dual, tol * max(abs(point.primal), least)
        point.done = gap <= goal
        if gap <= 0.5 * before and gap < np.inf:
            before, fell = gap, point.steps
        yield Report()
        if point.done or point.steps - fell >= patience:
            return
        slope = w + p
        left = 0.5 * float(slope @ slope)
        if left <= sums["young"] or left <= 1e-3 * goal:
            point.changes["recentre"] = True
            if since <= 1 or found["active"] > CURVED_ROWS_PER_FEATURE * phi.r:
                point.mu *= WIDTH_FACTOR
            since = 0
            b, _, found = yield from loss.settle(b)
            sums = yield Slopes(b, point.mu)
            slope = w + phi.lower(sums["raw"][:, None])[:, 0]
        point.active = float(found["active"])
        few = sums["changed"] <= MAX_CHANGED_SHARE * point.active
        ratio = width / point.mu if few else 0.0
        sums = yield Curvature(b, point.mu, ratio, **point.taken())
        width, H, h = point.mu, ratio * H + sums["H"], ratio * h + sums["h"]
        S = found["S"] + np.diag(loss.floor(found["S"]))
        step = -_newton_step(H, h, S, slope)
        yield Values(phi.lift(step[:, None])[:, 0], True)
        norms = float(w @ w), float(w @ step), float(step @ step)
        length, b = yield from loss.line(b, norms, float(found["value"]))
        point.changes["advance"] = length
        w = w + length * step
        point.w, point.b = w, b
        point.steps += 1
        since += 1


def _newton_step(H: Array, h: Array, S: Array, slope: Array) -> Array:
    """Solve ``(I + H - h S^-1 h') x = slope``, H in its lower triangle; free columns are S."""
    H = H - h @ solve_positive(S, h.T) if len(S) else H.copy()
    H[np.diag_indices(len(H))] += 1.0
    return solve_positive(H, slope)


# Matrices of curvature that each problem has at once: its own, the sum over blocks so far, and that
# of a block. Two more are those of a step, which problems make one after the other.
MATRICES, STEP_MATRICES = 3, 2

# Beyond this steepness features of values in float32 have too few digits.
MAX_SINGLE_STEEPNESS = 300.0

# Sizes of targets and weights that float32 has room for, with sums of many and squares of few.
MIN_SINGLE_SIZE, MAX_SINGLE_SIZE = 1e-15, 1e15

# Relative gap up to which values in float32 lead.
MIN_SINGLE_GAP = 3e-5

# Rows of which one was drawn, at least, where a search begins on those drawn; and its gap.
MIN_ROWS_PER_DRAWN, START_GAP = 2, 1e-2

# Widths over which kinks are rounded at first, in spreads of the targets: on the first rows, and
# at least on all.
START_WIDTH, WHOLE_WIDTH = 1.0, 0.1

# Steps after which a search ends whose gap has not fallen by half meanwhile, in either precision.
STILL_SINGLE_STEPS, STILL_STEPS = 10, 30

# Rows of a block of those drawn.
START_BLOCK_ROWS = 16384


def largest_map(loss: Loss, passes: Passes) -> int:
    """Return how many features memory has room for, by the matrices of one problem.

    Parameters
    ----------
    loss : Loss
    passes : Passes
    """
    if loss.smooth:
        return sys.maxsize  # bounded where the passes are opened
    if not isinstance(loss, QuadraticDualLoss):
        raise ValueError(
            f"{loss!r} is nondifferentiable and its conjugate is not made of two parabolas: write "
            "it as a ResidualLoss or a MarginLoss."
        )
    return int(np.sqrt(passes.room / (8.0 * (MATRICES + STEP_MATRICES))))


def check_memory(loss: Loss, passes: Passes, m: int) -> None:
    """Raise ValueError where memory has no room for the matrices of a nondifferentiable loss.

    Parameters
    ----------
    loss : Loss
    passes : Passes
    m : int
        Number of features.
    """
    most = largest_map(loss, passes)
    if m > most:
        need = 8.0 * (MATRICES + STEP_MATRICES) * m * m / 1e9
        raise ValueError(
            f"a nondifferentiable loss needs {MATRICES + STEP_MATRICES} matrices of {m} by {m} "
            f"numbers, {need:.3g} GB in half of memory_limit: use at most {most} landmarks or "
            "random features, or raise memory_limit."
        )


def holding(oracle: Oracle) -> Held:
    """Return what blocks are to keep, and whether in memory or in files.

    Parameters
    ----------
    oracle : Oracle
    """
    problem, passes = oracle.problem, oracle.passes
    single = problem.map.steepness <= MAX_SINGLE_STEEPNESS and _moderate(oracle)
    none = Held(problem, single, (False, False), False)
    room = (passes.room - _matrix_bytes(oracle)) / oracle.pool.n - _state_bytes(oracle, none)
    if room < 0.0:
        return replace(none, in_files=True)
    double, half = (size * problem.map.m for size in (8.0, 4.0))
    values = double <= room, half <= room
    points = not values[single] and 8.0 * problem.p <= room
    left = room - max(double * values[0], half * values[1]) - points * 8.0 * problem.p
    return Held(problem, single, values, points, left)


def _moderate(oracle: Oracle) -> bool:
    """Answer whether float32 has room for targets and weights of the rows that were drawn."""
    pool = oracle.pool
    Y, s = oracle.problem.targets(Block(pool.X, pool.y, pool.s, 0))
    sizes = np.max(np.abs(Y), axis=0), np.max(s, axis=0) * oracle.problem.C
    return all(
        bool(np.all((size >= MIN_SINGLE_SIZE) & (size <= MAX_SINGLE_SIZE))) for size in sizes
    )


def _matrix_bytes(oracle: Oracle) -> float:
    """Return the bytes of the curvatures of all problems, where one thread sums them."""
    number = MATRICES * oracle.problem.k + STEP_MATRICES
    return number * 8.0 * oracle.problem.map.r**2


def _threads(oracle: Oracle) -> int | None:
    """Return how many threads have room for curvatures of their own; None for all."""
    passes = oracle.passes
    if passes.source.memory is not None:
        return passes.n_jobs
    fit = int(passes.room / max(1.0, _matrix_bytes(oracle)))
    return max(1, min(passes.n_jobs or usable_cores(), fit))


def _state_bytes(oracle: Oracle, held: Held) -> float:
    """Return the bytes that a row takes, as some rows tell."""
    pool, some = oracle.pool, min(256, len(oracle.pool.keys))
    y, s = (None if part is None else np.asarray(part)[:some] for part in (pool.y, pool.s))
    problem = replace(held.problem, loss=at_rows(held.problem.loss, pool.rows[:some]))
    rows = BlockRows(Block(pool.X[:some], y, s, 0), replace(held, problem=problem))
    return rows.state_bytes / some


class _Server:
    """Answers what searches ask for, those of all problems by one request to every block.

    Parameters
    ----------
    keeping : Keeping
    held : Held
    passes : Passes, optional
        Where requests that go through all values count as passes, and answers may be kept.
    """

    def __init__(self, keeping: Any, held: Held, passes: Passes | None = None) -> None:
        self.keeping, self.held, self.single = keeping, held, held.single
        self.passes = passes
        self.before = ""
        """Digest of all requests so far, which an answer depends on."""
        self.begun = False
        self.past: list[dict[int, Any]] = []
        """Requests that rows have not seen, because their answers were kept."""

    def __call__(self, asked: dict[int, Any], read: bool | None = None) -> dict[int, Any]:
        """Answer requests by the number of the problem; blocks are read if they must be."""
        kinds = {type(one) for one in asked.values()}
        heavy = kinds & {Values, Slopes, Curvature, Certify}
        if read is None:
            read = bool(heavy) and self.held.reads(self.single)
        read, self.begun = read or not self.begun, True

        def make() -> Sums:
            if self.past:
                self.keeping(Again(tuple(self.past)), True)
                self.past = []
            found: Sums = self.keeping(asked, read)
            return found

        if self.passes is None:
            sums = make()
        else:
            if self.passes.checkpoint is not None:
                self.before = digest([self.before, asked])
            name = next((n for kind, n in NAMES.items() if kind in kinds), "")
            sums, made = self.passes.answer(name, self.held.problem, self.before, make)
            if not made:
                self.past.append(asked)
        found: dict[int, Any] = {j: Sums() for j in asked}
        for name, value in sums.items():
            j, _, own = name.partition(":")
            found[int(j)][own] = value
        return found

    def refine(self) -> None:
        """Have values in float64 from now on."""
        self.single = False
        self({ALL: Refine()})
        # Values that are to be kept are made of points, which are read for that.
        self.begun = self.held.points


NAMES = {Values: "value", Slopes: "slope", Certify: "certify"}
"""What requests are called that go through values at all rows."""


def _run(
    searches: dict[int, Search], server: _Server, told: Callable[[], Status | None]
) -> Status | None:
    """Lead searches side by side until all have ended, or whoever is told says why to end."""
    asked: dict[int, Any] = {}
    for j, one in searches.items():
        asked[j] = next(one)
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
        for j, sums in found.items():
            try:
                asked[j] = searches[j].send(sums)
            except StopIteration:
                del asked[j]
    return None


def minimize_kinked(how: Newton, oracle: Oracle, W: Array, b: Array) -> Minimum:
    """Minimize all problems of an oracle.

    Parameters
    ----------
    how : Newton
        Tolerance and limits; its width is two spreads of the targets.
    oracle : Oracle
    W, b : (r, k) and (q, k) arrays
        Coefficients to begin with.
    """
    held, passes = holding(oracle), oracle.passes
    blocks = passes.source.keeping(answer, held, rows=passes.rows, n_jobs=_threads(oracle))
    with team(), blocks as keeping:
        return _Run(how, oracle, W, b).go(_Server(keeping, held, passes))


class _Run:
    """A run of the method for all problems: their points, and what is known of them."""

    def __init__(self, how: Newton, oracle: Oracle, W: Array, b: Array) -> None:
        self.how, self.oracle = how, oracle
        self.start = time.perf_counter()
        self.problem = oracle.problem
        self.k = W.shape[1]
        self.least = np.broadcast_to(np.asarray(how.least, dtype=float), (self.k,))
        self.spread = 0.5 * how.width
        self.found = Minimum(W, b, solver="method of multipliers")
        self.found.resolution = how.tol * float(np.sum(self.least))
        self.points: list[Point] = []

    def go(self, server: _Server) -> Minimum:
        """Minimize, again in float64 if that is needed."""
        found, how = self.found, self.how
        self.points = self._begin(server.held)
        tol = max(how.tol, MIN_SINGLE_GAP) if server.single else how.tol
        status = self._search(server, tol, range(self.k))
        while True:
            self._certify(server)
            value = found.value
            assert value is not None
            open_ones = [int(j) for j in np.flatnonzero(~self._met(value))]
            if not open_ones or status is not None:
                found.status = Status.CONVERGED if not open_ones else status or Status.STALLED
                break
            if not server.single:
                found.status = Status.STALLED
                break
            server.refine()
            for j in open_ones:
                # Slopes that prove more than those of the next steps stay.
                point, primal = self.points[j], float(value.primal[j])
                point.primal, point.dual = primal, primal - float(value.gap[j])
            status = self._search(server, how.tol, open_ones)
        return found

    def _met(self, value: Evaluation) -> NDArray[np.bool_]:
        goal = max(self.how.tol, GAP_ROUNDING) * np.maximum(np.abs(value.primal), self.least)
        return np.asarray(value.gap <= goal)

    def _begin(self, held: Held) -> list[Point]:
        """Return points to begin with: where the rows drawn have their minimum, or as given."""
        pool, drawn = self.oracle.pool, len(self.oracle.pool.keys)
        W, b, mu = self.found.W, self.found.b, START_WIDTH * self.spread
        if pool.n >= MIN_ROWS_PER_DRAWN * drawn and not np.any(W):
            # Every row drawn stands for several.
            loss, C = at_rows(self.problem.loss, pool.rows), self.problem.C * (pool.n / drawn)
            few = replace(held, problem=replace(self.problem, loss=loss, C=C))
            few = replace(few, values=(True, True), feature_bytes=8.0 * self.problem.map.r)
            few = replace(few, in_files=False)
            points = [Point(W[:, j], b[:, j], mu) for j in range(self.k)]
            some = Arrays(pool.X, pool.y, pool.s)
            n_jobs = self.oracle.passes.n_jobs
            with Keeping(some, answer, few, START_BLOCK_ROWS, n_jobs) as keeping:
                tol = max(self.how.tol, START_GAP)
                searches = self._searches(points, tol, STILL_SINGLE_STEPS, range(self.k))
                _run(searches, _Server(keeping, few), self._late)
            W = np.stack([point.w for point in points], axis=1)
            b = np.stack([point.b for point in points], axis=1)
            mu = WHOLE_WIDTH * self.spread
        first = bool(np.any(W))
        return [Point(W[:, j], b[:, j], mu, first) for j in range(self.k)]

    def _searches(
        self, points: list[Point], tol: float, patience: int, columns: Sequence[int]
    ) -> dict[int, Search]:
        phi, d = self.problem.map, self.oracle.d
        return {
            j: search(phi, d[:, j], points[j], tol, float(self.least[j]), patience) for j in columns
        }

    def _search(self, server: _Server, tol: float, columns: Sequence[int]) -> Status | None:
        patience = STILL_SINGLE_STEPS if server.single else STILL_STEPS
        try:
            return _run(self._searches(self.points, tol, patience, columns), server, self._told)
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
        return Status.MAX_ITER if 0 <= how.max_iter <= found.n_iter else self._late()

    def _late(self) -> Status | None:
        elapsed, most = time.perf_counter() - self.start, self.how.max_time
        late = most is not None and elapsed >= most
        return Status.MAX_TIME if late or not time_left() else None

    def _certify(self, server: _Server) -> None:
        """Evaluate the best coefficients and slopes in float64, by a pass over all rows."""
        found, problem, d = self.found, self.problem, self.oracle.d
        W = found.W = np.stack([point.best[0] for point in self.points], axis=1)
        b = found.b = np.stack([point.best[1] for point in self.points], axis=1)
        A = problem.map.lift(W)
        asked: dict[int, Any] = {ALL: Pick(np.asarray(self.oracle.pool.rows))}
        for j, point in enumerate(self.points):
            # A step whose length was found is made; slopes that were found the best are kept.
            asked[j] = Certify(A[:, j], b[:, j], **point.taken())
        read = server.single or server.held.reads(False)
        parts = server(asked, read and not server.held.points)
        found.slopes = parts[ALL]["v"]
        sums = {
            name: np.stack([np.asarray(parts[j][name]) for j in range(self.k)], axis=-1)
            for name in parts[0]
        }
        gw = W + problem.map.lower(sums["raw"])
        gb, size = sums["free"] + d, sums["size"] + np.abs(d)
        ratio = np.divide(np.abs(gb), size, out=np.zeros_like(gb), where=size > 0)
        primal = 0.5 * np.sum(W * W, axis=0) + np.sum(b * d, axis=0) + sums["loss"]
        gap = 0.5 * np.sum(gw * gw, axis=0) + sums["young"]
        gap += residual_gap(b, gb, size, self.how.width)
        # Without feasible slopes nothing is known but that losses are not negative.
        wrong = np.max(ratio, axis=0, initial=0.0) > MAX_DUAL_RESIDUAL
        unknown = np.where(np.any(d != 0, axis=0), np.inf, primal)
        gap = np.where(wrong | np.isnan(gap), unknown, np.minimum(gap, unknown))
        found.value = Evaluation(
            primal=primal,
            gap=gap,
            gw=gw,
            gb=gb,
            young=sums["young"],
            residual=np.max(ratio, axis=0, initial=0.0),
            size=size,
            H=None,
        )
        found.known = (W, b)
