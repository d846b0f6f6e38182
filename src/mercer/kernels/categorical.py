"""Kernels of names: categories that are equal or not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.kernels.featurewise import Factor, Featurewise
from mercer.kernels.points import Array


@dataclass(eq=False)
class Categorical(Featurewise):
    r"""One for points whose features are all equal, zero for others.

    .. math:: k(x, z) = \prod_j 1[x_j = z_j]

    A function has any value at every category, of which the squares are penalized; a category that
    was not seen has the value zero. Categories are given as numbers, in any order.

    Examples
    --------
    >>> Categorical()([[1.0], [2.0], [1.0]])
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """

    domain = "categories"

    def _factors(self) -> Factor:
        def factor(x: Array, z: Array, j: int) -> Array:
            return np.asarray(x == z, dtype=np.float64)

        return factor
