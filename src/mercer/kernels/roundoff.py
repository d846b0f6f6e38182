"""Proved bounds on the rounding errors of kernel values and of sums of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer.kernels.points import Array


class Roundoff(NamedTuple):
    r"""Proved bounds on the error of values that are not negative, and of sums of them.

    .. math:: |\hat k_{ij} - k_{ij}| \le \rho_i w_j \hat k_{ij} + \tau

    for all i and j. Unlike the constants above, which say what is met, these take every rounding
    at its worst: nothing that follows from them depends on luck.

    Parameters
    ----------
    rho : (m,) array
        Infinite where nothing is known.
    weight : (m,) array
    tail : float
    """

    rho: Array
    weight: Array
    tail: float

    def of_sums(self, sizes: Array, total: float) -> Array:
        r"""Bound the error of sums :math:`\sum_j t_j \hat k_{ij}`, also in float32, four at a time.

        Parameters
        ----------
        sizes : (m,) array
            The sums :math:`\sum_j |t_j| w_j \hat k_{ij}`.
        total : float
            The sum of all :math:`|t_j|`.
        """
        if total == 0.0:
            return np.zeros(len(sizes))
        with np.errstate(invalid="ignore"):
            bounds = self.rho * sizes + self.tail * total
        return np.where(np.isnan(bounds), np.inf, bounds)

    def take(self, index: Array) -> Roundoff:
        """Return the bounds of some of the points."""
        return Roundoff(self.rho[index], self.weight[index], self.tail)
