"""Kernels of functions that jump: Haar's steps, and breaks at given places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial

import numpy as np

from mercer._params import check_integer, is_integer
from mercer.kernels.featurewise import Factor, OneFeature
from mercer.kernels.points import Array, Data, dense_double
from mercer_research.kernels.explicit import Explicit


@dataclass(eq=False)
class Haar(OneFeature):
    r"""Haar's wavelets on an interval, with a weight for each level.

    .. math:: k(x, z) = \kappa + \sum_{a=0}^{D-1} 2^{-sa} \sum_{i=0}^{2^a - 1}
              \psi(2^a x - i) \, \psi(2^a z - i)

    with :math:`\psi = 1` on the left half of [0, 1) and -1 on the right one. If l is the number of
    leading binary digits that x and z share, the sum is
    :math:`(1 - 2^{-sl})/(1 - 2^{-s}) - 2^{-sl}`, without the last term where all D digits agree.
    Functions are constant on cells: they may jump anywhere, at low cost in the middle
    of the interval, and are smooth nowhere.

    Parameters
    ----------
    smoothness : float, default=1.0
        The exponent s, positive: how fast the weights of the levels fall.
    constant : float, default=1.0
        The value :math:`\kappa` that all pairs have in common, at least 0.
    lower, upper : float, default=0.0 and 1.0
        The interval that is halved; points outside are refused.
    depth : int, default=52
        The number of levels D, at most 52, the digits of a double.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (5.22)-(5.25), whose kernel
    has no weights and is infinite on the diagonal.

    Examples
    --------
    >>> Haar()([[0.1]], [[0.1], [0.2], [0.3], [0.6]])
    array([[3.  , 2.25, 1.5 , 0.  ]])
    """

    smoothness: float = 1.0
    constant: float = 1.0
    lower: float = 0.0
    upper: float = 1.0
    depth: int = 52

    def __post_init__(self) -> None:
        if not 0.0 < self.smoothness < np.inf:
            raise ValueError(f"smoothness must be a positive number, got {self.smoothness}.")
        if not 0.0 <= self.constant < np.inf:
            raise ValueError(f"constant must be a finite number, at least 0, got {self.constant}.")
        if not -np.inf < self.lower < self.upper < np.inf:
            raise ValueError(
                f"lower must be less than upper, both finite, got {self.lower} and {self.upper}."
            )
        if not is_integer(self.depth) or not 1 <= self.depth <= 52:
            raise ValueError(f"depth must be an integer from 1 to 52, got {self.depth!r}.")

    @property
    def domain(self) -> str:
        return f"[{self.lower:g}, {self.upper:g}]"

    def _digits(self, x: Array) -> Array:
        """Return the leading binary digits of the places in the interval, as integers."""
        place = (x - float(self.lower)) / (float(self.upper) - float(self.lower))
        if place.min(initial=0.0) < 0.0 or place.max(initial=0.0) > 1.0:
            raise ValueError(
                f"There are points outside of [{self.lower}, {self.upper}]: set lower and upper to "
                "the ends of an interval that holds all of them."
            )
        cells = 2 ** int(self.depth)
        return np.asarray(np.minimum((place * cells).astype(np.int64), cells - 1))

    def _shared(self, x: Array, z: Array) -> Array:
        """Return how many leading digits agree."""
        different = self._digits(x) ^ self._digits(z)
        # The exponent of a number below 2^53 as a double is its number of binary digits.
        return np.asarray(int(self.depth) - np.frexp(different.astype(np.float64))[1])

    def _table(self, slope: bool = False) -> Array:
        """Return the sum over levels, or its derivative by s, for every number of shared digits."""
        level = np.arange(int(self.depth), dtype=float)
        weights = np.exp2(-float(self.smoothness) * level)
        if slope:
            weights *= -np.log(2.0) * level
        return np.asarray(np.append(0.0, np.cumsum(weights)) - np.append(weights, 0.0))

    def _factors(self) -> Factor:
        table = float(self.constant) + self._table()
        return lambda x, z, j: table[self._shared(x, z)]

    def _derivatives(self, x: Array, z: Array, j: int) -> dict[str, Array]:
        shared = self._shared(x, z)
        return {"smoothness": self._table(slope=True)[shared], "constant": np.ones(shared.shape)}


@dataclass(eq=False)
class Breaks(Explicit):
    r"""Jumps, kinks and breaks of higher derivatives of one feature at given places.

    .. math:: k(x, z) = \sum_q \sum_{i=0}^{d} \zeta_i(x - \tau_q) \, \zeta_i(z - \tau_q),
              \qquad \zeta_i(u) = \operatorname{sign}(u) \, u^i / i!

    Added to a smooth kernel it lets the function break at the places :math:`\tau_q`, at a cost: a
    jump of height h costs :math:`h^2/4`. The null space of the same name leaves breaks free.

    Parameters
    ----------
    knots : sequence of float
        The places :math:`\tau_q`.
    degree : int, default=0
        The highest derivative d that may break: 0 for jumps, 1 also for kinks.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (9.45)-(9.49), where the
    inner sum has to begin at 0.

    Examples
    --------
    >>> Breaks([0.5])([[0.2]], [[0.4], [0.6]])
    array([[ 1., -1.]])
    """

    knots: Sequence[float] | Array
    degree: int = 0

    def __post_init__(self) -> None:
        knots = np.asarray(self.knots, dtype=float)
        if knots.ndim != 1 or not knots.size or not np.isfinite(knots).all():
            raise ValueError(f"knots must be a list of finite numbers, got {self.knots!r}.")
        check_integer("degree", self.degree, 0)

    def features(self, X: Data) -> Array:
        points = dense_double(X)
        if points.shape[1] != 1:
            raise ValueError(
                f"Breaks is a kernel of one feature but the points have {points.shape[1]}: select "
                "one with .on([j])."
            )
        u = points - np.asarray(self.knots, dtype=float)
        sign = np.where(u > 0, 1.0, -1.0)
        return np.hstack([sign * u**i / factorial(i) for i in range(int(self.degree) + 1)])
