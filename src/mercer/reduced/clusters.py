r"""Centres as means of clusters: Lloyd's iteration in the units of a kernel.

Rows near each other have nearly the same kernel functions; the mean of a cluster stands for all of
them, and :math:`\operatorname{tr}(K - \hat K)` is bounded by the sum of squared distances to it.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.data.base import Block, Source, Sums
from mercer.kernels.algebra import ActiveDims, Modified, Pair
from mercer.kernels.base import Kernel
from mercer.kernels.points import BLOCK_BYTES, is_sparse, row_slices, scale_features
from mercer.kernels.stationary import Dimensional, Stationary
from mercer.kernels.stretched import Stretched

__all__ = ["lloyd", "nearest_rows", "seeds", "streamed", "units"]

MAX_ITERATIONS, MIN_FALL = 20, 1e-3
"""Steps of Lloyd's iteration, and the decrease of the sum of squares below which it ends."""

PROPOSED = 128
"""Rows that are drawn together as seeds of clusters."""


@singledispatch
def units(kernel: Kernel, p: int) -> Array:
    """Return the factors of the features that turn distances into the kernel's distances.

    Parameters
    ----------
    kernel : Kernel
    p : int
        Number of features.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> units(2.0 * Gaussian([1.0, 4.0]), 2), units(Linear().on([1]), 2)
    (array([1.  , 0.25]), array([0., 1.]))
    """
    return np.ones(p)


@units.register
def _(kernel: Stationary, p: int) -> Array:
    return np.broadcast_to(1.0 / np.asarray(kernel.length_scale, dtype=np.float64), p)


@units.register
def _(kernel: Dimensional, p: int) -> Array:
    return units(kernel._in(p), p)


@units.register
def _(kernel: Modified, p: int) -> Array:
    return units(kernel.kernel, p)


@units.register
def _(kernel: Stretched, p: int) -> Array:
    return np.asarray(units(kernel.kernel, p) / np.asarray(kernel.scale, dtype=np.float64))


@units.register
def _(kernel: Pair, p: int) -> Array:
    return np.hypot(units(kernel.left, p), units(kernel.right, p))


@units.register
def _(kernel: ActiveDims, p: int) -> Array:
    here = np.arange(p)[kernel.dims] if isinstance(kernel.dims, slice) else kernel._positions
    factor = np.zeros(p)
    factor[here] = units(kernel.kernel, len(here))
    return factor


def _squared(Y: Any, norms: Array, Z: Array) -> Array:
    """Return squared distances of points, with their norms, from dense points."""
    S = np.asarray(Y @ Z.T, dtype=np.float64)
    S *= -2.0
    S += norms[:, None]
    S += np.einsum("ij,ij->i", Z, Z)
    return np.maximum(S, 0.0, out=S)


def _norms(Y: Any) -> Array:
    if is_sparse(Y):
        return np.asarray(Y.multiply(Y).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", Y, Y), dtype=np.float64)


def _rows(Y: Any, index: Any) -> Array:
    part = Y[index]
    return np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float64)


def _nearest(Y: Any, Z: Array) -> tuple[NDArray[np.intp], Array]:
    """Return the nearest of the points Z for every row, and the squared distance."""
    n = Y.shape[0]
    label, square = np.empty(n, dtype=np.intp), np.empty(n)
    for part in row_slices(n, 8 * len(Z), BLOCK_BYTES):
        S = _squared(Y[part], _norms(Y[part]), Z)
        label[part] = np.argmin(S, axis=1)
        square[part] = S[np.arange(len(S)), label[part]]
    return label, square


def seeds(
    Y: Any, w: Array, m: int, rng: np.random.Generator, Z: Array | None = None
) -> NDArray[np.intp]:
    r"""Return rows drawn one after the other by their squared distance from those before.

    They are proposed many at a time, and each is kept with the ratio of its squared distances
    after and before the others were: the law of one at a time.

    Parameters
    ----------
    Y : (n, p) points
    w : (n,) array
        Weights.
    m : int
    rng : numpy.random.Generator
    Z : (k, p) array, optional
        Centres that are there already.

    Returns
    -------
    (m,) array of int
        Fewer if there are no more different rows.

    References
    ----------
    D. Arthur and S. Vassilvitskii (2007), *k-means++: the advantages of careful seeding*, SODA 18,
    algorithm 2.1.

    Examples
    --------
    >>> Y = np.array([[0.0], [0.0], [9.0]])
    >>> sorted(Y[seeds(Y, np.ones(3), 3, np.random.default_rng(0)), 0].tolist())
    [0.0, 9.0]
    """
    n, norms = Y.shape[0], _norms(Y)
    chosen: list[int] = []
    if Z is None or not len(Z):
        chosen.append(int(rng.choice(n, p=w / np.sum(w))))
        Z = _rows(Y, chosen)
    square = _nearest(Y, Z)[1]
    # Distances are differences: below this they are rounding, and the rows are equal.
    floor = 1e-12 * max(float(np.max(norms)), 1e-300)
    while len(chosen) < m:
        chance = w * np.where(square > floor, square, 0.0)
        if not np.sum(chance) > 0.0:
            break
        drawn = rng.choice(n, min(PROPOSED, m), p=chance / np.sum(chance))
        there = _rows(Y, drawn)
        among = _squared(there, _norms(there), there)
        now = square[drawn].copy()
        kept = []
        for j, i in enumerate(drawn):
            if now[j] > floor and rng.random() * square[i] <= now[j] and len(chosen) < m:
                chosen.append(int(i))
                kept.append(j)
                now = np.minimum(now, among[:, j])
        square = np.minimum(square, _nearest(Y, there[kept])[1])
        square[drawn[kept]] = 0.0
    return np.array(chosen, dtype=np.intp)


