"""Models of tables: the task, the machine that answers it, a pipeline with a card."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from mercer import estimators, selection, tabular
from mercer._typing import AnyArray, Array, Estimator, PointsLike
from mercer._words import did_you_mean, plural
from mercer.estimators import (
    LSSVR,
    ConformalRegressor,
    ShapeConstrainedClassifier,
    ShapeConstrainedRegressor,
)
from mercer.machines.base import KernelMachine
from mercer.preprocessing.readings import NUMBERS, Reading
from mercer.reduced import Nystrom
from mercer.selection import tune
from mercer_studio.cli.preparation import Plan, aligned, reading_of, typed, with_gaps
from mercer_studio.cli.tables import Memory, Read, column_of, labels, numbers
from mercer_studio.cli.telling import Falling, Teller
from mercer_studio.cli.text import Refusal

# Whole numbers are classes if there are this few different ones.
MAX_WHOLE_CLASSES = 10

# How many times fewer rows exact machines get where several are stacked.
STACKED_PARTS = 2

# Rows of the parts to which stacked machines of a large table are fitted.
LEAF_ROWS = 4000

LANDMARKS = 1000
"""Landmarks where rows are too many for an exact machine."""


MACHINES: dict[str, type[Any]] = {
    name: one
    for room in (estimators, selection, tabular)
    for name in room.__all__
    if isinstance(one := getattr(room, name), type)
    and hasattr(one, "fit")
    and hasattr(one, "predict")
}
"""Machines that ``--machine`` takes, by name."""


@dataclass(frozen=True)
class Picked:
    """A machine and why.

    Parameters
    ----------
    machine : estimator
        Not fitted.
    why : str
        The reason.
    as_is : bool
        Whether it reads tables as they are.
    """

    machine: Estimator
    why: str
    as_is: bool = False


def task_of(column: pd.Series) -> tuple[str, str]:
    """Return whether a target asks for numbers or classes, and why.

    Parameters
    ----------
    column : Series
        Without gaps.

    Examples
    --------
    >>> task_of(pd.Series(["yes", "no", "yes"]))
    ('classification', 'its values are words')
    >>> task_of(pd.Series([0.5, 1.5, 2.25]))
    ('regression', 'it has 3 different numbers')
    """
    if column.dtype.kind == "M":
        raise Refusal(f"the target {column.name!r} holds dates; predict a number or classes.")
    if column.dtype.kind not in "iufb":
        return "classification", "its values are words"
    values = np.unique(column.to_numpy(dtype=np.float64))
    whole = bool(np.all(values == np.rint(values)))
    few = len(values) <= MAX_WHOLE_CLASSES and len(column) > 2 * len(values)
    if len(values) <= 2 or (whole and few):
        what = "whole numbers" if whole else "numbers"
        return "classification", f"it has {len(values)} different {what}"
    return "regression", f"it has {len(values)} different numbers"


def answers(name: str) -> str:
    """Return the task that a machine answers.

    Parameters
    ----------
    name : str
        Its name.

    Examples
    --------
    >>> answers("SVC"), answers("lssvr")
    ('classification', 'regression')
    """
    cls = _known(name)
    if issubclass(cls, ClassifierMixin):
        return "classification"
    if issubclass(cls, RegressorMixin):
        return "regression"
    raise Refusal(f"{cls.__name__} predicts neither numbers nor classes; use it in Python.")


def pick(
    name: str | None,
    task: str,
    rows: int,
    memory: Memory,
    *,
    sparse: bool = False,
    settings: Mapping[str, Any] | None = None,
    budget: float | None = None,
) -> Picked:
    """Return the machine for a task.

    Parameters
    ----------
    name : str, optional
        The machine that was asked for.
    task : {"regression", "classification", "survival"}
        The task.
    rows : int
        Rows to fit to.
    memory : Memory
        What may be taken.
    sparse : bool
        Whether the features are a sparse matrix.
    settings : mapping, optional
        Parameters of the machine.
    budget : float, optional
        Seconds.
    """
    if task == "survival":
        return _of_times(name, rows, memory, dict(settings or {}))
    tight = memory.limit is not None and memory.exact_rows // STACKED_PARTS < min(rows, LEAF_ROWS)
    if name is None and not sparse and tight:
        name = "LSSVR" if task == "regression" else "KernelLogisticRegression"
        why = "several machines of parts of the rows would not fit the memory"
    elif name is None and not sparse:
        name = "AutoRegressor" if task == "regression" else "AutoClassifier"
        why = "it reads tables as they are and stacks machines that the data choose"
    elif name is None:
        name = "SVR" if task == "regression" else "SVC"
        why = "the features are a sparse matrix"
    else:
        why = "it was asked for"
    machine = _made(_known(name), dict(settings or {}))
    wanted, fits = (
        ("a regressor", is_regressor) if task == "regression" else ("a classifier", is_classifier)
    )
    if not fits(machine):
        raise Refusal(f"{name} is not {wanted}, and the task is {task}; see --task and --machine.")
    as_is = name.startswith("Auto")
    if as_is and sparse:
        raise Refusal(f"{name} takes no sparse matrix; ask for another machine, such as SVC.")
    return _within(machine, why, as_is, rows, memory, budget, dict(settings or {}))


def _of_times(name: str | None, rows: int, memory: Memory, settings: dict[str, Any]) -> Picked:
    """Return the machine for times, some of which are only known to be exceeded."""
    if name not in (None, "CensoredRegressor"):
        raise Refusal(f"{name} takes no censored times; CensoredRegressor does.")
    # Inputs stretch times; residuals of folds tell the spread that new ones have.
    usual = {"log": True, "cv": 5, "C": "auto"}
    machine = _made(_known("CensoredRegressor"), {**usual, **settings})
    why = "it uses times that are only known to be exceeded"
    return _within(machine, why, False, rows, memory, None, settings)


def _within(
    machine: Estimator,
    why: str,
    as_is: bool,
    rows: int,
    memory: Memory,
    budget: float | None,
    settings: dict[str, Any],
) -> Picked:
    """Return a machine whose memory and time are bounded."""
    params, most = machine.get_params(deep=False), memory.exact_rows
    if as_is:
        # Stacked machines are in memory together, with the gradients by which scales are found.
        if memory.limit is not None:
            machine.set_params(max_rows=int(np.clip(most // STACKED_PARTS, 10, params["max_rows"])))
        if budget is not None:
            machine.set_params(budget=budget)
    elif rows > most:
        if "approximation" not in params:
            raise Refusal(
                f"{type(machine).__name__} of {rows} rows would need more memory than there is "
                f"({most} rows fit); raise --memory-limit or ask for another machine."
            )
        if "approximation" not in settings:
            m = int(np.clip(memory.free / 32.0 / rows, 50, LANDMARKS))
            limit = int(memory.free / 4.0)
            machine.set_params(approximation=Nystrom(m, memory_limit=limit))
            why += f"; {rows} rows are too many for an exact one, so it has {m} landmarks"
    return Picked(machine, why, as_is)


def _known(name: str) -> type[Any]:
    """Return a machine by its name, in small or large letters."""
    plain = {one.lower(): one for one in MACHINES}
    if name.lower() not in plain:
        near = did_you_mean(name, MACHINES)
        raise Refusal(f"there is no machine {name[:60]!r}.{near} 'mercer fit --help' lists some.")
    return MACHINES[plain[name.lower()]]


def _made(cls: type[Any], settings: dict[str, Any]) -> Estimator:
    try:
        machine: Estimator = cls()
    except TypeError as error:
        raise Refusal(
            f"{cls.__name__} cannot be made without settings of its own: {error}."
        ) from error
    known = sorted(machine.get_params(deep=False))
    unknown = [name for name in settings if name not in known]
    if unknown:
        near = did_you_mean(unknown[0], known)
        raise Refusal(
            f"{cls.__name__} has no setting {unknown[0]!r}.{near} It has: {', '.join(known)}."
        )
    return machine.set_params(**settings)


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
    task : {"regression", "classification", "survival"}, optional
        Found by the target by default.
    seconds : float, optional
        Time to tune.
    coverage : float, optional
        Probability of prediction intervals.
    monotone : dict from str to int
        Columns with which predictions rise, 1, or fall, -1.
    drop, categorical : tuple of str
        Columns to leave out, and columns whose numbers are names.
    event : str, optional
        Column that says whether the target, a time, was reached: 1, or whether only waiting ended
        then: 0. The task is survival.
    gaps : dict from str to float
        Numbers that stand for missing cells, by column: a pressure of 0.
    """

    machine: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    task: str | None = None
    seconds: float | None = None
    coverage: float | None = None
    monotone: dict[str, int] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    event: str | None = None
    gaps: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Question:
    """A table whose target is to be predicted.

    Parameters
    ----------
    X : DataFrame or csr_matrix
        Features.
    y : array
        Targets; of survival (n, 2), the ends of the interval that holds the time.
    target, task, why : str
        Name of the target, the task, and why it is this task.
    plan : Plan, optional
        What is done with the columns; None for sparse matrices.
    reading : str, optional
        How words of the target are read as numbers.
    """

    X: PointsLike
    y: Any
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
        if wishes.event is not None:
            return cls._of_times(table, target, wishes, teller)
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
            X, plan = _columns(table, target, wishes, teller)
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

    @classmethod
    def _of_times(cls, table: Read, target: str, wishes: Wishes, teller: Teller) -> Question:
        """Return the question for times, some of which are only known to be exceeded."""
        if table.frame is None:
            raise Refusal("times with an event are columns of a table.")
        assert wishes.event is not None
        time = numbers(column_of(table.frame, target, table.path), table.path)
        event = _happened(column_of(table.frame, wishes.event, table.path), table.path)
        there = (time.notna() & event.notna()).to_numpy()
        if lost := int(np.sum(~there)):
            teller.note(f"{plural(lost, 'row')} without {target} or {wishes.event} left out.")
        if np.sum(event[there] == 1.0) < 5:
            raise Refusal(
                f"{table.path}: the event {wishes.event!r} happened in "
                f"{plural(int(np.sum(event[there] == 1.0)), 'row')}; at least 5 are needed."
            )
        if (time[there] <= 0.0).any():
            raise Refusal(f"{table.path}: the target {target!r} holds times that are not positive.")
        low = time[there].to_numpy()
        y = np.column_stack([low, np.where(event[there] == 1.0, low, np.inf)])
        frame = table.frame[there].reset_index(drop=True)
        rows = Read(table.path, frame.drop(columns=wishes.event), left_out=table.left_out)
        X, plan = _columns(rows, target, wishes, teller)
        return cls(X, y, target, "survival", f"{wishes.event} says what was seen", plan)

    @property
    def kinds(self) -> dict[str, str] | None:
        """Kinds of the columns; None for sparse matrices."""
        return None if self.plan is None else self.plan.used


