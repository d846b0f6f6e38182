"""Trees of scikit-learn beside kernel machines, judged by rows that they did not see.

A tree of a forest is grown from a sample with replacement and does not know a third of the rows:
the trees that do not know a row predict it, which costs nothing. Boosting has no such rows, and is
fitted again without each of five folds; so are forests where rows occur more than once, as a tree
that does not know a row knows its copies.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from mercer._lazily import lazily
from mercer._typing import Array
from mercer.tabular.forest import Forest
from mercer.tabular.members import Member, TableSample, predicted_by_folds
from mercer.tabular.tasks import Logistic, Task, TreeNumbers, TreeVotes

__all__ = ["BOOSTING", "TREES", "Ensemble", "enlarge_trees", "judge_trees"]

# Whoever fits no trees (most numbers, `members="kernels"`) does not wait for their modules.
(
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
) = lazily(
    "sklearn.ensemble",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
)

BOOSTING = "boosting"
"""Name of the ensemble that large tables have all rows for."""

# Trees of a forest.
GROWN = 300
# Small steps, and rounds until a tenth of the rows is predicted no better.
STEP, ROUNDS, PATIENCE = 0.06, 1000, 20
# Rows that tell how much columns matter to boosting.
MOVED = 200


@dataclass(frozen=True)
class Ensemble:
    """Many trees that predict together."""

    name: str
    """As users read it."""

    of_numbers: Callable[..., Any]
    of_classes: Callable[..., Any]
    bagged: bool
    """Whether every tree leaves rows out."""

    def made(self, task: Task, seed: int) -> Any:
        """Return the estimator of a task, not fitted."""
        kind = self.of_classes if isinstance(task, Logistic) else self.of_numbers
        if not self.bagged:
            return kind(
                learning_rate=STEP,
                max_iter=ROUNDS,
                early_stopping=True,
                n_iter_no_change=PATIENCE,
                random_state=seed,
            )
        return kind(GROWN, bootstrap=True, oob_score=True, random_state=seed)


TREES = (
    Ensemble("forest", RandomForestRegressor, RandomForestClassifier, bagged=True),
    Ensemble("extra-trees", ExtraTreesRegressor, ExtraTreesClassifier, bagged=True),
    Ensemble(BOOSTING, HistGradientBoostingRegressor, HistGradientBoostingClassifier, bagged=False),
)
"""Forests come first: they are judged at no price."""


def judge_trees(ensemble: Ensemble, columns: TableSample, task: Task) -> Member:
    """Fit trees to all rows, and predict the judged rows by trees that do not know them.

    Parameters
    ----------
    ensemble : Ensemble
        What trees.
    columns : TableSample
        The sample.
    task : Task
        Its targets.
    """
    began, d = time.perf_counter(), task.Y.shape[1]
    reads: Any = TreeVotes if isinstance(task, Logistic) else TreeNumbers
    # Ranks, because forests compare numbers in float32, which does not tell 10^9 from 10^9 + 1.
    features = columns.ranked
    Z = features(columns.X[: columns.fitted])
    template = ensemble.made(task, columns.seed)
    machine = _fit(template, Z, task, np.arange(len(Z)))
    forest = Forest.of(machine)
    if ensemble.bagged and columns.copies is None:
        left = reads.out_of_bag(machine, d)[: columns.judged]
    else:

        def outside_of(inside: NDArray[np.intp], outside: NDArray[np.intp]) -> Array:
            said: Array = reads.says(_fit(template, Z, task, inside), Z[outside], d)
            return said

        fold = columns.folds(task, len(Z))
        left = predicted_by_folds(outside_of, fold, task)[: columns.judged]
    return Member(
        ensemble.name,
        features,
        template,
        forest,
        left,
        _importance(machine, forest, Z, features.columns, columns.X.shape[1], reads, d),
        time.perf_counter() - began,
        task=reads,
    )


def enlarge_trees(member: Member, columns: TableSample, task: Task, end: int) -> Member:
    """Fit the trees of a member to all rows before the last ones.

    Parameters
    ----------
    member : Member
        Trees of some rows.
    columns, task :
        As in :func:`judge_trees`.
    end : int
        The first row that is left for judging.
    """
    began, rows = time.perf_counter(), np.arange(end)
    machine = _fit(member.template, member.points(columns.X[:end]), task, rows)
    return replace(
        member,
        name=f"{member.name}, all rows",
        machine=Forest.of(machine),
        seconds=time.perf_counter() - began,
    )


def _fit(template: Any, Z: Array, task: Task, rows: NDArray[np.intp]) -> Any:
    # In float32 boosting too: a cut is then clear of the last digits, in which graphs differ.
    points = Z[rows].astype(np.float32)
    return clone(template).fit(points, task.targets(rows), sample_weight=task.weights[rows])


def _importance(
    machine: Any,
    forest: Forest,
    Z: Array,
    columns: NDArray[np.intp],
    p: int,
    reads: Any,
    d: int,
) -> Array:
    """Return how much each column of the table matters to trees, in shares of all columns.

    Forests add up what their cuts gain; of boosting, it is how far predictions move when a column
    is the same in all rows.
    """
    out = np.zeros(p)
    if hasattr(machine, "feature_importances_"):
        out[columns] = machine.feature_importances_
    else:
        some = Z[:MOVED]
        said = reads.says(forest, some, d)
        for j, column in enumerate(columns):
            moved = some.copy()
            moved[:, j] = some[0, j]
            out[column] = float(np.mean(np.abs(reads.says(forest, moved, d) - said)))
    total = out.sum()
    return out / total if total > 0 else out
