"""K in memory."""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dsymv

from mercer._typing import DType, PointsLike
from mercer.gram.base import Gram, Index, nonzero_rows, submatrix
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array, Data

# From so many rows on reading half of the matrix is worth it, for so many columns.
MIN_HALF_ROWS, MAX_HALF_COLUMNS = 256, 4


class Matrix(Gram):
    """A Gram matrix that is given as a square array K."""

    K: Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.K.shape[0], self.K.shape[1]

    @property
    def dtype(self) -> DType:
        return self.K.dtype

    def dense(self) -> Array:
        return np.ascontiguousarray(self.K)


class Dense(Matrix):
    """A Gram matrix held in memory.

    Parameters
    ----------
    K : (n, n) array
        Symmetric; not copied if it is a float array.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> gram = Dense.from_kernel(Linear(), np.array([[1.0], [2.0]]))
    >>> gram.matvec(np.array([1.0, 1.0]))
    array([3., 6.])
    """

    in_memory = True
    resident = True

    def __init__(self, K: Array) -> None:
        self.K = as_square(K)

    @classmethod
    def from_kernel(cls, kernel: Kernel, X: Data) -> Dense:
        """Return the Gram matrix of a kernel on the points `X`."""
        return cls(kernel.symmetric(X))

    def block(self, rows: Index, columns: Index) -> Array:
        return submatrix(self.K, rows, columns)

    def diag(self) -> Array:
        return self.K.diagonal().copy()

    def matvec(self, v: Array) -> Array:
        v = self._vector(v)
        K = self.K
        whole = len(v) >= MIN_HALF_ROWS and K.dtype == np.float64 and K.flags.c_contiguous
        if not whole or v[0].size > MAX_HALF_COLUMNS or 3 * len(nonzero_rows(v)) < len(v):
            return super().matvec(v)
        # Half of a symmetric matrix is read for each column, where a product reads all of it.
        columns = [dsymv(1.0, K.T, u, lower=1) for u in np.atleast_2d(v.T)]
        return np.asarray(columns[0] if v.ndim == 1 else np.stack(columns, axis=1))


def as_square(K: PointsLike) -> Array:
    """Return a square matrix of floats, copied only if its dtype must change."""
    matrix: Array = np.asanyarray(K)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"A Gram matrix must be square, got shape {matrix.shape}.")
    return matrix if matrix.dtype in (np.float32, np.float64) else matrix.astype(np.float64)
