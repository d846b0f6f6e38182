"""The two kinds of samples that are divided into leaves: arrays in memory, and rows in blocks.

Both know how many rows there are (`n`), give points to grow a tree from (`points`), and sort their
rows to its leaves (`divided`): a context with :class:`mercer.data.spill.Groups`, whose ``map`` runs
a task for every leaf, and does not say where. A task gets rows that ``Recipe.part`` understands:
``read`` of the sample makes parts of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer._jobs import each
from mercer._progress import Bar
from mercer._sklearn import safe_indexing
from mercer._typing import PointsLike, TargetsLike, WeightsLike
from mercer.data.memory import parse
from mercer.data.spill import MAX_HELD_BYTES, Groups, GroupWork
from mercer.kernels.points import count, take
from mercer.local import Local
from mercer.local.tree import Tree
from mercer.machines.leaf_tasks import LeafRows, Reader, Sorter, rows_of
from mercer.machines.low_rank import set_parameters_on
from mercer.machines.protocol import LocalMachine
from mercer.machines.subproblems import Rows
from mercer.reduced.passes import Passes, take_census

__all__ = ["Divisible", "InArrays", "InBlocks"]

# Points that a tree is grown from, in all and for each leaf, where there are more. Of rows in
# blocks no more can be held, so the tree of many leaves has branches that are cut later.
MAX_TREE_ROWS, TREE_ROWS_PER_LEAF = 100_000, 200
# Rows of a block that is sorted, at most.
MAX_SORTED_ROWS = 2**17

Bars = Callable[[str, int | None], Bar]


class Divisible(Protocol):
    """A sample that a machine has admitted, and whose kernel it has settled."""

    n: int

    @property
    def read(self) -> Reader | None:
        """Makes the part of a leaf of the rows that a task gets; None where they are a part."""

    def points(self, how: Local) -> Any:
        """Return some points in a random order."""

    def coarse(self, how: Local) -> LeafRows:
        """Return as many rows, drawn from all, as a leaf has: for leaves without time."""

    def branches(self, leaves: int) -> int:
        """Return how many parts the points can tell apart, of at most as many leaves."""

    def divided(self, tree: Tree, how: Local) -> AbstractContextManager[Groups]:
        """Sort the rows to leaves."""


class InArrays:
    """A sample in memory.

    Parameters
    ----------
    machine : KernelMachine
    X, y, sample_weight :
        As in its ``fit``.
    """

    read: Reader | None = None

    def __init__(
        self, machine: LocalMachine, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike
    ) -> None:
        rows = machine._validate(X, y, sample_weight)
        machine._sparse, machine.shape_fit_ = sp.issparse(rows.X), rows.X.shape
        machine._X_fit = machine._kernel_fit = None
        machine.kernel_ = machine._resolved(rows)
        order = np.arange(count(rows.X)) if rows.order is None else rows.order
        live = np.flatnonzero(np.asarray(rows.weights) > 0)
        self.rows = rows_of(rows, live)
        self.order, self.y, self.n = order[live], y, len(live)

    def points(self, how: Local) -> Any:
        """Return some points in a random order."""
        wanted = max(TREE_ROWS_PER_LEAF * (-(-self.n // int(how.leaf_size))), MAX_TREE_ROWS)
        some = np.random.default_rng(how.random_state).permutation(self.n)[:wanted]
        return take(self.rows.X, some)

    def coarse(self, how: Local) -> LeafRows:
        """Return as many rows, drawn from all, as a leaf has."""
        order = np.random.default_rng(how.random_state).permutation(self.n)
        return self._part(order[: int(how.leaf_size)])

    def branches(self, leaves: int) -> int:
        """Return the number of leaves: there are points enough for each."""
        return leaves

    def divided(self, tree: Tree, how: Local) -> AbstractContextManager[Groups]:
        """Sort the rows to leaves."""
        self.parts = {leaf: part for leaf, part, _ in tree.parts(self.rows.X, how.overlap > 0)}
        return nullcontext(self)

    def map(
        self,
        work: GroupWork,
        shared: Any,
        states: Mapping[int, Any],
        n_jobs: int | None = None,
        last: bool = False,
    ) -> Iterator[tuple[int, Any]]:
        """Yield leaves with the results of their tasks; see :class:`mercer.data.spill.Groups`."""
        calls = ((self._part(self.parts[leaf]), shared, state) for leaf, state in states.items())
        return zip(states, each(work, calls, n_jobs), strict=True)

    def _part(self, some: NDArray[np.intp]) -> LeafRows:
        index = self.order[some]
        return LeafRows(rows_of(self.rows, some), safe_indexing(self.y, index), index)


class InBlocks:
    """A sample that is read in blocks, here or on a cluster.

    Parameters
    ----------
    machine : KernelMachine
    X, y, sample_weight :
        As in its ``fit``.
    bar : callable
        From the name of a pass and the number of rows to a bar.
    """

    def __init__(
        self,
        machine: LocalMachine,
        X: PointsLike,
        y: TargetsLike,
        sample_weight: WeightsLike,
        bar: Bars,
    ) -> None:
        self.source, rows = machine._validate_blocks(X, y, sample_weight)
        how: Local = machine.approximation
        passes, self.bar = Passes(self.source, bar=bar), bar
        self.census = take_census(passes, MAX_TREE_ROWS, how.random_state, machine._labelled)
        self.n, pool, classes = self.census.n, self.census.pool, self.census.classes
        if pool.y is None:
            raise ValueError(
                f"{type(machine).__name__} requires y to be passed, but the target y is None."
            )
        if sp.issparse(pool.X):
            raise ValueError("local machines of rows in blocks need dense numbers.")
        if classes is not None:
            machine._count_classes(classes, self.census.counts)
        else:
            machine._encode(pool.y)
        set_parameters_on(machine, rows, self.census, classes)
        self.factors = None if classes is None else machine.class_weight_
        self.read = Reader(self.source.n_features, classes)

    def points(self, how: Local) -> Any:
        """Return some points with weight in a random order: that of their fingerprints."""
        pool = self.census.pool
        return pool.X if pool.s is None else pool.X[np.asarray(pool.s) > 0]

    def coarse(self, how: Local) -> LeafRows:
        """Return as many rows, of the smallest fingerprints, as a leaf has."""
        pool, classes = self.census.pool, self.census.classes
        s = np.ones(len(pool.rows)) if pool.s is None else np.asarray(pool.s, dtype=np.float64)
        y = np.asarray(pool.y)
        if classes is not None and self.factors is not None:
            y = np.searchsorted(classes, y.reshape(-1))
            s = s * self.factors[y]
        some = np.flatnonzero(s > 0)[: int(how.leaf_size)]
        y = y[some]
        rows = Rows(np.asarray(pool.X, dtype=np.float64)[some], y, s[some])
        return LeafRows(rows, y if classes is None else classes[y], pool.rows[some])

    def branches(self, leaves: int) -> int:
        """Return how many parts have 200 points each, and so about the same number of leaves.

        Cuts of fewer points would make leaves of very different sizes.
        """
        if self.n <= MAX_TREE_ROWS:
            return leaves
        each = -(-leaves * TREE_ROWS_PER_LEAF // MAX_TREE_ROWS)
        return -(-leaves // each)

    @contextmanager
    def divided(self, tree: Tree, how: Local) -> Iterator[Groups]:
        """Sort the rows to leaves, in one pass."""
        sorter = Sorter(tree, how.overlap > 0, self.census.classes, self.factors)
        limit = parse(how.memory_limit)
        # Rows of a block, moved twice: many leaves should not share few rows.
        rows = int(
            np.clip(limit / 16 / (3 * 8 * (self.source.n_features + 3)), 1024, MAX_SORTED_ROWS)
        )
        with ExitStack() as stack:
            with self.bar("sort rows to leaves", self.n) as bar:
                groups = stack.enter_context(
                    self.source.sorted(
                        sorter,
                        tree.leaves,
                        rows=rows,
                        held=min(MAX_HELD_BYTES, limit / 8),
                        folder=how.folder,
                        report=bar.update,
                    )
                )
            yield groups
