"""Forests of scikit-learn as flat arrays, which one compiled loop evaluates.

scikit-learn calls every tree by itself: 300 of them take 27 ms for a single row, here 0.1 ms, and
three to four times as long for thousands of rows. In files the arrays take a quarter of the memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._native import add_leaves
from mercer._threads import map_blocks
from mercer._typing import AnyArray, Array

__all__ = ["Forest", "round_down"]

# Rows that pass all trees before the next ones: their features and sums stay in the cache.
BLOCK_ROWS = 4096


NODE = np.dtype([("cut", "<f4"), ("feature", "<u4"), ("left", "<u4"), ("leaf", "<u4")])
"""A node: a point goes to the node `left`, or to the one after it if its feature is above the cut.

A leaf is its own left child, with an infinite cut, and `leaf` is the row of its values.
"""


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees that are averaged, the nodes of one after the nodes of the other."""

    n_features_in_: int
    roots: NDArray[np.uint32]
    """The first node of every tree."""

    nodes: AnyArray
    """All nodes, of the type :data:`NODE`."""

    values: Array
    """What leaves say: numbers, or shares of the classes, (leaves, k)."""

    classes_: AnyArray | None = None
    """Classes; None for numbers."""

    @classmethod
    def of(cls, machine: Any) -> Forest:
        """Return the trees of a fitted forest of scikit-learn.

        Examples
        --------
        >>> from sklearn.ensemble import RandomForestRegressor
        >>> X, y = np.arange(12.0, dtype=np.float32)[:, None], np.arange(12.0)
        >>> machine = RandomForestRegressor(3, random_state=0).fit(X, y)
        >>> np.array_equal(Forest.of(machine).predict(X), machine.predict(X))
        True
        """
        trees = [one.tree_ for one in machine.estimators_]
        roots = np.cumsum([0, *(tree.node_count for tree in trees)], dtype=np.int64)
        nodes, values = np.zeros(roots[-1], dtype=NODE), []
        for tree, root in zip(trees, roots[:-1], strict=True):
            order = _level_by_level(tree)
            place = np.empty(len(order), dtype=np.int64)
            place[order] = root + np.arange(len(order))
            inner = tree.children_left[order] >= 0
            part = nodes[root : root + len(order)]
            part["cut"] = np.where(inner, round_down(tree.threshold[order]), np.inf)
            part["feature"] = np.where(inner, tree.feature[order], 0)
            part["left"] = place[np.where(inner, tree.children_left[order], order)]
            values.append(tree.value[order[~inner]].reshape(np.sum(~inner), -1))
        leaf = nodes["left"] == np.arange(len(nodes))
        nodes["leaf"][leaf] = np.arange(np.sum(leaf))
        return cls(
            int(machine.n_features_in_),
            roots[:-1].astype(np.uint32),
            nodes,
            np.concatenate(values).astype(np.float64),
            getattr(machine, "classes_", None),
        )

    def predict_proba(self, X: AnyArray) -> Array:
        """Return the shares of the classes in the leaves that points fall into, (n, k)."""
        return self._means(X)

    def predict(self, X: AnyArray) -> Array:
        """Return the means of the numbers of the leaves that points fall into, (n,) or (n, d)."""
        found = self._means(X)
        return found[:, 0] if found.shape[1] == 1 else found

    def _means(self, X: AnyArray) -> Array:
        """Return means over the trees, summed in their order as scikit-learn does."""
        X = np.ascontiguousarray(X, dtype=np.float32)
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"points of shape {X.shape} come to a forest of {self.n_features_in_} features."
            )
        if not np.isfinite(X).all():
            raise ValueError("points of a forest must be finite in float32.")
        out = np.zeros((len(X), self.values.shape[1]))
        nodes = self.nodes.view(np.uint8).reshape(-1, NODE.itemsize)

        def add(begin: int) -> None:
            rows = slice(begin, begin + BLOCK_ROWS)
            add_leaves(X[rows], self.roots, nodes, self.values, out[rows])

        map_blocks(add, range(0, len(X), BLOCK_ROWS))
        out /= len(self.roots)
        return out

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
        if self.classes_ is not None and np.shape(self.classes_) != self.values.shape[1:]:
            raise ValueError("a forest has other classes than its leaves")


def _level_by_level(tree: Any) -> NDArray[np.intp]:
    """Return the nodes of a tree in an order that has siblings next to each other."""
    level = np.zeros(1, dtype=np.intp)
    levels = [level]
    while len(level := level[tree.children_left[level] >= 0]):
        level = np.column_stack([tree.children_left[level], tree.children_right[level]]).ravel()
        levels.append(level)
    return np.concatenate(levels)


def round_down(cuts: Array) -> NDArray[np.float32]:
    """Return the largest numbers of float32 that are not above: they cut float32 alike."""
    rounded = np.asarray(cuts, dtype=np.float32)
    lower = np.nextafter(rounded, np.float32(-np.inf))
    return np.where(rounded > cuts, lower, rounded)
