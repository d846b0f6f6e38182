"""The machine of one leaf as a task: a function of its rows that can run anywhere."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from mercer.data.base import Block
from mercer.data.sampling import fingerprints
from mercer.kernels.points import count, take
from mercer.local.tree import Tree, grow
from mercer.machines.protocol import Machine
from mercer.machines.subproblems import Rows
from mercer.solvers import Solution

__all__ = [
    "Branch",
    "Cutting",
    "Leaf",
    "LeafRows",
    "Outline",
    "Reader",
    "Recipe",
    "Sorter",
    "fit_branch",
    "leaf_values",
    "outline",
    "rows_of",
    "summary",
    "template_of",
]


# A class that a leaf has not seen counts as half a row.
UNSEEN_CLASS_ROWS = 0.5


class LeafRows(NamedTuple):
    """The rows of a leaf."""

    rows: Rows
    """As the machine admitted them."""

    targets: Any
    """As they came."""

    numbers: NDArray[np.int64]
    """Which rows of the data these are."""


@dataclass(frozen=True, eq=False)
class Leaf:
    """The machine of some rows; None where all of them have one class."""

    rows: NDArray[np.intp]
    """Which rows of the data it was fitted to."""

    machine: Machine | None
    classes: NDArray[np.intp]
    """Positions of its classes among all classes."""


class Branch(NamedTuple):
    """Leaves of neighbouring rows, the tree that cut them, and what their fits warned of."""

    tree: Tree | None
    """None where the rows are one leaf."""

    leaves: list[Leaf]
    warnings: list[tuple[type[Warning], str]]


class Outline(NamedTuple):
    """What is told of a branch whose leaves are elsewhere."""

    tree: Tree | None
    sizes: list[int]
    """Rows of the leaves."""
    solutions: list[Solution | None]
    """Certificates, without coefficients; None of a leaf with one class."""
    warnings: list[tuple[type[Warning], str]]


@dataclass(frozen=True)
class Sorter:
    """Sorts the rows of blocks to leaves: tables of inputs, targets, weights and numbers of rows.

    Parameters
    ----------
    tree : Tree
    overlap : bool
        Whether rows near a cut belong to both sides.
    classes : array or None
        Labels, which become positions.
    factors : array or None
        Weights of the classes.
    """

    tree: Tree
    overlap: bool
    classes: Any = None
    factors: Any = None

    def __call__(self, block: Block) -> Iterable[tuple[int, Any]]:
        s = np.ones(block.n) if block.s is None else np.asarray(block.s, dtype=np.float64)
        y = np.asarray(block.y)
        if self.classes is not None:
            y = np.searchsorted(self.classes, y.reshape(-1))
            s = s * self.factors[y]
        number = block.start + np.arange(block.n)
        table = np.column_stack([np.asarray(block.X, dtype=np.float64), y, s, number])
        table = table if np.all(s > 0) else table[s > 0]
        parts = list(self.tree.parts(table[:, : block.X.shape[1]], self.overlap))
        # All rows are moved once, and leaves get slices: there may be more leaves than rows.
        table = table[np.concatenate([part for _, part, _ in parts])] if parts else table
        start = 0
        for leaf, part, _ in parts:
            yield leaf, table[start : start + len(part)]
            start += len(part)


@dataclass(frozen=True)
class Reader:
    """Makes the part of a leaf of a table that a :class:`Sorter` made.

    Parameters
    ----------
    features : int
        Number of inputs.
    classes : array or None
        Labels.
    """

    features: int
    classes: Any = None

    def __call__(self, table: Any) -> LeafRows:
        if not len(table):
            raise ValueError("a leaf has lost its rows: the data changed while it was read.")
        # In an order that depends on the rows only, not on files, blocks and who sorted them.
        table = table[np.argsort(fingerprints(table[:, :-1]), kind="stable")]
        p, outputs = self.features, table.shape[1] - self.features - 2
        y = table[:, p] if outputs == 1 else table[:, p : p + outputs]
        if self.classes is not None:
            y = y.astype(np.intp)
        targets = y if self.classes is None else self.classes[y]
        rows = Rows(np.ascontiguousarray(table[:, :p]), y, table[:, -2])
        return LeafRows(rows, targets, table[:, -1].astype(np.int64))


@dataclass(frozen=True)
class Cutting:
    """How the rows of a branch are cut into leaves, once all of them are at hand.

    Parameters
    ----------
    leaf_size : int
        Rows of a leaf, on average.
    scales, categories, overlap :
        As in :func:`mercer.local.tree.grow`.
    """

    leaf_size: int
    scales: Any
    categories: Sequence[int]
    overlap: float

    def __call__(self, part: LeafRows) -> tuple[Tree, list[LeafRows]]:
        """Return the tree of a branch, and its parts."""
        X = part.rows.X
        wanted = max(1, round(count(X) / self.leaf_size))
        tree = grow(X, wanted, self.scales, self.categories, self.overlap)
        found = sorted(tree.parts(X, self.overlap > 0), key=lambda one: one[0])
        return tree, [
            LeafRows(rows_of(part.rows, some), part.targets[some], part.numbers[some])
            for _, some, _ in found
        ]


@dataclass(frozen=True)
class Recipe:
    """What all leaves of a machine have in common.

    Parameters
    ----------
    template : KernelMachine
        Unfitted, with what all rows decide about the kernel.
    labelled : bool
        Whether targets are classes.
    read : Reader or None
        From a table to a part; None where parts come as they are.
    cut : Cutting or None
        From a part to leaves; None where it is one leaf.
    """

    template: Any
    labelled: bool
    read: Reader | None = None
    cut: Cutting | None = None

    def part(self, rows: Any) -> LeafRows:
        """Return the part of a leaf."""
        found: LeafRows = rows if self.read is None else self.read(rows)
        return found


def template_of(machine: Machine) -> Any:
    """Return the machine of a leaf, with what all rows decide about the kernel."""
    settings: dict[str, Any] = {"approximation": None, "kernel": machine.kernel_}
    names = getattr(machine, "feature_names_in_", None)
    if names is not None and machine.null_space is not None:
        settings["null_space"] = machine.null_space.bind(list(names))
    settings |= {"standardize": False, "class_weight": None, "verbose": False, "warm_start": False}
    known = machine.get_params(deep=False)
    return clone(machine).set_params(**{k: v for k, v in settings.items() if k in known})


def rows_of(rows: Rows, some: NDArray[np.intp]) -> Rows:
    """Return some rows of a sample."""
    weights = np.asarray(rows.weights)[some]
    return Rows(take(rows.X, some), np.asarray(rows.y)[some], weights)


def fit_branch(rows: Any, recipe: Recipe, settings: dict[str, Any]) -> Branch:
    """Fit the machines of neighbouring rows: a task.

    Parameters
    ----------
    rows : Part or table
    recipe : Recipe
    settings : dict
        Parameters of these leaves.
    """
    part = recipe.part(rows)
    tree, parts = (None, [part]) if recipe.cut is None else recipe.cut(part)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        leaves = [_fit_leaf(one, recipe, settings) for one in parts]
    told = [(one.category, str(one.message)) for one in caught]
    return Branch(tree, leaves, told)


def _fit_leaf(part: LeafRows, recipe: Recipe, settings: dict[str, Any]) -> Leaf:
    classes = np.empty(0, dtype=np.intp)
    if recipe.labelled:
        classes = np.unique(np.asarray(part.rows.y))
        if len(classes) == 1:
            return Leaf(part.numbers, None, classes)
    machine = clone(recipe.template).set_params(**settings)
    machine.fit(part.rows.X, part.targets, sample_weight=np.asarray(part.rows.weights))
    # Where a fit would go on from, which a leaf does not: its solutions a second time.
    machine.__dict__.pop("_last", None)
    return Leaf(part.numbers, machine, classes)


def outline(branch: Branch) -> Outline:
    """Return what is told of a branch."""
    solutions = [
        None if leaf.machine is None else summary(leaf.machine.solution_) for leaf in branch.leaves
    ]
    return Outline(
        branch.tree, [len(leaf.rows) for leaf in branch.leaves], solutions, branch.warnings
    )


def summary(solution: Solution) -> Solution:
    """Return a solution without what grows with the number of rows or of leaves."""
    empty, terms = np.empty(0), solution.terms
    if terms is not None:
        terms = type(terms)(*(np.array([np.sum(term)]) for term in terms))
    return replace(solution, a=empty, b=empty, f=empty, history=(), b_interval=None, terms=terms)


def leaf_values(leaf: Leaf, asked: tuple[str, Any], X: Any) -> Any:
    """Return what a method of one leaf says of points, in terms of all classes: a task.

    Parameters
    ----------
    leaf : Leaf
    asked : (str, array or None)
        The method, and all classes if there are any.
    X : points
    """
    name, all_classes = asked
    if all_classes is None:
        return np.asarray(getattr(leaf.machine, name)(X))
    if name == "predict":
        if leaf.machine is None:
            return np.repeat(all_classes[leaf.classes], count(X))
        return leaf.machine.predict(X)
    n, k = count(X), len(all_classes)
    known = leaf.machine is not None
    values = np.asarray(getattr(leaf.machine, name)(X), dtype=np.float64) if known else None
    if name == "predict_proba":
        unseen = UNSEEN_CLASS_ROWS / (len(leaf.rows) + UNSEEN_CLASS_ROWS * k)
        P = np.full((n, k), unseen)
        left = 1.0 - unseen * (k - len(leaf.classes))
        P[:, leaf.classes] = left * (1.0 if values is None else values)
        return P
    if values is None:
        values = np.ones((n, 1))
    elif values.ndim == 1:
        values = np.column_stack([-values, values])
    if len(leaf.classes) < k:
        # Below all others: what was never seen here is not what is decided for.
        lowest = np.minimum(np.min(values, axis=1, keepdims=True), -1.0)
        every = np.repeat(lowest, k, axis=1)
        every[:, leaf.classes] = values
        values = every
    return values[:, 1] if k == 2 else values
