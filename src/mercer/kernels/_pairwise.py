"""Products and distances between two sets of points: dense or CSR, float32 or float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist

Array: TypeAlias = NDArray[Any]
Data: TypeAlias = Any
"""Points: an ``(n, p)`` array or CSR matrix (or whatever a user's own function understands)."""

CHUNK_BYTES = 2**17
"""Elementwise passes run over pieces of this size, so that they stay in a core's cache."""

BLOCK_BYTES = 2**24
"""Bound on any temporary matrix besides the result itself."""

FLOAT32_ERROR, FLOAT64_ERROR = 2e-5, 1e-12
"""Rounding errors of squared distances, in units of the length scale, that are worth more work."""

DIGITS = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-12}
"""Relative errors of squared distances beyond which they are computed again."""


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


def float_dtype(X: Data) -> np.dtype[Any]:
    """Return the dtype kernel values take for these points: float32 only for float32 points."""
    single = getattr(X, "dtype", None) == np.float32
    return np.dtype(np.float32 if single else np.float64)


def take(X: Data, index: Any) -> Data:
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


def mirror(K: Array, rows: slice) -> None:
    """Copy what a square matrix holds left of its diagonal in these rows to above the diagonal."""
    K[: rows.start, rows] = K[rows, : rows.start].T
    mirror_corner(K, rows)


def mirror_corner(K: Array, rows: slice) -> None:
    """Copy what a square block on the diagonal holds above the diagonal to below it."""
    corner = K[rows, rows]
    np.copyto(corner, corner.T.copy(), where=np.tri(len(corner), k=-1, dtype=bool))


def squared_norms(X: Data) -> Array:
    """Return the squared Euclidean norm of every point."""
    if is_sparse(X):
        squares: Array = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        return squares
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
    out = np.empty((X.shape[0], Z.shape[0]), dtype=X.dtype)
    if Z.nnz > 0.04 * Z.shape[0] * Z.shape[1]:
        # Rows of a dense Z' are added with unit stride: faster unless most of them are zeros.
        for columns in row_slices(Z.shape[0], Z.shape[1] * Z.dtype.itemsize, BLOCK_BYTES):
            out[:, columns] = X @ np.ascontiguousarray(Z[columns].toarray().T)
    else:
        for rows in row_slices(X.shape[0], 16 * Z.shape[0], BLOCK_BYTES):
            (X[rows] @ Z.T).toarray(out=out[rows])
    return out


class Points:
    """Points in units of a length scale, with what the distances from them need, computed once."""

    def __init__(self, matrix: Data) -> None:
        self.matrix = matrix

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.matrix.dtype
        return dtype

    @cached_property
    def norms(self) -> Array:
        """Squared Euclidean norms."""
        return squared_norms(self.matrix)

    @cached_property
    def double(self) -> Points:
        """The same points in float64."""
        return self if self.dtype == np.float64 else Points(self.matrix.astype(np.float64))

    def part(self, rows: slice) -> Points:
        """Return some of the points."""
        return Points(self.matrix[rows])


