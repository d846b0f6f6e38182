"""A fitted machine as a value: the functions of a kernel that its predictions are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.kernels.base import Kernel
from mercer.kernels.points import Array, Data, count
from mercer.kernels.products import products
from mercer.regularizers.null_space import NullSpace

__all__ = ["FittedExpansion"]


@dataclass(frozen=True, eq=False)
class FittedExpansion:
    r"""Expansions :math:`f_d = \sum_i A_{id} k(z_i, \cdot) + \sum_j b_{dj} p_j` of a machine.

    Parameters
    ----------
    kernel : Kernel or None
        None if samples are known by their number in a kernel matrix only.
    points : n points
        The support vectors; numbers of samples without a kernel.
    index : (n,) array of int
        The sample that a point was, -1 for a point that was no sample.
    coef : (n, D) array
        The coefficients A, a column for each function.
    null_space : NullSpace
        The unpenalized functions p.
    null_space_coef : (D, q) array
        Their coefficients b.
    groups : (n,) array of int
        The class of every point, 0 for machines without classes of points.
    allowed : (number of groups, D) array of bool
        Which functions may have a term at a point of a group: those of the pairs of a class, for
        coefficients that are stored class by class.
    by_group : bool
        Whether the machine holds the points of a group one after the other.
    tol : float
        The tolerance that the machine was fitted to.
    check : callable
        Checks new points as the machine does, and returns them as its kernel reads them.
    matrix : (N, N) array or None
        The kernel matrix of the sample, for a kernel that is a plain function.
    """

    kernel: Kernel | None
    points: Any
    index: NDArray[np.intp]
    coef: Array
    null_space: NullSpace
    null_space_coef: Array
    groups: NDArray[np.intp]
    allowed: NDArray[np.bool_]
    by_group: bool
    tol: float
    check: Callable[[Any], Any]
    matrix: Array | None = None

    def __call__(self, X: Data) -> Array:
        """Evaluate the functions at points that were checked, (m, D)."""
        if self.kernel is None:
            raise ValueError("a kernel matrix of the sample has no values at other points.")
        free = self.null_space(X) @ self.null_space_coef.T
        return np.asarray(
            products(self.kernel, self.points, X, self.coef, [count(self.points)])[0] + free
        )
