"""Validation without the rows that are judged, and sections on predictions and claims."""

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
from mercer.plotting import panels
from mercer.plotting.base import Axes
from mercer.risk_bounds import error_bound, hoeffding
from mercer_studio.reporting.page import Section, number, plural, seconds
from mercer_studio.reporting.subject import Subject

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
        if spent * folds > max_time:  # the first fit of a process imports what it needs
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
    return np.sort(np.concatenate(list(_stratified(subject.y, mixed, m, folds))))


def _stratified(y: Array, mixed: Array, m: int, folds: int) -> Iterator[Array]:
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


MAX_POINTS_DRAWN, MAX_INTERVALS_DRAWN = 800, 60
"""Points of a cloud, and intervals of a figure."""


def validation_section(
    subject: Subject, found: Validation | None, test: Predictions | None
) -> Section:
    """Say how well the model predicts rows that it was not fitted to."""
    section = Section("Validation", "validation")
    classes = subject.classes if subject.classifies else None
    tuned = any(subject.found(name) is not None for name in ("tuning_", "cv_results_", "members_"))
    columns: dict[str, dict[str, str]] = {}
    own = out_of_fold(subject)
    scores = headlines(subject, found)
    if scores:
        name, score = next(iter(scores.items()))
        section.lead(
            f"{name[:1].upper()}{name[1:]} {score:.3g} on rows that the model was not fitted to."
        )
    if found is not None:
        known = len(found.rows)
        part = "all" if known == subject.n else f"{number(known)} of {number(subject.n)}"
        section.say(
            f"{_folds(found)} on {part} rows"
            f"{', drawn at random' if known < subject.n else ''}: "
            f"each model was fitted to about {plural(found.fitted, 'row')} and judged on the "
            f"others, in {seconds(found.seconds)} altogether.",
            "The validation is nested: every fold repeats preprocessing and tuning, so that rows "
            "that are judged had no part in any choice."
            if tuned
            else "Every fold repeats preprocessing and the fit. The settings are fixed; if they "
            "were chosen by these same rows, the numbers below are optimistic.",
        )
        if found.fitted < 0.5 * subject.n:
            section.say(
                f"The model itself was fitted to {plural(subject.n, 'row')}, more than a fold has: "
                "it usually predicts better than this."
            )
        for sentence in found.said[:3]:
            section.warn(f"A fit of the validation warned: {sentence}")
        columns["cross-validation"] = {
            name: f"{number(float(np.mean(v)))} ± {float(np.std(v)):.2g}"
            for name, v in found.scores.items()
        }
    if test is not None:
        section.say(f"{plural(len(test.y), 'row')} were kept apart as a test.")
        columns["test rows"] = {k: number(v) for k, v in measures(test, classes).items()}
    if own is not None:
        columns["out of fold"] = {k: number(v) for k, v in measures(own, classes).items()}
        section.say(
            f"Out of fold, {plural(len(own.y), 'row')}: each base learner of the model predicts a "
            "row without that row, and only the weights of the learners have seen it. 'mercer fit' "
            "and the studio have the same numbers. Cross-validation repeats everything on fewer "
            "rows, and usually has a lower score."
        )
    rows = subject.some(1000)
    # Intervals of rows of the fit say nothing, and may take a factorization of all rows.
    sample = subject.rows(rows), subject.y[rows]
    seen = predictions_of(subject.model, *sample, classes, intervals=False)
    columns["rows of the fit"] = {k: number(v) for k, v in measures(seen, classes).items()}
    columns["without inputs"] = {k: number(v) for k, v in _naive(subject).items()}
    order = list(dict.fromkeys(k for column in columns.values() for k in column))
    section.table(
        "Measures; ± is the standard deviation over folds. Without inputs: "
        + ("always the largest class" if subject.classifies else "always the mean"),
        ("", *columns),
        [(name, *(column.get(name, "") for column in columns.values())) for name in order],
    )
    return section


def _folds(found: Validation) -> str:
    if found.folds == found.planned:
        return f"{found.folds}-fold cross-validation"
    return f"{found.folds} of {found.planned} folds of a cross-validation, all there was time for,"


def headlines(subject: Subject, found: Validation | None) -> dict[str, float]:
    """Return measures of rows that a model was not fitted to, the one to be read first first.

    Out-of-fold predictions of the fit are of all rows; folds have as many as there is time for,
    and measures that the others lack.
    """
    scores = {} if found is None else {k: float(np.mean(v)) for k, v in found.scores.items()}
    own = out_of_fold(subject)
    if own is None:
        return scores
    return scores | measures(own, subject.classes if subject.classifies else None)


def _naive(subject: Subject) -> dict[str, float]:
    y = subject.y
    if not subject.classifies:
        error = y - np.mean(y)
        return {
            "R²": 0.0,
            "RMSE": float(np.sqrt(np.mean(error**2))),
            "mean absolute error": float(np.mean(np.abs(error))),
        }
    counts = np.unique(y, return_counts=True)[1]
    shares = counts / counts.sum()
    return {
        "accuracy": float(shares.max()),
        "balanced accuracy": 1.0 / len(counts),
        "log loss": float(-np.sum(shares * np.log(shares))),
        **({"area under ROC": 0.5} if len(counts) == 2 else {}),
    }


