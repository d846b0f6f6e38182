"""Machines of a table: a kernel with scales of its own, and what it says of samples left out."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from mercer._deadline import no_deadline, time_left
from mercer._typing import Array, Estimator
from mercer.kernels.base import Kernel
from mercer.kernels.matern import Matern
from mercer.local import Local
from mercer.machines.base import KernelMachine
from mercer.machines.folds import with_copies
from mercer.selection.space import WIDTH, features_of, which
from mercer.selection.tuning import Tuning, tune
from mercer.tabular.candidates import Candidate, Features
from mercer.tabular.metric import gradients, normalized, outer_product, root
from mercer.tabular.tasks import Squares, Task, spread

__all__ = [
    "METRIC",
    "Cost",
    "Member",
    "TableSample",
    "enlarge",
    "enlarging",
    "judge",
    "judge_metric",
    "nested_predictions",
    "predicted_by_folds",
]

Rows = NDArray[np.intp]

METRIC = "metric"
"""Name of the machine with a learned metric."""

# How much scales are drawn together: a column a factor e from the mean costs a unit of likelihood.
PRIOR = 1.0
LEFT = "left__kernel__length_scale"
# Rows of the parts that all rows are divided into. Up to so many rows there is time for larger
# parts, and for a share that neighbours have in common.
LEAF, MANY, LARGE, OVERLAP = 4000, 100_000, 8000, 0.1
# Rows of the machine that tells what others cost, and rows from which on factorizations, cubic in
# rows, cost more than kernel matrices.
PROBED, CUBIC = 400, 4000.0
# Rows that a machine has at least, however little time there is.
FEWEST = 100


@dataclass(frozen=True, eq=False)
class TableSample:
    """A sample in a random order: numbers and category codes, and which rows are used for what."""

    X: Array
    numbers: NDArray[np.intp]
    categories: NDArray[np.intp]
    fitted: int
    """The first rows, to which machines are fitted."""

    judged: int
    """The first rows, which are left out."""

    seed: int

    names: Sequence[str]
    """Of the columns."""

    copies: Rows | None = None
    """Groups of rows with the same features; None if no row occurs more than once."""

    def folds(self, task: Task, n: int) -> Rows:
        """Return to which of five folds each of the first n rows belongs."""
        fold = task.folds(n, self.seed)
        return fold if self.copies is None else with_copies(fold, self.copies[:n])

    @cached_property
    def scaled(self) -> Features:
        """Features with standardized numbers, of the rows to which machines are fitted."""
        return Features.of(self.X[: self.fitted], self.numbers, self.categories, ranks=False)

    @cached_property
    def ranked(self) -> Features:
        """Features with normal scores of the ranks of numbers."""
        return Features.of(self.X[: self.fitted], self.numbers, self.categories, ranks=True)

    def features(self, candidate: Candidate) -> Features:
        """Return the form of the features that a candidate has; members of one form share it."""
        return self.ranked if candidate.ranks else self.scaled


@dataclass(frozen=True)
class Cost:
    """What it costs to fit a machine and to leave each row out."""

    probed: float = 0.0
    """Seconds that a machine of few rows took; 0 where time is not limited."""

    fitting: float = 0.0
    """Those of them that fitting alone took."""

    @classmethod
    def measured(
        cls, candidate: Candidate, columns: TableSample, task: Task, few: int = PROBED
    ) -> Cost:
        """Return the cost of a machine of few rows; 0 where there are no more than these."""
        if columns.fitted <= few:
            return cls()
        rows = slice(0, few)
        features = columns.features(candidate)
        Z = features(columns.X[rows])
        kernel = features.kernel(candidate, Z, np.random.default_rng(columns.seed))
        began = time.perf_counter()
        machine = _fit(task.machine(kernel).set_params(solver=task.solver), Z, task, rows)
        fitted = time.perf_counter()
        task.left_out(machine, Z, rows)
        return cls(time.perf_counter() - began, fitted - began)

    def of(self, rows: float) -> float:
        """Return seconds for a machine of so many rows: a matrix of kernels, and its factors."""
        share = rows / PROBED
        return self.probed * share**2 * (CUBIC + rows) / (CUBIC + PROBED)

    def rows(self, seconds: float) -> int:
        """Return how many rows, not less than a hundred, a machine may have that takes so long.

        Examples
        --------
        >>> cost = Cost(0.05)
        >>> cost.of(400), cost.rows(cost.of(3000)), cost.rows(0.0)
        (0.05, 3000, 100)
        """
        if self.probed == 0.0:
            return sys.maxsize
        cubic = [1.0, CUBIC, 0.0, -seconds / self.probed * PROBED**2 * (CUBIC + PROBED)]
        return max(FEWEST, round(float(np.max(np.roots(cubic).real))))


@dataclass(frozen=True, eq=False)
class Member:
    """A machine with its features."""

    name: str
    features: Features
    template: Any
    """The machine with its parameters, not fitted."""

    machine: Any
    """Kernel machine or trees, fitted to all rows; None while fitted to the judged rows only."""

    left_out: Array
    """What it says of rows that it was not fitted to, (m, d)."""

    importance: Array
    """How much each column moves kernel values, in shares of all columns, (p,)."""

    seconds: float
    """Time that it took."""

    notes: list[str] = field(default_factory=list)
    map: Array | None = None
    """Learned metric: numbers are multiplied by the map."""

    task: type[Task] = Squares
    """How the machine's values are read: a class, not its function, so that files can name it."""

    def points(self, X: Array) -> Array:
        """Return the points that the machine is computed from."""
        return self.moved(self.features(X))

    def moved(self, Z: Array) -> Array:
        """Return features in the metric of the machine."""
        return Z if self.map is None else mapped(Z, self.map)

    def completed(self, columns: TableSample, task: Task) -> Member:
        """Return the member with its machine fitted to all rows."""
        if self.machine is not None:
            return self
        began, rows = time.perf_counter(), slice(0, columns.fitted)
        machine = _fit(self.template, self.points(columns.X[rows]), task, rows)
        return replace(self, machine=machine, seconds=self.seconds + time.perf_counter() - began)

    @property
    def fitted(self) -> Any:
        """The machine, once it is fitted."""
        assert self.machine is not None
        return self.machine

    def judged_by(self, X: Array, d: int) -> Member:
        """Return the member with what it says of rows that it does not know."""
        return replace(self, left_out=self.values(X, d))

    def values(self, X: Array, d: int) -> Array:
        """Return what the machine says of rows of a table, (n, d)."""
        return self.task.says(self.fitted, self.points(X), d)


