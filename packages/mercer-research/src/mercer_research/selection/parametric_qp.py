r"""Parametric quadratic programs: data on a line, a solution followed between active sets.

.. math::

    \min_a\; \tfrac12 a'Ka + \sum_i g_i(a_i; t) \quad \text{subject to}\; B'a = d(t), \qquad
    g_i(a; t) = p^\pm_i(t)\, a \ \text{on}\ [\text{lower}_i(t), \text{upper}_i(t)]

with everything affine in t. While no sample changes its *kind* (at zero, between zero and a bound,
on a bound) coefficients and decision values are affine in t too, so the next change is the least of
as many quotients as there are samples (Hastie, Rosset, Tibshirani and Zhu, JMLR 5, 2004).

A tiny ridge on b keeps the system regular where no coefficient is free. Where many samples change
at once (points repeat, or lie on a lattice) rounding decides wrongly; that is seen, and the path
goes on with linear costs that differ from sample to sample by as little as breaks the tie.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer_research.selection.active_set import (
    LOWER,
    NEGATIVE,
    POSITIVE,
    UPPER,
    ZERO,
    Kinds,
    kinds_of,
)

__all__ = ["Affine", "ParametricQP", "Piece", "StuckError"]

# The ridge on b, relative to the inverse of the largest kernel value: B'a misses so much of b.
RIDGE = 1e-12
# Updates of the inverse after which it is computed afresh, and the residual that asks for it.
FRESH, RESIDUAL = 100, 1e-13
# A sample whose row depends on the free ones up to this part of the kernel values takes the place
# of one of them: what decision values miss is this part of C k.
DEPENDENT = 1e-12
# Changes of kind without progress that are one tie; more are a cycle.
TIES = 20
# By how much, relative to linear costs or boxes, decision values and coefficients may be on the
# wrong side of a line.
SLIP, SPILL = 1e-8, 1e-5
# What is tried one after the other where more are: a perturbation of the linear costs, relative to
# them, and a part of t that is left out.
ATTEMPTS = (
    (0.0, 0.0),
    (1e-9, 0.0),
    (1e-8, 0.0),
    (1e-7, 0.0),
    (1e-9, 1e-9),
    (1e-8, 1e-7),
    (1e-8, 1e-5),
    (1e-7, 1e-4),
    (1e-7, 1e-3),
)


class StuckError(ArithmeticError):
    """No further step can be taken from here in floating point."""

    def __init__(self, pieces: list[Piece]) -> None:
        super().__init__("no exact step from here")
        self.pieces = pieces


@dataclass(frozen=True)
class Affine:
    """Numbers that move along a line, ``at + t * slope``."""

    at: Array
    slope: Array

    def __call__(self, t: float) -> Array:
        return self.at + t * self.slope

    @classmethod
    def through(cls, s: float, at_s: Array, t: float, at_t: Array) -> Affine:
        """Return the line through two values; infinite values stay infinite."""
        with np.errstate(invalid="ignore"):
            slope = np.where(np.isfinite(at_s) & np.isfinite(at_t), (at_t - at_s) / (t - s), 0.0)
        return cls(at_s - s * slope, slope)


@dataclass(frozen=True)
class Piece:
    """An active set, and ``b`` and the free coefficients: their values at the start, and slopes."""

    start: float
    end: float
    kinds: Kinds
    free: NDArray[np.intp]
    x: Array


@dataclass(frozen=True)
class ParametricQP:
    """A parametric quadratic program, whose ``d``, ``p`` and bounds are affine in t.

    One-sided boxes have infinite p.
    """

    K: Array
    B: Array
    p_pos: Affine
    p_neg: Affine
    lower: Affine
    upper: Affine
    d: Affine

    @property
    def n(self) -> int:
        return int(self.K.shape[0])

    @property
    def q(self) -> int:
        return int(self.B.shape[1])

    def two_sided(self) -> NDArray[np.bool_]:
        """Answer which samples pass zero without a kink."""
        return np.asarray(
            (self.p_pos.at == self.p_neg.at) & (self.p_pos.slope == self.p_neg.slope), dtype=bool
        )

    def kinds_of(self, a: Array, t: float) -> Kinds:
        """Read the kinds off coefficients that lie exactly on zero or on their bounds."""
        return kinds_of(a, self.lower(t), self.upper(t), self.two_sided())

    def coefficients(self, piece: Piece, t: float) -> tuple[Array, Array]:
        """Return ``a`` and ``b`` at a point of a piece."""
        a = np.zeros(self.n)
        a[piece.kinds == UPPER] = self.upper(t)[piece.kinds == UPPER]
        a[piece.kinds == LOWER] = self.lower(t)[piece.kinds == LOWER]
        x = piece.x[:, 0] + (t - piece.start) * piece.x[:, 1]
        # At the end of a piece a coefficient may miss zero or its bound by rounding.
        positive = piece.kinds[piece.free] == POSITIVE
        lower, upper = self.lower(t)[piece.free], self.upper(t)[piece.free]
        low = np.where(positive & ~self.two_sided()[piece.free], 0.0, lower)
        a[piece.free] = np.clip(x[self.q :], low, np.where(positive, upper, 0.0))
        return a, x[: self.q]

    def slopes(self, piece: Piece) -> tuple[Array, Array]:
        """Return the derivatives of ``a`` and ``b`` in t on a piece."""
        a = np.zeros(self.n)
        a[piece.kinds == UPPER] = self.upper.slope[piece.kinds == UPPER]
        a[piece.kinds == LOWER] = self.lower.slope[piece.kinds == LOWER]
        a[piece.free] = piece.x[self.q :, 1]
        return a, piece.x[: self.q, 1]

    def follow(
        self, a: Array, b: Array, start: float, end: float
    ) -> tuple[list[Piece], float, list[tuple[float, float]]]:
        """Follow the solution from nearly right coefficients to ``end``.

        Returns the pieces, the largest perturbation that was needed, and the intervals over which
        no step could be taken: there the piece before goes on, and behind them a new one starts.
        """
        pieces: list[Piece] = []
        jumps: list[tuple[float, float]] = []
        shaken, attempt, t = 0.0, 0, start
        while attempt < len(ATTEMPTS):
            shake, skip = ATTEMPTS[attempt]
            ahead = t + skip * (abs(t) if t else abs(end)) * np.sign(end - t)
            ahead = min(ahead, end) if end > t else max(ahead, end)
            program = self.perturbed(shake)
            try:
                # Coefficients of a tie may be free in numbers that make their system singular; from
                # zero on, with the tie broken, they never become so.
                if shake:
                    kinds = program.active_set_from_zero(ahead)
                else:
                    kinds = program.active_set_near(a, b, ahead)
                found, finished = program.trace(kinds, ahead, end), True
            except StuckError as stuck:
                found, finished = stuck.pieces, False
            attempt += 1
            if found:
                if skip and pieces:
                    jumps.append((t, ahead))
                    pieces[-1] = replace(pieces[-1], end=ahead)
                elif skip:
                    jumps.append((t, ahead))
                    found[0] = replace(found[0], start=t, x=_moved(found[0].x, t - ahead))
                pieces, shaken = pieces + found, max(shaken, shake)
                t, attempt = pieces[-1].end, 1
            if finished:
                return pieces, shaken, jumps
        raise FloatingPointError(
            f"the path cannot be followed beyond {t:.6g} in double precision; solve at the "
            "values that you need, with svm_path"
        )

    def perturbed(self, size: float) -> ParametricQP:
        """Return the program with linear costs moved at random, by so much relative to them."""
        if not size:
            return self
        move = size * self.scale * np.random.default_rng(0).uniform(-1.0, 1.0, self.n)
        return replace(
            self,
            p_pos=Affine(self.p_pos.at + move, self.p_pos.slope),
            p_neg=Affine(self.p_neg.at + move, self.p_neg.slope),
        )

    @property
    def scale(self) -> float:
        """The size of the linear costs."""
        p = np.abs(np.concatenate([self.p_pos.at, self.p_neg.at]))
        return float(np.max(p[np.isfinite(p)], initial=1e-300))

    def trace(self, kinds: Kinds, start: float, end: float) -> list[Piece]:
        """Follow the solution from ``start``, where ``kinds`` is right, to ``end``."""
        pieces: list[Piece] = []
        try:
            _Walk(self, kinds).run(start, end, pieces)
        except np.linalg.LinAlgError as error:
            raise StuckError(pieces) from error
        return pieces

    def active_set_near(self, a: Array, b: Array, t: float) -> Kinds:
        """Return the kinds of the solution at ``t``, from coefficients that are nearly right.

        The linear costs are moved until the coefficients given are exactly optimal, and then back:
        that, too, is a path.
        """
        kinds = self.kinds_of(a, t)
        v = -(self.K @ a + self.B @ b)
        p_pos, p_neg = self.p_pos(t), self.p_neg(t)
        high = np.where(kinds == POSITIVE, v, p_pos)
        high = np.where(kinds == UPPER, np.minimum(high, v), high)
        high = np.where(kinds == ZERO, np.maximum(high, v), high)
        low = np.where(kinds == NEGATIVE, v, p_neg)
        low = np.where(kinds == LOWER, np.maximum(low, v), low)
        low = np.where(kinds == ZERO, np.minimum(low, v), low)
        flat = self.two_sided()
        wall = np.where(kinds == LOWER, np.maximum(p_pos, v), high)
        high, low = np.where(flat, wall, high), np.where(flat, wall, low)
        d = self.B.T @ a - _ridge(self.K) * b
        return self._at(t, kinds, np.minimum(high, low), np.maximum(high, low), d)

    def active_set_from_zero(self, t: float) -> Kinds:
        """Return the kinds of the solution at ``t``, from nothing: walls that close in on zero."""
        away = self.scale * np.random.default_rng(1).uniform(1.0, 2.0, (2, self.n))
        low = np.minimum(self.p_neg(t), -away[0])
        high = np.maximum(self.p_pos(t), away[1])
        kinds = self._at(t, np.zeros(self.n, dtype=np.int8), low, high, np.zeros(self.q))
        kinds[self.two_sided() & (np.abs(kinds) < UPPER)] = POSITIVE
        return kinds

    def _at(self, t: float, kinds: Kinds, low: Array, high: Array, d: Array) -> Kinds:
        """Follow the linear costs from where ``kinds`` is right to where they are at ``t``."""
        still = replace(
            self,
            p_pos=Affine.through(0.0, high, 1.0, self.p_pos(t)),
            p_neg=Affine.through(0.0, low, 1.0, self.p_neg(t)),
            lower=Affine(self.lower(t), np.zeros(self.n)),
            upper=Affine(self.upper(t), np.zeros(self.n)),
            d=Affine.through(0.0, d, 1.0, self.d(t)),
        )
        try:
            return still.trace(kinds, 0.0, 1.0)[-1].kinds
        except StuckError as stuck:
            raise StuckError([]) from stuck


def _ridge(K: Array) -> float:
    return RIDGE / max(float(np.max(np.diagonal(K), initial=0.0)), 1e-300)


class _Walk:
    """A walk between active sets: kinds of samples, free samples and their inverse system."""

    def __init__(self, program: ParametricQP, kinds: Kinds) -> None:
        self.program, self.kinds = program, kinds.copy()
        n, q = program.n, program.q
        self.flat, self.scale = program.two_sided(), program.scale
        self.largest = float(np.max(np.diagonal(program.K), initial=0.0))
        self.free: list[int] = []
        room = q + 64
        self.M, self.inverse = np.zeros((room, room)), np.zeros((room, room))
        self.rows = np.zeros((64, n))
        self.size, self.age = q, 0
        # What the samples on their bounds contribute to Ka and B'a: value and slope.
        self.g, self.h = np.zeros((n, 2)), np.zeros((q, 2))
        # Each sample has a quantity that must stay between two lines: its coefficient if it is
        # free, and minus its decision value if not.
        self.low, self.high = np.zeros((n, 2)), np.zeros((n, 2))
        np.fill_diagonal(self.M[:q, :q], -_ridge(program.K))
        bound = np.flatnonzero(np.abs(kinds) == UPPER)
        for i in range(n):
            self._fence(i)
        self._carry(bound, 1.0)
        free = np.flatnonzero(np.abs(kinds) == POSITIVE)
        self._make_room(len(free))
        self.free = free.tolist()
        self.size = q + len(free)
        self.rows[: len(free)] = program.K[free]
        self._rebuild()

    def run(self, start: float, end: float, pieces: list[Piece]) -> None:
        """Walk from ``start`` to ``end``, in either direction, leaving pieces behind."""
        program, sign = self.program, 1.0 if end >= start else -1.0
        t, ties = start, 0
        while True:
            x = self._solve(t)
            q, m = program.q, self.size
            v = -(self.rows[: m - q].T @ x[q:] + _moved(self.g, t) + program.B @ x[:q])
            v[self.free] = x[q:]
            event, i, above, slip, spill = self._next(v, t, sign)
            if slip < -SLIP * self.scale or spill < -SPILL * float(
                np.max(program.upper(t) - program.lower(t))
            ):
                raise StuckError(pieces)
            stop = min(sign * end, max(event, sign * t)) * sign
            free = np.array(self.free, dtype=np.intp)
            if stop != t or not np.isfinite(event) or sign * stop >= sign * end:
                ties = 0
                pieces.append(Piece(t, stop, self.kinds.copy(), free, x))
            else:
                ties += 1
                if ties > TIES + 4 * len(self.free):
                    raise StuckError(pieces)
            if event >= sign * end:
                return
            at = x[:, 0] + (stop - t) * x[:, 1]
            t = stop
            self._change(i, above, at[q:], t)

    def _next(self, v: Array, t: float, sign: float) -> tuple[float, int, bool, float, float]:
        """Return when (in units that grow along the walk), where and at which end a line is met.

        The last two numbers say how far the worst decision value and the worst coefficient are
        on the right side of their lines at ``t``, not more than zero.
        """
        best, where, top, slip, spill = np.inf, -1, False, 0.0, 0.0
        gaps = (_moved(self.high, t) - v, True), (v - _moved(self.low, t), False)
        for gap, above in gaps:
            room, rate = gap[:, 0], sign * gap[:, 1]
            with np.errstate(divide="ignore", invalid="ignore"):
                when = np.where(rate < 0, -room / rate, np.inf)
            k = int(np.argmin(when))
            if when[k] < best:
                best, where, top = float(when[k]), k, above
            spill = float(np.min(room[self.free], initial=spill))
            room[self.free] = 0.0
            slip = min(slip, float(np.min(room)))
        return sign * t + max(best, 0.0), where, top, slip, spill

    def _change(self, i: int, above: bool, x: Array, t: float) -> None:
        """Give sample ``i`` the kind on the other side of the line that it has met.

        The free coefficients are ``x``. A sample that depends on the free ones would make their
        system singular: instead, its coefficient moves inwards and theirs make up for it, at no
        cost, until one of them meets zero or a bound and leaves.
        """
        kind = int(self.kinds[i])
        flat = bool(self.flat[i])
        if kind == ZERO:
            new = POSITIVE if above else NEGATIVE
        elif abs(kind) == POSITIVE:
            new = self._beyond(kind, above, flat)
        else:
            new = POSITIVE if kind == UPPER or flat else NEGATIVE
        if abs(new) == POSITIVE:
            _, u, schur = self._border(i)
            if schur <= DEPENDENT * self.largest and self.free:
                inwards = 1.0 if kind == LOWER or (kind == ZERO and above) else -1.0
                j, above = self._exchange(i, new, inwards, -inwards * u[self.program.q :], x, t)
                if j == i:
                    new = self._beyond(new, above, flat)
                else:
                    leaving = int(self.kinds[j])
                    self._drop(self.free.index(j))
                    self._turn(j, self._beyond(leaving, above, bool(self.flat[j])))
        if abs(kind) == POSITIVE:
            self._drop(self.free.index(i))
        self._turn(i, new)
        if abs(new) == POSITIVE:
            self._add(i)

    def _beyond(self, kind: int, above: bool, flat: bool) -> int:
        """Return the kind of a free sample beyond the end that it meets."""
        if kind == POSITIVE:
            return UPPER if above else (LOWER if flat else ZERO)
        return ZERO if above else LOWER

    def _exchange(
        self, i: int, new: int, step: float, steps: Array, x: Array, t: float
    ) -> tuple[int, bool]:
        """Return which coefficient meets an end first, and which, as ``i`` moves by ``step``."""
        before, self.kinds[i] = self.kinds[i], new
        self._fence(i)
        index = np.append(self.free, i)
        low, high = _moved(self.low[index], t)[:, 0], _moved(self.high[index], t)[:, 0]
        self.kinds[i] = before
        x, steps = np.append(x, low[-1] if step > 0 else high[-1]), np.append(steps, step)
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(steps > 0, (high - x) / steps, (low - x) / steps)
        # Rounding leaves nothing exactly at rest.
        room[np.abs(steps) < 1e-9] = np.inf
        k = int(np.argmin(room))
        return int(index[k]), bool(steps[k] > 0)

    def _turn(self, i: int, new: int) -> None:
        """Change the kind of a sample, and its contribution to products from a bound."""
        one = np.array([i])
        if abs(self.kinds[i]) == UPPER:
            self._carry(one, -1.0)
        self.kinds[i] = new
        self._fence(i)
        if abs(new) == UPPER:
            self._carry(one, 1.0)

    def _fence(self, i: int) -> None:
        """Write down between which lines the quantity of sample ``i`` must stay."""
        p, kind = self.program, int(self.kinds[i])
        zero, far = (0.0, 0.0), (np.inf, 0.0)
        pos, neg = (p.p_pos.at[i], p.p_pos.slope[i]), (p.p_neg.at[i], p.p_neg.slope[i])
        lower, upper = (p.lower.at[i], p.lower.slope[i]), (p.upper.at[i], p.upper.slope[i])
        down = (-np.inf, 0.0)
        self.low[i], self.high[i] = {
            LOWER: (down, neg),
            NEGATIVE: (lower, zero),
            ZERO: (neg, pos),
            POSITIVE: (lower if self.flat[i] else zero, upper),
            UPPER: (pos, far),
        }[kind]

    def _carry(self, index: NDArray[np.intp], sign: float) -> None:
        """Add the contributions of samples on their bounds to products, or remove them."""
        p = self.program
        at_top = self.kinds[index] == UPPER
        t = np.stack(
            [
                np.where(at_top, p.upper.at[index], p.lower.at[index]),
                np.where(at_top, p.upper.slope[index], p.lower.slope[index]),
            ],
            axis=1,
        )
        self.g += sign * (p.K[index].T @ t)
        self.h += sign * (p.B[index].T @ t)

    def _right_side(self, t: float) -> Array:
        p, kinds = self.program, self.kinds[self.free]
        positive = kinds == POSITIVE
        at = np.where(positive, p.p_pos.at[self.free], p.p_neg.at[self.free])
        slope = np.where(positive, p.p_pos.slope[self.free], p.p_neg.slope[self.free])
        top = np.stack([p.d.at, p.d.slope], axis=1) - self.h
        rest = -np.stack([at, slope], axis=1) - self.g[self.free]
        return _moved(np.concatenate([top, rest]), t)

    def _solve(self, t: float) -> Array:
        """Return b and the free coefficients, value at ``t`` and slope, refined to rounding."""
        m, right = self.size, self._right_side(t)
        if self.age > FRESH:
            self._rebuild()
        for last in (False, True):
            M, inverse = self.M[:m, :m], self.inverse[:m, :m]
            x = inverse @ right
            for _ in range(2):
                x = x + inverse @ (right - M @ x)
            error = np.max(np.abs(right - M @ x), axis=0, initial=0.0)
            scale = np.max(np.abs(right), axis=0, initial=1e-300)
            if last or np.all(error <= RESIDUAL * (scale + np.abs(x).sum(axis=0) * self.largest)):
                break
            self._rebuild()
        return np.asarray(x)

    def _rebuild(self) -> None:
        """Compute system and inverse afresh from the kernel matrix."""
        p, q, m, free = self.program, self.program.q, self.size, self.free
        self.M[q:m, q:m] = self.rows[: m - q][:, free]
        self.M[:q, q:m] = p.B[free].T
        self.M[q:m, :q] = p.B[free]
        if m:
            self.inverse[:m, :m] = np.linalg.inv(self.M[:m, :m])
        self.age = 0

    def _add(self, i: int) -> None:
        """Border the inverse with sample ``i``."""
        p, q, m = self.program, self.program.q, self.size
        self._make_room(m - q + 1)
        column, u, schur = self._border(i)
        self.M[:m, m] = self.M[m, :m] = column
        self.M[m, m] = p.K[i, i]
        self.rows[m - q] = p.K[i]
        self.free.append(i)
        self.size += 1
        if abs(schur) < DEPENDENT * self.largest:
            self._rebuild()
            return
        w = np.append(-u, 1.0)
        self.inverse[m, : m + 1] = self.inverse[: m + 1, m] = 0.0
        self.inverse[: m + 1, : m + 1] += np.outer(w, w / schur)
        self.age += 1

    def _border(self, i: int) -> tuple[Array, Array, float]:
        """Return the column of sample ``i``, its solution, and its Schur complement."""
        p, m = self.program, self.size
        column = np.concatenate([p.B[i], p.K[i, self.free]])
        u = self.inverse[:m, :m] @ column
        u += self.inverse[:m, :m] @ (column - self.M[:m, :m] @ u)
        return column, u, float(p.K[i, i] - column @ u)

    def _drop(self, j: int) -> None:
        """Take the j-th free sample out of the inverse: the last one moves to its place."""
        q, m = self.program.q, self.size
        k, last = q + j, m - 1
        for A in (self.M, self.inverse):
            A[[k, last], :m] = A[[last, k], :m]
            A[:m, [k, last]] = A[:m, [last, k]]
        self.rows[j] = self.rows[last - q]
        self.free[j] = self.free[-1]
        self.free.pop()
        self.size -= 1
        w, corner = self.inverse[:last, last].copy(), self.inverse[last, last]
        self.inverse[:last, :last] -= np.outer(w, w / corner)
        self.age += 1

    def _make_room(self, count: int) -> None:
        if count <= len(self.rows):
            return
        room = max(count, 2 * len(self.rows))
        self.rows = np.concatenate([self.rows, np.zeros((room - len(self.rows), self.program.n))])
        more = (0, room + self.program.q - len(self.M))
        self.M, self.inverse = np.pad(self.M, (more, more)), np.pad(self.inverse, (more, more))


def _moved(lines: Array, t: float) -> Array:
    """Return values at ``t`` beside the slopes, for lines given by values at zero and slopes."""
    return np.stack([lines[:, 0] + t * lines[:, 1], lines[:, 1]], axis=1)
