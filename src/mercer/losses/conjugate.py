r"""Two parabolas that meet at zero: the conjugate of a loss, and those of a weighted sample.

A loss whose conjugate is so is six numbers, :class:`Conjugate`; a sample of such losses with their
weights is six arrays, :class:`DualTerms`, from which solvers and certificate take all they need.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer._typing import Array
from mercer.losses.fenchel_young import Mask, conjugate_slopes, loss_value, violation

__all__ = ["BOX_SLACK", "Array", "Conjugate", "DualTerms", "WeightedLosses"]

# A slope a / c recovered from a = c * bound may leave the box by rounding; this relative slack is
# far below any solver tolerance and far above the few units in the last place of a division.
BOX_SLACK = 1e-12


@dataclass(frozen=True)
class Conjugate:
    r"""Two parabolas that meet at zero, on an interval.

    .. math::

        \rho^*(u) = t\,u + k\,|u| + \tfrac12 q_\pm u^2, \qquad  \text{lower} \le u \le \text{upper},

    with :math:`q_+` = ``quad`` for :math:`u > 0` and :math:`q_-` = ``quad_negative`` for
    :math:`u < 0`. Every field is a number or one number per sample.

    Parameters
    ----------
    tilt : float or ndarray of shape (n,)
        Linear term; shifts the loss along its argument.
    kink : float or ndarray of shape (n,)
        Half-width of the interval on which the loss is zero; not negative.
    quad : float or ndarray of shape (n,)
        Curvature of the conjugate; zero makes the loss piecewise linear.
    lower, upper : float or ndarray of shape (n,)
        Smallest and largest slope of the loss, ``lower <= 0 <= upper``.
    quad_negative : float, ndarray of shape (n,) or None
        Curvature for negative slopes, ``None`` for the same as ``quad``.
    """

    tilt: float | Array = 0.0
    kink: float | Array = 0.0
    quad: float | Array = 0.0
    lower: float | Array = -np.inf
    upper: float | Array = np.inf
    quad_negative: float | Array | None = None

    def _sides(self, s: Array) -> tuple[Array, Array, Array, Array, Array, Array]:
        """Return excess, slope and curvature of the conjugate on the positive and negative side."""
        q_up = np.asarray(self.quad, dtype=float)
        q_down = q_up if self.quad_negative is None else np.asarray(self.quad_negative, dtype=float)
        e_up = np.maximum(s - self.tilt - self.kink, 0.0)
        e_down = np.minimum(s - self.tilt + self.kink, 0.0)
        return (
            e_up,
            np.minimum(_ratio(e_up, q_up), self.upper),
            q_up,
            e_down,
            np.maximum(_ratio(e_down, q_down), self.lower),
            q_down,
        )

    def value(self, s: Array) -> Array:
        r"""Evaluate the loss :math:`\rho(s) = \sup_u s u - \rho^*(u)`."""
        ends = self.tilt + self.kink, self.tilt - self.kink
        q_down = self.quad if self.quad_negative is None else self.quad_negative
        with np.errstate(divide="ignore", invalid="ignore"):
            return loss_value(-s, *ends, self.quad, q_down, self.lower, self.upper)

    def slope(self, s: Array) -> Array:
        r"""Evaluate :math:`\rho'(s)`; at a kink, the subgradient nearest to zero."""
        _, u_up, _, _, u_down, _ = self._sides(s)
        return np.asarray(u_up + u_down)

    def curvature(self, s: Array) -> Array:
        r"""Evaluate :math:`\rho''(s)`; where it jumps, one of the two values."""
        e_up, _, q_up, e_down, _, q_down = self._sides(s)
        with np.errstate(divide="ignore", invalid="ignore"):
            # The bounds of an unbounded slope are infinite, and so are excesses at infinity.
            up = np.where((e_up > 0) & (e_up <= q_up * self.upper), 1.0 / q_up, 0.0)
            down = np.where((e_down < 0) & (e_down >= q_down * self.lower), 1.0 / q_down, 0.0)
        # A parabola without dead zone is curved at its vertex too.
        vertex = (e_up == 0) & (e_down == 0) & (np.asarray(self.kink) == 0) & (q_up > 0)
        bend = np.where(vertex, 1.0 / np.where(q_up > 0, q_up, 1.0), up + down)
        return keep_nan(bend, s)

    def dual(self, u: Array) -> Array:
        r"""Evaluate :math:`\rho^*(u)`, infinite outside the interval."""
        beyond, _, _ = self._domain(u)
        u = np.where(beyond, 0.0, u)
        value = u * self.tilt + self.kink * np.abs(u) + 0.5 * self._quad(u) * u * u
        return np.where(beyond, np.inf, value)

    def dual_slope(self, u: Array) -> Array:
        r"""Evaluate :math:`\rho^{*\prime}(u)`, one-sided by the sign of ``u``."""
        return np.asarray(self.tilt + self.kink * np.sign(u) + self._quad(u) * u)

    def dual_curvature(self, u: Array) -> Array:
        r"""Evaluate :math:`\rho^{*\prime\prime}(u)`, one-sided by the sign of ``u``."""
        return keep_nan(self._quad(u), u)

    def interval(self, u: Array) -> tuple[Array, Array]:
        r"""Return the ends of :math:`\partial \rho^*(u)`: where the loss has slope ``u``.

        No point has a slope outside the interval: there the ends are ``(inf, -inf)``.
        """
        beyond, at_lower, at_upper = self._domain(u)
        u = np.where(beyond, 0.0, u)
        slope, zero = self.dual_slope(u), np.where(u == 0, self.kink, 0.0)
        low = np.where(at_lower, -np.inf, slope - zero)
        high = np.where(at_upper, np.inf, slope + zero)
        return np.where(beyond, np.inf, low), np.where(beyond, -np.inf, high)

    def _domain(self, u: Array) -> tuple[Mask, Mask, Mask]:
        """Answer where ``u`` lies outside the interval, at its lower and at its upper end."""
        lower, upper = np.asarray(self.lower), np.asarray(self.upper)
        below, above = BOX_SLACK * np.abs(_finite(lower)), BOX_SLACK * np.abs(_finite(upper))
        beyond = np.isinf(u) | (u < lower - below) | (u > upper + above)
        return beyond, u <= lower + below, u >= upper - above

    def _quad(self, u: Array) -> Array:
        negative = self.quad if self.quad_negative is None else self.quad_negative
        return np.asarray(np.where(u < 0, negative, self.quad))


def _ratio(e: Array, q: Array) -> Array:
    """Return e / q, with 0 / 0 = 0 and e / 0 = sign(e) inf."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(e == 0, 0.0, e / q)


