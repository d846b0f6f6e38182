"""What views share: large pictures, rows that are drawn, and words for cells."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mercer._typing import AnyArray
from mercer.plotting.base import Figure
from mercer.plotting.inline import inline_svg, page_style
from mercer_studio.reporting.page import Section, number

__all__ = [
    "MAX_PANELS",
    "MAX_POINTS",
    "association",
    "label",
    "picture",
    "say_rows",
    "shown_cell",
    "some_rows",
    "target_values",
    "try_picture",
]

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


def target_values(question: Any) -> AnyArray:
    """Return the targets as one column: of survival the times."""
    return np.asarray(question.y[:, 0] if question.task == "survival" else question.y)


def association(column: pd.Series, y: AnyArray) -> float:
    """Return the size of the rank correlation of a column and codes of the target."""
    rows = some_rows(len(column), 5000)
    codes = y[rows] if y.dtype.kind in "iufb" else np.unique(y[rows], return_inverse=True)[1]
    found = column.iloc[rows].reset_index(drop=True).rank().corr(pd.Series(codes).rank())
    return 0.0 if np.isnan(found) else abs(float(found))
