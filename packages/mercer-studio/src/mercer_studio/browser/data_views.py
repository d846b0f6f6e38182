"""Views of data: rows, columns, gaps, clouds."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mercer._typing import AnyArray
from mercer._words import plural
from mercer.plotting import panels
from mercer.plotting.base import Figure
from mercer.plotting.inline import inline_svg, page_style
from mercer_studio.browser.steps import Preparation
from mercer_studio.cli.preparation import typed
from mercer_studio.cli.tables import Read
from mercer_studio.reporting.page import Section, number

MAX_POINTS = 1500
"""Points of a picture; of larger samples so many are drawn at random."""

MAX_PANELS = 12
"""Small pictures beside each other."""


def picture(
    section: Section,
    caption: str,
    alt: str,
    paint: Callable[[Any], object],
    size: tuple[float, float] = (7.2, 4.3),
    grid: tuple[int, int] | None = None,
) -> Section:
    """Add a large figure; with a grid the function draws on all its axes, else on one."""
    with page_style():
        figure = Figure(figsize=size, layout="constrained")
        axes: Any = figure.subplots() if grid is None else figure.subplots(*grid, squeeze=False)
        paint(axes if grid is None else axes.ravel())
        svg = inline_svg(figure, alt, f"{section.anchor}{len(section.parts)}")
    text = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    section.parts.append(f'<figure class="large">{svg}{text}</figure>')
    return section


def some_rows(n: int, most: int) -> NDArray[np.intp]:
    """Return at most so many rows, drawn at random, ascending."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def label(ax: Any, x: str, y: str) -> None:
    """Name both axes; a dollar in a name is a dollar, no formula."""
    ax.set_xlabel(x, parse_math=False)
    ax.set_ylabel(y, parse_math=False)


def say_rows(section: Section, shown: int, n: int) -> None:
    """Say how many rows are drawn, if not all are."""
    if shown < n:
        section.say(f"{number(shown)} of {number(n)} rows are drawn, chosen at random.")


def try_picture(section: Section, *what: Any) -> None:
    """Add a picture, or say why there is none."""
    try:
        picture(section, *what)
    except (ValueError, AttributeError, NotImplementedError) as error:
        section.say(f"{what[1]}: {' '.join(str(error).split())}")


def shown_cell(value: Any) -> object:
    """Return what is shown for a cell."""
    if value is None or value is pd.NaT or value != value:
        return "—"
    return value if isinstance(value, int | float | bool | np.generic) else str(value)[:40]


def association(column: pd.Series, y: AnyArray) -> float:
    """Return the size of the rank correlation of a column and codes of the target."""
    rows = some_rows(len(column), 5000)
    codes = y[rows] if y.dtype.kind in "iufb" else np.unique(y[rows], return_inverse=True)[1]
    found = column.iloc[rows].reset_index(drop=True).rank().corr(pd.Series(codes).rank())
    return 0.0 if np.isnan(found) else abs(float(found))


PANEL_POINTS = 250
"""Points of a small picture."""


def view_rows(options: dict[str, Any], table: Read) -> Section:
    """Show the first rows, and what every column is."""
    frame = table.frame
    assert frame is not None
    section = Section("Table", "rows")
    gaps = int(frame.isna().sum().sum())
    missing = f"; {plural(gaps, 'cell')} empty" if gaps else "; no empty cells"
    section.say(f"{plural(len(frame), 'row')}, {plural(frame.shape[1], 'column')}{missing}.")
    for note in table.notes:
        section.warn(note)
    for name in table.left_out:
        section.warn(f"{name} holds nested values and is left out.")
    head = [str(name) for name in frame.columns[:14]]
    top = frame.iloc[: options["rows"], :14]
    shown = [[k + 1, *(shown_cell(v) for v in row)] for k, row in enumerate(top.to_numpy(object))]
    more = "" if frame.shape[1] <= 14 else f", first 14 of {frame.shape[1]} columns"
    section.table(f"First {len(top)} rows{more}", ["row", *head], shown, words=0)
    return section


def view_columns(options: dict[str, Any], prepared: Preparation) -> Section:
    """List columns, what is done with each, and how its values are spread."""
    question = prepared.question
    plan, X = question.plan, question.X
    assert plan is not None
    section = Section("Columns", "columns")
    for note in prepared.notes:
        section.warn(note)
    section.table(
        "What every column is taken for",
        ("column", "kind", "range, or why it is left out", "empty cells", "different values"),
        [(one.name, one.kind, one.why, one.missing, one.distinct) for one in plan.columns],
        words=3,
    )
    read = typed(X, plan.used, plan.readings)
    drawn = []
    if question.y is not None:
        drawn.append(_spread(question.target, np.asarray(question.y), "target"))
    for name in [n for n in plan.used if plan.used[n] in ("number", "category")]:
        drawn.append(_spread(name, read[name].to_numpy(), plan.used[name]))
    if len(drawn) > MAX_PANELS:
        section.say(f"The first {MAX_PANELS} of {len(drawn)} columns are drawn.")
    return section.figures(*drawn[:MAX_PANELS])


