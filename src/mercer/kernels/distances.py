"""Distances between two sets of points: dense or CSR, float32 or float64."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from mercer._typing import DType, PointsLike
from mercer.kernels.points import (
    BLOCK_BYTES,
    CHUNK_BYTES,
    Array,
    Data,
    chunks,
    dot,
    is_sparse,
    row_slices,
    squared_norms,
)
from mercer.kernels.roundoff import Precision, precision_of

MAX_SINGLE_ERROR = 4.0
"""Error of squared distances, over that allowed in float32, from which products are of float64."""


class Points:
    """Points in units of a length scale, with their squared norms computed once."""

    def __init__(self, matrix: Data) -> None:
        self.matrix = matrix

    @property
    def dtype(self) -> DType:
        dtype: DType = self.matrix.dtype
        return dtype

    @cached_property
    def norms(self) -> Array:
        """Squared Euclidean norms."""
        return squared_norms(self.matrix)

    @cached_property
    def precision(self) -> Precision:
        """How exact squared distances are that follow from products, of sparse points each."""
        sparse_points = is_sparse(self.matrix)
        terms = np.diff(self.matrix.indptr) if sparse_points else self.matrix.shape[1]
        return precision_of(self.dtype, terms)

    def error(self) -> float:
        """Bound what a point adds to the error of a squared distance, over that allowed."""
        rounding, error, _ = self.precision
        return float(np.max(2.0 * rounding / error * self.norms, initial=0.0))

    def near(self) -> Array:
        """Return the part of each point in the squared distance below which digits are lost."""
        rounding, _, digits = self.precision
        return np.asarray(2.0 * rounding / digits * self.norms)

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
    :math:`2 \rho (|x|^2 + |z|^2)` with the rounding :math:`\rho` of :func:`.roundoff.precision_of`,
    is the relative error of a kernel value. Where that is too much, float32 is multiplied in
    float64, and pairs so near to each other that the subtraction cancels are computed again
    from :math:`x - z`. In float64 that is decided pair by pair, so that a distance does not depend
    on what other points there are. Where squared norms are infinite, all are differences.

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
    error = X.error() + Z.error()
    if X.dtype == np.float32 and error > MAX_SINGLE_ERROR:
        out = np.empty((len(xx), len(zz)), dtype=np.float32)
        for rows in row_slices(len(xx), 8 * len(zz), BLOCK_BYTES):
            part = X.part(rows).double
            out[rows] = squared_distances(part, Z.double, exact_near=exact_near, finish=finish)
        return out
    with np.errstate(over="ignore", invalid="ignore"):
        out = dot(X.matrix, Z.matrix)
    again = exact_near or (X.dtype == np.float64 and not error <= 1.0)
    of_x, of_z = (X.near(), Z.near()) if again else (xx, zz)
    # Where only absolute errors count, pairs of two points whose sum makes none are not near.
    least = 0.0 if exact_near else 1.0
    for rows in chunks(out):
        block = out[rows]
        block *= -2.0
        with np.errstate(invalid="ignore"):
            block += xx[rows, None]
            block += zz
        np.maximum(block, 0.0, out=block)
        if again:
            _recompute(block, X.matrix[rows], Z.matrix, of_x[rows], of_z, least)
        if finish is not None:
            finish(block)
    return out


def _recompute(block: Array, X: Data, Z: Data, of_x: Array, of_z: Array, least: float) -> None:
    """Compute squared distances up to ``of_x + of_z`` again, where that is above `least`."""
    # A first look with the largest bound of all is cheap, and mostly the last. A distance that is
    # NaN, the difference of two infinite norms, is not above it.
    if (block > of_x.max(initial=0.0) + of_z.max(initial=0.0)).all():
        return
    near = of_x[:, None] + of_z
    mask = ~(block > near) & ~(near < least)
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


def _sparse_manhattan(X: PointsLike, Z: PointsLike) -> Array:
    """Distances of a few CSR rows: only features used on both sides need a difference."""
    shared = np.intersect1d(X.indices, Z.indices)
    rest = np.ones(X.shape[1], dtype=bool)
    rest[shared] = False
    block = cdist(X[:, shared].toarray(), Z[:, shared].toarray(), "cityblock")
    block += (abs(X) @ rest)[:, None] + abs(Z) @ rest
    return block
