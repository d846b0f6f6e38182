r"""Primal-dual path following for any convex loss: one factorization of the sample's size a step.

The dual of a regularized risk is a separable program in a box (:mod:`mercer.problems.box_qp`). With
slacks :math:`g = z - \text{lower}`, :math:`t = \text{upper} - z` and their multipliers
:math:`s, w \ge 0` its optimality conditions, relaxed by :math:`\mu`, are

.. math::

    SKS'z + \zeta + Ab - s + w = 0, \qquad \zeta_j = \varphi_j'(z_j), \qquad A'z = e, \qquad
    g_j s_j = \mu, \quad t_j w_j = \mu.

The path :math:`\mu \to 0` is followed by Newton steps with Mehrotra's predictor and corrector.
Eliminating all but z and b leaves :math:`SKS' + D` with :math:`D = \varphi'' + s/g + w/t`, which
:meth:`~mercer.problems.box_qp.Copies.shifted` brings down to the size of the sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer.gram.factor import (
    EPS,
    INDEFINITE,
    MAX_BYTES,
    Indefinite,
    bordered,
    lacking,
    orthonormal,
)
from mercer.losses.base import Array
from mercer.problems.box_qp import BoxProgram
from mercer.problems.reductions import Back, Reduction, box_program, infeasible, resident
from mercer.problems.risk import Certificate, RegularizedRisk
from mercer.solvers.base import RESIDUAL, Answer, Solver, snap_to_box
from mercer.solvers.monitor import Monitor
from mercer.solvers.solution import Solution

__all__ = ["InteriorPoint", "Point", "follow"]

# Fraction of the way to the boundary that a step may go.
BOUNDARY = 0.995
# The gap to reach, relative to the objective, however loose the tolerance on the decision values.
GAP = 1e-8
# Relative gap from which on the bounds that the path approaches are worth fixing.
CLOSE = 1e-3
# Steps without a better answer after which there will be none.
PATIENCE = 25
# Smaller than anything that matters, larger than zero.
TINY = 1e-300


@dataclass(eq=False)
class InteriorPoint(Solver):
    """Follow the central path of the dual, for any convex loss and any number of columns in B.

    A step costs one factorization of the kernel matrix, or ``n m^2`` for ``K = GG' + diag``, and
    ten to twenty steps reach high accuracy whatever C is. Kernel matrices that are positive
    definite only where ``B'a = 0`` are accepted.

    Parameters
    ----------
    tol : float, default=1e-3
        Largest violation of an optimality condition at the answer.
    max_iter : int, default=100
        Largest number of steps, -1 for no limit.
    max_time : float, optional
        Largest number of seconds.
    max_bytes : float, default=4e9
        Memory that a dense factorization may take.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.losses import EpsilonInsensitive
    >>> from mercer.problems import RegularizedRisk
    >>> from mercer.solvers import InteriorPoint, minimize
    >>> K, y, B = Dense(np.eye(3)), np.array([0.0, 1.0, 5.0]), np.ones((3, 1))
    >>> risk = RegularizedRisk(EpsilonInsensitive(0.5), K, y, 1.0, B)
    >>> minimize(risk, InteriorPoint(tol=1e-8)).a.round(6) + 0.0
    array([-1.,  0.,  1.])
    """

    max_iter: int = 100
    max_bytes: float = MAX_BYTES

    def refuses(self, risk: RegularizedRisk) -> str:
        return lacking(risk.K.origin()[0], self.max_bytes) or infeasible(risk)

    def solve(self, risk: RegularizedRisk, start: Solution | None, monitor: Monitor) -> Answer:
        risk = resident(risk)
        search = _Search(risk, self.tol, self.max_bytes)
        if start is not None and search.offer(start.a, start.b):
            return search.answer(0)
        steps = 0
        # A matrix that is not positive definite may be so where B'a = d leaves room to move.
        for project in (False, True) if risk.q else (False,):
            try:
                for point in search.along(box_program(risk, project=project)):
                    stop = monitor.report(steps, *search.look(point))
                    if stop or search.done or search.idle > PATIENCE:
                        return search.answer(steps, stopped=stop)
                    steps += 1
            except Indefinite:
                failure: Exception = ValueError(INDEFINITE)
            except np.linalg.LinAlgError as error:
                failure = FloatingPointError(f"{error}; scale the inputs and targets, or lower C")
                break
        if search.best is None:
            raise failure
        return search.answer(steps)


class Point(NamedTuple):
    """Where the path is.

    Variables ``z``, multipliers ``b`` of the equality rows, slacks ``g, t`` to the bounds with
    their multipliers ``s, w``, the rise ``zeta`` of the slope above its corner, and the mean ``mu``
    of the products ``g s`` and ``t w``.
    """

    z: Array
    b: Array
    g: Array
    t: Array
    s: Array
    w: Array
    zeta: Array
    mu: float


def follow(program: BoxProgram, max_bytes: float = MAX_BYTES) -> Iterator[Point]:
    """Yield the points of the central path, until the arithmetic gives out.

    Parameters
    ----------
    program : BoxProgram
        The program, with independent equality rows.
    max_bytes : float, default=4e9
        Memory that a dense factorization may take.

    Raises
    ------
    numpy.linalg.LinAlgError
        When no further step can be computed.
    """
    point = _start(program, max_bytes)
    while np.all(np.isfinite(point.z)) and np.isfinite(point.mu):
        yield point
        point = _step(program, point, max_bytes)
    raise np.linalg.LinAlgError("a step of the interior point is not finite")


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def _start(program: BoxProgram, max_bytes: float) -> Point:
    """Start in the box at the scale of a ridge problem, with multipliers to balance the slopes."""
    H, lower, upper, corner = program.H, program.lower, program.upper, program.corner()
    load = program.slope(np.zeros_like(lower))
    size = max(1.0, float(np.max(np.abs(load), initial=0.0)))
    room = 0.5 * (upper - lower)
    if np.any(wide := np.isinf(room)):
        # No box, so let z double or halve until its slope has risen by the size of the load.
        z = np.ones_like(lower)
        for _ in range(100):
            rise = program.slope(z) - load
            z = np.where(rise < size, 2.0 * z, np.where(rise > 2.0 * size, 0.5 * z, z))
        room = np.where(wide, z, room)
    # The squared loss whose coefficients fill the room when residuals are of the size of the load.
    z, _ = bordered(H.shifted(size / room, max_bytes), program.A)(-load, program.e)
    room = np.minimum(room, np.sqrt(z @ z / max(len(z), 1)))
    z, b = np.clip(0.0, lower + room, upper - room), np.zeros(len(program.e))
    g, t = z - lower, upper - z
    gradient = program.gradient(z, b)
    size = max(1.0, float(np.max(np.abs(gradient), initial=0.0)))
    s = np.where(np.isfinite(g), np.maximum(gradient, 0.0) + 0.1 * size, 0.0)
    w = np.where(np.isfinite(t), np.maximum(-gradient, 0.0) + 0.1 * size, 0.0)
    zeta = program.slope(z)
    if corner is not None:
        zeta = np.maximum(zeta - corner, 0.1 * size)
    return Point(z, b, g, t, s, w, zeta, _mean(g, t, s, w))


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def _step(program: BoxProgram, point: Point, max_bytes: float) -> Point:
    """Take one predictor-corrector step."""
    z, b, g, t, s, w, zeta, mu = point
    gs, tw = _product(g, s), _product(t, w)
    slope, curvature, mend = _tangent(program, z, zeta)
    solve = bordered(program.H.shifted(curvature + s / g + w / t, max_bytes), program.A)
    stationarity = -(program.H.matvec(z) + slope + mend + program.A @ b - s + w)
    equality = program.e - program.A.T @ z

    def direction(to_gs: Array, to_tw: Array) -> tuple[Array, Array, Array, Array]:
        """Return the step that adds ``to_gs`` to g s and ``to_tw`` to t w, to first order."""
        dz, db = solve(stationarity + to_gs / g - to_tw / t, equality)
        return dz, db, (to_gs - s * dz) / g, (to_tw + w * dz) / t

    dz, db, ds, dw = direction(-gs, -tw)
    reach = min(1.0, _reach(g, dz), _reach(t, -dz), _reach(s, ds), _reach(w, dw))
    ahead = _mean(g + reach * dz, t - reach * dz, s + reach * ds, w + reach * dw)
    # The better the predictor did, the further down the path the corrector aims.
    target = mu * (ahead / mu) ** 3 if mu > 0 else 0.0
    dz, db, ds, dw = direction(
        np.where(np.isfinite(g), target - dz * ds, 0.0) - gs,
        np.where(np.isfinite(t), target + dz * dw, 0.0) - tw,
    )
    reach = min(_reach(g, dz), _reach(t, -dz), _reach(s, ds), _reach(w, dw))
    reach = min(1.0, BOUNDARY * reach)
    g, t, s, w = g + reach * dz, t - reach * dz, s + reach * ds, w + reach * dw
    rise = zeta + reach * (curvature * dz + mend)
    zeta = rise if program.corner() is None else np.maximum(rise, 0.01 * zeta)
    return Point(z + reach * dz, b + reach * db, g, t, s, w, zeta, _mean(g, t, s, w))


def _tangent(program: BoxProgram, z: Array, zeta: Array) -> tuple[Array, Array, Array]:
    r"""Return slope, curvature and error of the line that stands for :math:`\varphi'` in a step.

    Far from the curve of a steep power, its tangent at z says little about where the curve is. The
    tangent is taken where the line through :math:`(z, \zeta)` of slope :math:`-1/\gamma` meets the
    curve instead, with :math:`\gamma = z/\zeta` so that neither coordinate is believed more than
    the other. ``zeta`` is measured from the corner, where it would otherwise drown in rounding.
    """
    corner = program.corner()
    if corner is None:
        return program.slope(z), program.curvature(z), np.zeros_like(z)
    gamma = np.minimum(z - program.lower, program.upper - z) / zeta
    goal = z + gamma * zeta
    other = np.clip(goal - gamma * (program.slope(z) - corner), program.lower, program.upper)
    low, high = np.minimum(z, other), np.maximum(z, other)
    for _ in range(60):  # bisection to the last bit
        x = 0.5 * (low + high)
        beyond = x + gamma * (program.slope(x) - corner) > goal
        low, high = np.where(beyond, low, x), np.where(beyond, x, high)
    curvature = program.curvature(x)
    return corner + zeta, curvature, program.slope(x) - corner - zeta + curvature * (z - x)


class _Search:
    """Turn points of the path into answers that meet their bounds exactly, and keep the best."""

    def __init__(self, risk: RegularizedRisk, tol: float, max_bytes: float) -> None:
        self.risk, self.tol, self.max_bytes = risk, tol, max_bytes
        self.best: tuple[Array, Array, Certificate] | None = None
        self.lowest: tuple[Array, Array, Certificate] | None = None
        self.score = np.inf

    @property
    def done(self) -> bool:
        """Whether the best answer is good enough."""
        return self.score <= 1.0

    def along(self, reduction: Reduction[BoxProgram]) -> Iterator[Point]:
        """Follow the path of a reduction, its equality rows made orthonormal."""
        U, back = orthonormal(reduction.problem.A)
        self.program = replace(reduction.problem, A=U, e=back.T @ reduction.problem.e)
        self.back: Back = lambda z, b: reduction.back(z, back @ b)
        self.mu, self.idle, self.free = np.inf, 0, np.zeros(0, dtype=bool)
        return follow(self.program, self.max_bytes)

    def look(self, point: Point) -> tuple[float, float, float]:
        """Offer the coefficients that the point suggests, and report the best answer so far."""
        p, z, self.idle = self.program, point.z, self.idle + 1
        # A variable is where its own Newton step would take it: on a bound, or free. Where nothing
        # bends, a bound holds what it pushes hard in comparison to the distance.
        push, width = point.s - point.w, p.upper - p.lower
        bend = p.H.diag() + p.curvature(z)
        bend = np.maximum(bend, 1e-3 * np.max(np.abs(push), initial=0.0) / width)
        low, up = point.g * bend < push, point.t * bend < -push
        z, free = np.where(low, p.lower, np.where(up, p.upper, z)), ~(low | up)
        self.offer(*self.back(z, point.b))
        assert self.best is not None
        scale = (1.0 + abs(self.best[2].primal)) / max(len(z), 1)
        settled, self.free = np.array_equal(free, self.free), free
        if settled and not self.done and point.mu < CLOSE * scale:
            self.offer(*self.back(*self._polish(z, point.b, free)))
        if EPS * scale < point.mu < 0.9 * self.mu:
            self.mu, self.idle = point.mu, 0  # answers may lag behind while the path gets on
        shown = self.best[2] if self.done or self.lowest is None else self.lowest[2]
        return shown.primal, shown.gap, shown.violation

    def offer(self, a: Array, b: Array) -> bool:
        """Certify an answer, keep it if it is the best, and say whether it is good enough."""
        a = snap_to_box(self.risk, a)
        c = self.risk.certificate(a, b)
        gap = c.gap / (1.0 + abs(c.primal))
        score = max(c.violation / self.tol, gap / min(GAP, self.tol), c.residual / RESIDUAL)
        if score < 0.9 * self.score:
            self.idle = 0
        if self.best is None or score < self.score:
            self.best, self.score = (a, b, c), score
        if c.residual <= RESIDUAL and (self.lowest is None or c.primal < self.lowest[2].primal):
            self.lowest = (a, b, c)
        return score <= 1.0

    def answer(self, steps: int, stopped: bool = False) -> Answer:
        """Hand over the best answer: the one of lowest objective if the path was cut short."""
        best = self.lowest if stopped and not self.done and self.lowest else self.best
        assert best is not None
        return Answer(best[0], best[1], steps)

    def _polish(self, z: Array, b: Array, free: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Solve the optimality conditions of the free variables with the others where they are."""
        p = self.program
        # The least shift with which a singular system is solved; repetition undoes its bias.
        D = np.where(free, np.maximum(p.curvature(z), 1e-10 * p.H.diag() + TINY), np.inf)
        try:
            solve = bordered(p.H.shifted(D, self.max_bytes), p.A)
            for _ in range(3):
                dz, db = solve(np.where(free, -p.gradient(z, b), 0.0), p.e - p.A.T @ z)
                z, b = np.clip(z + dz, p.lower, p.upper), b + db
        except np.linalg.LinAlgError:
            pass  # nothing gained, nothing lost: the path goes on
        return z, b


def _product(x: Array, y: Array) -> Array:
    """Multiply slacks and multipliers; the product is zero where a slack is infinite."""
    return np.where(np.isfinite(x), x, 0.0) * y


def _mean(g: Array, t: Array, s: Array, w: Array) -> float:
    """Return the mean product of slack and multiplier over the finite bounds."""
    count = np.isfinite(g).sum() + np.isfinite(t).sum()
    return float((_product(g, s).sum() + _product(t, w).sum()) / max(count, 1))


def _reach(x: Array, dx: Array) -> float:
    """Return how far ``x + reach dx`` stays positive."""
    falling = dx < 0
    return float(np.min(-x[falling] / dx[falling], initial=np.inf))
