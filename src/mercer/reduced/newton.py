r"""Newton's method on the reduced problem, by passes over the rows.

Curvature is summed over the rows where the loss is curved, over all or over some. If over all its
factor gives the step; otherwise it preconditions conjugate gradients, whose products are passes
in single precision. Slopes, values and the certificate are always those of all rows in double
precision, so that rounding inside a step costs further steps and never digits of the answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from mercer._deadline import time_left
from mercer._typing import Array
from mercer.reduced.oracle import Evaluation, Oracle, Summed
from mercer.solvers.monitor import Progress
from mercer.solvers.status import GAP_ROUNDING, Status

# Steps of conjugate gradients, by what they have to shrink the residual in single precision, and
# what part of that they may aim at where the gap asks for it.
MAX_DIRECTIONS, RESIDUAL_SHRINK, MIN_SHRINK_PART = 60, 1e-3, 1e-2

# Steps in single precision after which the residual has to have fallen by half of its square.
STAGNANT_STEPS = 8

# Steps of conjugate gradients up to which what preconditioned them does so once more.
REUSED_STEPS = 5

# Fractions of a step that are tried at once where the whole one does not descend.
STEP_FRACTIONS = np.array([0.7, 0.4, 0.2, 0.1, 0.05, 0.02, 0.01, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6])

# Rows on straight pieces of a loss do not tell how far a free coefficient is to move. They count
# for this part of the curvature of a loss that is as steep and curved over the first width, so that
# no step goes further than a thousand widths.
STRAIGHT_CURVATURE = 1e-3
# Part of its slope that a step leaves if it was too short. The tail of an exponential leaves .37.
SHORT_STEP_SLOPE = 0.3

# Steps after which a search ends whose gap has not fallen by half meanwhile, nor its objective by
# this part: what is left of either is rounding, of weights or features of very different sizes.
STILL_STEPS, MIN_OBJECTIVE_FALL = 200, 1e-2

# Steps after which it ends whose gap has not fallen by half, however the objective falls.
MAX_SLOW_STEPS = 500

# Passes in which slopes are balanced, the residual beside its terms that they aim at, and the one
# that is left to rounding.
MAX_BALANCE_PASSES, BALANCED_RESIDUAL, MAX_DUAL_RESIDUAL = 6, 1e-13, 1e-10

# How often a search goes on whose balanced slopes prove too little, to a gap smaller by what.
MAX_TIGHTER_SEARCHES, TOLERANCE_FACTOR = 4, 0.1

# Part of the least value whose digits count, below which a value is zero: 1e-11 of that at zero.
ZERO_SHARE = 1e-5

# Gap relative to the objective that a start on some of the rows is to have, and most of its steps.
START_GAP, MAX_START_STEPS = 1e-2, 30


@dataclass
class Minimum:
    """Where the minimization of several problems ended.

    Parameters
    ----------
    W, b : (r, k) and (q, k) arrays
        Coefficients.
    value : Evaluation
        Certificate at these.
    status : Status
    n_iter : int
        Steps.
    history : list of Progress
    """

    W: Array
    b: Array
    value: Evaluation | None = None
    status: Status = Status.CONVERGED
    n_iter: int = 0
    history: list[Progress] = field(default_factory=list)
    known: tuple[Array, ...] = ()
    """The point that the certificate is of."""
    resolution: float = 0.0
    """Gap that counts as none."""
    solver: str = "reduced Newton"
    slopes: Array | None = None
    """Slopes of the losses (k, n, views) that the certificate is of, at the rows of the pool."""


@dataclass
class Newton:
    """Settings of the minimization.

    Parameters
    ----------
    tol : float
        Largest gap relative to the value of a problem.
    max_iter : int, default=-1
        Largest number of steps.
    max_time : float, optional
        Largest number of seconds.
    width : float
        Range of decision values within which losses are curved, in units of these.
    least : float or (k,) array, default=0
        Value of a problem below which the gap has to be small beside this instead.
    single : bool, default=True
        Whether products inside conjugate gradients may be in single precision.
    listener : callable, optional
        Called with each :class:`Progress`; a true answer stops.
    """

    tol: float = 1e-5
    max_iter: int = -1
    max_time: float | None = None
    width: float = 2.0
    least: float | Array = 0.0
    single: bool = True
    listener: Callable[[Progress], object] | None = None

    def minimize(self, oracle: Oracle, W: Array, b: Array) -> Minimum:
        """Minimize all problems of an oracle, starting at coefficients.

        An interrupt from the keyboard ends the search at the best point so far.

        Parameters
        ----------
        oracle : Oracle
        W, b : (r, k) and (q, k) arrays
        """
        found = Minimum(W, b)
        found.resolution = max(self.tol, ZERO_SHARE) * float(np.sum(self.least))
        descent = _Descent(self, oracle, found)
        try:
            found.status = descent.certified()
        except KeyboardInterrupt:
            if found.value is None:
                raise
            found.W, found.b = found.known
            found.status = Status.INTERRUPTED
            if descent.balances:
                found.value = descent.proved(found.value)
        return found


def residual_gap(b: Array, gb: Array, size: Array, width: float) -> Array:
    """Return what a residual of rounding leaves a bound open by: what b can still move.

    Parameters
    ----------
    b, gb, size : (q, k) arrays
        Coefficients of the unpenalized columns, slopes in them, and the sizes of their terms.
    width : float
        Range of decision values within which losses are curved.
    """
    floor = STRAIGHT_CURVATURE * size / width
    moved = np.divide(gb * gb, floor, out=np.zeros_like(gb), where=floor > 0)
    return np.asarray(np.abs(np.sum(b * gb, axis=0)) + np.sum(moved, axis=0))


class Factor(Protocol):
    """A matrix that is positive definite, factorized."""

    def solve(self, g: Array) -> Array:
        """Return a vector divided by the matrix."""


class CholeskyFactor(NamedTuple):
    """A factor in double precision."""

    c: Array
    lower: bool

    def solve(self, g: Array) -> Array:
        """Return a vector divided by the matrix."""
        found: Array = la.cho_solve((self.c, self.lower), g, check_finite=False)
        return found


class _Descent:
    """A run of Newton's method: the point, its evaluation, and the next step."""

    def __init__(self, how: Newton, oracle: Oracle, found: Minimum) -> None:
        self.how, self.oracle, self.found = how, oracle, found
        self.k, self.r = found.W.shape[1], found.W.shape[0]
        self.size = self.r + found.b.shape[0]
        self.start = time.perf_counter()
        self.single, self.tighter = how.single, 1.0
        self.steps = MAX_DIRECTIONS
        self.factors: list[Factor] = []
        self.exact = np.zeros(self.k, dtype=bool)
        self.floor = np.zeros(found.b.shape)
        self.stride = np.ones(self.k)
        # When the gap or the objective last fell by much, to what; and the point of least gap.
        self.fell = (0, np.inf, np.inf)
        # When the gap was last halved, and to what.
        self.halved = (0, np.inf)
        self.best = (np.inf, np.inf)
        self.there: tuple[Evaluation, tuple[Array, ...]] | None = None

    def certified(self) -> Status:
        """Return how the run ended, with a certificate by slopes that prove it.

        Slopes balance the unpenalized columns only at the minimum in these. What is left of them
        bounds nothing, so that slopes of curved rows are changed until they do.
        """
        status = self.run()
        if not self.balances:
            return status
        for _ in range(MAX_TIGHTER_SEARCHES):
            self._balance()
            value = self.found.value
            assert value is not None
            tol = max(self.how.tol, GAP_ROUNDING)
            goal = tol * np.maximum(np.abs(value.primal), self.how.least)
            # A single class has no slopes that balance, and losses that go to zero.
            met = np.all(value.gap <= np.maximum(goal, ZERO_SHARE * np.asarray(self.how.least)))
            if met or status is not Status.CONVERGED:
                return Status.CONVERGED if met else status
            self.tighter *= TOLERANCE_FACTOR
            status = self.run()
        self._balance()
        return Status.STALLED

    @property
    def balances(self) -> bool:
        """Whether slopes are to balance unpenalized columns: those of a loss that has a dual."""
        loss = self.oracle.problem.loss
        if not len(self.found.b):
            return False
        try:
            loss.conjugate(np.zeros(1), np.zeros(1))
        except ValueError:
            return False
        return True

    def _balance(self) -> None:
        """Replace the certificate by that of slopes that balance the unpenalized columns."""
        found, oracle = self.found, self.oracle
        tilt, value = np.zeros(found.b.shape), found.value
        assert value is not None
        before = np.inf
        for _ in range(MAX_BALANCE_PASSES):
            worst = float(np.max(value.residual))
            late = np.any(tilt) and not time_left()
            if worst <= BALANCED_RESIDUAL or worst > 0.5 * before or late:
                break
            assert value.S is not None
            for j, S in enumerate(value.S):
                slack = np.finfo(float).eps * max(float(np.trace(S)), np.finfo(float).tiny)
                tilt[:, j] += np.linalg.lstsq(S + slack * np.eye(len(S)), value.gb[:, j])[0]
            before = worst
            value = oracle.evaluate(found.W, found.b, "balance", False, tilt)
        found.value, found.known = self.proved(value), (found.W, found.b)

    def proved(self, value: Evaluation) -> Evaluation:
        """Return a certificate with the gap that its slopes prove."""
        wrong = value.residual > MAX_DUAL_RESIDUAL
        gap = 0.5 * np.sum(np.square(value.gw), axis=0) + value.young
        gap += residual_gap(self.found.b, value.gb, value.size, self.how.width)
        # Without feasible slopes nothing is known but that losses are not negative.
        unknown = np.where(np.any(self.oracle.d != 0, axis=0), np.inf, value.primal)
        return replace(value, gap=np.where(wrong, unknown, gap))

    def run(self) -> Status:
        """Return how the search ended."""
        found = self.found
        if not np.any(found.W):
            self._begin()
        self._look("value")
        while True:
            value = found.value
            assert value is not None
            tolerance = np.maximum(np.abs(value.primal), self.how.least)
            tolerance = self.tighter * self.how.tol * tolerance
            if not np.all(np.isfinite(value.primal)):
                # Infinity is at most infinity: a gap would look small beside it.
                raise ValueError(
                    "the objective is not finite in floating point: the data contain very large "
                    "values. Scale the inputs and targets, or lower C."
                )
            live = ~(value.gap <= tolerance)
            ended = self._ended(live)
            if ended is not None:
                return ended
            if not self._step(live):
                if not self.single:
                    return Status.STALLED
                self.single = False

    def _begin(self) -> None:
        """Begin where some of the rows have their minimum, which costs no pass over all."""
        oracle, found = self.oracle, self.found
        quadratic = oracle.problem.loss.quadratic
        few = None if quadratic and oracle.dense else oracle.of_pool()
        if few is None:
            return
        how = replace(
            self.how, tol=max(self.how.tol, START_GAP), max_iter=MAX_START_STEPS, listener=None
        )
        first = _Descent(how, few, Minimum(found.W, found.b))
        first.run()
        found.W, found.b = first.found.W, first.found.b
        if quadratic:
            # The curvature that was estimated from these rows is the same everywhere.
            self.factors, self.exact = first.factors, np.zeros(self.k, dtype=bool)

    def _ended(self, live: NDArray[np.bool_]) -> Status | None:
        """Tell whoever listens where the search is, and whether it is to end there."""
        found, value = self.found, self.found.value
        assert value is not None
        elapsed = time.perf_counter() - self.start
        progress = Progress(
            iteration=found.n_iter,
            objective=float(np.sum(value.primal)),
            gap=float(np.sum(value.gap)),
            violation=float(np.max(value.residual)),
            elapsed=elapsed,
        )
        found.history.append(progress)
        if self.how.listener is not None and self.how.listener(progress):
            return Status.STOPPED
        if not np.any(live):
            return Status.CONVERGED
        if 0 <= self.how.max_iter <= found.n_iter:
            return Status.MAX_ITER
        late = self.how.max_time is not None and elapsed >= self.how.max_time
        if late or not time_left():
            return Status.MAX_TIME
        return Status.STALLED if self._still(progress) else None

    def _still(self, now: Progress) -> bool:
        """Answer whether steps lead nowhere, and go back to where the gap was least if so."""
        found, gap = self.found, np.inf if np.isnan(now.gap) else now.gap
        assert found.value is not None
        if self.there is None or (gap, now.objective) < self.best:
            self.best = gap, now.objective
            self.there = replace(found.value, H=None), found.known
        since, objective, before = self.fell
        lower = now.objective < objective - (
            MIN_OBJECTIVE_FALL * abs(objective) if np.isfinite(objective) else 0
        )
        if gap <= 0.5 * self.halved[1]:
            self.halved = now.iteration, gap
        slow = now.iteration - self.halved[0] >= MAX_SLOW_STEPS
        if not slow and (lower or gap <= 0.5 * before < np.inf):
            self.fell = now.iteration, min(now.objective, objective), min(gap, before)
            return False
        if not slow and now.iteration - since < STILL_STEPS:
            return False
        found.value, found.known = self.there
        found.W, found.b = found.known
        return True

    # Curvature -----------------------------------------------------------------------------------

    def _look(self, name: str) -> None:
        """Evaluate the point, with curvature for the next step."""
        found, quadratic = self.found, self.oracle.problem.loss.quadratic
        # The curvature of the squared loss is the same everywhere.
        # That of others changes little where few steps of conjugate gradients were enough.
        kept = quadratic or (self.steps <= REUSED_STEPS and not np.any(self.exact))
        # Nor does the last point need one: after the deadline there is no next step.
        known = bool(self.factors) and (kept or not time_left())
        value = self.oracle.evaluate(found.W, found.b, name, not known)
        if value.H is not None:
            self._curve(value.H, value.size)
        elif not known:
            self.factors = list(self.oracle.landmark_factors())
        # The dual value is a bound up to (b - b*)'B'a. What the curvature says of b - b* is an
        # estimate, by which the search ends.
        free = np.vstack([np.zeros_like(value.gw), value.gb])
        gap = value.gap + np.sum(free * self._solve(free), axis=0)
        found.value, found.known = replace(value, gap=gap), (found.W, found.b)

    def _curve(self, curved: Summed, size: Array) -> None:
        """Factorize the curvature."""
        quadratic, C = self.oracle.problem.loss.quadratic, self.oracle.problem.C.tolist()
        self.exact = curved.exact
        if not quadratic:
            self.floor = STRAIGHT_CURVATURE * size / self.how.width
        if len(curved.H) == self.k and not (self.k == 1 and quadratic):
            self.factors = [self._factor(H, f) for H, f in zip(curved.H, self.floor.T, strict=True)]
        else:
            none = self.floor[:, 0]
            shared = {weight: self._factor(weight * curved.H[0], none) for weight in set(C)}
            self.factors = [shared[weight] for weight in C]

    def _factor(self, H: Array, floor: Array) -> Factor:
        M = H.copy()
        diagonal = np.einsum("ii->i", M)
        diagonal[: self.r] += 1.0
        diagonal[self.r :] += floor + np.finfo(float).eps * max(1.0, float(diagonal.max()))
        # Sums of very different weights may lose by rounding what makes them positive: more is
        # added until they are, which costs steps and no digits of the answer.
        slack = np.finfo(float).eps * float(diagonal.max())
        while True:
            try:
                return CholeskyFactor(*la.cho_factor(M, check_finite=False))
            except la.LinAlgError:
                if not np.all(np.isfinite(diagonal)):
                    raise
                slack *= 10.0
                diagonal += slack

    def _solve(self, G: Array) -> Array:
        """Return the columns of G, of some length, divided by the factor of each problem."""
        columns = [factor.solve(g) for factor, g in zip(self.factors, G.T, strict=True)]
        return np.stack(columns, axis=1)

    # Steps ---------------------------------------------------------------------------------------

    def _step(self, live: NDArray[np.bool_]) -> bool:
        """Move the problems that are not done yet, and answer whether one of them moved."""
        found, value = self.found, self.found.value
        assert value is not None
        G = np.vstack([value.gw, value.gb]) * live
        delta = -self._solve(G)
        before = np.sqrt(np.maximum(-np.sum(G * delta, axis=0), 0.0))
        inexact = live & ~self.exact
        if np.any(inexact):
            delta = self._conjugate_gradients(G, delta, np.flatnonzero(inexact))
        delta *= self.stride
        descent = np.sum(G * delta, axis=0)
        old = (found.W, found.b)
        found.W, found.b = old[0] + delta[: self.r], old[1] + delta[self.r :]
        self._look("value")
        found.n_iter += 1
        # Sums of n numbers are known to about this; below it no value tells up from down.
        rounding = 1e-13 * np.abs(value.primal)
        assert found.value is not None
        worse = live & ~(found.value.primal <= value.primal + 1e-4 * descent + rounding)
        # A step to the minimum of a parabola leaves no slope along it. Where much is left, as on
        # the tail of the logistic loss of separable classes, the next one is longer.
        left = np.sum(np.vstack([found.value.gw, found.value.gb]) * delta, axis=0)
        self.stride = np.where((left < SHORT_STEP_SLOPE * descent) & ~worse, 2.0 * self.stride, 1.0)
        if np.any(worse):
            return self._shorten(old, value, delta, worse, live)
        if self.single and self.oracle.problem.loss.quadratic and np.any(inexact):
            G = np.vstack([found.value.gw, found.value.gb])
            after = np.sqrt(np.sum(G * self._solve(G), axis=0))
            self.single = not np.any((after > 30 * RESIDUAL_SHRINK * before) & inexact)
        return True

    def _shorten(
        self,
        old: tuple[Array, Array],
        value: Evaluation,
        delta: Array,
        worse: NDArray[np.bool_],
        live: NDArray[np.bool_],
    ) -> bool:
        """Take the best of several shorter steps where the whole one led up."""
        found = self.found
        if not time_left():
            found.W, found.b = old
            found.value, found.known = value, old
            return True
        W = np.hstack([old[0] + t * delta[: self.r] for t in STEP_FRACTIONS])
        b = np.hstack([old[1] + t * delta[self.r :] for t in STEP_FRACTIONS])
        tried = self.oracle.evaluate(W, b, "search", curved=False)
        values = tried.primal.reshape(len(STEP_FRACTIONS), self.k)
        best = np.argmin(values, axis=0)
        fell = values[best, np.arange(self.k)] < value.primal
        t = np.where(worse, np.where(fell, STEP_FRACTIONS[best], 0.0), 1.0)
        found.W, found.b = old[0] + t * delta[: self.r], old[1] + t * delta[self.r :]
        self.steps = MAX_DIRECTIONS
        self._look("value")
        return bool(np.any((t > 0) & live))

    def _conjugate_gradients(self, G: Array, delta: Array, columns: NDArray[np.intp]) -> Array:
        """Solve for the steps of some problems, beginning with the step of the summed rows."""
        found, value, oracle = self.found, self.found.value, self.oracle
        assert value is not None
        quadratic = oracle.problem.loss.quadratic
        excess = value.gap[columns] / np.abs(value.primal[columns])
        shrink = np.full(len(columns), RESIDUAL_SHRINK)
        if not quadratic:
            shrink = np.clip(0.3 * np.sqrt(excess), RESIDUAL_SHRINK, 0.1)
        solution = np.zeros((self.size, len(columns)))
        residual = -G[:, columns]
        factors, self.factors = self.factors, [self.factors[j] for j in columns]
        all_factors, own = factors, self.factors
        try:
            z = self._solve(residual)
            direction, rho = z.copy(), np.sum(residual * z, axis=0)
            goal = shrink**2 * rho
            # Of a quadratic problem the residual is the slope, so that it tells the gap.
            enough = 0.3 * self.how.tol * np.abs(value.primal[columns]) if quadratic else None
            going = np.arange(len(columns))
            least, since = rho.copy(), np.zeros(len(columns), dtype=int)
            for self.steps in range(1, MAX_DIRECTIONS + 1):
                before, p = time_left(), direction[:, going]
                Hw, Hb = oracle.product(
                    found.W,
                    found.b,
                    p[: self.r],
                    p[self.r :],
                    columns[going],
                    self.single,
                )
                Hp = np.vstack([Hw, Hb + self.floor[:, columns[going]] * p[self.r :]])
                curvature = np.sum(p * Hp, axis=0)
                sane = curvature > 0
                alpha = np.where(sane, rho[going] / np.where(sane, curvature, 1.0), 0.0)
                solution[:, going] += alpha * p
                residual[:, going] -= alpha * Hp
                self.factors = [own[j] for j in going]
                z = self._solve(residual[:, going])
                new = np.sum(residual[:, going] * z, axis=0)
                direction[:, going] = z + (new / rho[going]) * p
                rho[going] = new
                since = np.where(rho <= 0.5 * least, 0, since + 1)
                least = np.where(since == 0, rho, least)
                if self.single and np.any(since[going] >= STAGNANT_STEPS):
                    # Of large coefficients that cancel, products in single precision are noise.
                    self.single, self.factors = False, all_factors
                    return self._conjugate_gradients(G, delta, columns)
                more = new > goal[going]
                if enough is not None:
                    left = 0.5 * np.sum(residual[: self.r, going] ** 2, axis=0)
                    more = (left > enough[going]) & (new > MIN_SHRINK_PART**2 * goal[going])
                going = going[sane & more]
                # Where another product would end too late, what there is leads down, too.
                if not len(going) or 2.0 * time_left() < before:
                    break
        finally:
            self.factors = all_factors
        delta = delta.copy()
        delta[:, columns] = solution
        return delta
