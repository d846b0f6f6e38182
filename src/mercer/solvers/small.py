r"""Small problems over parts of one kernel matrix: all of them in one compiled call.

A problem of four samples is solved in a microsecond and one of a hundred in fifty, and posing,
choosing, judging and reporting it take a millisecond. Problems that are parts of one kernel matrix,
such as the pairs of classes of a vote, are laid end to end instead, and a compiled loop takes them
through all of these steps. The pair steps are those of :class:`~mercer.solvers.SMO`, the
certificate is that of :meth:`~mercer.problems.RegularizedRisk.certificate`, and whatever does not
pass it is left to :func:`~mercer.solvers.minimize`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from mercer._deadline import time_left
from mercer._native import measure_parts, solve_parts, start_parts
from mercer._typing import Array
from mercer.gram.base import Gram
from mercer.gram.row_store import MAX_WHOLE_ROWS
from mercer.losses.base import DualTerms, Loss, QuadraticDualLoss
from mercer.problems.risk import RegularizedRisk, value_roots
from mercer.solvers._pairs import pack
from mercer.solvers.auto import THRESHOLDS, Auto, by_factor, decomposition
from mercer.solvers.base import Solver
from mercer.solvers.certify import MAX_TIGHTENINGS, SUPPORT_THRESHOLD, sharper
from mercer.solvers.monitor import Progress
from mercer.solvers.smo import SMO
from mercer.solvers.solution import Solution, Terms
from mercer.solvers.status import Status

__all__ = ["RiskBatch", "SolutionBatch", "minimize_batch", "minimize_small"]

# Samples times steps between two looks at the clock, at most: about a second, or a tenth of one
# where time is limited.
MAX_CHUNK_WORK, MAX_LIMITED_CHUNK_WORK = 5e9, 1e8
# Pair steps after which a problem is no longer quick; Auto would ask for no fewer.
MAX_STEPS = THRESHOLDS.max_pair_steps
# Part of the memory granted for kernel rows that the kernel matrix of all samples may take.
MATRIX_BYTES_PART = 0.5


@dataclass(eq=False)
class RiskBatch:
    """Problems over parts of one kernel matrix, laid end to end.

    Parameters
    ----------
    gram : Gram
        The matrix of all points.
    index : ndarray of shape (n,), optional
        Points of the samples of the first problem, then of the second, and so on; None for the only
        problem, of all points.
    ends : ndarray of shape (k + 1,)
        Where the samples of the problems begin, and the last ones end.
    cuts : ndarray of shape (k, q + 1)
        Where, within a problem, the groups of samples begin that share an unpenalized column of
        ones, and the last one ends.
    d : ndarray of shape (k, q)
        Linear cost of the columns.
    loss : Loss
        One of them, for its kind.
    terms : DualTerms
        Weighted losses of all samples.
    c : ndarray of shape (n,)
        Their weights.

    Attributes
    ----------
    sizes : ndarray of shape (k,)
        Numbers of samples of the problems.
    largest : int
        Number of samples of the largest problem.
    """

    gram: Gram
    index: NDArray[np.intp] | None
    ends: NDArray[np.intp]
    cuts: NDArray[np.intp]
    d: Array
    loss: Loss
    terms: DualTerms
    c: Array

    def __post_init__(self) -> None:
        self.sizes = self.ends[1:] - self.ends[:-1]
        self.largest = int(np.maximum.reduce(self.sizes))

    @property
    def lengths(self) -> NDArray[np.intp]:
        """Numbers of samples of the groups."""
        return (self.cuts[:, 1:] - self.cuts[:, :-1]).ravel()


class _Limits(NamedTuple):
    """How decomposition would be asked to solve the problems."""

    most: int
    reason: str


# Columns of what is measured of a problem; the last one is one of the three verdicts below.
N_MEASURES = 11
PENALTY, LOSSES, GAP, OBJECTIVE, _, VIOLATION, _, _, _, WEIGHTS, VERDICT = range(N_MEASURES)
# Of these the largest counts where problems are put together, of all others the sum.
MAXIMA = slice(VIOLATION, VIOLATION + 2)
# The tolerance is met, but the gap says little; and all is well.
LOOSELY, MET = 1.0, 2.0


class SolutionBatch(Sequence[Solution]):
    """Solutions of problems that were solved together; each is made when it is asked for.

    Parameters
    ----------
    parts : RiskBatch
        The problems.
    packed : ndarray of shape (n + 1, 8)
        What the pair steps read of their samples.
    reason : str
        Why n samples went to decomposition, with ``{n}`` in their place.
    """

    def __init__(self, parts: RiskBatch, packed: Array, reason: str) -> None:
        n, (k, q) = len(parts.c), parts.d.shape
        self.parts, self.packed, self.reason = parts, packed, reason
        self.a, self.f, self.b = np.zeros(n), np.empty(n), np.zeros((k, q))
        self.intervals, self.values = np.empty((k, q, 2)), np.empty((k, N_MEASURES))
        self.n_iter, self.rounds = np.zeros(k, dtype=np.intp), np.zeros(k, dtype=np.intp)
        self.met = np.zeros(k, dtype=bool)
        self.seconds, self.certified = 0.0, 0.0
        self.histories: dict[int, tuple[Progress, ...]] = {}
        self.peak = float(np.maximum.reduce(value_roots(parts.gram))) ** 2
        if parts.d.any():
            start_parts(_unsigned(parts.ends), _unsigned(parts.cuts), parts.d, packed, self.a)

    def measure(self, tol: Array) -> NDArray[np.bool_]:
        """Set intercepts and certificates; return which problems have a gap that is not small.

        Products with K are in ``f`` before, decision values after. The formulas are those lines
        that :meth:`~mercer.problems.RegularizedRisk.certificate` evaluates, compiled.
        """
        parts = self.parts
        measure_parts(
            _unsigned(parts.ends),
            _unsigned(parts.cuts),
            parts.d,
            self.packed,
            parts.c,
            tol,
            self.peak,
            parts.gram.value_error(),
            self.a,
            self.f,
            self.b,
            self.intervals.reshape(len(self), -1),
            self.values,
        )
        verdicts = self.values[:, VERDICT]
        self.met = verdicts == MET
        return np.asarray(verdicts == LOOSELY)

    def __len__(self) -> int:
        return len(self.n_iter)

    def __iter__(self) -> Iterator[Solution]:
        return (self[k] for k in range(len(self)))

    @overload
    def __getitem__(self, k: int) -> Solution: ...
    @overload
    def __getitem__(self, k: slice) -> list[Solution]: ...
    def __getitem__(self, k: int | slice) -> Solution | list[Solution]:
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(len(self)))]
        k = range(len(self))[k]
        here = slice(int(self.parts.ends[k]), int(self.parts.ends[k + 1]))
        found = self.a[here], self.f[here], self.b[k], self.intervals[k]
        return self._made(*found, k, k + 1, here)

    def joined(self) -> Solution:
        """Return the solution of all of them together, as a join of solutions does."""
        found = self.a, self.f, self.b.ravel(), self.intervals.reshape(-1, 2)
        return self._made(*found, 0, len(self), slice(None))

    def _made(
        self, a: Array, f: Array, b: Array, interval: Array, first: int, end: int, here: slice
    ) -> Solution:
        which, count = slice(first, end), end - first
        if count == 1:
            measured, n_iter = self.values[first].tolist(), int(self.n_iter[first])
            evaluations = int(self.parts.sizes[first]) ** 2 * int(self.rounds[first])
        else:
            sums = np.add.reduce(self.values[which], axis=0)
            sums[MAXIMA] = np.maximum.reduce(self.values[which, MAXIMA], axis=0)
            measured, n_iter = sums.tolist(), int(np.add.reduce(self.n_iter[which]))
            evaluations = int(self.parts.sizes[which] ** 2 @ self.rounds[which])
        _, _, gap, objective, dual, violation, residual, n_free, n_bound, _, _ = measured
        seconds, certified = (x * count / len(self) for x in (self.seconds, self.certified))
        line = Progress(n_iter, objective, gap, violation, seconds)
        before = [] if not self.histories else list(range(first, end))
        return Solution(
            a=a,
            b=b,
            objective=objective,
            dual=dual,
            gap=gap,
            violation=violation,
            residual=residual,
            status=Status.CONVERGED,
            n_iter=n_iter,
            solver="SMO",
            reason=self.reason.format(
                n=self.parts.gram.shape[0] if count > 1 else int(self.parts.sizes[first])
            ),
            f=f,
            times={"solve": seconds - certified, "certify": certified},
            history=(*(line for k in before for line in self.histories.get(k, ())), line),
            n_free=int(n_free),
            n_bound=int(n_bound),
            evaluations=evaluations,
            b_interval=interval,
            terms=Terms(*(self.values[which, j] for j in (PENALTY, LOSSES, WEIGHTS))),
            # Gaps that are small one by one are small together, and one that was found to be
            # nothing is so beside an objective that is nothing too.
            resolution=gap if count > 1 or self.met[first] else 0.0,
            samples=None if self.parts.index is None else self.parts.index[here],
            n_samples=self.parts.gram.shape[0],
        )


def _unsigned(index: NDArray[np.intp]) -> NDArray[np.uint64]:
    return index.view(np.uint64)


def minimize_batch(parts: RiskBatch, solver: Solver, other: bool = False) -> SolutionBatch | None:
    """Solve problems together, as far as a few pair steps each suffice.

    Parameters
    ----------
    parts : RiskBatch
        The problems.
    solver : Solver
        How each would be minimized.
    other : bool, default=False
        Whether another solver is better where pair steps are many, so that few are tried.

    Returns
    -------
    SolutionBatch or None
        Solutions; ``met`` says which of them are certified to be solved within the limits of the
        solver, the others are left to :func:`~mercer.solvers.minimize`. None if none is.
    """
    gram, n_points = parts.gram, parts.gram.shape[0]
    granted = getattr(solver, "cache_bytes", 0.0)
    if gram.sparse or gram.dtype != np.float64 or parts.largest > MAX_WHOLE_ROWS:
        return None
    if n_points**2 * 8 > MATRIX_BYTES_PART * granted:
        return None
    if len(parts.sizes) == 1 and not gram.in_memory:
        if n_points > THRESHOLDS.max_whole_rows:
            return None  # rows that are needed take less time than all
        other = other or _better_by_rows(gram)
    limits = _limits(parts, solver, other)
    if limits is None or time_left() <= 0:
        return None
    begin = time.perf_counter()
    K = gram.dense()
    if not math.isfinite(np.add.reduce(K, axis=None)):
        return None  # told where it is solved alone
    found = SolutionBatch(parts, pack(parts.terms), limits.reason)
    tol, todo = np.full(len(parts.sizes), solver.tol), np.arange(len(parts.sizes))
    for _ in range(MAX_TIGHTENINGS + 1):
        for some in _chunks(todo, parts.sizes):
            if time_left() <= 0:
                return None
            _run(parts, K, tol, limits.most, found, some)
        measured = time.perf_counter()
        loose = found.measure(tol)
        found.certified += time.perf_counter() - measured
        # A lower tolerance, where the one asked for leaves a gap that says little.
        todo = (loose & (found.n_iter < limits.most)).nonzero()[0]
        if not len(todo):
            break
        for k in todo.tolist():
            objective, gap, violation = found.values[k, [OBJECTIVE, GAP, VIOLATION]].tolist()
            elapsed = time.perf_counter() - begin
            line = Progress(int(found.n_iter[k]), objective, gap, violation, elapsed)
            found.histories[k] = (*found.histories.get(k, ()), line)
        tol[todo] *= sharper(found.values[todo, OBJECTIVE], found.values[todo, GAP])
    found.seconds = time.perf_counter() - begin
    return found if found.met.any() else None


def _better_by_rows(gram: Gram) -> bool:
    """Answer whether decomposition is quicker, which computes rows that it needs in float32.

    It is where there are many rows, and where many steps are needed, which cost half as much in
    float32: by linear and polynomial kernels, whose diagonal tells them from those that depend on
    distances.
    """
    return gram.shape[0] > THRESHOLDS.max_float64_rows and bool(np.ptp(gram.diag()) > 0)


def _limits(parts: RiskBatch, solver: Solver, other: bool) -> _Limits | None:
    """Return how far pair steps may go; None if the solver does not take them.

    ``other`` says that another way is at hand, which is better if they are many.
    """
    reason, most = "asked for", MAX_STEPS
    if isinstance(solver, Auto):
        if parts.loss.smooth:
            return None
        reason = decomposition("{n}", solver.cache_bytes)
    elif not isinstance(solver, SMO):
        return None
    if other:
        n = parts.largest
        cost = THRESHOLDS.step_rows + n * max(1.0, n / THRESHOLDS.cached_rows)
        most = min(most, int(THRESHOLDS.trial_work / cost))
    return _Limits(most if solver.max_iter < 0 else min(most, solver.max_iter), reason)


def _chunks(todo: NDArray[np.intp], sizes: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return problems in parts between which the clock is looked at."""
    work, most = (
        MAX_STEPS * (sizes[todo] + 80.0),
        MAX_CHUNK_WORK if time_left() == np.inf else MAX_LIMITED_CHUNK_WORK,
    )
    if np.add.reduce(work) < most:
        return [todo] if len(todo) else []
    return np.split(todo, np.flatnonzero(np.diff(np.cumsum(work) // most)) + 1)


def _run(
    parts: RiskBatch,
    K: Array,
    tol: Array,
    most: int,
    found: SolutionBatch,
    some: NDArray[np.intp],
) -> None:
    """Take pair steps on some of the problems, beginning where they stand, and multiply by K."""
    every = len(some) == len(parts.sizes)
    index = some[:0] if parts.index is None else parts.index
    ends, cuts, d, steps, a, f = parts.ends, parts.cuts, parts.d, found.n_iter, found.a, found.f
    terms, tols, largest, rows = found.packed, 0.5 * tol, parts.largest, index[:0]
    if not every:
        # Cut out, and put back below.
        sizes = parts.sizes[some]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.arange(ends[-1]) + np.repeat(parts.ends[some] - ends[:-1], sizes)
        terms = terms[np.append(rows, len(terms) - 1)]
        index = index if parts.index is None else index[rows]
        cuts, d, steps, a, f = cuts[some], d[some], steps[some], a[rows], f[rows]
        tols, largest = tols[some], int(sizes.max())
    whole = parts.index is None
    solve_parts(
        K,
        whole,
        _unsigned(index),
        _unsigned(ends),
        _unsigned(cuts),
        d,
        terms,
        tols,
        most - steps,
        SUPPORT_THRESHOLD,
        steps,
        a,
        f,
        np.empty(0 if whole else largest**2),
        np.empty(14 * largest + 56),
        np.zeros(3 * d.shape[1] + 4, dtype=np.uint64),
        np.empty(0 if whole else largest + 1, dtype=np.uint64),
    )
    found.rounds[some] += 1
    if every:
        return
    # Decision values of the others are products again, which is what is measured.
    found.f -= np.repeat(found.b.ravel(), parts.lengths)
    found.a[rows], found.f[rows], found.n_iter[some] = a, f, steps


def minimize_small(risks: Sequence[RegularizedRisk], solver: Solver) -> list[Solution | None]:
    """Solve small problems together, as far as a few pair steps each suffice.

    Taken are problems over points of one kernel matrix in memory (or as small as that), with one
    kind of loss, that go to decomposition, whose unpenalized columns are ones on disjoint groups
    of all samples: an intercept, or one a side.

    Parameters
    ----------
    risks : sequence of RegularizedRisk
        The problems.
    solver : Solver
        How each would be minimized.

    Returns
    -------
    list of Solution or None
        None for a problem that is left to :func:`~mercer.solvers.minimize`: of another kind, or
        not certified to be solved within the limits of the solver.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.gram.indexed import Indexed
    >>> from mercer.losses import Hinge
    >>> from mercer.problems import RegularizedRisk
    >>> from mercer.solvers import SMO
    >>> K, y, B = Dense(np.eye(51)), np.array([1.0, -1.0]), np.ones((2, 1))
    >>> pairs = [Indexed(K, [i, i + 1]) for i in range(50)]
    >>> found = minimize_small([RegularizedRisk(Hinge(), pair, y, 9.0, B) for pair in pairs], SMO())
    >>> found[0].a, found[0].b, found[0].gap
    (array([ 1., -1.]), array([0.]), 0.0)
    """
    none: list[Solution | None] = [None] * len(risks)
    laid = _laid(risks)
    if laid is None:
        return none
    parts, order = laid
    other = len(risks) == 1 and isinstance(solver, Auto) and by_factor(risks[0], solver) is not None
    found = minimize_batch(parts, solver, other)
    if found is None:
        return none
    solutions = [found[k] if found.met[k] else None for k in range(len(risks))]
    if order is None:
        return list(solutions)
    return [
        None if one is None else _put_back(one, order[parts.ends[k] : parts.ends[k + 1]])
        for k, one in enumerate(solutions)
    ]


def _put_back(solution: Solution, order: NDArray[np.intp]) -> Solution:
    """Return a solution of samples in their own order."""
    back = np.empty(len(order), dtype=np.intp)
    back[order] = np.arange(len(order))
    samples = None if solution.samples is None else solution.samples[back]
    return replace(solution, a=solution.a[back], f=solution.f[back], samples=samples)


def _laid(risks: Sequence[RegularizedRisk]) -> tuple[RiskBatch, NDArray[np.intp] | None] | None:
    """Lay problems end to end; None if they do not qualify.

    Samples are ordered by group: also returned is which sample of its problem each one is, if it is
    another.
    """
    first = risks[0]
    loss, q = first.loss, first.q
    if not q or not isinstance(loss, QuadraticDualLoss) or len(loss.parts()) > 1:
        return None
    if any(
        type(r) is not RegularizedRisk or r.q != q or not 1 < r.n <= MAX_WHOLE_ROWS for r in risks
    ):
        return None
    if len(risks) == 1 and q == 1 and first.K.part_of() is None:
        return _laid_alone(first)
    B = first.B if len(risks) == 1 else np.concatenate([risk.B for risk in risks])
    if not (np.all(B * B == B) and np.all(B.sum(axis=1) == 1.0)):
        return None
    parts = [risk.K.part_of() for risk in risks]
    index: NDArray[np.intp] | None = None
    if len(risks) == 1 and parts[0] is None:
        gram: Gram = first.K
    else:
        known = [part for part in parts if part is not None]
        if len(known) < len(risks) or any(g is not known[0][0] for g, _ in known):
            return None
        gram, index = known[0][0], np.concatenate([points for _, points in known])
    ends = np.concatenate([[0], np.cumsum([risk.n for risk in risks])]).astype(np.intp)
    if len(risks) == 1:
        terms, c = first.terms, first.c
    else:
        if loss.per_sample() or not all(r.loss is loss or r.loss == loss for r in risks):
            return None
        c = np.concatenate([risk.c for risk in risks])
        terms = loss.weigh(np.concatenate([risk.y for risk in risks]), c)
    if not isinstance(terms, DualTerms) or _away_from_zero(terms):
        return None
    d = np.stack([risk.d for risk in risks])
    counts = np.add.reduceat(B, ends[:-1], axis=0)
    cuts = np.zeros((len(risks), q + 1), dtype=np.intp)
    cuts[:, 1:] = np.cumsum(counts, axis=1)
    if np.any(counts == 0):
        return None
    order: NDArray[np.intp] | None = None
    if q > 1:
        group = np.argmax(B, axis=1)
        of = np.repeat(np.arange(len(risks)), np.diff(ends))
        by_group = np.lexsort((group, of))
        if np.any(by_group[1:] < by_group[:-1]):
            order = by_group - ends[of]
            index = by_group if index is None else index[by_group]
            c = c[by_group]
            terms = DualTerms(*(x[by_group] for x in _arrays(terms)))
    laid = RiskBatch(gram, index, ends, cuts, d, loss, terms, np.ascontiguousarray(c))
    return laid, order


def _laid_alone(risk: RegularizedRisk) -> tuple[RiskBatch, None] | None:
    """Return the only problem, with an intercept, over all points of its matrix."""
    terms, ends = risk.terms, np.array([0, risk.n])
    if not (risk.B == 1.0).all() or not isinstance(terms, DualTerms) or _away_from_zero(terms):
        return None
    d = risk.d.reshape(1, 1)
    c = np.ascontiguousarray(risk.c)
    return RiskBatch(risk.K, None, ends, ends[None], d, risk.loss, terms, c), None


def _away_from_zero(t: DualTerms) -> bool:
    """Answer whether a coefficient may not be zero."""
    return bool(np.maximum.reduce(t.lower) > 0.0 or np.minimum.reduce(t.upper) < 0.0)


def _arrays(t: DualTerms) -> tuple[Array, ...]:
    return t.p_pos, t.p_neg, t.q_pos, t.q_neg, t.lower, t.upper
