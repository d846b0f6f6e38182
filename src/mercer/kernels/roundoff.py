"""Proved bounds on the rounding errors of kernel values and of sums of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._typing import AnyArray, DType
from mercer.kernels.points import Array


class Precision(NamedTuple):
    """Errors of squared distances that are expanded into products, and those allowed.

    Parameters
    ----------
    rounding : float or array
        The error of half a squared distance s, in units of ``(sqrt(hx) + sqrt(hz))^2`` with half
        squared norms ``hx`` and ``hz``.
    error : float or array
        Error of a Gaussian kernel value beyond which its pair is computed again.
    digits : float or array
        Relative error of s allowed to kernels with other profiles.
    """

    rounding: Any
    error: Any
    digits: Any


# Errors that are worth more work: of a Gaussian kernel value, and of a squared distance relative
# to itself.
ALLOWED = {np.dtype(np.float32): (5e-6, 1e-5), np.dtype(np.float64): (1e-12, 1e-12)}


def precision_of(dtype: DType, terms: int | AnyArray) -> Precision:
    r"""Return how exact squared distances are that follow from a product of so many terms.

    In float64 every rounding is taken at its worst: `terms` roundings of the product and of each
    squared norm, and 8 of differences and of units. One column far larger than all others is
    enough to have them all in one direction. The errors allowed grow in proportion from 1,100
    terms on, as those of a sum of squared differences do.

    In float32 so much cannot be asked: :math:`1 + \tfrac12 \sqrt{terms}` roundings are what is met
    where columns are of one size. Solvers that read such values add :class:`Roundoff` to their
    bounds.

    Parameters
    ----------
    dtype : float32 or float64
    terms : int or array
        Features, or the nonzero entries of each sparse row.

    Examples
    --------
    >>> float(precision_of(np.dtype(np.float64), 10).rounding) / 2.0**-53
    18.0
    """
    error, digits = ALLOWED[dtype]
    unit = 0.5 * float(np.finfo(dtype).eps)
    if dtype == np.float32:
        return Precision(unit * (1.0 + 0.5 * np.sqrt(terms)), error, digits)
    rounding = unit * (terms + 8.0)
    return Precision(
        rounding, np.maximum(error, 8.0 * rounding), np.maximum(digits, 8.0 * rounding)
    )


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
        r"""Bound the error of sums :math:`\sum_j t_j \hat k_{ij}`, twelve in float32.

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
