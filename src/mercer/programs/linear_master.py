"""Restricted linear programs of a sparse risk: some functions, and samples near kinks only."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer._linear_program import linear_program
from mercer._typing import Array
from mercer.losses.base import DualTerms
from mercer.problems.sparse_risk import SparseRisk
from mercer.programs.central_program import (
    CentralPoint,
    Columns,
    Variables,
    follow_path,
    solve_vertex,
)

__all__ = ["LinearMaster", "Master", "methods_for", "restricted_program"]

Indices = NDArray[np.intp]

# Samples up to which a program sees all of them, and how many it sees at least otherwise.
MAX_WHOLE_SAMPLES, MIN_SEEN_SAMPLES = 600, 400
# Samples times functions from which on the central path is faster than the simplex method.
MIN_CENTRAL_WORK = 4000
# Relative gap at which the central path shows its vertex, and that vertices may have for rounding.
VERTEX_GAP, ROUNDING_GAP = 1e-10, 1e-9
# Ratio of distance to force, at the end of the path, from which on a bound may not hold.
UNDECIDED_RATIO = 1e-4
# The same ratio of functions on the way, below which they have no coefficient.
ROUGH_RATIO = 0.1
# Height of the walls around coefficients while some samples are fixed, in units of the targets.
WALL_HEIGHT = 10.0
# Columns up to which the simplex method is faster than an interior point with crossover.
MAX_SIMPLEX_COLUMNS = 300
# A multiplier this close to its bounds, in units of the weight, is on them.
BOUND_TOL = 1e-7
# A coefficient smaller than this part of the largest is rounding.
ROUNDING_PART = 1e-12


class Master(NamedTuple):
    """The answer of a restricted problem: coefficients, and the multipliers of the samples.

    ``held`` says that a coefficient was kept from growing.
    """

    a: Array
    b: Array
    u: Array
    held: bool = False


class LinearMaster:
    r"""The dual of a restricted problem with a piecewise linear loss, as a linear program.

    .. math::

        \min_u \sum_i p^\pm_i u_i, \quad G_J'u = s,\; |s_j| \le w_j, \quad B'u = d,
        \quad \text{lower} \le u \le \text{upper}

    The multipliers of its rows are a and b. Its central path shows which variables are off their
    bounds, and the vertex solves the equations of those. Small programs, bounds on the norm and
    what has no such vertex go to the simplex method of HiGHS. There, a sample that is far from the
    kinks of its loss has the multiplier of the piece it lies on: only samples near a kink are
    variables. Where that turns out wrong they become variables, and the program is solved again.
    """

    def __init__(self, risk: SparseRisk) -> None:
        self.risk = risk
        assert isinstance(risk.free.terms, DualTerms)
        self.terms = risk.free.terms
        self.f: Array = np.zeros(0)
        self.wall = WALL_HEIGHT

    def __call__(self, GJ: Array, J: Indices, gap: float = 0.0) -> Master:
        """Solve the problem of some functions.

        Parameters
        ----------
        GJ, J : ndarray of shape (n, k) and (k,)
            The functions.
        gap : float, default=0.0
            A relative gap that is enough; zero for a vertex.
        """
        n = len(self.risk.y)
        if self.risk.radius is None and n * len(J) >= MIN_CENTRAL_WORK:
            found = self._central(GJ, J, gap)
            if found is not None:
                return found
        return self._simplex(GJ, J)

    def _simplex(self, GJ: Array, J: Indices) -> Master:
        """Solve by the simplex method, with the samples near a kink as variables."""
        n = len(self.risk.y)
        if n <= MAX_WHOLE_SAMPLES:
            return restricted_program(self.risk, GJ, J, np.ones(n, dtype=bool), np.zeros(n))
        many = 3 * len(J) + MIN_SEEN_SAMPLES
        near = self._near(self.f, many) if len(self.f) else self._guess(GJ, J)
        u = self._slope(self.f)
        while True:
            found = restricted_program(self.risk, GJ, J, near, np.where(near, 0.0, u), self.wall)
            self.f = GJ @ found.a + self.risk.B @ found.b
            # A sample whose price of being wrong is nothing may stay where it is.
            wrong = np.where(near, 0.0, self._loss(found.u, self.f))
            if np.any(wrong):
                worst = np.argsort(-wrong, kind="stable")[: int(np.sum(near))]
                near[worst[wrong[worst] > 0]] = True
            elif found.held:
                self.wall *= 10.0
            else:
                return found

    def _central(self, GJ: Array, J: Indices, gap: float) -> Master | None:
        """Follow the central path, at its end to the vertex; None where that is not to be had."""
        risk, k, n = self.risk, len(J), len(self.risk.y)
        w, signs = risk.weights[J], risk.signs[J]
        z = _variables(self.terms, np.flatnonzero(self.terms.upper > self.terms.lower), 1.0)
        columns = Columns(
            np.column_stack([GJ, risk.B]),
            np.where(signs > 0, -np.inf, -w),
            np.where(signs < 0, np.inf, w),
            risk.d,
        )
        point = follow_path(z, columns, gap or VERTEX_GAP)
        if point is None:
            return None
        if not gap:
            return self._vertex(GJ, J, z, columns, point) or self._face(GJ, J, z, point)
        u = z.gather(point.z, n)
        return Master(np.where(point.used > ROUGH_RATIO, point.x[:k], 0.0), point.x[k:], u)

    def _vertex(
        self, GJ: Array, J: Indices, z: Variables, columns: Columns, point: CentralPoint
    ) -> Master | None:
        """Solve the equations of the vertex that the path ends at; None if it is none."""
        solved = solve_vertex(z, columns, point)
        if solved is None:
            return None
        x = solved[1]
        found = Master(x[: len(J)], x[len(J) :], z.gather(solved[0], len(GJ)))
        return found if self._optimal(GJ, J, found) else None

    def _face(self, GJ: Array, J: Indices, z: Variables, point: CentralPoint) -> Master | None:
        """Find a vertex of the optimal face by the simplex method, among what is off its bounds.

        Copies of a function share its coefficient on the path, and of samples on a kink there may
        be more than coefficients.
        """
        used = np.flatnonzero(point.used > UNDECIDED_RATIO)
        near = np.zeros(len(self.risk.y), dtype=bool)
        near[z.sample[point.inside > UNDECIDED_RATIO]] = True
        there = np.where(z.high - point.z < point.z - z.low, z.high, z.low)
        u = z.gather(there, len(near))
        part = restricted_program(
            self.risk, GJ[:, used], J[used], near, np.where(near, 0.0, u), self.wall
        )
        a = np.zeros(len(J))
        a[used] = part.a
        found = part._replace(a=a)
        return found if not found.held and self._optimal(GJ, J, found) else None

    def _optimal(self, GJ: Array, J: Indices, found: Master) -> bool:
        """Answer whether coefficients and multipliers prove each other optimal, up to rounding."""
        f = GJ @ found.a + self.risk.B @ found.b
        signs, w = self.risk.signs[J], self.risk.weights[J]
        if np.any(signs * found.a < 0):
            return False
        price = GJ.T @ found.u
        excess = float(np.max(np.where(signs == 0, np.abs(price), signs * price) / w, initial=0.0))
        losses = float(np.sum(self._loss(found.u, f)))
        norms = float(np.sum(w * np.abs(found.a) - found.a * price))
        size = 1.0 + self.risk.free.risk(f) + float(w @ np.abs(found.a))
        good = excess <= 1.0 + ROUNDING_GAP and losses + abs(norms) <= ROUNDING_GAP * size
        if good:
            self.f = f
        return good

    def _guess(self, GJ: Array, J: Indices) -> NDArray[np.bool_]:
        """Solve for a subsample, to guess which samples are near a kink."""
        n = len(self.risk.y)
        some = np.sort(np.random.default_rng(n).choice(n, MIN_SEEN_SAMPLES, replace=False))
        drawn = np.isin(np.arange(n), some)
        found = restricted_program(
            self.risk, GJ, J, drawn, np.zeros(n), inflate=n / MIN_SEEN_SAMPLES
        )
        self.f = GJ @ found.a + self.risk.B @ found.b
        return self._near(self.f, 3 * len(J) + MIN_SEEN_SAMPLES)

    def _near(self, f: Array, many: int) -> NDArray[np.bool_]:
        """Return which samples are nearest to a kink of their loss."""
        t = self.terms
        distance = np.minimum(
            np.where(t.upper > 0, np.abs(f + t.p_pos), np.inf),
            np.where(t.lower < 0, np.abs(f + t.p_neg), np.inf),
        )
        near = np.zeros(len(f), dtype=bool)
        near[np.argpartition(distance, min(many, len(f) - 1))[:many]] = True
        return near

    def _slope(self, f: Array) -> Array:
        """Return the multipliers of decision values that are off the kinks."""
        t = self.terms
        return np.where(-f > t.p_pos, t.upper, np.where(-f < t.p_neg, t.lower, 0.0))

    def _loss(self, u: Array, f: Array) -> Array:
        """Return the duality gap of each sample between multipliers and decision values."""
        t = self.terms
        terms = t.value(f) + t.conjugate(u) + u * f
        return np.where(terms > 1e-12 * (1.0 + np.abs(u * f)), terms, 0.0)


def restricted_program(
    risk: SparseRisk,
    GJ: Array,
    J: Indices,
    near: NDArray[np.bool_],
    u: Array,
    wall: float | None = None,
    *,
    inflate: float = 1.0,
) -> Master:
    """Solve the dual for the samples ``near``, the others having the multipliers ``u``.

    Where others are fixed the rows of the program may not be satisfiable: then what is missing
    costs the height of a wall, which bounds the coefficients until the right samples are variables.

    Parameters
    ----------
    risk : SparseRisk
    GJ, J : ndarray of shape (n, k) and (k,)
        The functions.
    near : ndarray of bool of shape (n,)
        Which samples are variables.
    u : ndarray of shape (n,)
        Multipliers of the others, zero for those that are variables.
    wall : float, optional
        What a unit that is missing in a row costs, in units of the targets.
    inflate : float, default=1.0
        Factor of the weights, where some samples stand for all.
    """
    terms, rows, k, q = risk.free.terms, np.flatnonzero(near), len(J), risk.B.shape[1]
    assert isinstance(terms, DualTerms)
    z = _variables(terms, rows, inflate)
    # In units in which multipliers, and what they cost, are about one.
    unit = float(np.max(risk.c, initial=0.0)) * inflate
    if k and risk.radius is None:
        unit = min(unit, float(np.max(risk.weights[J])))
    size = float(np.max(np.abs(z.cost), initial=0.0)) or 1.0
    P, Q = GJ[z.sample].T * z.sign, risk.B[z.sample].T * z.sign
    w, signs = risk.weights[J] / unit, risk.signs[J]
    over, under = np.flatnonzero(signs >= 0), np.flatnonzero(signs <= 0)
    fixed, missing = -GJ.T @ u / unit, (risk.d - risk.B.T @ u) / unit
    box = np.column_stack([z.low, z.high]) / unit
    if risk.radius is None:
        # Prices are variables between minus and plus the weights, or just below them.
        band = np.column_stack([np.where(signs > 0, -np.inf, -w), np.where(signs < 0, np.inf, w)])
        cost, bounds = np.append(z.cost / size, np.zeros(k)), [box, band]
        A_eq = np.block([[P, -np.eye(k)], [Q, np.zeros((q, k))]])
        more: dict[str, Any] = {"A_eq": A_eq, "b_eq": np.append(fixed, missing)}
    else:
        # The largest price is a variable, and costs the radius.
        ceiling = -risk.weights[np.append(J[over], J[under])]
        cost, bounds = np.append(z.cost, risk.radius) / size, [box, np.array([[0.0, np.inf]])]
        more = {
            "A_ub": np.column_stack([np.vstack([P[over], -P[under]]), ceiling]),
            "b_ub": np.append(fixed[over], -fixed[under]),
            "A_eq": np.column_stack([Q, np.zeros(q)]),
            "b_eq": missing,
        }
    if wall is not None:
        r = len(more["b_eq"])
        more["A_eq"] = np.hstack([more["A_eq"], np.eye(r), -np.eye(r)])
        if "A_ub" in more:
            more["A_ub"] = np.hstack([more["A_ub"], np.zeros((len(more["b_ub"]), 2 * r))])
        cost = np.append(cost, np.full(2 * r, wall))
        bounds.append(np.tile([0.0, np.inf], (2 * r, 1)))
    box = np.vstack(bounds)
    answer = linear_program(cost, methods=methods_for(k), bounds=box, **more)
    b = -size * np.asarray(answer.eqlin.marginals)
    if risk.radius is None:
        a, b = b[:k], b[k:]
    else:
        m = -size * np.asarray(answer.ineqlin.marginals)
        a = np.zeros(k)
        a[over] += m[: len(over)]
        a[under] -= m[len(over) :]
    full = u.copy()
    found = np.clip(unit * answer.x[: len(z.sample)], z.low, z.high)
    np.add.at(full, z.sample, z.sign * found / inflate)
    if inflate == 1.0:
        a, b, full = _polish(risk, terms, GJ, J, a, b, full)
    largest = float(np.max(np.abs(np.append(a, b)), initial=0.0))
    held = wall is not None and largest >= 0.99 * wall * size
    return Master(np.where(np.abs(a) > ROUNDING_PART * largest, a, 0.0), b, full, held)


def _polish(
    risk: SparseRisk, terms: DualTerms, GJ: Array, J: Indices, a: Array, b: Array, u: Array
) -> tuple[Array, Array, Array]:
    """Solve the equations of a vertex, which a program knows to its tolerance, to rounding.

    Samples whose multiplier is off its bounds lie on a kink, functions with a coefficient have the
    price of their weight. The least corrections of both are taken where they help.
    """
    A = np.flatnonzero(np.abs(a) > ROUNDING_PART * np.max(np.abs(a), initial=0.0))
    room = BOUND_TOL * risk.c
    up, down = (u > room) & (u < terms.upper - room), (u < -room) & (u > terms.lower + room)
    I = np.flatnonzero(up | down)  # noqa: E741
    M = np.column_stack([GJ[:, A], risk.B])
    if not len(I) or not M.shape[1]:
        return a, b, u
    w, signs, q = risk.weights[J[A]], np.sign(a[A]), risk.B.shape[1]
    # Prices are the weights, or with a bound on the norm a common multiple of them.
    toward = np.append(signs * w, np.zeros(q))
    price, goal = M.T @ u, np.append(np.zeros(len(A)), risk.d)
    kinks = np.where(up, -terms.p_pos, -terms.p_neg)[I]
    short = kinks - M[I] @ np.append(a[A], b)
    if risk.radius is None:
        du = np.linalg.lstsq(M[I].T, goal + toward - price, rcond=None)[0]
        dab = np.linalg.lstsq(M[I], short, rcond=None)[0]
    else:
        level = float(np.mean(signs * price[: len(A)] / w)) if len(A) else 0.0
        missing = goal + level * toward - price
        du = np.linalg.lstsq(np.column_stack([M[I].T, -toward]), missing, rcond=None)[0][:-1]
        rows = np.vstack([M[I], toward])
        over = risk.radius - float(w @ np.abs(a[A]))
        dab = np.linalg.lstsq(rows, np.append(short, over), rcond=None)[0]
    better, finer, b_new = u.copy(), a.copy(), b + dab[len(A) :]
    better[I] = np.clip(u[I] + du, terms.lower[I], terms.upper[I])
    finer[A] += dab[: len(A)]
    same = np.array_equal(np.sign(finer), np.sign(a)) and np.all(np.isfinite(dab))
    if np.max(np.abs(short)) > 1e-6 * (1.0 + np.max(np.abs(kinks))) or not same:
        return a, b, u  # not at a vertex, so that there is nothing to correct
    return finer, b_new, better


def _variables(terms: DualTerms, rows: Indices, inflate: float) -> Variables:
    lower, upper = inflate * terms.lower[rows], inflate * terms.upper[rows]
    p_pos, p_neg = terms.p_pos[rows], terms.p_neg[rows]
    up = upper > 0
    bent = up & (lower < 0) & (p_pos > p_neg)
    return Variables(
        sample=np.append(rows, rows[bent]),
        sign=np.append(np.ones(len(rows)), -np.ones(int(bent.sum()))),
        cost=np.append(np.where(up, p_pos, p_neg), -p_neg[bent]),
        low=np.append(np.where(bent, 0.0, lower), np.zeros(int(bent.sum()))),
        high=np.append(upper, -lower[bent]),
    )


def methods_for(k: int) -> tuple[str, str]:
    """Return the methods of HiGHS for a program with k dense rows, the faster one first."""
    return ("highs-ds", "highs-ipm") if k <= MAX_SIMPLEX_COLUMNS else ("highs-ipm", "highs-ds")