def mapped(Z: Array, R: Array) -> Array:
    """Return features whose first columns, the numbers, are multiplied by a map."""
    p = len(R)
    return np.hstack([Z[:, :p] @ R, Z[:, p:]])


def judge(name: str, candidate: Candidate, columns: TableSample, task: Task) -> Member:
    """Choose scales and C of a candidate by the evidence, and leave the judged rows out.

    Where rows occur more than once, they are left out by folds that have all copies of a row.

    Where there are more rows than are judged, an inverse of the whole kernel matrix would take most
    of the time: the machine of the judged rows, with the same parameters, is judged instead.

    Parameters
    ----------
    name : str
        Name of the member.
    candidate : Candidate
        Kernel and form of the features.
    columns : TableSample
        The sample.
    task : Task
        Its targets.
    """
    began = time.perf_counter()
    features = columns.features(candidate)
    Z = features(columns.X[: columns.judged])
    start = features.kernel(candidate, Z, np.random.default_rng(columns.seed))
    found = _tuned(task.machine(start), Z, task, columns, ard=True)
    template = clone(found.best_estimator_).set_params(solver=task.solver)
    machine = _fit(template, Z, task, slice(0, columns.judged))
    if columns.copies is None:
        left = task.left_out(machine, Z, slice(0, columns.judged))
    else:
        d = task.Y.shape[1]

        def outside_of(inside: Rows, outside: Rows) -> Array:
            return task.says(_fit(found.best_estimator_, Z[inside], task, inside), Z[outside], d)

        left = predicted_by_folds(outside_of, columns.folds(task, columns.judged), task)
    return Member(
        name,
        features,
        found.best_estimator_,
        machine if columns.judged == columns.fitted else None,
        left,
        _importance(machine.kernel_, Z, features, columns.X.shape[1]),
        time.perf_counter() - began,
        _notes(found, features, columns.names),
        task=type(task),
    )


