r"""The central path of a box program, followed for any way of solving its linear systems.

With slacks :math:`g = z - \text{lower}`, :math:`t = \text{upper} - z` and their multipliers
:math:`s, w \ge 0` the optimality conditions of a separable program in a box
(:mod:`mercer.problems.box_qp`), relaxed by :math:`\mu`, are

.. math::

    SKS'z + \zeta + Ab - s + w = 0, \qquad \zeta_j = \varphi_j'(z_j), \qquad A'z = e, \qquad
    g_j s_j = \mu, \quad t_j w_j = \mu.

The path :math:`\mu \to 0` is followed by Newton steps with Mehrotra's predictor and corrector.
Eliminating all but z and b leaves :math:`SKS' + D` with :math:`D = \varphi'' + s/g + w/t`. How that
is solved is a value, a :class:`System`: over kernel values, or over the columns of a factor.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.gram.factor import EPS, Indefinite, orthonormal
from mercer.problems.box_qp import BoxProgram
from mercer.problems.reductions import Back, Reduction
from mercer.problems.risk import Certificate, RegularizedRisk
from mercer.solvers.base import Answer
from mercer.solvers.certify import snap_to_box
from mercer.solvers.monitor import Monitor
from mercer.solvers.rounding import decision_error, rounding_effect
from mercer.solvers.status import MAX_RELATIVE_GAP, MAX_RESIDUAL

__all__ = ["TINY", "Point", "Search", "System", "follow"]

# Fraction of the way to the boundary that a step may go.
BOUNDARY_PART = 0.995
# Relative gap from which on the bounds that the path approaches are worth fixing.
FIXING_GAP = 1e-3
# Steps without a better answer after which there will be none.
MAX_IDLE_STEPS = 25
# A gap below this part of what rounding of decision values adds to it in a certificate is not worth
# a step, unless it is too large a part of the objective.
ROUNDING_PART = 0.1
# Smaller than anything that matters, larger than zero.
TINY = 1e-300


class System(ABC):
    """The linear part of the conditions: what a program's variables do to its slopes and rows.

    Parameters
    ----------
    program : BoxProgram
        The program, with independent equality rows.
    unknowns : int
        The number of unknowns besides z, together theta: b is among them.
    """

    # Whether an answer is measured at every point of the path: cheap beside a factorization.
    measured = True
    # Variables that may be free without curvature for an early :meth:`settle` to be worth its cost,
    # and how often it is repeated where variables leave their box.
    few, rounds = -1, 1

    def __init__(self, program: BoxProgram, unknowns: int) -> None:
        self.program, self.zero = program, np.zeros(unknowns)
        self.bounded = np.isfinite([program.lower, program.upper])
        self.n_bounds = int(np.count_nonzero(self.bounded))

    @abstractmethod
    def first(self, theta: Array) -> Array:
        """Return the unknowns besides z to start from, given those of a ridge problem."""

    @abstractmethod
    def b(self, theta: Array) -> Array:
        """Return the multipliers of the equality rows."""

    @abstractmethod
    def field(self, z: Array, theta: Array) -> Array:
        """Return ``SKS'z + Ab``."""

    @abstractmethod
    def lacking(self, z: Array, theta: Array) -> Array:
        """Return what the rows that a step also solves lack."""

    @abstractmethod
    def solver(self, D: Array) -> Callable[[Array, Array], tuple[Array, Array]]:
        """Return the map from what slopes and rows lack to the changes of z and theta.

        Raises
        ------
        numpy.linalg.LinAlgError
            If the matrix is singular to working precision.
        """

    @abstractmethod
    def settle(
        self, z: Array, theta: Array, free: NDArray[np.bool_]
    ) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Solve the conditions of the free variables with the others where they are.

        Returned are z and theta, and which variables left their box and were put back.
        """


class Point(NamedTuple):
    """Where the path is.

    Variables ``z``, the other unknowns ``theta`` of the system, as ``walls`` of shape (4, m) the
    slacks g, t to the bounds and their multipliers s, w, the rise ``zeta`` of the slope above its
    corner, and the mean ``mu`` of the products g s and t w.
    """

    z: Array
    theta: Array
    walls: Array
    zeta: Array
    mu: float


def follow(system: System) -> Iterator[Point]:
    """Yield the points of the central path, until the arithmetic gives out.

    Raises
    ------
    numpy.linalg.LinAlgError
        When no further step can be computed.
    """
    point = _start(system)
    while np.all(np.isfinite(point.z)) and np.isfinite(point.mu):
        yield point
        point = _step(system, point)
    raise np.linalg.LinAlgError("a step of the interior point is not finite")


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def _start(system: System) -> Point:
    """Start in the box at the scale of a ridge problem, with multipliers to balance the slopes."""
    program = system.program
    lower, upper, corner = program.lower, program.upper, program.corner()
    zero = np.zeros_like(lower)
    load = program.slope(zero)
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
    z, theta = system.solver(size / room)(-load, system.lacking(zero, system.zero))
    room = np.minimum(room, np.sqrt(z @ z / max(len(z), 1)))
    z, theta = np.clip(0.0, lower + room, upper - room), system.first(theta)
    gradient = system.field(z, theta) + program.slope(z)
    size = max(1.0, float(np.max(np.abs(gradient), initial=0.0)))
    multipliers = _of_bounds(system, np.maximum([gradient, -gradient], 0.0) + 0.1 * size)
    walls = np.concatenate([[z - lower, upper - z], multipliers])
    zeta = program.slope(z)
    if corner is not None:
        zeta = np.maximum(zeta - corner, 0.1 * size)
    return Point(z, theta, walls, zeta, _mean(system, walls))


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def _step(system: System, point: Point) -> Point:
    """Take one predictor-corrector step."""
    z, theta, walls, zeta, mu = point
    slacks, multipliers = walls[:2], walls[2:]
    slope, curvature, mend = _tangent(system.program, z, zeta)
    stiff = multipliers / slacks
    solve = system.solver(curvature + stiff[0] + stiff[1])
    stationarity = multipliers[0] - multipliers[1] - system.field(z, theta) - slope - mend
    rows = system.lacking(z, theta)
    products = _of_bounds(system, slacks * multipliers)

    def direction(to: Array) -> tuple[Array, Array]:
        """Return the changes of theta and of the walls that add ``to`` to g s and t w at first."""
        push, change = to / slacks, np.empty_like(walls)
        change[0], dtheta = solve(stationarity + push[0] - push[1], rows)
        np.negative(change[0], out=change[1])
        np.subtract(push, stiff * change[:2], out=change[2:])
        return dtheta, change

    _, change = direction(-products)
    ahead = _mean(system, walls + min(1.0, _reach(walls, change)) * change)
    # The better the predictor did, the further down the path the corrector aims.
    target = mu * (ahead / mu) ** 3 if mu > 0 else 0.0
    dtheta, change = direction(_of_bounds(system, target - change[:2] * change[2:]) - products)
    reach = min(1.0, BOUNDARY_PART * _reach(walls, change))
    dz, walls = change[0], walls + reach * change
    if system.program.corner() is not None:
        zeta = np.maximum(zeta + reach * (curvature * dz + mend), 0.01 * zeta)
    return Point(z + reach * dz, theta + reach * dtheta, walls, zeta, _mean(system, walls))


def _tangent(program: BoxProgram, z: Array, zeta: Array) -> tuple[Array, Array, Array | float]:
    r"""Return slope, curvature and error of the line that stands for :math:`\varphi'` in a step.

    Far from the curve of a steep power, its tangent at z says little about where the curve is. The
    tangent is taken where the line through :math:`(z, \zeta)` of slope :math:`-1/\gamma` meets the
    curve instead, with :math:`\gamma = z/\zeta` so that neither coordinate is believed more than
    the other. ``zeta`` is measured from the corner, where it would otherwise drown in rounding.
    """
    corner = program.corner()
    if corner is None:
        return program.slope(z), program.curvature(z), 0.0
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


class Search:
    """Turn points of the path into answers that meet their bounds exactly, and keep the best.

    Parameters
    ----------
    risk : RegularizedRisk
        The problem.
    make : callable
        Maps a box program of the problem to the system that steps are solved with.
    tol : float
        Largest violation of an optimality condition at the answer.
    gap : float
        Largest gap at the answer, relative to the objective and ``least``, where rounding of
        decision values leaves no larger one.
    least : float, default=1.0
        What an objective counts at least.
    """

    def __init__(
        self,
        risk: RegularizedRisk,
        make: Callable[[BoxProgram], System],
        tol: float,
        gap: float,
        least: float = 1.0,
    ) -> None:
        self.risk, self.make, self.tol, self.gap, self.least = risk, make, tol, gap, least
        self.best: tuple[Array, Array, Certificate] | None = None
        self.lowest: tuple[Array, Array, Certificate] | None = None
        self.score, self.steps, self.idle = np.inf, 0, 0

    @property
    def done(self) -> bool:
        """Whether the best answer is good enough."""
        return self.score <= 1.0

    def run(self, reduction: Reduction[BoxProgram], monitor: Monitor) -> Answer:
        """Follow the path of a reduction to a good answer, or as far as it goes.

        Raises
        ------
        Indefinite
            If the kernel matrix has a negative eigenvalue beyond rounding.
        FloatingPointError
            If not even the first point of the path can be computed.
        """
        # Equality rows are made orthonormal.
        U, back = orthonormal(reduction.problem.A)
        program = replace(reduction.problem, A=U, e=back.T @ reduction.problem.e)
        self.system = self.make(program)
        self.back: Back = lambda z, theta: reduction.back(z, back @ self.system.b(theta))
        self.mu, self.idle, self.free = np.inf, 0, np.zeros(0, dtype=bool)
        self.diagonal = program.H.diag()
        try:
            for point in follow(self.system):
                stop = monitor.report(self.steps, *self.look(point), undivided=True)
                if stop or self.done or self.idle > MAX_IDLE_STEPS:
                    return self.answer(stopped=stop)
                self.steps += 1
        except Indefinite:
            raise
        except np.linalg.LinAlgError as error:
            if self.best is None:
                raise FloatingPointError(
                    f"{error}; scale the inputs and targets, or lower C"
                ) from error
        return self.answer()

    def look(self, point: Point) -> tuple[float, float, float]:
        """Offer the coefficients that the point suggests, and report the best answer so far."""
        p, z, theta, self.idle = self.system.program, point.z, point.theta, self.idle + 1
        # A variable is where its own Newton step would take it: on a bound, or free. Where nothing
        # bends, a bound holds what it pushes hard in comparison to the distance.
        g, t, s, w = point.walls
        push, width, curvature = s - w, p.upper - p.lower, p.curvature(z)
        bend = self.diagonal + curvature
        bend = np.maximum(bend, 1e-3 * np.max(np.abs(push), initial=0.0) / width)
        low, up = g * bend < push, t * bend < -push
        z, free = np.where(low, p.lower, np.where(up, p.upper, z)), ~(low | up)
        if self.best is None or self.system.measured:
            self.offer(*self.back(z, theta))
        assert self.best is not None
        scale = (1.0 + abs(self.best[2].primal)) / max(len(z), 1)
        settled, self.free = np.array_equal(free, self.free), free
        few = np.count_nonzero(free & (curvature == 0)) <= self.system.few
        if not self.done and (few or (settled and point.mu < FIXING_GAP * scale)):
            for _ in range(self.system.rounds):
                z, theta, left = self.system.settle(z, theta, free)
                if self.offer(*self.back(z, theta)) or not np.any(left):
                    break
                free = free & ~left
        if EPS * scale < point.mu < 0.9 * self.mu:
            self.mu, self.idle = point.mu, 0  # answers may lag behind while the path gets on
        shown = self.best[2] if self.done or self.lowest is None else self.lowest[2]
        return shown.primal, shown.gap, shown.violation

    def offer(self, a: Array, b: Array) -> bool:
        """Certify an answer, keep it if it is the best, and say whether it is good enough."""
        a = snap_to_box(self.risk, a)
        c = self.risk.certificate(a, b)
        rounding = rounding_effect(self.risk, a, c.f, decision_error(self.risk, a, b, c.f))
        explained = ROUNDING_PART * min(rounding, MAX_RELATIVE_GAP * abs(c.primal))
        gap = c.gap / max(self.gap * (self.least + abs(c.primal)), explained)
        score = max(c.violation / self.tol, gap, c.residual / MAX_RESIDUAL)
        if score < 0.9 * self.score:
            self.idle = 0
        if self.best is None or score < self.score:
            self.best, self.score = (a, b, c), score
        if c.residual <= MAX_RESIDUAL and (self.lowest is None or c.primal < self.lowest[2].primal):
            self.lowest = (a, b, c)
        return score <= 1.0

    def answer(self, stopped: bool = False) -> Answer:
        """Hand over the best answer: the one of lowest objective if the path was cut short."""
        best = self.lowest if stopped and not self.done and self.lowest else self.best
        assert best is not None
        return Answer(best[0], best[1], self.steps)


def _of_bounds(system: System, values: Array) -> Array:
    """Return values of lower and upper bounds, (2, m), with zeros where there is no bound."""
    return values if system.n_bounds == values.size else np.where(system.bounded, values, 0.0)


def _mean(system: System, walls: Array) -> float:
    """Return the mean product of slack and multiplier over the finite bounds."""
    return float(_of_bounds(system, walls[:2] * walls[2:]).sum()) / max(system.n_bounds, 1)


def _reach(x: Array, dx: Array) -> float:
    """Return how far ``x + reach dx`` stays positive."""
    # A multiplier without a bound is zero and stays so: 0 / 0, which fmin passes over.
    steepest = -float(np.fmin.reduce(dx / x, axis=None, initial=0.0))
    return 1.0 / steepest if steepest > 0.0 else np.inf
