r"""The method of multipliers for losses with kinks.

.. math:: \min_{w, b}\ \tfrac12 |w|^2 + d'b + \sum_i c_i\, l_i(t_i),
          \qquad t = \Phi w + P b

Slopes :math:`v_0` of the losses are known from before; each outer step minimizes the problem with
losses rounded around them,

.. math:: l_\mu(t) = \max_v\ v t - l^*(v) - \tfrac{\mu}{2} (v - v_0)^2

by Newton's method, and takes the slopes v at its minimum for :math:`v_0`. Only rows whose rounded
loss is curved have a part in the curvature, and between two steps few rows change their slopes. The
unpenalized coefficients b are moved until :math:`P'(c v) + d = 0`, so that every v is feasible in
the dual problem and proves a bound: :math:`-\tfrac12 |\Phi'(c v)|^2 - \sum_i c_i l_i^*(v_i)`.

The search of a problem is a generator: it yields requests (:mod:`mercer.reduced.row_state`), and is
sent sums over the rows, wherever they are.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg as la

from mercer._typing import Array
from mercer.data.base import Sums
from mercer.reduced.base import FeatureMap
from mercer.reduced.newton import MAX_DUAL_RESIDUAL, STRAIGHT_CURVATURE
from mercer.reduced.row_state import Balance, Curvature, Look, Request, Slopes, Values

__all__ = ["Point", "Report", "search"]

# By what the width shrinks after a problem that took one step, or while so many rows are curved for
# every feature.
WIDTH_FACTOR, CURVED_ROWS_PER_FEATURE = 0.3, 6

# Part of the curved rows whose curvature may have changed for differences to be summed instead.
MAX_CHANGED_SHARE = 0.7

# Multiple of its diagonal by which a matrix whose digits were lost is positive definite.
MAX_SLACK = 1e6

# Steps of a search along a direction, and of one for the unpenalized coefficients.
MAX_LINE_STEPS, MAX_FREE_STEPS = 12, 60

# Shortest part of a step that is tried.
MIN_STEP_PART = 1e-12

# Steps in which slopes of curved rows are changed so that unpenalized columns balance.
MAX_BALANCE_STEPS = 5

# Residual of the unpenalized columns beside the size of its terms that counts as none.
MAX_FREE_RESIDUAL = 1e-13

# Part of the curvature of all rows that is added for columns that few of them tell apart.
MIN_CURVATURE_SHARE = 1e-10


@dataclass(frozen=True)
class Report:
    """Says that a step is done: the point has the best value and the best bound so far."""


Search = Generator[Request | Report, Any, Any]


@dataclass
class Point:
    """Where the search of a problem is, and the best that it has found.

    Parameters
    ----------
    w, b : (r,) and (q,) arrays
    mu : float
        Width over which kinks are rounded.
    first : bool
        Whether nothing is known of slopes, but of the coefficients.
    """

    w: Array
    b: Array
    mu: float
    first: bool = False
    best: tuple[Array, Array] = field(init=False)
    """Coefficients of the least value."""
    primal: float = np.inf
    dual: float = -np.inf
    steps: int = 0
    done: bool = False
    active: float = 0.0
    changes: dict[str, Any] = field(default_factory=dict)
    """What the next request changes before it asks; see :class:`Request`."""

    def __post_init__(self) -> None:
        self.best = self.w, self.b

    def taken(self) -> dict[str, Any]:
        """Return the changes, which are made once."""
        changes, self.changes = self.changes, {}
        return changes


@dataclass
class _Rounded:
    """The problem with losses rounded around the slopes that rows have for v0."""

    point: Point
    d: Array
    columns: Array
    """Sums of weighted squares of the unpenalized columns."""

    def at(self, b: Array) -> Generator[Request, Any, tuple[float, Array, float, Sums]]:
        """Return value, slope in b, its largest entry beside the size of its terms, and sums."""
        found = yield Look(b, self.point.mu, **self.point.taken())
        return (float(found["value"]) + float(self.d @ b), *self._residual(found), found)

    def _residual(self, found: Sums) -> tuple[Array, float]:
        slope, size = found["free"] + self.d, found["size"] + np.abs(self.d)
        ratios = np.abs(slope) / np.where(size > 0.0, size, 1.0)
        return slope, float(np.max(ratios, initial=0.0))

    def settle(self, b: Array) -> Generator[Request, Any, tuple[Array, float, Sums]]:
        """Return coefficients of the unpenalized columns that minimize, and what is left.

        Slopes of the rows are those there; what is left is the residual of the columns beside its
        terms.
        """
        value, slope, wrong, found = yield from self.at(b)
        low, high, stride, ease = -np.inf, np.inf, self.point.mu, 1.0
        for _ in range(MAX_FREE_STEPS if len(b) else 0):
            if wrong <= MAX_FREE_RESIDUAL:
                break
            S = found["S"]
            if len(b) > 1:
                # On straight pieces steps grow as long as whole ones lead down.
                step = -solve_positive(S + np.diag(ease * self.floor(S)), slope)
                moved = yield from self._descend(b, step, value, slope, wrong)
                whole = moved is not None and np.array_equal(moved[0], b + step)
                ease = max(0.1 * ease, MIN_STEP_PART) if whole else min(1.0, 10.0 * ease)
            else:
                # Slopes grow with the coefficient: Newton's step, or the middle where it leaves.
                low, high = (b[0], high) if slope[0] < 0 else (low, b[0])
                step, stride = (
                    (-slope / S[0], stride)
                    if S[0, 0] > 0
                    else (-np.sign(slope) * stride, 2.0 * stride)
                )
                new = b + step
                if not low < new[0] < high and np.isfinite(low + high):
                    new = np.array([0.5 * (low + high)])
                moved = None if new[0] == b[0] else (new, *(yield from self.at(new)))
            if moved is None:
                if len(b) > 1:
                    *_, found = yield from self.at(b)
                break
            b, value, slope, wrong, found = moved
        wrong = yield from self._balance(b, slope, wrong, found)
        return b, wrong, found

    def _balance(
        self, b: Array, slope: Array, wrong: float, found: Sums
    ) -> Generator[Request, Any, float]:
        """Change slopes of curved rows until columns balance, and return what is left.

        Next to rows of large weight the last digit of b moves more slope than others have.
        """
        for _ in range(MAX_BALANCE_STEPS):
            if wrong <= MAX_FREE_RESIDUAL or not found["active"]:
                break
            y = solve_positive(found["S"], slope)
            slope, wrong = self._residual((yield Balance(b, self.point.mu, y)))
        return wrong

    def _descend(
        self, b: Array, step: Array, value: float, slope: Array, wrong: float
    ) -> Generator[Request, Any, tuple[Array, float, Array, float, Sums] | None]:
        """Return the first of shorter and shorter steps that is better, by value or by slope."""
        descent, part = float(slope @ step), 1.0
        while part > MIN_STEP_PART:
            new = b + part * step
            tried = yield from self.at(new)
            # Where values are equal up to rounding, slopes still tell.
            told = tried[2] < wrong and -descent <= 1e-8 * abs(value)
            if tried[0] <= value + 1e-4 * part * descent or told:
                return (new, *tried)
            part *= 0.5
        return None

    def line(
        self, b: Array, norms: tuple[float, float, float], losses: float
    ) -> Generator[Request, Any, tuple[float, Array]]:
        """Minimize over the length of the step and the unpenalized coefficients.

        Parameters
        ----------
        b : (q,) array
        norms : three floats
            Products w'w, w'd and d'd of the coefficients and the step.
        losses : float
            Sum of rounded losses before the step.
        """
        q, s = len(b), 1.0
        ww, wd, dd = norms

        def at(s: float, b: Array) -> Generator[Request, Any, tuple[float, Sums]]:
            found = yield Look(b, self.point.mu, s, True, **self.point.taken())
            smooth = float(found["value"]) + 0.5 * (ww + 2.0 * s * wd + s * s * dd)
            return smooth + float(self.d @ b), found

        value, found = yield from at(s, b)
        if not value < losses + 0.5 * ww + float(self.d @ b):
            s = 0.0
            value, found = yield from at(s, b)
        for _ in range(MAX_LINE_STEPS):
            slope = np.concatenate([[found["gu"] + wd + s * dd], found["free"] + self.d])
            H = np.empty((q + 1, q + 1))
            H[0, 0] = found["gg"] + dd
            H[0, 1:] = H[1:, 0] = found["gP"]
            H[1:, 1:] = found["S"]
            floor = np.zeros(q + 1)
            floor[1:] = self.floor(H[1:, 1:])
            step = -solve_positive(H + np.diag(floor), slope)
            descent = float(slope @ step)
            if -descent <= 1e-10 * abs(value):
                break
            part = 1.0
            tried, new = yield from at(s + float(step[0]), b + step[1:])
            while tried > value + 1e-4 * part * descent and part > MIN_STEP_PART:
                part *= 0.5
                tried, new = yield from at(s + part * float(step[0]), b + part * step[1:])
            if tried > value:
                break
            s, b = s + part * float(step[0]), b + part * step[1:]
            fell, value, found = value - tried, tried, new
            if fell <= 1e-9 * abs(value):
                break
        return s, b

    def floor(self, S: Array) -> Array:
        """Return curvatures that stand for those of rows on straight pieces.

        They are parts of what all rows would have if all were curved: directions of the columns in
        which few rows are curved, or none, get steps of a length that makes sense.
        """
        share = np.where(np.diag(S) > 0.0, MIN_CURVATURE_SHARE, STRAIGHT_CURVATURE)
        size = self.columns / self.point.mu
        return np.asarray(np.maximum(share * size, np.sqrt(np.finfo(float).tiny)))


def solve_positive(S: Array, right: Array) -> Array:
    """Solve with a positive definite matrix, to whose diagonal more is added until it is."""
    diagonal = np.diag(S)
    scale = np.maximum(np.abs(diagonal), max(float(np.mean(np.abs(diagonal))), 1e-150))
    slack = 0.0
    while slack < MAX_SLACK:
        try:
            M = np.array(S, order="F")
            M[np.diag_indices(len(M))] += slack * scale
            factor = la.cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
            return np.asarray(la.cho_solve(factor, right, check_finite=False))
        except la.LinAlgError:
            slack = max(10.0 * slack, np.finfo(float).eps)
    # Only numbers that are not finite come here.
    raise ValueError(
        "the curvature is not finite in floating point: the data contain very large values. Scale "
        "the inputs and targets, or lower C."
    )


def search(
    phi: FeatureMap, d: Array, point: Point, tol: float, least: float, patience: int
) -> Search:
    """Minimize a problem, asking for what needs its rows.

    Parameters
    ----------
    phi : FeatureMap
    d : (q,) array
        Linear cost of the unpenalized coefficients.
    point : Point
        Where the search begins; changed.
    tol : float
        Largest gap relative to the value, or to `least` where that is larger.
    least : float
    patience : int
        Steps after which the search ends if its gap has not fallen by half meanwhile.
    """
    w, b = point.w, point.b
    sums = yield Values(phi.lift(w[:, None])[:, 0], **point.taken())
    loss = _Rounded(point, d, sums["columns"])
    since, before, fell = 0, np.inf, point.steps
    width, H, h = 0.0, np.zeros((phi.r, phi.r)), np.zeros((phi.r, len(b)))
    if point.first:
        # Slopes at the first values are better than none to round around.
        b, _, _ = yield from loss.settle(b)
        point.changes["recentre"] = True
    while True:
        b, wrong, found = yield from loss.settle(b)
        sums = yield Slopes(b, point.mu)
        p = phi.lower(sums["raw"][:, None])[:, 0]
        primal = 0.5 * float(w @ w) + float(d @ b) + float(sums["loss"])
        dual = -0.5 * float(p @ p) - float(sums["conjugate"])
        if primal < point.primal:
            point.primal, point.best = primal, (w, b)
        if dual > point.dual and wrong <= MAX_DUAL_RESIDUAL:
            point.dual, point.changes["keep"] = dual, True
        gap, goal = point.primal - point.dual, tol * max(abs(point.primal), least)
        point.done = gap <= goal
        if gap <= 0.5 * before and gap < np.inf:
            before, fell = gap, point.steps
        yield Report()
        if point.done or point.steps - fell >= patience:
            return
        slope = w + p
        left = 0.5 * float(slope @ slope)
        if left <= sums["young"] or left <= 1e-3 * goal:
            point.changes["recentre"] = True
            if since <= 1 or found["active"] > CURVED_ROWS_PER_FEATURE * phi.r:
                point.mu *= WIDTH_FACTOR
            since = 0
            b, _, found = yield from loss.settle(b)
            sums = yield Slopes(b, point.mu)
            slope = w + phi.lower(sums["raw"][:, None])[:, 0]
        point.active = float(found["active"])
        few = sums["changed"] <= MAX_CHANGED_SHARE * point.active
        ratio = width / point.mu if few else 0.0
        sums = yield Curvature(b, point.mu, ratio, **point.taken())
        width, H, h = point.mu, ratio * H + sums["H"], ratio * h + sums["h"]
        S = found["S"] + np.diag(loss.floor(found["S"]))
        step = -_newton_step(H, h, S, slope)
        yield Values(phi.lift(step[:, None])[:, 0], True)
        norms = float(w @ w), float(w @ step), float(step @ step)
        length, b = yield from loss.line(b, norms, float(found["value"]))
        point.changes["advance"] = length
        w = w + length * step
        point.w, point.b = w, b
        point.steps += 1
        since += 1


def _newton_step(H: Array, h: Array, S: Array, slope: Array) -> Array:
    """Solve ``(I + H - h S^-1 h') x = slope``, H in its lower triangle; free columns are S."""
    H = H - h @ solve_positive(S, h.T) if len(S) else H.copy()
    H[np.diag_indices(len(H))] += 1.0
    return solve_positive(H, slope)
