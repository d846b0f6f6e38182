r"""What an error costs: one convex function per sample, and its Fenchel conjugate.

A loss :math:`l(y, f)` is convex in the decision value :math:`f`. The primal problem reads it
through ``value``, ``gradient`` and ``curvature``; the dual problem through
:math:`l^*(y, v) = \sup_f\, v f - l(y, f)`, its derivative in :math:`v` (the decision value at which
the loss has slope :math:`v`) and its domain. Most losses of practice have a conjugate made of two
parabolas that meet at zero; for those the six numbers of :class:`Conjugate` define everything else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mercer._params import Params

__all__ = [
    "Array",
    "Conjugate",
    "DualTerms",
    "Loss",
    "MarginLoss",
    "QuadraticDualLoss",
    "ResidualLoss",
]

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# A slope a / c recovered from a = c * bound may leave the box by rounding; this relative slack is
# far below any solver tolerance and far above the few units in the last place of a division.
SLACK = 1e-12


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
        e_up, u_up, q_up, e_down, u_down, q_down = self._sides(s)
        with np.errstate(invalid="ignore"):  # 0 * inf behind a hard wall (no curvature, no bound)
            up = u_up * (e_up - np.where(q_up > 0, 0.5 * q_up * u_up, 0.0))
            down = u_down * (e_down - np.where(q_down > 0, 0.5 * q_down * u_down, 0.0))
        return np.where(e_up > 0, up, 0.0) + np.where(e_down < 0, down, 0.0)

    def slope(self, s: Array) -> Array:
        r"""Evaluate :math:`\rho'(s)`; at a kink, the subgradient nearest to zero."""
        _, u_up, _, _, u_down, _ = self._sides(s)
        return np.asarray(u_up + u_down)

    def curvature(self, s: Array) -> Array:
        r"""Evaluate :math:`\rho''(s)`; where it jumps, one of the two values."""
        e_up, _, q_up, e_down, _, q_down = self._sides(s)
        with np.errstate(divide="ignore", invalid="ignore"):
            up = np.where((e_up > 0) & (e_up < q_up * self.upper), 1.0 / q_up, 0.0)
            down = np.where((e_down < 0) & (e_down > q_down * self.lower), 1.0 / q_down, 0.0)
        # A parabola without dead zone is curved at its vertex too.
        vertex = (e_up == 0) & (e_down == 0) & (np.asarray(self.kink) == 0) & (q_up > 0)
        return np.asarray(np.where(vertex, 1.0 / np.where(q_up > 0, q_up, 1.0), up + down))

    def dual(self, u: Array) -> Array:
        r"""Evaluate :math:`\rho^*(u)`, infinite outside the interval."""
        inside, _, _ = self._domain(u)
        u = np.where(inside, u, 0.0)
        value = u * self.tilt + self.kink * np.abs(u) + 0.5 * self._quad(u) * u * u
        return np.where(inside, value, np.inf)

    def dual_slope(self, u: Array) -> Array:
        r"""Evaluate :math:`\rho^{*\prime}(u)`, one-sided by the sign of ``u``."""
        return np.asarray(self.tilt + self.kink * np.sign(u) + self._quad(u) * u)

    def dual_curvature(self, u: Array) -> Array:
        r"""Evaluate :math:`\rho^{*\prime\prime}(u)`, one-sided by the sign of ``u``."""
        return np.asarray(self._quad(u) + np.zeros_like(u))

    def interval(self, u: Array) -> tuple[Array, Array]:
        r"""Return the ends of :math:`\partial \rho^*(u)`: where the loss has slope ``u``.

        No point has a slope outside the interval: there the ends are ``(inf, -inf)``.
        """
        inside, at_lower, at_upper = self._domain(u)
        u = np.where(inside, u, 0.0)
        slope, zero = self.dual_slope(u), np.where(u == 0, self.kink, 0.0)
        low = np.where(at_lower, -np.inf, slope - zero)
        high = np.where(at_upper, np.inf, slope + zero)
        return np.where(inside, low, np.inf), np.where(inside, high, -np.inf)

    def _domain(self, u: Array) -> tuple[Mask, Mask, Mask]:
        """Answer where ``u`` lies inside the interval, at its lower and at its upper end."""
        lower, upper = np.asarray(self.lower), np.asarray(self.upper)
        below, above = SLACK * np.abs(_finite(lower)), SLACK * np.abs(_finite(upper))
        inside = np.isfinite(u) & (u >= lower - below) & (u <= upper + above)
        return inside, u <= lower + below, u >= upper - above

    def _quad(self, u: Array) -> Array:
        negative = self.quad if self.quad_negative is None else self.quad_negative
        return np.asarray(np.where(u < 0, negative, self.quad))


def _ratio(e: Array, q: Array) -> Array:
    """Return e / q, with 0 / 0 = 0 and e / 0 = sign(e) inf."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(e == 0, 0.0, e / q)