def predicted_by_folds(predict: Callable[[Rows, Rows], Array], fold: Rows, task: Task) -> Array:
    """Return predictions for every fold by a machine of the other folds, (n, d).

    Zeros, the mean or odds of one, where the targets of the others are all the same.

    Parameters
    ----------
    predict : callable
        From the rows of a fit and other rows to the predictions of these.
    fold : (n,) array of int
        To which fold each row belongs.
    task : Task
        The targets.
    """
    out = np.zeros((len(fold), task.Y.shape[1]))
    for k in np.unique(fold):
        inside, outside = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        if np.any(np.ptp(task.Y[inside], axis=0) > 0):
            out[outside] = predict(inside, outside)
    return out


def judge_metric(base: Member, columns: TableSample, task: Task) -> Member:
    """Learn a metric from the gradients of a Matern machine, and judge the machine in that metric.

    Left-out predictions are made by folds, each with the metric of its own gradients.

    Parameters
    ----------
    base : Member
        The Matern machine with standardized features.
    columns, task :
        As in :func:`judge`.
    """
    began = time.perf_counter()
    p, m = len(columns.numbers), columns.judged
    Z = base.features(columns.X[:m])
    kernel, others = _parts(base.template.kernel)
    scales = np.broadcast_to(np.asarray(kernel.length_scale, dtype=np.float64), p)
    Z = mapped(Z, np.diag(1.0 / scales))
    unit = Matern(1.0, nu=1.5)
    start = unit if others is None else unit.on(list(range(p))) * others
    first = task.machine(start).set_params(C=base.template.C)

    def learned(rows: Rows) -> Array:
        """Return the map of the metric of a machine that is fitted to some rows."""
        some = rows[: task.tuned]
        # Fitted to all of the rows, the Matern machine is the one whose gradients are wanted.
        machine = base.machine if len(some) == m else None
        machine = _fit(first, Z[some], task, some) if machine is None else machine
        factor = None if others is None else np.asarray(others(Z[some]))
        slopes = gradients(Z[some, :p], spread(machine, len(some)), factor)
        R = root(outer_product(slopes, task.weights[some]))
        return normalized(R, Z[rows, :p], np.random.default_rng(columns.seed))

    R = learned(np.arange(m))
    found = _tuned(
        first,
        mapped(Z, R),
        task,
        columns,
        parameters=[name for name in start.get_params() if name in ("length_scale", LEFT)],
    )

    def outside_of(inside: Rows, outside: Rows) -> Array:
        part = mapped(Z, learned(inside))
        machine = _fit(found.best_estimator_, part[inside], task, inside)
        return task.says(machine, part[outside], task.Y.shape[1])

    left = predicted_by_folds(outside_of, columns.folds(task, m), task)
    R = R / scales[:, None]
    member = replace(
        base,
        name=METRIC,
        template=found.best_estimator_,
        machine=None,
        left_out=left,
        notes=[],
        map=R,
        importance=_importance_of_map(base, R, len(columns.numbers)),
        seconds=time.perf_counter() - began,
    )
    return member.completed(columns, task) if m == columns.fitted else member


def nested_predictions(name: str, candidate: Candidate, columns: TableSample, task: Task) -> Array:
    """Return predictions of the judged rows by folds, each with scales of its own, (m, d).

    Scales that were chosen by all rows know something of rows that are left out afterwards: enough
    to find a pattern where there is none.

    Parameters
    ----------
    name, candidate, columns, task :
        As in :func:`judge`.
    """
    m = columns.judged

    def outside_of(inside: Rows, outside: Rows) -> Array:
        n = len(inside)
        copies = None if columns.copies is None else columns.copies[inside]
        part = replace(columns, X=columns.X[inside], fitted=n, judged=n, copies=copies)
        member = judge(name, candidate, part, task.of(inside))
        return member.values(columns.X[outside], task.Y.shape[1])

    return predicted_by_folds(outside_of, columns.folds(task, m), task)