def errors_section(subject: Subject, found: Predictions, whose: str) -> Section:
    """Draw errors: residuals and intervals, or ROC, calibration and confusion of classes."""
    if subject.classifies:
        return _of_classes(subject, found, whose)
    section = Section("Residuals", "errors")
    section.say(f"Predictions of {whose}.")
    some = np.random.default_rng(subject.seed).permutation(len(found.y))[:MAX_POINTS_DRAWN]
    y, f = np.asarray(found.y[some], dtype=float), found.predicted[some]
    residual = y - f
    low, high = (number(q) for q in np.quantile(residual, [0.05, 0.95]))
    drawn = f"{plural(len(y), 'row')}"
    figures: list[tuple[str, str, Callable[[Axes], object]]] = [
        (
            f"Observed against predicted, {drawn}; on the line there is no error",
            f"Scatter of observed against predicted {subject.target}, correlation "
            f"{number(_correlation(y, f))}",
            lambda ax: panels.versus(
                ax, f, y, (f"predicted {subject.target}", f"observed {subject.target}"), "equal"
            ),
        ),
        (
            "Residuals against predictions; a pattern is something that the model misses",
            f"Scatter of residuals against predictions, residuals mostly between {low} and {high}",
            lambda ax: panels.versus(
                ax, f, residual, (f"predicted {subject.target}", "observed - predicted"), "zero"
            ),
        ),
        (
            f"Nine of ten residuals lie between {low} and {high}",
            f"Histogram of residuals, nine of ten between {low} and {high}",
            lambda ax: panels.histogram(ax, residual, "observed - predicted"),
        ),
    ]
    if found.ends is not None:
        ends = found.ends
        inside = (ends[:, 0] <= found.y) & (found.y <= ends[:, 1])
        few = some[:MAX_INTERVALS_DRAWN]
        figures.append(
            (
                f"Prediction intervals of {plural(len(few), 'row')}; of all "
                f"{plural(len(inside), 'interval')} {100 * np.mean(inside):.1f} % hold what was "
                f"observed, and {100 * COVERAGE:.0f} % are meant to, unless the model sets its own",
                f"{int(np.sum(inside[few]))} of {len(few)} intervals hold the observation",
                lambda ax: panels.intervals(ax, found.y[few], ends[few], subject.target),
            )
        )
    section.figures(*figures)
    return section


def _correlation(a: Array, b: Array) -> float:
    return float(np.corrcoef(a, b)[0, 1]) if np.ptp(a) > 0 and np.ptp(b) > 0 else float("nan")


def _of_classes(subject: Subject, found: Predictions, whose: str) -> Section:
    two = len(subject.classes) == 2
    section = Section("ROC, calibration and confusion" if two else "Confusion", "errors")
    section.say(f"Predictions of {whose}.")
    label = subject.classes[-1]
    figures = []
    if two and found.decision is not None and len(np.unique(found.y)) == 2:
        false, true, _ = metrics.roc_curve(found.y == label, found.decision)
        area = number(float(metrics.auc(false, true)))
        figures.append(
            (
                f"ROC curve of {subject.target} = {label}: area {area}",
                f"ROC curve, area {area}",
                lambda ax: panels.roc(ax, false, true),
            )
        )
    if two and found.probabilities is not None:
        said, came, many = panels.reliability(found.probabilities[:, 1], found.y == label)
        off = number(float(np.average(np.abs(said - came), weights=many)))
        figures.append(
            (
                f"Calibration: predicted and observed shares differ by {off} on average",
                f"Calibration curve in {len(said)} bins, mean difference {off}",
                lambda ax: panels.calibration(ax, said, came, many),
            )
        )
    if figures:
        section.figures(*figures)
    names = [str(label) for label in subject.classes]
    counts = metrics.confusion_matrix(found.y, found.predicted, labels=subject.classes)
    if len(names) <= 25:
        section.matrix("Confusion: rows are observed, columns predicted classes", names, counts)
    right = np.diag(counts)
    recall = right / np.maximum(counts.sum(axis=1), 1)
    precision = right / np.maximum(counts.sum(axis=0), 1)
    head = ("class", "rows", "share found (recall)", "share right (precision)")
    section.table(
        "By class", head, list(zip(names, counts.sum(axis=1), recall, precision, strict=True))
    )
    return section


def claims_section(subject: Subject, test: Predictions | None, found: Validation | None) -> Section:
    """Say what may be claimed of the model for rows that nobody has seen."""
    section = Section("What may be claimed", "claims")
    solution = getattr(subject.machine, "solution_", None)
    if solution is not None and not solution.converged:
        return section.warn("Nothing may be claimed of a fit that has not converged.")
    if test is not None and subject.classifies:
        m, errors = len(test.y), int(np.sum(test.predicted != test.y))
        section.lead(
            f"With probability 95 % the error rate on new rows is at most "
            f"{number(error_bound(errors, m).value)}, by the binomial tail: {errors} of "
            f"{plural(m, 'test row')} were predicted wrongly."
        )
        return section.say("It holds if the test rows were used for no choice whatsoever.")
    if test is not None:
        m, size = len(test.y), np.abs(np.asarray(test.y, dtype=float) - test.predicted)
        # The share of test rows below is at least nine tenths, and DKW holds for all thresholds.
        above = float(np.quantile(size, COVERAGE, method="inverted_cdf"))
        return section.lead(
            f"Nine of ten of the {plural(m, 'test row')} were predicted within {number(above)}; "
            f"the share of new rows for which this holds is at least "
            f"{number(max(COVERAGE - hoeffding(m), 0.0))} with probability 95 % (the inequality of "
            "Dvoretzky, Kiefer, Wolfowitz and Massart)."
        ).say("It holds if the test rows were used for no choice whatsoever.")
    section.say(
        "The cross-validated numbers are estimates, not guarantees: they hold for rows drawn like "
        "these, and say nothing of rows that are different." if found is not None
        else "Nothing may be claimed from the rows of the fit alone.",
        "A guarantee needs rows that were kept apart: report(model, X, y, X_test, y_test).",
    )  # fmt: skip
    return section
