"""Kernel values times coefficients: the function of new points that an expansion makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer._threads import map_blocks
from mercer.kernels._neighbours import Neighbours, worthwhile
from mercer.kernels._pairwise import Array, Data, as_single, count, take
from mercer.kernels._single import Either, pieces
from mercer.kernels.base import Evaluator, Kernel

BLOCK_BYTES = 2**24
"""Kernel values in float64 that are evaluated at once."""

WORTH = 2**20
"""Number of kernel values from which float32, or a search for neighbours, is worth the check."""

SAMPLE = 32
"""Points that are evaluated in both precisions."""

DENSE_BYTES = 2.0**28
"""Largest size of sparse points on the right that are made dense."""


def products(
    kernel: Kernel, Z: Data, X: Data, coef: Array, ends: Sequence[int], error: float
) -> Array:
    r"""Return the products of a kernel matrix, run by run of its columns, with coefficients.

    .. math:: P_g = K(X, Z_g) A_g

    Many kernel values of a kernel that has tiles are computed in float32, if that is
    precise enough: `SAMPLE` points evenly spread over X are evaluated in float64 too, and all of
    them must agree. Of a kernel with compact support only neighbours are evaluated, if they are
    few.

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
    error : float
        Largest difference of a product that float32 may make.

    Returns
    -------
    (number of runs, n, q) array of float64

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> X = np.array([[1.0], [2.0]])
    >>> products(Linear(), X, X, np.array([[1.0], [10.0]]), [1, 2], 0.0)[:, :, 0]
    array([[ 1.,  2.],
           [20., 40.]])
    """
    n, m = count(X), count(Z)
    near = worthwhile(kernel, Z, X) if n * m >= WORTH else None
    if near is not None:
        return _by_neighbours(kernel, near, Z, X, coef, ends)
    evaluate = kernel.against(Z)

    def by_values(x: Data) -> Array:
        return _by_values(evaluate, x, coef, ends)

    if n * m >= WORTH and n >= 16 * SAMPLE and isinstance(evaluate, Either):
        origin = kernel.origin(Z)
        fast = kernel.against(as_single(Z, DENSE_BYTES, origin))
        tiles = fast.tiles if isinstance(fast, Either) else None
        if tiles is not None:

            def by_tiles(x: Data) -> Array:
                return tiles.products(as_single(x, np.inf, origin), coef, ends)

            few = take(X, np.linspace(0, n - 1, SAMPLE).astype(np.intp))
            if np.abs(by_tiles(few) - by_values(few)).max() <= error:
                return _in_blocks(by_tiles, X, tiles.height, len(ends), coef.shape[1], True)
    # Functions of the user, in a kernel of whatever kind, may not bear several threads.
    threads = isinstance(evaluate, Either)
    step = max(1, BLOCK_BYTES // max(1, 8 * m))
    return _in_blocks(by_values, X, step, len(ends), coef.shape[1], threads)


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
    function: Callable[[Any], Array], X: Data, step: int, g: int, q: int, threads: bool
) -> Array:
    """Put the results of a function of some points together."""
    n = count(X)
    result = np.empty((g, n, q))

    def fill(rows: slice) -> None:
        result[:, rows] = function(take(X, rows))

    if threads:
        map_blocks(fill, pieces(0, n, step))
    else:
        for rows in pieces(0, n, step):
            fill(rows)
    return result
