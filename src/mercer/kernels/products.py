"""Kernel values times coefficients: the function of new points that an expansion makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mercer._threads import map_blocks
from mercer.kernels.base import Evaluator, Kernel
from mercer.kernels.neighbours import Neighbours, worthwhile
from mercer.kernels.points import (
    Array,
    Data,
    as_single,
    count,
    is_sparse,
    pieces,
    take,
)
from mercer.kernels.tiles import TiledEvaluator, Tiles

BLOCK_BYTES = 2**24
"""Kernel values in float64 that are evaluated at once."""

WORTH = 2**20
"""Number of kernel values from which a search for neighbours is worth its tree."""

DENSE_BYTES = 2.0**28
"""Largest size of sparse points on the right that are made dense, for many points on the left."""

FEW = 2**16
"""Kernel values that are written as a whole before they are multiplied."""

DENSE_SHARE = 0.06
"""Share of entries that are not zero from which they are: both ways then take as long."""


def products(
    kernel: Kernel,
    Z: Data,
    X: Data,
    coef: Array,
    ends: Sequence[int],
    single: bool = False,
    evaluate: Evaluator | None = None,
) -> Array:
    r"""Return the products of a kernel matrix, run by run of its columns, with coefficients.

    .. math:: P_g = K(X, Z_g) A_g

    All in float64, and a row of the result depends on its own point only: every decision about
    a pair of points reads these two and Z, never the other points of X. What is left is the order
    of sums inside BLAS, which may differ with the number of rows. Of a kernel with compact support
    only neighbours are evaluated, if they are few.

    Parameters
    ----------
    kernel : Kernel
    Z : (m, p) points
        Runs of them one below the other.
    X : (n, p) points
    coef : (m, q) array
        The matrices A, one below the other.
    ends : sequence of int
        Where each run ends.
    single : bool, default=False
        Compute kernel values in float32 instead, if the kernel has tiles: about twice as fast, with
        errors of about 5e-6 of the largest value.
    evaluate : callable, optional
        What :func:`prepared` returned for these points on the right.

    Returns
    -------
    (number of runs, n, q) array of float64

    Notes
    -----
    Two batches give a point values that differ by at most 1e-12 of
    :math:`\sum_i |a_i| \sqrt{k(x, x) k(z_i, z_i)}`, the largest value that coefficients of this
    size can make (Cauchy and Schwarz), which is how large terms that cancel may have been. With
    p > 1,100 features it is :math:`8 (p + 8)` unit roundoffs.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> X = np.array([[1.0], [2.0]])
    >>> products(Linear(), X, X, np.array([[1.0], [10.0]]), [1, 2])[:, :, 0]
    array([[ 1.,  2.],
           [20., 40.]])
    """
    n, m = count(X), count(Z)
    # Compiled loops trust their shapes, and a machine may come from a file.
    if len(coef) != m or (ends[-1] if len(ends) else 0) != m:
        raise ValueError(f"{m} points have {len(coef)} rows of coefficients.")
    if evaluate is not None and n * m <= FEW and not single:
        return _by_values(evaluate, X, coef, ends)
    near = worthwhile(kernel, Z, X) if n * m >= WORTH else None
    if near is not None:
        return _by_neighbours(kernel, near, Z, X, coef, ends)
    if _numbers(Z) and not is_sparse(Z):
        Z = Z.astype(np.float64, copy=False)
    rounded = _in_single(kernel, Z, X, coef, ends) if single else None
    if rounded is not None:
        return rounded
    evaluate = kernel.against(Z)
    right = _tiles(evaluate, Z, X)
    if right is not None:

        def by_tiles(x: Data) -> Array:
            return right.products(_double(x), coef, ends)

        return _in_blocks(by_tiles, X, right.height, len(ends), coef.shape[1], True)

    def by_values(x: Data) -> Array:
        return _by_values(evaluate, x, coef, ends)

    # Functions of the user, in a kernel of whatever kind, may not bear several threads.
    threads = isinstance(evaluate, TiledEvaluator)
    step = max(1, BLOCK_BYTES // max(1, 8 * m))
    return _in_blocks(by_values, X, step, len(ends), coef.shape[1], threads)


def prepared(kernel: Kernel, Z: Data) -> Evaluator | None:
    """Return ``X -> k(X, Z)`` for few points X of the kind of Z, sparse or dense; None without.

    Parameters
    ----------
    kernel : Kernel
    Z : (m, p) points

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> prepared(Gaussian(), np.ones((2, 1)))(np.ones((1, 1)))
    array([[1., 1.]])
    """
    if not _numbers(Z) or Z.dtype != np.float64 or not Z.size:
        return None
    evaluate = kernel.against(Z)
    if is_sparse(Z):
        return evaluate
    return evaluate.prepare(Z) if isinstance(evaluate, TiledEvaluator) else None


def _in_single(kernel: Kernel, Z: Data, X: Data, coef: Array, ends: Sequence[int]) -> Array | None:
    """Return products from float32, around the mean of Z where the kernel allows."""
    if not (count(Z) and _numbers(Z) and _numbers(X)):
        return None
    origin = kernel.origin(Z)
    evaluate = kernel.against(as_single(Z, DENSE_BYTES, origin))
    tiles = evaluate.tiles if isinstance(evaluate, TiledEvaluator) else None
    if tiles is None:
        return None

    def by_tiles(x: Data) -> Array:
        return tiles.products(as_single(x, np.inf, origin), coef, ends)

    return _in_blocks(by_tiles, X, tiles.height, len(ends), coef.shape[1], True)


def _numbers(X: Data) -> bool:
    """Whether points are rows of floats, dense or sparse."""
    return getattr(X, "ndim", 0) == 2 and X.dtype in (np.float32, np.float64)


def _double(X: Data) -> Array:
    """Return points as rows of a dense float64 array."""
    dense = X.toarray() if is_sparse(X) else X
    return np.ascontiguousarray(dense, dtype=np.float64)


def _tiles(evaluate: Evaluator, Z: Data, X: Data) -> Tiles | None:
    """Return the kernel's tiles in float64, if it has any and all points are or become dense."""
    if not (isinstance(evaluate, TiledEvaluator) and count(Z) and _numbers(Z) and _numbers(X)):
        return None
    if Z.shape[1] != X.shape[1]:
        return None
    if is_sparse(Z):
        entries, few = float(Z.shape[0]) * Z.shape[1], count(X) * count(Z) < WORTH
        if few or 8.0 * entries > DENSE_BYTES or Z.nnz < DENSE_SHARE * entries:
            return None
        return evaluate.prepare(_double(Z))
    return None if is_sparse(X) else evaluate.prepare(Z)


