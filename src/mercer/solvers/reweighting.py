r"""Robust losses as a sequence of weighted least-squares machines.

Where a loss is concave in the square of the residual, the parabola of curvature
:math:`w_i = \rho'(r_i) / r_i` through the present residual lies above it, and the machine

.. math::

    \begin{pmatrix} K + \operatorname{diag}(1/(c w)) & B \\ B' & 0 \end{pmatrix} \binom{a}{b}
    = \binom{y}{0}

never has a larger objective than the last one. For convex losses the limit is the minimum, which
the duality gap certifies; for others it is a stationary point.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

import numpy as np
from numpy.typing import NDArray

from mercer._deadline import time_left
from mercer._typing import Array
from mercer.gram.base import Gram
from mercer.gram.factor import MAX_BYTES, Solve, bordered, lacking, orthonormal, shifted
from mercer.gram.pivoted import pivoted_cholesky
from mercer.losses.log_cosh import LogCosh
from mercer.losses.regression import Huber, Squared
from mercer.problems.reductions import infeasible, resident
from mercer.problems.risk import RegularizedRisk
from mercer.solvers._preconditioner import approximately
from mercer.solvers._system import Bordered, factorized, iterated
from mercer.solvers.base import Answer, Solver
from mercer.solvers.monitor import Monitor
from mercer.solvers.solution import Solution

__all__ = ["ReweightedSolution", "Reweighting", "reweigh"]

EPS = float(np.finfo(np.float64).eps)
# Residual losses that are concave in the square of the residual.
CONCAVE = (Squared, Huber, LogCosh)
# Samples for each iteration of conjugate gradients that a factorization may cost: it computes as
# much as n/6 products with K do, sixteen times as fast because it does not wait for memory. An
# iteration whose preconditioner is a factor too has three such products more.
SAMPLES_A_THIN_ITERATION, SAMPLES_A_FACTOR_ITERATION = 96, 384
# Iterations below which a thin preconditioner is not worth its making, and its columns.
MIN_THIN_ITERATIONS, THIN_RANK = 10, 256
# Damping that is left where several steps are taken at once, and by which part of its distance a
# wanted weight may have moved for that.
GENTLE_DAMPING, ALIKE_MOVE_PART = 0.9, 0.2
# Machines in a row that are no better than those before, but for rounding.
MAX_IDLE_MACHINES = 3


@dataclass(frozen=True, eq=False)
class ReweightedSolution:
    """One weighted least-squares machine of the sequence."""

    a: Array
    b: Array
    Ka: Array
    """Coefficients, and the product with K."""

    w: Array
    """The weights it was fitted with."""

    wanted: Array
    """The weights that its residuals ask for."""

    r: Array
    """Its residuals."""

    n_iter: int
    """How many machines it took."""

    @property
    def violation(self) -> float:
        """How far the pull of a sample is from the slope of the loss at its residual."""
        return float(np.max(np.abs((self.wanted - self.w) * self.r), initial=0.0))


def reweigh(
    K: Gram,
    B: Array,
    y: Array,
    c: Array,
    weight: Callable[[Array], Array],
    done: Callable[[ReweightedSolution], bool],
    *,
    start: Array | None = None,
    damping: float = 0.0,
    tol: float = 1e-6,
    max_bytes: float = MAX_BYTES,
    systems: WeightedSystems | None = None,
) -> ReweightedSolution:
    r"""Fit weighted least-squares machines until they want the weights that they have.

    .. math:: w \leftarrow \rho\, w + (1 - \rho)\, w(r)

    Parameters
    ----------
    K : Gram
        Kernel matrix, positive definite at least where ``B'a = 0``.
    B : ndarray of shape (n, q)
        Unpenalized columns.
    y, c : ndarray of shape (n,)
        Targets, and weights of the losses.
    weight : callable
        Maps residuals to weights, one at zero and falling.
    done : callable
        Given a machine, answers whether to stop.
    start : ndarray of shape (n,), optional
        The first weights; ones by default.
    damping : float, default=0.0
        The share :math:`\rho` of the old weights in the new ones. Above 0.9 several steps are taken
        at once, down to a share of 0.9, while the weights that are asked for hardly change.
    tol : float, default=1e-6
        Linear systems that are not factorized are solved to a tenth of this, in units of y.
    max_bytes : float
        Memory for a factor.
    systems : WeightedSystems, optional
        The linear systems, where they are used for more.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, algorithm 3.1, eq. (3.64) to
    (3.66), with :math:`\Gamma_i = \gamma \min(1, c/|e_i|)` and its inverse in the matrix; the
    printed weights, which match values instead of slopes, have another limit.
    """
    systems = WeightedSystems(K, B, y, max_bytes, tol) if systems is None else systems
    w = np.ones(len(y)) if start is None else start
    n_iter, steps, last = 0, 1, w
    most = int(np.log(GENTLE_DAMPING) / np.log(damping)) if damping > GENTLE_DAMPING else 1
    while True:
        a, b, Ka = systems.solve(c * w)
        r = y - Ka - B @ b
        n_iter += 1
        fit = ReweightedSolution(a, b, Ka, w, weight(r), r, n_iter)
        if done(fit):
            return fit
        # Where the wanted weights hardly move, several steps towards them need one machine.
        moved, away = (np.max(np.abs(fit.wanted - other), initial=0.0) for other in (last, w))
        hardly = n_iter > 1 and moved <= ALIKE_MOVE_PART * away
        steps = min(2 * steps, most) if hardly else max(steps // 2, 1)
        last, kept = fit.wanted, damping**steps
        w = kept * w + (1.0 - kept) * fit.wanted


class WeightedSystems:
    """Linear systems that differ in their diagonal only, solved with as few factors as pay.

    Parameters
    ----------
    K, B, y, max_bytes, tol
        As for :func:`reweigh`.
    """

    def __init__(self, K: Gram, B: Array, y: Array, max_bytes: float, tol: float) -> None:
        self.K, self.B, self.y, self.max_bytes = K, B, y, max_bytes
        self.tol = max(0.1 * tol, 64 * EPS * float(np.max(np.abs(y), initial=0.0)))
        self.inverse: Solve | None = None
        self.last: tuple[Array, Array, Array] | None = None
        self.factors = 0
        iterations = len(y) // SAMPLES_A_THIN_ITERATION
        factorized = not K.resident or K.factor_bytes < 8.0 * len(y) ** 2 or K.sparse
        self.thin = iterations >= MIN_THIN_ITERATIONS and not factorized

    def solve(self, g: Array) -> tuple[Array, Array, Array]:
        """Return a, b and Ka of the machine with weights g."""
        with np.errstate(divide="ignore"):
            e = np.where(g > 0, 1.0 / g, np.inf)
        self.last = self._correct(e) or self._factorize(e)
        return self.last

    def bordered(self, e: Array, U: Array, r: Array, d: Array) -> tuple[Array, Array]:
        """Solve the system of some diagonal and border."""
        found = self._thinly(e, U, r, d)
        return factorized(self.K, e, U, self.max_bytes)(r, d) if found is None else found

    @cached_property
    def _factor(self) -> Array:
        return pivoted_cholesky(self.K, THIN_RANK, orthonormal(self.B)[0]).L

    def _thinly(self, e: Array, U: Array, r: Array, d: Array) -> tuple[Array, Array] | None:
        """Solve by conjugate gradients with a thin factor of K, if they are the faster way."""
        if not self.thin:
            return None
        limit = int(np.count_nonzero(np.isfinite(e))) // SAMPLES_A_THIN_ITERATION
        try:
            return self._iterated(e, U, approximately(e, self._factor), limit)(r, d)
        except _TooSlow:
            self.thin = False
            return None

    def _iterated(self, e: Array, U: Array, inverse: Solve, limit: int) -> Bordered:
        steps = count(1)

        def enough(left: Array, x: Array, t: Array) -> bool:
            if np.max(np.abs(left)) <= self.tol:
                return True
            if next(steps) > limit or time_left() <= 0.0:
                raise _TooSlow
            return False

        return iterated(self.K, e, U, inverse, enough)

    def _correct(self, e: Array) -> tuple[Array, Array, Array] | None:
        """Correct the last solution by conjugate gradients, by a thin factor or the last one."""
        live = np.isfinite(e)
        U, back = orthonormal(np.where(live[:, None], self.B, 0.0))
        zero = np.zeros(len(e))
        a, b, Ka = self.last or (zero, np.zeros(self.B.shape[1]), zero)
        a, left = np.where(live, a, 0.0), np.where(live, self.y - self.B @ b, 0.0)
        if self.last is not None:
            Ka = Ka if live.all() else self.K.matvec(a)
            left = np.where(live, left - Ka - np.where(live, e, 0.0) * a, 0.0)
        d = -(U.T @ a)
        found = self._thinly(e, U, left, d)
        limit = len(e) // SAMPLES_A_FACTOR_ITERATION
        if found is None and self.inverse is not None and limit and live.all():
            with suppress(_TooSlow):
                found = self._iterated(e, U, self.inverse, limit)(left, d)
        if found is None:
            return None
        a, b = a + found[0], b + back @ found[1]
        Ka = self.K.matvec(a)
        left = np.where(live, self.y - Ka - np.where(live, e, 0.0) * a - self.B @ b, 0.0)
        return (a, b, Ka) if np.max(np.abs(left)) <= 2 * self.tol else None

    def _factorize(self, e: Array) -> tuple[Array, Array, Array]:
        live = np.isfinite(e)
        U, back = orthonormal(np.where(live[:, None], self.B, 0.0))
        zero, self.inverse = np.zeros(U.shape[1]), None
        try:
            inverse = shifted(self.K, e, self.max_bytes)
            a, t = bordered(inverse, U)(np.where(live, self.y, 0.0), zero)
            self.inverse = inverse if np.all(live) else None
        except np.linalg.LinAlgError:  # positive definite off the columns only
            a, t = factorized(self.K, e, U, self.max_bytes)(np.where(live, self.y, 0.0), zero)
        self.factors += 1
        return a, back @ t, self.K.matvec(a)


class _TooSlow(Exception):  # noqa: N818
    """Conjugate gradients have taken as long as a factorization."""


@dataclass(eq=False)
class Reweighting(Solver):
    r"""Minimize a robust loss by weighted least-squares machines, each better than the last.

    For losses that are concave in the square of the residual: Huber's, and the logarithm of the
    hyperbolic cosine. The first machine is the least-squares one, so that ``max_iter=2`` is the
    weighted machine of practice; the limit is the exact minimum. Later systems are solved by
    conjugate gradients where a thin factor of the kernel matrix, or the factor of an earlier one,
    makes that cheaper.

    Parameters
    ----------
    tol : float, default=1e-3
        Largest violation of an optimality condition.
    max_iter : int, default=-1
        Largest number of machines, -1 for no limit.
    max_time : float, optional
        Largest number of seconds.
    damping : float, default=0.0
        The share of old weights in new ones, below one; it does not change the limit.
    max_bytes : float, default=4e9
        Memory that a dense factorization may take.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, algorithm 3.1; see :func:`reweigh`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.losses import Huber
    >>> from mercer.problems import RegularizedRisk
    >>> from mercer.solvers import minimize
    >>> from mercer.solvers.reweighting import Reweighting
    >>> risk = RegularizedRisk(Huber(1.0), Dense(np.eye(2)), np.array([1.0, 9.0]), 1.0)
    >>> minimize(risk, Reweighting(tol=1e-9)).a.round(9)
    array([0.5, 1. ])
    """

    damping: float = 0.0
    max_bytes: float = MAX_BYTES

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.damping < 1:
            raise ValueError(f"damping must be at least 0 and below 1, got {self.damping!r}.")

    def refuses(self, risk: RegularizedRisk) -> str:
        if not isinstance(risk.loss, CONCAVE):
            return "its loss is not concave in the square of the residual, as Huber's is"
        if np.any(risk.d):
            return "its unpenalized part has a cost"
        return lacking(risk.K.origin()[0], self.max_bytes) or infeasible(risk)

    def solve(self, risk: RegularizedRisk, start: Solution | None, monitor: Monitor) -> Answer:
        risk = resident(risk)
        y, loss, outside = risk.y, risk.loss, _outliers(risk)
        before = tried = np.zeros(risk.n, dtype=bool)
        systems = WeightedSystems(risk.K, risk.B, y, self.max_bytes, self.tol)
        answer: Answer | None = None
        lowest, nearest, idle = np.inf, np.inf, 0

        def weight(r: Array) -> Array:
            size = np.abs(r)
            tiny = size < np.finfo(np.float64).tiny
            slope = -loss.gradient(y, y - size)
            return np.where(tiny, 1.0, slope / np.where(tiny, 1.0, size))

        def done(fit: ReweightedSolution) -> bool:
            nonlocal before, tried, answer, lowest, nearest, idle
            answer = Answer(fit.a, fit.b, fit.n_iter, fit.Ka)
            objective = 0.5 * float(fit.a @ fit.Ka) + risk.risk(y - fit.r)
            bound = _bound(risk, fit.a, fit.Ka)
            if monitor.report(fit.n_iter, objective, objective - bound, fit.violation):
                # The coefficients are those of weighted squares, whose slopes have no limit.
                answer = replace(answer, bound=bound)
                return True
            now = outside(fit.r)
            if fit.violation <= self.tol and not np.any(now):
                return True
            if np.array_equal(now, before) and not np.array_equal(now, tried):
                # Whose slope has reached its bound is known: the others solve a linear system.
                tried, exact = now, self._exact(risk, systems, np.sign(fit.r) * now, fit.n_iter + 1)
                if exact is not None:
                    answer = exact
                    return True
            # Objectives fall until rounding is all that is left, and violations after them.
            better = objective < lowest - 8 * EPS * abs(objective) or fit.violation < nearest
            idle = 0 if better else idle + 1
            before, lowest, nearest = now, min(lowest, objective), min(nearest, fit.violation)
            return idle == MAX_IDLE_MACHINES

        # The solver says when to stop, by what minimize() will measure.
        reweigh(
            risk.K,
            risk.B,
            y,
            np.asarray(risk.c),
            weight,
            done,
            start=None if start is None else weight(y - start.f),
            damping=self.damping,
            tol=self.tol,
            max_bytes=self.max_bytes,
            systems=systems,
        )
        assert answer is not None
        return answer

    def _exact(
        self, risk: RegularizedRisk, systems: WeightedSystems, side: Array, n_iter: int
    ) -> Answer | None:
        """Return the machine whose outliers are on their bounds, if it is optimal."""
        lower, upper = risk.box()
        fixed = np.where(side > 0, upper, np.where(side < 0, lower, 0.0))
        inside = (side == 0) & (risk.c > 0)
        with np.errstate(divide="ignore"):
            e = np.where(inside, 1.0 / risk.c, np.inf)
        U, back = orthonormal(np.where(inside[:, None], risk.B, 0.0))
        rest = np.where(inside, risk.y - risk.K.matvec(fixed), 0.0)
        try:
            x, t = systems.bordered(e, U, rest, -back.T @ (risk.B.T @ fixed))
        except np.linalg.LinAlgError:
            return None
        a, b = x + fixed, back @ t
        if np.any(x < lower) or np.any(x > upper):
            return None
        certificate = risk.certificate(a, b)
        good = certificate.violation <= self.tol and certificate.residual <= 1e-10
        return Answer(a, b, n_iter) if good else None


def _outliers(risk: RegularizedRisk) -> Callable[[Array], NDArray[np.bool_]]:
    """Return the outliers: residuals at the largest slope of the loss, if it is ever reached."""
    if not isinstance(risk.loss, Huber):
        return lambda r: np.zeros(risk.n, dtype=bool)
    delta = risk.loss.delta
    return lambda r: (np.abs(r) > delta) & (risk.c > 0)


def _bound(risk: RegularizedRisk, a: Array, Ka: Array) -> float:
    """Return the lower bound of the multiple of coefficients that lies in the box."""
    lower, upper = risk.box()
    room = np.where(a > 0, upper, -lower)
    size = np.abs(a)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = float(np.min(np.where(size > room, room / size, 1.0), initial=1.0))
    return -(0.5 * share**2 * float(a @ Ka) + risk.conjugate(share * a))
