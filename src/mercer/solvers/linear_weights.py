r"""Linear machines whose dual is no box problem: the norm :math:`|w|_1`, and coupled classes.

Both are solved by coordinate descent and certified by a dual point that is made from the answer:

.. math::

    \min_w\; |w|_1 + \sum_i c_i \max(0, 1 - y_i z_i'w)^2, \qquad
    \max_a\; \sum_i \bigl(y_i a_i - a_i^2 / (4 c_i)\bigr) \ \text{ for } |Z'a|_\infty \le 1,

.. math::

    \min_W\; \tfrac12 |W|^2 + \sum_i c_i \max_k \bigl([k \ne y_i] + z_i'(w_k - w_{y_i})\bigr),
    \qquad
    \max_A\; -\tfrac12 |Z'A|^2 - \sum_{k \ne y_i} A_{ik}

for coefficients of a row that add up to zero, are at most :math:`c_i` for its class and not
positive for others.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer._native import descend_columns, descend_coupled
from mercer._typing import Array
from mercer.gram.features import Features
from mercer.solvers.monitor import Monitor, Progress
from mercer.solvers.solution import Solution
from mercer.solvers.status import MAX_RELATIVE_GAP, ConvergenceWarning, Status, relative_gap

__all__ = ["minimize_absolute", "minimize_coupled"]

# As of a descent over rows: part of the tolerance at which passes end, and factors where the answer
# violates more, or leaves a gap.
PASS_TOL_PART, REPEAT_TOL_PART, MAX_REPEATS = 0.5, 0.3, 12
# Numbers that a call of a compiled loop reads.
CALL_NUMBERS = 2e8
MAX_PASSES = 2**62
# A factor with which seeds are multiplied, so that small ones differ in many bits.
SEED_FACTOR = 2654435761


def _state(n: int, seed: int) -> NDArray[np.uint64]:
    return np.array([0, n, 1, SEED_FACTOR * (seed + 1) % 2**63, 0], dtype=np.uint64)


class _Search:
    """Passes of one loop, measured now and then."""

    def __init__(
        self,
        name: str,
        tol: float,
        max_iter: int,
        max_time: float | None,
        listener: Callable[[Progress], object] | None,
    ) -> None:
        self.name, self.tol = name, tol
        self.monitor = Monitor(max_iter, max_time, listener)

    def run(
        self,
        move: Callable[[float, int], NDArray[np.uint64]],
        measure: Callable[[], tuple[float, float, float]],
        again: Callable[[], None],
    ) -> dict[str, Any]:
        """Repeat passes until the answer is within the tolerance; return what a solution says."""
        monitor, tol, certify, passes = self.monitor, PASS_TOL_PART * self.tol, 0.0, 0
        for _ in range(MAX_REPEATS):
            while not monitor.spent(passes):
                state = move(tol, passes + monitor.left(passes, MAX_PASSES))
                passes = int(state[4])
                if not state[2]:
                    break
            begin = time.perf_counter()
            primal, dual, violation = measure()
            certify += time.perf_counter() - begin
            gap = max(primal - dual, 0.0)
            stop = monitor.report(passes, primal, gap, violation)
            met = violation <= self.tol and relative_gap(primal, dual, gap) <= MAX_RELATIVE_GAP
            if met or stop or monitor.status is not None:
                break
            tol *= REPEAT_TOL_PART
            again()
        status = Status.CONVERGED if met else monitor.status or Status.STALLED
        times = {"solve": monitor.elapsed - certify, "certify": certify}
        return {
            "objective": primal,
            "dual": dual,
            "gap": gap,
            "violation": violation,
            "residual": 0.0,
            "status": status,
            "n_iter": passes,
            "solver": self.name,
            "times": times,
            "history": tuple(monitor.history),
        }


def _warned(solution: Solution, tol: float, warning: type[Warning]) -> Solution:
    if solution.status not in (Status.CONVERGED, Status.STOPPED):
        warnings.warn(
            f"Solver terminated early ({solution.solver}: {solution.status.value} after "
            f"{solution.n_iter} iterations). Duality gap {solution.gap:.2e} at objective "
            f"{solution.objective:.6g}, violation {solution.violation:.2e} against tol={tol:.2e}. "
            "Raise max_iter or max_time, scale the features (StandardScaler, MaxAbsScaler), or "
            "lower C.",
            warning,
            stacklevel=4,
        )
    return solution


def minimize_absolute(
    K: Features,
    y: Array,
    c: Array,
    *,
    tol: float,
    max_iter: int = -1,
    max_time: float | None = None,
    seed: int = 0,
    listener: Callable[[Progress], object] | None = None,
    warning: type[Warning] = ConvergenceWarning,
) -> tuple[Array, Solution]:
    r"""Minimize :math:`|w|_1` and the squared hinge, one weight after the other.

    Parameters
    ----------
    K : Features
        The features; the weight of the intercept is penalized like the others.
    y : ndarray of shape (n,)
        Labels plus and minus one.
    c : ndarray of shape (n,)
        Weight of each sample's loss.
    tol : float
        Largest violation of :math:`|(Z'a)_j| \le 1`, with equality for weights that are not zero.
    max_iter, max_time, listener
        As of a :class:`~mercer.solvers.base.Solver`.
    seed : int, default=0
        Of the random order of the columns.
    warning : type of Warning
        Category of the warning when the tolerance was not reached.

    Returns
    -------
    w : ndarray of shape (d + 1,)
        Weights of the features and of the intercept's column.
    solution : Solution
        Its certificate.

    References
    ----------
    G.-X. Yuan, K.-W. Chang, C.-J. Hsieh, C.-J. Lin, A comparison of optimization methods and
    software for large-scale L1-regularized linear classification, JMLR 11 (2010), section 4.1.4.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram.features import Features
    >>> x, y = np.array([[-2.0, 0.1], [-1.0, 0.0], [1.0, 0.1]]), np.array([-1.0, -1.0, 1.0])
    >>> w, solution = minimize_absolute(Features(x), y, np.ones(3), tol=1e-8)
    >>> w.round(3), bool(solution.gap < 1e-7)
    (array([0.75, 0.  , 0.  ]), True)
    """
    n, d = K.shape[0], K.d + bool(K.bias)
    root = K.root() if K.bias else K.double
    signed = sp.csc_array(sp.diags_array(y) @ root) if K.sparse_rows else (root * y[:, None]).T
    columns = Features(signed.T if K.sparse_rows else signed).flat(np.float64)
    c = np.ascontiguousarray(c, dtype=np.float64)
    w, slack, order = np.zeros(d), np.ones(n), np.arange(d, dtype=np.uint32)
    state, progress = _state(d, seed), np.array([0.0, np.inf])
    last: dict[str, Array] = {}

    def move(goal: float, most: int) -> NDArray[np.uint64]:
        descend_columns(
            *columns, slack, c, w, order, progress, state, goal, most, int(CALL_NUMBERS)
        )
        return state

    def measure() -> tuple[float, float, float]:
        f = np.asarray(root @ w)
        slack[:] = 1.0 - y * f
        loss = c * np.maximum(slack, 0.0) ** 2
        a = 2.0 * c * np.maximum(slack, 0.0) * y
        slopes = np.asarray(root.T @ a)
        largest = float(np.max(np.abs(slopes), initial=0.0))
        # The largest multiple of the slopes that the dual allows, or the best one below it.
        linear = float(np.abs(a).sum())
        square = float(np.sum(np.divide(a**2, 4.0 * c, out=np.zeros(n), where=c > 0)))
        part = min(1.0 / largest if largest else np.inf, linear / (2.0 * square) if square else 0.0)
        dual = part * linear - part**2 * square
        off = np.where(w == 0, np.maximum(np.abs(slopes) - 1.0, 0.0), np.abs(slopes - np.sign(w)))
        last.update(a=a, f=f)
        return float(np.abs(w).sum() + loss.sum()), dual, float(np.max(off, initial=0.0))

    def again() -> None:
        state[:3], progress[:] = (0, d, 1), (0.0, np.inf)

    search = _Search("coordinate descent over columns", tol, max_iter, max_time, listener)
    ended = search.run(move, measure, again)
    solution = Solution(
        a=last["a"], b=np.empty(0), f=last["f"], reason="the penalty is |w|_1", **ended
    )
    weights = w if K.bias else np.append(w, 0.0)
    return weights, _warned(solution, tol, warning)


def minimize_coupled(
    K: Features,
    labels: NDArray[np.intp],
    n_classes: int,
    c: Array,
    *,
    tol: float,
    max_iter: int = -1,
    max_time: float | None = None,
    seed: int = 0,
    listener: Callable[[Progress], object] | None = None,
    warning: type[Warning] = ConvergenceWarning,
) -> tuple[Array, Solution]:
    """Minimize the risk of Crammer and Singer, all classes of one row after the other.

    Parameters
    ----------
    K : Features
        The features.
    labels : ndarray of shape (n,)
        Number of the class of each sample.
    n_classes : int
        How many there are.
    c : ndarray of shape (n,)
        Weight of each sample's loss.
    tol : float
        Largest violation of an optimality condition.
    max_iter, max_time, seed, listener, warning
        As of :func:`minimize_absolute`.

    Returns
    -------
    W : ndarray of shape (d + 1, n_classes)
        Weights of the features and of the intercept's column.
    solution : Solution
        Its certificate.

    References
    ----------
    S. S. Keerthi, S. Sundararajan, K.-W. Chang, C.-J. Hsieh, C.-J. Lin, A sequential dual method
    for large scale multi-class linear SVMs, KDD 2008, algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram.features import Features
    >>> x = np.array([[-1.0], [1.0]])
    >>> W, solution = minimize_coupled(Features(x), np.array([0, 1]), 2, np.ones(2), tol=1e-9)
    >>> W[0].round(6), bool(solution.gap < 1e-9)
    (array([-0.5,  0.5]), True)
    """
    n, c = K.shape[0], np.ascontiguousarray(c, dtype=np.float64)
    rows, squares = K.flat(np.float64), np.array(K.diag())
    own = labels.astype(np.uint32)
    A, W = np.zeros((n, n_classes)), np.zeros((K.d + 1, n_classes))
    order, state = np.arange(n, dtype=np.uint32), _state(n, seed)
    progress, room = np.array([0.0, np.inf]), np.zeros(3 * n_classes)
    each = np.arange(n)

    def move(goal: float, most: int) -> NDArray[np.uint64]:
        descend_coupled(
            *(*rows, K.bias, W, A, c, squares, own, order, progress, state, room),
            *(goal, most, int(CALL_NUMBERS)),
        )
        return state

    def measure() -> tuple[float, float, float]:
        W[:] = K.weights(A)
        F = K.values(W)
        F -= F[each, labels][:, None]
        costs = F + 1.0
        costs[each, labels] = 0.0
        penalty = 0.5 * float(np.sum(W**2))
        primal = penalty + float(c @ costs.max(axis=1))
        others = float(A.sum() - A[each, labels].sum())
        bound = np.zeros((n, n_classes))
        bound[each, labels] = c
        least = np.where(bound > A, costs, np.inf).min(axis=1)
        return primal, -penalty - others, float(np.max(costs.max(axis=1) - least, initial=0.0))

    def again() -> None:
        state[:3], progress[:] = (0, n, 1), (0.0, np.inf)

    search = _Search("coordinate descent over coupled rows", tol, max_iter, max_time, listener)
    ended = search.run(move, measure, again)
    a = A[each, labels].copy()
    solution = Solution(
        a=a, b=np.empty(0), f=np.empty(0), reason="classes are coupled", n_samples=n, **ended
    )
    return W, _warned(solution, tol, warning)
