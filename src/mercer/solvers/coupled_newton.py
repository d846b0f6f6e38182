r"""Newton's method for the softmax loss, whose classes are one problem.

With the probabilities :math:`q_i` at the sample and the curvature W of the losses, a step
:math:`\dot A = r - W(K\dot A + B\dot b)` from the residual :math:`r = c\,(e_y - q) - A` is

.. math:: \dot A = S (W^{-1} r - B \dot b), \qquad S = (1 + WK)^{-1} W, \qquad
          (W^{-1} r)_{ic} = \frac{r_{ic}}{c_i q_{ic}},

and :math:`\dot b` makes :math:`B'(A + \dot A) = 0`; see :mod:`mercer.gram.softmax_system` for S.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from mercer._typing import Array
from mercer.gram.factor import orthonormal
from mercer.gram.softmax_system import SoftmaxSystem, off_columns
from mercer.problems.multinomial import MultinomialRisk
from mercer.problems.risk import Certificate
from mercer.solvers.monitor import Monitor, Progress
from mercer.solvers.solution import Solution, Terms
from mercer.solvers.status import MAX_RELATIVE_GAP, Status, is_met

__all__ = ["CoupledNewton"]

EPS = float(np.finfo(np.float64).eps)
# Part of the slope that a step has to gain, and halvings after which there is nothing to gain.
SUFFICIENT_PART, MAX_HALVINGS = 1e-4, 40
# Residuals over curvatures, in units of the decision values, that are worth dividing.
MAX_RATIO = 1e6
# Rounding of an objective, beside which the difference of two has no digits.
ROUNDING = 16.0 * EPS


@dataclass(frozen=True)
class CoupledNewton:
    """Newton's method for a :class:`~mercer.problems.multinomial.MultinomialRisk`.

    Parameters
    ----------
    tol : float, default=1e-3
        Largest error of a probability.
    max_iter : int, default=-1
        Largest number of steps, -1 for no limit.
    max_time : float, optional
        Largest number of seconds.
    max_bytes : float, default=4e9
        Memory for the factors, of n squared numbers for each class.

    References
    ----------
    C. E. Rasmussen, C. K. I. Williams (2006), Gaussian Processes for Machine Learning, MIT Press,
    algorithm 3.3.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.problems.multinomial import MultinomialRisk
    >>> from mercer.solvers.coupled_newton import CoupledNewton
    >>> risk = MultinomialRisk(Dense(np.eye(3)), np.arange(3), 3, 1.0)
    >>> found = CoupledNewton(tol=1e-9).minimize(risk)
    >>> found.a.reshape(3, 3).round(4)[0]  # the root of a = 2 / (2 + e^(1.5 a)), and -a / 2
    array([ 0.4897, -0.2448, -0.2448])
    >>> found.status.value, bool(found.gap < 1e-12)
    ('converged', True)
    """

    tol: float = 1e-3
    max_iter: int = -1
    max_time: float | None = None
    max_bytes: float = 4e9

    def minimize(
        self,
        risk: MultinomialRisk,
        start: tuple[Array, Array] | None = None,
        listener: Callable[[Progress], object] | None = None,
    ) -> Solution:
        """Minimize, and certify the answer.

        Parameters
        ----------
        risk : MultinomialRisk
            The problem.
        start : pair of ndarray of shape (n, k) and (q, k), optional
            Coefficients to start from, of a point of the dual.
        listener : callable, optional
            Called with each :class:`~mercer.solvers.monitor.Progress`; a true answer stops.

        Returns
        -------
        Solution
            Coefficients class by class, as those of independent problems are put together.
        """
        needed = 8.0 * risk.n**2 * (risk.k + 3)
        if needed > self.max_bytes:
            raise ValueError(
                f"{risk.n} samples of {risk.k} classes need {needed / 1e9:.1f} GB for one Newton "
                f"step, more than {self.max_bytes / 1e9:.1f}. Fit fewer samples, or one machine a "
                "class against the rest: multi_class='ovr'."
            )
        monitor = Monitor(self.max_iter, self.max_time, listener)
        steps = _Steps(risk, monitor)
        if start is None:
            A, (b, _) = np.zeros((risk.n, risk.k)), risk.balanced(np.zeros((risk.n, risk.k)))
        else:
            A, b = start
        KA, bound, flat = risk.K.matvec(A), -np.inf, False
        for iteration in count():
            answer, bound = self._measure(risk, A, b, KA, bound)
            found = answer[2]
            stop = monitor.report(iteration, found.primal, found.gap, found.violation)
            if stop or flat or self._met(found):
                break
            try:
                dA, db = steps(A, b, KA)
            except _Late:
                monitor.status = Status.MAX_TIME
                break
            KdA = risk.K.matvec(dA)
            t = _step_length(risk, (A, b, KA), (dA, db, KdA))
            flat = t == 0.0
            A, b, KA = A + t * dA, b + t * db, KA + t * KdA
        if answer[0] is A and iteration:
            # The product of the last step has the rounding of all steps before.
            answer, _ = self._measure(risk, A, b, risk.K.matvec(A), bound)
        return self._solution(risk, answer, monitor, iteration)

    def _met(self, found: Certificate) -> bool:
        small = found.gap <= MAX_RELATIVE_GAP * abs(found.primal)
        return small and is_met(found.violation, found.residual, self.tol)

    def _measure(
        self, risk: MultinomialRisk, A: Array, b: Array, KA: Array, bound: float
    ) -> tuple[tuple[Array, Array, Certificate], float]:
        """Return the answer with its certificate, and the best bound on the objective so far.

        Close to the minimum coefficients are a point of the dual but for rounding, and prove a
        bound themselves. Before, the nearest point of the dual does, where it proves most.
        """
        P, Q = risk.probabilities(A), risk.loss.probability(KA + risk.B @ b)
        with np.errstate(divide="ignore"):
            scores = np.log(np.where(P >= 0.0, P, Q))
        nearest = risk.coefficients(risk.balanced(scores)[1])
        K_nearest = risk.K.matvec(nearest)
        found = risk.certificate(nearest, b, K_nearest)
        bound = max(bound, found.dual)
        if self._met(found):
            return (nearest, b, found), bound
        bound = max(bound, risk.bound(nearest, K_nearest))
        alone = risk.certificate(A, b, KA)
        point, found = min((nearest, found), (A, alone), key=lambda pair: pair[1].primal)
        dual = max(found.dual, min(bound, found.primal) - ROUNDING * abs(found.primal))
        gap = found.primal - dual + risk.rise(point, b, found.f)
        return (point, b, replace(found, dual=dual, gap=gap)), bound

    def _solution(
        self,
        risk: MultinomialRisk,
        answer: tuple[Array, Array, Certificate],
        monitor: Monitor,
        n_iter: int,
    ) -> Solution:
        A, b, found = answer
        met = is_met(found.violation, found.residual, self.tol)
        penalty = 0.5 * float(np.vdot(A, found.f - risk.B @ b))
        return Solution(
            a=A.T.ravel(),
            b=b.T.ravel(),
            objective=found.primal,
            dual=found.dual,
            gap=found.gap,
            violation=found.violation,
            residual=found.residual,
            status=Status.CONVERGED if met else monitor.status or Status.STALLED,
            n_iter=n_iter,
            solver=type(self).__name__,
            reason="softmax loss: the classes are coupled",
            f=found.f.T.ravel(),
            times={"solve": monitor.elapsed, "certify": 0.0},
            history=tuple(monitor.history),
            n_free=int(np.count_nonzero(A)),
            b_interval=np.repeat(b.T.reshape(-1, 1), 2, axis=1),
            terms=Terms(
                np.array([penalty]), np.array([risk.risk(found.f)]), np.array([risk.c.sum()])
            ),
            samples=np.tile(np.arange(risk.n), risk.k),
            n_samples=risk.n,
        )


class _Steps:
    """The linear systems of one problem, over the samples with weight."""

    def __init__(self, risk: MultinomialRisk, monitor: Monitor) -> None:
        self.risk, self.monitor, self.live = risk, monitor, np.flatnonzero(risk.c > 0)
        K = np.asarray(risk.K.dense(), dtype=np.float64)
        K = K if len(self.live) == risk.n else K[np.ix_(self.live, self.live)]
        self.U, self.back = orthonormal(risk.B[self.live])
        self.K, self.along = off_columns(K, self.U), self.U.T @ K

    def __call__(self, A: Array, b: Array, KA: Array) -> tuple[Array, Array]:
        """Return the change of ``(A, b)``."""
        risk, live, U = self.risk, self.live, self.U
        c, A = risk.c[live, None], A[live]
        Q = risk.loss.probability(KA[live] + risk.B[live] @ b)
        r = c * (risk.labels[live] - Q) - A
        # Divided by the curvature, residuals are solved for without cancellation; where there is
        # hardly any curvature, slopes hardly change.
        ratio = np.divide(r, c * Q, out=np.full_like(r, np.inf), where=c * Q > 0)
        straight = np.max(np.abs(ratio), axis=1, keepdims=True) > MAX_RATIO
        rest, curved = np.where(straight, r, 0.0), np.where(straight, 0.0, ratio)
        V = curved - self.K @ rest if np.any(straight) else curved
        system = SoftmaxSystem(self.K, c * Q, U, self._check)
        change, t = system.solve(V, -U.T @ (A + rest))
        dA = np.zeros((risk.n, risk.k))
        dA[live] = rest + change
        dA[live] -= dA[live].mean(axis=1, keepdims=True)
        # The columns also take up the part of K along them.
        return dA, -self.back @ (t + self.along @ dA[live])

    def _check(self) -> None:
        if self.monitor.late:
            raise _Late


class _Late(Exception):  # noqa: N818
    """Time is up in the middle of a step."""


def _step_length(
    risk: MultinomialRisk, at: tuple[Array, Array, Array], step: tuple[Array, Array, Array]
) -> float:
    """Return how far to go along a step: all of it, or the first half of a half that gains."""
    (A, b, KA), (dA, db, KdA) = at, step
    F, dF = KA + risk.B @ b, KdA + risk.B @ db
    linear, square = float(np.vdot(dA, KA)), 0.5 * float(np.vdot(dA, KdA))
    before = risk.risk(F)
    slope = linear + float(np.vdot(risk.c[:, None] * risk.loss.slope(risk.y, F), dF))
    rounding = ROUNDING * (before + abs(linear) + square + abs(float(np.vdot(A, KA))))
    if slope >= -rounding:
        return float(slope <= rounding)
    t = 1.0
    for _ in range(MAX_HALVINGS):
        gained = risk.risk(F + t * dF) - before + t * (linear + t * square)
        if gained <= SUFFICIENT_PART * t * slope + rounding:
            return t
        t *= 0.5
    return 0.0
