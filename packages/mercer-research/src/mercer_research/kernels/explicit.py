"""Kernels whose feature map is written down."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from mercer.kernels.base import Evaluator, Kernel, put
from mercer.kernels.points import (
    Array,
    Data,
    as_pair,
    as_points,
    squared_norms,
)


class Explicit(Kernel):
    r"""An inner product of finitely many features, :math:`\langle\varphi(x), \varphi(z)\rangle`."""

    @abstractmethod
    def features(self, X: Data) -> Array:
        """Return the features of every point, ``(n, q)``, whose inner products are the kernel.

        Parameters
        ----------
        X : (n, p) points
        """

    def against(self, Z: Data) -> Evaluator:
        Z = as_points(Z)
        right = self.features(Z)

        def evaluate(X: Data, out: Array | None = None) -> Array:
            X, _ = as_pair(X, Z)
            K = self.features(X) @ right.T
            return put(K.astype(np.result_type(X.dtype, Z.dtype), copy=False), out)

        return evaluate

    def diag(self, X: Data) -> Array:
        X = as_points(X)
        return squared_norms(self.features(X)).astype(X.dtype)

    def paired(self, X: Data, Z: Data) -> Array:
        X, Z = as_pair(X, Z)
        values = np.einsum("ij,ij->i", self.features(X), self.features(Z))
        return np.asarray(values, dtype=X.dtype)