def _finite(bound: Array) -> Array:
    return np.where(np.isfinite(bound), bound, 0.0)


@dataclass(frozen=True)
class DualTerms:
    r"""The separable part of the dual, :math:`g_i(a_i) = c_i\, l^*(y_i, -a_i / c_i)`, as arrays.

    .. math::

        g_i(a) = p^\pm_i a + \tfrac12 q^\pm_i a^2, \qquad \text{lower}_i \le a \le \text{upper}_i,

    with the coefficients ``+`` for :math:`a > 0` and ``-`` for :math:`a < 0`. Quadratic-programming
    solvers read these arrays and know nothing else of the loss.
    """

    p_pos: Array
    p_neg: Array
    q_pos: Array
    q_neg: Array
    lower: Array
    upper: Array


class Loss(Params, ABC):
    """A convex cost of one decision value, with what primal and dual solvers ask of it.

    Array parameters of a loss (a tube width per sample, say) have one entry per sample; ``take``
    restricts them together with the sample.
    """

    @property
    def smooth(self) -> bool:
        """Whether ``gradient`` is locally Lipschitz continuous: what Newton-type solvers need."""
        return False

    @abstractmethod
    def value(self, y: Array, f: Array) -> Array:
        """Evaluate the loss, elementwise."""

    @abstractmethod
    def gradient(self, y: Array, f: Array) -> Array:
        """Evaluate the derivative in ``f``; some subgradient at a kink."""

    @abstractmethod
    def curvature(self, y: Array, f: Array) -> Array:
        """Evaluate the generalized second derivative in ``f``; read only when smooth."""

    @abstractmethod
    def conjugate(self, y: Array, v: Array) -> Array:
        r"""Evaluate :math:`\sup_f v f - l(y, f)`, infinite outside the domain."""

    @abstractmethod
    def conjugate_gradient(self, y: Array, v: Array) -> Array:
        """Evaluate the derivative of the conjugate in ``v``; at a kink, some subgradient."""

    @abstractmethod
    def conjugate_curvature(self, y: Array, v: Array) -> Array:
        """Evaluate the second derivative of the conjugate in ``v``."""

    @abstractmethod
    def slopes(self, y: Array) -> tuple[Array, Array]:
        """Return the smallest and largest slope in ``f``, ``lower <= 0 <= upper``."""

    def violation(self, y: Array, f: Array, v: Array) -> Array:
        r"""Measure how far ``(f, v)`` is from :math:`v \in \partial l(y, f)`; zero if it holds."""
        return np.abs(v - self.gradient(y, f))

    def take(self, index: NDArray[np.intp]) -> Self:
        """Restrict per-sample parameters to the samples ``index``."""
        params: dict[str, Any] = {
            name: np.asarray(value)[index] if np.ndim(value) else value
            for name, value in self.get_params(deep=False).items()
        }
        return type(self)(**params)


class QuadraticDualLoss(Loss):
    """A loss whose conjugate is two parabolas: all of it follows from ``terms()``."""

    @abstractmethod
    def terms(self) -> Conjugate:
        """Return the numbers that define the conjugate."""

    @abstractmethod
    def dual_terms(self, y: Array, c: Array) -> DualTerms:
        """Return the separable dual of the weighted losses as arrays."""

    @property
    def smooth(self) -> bool:
        """Whether the conjugate is strongly convex, which makes the loss smooth."""
        t = self.terms()
        negative = t.quad if t.quad_negative is None else t.quad_negative
        return bool(np.all(np.asarray(t.quad) > 0) and np.all(np.asarray(negative) > 0))