def _columns(table: Read, target: str, wishes: Wishes, teller: Teller) -> tuple[pd.DataFrame, Plan]:
    """Return the features of a table, and what is done with them."""
    assert table.frame is not None
    for name, value in wishes.gaps.items():
        column = column_of(table.frame, name, table.path)
        if column.dtype.kind not in "iuf" or not (column == value).any():
            teller.note(f"{name} holds no {value:g}, so no cell of it becomes a gap.")
    table = Read(table.path, with_gaps(table.frame, wishes.gaps), left_out=table.left_out)
    plan = Plan.of(table, target, wishes.drop, wishes.categorical)
    for note in plan.notes:
        teller.note(note)
    return aligned(table, plan.used), plan


def _happened(column: pd.Series, path: str) -> pd.Series:
    """Return 1 where an event happened, 0 where it had not when waiting ended, NaN for gaps."""
    values = numbers(column, path)
    if not set(values.dropna().unique()) <= {0.0, 1.0}:
        raise Refusal(
            f"{path}, column {column.name!r}, must hold 1 where the event happened and 0 where it "
            "had not when waiting ended."
        )
    return values


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
        if not (hasattr(pipeline, "predict") or hasattr(pipeline, CARD)):
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

    @property
    def gaps(self) -> dict[str, float]:
        """Numbers that stand for missing cells, by column."""
        found: dict[str, float] = self.card.get("gaps") or {}
        return found

    def features(self, table: Read) -> PointsLike:
        """Return the features of a table as the model wants them.

        Parameters
        ----------
        table : Read
            The table.
        """
        kinds = self.card.get("columns")
        if kinds:
            # Models that were saved before gaps could be named say nothing of them.
            frame = table.frame if table.frame is None else with_gaps(table.frame, self.gaps)
            return self.ready(aligned(Read(table.path, frame), kinds))
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
        if self.card.get("task") == "survival":
            raise Refusal("a model of survival is judged in Python, see mercer.inspect.")
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

    def predictions(self, X: PointsLike) -> AnyArray:
        """Return predictions; a Refusal unless numbers are finite.

        Parameters
        ----------
        X : DataFrame or csr_matrix
            Features.
        """
        return self._defined(np.asarray(self.pipeline.predict(X)), np.isfinite)

    def probabilities(self, X: PointsLike) -> Array:
        """Return the probability of every class, (n, k); a Refusal unless they are finite.

        Parameters
        ----------
        X : DataFrame or csr_matrix
            Features.
        """
        return self._defined(np.asarray(self.pipeline.predict_proba(X)), np.isfinite)

    def _defined(self, found: AnyArray, defined: Any) -> AnyArray:
        """Return numbers, a row for each row of a table, if all of them are defined."""
        if found.dtype.kind != "f":
            return found
        undefined = int(np.sum(~defined(found).reshape(len(found), -1).all(axis=1)))
        if undefined:
            raise Refusal(
                f"{type(self.machine).__name__} predicts no finite number for "
                f"{plural(undefined, 'row')}: features or targets are beyond the range of floating "
                "point; change their units, and fit again."
            )
        return found

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
        # Few rows give infinite ends, which are right; NaN is not.
        ends = np.asarray(self.machine.predict_interval(Z, coverage))
        return self._defined(ends, lambda numbers: ~np.isnan(numbers))

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
        if wishes.monotone and question.task not in ("regression", "classification"):
            raise Refusal(
                f"--monotone is for numbers and classes, and the task is {question.task}."
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
    def tuned(
        cls, question: Question, wishes: Wishes, memory: Memory, shown: Falling
    ) -> Estimator | None:
        """Return the machine of a question with hyperparameters that a search found, not fitted.

        None where there is nothing to search: no time was given, or the machine chooses them in
        its fit.

        Parameters
        ----------
        question : Question
            The question.
        wishes : Wishes
            What was asked.
        memory : Memory
            What may be taken.
        shown : Falling
            Where the criterion is seen falling.
        """
        prepare, picked = cls.plan(question, wishes, memory)
        searched = wishes.monotone or (wishes.seconds is not None and not picked.as_is)
        if not searched:
            return None
        Z = _prepared(question, prepare, picked)
        if wishes.monotone:
            found: Estimator = _shaped(picked.machine, Z, question.y, wishes, shown)
        else:
            assert wishes.seconds is not None
            found = tuned(picked.machine, Z, question.y, wishes.seconds, shown)
        return found

    @classmethod
    def fit(
        cls, question: Question, wishes: Wishes, memory: Memory, machine: Estimator | None = None
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
        machine : estimator, optional
            What :meth:`tuned` found; the one of the plan by default.
        """
        prepare, picked = cls.plan(question, wishes, memory)
        machine = _talking(clone(picked.machine if machine is None else machine), True)
        plan, y = question.plan, question.y
        if wishes.coverage is not None and not hasattr(machine, "predict_interval"):
            machine = ConformalRegressor(machine, coverage=wishes.coverage, random_state=0)
        machine.fit(_prepared(question, prepare, picked), y)
        # What is around a machine has it, and a copy that was fitted.
        for one in (machine, *(getattr(machine, k, None) for k in ("estimator", "estimator_"))):
            if one is not None:
                _talking(one, False)
        pipeline = Pipeline([("prepare", prepare), ("machine", machine)])
        card = {
            "target": question.target,
            "task": question.task,
            "columns": question.kinds,
            "readings": {} if plan is None else plan.readings,
            "as_is": picked.as_is,
            "target_reading": question.reading,
            "features": None if plan else int(question.X.shape[1]),
            "plan": None if plan is None else plan.described(),
            "steps": None if plan is None else plan.steps(picked.as_is),
            "crowded": plan is not None and plan.crowded,
            "coverage": wishes.coverage,
            "gaps": wishes.gaps,
            "event": wishes.event,
            "rows": int(question.X.shape[0]),
            "why": picked.why,
        }
        setattr(pipeline, CARD, card)
        return cls(pipeline, card), picked


def _prepared(question: Question, prepare: Any, picked: Picked) -> PointsLike:
    """Return the features as the machine takes them; the transformer is fitted to them."""
    plan, Z = question.plan, question.X
    if plan is not None and not picked.as_is:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the plan has counted what cannot be read
            Z = typed(Z, plan.used, plan.readings)
    return prepare.fit_transform(Z)


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

    Z = Z.to_numpy() if hasattr(Z, "to_numpy") else Z
    found = tune(machine, Z, y, max_time=seconds, refit=False, callback=shown.tried, verbose=False)
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
    # In the order in which scikit-learn writes them, so that scripts repeat fits to the last bit.
    shape = {f"number__{name}": sign for name, sign in sorted(wishes.monotone.items())}
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
