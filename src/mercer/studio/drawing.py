"""Views: what a stage gave, as words, tables and the figures of :mod:`mercer.plotting`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mercer._sklearn import safe_indexing
from mercer._typing import AnyArray, PointsLike
from mercer._words import plural
from mercer.cli.models import Model
from mercer.cli.preparation import typed
from mercer.cli.refusals import Refusal
from mercer.cli.tables import Read
from mercer.estimators import LSSVR
from mercer.plotting import (
    ComponentDisplay,
    ConvergenceDisplay,
    CriterionDisplay,
    DifferogramDisplay,
    EvolutionDisplay,
    FitDisplay,
    LatentMapDisplay,
    ShapeDisplay,
    SurvivalCalibrationDisplay,
    SurvivalDisplay,
    panels,
)
from mercer.plotting.base import Figure
from mercer.plotting.inline import inline_svg, page_style
from mercer.reporting.fits import certificate_section, cost_section, machine_section
from mercer.reporting.page import Section, number
from mercer.reporting.reading import effects_section, influence_section, kernel_section
from mercer.reporting.verdict import claims_section, errors_section, validation_section
from mercer.studio.steps import Fitted, Judged, Prepared, Searched, cells, subject

__all__ = ["TASKS", "VIEWS", "View", "available", "draw"]

TASKS = ("regression", "classification", "survival", "structure")

MAX_POINTS = 1500
"""Points of a picture; of larger samples so many are drawn at random."""

MAX_PANELS, PANEL_POINTS = 12, 250
"""Small pictures beside each other, and points of each."""

SECONDS = 1.2
"""For a view that averages over rows: it decides how many rows it uses."""

MAX_PAIRS_ROWS = 400
"""Rows whose pairs make a differogram."""


@dataclass(frozen=True)
class View:
    """A view of what stages gave.

    Parameters
    ----------
    title, said : str
        Its name, and what it shows in a sentence.
    inputs : tuple of str
        Stages whose values it takes.
    draw : callable
        From options and these values to a section.
    tasks : tuple of str
        Tasks that have it.
    options : dict
        Its options at the beginning.
    """

    title: str
    said: str
    inputs: tuple[str, ...]
    draw: Callable[..., Section]
    tasks: tuple[str, ...] = TASKS
    options: Mapping[str, Any] = field(default_factory=dict)


def draw(name: str, options: dict[str, Any], *values: Any) -> str:
    """Return a view as a part of a page.

    Parameters
    ----------
    name : str
        A key of :data:`VIEWS`.
    options : dict
        Its options.
    *values : object
        Of the stages that it takes.
    """
    view = VIEWS[name]
    section = view.draw(options, *values)
    return "".join(section.parts)


def available(task: str | None) -> list[str]:
    """Return the views that a task has.

    Parameters
    ----------
    task : str or None
        None before it is known.
    """
    return [
        name
        for name, view in VIEWS.items()
        if view.inputs == ("data",) or (task is not None and task in view.tasks)
    ]


# Pictures -----------------------------------------------------------------------------------------


def _picture(
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


def _some(n: int, most: int) -> NDArray[np.intp]:
    """Return at most so many rows, drawn at random, ascending."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def _label(ax: Any, x: str, y: str) -> None:
    ax.set_xlabel(x, parse_math=False)
    ax.set_ylabel(y, parse_math=False)


def _rows_said(section: Section, shown: int, n: int) -> None:
    if shown < n:
        section.say(f"{number(shown)} of {number(n)} rows are drawn, chosen at random.")


# Views of data ------------------------------------------------------------------------------------


def _first_rows(options: dict[str, Any], table: Read) -> Section:
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
    shown = [[k + 1, *(_cell(v) for v in row)] for k, row in enumerate(top.to_numpy(object))]
    more = "" if frame.shape[1] <= 14 else f", first 14 of {frame.shape[1]} columns"
    section.table(f"First {len(top)} rows{more}", ["row", *head], shown, words=0)
    return section


