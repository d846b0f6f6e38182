r"""Many small problems of one kind at once: the pairs of many classes with few samples each.

A problem of four samples is solved in a microsecond, and posing, choosing, judging and reporting it
take a thousand. Problems of one size are taken through these steps as rows of one array instead.
The pair steps are those of :class:`~mercer.solvers.SMO`, the certificate is that of
:meth:`~mercer.problems.RegularizedRisk.certificate`, and whatever does not pass it is left to
:func:`~mercer.solvers.minimize`.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer._lazily import lazily
from mercer._patience import time_left
from mercer.gram.base import Gram
from mercer.losses.base import Array, DualTerms, Loss
from mercer.problems.risk import RegularizedRisk
from mercer.solvers._pairs import pack, slopes
from mercer.solvers.auto import FEW
from mercer.solvers.base import RESIDUAL, ROUNDS, SUPPORT, Solver, sharper
from mercer.solvers.monitor import Progress
from mercer.solvers.smo import SMO
from mercer.solvers.solution import Solution, Terms
from mercer.solvers.status import Status

pair_loop = lazily("mercer.solvers._smo_numba", "pair_loop")

__all__ = ["minimize_small"]

# Fewer problems than this are over before the difference is felt.
MANY = 50
# Problems and kernel values in memory at once; between two such parts the clock is looked at.
PART, VALUES = 2048, 2**20
# Pair steps after which a problem is no longer quick.
MOST = 10_000
# Part of the memory granted for kernel rows that the kernel matrix of all samples may take.
SHARE = 0.5


def minimize_small(risks: Sequence[RegularizedRisk], solver: Solver) -> list[Solution | None]:
    """Solve many small problems together, as far as a few pair steps each suffice.

    Taken are fifty problems or more of at most fifty samples each, over points of one kernel
    matrix, with one loss, an intercept and nothing else unpenalized, that go to decomposition.

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
    found: list[Solution | None] = [None] * len(risks)
    points = _points(risks)
    if points is None:
        return found
    gram, index = points
    sizes = defaultdict(list)
    for k, risk in enumerate(risks):
        sizes[risk.n].append(k)
    chosen = {m: solver.choose(risks[ks[0]]) for m, ks in sizes.items()}
    granted = [s.cache_bytes if isinstance(s, SMO) else 0.0 for s, _ in chosen.values()]
    if gram.shape[0] ** 2 * gram.dtype.itemsize > SHARE * min(granted):
        return found
    K, loss = gram.dense(), risks[0].loss
    for m, ks in sizes.items():
        step = max(1, min(PART, VALUES // m**2))
        for first in range(0, len(ks), step):
            if time_left() <= 0:
                return found
            part = ks[first : first + step]
            rows = np.stack([index[k] for k in part])
            y, c = (np.stack([getattr(risks[k], name) for k in part]) for name in ("y", "c"))
            # What overflows is not certified, and told where it is solved alone.
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                solutions = _solve(loss, K[rows[:, :, None], rows[:, None, :]], y, c, *chosen[m])
            for k, solution in zip(part, solutions, strict=True):
                found[k] = solution
    return found


def _points(
    risks: Sequence[RegularizedRisk],
) -> tuple[Gram, list[NDArray[np.intp]]] | None:
    """Return the matrix that problems are parts of and their points; None if they do not qualify.

    The cheap questions first: most machines have one problem.
    """
    if len(risks) < MANY or not all(type(risk) is RegularizedRisk for risk in risks):
        return None
    if not all(1 < risk.n <= FEW and risk.q == 1 for risk in risks):
        return None
    loss = risks[0].loss
    if len(loss.parts()) > 1 or loss.per_sample():
        return None
    parts = [risk.K.part_of() for risk in risks]
    known = [part for part in parts if part is not None]
    if len(known) < len(risks) or any(gram is not known[0][0] for gram, _ in known):
        return None
    gram = known[0][0]
    alike = all(risk.loss is loss or risk.loss == loss for risk in risks)
    constant = np.all(np.concatenate([risk.B for risk in risks]) == 1.0)
    free = not np.any(np.concatenate([risk.d for risk in risks]))
    if gram.sparse or gram.dtype != np.float64 or not (alike and constant and free):
        return None
    return gram, [index for _, index in known]


class _Start(NamedTuple):
    """Where problems stand after some rounds; a row, or an entry, each."""

    a: Array
    Ka: Array
    tol: Array
    steps: NDArray[np.intp]
    histories: list[tuple[Progress, ...]]
    seconds: tuple[float, float]
    rounds: int


def _solve(
    loss: Loss,
    K: Array,
    y: Array,
    c: Array,
    solver: Solver,
    reason: str,
    start: _Start | None = None,
) -> list[Solution | None]:
    """Solve problems of one size; arrays have a row each, and ``K`` a square.

    Those that meet the tolerance next to a gap that is not small go on with a lower one, as
    :func:`~mercer.solvers.minimize` does.
    """
    begin, (n, m) = time.perf_counter(), y.shape
    if start is None:
        zeros, tols = np.zeros((n, m)), np.full(n, solver.tol)
        start = _Start(zeros, zeros, tols, np.zeros(n, np.intp), [()] * n, (0.0, 0.0), 0)
    flat = loss.weigh(y.ravel(), c.ravel())
    if not isinstance(flat, DualTerms) or np.any(flat.lower > 0) or np.any(flat.upper < 0):
        return [None] * n
    terms = DualTerms(
        *(
            np.reshape(part, (n, m))
            for part in (flat.p_pos, flat.p_neg, flat.q_pos, flat.q_neg, flat.lower, flat.upper)
        )
    )
    a, steps = _steps(K, flat, terms, start, solver.max_iter)
    a, steps = _snapped(a, terms), start.steps + steps
    Ka = (K @ a[:, :, None])[:, :, 0]
    solved = time.perf_counter()
    b, interval = _intercepts(Ka, a, flat, terms)
    # The certificate, row by row.
    f = Ka + b[:, None]
    losses, conjugates = terms.value(f), terms.conjugate(a)
    quadratic, loss_sum = 0.5 * np.sum(a * Ka, axis=1), np.sum(losses, axis=1)
    primal, dual = quadratic + loss_sum, -(quadratic + np.sum(conjugates, axis=1))
    gap = np.sum(np.maximum(losses + conjugates + a * f, 0.0), axis=1)
    violation = np.max(terms.violation(a, f), axis=1)
    scale = np.sum(np.maximum(np.abs(a), 1e-6 * c), axis=1)
    residual = np.abs(np.sum(a, axis=1)) / np.where(scale > 0, scale, 1.0)
    met = np.isfinite(primal) & (violation <= start.tol) & (residual <= RESIDUAL)
    bound = np.count_nonzero((a != 0) & ((a <= terms.lower) | (a >= terms.upper)), axis=1)
    inside, weights = np.count_nonzero(a, axis=1) - bound, np.sum(c, axis=1)
    end = time.perf_counter()
    seconds = start.seconds[0] + (solved - begin) / n, start.seconds[1] + (end - solved) / n
    # Python's numbers, all at once.
    columns = [x.tolist() for x in (primal, dual, gap, violation, residual, steps, inside, bound)]
    found: list[Solution | None] = [None] * n
    loose, histories = [], []
    for k, (value, below, off, worst, rest, n_iter, n_free, n_bound) in enumerate(
        zip(*columns, strict=True)
    ):
        if not met[k]:
            continue
        line, here = Progress(n_iter, value, off, worst, sum(seconds)), slice(k, k + 1)
        solution = Solution(
            a=a[k],
            b=b[here],
            objective=value,
            dual=below,
            gap=off,
            violation=worst,
            residual=rest,
            status=Status.CONVERGED,
            n_iter=n_iter,
            solver=type(solver).__name__,
            reason=reason,
            f=f[k],
            times={"solve": seconds[0], "certify": seconds[1]},
            history=(*start.histories[k], line),
            n_free=n_free,
            n_bound=n_bound,
            evaluations=m * m * (start.rounds + 1),
            b_interval=interval[here],
            terms=Terms(quadratic[here], loss_sum[here], weights[here]),
        )
        if solution.converged:
            found[k] = solution
        elif start.rounds < ROUNDS:
            loose.append(k)
            histories.append(solution.history)
    if loose:
        tol = start.tol[loose] * sharper(primal[loose], gap[loose])
        again = _Start(a[loose], Ka[loose], tol, steps[loose], histories, seconds, start.rounds + 1)
        more = _solve(loss, K[loose], y[loose], c[loose], solver, reason, again)
        for k, later in zip(loose, more, strict=True):
            found[k] = later
    return found


def _steps(
    K: Array, flat: DualTerms, terms: DualTerms, start: _Start, max_iter: int
) -> tuple[Array, NDArray[np.intp]]:
    """Take pair steps, one problem after the other; return coefficients and numbers of steps."""
    n, m = start.a.shape
    up, down = (x.reshape(n, m) for x in slopes(start.Ka.ravel(), start.a.ravel(), flat))
    diag = np.diagonal(K, axis1=1, axis2=2)
    state = np.zeros((n, 6, m + 1))
    state[:, 0, :m], state[:, 1, :m] = up, down
    state[:, 2, :m] = diag + np.where(start.a < 0.0, terms.q_neg, terms.q_pos)
    state[:, 3, :m] = diag + np.where(start.a > 0.0, terms.q_pos, terms.q_neg)
    state[:, 5] = np.arange(m + 1)
    rows = pack(flat)
    packed = np.empty((n, m + 1, rows.shape[1]))
    packed[:, :m], packed[:, m] = rows[:-1].reshape(n, m, -1), rows[-1]
    a, steps = np.zeros((n, m + 1)), np.zeros(n, dtype=np.intp)
    a[:, :m] = start.a
    ends = np.array([0, 0, m], dtype=np.uint64)
    left = np.full(n, MOST) if max_iter < 0 else np.minimum(MOST, max_iter - start.steps)
    tols, most = (0.5 * start.tol).tolist(), left.tolist()
    for k in np.flatnonzero(np.max(down, axis=1) - np.min(up, axis=1) > start.tol).tolist():
        steps[k], _ = pair_loop(K[k], a[k], packed[k], state[k], ends, tols[k], most[k], 100)
    return a[:, :m], steps


def _snapped(a: Array, terms: DualTerms) -> Array:
    """Put coefficients next to zero or their box there, and restore their sums of zero.

    That is :func:`mercer.solvers.base.snap_to_box` for the column of ones.
    """
    lower, upper = terms.lower, terms.upper
    width = upper - lower
    width = np.where(np.isfinite(width), width, np.max(np.abs(a), axis=1, keepdims=True))
    near = SUPPORT * width
    a = np.minimum(np.maximum(a, lower), upper)
    a = np.where(np.abs(a) <= near, 0.0, a)
    a = np.where(a <= lower + near, lower, np.where(a >= upper - near, upper, a))
    room = np.minimum(np.minimum(a - lower, upper - a), np.abs(a))
    total = np.sum(room, axis=1, keepdims=True)
    part = room / np.where(total > 0, total, 1.0)
    moved = np.clip(a - part * np.sum(a, axis=1, keepdims=True), lower, upper)
    return np.asarray(moved + 0.0)  # no negative zeros


def _intercepts(Ka: Array, a: Array, flat: DualTerms, terms: DualTerms) -> tuple[Array, Array]:
    """Return intercepts and the intervals of optimal intercepts.

    Where coefficients inside their bounds determine an intercept it is their average, elsewhere the
    middle of the interval, as :func:`mercer.problems.intercept.centre_intercepts` has it.
    """
    up, _ = slopes(Ka.ravel(), a.ravel(), flat)
    free = (a > terms.lower) & (a < terms.upper) & (a != 0)
    count = np.count_nonzero(free, axis=1)
    mean = np.sum(np.where(free, up.reshape(a.shape), 0.0), axis=1) / np.maximum(count, 1)
    low, high = terms.interval(a)
    bottom, top = np.max(low - Ka, axis=1), np.min(high - Ka, axis=1)
    ends = np.column_stack([bottom, top])
    finite = np.isfinite(ends)
    middle = np.sum(np.where(finite, ends, 0.0), axis=1) / np.maximum(np.sum(finite, axis=1), 1)
    b = np.where(count > 0, 0.0 - mean, middle)
    # One value, or two in the wrong order because the coefficients are optimal to a tolerance only.
    unique = np.any(low == high, axis=1) | (bottom > top)
    interval = np.where(unique[:, None], b[:, None], ends)
    centred = ~unique & np.any(finite, axis=1)
    return np.where(centred, middle, b), interval
