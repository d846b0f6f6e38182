"""The Gram operator: K on a sample, wherever it lives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mercer._typing import DType, LinearMap, PointsLike
from mercer.gram.factor import MAX_BYTES, Solve, by_cholesky
from mercer.kernels.points import BLOCK_BYTES, Array, row_slices
from mercer.kernels.roundoff import Roundoff

Index: TypeAlias = Any
"""Rows or columns: a slice, integers (repeated and negative ones allowed) or a mask."""

EVERYTHING = slice(None)


class Gram(ABC):
    """A symmetric matrix K known through its blocks and its products with vectors.

    A subclass writes :meth:`block` and :meth:`diag`, and :meth:`matvec` if it knows a better way.
    Solvers see nothing else, so neither K nor the points behind it need to be in memory.
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """``(n, n)``."""

    @property
    @abstractmethod
    def dtype(self) -> DType:
        """The dtype of blocks and of the diagonal."""

    @property
    def in_memory(self) -> bool:
        """Whether K is held in memory, so that :meth:`dense` costs nothing."""
        return False

    @property
    def sparse(self) -> bool:
        """Whether most of K is zero and not held: then copies of rows are worth nothing."""
        return False

    @abstractmethod
    def block(self, rows: Index, columns: Index) -> Array:
        """Return ``K[rows][:, columns]``; the caller must not write to it.

        Parameters
        ----------
        rows, columns : slice, array of int, or mask
        """

    @abstractmethod
    def diag(self) -> Array:
        """Return the diagonal, ``(n,)``."""

    def rows(self, index: Index, out: Array | None = None) -> Array:
        """Return the full rows ``K[index]``, ``(len(index), n)``, in `out` if given.

        Without it the caller must not write to them.
        """
        block = self.block(index, EVERYTHING)
        if out is None:
            return block
        out[...] = block
        return out

    def every_row(self) -> Array:
        """Return all rows, as :meth:`rows` computes them; the caller must not write to them."""
        return self.rows(np.arange(self.shape[0]))

    def add_rows(
        self, F: NDArray[np.float64], index: Index, t: Array, out: Array | None = None
    ) -> None:
        """Add ``t' K[index]`` to `F`, keeping the rows in `out` if it is given.

        Two vectors of weights t, of shape (2, m), add to two vectors of sums, of shape (2, n).
        """
        F += t @ self.rows(index, out)

    def dense(self) -> Array:
        """Return the whole matrix, contiguous by rows; the caller must not write to it."""
        K = np.empty(self.shape, dtype=self.dtype)
        for rows in row_slices(len(K), len(K) * K.itemsize, BLOCK_BYTES):
            K[rows] = self.block(rows, EVERYTHING)
        return K

    def matvec(self, v: Array) -> Array:
        """Return ``K v`` in float64, reading only the rows where `v` is not zero if they are few.

        Parameters
        ----------
        v : (n,) or (n, k) array

        Returns
        -------
        array of the shape of `v`
        """
        v = self._vector(v)
        n = self.shape[0]
        support = nonzero_rows(v)
        if 3 * len(support) < n:
            # K is symmetric, so K[:, s] v[s] is read from contiguous rows.
            out = np.zeros_like(v)
            for part in row_slices(len(support), 8 * n, BLOCK_BYTES):
                s = support[part]
                out += self.block(s, EVERYTHING).T.astype(np.float64, copy=False) @ v[s]
            return out
        out = np.empty_like(v)
        for rows in row_slices(n, 8 * n, BLOCK_BYTES):
            out[rows] = self.block(rows, EVERYTHING).astype(np.float64, copy=False) @ v
        return out

    def product(self, v: Array, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return some entries of ``K v`` in float64.

        Parameters
        ----------
        v : (n,) array
        rows : (m,) array of int
            Which entries; cheapest if they contain all rows where `v` is not zero.
        """
        entries: NDArray[np.float64] = self.matvec(v)[rows]
        return entries

    def roundoff(self) -> Roundoff | None:
        """Return proved bounds on the errors of float32 values and their sums; None if unknown."""
        return None

    def single(self) -> Gram:
        """Return the same matrix in float32, where a solver reads it row by row; here itself."""
        return self

    def keeping(self, max_bytes: float) -> Gram:
        """Return the same matrix for many products, of which values are kept; here itself.

        Parameters
        ----------
        max_bytes : float
            Memory for kernel values.
        """
        return self

    def part_of(self) -> tuple[Gram, NDArray[np.intp]] | None:
        """Return the matrix of which K is a block, and its points there; None if K is whole."""
        return None

    kernel_error: float = 0.0
    """What :meth:`mercer.kernels.Kernel.value_error` returned for the points."""

    def value_error(self) -> float:
        r"""Return the part of :math:`\sqrt{k(x, x) k(z, z)}` that kernel values may be off by."""
        below = self.part_of()
        return self.kernel_error if below is None else below[0].value_error()

    def restrict(self, index: NDArray[np.intp]) -> Gram | None:
        """Return the block of some points, faster than as a view; None if a view is as fast."""
        return None

    def conjugated(self, W: LinearMap) -> Gram | None:
        """Return ``W K W'`` as a Gram that is faster than three factors; None without such a Gram.

        Parameters
        ----------
        W : array, sparse array or LinearOperator of shape (m, n)
        """
        return None

    def root(self) -> PointsLike:
        """Return Z with ``K = ZZ'``, an array or CSR matrix of n rows; None if none is known."""
        return None

    @property
    def held(self) -> bool:
        """Whether K is in memory, or will be once someone asks for it."""
        return self.in_memory

    @property
    def resident(self) -> bool:
        """Whether K is in memory in the form in which :meth:`shifted` reads it."""
        return False

    @property
    def factor_bytes(self) -> float:
        """Memory that a factorization by :meth:`shifted` takes."""
        return 8.0 * self.shape[0] ** 2

    def origin(self) -> tuple[Gram, NDArray[np.intp]]:
        """Return a Gram in which no point repeats, and the point of it behind each row."""
        return self, np.arange(self.shape[0])

    def shifted(self, e: Array, max_bytes: float = MAX_BYTES) -> Solve:
        """Factorize ``K + diag(e)``; see :func:`mercer.gram.factor.shifted`.

        Parameters
        ----------
        e : (n,) array
            Not negative; infinite where row and column are left out.
        max_bytes : float, default=4e9
            Memory that the factor may take.
        """
        diagonal, eps = self.diag().astype(np.float64), float(np.finfo(self.dtype).eps)
        return by_cholesky(self._square, self.matvec, diagonal, e, eps, max_bytes)

    def _square(self, index: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return a fresh copy of ``K[index][:, index]`` in the order that LAPACK reads."""
        k = len(index)
        whole = k == self.shape[0]
        out = np.empty((k, k), order="F")
        for part in row_slices(k, 8 * k, BLOCK_BYTES):
            rows, columns = (part, EVERYTHING) if whole else (index[part], index)
            out[:, part] = self.block(rows, columns).T
        return out

    def _vector(self, v: Array) -> NDArray[np.float64]:
        v = np.asarray(v, dtype=np.float64)
        if v.ndim not in (1, 2) or v.shape[0] != self.shape[1]:
            raise ValueError(
                f"A Gram matrix of shape {self.shape} multiplies arrays of shape "
                f"({self.shape[1]},) or ({self.shape[1]}, k), got {v.shape}."
            )
        return v


def nonzero_rows(v: Array) -> NDArray[np.intp]:
    """Return the positions of the rows of a vector or matrix that are not zero."""
    return np.flatnonzero(v if v.ndim == 1 else v.any(axis=1))


def submatrix(K: Array, rows: Index, columns: Index) -> Array:
    """Return ``K[rows][:, columns]`` without reading other rows: a view if both are slices."""
    if isinstance(columns, slice):
        return K[rows, columns]
    if isinstance(rows, slice):
        # Plain indexing would return the transpose of a contiguous array.
        return K[rows].take(positions(columns, K.shape[1]), axis=1)
    return K[np.ix_(positions(rows, K.shape[0]), positions(columns, K.shape[1]))]


def positions(index: Index, n: int) -> NDArray[np.intp]:
    """Return an index as integers in ``range(n)``.

    Examples
    --------
    >>> positions([0, -1], 3), positions(slice(1, None), 3)
    (array([0, 2]), array([1, 2]))
    """
    if isinstance(index, slice):
        return np.arange(n)[index]
    result = np.atleast_1d(np.asarray(index))
    if result.dtype == bool:
        result = np.flatnonzero(result)
    elif result.size == 0:
        result = result.astype(np.intp)
    if result.size and not -n <= result.min() <= result.max() < n:
        raise IndexError(f"Index out of range for a Gram matrix of {n} points.")
    return np.where(result < 0, result + n, result).astype(np.intp)
