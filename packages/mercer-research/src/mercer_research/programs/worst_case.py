r"""A sum of components at its worst where they are missing, by an interior point of few variables.

.. math::

    \min_{w, b, t}\; \tfrac12 \sum_p |w_p|^2 + \mu \sum_p t_p
    + \sum_i c_i \max_{|u| \le T_i} l\Bigl(y_i, b + \sum_{p \text{ there}} w_p'\varphi_p(x_i)
    + u\Bigr), \qquad T_i = \sum_{p \text{ missing}} t_p,

with :math:`|w_p'\varphi_p(x_i)| \le t_p` wherever p is observed: the problem of
:class:`~mercer.programs.variation.VariationProblem` with a constant, for samples too large for its
program. On side :math:`\sigma = \pm 1` a loss with conjugate :math:`p_\sigma a + \tfrac12 q_\sigma
a^2` up to :math:`u_\sigma` costs the least :math:`\tfrac12 e^2 + \xi` with :math:`\xi \ge 0` and

.. math:: \sqrt{q_\sigma}\, e + \xi / u_\sigma + \sigma (f_i + p_\sigma) - T_i \ge 0 .

Errors e and :math:`\xi` belong to one sample and are eliminated by themselves, so that a step is a
system in w, b and t alone, made of products like :math:`F' D F`: its cost grows like n.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.losses.base import DualTerms
from mercer.programs.variation import Part, Variation
from mercer.solvers.solution import Solution
from mercer.solvers.status import Status

__all__ = ["worst_case"]

Rows = tuple[Array, ...]
"""Numbers for each kind of row: losses, errors, floors, and the bounds of each component."""

Direction = tuple[Array, Array, Array, Rows, Rows]
"""Changes of v, e and xi, of slacks and of prices."""

# How much of the way to the boundary a step goes.
BOUNDARY_PART = 0.995

# Steps without progress that end the search: nothing but rounding is left.
MAX_IDLE_STEPS = 12

# Added to the unit diagonal of a system, and steps that take its effect out again.
SYSTEM_RIDGE, REFINEMENTS = 1e-13, 3


class ConicPoint(NamedTuple):
    """Variables, slacks of the rows and their prices, by the kind of row."""

    v: Array
    """Coefficients w, the constant and the bounds t, in one vector."""
    e: Array
    xi: Array
    s: Rows
    z: Rows


def worst_case(
    terms: DualTerms,
    parts: Sequence[Part],
    variation: float = 0.0,
    *,
    tol: float = 1e-6,
    max_iter: int = 100,
    max_time: float | None = None,
) -> Variation:
    r"""Minimize the worst case of a risk.

    Parameters
    ----------
    terms : DualTerms
        The weighted losses.
    parts : sequence of Part
        The components on the sample.
    variation : float, default=0.0
        The price :math:`\mu` of the largest value of a component.
    tol : float, default=1e-6
        Relative duality gap, of a feasible pair.
    max_iter : int, default=100
        Largest number of steps.
    max_time : float, optional
        Largest number of seconds.

    Returns
    -------
    Variation

    Raises
    ------
    ValueError
        For a loss that is a parabola and then a line, differently on its two sides: its worst case
        is no quadratic program.

    Examples
    --------
    The third sample lacks its only input, and may be on either side:

    >>> import numpy as np
    >>> from mercer.losses import Hinge
    >>> from mercer.programs.variation import Part
    >>> part = Part(np.array([[-2.0], [-1.0], [1.0]]), np.array([0, 1, -1, 2]))
    >>> terms = Hinge().dual_terms(np.array([-1.0, -1.0, 1.0, 1.0]), np.full(4, 10.0))
    >>> found = worst_case(terms, [part])
    >>> found.variation.round(4), found.solution.converged
    (array([1.3333]), True)
    """
    problem = _Worst(terms, parts, float(variation))
    started = time.perf_counter()
    point, status = problem.start(), Status.MAX_ITER
    best, since, steps = problem.certified(point), 0, 0
    while True:
        answer = problem.certified(point)
        since = 0 if answer.gap < 0.9 * best.gap else since + 1
        best = answer if answer.gap < best.gap else best
        if best.gap <= tol * (1.0 + abs(best.objective)):
            status = Status.CONVERGED
            break
        if max_time is not None and time.perf_counter() - started > max_time:
            status = Status.MAX_TIME
            break
        if steps == max_iter:
            break
        try:
            with np.errstate(all="ignore"):
                point, steps = problem.step(point), steps + 1
        except la.LinAlgError:
            since = MAX_IDLE_STEPS
        if since >= MAX_IDLE_STEPS or not np.all(np.isfinite(point.v)):
            status = Status.STALLED
            break
    w = best.v[: problem.r]
    b = best.v[problem.r : problem.r + 1]
    solution = Solution(
        a=best.a,
        b=b,
        objective=best.objective,
        dual=best.objective - best.gap,
        gap=best.gap,
        violation=best.gap / (1.0 + abs(best.objective)),
        residual=0.0,
        status=status,
        n_iter=steps,
        solver="worst_case",
        reason=f"{len(best.a)} samples, {problem.m} variables after elimination",
        f=problem.F @ w + b,
        times={"solve": time.perf_counter() - started},
        resolution=tol * float(np.sum(problem.terms.value(np.zeros(len(best.a))))),
    )
    return Variation([w[at] for at in problem.slices], b, best.t, solution, [])


class _Certified(NamedTuple):
    v: Array
    t: Array
    a: Array
    objective: float
    gap: float


@dataclass(eq=False)
class _Worst:
    """The problem, and the parts of a Newton step."""

    terms: DualTerms
    parts: Sequence[Part]
    mu: float

    def __post_init__(self) -> None:
        terms, n = self.terms, len(self.terms.upper)
        self.F = np.hstack([np.zeros((n, 0)), *(part.design for part in self.parts)])
        gaps = [np.zeros((n, 0)), *(~part.observed[:, None] for part in self.parts)]
        self.M = np.hstack(gaps).astype(np.float64)
        ends = np.cumsum([0, *(part.features.shape[1] for part in self.parts)]).tolist()
        self.slices = [slice(i, j) for i, j in pairwise(ends)]
        self.r, self.P = self.F.shape[1], len(self.parts)
        self.m = self.r + 1 + self.P
        self.sign = np.array([[1.0], [-1.0]])
        self.bound = np.stack([terms.upper, -terms.lower])
        self.row = self.bound > 0
        self.shift = np.stack([terms.p_pos, terms.p_neg])
        self.root = np.where(self.row, np.sqrt(np.stack([terms.q_pos, terms.q_neg])), 0.0)
        limited = self.row & np.isfinite(self.bound)
        self.price = np.divide(1.0, self.bound, out=np.zeros_like(self.bound), where=limited)
        self.line = np.asarray(limited.any(axis=0))
        both = self.row.all(axis=0) & (self.root > 0).any(axis=0) & self.line
        uneven = (self.root[0] != self.root[1]) | (self.price[0] != self.price[1])
        if np.any(both & uneven):
            raise ValueError(
                "the worst case of a loss that is a parabola and then a line, differently on its "
                "two sides, is no quadratic program; use a loss whose sides are alike."
            )

    # Rows -----------------------------------------------------------------------------------------

    def split(self, v: Array) -> tuple[Array, float, Array]:
        return v[: self.r], float(v[self.r]), v[self.r + 1 :]

    def losses(self, v: Array, e: Array, xi: Array) -> Array:
        """Return the rows of the losses without their shift, (2, n)."""
        w, b, t = self.split(v)
        return self.sign * (self.F @ w + b) - self.M @ t + self.root * e + self.price * xi

    def bounds(self, v: Array) -> list[Array]:
        r"""Return :math:`t_p \mp f_p` at the different values of each component, (2, m_p)."""
        w, _, t = self.split(v)
        values = [part.features @ w[at] for part, at in zip(self.parts, self.slices, strict=True)]
        return [np.stack([t[p] - f, t[p] + f]) for p, f in enumerate(values)]

    def rows(self, v: Array, e: Array, xi: Array) -> Rows:
        """Return all rows, each of which is to be at least zero."""
        loss = self.losses(v, e, xi) + self.sign * self.shift
        return (loss, xi, v[self.r + 1 :], *self.bounds(v))

    def gathered(self, z: Rows) -> tuple[Array, Array, Array]:
        """Return the transposed rows times prices: for v, e and xi."""
        loss, line, floor, *caps = z
        a = loss[0] - loss[1]
        w = self.F.T @ a
        for part, at, cap in zip(self.parts, self.slices, caps, strict=True):
            w[at] += part.features.T @ (cap[1] - cap[0])
        t = floor - self.M.T @ loss.sum(axis=0) + np.array([cap.sum() for cap in caps])
        e = (self.root * loss).sum(axis=0)
        return np.concatenate([w, [a.sum()], t]), e, (self.price * loss).sum(axis=0) + line

    # The path -------------------------------------------------------------------------------------

    def start(self) -> ConicPoint:
        v = np.zeros(self.m)
        v[self.r + 1 :] = 1.0
        n = len(self.line)
        loss = np.where(self.price > 0, 0.25 * np.where(self.price > 0, self.bound, 1.0), 1.0)
        loss = np.where(self.row, loss, 0.0)
        pull = self.mu + self.M.T @ loss.sum(axis=0) + 1.0
        caps = [
            np.full((2, len(p.features)), 0.25 * pull[k] / len(p.features))
            for k, p in enumerate(self.parts)
        ]
        z = (loss, np.where(self.line, 0.5, 0.0), 0.5 * pull, *caps)
        e = (self.root * loss).sum(axis=0)
        xi = np.where(self.line, 1.0, 0.0) * np.ones(n)
        s = tuple(np.maximum(np.abs(row), 1.0) for row in self.rows(v, e, xi))
        return ConicPoint(v, e, xi, s, z)

    def live(self, kind: int) -> NDArray[np.bool_] | bool:
        """Return which rows of a kind there are."""
        return (self.row, self.line)[kind] if kind < 2 else True

    def step(self, x: ConicPoint) -> ConicPoint:
        """Return the point after a step of predictor and corrector."""
        rows = self.rows(x.v, x.e, x.xi)
        rp = tuple(row - s for row, s in zip(rows, x.s, strict=True))
        pulled_v, pulled_e, pulled_xi = self.gathered(x.z)
        cost = np.concatenate([x.v[: self.r], [0.0], np.full(self.P, self.mu)])
        rd = (cost - pulled_v, x.e - pulled_e, np.where(self.line, 1.0 - pulled_xi, 0.0))
        count = sum(int(np.sum(np.broadcast_to(self.live(k), s.shape))) for k, s in enumerate(x.s))
        mean = sum(float(np.sum(s * z)) for s, z in zip(x.s, x.z, strict=True)) / count
        solve = self._factor(x)
        rc = tuple(s * z for s, z in zip(x.s, x.z, strict=True))
        _, _, _, ds, dz = solve(rd, rp, rc)
        along = _room(x.s, ds), _room(x.z, dz)
        ahead = sum(
            float(np.sum((s + along[0] * a) * (z + along[1] * b)))
            for s, a, z, b in zip(x.s, ds, x.z, dz, strict=True)
        )
        centre = (ahead / count / mean) ** 3 * mean
        target = tuple(
            np.where(self.live(k), c + a * b - centre, 0.0)
            for k, (c, a, b) in enumerate(zip(rc, ds, dz, strict=True))
        )
        dv, de, dxi, ds, dz = solve(rd, rp, target)
        # One length for all: the quadratic cost ties variables to prices.
        length = BOUNDARY_PART * min(_room(x.s, ds), _room(x.z, dz))
        s = [value + length * d for value, d in zip(x.s, ds, strict=True)]
        z = tuple(value + length * d for value, d in zip(x.z, dz, strict=True))
        v, e = x.v + length * dv, x.e + length * de
        xi = self._paid(v, e, x.xi + length * dxi, s, z)
        s[1] = np.where(self.line, np.where(xi > 0, xi, s[1]), s[1])
        return ConicPoint(v, e, xi, tuple(s), z)

    def _paid(self, v: Array, e: Array, xi: Array, s: list[Array], z: Rows) -> Array:
        """Return the errors that are paid for from their rows, which determine them best."""
        side = np.argmax(np.where(self.row & (self.price > 0), z[0] / s[0], -1.0), axis=0)
        at = (side, np.arange(len(xi)))
        short = s[0][at] - (self.losses(v, e, np.zeros_like(xi)) + self.sign * self.shift)[at]
        paid = self.line & (z[0][at] > s[0][at]) & (z[1] < s[1]) & (short > 0)
        return np.where(paid, short / np.where(paid, self.price[at], 1.0), xi)

    def _factor(self, x: ConicPoint) -> Callable[[Rows, Rows, Rows], Direction]:
        """Return the solver of Newton's system, by the Schur complement without the errors."""
        loss, line = 0, 1
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = np.where(self.row, x.s[loss] / x.z[loss], np.inf)
            D = tuple(
                np.where(self.live(k), z / s, 0.0)
                for k, (s, z) in enumerate(zip(x.s, x.z, strict=True))
            )
            ease = np.where(self.line, 1.0 / np.where(self.line, D[line], 1.0), 0.0)
        # (1/d + E C^-1 E')^-1 of the two sides of a sample, without cancellation.
        n11, n22 = self.root**2 + self.price**2 * ease
        n12 = self.root[0] * self.root[1] + self.price[0] * self.price[1] * ease
        cross = (self.root[0] * self.price[1] - self.root[1] * self.price[0]) ** 2 * ease
        a1, a2 = inverse
        one, two = self.row
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            det = a1 * a2 + a1 * n22 + a2 * n11 + cross
            o11 = np.where(one & two, (a2 + n22) / det, np.where(one, 1.0 / (a1 + n11), 0.0))
            o22 = np.where(one & two, (a1 + n11) / det, np.where(two, 1.0 / (a2 + n22), 0.0))
            o12 = np.where(one & two, -n12 / det, 0.0)
        H = np.zeros((self.m, self.m))
        w, b, t = slice(0, self.r), self.r, slice(self.r + 1, self.m)
        gg, gm, mm = o11 + o22 - 2.0 * o12, o22 - o11, o11 + o22 + 2.0 * o12
        G = np.hstack([self.F, np.ones((len(gg), 1))])
        H[: b + 1, : b + 1] = (G.T * gg) @ G
        H[: b + 1, t] = (G.T * gm) @ self.M
        H[t, t] = (self.M.T * mm) @ self.M + np.diag(D[2])
        for p, (part, at) in enumerate(zip(self.parts, self.slices, strict=True)):
            up, down = D[3 + p]
            H[at, at] += (part.features.T * (up + down)) @ part.features
            H[at, self.r + 1 + p] += part.features.T @ (down - up)
            H[self.r + 1 + p, self.r + 1 + p] += float(np.sum(up + down))
        H[w, w] += np.eye(self.r)
        H[t, : b + 1] = H[: b + 1, t].T
        scale = 1.0 / np.sqrt(np.diag(H))
        H = scale[:, None] * H * scale
        # The ridge makes a factor possible whatever the weights; refinement takes it out again.
        factor = la.cho_factor(H + SYSTEM_RIDGE * np.eye(self.m), check_finite=False)

        def system(right: Array) -> Array:
            right = scale * right
            y = la.cho_solve(factor, right, check_finite=False)
            for _ in range(REFINEMENTS):
                y += la.cho_solve(factor, right - H @ y, check_finite=False)
            return np.asarray(scale * y)

        def solve(rd: Rows, rp: Rows, rc: Rows) -> Direction:
            with np.errstate(divide="ignore", invalid="ignore"):
                pushed = tuple(
                    np.where(self.live(k), c / s + d * p, 0.0)
                    for k, (c, s, d, p) in enumerate(zip(rc, x.s, D, rp, strict=True))
                )
            gv, ge, gx = self.gathered(pushed)
            rv, re, rx = -rd[0] - gv, -rd[1] - ge, -rd[2] - gx
            eased = np.where(self.line, ease * rx, 0.0)
            base = self.root * re + self.price * eased

            def weigh(y: Array) -> Array:
                return np.stack([o11 * y[0] + o12 * y[1], o12 * y[0] + o22 * y[1]])

            nothing = tuple(np.zeros_like(s) for s in x.s[1:])
            back = self.gathered((weigh(base), *nothing))[0]
            dv = system(rv - back)
            zero = np.zeros_like(x.e)
            lam = weigh(self.losses(dv, zero, zero) + base)
            de = re - (self.root * lam).sum(axis=0)
            dxi = np.where(self.line, ease * (rx - (self.price * lam).sum(axis=0)), 0.0)
            moved = (self.losses(dv, de, dxi), dxi, dv[self.r + 1 :], *self.bounds(dv))
            ds = [
                np.where(self.live(k), a + p, 0.0)
                for k, (a, p) in enumerate(zip(moved, rp, strict=True))
            ]
            with np.errstate(divide="ignore", invalid="ignore"):
                dz = [
                    np.where(self.live(k), -c / s - d * a, 0.0)
                    for k, (c, s, d, a) in enumerate(zip(rc, x.s, D, ds, strict=True))
                ]
                # Where an error has to be paid, its change is a small difference of large numbers:
                # the price is known without it, and the slack follows from the price.
                dz[loss] = np.where(self.row, -pushed[loss] - lam, 0.0)
                paid = -(rc[loss] + x.s[loss] * dz[loss]) / x.z[loss]
                ds[loss] = np.where(self.row & (D[loss] > 1.0), paid, ds[loss])
            return dv, de, dxi, tuple(ds), tuple(dz)

        return solve

    # The certificate ------------------------------------------------------------------------------

    def certified(self, x: ConicPoint) -> _Certified:
        """Measure the primal at the coefficients and the dual at prices made feasible."""
        w, b, _ = self.split(x.v)
        caps = [part.features @ w[at] for part, at in zip(self.parts, self.slices, strict=True)]
        t = np.array([np.max(np.abs(f), initial=0.0) for f in caps])
        f, T = self.F @ w + b, self.M @ t
        cost = np.maximum(self.terms.value(f - T), self.terms.value(f + T))
        objective = 0.5 * float(w @ w) + self.mu * float(t.sum()) + float(cost.sum())
        loss, _, _, *bounds = x.z
        loss = loss / np.maximum(1.0, (self.price * loss).sum(axis=0))
        up, down = loss.sum(axis=1)
        most = min(up, down)
        loss = loss * (most / np.maximum(np.array([[up], [down]]), 1e-300))
        a = loss[0] - loss[1]
        room = self.mu + self.M.T @ loss.sum(axis=0)
        pull = self.F.T @ a
        for p, (part, at, z) in enumerate(zip(self.parts, self.slices, bounds, strict=True)):
            share = min(1.0, room[p] / max(float(z.sum()), 1e-300))
            pull[at] += share * (part.features.T @ (z[1] - z[0]))
        linear = -float(np.sum(self.sign * self.shift * loss))
        curved = float(np.sum((self.root * loss).sum(axis=0) ** 2))
        dual = linear - 0.5 * curved - 0.5 * float(pull @ pull)
        return _Certified(x.v, t, a, objective, max(objective - dual, 0.0))


def _room(x: Rows, dx: Rows) -> float:
    """Return how far along a direction all entries stay positive, one at most."""
    length = 1.0
    for value, change in zip(x, dx, strict=True):
        falling = change < 0
        if np.any(falling):
            length = min(length, float(np.min(-value[falling] / change[falling])))
    return length
