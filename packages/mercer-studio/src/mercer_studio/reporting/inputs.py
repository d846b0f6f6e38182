"""The section on data: rows, columns, missing cells, categories, the target, preprocessing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from mercer._typing import AnyArray
from mercer.plotting import panels
from mercer.preprocessing.leakage import leaks_of
from mercer_studio.reporting.page import Section, number
from mercer_studio.reporting.subject import Subject
from mercer_studio.reporting.words import first_sentence, plural

__all__ = ["data_section"]

MAX_COLUMNS_LISTED, MAX_ROWS = 40, 20_000
"""Columns of the table, and rows from which middles and histograms are taken."""


def data_section(subject: Subject) -> Section:
    """Describe the sample, and what happens to it before it reaches the machine."""
    section = Section("Data and preprocessing", "data")
    p, rows = len(subject.names), subject.some(MAX_ROWS)
    described = [_described(subject, j) for j in range(min(p, MAX_COLUMNS_LISTED))]
    gaps = sum(row[2] for row in described)
    cells = f"{number(gaps)} missing cells" if gaps else "no missing cells"
    part = f" among the first {MAX_COLUMNS_LISTED} columns" if p > MAX_COLUMNS_LISTED else ""
    words = sum(row[1] == "category" for row in described)
    section.say(
        f"{plural(subject.n, 'row')} and {plural(p, 'input')}"
        f"{f', {words} of them categories' if words else ''}; {cells}{part}.",
        f"The target is {subject.target}.",
    )
    few = "" if subject.n <= MAX_ROWS else f"; medians of {number(MAX_ROWS)} rows drawn at random"
    head = ("input", "kind", "missing", "least", "median", "largest", "values")
    section.table(f"Inputs{few}", head, described, words=2)
    if p > MAX_COLUMNS_LISTED:
        section.say(f"{p - MAX_COLUMNS_LISTED} further inputs are not listed.")
    y = subject.y[rows]
    if subject.classifies:
        names, counts = np.unique(subject.y, return_counts=True)
        order = np.argsort(-counts)[:15]
        labels = [str(names[i])[:24] for i in order]
        shares = counts[order] / subject.n
        drawn = ", ".join(f"{a} {100 * s:.1f} %" for a, s in zip(labels, shares, strict=True))
        caption = f"Classes of {subject.target}"
        section.figures(
            (
                caption,
                f"{caption}: {drawn}",
                lambda ax: panels.bars(ax, labels, counts[order], "rows"),
            )
        )
    else:
        low, middle, high = (number(q) for q in np.quantile(y.astype(float), [0.05, 0.5, 0.95]))
        caption = f"{subject.target}: median {middle}, nine of ten between {low} and {high}"
        section.figures(
            (caption, f"Histogram. {caption}", lambda ax: panels.histogram(ax, y, subject.target))
        )
    for sentence in _preprocessing(subject):
        section.say(sentence)
    with suppress(TypeError, ValueError):  # of inputs that are sparse, or no table
        for sentence in leaks_of(subject.X, subject.y):
            section.warn(sentence)
    return section


def _described(subject: Subject, j: int) -> tuple[Any, ...]:
    """Return name, kind, missing cells, least, median, largest and number of values of a column."""
    values = subject.column(j)
    name = subject.names[j]
    if values.dtype.kind in "iufb":
        numbers = values.astype(float)
        gaps = np.isnan(numbers)
        known = numbers[~gaps]
        some = known[:: max(len(known) // MAX_ROWS, 1)]
        ends = (known.min(), np.median(some), known.max()) if len(known) else ("", "", "")
        kinds = "yes/no" if values.dtype.kind == "b" else "number"
        return name, kinds, int(gaps.sum()), *ends, _different(some)
    if values.dtype.kind == "M":
        gaps = np.isnat(values)
        ends = (str(values[~gaps].min())[:10], "", str(values[~gaps].max())[:10])
        return name, "date", int(gaps.sum()), *ends, _different(values[~gaps])
    known = np.array([str(value) for value in values if _known(value)])
    words, counts = np.unique(known, return_counts=True)
    first = f"mostly {words[np.argmax(counts)]}" if len(words) else ""
    return name, "category", len(values) - len(known), "", first, "", len(words)


def _known(value: object) -> bool:
    # What is missing is None or differs from itself; NA of pandas is neither true nor false.
    return value is not None and str(value) not in ("<NA>", "nan", "NaT")


def _different(values: AnyArray) -> str:
    count = len(np.unique(values))
    return number(count) if count < MAX_ROWS else f"{number(MAX_ROWS)} or more"


def _preprocessing(subject: Subject) -> Iterator[str]:
    if subject.transformers:
        said = [step_in_words(step) for _, step in subject.transformers]
        steps = [words for words in said if words != f"all inputs: {AS_THEY_ARE}"]
        yield (
            f"Before the machine sees a row: {'; then '.join(steps)}."
            if steps
            else "The machine sees the columns as they are."
        )
    if subject.found("standardize") is True:
        yield "The machine divides every input by its standard deviation."
    encoder = subject.found("encoder_")
    if encoder is not None:
        yield (
            "Categories are compared by equality; missing numbers become medians and are marked as "
            "missing; columns are scaled by length scales that the machine learns."
        )
        dropped = getattr(encoder, "dropped_", {})
        if dropped:
            reasons = "; ".join(f"{name} ({why})" for name, why in dropped.items())
            yield f"Left out: {reasons}."
    elif not subject.transformers and not subject.found("standardize"):
        yield "The machine sees the rows as they are, without scaling."


STEPS = {
    "StandardScaler": "numbers are centred and divided by their standard deviation",
    "Scaler": "numbers are centred and divided by their standard deviation",
    "MinMaxScaler": "numbers are scaled to the range from 0 to 1",
    "RobustScaler": "numbers are centred on their median and divided by their quartile range",
    "RankNormalizer": "numbers are replaced by the normal scores of their ranks",
    "QuantileTransformer": "numbers are replaced by their quantiles",
    "OneHotEncoder": "every category becomes a column of 0 and 1",
    "OrdinalEncoder": "categories become whole numbers",
    "DateEncoder": "dates become days and their places in the day, the week and the year",
    "TableEncoder": "words become codes, dates days, and gaps are filled and marked",
    "PCA": "inputs are replaced by principal components",
}
"""What steps of a pipeline do, by the names of their classes."""

AS_THEY_ARE = "passed on as they are"
"""What happens to columns that no step changes."""

MAX_NAMES_SAID = 4
"""Columns that a sentence names."""


def step_in_words(step: Any) -> str:
    """Return what a step of a pipeline does.

    Examples
    --------
    >>> from sklearn.impute import SimpleImputer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> step_in_words(make_pipeline(SimpleImputer(strategy="median"), StandardScaler()))
    'gaps are filled with the median, numbers are centred and divided by their standard deviation'
    """
    if hasattr(step, "transformers_"):
        parts = [
            f"{_named(step, columns)}: {step_in_words(inner)}"
            for _, inner, columns in step.transformers_
            if not (isinstance(inner, str) and inner == "drop") and len(_of(step, columns))
        ]
        return "; ".join(parts)
    if hasattr(step, "steps"):
        return ", ".join(step_in_words(inner) for _, inner in step.steps)
    if isinstance(step, str) or getattr(step, "func", step) is None:
        return AS_THEY_ARE
    name = type(step).__name__
    if name == "SimpleImputer":
        how = {"most_frequent": "most frequent value", "constant": "constant"}
        return f"gaps are filled with the {how.get(step.strategy, step.strategy)}"
    return STEPS.get(name) or f"{name} ({first_sentence(step).rstrip('.')})"


def _of(step: Any, columns: Any) -> list[str]:
    """Return the names of the columns that a part of a ColumnTransformer reads."""
    names = [str(one) for one in getattr(step, "feature_names_in_", [])] or [
        f"x{j}" for j in range(step.n_features_in_)
    ]
    if isinstance(columns, slice):
        return names[columns]
    if isinstance(columns, str | int):
        columns = [columns]
    if len(columns) and isinstance(columns[0], bool | np.bool_):
        return [name for name, chosen in zip(names, columns, strict=True) if chosen]
    return [one if isinstance(one, str) else names[one] for one in columns]


def _named(step: Any, columns: Any) -> str:
    names = _of(step, columns)
    if len(names) == step.n_features_in_ and len(names) > 1:
        return "all inputs"
    if len(names) <= MAX_NAMES_SAID:
        return ", ".join(names)
    return f"{', '.join(names[: MAX_NAMES_SAID - 1])} and {len(names) - MAX_NAMES_SAID + 1} others"
