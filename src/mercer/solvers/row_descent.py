r"""Dual coordinate descent over the rows of linear machines, several classes side by side.

The intercept is the weight of a column of ones and penalized like the others, so that the dual has
bounds only and a step moves one coefficient of each class:

.. math::

    \min_a\; \tfrac12 |Z'a|^2 + \sum_i c_i\, l^*(y_i, -a_i / c_i), \qquad w = Z'a.

One pass over a row serves up to sixteen classes, whose weights of a feature lie in one line of the
cache. Rows at rest are left aside until the others are solved (Hsieh and others, 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._native import descend_classes, descend_targets
from mercer._typing import AnyArray, Array
from mercer.gram.features import Features
from mercer.losses.classification import Hinge, SquaredHinge
from mercer.losses.regression import EpsilonInsensitive, SquaredEpsilonInsensitive
from mercer.problems.risk import RegularizedRisk
from mercer.solvers.base import Answer, Solver
from mercer.solvers.monitor import Monitor
from mercer.solvers.solution import Solution

__all__ = ["MAX_CLASSES", "RowDescent"]

# Classes whose weights of a feature, in float32, fill a line of the cache.
MAX_CLASSES = 16
# Numbers of classes that the compiled loop has vectors for.
LANES = (1, 4, 8, 16)
# Rows are read in float32 down to this tolerance. So are the weights of several classes; those of
# a single one gain nothing.
FLOAT32_TOL = 1e-5
# A violation is met before its coefficient moves, and others move after it: passes end at this part
# of the tolerance. Answers are measured in float64; where one violates more than the tolerance,
# passes go on for a part of theirs, so many times, the later ones with weights in float64.
PASS_TOL_PART = 0.5
REPEAT_TOL_PART = 0.3
MAX_REPEATS = 6
MAX_SINGLE_REPEATS = 2
# Nonzeros times classes between two looks at the clock and at signals: a fifth of a second.
CALL_NUMBERS = 2e8
# Passes that are no limit.
MAX_PASSES = 2**62
# Bytes of a line of the cache, at which weights begin.
LINE_BYTES = 64
# Reciprocals of rows of zeros.
LARGEST_INVERSE = 1e30


@dataclass(eq=False)
class RowDescent(Solver):
    """Move one coefficient after the other, over the rows of a linear machine.

    Takes the hinge, the epsilon-insensitive loss and their squares over a
    :class:`~mercer.gram.features.Features` matrix, without unpenalized columns. Problems with
    labels over the same rows are solved side by side.

    Parameters
    ----------
    tol : float, default=1e-3
        Largest violation of an optimality condition.
    max_iter : int, default=-1
        Largest number of passes over the rows, -1 for no limit.
    max_time : float, optional
        Largest number of seconds.
    seed : int, default=0
        Of the random order of the rows.

    References
    ----------
    C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan, A dual coordinate descent
    method for large-scale linear SVM, ICML 2008, algorithm 3.

    C.-H. Ho and C.-J. Lin, Large-scale linear support vector regression, JMLR 13 (2012),
    algorithm 4.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram.features import Features
    >>> from mercer.losses import Hinge
    >>> from mercer.problems import RegularizedRisk
    >>> from mercer.solvers import minimize
    >>> from mercer.solvers.row_descent import RowDescent
    >>> x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> risk = RegularizedRisk(Hinge(), Features(x), np.sign(x[:, 0]), 10.0)
    >>> minimize(risk, RowDescent(tol=1e-6)).a @ x
    array([1.])
    """

    seed: int = 0

    def refuses(self, risk: RegularizedRisk) -> str:
        if not isinstance(risk.K, Features):
            return "the kernel matrix is not that of features; use CoordinateDescent"
        if risk.q:
            return "there are unpenalized columns; use CoordinateDescent"
        if type(risk.loss) not in (*MARGINS, *RESIDUALS):
            return f"no step is known for {type(risk.loss).__name__}; use CoordinateDescent"
        return ""

    def solve(self, risk: RegularizedRisk, start: Solution | None, monitor: Monitor) -> Answer:
        return self.solve_together([risk], [start], [monitor])[0]

    def solve_together(
        self,
        risks: Sequence[RegularizedRisk],
        starts: Sequence[Solution | None],
        monitors: Sequence[Monitor],
    ) -> list[Answer]:
        state = _Passes(risks, starts, self.seed, precise=self.tol < FLOAT32_TOL)
        tol = PASS_TOL_PART * self.tol
        for repeat in range(MAX_REPEATS):
            over = state.descend(tol, monitors)
            A = state.coefficients()
            F = state.K.values(state.K.weights(A))
            violations = [
                float(np.max(risk.terms.violation(a, f), initial=0.0))
                for risk, a, f in zip(risks, A.T, F.T, strict=True)
            ]
            if over or max(violations) <= self.tol:
                break
            tol *= REPEAT_TOL_PART
            state.again(A, precise=state.precise or repeat + 1 >= MAX_SINGLE_REPEATS)
        passes = state.passes
        return [
            Answer(a, np.empty(0), passes, Ka=f, measured=True)
            for a, f in zip(np.ascontiguousarray(A.T), np.ascontiguousarray(F.T), strict=True)
        ]


class _Passes:
    """Coefficients and weights of some classes, and the rows that are at work."""

    def __init__(
        self,
        risks: Sequence[RegularizedRisk],
        starts: Sequence[Solution | None],
        seed: int,
        precise: bool,
    ) -> None:
        K = risks[0].K
        assert isinstance(K, Features)
        self.risks, self.K, self.n = risks, K, risks[0].n
        self.lanes = next(lanes for lanes in LANES if lanes >= len(risks))
        self.margins = type(risks[0].loss) in MARGINS
        self.order = np.arange(self.n, dtype=np.uint32)
        # Of a generator of which zero is a fixed point.
        self.state = np.array([0, self.n, 0, 2654435761 * (seed + 1) % 2**63, 0], dtype=np.uint64)
        labels = np.stack([risk.y > 0 for risk in risks]) if self.margins else None
        self.positive = np.zeros(self.n, dtype=np.uint32)
        if labels is not None:
            for k, row in enumerate(labels):
                self.positive |= row.astype(np.uint32) << np.uint32(k)
        self.labels = labels
        A = np.zeros((self.n, len(risks)))
        for k, start in enumerate(starts):
            if start is not None:
                A[:, k] = np.clip(start.a, *risks[k].box())
        self.again(A, precise)

    def again(self, A: Array, precise: bool) -> None:
        """Go on from coefficients (n, k), with weights from scratch and all rows at work."""
        self.precise, k = precise, A.shape[1]
        kind: Any = np.float64 if precise or self.lanes == 1 else np.float32
        self.factor = self.K.flat(np.float64 if precise else np.float32)
        self.weights = _aligned((self.K.d + 1, self.lanes), kind)
        self.coefs = _aligned((self.n, self.lanes), kind)
        if A.any():
            self.weights[:, :k] = self.K.weights(A)
            self.coefs[:, :k] = A if self.labels is None else np.abs(A)
        self.terms = self._terms().astype(kind)
        self.awake = np.full(self.n, 2**k - 1, dtype=np.uint32)
        self.limits = np.full(self.lanes, np.inf, dtype=kind)
        self.worst = np.zeros(self.lanes, dtype=kind)
        self.state[:3] = 0, self.n, 2**k - 1

    def _terms(self) -> Array:
        """Return what a step knows of each row."""
        squares, first = self.K.diag(), self.risks[0]
        if isinstance(first.loss, EpsilonInsensitive | SquaredEpsilonInsensitive):
            c, D = first.c, RESIDUALS[type(first.loss)](first.c)
            upper = np.where(D > 0, np.inf, c)
            epsilon = np.broadcast_to(first.loss.epsilon, self.n)
            columns = [upper, D, _inverse(squares + D), first.y, epsilon, squares]
            return np.stack(columns, axis=1)
        sides = []
        for c in (self._one_weight(False), self._one_weight(True)):
            D = MARGINS[type(first.loss)](c)
            upper = np.where((D > 0) & (c > 0), np.inf, c)
            sides += [upper, D, _inverse(squares + D)]
        return np.stack(sides, axis=1)

    def _one_weight(self, positive: bool) -> Array:
        """Return the weight of each row among the classes that it is of, or is not of."""
        weights, missing = np.zeros(self.n), np.ones(self.n, dtype=bool)
        assert self.labels is not None
        for risk, labels in zip(self.risks, self.labels, strict=True):
            own = labels == positive
            if np.any(own & ~missing & (weights != risk.c)):
                raise ValueError("the weight of a row differs among the classes it is not of")
            weights[own], missing[own] = risk.c[own], False
        return weights

    @property
    def passes(self) -> int:
        """Passes over the rows so far."""
        return int(self.state[4])

    def coefficients(self) -> Array:
        """Return the coefficients (n, k) in float64."""
        k = len(self.risks)
        A = self.coefs[:, :k].astype(np.float64)
        if self.labels is not None:
            A[~self.labels.T] *= -1.0
        return A

    def descend(self, tol: float, monitors: Sequence[Monitor]) -> bool:
        """Pass over the rows down to a tolerance; answer whether a limit came first."""
        loop = descend_classes if self.margins else descend_targets
        budget = int(CALL_NUMBERS / self.lanes)
        while self.state[2]:
            if any([monitor.spent(self.passes) for monitor in monitors]):
                return True
            left = min(monitor.left(self.passes, MAX_PASSES) for monitor in monitors)
            loop(
                *self.factor,
                self.K.bias,
                self.weights,
                self.coefs,
                self.terms,
                self.positive,
                self.awake,
                self.order,
                self.limits,
                self.worst,
                self.state,
                len(self.risks),
                tol,
                self.passes + left,
                budget,
            )
        return False


def _hard(c: Array) -> Array:
    return np.zeros_like(c)


def _soft(c: Array) -> Array:
    return np.divide(1.0, c, out=np.zeros_like(c), where=c > 0)


# Second derivatives of the conjugates, by loss.
MARGINS: dict[type, Any] = {Hinge: _hard, SquaredHinge: _soft}
RESIDUALS: dict[type, Any] = {EpsilonInsensitive: _hard, SquaredEpsilonInsensitive: _soft}


def _inverse(x: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.minimum(1.0 / x, LARGEST_INVERSE)


def _aligned(shape: tuple[int, int], kind: Any) -> AnyArray:
    """Return zeros that begin at a line of the cache."""
    bytes_ = np.dtype(kind).itemsize * shape[0] * shape[1]
    room = np.zeros(bytes_ + LINE_BYTES, dtype=np.uint8)
    first = -room.ctypes.data % LINE_BYTES
    aligned: AnyArray = room[first : first + bytes_].view(kind).reshape(shape)
    return aligned