def _spread(name: str, values: AnyArray, kind: str) -> tuple[str, str, Callable[[Any], object]]:
    """Return caption, description and drawing of how a column's values are spread."""
    known = values[~pd.isna(values)]
    if values.dtype.kind in "iufb" and len(np.unique(known[:20000])) > 10:
        some = known[some_rows(len(known), 20_000)].astype(float)
        low, middle, high = (number(float(q)) for q in np.quantile(some, [0.05, 0.5, 0.95]))
        caption = f"{name}: median {middle}, nine of ten between {low} and {high}"
        return caption, f"Histogram. {caption}", lambda ax: panels.histogram(ax, some, name)
    words, counts = np.unique(known.astype(str), return_counts=True)
    order = np.argsort(-counts, kind="stable")[:12]
    labels = [str(words[i])[:18] for i in order]
    more = f", the {len(order)} most frequent" if len(words) > len(order) else ""
    caption = f"{name}: {plural(len(words), 'value')}{more}"
    return caption, f"Bars. {caption}", lambda ax: panels.bars(ax, labels, counts[order], "rows")


def view_gaps(options: dict[str, Any], prepared: Preparation) -> Section:
    """Draw which cells are empty."""
    question = prepared.question
    section = Section("Gaps", "gaps")
    assert question.plan is not None
    X = typed(question.X, question.plan.used, question.plan.readings)
    empty = X.isna().to_numpy()
    counts = empty.sum(axis=0)
    if not counts.any():
        return section.lead("No cell of the columns that are used is empty.")
    whole = int(np.sum(~empty.any(axis=1)))
    section.lead(
        f"{plural(int(counts.sum()), 'cell')} empty; {number(whole)} of {plural(len(X), 'row')} "
        "have none."
    )
    order = np.argsort(-counts, kind="stable")[:25]
    names = [str(X.columns[j])[:20] for j in order]
    rows = some_rows(len(X), 400)
    drawn = empty[np.ix_(rows, order)]
    drawn = drawn[np.lexsort(drawn.T[::-1])[::-1]]

    def paint(axes: Any) -> None:
        left, right = axes
        panels.bars(left, names, counts[order] / len(X) * 100.0, "empty cells in %")
        for j, column in enumerate(drawn.T):
            at = np.flatnonzero(column)
            right.scatter(np.full(len(at), j), at, marker="s", s=3.0, color="C1", lw=0.0)
        right.set_xlim(-0.5, len(order) - 0.5)
        right.set_ylim(len(rows), 0)
        right.set_xticks(range(len(names)), names, rotation=60, ha="right", parse_math=False)
        label(right, "", "rows, like ones together")

    height = 2.6 + 0.16 * len(order)
    return picture(
        section,
        "Left, the share of empty cells of each column. Right, a mark for each: columns that are "
        "empty together lie beside each other.",
        "Empty cells by column and by row",
        paint,
        (9.0, height),
        (1, 2),
    )


def view_cloud(options: dict[str, Any], prepared: Preparation) -> Section:
    """Draw every column against the target."""
    question = prepared.question
    section = Section("Clouds", "cloud")
    assert question.plan is not None
    X = typed(question.X, question.plan.used, question.plan.readings)
    numbers = [n for n in question.plan.used if question.plan.used[n] == "number"]
    rows = some_rows(len(X), PANEL_POINTS)
    if not numbers:
        return section.say("There are no columns of numbers to draw.")
    y = np.asarray(question.y)
    strength = {name: association(X[name], y) for name in numbers}
    order = sorted(numbers, key=lambda name: -strength[name])[:MAX_PANELS]
    drawn = [
        _against(X[name].to_numpy(float), y, name, question.target, rows, question.task)
        for name in order
    ]
    section.say(
        "Columns whose rank correlation with the target is largest come first; what curves, or "
        "depends on other columns, may come late."
    )
    say_rows(section, len(rows), len(X))
    return section.figures(*drawn)


def _against(
    x: NDArray[np.float64], y: AnyArray, name: str, target: str, rows: NDArray[np.intp], task: str
) -> tuple[str, str, Callable[[Any], object]]:
    def numbers(ax: Any) -> None:
        ax.scatter(x[rows], y[rows].astype(float), s=9.0, color="C0", alpha=0.6, lw=0.0)
        label(ax, name, target)

    def classes(ax: Any) -> None:
        labels = np.unique(y)[:8]
        known = [x[(y == one) & ~np.isnan(x)] for one in labels]
        ax.boxplot(known, orientation="horizontal", showfliers=False, widths=0.6)
        ax.set_yticks(
            np.arange(len(labels)) + 1, [str(one)[:14] for one in labels], parse_math=False
        )
        label(ax, name, target)

    paint = classes if task == "classification" else numbers
    caption = f"{target} and {name}"
    return caption, caption, paint
