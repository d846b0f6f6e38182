"""A balanced tree over the points of a kernel: each cut halves what the kernel sees apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._native import descend
from mercer._typing import PointsLike
from mercer.kernels.algebra import ActiveDims
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array, count, is_sparse, take

__all__ = ["Tree", "equality_columns", "graft", "grow", "sensitivity"]

Rows = NDArray[np.intp]

# Pairs of rows by which the reach of a kernel is measured, feature by feature.
REACH_PAIRS = 200
# A cut need not be nearer to the wanted share than this part of it: values may be repeated.
UNEVEN_SHARE = 0.5


def equality_columns(kernel: Any, p: int) -> list[int]:
    """Return the features that a kernel compares by equality.

    Parameters
    ----------
    kernel : Kernel
        A kernel of p features.
    p : int
        Number of features.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Laplacian
    >>> equality_columns(Gaussian(1.0).on([0]) * Laplacian(1.0, categories=(1,)).on([1, 2]), 3)
    [2]
    """
    if isinstance(kernel, ActiveDims):
        dims = np.arange(p)[
            kernel.dims if isinstance(kernel.dims, slice) else np.array(kernel.dims)
        ]
        return [int(dims[j]) for j in equality_columns(kernel.kernel, len(dims))]
    found = {int(j) for j in getattr(kernel, "categories", ())}
    for name in ("kernel", "left", "right"):
        if isinstance(getattr(kernel, name, None), Kernel):
            found |= set(equality_columns(getattr(kernel, name), p))
    return sorted(found)


def sensitivity(kernel: Kernel, X: PointsLike, categories: Sequence[int] = ()) -> Array:
    r"""Return how far apart a kernel sees points per unit of each feature, (p,).

    One feature of a row is replaced by that of another: the loss of correlation,
    :math:`-\log r` where it is positive everywhere and :math:`1 - r` otherwise, over the difference
    of the feature. For categories it is the loss by any change.

    Parameters
    ----------
    kernel : Kernel
    X : (n, p) points
        In a random order: the first are compared.
    categories : sequence of int
        Features that are compared by equality.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Laplacian
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> sensitivity(Laplacian([0.5, 4.0]), X).round(6)
    array([2.  , 0.25])
    """
    n = min(count(X), 2 * REACH_PAIRS)
    some = take(X, np.arange(n))
    some = np.asarray(some.toarray() if is_sparse(some) else some, dtype=np.float64)
    first, second = some[: n // 2], some[n // 2 : 2 * (n // 2)]
    out = np.zeros(some.shape[1])
    for j in range(len(out)):
        apart = np.abs(first[:, j] - second[:, j])
        apart = (apart > 0).astype(float) if j in categories else apart
        if not np.any(apart):
            continue
        moved = first.copy()
        moved[:, j] = second[:, j]
        with np.errstate(invalid="ignore", divide="ignore"):
            r = np.diag(np.asarray(kernel(first, moved), dtype=np.float64)) / np.sqrt(
                np.abs(kernel.diag(first) * kernel.diag(moved))
            )
        r = np.where(np.isfinite(r), r, 1.0)
        loss = -np.log(np.minimum(r, 1.0)) if np.all(r > 0) else 1.0 - r
        out[j] = max(float(np.mean(loss)), 0.0) / float(np.mean(apart))
    return out


@dataclass(eq=False)
class Tree:
    """Cuts of features; nodes are numbered from the root, 0.

    Parameters
    ----------
    column : list of int
        Feature that a node cuts, -1 for a leaf.
    cut : list of float
        Points with larger values go right.
    band : list of (float, float)
        Between these values points belong to both sides, where sides overlap.
    codes : list of array or None
        Where the feature is a category: the codes that go left.
    children : list of (int, int)
        The left and the right node; (number of the leaf, -1) for a leaf.
    """

    column: list[int] = field(default_factory=list)
    cut: list[float] = field(default_factory=list)
    band: list[tuple[float, float]] = field(default_factory=list)
    codes: list[Array | None] = field(default_factory=list)
    children: list[tuple[int, int]] = field(default_factory=list)

    # Without what compiled code reads, which is made, and checked, where the tree arrives.
    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def check_indices(self) -> None:
        """Refuse a tree, as of a file, whose nodes lead outside its lists."""
        self._flat  # noqa: B018, made and checked in one

    @property
    def leaves(self) -> int:
        """Number of leaves."""
        return sum(column < 0 for column in self.column)

    @property
    def depth(self) -> int:
        """Largest number of cuts above a leaf."""

        def below(node: int) -> int:
            if self.column[node] < 0:
                return 0
            return 1 + max(below(child) for child in self.children[node])

        return below(0)

    def route(self, X: PointsLike) -> Rows:
        """Return the leaf that each point falls into, (n,)."""
        if is_sparse(X):
            out = np.empty(count(X), dtype=np.intp)
            for leaf, rows, _ in self._visited(X, False):
                out[rows] = leaf
            return out
        points = np.asarray(X)
        kept = points.dtype in (np.float32, np.float64)
        points = np.ascontiguousarray(points, dtype=None if kept else np.float64)
        found = np.empty(len(points), dtype=np.int64)
        if max(self.column) >= points.shape[1]:
            raise ValueError(
                f"the tree cuts feature {max(self.column)} of points with {points.shape[1]}."
            )
        descend(points, *self._flat, found)
        return found.astype(np.intp, copy=False)

    @cached_property
    def _flat(self) -> tuple[Any, ...]:
        """Columns, cuts, children and codes of all nodes, as compiled code reads them."""
        codes = [np.empty(0) if known is None else known for known in self.codes]
        # Compiled code goes where it is sent, and a tree may come from a file.
        n = len(self.column)
        if not n or any(len(part) != n for part in (self.cut, codes, self.children)):
            raise ValueError("a tree has as many columns as cuts, codes and children, at least 1.")
        left, right = np.array(self.children, dtype=np.int64).reshape(n, 2).T
        cuts = np.flatnonzero(np.asarray(self.column) >= 0)
        below = np.minimum(left, right)[cuts] > cuts
        if not np.all(below & (np.maximum(left, right)[cuts] < len(self.column))):
            raise ValueError("a node of the tree has children that are not below it.")
        first = np.concatenate([[0], np.cumsum([len(known) for known in codes])])
        return (
            np.array(self.column, dtype=np.int64),
            np.array(self.cut, dtype=np.float64),
            np.ascontiguousarray(left),
            np.ascontiguousarray(right),
            first.astype(np.int64),
            np.concatenate(codes).astype(np.float64),
        )

    def parts(
        self, X: PointsLike, overlap: bool = False
    ) -> Iterator[tuple[int, Rows, Array | None]]:
        """Yield leaves with their points: numbers of rows, and how much the leaf counts for them.

        Parameters
        ----------
        X : (n, p) points
        overlap : bool, default=False
            Let points between the ends of a band belong to both sides; their weights, which add up
            to one over the leaves, change linearly from one end to the other. Otherwise weights are
            None.
        """
        if overlap or is_sparse(X):
            yield from self._visited(X, overlap)
            return
        leaf = self.route(X)
        # Numbers of 16 bits are sorted by their digits, others by comparisons.
        kind = np.uint16 if self.leaves <= 2**16 else np.int64
        order = np.argsort(leaf.astype(kind), kind="stable")
        counts = np.bincount(leaf, minlength=1)
        ends = np.cumsum(counts)
        for k in np.flatnonzero(counts):
            yield int(k), order[ends[k] - counts[k] : ends[k]], None

    def _visited(self, X: PointsLike, overlap: bool) -> Iterator[tuple[int, Rows, Array | None]]:
        """Yield leaves with their points, node by node."""
        columns = X.tocsc() if is_sparse(X) else X

        def values(rows: Rows, j: int) -> Array:
            if is_sparse(columns):
                return np.asarray(columns[:, [j]].toarray()[rows, 0])
            return np.asarray(columns[rows, j])

        def visit(
            node: int, rows: Rows, weight: Array | None
        ) -> Iterator[tuple[int, Rows, Array | None]]:
            if not len(rows):
                return
            j, (left, right) = self.column[node], self.children[node]
            if j < 0:
                yield left, rows, weight
                return
            x = values(rows, j)
            low, high = self.band[node]
            known = self.codes[node]
            if known is not None:
                share = 1.0 - np.isin(x, known)
            elif overlap and high > low:
                share = np.clip((x - low) / (high - low), 0.0, 1.0)
            else:
                share = (x > self.cut[node]).astype(np.float64)
            for child, part in ((left, 1.0 - share), (right, share)):
                here = part > 0
                below = None if weight is None else weight[here] * part[here]
                yield from visit(child, rows[here], below)

        n = count(X)
        yield from visit(0, np.arange(n), np.ones(n) if overlap else None)

    def add(self) -> int:
        """Add a node, a leaf for now, and return its number."""
        self.column.append(-1)
        self.cut.append(np.nan)
        self.band.append((np.nan, np.nan))
        self.codes.append(None)
        self.children.append((-1, -1))
        return len(self.column) - 1


def grow(
    X: PointsLike,
    leaves: int,
    scales: Array,
    categories: Sequence[int] = (),
    overlap: float = 0.0,
) -> Tree:
    """Grow a tree of at most as many leaves, of about as many points each.

    A node cuts the feature with the largest mean deviation from its median, in units of the kernel,
    that can be cut about where it should. Categories go left together as long as there is room,
    the most frequent first.

    Parameters
    ----------
    X : (n, p) points
        Which stand for all.
    leaves : int
    scales : (p,) array
        How far apart a unit of each feature is, see :func:`sensitivity`.
    categories : sequence of int
        Features that are compared by equality.
    overlap : float, default=0.0
        Share of the points on either side of a cut that belong to both sides.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(size=(1000, 2))
    >>> tree = grow(X, 8, np.array([1.0, 1.0]))
    >>> tree.leaves, np.bincount(tree.route(X)).tolist()
    (8, [125, 125, 125, 125, 125, 125, 125, 125])
    """
    points = np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
    tree, made = Tree(), 0

    def visit(rows: Rows, wanted: int) -> int:
        nonlocal made
        node = tree.add()
        found = _cut(points[rows], scales, categories, -(-wanted // 2) / wanted, wanted)
        if found is None:
            tree.children[node] = (made, -1)
            made += 1
            return node
        j, cut, codes = found
        x = points[rows, j]
        left = np.isin(x, codes) if codes is not None else x <= cut
        tree.column[node], tree.cut[node], tree.codes[node] = j, cut, codes
        if codes is None:
            tree.band[node] = (
                float(np.quantile(x[left], 1.0 - overlap)) if overlap else cut,
                float(np.quantile(x[~left], overlap)) if overlap else cut,
            )
        share = int(np.clip(round(wanted * float(np.mean(left))), 1, wanted - 1))
        first = visit(rows[left], share)
        tree.children[node] = (first, visit(rows[~left], wanted - share))
        return node

    visit(np.arange(len(points)), max(int(leaves), 1))
    return tree


def graft(tree: Tree, branches: Sequence[Tree]) -> Tree:
    """Return a tree with another tree in place of every leaf; leaves are numbered anew, in order.

    Parameters
    ----------
    tree : Tree
    branches : sequence of Tree
        One for each leaf.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(8.0)[:, None]
    >>> halves = grow(X, 2, np.ones(1))
    >>> quarters = [grow(X[:4], 2, np.ones(1)), grow(X[4:], 2, np.ones(1))]
    >>> graft(halves, quarters).route(X)
    array([0, 0, 1, 1, 2, 2, 3, 3])
    """
    out, made = Tree(), 0

    def copied(source: Tree, node: int, below: Sequence[Tree] | None) -> int:
        nonlocal made
        left, right = source.children[node]
        if source.column[node] < 0 and below is not None:
            return copied(below[left], 0, None)
        here = out.add()
        if source.column[node] < 0:
            out.children[here] = (made, -1)
            made += 1
            return here
        out.column[here], out.cut[here] = source.column[node], source.cut[node]
        out.band[here], out.codes[here] = source.band[node], source.codes[node]
        first = copied(source, left, below)
        out.children[here] = (first, copied(source, right, below))
        return here

    copied(tree, 0, branches)
    return out


def _cut(
    X: Array, scales: Array, categories: Sequence[int], share: float, wanted: int
) -> tuple[int, float, Array | None] | None:
    """Return a feature, its cut, and codes that go left; None if nothing is to be cut."""
    if wanted < 2 or len(X) < 2:
        return None
    spread = np.array(
        [
            _mismatch(X[:, j]) if j in categories else np.mean(np.abs(X[:, j] - np.median(X[:, j])))
            for j in range(X.shape[1])
        ]
    )
    best: tuple[float, tuple[int, float, Array | None]] | None = None
    for j in np.argsort(-spread * scales, kind="stable"):
        if spread[j] == 0.0:
            continue
        x = X[:, j]
        cut, codes, left = _category_cut(x, share) if j in categories else _number_cut(x, share)
        off = max(share / max(left, 1e-12), (1.0 - share) / max(1.0 - left, 1e-12))
        if off <= 1.0 / UNEVEN_SHARE:
            return int(j), cut, codes
        if 0.0 < left < 1.0 and (best is None or off < best[0]):
            best = off, (int(j), cut, codes)
    return None if best is None else best[1]


def _mismatch(x: Array) -> float:
    _, counts = np.unique(x, return_counts=True)
    return float(1.0 - np.sum((counts / len(x)) ** 2))


def _number_cut(x: Array, share: float) -> tuple[float, None, float]:
    """Return the middle between two neighbouring values, as near to a share as they allow."""
    values, counts = np.unique(x, return_counts=True)
    below = np.cumsum(counts)[:-1] / len(x)
    if not len(below):
        return float(values[0]), None, 1.0
    k = int(np.argmin(np.abs(below - share)))
    middle = 0.5 * values[k] + 0.5 * values[k + 1]
    # Rounding may have reached the upper of two neighbours, and infinite values have no middle.
    cut = middle if values[k] <= middle < values[k + 1] else values[k]
    return float(cut), None, float(below[k])


def _category_cut(x: Array, share: float) -> tuple[float, Array, float]:
    """Return codes that hold about a share of the points, the most frequent first."""
    values, counts = np.unique(x, return_counts=True)
    left: list[float] = []
    mass = 0.0
    for k in np.argsort(-counts, kind="stable"):
        part = counts[k] / len(x)
        if mass + part <= share or not left:
            left.append(values[k])
            mass += part
    return np.nan, np.sort(np.array(left)), mass
