"""Kernels of one feature on an interval: smoothing splines and Haar's steps."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, factorial

import numpy as np

from mercer._params import check_integer, is_integer
from mercer.kernels.featurewise import Factor, OneFeature
from mercer.kernels.points import Array


@dataclass(eq=False)
class Spline(OneFeature):
    r"""The kernel of smoothing splines, which penalizes the derivative of order m.

    .. math:: k(x, z) = \int_a^\infty \frac{(x - u)_+^{m-1} (z - u)_+^{m-1}}{((m-1)!)^2} \, du,
              \qquad |f|^2 = \int_a^\infty f^{(m)}(u)^2 \, du

    Polynomials of degree below m cost nothing: they are left free by every machine, which is what
    `order` says, although the kernel itself is positive definite. With squared loss the machine is
    then the natural spline of degree :math:`2m - 1`, in the units of the feature, and f
    continues beyond the last point as a polynomial of degree below m. It does not depend on a, as
    long as no point lies to the left of it.

    Parameters
    ----------
    order : int, default=2
        The order m of the derivative, at least 1; 2 makes cubic splines.
    lower : float, default=0.0
        The left end a of the axis; points to the left of it are refused.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (5.2)-(5.16), where (5.15)
    is printed for the order m + 1 and without its factorials; G. Wahba, *Spline Models for
    Observational Data*, 1990, eq. (1.2.11).

    Examples
    --------
    >>> Spline(order=1)([[2.0]], [[1.0], [3.0]])
    array([[1., 2.]])
    >>> Spline(order=2).unpenalized(1)
    [(), (0,)]
    """

    order: int = 2
    lower: float = 0.0

    def __post_init__(self) -> None:
        check_integer("order", self.order, 1)
        if not np.isfinite(self.lower):
            raise ValueError(f"lower must be a finite number, got {self.lower}.")

    @property
    def domain(self) -> str:
        return f"[{self.lower:g}, inf)"

    def unpenalized(self, p: int) -> list[tuple[int, ...]]:
        self._check_features(p)
        return super().unpenalized(p)

    def _factors(self) -> Factor:
        m, lower = int(self.order), float(self.lower)
        # With the smaller argument s and the distance d the integral is that of
        # (v + d)^(m-1) v^(m-1) over v from 0 to s: s^m times a form of degree m - 1 in d and s
        # whose terms are all positive, so nothing cancels.
        weights = [comb(m - 1, i) / ((2 * m - 1 - i) * factorial(m - 1) ** 2) for i in range(m)]

        def factor(x: Array, z: Array, j: int) -> Array:
            s = np.minimum(x, z) - lower
            if s.min(initial=0.0) < 0.0:
                raise ValueError(
                    f"There are points below lower={self.lower}: choose a lower end of the axis "
                    "that is to the left of all of them; the fit does not depend on it."
                )
            d, power = np.abs(x - z), np.ones_like(s)
            form = np.full_like(s, weights[-1])
            for weight in weights[-2::-1]:
                power *= s
                form = form * d + weight * power
            return np.asarray(form * power * s)

        return factor


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
