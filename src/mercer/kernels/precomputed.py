"""Kernel matrices computed by the user."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._typing import PointsLike
from mercer.kernels.base import Evaluator, Kernel, put
from mercer.kernels.points import Array, Data, as_points, is_sparse


@dataclass(eq=False)
class Precomputed(Kernel):
    """The kernel whose points are the rows of a kernel matrix, one column per training point.

    The "points" a machine keeps are the numbers of its support columns, so that
    ``kernel(X_new, kernel.points(X, support))`` reads ``X_new[:, support]`` like any other kernel.
    It is assumed, not checked, to be positive definite.

    Examples
    --------
    >>> K = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    >>> kernel = Precomputed()
    >>> kept = kernel.points(K, np.array([0, 2]))
    >>> kernel(K[:2], kept)
    array([[2., 0.],
           [1., 1.]])
    """

    precomputed = True

    def points(self, X: Data, index: Array) -> Data:
        return np.asarray(index)

    def against(self, Z: Data) -> Evaluator:
        columns = np.asarray(Z)
        if columns.ndim != 1 or not np.issubdtype(columns.dtype, np.integer):
            raise ValueError(
                "The second argument of a precomputed kernel is the integer positions of training "
                f"points, got an array of {columns.dtype} with shape {columns.shape}."
            )

        def evaluate(X: Data, out: Array | None = None) -> Array:
            X = _matrix(X)
            if columns.size and columns.max() >= X.shape[1]:
                raise ValueError(
                    f"Column {columns.max()} is needed but the matrix has {X.shape[1]}: pass "
                    "k(x, x_i) for every training point x_i, shape (n_test, n_train)."
                )
            return put(np.ascontiguousarray(X[:, columns]), out)

        return evaluate

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        return _matrix(X) if Z is None else self.against(Z)(X)

    def diag(self, X: Data) -> Array:
        X = _matrix(X)
        if X.shape[0] != X.shape[1]:
            raise ValueError(f"Only a square kernel matrix has a diagonal, got shape {X.shape}.")
        return np.array(X.diagonal())


def _matrix(X: PointsLike) -> Array:
    if is_sparse(X):
        raise ValueError("A precomputed kernel matrix must be dense; call X.toarray() first.")
    matrix: Array = as_points(X)
    return matrix
