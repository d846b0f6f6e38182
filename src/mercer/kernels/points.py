"""Points of a sample: types, selection, slices of rows and inner products, dense or CSR."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from mercer._typing import AnyArray, DType

Array: TypeAlias = AnyArray
"""Numbers of single or double precision; those of double precision alone are in `_typing`."""

Data: TypeAlias = Any
"""Points: an ``(n, p)`` array or CSR matrix (or whatever a user's own function understands)."""

CHUNK_BYTES = 2**17
"""Elementwise passes run over pieces of this size, so that they stay in a core's cache."""

BLOCK_BYTES = 2**24
"""Bound on any temporary matrix besides the result itself."""


def is_sparse(X: Data) -> bool:
    """Whether the points are a sparse matrix or array of SciPy."""
    return bool(sparse.issparse(X))


def as_points(X: Data) -> Data:
    """Return `X` as an ``(n, p)`` float array or canonical CSR, copied only if it must change."""
    if is_sparse(X):
        X = X.tocsr()
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(
            f"Points must form a matrix of shape (n, p), got shape {X.shape}; "
            "reshape a single feature with X.reshape(-1, 1), a single point with X.reshape(1, -1)."
        )
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def as_pair(X: Data, Z: Data) -> tuple[Data, Data]:
    """Return both sets of points with the same number of features and the same dtype."""
    X, Z = as_points(X), as_points(Z)
    if X.shape[1] != Z.shape[1]:
        raise ValueError(
            f"Both sets of points need the same features, got {X.shape[1]} and {Z.shape[1]}."
        )
    dtype = np.result_type(X.dtype, Z.dtype)
    return X.astype(dtype, copy=False), Z.astype(dtype, copy=False)


def as_single(X: Data, max_bytes: float = 2.0**28, origin: Array | None = None) -> Data:
    """Return the points in float32, for kernel rows that are many and need no more digits.

    Parameters
    ----------
    X : (n, p) points
    max_bytes : float, default=2**28
        Sparse points become dense if they then take no more than this: up to a few thousand
        features a dense product is faster than a sparse one.
    origin : (p,) array, optional
        Subtracted from dense points before they are rounded.

    Returns
    -------
    (n, p) C-contiguous array or CSR matrix of float32
        Infinite where a number is beyond float32, about 3e38. `X` itself where nothing changes.

    Examples
    --------
    >>> as_single(np.eye(2)).dtype
    dtype('float32')
    >>> as_single(sparse.eye_array(2, format="csr"), max_bytes=8).format
    'csr'
    """
    X = as_points(X)
    if origin is not None and not is_sparse(X):
        single = np.empty(X.shape, dtype=np.float32)
        for rows in row_slices(X.shape[0], 8 * X.shape[1], CHUNK_BYTES):
            with np.errstate(over="ignore"):
                np.subtract(X[rows], origin, out=single[rows], casting="same_kind")
        return single
    with np.errstate(over="ignore"):
        X = X.astype(np.float32, copy=False)
    if is_sparse(X) and 4.0 * X.shape[0] * X.shape[1] <= max_bytes:
        X = X.toarray()
    return X if is_sparse(X) else np.ascontiguousarray(X)


def count(X: Data) -> int:
    """Return the number of points."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def float_dtype(X: Data) -> DType:
    """Return the dtype kernel values take for these points: float32 only for float32 points."""
    single = getattr(X, "dtype", None) == np.float32
    return np.dtype(np.float32 if single else np.float64)


def take(X: Data, index: slice | Sequence[int] | AnyArray) -> Data:
    """Return the points selected by a slice or an array of integers."""
    if hasattr(X, "shape") or isinstance(index, slice):
        return X[index]
    return [X[i] for i in index]


def row_slices(n: int, row_bytes: int, budget: int) -> Iterator[slice]:
    """Cut ``range(n)`` into slices whose rows together take at most `budget` bytes (or one row)."""
    step = max(1, budget // max(1, row_bytes))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def chunks(block: Array) -> Iterator[slice]:
    """Cut the rows of a matrix into slices, each small enough for the cache."""
    return row_slices(block.shape[0], block.shape[1] * block.itemsize, CHUNK_BYTES)


# Sparse rows that are multiplied as dense ones.
FEW_ROWS = 4


def mirror(K: Array, rows: slice) -> None:
    """Copy the lower triangle of a square matrix in these rows to its upper triangle."""
    K[: rows.start, rows] = K[rows, : rows.start].T
    mirror_corner(K, rows)


def mirror_corner(K: Array, rows: slice) -> None:
    """Copy the upper triangle of a square block on the diagonal to its lower triangle."""
    corner = K[rows, rows]
    np.copyto(corner, corner.T.copy(), where=np.tri(len(corner), k=-1, dtype=bool))


def squared_norms(X: Data) -> Array:
    """Return the squared Euclidean norm of every point."""
    if is_sparse(X):
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        squares: Array = np.bincount(rows, np.square(X.data, dtype=np.float64), X.shape[0])
        return squares.astype(X.dtype, copy=False)
    norms: Array = np.einsum("ij,ij->i", X, X)
    return norms


def scale_features(X: Data, factor: Array) -> Data:
    """Return the points with every feature multiplied by `factor`, scalar or ``(p,)``."""
    factor = factor.astype(X.dtype)
    if not is_sparse(X):
        return X * factor
    data = X.data * (factor if factor.ndim == 0 else factor[X.indices])
    return type(X)((data, X.indices, X.indptr), shape=X.shape)


def dot(X: Data, Z: Data) -> Array:
    """Return the dense matrix of inner products ``X Z'``."""
    if is_sparse(X):
        if is_sparse(Z):
            return _sparse_dot(X, Z)
        return np.asarray(X @ Z.T)
    if is_sparse(Z):
        return np.ascontiguousarray((Z @ X.T).T)
    product: Array = X @ Z.T
    return product


def _sparse_dot(X: Data, Z: Data) -> Array:
    """Inner products of CSR rows; an intermediate takes at most `BLOCK_BYTES` (or one row)."""
    if X.shape[0] <= FEW_ROWS:
        # Nothing is sorted or transposed for a row that asks; sums have the same order.
        return np.ascontiguousarray((Z @ X.toarray().T).T)
    out = np.empty((X.shape[0], Z.shape[0]), dtype=X.dtype)
    if Z.nnz > 0.04 * Z.shape[0] * Z.shape[1]:
        # Rows of a dense Z' are added with unit stride: faster unless most of them are zeros.
        for columns in row_slices(Z.shape[0], Z.shape[1] * Z.dtype.itemsize, BLOCK_BYTES):
            out[:, columns] = X @ np.ascontiguousarray(Z[columns].toarray().T)
    else:
        for rows in row_slices(X.shape[0], 16 * Z.shape[0], BLOCK_BYTES):
            (X[rows] @ Z.T).toarray(out=out[rows])
    return out


def named_positions(wanted: Sequence[int | str], names: Sequence[str]) -> list[int]:
    """Return the positions of features that are given by name.

    Examples
    --------
    >>> named_positions(["b"], ["a", "b"])
    [1]
    """
    missing = [name for name in wanted if name not in names]
    if missing:
        raise ValueError(f"There is no feature {missing[0]!r}; the data have {list(names)}.")
    return [list(names).index(str(name)) for name in wanted]


def pieces(start: int, stop: int, step: int) -> Iterator[slice]:
    """Cut a range into slices of `step` numbers."""
    for first in range(start, stop, step):
        yield slice(first, min(first + step, stop))


def to_dense(X: Data) -> Array:
    """Return points as a dense array, of the dtype that they have."""
    return np.asarray(X.toarray() if is_sparse(X) else X)


def dense_double(X: Data) -> Array:
    """Return the points as a dense array of float64.

    Examples
    --------
    >>> dense_double(np.eye(2, dtype=np.float32)).dtype
    dtype('float64')
    """
    return np.asarray(to_dense(as_points(X)), dtype=np.float64)
