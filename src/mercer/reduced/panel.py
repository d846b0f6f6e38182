r"""Kernel values of many rows against few centres, used while they are in the cache.

A pass over the data wants, for the matrix :math:`K = k(X, Z)` of a block of rows,

.. math:: F = K A, \qquad G = G(F), \qquad R = K' G

with m centres Z and k columns: rows are taken a few at a time, so that their kernel values are
read twice before they leave the cache, and are never held all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.kernels.base import Kernel, into
from mercer.kernels.points import (
    Array,
    Data,
    as_points,
    as_single,
    count,
    is_sparse,
    pieces,
    take,
)
from mercer.kernels.tiles import TiledEvaluator, Tiles

__all__ = ["Panel", "Slopes", "as_double"]

Slopes = Callable[[NDArray[np.float64], slice, Any], Array]
"""From values F (n, k) of some rows, which rows they are, and kernel values (n, m), to G (n, j)."""

CACHE_BYTES = 3 * 2**18
"""Bytes of kernel values that are computed and used at once: they stay in a second cache."""

CHUNK_BYTES = 2**20
"""Bytes of points that are prepared at once."""

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

    >>> panel.sweep(X, np.array([[1.0], [1.0]]), lambda F, rows, K: F)
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
    def _double(self) -> _Values:
        return _Values(self.kernel, as_double(self.Z) if self.kernel.numeric else self.Z)

    @cached_property
    def _single(self) -> _Values:
        origin = self.kernel.origin(self.Z)
        return _Values(self.kernel, as_single(self.Z, DENSE_BYTES, origin), origin)

    def _strips(
        self, X: Data, single: bool, rows: int | None
    ) -> Iterator[tuple[slice, Callable[[Array], object]]]:
        """Cut the points into strips, each with the function that writes its kernel values."""
        numbers = self.kernel.numeric
        X = as_points(X) if numbers else X
        values = self._single if single and numbers else self._double
        p = X.shape[1] if numbers else 1
        if rows is None:
            rows = max(16, CACHE_BYTES // ((4 if single else 8) * max(1, self.m)))
            # More features make it dearer to lay the centres out for each product.
            rows = max(rows, 512) if p >= 128 else rows
        # What concerns points alone is done for many of them, because each call costs microseconds.
        for chunk in pieces(0, count(X), rows * max(1, CHUNK_BYTES // (8 * rows * max(1, p)))):
            write = values.of(take(X, chunk))
            for part in pieces(chunk.start, chunk.stop, rows):
                yield part, partial(write, part.start - chunk.start, part.stop - chunk.start)

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
        dtype = np.float32 if single else np.float64
        if out is None:
            out = np.empty((count(X), self.m), dtype=dtype)
        for part, write in self._strips(X, single, None):
            write(out[part])
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
            From F = K A of some rows (n_part, k), the slice of the rows and their kernel values, to
            G (n_part, j); it may keep what else it learns, but no view of the kernel values, whose
            memory is used again. Called once for each part, in order.
        single : bool, default=False
            Kernel values and products within a part in float32; what is added over parts is
            float64.
        rows : int, optional
            Rows of a part.

        Returns
        -------
        (m, j) array
        """
        dtype = np.float32 if single else np.float64
        A = np.ascontiguousarray(A, dtype=dtype)
        R: NDArray[np.float64] | None = None
        memory = np.empty((0, self.m), dtype=dtype)
        for part, write in self._strips(X, single, rows):
            n = part.stop - part.start
            if n > len(memory):
                memory = np.empty((n, self.m), dtype=dtype)
            K = memory[:n]
            write(K)
            G = slopes(_times(K, A).astype(np.float64, copy=False), part, K)
            if R is None:
                R = np.zeros((self.m, G.shape[1]))
            R += _times(K.T, np.ascontiguousarray(G, dtype=dtype))
        return np.zeros(A.shape) if R is None else R


def _times(K: Array, A: Array) -> Array:
    """Return a product, by the faster routine for a matrix and a vector where A is a column."""
    product: Array = (K @ A[:, 0])[:, None] if A.shape[1] == 1 else K @ A
    return product


class _Values:
    """A writer of kernel values against the centres, in tiles where all points are dense.

    Parameters
    ----------
    kernel : Kernel
    Z : (m, p) points
        In the precision of the values.
    origin : (p,) array, optional
        What was subtracted from Z, and must be from other points.
    """

    def __init__(self, kernel: Kernel, Z: Data, origin: Array | None = None) -> None:
        self.Z, self.origin = Z, origin
        self.evaluate = evaluate = kernel.against(Z)
        self.numeric = kernel.numeric
        self.tiles: Tiles | None = None
        if isinstance(evaluate, TiledEvaluator) and count(Z) and not is_sparse(Z):
            self.tiles = evaluate.tiles or evaluate.prepare(Z)

    def of(self, X: Data) -> Callable[[int, int, Array], object]:
        """Return the function that writes the kernel values of a range of few points."""
        if is_sparse(X) and not is_sparse(self.Z) and self.Z.dtype == np.float32:
            X = X.toarray()
        tiles = self.tiles
        if tiles is None or is_sparse(X):
            X = self._alike(X)
            return lambda start, stop, out: into(self.evaluate, X[start:stop], out)
        rows = tiles.left(X, self.origin)

        def write(start: int, stop: int, out: Array) -> None:
            fits = out.dtype == tiles.dtype and out.flags.c_contiguous
            K = out if fits else np.empty(out.shape, dtype=tiles.dtype)
            tiles.strip(rows.part(start, stop), K)
            if not fits:
                out[...] = K

        return write

    def _alike(self, X: Data) -> Data:
        """Return points in the precision of the centres."""
        if not self.numeric:
            return X
        if self.Z.dtype == np.float32:
            return as_single(X, 0.0, self.origin)
        return as_double(X)


def as_double(X: Data) -> Data:
    """Return points in float64."""
    return as_points(X).astype(np.float64, copy=False)