def keep_nan(values: Array, *arguments: Array) -> Array:
    """Return values, but NaN where an argument is: comparisons and powers of zero lose it."""
    for argument in arguments:
        values = np.where(np.isnan(argument), np.nan, values)
    return values


def shortfall(s: Array, low: Array | float, high: Array | float) -> Array:
    """Return what points lack to the nearest point of an interval; all may be infinite."""
    nearest = np.minimum(np.maximum(s, low), high)
    with np.errstate(invalid="ignore"):  # inf - inf, where an infinite point is at an infinite end
        return np.where(nearest == s, 0.0, nearest - s)


def _finite(bound: Array) -> Array:
    return np.where(np.isfinite(bound), bound, 0.0)


class WeightedLosses(ABC):
    r"""The losses of a sample with their weights, :math:`c_i l(y_i, f_i)`, and their conjugates.

    .. math:: g_i(a) = c_i\, l^*(y_i, -a / c_i), \qquad \text{lower}_i \le a \le \text{upper}_i

    By Fenchel and Young :math:`c_i l(y_i, f_i) + g_i(a_i) + a_i f_i \ge 0`, with equality where the
    pair is optimal. A sample without weight is free at zero and forbidden elsewhere.
    """

    lower: Array
    upper: Array

    @abstractmethod
    def value(self, f: Array) -> Array:
        r"""Evaluate :math:`c_i l(y_i, f_i)`."""

    @abstractmethod
    def conjugate(self, a: Array) -> Array:
        """Evaluate :math:`g_i(a_i)`, infinite outside the box."""

    @abstractmethod
    def violation(self, a: Array, f: Array) -> Array:
        r"""Measure how far :math:`-f_i \in \partial g_i(a_i)` is from being true."""


@dataclass(frozen=True)
class DualTerms(WeightedLosses):
    r"""Weighted losses whose conjugates are two parabolas each, as arrays.

    .. math::

        g_i(a) = p^\pm_i a + \tfrac12 q^\pm_i a^2, \qquad \text{lower}_i \le a \le \text{upper}_i,

    with the coefficients ``+`` for :math:`a > 0` and ``-`` for :math:`a < 0`. Quadratic-programming
    solvers read these arrays and know nothing else of the loss.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Hinge
    >>> terms = Hinge().dual_terms(np.array([1.0]), np.array([2.0]))
    >>> terms.value(np.array([0.25])), terms.conjugate(np.array([2.0]))
    (array([1.5]), array([-2.]))
    """

    p_pos: Array
    p_neg: Array
    q_pos: Array
    q_neg: Array
    lower: Array
    upper: Array

    def value(self, f: Array) -> Array:
        r"""Evaluate :math:`c_i l(y_i, f_i) = \sup_a -a f_i - g_i(a)`, on either side of zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return loss_value(f, *self._parabolas, self.lower, self.upper)

    def conjugate(self, a: Array) -> Array:
        lowest, _, _, highest = self._ends
        beyond = (a < lowest) | (a > highest) | np.isinf(a)
        value, _, _ = conjugate_slopes(np.where(beyond, 0.0, a), *self._parabolas)
        return np.where(beyond, np.inf, value)

    def interval(self, a: Array) -> tuple[Array, Array]:
        """Return the smallest and largest decision values that go with coefficients in the box.

        Infinite on the side where the box forbids to move the coefficient.
        """
        left, right, at_low, at_high = self._slopes(a)
        return np.where(at_high, -np.inf, -right), np.where(at_low, np.inf, -left)

    def violation(self, a: Array, f: Array) -> Array:
        r"""Return the distance of :math:`-f_i` from :math:`[g_i'(a_i-), g_i'(a_i+)]`.

        Infinite outside the box, where there is no such interval.
        """
        lowest, _, _, highest = self._ends
        left, right, at_low, at_high = self._slopes(a)
        outside = (a < lowest) | (a > highest)
        return np.where(outside, np.inf, violation(f, left, right, at_low, at_high))

    def _slopes(self, a: Array) -> tuple[Array, Array, Mask, Mask]:
        """Return the one-sided derivatives, and which coefficients are at an end of the box."""
        _, low, high, _ = self._ends
        _, left, right = conjugate_slopes(a, *self._parabolas)
        return left, right, a <= low, a >= high

    @cached_property
    def _ends(self) -> tuple[Array, Array, Array, Array]:
        """Coefficients inside the box and at its ends lie between the first and last two."""
        below, above = (
            BOX_SLACK * np.abs(_finite(self.lower)),
            BOX_SLACK * np.abs(_finite(self.upper)),
        )
        return self.lower - below, self.lower + below, self.upper - above, self.upper + above

    @property
    def _parabolas(self) -> tuple[Array, Array, Array, Array]:
        """Slopes at zero and curvatures of the two parabolas."""
        return self.p_pos, self.p_neg, self.q_pos, self.q_neg
