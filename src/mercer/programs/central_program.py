r"""Linear programs of a sparse risk over dense columns, by their central path.

.. math::

    \min_u \sum_i p^\pm_i u_i, \quad Q_J'u = (s, d),\; |s_j| \le w_j, \quad
    \text{lower} \le u \le \text{upper}

The multipliers of its rows are :math:`x = (a, b)`, coefficients of the functions and of the
unpenalized columns, with :math:`f = Qx`. A step of the path eliminates everything but x, so that it
is a weighted ridge regression with as many unknowns as there are columns: :math:`n k^2`
multiplications of dense matrices, where the simplex method over the same numbers takes some
thousand pivots. What is on a bound at its end says which equations the vertex solves.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgWarning, lu_factor, lu_solve

from mercer._deadline import time_left
from mercer._typing import Array
from mercer.solvers.thin import Ridge

__all__ = ["CentralPoint", "Columns", "Variables", "follow_path", "solve_vertex"]

# Relative gap down to which systems in single precision are good enough for steps.
SINGLE_SCORE = 1e-3
# Fraction of the way to the boundary that a step may go.
BOUNDARY_PART = 0.995
# Steps after which a program is left to others; fifteen to thirty are usual.
MAX_STEPS = 80
# Of the start: the shrinkage of the ridge problem, the least distance from the bounds in units of
# the boxes, and the least multiplier in units of the costs.
START_RIDGE, START_ROOM, START_FORCE = 1e-3, 1e-3, 0.1
# Unit roundoff, and smaller than anything that matters.
EPS, TINY = float(np.finfo(np.float64).eps), 1e-300
# Steps with hardly any progress, after which there is none to come.
MAX_IDLE_STEPS, IDLE_RATIO = 6, 0.97


class Variables(NamedTuple):
    """Multipliers of samples as variables in a box: one a sample, two where its conjugate bends."""

    sample: NDArray[np.intp]
    sign: Array
    cost: Array
    low: Array
    high: Array

    def gather(self, values: Array, n: int) -> Array:
        """Return the sums of the values of each of n samples, with their signs."""
        return self.total(self.sign * values, n)

    def total(self, values: Array, n: int) -> Array:
        """Return the sums of the values of each of n samples."""
        return np.asarray(np.bincount(self.sample, values, minlength=n), dtype=np.float64)


class Columns(NamedTuple):
    """Matrix Q (n, k + q) of functions and unpenalized columns, and the bounds of their prices."""

    Q: Array
    lower: Array
    upper: Array
    d: Array


class CentralPoint(NamedTuple):
    """A point of the path: variables, coefficients, and what is off its bounds.

    ``inside`` of the variables and ``used`` of the functions are the ratios of what vanishes on a
    bound to what vanishes off it: at the end of the path large or small, and seldom about one.
    """

    z: Array
    x: Array
    inside: Array
    used: Array
    steps: int


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def follow_path(samples: Variables, columns: Columns, tol: float) -> CentralPoint | None:
    """Follow the central path to a relative gap; None where it does not get there in time.

    Parameters
    ----------
    samples : Variables
        Variables, in boxes of positive width.
    columns : Columns
        Rows of the program.
    tol : float
        Largest gap, relative to the objective, and largest residual of rows and slopes.
    """
    path = _Path(samples, columns)
    idle, last = 0, np.inf
    for step in range(MAX_STEPS):
        if path.score() <= tol:
            return path.point(step)
        # Products of distances and forces, and the residuals of rows, fall until rounding is left.
        left = path.mu * path.count + float(np.sum(np.abs(path.residuals[1]))) * path.size
        idle, last = 0 if left < IDLE_RATIO * last else idle + 1, min(last, left)
        if idle > MAX_IDLE_STEPS or not np.isfinite(left) or not time_left():
            break
        try:
            path.step()
        except np.linalg.LinAlgError:
            break
    return None


def solve_vertex(
    samples: Variables, columns: Columns, point: CentralPoint
) -> tuple[Array, Array] | None:
    """Return variables and coefficients of the vertex that the path ends at; None if it is none.

    Variables off their bounds have their decision value on the kink, used functions a price on its
    bound: one square matrix for coefficients and for multipliers. Whether they prove each other
    optimal is left to the caller.
    """
    I, A = np.flatnonzero(point.inside > 1), np.flatnonzero(point.used > 1)  # noqa: E741
    k, q = len(columns.lower), len(columns.d)
    if len(I) != len(A) + q:
        return None
    Q = columns.Q[:, np.append(A, np.arange(k, k + q))]
    z = np.where(samples.high - point.z < point.z - samples.low, samples.high, samples.low)
    z[I] = 0.0
    walls = np.where(point.x[A] > 0, columns.upper[A], columns.lower[A])
    missing = np.append(walls, columns.d) - samples.gather(z, len(Q)) @ Q
    sign = samples.sign[I]
    with warnings.catch_warnings():
        warnings.simplefilter("error", LinAlgWarning)
        try:
            factor = lu_factor(Q[samples.sample[I]])
        except LinAlgWarning:
            return None
    used = lu_solve(factor, -sign * samples.cost[I])
    z[I] = np.clip(sign * lu_solve(factor, missing, trans=1), samples.low[I], samples.high[I])
    x = np.append(np.zeros(k), used[len(A) :])
    x[A] = used[: len(A)]
    return z, x


class _Path:
    """The state of the path.

    ``v`` are the variables of the samples and then the prices, ``walls`` (2, m + k) their distances
    to lower and upper bounds and ``forces`` the multipliers of these, ``x`` the coefficients and
    ``f`` their decision values.
    """

    def __init__(self, samples: Variables, columns: Columns) -> None:
        self.samples, self.Q, self.d = samples, columns.Q, columns.d
        # Systems far from the end are made of this copy; residuals are those of Q itself.
        self.Q_single = self.Q.astype(np.float32)
        self.n, self.k = len(columns.Q), len(columns.lower)
        # Walls: low and high of the variables, then of the prices; infinite ones are none.
        self.low = np.concatenate([samples.low, columns.lower])
        self.high = np.concatenate([samples.high, columns.upper])
        self.cost = np.concatenate([samples.cost, np.zeros(self.k)])
        self.walled = np.isfinite([self.low, self.high])
        self.count = int(np.count_nonzero(self.walled))
        self.m = len(samples.sample)
        self.size = float(np.max(np.abs(samples.cost), initial=0.0)) or 1.0
        self.peaks = np.maximum(np.max(self.Q, axis=0), -np.min(self.Q, axis=0))
        self._start()

    # The linear maps of the conditions: rows Q'u - (s, d), slopes Qx and -a.

    def _rows(self, v: Array, d: Array | float) -> Array:
        """Return ``Q'u - (s, d)``."""
        out = self.samples.gather(v[: self.m], self.n) @ self.Q
        out[: self.k] -= v[self.m :]
        out[self.k :] -= d
        return np.asarray(out)

    def _slopes(self, f: Array, x: Array) -> Array:
        """Return the derivatives ``(f, -a)`` in the variables and the prices, with ``f = Qx``."""
        s = self.samples
        return np.concatenate([s.sign * f[s.sample], -x[: self.k]])

    def _start(self) -> None:
        """Start at the scale of a ridge problem, with multipliers that balance the slopes."""
        s, m, k = self.samples, self.m, self.k
        width = s.high - s.low
        # The squared loss whose coefficients fill the boxes when residuals are of the costs' size.
        D = 2.0 * self.size / width
        weight = s.total(1.0 / D, self.n)
        shrink = START_RIDGE * np.einsum("i,ij,ij->j", weight, self.Q, self.Q)
        right = self._rows(np.append(-s.cost / D, np.zeros(k)), self.d)
        x = Ridge(self.Q_single, weight, shrink).solve(right)
        filled = -(s.cost + self._slopes(self.Q @ x, x)[:m]) / D
        room = max(float(np.sqrt(np.mean(filled**2))), START_ROOM * float(np.median(width)))
        z = np.clip(
            0.0, s.low + np.minimum(0.5 * width, room), s.high - np.minimum(0.5 * width, room)
        )
        # Prices in the middle of their walls, or at the distance of the largest price of them.
        lower, upper = self.low[m:], self.high[m:]
        ends = np.where(self.walled[:, m:], np.abs([lower, upper]), 0.0)
        price = np.abs(self._rows(np.append(z, np.zeros(k)), 0.0)[:k])
        far = max(float(np.max(price, initial=0.0)), float(np.max(ends, initial=0.0))) or 1.0
        one_sided = np.where(np.isinf(lower), upper - far, lower + far)
        both_sided = self.walled[:, m:].all(axis=0)
        prices = np.where(both_sided, 0.5 * (lower + upper), one_sided)
        self.v, self.x, self.f = np.append(z, prices), np.zeros(k + len(self.d)), np.zeros(self.n)
        self.walls = np.array([self.v - self.low, self.high - self.v])
        forces = np.maximum([self.cost, -self.cost], 0.0) + START_FORCE * self.size
        mu = float(np.mean(self.walls[:, :m] * forces[:, :m]))
        forces[:, m:] = mu / self.walls[:, m:]
        self.forces = np.where(self.walled, forces, 0.0)

    @property
    def mu(self) -> float:
        """Mean product of distances and multipliers."""
        return self._mean(self.walls, self.forces)

    def _mean(self, walls: Array, forces: Array) -> float:
        return float(np.sum(np.where(self.walled, walls * forces, 0.0))) / max(self.count, 1)

    def score(self) -> float:
        """Return the relative gap, or the residual of rows or slopes if that is larger."""
        value = abs(float(self.cost @ self.v))
        mass = float(np.sum(np.abs(self.v[: self.m])))
        gap = self.mu * self.count / max(value, EPS * self.size * mass, TINY)
        rows = self._rows(self.v, self.d)
        slopes = self._slopes(self.f, self.x) + self.cost - self.forces[0] + self.forces[1]
        self.residuals = -slopes, -rows
        largest = self.size + float(np.max(np.abs(self.x), initial=0.0))
        self.last = max(
            gap,
            float(np.max(np.abs(rows) / (mass * self.peaks + TINY), initial=0.0)),
            float(np.max(np.abs(slopes), initial=0.0)) / largest,
        )
        return self.last

    def step(self) -> None:
        """Take one predictor-corrector step."""
        s, m = self.samples, self.m
        stiff = np.where(self.walled, self.forces / self.walls, 0.0)
        D = stiff[0] + stiff[1]
        slopes, rows = self.residuals
        weight = s.total(1.0 / D[:m], self.n)
        Q = self.Q_single if self.last > SINGLE_SCORE else self.Q
        ridge = Ridge(Q, weight, np.append(1.0 / D[m:], np.zeros(len(self.d))))

        def direction(to: Array) -> tuple[Array, Array, Array, Array]:
            """Return the changes of x, f, distances and forces that add ``to`` to products."""
            push = np.where(self.walled, to / self.walls, 0.0)
            r = slopes + push[0] - push[1]
            right = self._rows(np.concatenate([r[:m] / D[:m], r[m:] / D[m:]]), 0.0) - rows
            dx = ridge.solve(right)
            df = self.Q @ dx
            dv = (r - self._slopes(df, dx)) / D
            change = np.array([dv, -dv])
            return dx, df, change, push - stiff * change

        products = self.walls * self.forces
        _, _, change, force = direction(-products)
        reach = self._reach(change, force)
        ahead = self._mean(self.walls + reach * change, self.forces + reach * force)
        mu = self.mu
        target = mu * (ahead / mu) ** 3
        dx, df, change, force = direction(target - change * force - products)
        reach = BOUNDARY_PART * self._reach(change, force, 1.0 / BOUNDARY_PART)
        self.v, self.x, self.f = (
            self.v + reach * change[0],
            self.x + reach * dx,
            self.f + reach * df,
        )
        self.walls, self.forces = self.walls + reach * change, self.forces + reach * force

    def _reach(self, change: Array, force: Array, most: float = 1.0) -> float:
        """Return how far distances and multipliers can go until one of them is zero."""
        steepest = max(
            float(np.max(np.where(self.walled, -change / self.walls, 0.0))),
            float(np.max(np.where(self.walled, -force / self.forces, 0.0))),
        )
        return min(most, 1.0 / max(steepest, TINY))

    def point(self, steps: int) -> CentralPoint:
        """Return the point, with what is off its bounds there."""
        m = self.m
        distance = np.min(np.where(self.walled, self.walls, np.inf), axis=0)
        force = np.max(np.where(self.walled, self.forces, 0.0), axis=0)
        # In units of the boxes and costs, and of the largest coefficient and price.
        width = self.samples.high - self.samples.low
        inside = (distance[:m] / width) / (force[:m] / self.size)
        largest = float(np.max(np.abs(self.x[: self.k]), initial=0.0)) or 1.0
        dearest = float(np.max(np.abs(self.v[m:]), initial=0.0)) or 1.0
        used = (force[m:] / largest) / (distance[m:] / dearest)
        return CentralPoint(self.v[:m], self.x, inside, used, steps)
