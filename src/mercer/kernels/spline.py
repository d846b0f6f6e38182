"""Kernels of one feature on an interval: smoothing splines and Haar's steps."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, factorial

import numpy as np

from mercer._params import check_integer
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
