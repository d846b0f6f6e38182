r"""Semismooth Newton's method for smooth losses: a few linear systems, of the curved samples only.

At the minimum :math:`a = -c\,l'(f)` and :math:`B'a = d`. Newton's method replaces the slope by its
tangent, :math:`a^+ = -c\,(l' + l''(f^+ - f))`. Where the loss is straight (:math:`l'' = 0`) this is
:math:`a^+` itself; the others, with weights :math:`w = c\,l''`, solve

.. math::

    \begin{pmatrix} K_{AA} + W_A^{-1} & B_A \\ B_A' & 0 \end{pmatrix} \binom{a_A}{b}
    = \binom{f_A - l'_A / l''_A - K_{AF} a_F}{d - B_F' a_F}.

For the squared loss one step is the answer; for the logistic loss these are iteratively reweighted
least squares; for the squared hinge only the support vectors enter the matrix.

A system of a thousand samples is factorized. A step need not be exact, so that conjugate gradients
with a good preconditioner take a fraction of the time for larger ones: they are tried first, and
given up once they have taken as long as a factorization.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import count

import numpy as np
from scipy.linalg import null_space

from mercer._typing import Array
from mercer.gram.factor import orthonormal
from mercer.gram.pivoted import pivoted_cholesky
from mercer.problems.reductions import infeasible, resident
from mercer.problems.risk import Certificate, RegularizedRisk
from mercer.solvers._preconditioner import approximately
from mercer.solvers._system import Bordered, factorized, iterated
from mercer.solvers.base import Answer, Solver
from mercer.solvers.certify import snap_to_box
from mercer.solvers.monitor import Monitor
from mercer.solvers.solution import Solution

__all__ = ["Newton"]

EPS = float(np.finfo(np.float64).eps)
# Largest relative error of B'a = d at which the gap is a bound: rounding of the sums, not more.
MAX_ROW_ERROR = 1e-10
# A sample this much less curved than the most curved one changes nothing that can be seen.
FLAT_CURVATURE_PART = 1e-16
# Error of a system solved by conjugate gradients, relative to the change of the decision values.
SYSTEM_ERROR_PART = 0.1
# Multiplications of a factorization in the time of one of a product with K, which waits for memory;
# and iterations below which conjugate gradients are not worth a preconditioner.
FACTOR_SPEED_RATIO, MIN_PRECONDITIONED_ITERATIONS = 16.0, 10
# A full step is taken if it leaves less than this fraction of the slope. Any other one is exact:
# the objective along a line costs little next to a linear system, and exact steps save some.
FULL_STEP_SLOPE_PART, EXACT_STEP_SLOPE_PART = 0.1, 1e-4
# Linear systems after which a run ends unless the violation falls by half while their number
# doubles: a few dozen are usual, and weights that differ by 1e20 would take thousands.
CREEPING_SYSTEMS = 100


@dataclass(eq=False)
class Newton(Solver):
    """Semismooth Newton's method (iteratively reweighted least squares) with a line search.

    Parameters
    ----------
    tol : float, default=1e-3
        Largest violation of an optimality condition.
    max_iter : int, default=-1
        Largest number of linear systems, -1 for no limit.
    max_time : float, optional
        Largest number of seconds.
    max_bytes : float, default=1e9
        Memory for one factorization of the curved samples. If it takes more, the system is solved
        by preconditioned conjugate gradients, which need products with K only. They are also tried
        where they are likely to take less time.
    rank : int, default=256
        Rank of the preconditioner of conjugate gradients.

    References
    ----------
    O. Chapelle (2007), Training a support vector machine in the primal, Neural Computation 19,
    section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.losses import Logistic
    >>> from mercer.problems import RegularizedRisk
    >>> from mercer.solvers import Newton, minimize
    >>> risk = RegularizedRisk(Logistic(), Dense(np.eye(2)), np.array([1.0, -1.0]), 1.0)
    >>> minimize(risk, Newton(tol=1e-10)).a.round(6)  # the root of a = 1 / (1 + e^a)
    array([ 0.401058, -0.401058])
    """

    max_bytes: float = 1e9
    rank: int = 256

    def refuses(self, risk: RegularizedRisk) -> str:
        if not risk.loss.smooth:
            return (
                f"{type(risk.loss).__name__} has a kink or unbounded curvature, and Newton's "
                "method needs second derivatives; use InteriorPoint"
            )
        return infeasible(risk)

    def solve(self, risk: RegularizedRisk, start: Solution | None, monitor: Monitor) -> Answer:
        if 8.0 * risk.n**2 <= self.max_bytes:
            risk = resident(risk)  # every iteration multiplies by K
        direction = _Direction(risk, self, monitor)
        a = np.zeros(risk.n) if start is None else start.a.copy()
        b = np.zeros(risk.q) if start is None else start.b.copy()
        Ka = risk.K.matvec(a)
        best, least, bound, flat = (np.inf, a, b), np.inf, -np.inf, False
        look, then = CREEPING_SYSTEMS, np.inf
        for iteration in count():
            snapped, certificate = _measure(risk, a, b, Ka)
            feasible = certificate.residual <= MAX_ROW_ERROR
            violation = certificate.violation if feasible else np.inf
            # Where the objective no longer changes, the conditions may still be met more closely,
            # as conjugate gradients leave something to do.
            stalled = flat and not violation < 0.5 * least
            least = min(least, violation)
            # Stopped early, the lowest objective is worth most.
            worth = certificate.primal if feasible else np.inf
            if violation <= self.tol or worth <= best[0]:
                best = (worth, snapped, b)
            objective = 0.5 * float(a @ Ka) + risk.risk(Ka + risk.B @ b) + float(risk.d @ b)
            bound = max(bound, certificate.dual if feasible else -np.inf)
            gap = max(objective - bound, 0.0)
            stop = monitor.report(iteration, objective, gap, certificate.violation)
            if violation <= self.tol or stop or stalled:
                break
            if iteration >= look:
                if not least < 0.5 * then:
                    break
                look, then = 2 * look, least
            da, db = direction(a, b, Ka)
            line = _Line(risk, a, b, Ka, da, db)
            t, flat = line.search()
            a, b, Ka = a + t * da, b + t * db, Ka + t * line.Kda
        return Answer(best[1], best[2], iteration)


def _measure(risk: RegularizedRisk, a: Array, b: Array, Ka: Array) -> tuple[Array, Certificate]:
    """Certify ``a`` as :func:`~mercer.solvers.minimize` will after rounding it to its box."""
    snapped = snap_to_box(risk, a)
    if np.any(snapped != a):
        Ka = Ka + risk.K.matvec(snapped - a)
    return snapped, risk.certificate(snapped, b, Ka)


class _Direction:
    """The linear systems of one problem, written for the change of ``(a, b)``."""

    def __init__(self, risk: RegularizedRisk, settings: Newton, monitor: Monitor) -> None:
        self.risk, self.settings, self.monitor = risk, settings, monitor
        self.U, self.back = orthonormal(np.where(risk.c[:, None] > 0, risk.B, 0.0))
        self.delta = self.back.T @ risk.d
        self.slow = False  # whether conjugate gradients have been given up

    def __call__(self, a: Array, b: Array, Ka: Array) -> tuple[Array, Array]:
        risk, U = self.risk, self.U
        f = Ka + risk.B @ b
        g = a + risk.c * risk.loss.gradient(risk.y, f)
        curvature = risk.loss.curvature(risk.y, f)
        w = risk.c * curvature
        active = w > FLAT_CURVATURE_PART * np.max(w, initial=0.0)
        e = np.divide(1.0, w, out=np.full(risk.n, np.inf), where=active)
        straight = np.where(active, 0.0, g)
        r = risk.K.matvec(straight) if np.any(straight) else np.zeros(risk.n)
        r = np.where(active, r - g * np.where(active, e, 0.0), 0.0)
        x, t = self._system(e, g, curvature)(r, self.delta - U.T @ (a - straight))
        da = x - straight

        # What no curved sample sees of b is moved alone, down the slope of the objective and far
        # enough to change some decision value by one.
        unseen = null_space(np.linalg.qr(U[active], mode="r"))
        slope = unseen.T @ (self.delta - U.T @ (a + da))
        scale = np.linalg.norm(a + da) + np.linalg.norm(self.delta)
        if np.any(np.abs(slope) > np.sqrt(EPS) * scale):
            t = unseen @ slope
            return np.zeros(risk.n), -self.back @ (t / np.max(np.abs(U @ t)))
        return da, self.back @ t

    def _system(self, e: Array, g: Array, curvature: Array) -> Bordered:
        """Return the solver of the system: a factorization if it fits and is not slower."""
        K, U, max_bytes = self.risk.K, self.U, self.settings.max_bytes
        size = float(np.count_nonzero(np.isfinite(e)))
        if min(K.factor_bytes, 8.0 * size**2) > max_bytes:
            return self._iterated(e, g, curvature, np.inf)
        limit = size**3 / (6.0 * FACTOR_SPEED_RATIO * self.risk.n**2)
        cheap = not K.resident or K.factor_bytes < 8.0 * size**2
        if self.slow or cheap or limit < MIN_PRECONDITIONED_ITERATIONS:
            return factorized(K, e, U, max_bytes)

        def either(r: Array, d: Array) -> tuple[Array, Array]:
            try:
                return self._iterated(e, g, curvature, limit)(r, d)
            except _TooSlow:
                self.slow = True
                return factorized(K, e, U, max_bytes)(r, d)

        return either

    def _iterated(self, e: Array, g: Array, curvature: Array, limit: float) -> Bordered:
        """Return the solver by conjugate gradients, which raises if it takes too many."""
        settings, active, steps = self.settings, np.isfinite(e), count(1)
        shift, g, weight = e[active], g[active], curvature[active] / np.max(curvature)
        root = 1.0 / np.sqrt(shift)

        def enough(left: Array, x: Array, t: Array) -> bool:
            # With error s, w df = w s - da - g, and the slope of the objective along the step is
            # -da'K da - df'W df + s'W df: it stays negative while s is smaller than df.
            df = left - (x + g) * shift
            late = settings.max_time is not None and self.monitor.elapsed >= settings.max_time
            small = np.max(weight * np.abs(left)) <= 0.1 * settings.tol
            good = np.linalg.norm(root * left) <= SYSTEM_ERROR_PART * np.linalg.norm(root * df)
            if late or small or good:
                return True
            if next(steps) > limit:
                raise _TooSlow
            return False

        inverse = approximately(e, self._approximation)
        return iterated(self.risk.K, e, self.U, inverse, enough)

    @cached_property
    def _approximation(self) -> Array:
        K, fits = self.risk.K, int(self.settings.max_bytes / (8.0 * self.risk.n))
        # No thin factor comes near a matrix whose points see their neighbours only.
        rank = 0 if K.sparse else min(self.settings.rank, fits)
        return pivoted_cholesky(K, rank, self.U).L


class _TooSlow(Exception):  # noqa: N818
    """Conjugate gradients have taken as long as a factorization."""


class _Line:
    r"""The objective along a direction: f moves linearly, so that this needs no further product.

    .. math::

        \varphi(t) = \tfrac12 (a + t\,\dot a)'K(a + t\,\dot a)
        + \sum_i c_i\, l(y_i, f_i + t\,\dot f_i) + d'(b + t\,\dot b)
    """

    def __init__(
        self, risk: RegularizedRisk, a: Array, b: Array, Ka: Array, da: Array, db: Array
    ) -> None:
        self.risk = risk
        self.Kda = risk.K.matvec(da) if np.any(da) else np.zeros(risk.n)
        self.f, self.df = Ka + risk.B @ b, self.Kda + risk.B @ db
        self.constant = 0.5 * float(a @ Ka) + float(risk.d @ b)
        self.linear = float(da @ Ka) + float(risk.d @ db)
        self.quadratic = 0.5 * float(da @ self.Kda)

    def value(self, t: float) -> float:
        penalty = self.constant + t * (self.linear + t * self.quadratic)
        return penalty + self.risk.risk(self.f + t * self.df)

    def slope(self, t: float) -> float:
        risk = self.risk
        losses = risk.c * risk.loss.gradient(risk.y, self.f + t * self.df)
        return self.linear + 2.0 * t * self.quadratic + float(losses @ self.df)

    def search(self) -> tuple[float, bool]:
        """Return a step length, and whether there is nothing left to gain.

        The objective is convex along the line: short of a good full step, halve an interval in
        which its slope changes sign.
        """
        first, before = self.slope(0.0), self.value(0.0)
        terms = (before, self.constant, self.linear, self.quadratic)
        rounding = 16.0 * EPS * sum(map(abs, terms))
        if first >= -rounding:
            return float(first <= rounding), True
        low, high, t, fine = 0.0, np.inf, 1.0, -FULL_STEP_SLOPE_PART * first
        for _ in range(100):
            slope = self.slope(t)
            if abs(slope) <= fine and self.value(t) <= before + 1e-4 * t * first + rounding:
                return t, False
            low, high = (t, high) if slope < 0 else (low, t)
            fine = -EXACT_STEP_SLOPE_PART * first
            t = 0.5 * (low + high) if high < np.inf else 2.0 * t
        return low if high < np.inf else 0.0, True