def _by_neighbours(
    kernel: Kernel, near: Neighbours, Z: Array, X: Array, coef: Array, ends: Sequence[int]
) -> Array:
    result = np.empty((len(ends), len(X), coef.shape[1]))
    starts = [0, *ends][:-1]
    for pairs in near.pairs(X):
        K = pairs.matrix(kernel.paired(X[pairs.i], Z[pairs.j]), len(Z))
        for g, (a, b) in enumerate(zip(starts, ends, strict=True)):
            result[g, pairs.rows] = K[:, a:b] @ coef[a:b]
    return result


def _by_values(evaluate: Evaluator, X: Data, coef: Array, ends: Sequence[int]) -> Array:
    K = evaluate(X)
    starts = [0, *ends][:-1]
    return np.stack([K[:, a:b] @ coef[a:b] for a, b in zip(starts, ends, strict=True)])


def _in_blocks(
    function: Callable[[Data], Array], X: Data, step: int, g: int, q: int, threads: bool
) -> Array:
    """Put the results of a function of some points together."""
    n = count(X)
    if 0 < n <= step:
        return function(X)
    result = np.empty((g, n, q))

    def fill(rows: slice) -> None:
        result[:, rows] = function(take(X, rows))

    if threads:
        map_blocks(fill, pieces(0, n, step))
    else:
        for rows in pieces(0, n, step):
            fill(rows)
    return result
