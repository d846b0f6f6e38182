"""K as a product of thin factors plus a diagonal."""

from __future__ import annotations

import numpy as np

from mercer._typing import DType, LinearMap, PointsLike
from mercer.gram.base import Gram, Index, positions
from mercer.gram.factor import MAX_BYTES, Solve, by_woodbury
from mercer.kernels.points import Array


class LowRank(Gram):
    r"""A Gram matrix :math:`K = G G' + \operatorname{diag}(d)` with n rows and few columns in G.

    Parameters
    ----------
    G : (n, m) array
        The factor.
    diagonal : (n,) array, optional
        Added to the diagonal, at least 0.

    Examples
    --------
    >>> gram = LowRank(np.array([[1.0], [2.0]]), diagonal=np.array([0.5, 0.0]))
    >>> gram.rows([0])
    array([[1.5, 2. ]])
    """

    resident = True

    def __init__(self, G: Array, diagonal: Array | None = None) -> None:
        G = np.asanyarray(G)
        self.G = G if G.dtype in (np.float32, np.float64) else G.astype(np.float64)
        if self.G.ndim != 2:
            raise ValueError(f"G must have shape (n, m), got {self.G.shape}.")
        self.diagonal = None if diagonal is None else np.asarray(diagonal, dtype=self.G.dtype)
        if self.diagonal is not None:
            if self.diagonal.shape != (self.G.shape[0],):
                raise ValueError(
                    f"diagonal must have shape ({self.G.shape[0]},), got {self.diagonal.shape}."
                )
            if not (self.diagonal >= 0).all():
                raise ValueError("diagonal must be at least 0, or K is not positive semidefinite.")

    @property
    def shape(self) -> tuple[int, int]:
        return self.G.shape[0], self.G.shape[0]

    @property
    def dtype(self) -> DType:
        return self.G.dtype

    @property
    def factor_bytes(self) -> float:
        return 8.0 * self.G.size if self.G.shape[1] < self.G.shape[0] else super().factor_bytes

    def block(self, rows: Index, columns: Index) -> Array:
        out: Array = self.G[rows] @ self.G[columns].T
        if self.diagonal is not None:
            n = self.shape[0]
            i, j = positions(rows, n), positions(columns, n)
            r, c = np.nonzero(i[:, None] == j[None, :])
            out[r, c] += self.diagonal[i[r]]
        return out

    def diag(self) -> Array:
        squares: Array = np.einsum("ij,ij->i", self.G, self.G)
        return squares if self.diagonal is None else squares + self.diagonal

    def matvec(self, v: Array) -> Array:
        v = self._vector(v)
        G = self.G.astype(np.float64, copy=False)
        out: Array = G @ (G.T @ v)
        if self.diagonal is not None:
            out += (self.diagonal * v.T).T
        return out

    def root(self) -> PointsLike:
        return self.G if self.diagonal is None else None

    def conjugated(self, W: LinearMap) -> Gram | None:
        return LowRank(np.asarray(W @ self.G)) if self.diagonal is None else None

    def shifted(self, e: Array, max_bytes: float = MAX_BYTES) -> Solve:
        if np.isfinite(e).sum() <= self.G.shape[1]:
            return super().shifted(e, max_bytes)
        total = e if self.diagonal is None else e + self.diagonal
        return by_woodbury(self.G.astype(np.float64, copy=False), total)
