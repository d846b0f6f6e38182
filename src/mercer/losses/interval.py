r"""Targets that are intervals: what is known of a value that was not seen, or tubes of any shape.

.. math::

    l(y, f) = \min_{t \in [y^-, y^+]} \rho(t - f), \qquad
    l^*(y, v) = \rho^*(-v) + \max_{t \in [y^-, y^+]} v\,t

The distance of the decision value to an interval, measured by any loss of the residual. The
conjugate says that a positive coefficient pulls towards the lower end and a negative one towards
the upper end, so that only the linear terms of the dual change; an end at infinity pulls nobody.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.losses.base import Conjugate, DualTerms, Loss, ResidualLoss, numbers
from mercer.losses.conjugate import shortfall

__all__ = ["Interval", "IntervalResidual", "within"]

# The decision value of which the target is the residual.
ORIGIN = np.zeros(())


@dataclass(eq=False)
class Interval(Loss):
    """The distance to an interval around the target; made by :func:`within`.

    Parameters
    ----------
    loss : Loss
        What a distance costs: a loss of the residual.
    below, above : float or ndarray of shape (n,)
        How far the interval reaches below and above the target, infinite where it has no end.
    """

    loss: Loss
    below: float | Array = 0.0
    above: float | Array = 0.0

    def __post_init__(self) -> None:
        origin = np.zeros(1)
        if np.any(self.loss.value(origin, origin) != 0.0):
            raise ValueError(
                f"a distance of zero costs nothing, but {type(self.loss).__name__} has a price for "
                "it; give a loss of the residual, such as Squared() or EpsilonInsensitive()"
            )
        below, above = numbers(self.below, "below"), numbers(self.above, "above")
        if np.any(below == -np.inf) or np.any(above == -np.inf) or not np.all(below + above >= 0):
            raise ValueError(
                "below and above must be numbers with below + above >= 0, so that target - below "
                "is not beyond target + above"
            )

    @property
    def smooth(self) -> bool:
        return self.loss.smooth

    @property
    def quadratic(self) -> bool:
        return self.loss.quadratic and not (np.any(self.below) or np.any(self.above))

    def value(self, y: Array, f: Array) -> Array:
        return self.loss.value(self._residual(y, f), ORIGIN)

    def gradient(self, y: Array, f: Array) -> Array:
        r = self._residual(y, f)
        return np.where(r == 0, 0.0, self.loss.gradient(r, ORIGIN))

    def curvature(self, y: Array, f: Array) -> Array:
        r = self._residual(y, f)
        flat = (r == 0) & (self.below + self.above > 0)
        return np.where(flat, 0.0, self.loss.curvature(r, ORIGIN))

    def conjugate(self, y: Array, v: Array) -> Array:
        end, pulled = self._end(y, v)
        return np.where(pulled, self.loss.conjugate(end, v), np.inf)

    def conjugate_gradient(self, y: Array, v: Array) -> Array:
        return self.loss.conjugate_gradient(self._end(y, v)[0], v)

    def conjugate_curvature(self, y: Array, v: Array) -> Array:
        return self.loss.conjugate_curvature(y, v)

    def slopes(self, y: Array) -> tuple[Array, Array]:
        low, high = self.loss.slopes(y)
        return np.where(np.isposinf(self.below), 0.0, low), np.where(
            np.isposinf(self.above), 0.0, high
        )

    def violation(self, y: Array, f: Array, v: Array) -> Array:
        end, pulled = self._end(y, v)
        r = np.where(v == 0, self._residual(y, f), end - f)
        return np.where(pulled, self.loss.violation(r, ORIGIN, v), np.inf)

    def mirrored(self) -> Self:
        return replace(self, loss=self.loss.mirrored(), below=self.above, above=self.below)

    def take(self, index: NDArray[np.intp]) -> Self:
        below, above = (
            np.asarray(width)[index] if np.ndim(width) else width
            for width in (self.below, self.above)
        )
        return type(self)(self.loss.take(index), below, above)

    def _residual(self, y: Array, f: Array) -> Array:
        """Return the nearest point of the interval less ``f``."""
        return shortfall(f, y - self.below, y + self.above)

    def _end(self, y: Array, v: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Return the end that a slope points away from, and whether there is one."""
        level = np.clip(0.0, -np.asarray(self.below), self.above)
        shift = np.where(v < 0, -np.asarray(self.below), np.where(v > 0, self.above, level))
        pulled = np.isfinite(shift)
        return y + np.where(pulled, shift, 0.0), pulled


@dataclass(eq=False)
class IntervalResidual(Interval, ResidualLoss):
    """The distance to an interval, where the conjugate of its loss is two parabolas."""

    loss: ResidualLoss

    @property
    def smooth(self) -> bool:
        return self.loss.smooth

    def terms(self) -> Conjugate:
        """Return the conjugate with the interval in its kink and tilt."""
        t = self.loss.terms()
        below, above, lower, upper = self._sides(t.lower, t.upper)
        return Conjugate(
            tilt=t.tilt + 0.5 * (below - above),
            kink=t.kink + 0.5 * (below + above),
            quad=t.quad,
            lower=lower,
            upper=upper,
            quad_negative=t.quad_negative,
        )

    def dual_terms(self, y: Array, c: Array) -> DualTerms:
        t = self.loss.dual_terms(y, c)
        below, above, lower, upper = self._sides(t.lower, t.upper)
        # Not by way of kink and tilt, in whose sum a narrow side loses its digits to a wide one.
        return DualTerms(t.p_pos + below, t.p_neg - above, t.q_pos, t.q_neg, lower, upper)

    def _sides(
        self, lower: float | Array, upper: float | Array
    ) -> tuple[Array, Array, Array, Array]:
        """Return widths and slopes: a side without end has no slope, and then no width either."""
        no_below, no_above = np.isposinf(self.below), np.isposinf(self.above)
        return (
            np.where(no_below, 0.0, self.below),
            np.where(no_above, 0.0, self.above),
            np.where(no_above, 0.0, lower),
            np.where(no_below, 0.0, upper),
        )


def within(loss: Loss, below: float | Array = 0.0, above: float | Array = 0.0) -> Loss:
    r"""Return the loss of the distance to :math:`[y - \text{below}, y + \text{above}]`.

    .. math:: l(y, f) = \min_{-\text{below} \le t \le \text{above}} \rho(y + t - f)

    Censored targets are intervals without an end: a time that exceeds y has ``above=inf``, one that
    is at most y has ``below=inf``. Widths that differ on the two sides make a lopsided tube.

    Parameters
    ----------
    loss : Loss
        What a distance costs: any loss of the residual, :math:`\rho`.
    below, above : float or ndarray of shape (n,)
        How far the interval reaches below and above the target, in all or for each sample. One of
        them may be negative if the other is at least as large: then the interval lies beside y.

    Returns
    -------
    Loss
        Quadratic programs solve it if they solve `loss`.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, section 4.4, Lemma 4.2; the printed
    (4.29) to (4.31) confuse signs, the dual is :math:`\tfrac12 a'(K + 1/C)a - (y^-)'a_+ +
    (y^+)'a_-`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Squared
    >>> from mercer.losses.interval import within
    >>> censored = within(Squared(), 0.0, np.inf)  # all that is known is that it exceeds y
    >>> censored.value(np.array([1.0, 1.0]), np.array([-1.0, 5.0]))
    array([2., 0.])
    """
    if isinstance(loss, ResidualLoss):
        return IntervalResidual(loss, below, above)
    return Interval(loss, below, above)