def lloyd(Y: Any, w: Array, Z: Array, fixed: int = 0) -> Array:
    """Return centres moved to the means of the rows that are nearest to them, until few move.

    Parameters
    ----------
    Y : (n, p) points
    w : (n,) array
        Weights.
    Z : (m, p) array
        Where they begin.
    fixed : int, default=0
        So many of the first stay where they are.

    Examples
    --------
    >>> lloyd(np.array([[0.0], [1.0], [9.0]]), np.ones(3), np.array([[0.0], [9.0]]))
    array([[0.5],
           [9. ]])
    """
    before = np.inf
    for _ in range(MAX_ITERATIONS):
        label, square = _nearest(Y, Z)
        error = float(w @ square)
        if error >= (1.0 - MIN_FALL) * before:
            break
        before = error
        Z = _moved(_sums(Y, w, label, len(Z)), Z, fixed)
    return Z


def _sums(Y: Any, w: Array, label: NDArray[np.intp], m: int) -> Sums:
    total = np.zeros((m, Y.shape[1]))
    order = np.argsort(label, kind="stable")
    ends = np.flatnonzero(np.diff(label[order], prepend=-1))
    if is_sparse(Y):
        for k, rows in zip(label[order][ends], np.split(order, ends[1:]), strict=True):
            total[k] = np.asarray(w[rows] @ Y[rows]).ravel()
    else:
        total[label[order][ends]] = np.add.reduceat((Y * w[:, None])[order], ends, axis=0)
    return Sums(total=total, weight=np.bincount(label, w, minlength=m))


def _moved(sums: Sums, Z: Array, fixed: int) -> Array:
    """Return means; a centre without rows, and one that is fixed, stays."""
    Z, weight = Z.copy(), sums["weight"]
    move = weight > 0.0
    move[:fixed] = False
    Z[move] = sums["total"][move] / weight[move, None]
    return Z


def _assigned(block: Block, shared: Array, Z: Array) -> Sums:
    """Return the sums of one block; the work of a pass over a source."""
    Y = scale_features(block.X, shared)
    w = np.ones(block.n) if block.s is None else np.asarray(block.s, dtype=np.float64)
    return _sums(Y, w, _nearest(Y, Z)[0], len(Z))


def streamed(source: Source, factor: Array, Z: Array, fixed: int = 0, passes: int = 1) -> Array:
    """Return centres after some of Lloyd's steps over all rows of a source.

    Parameters
    ----------
    source : Source
    factor : (p,) array
        By what features are multiplied, as in :func:`units`.
    Z : (m, p) array
        Where they begin, in units.
    fixed : int, default=0
        So many of the first stay where they are.
    passes : int, default=1

    Examples
    --------
    >>> from mercer.data import as_source
    >>> X = np.array([[0.0], [1.0], [9.0]])
    >>> streamed(as_source(X), np.ones(1), np.array([[0.0], [8.0]]))
    array([[0.5],
           [9. ]])
    """
    for _ in range(passes):
        sums = source.total(_assigned, factor, Z)
        Z = _moved(sums, Z, fixed)
    return Z


def nearest_rows(Y: Any, Z: Array, taken: NDArray[np.intp] | None = None) -> NDArray[np.intp]:
    """Return for every centre the nearest row that no centre before it has.

    Parameters
    ----------
    Y : (n, p) points
    Z : (m, p) array
        At most n.
    taken : array of int, optional
        Rows that are not to be had.

    Examples
    --------
    >>> nearest_rows(np.array([[0.0], [1.0]]), np.array([[0.9], [1.0]]))
    array([1, 0])
    """
    free = np.ones(Y.shape[0], dtype=bool)
    free[[] if taken is None else taken] = False
    norms, index = _norms(Y), np.empty(len(Z), dtype=np.intp)
    for part in row_slices(len(Z), 8 * Y.shape[0], BLOCK_BYTES):
        S = _squared(Y, norms, Z[part])
        for j, k in enumerate(range(part.start, part.stop)):
            index[k] = np.argmin(np.where(free, S[:, j], np.inf))
            free[index[k]] = False
    return index