def _cell(value: Any) -> object:
    if value is None or value is pd.NaT or value != value:
        return "—"
    return value if isinstance(value, int | float | bool | np.generic) else str(value)[:40]


def _columns(options: dict[str, Any], prepared: Prepared) -> Section:
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
        drawn.append(_spread(question.target, _target_values(question), "target"))
    for name in [n for n in plan.used if plan.used[n] in ("number", "category")]:
        drawn.append(_spread(name, read[name].to_numpy(), plan.used[name]))
    if len(drawn) > MAX_PANELS:
        section.say(f"The first {MAX_PANELS} of {len(drawn)} columns are drawn.")
    return section.figures(*drawn[:MAX_PANELS])


def _target_values(question: Any) -> AnyArray:
    return np.asarray(question.y[:, 0] if question.task == "survival" else question.y)


def _spread(name: str, values: AnyArray, kind: str) -> tuple[str, str, Callable[[Any], object]]:
    """Return caption, description and drawing of how a column's values are spread."""
    known = values[~pd.isna(values)]
    if values.dtype.kind in "iufb" and len(np.unique(known[:20000])) > 10:
        some = known[_some(len(known), 20_000)].astype(float)
        low, middle, high = (number(float(q)) for q in np.quantile(some, [0.05, 0.5, 0.95]))
        caption = f"{name}: median {middle}, nine of ten between {low} and {high}"
        return caption, f"Histogram. {caption}", lambda ax: panels.histogram(ax, some, name)
    words, counts = np.unique(known.astype(str), return_counts=True)
    order = np.argsort(-counts, kind="stable")[:12]
    labels = [str(words[i])[:18] for i in order]
    more = f", the {len(order)} most frequent" if len(words) > len(order) else ""
    caption = f"{name}: {plural(len(words), 'value')}{more}"
    return caption, f"Bars. {caption}", lambda ax: panels.bars(ax, labels, counts[order], "rows")


def _gaps(options: dict[str, Any], prepared: Prepared) -> Section:
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
    rows = _some(len(X), 400)
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
        _label(right, "", "rows, like ones together")

    height = 2.6 + 0.16 * len(order)
    return _picture(
        section,
        "Left, the share of empty cells of each column. Right, a mark for each: columns that are "
        "empty together lie beside each other.",
        "Empty cells by column and by row",
        paint,
        (9.0, height),
        (1, 2),
    )


def _cloud(options: dict[str, Any], prepared: Prepared) -> Section:
    """Draw every column against the target, or pairs of columns where there is none."""
    question = prepared.question
    section = Section("Clouds", "cloud")
    assert question.plan is not None
    X = typed(question.X, question.plan.used, question.plan.readings)
    numbers = [n for n in question.plan.used if question.plan.used[n] == "number"]
    rows = _some(len(X), PANEL_POINTS)
    drawn: list[tuple[str, str, Callable[[Any], object]]] = []
    if question.y is None:
        pairs = list(pairwise(numbers))[:MAX_PANELS]
        drawn = [_pair(X, one, other, rows) for one, other in pairs]
    else:
        y = _target_values(question)
        strength = {name: _association(X[name], y) for name in numbers}
        order = sorted(numbers, key=lambda name: -strength[name])
        drawn = [
            _against(X[name].to_numpy(float), y, name, question.target, rows, question.task)
            for name in order[:MAX_PANELS]
        ]
        section.say(
            "Columns whose rank correlation with the target is largest come first; what curves, "
            "or depends on other columns, may come late."
        )
    if not drawn:
        return section.say("There are no columns of numbers to draw.")
    _rows_said(section, len(rows), len(X))
    return section.figures(*drawn)


def _association(column: pd.Series, y: AnyArray) -> float:
    """Return the size of the rank correlation of a column and codes of the target."""
    rows = _some(len(column), 5000)
    codes = y[rows] if y.dtype.kind in "iufb" else np.unique(y[rows], return_inverse=True)[1]
    found = column.iloc[rows].reset_index(drop=True).rank().corr(pd.Series(codes).rank())
    return 0.0 if np.isnan(found) else abs(float(found))


