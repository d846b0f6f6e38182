r"""What an error costs: one convex function per sample, and its Fenchel conjugate.

A loss :math:`l(y, f)` is convex in the decision value :math:`f`. The primal problem reads it
through ``value``, ``gradient`` and ``curvature``; the dual problem through
:math:`l^*(y, v) = \sup_f\, v f - l(y, f)`, its derivative in :math:`v` (the decision value at which
the loss has slope :math:`v`) and its domain. Most losses of practice have a conjugate made of two
parabolas that meet at zero; for those the six numbers of :class:`Conjugate` define everything else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mercer._params import Params
from mercer._typing import Array
from mercer.losses.conjugate import (
    BOX_SLACK,
    Conjugate,
    DualTerms,
    WeightedLosses,
    shortfall,
)

# An interval is below the rounding of its ends after so many halvings, unless it holds zero, where
# what is left is a part of its length that nobody sees.
MAX_HALVINGS = 64

__all__ = [
    "BOX_SLACK",
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

    def prox(self, y: Array, z: Array, t: Array | float = 1.0) -> Array:
        r"""Return the proximal map, :math:`\arg\min_f\, t\,l(y, f) + \tfrac12 (f - z)^2`.

        It is what splitting methods ask of a loss. :math:`f - z + t\,l'(y, f)` grows with f and
        changes its sign between z and :math:`z - t\,l'(y, z)`, whatever the loss: the interval is
        halved until rounding.

        Parameters
        ----------
        y, z : ndarray
            Targets, and the points to stay near to.
        t : float or ndarray, default=1.0
            Weight of the loss, positive.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.losses import Absolute
        >>> Absolute().prox(np.zeros(3), np.array([-3.0, 0.5, 2.0])).round(9)  # the soft threshold
        array([-2.,  0.,  1.])
        """
        with np.errstate(invalid="ignore"):  # inf - inf, at infinite points
            end = z - t * self.gradient(y, z)
            low, high = np.minimum(z, end), np.maximum(z, end)
            for _ in range(MAX_HALVINGS):
                f = 0.5 * (low + high)
                right = f - z + t * self.gradient(y, f) > 0.0
                low, high = np.where(right, low, f), np.where(right, f, high)
        # Slopes are finite at finite points: only an infinite one has an infinite image.
        return np.where(np.isinf(z), z + 0.0 * y, 0.5 * (low + high))

    def lipschitz(self, y: Array, low: float = -np.inf, high: float = np.inf) -> Array:
        r"""Return the Lipschitz constant for decision values between ``low`` and ``high``.

        .. math:: |l(y, f) - l(y, f')| \le L\, |f - f'|, \qquad
            L = \max(|l'(y, \text{low})|, |l'(y, \text{high})|)

        Slopes of a convex function rise, so that the steepest ones are at the ends; whichever
        subgradient a kink at an end has, it bounds the slopes inside.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.losses import Hinge, Squared
        >>> Squared().lipschitz(np.array([0.5]), -2.0, 2.0)
        array([2.5])
        >>> Hinge().lipschitz(np.array([-1.0, 1.0]))
        array([1., 1.])
        """
        y = np.asarray(y, dtype=float)
        lower, upper = self.slopes(y)
        left = self.gradient(y, np.full(y.shape, low)) if np.isfinite(low) else lower
        right = self.gradient(y, np.full(y.shape, high)) if np.isfinite(high) else upper
        return np.maximum(np.abs(left), np.abs(right))

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
        return _positive(t.quad) and _positive(negative)


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
        return np.abs(shortfall(y - f, *self.terms().interval(-v)))

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
        given = t.tilt + t.kink - y, t.tilt - t.kink - y, t.quad, negative, t.lower, t.upper
        rows = np.empty((len(given), len(y)))
        for row, values in zip(rows, given, strict=True):
            row[:] = values
        return _weighted(rows, c)


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
        return np.abs(shortfall(y * f, *self.terms().interval(y * v)))

    def dual_terms(self, y: Array, c: Array) -> DualTerms:
        t = self.terms()
        negative = t.quad if t.quad_negative is None else t.quad_negative
        # Here u = y v = -y a / c: a positive sample mirrors the conjugate, a negative one keeps it.
        mirrored = t.kink - t.tilt, -t.kink - t.tilt, negative, t.quad, -t.upper, -t.lower
        kept = t.kink + t.tilt, t.tilt - t.kink, t.quad, negative, t.lower, t.upper
        return _weighted(np.where(y > 0, _stacked(mirrored), _stacked(kept)), c)


def _stacked(numbers: Sequence[float | Array]) -> Array:
    """Return numbers, or numbers per sample, one below the other, as columns of samples."""
    if {*map(type, numbers)} == {float}:
        return np.array(numbers)[:, None]
    return np.stack(np.broadcast_arrays(*numbers)).reshape(len(numbers), -1)


def _weighted(rows: Array, c: Array) -> DualTerms:
    """Scale six rows of conjugates by the weights; a sample of weight zero is pinned at zero."""
    weightless = c == 0
    if weightless.any():
        rows[2:, weightless] = 0.0
        c = np.where(weightless, 1.0, c)
    rows[2:4] /= c
    rows[4:] *= c
    return DualTerms(*rows)


def _positive(value: float | Array) -> bool:
    return value > 0 if isinstance(value, float) else bool(np.all(np.asarray(value) > 0))


def numbers(value: float | Array, name: str) -> Array:
    """Return a parameter as an array; raise an error if it is text, None or an object."""
    array = np.asarray(value)
    if array.dtype.kind not in "iufb":
        raise TypeError(f"{name} must be a number, or one number per sample, got {value!r}")
    return array


def check_width(epsilon: float | Array) -> None:
    """Refuse a tube that is no tube."""
    width = numbers(epsilon, "epsilon")
    if not np.all((width >= 0) & np.isfinite(width)):
        raise ValueError(
            f"epsilon must be finite and not negative, got {epsilon}; "
            "to leave a sample out, give it the weight zero"
        )


def check_positive(value: float | Array, name: str, otherwise: str = "") -> None:
    """Refuse a width that is zero, negative or infinite, saying what to use instead."""
    array = numbers(value, name)
    if array.dtype == bool:
        raise ValueError(f"{name} must be a number, got {value}; write 1.0 if that is meant")
    if not np.all((array > 0) & np.isfinite(array)):
        raise ValueError(f"{name} must be positive and finite, got {value}{otherwise}")
