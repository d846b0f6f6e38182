r"""Losses with kinks: the searches of all problems side by side, over rows that keep their state.

Searches (:mod:`mercer.reduced.multipliers`) ask for sums over rows, and what all of them ask for is
one request to every block (:mod:`mercer.reduced.row_state`): in this process, from files that do
not fit into memory, or on the workers of a cluster. They begin on the rows that were drawn, go on
in float32 where that has enough digits, and end with a certificate in float64.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._deadline import time_left
from mercer._threads import team, usable_cores
from mercer._typing import Array
from mercer.data.arrays import Arrays
from mercer.data.base import Block, Keeping, Sums
from mercer.losses.base import Loss, QuadraticDualLoss
from mercer.reduced.checkpoint import digest
from mercer.reduced.multipliers import Point, Report, Search, search
from mercer.reduced.newton import MAX_DUAL_RESIDUAL, Minimum, Newton, residual_gap
from mercer.reduced.oracle import Evaluation, Oracle
from mercer.reduced.passes import Passes
from mercer.reduced.problem import at_rows
from mercer.reduced.row_state import (
    ALL,
    Again,
    BlockRows,
    Certify,
    Curvature,
    Held,
    Pick,
    Refine,
    Slopes,
    Values,
    answer,
)
from mercer.solvers.monitor import Progress
from mercer.solvers.status import GAP_ROUNDING, Status

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
