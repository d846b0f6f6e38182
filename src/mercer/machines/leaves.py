"""A machine that is many: one in each leaf of a tree, asked about the points that fall there."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from mercer.data.opening import is_source
from mercer.kernels.algebra import ActiveDims
from mercer.kernels.base import Kernel
from mercer.kernels.points import count, take
from mercer.local import Local, Tree, grow, sensitivity
from mercer.local.spill import Spill
from mercer.machines.approximated import settle_on
from mercer.machines.expansion import BLOCK
from mercer.machines.leaf_settings import leaf_settings
from mercer.machines.posing import Rows
from mercer.reduced.census import take_census
from mercer.reduced.passes import Passes
from mercer.solvers import Solution, Status, join

__all__ = ["Leaves", "fit_local"]

# Points that a tree is grown from, in all and for each leaf, where there are more.
POINTS, EACH = 100_000, 200
# A class that a leaf has not seen counts as half a row.
UNSEEN = 0.5


# Where every leaf has one class there is no problem to solve.
CONSTANTS = Solution(
    a=np.empty(0),
    b=np.empty(0),
    objective=0.0,
    dual=0.0,
    gap=0.0,
    violation=0.0,
    residual=0.0,
    status=Status.CONVERGED,
    n_iter=0,
    solver="none",
    reason="every leaf has one class",
    f=np.empty(0),
)


@dataclass(frozen=True, eq=False)
class Leaf:
    """The machine of some rows; None where all of them have one class."""

    rows: NDArray[np.intp]
    """Which rows of the data it was fitted to."""

    machine: Any
    classes: NDArray[np.intp]
    """Positions of its classes among all classes."""


@dataclass(frozen=True, eq=False)
class Leaves:
    """A tree with a machine in each leaf."""

    tree: Tree
    leaves: list[Leaf]
    blend: bool

    def evaluate(self, whole: Any, name: str, X: Any) -> Any:
        """Return what a method of the machines says of new points, each by its own leaf.

        Parameters
        ----------
        whole : KernelMachine
            The machine that they are the leaves of.
        name : str
            The method.
        X : points
        """
        X = whole._check_new(X)
        labelled = whole._labelled()
        if labelled and name == "predict_log_proba":
            return np.log(self.evaluate(whole, "predict_proba", X))
        if labelled and name == "predict" and self.blend:
            f = self.evaluate(whole, "decision_function", X)
            return whole.classes_[np.argmax(f, axis=1) if f.ndim > 1 else (f > 0).astype(np.intp)]
        out: Any = None
        for k, rows, weight in self.tree.parts(X, self.blend):
            values = self._values(whole, self.leaves[k], name, take(X, rows))
            if out is None:
                out = np.zeros((count(X), *values.shape[1:]), dtype=values.dtype)
            if weight is None:
                out[rows] = values
            else:
                out[rows] += values * weight.reshape(-1, *[1] * (values.ndim - 1))
        return out

    def _values(self, whole: Any, leaf: Leaf, name: str, X: Any) -> Any:
        """Return what one leaf says, in terms of all classes."""
        if not whole._labelled():
            return np.asarray(getattr(leaf.machine, name)(X))
        if name == "predict":
            if leaf.machine is None:
                return np.repeat(whole.classes_[leaf.classes], count(X))
            return leaf.machine.predict(X)
        n, k = count(X), len(whole.classes_)
        known = leaf.machine is not None
        values = np.asarray(getattr(leaf.machine, name)(X), dtype=np.float64) if known else None
        if name == "predict_proba":
            unseen = UNSEEN / (len(leaf.rows) + UNSEEN * k)
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


def fit_local(machine: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Divide the rows, fit the machine of every part, and join what they certify.

    Parameters
    ----------
    machine : KernelMachine
    X, y, sample_weight :
        As in its ``fit``.
    """
    how: Local = machine.approximation
    _refuse(machine)
    parameters = machine.get_params(deep=False)
    for name in [name for name in vars(machine) if name not in parameters and name[:4] != "_skl"]:
        del machine.__dict__[name]  # of another fit
    with ExitStack() as stack:
        sample: _Arrays | _Blocks
        if is_source(X):
            sample = _Blocks(stack, machine, X, y, sample_weight)
        else:
            sample = _Arrays(machine, X, y, sample_weight)
        pairs = len(getattr(machine, "classes_", ())) > 2
        if pairs and parameters.get("decision_function_shape") == "ovo":
            raise ValueError(
                "leaves have pairs of classes of their own: local machines need "
                "decision_function_shape='ovr'."
            )
        categories = _compared_by_equality(machine.kernel_, machine.n_features_in_)
        points = sample.points(how)
        scales = sensitivity(machine.kernel_, points, categories)
        wanted = -(-sample.n // int(how.leaf_size))
        tree = grow(points, wanted, scales, categories, how.overlap)
        sample.divide(tree, how.overlap > 0)
        own: list[dict[str, Any]] = [{}] * len(sample)
        if how.adapt:
            own = leaf_settings(machine, (part.rows for part in sample), scales, categories)
        template, leaves = _template(machine), []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for part, settings in zip(sample, own, strict=True):
                leaves.append(_fit_leaf(machine, clone(template).set_params(**settings), part))
    _say_once(caught, len(leaves))
    machine._local = Leaves(tree, leaves, how.blend)
    fitted = [leaf for leaf in leaves if leaf.machine is not None]
    machine.solution_ = join([leaf.machine.solution_ for leaf in fitted]) if fitted else CONSTANTS
    machine.fit_status_ = int(machine.solution_.status is not Status.CONVERGED)
    machine.n_iter_ = machine.solution_.n_iter
    support = [leaf.rows[leaf.machine.support_] for leaf in fitted]
    machine.support_ = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *support]))


