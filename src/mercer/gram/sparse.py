"""Sparse kernel matrices, of kernels with compact support: only nonzero values are computed."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mercer._typing import DType, LinearMap
from mercer.gram.banded import Band, by_band, narrowed
from mercer.gram.base import EVERYTHING, Gram, Index, positions
from mercer.gram.factor import MAX_BYTES, Solve
from mercer.kernels.base import Kernel
from mercer.kernels.neighbours import Neighbours
from mercer.kernels.points import Array
from mercer.kernels.roundoff import Roundoff

# Bytes per pair while the two triangles are put together: value and column, twice.
PAIR_BYTES = 24.0


class Sparse(Gram):
    r"""A Gram matrix held as its entries that are not zero, row by row.

    Memory and products grow with the number of neighbours,

    .. math:: \operatorname{nnz} = \sum_i |\{j : k(x_i, x_j) \ne 0\}|,

    12 bytes and one multiplication each in double precision, and so does the time to find them.

    Parameters
    ----------
    K : (n, n) sparse matrix or array
        Symmetric.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, section 3.3, on B-splines.

    Examples
    --------
    >>> from mercer.kernels import BSpline
    >>> gram = Sparse.from_kernel(BSpline(1.0, degree=1), np.array([[0.0], [0.5], [9.0]]))
    >>> gram.matvec(np.ones(3)), gram.nnz
    (array([1.5, 1.5, 1. ]), 5)
    """

    sparse = True
    resident = True

    def __init__(self, K: LinearMap) -> None:
        matrix = sparse.csr_array(K)
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"A Gram matrix must be square, got shape {matrix.shape}.")
        if matrix.dtype not in (np.float32, np.float64):
            matrix = matrix.astype(np.float64)
        matrix.sort_indices()
        self.K = matrix

    @classmethod
    def from_kernel(cls, kernel: Kernel, X: Array, max_bytes: float = MAX_BYTES) -> Sparse:
        """Return the Gram matrix of a kernel of compact support on the points `X`.

        Parameters
        ----------
        kernel : Kernel
            With a `support`.
        X : (n, p) array
            Dense points; a tree finds the neighbours, which is fast for few features.
        max_bytes : float, default=4e9
            Memory that may be taken. Pairs are counted first, so that a matrix that is too large is
            refused before anything is computed.
        """
        near = Neighbours(kernel, X)
        n, counts = len(X), near.counts(X)
        need = PAIR_BYTES * float(counts.sum())
        if need > max_bytes:
            raise ValueError(
                f"the {n} points have {counts.mean():.0f} neighbours each within the support of "
                f"{kernel!r}, which takes {need:.1e} bytes, more than max_bytes={max_bytes:.1e}; "
                "shorten its length scale, use a tiled Gram, or raise max_bytes"
            )
        half = 0.5 * kernel.diag(X)
        blocks = []
        for pairs in near.pairs(X, counts):
            above = pairs.i <= pairs.j
            i, j = pairs.i[above], pairs.j[above]
            # Half of the diagonal from either triangle: the sum is exact.
            values = np.where(i == j, half[i], kernel.paired(X[i], X[j]))
            blocks.append(pairs._replace(i=i, j=j).matrix(values, n))
        upper = sparse.vstack(blocks, format="csr") if blocks else sparse.csr_array((n, n))
        del blocks
        return cls(upper + upper.T.tocsr())

    @property
    def shape(self) -> tuple[int, int]:
        return self.K.shape[0], self.K.shape[1]

    @property
    def dtype(self) -> DType:
        return np.dtype(self.K.dtype)

    @property
    def nnz(self) -> int:
        """The number of entries that are held."""
        return int(self.K.nnz)

    @property
    def factor_bytes(self) -> float:
        return 8.0 * self.shape[0] * min(self._band.width + 1, self.shape[0])

    @cached_property
    def _band(self) -> Band:
        return narrowed(self.K)

    @cached_property
    def _double(self) -> LinearMap:
        """The matrix in float64: SciPy would make a copy in every product."""
        return self.K.astype(np.float64, copy=False)

    def block(self, rows: Index, columns: Index) -> Array:
        part = self._part(rows)
        if not (isinstance(columns, slice) and columns == EVERYTHING):
            part = part[:, positions(columns, self.shape[1])]
        return np.asarray(part.toarray())

    def _part(self, rows: Index) -> LinearMap:
        """Return some rows, sparse."""
        return self.K[positions(rows, self.shape[0])]

    def add_rows(
        self, F: NDArray[np.float64], index: Index, t: Array, out: Array | None = None
    ) -> None:
        part = self._part(index)
        if out is not None:
            out[...] = part.toarray()
        F += (part.T @ t.T).T

    def diag(self) -> Array:
        return np.asarray(self.K.diagonal())

    def matvec(self, v: Array) -> Array:
        return np.asarray(self._double @ self._vector(v))

    def single(self) -> Gram:
        return self._single

    @cached_property
    def _single(self) -> Gram:
        if self.dtype == np.float32:
            return self
        parts = (self.K.data.astype(np.float32), self.K.indices, self.K.indptr)
        return Sparse(sparse.csr_array(parts, shape=self.shape))

    def roundoff(self) -> Roundoff | None:
        if self.dtype != np.float32 or np.any(self.K.data < 0):
            return None
        # Values are rounded once, and summed in float64.
        ones = np.ones(self.shape[0])
        return Roundoff(2.0**-23 * ones, ones, 2.0**-100)

    def conjugated(self, W: LinearMap) -> Gram | None:
        if not sparse.issparse(W):
            return None
        product: LinearMap = W
        return Sparse(product @ self.K @ product.T)

    def restrict(self, index: NDArray[np.intp]) -> Gram:
        part = Sparse(self._part(index)[:, index])
        part.kernel_error = self.kernel_error
        return part

    def shifted(self, e: Array, max_bytes: float = MAX_BYTES) -> Solve:
        live = np.flatnonzero(np.isfinite(e))
        whole = len(live) == self.shape[0]
        inner = self._double if whole else self._double[live][:, live]
        band = self._band if whole else narrowed(inner)
        if 2 * band.width > len(live):
            return super().shifted(e, max_bytes)
        eps = float(np.finfo(self.dtype).eps)
        return by_band(inner, band, self.matvec, self.diag().astype(np.float64), e, eps, max_bytes)
