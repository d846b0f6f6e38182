"""Models of tables: a pipeline with a card that says what it predicts from what."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from mercer._typing import AnyArray, Estimator, PointsLike
from mercer._words import plural
from mercer.cli.memory import Memory
from mercer.cli.picking import Picked, answers, pick, task_of
from mercer.cli.preparation import Plan, aligned, reading_of, typed
from mercer.cli.refusals import Refusal
from mercer.cli.tables import Read, column_of, labels, numbers
from mercer.cli.telling import Falling, Teller
from mercer.estimators import (
    LSSVR,
    ConformalRegressor,
    ShapeConstrainedClassifier,
    ShapeConstrainedRegressor,
)
from mercer.machines.base import KernelMachine
from mercer.preprocessing.readings import NUMBERS, Reading
from mercer.selection import tune

__all__ = ["CARD", "Model", "Question", "Wishes", "tuned"]

LEAST_ROWS = 10
"""Rows with a target that a fit needs."""

CARD = "card_"
"""Attribute of a pipeline that holds its card."""


@dataclass(frozen=True)
class Wishes:
    """What was asked of a fit.

    Parameters
    ----------
    machine : str, optional
        Name of the machine.
    settings : dict
        Its parameters.
    task : str, optional
        Regression or classification.
    seconds : float, optional
        Time to tune.
    coverage : float, optional
        Probability of prediction intervals.
    monotone : dict from str to int
        Columns with which predictions rise, 1, or fall, -1.
    drop, categorical : tuple of str
        Columns to leave out, and columns whose numbers are names.
    """

    machine: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    task: str | None = None
    seconds: float | None = None
    coverage: float | None = None
    monotone: dict[str, int] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Question:
    """A table whose target is to be predicted.

    Parameters
    ----------
    X : DataFrame or csr_matrix
        Features.
    y : array
        Targets.
    target, task, why : str
        Name of the target, the task, and why it is this task.
    plan : Plan, optional
        What is done with the columns; None for sparse matrices.
    reading : str, optional
        How words of the target are read as numbers.
    """

    X: PointsLike
    y: AnyArray
    target: str
    task: str
    why: str
    plan: Plan | None
    reading: str | None = None

    @classmethod
    def of(cls, table: Read, target: str, wishes: Wishes, teller: Teller) -> Question:
        """Return the question that a table and its target pose.

        Parameters
        ----------
        table : Read
            The table.
        target : str
            Name of the target.
        wishes : Wishes
            What was asked.
        teller : Teller
            Where rows that are left out are told.
        """
        plan, reading = None, None
        if table.frame is None:
            column = pd.Series(table.target, name=target)
            X: PointsLike = table.matrix
        else:
            given = _target(table, target, reading := _reading(table, target), teller)
            there = given.notna().to_numpy()
            if not there.any():
                raise Refusal(f"{table.path}: the target {target!r} is empty.")
            frame = table.frame.assign(**{target: given})
            if not there.all():
                lost = int(np.sum(~there))
                verb = "is" if lost == 1 else "are"
                teller.note(f"{plural(lost, 'row')} without {target} {verb} left out.")
                frame = frame[there].reset_index(drop=True)
            table = Read(table.path, frame, left_out=table.left_out)
            column = frame[target]
            _require_rows(table.path, len(column))
            plan = Plan.of(table, target, wishes.drop, wishes.categorical)
            for note in plan.notes:
                teller.note(note)
            X = aligned(table, plan.used)
        task, why = _task(column, wishes)
        y = labels(column) if task == "classification" else numbers(column, table.path).to_numpy()
        _require_rows(table.path, len(y))
        if len(np.unique(y)) < 2:
            raise Refusal(f"{table.path}: the target {target!r} has one value, {y[0]}.")
        if task == "classification" and len(np.unique(y)) > max(len(y) // 3, 10):
            raise Refusal(
                f"{table.path}: the target {target!r} has {len(np.unique(y))} different values in "
                f"{len(y)} rows, too many for classes."
            )
        return cls(X, y, target, task, why, plan, reading)

    @property
    def kinds(self) -> dict[str, str] | None:
        """Kinds of the columns; None for sparse matrices."""
        return None if self.plan is None else self.plan.used


def _reading(table: Read, target: str) -> str | None:
    """Return the form in which the target is written, if its words are numbers or dates."""
    assert table.frame is not None
    column_of(table.frame, target, table.path)
    found = reading_of(table.frame, target)
    return None if found is None else found.form


def _require_rows(path: str, n: int) -> None:
    """Refuse a table of few rows, before its columns are found to say nothing for this reason."""
    if n < LEAST_ROWS:
        rows = plural(n, "row")
        raise Refusal(f"{path} has {rows} with a target; at least {LEAST_ROWS} are needed.")


def _target(table: Read, target: str, form: str | None, teller: Teller | None = None) -> pd.Series:
    """Return the target, its words as numbers if they are written in a form of numbers."""
    assert table.frame is not None
    column = column_of(table.frame, target, table.path)
    if form is None or column.dtype.kind in "iufbM":
        return column
    if form not in NUMBERS:
        raise Refusal(f"the target {target!r} holds dates; predict a number or classes.")
    if teller is not None and (found := reading_of(table.frame, target)) is not None:
        for note in found.notes:
            teller.note(f"Target {target!r}: {note}.")
    values = Reading(form).apply(column.to_numpy(object), target)
    return pd.Series(values, index=column.index, name=target)


def _task(column: pd.Series, wishes: Wishes) -> tuple[str, str]:
    if wishes.task is not None:
        return wishes.task, "it was asked for"
    if wishes.machine is not None:
        task = answers(wishes.machine)
        return task, f"{wishes.machine} is for {task}"
    return task_of(column)


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted pipeline and its card.

    Parameters
    ----------
    pipeline : estimator
        The pipeline; or any estimator that was saved without a card.
    card : dict
        Target, task, kinds of columns and other plain values.
    """

    pipeline: Any
    card: dict[str, Any]

    @classmethod
    def read(cls, pipeline: Any) -> Model:
        """Return a loaded pipeline with its card, or what can be known without one.

        Parameters
        ----------
        pipeline : estimator
            What was loaded.
        """
        if not hasattr(pipeline, "predict"):
            raise Refusal(f"the file holds {type(pipeline).__name__}, which predicts nothing.")
        card = getattr(pipeline, CARD, None)
        return cls(pipeline, card if isinstance(card, dict) else {})

    @property
    def machine(self) -> Any:
        """The machine at the end of the pipeline."""
        return self.pipeline[-1] if isinstance(self.pipeline, Pipeline) else self.pipeline

    @property
    def wanted(self) -> list[str] | None:
        """Names of the columns that the model reads; None if it does not say."""
        names = self.card.get("columns") or getattr(self.pipeline, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def features(self, table: Read) -> PointsLike:
        """Return the features of a table as the model wants them.

        Parameters
        ----------
        table : Read
            The table.
        """
        kinds = self.card.get("columns")
        if kinds:
            return self.ready(aligned(table, kinds))
        if table.frame is None:
            return table.matrix
        if self.wanted is not None:
            return table.frame[[column_of(table.frame, n, table.path).name for n in self.wanted]]
        frame = table.frame.drop(columns=[self.card.get("target", "target")], errors="ignore")
        return frame.to_numpy()

    def ready(self, X: PointsLike) -> PointsLike:
        """Return the columns of a table as the pipeline takes them.

        A machine that takes tables reads words by itself; others are given what was read.

        Parameters
        ----------
        X : DataFrame or csr_matrix
            As :attr:`Question.X` has it.
        """
        kinds = self.card.get("columns")
        # Models that were saved before words were read say nothing of readings.
        forms, as_is = self.card.get("readings", {}), self.card.get("as_is", False)
        return X if kinds is None else typed(X, kinds, forms, as_is=as_is)

    def has_target(self, table: Read) -> NDArray[np.bool_]:
        """Return which rows of a table have a target that can be read.

        Parameters
        ----------
        table : Read
            With columns by name.
        """
        given = _target(table, self.card["target"], self.card.get("target_reading"))
        return np.asarray(given.notna(), dtype=bool)

    def targets(self, table: Read, target: str | None = None) -> AnyArray:
        """Return the targets of a table.

        Parameters
        ----------
        table : Read
            The table.
        target : str, optional
            Name of the column; that of the card by default.
        """
        name = target or self.card.get("target")
        if name is None:
            raise Refusal("the model does not say what it predicts; give --target.")
        if table.frame is None:
            column = pd.Series(table.target, name=name)
        else:
            column = _target(table, name, self.card.get("target_reading"))
        if column.isna().any():
            row = int(np.flatnonzero(column.isna())[0]) + 1
            raise Refusal(f"{table.path}: the target {name!r} is missing in row {row}.")
        if self.classifies:
            return labels(column)
        return np.asarray(numbers(column, table.path))

    @property
    def classifies(self) -> bool:
        """Whether the model predicts classes."""
        return hasattr(self.pipeline, "classes_")

    def intervals(self, X: PointsLike, coverage: float) -> NDArray[np.float64]:
        """Return prediction intervals, (n, 2).

        Parameters
        ----------
        X : DataFrame or csr_matrix
            Features.
        coverage : float
            Their probability.
        """
        if not hasattr(self.machine, "predict_interval"):
            raise Refusal(
                f"{type(self.machine).__name__} has no intervals: fit it with --intervals, or "
                "leave the choice of the machine to mercer."
            )
        steps = getattr(self.pipeline, "steps", ())
        Z = self.pipeline[:-1].transform(X) if len(steps) > 1 else X
        return np.asarray(self.machine.predict_interval(Z, coverage))

    # Fitting --------------------------------------------------------------------------------------

    @classmethod
    def plan(cls, question: Question, wishes: Wishes, memory: Memory) -> tuple[Any, Picked]:
        """Return the transformer and the machine for a question, not fitted.

        Parameters
        ----------
        question : Question
            The question.
        wishes : Wishes
            What was asked.
        memory : Memory
            What may be taken.
        """
        rows = int(question.X.shape[0])
        if wishes.coverage is not None and question.task != "regression":
            raise Refusal(
                "--intervals are for numbers; of classes 'mercer predict --probabilities' says "
                "how sure the model is."
            )
        if wishes.monotone:
            return _monotone(question, wishes, rows, memory)
        picked = pick(
            wishes.machine,
            question.task,
            rows,
            memory,
            sparse=question.plan is None,
            settings=wishes.settings,
            budget=wishes.seconds,
        )
        if question.plan is None:
            return Plan.sparse(), picked
        return question.plan.transformer(picked.as_is), picked

    @classmethod
    def fit(
        cls, question: Question, wishes: Wishes, memory: Memory, shown: Falling
    ) -> tuple[Model, Picked]:
        """Fit what a question asks for.

        Parameters
        ----------
        question : Question
            The question.
        wishes : Wishes
            What was asked.
        memory : Memory
            What may be taken.
        shown : Falling
            Where the gap and the criterion are seen falling.
        """
        prepare, picked = cls.plan(question, wishes, memory)
        machine = _talking(picked.machine, True)
        plan, y = question.plan, question.y
        forms, Z = {} if plan is None else plan.readings, question.X
        if plan is not None and not picked.as_is:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the plan has counted what cannot be read
                Z = typed(Z, plan.used, forms)
        Z = prepare.fit_transform(Z)
        if wishes.monotone:
            machine = _shaped(machine, Z, y, wishes, shown)
        elif wishes.seconds is not None and not picked.as_is:
            machine = tuned(machine, Z, y, wishes.seconds, shown)
        if wishes.coverage is not None and not hasattr(machine, "predict_interval"):
            machine = ConformalRegressor(machine, coverage=wishes.coverage, random_state=0)
        machine.fit(Z, y)
        _talking(machine, False)
        pipeline = Pipeline([("prepare", prepare), ("machine", machine)])
        card = {
            "target": question.target,
            "task": question.task,
            "columns": question.kinds,
            "readings": forms,
            "as_is": picked.as_is,
            "target_reading": question.reading,
            "features": None if question.plan else int(question.X.shape[1]),
            "plan": None if question.plan is None else question.plan.described(),
            "steps": None if question.plan is None else question.plan.steps(picked.as_is),
            "crowded": question.plan is not None and question.plan.crowded,
            "coverage": wishes.coverage,
            "rows": int(question.X.shape[0]),
            "why": picked.why,
        }
        setattr(pipeline, CARD, card)
        return cls(pipeline, card), picked


def _talking(machine: Estimator, aloud: bool) -> Any:
    """Return a machine that says how far it is, or no longer."""
    if "verbose" in machine.get_params(deep=False):
        machine.set_params(verbose=aloud)
    return machine


def tuned(machine: Estimator, Z: PointsLike, y: AnyArray, seconds: float, shown: Falling) -> Any:
    """Return a machine with the hyperparameters that its criterion prefers, not fitted.

    Parameters
    ----------
    machine : KernelMachine
        The machine.
    Z, y : array
        Features and targets.
    seconds : float
        Time to look for them.
    shown : Falling
        Where the criterion is seen falling.
    """
    if not isinstance(machine, KernelMachine):
        raise Refusal(f"{type(machine).__name__} cannot be tuned; leave out --tune.")

    def seen(trial: Any) -> None:
        shown.last = f"{trial.stage}: criterion {trial.value:.4g} on {trial.rows} rows"
        shown.fell(float(trial.value))

    Z = Z.to_numpy() if hasattr(Z, "to_numpy") else Z
    found = tune(machine, Z, y, max_time=seconds, refit=False, callback=seen, verbose=False)
    return clone(machine).set_params(**found.best_params_)


def _monotone(question: Question, wishes: Wishes, rows: int, memory: Memory) -> tuple[Any, Picked]:
    """Return the machine whose predictions rise or fall with columns."""
    if question.plan is None:
        raise Refusal("--monotone is for tables with names of columns.")
    for name in wishes.monotone:
        if question.plan.used.get(name) != "number":
            raise Refusal(f"--monotone {name!r}: there is no column of numbers of this name.")
    if wishes.machine is not None and not wishes.machine.lower().startswith("shapeconstrained"):
        raise Refusal(f"--monotone is not for {wishes.machine}; leave out --machine.")
    if rows > memory.exact_rows:
        raise Refusal(f"--monotone is for at most {memory.exact_rows} rows in this memory.")
    cls = ShapeConstrainedRegressor if question.task == "regression" else ShapeConstrainedClassifier
    shape = {f"number__{name}": sign for name, sign in wishes.monotone.items()}
    machine = cls(shape).set_params(**wishes.settings)
    return question.plan.transformer(named=True), Picked(machine, "its predictions are monotone")


def _shaped(machine: Estimator, Z: PointsLike, y: AnyArray, wishes: Wishes, shown: Falling) -> Any:
    """Return a machine of a known shape with the kernel that a least-squares machine finds.

    Constraints take part in every fit, so a search over them would cost as many programs as trials;
    the scales of the features are about the same without them.
    """
    if {"kernel", "C", "gamma"} & wishes.settings.keys():
        return machine
    codes = np.unique(y, return_inverse=True)[1].astype(np.float64)
    values = y if isinstance(machine, ShapeConstrainedRegressor) else codes
    found = tuned(LSSVR(), Z, values, wishes.seconds or 30.0, shown)
    C = found.C if isinstance(machine, ShapeConstrainedRegressor) else "auto"
    return machine.set_params(kernel=found.kernel, C=C)
