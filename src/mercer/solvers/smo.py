r"""Decomposition: pairs of coefficients inside working sets, for losses with quadratic dual.

Sequential minimal optimization with second-order selection (Fan, Chen and Lin, 2005), on the signed
coefficients themselves: a loss with a dead zone has a kink at :math:`a_i = 0`, which the line
search of a pair walks through, instead of twice the variables. One equality row per *group* of
samples is kept: a single group is the usual intercept, two groups are the nu-machines, none is a
machine without intercept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.gram.cache import RowCache
from mercer.losses.base import Array, DualTerms, QuadraticDualLoss
from mercer.problems.reductions import infeasible
from mercer.problems.risk import RegularizedRisk
from mercer.solvers._smo_numba import pair_steps, refresh, slopes
from mercer.solvers.base import Answer, Monitor, Solution, Solver

__all__ = ["SMO"]

# Inner steps per compiled call: about a tenth of a second of work, so that Ctrl-C, time limits and
# progress reports are never far away.
WORK = 1e7


@dataclass(eq=False)
class SMO(Solver):
    """Sequential minimal optimization within working sets.

    Takes every loss whose conjugate is quadratic, and unpenalized columns with disjoint supports
    and one value each (an intercept, or one intercept per group of samples).

    Parameters
    ----------
    tol : float, default=1e-3
        Largest violation of an optimality condition.
    max_iter : int, default=-1
        Largest number of pair steps, -1 for no limit.
    max_time : float, optional
        Largest number of seconds.
    cache_bytes : float, default=2e8
        Memory for kernel rows. A kernel matrix that fits is computed once; a larger one is visited
        in working sets whose rows fit.
    shrinking : bool, default=True
        Leave samples that rest on their bounds aside until the end.

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
    shrinking: bool = True

    def refuses(self, risk: RegularizedRisk) -> str:
        if not isinstance(risk.loss, QuadraticDualLoss):
            return (
                f"the conjugate of {type(risk.loss).__name__} is not quadratic; use InteriorPoint"
            )
        if risk.q and np.any(np.count_nonzero(risk.B, axis=1) > 1):
            return "a sample carries several unpenalized columns; use InteriorPoint"
        if any(len(np.unique(column[column != 0])) > 1 for column in risk.B.T):
            return "an unpenalized column is not constant where it is not zero; use InteriorPoint"
        return infeasible(risk)

    def solve(self, risk: RegularizedRisk, start: Solution | None, monitor: Monitor) -> Answer:
        assert isinstance(risk.loss, QuadraticDualLoss)
        state = _State(risk, risk.loss.dual_terms(risk.y, np.asarray(risk.c)), start)
        if risk.n * risk.n * risk.K.dtype.itemsize <= self.cache_bytes or risk.K.in_memory:
            return self._whole(risk, state, monitor)
        return self._blocks(risk, state, monitor)

    def _whole(self, risk: RegularizedRisk, state: _State, monitor: Monitor) -> Answer:
        """Run on the whole kernel matrix."""
        n = risk.n
        K = risk.K.dense()
        active, n_active = np.arange(n), n
        steps, violation = 0, np.inf
        shrink_every = min(n, 1000) if self.shrinking else 0
        while True:
            # Reports at doubling distances show how the gap falls and cost next to nothing.
            chunk = monitor.left(steps, int(min(max(100, steps), max(100, WORK / n))))
            before = state.a.copy()
            done, violation, n_active = pair_steps(
                K, state.F, state.a, *state.arrays, active, n_active, shrink_every, self.tol, chunk
            )
            steps += done
            if n_active < n:
                refresh(K, state.F, state.a, active, n_active)
            if violation <= self.tol:
                # Rounding gathers in F over many steps: believe only a fresh one.
                state.F = risk.K.matvec(state.a)
                violation = state.violation()
                if violation <= self.tol or done == 0:
                    state.report(monitor, steps, violation)
                    return state.answer(steps)
            stalled = done > 0 and np.array_equal(before, state.a)
            if state.report(monitor, steps, violation) or stalled:
                return state.answer(steps)

    def _blocks(self, risk: RegularizedRisk, state: _State, monitor: Monitor) -> Answer:
        """Run on working sets whose kernel rows fit the cache."""
        row = risk.n * risk.K.dtype.itemsize
        size = int(np.clip(self.cache_bytes / 2 / row, 4, 1024)) // 2 * 2
        K = RowCache(risk.K, int(max(self.cache_bytes - size * row, size * row)))
        W = np.empty(0, dtype=np.intp)
        steps, violation, idle = 0, state.violation(), 0
        while violation > self.tol:
            W = state.working_set(W, size)
            rows = K.rows(W)
            F, a = state.F[W], state.a[W]
            done, *_ = pair_steps(
                np.ascontiguousarray(rows[:, W]),
                F,
                a,
                *state.restrict(W),
                np.arange(len(W)),
                len(W),
                0,
                max(0.5 * self.tol, 0.1 * violation),
                monitor.left(steps, max(100, int(WORK / len(W)))),
            )
            steps += done
            change = a - state.a[W]
            state.a[W] = a
            moved = np.flatnonzero(change)
            state.F += change[moved] @ rows[moved]
            violation = state.violation()
            idle = idle + 1 if not len(moved) else 0
            if state.report(monitor, steps, violation) or idle > 2:
                return state.answer(steps)
        return state.answer(steps)


