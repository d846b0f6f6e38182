"""A machine that is many: one in each leaf of a tree, asked about the points that fall there."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from mercer._deadline import time_left
from mercer._jobs import at_once
from mercer._progress import Bar
from mercer._threads import small_algebra
from mercer._typing import PointsLike, TargetsLike, WeightsLike
from mercer.data.memory import parse, show
from mercer.data.opening import is_source
from mercer.kernels.points import count, take
from mercer.local import Local
from mercer.local.shelf import Shelf
from mercer.local.tree import Tree, equality_columns, graft, grow, sensitivity
from mercer.machines.callbacks import fit_task
from mercer.machines.evaluating import PREDICTED_ROWS
from mercer.machines.kernel_kinds import compares_objects, is_function, is_precomputed
from mercer.machines.leaf_samples import Divisible, InArrays, InBlocks
from mercer.machines.leaf_settings import leaf_settings
from mercer.machines.leaf_tasks import (
    Branch,
    Cutting,
    Leaf,
    Outline,
    Recipe,
    fit_branch,
    leaf_values,
    outline,
    summary,
    template_of,
)
from mercer.machines.protocol import LocalMachine
from mercer.machines.solving import EarlyStop
from mercer.solvers import Solution, Status
from mercer.solvers.solution import join

__all__ = ["Leaves", "LocalFit", "Part", "certify_leaves"]

# Shares of the memory limit: fitted leaves, those that were read from files again, and rows whose
# leaves are asked together, with what they are worth.
FITTED_MEMORY_SHARE, READ_MEMORY_SHARE, ASKED_MEMORY_SHARE = 0.4, 0.125, 0.125
# Rows that are asked together at most: leaves see enough of them, and more are not faster.
MAX_ASKED_ROWS = 2**18

# Where every leaf has one class there is no problem to solve.
NO_PROBLEM = Solution(
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


class Part(NamedTuple):
    """Points of one leaf among those of a block."""

    leaf: int
    rows: NDArray[np.intp]
    weight: Any
    """How much the leaf counts for each; None if alone."""


@dataclass(frozen=True, eq=False)
class Leaves:
    """A tree with a machine in each leaf."""

    tree: Tree
    leaves: Shelf
    blend: bool
    limit: float
    """Bytes that predictions may take."""

    @property
    def sequence(self) -> Sequence[Leaf]:
        """The leaves: a list, or a sequence that reads them from files."""
        return list(self.leaves) if self.leaves.in_memory else cast(Sequence[Leaf], self.leaves)

    def __deepcopy__(self, memo: Any) -> Leaves:
        return self

    def batch(self, features: int) -> int:
        """Return how many rows of a source are asked together: leaves should see many at once."""
        return int(
            np.clip(
                ASKED_MEMORY_SHARE * self.limit / (8 * (4 * features + 16)),
                PREDICTED_ROWS,
                MAX_ASKED_ROWS,
            )
        )

    def evaluate(self, whole: Any, name: str, X: PointsLike) -> Any:
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
        parts = self.parts(X)
        questions = ((part.leaf, take(X, part.rows)) for part in parts)
        answers = self.leaves.ask(leaf_values, self.asked(whole, name), questions)
        return self.conclude(whole, name, count(X), parts, answers)

    def parts(self, X: PointsLike) -> list[Part]:
        """Return which of some points, checked, belong to which leaves."""
        return [Part(*part) for part in self.tree.parts(X, self.blend)]

    def asked(self, whole: Any, name: str) -> tuple[str, Any]:
        """Return the method that leaves are asked by, and all classes if there are any."""
        if not whole._labelled:
            return name, None
        if name == "predict_log_proba":
            name = "predict_proba"
        elif name == "predict" and self.blend:
            name = "decision_function"
        return name, whole.classes_

    def conclude(
        self, whole: Any, name: str, n: int, parts: Sequence[Part], answers: Iterable[Any]
    ) -> Any:
        """Return what the method says of n points, from the answers of leaves in their order."""
        out: Any = None
        for (_, rows, weight), values in zip(parts, answers, strict=True):
            if out is None:
                out = np.zeros((n, *values.shape[1:]), dtype=values.dtype)
            if weight is None:
                out[rows] = values
            else:
                out[rows] += values * weight.reshape(-1, *[1] * (values.ndim - 1))
        asked, classes = self.asked(whole, name)
        if asked == name:
            return out
        if name == "predict_log_proba":
            return np.log(out)
        return classes[np.argmax(out, axis=1) if out.ndim > 1 else (out > 0).astype(np.intp)]


@dataclass(frozen=True)
class LocalFit:
    """Fit a machine in each leaf of a tree: divide the rows, fit, and join the certificates."""

    how: Local

    def fit(
        self, machine: LocalMachine, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike
    ) -> None:
        """Fit the machine to rows in memory, or to those of a source."""
        with fit_task(machine, 0, X, y, sample_weight):
            self._fit(machine, X, y, sample_weight)

    def _fit(
        self, machine: LocalMachine, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike
    ) -> None:
        how = self.how
        _refuse(machine)
        parameters = machine.get_params(deep=False)
        for name in [
            name for name in vars(machine) if name not in parameters and name[:4] != "_skl"
        ]:
            del machine.__dict__[name]  # of another fit

        def bar(name: str, total: int | None) -> Bar:
            return Bar(f"{type(machine).__name__}, {name}", total, show=bool(machine.verbose))

        sample: Divisible
        if is_source(X):
            sample = InBlocks(machine, X, y, sample_weight, bar)
        else:
            sample = InArrays(machine, X, y, sample_weight)
        _refuse_large(machine, how, sample.n)
        pairs = len(getattr(machine, "classes_", ())) > 2
        if pairs and parameters.get("decision_function_shape") == "ovo":
            raise ValueError(
                "leaves have pairs of classes of their own: local machines need "
                "decision_function_shape='ovr'."
            )
        categories = equality_columns(machine.kernel_, machine.n_features_in_)
        points = sample.points(how)
        scales = sensitivity(machine.kernel_, points, categories)
        wanted = -(-sample.n // int(how.leaf_size))
        parts = sample.branches(wanted)
        tree = grow(points, parts, scales, categories, how.overlap)
        cut = None
        if parts < wanted:
            cut = Cutting(int(how.leaf_size), scales, categories, how.overlap)
        whole = Recipe(template_of(machine), machine._labelled)
        recipe = replace(whole, read=sample.read, cut=cut)
        limit = parse(how.memory_limit)
        shelf = Shelf(FITTED_MEMORY_SHARE * limit, READ_MEMORY_SHARE * limit, how.folder)
        # Rows near a cut are fitted twice, so it is not known before how many there are.
        rows = None if how.overlap else sample.n
        try:
            with (
                small_algebra(how.leaf_size),
                sample.divided(tree, how) as groups,
                bar("fit leaves", rows) as shown,
            ):
                own: dict[int, dict[str, Any]] = {k: {} for k in range(tree.leaves)}
                # Where time may end before all leaves are fitted, a machine for the rest is first.
                coarse = (
                    None if time_left() == np.inf else fit_branch(sample.coarse(how), whole, {})
                )
                if how.adapt:
                    own = leaf_settings(machine, groups, recipe, tree.leaves, scales, categories)
                caught, certificates = [], _Certificates()
                branches: dict[int, Any] = {}
                fitted = groups.map(fit_branch, recipe, own, how.n_jobs, last=True)
                found = _put(shelf, fitted)
                for k, branch in found:
                    branches[k] = branch.tree
                    shown.update(sum(branch.sizes))
                    caught += branch.warnings
                    certificates.add(k, branch.solutions)
                    if time_left() == 0.0:
                        break
                found.close()
                lacking = [k for k in range(tree.leaves) if k not in branches]
                for k in lacking:
                    assert coarse is not None  # only a limit ends the loop
                    branches[k] = None if cut is None else grow(points, 1, scales, categories)
                    shelf.put((k, 0), coarse.leaves[0])
                    certificates.add(k, [])
        except BaseException:
            shelf.close()
            raise
        if cut is not None:
            tree = graft(tree, [branches[k] for k in range(tree.leaves)])
        _say_once(caught, tree.leaves)
        machine._local = Leaves(tree, shelf, how.blend, limit)
        certify_leaves(machine, certificates.joined(), complete=not lacking)
        if lacking:
            assert coarse is not None
            _declare_coarse(machine, len(lacking) / len(branches), coarse.leaves[0])


def _put(shelf: Shelf, fitted: Iterator[tuple[int, Branch]]) -> Generator[tuple[int, Outline]]:
    """Put the leaves of branches on a shelf as they come, and yield what is told of them."""
    for k, branch in fitted:
        for j, leaf in enumerate(branch.leaves):
            shelf.put((k, j), leaf)
        yield k, outline(branch)


def _declare_coarse(machine: LocalMachine, share: float, coarse: Leaf) -> None:
    """Say that some leaves have a machine of few rows for their own, without certificate."""
    reason = (
        f"max_time={machine.max_time} s were over before {share:.0%} of the tree was fitted; there "
        f"one machine of {len(coarse.rows)} rows, drawn from all, predicts"
    )
    machine.solution_ = replace(
        machine.solution_, status=Status.MAX_TIME, gap=np.inf, dual=-np.inf, reason=reason
    )
    machine.fit_status_ = 1
    warnings.warn(f"{reason}. Give it more time, or smaller leaves.", EarlyStop, stacklevel=6)


def certify_leaves(machine: LocalMachine, solution: Solution, complete: bool) -> None:
    """Set what the leaves certify together, with all coefficients where they are in memory."""
    local = machine._local
    if local.leaves.in_memory:
        fitted = [leaf for leaf in local.leaves if leaf.machine is not None]
        if fitted and complete:
            whole = join([leaf.machine.solution_ for leaf in fitted])
            solution = whole if len(fitted) == 1 else replace(whole, reason=solution.reason)
        support = [leaf.rows[leaf.machine.support_] for leaf in fitted]
        machine.support_ = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *support]))
    machine.solution_ = solution
    machine.fit_status_ = int(solution.status is not Status.CONVERGED)
    machine.n_iter_ = solution.n_iter


class _Certificates:
    """What leaves certify, added up in their order, whatever the order that branches come in."""

    def __init__(self) -> None:
        self.next = self.leaves = 0
        self.waiting: dict[int, list[Solution | None]] = {}
        self.total: Solution | None = None
        self.slowest = self.widest = (-1.0, 0)

    def add(self, k: int, solutions: list[Solution | None]) -> None:
        """Add the certificates of the leaves of branch k."""
        self.waiting[k] = solutions
        while self.next in self.waiting:
            for one in self.waiting.pop(self.next):
                if one is not None:
                    self.slowest = max(self.slowest, (sum(one.times.values()), -self.leaves))
                    self.widest = max(self.widest, (one.gap, -self.leaves))
                    self.total = one if self.total is None else summary(join([self.total, one]))
                self.leaves += 1
            self.next += 1

    def joined(self) -> Solution:
        """Return the certificate of all leaves: no coefficients, and sums of what is a sum."""
        if self.total is None:
            return NO_PROBLEM
        (seconds, slowest), (gap, widest) = self.slowest, self.widest
        return replace(
            self.total,
            reason=f"{self.leaves} leaves: the slowest is number {-slowest} ({seconds:.2g} s), the "
            f"largest gap that of number {-widest} ({gap:.2g})",
        )


def _refuse(machine: LocalMachine) -> None:
    if (
        is_function(machine.kernel)
        or is_precomputed(machine.kernel)
        or compares_objects(machine.kernel)
    ):
        raise ValueError(
            "a tree cuts features: local machines need a Kernel of numbers or its name, not a "
            "function, a matrix or objects."
        )
    if not machine.__sklearn_tags__().target_tags.required:
        raise ValueError(f"{type(machine).__name__} has no targets that leaves could predict.")


def _refuse_large(machine: LocalMachine, how: Local, n: int) -> None:
    """Refuse leaves whose kernel matrices take more than the memory limit, before any work."""
    limit, jobs = parse(how.memory_limit), at_once(how.n_jobs)
    rows = min(int(how.leaf_size), n)
    if 8.0 * jobs * rows**2 > limit and machine.gram != "tiled":
        fits = int((limit / (8.0 * jobs)) ** 0.5)
        raise ValueError(
            f"memory_limit is {show(limit)}, but the kernel matrix of a leaf of {rows} rows takes "
            f"{show(8.0 * rows**2)}, for each of {jobs} jobs; leaf_size={fits} fits, or raise the "
            "limit."
        )


def _say_once(caught: list[tuple[type[Warning], str]], leaves: int) -> None:
    """Repeat warnings of leaves, each kind once."""
    kinds: dict[type[Warning], list[str]] = {}
    for kind, text in caught:
        kinds.setdefault(kind, []).append(text)
    for kind, texts in kinds.items():
        warnings.warn(f"{len(texts)} of {leaves} leaves: {texts[0]}", kind, stacklevel=6)