def _against(
    x: NDArray[np.float64], y: AnyArray, name: str, target: str, rows: NDArray[np.intp], task: str
) -> tuple[str, str, Callable[[Any], object]]:
    def numbers(ax: Any) -> None:
        ax.scatter(x[rows], y[rows].astype(float), s=9.0, color="C0", alpha=0.6, lw=0.0)
        _label(ax, name, target)

    def classes(ax: Any) -> None:
        labels = np.unique(y)[:8]
        known = [x[(y == one) & ~np.isnan(x)] for one in labels]
        ax.boxplot(known, orientation="horizontal", showfliers=False, widths=0.6)
        ax.set_yticks(
            np.arange(len(labels)) + 1, [str(one)[:14] for one in labels], parse_math=False
        )
        _label(ax, name, target)

    paint = classes if task == "classification" else numbers
    caption = f"{target} and {name}"
    return caption, caption, paint


def _pair(
    X: pd.DataFrame, one: str, other: str, rows: NDArray[np.intp]
) -> tuple[str, str, Callable[[Any], object]]:
    def paint(ax: Any) -> None:
        a, b = (X[name].to_numpy(float)[rows] for name in (one, other))
        ax.scatter(a, b, s=9.0, color="C0", alpha=0.6, lw=0.0)
        _label(ax, one, other)

    return f"{other} and {one}", f"Points of {one} and {other}", paint


def _differogram(options: dict[str, Any], prepared: Prepared) -> Section:
    """Draw differences of targets against distances, whose beginning is the noise."""
    question = prepared.question
    section = Section("Noise before any model", "differogram")
    assert question.plan is not None
    X = typed(question.X, question.plan.used, question.plan.readings)
    numbers = [n for n in question.plan.used if question.plan.used[n] == "number"]
    if not numbers:
        raise Refusal("a differogram needs columns of numbers.")
    values = X[numbers].to_numpy(float)
    whole = np.flatnonzero(~np.isnan(values).any(axis=1))
    if len(whole) < 20:
        raise Refusal("a differogram needs at least 20 rows without gaps.")
    rows = whole[_some(len(whole), MAX_PAIRS_ROWS)]
    Z = values[rows]
    Z = (Z - Z.mean(axis=0)) / np.where(Z.std(axis=0) > 0, Z.std(axis=0), 1.0)
    y = question.y[rows].astype(float)
    shown: dict[str, Any] = {}

    def paint(ax: Any) -> None:
        shown["display"] = DifferogramDisplay.from_data(Z, y, ax=ax)

    _picture(
        section,
        "Half the squared difference of two targets against the squared distance of their inputs, "
        "scaled. Where the curve meets the axis is the variance of the noise.",
        "Differogram",
        paint,
    )
    variance = float(shown["display"].fit.nugget)
    section.parts.insert(
        0,
        f'<p class="lead">{escape(question.target)} has noise of standard deviation about '
        f"{escape(number(np.sqrt(max(variance, 0.0))))}: no model of these columns predicts new "
        "rows much better.</p>",
    )
    _rows_said(section, len(rows), len(X))
    if len(numbers) > 6:
        section.say(
            f"With {len(numbers)} columns few rows are close to each other, so the curve reaches "
            "the axis from far away and the noise is overestimated."
        )
    return section


# Views of a model ---------------------------------------------------------------------------------


class _Whole:
    """A model that is asked for rows of the table, as displays ask a machine."""

    def __init__(self, model: Model, coverage: float | None) -> None:
        self.model, self.coverage = model, coverage

    def predict(self, X: PointsLike) -> AnyArray:
        return np.asarray(self.model.pipeline.predict(X))

    def __getattr__(self, name: str) -> Any:
        if name == "predict_interval":
            if self.coverage is None or not hasattr(self.model.machine, name):
                raise AttributeError(name)
            return lambda X: self.model.intervals(X, self.coverage or 0.9)
        if name in ("classes_", "decision_function"):
            return getattr(self.model.pipeline, name)
        if name in ("epsilon", "epsilon_", "support_"):
            return getattr(self.model.machine, name)
        raise AttributeError(name)


