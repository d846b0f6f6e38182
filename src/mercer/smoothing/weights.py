r"""Weights that make a least-squares machine robust, and the losses that they descend.

A function :math:`w(r)` that falls in :math:`|r|` belongs to the loss
:math:`\rho(r) = \int_0^r t\, w(t)\, dt`, which is concave in :math:`r^2`. So the parabola
:math:`\rho(r_0) + \tfrac12 w(r_0) (r^2 - r_0^2)` lies above it and touches it at :math:`r_0`: to
weigh every sample by :math:`w` of its residual and fit again never increases
:math:`\tfrac12 \|f\|^2 + \sum_i c_i\, \rho(r_i)`, for every function below, convex or not. Where
:math:`\rho` is convex the limit is the machine of that loss; where it is not, the limit is one of
its stationary points and depends on the start.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer._params import Params
from mercer._typing import Array
from mercer.losses.base import Loss, check_positive
from mercer.losses.log_cosh import LogCosh
from mercer.losses.regression import Huber

__all__ = [
    "WEIGHTS",
    "BisquareWeights",
    "HampelWeights",
    "HuberWeights",
    "LogisticWeights",
    "MyriadWeights",
    "WeightFunction",
]


@dataclass(eq=False)
class WeightFunction(Params, ABC):
    """How much an error of some size counts.

    Parameters
    ----------
    c : float
        The size at which it begins to count less, in units of the errors.
    """

    convex: ClassVar[bool] = False
    """Whether the loss is convex, so that there is one limit, from wherever one starts."""

    tuning: ClassVar[float]
    """The default of c for errors of unit standard deviation."""

    c: float = 1.0

    def __post_init__(self) -> None:
        check_positive(self.c, "c")

    @abstractmethod
    def weight(self, r: Array) -> Array:
        """Return the weights of errors, one at zero and falling."""

    @abstractmethod
    def value(self, r: Array) -> Array:
        r"""Return the loss :math:`\rho(r)`, half a square near zero."""

    def loss(self) -> Loss | None:
        """Return the loss for solvers, if it is convex and they know it."""
        return None

    def slope(self, r: Array) -> Array:
        r"""Return :math:`\rho'(r) = r\,w(r)`, the pull of an error."""
        return np.asarray(r * self.weight(r))


@dataclass(eq=False)
class HuberWeights(WeightFunction):
    r"""Huber's weights, :math:`\min(1, c/|r|)`: parabola, then lines.

    .. math:: \rho(r) = \tfrac12 r^2 \ \text{for}\ |r| \le c, \qquad c|r| - \tfrac12 c^2 \
              \text{otherwise}

    The default of 1.345 standard deviations keeps 95 per cent of the efficiency for normal errors.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing.weights import HuberWeights
    >>> HuberWeights(1.0).weight(np.array([0.5, 1.0, 4.0]))
    array([1.  , 1.  , 0.25])
    """

    convex: ClassVar[bool] = True
    tuning: ClassVar[float] = 1.345

    def weight(self, r: Array) -> Array:
        return np.asarray(self.c / np.maximum(np.abs(r), self.c))

    def value(self, r: Array) -> Array:
        inside = np.minimum(np.abs(r), self.c)
        return np.asarray(inside * (np.abs(r) - 0.5 * inside))

    def loss(self) -> Huber:
        return Huber(self.c)


@dataclass(eq=False)
class LogisticWeights(WeightFunction):
    r"""The weights of a smooth Huber loss, :math:`\tanh(r/c) / (r/c)`.

    .. math:: \rho(r) = c^2 \log \cosh(r/c)

    1.205 standard deviations keep 95 per cent of the efficiency for normal errors.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing.weights import LogisticWeights
    >>> LogisticWeights(1.0).weight(np.array([0.0, 1.0, 4.0])).round(3)
    array([1.   , 0.762, 0.25 ])
    """

    convex: ClassVar[bool] = True
    tuning: ClassVar[float] = 1.205

    def weight(self, r: Array) -> Array:
        u = np.asarray(np.abs(r) / self.c)
        # Below this size the next term of the series, u^2/3, is less than rounding.
        small = u < 1e-8
        return np.where(small, 1.0, np.tanh(u) / np.where(small, 1.0, u))

    def value(self, r: Array) -> Array:
        return self.loss().value(r, np.zeros_like(r))

    def loss(self) -> LogCosh:
        return LogCosh(self.c)


@dataclass(eq=False)
class MyriadWeights(WeightFunction):
    r"""The weights of Cauchy errors, :math:`c^2 / (c^2 + r^2)`; not convex, never quite zero.

    .. math:: \rho(r) = \tfrac12 c^2 \log(1 + r^2 / c^2)

    2.385 standard deviations keep 95 per cent of the efficiency for normal errors.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing.weights import MyriadWeights
    >>> MyriadWeights(1.0).weight(np.array([0.0, 1.0, 3.0]))
    array([1. , 0.5, 0.1])
    """

    tuning: ClassVar[float] = 2.385

    def weight(self, r: Array) -> Array:
        return np.asarray(1.0 / (1.0 + (r / self.c) ** 2))

    def value(self, r: Array) -> Array:
        return np.asarray(0.5 * self.c**2 * np.log1p((r / self.c) ** 2))


@dataclass(eq=False)
class BisquareWeights(WeightFunction):
    r"""Tukey's weights, :math:`(1 - r^2/c^2)^2` up to c and zero beyond; not convex.

    .. math:: \rho(r) = \tfrac{c^2}{6} \bigl(1 - (1 - \min(1, r^2/c^2))^3\bigr)

    4.685 standard deviations keep 95 per cent of the efficiency for normal errors.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing.weights import BisquareWeights
    >>> BisquareWeights(2.0).weight(np.array([0.0, 1.0, 3.0]))
    array([1.    , 0.5625, 0.    ])
    """

    tuning: ClassVar[float] = 4.685

    def _left(self, r: Array) -> Array:
        return np.asarray(1.0 - np.minimum(1.0, (r / self.c) ** 2))

    def weight(self, r: Array) -> Array:
        return np.asarray(self._left(r) ** 2)

    def value(self, r: Array) -> Array:
        return np.asarray(self.c**2 / 6.0 * (1.0 - self._left(r) ** 3))


@dataclass(eq=False)
class HampelWeights(WeightFunction):
    r"""One up to c, then falling in a line to zero at :math:`\lambda c`; not convex.

    .. math:: w(r) = \min\Bigl(1, \max\Bigl(0, \frac{\lambda c - |r|}{\lambda c - c}\Bigr)\Bigr)

    These are the weights of the weighted LS-SVM: 2.5 and 3 standard deviations.

    Parameters
    ----------
    c : float
        The size from which an error counts less.
    reach : float, default=1.2
        The factor :math:`\lambda > 1` of c from which it does not count.

    References
    ----------
    J. Suykens, J. De Brabanter, L. Lukas and J. Vandewalle (2002), Weighted least squares support
    vector machines, Neurocomputing 48, eq. (19).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing.weights import HampelWeights
    >>> HampelWeights(2.0, reach=1.5).weight(np.array([1.0, 2.5, 4.0]))
    array([1. , 0.5, 0. ])
    """

    tuning: ClassVar[float] = 2.5

    reach: float = 1.2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.reach > 1:
            raise ValueError(f"reach must be larger than one, got {self.reach!r}.")

    def weight(self, r: Array) -> Array:
        end = self.reach * self.c
        return np.clip((end - np.abs(r)) / (end - self.c), 0.0, 1.0)

    def value(self, r: Array) -> Array:
        u, end = np.abs(r), self.reach * self.c
        v = np.clip(u, self.c, end)
        arm = (end * (v**2 - self.c**2) / 2.0 - (v**3 - self.c**3) / 3.0) / (end - self.c)
        return np.asarray(0.5 * np.minimum(u, self.c) ** 2 + arm)


WEIGHTS: dict[str, type[WeightFunction]] = {
    "bisquare": BisquareWeights,
    "cauchy": MyriadWeights,
    "hampel": HampelWeights,
    "huber": HuberWeights,
    "logistic": LogisticWeights,
    "myriad": MyriadWeights,
}
"""Weight functions by name; the Myriad's is the Cauchy's."""
