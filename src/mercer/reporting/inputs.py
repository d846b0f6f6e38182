"""The section on data: rows, columns, missing cells, categories, the target, preprocessing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._typing import AnyArray
from mercer.plotting import panels
from mercer.reporting.page import Section, number
from mercer.reporting.subject import Subject
from mercer.reporting.words import plural

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
        steps = ", then ".join(f"{name}: {_short(step)}" for name, step in subject.transformers)
        yield f"Before the machine sees a row, it passes {steps}."
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


def _short(step: object) -> str:
    text = " ".join(repr(step).split())
    return text if len(text) < 300 else text[:299] + "…"
