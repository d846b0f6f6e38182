r"""The interior point of a kernel matrix with few columns, :math:`K = ZZ'`: it works on Z.

Coefficients are sums of parts, :math:`a_i = \sum_k \sigma_k z_k`: one for each side of a loss with
a corner at zero, one otherwise. With :math:`G = [Z, B]`, :math:`\theta = (w, b)` and
:math:`w = Z'a` in the end, decision values are :math:`f = G\theta`, and the conditions of
optimality, relaxed by :math:`\mu`, are

.. math::

    \sigma_k f_{i(k)} + p_k + q_k z_k - s_k + t_k = 0, \qquad B'a = d, \qquad
    (z_k - l_k) s_k = \mu, \quad (u_k - z_k) t_k = \mu.

Newton's step eliminates all but :math:`\theta`: with :math:`D_k = q_k + s_k/(z_k - l_k) +
t_k/(u_k - z_k)` and :math:`E_i = \sum_{k: i(k) = i} 1/D_k` it is a ridge regression,

.. math:: (P + G'EG)\,\Delta\theta = G'(\sigma r/D) + (Z'a - w, B'a - d),

with ones in P for w and zeros for b,

of as many unknowns as Z and B have columns, at :math:`n d^2` multiplications. Nothing has n times n
numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs

from mercer.gram.factor import MAX_BYTES, orthonormal
from mercer.kernels.points import dense_double
from mercer.losses.base import Array, DualTerms, QuadraticDualLoss
from mercer.problems.reductions import infeasible
from mercer.problems.risk import Certificate, RegularizedRisk
from mercer.solvers.base import RESIDUAL, Answer, Solver, snap_to_box
from mercer.solvers.monitor import Monitor
from mercer.solvers.solution import Solution

__all__ = ["ThinInteriorPoint"]

# Fraction of the way to the boundary that a step may go.
BOUNDARY = 0.995
# Gap to reach relative to the objective, as a part of the tolerance.
GAP = 1e-2
# Multipliers at the start beyond what balances the slopes, in units of these.
START = 1.0
# Free parts beyond the number of columns with which bounds are not yet worth fixing.
FEW = 5
# Steps that neither the path nor an answer profits from, after which none will.
PATIENCE = 15
# Shift, relative to the kernel values, with which a singular system of free coefficients is solved;
# repetition undoes its bias.
SHIFT, REPEAT, ROUNDS = 1e-9, 4, 3
# Free coefficients make the matrix singular to working precision: shifts of its unit diagonal that
# are tried, whose bias the next step sees as a residual.
JITTERS = (0.0, 1e-14, 1e-12, 1e-10)
# Numbers of a block of rows that is scaled and multiplied while it is in the processor's cache.
BLOCK = 2**16


@dataclass(eq=False)
class ThinInteriorPoint(Solver):
    """Follow the central path over the columns of a factor, ``K = ZZ'``.

    Takes every loss whose conjugate is quadratic, any number of unpenalized columns, and a kernel
    matrix that knows its factor: that of the linear kernel is the data. A step costs ``n d^2``
    multiplications, and ten to twenty of them reach the optimum whatever C is: from some point on
    the coefficients on bounds are known, and the others follow from a linear system.

    Parameters
    ----------
    tol : float, default=1e-3
        Largest violation of an optimality condition at the answer.
    max_iter : int, default=100
        Largest number of steps, -1 for no limit.
    max_time : float, optional
        Largest number of seconds.
    max_bytes : float, default=4e9
        Memory that a copy of the factor in float64 may take.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import LowRank
    >>> from mercer.losses import Hinge
    >>> from mercer.problems import RegularizedRisk
    >>> from mercer.solvers import ThinInteriorPoint, minimize
    >>> x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> risk = RegularizedRisk(Hinge(), LowRank(x), np.sign(x[:, 0]), 10.0, np.ones((4, 1)))
    >>> minimize(risk, ThinInteriorPoint()).a.round(9) + 0.0
    array([ 0. , -0.5,  0.5,  0. ])
    """

    max_iter: int = 100
    max_bytes: float = MAX_BYTES

    def refuses(self, risk: RegularizedRisk) -> str:
        if not isinstance(risk.loss, QuadraticDualLoss):
            return (
                f"the conjugate of {type(risk.loss).__name__} is not quadratic; use InteriorPoint"
            )
        Z = risk.K.root()
        if Z is None:
            return "the kernel matrix knows no factor K = ZZ'; use InteriorPoint or SMO"
        lower, upper = risk.box()
        if np.any(lower > 0) or np.any(upper < 0):
            return "a coefficient may not be zero; use InteriorPoint"
        if 8.0 * Z.shape[0] * (Z.shape[1] + risk.q) > self.max_bytes:
            return f"a factor of shape {Z.shape} takes more than max_bytes={self.max_bytes:.3g}"
        return infeasible(risk)

    def solve(self, risk: RegularizedRisk, start: Solution | None, monitor: Monitor) -> Answer:
        search = _Search(risk, self.tol)
        if start is not None and search.offer(start.a, start.b):
            return search.answer(0)
        steps, idle, smallest = 0, 0, np.inf
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            point = search.start()
            while True:
                best = search.score
                search.look(point)
                c = search.best[2]
                if monitor.report(steps, c.primal, c.gap, c.violation) or search.score <= 1.0:
                    break
                got_on = search.score < 0.9 * best or point.mu < 0.9 * smallest
                idle, smallest = 0 if got_on else idle + 1, min(smallest, point.mu)
                if idle > PATIENCE:
                    break
                try:
                    point = search.step(point)
                except np.linalg.LinAlgError:
                    break
                steps += 1
        return search.answer(steps)


class _Point(NamedTuple):
    """Where the path is: parts, w and b, slacks to bounds with multipliers, their mean product."""

    z: Array
    theta: Array
    g: Array
    h: Array
    s: Array
    t: Array
    mu: float


class _Search:
    """The problem in parts, the path, and the best answer on the way."""

    def __init__(self, risk: RegularizedRisk, tol: float) -> None:
        self.risk, self.tol, terms = risk, tol, risk.terms
        assert isinstance(terms, DualTerms)
        live = risk.c > 0
        U, self.back = orthonormal(np.where(live[:, None], risk.B, 0.0))
        Z = dense_double(risk.K.root())
        self.n_columns = Z.shape[1]
        self.G = np.concatenate([Z, U], axis=1)
        self.e = np.concatenate([np.zeros(self.n_columns), self.back.T @ risk.d])
        self.ridge = np.repeat([1.0, 0.0], [self.n_columns, U.shape[1]])
        # The sides of a coefficient whose cost has a corner at zero; whole where it has none.
        split = (terms.p_pos != terms.p_neg) | (terms.q_pos != terms.q_neg)
        split &= (terms.lower < 0) & (terms.upper > 0)
        above = np.flatnonzero(terms.upper > 0)
        below = np.flatnonzero((terms.lower < 0) & (split | (terms.upper <= 0)))
        self.i = np.concatenate([above, below])
        self.sign = np.repeat([1.0, -1.0], [len(above), len(below)])
        self.p = self.sign * np.concatenate([terms.p_pos[above], terms.p_neg[below]])
        self.q = np.concatenate([terms.q_pos[above], terms.q_neg[below]])
        whole = np.where(split[above], 0.0, np.minimum(terms.lower[above], 0.0))
        self.l = np.concatenate([whole, np.zeros(len(below))])
        self.u = np.concatenate([terms.upper[above], -terms.lower[below]])
        self.bounded = np.isfinite(self.u), np.isfinite(self.l)
        self.squares = np.einsum("ij,ij->i", Z, Z)
        self.best: tuple[Array, Array, Certificate]
        self.score, self.free = np.inf, np.zeros(0, dtype=bool)

    # Between parts and samples -------------------------------------------------------------------

    def _sum(self, parts: Array) -> Array:
        """Add what belongs to a sample."""
        return np.asarray(np.bincount(self.i, parts, self.risk.n), dtype=np.float64)

    def _solver(self, D: Array) -> _Ridge:
        return _Ridge(self.G, self._sum(1.0 / D), self.ridge)

    def _direction(self, ridge: _Ridge, D: Array, r: Array, e: Array) -> tuple[Array, Array]:
        """Return the changes of parts and of theta for residuals of slopes and of the rows."""
        theta = ridge.solve(self._sum(self.sign * r / D) @ self.G + e)
        return (r - self.sign * (self.G @ theta)[self.i]) / D, theta

    # The path ------------------------------------------------------------------------------------

    def start(self) -> _Point:
        """Start amid the box, but no further than where a ridge problem has its coefficients.

        The function starts at zero: that w is not yet Z'a is made good on the way, and costs less
        than the function of coefficients that are all of the same size.
        """
        size = max(float(np.max(np.abs(self.p), initial=0.0)), 1e-300)
        room = 0.5 * (self.u - self.l)
        if not np.all(np.isfinite(room)):
            # Without a bound, as far as the slope of its own parabola takes the size of the load.
            room = np.where(np.isfinite(room), room, size / np.where(self.q > 0, self.q, 1.0))
        D = size / room
        z, theta = self._direction(self._solver(D), D, -self.p, -self.e)
        room = np.minimum(room, 10.0 * np.sqrt(z @ z / max(len(z), 1)) + 1e-300)
        z = np.clip(0.0, self.l + room, self.u - room)
        slope = self.sign * (self.G @ theta)[self.i] + self.p + self.q * z
        above, below = self.bounded
        s = np.where(below, np.maximum(slope, 0.0) + START * size, 0.0)
        t = np.where(above, np.maximum(-slope, 0.0) + START * size, 0.0)
        g, h = z - self.l, self.u - z
        return _Point(z, theta, g, h, s, t, self._mean(g, h, s, t))

    def _mean(self, g: Array, h: Array, s: Array, t: Array) -> float:
        above, below = self.bounded
        total = float(np.sum(np.where(below, g * s, 0.0)) + np.sum(np.where(above, h * t, 0.0)))
        return total / max(int(np.count_nonzero(above)) + int(np.count_nonzero(below)), 1)

    def _lacking(self, z: Array, theta: Array) -> Array:
        """Return what is missing in w = Z'a and, with the other sign, in B'a = d."""
        return np.asarray(self._sum(self.sign * z) @ self.G - self.ridge * theta - self.e)

    def step(self, point: _Point) -> _Point:
        """Take one step of Mehrotra's predictor and corrector."""
        z, theta, g, h, s, t, mu = point
        above, below = self.bounded
        D = self.q + s / g + t / h
        ridge = self._solver(D)
        e = self._lacking(z, theta)
        r = -(self.sign * (self.G @ theta)[self.i] + self.p + self.q * z - s + t)
        gs, ht = np.where(below, g * s, 0.0), np.where(above, h * t, 0.0)

        def direction(to_gs: Array, to_ht: Array) -> tuple[Array, Array, Array, Array]:
            dz, dtheta = self._direction(ridge, D, r + to_gs / g - to_ht / h, e)
            return dz, dtheta, (to_gs - s * dz) / g, (to_ht + t * dz) / h

        dz, _, ds, dt = direction(-gs, -ht)
        reach = min(1.0, _reach(g, dz), _reach(h, -dz), _reach(s, ds), _reach(t, dt))
        ahead = self._mean(g + reach * dz, h - reach * dz, s + reach * ds, t + reach * dt)
        # The better the predictor did, the further down the path the corrector aims.
        target = mu * (ahead / mu) ** 3 if mu > 0 else 0.0
        dz, dtheta, ds, dt = direction(
            np.where(below, target - dz * ds, 0.0) - gs,
            np.where(above, target + dz * dt, 0.0) - ht,
        )
        reach = min(_reach(g, dz), _reach(h, -dz), _reach(s, ds), _reach(t, dt))
        reach = min(1.0, BOUNDARY * reach)
        g, h, s, t = g + reach * dz, h - reach * dz, s + reach * ds, t + reach * dt
        return _Point(z + reach * dz, theta + reach * dtheta, g, h, s, t, self._mean(g, h, s, t))

    # Answers -------------------------------------------------------------------------------------

    def look(self, point: _Point) -> None:
        """Offer the coefficients that a point suggests."""
        z, theta, push = point.z, point.theta, point.s - point.t
        # A part is where its own Newton step would take it: on a bound, or free.
        bend = self.squares[self.i] + self.q
        low, up = point.g * bend < push, point.h * bend < -push
        z, free = np.where(low, self.l, np.where(up, self.u, z)), ~(low | up)
        if np.isinf(self.score):
            self.offer(self._sum(self.sign * z), self._b(theta))
        # More free parts without curvature than columns are not all free at the optimum.
        few = np.count_nonzero(free & (self.q == 0)) <= len(self.ridge) + FEW
        if few or np.array_equal(free, self.free):
            again = free
            for _ in range(ROUNDS):
                z, theta, clipped = self._polish(z, theta, again)
                if self.offer(self._sum(self.sign * z), self._b(theta)) or not np.any(clipped):
                    break
                again = again & ~clipped
        self.free = free

    def _b(self, theta: Array) -> Array:
        return np.asarray(self.back @ theta[self.n_columns :])

    def _polish(
        self, z: Array, theta: Array, free: NDArray[np.bool_]
    ) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Solve the conditions of the free parts with the others where they are.

        Also returned is which of them left their box, and were put back on its bounds.
        """
        F = np.flatnonzero(free)
        i, sign, p, q = self.i[F], self.sign[F], self.p[F], self.q[F]
        G, x, e = self.G[i], z[F], self._lacking(z, theta)
        D = np.maximum(q, SHIFT * self.squares[i] + 1e-300)
        try:
            ridge = _Ridge(G, 1.0 / D, self.ridge)
        except np.linalg.LinAlgError:
            return z, theta, np.zeros_like(free)
        for _ in range(REPEAT):
            r = -(sign * (G @ theta) + p + q * x)
            change = ridge.solve((sign * r / D) @ G + e)
            dx = (r - sign * (G @ change)) / D
            x, theta, e = x + dx, theta + change, e + (sign * dx) @ G - self.ridge * change
        inside = np.clip(x, self.l[F], self.u[F])
        clipped, z = np.zeros_like(free), z.copy()
        clipped[F], z[F] = inside != x, inside
        return z, theta, clipped

    def offer(self, a: Array, b: Array) -> bool:
        """Certify an answer, keep it if it is the best, and say whether it is good enough."""
        a = snap_to_box(self.risk, a)
        G = self.G[:, : self.n_columns]
        c = self.risk.certificate(a, b, G @ (a @ G))
        gap = c.gap / (GAP * self.tol * abs(c.primal) + 1e-300)
        score = max(c.violation / self.tol, gap, c.residual / RESIDUAL)
        if not score >= self.score:
            self.best, self.score = (a, b, c), score
        return score <= 1.0

    def answer(self, steps: int) -> Answer:
        """Hand over the best answer."""
        return Answer(self.best[0], self.best[1], steps)


class _Ridge:
    """The Cholesky factor of ``P + G'EG``, row block by row block.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not positive definite to working precision.
    """

    def __init__(self, G: Array, E: Array, ridge: Array) -> None:
        M = np.zeros((len(ridge), len(ridge)), order="F")
        root = np.sqrt(E)
        height = max(64, BLOCK // max(len(ridge), 1))
        for first in range(0, len(G), height):
            part = slice(first, first + height)
            rows = root[part, None] * G[part]
            M = dsyrk(1.0, rows.T, 1.0, M, lower=1, overwrite_c=1)
        diagonal = np.einsum("ii->i", M)
        diagonal += ridge
        # In units of the diagonal: whatever the units of the columns are.
        self.unit = 1.0 / np.sqrt(diagonal)
        M *= self.unit
        M *= self.unit[:, None]
        if not np.all(np.isfinite(diagonal)):
            raise np.linalg.LinAlgError("P + G'EG is not finite")
        for jitter in JITTERS:
            np.einsum("ii->i", M)[:] = 1.0 + jitter
            self.factor, info = dpotrf(M, lower=1, clean=0)
            if not info:
                return
        raise np.linalg.LinAlgError("P + G'EG is not positive definite")

    def solve(self, right: Array) -> Array:
        x, _ = dpotrs(self.factor, self.unit * right, lower=1)
        return np.asarray(self.unit * x)


def _reach(x: Array, dx: Array) -> float:
    """Return how far ``x + reach dx`` stays positive."""
    steepest = np.max(-dx / x, initial=0.0)
    return 1.0 / steepest if steepest > 0 else np.inf
