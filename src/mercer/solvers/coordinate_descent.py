r"""Coordinate descent over the rows of a factor, :math:`K = ZZ'`: sparse text, many columns.

The dual is lowered one coefficient at a time, with :math:`w = Z'a` kept up to date, so that a step
reads one row of Z, zeros left out, and no kernel value (Hsieh and others, 2008). What is not
penalized is met by multipliers: a step sees

.. math::

    \tfrac12 |Z'a|^2 + g(a) + b'(B'a - d) + \tfrac\rho2 |B'a - d|^2,

and after each sweep b moves by :math:`\rho\,(B'a - d)`. The intercept is that of the problem, and
not a penalized column of ones.

Coefficients that rest on a bound by more than the largest violation of the last sweep are left out,
and looked at again at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._native import sweep
from mercer._typing import AnyArray, Array, PointsLike
from mercer.kernels.points import is_sparse, take
from mercer.losses.base import DualTerms
from mercer.problems.risk import RegularizedRisk
from mercer.solvers._over_factor import without_factor
from mercer.solvers.base import Answer, Solver
from mercer.solvers.certify import snap_to_box
from mercer.solvers.monitor import Monitor
from mercer.solvers.solution import Solution
from mercer.solvers.status import is_met

__all__ = ["CoordinateDescent"]

# Rows that are read in line, between two that are drawn at random: on 100,000 rows of text single
# ones take a third more time, and all of them in line do not converge. So many rows are read at
# random one by one.
ROWS_IN_LINE, MAX_SCATTERED_ROWS = 16, 2000
# Part of the active rows below which they are copied to lie together again.
GATHER_ACTIVE_PART = 0.5
# Weight of the rows B'a = d against the mean kernel value: with 1 coefficients get into each
# other's way (six times the sweeps on text), with little a sweep hardly sees the rows. It doubles
# after so many sweeps in which multipliers move more than coefficients violate.
ROW_WEIGHT, MAX_LAGGING_SWEEPS = 0.01, 3
# The factor is copied as float32 down to this tolerance.
FLOAT32_TOL = 1e-4
# A violation is met before its coefficient moves, and others move after it: sweeps end at this part
# of the tolerance. Answers are measured in float64 on the factor itself; where that says more than
# the tolerance, sweeps go on for a part of theirs, so many times.
SWEEP_TOL_PART, REPEAT_TOL_PART, MAX_REPEATS = 0.8, 0.5, 8
# Sweeps in which the violation has to fall by half, or no further one is made: so many, or as many
# as move so many coefficients.
CREEPING_SWEEPS, CREEPING_MOVES = 500, 1_000_000


@dataclass(eq=False)
class CoordinateDescent(Solver):
    """Move one coefficient after the other, over the rows of a factor ``K = ZZ'``.

    Takes every loss whose conjugate is quadratic, any number of unpenalized columns, and a kernel
    matrix that knows its factor: that of the linear kernel is the data, dense or sparse. A sweep
    costs as much as a product with Z, and memory is a copy of Z.

    Parameters
    ----------
    tol : float, default=1e-3
        Largest violation of an optimality condition.
    max_iter : int, default=-1
        Largest number of sweeps; -1 for no limit but that of progress: the violation has to fall by
        half within 500 of them, more for few samples.
    max_time : float, optional
        Largest number of seconds.

    References
    ----------
    C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan, A dual coordinate descent
    method for large-scale linear SVM, ICML 2008, algorithm 3.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram.low_rank import LowRank
    >>> from mercer.losses import Hinge
    >>> from mercer.problems import RegularizedRisk
    >>> from mercer.solvers import CoordinateDescent, minimize
    >>> x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> risk = RegularizedRisk(Hinge(), LowRank(x), np.sign(x[:, 0]), 10.0, np.ones((4, 1)))
    >>> minimize(risk, CoordinateDescent(tol=1e-6)).a.round(5) + 0.0
    array([ 0. , -0.5,  0.5,  0. ])
    """

    def refuses(self, risk: RegularizedRisk) -> str:
        return without_factor(risk)

    def solve(self, risk: RegularizedRisk, start: Solution | None, monitor: Monitor) -> Answer:
        state = _Sweeps(risk, self.tol, start)
        tol = SWEEP_TOL_PART * self.tol
        for _ in range(MAX_REPEATS):
            over = self._descend(state, tol, monitor)
            a = snap_to_box(risk, state.a)
            c = risk.certificate(a, state.beta)
            if over or is_met(c.violation, c.residual, self.tol):
                break
            tol *= REPEAT_TOL_PART
            state.again(a)
        return Answer(a, state.beta, state.sweeps)

    def _descend(self, state: _Sweeps, tol: float, monitor: Monitor) -> bool:
        """Sweep down to a tolerance; answer whether a limit came first."""
        creep = max(CREEPING_SWEEPS, CREEPING_MOVES // state.risk.n)
        look, then, smallest, report = state.sweeps + creep, np.inf, np.inf, state.sweeps
        while True:
            if monitor.spent(state.sweeps):
                return True
            whole = state.whole
            violation = state.sweep()
            smallest = min(smallest, violation)
            if violation <= tol:
                if whole:
                    return False
                state.widen()
            else:
                state.narrow()
            if state.sweeps >= look:
                if smallest > 0.5 * then:
                    return True
                look, then = look + creep, smallest
            if monitor.listener is not None and state.sweeps >= report:
                # Who watches sees the gap fall at growing distances.
                a = snap_to_box(state.risk, state.a)
                c = state.risk.certificate(a, state.beta)
                if monitor.report(state.sweeps, c.primal, c.gap, c.violation):
                    return True
                report += 1 + report // 4


class _Sweeps:
    """Coefficients, ``w = Z'a``, multipliers, and the rows that are at work."""

    def __init__(self, risk: RegularizedRisk, tol: float, start: Solution | None) -> None:
        terms, n = risk.terms, risk.n
        assert isinstance(terms, DualTerms)
        self.risk, self.Z, self.sweeps = risk, risk.K.root(), 0
        self.kind = np.float32 if tol >= FLOAT32_TOL else np.float64
        self.random = np.random.default_rng(0)
        self.squares = risk.K.diag().astype(np.float64)
        self.scale = float(np.mean(self.squares)) or 1.0
        mass = np.mean(risk.B**2, axis=0)
        self.unit = np.sqrt(np.where(mass > 0, mass, 1.0))
        self.rho = ROW_WEIGHT * self.scale / self.unit**2
        a = np.zeros(n) if start is None else np.clip(start.a, terms.lower, terms.upper)
        self.beta = np.zeros(risk.q) if start is None else np.array(start.b)
        costs = terms.p_neg, terms.p_pos, terms.q_neg, terms.q_pos, terms.lower, terms.upper
        self.rows = np.stack([a, np.zeros(n), *costs], axis=1)
        self.order = self.random.permutation(n)
        self.lagging = 0
        self.missing: Array = np.zeros(risk.q)
        self.again(a)

    @property
    def a(self) -> Array:
        """The coefficients of all samples."""
        self._put_back()
        return self.rows[:, 0].copy()

    @property
    def whole(self) -> bool:
        """Whether all samples are at work."""
        return len(self.active) == self.risk.n

    def again(self, a: Array) -> None:
        """Go on from coefficients of all samples, with ``w`` from scratch."""
        self.rows[:, 0] = a
        self.w = np.asarray(self.Z.T @ a, dtype=np.float64)
        self.where: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self.widen()

    def widen(self) -> None:
        """Put all samples to work."""
        self._put_back()
        if len(self.where) < self.risk.n:
            self._gather(self.order)
        self.active, self.limit = np.arange(self.risk.n, dtype=np.uint64), np.inf

    def narrow(self) -> None:
        """Leave out those that rest; copy the others where they lie too far apart."""
        self.active = self.active[~self.resting]
        if not len(self.active):
            self.widen()
        elif len(self.active) < GATHER_ACTIVE_PART * len(self.where):
            self._put_back()
            self._gather(self.where[self.active.astype(np.intp)])
            self.active = np.arange(len(self.where), dtype=np.uint64)

    def sweep(self) -> float:
        """Move each coefficient at work once, then the multipliers; return the violation."""
        self.sweeps += 1
        in_line = ROWS_IN_LINE if len(self.active) > MAX_SCATTERED_ROWS else 1
        blocks = self.random.permutation(-(-len(self.active) // in_line)).astype(np.uint64)
        self.resting = np.zeros(len(self.active), dtype=bool)
        before = self.part[:, 0].copy() if self.risk.q else self.part[:, 0]
        violation = sweep(
            *self.factor,
            self.B,
            self.rho,
            self.part,
            self.w,
            self.beta,
            self.active,
            blocks,
            in_line,
            self.limit,
            self.resting,
        )
        self.limit = violation
        if not self.risk.q:
            return float(violation)
        self.missing = self.missing + (self.part[:, 0] - before) @ self.B
        self.beta += self.rho * self.missing
        # By how much decision values move where coefficients make up for what is missing.
        lag = float(np.max(np.abs(self.missing) / self.unit)) * self.scale
        self.lagging = self.lagging + 1 if lag > violation else 0
        if self.lagging > MAX_LAGGING_SWEEPS:
            self._stiffen()
        # No one rests by less than multipliers may still move.
        self.limit = max(float(violation), lag)
        return self.limit

    def _stiffen(self) -> None:
        """Give the rows more weight; multipliers stay, as they contain the share so far."""
        self.rho, self.lagging = 2.0 * self.rho, 0
        self.part[:, 1] = self.squares[self.where] + (self.B**2) @ self.rho

    def _put_back(self) -> None:
        if len(self.where):
            self.rows[self.where, 0] = self.part[:, 0]

    def _gather(self, where: NDArray[np.intp]) -> None:
        """Copy rows to lie together."""
        self.where, self.B = where, self.risk.B[where]
        self.part = self.rows[where]
        self.part[:, 1] = self.squares[where] + (self.B**2) @ self.rho
        self.factor = _flat(take(self.Z, where), self.kind)
        self.missing = self.risk.B.T @ self.rows[:, 0] - self.risk.d


def _flat(Z: PointsLike, kind: Any) -> tuple[NDArray[np.uint64], NDArray[np.uint32], AnyArray]:
    """Return where rows start, their columns (none if the rows are dense) and their values."""
    if is_sparse(Z):
        return (
            Z.indptr.astype(np.uint64),
            np.append(Z.indices, 0).astype(np.uint32),  # so that there is one
            Z.data.astype(kind),
        )
    n, d = Z.shape
    starts = d * np.arange(n + 1, dtype=np.uint64)
    return starts, np.empty(0, dtype=np.uint32), np.ravel(Z).astype(kind)
