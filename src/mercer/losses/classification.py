r"""Losses of the margin :math:`m = y f` with :math:`y = \pm 1`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, xlog1py, xlogy

from mercer._typing import Array
from mercer.losses.base import BOX_SLACK, Conjugate, Loss, MarginLoss, check_positive, numbers

__all__ = ["Hinge", "HuberHinge", "Logistic", "SquaredHinge"]


@dataclass(eq=False)
class Hinge(MarginLoss):
    r"""The soft margin, :math:`\max(0, \mu - m)`.

    Parameters
    ----------
    margin : float or ndarray of shape (n,), default=1.0
        The margin :math:`\mu` asked for; zero in nu- and one-class machines, where the width of the
        margin is a variable of the null space.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Hinge
    >>> Hinge().value(np.array([1.0, -1.0]), np.array([0.25, 0.25]))
    array([0.75, 1.25])
    """

    margin: float | Array = 1.0

    def __post_init__(self) -> None:
        if not np.all(np.isfinite(numbers(self.margin, "margin"))):
            raise ValueError(f"margin must be finite, got {self.margin}")

    def terms(self) -> Conjugate:
        r"""Return the conjugate :math:`\mu u` on [-1, 0]."""
        return Conjugate(tilt=self.margin, lower=-1.0, upper=0.0)


@dataclass(eq=False)
class SquaredHinge(MarginLoss):
    r"""Half the squared soft margin, :math:`\tfrac12 \max(0, 1 - m)^2`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import SquaredHinge
    >>> SquaredHinge().value(np.array([1.0]), np.array([-1.0]))
    array([2.])
    """

    def terms(self) -> Conjugate:
        """Return the conjugate :math:`u + u^2 / 2` for non-positive slopes."""
        return Conjugate(tilt=1.0, quad=1.0, upper=0.0)


@dataclass(eq=False)
class HuberHinge(MarginLoss):
    r"""The soft margin with its corner rounded.

    .. math::

        \varphi(m) = 0 \ (m \ge 1), \quad
        \tfrac{(1 - m)^2}{2\delta} \ (1 - \delta \le m \le 1), \quad
        1 - m - \tfrac\delta2 \ (m \le 1 - \delta)

    Parameters
    ----------
    delta : float or ndarray of shape (n,), default=1.0
        Width of the rounded corner; :class:`Hinge` for 0.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import HuberHinge
    >>> HuberHinge(0.5).value(np.array([1.0, 1.0]), np.array([0.75, -1.0]))
    array([0.0625, 1.75  ])
    """

    delta: float | Array = 1.0

    def __post_init__(self) -> None:
        check_positive(self.delta, "delta", "; use Hinge for 0")

    def terms(self) -> Conjugate:
        r"""Return the conjugate :math:`u + \delta u^2 / 2` on [-1, 0]."""
        return Conjugate(tilt=1.0, quad=self.delta, lower=-1.0, upper=0.0)


@dataclass(eq=False)
class Logistic(Loss):
    r"""The logistic loss, :math:`\log(1 + e^{-m})`: class probabilities, a smooth Newton problem.

    Its conjugate is the negative binary entropy,
    :math:`l^*(y, v) = p \log p + (1 - p) \log(1 - p)` with :math:`p = -y v \in [0, 1]`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Logistic
    >>> Logistic().value(np.array([1.0]), np.array([0.0])).round(6)
    array([0.693147])
    """

    smooth = True

    def value(self, y: Array, f: Array) -> Array:
        with np.errstate(invalid="ignore"):  # of NaN
            return np.asarray(np.logaddexp(0.0, -y * f))

    def gradient(self, y: Array, f: Array) -> Array:
        return np.asarray(-y * expit(-y * f))

    def curvature(self, y: Array, f: Array) -> Array:
        m = y * f
        return np.asarray(expit(m) * expit(-m))

    def conjugate(self, y: Array, v: Array) -> Array:
        p = -y * v
        beyond = (p < -BOX_SLACK) | (p > 1.0 + BOX_SLACK)
        p = np.clip(p, 0.0, 1.0)
        return np.where(beyond, np.inf, xlogy(p, p) + xlog1py(1.0 - p, -p))

    def conjugate_gradient(self, y: Array, v: Array) -> Array:
        return np.asarray(-y * logit(np.clip(-y * v, 0.0, 1.0)))

    def conjugate_curvature(self, y: Array, v: Array) -> Array:
        p = np.abs(np.clip(-y * v, 0.0, 1.0))  # no negative zero: its reciprocal has the wrong sign
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / (p * (1.0 - p)))

    def slopes(self, y: Array) -> tuple[Array, Array]:
        return np.where(y > 0, -1.0, 0.0), np.where(y > 0, 0.0, 1.0)

    def probability(self, f: Array) -> Array:
        """Return the probability of the positive class at decision values ``f``."""
        return np.asarray(expit(f))