class _Part(NamedTuple):
    """What a leaf is fitted to."""

    rows: Rows
    """As the machine admitted them."""

    targets: Any
    """As they came."""

    numbers: NDArray[np.intp]
    """Which rows of the data these are."""


class _Arrays:
    """A sample in memory."""

    def __init__(self, machine: Any, X: Any, y: Any, sample_weight: Any) -> None:
        rows = machine._admit(X, y, sample_weight)
        machine._sparse, machine.shape_fit_ = sp.issparse(rows.X), rows.X.shape
        machine._X_fit = machine._kernel_fit = None
        machine.kernel_ = machine._resolved(rows)
        order = np.arange(count(rows.X)) if rows.order is None else rows.order
        live = np.flatnonzero(np.asarray(rows.weights) > 0)
        self.rows = _of(rows, live)
        self.order, self.y, self.n = order[live], y, len(live)

    def points(self, how: Local) -> Any:
        """Return some points in a random order."""
        wanted = max(EACH * (-(-self.n // int(how.leaf_size))), POINTS)
        some = np.random.default_rng(how.random_state).permutation(self.n)[:wanted]
        return take(self.rows.X, some)

    def divide(self, tree: Tree, overlap: bool) -> None:
        """Sort the rows to leaves."""
        found = sorted(tree.parts(self.rows.X, overlap), key=lambda part: part[0])
        self.parts = [part for _, part, _ in found]

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[_Part]:
        for part in self.parts:
            index = self.order[part]
            yield _Part(_of(self.rows, part), _safe_indexing(self.y, index), index)


class _Blocks:
    """A sample that is read in blocks, and sorted to leaves on disk."""

    def __init__(self, stack: ExitStack, machine: Any, X: Any, y: Any, sample_weight: Any) -> None:
        self.stack, self.machine = stack, machine
        self.source, rows = machine._admit_blocks(X, y, sample_weight)
        passes = Passes(self.source)
        how: Local = machine.approximation
        self.census = take_census(passes, POINTS, how.random_state, machine._labelled())
        self.n, pool = self.census.n, self.census.pool
        if pool.y is None:
            raise ValueError(
                f"{type(machine).__name__} requires y to be passed, but the target y is None."
            )
        if sp.issparse(pool.X):
            raise ValueError("local machines of rows in blocks need dense numbers.")
        if self.census.classes is not None:
            machine._count_classes(self.census.classes, self.census.counts)
        else:
            machine._encode(pool.y)
        settle_on(machine, rows, self.census, self.census.classes)

    def points(self, how: Local) -> Any:
        """Return some points with weight in a random order: that of their fingerprints."""
        pool = self.census.pool
        return pool.X if pool.s is None else pool.X[np.asarray(pool.s) > 0]

    def divide(self, tree: Tree, overlap: bool) -> None:
        """Sort the rows to leaves, in one pass."""
        width = 0
        for block in self.source.blocks(BLOCK):
            s = np.ones(block.n) if block.s is None else np.asarray(block.s, dtype=np.float64)
            y, classes = np.asarray(block.y), self.census.classes
            if classes is not None:
                y = np.searchsorted(classes, y.reshape(-1))
                s = s * self.machine.class_weight_[y]
            number = block.start + np.arange(block.n)
            table = np.column_stack([np.asarray(block.X, dtype=np.float64), y, s, number])
            if not width:
                width = table.shape[1]
                self.spill = self.stack.enter_context(Spill(width))
            live = np.flatnonzero(s > 0)
            for leaf, part, _ in tree.parts(block.X[live], overlap):
                self.spill.add(leaf, table[live[part]])
        self.columns = self.source.n_features, width - self.source.n_features - 2

    def __len__(self) -> int:
        return len(self.spill.leaves)

    def __iter__(self) -> Iterator[_Part]:
        p, d = self.columns
        for leaf in self.spill.leaves:
            table = self.spill.rows(leaf)
            y = table[:, p] if d == 1 else table[:, p : p + d]
            if self.census.classes is not None:
                y = y.astype(np.intp)
            targets = y if self.census.classes is None else self.census.classes[y]
            rows = Rows(np.ascontiguousarray(table[:, :p]), y, table[:, -2])
            yield _Part(rows, targets, table[:, -1].astype(np.int64))


def _of(rows: Rows, some: NDArray[np.intp]) -> Rows:
    weights = np.asarray(rows.weights)[some]
    return Rows(take(rows.X, some), np.asarray(rows.y)[some], weights)


def _refuse(machine: Any) -> None:
    if machine._function or machine._precomputed or machine._objects:
        raise ValueError(
            "a tree cuts features: local machines need a Kernel of numbers or its name, not a "
            "function, a matrix or objects."
        )
    if not machine.__sklearn_tags__().target_tags.required:
        raise ValueError(f"{type(machine).__name__} has no targets that leaves could predict.")


def _compared_by_equality(kernel: Any, p: int) -> list[int]:
    """Return the features that a kernel compares by equality."""
    if isinstance(kernel, ActiveDims):
        dims = np.arange(p)[
            kernel.dims if isinstance(kernel.dims, slice) else np.array(kernel.dims)
        ]
        return [int(dims[j]) for j in _compared_by_equality(kernel.kernel, len(dims))]
    found = {int(j) for j in getattr(kernel, "categories", ())}
    for name in ("kernel", "left", "right"):
        if isinstance(getattr(kernel, name, None), Kernel):
            found |= set(_compared_by_equality(getattr(kernel, name), p))
    return sorted(found)


def _template(machine: Any) -> Any:
    """Return the machine of a leaf, with what all rows decide about the kernel."""
    settings: dict[str, Any] = {"approximation": None, "kernel": machine.kernel_}
    names = getattr(machine, "feature_names_in_", None)
    if names is not None and machine.null_space is not None:
        settings["null_space"] = machine.null_space.bind(list(names))
    settings |= {"standardize": False, "class_weight": None, "verbose": False, "warm_start": False}
    known = machine.get_params(deep=False)
    return clone(machine).set_params(**{k: v for k, v in settings.items() if k in known})


def _fit_leaf(machine: Any, leaf: Any, part: _Part) -> Leaf:
    """Fit the machine of some rows."""
    classes = np.empty(0, dtype=np.intp)
    if machine._labelled():
        classes = np.unique(np.asarray(part.rows.y))
        if len(classes) == 1:
            return Leaf(part.numbers, None, classes)
    leaf.fit(part.rows.X, part.targets, sample_weight=np.asarray(part.rows.weights))
    return Leaf(part.numbers, leaf, classes)


def _say_once(caught: Iterable[Any], leaves: int) -> None:
    """Repeat warnings of leaves, each kind once."""
    kinds: dict[type[Warning], list[str]] = {}
    for one in caught:
        kinds.setdefault(one.category, []).append(str(one.message))
    for kind, texts in kinds.items():
        warnings.warn(f"{len(texts)} of {leaves} leaves: {texts[0]}", kind, stacklevel=6)
