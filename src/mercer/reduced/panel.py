r"""Kernel values of many rows against few centres, used while they are in the cache.

A pass over the data wants, for the matrix :math:`K = k(X, Z)` of a block of rows,

.. math:: F = K A, \qquad G = G(F), \qquad R = K' G

with m centres Z and k columns: rows are taken a few at a time, so that their kernel values are
read twice before they leave the cache, and are never held all at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.kernels._pairwise import Array, Data, as_points, as_single, count, is_sparse, take
from mercer.kernels._single import pieces
from mercer.kernels.base import Evaluator, Kernel, into

__all__ = ["Panel", "Slopes"]

Slopes = Callable[[NDArray[np.float64], slice], Array]
"""From values F (n, k) of some rows, and which rows of the block they are, to G (n, k)."""

CACHE = 2**20
"""Bytes of kernel values that are computed and used at once: half of a core's second cache."""

DENSE_BYTES = 2.0**28
"""Largest size of sparse centres that are made dense for float32."""


class Panel:
    r"""The function :math:`X \mapsto k(X, Z)` and the products with it that a pass needs.

    May be shared by threads, and travels as kernel and centres only.

    Parameters
    ----------
    kernel : Kernel
    Z : (m, p) points
        The centres.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> X = np.array([[1.0], [2.0], [3.0]])
    >>> panel = Panel(Linear(), X[:2])
    >>> panel.values(X)
    array([[1., 2.],
           [2., 4.],
           [3., 6.]])

    Half the sum of squares of F = K A has the derivative K'F:

    >>> panel.sweep(X, np.array([[1.0], [1.0]]), lambda F, rows: F)
    array([[42.],
           [84.]])
    """

    def __init__(self, kernel: Kernel, Z: Data) -> None:
        self.kernel = kernel
        self.Z = as_points(Z) if kernel.numeric else Z
        self.m = count(self.Z)

    def __getstate__(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "Z": self.Z, "m": self.m}

    @cached_property
    def _double(self) -> Evaluator:
        return self.kernel.against(_as_double(self.Z) if self.kernel.numeric else self.Z)

    @cached_property
    def _origin(self) -> Array | None:
        """What is subtracted from all points before they are rounded to float32."""
        return self.kernel.origin(self.Z)

    @cached_property
    def _single(self) -> tuple[Data, Evaluator]:
        Z = as_single(self.Z, DENSE_BYTES, self._origin)
        return Z, self.kernel.against(Z)

    def _as_single(self, X: Data) -> Data:
        if is_sparse(X) and not is_sparse(self._single[0]):
            X = X.toarray()
        return as_single(X, 0.0, self._origin)

    def _evaluator(self, single: bool) -> tuple[Evaluator, Callable[[Data], Data]]:
        """Return the function of points in one precision, and what brings points to it."""
        if not self.kernel.numeric:
            return self._double, lambda X: X
        if single:
            return self._single[1], self._as_single
        return self._double, _as_double

    def values(self, X: Data, out: Array | None = None, single: bool = False) -> Array:
        """Return the kernel values, ``(n, m)``.

        Parameters
        ----------
        X : (n, p) points
        out : (n, m) array, optional
            Where they are written.
        single : bool, default=False
            Compute in float32 instead of float64, around the mean of the centres where the
            kernel allows: several times faster, with errors of about 5e-6 of the largest value.
        """
        evaluate, convert = self._evaluator(single)
        n, dtype = count(X), np.float32 if single else np.float64
        if out is None:
            out = np.empty((n, self.m), dtype=dtype)
        for part in pieces(0, n, self._rows(single)):
            into(evaluate, convert(take(X, part)), out[part])
        return out

    def sweep(
        self,
        X: Data,
        A: Array,
        slopes: Slopes,
        single: bool = False,
        rows: int | None = None,
    ) -> NDArray[np.float64]:
        """Return ``K' G(K A)``, with kernel values that live in the cache only.

        Parameters
        ----------
        X : (n, p) points
        A : (m, k) array
        slopes : callable
            From F = K A of some rows (n_part, k), and the slice of the rows, to G (n_part, k);
            it may keep what else it learns from F. Called once for each part, in order.
        single : bool, default=False
            Kernel values and products within a part in float32; what is added over
            parts is float64.
        rows : int, optional
            Rows of a part.

        Returns
        -------
        (m, k) array
        """
        evaluate, convert = self._evaluator(single)
        n, dtype = count(X), np.float32 if single else np.float64
        step = rows or self._rows(single)
        A = np.ascontiguousarray(A, dtype=dtype)
        R = np.zeros(A.shape)
        K = np.empty((min(n, step), self.m), dtype=dtype)
        for part in pieces(0, n, step):
            values = into(evaluate, convert(take(X, part)), K[: part.stop - part.start])
            F = (values @ A).astype(np.float64, copy=False)
            G = slopes(F, part)
            R += values.T @ G.astype(dtype, copy=False)
        return R

    def _rows(self, single: bool) -> int:
        return max(16, CACHE // ((4 if single else 8) * max(1, self.m)))


def _as_double(X: Data) -> Data:
    return as_points(X).astype(np.float64, copy=False)