class ResidualLoss(QuadraticDualLoss):
    r"""A function of the residual, :math:`l(y, f) = \rho(y - f)`.

    The conjugates are related by :math:`l^*(y, v) = v y + \rho^*(-v)`.
    """

    def value(self, y: Array, f: Array) -> Array:
        return self.terms().value(y - f)

    def gradient(self, y: Array, f: Array) -> Array:
        return -self.terms().slope(y - f)

    def curvature(self, y: Array, f: Array) -> Array:
        return self.terms().curvature(y - f)

    def conjugate(self, y: Array, v: Array) -> Array:
        dual = self.terms().dual(-v)
        return np.where(np.isfinite(dual), v, 0.0) * y + dual

    def conjugate_gradient(self, y: Array, v: Array) -> Array:
        return y - self.terms().dual_slope(-v)

    def conjugate_curvature(self, y: Array, v: Array) -> Array:
        return self.terms().dual_curvature(-v)

    def slopes(self, y: Array) -> tuple[Array, Array]:
        terms, zero = self.terms(), np.zeros_like(y)
        return zero - terms.upper, zero - terms.lower

    def violation(self, y: Array, f: Array, v: Array) -> Array:
        low, high = self.terms().interval(-v)
        return np.maximum(np.maximum(low - (y - f), (y - f) - high), 0.0)

    def dual_terms(self, y: Array, c: Array) -> DualTerms:
        t = self.terms()
        negative = t.quad if t.quad_negative is None else t.quad_negative
        return _terms(
            c,
            p_pos=t.tilt + t.kink - y,
            p_neg=t.tilt - t.kink - y,
            q_pos=t.quad,
            q_neg=negative,
            lower=t.lower,
            upper=t.upper,
        )


class MarginLoss(QuadraticDualLoss):
    r"""A function of the margin, :math:`l(y, f) = \varphi(y f)` with :math:`y = \pm 1`.

    The conjugates are related by :math:`l^*(y, v) = \varphi^*(y v)`, because :math:`y^2 = 1`.
    """

    def value(self, y: Array, f: Array) -> Array:
        return self.terms().value(y * f)

    def gradient(self, y: Array, f: Array) -> Array:
        return y * self.terms().slope(y * f)

    def curvature(self, y: Array, f: Array) -> Array:
        return self.terms().curvature(y * f)

    def conjugate(self, y: Array, v: Array) -> Array:
        return self.terms().dual(y * v)

    def conjugate_gradient(self, y: Array, v: Array) -> Array:
        return y * self.terms().dual_slope(y * v)

    def conjugate_curvature(self, y: Array, v: Array) -> Array:
        return self.terms().dual_curvature(y * v)

    def slopes(self, y: Array) -> tuple[Array, Array]:
        t = self.terms()
        lower, upper = t.lower + np.zeros_like(y), t.upper + np.zeros_like(y)
        return np.where(y > 0, lower, -upper), np.where(y > 0, upper, -lower)

    def violation(self, y: Array, f: Array, v: Array) -> Array:
        low, high = self.terms().interval(y * v)
        return np.maximum(np.maximum(low - y * f, y * f - high), 0.0)

    def dual_terms(self, y: Array, c: Array) -> DualTerms:
        t, up = self.terms(), y > 0
        negative = t.quad if t.quad_negative is None else t.quad_negative
        # Here u = y v = -y a / c: a positive sample mirrors the conjugate, a negative one keeps it.
        return _terms(
            c,
            p_pos=np.where(up, t.kink - t.tilt, t.kink + t.tilt),
            p_neg=np.where(up, -t.kink - t.tilt, t.tilt - t.kink),
            q_pos=np.where(up, negative, t.quad),
            q_neg=np.where(up, t.quad, negative),
            lower=np.where(up, -np.asarray(t.upper), t.lower),
            upper=np.where(up, -np.asarray(t.lower), t.upper),
        )


def _terms(c: Array, **terms: Any) -> DualTerms:
    """Scale conjugate parameters by the weights; a sample of weight zero is pinned at zero."""
    full = {name: np.broadcast_to(np.asarray(x, dtype=float), c.shape) for name, x in terms.items()}
    weightless = c == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        return DualTerms(
            p_pos=np.ascontiguousarray(full["p_pos"]),
            p_neg=np.ascontiguousarray(full["p_neg"]),
            q_pos=np.where(weightless, 0.0, full["q_pos"] / c),
            q_neg=np.where(weightless, 0.0, full["q_neg"] / c),
            lower=np.where(weightless, 0.0, full["lower"] * c),
            upper=np.where(weightless, 0.0, full["upper"] * c),
        )


def check_width(epsilon: float | Array) -> None:
    """Refuse a tube that is no tube."""
    if not np.all((np.asarray(epsilon) >= 0) & np.isfinite(epsilon)):
        raise ValueError(
            f"epsilon must be finite and not negative, got {epsilon}; "
            "to leave a sample out, give it the weight zero"
        )


def check_positive(value: float | Array, name: str, otherwise: str = "") -> None:
    """Refuse a width that is zero, negative or infinite, saying what to use instead."""
    if not np.all((np.asarray(value) > 0) & np.isfinite(value)):
        raise ValueError(f"{name} must be positive and finite, got {value}{otherwise}")
