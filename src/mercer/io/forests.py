"""Ensembles of trees as graphs: the leaf of every tree that a row falls into, and their values.

The operator TreeEnsembleRegressor compares and adds in float32. Numbers of leaves are exact there,
one output for every tree; values of leaves are looked up and added in the precision of the graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._typing import AnyArray, Array
from mercer.io.symbols import Value
from mercer.tabular.forest import Forest
from mercer.tabular.tasks import FREE_VOTES, TreeNumbers, TreeVotes

__all__ = ["has_trees", "tree_values"]


def has_trees(member: Any) -> bool:
    """Return whether a member of a table's model is an ensemble of trees.

    Parameters
    ----------
    member : Member
        The member.
    """
    return issubclass(member.task, TreeNumbers | TreeVotes)


def tree_values(member: Any, points: Value, d: int) -> Value:
    """Write what trees say: numbers, or log odds of classes, (n, d).

    Parameters
    ----------
    member : Member
        A member that has trees.
    points : Value
        Features, in float64 since a point beside a cut falls to the one side or the other.
    d : int
        Outputs of the model.
    """
    machine = member.machine
    found = _Trees.of(machine)

    def write(x: Value) -> dict[str, Value]:
        return {"sums": found.sums(x)}

    size, k = found.begin.size * found.values.shape[1], found.outputs
    sums = points.backend.blocks(points, write, {"sums": k}, size)["sums"]
    if issubclass(member.task, TreeNumbers):
        return sums
    votes = sums
    if found.boosted:  # sums are log odds
        p = sums.map("Sigmoid")
        votes = (1.0 - p).beside(p) if k == 1 else sums.shares()
    place = np.zeros((len(machine.classes_), max(d, 2)))
    place[np.arange(len(place)), machine.classes_] = 1.0
    odds = (votes @ place + FREE_VOTES).map("Log")
    return odds if d > 1 else odds.columns([1]) - odds.columns([0])


@dataclass(frozen=True, eq=False)
class _Trees:
    """Cuts as attributes of the operator, and values of leaves."""

    attributes: dict[str, Any]
    values: Array
    """Of the leaves of all trees, (m, w)."""

    begin: NDArray[np.int64]
    """The first leaf of every tree."""

    outputs: int
    """How many sums there are: of w values of every tree, or of every so many-th tree."""

    start: Array
    """What sums begin with, (outputs,)."""

    boosted: bool
    """Whether sums are those of boosted trees."""

    def sums(self, x: Value) -> Value:
        """Write sums of what the trees say of points, (n, outputs)."""
        leaf = x.leaves(self.attributes).looked_up(self.values, self.begin)
        rounds = self.begin.size * self.values.shape[1] // self.outputs
        return leaf.totals(rounds, self.outputs) + self.start[None]

    @classmethod
    def of(cls, machine: Any) -> _Trees:
        """Return the trees of a fitted ensemble."""
        # Files of earlier releases hold ensembles of scikit-learn itself.
        forest = machine if isinstance(machine, Forest) else Forest.of(machine)
        trees, start = list(_grown(forest)), forest.start
        counts = [len(tree.values) for tree in trees]
        start = np.zeros(forest.values.shape[1]) if start is None else start
        return cls(
            _attributes(trees),
            np.concatenate([tree.values for tree in trees]),
            np.cumsum([0, *counts[:-1]], dtype=np.int64),
            len(start),
            start,
            forest.start is not None,
        )


@dataclass(frozen=True, eq=False)
class _Tree:
    left: AnyArray
    right: AnyArray
    feature: AnyArray
    cut: AnyArray
    leaf: NDArray[np.bool_]
    values: Array
    """Of the leaves only, in the order of the nodes."""


def _grown(forest: Forest) -> Iterator[_Tree]:
    share = len(forest.roots) if forest.start is None else 1
    for root, nodes in zip(forest.roots, np.split(forest.nodes, forest.roots[1:]), strict=True):
        left = nodes["left"].astype(np.int64) - int(root)
        leaf = left == np.arange(len(nodes))
        values = forest.values[nodes["leaf"][leaf]] / share
        yield _Tree(left, left + 1, nodes["feature"], nodes["cut"], leaf, values)


def _attributes(trees: list[_Tree]) -> dict[str, Any]:
    """Return nodes one after the other; a leaf has its number among the leaves as its value."""
    leaf = np.concatenate([tree.leaf for tree in trees])
    size = [len(tree.leaf) for tree in trees]
    of, at = np.repeat(np.arange(len(trees)), size), np.concatenate([np.arange(m) for m in size])

    def nodes(name: str) -> list[int]:
        found = np.concatenate([getattr(tree, name) for tree in trees])
        return [int(one) for one in np.where(leaf, 0, found)]

    return {
        "n_targets": len(trees),
        "post_transform": "NONE",
        "nodes_treeids": of.tolist(),
        "nodes_nodeids": at.tolist(),
        "nodes_featureids": nodes("feature"),
        "nodes_modes": np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
        "nodes_values": np.where(leaf, 0.0, np.concatenate([tree.cut for tree in trees])).tolist(),
        "nodes_truenodeids": nodes("left"),
        "nodes_falsenodeids": nodes("right"),
        "target_treeids": of[leaf].tolist(),
        "target_nodeids": at[leaf].tolist(),
        "target_ids": of[leaf].tolist(),
        "target_weights": np.concatenate(
            [np.arange(float(len(tree.values))) for tree in trees]
        ).tolist(),
    }
