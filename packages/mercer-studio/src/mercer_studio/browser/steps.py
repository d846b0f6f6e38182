"""What each stage computes: functions of plain values, called in a process of their own."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mercer._typing import AnyArray, Estimator, PointsLike
from mercer._words import plural
from mercer.machines.base import KernelMachine
from mercer.selection.objective import Trial
from mercer_studio.cli.commands import certificate
from mercer_studio.cli.models import Model, Question, Wishes
from mercer_studio.cli.tables import Memory, Read, read
from mercer_studio.cli.telling import Falling, Teller
from mercer_studio.cli.text import Refusal
from mercer_studio.reporting import report
from mercer_studio.reporting.page import first_sentence
from mercer_studio.reporting.subject import Subject, subject_of
from mercer_studio.reporting.validation import Validation, measures, out_of_fold, validate

# Seconds and rows for the folds that say how well new rows are predicted.
VALIDATION_SECONDS, VALIDATION_ROWS = 6.0, 3000


@dataclass(frozen=True, eq=False)
class Preparation:
    """A question with what was noted on the way to it.

    Parameters
    ----------
    question : Question
        Features, targets and the plan of the columns.
    notes : tuple of str
        Rows and cells that were left out, and what was guessed.
    """

    question: Question
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class MachinePlan:
    """A machine before its fit.

    Parameters
    ----------
    name, why, said : str
        The machine, the reason for it, and what it is in a sentence.
    settings : dict
        Its parameters that can be written down.
    steps : tuple of str
        What is done with the columns before it.
    tunable : bool
        Whether hyperparameters can be searched; a machine that reads tables does so in its fit.
    """

    name: str
    why: str
    said: str
    settings: dict[str, Any]
    steps: tuple[str, ...]
    tunable: bool


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What a search for hyperparameters found.

    Parameters
    ----------
    machine : estimator or None
        With the hyperparameters, not fitted; None if nothing was searched.
    trials : tuple of Trial
        What was tried.
    """

    machine: Estimator | None = None
    trials: tuple[Trial, ...] = ()


@dataclass(frozen=True, eq=False)
class FitResult:
    """A fitted model, and what it says of the rows of the table.

    Parameters
    ----------
    model : Model
        The pipeline and its card.
    predictions : array
        Of all rows of the fit.
    intervals : (n, 2) array or None
        Of all rows, if they were asked for.
    certificate : tuple of str
        How far the fit is from its optimum at most, in words.
    gap : float or None
        The same as a share of the objective.
    seconds : float
        Time of the fit.
    """

    model: Model
    predictions: AnyArray
    intervals: NDArray[np.float64] | None
    certificate: tuple[str, ...]
    gap: float | None
    seconds: float


@dataclass(frozen=True, eq=False)
class ValidationResult:
    """How well rows are predicted that had no part in the fit.

    Parameters
    ----------
    scores : dict from str to float
        By name.
    validation : Validation or None
        Predictions of the folds, of numbers and classes.
    said : str
        How they were found.
    """

    scores: dict[str, float] = field(default_factory=dict)
    validation: Validation | None = None
    said: str = ""


# From a file to a question ------------------------------------------------------------------------


def load(path: str, how: dict[str, Any], memory: Memory) -> Read:
    """Return a file's rows.

    Parameters
    ----------
    path : str
        The file.
    how : dict
        Delimiter, encoding and the like.
    memory : Memory
        What may be taken.
    """
    found = read(path, memory, **how)
    if found.frame is None:
        raise Refusal("this file is a sparse matrix; fit it with 'mercer fit' or in Python.")
    return found


def tabled(X: Any, y: Any = None, name: str = "target") -> Read:
    """Return arrays or a data frame as a table that was read.

    Parameters
    ----------
    X : data frame or (n, p) array
        Features.
    y : (n,) array, optional
        Targets, a column of this name.
    name : str
        Of the targets, unless they have one.

    Examples
    --------
    >>> tabled([[1.0, 2.0], [3.0, 4.0]], [0, 1]).frame.columns.tolist()
    ['x0', 'x1', 'target']
    """
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if not isinstance(X, pd.DataFrame):
        values = np.asarray(X)
        if values.ndim != 2:
            raise ValueError(f"X must have two dimensions, got shape {values.shape}.")
        X = pd.DataFrame(values, columns=[f"x{j}" for j in range(values.shape[1])])
    frame = X.reset_index(drop=True)
    frame.columns = [str(one) for one in frame.columns]
    if y is not None:
        name = str(getattr(y, "name", None) or name)
        if len(y) != len(frame):
            raise ValueError(f"X has {len(frame)} rows and y has {len(y)}.")
        if name in frame.columns:
            raise ValueError(f"the target is called {name!r}, as is a column of X.")
        frame = frame.assign(**{name: np.asarray(y)})
    return Read("table", frame)


def prepare(table: Read, target: str, wishes: Wishes) -> Preparation:
    """Return the question that a table and its target pose.

    Parameters
    ----------
    table : Read
        The table.
    target : str
        The column to predict.
    wishes : Wishes
        What was asked.
    """
    teller = Teller(as_json=True)
    question = Question.of(table, target, wishes, teller)
    return Preparation(question, (*table.notes, *teller.notes))


