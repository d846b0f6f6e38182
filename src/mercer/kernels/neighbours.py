"""Pairs of points that a kernel of compact support can see, found without looking at all pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import cKDTree

from mercer.kernels.base import Kernel
from mercer.kernels.points import Array, Data

# Pairs that are looked at together: what is known of each takes about a hundred bytes.
PAIRS = 2**19
# The edge of the support is met up to rounding of the points; the kernel itself decides beyond.
REACH = 1.0 + 1e-6
# Points whose neighbours are counted, and the part of all pairs up to which neighbours are few: a
# kernel value found through the tree costs several times as much as one in a dense block.
SAMPLE, FEW = 256, 0.1
# Beyond so many features a tree visits most of its leaves.
FEATURES = 8


class Pairs(NamedTuple):
    """Some rows and all pairs in them: the i-th of the points with the j-th of the others."""

    rows: slice
    i: NDArray[np.intp]
    j: NDArray[np.intp]

    def matrix(self, values: Array, m: int) -> sparse.csr_array:
        """Return these rows of an ``(n, m)`` matrix with the values at the pairs."""
        kept = values != 0
        i, j = self.i[kept] - self.rows.start, self.j[kept]
        shape = (self.rows.stop - self.rows.start, m)
        # Without duplicates every row is put in order by counting.
        coordinates = (i.astype(np.int32), j.astype(np.int32))
        return sparse.coo_array((values[kept], coordinates), shape=shape).tocsr()


class Neighbours:
    """Points in a tree that knows which of them a kernel sees from anywhere.

    Parameters
    ----------
    kernel : Kernel
        One with a compact support.
    Z : (m, p) array
        The points.

    Examples
    --------
    >>> from mercer.kernels import BSpline
    >>> near = Neighbours(BSpline(1.0, degree=1), np.array([[0.0], [0.5], [9.0]]))
    >>> near.counts(np.array([[0.2], [5.0]]))
    array([2, 0])
    >>> [pairs.j for pairs in near.pairs(np.array([[8.5]]))]
    [array([2])]
    """

    def __init__(self, kernel: Kernel, Z: Array) -> None:
        support = kernel.support
        if support is None or not _plain(Z):
            raise ValueError(
                f"{kernel!r} on these points has no neighbours to search: it takes a kernel of "
                "compact support, such as BSpline, and a dense array of points."
            )
        self.support = support
        self.tree = cKDTree(self._scaled(Z))

    def _scaled(self, X: Array) -> Array:
        dims = self.support.dims
        index = dims if isinstance(dims, slice) else np.asarray(dims)
        return np.asarray(X[:, index].astype(np.float64) / self.support.scale)

    def counts(self, X: Array) -> NDArray[np.intp]:
        """Return how many points each of X may see."""
        reach, norm = REACH, self.support.norm
        found = self.tree.query_ball_point(self._scaled(X), reach, p=norm, return_length=True)
        return np.asarray(found, dtype=np.intp)

    def density(self, X: Array) -> float:
        """Return the part of all pairs that may see each other, estimated on a few points of X."""
        some = np.unique(np.linspace(0, len(X) - 1, SAMPLE).astype(np.intp))
        return float(self.counts(X[some]).mean() / max(1, self.tree.n)) if len(X) else 0.0

    def pairs(self, X: Array, counts: NDArray[np.intp] | None = None) -> Iterator[Pairs]:
        """Return the pairs of X with the points in the tree, a bounded number at a time."""
        ends = np.cumsum(self.counts(X) if counts is None else counts)
        start = 0
        while start < len(X):
            before = ends[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + PAIRS, side="right")))
            found = cKDTree(self._scaled(X[start:stop])).sparse_distance_matrix(
                self.tree, REACH, p=self.support.norm, output_type="ndarray"
            )
            yield Pairs(slice(start, stop), found["i"] + start, found["j"])
            start = stop


def worthwhile(kernel: Kernel, Z: Data, X: Data | None = None) -> Neighbours | None:
    """Return the neighbours among Z if the points of X see few of them; None if they do not.

    Parameters
    ----------
    kernel : Kernel
    Z : (m, p) points
    X : (n, p) points, optional
        Z itself without them.
    """
    support = None if kernel.precomputed else kernel.support
    if support is None or not _plain(Z) or not (X is None or _plain(X)):
        return None
    features = Z.shape[1] if isinstance(support.dims, slice) else len(support.dims)
    if features > FEATURES:
        return None
    near = Neighbours(kernel, Z)
    return near if near.density(Z if X is None else X) <= FEW else None


def _plain(X: Data) -> bool:
    """Whether points are the rows of an array of floats."""
    return isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype in (np.float32, np.float64)