def _fit_picture(
    options: dict[str, Any], table: Read, prepared: Prepared, fitted: Fitted
) -> Section:
    """Draw the picture that belongs to a machine."""
    question = prepared.question
    if question.task == "structure":
        return _map(options, table, prepared, fitted)
    if question.task == "survival":
        return _survival(options, prepared, fitted)
    section = Section("Picture", "picture")
    model = fitted.model
    X = model.ready(question.X)
    used = question.plan.used if question.plan is not None else {}
    names = [n for n in used if used[n] == "number"]
    if not names:
        return section.say("There is no column of numbers along which a picture could be drawn.")
    chosen = [n for n in options["inputs"] if n in names] or _first_inputs(question, names, fitted)
    if question.task == "classification" and len(chosen) == 1:
        chosen += [n for n in names if n not in chosen][:1]
    if question.task == "classification" and len(chosen) < 2:
        return section.say("Regions of classes are drawn along two columns of numbers.")
    chosen = chosen[:2]
    rows = _some(len(question.y), MAX_POINTS)
    sample = safe_indexing(X, rows)
    target = pd.Series(question.y[rows], name=question.target)
    whole = _Whole(model, fitted.model.card.get("coverage"))
    mine = set(names) == set(chosen) and len(rows) == len(question.y) and len(used) == len(chosen)

    def paint(ax: Any) -> None:
        FitDisplay.from_estimator(whole, sample, target, features=chosen, support=mine, ax=ax)
        _label(ax, chosen[0], chosen[1] if len(chosen) == 2 else question.target)
        if len(chosen) == 2 and _same_unit(sample, chosen):
            ax.set_aspect("equal")

    others = len(used) - len(chosen)
    at = f" Other columns are held at their middles ({others} of them)." if others else ""
    band = ""
    if len(chosen) == 1 and hasattr(whole, "predict_interval"):
        share = 100 * (model.card.get("coverage") or 0.9)
        band = f" The band holds {share:.0f} of a hundred new observations."
    elif len(chosen) == 1 and hasattr(whole, "epsilon"):
        band = " The band is the tube, inside of which errors cost nothing."
    rings = " Rings are support vectors." if mine and len(rows) == len(question.y) else ""
    _picture(
        section,
        f"The fit along {' and '.join(chosen)}.{at}{band}{rings}",
        f"The fitted function along {' and '.join(chosen)}",
        paint,
        (7.2, 5.0) if len(chosen) == 2 else (7.2, 4.2),
    )
    _rows_said(section, len(rows), len(question.y))
    _own_pictures(section, prepared, fitted)
    return section


def _first_inputs(question: Any, names: Sequence[str], fitted: Fitted) -> list[str]:
    """Return the inputs that a picture is drawn along if nobody chose them."""
    shape = getattr(fitted.model.machine, "constraints", None)
    if isinstance(shape, dict):
        rising = [str(key).removeprefix("number__") for key in shape]
        if found := [name for name in rising if name in names]:
            return found[:1]
    if len(names) <= 2 and (len(names) == 2 or question.task == "regression"):
        return list(names)
    y = _target_values(question)
    X = typed(question.X, question.plan.used, question.plan.readings)
    order = sorted(names, key=lambda name: -_association(X[name], y))
    return order[: 1 if question.task == "regression" else 2]


def _same_unit(sample: Any, chosen: Sequence[str]) -> bool:
    """Return whether two columns look like coordinates of a map: spreads of like size."""
    a, b = (float(np.ptp(np.asarray(sample[name], dtype=float))) for name in chosen)
    places = {str(name).lower() for name in chosen}
    return 0.2 < a / (b or 1.0) < 5.0 and places <= {"x", "y", "lon", "lat", "east", "north"}


