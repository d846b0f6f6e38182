"""Sections on predictions: measures of validation, residuals or ROC and calibration, claims."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn import metrics

from mercer._typing import PointsLike
from mercer.claims import capacity_report
from mercer.claims.tails import hoeffding
from mercer.kernels.points import Array
from mercer.plotting import panels
from mercer.plotting.base import Axes
from mercer_studio.reporting.judging import (
    COVERAGE,
    Predictions,
    Validation,
    measures,
    out_of_fold,
    predictions_of,
)
from mercer_studio.reporting.page import Section, number
from mercer_studio.reporting.subject import Subject
from mercer_studio.reporting.words import plural, seconds

__all__ = ["claims_section", "errors_section", "headlines", "validation_section"]

MAX_POINTS_DRAWN, MAX_INTERVALS_DRAWN = 800, 60
"""Points of a cloud, and intervals of a figure."""

MAX_ROWS_MEASURED = 3000
"""Rows up to which capacity is measured: it takes eigenvalues of the whole kernel matrix."""


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


def _unsaid(one: dict[str, object]) -> bool:
    """Return whether a bound has no number that may be quoted."""
    return one["value"] is None or one["status"] == "refused"


def claims_section(
    subject: Subject, test: Predictions | None, X_test: PointsLike, found: Validation | None
) -> Section:
    """Say what may be claimed of the model for rows that nobody has seen."""
    section = Section("What may be claimed", "claims")
    solution = getattr(subject.machine, "solution_", None)
    if solution is not None and not solution.converged:
        return section.warn("Nothing may be claimed of a fit that has not converged.")
    if subject.n <= MAX_ROWS_MEASURED and not hasattr(subject.machine, "members_"):
        kept = (X_test, test.y) if test is not None else ()
        said = capacity_report(subject.model, subject.X, subject.y, *kept, cv=None)
        section.lead(said.sentence())
        rows = [
            (one["bound"], one["status"], one["why"], "" if _unsaid(one) else one["value"])
            for one in said.records()
        ]
        section.table(f"Bounds on the {said.unit}", ("bound", "status", "why", "value"), rows, 3)
        for finding in said.audit.findings:
            section.say(finding)
        return section
    if test is not None and subject.classifies:
        m, wrong = len(test.y), float(np.mean(test.predicted != test.y))
        section.lead(
            f"With probability 95 % the error rate on new rows of the same kind is at most "
            f"{number(min(wrong + hoeffding(m), 1.0))}: {number(wrong)} on "
            f"{plural(m, 'test row')}, and {number(hoeffding(m))} for chance (Hoeffding)."
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
