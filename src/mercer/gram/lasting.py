"""What one problem leaves behind for the next one over the same kernel matrix.

A path of fits, each started from the last, changes C and not K. Most of its time would go into the
same rows of it, and into products in float64 that are known but for a factor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer.gram.base import Gram
from mercer.gram.row_store import RowStore
from mercer.kernels.points import Array


class Products(NamedTuple):
    """The product ``K a``, and a bound on the error of each entry beyond rounding in float64."""

    a: Array
    Ka: Array
    error: Array


class SolverCache:
    """Rows of a kernel matrix and a product with it that outlast a solver.

    Examples
    --------
    >>> lasting, a = SolverCache(), np.array([1.0, -1.0])
    >>> lasting.leave(Products(a, np.array([3.0, 2.0]), np.array([0.0, 0.1])))
    >>> lasting.products(2.0 * a).Ka
    array([6., 4.])
    """

    def __init__(self) -> None:
        self._left: Products | None = None
        self._rows: RowStore | None = None
        self._granted = 0.0

    def leave(self, products: Products) -> None:
        """Keep the products at the end of a run.

        Parameters
        ----------
        products : Products
        """
        self._left = products

    def products(self, a: Array) -> Products | None:
        """Return the products at the multiple of the last coefficients nearest to others.

        Parameters
        ----------
        a : (n,) array
        """
        if self._left is None or len(a) != len(self._left.a):
            return None
        last, Ka, error = self._left
        s = float(last @ a) / max(float(last @ last), np.finfo(np.float64).tiny)
        return Products(s * last, s * Ka, abs(s) * error if s else np.zeros_like(error))

    def rows(self, K: Gram, max_bytes: float) -> RowStore:
        """Return the store of rows of a matrix, with those that an earlier solver computed.

        Parameters
        ----------
        K : Gram
        max_bytes : float
            Memory for rows.
        """
        if self._rows is None or self._rows.K is not K or self._granted != max_bytes:
            self._rows, self._granted = RowStore(K, max_bytes, outlasts=True), max_bytes
        return self._rows