def enlarge(member: Member, columns: TableSample, task: Task, end: int) -> Member:
    """Fit the machine of a member to all rows before the last ones, in parts.

    Parameters
    ----------
    member : Member
        The machine of some rows.
    columns, task :
        As in :func:`judge`.
    end : int
        The first row that is left for judging.
    """
    began, rows = time.perf_counter(), slice(0, end)
    how = Local(LARGE, overlap=OVERLAP, blend=True) if end <= MANY else Local(LEAF)
    how.random_state = columns.seed
    Z = member.points(columns.X[rows])
    template = clone(member.template).set_params(approximation=how)
    if "multi_class" in template.get_params(deep=False):
        template.set_params(multi_class="ovr")  # the softmax loss has no parts
    found = _tuned(template, Z, task, columns, ard=True)
    machine = _fit(found.best_estimator_, Z, task, rows)
    return replace(
        member,
        name=f"{member.name}, all rows",
        template=found.best_estimator_,
        machine=machine,
        seconds=time.perf_counter() - began,
        notes=[],
    )


def enlarging(n: int, cost: Cost) -> float:
    """Return seconds that a machine of all n rows takes, in parts, at least."""
    leaf = LARGE if n <= MANY else LEAF
    return cost.of(leaf) * n / leaf


def _fit(machine: Estimator, Z: Array, task: Task, rows: Any) -> Any:
    with no_deadline():
        return clone(machine).fit(Z, task.targets(rows), sample_weight=task.weights[rows])


def _tuned(
    machine: KernelMachine, Z: Array, task: Task, columns: TableSample, **settings: Any
) -> Tuning:
    # Parts of a sample are drawn from all of it.
    few = slice(0, None if machine.approximation is not None else task.tuned)
    return tune(
        machine,
        Z[few],
        task.targets(slice(0, len(Z[few]))),
        sample_weight=task.weights[: len(Z[few])],
        criterion="evidence",
        prior=PRIOR,
        max_rows=task.tuned,
        max_time=None if time_left() == np.inf else time_left(),
        refit=False,
        verbose=False,
        random_state=columns.seed,
        **settings,
    )


def _notes(found: Tuning, features: Features, names: Sequence[str]) -> list[str]:
    """Return what deserves a second look, by names of columns.

    A length scale at its largest value does not: its column is a line or without relevance.
    """
    notes = []
    for bound in found.bounds_:
        if not bound.parameter.endswith(WIDTH):
            notes.append(str(bound))
        elif bound.side == "smallest":
            kernel = found.best_estimator_.kernel
            held = bound.features or features_of(kernel, bound.parameter, len(features.columns))
            some = which("column", [names[features.columns[j]] for j in held])
            notes.append(
                f"the length scale{some} is as small as it may be: different values say nothing "
                "about each other."
            )
    return notes


def _importance(kernel: Kernel, Z: Array, features: Features, p: int) -> Array:
    """Return how much each column of the table moves kernel values, in shares of all columns."""
    some, out = Z[:200], np.zeros(p)
    K = np.log(np.maximum(np.asarray(kernel(some)), 1e-300))
    for j, column in enumerate(features.columns):
        moved = some.copy()
        moved[:, j] = some[0, j]
        without = np.log(np.maximum(np.asarray(kernel(moved)), 1e-300))
        out[column] = float(np.mean(np.abs(K - without)))
    total = out.sum()
    return out / total if total > 0 else out


def _importance_of_map(base: Member, R: Array, p: int) -> Array:
    """Return shares of the columns in squared distances of the metric."""
    out = base.importance.copy()
    columns = base.features.columns[:p]
    size = np.sum(R**2, axis=1)
    if size.sum() > 0:
        out[columns] = out[columns].sum() * size / size.sum()
    return out


def _parts(kernel: Any) -> tuple[Any, Kernel | None]:
    """Return the kernel of numbers, and the kernel of categories if there is any."""
    return (kernel, None) if isinstance(kernel, Matern) else (kernel.left.kernel, kernel.right)
