r"""The path in C of machines whose dual is curved: rational in C from one active set to the next.

On a set F of free samples, with the others at zero or on bounds that grow with C,

.. math:: (K_{FF} + Q_F / C)\, a_F + B_F b = -p_F - K_{F\cdot} a_\cdot, \qquad B'a = d,

so that every coefficient is a quotient of polynomials in C (for the squared hinge eq. (7.28) of
K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, where they are called piecewise linear,
which holds for the hinge). The next change of the set is found by Newton's method in log C.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lu_factor, lu_solve

from mercer._typing import Array
from mercer.losses.base import DualTerms
from mercer_research.selection.active_set import (
    LOWER,
    NEGATIVE,
    POSITIVE,
    UPPER,
    ZERO,
    Kinds,
    kinds_of,
)

__all__ = ["RationalPath", "Segment", "kinds_at"]

# Longest step in log C without a change; steps of Newton's method for one; how close it ends.
STRIDE, NEWTON, CLOSE = 0.5, 40, 1e-12
# How far a sample may be on the wrong side of its line, relative to linear costs or coefficients.
SLIP = 1e-9


@dataclass(frozen=True)
class Segment:
    """An interval of C and the kinds of all samples on it."""

    start: float
    end: float
    kinds: Kinds


class RationalPath:
    """Follow the dual of losses with curvature in C; ``terms`` are the dual terms at C = 1."""

    def __init__(self, K: Array, B: Array, d: Array, terms: DualTerms) -> None:
        self.K, self.B, self.d, self.terms = K, B, d, terms
        self.q = B.shape[1]
        one_sided = (terms.lower == 0) | (terms.upper == 0)
        meets = (terms.p_pos == terms.p_neg) & ~one_sided
        self.flat = meets & (terms.q_pos == terms.q_neg)
        self.hinged = meets & ~self.flat
        finite = np.abs(np.concatenate([terms.p_pos, terms.p_neg]))
        self.scale = float(np.max(finite[np.isfinite(finite)], initial=1e-300))

    def kinds_of(self, a: Array, C: float) -> Kinds:
        """Read the kinds off coefficients that lie exactly on zero or on their bounds."""
        kinds = kinds_of(a, C * self.terms.lower, C * self.terms.upper, self.flat)
        kinds[self.hinged & (kinds == ZERO)] = POSITIVE
        return kinds

    def solve(self, kinds: Kinds, C: float) -> tuple[Array, Array, Array, Array]:
        """Return a and b of an active set at C, and their derivatives in log C."""
        t, F = self.terms, np.flatnonzero(np.abs(kinds) == POSITIVE)
        a, da = np.zeros(len(kinds)), np.zeros(len(kinds))
        bound = np.where(kinds == UPPER, t.upper, t.lower)
        on = np.abs(kinds) == UPPER
        a[on] = da[on] = C * bound[on]
        positive = kinds[F] == POSITIVE
        p = np.where(positive, t.p_pos[F], t.p_neg[F])
        curvature = np.where(positive, t.q_pos[F], t.q_neg[F]) / C
        q, m = self.q, len(F) + self.q
        M = np.zeros((m, m))
        M[:q, q:], M[q:, :q] = self.B[F].T, self.B[F]
        M[q:, q:] = self.K[np.ix_(F, F)]
        M[np.arange(q, m), np.arange(q, m)] += curvature
        index = np.flatnonzero(on)
        Ka, Ba = self.K[np.ix_(F, index)] @ a[index], self.B[index].T @ a[index]
        if not len(F):
            return a, np.zeros(q), da, np.zeros(q)
        factors = lu_factor(M, overwrite_a=True, check_finite=False)
        x = lu_solve(factors, np.concatenate([self.d - Ba, -p - Ka]), check_finite=False)
        dx = lu_solve(factors, np.concatenate([-Ba, curvature * x[q:] - Ka]), check_finite=False)
        a[F], da[F] = x[q:], dx[q:]
        return a, x[:q], da, dx[:q]

    def rooms(
        self, kinds: Kinds, C: float, found: tuple[Array, Array, Array, Array]
    ) -> tuple[Array, Array]:
        """Return distances to the lines above and below, (2, n), and derivatives in log C.

        Coefficients are measured in units of the linear costs, by their own curvature.
        """
        t, (a, b, da, db) = self.terms, found
        v, dv = -(self.K @ a + self.B @ b), -(self.K @ da + self.B @ db)
        low, high = t.p_neg.copy(), t.p_pos.copy()
        low[t.lower == 0], high[t.upper == 0] = -np.inf, np.inf
        with np.errstate(invalid="ignore"):
            top = t.p_pos + t.q_pos * t.upper
            bottom = t.p_neg + t.q_neg * t.lower
        low, high = np.where(kinds == UPPER, top, low), np.where(kinds == UPPER, np.inf, high)
        low, high = np.where(kinds == LOWER, -np.inf, low), np.where(kinds == LOWER, bottom, high)
        dlow, dhigh = np.zeros_like(low), np.zeros_like(high)
        F = np.abs(kinds) == POSITIVE
        zero_low = (kinds == POSITIVE) & ~self.flat
        low = np.where(F, np.where(zero_low, 0.0, C * t.lower), low)
        high = np.where(F, np.where(kinds == POSITIVE, C * t.upper, 0.0), high)
        dlow, dhigh = np.where(F, low, dlow), np.where(F, high, dhigh)
        v, dv = np.where(F, a, v), np.where(F, da, dv)
        with np.errstate(invalid="ignore"):
            rooms, rates = np.stack([high - v, v - low]), np.stack([dhigh - dv, dv - dlow])
        unit = np.where(F, np.where(kinds == POSITIVE, t.q_pos, t.q_neg) / C, 1.0)
        return rooms * unit, np.where(np.isfinite(rooms), rates, 0.0) * unit

    def turned(self, kinds: Kinds, i: int, above: bool) -> Kinds:
        """Return the kinds with sample ``i`` on the other side of the line above or below it."""
        kinds, kind = kinds.copy(), int(kinds[i])
        if kind == ZERO:
            kinds[i] = POSITIVE if above else NEGATIVE
        elif kind == POSITIVE:
            kinds[i] = UPPER if above else (LOWER if self.flat[i] else ZERO)
        elif kind == NEGATIVE:
            kinds[i] = ZERO if above else LOWER
        else:
            kinds[i] = POSITIVE if kind == UPPER or self.flat[i] else NEGATIVE
        if self.hinged[i] and kinds[i] == ZERO:
            kinds[i] = -kind
        return kinds

    def correct(self, kinds: Kinds, C: float) -> tuple[Kinds, tuple[Array, Array, Array, Array]]:
        """Correct a nearly right active set at C, and return it with its solution."""
        for _ in range(20 + 2 * len(kinds)):
            found = self.solve(kinds, C)
            rooms, _ = self.rooms(kinds, C, found)
            side, i = np.unravel_index(int(np.argmin(rooms)), rooms.shape)
            if rooms[side, i] >= -SLIP * self.scale:
                return kinds, found
            kinds = self.turned(kinds, int(i), side == 0)
        raise FloatingPointError(
            f"no active set is right at C = {C:.6g} in double precision; solve at the values that "
            "you need, with svm_path"
        )

    def trace(self, kinds: Kinds, start: float, end: float) -> list[Segment]:
        """Follow the active set from ``start`` up to ``end``."""
        kinds, _ = self.correct(kinds, start)
        segments: list[Segment] = []
        first, C, last, ties = start, start, (-1, -1), 0
        while end > C:
            at, event = self._next(kinds, C, min(end, C * np.exp(STRIDE)), last)
            if event is None:
                C = at
                continue
            ties = ties + 1 if at == C else 0
            if ties > 20:  # a tie that single changes do not resolve: look a little further on
                at, ties = min(end, C * (1.0 + 1e-9)), 0
                new, _ = self.correct(kinds, at)
            else:
                new = self.turned(kinds, event[1], event[0] == 0)
            if at > first:
                segments.append(Segment(first, at, kinds))
            first, C, kinds, last = at, at, new, event
        segments.append(Segment(first, end, kinds))
        return segments

    def _next(
        self, kinds: Kinds, C: float, most: float, last: tuple[int, int]
    ) -> tuple[float, tuple[int, int] | None]:
        """Return the next C at which a line is met, and by whom; nobody up to ``most``."""
        at = C
        # The sample that has just changed is on its line, and moves away from it.
        own = np.zeros((2, len(kinds)), dtype=bool)
        if last[1] >= 0:
            own[:, last[1]] = True
        for _ in range(NEWTON):
            rooms, rates = self.rooms(kinds, at, self.solve(kinds, at))
            with np.errstate(divide="ignore", invalid="ignore"):
                steps = np.where(rates < 0, -rooms / rates, np.inf)
            steps = np.where(own & (np.abs(rooms) <= SLIP * self.scale), np.inf, steps)
            side, i = np.unravel_index(int(np.argmin(steps)), steps.shape)
            step = max(float(steps[side, i]), float(np.log(C / at)))
            if at * np.exp(step) >= most and at >= most:
                return most, None
            if abs(step) <= CLOSE:
                return at, (int(side), int(i))
            at = min(at * float(np.exp(step)), most)
        return at, (int(side), int(i))


def kinds_at(segments: list[Segment], C: float) -> NDArray[np.int8]:
    """Return the kinds on the segment that holds C."""
    ends = [s.end for s in segments]
    return segments[min(int(np.searchsorted(ends, C)), len(ends) - 1)].kinds
