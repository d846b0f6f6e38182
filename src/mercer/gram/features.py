"""K = XX' + s^2, the matrix of a linear machine with a penalized intercept, by products with X."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer._typing import AnyArray, Array, DType, PointsLike
from mercer.gram.base import Gram, Index
from mercer.kernels.points import is_sparse

__all__ = ["Features"]


class Features(Gram):
    r"""The Gram matrix :math:`K = XX' + s^2` of the features and a column that is s in every row.

    Parameters
    ----------
    X : (n, d) array or CSR matrix
        The features, in float32 or float64.
    bias : float, default=0.0
        The value s of the last column, whose weight is the intercept over s.

    Examples
    --------
    >>> import numpy as np
    >>> gram = Features(np.array([[1.0], [2.0]]), bias=1.0)
    >>> gram.rows([1])
    array([[3., 5.]])
    >>> gram.weights(np.array([[1.0], [1.0]])).ravel()
    array([3., 2.])
    """

    resident = True

    def __init__(self, X: PointsLike, bias: float = 0.0) -> None:
        self.X, self.bias = X, float(bias)
        self._flat: dict[Any, Any] = {}
        self._root: Any = None

    @property
    def d(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape[0], self.X.shape[0]

    @property
    def dtype(self) -> DType:
        return np.dtype(np.float64)

    def weights(self, A: Array) -> Array:
        """Return the weights (d + 1, k) that coefficients (n, k) make, the last one of s."""
        top = np.asarray(self.double.T @ A)
        return np.vstack([top, self.bias * A.sum(axis=0, keepdims=True)])

    def values(self, W: Array) -> Array:
        """Return the decision values (n, k) of weights (d + 1, k)."""
        F: Array = np.asarray(self.double @ W[:-1]) + self.bias * W[-1]
        return F

    @property
    def sparse_rows(self) -> bool:
        """Whether the features are a sparse matrix."""
        return is_sparse(self.X)

    def take(self, index: NDArray[np.intp]) -> Features:
        """Return the matrix of some rows."""
        return Features(self.double[index], self.bias)

    def column_squares(self, D: Array) -> Array:
        """Return the weighted squares of the columns, the last one that of the intercept."""
        X = self.double
        if is_sparse(X):
            squares = X.multiply(X)
            top = np.asarray(squares.T @ D).ravel()
        else:
            top = np.einsum("ij,ij,i->j", X, X, D)
        return np.append(top, self.bias**2 * D.sum())

    def weighted_square(self, D: Array, max_numbers: int) -> Array:
        """Return ``Z'DZ`` of dense features, from blocks of the rows that have a weight."""
        active, size = np.flatnonzero(D), self.d + 1
        H = np.zeros((size, size))
        height = max(64, max_numbers // size)
        for first in range(0, len(active), height):
            rows = active[first : first + height]
            root = np.sqrt(D[rows])
            part = np.empty((len(rows), size))
            np.multiply(self.double[rows], root[:, None], out=part[:, :-1])
            part[:, -1] = self.bias * root
            H += part.T @ part
        return H

    def root(self) -> PointsLike:
        if self._root is None:
            X, ones = self.double, np.full((self.X.shape[0], 1), self.bias)
            sparse = is_sparse(X)
            self._root = (
                sp.csr_array(sp.hstack([X, sp.csr_array(ones)])) if sparse else np.hstack([X, ones])
            )
        return self._root

    def matvec(self, v: Array) -> Array:
        v = self._vector(v)
        A = v.reshape(len(v), -1)
        return self.values(self.weights(A)).reshape(v.shape)

    def block(self, rows: Index, columns: Index) -> AnyArray:
        product = self.double[rows] @ self.double[columns].T
        product = product.toarray() if is_sparse(product) else np.asarray(product)
        return product + self.bias**2

    def diag(self) -> Array:
        return self._squares

    @cached_property
    def _squares(self) -> Array:
        X = self.double
        if is_sparse(X):
            squares = np.add.reduceat(np.append(X.data**2, 0.0), X.indptr[:-1])
            squares[np.diff(X.indptr) == 0] = 0.0
        else:
            squares = np.einsum("ij,ij->i", X, X)
        squares = squares + self.bias**2
        squares.flags.writeable = False
        return squares

    @cached_property
    def double(self) -> Any:
        """The features in float64."""
        return self.X.astype(np.float64, copy=False)

    def flat(self, kind: Any) -> tuple[NDArray[np.uint64], NDArray[np.uint32], AnyArray]:
        """Return where rows start, their columns (none if the rows are dense) and their values."""
        if kind not in self._flat:
            X = self.X
            n, d = X.shape
            if is_sparse(X):
                # As they are where they fit, and one where there would be none.
                short = X.indices.astype(np.int32, copy=False).view(np.uint32)
                columns = short if len(short) else np.zeros(1, dtype=np.uint32)
                flat = X.indptr.astype(np.uint64), columns, X.data.astype(kind, copy=False)
            else:
                starts = d * np.arange(n + 1, dtype=np.uint64)
                values = np.ravel(X).astype(kind, copy=False)
                flat = starts, np.empty(0, dtype=np.uint32), values
            self._flat[kind] = flat
        known: tuple[NDArray[np.uint64], NDArray[np.uint32], AnyArray] = self._flat[kind]
        return known
