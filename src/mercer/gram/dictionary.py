"""Functions at a sample: a matrix with a row a sample and a column a function, known by blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from mercer._typing import LinearMap
from mercer.gram.tiled import Tiled
from mercer.kernels.base import Kernel
from mercer.kernels.points import (
    BLOCK_BYTES,
    Array,
    Data,
    count,
    row_slices,
    take,
)

__all__ = ["CombinedDictionary", "DenseDictionary", "Dictionary", "KernelColumns"]

Indices = NDArray[np.intp]


class Dictionary(ABC):
    """A matrix G of m functions at n samples that a solver reads by columns.

    It needs to be neither square nor symmetric. A subclass writes :meth:`columns` and
    :meth:`price`; the whole matrix is asked for by no one.
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """``(n, m)``."""

    @abstractmethod
    def columns(self, index: Indices) -> NDArray[np.float64]:
        """Return the columns ``G[:, index]``; the caller must not write to them.

        Parameters
        ----------
        index : (k,) array of int
        """

    @abstractmethod
    def price(self, u: NDArray[np.float64], index: Indices | None = None) -> NDArray[np.float64]:
        """Return ``G'u``, the product of every column with a vector.

        Parameters
        ----------
        u : (n,) array
        index : (k,) array of int, optional
            Which columns; all by default.
        """

    def rough_price(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``G'u`` to about single precision, where that takes less time.

        Parameters
        ----------
        u : (n,) array
        """
        return self.price(u)

    def value_error(self) -> float:
        """Return by what part of themselves entries may differ from those of a prediction."""
        return 0.0

    @abstractmethod
    def take(self, rows: Indices, index: Indices) -> Dictionary:
        """Return the dictionary of some samples and columns.

        Parameters
        ----------
        rows : (k,) array of int
        index : (l,) array of int
        """

    @property
    def essential(self) -> Indices:
        """Columns that no choice may leave out."""
        return np.empty(0, dtype=np.intp)


class DenseDictionary(Dictionary):
    """A dictionary that is in memory.

    Parameters
    ----------
    G : (n, m) array

    Examples
    --------
    >>> DenseDictionary(np.array([[1.0, 2.0], [3.0, 4.0]])).price(np.array([1.0, 1.0]))
    array([4., 6.])
    """

    def __init__(self, G: Array) -> None:
        self.G = np.asarray(G, dtype=np.float64)
        if self.G.ndim != 2 or not np.all(np.isfinite(self.G)):
            raise ValueError("a dictionary is a matrix (n, m) of finite numbers.")

    @property
    def shape(self) -> tuple[int, int]:
        return self.G.shape[0], self.G.shape[1]

    def columns(self, index: Indices) -> NDArray[np.float64]:
        return self.G[:, index]

    def price(self, u: NDArray[np.float64], index: Indices | None = None) -> NDArray[np.float64]:
        return np.asarray((self.G if index is None else self.G[:, index]).T @ u)

    def take(self, rows: Indices, index: Indices) -> DenseDictionary:
        return DenseDictionary(self.G[np.ix_(rows, index)])


class KernelColumns(Dictionary):
    r"""The functions :math:`k(z_j, \cdot)` of some centres, computed when they are asked for.

    Parameters
    ----------
    kernel : Kernel
    X : (n, p) points
        The sample.
    Z : (m, p) points, optional
        The centres; the sample itself by default.
    cache_bytes : int, default=200 * 2**20
        A matrix of at most this size is computed once and kept.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> G = KernelColumns(Linear(), np.array([[1.0], [2.0]]), np.array([[3.0]]))
    >>> G.shape, G.price(np.array([1.0, 1.0]))
    ((2, 1), array([9.]))
    """

    def __init__(
        self, kernel: Kernel, X: Data, Z: Data | None = None, cache_bytes: int = 200 * 2**20
    ) -> None:
        self.kernel, self.X, self.Z = kernel, X, X if Z is None else Z
        self._whole: DenseDictionary | None = None
        self._square: Tiled | None = None
        if 8 * count(self.X) * count(self.Z) <= cache_bytes:
            self._whole = DenseDictionary(np.asarray(kernel(self.X, self.Z), dtype=np.float64))
        elif self.Z is self.X and getattr(X, "dtype", None) == np.float64:
            # Of a symmetric matrix half of the kernel values is enough.
            self._square = Tiled(kernel, X)

    @property
    def shape(self) -> tuple[int, int]:
        return count(self.X), count(self.Z)

    def columns(self, index: Indices) -> NDArray[np.float64]:
        if self._whole is not None:
            return self._whole.columns(index)
        return np.asarray(self.kernel(self.X, take(self.Z, index)), dtype=np.float64)

    def price(self, u: NDArray[np.float64], index: Indices | None = None) -> NDArray[np.float64]:
        if self._whole is not None:
            return self._whole.price(u, index)
        if index is None and self._square is not None:
            return np.asarray(self._square.matvec(u), dtype=np.float64)
        live, index = np.flatnonzero(u), np.arange(self.shape[1]) if index is None else index
        points, out = take(self.X, live), np.empty(len(index))
        for part in row_slices(len(out), 8 * max(1, len(live)), BLOCK_BYTES):
            block = np.asarray(self.kernel(take(self.Z, index[part]), points))
            out[part] = block.astype(np.float64, copy=False) @ u[live]
        return out

    def rough_price(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._square is None:
            return self.price(u)
        return np.asarray(self._square.single().matvec(u), dtype=np.float64)

    def value_error(self) -> float:
        return self.kernel.value_error(self.X)

    def take(self, rows: Indices, index: Indices) -> Dictionary:
        if self._whole is not None:
            return self._whole.take(rows, index)
        return KernelColumns(self.kernel, take(self.X, rows), take(self.Z, index))


class CombinedDictionary(Dictionary):
    r"""Combinations of the rows of another dictionary, and a few more columns: :math:`(SG, E)`.

    Samples that occur twice, samples that no function reaches and linear functionals of functions
    are rows of S; the width of a tube is a column of E.

    Parameters
    ----------
    below : Dictionary
        The matrix G (n, m).
    S : (N, n) array or sparse matrix
    E : (N, k) array, optional

    Examples
    --------
    >>> G = DenseDictionary(np.array([[1.0], [2.0]]))
    >>> CombinedDictionary(G, np.array([[1.0, -1.0]]), np.array([[5.0]])).columns(np.array([0, 1]))
    array([[-1.,  5.]])
    """

    def __init__(self, below: Dictionary, S: LinearMap, E: Array | None = None) -> None:
        self.below, self.S = below, S
        self.E = np.zeros((S.shape[0], 0)) if E is None else np.asarray(E, dtype=np.float64)

    @property
    def shape(self) -> tuple[int, int]:
        return self.S.shape[0], self.below.shape[1] + self.E.shape[1]

    def columns(self, index: Indices) -> NDArray[np.float64]:
        m, index = self.below.shape[1], np.asarray(index)
        out, own = np.empty((self.shape[0], len(index))), index < m
        out[:, own] = self.S @ self.below.columns(index[own])
        out[:, ~own] = self.E[:, index[~own] - m]
        return out

    def price(self, u: NDArray[np.float64], index: Indices | None = None) -> NDArray[np.float64]:
        v, m = np.asarray(self.S.T @ u), self.below.shape[1]
        if index is None:
            return np.append(self.below.price(v), self.E.T @ u)
        out, own = np.empty(len(index)), index < m
        out[own] = self.below.price(v, index[own])
        out[~own] = self.E[:, index[~own] - m].T @ u
        return out

    def rough_price(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.append(self.below.rough_price(np.asarray(self.S.T @ u)), self.E.T @ u)

    def value_error(self) -> float:
        return self.below.value_error()

    def take(self, rows: Indices, index: Indices) -> CombinedDictionary:
        S, m = self.S[rows], self.below.shape[1]
        used = np.flatnonzero(np.asarray(abs(S).sum(axis=0)).ravel())
        below = self.below.take(used, index[index < m])
        # Columns of E come last, wherever they were asked for.
        return CombinedDictionary(below, S[:, used], self.E[rows][:, index[index >= m] - m])

    @property
    def essential(self) -> Indices:
        return self.below.shape[1] + np.arange(self.E.shape[1])