def plan(prepared: Preparation, wishes: Wishes, memory: Memory) -> MachinePlan:
    """Return the machine that will be fitted, and why.

    Parameters
    ----------
    prepared : Preparation
        The question.
    wishes : Wishes
        What was asked.
    memory : Memory
        What may be taken.
    """
    question = prepared.question
    _, picked = Model.plan(question, wishes, memory)
    assert question.plan is not None
    plain = (str, int, float, bool, type(None))
    settings = {
        key: value
        for key, value in picked.machine.get_params(deep=False).items()
        if isinstance(value, plain) and key not in ("verbose", "cache_size")
    }
    tunable = isinstance(picked.machine, KernelMachine)
    steps = tuple(question.plan.steps(picked.as_is))
    name = type(picked.machine).__name__
    return MachinePlan(name, picked.why, first_sentence(picked.machine), settings, steps, tunable)


# From a question to a model -----------------------------------------------------------------------


class _Trials(Falling):
    """Trials of a search, kept and told on."""

    def __init__(self, shown: Falling) -> None:
        super().__init__("")
        self.shown, self.trials = shown, list[Trial]()

    def tried(self, trial: Any) -> None:
        """Keep a trial."""
        self.trials.append(trial)
        self.shown.tried(trial)


def search(prepared: Preparation, wishes: Wishes, memory: Memory, shown: Falling) -> SearchResult:
    """Return the machine with hyperparameters that a search found.

    Parameters
    ----------
    prepared : Preparation
        The question.
    wishes : Wishes
        What was asked.
    memory : Memory
        What may be taken.
    shown : Falling
        Where trials are seen.
    """
    kept = _Trials(shown)
    return SearchResult(Model.tuned(prepared.question, wishes, memory, kept), tuple(kept.trials))


def fit(prepared: Preparation, searched: SearchResult, wishes: Wishes, memory: Memory) -> FitResult:
    """Fit a machine and predict the rows that it was fitted to.

    Parameters
    ----------
    prepared : Preparation
        The question.
    searched : SearchResult
        What was found for it.
    wishes : Wishes
        What was asked.
    memory : Memory
        What may be taken.
    """
    began = time.perf_counter()
    question = prepared.question
    model, _ = Model.fit(question, wishes, memory, searched.machine)
    seconds = time.perf_counter() - began
    X = model.ready(question.X)
    inner = getattr(model.machine, "estimator_", model.machine)
    gap = getattr(getattr(inner, "solution_", None), "relative_gap", None)
    return FitResult(
        model=model,
        predictions=np.asarray(model.pipeline.predict(X)),
        intervals=None if wishes.coverage is None else model.intervals(X, wishes.coverage),
        certificate=tuple(certificate(model.machine)),
        gap=None if gap is None or not np.isfinite(gap) else float(gap),
        seconds=seconds,
    )


def validate_model(prepared: Preparation, fitted: FitResult) -> ValidationResult:
    """Return how well rows are predicted that had no part in a fit.

    By the out-of-fold predictions of the fit where the estimator has them, and by five folds in a
    few seconds.

    Parameters
    ----------
    prepared : Preparation
        The question.
    fitted : FitResult
        The model.
    """
    whole = subject(prepared, fitted)
    found = validate(whole, 5, VALIDATION_SECONDS, VALIDATION_ROWS)
    own = out_of_fold(whole)
    if own is not None:
        scores = measures(own, whole.classes if whole.classifies else None)
        said = f"{plural(len(own.y), 'row')}, each predicted by the fit without it"
        return ValidationResult(scores, found, said)
    scores = {name: float(np.mean(values)) for name, values in found.scores.items()}
    said = f"{found.folds} folds of {len(found.rows)} rows, each predicted from the others"
    return ValidationResult(scores, found, said)


def subject(prepared: Preparation, fitted: FitResult) -> Subject:
    """Return a model and its sample as reports take them.

    Parameters
    ----------
    prepared : Preparation
        The question.
    fitted : FitResult
        The model.
    """
    question, model = prepared.question, fitted.model
    X: PointsLike = model.ready(question.X)
    return subject_of(model.pipeline, X, question.y, question.target, 0)


def report_page(prepared: Preparation, fitted: FitResult) -> str:
    """Return the page of :func:`mercer.report`."""
    question, model = prepared.question, fitted.model
    X = model.ready(question.X)
    return report(model.pipeline, X, question.y, target=question.target).html


def cells(prepared: Preparation, fitted: FitResult) -> pd.DataFrame:
    """Return predictions beside what was observed.

    Parameters
    ----------
    prepared : Preparation
        The question.
    fitted : FitResult
        The model.
    """
    found = fitted.predictions
    columns: dict[str, Any] = {"row": np.arange(1, len(found) + 1)}
    columns |= {prepared.question.target: prepared.question.y, "prediction": found}
    if fitted.intervals is not None:
        columns["low"], columns["high"] = fitted.intervals.T
    return pd.DataFrame(columns)


def without_time(wishes: Wishes) -> Wishes:
    """Return wishes that search nothing."""
    return replace(wishes, seconds=None)