def squared_distances(
    X: Points,
    Z: Points,
    *,
    exact_near: bool = False,
    finish: Callable[[Array], None] | None = None,
) -> Array:
    r"""Return squared Euclidean distances from one matrix product.

    .. math:: |x - z|^2 = |x|^2 + |z|^2 - 2 x'z

    The points are in units of the length scale, so the absolute error of this formula,
    about :math:`\epsilon (|x|^2 + |z|^2)`, is the relative error of a kernel value. Where that
    is too much, float32 is multiplied in float64, and pairs that lie so near to each
    other that the subtraction cancels are computed again from :math:`x - z`. In float64 that is
    decided pair by pair, so that a distance does not depend on what other points there are.

    Parameters
    ----------
    X, Z : n and m points
        Of one dtype, shifted towards the origin by the caller if they are dense.
    exact_near : bool, default=False
        Compute near pairs from the difference even if the absolute error is small, because
        the kernel needs the distance itself, whose error is that of its square divided by it.
    finish : callable, optional
        Changes the squared distances in place into something else, a piece at a time.

    Returns
    -------
    (n, m) array of the dtype of the points
    """
    xx, zz = X.norms, Z.norms
    error = 4.0 * float(np.finfo(X.dtype).eps) * float(xx.max(initial=0.0) + zz.max(initial=0.0))
    if X.dtype == np.float32 and error > FLOAT32_ERROR:
        out = np.empty((len(xx), len(zz)), dtype=np.float32)
        for rows in row_slices(len(xx), 8 * len(zz), BLOCK_BYTES):
            part = X.part(rows).double
            out[rows] = squared_distances(part, Z.double, exact_near=exact_near, finish=finish)
        return out
    out = dot(X.matrix, Z.matrix)
    again = exact_near or (X.dtype == np.float64 and error > FLOAT64_ERROR)
    # The error of a pair, relative to what it may be of the distance: near pairs are below. Where
    # only absolute errors count, pairs of two points whose sum makes none are not near.
    digits = DIGITS[X.dtype]
    share = 4.0 * float(np.finfo(X.dtype).eps) / digits
    least = 0.0 if exact_near else FLOAT64_ERROR / digits
    for rows in chunks(out):
        block = out[rows]
        block *= -2.0
        block += xx[rows, None]
        block += zz
        np.maximum(block, 0.0, out=block)
        if again:
            _recompute(block, X.matrix[rows], Z.matrix, share * xx[rows], share * zz, least)
        if finish is not None:
            finish(block)
    return out


def _recompute(block: Array, X: Data, Z: Data, of_x: Array, of_z: Array, least: float) -> None:
    """Compute squared distances up to ``of_x + of_z`` again, where that is above `least`."""
    # A first look with the largest bound of all is cheap, and mostly the last.
    if not (block <= of_x.max(initial=0.0) + of_z.max(initial=0.0)).any():
        return
    near = of_x[:, None] + of_z
    mask = (block <= near) & (near >= least)
    if not is_sparse(X) and not is_sparse(Z) and 10 * np.count_nonzero(mask) > mask.size:
        np.copyto(block, cdist(X, Z, "sqeuclidean"), where=mask, casting="same_kind")
        return
    i, j = np.nonzero(mask)
    for pairs in row_slices(len(i), X.shape[1] * X.dtype.itemsize, CHUNK_BYTES):
        block[i[pairs], j[pairs]] = squared_norms(X[i[pairs]] - Z[j[pairs]])


def manhattan_distances(X: Data, Z: Data, finish: Callable[[Array], None] | None = None) -> Array:
    r"""Return the distances :math:`\sum_j |x_j - z_j|`, changed in place by `finish` if given."""
    if not is_sparse(X) and not is_sparse(Z):
        return _by_rows(X, Z, finish)
    X, Z = sparse.csr_array(X), sparse.csr_array(Z)
    out = np.empty((X.shape[0], Z.shape[0]), dtype=X.dtype)
    for rows in row_slices(X.shape[0], 1, 512):
        for columns in row_slices(Z.shape[0], 1, 512):
            out[rows, columns] = _sparse_manhattan(X[rows], Z[columns])
        if finish is not None:
            for piece in chunks(out[rows]):
                finish(out[rows][piece])
    return out


def _by_rows(X: Array, Z: Array, finish: Callable[[Array], None] | None) -> Array:
    out = np.empty((X.shape[0], Z.shape[0]), dtype=X.dtype)
    for rows in row_slices(X.shape[0], 8 * Z.shape[0], CHUNK_BYTES):
        block = cdist(X[rows], Z, "cityblock")
        if finish is not None:
            finish(block)
        out[rows] = block
    return out


def _sparse_manhattan(X: Any, Z: Any) -> Array:
    """Distances of a few CSR rows: only features used on both sides need a difference."""
    shared = np.intersect1d(X.indices, Z.indices)
    rest = np.ones(X.shape[1], dtype=bool)
    rest[shared] = False
    block = cdist(X[:, shared].toarray(), Z[:, shared].toarray(), "cityblock")
    block += (abs(X) @ rest)[:, None] + abs(Z) @ rest
    return block
