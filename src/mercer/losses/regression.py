r"""Losses of the residual :math:`r = y - f`.

Each is a row of one table: tilt, kink, curvature and slopes of its conjugate (see
:class:`~mercer.losses.Conjugate`). A sample is *sparse* (its coefficient may vanish) where the kink
is positive, and *robust* (its coefficient is bounded) where the slopes are finite.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from mercer._typing import Array
from mercer.losses.base import Conjugate, ResidualLoss, check_positive, check_width, numbers

__all__ = [
    "Absolute",
    "EpsilonInsensitive",
    "Expectile",
    "Huber",
    "Pinball",
    "Squared",
    "SquaredEpsilonInsensitive",
]


@dataclass(eq=False)
class Squared(ResidualLoss):
    r"""Half the squared residual, :math:`\tfrac12 r^2`: Gaussian noise, a linear system.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Squared
    >>> Squared().value(np.array([3.0]), np.array([1.0]))
    array([2.])
    """

    quadratic = True

    def terms(self) -> Conjugate:
        """Return the conjugate :math:`u^2 / 2`."""
        return Conjugate(quad=1.0)


@dataclass(eq=False)
class Absolute(ResidualLoss):
    r"""The absolute residual, :math:`|r|`: Laplacian noise, robust, the conditional median.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Absolute
    >>> Absolute().value(np.array([3.0]), np.array([1.0]))
    array([2.])
    """

    def terms(self) -> Conjugate:
        """Return the conjugate, zero on [-1, 1]."""
        return Conjugate(lower=-1.0, upper=1.0)


@dataclass(eq=False)
class EpsilonInsensitive(ResidualLoss):
    r"""The excess over a tube, :math:`\max(0, |r| - \epsilon)`: sparse and robust.

    Parameters
    ----------
    epsilon : float or ndarray of shape (n,), default=0.1
        Half-width of the tube inside which errors cost nothing; one number, or one per sample.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import EpsilonInsensitive
    >>> EpsilonInsensitive(0.5).value(np.array([3.0, 1.2]), np.array([1.0, 1.0]))
    array([1.5, 0. ])
    """

    epsilon: float | Array = 0.1

    def __post_init__(self) -> None:
        check_width(self.epsilon)

    def terms(self) -> Conjugate:
        r"""Return the conjugate :math:`\epsilon |u|` on [-1, 1]."""
        return Conjugate(kink=self.epsilon, lower=-1.0, upper=1.0)


@dataclass(eq=False)
class SquaredEpsilonInsensitive(ResidualLoss):
    r"""Half the squared excess over a tube, :math:`\tfrac12 \max(0, |r| - \epsilon)^2`.

    Parameters
    ----------
    epsilon : float or ndarray of shape (n,), default=0.1
        Half-width of the tube inside which errors cost nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import SquaredEpsilonInsensitive
    >>> SquaredEpsilonInsensitive(1.0).value(np.array([3.0]), np.array([0.0]))
    array([2.])
    """

    epsilon: float | Array = 0.1

    def __post_init__(self) -> None:
        check_width(self.epsilon)

    def terms(self) -> Conjugate:
        r"""Return the conjugate :math:`\epsilon |u| + u^2 / 2`."""
        return Conjugate(kink=self.epsilon, quad=1.0)


@dataclass(eq=False)
class Huber(ResidualLoss):
    r"""A parabola with straight arms.

    .. math::

        \rho(r) = \tfrac12 r^2 \ \text{for}\ |r| \le \delta, \qquad
        \delta |r| - \tfrac12 \delta^2 \ \text{otherwise}

    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, writes :math:`\rho / \delta`: multiply
    ``C`` by :math:`1 / \delta` to compare. It tends to :class:`Squared` for
    :math:`\delta \to \infty`.

    Parameters
    ----------
    delta : float or ndarray of shape (n,), default=1.0
        Residual at which the parabola turns into a line.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Huber
    >>> Huber(1.0).value(np.array([3.0, 0.5]), np.array([0.0, 0.0]))
    array([2.5  , 0.125])
    """

    delta: float | Array = 1.0

    def __post_init__(self) -> None:
        check_positive(self.delta, "delta", "; use Absolute for 0, Squared for infinity")

    def terms(self) -> Conjugate:
        r"""Return the conjugate :math:`u^2 / 2` on :math:`[-\delta, \delta]`."""
        return Conjugate(quad=1.0, lower=-np.asarray(self.delta), upper=self.delta)


@dataclass(eq=False)
class Pinball(ResidualLoss):
    r"""The tilted absolute value whose minimizer is a conditional quantile.

    .. math:: \rho(r) = \tau \max(0, r) + (1 - \tau) \max(0, -r)

    Parameters
    ----------
    quantile : float or ndarray of shape (n,), default=0.5
        The level :math:`\tau` in [0, 1]; 0 and 1 leave one side free and are meant for parts of
        larger problems (the tube of nu-machines).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Pinball
    >>> Pinball(0.9).value(np.array([1.0, -1.0]), np.zeros(2)).round(3)
    array([0.9, 0.1])
    """

    quantile: float | Array = 0.5

    def __post_init__(self) -> None:
        _check_level(self.quantile, "quantile")

    def terms(self) -> Conjugate:
        r"""Return the conjugate, zero on :math:`[\tau - 1, \tau]`."""
        return Conjugate(lower=np.asarray(self.quantile) - 1.0, upper=self.quantile)

    def mirrored(self) -> Self:
        return replace(self, quantile=1.0 - self.quantile)


@dataclass(eq=False)
class Expectile(ResidualLoss):
    r"""The tilted square whose minimizer is a conditional expectile.

    .. math:: \rho(r) = \tfrac12 |\tau - [r < 0]|\, r^2

    Parameters
    ----------
    expectile : float or ndarray of shape (n,), default=0.5
        The level :math:`\tau` in (0, 1); one half gives half of :class:`Squared`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Expectile
    >>> Expectile(0.9).value(np.array([1.0, -1.0]), np.zeros(2)).round(3)
    array([0.45, 0.05])
    """

    expectile: float | Array = 0.5

    def __post_init__(self) -> None:
        level = numbers(self.expectile, "expectile")
        if not np.all((level > 0) & (level < 1)):
            raise ValueError(f"expectile must lie strictly between 0 and 1, got {self.expectile}")

    def terms(self) -> Conjugate:
        r"""Return the conjugate :math:`u^2/2\tau` above and :math:`u^2/2(1-\tau)` below zero."""
        tau = np.asarray(self.expectile)
        return Conjugate(quad=1.0 / tau, quad_negative=1.0 / (1.0 - tau))

    def mirrored(self) -> Self:
        return replace(self, expectile=1.0 - self.expectile)


def _check_level(level: float | Array, name: str) -> None:
    tau = numbers(level, name)
    if not np.all((tau >= 0) & (tau <= 1)):
        raise ValueError(f"{name} must lie between 0 and 1, got {level}")