class _State:
    """Coefficients, products and dual terms of a run, in samples of the problem."""

    def __init__(self, risk: RegularizedRisk, terms: DualTerms, start: Solution | None) -> None:
        self.risk = risk
        self.terms = terms
        self.group, self.scale = _groups(risk.B)
        a = np.zeros(risk.n) if start is None else start.a
        self.a = self._feasible(np.clip(a, terms.lower, terms.upper))
        self.F = risk.K.matvec(self.a) if np.any(self.a) else np.zeros(risk.n)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """Return what the compiled loop reads, for the whole sample."""
        t = self.terms
        return (
            t.p_pos, t.p_neg, t.q_pos, t.q_neg, t.lower, t.upper, self.group, len(self.scale),
        )  # fmt: skip

    def restrict(self, W: NDArray[np.intp]) -> tuple[Any, ...]:
        """Return what the compiled loop reads, for the samples ``W``."""
        *arrays, n_groups = self.arrays
        return (*(x[W] for x in arrays), n_groups)

    def slopes(self) -> tuple[Array, Array]:
        """Return the derivatives upwards and downwards, infinite where the box forbids the move."""
        t = self.terms
        up, down = slopes(self.F, self.a, t.p_pos, t.p_neg, t.q_pos, t.q_neg, t.lower, t.upper)
        return up, down

    def violation(self) -> float:
        """Return the largest violation over groups and free samples."""
        up, down = self.slopes()
        single = self.group < 0
        worst = 2.0 * max(
            float(np.max(-up[single], initial=0.0)), float(np.max(down[single], initial=0.0))
        )
        for g in range(len(self.scale)):
            inside = self.group == g
            most, least = np.max(down[inside], initial=-np.inf), np.min(up[inside], initial=np.inf)
            worst = max(worst, float(most - least))
        return worst

    def working_set(self, old: NDArray[np.intp], size: int) -> NDArray[np.intp]:
        """Choose the samples with the steepest derivatives, keeping half of the last set.

        Both ends of the ordering enter, so that every set holds a feasible direction of descent.
        """
        up, down = self.slopes()
        keys: list[NDArray[np.intp]] = []
        n_keys = max(1, len(self.scale)) * 2
        half = max(size // 2, n_keys)
        for g in range(-1, len(self.scale)):
            inside = np.flatnonzero(self.group == g)
            if not len(inside):
                continue
            for slope in (up[inside], -down[inside]):
                k = min(half // n_keys + 1, len(inside))
                nearest = np.argpartition(slope, k - 1)[:k]
                nearest = nearest[np.isfinite(slope[nearest])]
                keys.append(inside[nearest[np.argsort(slope[nearest])]])
        new = np.unique(np.concatenate(keys))
        kept = old[~np.isin(old, new)]
        return np.concatenate([new, kept[: max(0, size - len(new))]])

    def report(self, monitor: Monitor, steps: int, violation: float) -> bool:
        """Tell the monitor where the run stands; answer whether to stop."""
        if not np.all(np.isfinite(self.F)):
            raise FloatingPointError(
                "kernel values overflow or are not numbers; scale the inputs, or lower C"
            )
        certificate = self.risk.certificate(self.a, self.b(), self.F)
        return monitor.report(steps, certificate.primal, certificate.gap, violation)

    def b(self) -> Array:
        """Return the coefficients of the unpenalized columns: multipliers of the equality rows.

        The average over free coefficients where there are any, else the middle of the interval that
        the bounds leave.
        """
        t = self.terms
        up, down = self.slopes()
        free = (self.a > t.lower) & (self.a < t.upper) & (self.a != 0)
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

    def answer(self, steps: int) -> Answer:
        return Answer(self.a, self.b(), steps)

    def _feasible(self, a: Array) -> Array:
        """Move coefficients inside their box, first ones first, until every equality row holds."""
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
