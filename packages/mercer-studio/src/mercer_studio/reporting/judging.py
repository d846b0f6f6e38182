"""Validation: the whole model, tuning included, fitted again without the rows that it judges."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics
from sklearn.base import clone
from sklearn.model_selection import check_cv

from mercer._sklearn import safe_indexing
from mercer._typing import PointsLike, SplitterLike
from mercer.kernels.points import Array
from mercer.machines.ls_report import UnavailableError
from mercer_studio.reporting.subject import Subject

__all__ = [
    "COVERAGE",
    "Predictions",
    "Validation",
    "measures",
    "out_of_fold",
    "predictions_of",
    "validate",
]

PILOT_ROWS, COVERAGE = 200, 0.9
IGNORED_WARNINGS = (FutureWarning, PendingDeprecationWarning, DeprecationWarning)
# Direct solvers take n^3 and decomposition about n^2: between them, so that a guess is no promise.
COST_POWER = 2.5


@dataclass(eq=False)
class Predictions:
    """What a model says of rows that are known."""

    y: Array
    predicted: Array
    probabilities: Array | None = None
    """Of the classes, (m, k)."""

    decision: Array | None = None
    """Scores of the second of two classes, (m,)."""

    ends: Array | None = None
    """Intervals, (m, 2)."""


@dataclass(eq=False)
class Validation:
    """Predictions of rows by models that were not fitted to them."""

    answers: Predictions
    rows: NDArray[np.intp]
    """Which rows."""

    scores: dict[str, Array]
    """Measures, one value per fold."""

    fitted: int
    """Rows that a model of a fold was fitted to, on average."""

    folds: int
    planned: int
    """Folds that there would have been with more time."""

    seconds: float
    said: list[str] = field(default_factory=list)
    """Warnings of the fits, each once."""


def predictions_of(
    model: Any, X: PointsLike, y: Array, classes: Array | None, *, intervals: bool = True
) -> Predictions:
    """Ask a fitted model for everything that it can say of rows."""
    found = Predictions(y=y, predicted=np.asarray(model.predict(X)))
    if classes is None:
        found.ends = _intervals(model, X) if intervals else None
        return found
    own = np.asarray(model.classes_)
    if hasattr(model, "predict_proba"):
        # A fold may not have seen every class.
        found.probabilities = np.zeros((len(y), len(classes)))
        found.probabilities[:, np.searchsorted(classes, own)] = model.predict_proba(X)
    if len(classes) == 2 and len(own) == 2:
        if hasattr(model, "decision_function"):
            found.decision = np.ravel(model.decision_function(X))
        elif found.probabilities is not None:
            found.decision = found.probabilities[:, 1]
    return found


def _intervals(model: Any, X: PointsLike) -> Array | None:
    """Return intervals of nominal coverage, of the machine at the end of a pipeline if need be."""
    while not hasattr(model, "predict_interval"):
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "steps"):
            model, X = model.steps[-1][1], model[:-1].transform(X)
        else:
            return None
    given = signature(model.predict_interval).parameters
    asked = "coverage" in given or any(p.kind is Parameter.VAR_POSITIONAL for p in given.values())
    try:
        found = model.predict_interval(X, COVERAGE) if asked else model.predict_interval(X)
    except UnavailableError:  # a low-rank approximation has no factorization to take them from
        return None
    ends = np.asarray(found)
    return ends if ends.ndim == 2 and ends.shape[1] == 2 else None


def out_of_fold(subject: Subject) -> Predictions | None:
    """Return the predictions of rows that the fit itself made without them.

    None if the estimator has none, or has them for another sample.
    """
    if not subject.classifies:
        values = subject.found("left_out_predictions_")
        if values is None or np.shape(values) != (subject.n,) or not np.isfinite(values).any():
            return None
        known = np.isfinite(values)
        return Predictions(y=subject.y[known], predicted=values[known])
    shares = subject.found("left_out_probabilities_")
    if shares is None or np.shape(shares) != (subject.n, len(subject.classes)):
        return None
    known = np.isfinite(shares).all(axis=1)
    if not known.any():
        return None
    P = shares[known]
    return Predictions(
        y=subject.y[known],
        predicted=np.asarray(subject.classes)[np.argmax(P, axis=1)],
        probabilities=P,
        decision=P[:, 1] if len(subject.classes) == 2 else None,
    )


def measures(found: Predictions, classes: Array | None) -> dict[str, float]:
    """Return the usual measures of predictions."""
    y, f = found.y, found.predicted
    if classes is None:
        error = np.asarray(y, dtype=float) - f
        spread = float(np.mean((y - np.mean(y)) ** 2))
        out = {
            "R²": 1.0 - float(np.mean(error**2)) / spread if spread > 0 else float("nan"),
            "RMSE": float(np.sqrt(np.mean(error**2))),
            "mean absolute error": float(np.mean(np.abs(error))),
        }
        if found.ends is not None:
            low, high = found.ends.T
            out["share inside intervals"] = float(np.mean((low <= y) & (y <= high)))
            out["mean width of intervals"] = float(np.mean(high - low))
        return out
    out = {
        "accuracy": float(np.mean(f == y)),
        "balanced accuracy": float(np.mean([np.mean(f[y == c] == c) for c in np.unique(y)])),
    }
    if found.decision is not None and len(np.unique(y)) == 2:
        out["area under ROC"] = float(metrics.roc_auc_score(y == classes[1], found.decision))
    if found.probabilities is not None:
        mine = found.probabilities[np.arange(len(y)), np.searchsorted(classes, y)]
        out["log loss"] = float(-np.mean(np.log(np.maximum(mine, 1e-15))))
    return out


def validate(
    subject: Subject, cv: SplitterLike, max_time: float | None, max_rows: int
) -> Validation:
    """Cross-validate the whole model, on as many rows as there is time for.

    Parameters
    ----------
    subject : Subject
    cv : int, splitter or iterable
    max_time : float, optional
        Seconds. A fit to 200 rows tells how many rows five folds may have.
    max_rows : int
    """
    began = time.perf_counter()
    classes = subject.classes if subject.classifies else None
    m = min(subject.n, max_rows)
    folds = cv if isinstance(cv, int) else 5
    # Splits that are given by row numbers speak of all rows.
    given = not isinstance(cv, int) and not hasattr(cv, "split")
    if given:
        m = subject.n
    elif max_time is not None and m > PILOT_ROWS:
        few = _drawn(subject, PILOT_ROWS, folds)
        spent = _timed(lambda: _fitted(subject, few))
        if spent * folds > max_time:  # the first fit of a process may compile
            spent = _timed(lambda: _fitted(subject, few))
        m = int(
            np.clip(PILOT_ROWS * (max_time / (folds * spent)) ** (1.0 / COST_POWER), PILOT_ROWS, m)
        )
    rows = _drawn(subject, m, folds)
    X, y = subject.rows(rows), subject.y[rows]
    splits = check_cv(cv, y, classifier=subject.classifies)
    if isinstance(cv, int):
        splits.shuffle, splits.random_state = True, subject.seed
    parts: list[tuple[NDArray[np.intp], Predictions, int]] = []
    said: list[str] = []
    for train, test in splits.split(X, y):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            model = clone(subject.model).fit(safe_indexing(X, train), y[train])
            parts.append(
                (test, predictions_of(model, safe_indexing(X, test), y[test], classes), len(train))
            )
        # What will change in a later version is for those who write programs.
        told = [one for one in heard if not issubclass(one.category, IGNORED_WARNINGS)]
        said += [str(one.message).split("\n")[0] for one in told]
        late = max_time is not None and time.perf_counter() - began > 2.0 * max_time
        if late and len(parts) >= 2 and not given:
            break
    by_fold = [measures(answers, classes) for _, answers, _ in parts]
    names = [name for name in by_fold[0] if all(name in one for one in by_fold)]
    return Validation(
        answers=_joined([answers for _, answers, _ in parts]),
        rows=rows[np.concatenate([test for test, _, _ in parts])],
        scores={name: np.array([one[name] for one in by_fold]) for name in names},
        fitted=int(np.mean([count for _, _, count in parts])),
        folds=len(parts),
        planned=int(splits.get_n_splits(X, y)),
        seconds=time.perf_counter() - began,
        said=list(dict.fromkeys(said)),
    )


def _fitted(subject: Subject, rows: NDArray[np.intp]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the folds are told
        return clone(subject.model).fit(subject.rows(rows), subject.y[rows])


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return max(time.perf_counter() - began, 1e-4)


def _drawn(subject: Subject, m: int, folds: int) -> NDArray[np.intp]:
    """Return rows at random, ascending; of every class its share, and enough for the folds."""
    if m >= subject.n:
        return np.arange(subject.n)
    if not subject.classifies:
        return subject.some(m)
    mixed = np.random.default_rng(subject.seed).permutation(subject.n)
    return np.sort(np.concatenate(list(_of_classes(subject.y, mixed, m, folds))))


def _of_classes(y: Array, mixed: Array, m: int, folds: int) -> Iterator[Array]:
    for label in np.unique(y):
        own = mixed[y[mixed] == label]
        yield own[: max(round(m * len(own) / len(y)), folds)]


def _joined(parts: list[Predictions]) -> Predictions:
    def joined(name: str) -> Any:
        values = [getattr(part, name) for part in parts]
        return None if any(value is None for value in values) else np.concatenate(values)

    return Predictions(
        *(joined(n) for n in ("y", "predicted", "probabilities", "decision", "ends"))
    )
