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
from mercer.losses.conjugate import SLACK, Array, Conjugate, DualTerms, WeightedLosses

__all__ = [
    "SLACK",
    "Array",
    "Conjugate",
    "ConjugateLoss",
    "DualTerms",
    "Loss",
    "MarginLoss",
    "QuadraticDualLoss",
    "ResidualLoss",
    "WeightedLosses",
]


class Loss(Params, ABC):
    """A convex cost of one decision value, with what primal and dual solvers ask of it.

    Array parameters of a loss (a tube width per sample, say) have one entry per sample; ``take``
    restricts them together with the sample.
    """

    @property
    def smooth(self) -> bool:
        """Whether ``gradient`` is locally Lipschitz continuous: what Newton-type solvers need."""
        return False

    @property
    def quadratic(self) -> bool:
        """Whether the curvature is one everywhere, so that problems are systems of equations."""
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

    def weigh(self, y: Array, c: Array) -> WeightedLosses:
        """Return the weighted losses of a sample together with their conjugates."""
        low, high = self.slopes(y)
        with np.errstate(invalid="ignore"):  # 0 * inf: a sample without weight stays at zero
            lower, upper = np.where(c > 0, -c * high, 0.0), np.where(c > 0, -c * low, 0.0)
        return _Weighted(self, y, c, lower, upper)

    def mirrored(self) -> Loss:
        """Return the loss with its two sides exchanged, of which ``(y, f)`` costs ``l(-y, -f)``.

        Losses of the margin and of the residual's magnitude are their own mirror images. A loss
        with a side (the level of a quantile, say) writes this method.

        Examples
        --------
        >>> from mercer.losses import Huber, Pinball
        >>> Huber().mirrored(), Pinball(0.25).mirrored()
        (Huber(delta=1.0), Pinball(quantile=0.75))
        """
        return self

    def parts(self) -> list[tuple[Loss, float | Array]]:
        """Return losses and weights of which this is the sum, if it has to be taken apart."""
        return [(self, 1.0)]

    def per_sample(self) -> dict[str, Array]:
        """Return the parameters that have one entry per sample, by name."""
        return {name: value for name, value in self.get_params().items() if np.ndim(value)}

    def take(self, index: NDArray[np.intp]) -> Self:
        """Restrict per-sample parameters to the samples ``index``."""
        params: dict[str, Any] = {
            name: np.asarray(value)[index] if np.ndim(value) else value
            for name, value in self.get_params(deep=False).items()
        }
        return type(self)(**params)


@dataclass(frozen=True)
class _Weighted(WeightedLosses):
    """Weighted losses that are evaluated one call at a time, whatever they are."""

    loss: Loss
    y: Array
    c: Array
    lower: Array
    upper: Array

    def value(self, f: Array) -> Array:
        return np.where(self.c > 0, self.c * self.loss.value(self.y, f), 0.0)

    def conjugate(self, a: Array) -> Array:
        with np.errstate(invalid="ignore"):  # 0 * inf
            return self._live(self.c * self.loss.conjugate(self.y, self._slope(a)), a)

    def violation(self, a: Array, f: Array) -> Array:
        return self._live(self.loss.violation(self.y, f, self._slope(a)), a)

    def _slope(self, a: Array) -> Array:
        """Return v = -a / c, the slope of the loss that coefficients claim."""
        return -a / np.where(self.c > 0, self.c, 1.0)

    def _live(self, values: Array, a: Array) -> Array:
        """Return values of samples with weight; others are free at zero, forbidden elsewhere."""
        return np.where(self.c > 0, values, np.where(a == 0, 0.0, np.inf))


class QuadraticDualLoss(Loss):
    """A loss whose conjugate is two parabolas, sample by sample: quadratic programs solve it."""

    @abstractmethod
    def dual_terms(self, y: Array, c: Array) -> DualTerms:
        """Return the separable dual of the weighted losses as arrays."""

    def weigh(self, y: Array, c: Array) -> DualTerms:
        return self.dual_terms(y, c)


class ConjugateLoss(QuadraticDualLoss):
    """A function of one argument, residual or margin: all of it follows from ``terms()``."""

    @abstractmethod
    def terms(self) -> Conjugate:
        """Return the numbers that define the conjugate."""

    @property
    def smooth(self) -> bool:
        """Whether the conjugate is strongly convex, which makes the loss smooth."""
        t = self.terms()
        negative = t.quad if t.quad_negative is None else t.quad_negative
        return bool(np.all(np.asarray(t.quad) > 0) and np.all(np.asarray(negative) > 0))


class ResidualLoss(ConjugateLoss):
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

    def mirrored(self) -> Loss:
        t = self.terms()
        alike = np.all(np.asarray(t.tilt) == 0) and np.all(-np.asarray(t.lower) == t.upper)
        if not alike or not (t.quad_negative is None or np.all(t.quad_negative == t.quad)):
            raise TypeError(
                f"{type(self).__name__} treats residuals above and below zero differently, and so "
                "it needs a method mirrored() that returns the loss with its two sides exchanged, "
                "such as dataclasses.replace(self, quantile=1 - self.quantile)"
            )
        return self

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


class MarginLoss(ConjugateLoss):
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
    weightless, zero = c == 0, np.zeros(c.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        return DualTerms(
            p_pos=zero + terms["p_pos"],
            p_neg=zero + terms["p_neg"],
            q_pos=np.where(weightless, 0.0, terms["q_pos"] / c),
            q_neg=np.where(weightless, 0.0, terms["q_neg"] / c),
            lower=np.where(weightless, 0.0, terms["lower"] * c),
            upper=np.where(weightless, 0.0, terms["upper"] * c),
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
