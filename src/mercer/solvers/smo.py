r"""Decomposition: pairs of coefficients inside working sets, for losses with quadratic dual.

Sequential minimal optimization with second-order selection (Fan, Chen and Lin, 2005), on the signed
coefficients themselves: a loss with a dead zone has a kink at :math:`a_i = 0`, where a step stops,
instead of twice the variables. One equality row per *group* of samples is kept: a single group is
the usual intercept, two groups are the nu-machines, none is a machine without intercept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mercer._threads import team
from mercer._typing import Array
from mercer.gram.active_square import WHOLE, ActiveSquare
from mercer.gram.base import Gram
from mercer.gram.lasting import Products, SolverCache
from mercer.gram.row_store import MAX_WHOLE_ROWS, RowStore
from mercer.kernels.packed_tiles import PackedPoints
from mercer.kernels.roundoff import Roundoff
from mercer.losses.base import DualTerms, QuadraticDualLoss
from mercer.problems.reductions import infeasible
from mercer.problems.risk import RegularizedRisk
from mercer.solvers._free_newton import newton_cost, newton_step
from mercer.solvers._multipliers import Multipliers, kept
from mercer.solvers._pairs import pack, pair_steps, slopes, survey
from mercer.solvers.base import Answer, Solver
from mercer.solvers.certify import believed, snap_to_box
from mercer.solvers.monitor import Monitor
from mercer.solvers.solution import Solution
from mercer.solvers.status import is_met

__all__ = ["SMO"]

# Work per compiled call, in samples times steps: about a tenth of a second, so that Ctrl-C, time
# limits and progress reports are never far away. A step costs as much as so many samples besides.
MAX_CALL_WORK, STEP_COST_SAMPLES = 8e7, 80
# Reports cost a certificate each: the first comes after so many seconds, the others so rarely that
# they take a twentieth of the time; who listens hears of every working set.
FIRST_REPORT_SECONDS, REPORT_COST_RATIO = 0.02, 20.0
# Largest working set.
MAX_WORKING_SET_ROWS = 8192
# Up to so many samples all rows are computed once more than this part has a coefficient, and
# pairs are taken from all samples for so many steps a sample. Beyond, and where steps are many,
# those over working sets take less time.
MAX_STORED_ROWS, MIN_SUPPORT_PART, WHOLE_STEPS_PER_ROW = 4096, 0.05, 4
# Samples that enter a working set at once beside the free ones. As long as fewer are free, most of
# those that enter end on a bound, and the worst violators are too much alike: once a few of them
# are there, the others are at rest. Those that enter are drawn from all whose violation is more
# than this part of the largest one: 63 working sets instead of 217 on a9a.
MAX_ENTERING_ROWS, MIN_DRAWN_VIOLATION_PART = 512, 0.05
# Part of the violation at which a working set is left: as long as others will change the products
# again, precision is wasted; once all that is not at rest is inside, it is not.
OUTSIDE_VIOLATION_PART, INSIDE_VIOLATION_PART = 0.1, 0.05
# Kernel values are float32 down to this tolerance, above so many samples; then products are put
# right in float64 wherever the certificate can feel their error, at most so many times, and where
# that is not enough the last steps are taken in float64.
FLOAT32_TOL, MAX_FLOAT64_ROWS, MAX_CORRECTIONS = 1e-4, 512, 6
# So many steps a sample are enough to find the minimum of a matrix in float32, unless its rounding
# times large weights is more than the tolerance: then there may be none to find.
MAX_FLOAT32_STEPS_PER_ROW = 50
# Working sets in a row that did not lower the dual value by more than its rounding error, after
# which no further one will.
MAX_IDLE_WORKING_SETS, EPS = 2, float(np.finfo(np.float64).eps)
# Steps after which a run ends unless the violation falls by half while their number doubles: so
# many, or so many a sample. On stiff problems, with weights of 1e9 and rows that are nearly
# combinations of others, pairs would need days.
CREEPING_STEPS, CREEPING_STEPS_PER_ROW = 1e7, 100
# With fewer features a row is computed again in the time that it takes to read it.
MIN_KEPT_FEATURES = 64
# Largest square of active samples, and samples that enter it at once.
MAX_ACTIVE_ROWS, MAX_ENTERING_ACTIVE_ROWS = 16384, 1024
# An epoch ends when the violation has fallen to this part, or when what 16 bits may have added to
# products (four standard deviations) is more than this part of it.
EPOCH_VIOLATION_PART, SHORT_ERROR_PART = 0.1, 0.05
# Samples sleep for an epoch if they are farther from moving than this part of the violation of the
# first epoch, and than so many violations.
ASLEEP_FIRST_PART, ASLEEP_VIOLATIONS = 0.15, 2.0
# Relative distance from a bound that is rounding.
BOUND_ROUNDING = 1e-12
# Rounds for columns that multipliers meet begin at this part of the targets, and end once decision
# values change by no more than this part of the tolerance, or the least where that is not enough.
# The weight of the rows grows after so many that did not bring the change down by this factor.
FIRST_ROUND_TOL, ROUND_TOL_PART, LEAST_ROUND_TOL_PART = 0.1, 0.5, 1e-4
SLOW_ROUND_RATIO, MAX_SLOW_ROUNDS = 0.5, 4


@dataclass(eq=False)
class SMO(Solver):
    """Sequential minimal optimization within working sets.

    Of many samples with a kernel that has compiled tiles, those far from moving are not updated
    until the violation has fallen to a tenth, and pairs step on kernel values of 16 bits; products
    are brought up to date in float32 then, and put right in float64 at the end.

    Takes every loss whose conjugate is quadratic. Pairs of coefficients keep unpenalized columns
    with disjoint supports and one value each (an intercept, or one a group of samples); others are
    met by multipliers, in a few rounds.

    Parameters
    ----------
    tol : float, default=1e-3
        Largest violation of an optimality condition.
    max_iter : int, default=-1
        Largest number of pair steps; -1 for no limit but that of progress: from ten million steps
        on (a hundred a sample if that is more) the violation has to fall by half while their
        number doubles.
    max_time : float, optional
        Largest number of seconds.
    cache_bytes : float, default=2e8
        Memory for the square of a working set and for rows of free samples; what does not fit is
        computed again.

    References
    ----------
    R.-E. Fan, P.-H. Chen, C.-J. Lin, Working set selection using second order information for
    training support vector machines, JMLR 6 (2005), WSS 2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.losses import Hinge
    >>> from mercer.problems import RegularizedRisk
    >>> from mercer.solvers import SMO, minimize
    >>> x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> y = np.sign(x[:, 0])
    >>> risk = RegularizedRisk(Hinge(), Dense(x @ x.T), y, 10.0, np.ones((4, 1)))
    >>> minimize(risk, SMO()).a
    array([ 0. , -0.5,  0.5,  0. ])
    """

    cache_bytes: float = 2e8

    def refuses(self, risk: RegularizedRisk) -> str:
        if not isinstance(risk.loss, QuadraticDualLoss):
            return (
                f"the conjugate of {type(risk.loss).__name__} is not quadratic; use InteriorPoint"
            )
        return infeasible(risk)

    def solve(self, risk: RegularizedRisk, start: Solution | None, monitor: Monitor) -> Answer:
        if len(kept(risk.B)) < risk.q:
            return self._in_rounds(risk, start, monitor)
        first, lasting = None, getattr(risk.K, "lasting", None)
        left = None if lasting is None or start is None else lasting.products(start.a)
        if start is not None:
            # Decision values of an earlier fit save all rows of its support, if they still hold.
            first = Answer(start.a, start.b, 0, start.f - risk.B @ start.b)
            if left is not None or not believed(risk, first, self.tol):
                first = replace(first, Ka=None)
        state = _State(risk, first)
        if left is not None:
            state.resume(left)
        single = self.tol >= FLOAT32_TOL and risk.n > MAX_FLOAT64_ROWS
        K = state.K.single() if single else state.K
        rough = K.dtype != state.K.dtype
        most = state.steps + MAX_FLOAT32_STEPS_PER_ROW * risk.n if rough else np.inf
        with team():
            packed = K.packed() if rough and risk.n > MAX_WHOLE_ROWS else None
            keeps = packed is None or packed.n_features >= MIN_KEPT_FEATURES
            store = self._store(K, lasting if rough else None, keeps)
            state.begin(store, K.roundoff() if rough else None)
            square = None if packed is None else self._active_square(state, packed)
            for _ in range(MAX_CORRECTIONS):
                if packed is None or square is None:
                    self._decompose(state, store, monitor, most=most)
                else:
                    self._in_epochs(state, packed, square, store, monitor, most)
                if monitor.late:
                    break  # the certificate knows how far products are off at most
                begin = monitor.elapsed
                state.correct()
                monitor.certified += monitor.elapsed - begin
                if self._ends(state, monitor, most):
                    break
            monitor.evaluations += store.spent() + state.evaluations
            monitor.evaluations += 0 if square is None else square.evaluations
            if rough and not self._ends(state, monitor):
                # Rounding times large weights is more than the tolerance: over exact rows, then.
                state.correct(everywhere=True)
                store = self._store(state.K)
                state.begin(store)
                self._decompose(state, store, monitor)
                monitor.evaluations += store.spent()
        if lasting is not None:
            lasting.leave(Products(state.a.copy(), state.F.copy(), state.error().copy()))
        return state.kept(monitor, self.tol)

    def _ends(self, state: _State, monitor: Monitor, most: float = np.inf) -> bool:
        """Answer whether a run is over: at its tolerance, at a limit of the monitor or of steps."""
        done = state.survey()[2] <= self.tol or state.steps > most or state.creeping
        return done or monitor.status is not None or monitor.spent(state.steps)

    def _in_rounds(self, risk: RegularizedRisk, start: Solution | None, monitor: Monitor) -> Answer:
        """Meet the columns that pair steps cannot keep by multipliers, warm from round to round."""
        rows = Multipliers(risk)
        first = None if start is None else Answer(start.a, start.b, 0)
        state = _State(rows.inner, first, rows)
        with team():
            store = self._store(state.K)
            state.begin(store)
            state.F += rows.offset
            # A round leaves violations up to its tolerance, and its multipliers add what they move.
            least, best, slow, stuck = ROUND_TOL_PART * self.tol, np.inf, 0, 0
            tol = max(least, FIRST_ROUND_TOL * float(np.max(np.abs(risk.y), initial=0.0)))
            while True:
                short = self._decompose(state, store, monitor, tol)
                change = rows.step(state.a)
                state.F += change
                moved = float(np.max(np.abs(change), initial=0.0))
                # Pairs that end on rounding errors, while multipliers move on them no less.
                stuck = stuck + 1 if short and moved > SLOW_ROUND_RATIO * best else 0
                stop = monitor.status is not None or monitor.spent(state.steps)
                stop |= state.creeping or stuck > MAX_IDLE_WORKING_SETS
                if stop or (tol <= least and moved <= least):
                    state.snap_to_box(risk, store)
                    # What restores the rows exactly may have been needed where it was, and where
                    # fewer coefficients are free than there are rows nothing restores them.
                    solved = is_met(state.survey()[2], risk.residual(state.a), self.tol)
                    if stop or solved or least <= LEAST_ROUND_TOL_PART * self.tol:
                        monitor.evaluations += store.evaluations
                        return state.answer()
                    least *= 0.1
                slow = 0 if moved <= SLOW_ROUND_RATIO * best else slow + 1
                best = min(best, moved)
                if slow >= MAX_SLOW_ROUNDS:
                    state.F += rows.stiffen(state.a)
                    state.K = rows.K
                    monitor.evaluations += store.evaluations
                    store, best, slow = self._store(state.K), np.inf, 0
                tol = max(least, min(0.5 * tol, 0.5 * moved))

    def _store(self, K: Gram, lasting: SolverCache | None = None, keeps: bool = True) -> RowStore:
        """Return a store for rows of ``K``, beside two squares of working sets."""
        max_bytes = self.cache_bytes - 2 * self._size(K) ** 2 * K.dtype.itemsize
        max_bytes = max_bytes if keeps else 0.0
        return RowStore(K, max_bytes) if lasting is None else lasting.rows(K, max_bytes)

    def _size(self, K: Gram) -> int:
        """Return the largest working set whose square fits into a part of the memory."""
        rows = np.sqrt(self.cache_bytes / 4 / K.dtype.itemsize)
        return int(np.clip(rows, 4, MAX_WORKING_SET_ROWS))

    def _active_square(self, state: _State, packed: PackedPoints) -> ActiveSquare:
        """Return the square of active samples, in a quarter of the memory."""
        itemsize = 2 if packed.is_bounded else 4
        rows = int(min(MAX_ACTIVE_ROWS, np.sqrt(self.cache_bytes / 4 / itemsize)))
        groups = len(state.scale) + 1
        return ActiveSquare(packed, state.back, state.group + 1, groups, rows)

    def _in_epochs(
        self,
        state: _State,
        packed: PackedPoints,
        square: ActiveSquare,
        rows: RowStore,
        monitor: Monitor,
        most: float,
    ) -> None:
        """Solve among active samples, while others sleep, until an epoch has nothing to add.

        Within an epoch, products of active samples follow from 16 bits, and those of samples far
        from moving not at all. At its end both are brought up to date by what has changed. Where
        rows are kept, they take less time than that, and nobody sleeps.
        """
        sleeps, watched = not rows.keeps, monitor.listener is not None
        report, idle, crept = 0.0 if watched else FIRST_REPORT_SECONDS, 0, 0.0
        first = state.begin_epoch(square, sleeps)
        while True:
            up, down, violation, rise, fall = state.survey()
            stop = state.steps > most or monitor.spent(state.steps)
            stop |= state.creeps(violation) or idle > MAX_IDLE_WORKING_SETS
            over = violation <= max(self.tol, EPOCH_VIOLATION_PART * first)
            over |= state.short_error() > SHORT_ERROR_PART * violation
            if over or stop or watched:
                if state.wake(packed):
                    up, down, violation, rise, fall = state.survey()
                if stop or violation <= self.tol:
                    return
                if monitor.elapsed >= report:
                    begin = monitor.elapsed
                    if state.report(monitor, violation):
                        return
                    pause = 0.0 if watched else REPORT_COST_RATIO * (monitor.elapsed - begin)
                    report = monitor.elapsed + pause
                first = state.begin_epoch(square, sleeps)
            W, looseness = state.active_set(up, down, rise, fall, violation, square.room)
            square.admit(W, None if sleeps else rows)
            before = state.steps
            goal = max(0.5 * self.tol, looseness * violation)
            a, F = state.step_active(square, (up, down, rise, fall), goal, monitor, most)
            work = (state.steps - before) * (STEP_COST_SAMPLES + len(square.samples))
            if looseness <= INSIDE_VIOLATION_PART and work >= MAX_CALL_WORK:
                # Pairs creep inside: one factorization for as much time as they have taken.
                crept += work
                if crept >= newton_cost(int(np.count_nonzero(up == down))):
                    a, F, crept = *state.newton_active(square, a, F), 0.0
            kept = None if sleeps else rows
            # Where time is up, all products are brought up to date at once.
            moved = state.follow(square, packed, a, F, kept, only_active=monitor.late)
            idle = 0 if moved else idle + 1

    def _decompose(
        self,
        state: _State,
        rows: RowStore,
        monitor: Monitor,
        tol: float | None = None,
        most: float = np.inf,
    ) -> bool:
        """Solve on one working set after the other, over rows of K that are kept.

        Ends at the tolerance, at a limit of the monitor, at step number ``most``, or where no step
        leads further; answers whether it was not at the tolerance.
        """
        size, tol = self._size(rows.K), self.tol if tol is None else tol
        watched = monitor.listener is not None
        report, idle = 0.0 if watched else FIRST_REPORT_SECONDS, 0
        least, crept = np.inf, 0.0
        while True:
            up, down, violation, rise, fall = state.survey()
            spent = state.steps > most or monitor.spent(state.steps)
            if violation <= tol or idle > MAX_IDLE_WORKING_SETS or spent:
                return violation > tol
            if state.creeps(violation):
                return True
            if monitor.elapsed >= report:
                begin = monitor.elapsed
                if state.report(monitor, violation):
                    return True
                pause = 0.0 if watched else REPORT_COST_RATIO * (monitor.elapsed - begin)
                report = monitor.elapsed + pause
            # Who watches sees the gap fall at doubling distances.
            short = state.steps if watched else np.inf
            if state.needs_all(min(size, MAX_STORED_ROWS)) and not rows.is_complete:
                rows.complete()
            W, looseness = state.working_set(
                up, down, rise, fall, size, stuck=idle > 0, complete=rows.is_complete
            )
            inside = state.back[W]
            square = rows.square(inside)
            a, (packed, ends) = state.a[W], state.restrict(W)
            most_taken = int(MAX_CALL_WORK / (STEP_COST_SAMPLES + len(W)))
            taken, _ = pair_steps(
                square,
                a,
                up[W],
                down[W],
                packed,
                ends,
                max(0.5 * tol, looseness * violation),
                monitor.left(state.steps, int(max(100, min(most_taken, short)))),
                100,
            )
            if looseness <= INSIDE_VIOLATION_PART and taken >= most_taken:
                # Pairs creep inside: one factorization for as much time as they have taken.
                crept += MAX_CALL_WORK
                if crept >= newton_cost(int(np.count_nonzero(up[W] == down[W]))):
                    F = state.Ka[W] + square @ (a - state.a[W]).astype(square.dtype)
                    a, crept = newton_step(square, a, F, packed, ends), 0.0
            state.steps += taken
            change = a - state.a[W]
            state.a[W] = a
            moved = np.flatnonzero(change)
            points, t = state.summed(inside[moved], change[moved])
            state.add(rows, points, t, state.free(points))
            # Steps on rounding errors move coefficients to and fro, and never end; those of a
            # matrix in float32 end at ``most``.
            value, rounding = state.value()
            lower = value < least - rounding if most == np.inf else len(moved) > 0
            idle, least = 0 if lower else idle + 1, min(least, value)


class _State:
    """Coefficients, products and dual terms of a run.

    Products are kept for the distinct points, ``back`` says which of them a sample is. With
    ``multipliers`` the risk is their inner problem, and products have their offset in them.
    """

    def __init__(
        self, risk: RegularizedRisk, start: Answer | None, multipliers: Multipliers | None = None
    ) -> None:
        assert isinstance(risk.terms, DualTerms)
        self.risk, self.multipliers = risk, multipliers
        self.terms = terms = risk.terms
        self.packed = pack(terms)
        self.K, self.back = risk.K.origin()
        self.group, self.scale = _groups(risk.B)
        self.steps = 0 if start is None else start.n_iter
        n = self.K.shape[0]
        self.sums, self._known = np.zeros(n), np.zeros(risk.n)
        self._rounding: Roundoff | None = None
        # What products may be off by at most, besides the sums of this run over all weights so far.
        self._off, self._total = np.zeros(n), 0.0
        # Products that were computed in float64, at which coefficients, and at which points.
        self._exact, self._at, self._where = np.zeros(n), np.zeros(n), np.zeros(n, dtype=bool)
        a = np.zeros(risk.n) if start is None else start.a
        # A coefficient that was scaled may miss its new bound by rounding.
        for bound in (terms.lower, terms.upper):
            a = np.where(np.isclose(a, bound, rtol=BOUND_ROUNDING, atol=0.0), bound, a)
        if start is not None and start.Ka is not None:
            self.F[self.back], self._known = start.Ka, a
            self._off[:] = np.inf
        self.a = self._feasible(np.clip(a, terms.lower, terms.upper))
        self._distinct = self.K.shape[0] == risk.n
        # The smallest violation, now and when it was last looked at, and after how many steps next.
        self._look = 0.5 * max(CREEPING_STEPS, CREEPING_STEPS_PER_ROW * risk.n)
        self._then = self._smallest = np.inf
        self.creeping = False
        # Points whose products stay behind in an epoch, those whose products followed from 16 bits,
        # coefficients and sums that the epoch began with, and the squares of changes since.
        self._asleep, self._rough = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        self._epoch: tuple[Array, Array] = self.a, self.sums
        self._squares, self._farthest = 0.0, np.inf
        self.evaluations = 0
        self.best: tuple[float, Answer] | None = None

    @cached_property
    def _rng(self) -> np.random.Generator:
        """What draws samples: always the same ones of the same problem."""
        return np.random.default_rng(0)

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        """The samples in the random order in which ties are broken."""
        return self._rng.permutation(self.risk.n)

    @property
    def Ka(self) -> Array:
        """The product of the kernel matrix with the coefficients."""
        return self.F if len(self.F) == len(self.back) else self.F[self.back]

    @property
    def F(self) -> Array:
        """The products at the distinct points."""
        return self.sums if self.sums.ndim == 1 else self.sums[0]

    @F.setter
    def F(self, values: Array) -> None:
        self.F[:] = values

    def resume(self, left: Products) -> None:
        """Begin with products that another run left, in proportion to the coefficients."""
        self._known, self.F, self._off = left
        near = np.isclose(self._known, self.a, rtol=BOUND_ROUNDING, atol=0.0)
        self._known = np.where(near, self.a, self._known)
        self._exact, self._at, self._where = self.F.copy(), self._known, self._off == 0.0

    def begin(self, rows: RowStore, rounding: Roundoff | None = None) -> None:
        """Take rows from a store with a given rounding, and add the missing products."""
        self._rounding, F = rounding, self.F
        self.sums = F.copy() if rounding is None else np.stack([F, np.zeros(len(F))])
        points, t = self.pending()
        self._known = self.a
        self.add(rows, points, t)

    def add(
        self,
        rows: RowStore,
        points: NDArray[np.intp],
        t: Array,
        keep: NDArray[np.bool_] | None = None,
    ) -> None:
        """Add to the products the effect of changed coefficients."""
        if self._rounding is None:
            rows.add(self.sums, points, t, keep)
        else:
            sizes = np.abs(t) * self._rounding.weight[points]
            rows.add(self.sums, points, np.stack([t, sizes]), keep)
        self._total += float(np.sum(np.abs(t)))
        if self._rounding is None and rows.dtype != self.K.dtype:
            self._off[:] = np.inf

    def error(self) -> Array:
        """Bound the error of each product."""
        if self._rounding is None:
            return self._off
        return self._off + self._rounding.of_sums(self.sums[1], self._total)

    def correct(self, everywhere: bool = False) -> None:
        """Put products right in float64 wherever the certificate can feel their error.

        Coefficients are snapped before. Points that were put right before only need what has
        changed since.
        """
        off = self.error()
        if not (everywhere or np.any(off)):
            return
        a = snap_to_box(self.risk, self.a)
        t = np.bincount(self.back, a - self.a, minlength=len(self.F))
        if np.any(t):
            # |k(x, z)| is at most the geometric mean of k(x, x) and k(z, z).
            scale = np.sqrt(np.maximum(self.K.diag().astype(np.float64), 0.0))
            off = off + scale * float(scale @ np.abs(t))
        self.a = a
        weights = np.bincount(self.back, a, minlength=len(self.F)).astype(np.float64)
        where = np.full(len(self.F), everywhere)
        if not everywhere:
            f = self.Ka + self.risk.B @ self.b()
            where[self.back[self.risk.feels(a, f, off[self.back])]] = True
        again, fresh = np.flatnonzero(where & self._where), np.flatnonzero(where & ~self._where)
        exact = np.zeros(len(self.F))
        if len(again):
            exact[again] = self._exact[again] + self.K.product(weights - self._at, again)
        if len(fresh):
            exact[fresh] = self.K.product(weights, fresh)
        self.F[where] = exact[where]
        self._exact, self._at, self._where = exact, weights, where
        self._off, self._total, self._known = np.where(where, 0.0, off), 0.0, a
        if self._rounding is not None:
            self.sums[1] = 0.0

    def pending(self) -> tuple[NDArray[np.intp], Array]:
        """Return points and coefficients that the products lack at the beginning."""
        lacking = self.a - self._known
        carrying = np.flatnonzero(lacking)
        return self.summed(self.back[carrying], lacking[carrying])

    def summed(self, index: NDArray[np.intp], t: Array) -> tuple[NDArray[np.intp], Array]:
        """Return distinct points and the sums of the changes at each of them."""
        if self._distinct:
            return index, t
        points, inverse = np.unique(index, return_inverse=True)
        return points, np.bincount(inverse, t, minlength=len(points)).astype(np.float64)

    def survey(self) -> tuple[Array, Array, float, Array, Array]:
        """Return derivatives upwards and downwards, violation, and the wish for either."""
        if not np.isfinite(np.sum(self.F)):
            raise FloatingPointError(
                "kernel values overflow or are not numbers; scale the inputs, or lower C"
            )
        asleep = self._asleep[self.back] if np.any(self._asleep) else None
        return survey(self.Ka, self.a, self.terms, self.group, len(self.scale), asleep)

    def begin_epoch(self, square: ActiveSquare, sleeps: bool) -> float:
        """Begin an epoch: send samples far from moving to sleep, and return the violation."""
        _, _, violation, rise, fall = self.survey()
        self._epoch, self._squares = (self.a.copy(), self.sums.copy()), 0.0
        if self._farthest == np.inf:
            self._farthest = ASLEEP_FIRST_PART * violation
        if sleeps:
            far = max(self._farthest, ASLEEP_VIOLATIONS * violation)
            awake = (np.maximum(rise, fall) >= -far) | (square.slot >= 0)
            self._asleep[:] = True
            self._asleep[self.back[awake]] = False
        return violation

    def short_error(self) -> float:
        """Return four standard deviations of what 16 bits have added to a product."""
        return 4.0 * float(np.sqrt(self._squares / 12.0)) / WHOLE

    def wake(self, packed: PackedPoints) -> bool:
        """Add the change of an epoch to the products of all points; answer whether any did.

        What was added meanwhile to those awake is forgotten: one sum has a smaller error than many.
        """
        if not np.any(self._rough):
            return False
        a, sums = self._epoch
        moved = np.flatnonzero(self.a != a)
        points, t = self.summed(self.back[moved], (self.a - a)[moved])
        weights = t
        if self._rounding is not None:
            weights = np.stack([t, np.abs(t) * self._rounding.weight[points]])
        self.sums[...] = sums
        if len(points):
            packed.add(self.sums, points, weights)
        self.evaluations += len(points) * len(self.F)
        self._total += float(np.sum(np.abs(t)))
        if self._rounding is None:
            self._off[:] = np.inf
        self._asleep[:], self._rough[:], self._squares = False, False, 0.0
        return True

    def follow(
        self,
        square: ActiveSquare,
        packed: PackedPoints,
        a: Array,
        F: Array,
        rows: RowStore | None,
        only_active: bool = False,
    ) -> bool:
        """Take over coefficients and products of the slots; answer whether any coefficient moved.

        The products of all others awake follow, from rows that are kept if they are. With
        ``only_active`` they wait for the end of the epoch.
        """
        slots = np.flatnonzero(square.samples >= 0)
        W = square.samples[slots]
        change = a[slots] - self.a[W]
        moved = np.flatnonzero(change)
        self.a[W] = a[slots]
        points, t = self.summed(self.back[W[moved]], change[moved])
        if rows is not None:
            self.add(rows, points, t, self.free(points))
            return len(points) > 0
        if square.is_short:
            self._squares += float(change @ change)
        known = np.isfinite(F[slots])
        active = np.zeros(len(self.F), dtype=bool)
        active[self.back[W[known]]] = True
        self.F[self.back[W[known]]] = F[slots][known]
        self._rough |= active
        others = np.flatnonzero(~(self._asleep | active))
        if len(points) and len(others) and not only_active:
            sums = np.zeros(len(others))
            packed.add(sums, points, t, at=others)
            self.F[others] += sums
            self.evaluations += len(points) * len(others)
        return len(points) > 0

    def step_active(
        self,
        square: ActiveSquare,
        slopes: tuple[Array, Array, Array, Array],
        tol: float,
        monitor: Monitor,
        max_steps: float,
    ) -> tuple[Array, Array]:
        """Take pair steps among active samples; return the coefficients and products of the slots.

        Ends at the tolerance, at a limit of the monitor, or at step number ``max_steps``.

        Products are not finite where there is no sample, or none that may move. Derivatives are
        measured from the middle of their group, which float32 resolves best.
        """
        there = square.samples >= 0
        W = np.where(there, square.samples, 0)
        up, down, rise, fall = (values[W] for values in slopes)
        upwards, downwards = np.where(there, -rise, np.inf), np.where(there, fall, -np.inf)
        with np.errstate(invalid="ignore"):
            middle = np.where(np.isfinite(up), up + rise, down - fall)
        packed = np.take(self.packed, np.append(W, len(self.a)), axis=0)
        ends, runs = square.runs()
        before = self.a[W]
        a, most = before.copy(), int(MAX_CALL_WORK / (STEP_COST_SAMPLES + len(W)))
        watched = monitor.listener is not None
        if watched:
            # Who watches sees the gap fall at doubling distances.
            most = max(100, min(most, self.steps))
        while True:
            left = monitor.left(self.steps, most)
            taken, _ = pair_steps(
                square.values(), a, upwards, downwards, packed, ends, tol, left, 100, runs
            )
            self.steps += taken
            if taken < most or watched or self.steps > max_steps or monitor.spent(self.steps):
                break
        sides = np.stack([a >= 0.0, a > 0.0]).astype(np.intp)
        slots = np.arange(len(a))
        linear, quadratic = packed[slots, sides], packed[slots, 2 + sides]
        terms = linear + quadratic * a
        F = np.where(np.isfinite(upwards), upwards - terms[0], downwards - terms[1])
        return a, middle + F

    def newton_active(self, square: ActiveSquare, a: Array, F: Array) -> tuple[Array, Array]:
        """Take a Newton step among active samples; return coefficients and products as above."""
        slots = np.flatnonzero((square.samples >= 0) & np.isfinite(F))
        slots = slots[np.argsort(self.group[square.samples[slots]], kind="stable")]
        W = square.samples[slots]
        values = square.exact(self.back[W])
        self.evaluations += len(W) ** 2
        packed, ends = self.restrict(W)
        moved = newton_step(values, a[slots], F[slots], packed, ends)
        a, F, before = a.copy(), F.copy(), a[slots]
        a[slots] = moved
        F[slots] += values @ (moved - before).astype(values.dtype)
        return a, F

    def creeps(self, violation: float) -> bool:
        """Answer whether the violation did not fall by half while the number of steps doubled."""
        self._smallest = min(self._smallest, violation)
        if self.steps >= self._look:
            self.creeping |= self._smallest > 0.5 * self._then
            self._look, self._then = 2 * self.steps, self._smallest
        return self.creeping

    def value(self) -> tuple[float, float]:
        """Return the value that steps decrease, and the rounding error of its sum."""
        offset = 0.0 if self.multipliers is None else self.multipliers.offset
        with np.errstate(over="ignore", invalid="ignore"):
            terms = 0.5 * self.a * (self.Ka + offset) + self.terms.conjugate(self.a)
            value, size = float(np.sum(terms)), float(np.sum(np.abs(terms)))
        if not np.isfinite(size):
            raise FloatingPointError(
                "the objective overflows; scale the inputs, or lower C or sample_weight"
            )
        return value, EPS * size

    def snap_to_box(self, risk: RegularizedRisk, rows: RowStore) -> None:
        """Snap coefficients to their box and update the products."""
        a = snap_to_box(risk, self.a)
        moved = np.flatnonzero(a != self.a)
        self.add(rows, *self.summed(self.back[moved], (a - self.a)[moved]))
        self.a = a

    def free(self, points: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Answer which points carry a coefficient between its bounds, to be moved again."""
        free = np.zeros(self.K.shape[0], dtype=bool)
        free[self.back[self._inside()]] = True
        return free[points]

    def _inside(self) -> NDArray[np.bool_]:
        """Answer which coefficients lie strictly between their bounds and are not zero."""
        a, t = self.a, self.terms
        return np.asarray((a > t.lower) & (a < t.upper) & (a != 0))

    def needs_all(self, most: int) -> bool:
        """Answer whether most rows of a matrix of at most so many are going to be asked for."""
        n = self.K.shape[0]
        few = n > most or self.K.sparse
        return not few and bool(np.count_nonzero(self.a) > MIN_SUPPORT_PART * n)

    def restrict(self, W: NDArray[np.intp]) -> tuple[Array, NDArray[np.intp]]:
        """Return the compiled loop's arrays for the samples ``W``, ordered by group."""
        ends = np.searchsorted(self.group[W], np.arange(len(self.scale) + 1))
        return np.take(self.packed, np.append(W, len(self.a)), axis=0), ends

    def active_set(
        self, up: Array, down: Array, rise: Array, fall: Array, violation: float, room: int
    ) -> tuple[NDArray[np.intp], float]:
        """Choose samples to be active, and the share of the violation at which they are left.

        Free samples, and in equal numbers those that want to rise and to fall, drawn from all that
        want it much.
        """
        free = np.flatnonzero(up == down)
        kept = 3 * room // 4
        if len(free) > kept:
            want = np.maximum(rise[free], fall[free])
            free = np.sort(free[np.argpartition(-want, kept)[:kept]])
        least = 0.5 * MIN_DRAWN_VIOLATION_PART * violation
        rest = np.ones(len(up), dtype=bool)
        rest[free] = False
        # Equal numbers, unless one direction has fewer.
        wishes = [np.flatnonzero(rest & (wish > least)) for wish in (rise, fall)]
        most = min(room - len(free), MAX_ENTERING_ACTIVE_ROWS)
        chosen = [free]
        for k, wish in enumerate(wishes):
            share = max(most // 2, most - len(wishes[1 - k]))
            few = len(wish) > share
            chosen.append(self._rng.choice(wish, share, replace=False) if few else wish)
        whole = all(len(drawn) == len(wish) for drawn, wish in zip(chosen[1:], wishes, strict=True))
        part = INSIDE_VIOLATION_PART if whole else OUTSIDE_VIOLATION_PART
        return np.sort(np.concatenate(chosen)), part

    def working_set(
        self,
        up: Array,
        down: Array,
        rise: Array,
        fall: Array,
        size: int,
        stuck: bool = False,
        complete: bool = False,
    ) -> tuple[NDArray[np.intp], float]:
        """Choose the working set, free samples and worst violators, and its share of the violation.

        Both directions enter in equal numbers, so that a set holds a feasible descent. The first
        one is drawn at random: of two groups it may have one direction each, and be ``stuck``.
        """
        n = len(up)
        easy = complete and self.steps < WHOLE_STEPS_PER_ROW * n
        if n <= size and (easy or n <= MAX_WHOLE_ROWS):
            return np.argsort(self.group, kind="stable"), 0.0
        free = np.flatnonzero(up == down)
        size = min(size, len(free) + MAX_ENTERING_ROWS)
        kept = max(3 * size // 4, size - MAX_ENTERING_ROWS)
        whole = len(free) <= kept
        if not whole:
            want = np.maximum(rise[free], fall[free])
            free = free[np.argpartition(-want, kept)[:kept]]
        rest = np.ones(n, dtype=bool)
        rest[free] = False
        # In one random order, so that ties are broken at random.
        rest = self._order[rest[self._order]]
        rising, falling = rest[rise[rest] > 0], rest[fall[rest] > 0]
        room = size - len(free)
        if len(rising) + len(falling) > room:
            whole = False
            half = max(room // 2, room - len(falling)), max(room // 2, room - len(rising))
            if self.steps or stuck:
                rng = self._rng if len(free) < MAX_ENTERING_ROWS else None
                rising = _entering(rising, rise, half[0], rng)
                falling = _entering(falling, fall, half[1], rng)
            rising, falling = rising[: half[0]], falling[: half[1]]
        W = np.sort(np.concatenate([free, rising, falling]))
        part = INSIDE_VIOLATION_PART if whole else OUTSIDE_VIOLATION_PART
        return W[np.argsort(self.group[W], kind="stable")], part

    def slopes(self) -> tuple[Array, Array]:
        """Return the derivatives upwards and downwards, infinite where the box forbids the move."""
        return slopes(self.Ka, self.a, self.terms)

    def report(self, monitor: Monitor, violation: float) -> bool:
        """Tell the monitor where the run stands; answer whether to stop."""
        answer, rows = self.answer(), self.multipliers
        risk = self.risk if rows is None else rows.risk
        certificate = risk.certificate(answer.a, answer.b, answer.Ka)
        if self.best is None or certificate.primal < self.best[0]:
            # With its product, which takes longer than some limits: at a deadline nobody multiplies
            # all kernel values of the support again.
            self.best = (
                certificate.primal,
                replace(answer, a=answer.a.copy(), Ka=np.array(answer.Ka)),
            )
        return monitor.report(self.steps, certificate.primal, certificate.gap, violation)

    def b(self) -> Array:
        """Return the coefficients of the unpenalized columns: multipliers of the equality rows.

        The average over free coefficients where there are any, else the middle of the interval that
        the bounds leave.
        """
        up, down = self.slopes()
        free = self._inside()
        b = np.empty(len(self.scale))
        for g, scale in enumerate(self.scale):
            inside = self.group == g
            if np.any(free & inside):
                value = float(np.mean(up[free & inside]))
            else:
                ends = np.array(
                    [np.max(down[inside], initial=-np.inf), np.min(up[inside], initial=np.inf)]
                )
                finite = ends[np.isfinite(ends)]
                value = float(np.mean(finite)) if len(finite) else 0.0
            b[g] = -value / scale
        return b

    def answer(self) -> Answer:
        b, Ka, rows = self.b(), self.Ka, self.multipliers
        if rows is not None:
            b, Ka = rows.coefficients(b, self.a), rows.product(Ka, self.a)
        error = self.error()[self.back]
        return Answer(self.a, b, self.steps, Ka, error if np.any(error) else None)

    def kept(self, monitor: Monitor, tol: float) -> Answer:
        """Return the answer, or of a run that was stopped the best of those reported.

        Steps lower the dual value; the objective rises and falls meanwhile. Without a listener
        reports come by the clock: what ``max_iter`` steps lead to must not depend on that.
        """
        answer = self.answer()
        stopped = monitor.status is not None or monitor.spent(self.steps)
        stopped &= monitor.listener is not None or monitor.left(self.steps, 1) > 0
        if self.best is None or not stopped or self.survey()[2] <= tol:
            return answer
        now = self.risk.certificate(answer.a, answer.b, answer.Ka).primal
        return answer if now <= self.best[0] else replace(self.best[1], n_iter=self.steps)

    def _feasible(self, a: Array) -> Array:
        """Move coefficients inside their box, in their order, until every equality row holds."""
        for g, scale in enumerate(self.scale):
            inside = np.flatnonzero(self.group == g)
            missing = self.risk.d[g] / scale - float(np.sum(a[inside]))
            if missing == 0:
                continue
            bound = self.terms.upper[inside] if missing > 0 else self.terms.lower[inside]
            room = np.abs(bound - a[inside])
            before = np.concatenate([[0.0], np.cumsum(room)[:-1]])
            a[inside] += np.sign(missing) * np.clip(abs(missing) - before, 0.0, room)
        return a


def _entering(
    index: NDArray[np.intp], key: Array, k: int, rng: np.random.Generator | None
) -> NDArray[np.intp]:
    """Return the ``k`` entries of an index whose keys are largest, or drawn from the large ones."""
    if k >= len(index):
        return index
    wish = key[index]
    if rng is not None:
        many = index[wish > MIN_DRAWN_VIOLATION_PART * np.max(wish)]
        if len(many) > k:
            return rng.choice(many, k, replace=False, shuffle=False)
    return index[np.argpartition(-wish, k)[:k]]


def _groups(B: Array) -> tuple[NDArray[np.intp], Array]:
    """Return the group of each sample (-1 for none) and the value of each group's column."""
    group = np.full(B.shape[0], -1, dtype=np.intp)
    scale = np.ones(B.shape[1])
    for g, column in enumerate(B.T):
        inside = column != 0
        group[inside] = g
        if np.any(inside):
            scale[g] = column[inside][0]
    return group, scale
