"""Forests and boosted trees of scikit-learn as flat arrays, which one compiled loop evaluates.

scikit-learn calls every tree by itself: 300 of them take 27 ms for a single row, here 0.1 ms, and
three to four times as long for thousands of rows. In files the arrays take a quarter of the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from mercer._native import add_leaves
from mercer._threads import map_blocks
from mercer._typing import AnyArray, Array

__all__ = ["Forest", "round_down"]

# Rows that pass all trees before the next ones: their features and sums stay in the cache.
BLOCK_ROWS = 4096
# Points that the loop leads down a tree at once; it reads them feature by feature.
TOGETHER = 8


NODE = np.dtype([("cut", "<f4"), ("feature", "<u4"), ("left", "<u4"), ("leaf", "<u4")])
"""A node: a point goes to the node `left`, or to the one after it if its feature is above the cut.

A leaf is its own left child, with an infinite cut, and `leaf` is the row of its values.
"""


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees that are averaged or added, the nodes of one after the nodes of the other."""

    n_features_in_: int
    roots: NDArray[np.uint32]
    """The first node of every tree."""

    nodes: AnyArray
    """All nodes, of the type :data:`NODE`."""

    values: Array
    """Values of leaves: numbers, or shares of the classes, (leaves, k)."""

    classes_: AnyArray | None = None
    """Classes; None for numbers."""

    start: Array | None = None
    """What sums of boosted trees begin with, (q,): trees are added to them in turn; None if trees
    are averaged."""

    @classmethod
    def of(cls, machine: Any) -> Forest:
        """Return the trees of a fitted forest, or of gradient boosting, of scikit-learn.

        Examples
        --------
        >>> from sklearn.ensemble import RandomForestRegressor
        >>> X, y = np.arange(12.0, dtype=np.float32)[:, None], np.arange(12.0)
        >>> machine = RandomForestRegressor(3, random_state=0).fit(X, y)
        >>> np.array_equal(Forest.of(machine).predict(X), machine.predict(X))
        True
        """
        trees = list(_trees(machine))
        roots = np.cumsum([0, *(len(tree.left) for tree in trees)], dtype=np.int64)
        nodes, values = np.zeros(roots[-1], dtype=NODE), []
        for tree, root in zip(trees, roots[:-1], strict=True):
            order = _level_by_level(tree)
            place = np.empty(len(order), dtype=np.int64)
            place[order] = root + np.arange(len(order))
            inner = tree.left[order] >= 0
            part = nodes[root : root + len(order)]
            part["cut"] = np.where(inner, round_down(tree.cut[order]), np.inf)
            part["feature"] = np.where(inner, tree.feature[order], 0)
            part["left"] = place[np.where(inner, tree.left[order], order)]
            values.append(tree.values[order[~inner]])
        leaf = nodes["left"] == np.arange(len(nodes))
        nodes["leaf"][leaf] = np.arange(np.sum(leaf))
        start = getattr(machine, "_baseline_prediction", None)
        return cls(
            int(machine.n_features_in_),
            roots[:-1].astype(np.uint32),
            nodes,
            np.concatenate(values).astype(np.float64),
            getattr(machine, "classes_", None),
            None if start is None else np.asarray(start, dtype=np.float64).reshape(-1),
        )

    def predict_proba(self, X: AnyArray) -> Array:
        """Return probabilities of the classes, (n, k): mean shares, or those of boosted odds."""
        if self.start is None:
            return self._means(X)
        odds = self._sums(X)
        if odds.shape[1] > 1:
            return np.asarray(softmax(odds, axis=1))
        p = expit(odds)
        return np.hstack([1.0 - p, p])

    def predict(self, X: AnyArray) -> Array:
        """Return means or sums of the numbers of the leaves of points, (n,) or (n, d)."""
        result = self._means(X) if self.start is None else self._sums(X)
        return result[:, 0] if result.shape[1] == 1 else result

    def _means(self, X: AnyArray) -> Array:
        """Return means over the trees, summed in their order as scikit-learn does."""
        out = np.zeros((len(X), self.values.shape[1]))
        self._add(X, [self.roots], [out])
        out /= len(self.roots)
        return out

    def _sums(self, X: AnyArray) -> Array:
        """Return sums of boosted trees: with q of them, every q-th tree is added to each."""
        assert self.start is not None
        sums = np.repeat(self.start[:, None], len(X), axis=1)
        roots = [np.ascontiguousarray(part) for part in self.roots.reshape(-1, len(sums)).T]
        self._add(X, roots, list(sums[:, :, None]))
        return sums.T

    def _add(self, X: AnyArray, roots: list[NDArray[np.uint32]], sums: list[Array]) -> None:
        """Add the values of the leaves of several groups of trees to the sums of each."""
        points = np.asarray(X, dtype=np.float32)
        if points.ndim != 2 or points.shape[1] != self.n_features_in_:
            raise ValueError(
                f"points of shape {np.shape(X)} come to a forest of {self.n_features_in_} features."
            )
        if not np.isfinite(points).all():
            raise ValueError("points of a forest must be finite in float32.")
        n, p = points.shape
        blocks = np.zeros((-(-n // TOGETHER), p, TOGETHER), dtype=np.float32)
        for k in range(TOGETHER):
            part = points[k::TOGETHER]
            blocks[: len(part), :, k] = part
        blocks = blocks.reshape(len(blocks), -1)
        nodes = self.nodes.view(np.uint8).reshape(-1, NODE.itemsize)

        def add(begin: int) -> None:
            rows = slice(begin, begin + BLOCK_ROWS)
            some = blocks[begin // TOGETHER : (begin + BLOCK_ROWS) // TOGETHER]
            for trees, out in zip(roots, sums, strict=True):
                add_leaves(some, trees, nodes, self.values, out[rows])

        map_blocks(add, range(0, n, BLOCK_ROWS))

    def check_indices(self) -> None:
        """Raise ValueError unless every way ends in a leaf and every index is in its array."""
        kinds = (self.roots, np.uint32, 1), (self.nodes, NODE, 1), (self.values, np.float64, 2)
        right = type(self.n_features_in_) is int and all(
            isinstance(part, np.ndarray) and part.dtype == kind and part.ndim == axes
            for part, kind, axes in kinds
        )
        if not right or not 0 < len(self.roots) <= len(self.nodes):
            raise ValueError("a forest has arrays of kinds or lengths that do not fit")
        node, left = np.arange(len(self.nodes)), self.nodes["left"].astype(np.int64)
        inner = left != node
        above, below = node[inner], left[inner]
        inside = np.all(self.roots < len(node)) and np.all(below < len(node) - 1)
        # Every node but a root is a child once, and comes after its parent.
        parents = [self.roots, below, below + 1] if inside else []
        once = inside and np.all(np.bincount(np.concatenate(parents), minlength=len(node)) == 1)
        if not once or np.any(below <= above):
            raise ValueError("a forest has a tree with children that are not below their node")
        if np.any(self.nodes["cut"][~inner] != np.inf):
            raise ValueError("a forest has a leaf with a cut")
        if np.any(self.nodes["feature"] >= self.n_features_in_):
            raise ValueError(f"a forest cuts other features than its {self.n_features_in_}")
        if np.any(self.nodes["leaf"] >= len(self.values)):
            raise ValueError("a forest has leaves without values")
        outputs = self.values.shape[1]
        if self.start is not None:
            start = self.start
            right = isinstance(start, np.ndarray) and start.dtype == np.float64 and start.ndim == 1
            if not right or outputs != 1 or not len(start) or len(self.roots) % len(start):
                raise ValueError("a forest has sums that do not fit its trees")
            outputs = max(2, len(start)) if self.classes_ is not None else len(start)
        if self.classes_ is not None and np.shape(self.classes_) != (outputs,):
            raise ValueError("a forest has other classes than its leaves")


class _Tree(NamedTuple):
    """The nodes of a tree as scikit-learn has them; leaves have negative children."""

    left: NDArray[np.intp]
    right: NDArray[np.intp]
    feature: AnyArray
    cut: AnyArray
    values: Array
    """Of all nodes, (nodes, k)."""


def _trees(machine: Any) -> Iterator[_Tree]:
    """Yield the trees of a fitted ensemble, in the order in which it adds them."""
    if not hasattr(machine, "_predictors"):
        for grown in (estimator.tree_ for estimator in machine.estimators_):
            left, right = grown.children_left, grown.children_right
            values = grown.value.reshape(grown.node_count, -1)
            yield _Tree(left, right, grown.feature, grown.threshold, values)
        return
    for tree in (tree for together in machine._predictors for tree in together):
        nodes, inner = tree.nodes, tree.nodes["is_leaf"] == 0
        left = np.where(inner, nodes["left"].astype(np.intp), -1)
        right = np.where(inner, nodes["right"].astype(np.intp), -1)
        values = nodes["value"][:, None]
        yield _Tree(left, right, nodes["feature_idx"], nodes["num_threshold"], values)


def _level_by_level(tree: _Tree) -> NDArray[np.intp]:
    """Return the nodes of a tree in an order that has siblings next to each other."""
    level = np.zeros(1, dtype=np.intp)
    levels = [level]
    while len(level := level[tree.left[level] >= 0]):
        level = np.column_stack([tree.left[level], tree.right[level]]).ravel()
        levels.append(level)
    return np.concatenate(levels)


def round_down(cuts: Array) -> NDArray[np.float32]:
    """Return the largest numbers of float32 that are not above: they cut float32 alike."""
    rounded = np.asarray(cuts, dtype=np.float32)
    lower = np.nextafter(rounded, np.float32(-np.inf))
    return np.where(rounded > cuts, lower, rounded)
