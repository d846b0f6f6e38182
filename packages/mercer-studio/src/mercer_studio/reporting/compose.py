"""A report of a fitted model: one page, in one file, to be shown to a colleague."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from mercer._typing import PointsLike, SplitterLike, TargetsLike
from mercer_studio.reporting.page import Page, Section, number, percent, plural, seconds
from mercer_studio.reporting.script import script_section
from mercer_studio.reporting.sections import (
    certificate_section,
    cost_section,
    data_section,
    effects_section,
    influence_section,
    kernel_section,
    machine_section,
    tuning_section,
)
from mercer_studio.reporting.subject import Subject, subject_of
from mercer_studio.reporting.validation import (
    claims_section,
    errors_section,
    headlines,
    out_of_fold,
    predictions_of,
    validate,
    validation_section,
)


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A page about a fitted model, from :func:`report`; notebooks show it.

    Attributes
    ----------
    html : str
        The page. It asks nobody for anything and runs no script.
    title : str
    scores : dict from str to float
        Cross-validated measures.
    seconds : float
        Time that the report took.
    """

    html: str
    title: str
    scores: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, and return its path.

        Parameters
        ----------
        path : str or path
            Such as ``"report.html"``.
        """
        target = Path(path)
        target.write_text(self.html, encoding="utf-8")
        return target

    def __repr__(self) -> str:
        known = ", ".join(f"{name} {value:.3g}" for name, value in self.scores.items())
        return f"<{self.title}{f': {known}' if known else ''}; save('report.html') writes the page>"

    def _repr_html_(self) -> str:
        # In a frame, so that neither style reaches the other.
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="{escape(self.title)}" '
            'style="width: 100%; height: 80vh; border: 0"></iframe>'
        )


def report(
    model: object,
    X: PointsLike,
    y: TargetsLike,
    X_test: PointsLike = None,
    y_test: TargetsLike = None,
    *,
    title: str | None = None,
    target: str | None = None,
    cv: SplitterLike = 5,
    max_time: float | None = 6.0,
    max_rows: int = 3000,
    random_state: int = 0,
) -> Report:
    r"""Describe a fitted model on one self-contained page that can be shown to a colleague.

    The page begins with the effect of every input and with nested cross-validation

    .. math:: \frac1n \sum_k \sum_{i \in \text{fold } k} l\bigl(y_i, f^{(-k)}(x_i)\bigr)

    in which every fold repeats tuning and preprocessing, residuals or ROC and calibration, and the
    most influential rows. It goes on with the data and their preprocessing, the machine, its
    certificate in words, what the kernel keeps and removes, what was tried in tuning, what may be
    claimed, times and memory, and the script that repeats the fit.

    Parameters
    ----------
    model : fitted regressor or classifier
        Of this library, or a pipeline or search around it. A result of
        :func:`mercer.selection.tune` stands for its best estimator.
    X, y : data frame, array or sparse matrix, and (n,) array
        The sample that the model was fitted to.
    X_test, y_test : the same, optional
        Rows that were kept apart; guarantees come from them.
    title : str, optional
    target : str, optional
        What is predicted; by default the name of `y`.
    cv : int, splitter, iterable or None, default=5
        How rows are divided; ``TimeSeriesSplit()`` for series. None leaves the validation out.
    max_time : float or None, default=6.0
        Seconds for the two parts that take long, two thirds for cross-validation and a third for
        effects of inputs: it decides how many rows they use, and the page says how many.
        Without a limit the page does not depend on the speed of the machine.
    max_rows : int, default=3000
        Largest number of rows for cross-validation.
    random_state : int, default=0
        Which rows are drawn, and folds.

    Returns
    -------
    Report
        ``.html``, ``.save(path)``; notebooks show the page.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.random.default_rng(0).uniform(-2.0, 2.0, size=(100, 2))
    >>> y = np.sin(2.0 * X[:, 0]) + 0.2 * X[:, 1]
    >>> page = mercer.report(mercer.LSSVR(C=100.0).fit(X, y), X, y, target="height")
    >>> page.title, round(page.scores["R²"], 1)
    ('LSSVR predicts height', 1.0)
    >>> page.save("report.html")  # doctest: +SKIP
    """
    began = time.perf_counter()
    if (X_test is None) != (y_test is None):
        raise ValueError("give X_test and y_test together, or neither.")
    if hasattr(model, "best_estimator_") and not hasattr(model, "predict"):
        model = _SearchResult(model)
    subject = subject_of(getattr(model, "fitted", model), X, y, target, random_state)
    if isinstance(model, _SearchResult):
        subject.layers.insert(0, model)
    classes = subject.classes if subject.classifies else None
    limits = (None, None) if max_time is None else (max_time * 2 / 3, max_time / 3)
    judged = None if cv is None else validate(subject, cv, limits[0], max_rows)
    test = (
        None
        if y_test is None
        else predictions_of(subject.model, X_test, np.ravel(np.asarray(y_test)), classes)
    )
    some = subject.some(1000)
    if judged is not None:
        drawn, whose = judged.answers, "rows in the folds of the cross-validation"
    elif test is not None:
        drawn, whose = test, "test rows"
    else:
        drawn = predictions_of(subject.model, subject.rows(some), subject.y[some], classes)
        whose = "rows of the fit, which look better than new ones"
    parts: list[Section | None] = [
        effects_section(subject, limits[1]),
        validation_section(subject, judged, test),
        errors_section(subject, drawn, whose),
        influence_section(subject, judged, limits[1]),
        data_section(subject),
        machine_section(subject),
        certificate_section(subject),
        kernel_section(subject),
        tuning_section(subject),
        claims_section(subject, test, judged),
        cost_section(subject),
        script_section(subject),
    ]
    scores = headlines(subject, judged)
    spent = time.perf_counter() - began
    name = title or f"{type(subject.machine).__name__} predicts {subject.target}"
    page = Page(
        title=name,
        under=f"A report on {plural(subject.n, 'row')} and {plural(len(subject.names), 'input')}, "
        f"written in {seconds(spent)}.",
        glance=_glance(subject, scores),
        sections=[part for part in parts if part is not None],
    )
    return Report(html=page.html, title=name, scores=scores, seconds=spent)


class _SearchResult:
    """The result of a search that does not predict, with the estimator that it chose."""

    def __init__(self, search: Any) -> None:
        self.fitted, self.tuning_ = search.best_estimator_, search


def _glance(subject: Subject, scores: dict[str, float]) -> list[tuple[str, str]]:
    tiles = [("rows", number(subject.n)), ("inputs", number(len(subject.names)))]
    if scores:
        name, value = next(iter(scores.items()))
        how = "cross-validated" if out_of_fold(subject) is None else "out of fold"
        tiles.append((f"{name}, {how}", f"{value:.3g}"))
        second = [k for k in ("RMSE", "area under ROC", "log loss") if k in scores]
        if second:
            tiles.append((second[0], number(scores[second[0]])))
        if "share inside intervals" in scores:
            inside = scores["share inside intervals"]
            tiles.append(("inside 90 % intervals", f"{100 * inside:.0f} %"))
    solution = getattr(subject.machine, "solution_", None)
    if solution is not None and np.isfinite(solution.gap):
        tiles.append(("from the optimum, at most", percent(solution.relative_gap)))
    support = getattr(subject.machine, "support_", None)
    if support is not None and not getattr(subject.machine, "approximation", None):
        tiles.append(("support vectors", number(len(support))))
    return tiles