def _own_pictures(section: Section, prepared: Prepared, fitted: Fitted) -> None:
    """Add pictures that only some machines have: components, their path, active constraints."""
    question, model = prepared.question, fitted.model
    machine: Any = model.machine
    rows = _some(len(question.y), 300)
    Z = model.pipeline[:-1].transform(safe_indexing(model.ready(question.X), rows))
    if hasattr(machine, "components_") and hasattr(machine, "component_values"):
        count = min(len(machine.components_), 9)
        across = min(3, count)
        down = -(-count // across)

        def paint(axes: Any) -> None:
            for spare in axes[count:]:
                spare.remove()
            some = list(range(count))
            ComponentDisplay.from_estimator(
                machine, np.asarray(Z, dtype=float), components=some, ax=list(axes[:count])
            )

        _try(
            section,
            "The machine is a sum of these components, each of one column.",
            "Components of the fitted function",
            paint,
            (9.0, 2.6 * down),
            (down, across),
        )
    if hasattr(machine, "path_") or type(machine).__name__.startswith("Sparse"):
        _try(
            section,
            "Components as the penalty falls: which columns enter first.",
            "Evolution diagram",
            lambda ax: EvolutionDisplay.from_estimator(machine, ax=ax),
        )
    if hasattr(machine, "shape_certificate_"):
        names = [str(n) for n in model.pipeline[:-1].get_feature_names_out()]
        for key in list(getattr(machine, "constraints", {}) or {})[:3]:
            j = names.index(str(key))
            _try(
                section,
                f"Along {str(key).removeprefix('number__')} (scaled), with the places where the "
                "shape is what holds the curve, and what it costs the fit there.",
                f"The shape along {key}",
                lambda ax, j=j: ShapeDisplay.from_estimator(
                    machine, np.asarray(Z, dtype=float), feature=j, ax=ax
                ).ax_.legend(fontsize=8),
            )


def _try(section: Section, *what: Any) -> None:
    """Add a picture, or say why there is none."""
    try:
        _picture(section, *what)
    except (ValueError, AttributeError, NotImplementedError) as error:
        section.say(f"{what[1]}: {' '.join(str(error).split())}")


def _survival(options: dict[str, Any], prepared: Prepared, fitted: Fitted) -> Section:
    """Draw curves of survival of rows with short and long predicted times."""
    question, model = prepared.question, fitted.model
    section = Section("Picture", "picture")
    X, machine = model.ready(question.X), model.machine
    order = np.argsort(fitted.predictions, kind="stable")
    at = order[(np.array([0.05, 0.25, 0.5, 0.75, 0.95]) * (len(order) - 1)).astype(int)]
    Z = model.pipeline[:-1].transform(safe_indexing(X, at))
    names = [f"row {i + 1}" for i in at]

    def paint(ax: Any) -> None:
        SurvivalDisplay.from_estimator(machine, Z, y=question.y, names=names, ax=ax)
        _label(ax, question.target, f"probability to exceed {question.target}")
        ax.legend(fontsize=8)

    _picture(
        section,
        "Five rows, from the shortest to the longest predicted time, and everyone (dotted). A "
        "curve says with which probability a time is exceeded.",
        "Curves of survival",
        paint,
    )
    head = ["row", "predicted", *[str(c) for c in list(question.X.columns)[:8]]]
    shown = [
        [
            f"row {i + 1}",
            float(fitted.predictions[i]),
            *map(_cell, question.X.iloc[i].to_numpy(object)[:8]),
        ]
        for i in at
    ]
    section.table("These rows", head, shown)
    middle = float(np.median(question.y[:, 0]))
    everyone = model.pipeline[:-1].transform(X)
    _try(
        section,
        f"Calibration at {question.target} = {number(middle)}, on rows of the fit, which look "
        "better than new ones.",
        "Observed against predicted survival",
        lambda ax: SurvivalCalibrationDisplay.from_estimator(
            machine, everyone, question.y, time=middle, bins=5, ax=ax
        ),
    )
    return section


def _map(options: dict[str, Any], table: Read, prepared: Prepared, fitted: Fitted) -> Section:
    """Draw the rows at the coordinates that a map gives them."""
    question, machine = prepared.question, fitted.model.machine
    section = Section("Picture", "picture")
    Z = np.asarray(fitted.predictions, dtype=np.float64)
    rows = _some(len(Z), MAX_POINTS)
    frame, name = table.frame, options["colour"]
    known = frame is not None and name in frame.columns
    colour = np.asarray(frame[name])[rows] if frame is not None and known else None
    prepared_rows = fitted.model.pipeline[:-1].transform(fitted.model.ready(question.X))
    some = np.asarray(safe_indexing(prepared_rows, rows), dtype=float)
    if colour is not None and colour.dtype.kind not in "iufb":
        colour = colour.astype(str)
        if len(np.unique(colour)) > 10:
            section.say(f"{name} has more than ten values, too many for colours.")
            colour = None

    def paint(ax: Any) -> None:
        LatentMapDisplay.from_estimator(
            machine,
            some,
            colour,
            magnification=bool(options["magnification"]) and hasattr(machine, "magnification"),
            ax=ax,
        )

    by = f" Colours are {name}, which the map has not seen." if (
        colour is not None
    ) else ""  # fmt: skip
    _picture(
        section,
        f"Every point is a row; rows that are alike lie close to each other.{by}",
        "Map of the rows",
        paint,
        (7.2, 5.6),
    )
    _rows_said(section, len(rows), len(Z))
    return section


def _errors(options: dict[str, Any], prepared: Prepared, fitted: Fitted, judged: Judged) -> Section:
    """Show how well rows are predicted that had no part in the fit."""
    section = Section("Errors on new rows", "errors")
    if judged.validation is None:
        for name, value in judged.scores.items():
            section.lead(f"{name[:1].upper()}{name[1:]} {number(value)}")
        if "concordance" in judged.scores:
            section.say(
                "Of two rows of which it is known who comes first, so large a share is predicted "
                "in the right order; one half is guessing."
            )
        return section.say(f"{judged.said[:1].upper()}{judged.said[1:]}.")
    whole = subject(prepared, fitted)
    section.parts += validation_section(whole, judged.validation, None).parts
    section.parts += errors_section(
        whole, judged.validation.answers, "rows in the folds of the cross-validation"
    ).parts
    return section


def _effects(options: dict[str, Any], prepared: Prepared, fitted: Fitted) -> Section:
    return effects_section(subject(prepared, fitted), SECONDS)


def _influence(
    options: dict[str, Any], prepared: Prepared, fitted: Fitted, judged: Judged
) -> Section:
    return influence_section(subject(prepared, fitted), judged.validation, SECONDS)


def _kernel(options: dict[str, Any], prepared: Prepared, fitted: Fitted) -> Section:
    found = kernel_section(subject(prepared, fitted))
    if found is None:
        found = Section("What the kernel penalizes", "kernel")
        found.say(
            "The machine has no single kernel that could be read: it stacks several, or fits parts "
            "of the rows. Choose SVR, LSSVR or SVC to see what a kernel keeps and removes."
        )
    return found


def _certificate(
    options: dict[str, Any], searched: Searched, prepared: Prepared, fitted: Fitted
) -> Section:
    """Show how the fit came to its end, and how far it is from the optimum at most."""
    section = Section("Certificate", "certificate")
    inner = getattr(fitted.model.machine, "estimator_", fitted.model.machine)
    if prepared.question.task in ("regression", "classification"):
        whole = subject(prepared, fitted)
        section.parts += certificate_section(whole).parts
        section.parts += machine_section(whole).parts
        section.parts += cost_section(whole).parts
    else:
        for line in fitted.certificate:
            section.say(line)
        if not fitted.certificate:
            section.say(
                "The functional of this machine is not convex: no bound on the distance from the "
                "best map is known. It ended where no step improves it."
            )
    if hasattr(inner, "solution_") and getattr(inner.solution_, "history", None) is not None:
        _try(
            section,
            "The gap between what was reached and what cannot be undercut.",
            "Convergence",
            lambda ax: ConvergenceDisplay.from_estimator(inner, ax=ax),
        )
    return section


def _tuning(
    options: dict[str, Any], searched: Searched, prepared: Prepared, fitted: Fitted
) -> Section:
    """Show what a search tried, and the criterion around what it chose."""
    section = Section("Tuning", "tuning")
    trials = searched.trials
    if not trials:
        chosen = getattr(fitted.model.machine, "explain", None)
        if chosen is not None:
            section.say(
                "The machine chooses the hyperparameters of its parts in the fit, by the evidence "
                "and by leaving rows out; see the certificate for its parts."
            )
        else:
            section.say("Nothing was searched: give seconds for tuning to see trials here.")
    else:
        values = np.array([trial.value for trial in trials], dtype=float)
        best = int(np.argmin(values))
        section.lead(f"{plural(len(trials), 'trial')}; the best is number {best + 1}.")
        _picture(
            section,
            "The criterion of every trial; smaller is better.",
            "Criterion by trial",
            lambda ax: panels.descent(ax, values, best, "criterion"),
        )
        names = list(trials[best].parameters)
        shown = [
            [k + 1, trial.stage, *map(_cell, trial.parameters.values()), trial.rows, trial.value]
            for k in np.argsort(values, kind="stable")[:12]
            if (trial := trials[k]) and list(trial.parameters) == names
        ]
        section.table("The best trials", ["trial", "stage", *names, "rows", "criterion"], shown, 2)
    machine = fitted.model.machine
    question = prepared.question
    if isinstance(machine, LSSVR) and question.task == "regression" and len(question.y) <= 1000:
        Z = fitted.model.pipeline[:-1].transform(fitted.model.ready(question.X))
        rows = _some(len(question.y), 300)
        _try(
            section,
            "The left-out error over C and the width of the kernel, around what was chosen (300 "
            "rows at most).",
            "Surface of the criterion",
            lambda ax: CriterionDisplay.from_estimator(
                machine, np.asarray(Z, dtype=float)[rows], question.y[rows], ax=ax
            ),
            (7.2, 4.6),
        )
    return section


def _uncertainty(options: dict[str, Any], prepared: Prepared, fitted: Fitted) -> Section:
    """Draw the uncertainty of a least-squares machine in two ways: resampling and Bayes."""
    section = Section("Uncertainty in two ways", "uncertainty")
    question, model = prepared.question, fitted.model
    machine: Any = getattr(model.machine, "machine_", model.machine)
    ask = getattr(machine, "predict_interval", None)
    if ask is None or not isinstance(machine, LSSVR):
        return section.say(
            "Two ways to the same question are there for least-squares machines: choose LSSVR. "
            "Other machines have intervals from left-out rows, see the picture."
        )
    used = question.plan.used if question.plan is not None else {}
    names = [n for n in used if used[n] == "number"]
    chosen = [n for n in options["inputs"] if n in names] or _first_inputs(question, names, fitted)
    name = chosen[0]
    X = model.ready(question.X)
    rows = _some(len(question.y), MAX_POINTS)
    sample = safe_indexing(X, rows)
    column = np.asarray(sample[name], dtype=float)
    t = np.linspace(np.nanmin(column), np.nanmax(column), 120)
    middles = {
        n: sample[n].median() if used[n] == "number" else sample[n].mode().iloc[0] for n in used
    }
    line = pd.DataFrame({n: np.full(len(t), v) for n, v in middles.items()})
    line[name] = t
    Z = model.pipeline[:-1].transform(line[list(sample.columns)])
    f = np.ravel(machine.predict(Z))
    both = {
        "bootstrap": ask(Z, 0.9, method="bootstrap", of="function", random_state=0),
        "Bayes": ask(Z, 0.9, method="bayes", of="function"),
    }

    def paint(axes: Any) -> None:
        for ax, (word, ends) in zip(axes, both.items(), strict=True):
            ends = np.asarray(ends)
            ax.fill_between(t, ends[:, 0], ends[:, 1], color="C0", alpha=0.25, lw=0.0)
            ax.plot(t, f, color="C0", lw=2.0)
            ax.set_title(word, fontsize=10)
            _label(ax, name, question.target)
        low, high = (
            min(ax.get_ylim()[0] for ax in axes),
            max(ax.get_ylim()[1] for ax in axes),
        )
        for ax in axes:
            ax.set_ylim(low, high)

    widths = {w: float(np.mean(np.diff(np.asarray(e), axis=1))) for w, e in both.items()}
    section.lead(
        "The function lies in the band with probability 0.9; mean width "
        + " and ".join(f"{number(v)} by {w}" for w, v in widths.items())
        + "."
    )
    return _picture(
        section,
        "Left, errors drawn again from left-out ones. Right, the posterior of a Gaussian process "
        "with the same kernel. Other columns are held at their middles.",
        "Bands of the function by bootstrap and by Bayesian inference",
        paint,
        (9.0, 3.6),
        (1, 2),
    )


def _claims(options: dict[str, Any], prepared: Prepared, fitted: Fitted, judged: Judged) -> Section:
    whole = subject(prepared, fitted)
    return claims_section(whole, None, None, judged.validation)


def _predictions(options: dict[str, Any], prepared: Prepared, fitted: Fitted) -> Section:
    """List predictions of the first rows."""
    section = Section("Predictions", "predictions")
    found = cells(prepared, fitted)
    top = found.iloc[: options["rows"]]
    section.say(
        "Rows of the fit, which look better than new ones. The file of predictions has all of them."
    )
    shown = [[_cell(v) for v in row] for row in top.to_numpy(object)]
    return section.table(
        f"First {len(top)} of {number(len(found))} rows", list(found.columns), shown, words=0
    )


_NUMBERS = ("regression",)
_BOTH = ("regression", "classification")
_PREDICTED = ("regression", "classification", "survival")

VIEWS: dict[str, View] = {
    "table": View("Table", "The first rows as they were read.", ("data",), _first_rows, (),
        {"rows": 12}),
    "columns": View("Columns", "What every column is taken for, and how it is spread.",
        ("preparation",), _columns),
    "gaps": View("Gaps", "Which cells are empty.", ("preparation",), _gaps),
    "cloud": View("Clouds", "Columns against the target.", ("preparation",), _cloud),
    "differogram": View("Noise", "How large the noise is, before any model.", ("preparation",),
        _differogram, _NUMBERS),
    "picture": View(
        "Picture",
        "The picture that belongs to the machine.",
        ("data", "preparation", "fit"),
        _fit_picture,
        TASKS,
        {"inputs": (), "colour": None, "magnification": False},
    ),
    "errors": View("Errors", "How well new rows are predicted.",
        ("preparation", "fit", "judgement"), _errors),
    "effects": View("Effects", "What moves the prediction.", ("preparation", "fit"), _effects,
        _BOTH),
    "uncertainty": View("Uncertainty", "The band of the function, in two ways.",
        ("preparation", "fit"), _uncertainty, _NUMBERS, {"inputs": ()}),
    "influence": View("Influence", "Rows that the model depends on most.",
        ("preparation", "fit", "judgement"), _influence, _BOTH),
    "kernel": View("Kernel", "What the kernel penalizes.", ("preparation", "fit"), _kernel, _BOTH),
    "tuning view": View("Tuning", "What a search tried.", ("tuning", "preparation", "fit"),
        _tuning, _PREDICTED),
    "certificate": View("Certificate", "How far from the optimum at most.",
        ("tuning", "preparation", "fit"), _certificate),
    "claims": View("Claims", "What may be said of new rows, and what may not.",
        ("preparation", "fit", "judgement"), _claims, _BOTH),
    "predictions": View("Predictions", "Predictions of rows.", ("preparation", "fit"),
        _predictions, TASKS, {"rows": 20}),
}  # fmt: skip
"""Views by name, in the order in which they are shown."""
