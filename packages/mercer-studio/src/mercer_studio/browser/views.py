"""Views of a model by name: its picture, errors, effects, kernel, certificate and claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from mercer._sklearn import safe_indexing
from mercer._typing import AnyArray, PointsLike
from mercer._words import plural
from mercer.estimators import LSSVR
from mercer.plotting import (
    ComponentDisplay,
    ConvergenceDisplay,
    CriterionDisplay,
    EvolutionDisplay,
    FitDisplay,
    ShapeDisplay,
)
from mercer_studio.browser.data_views import (
    MAX_POINTS,
    association,
    label,
    picture,
    say_rows,
    shown_cell,
    some_rows,
    try_picture,
    view_cloud,
    view_columns,
    view_gaps,
    view_rows,
)
from mercer_studio.browser.steps import (
    FitResult,
    Preparation,
    SearchResult,
    ValidationResult,
    cells,
    subject,
)
from mercer_studio.cli.models import Model
from mercer_studio.cli.preparation import typed
from mercer_studio.reporting.page import Section, number
from mercer_studio.reporting.sections import (
    certificate_section,
    cost_section,
    effects_section,
    influence_section,
    kernel_section,
    list_trials,
    machine_section,
)
from mercer_studio.reporting.validation import claims_section, errors_section, validation_section

SECONDS = 1.2
"""For a view that averages over rows: it decides how many rows it uses."""


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


def view_picture(options: dict[str, Any], prepared: Preparation, fitted: FitResult) -> Section:
    """Draw the picture that belongs to a machine."""
    question = prepared.question
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
    rows = some_rows(len(question.y), MAX_POINTS)
    sample = safe_indexing(X, rows)
    target = pd.Series(question.y[rows], name=question.target)
    whole = _Whole(model, fitted.model.card.get("coverage"))
    mine = set(names) == set(chosen) and len(rows) == len(question.y) and len(used) == len(chosen)

    def paint(ax: Any) -> None:
        FitDisplay.from_estimator(whole, sample, target, features=chosen, support=mine, ax=ax)
        label(ax, chosen[0], chosen[1] if len(chosen) == 2 else question.target)
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
    support = getattr(model.machine, "support_", None)
    few = support is not None and len(support) < len(question.y)
    rings = " Rings are support vectors." if mine and few else ""
    picture(
        section,
        f"The fit along {' and '.join(chosen)}.{at}{band}{rings}",
        f"The fitted function along {' and '.join(chosen)}",
        paint,
        (7.2, 5.0) if len(chosen) == 2 else (7.2, 4.2),
    )
    say_rows(section, len(rows), len(question.y))
    _own_pictures(section, prepared, fitted)
    return section


def _first_inputs(question: Any, names: Sequence[str], fitted: FitResult) -> list[str]:
    """Return the inputs that a picture is drawn along if nobody chose them."""
    shape = getattr(fitted.model.machine, "constraints", None)
    if isinstance(shape, dict):
        rising = [str(key).removeprefix("number__") for key in shape]
        if found := [name for name in rising if name in names]:
            return found[:1]
    if len(names) <= 2 and (len(names) == 2 or question.task == "regression"):
        return list(names)
    y = np.asarray(question.y)
    X = typed(question.X, question.plan.used, question.plan.readings)
    order = sorted(names, key=lambda name: -association(X[name], y))
    return order[: 1 if question.task == "regression" else 2]


def _same_unit(sample: Any, chosen: Sequence[str]) -> bool:
    """Return whether two columns look like coordinates of a map: spreads of like size."""
    a, b = (float(np.ptp(np.asarray(sample[name], dtype=float))) for name in chosen)
    places = {str(name).lower() for name in chosen}
    return 0.2 < a / (b or 1.0) < 5.0 and places <= {"x", "y", "lon", "lat", "east", "north"}


def _own_pictures(section: Section, prepared: Preparation, fitted: FitResult) -> None:
    """Add pictures that only some machines have: components, their path, active constraints."""
    question, model = prepared.question, fitted.model
    machine: Any = model.machine
    rows = some_rows(len(question.y), 300)
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

        try_picture(
            section,
            "The machine is a sum of these components, each of one column.",
            "Components of the fitted function",
            paint,
            (9.0, 2.6 * down),
            (down, across),
        )
    if hasattr(machine, "path_") or type(machine).__name__.startswith("Sparse"):
        try_picture(
            section,
            "Components as the penalty falls: which columns enter first.",
            "Evolution diagram",
            lambda ax: EvolutionDisplay.from_estimator(machine, ax=ax),
        )
    if hasattr(machine, "shape_certificate_"):
        names = [str(n) for n in model.pipeline[:-1].get_feature_names_out()]
        for key in list(getattr(machine, "constraints", {}) or {})[:3]:
            j = names.index(str(key))
            try_picture(
                section,
                f"Along {str(key).removeprefix('number__')} (scaled), with the places where the "
                "shape is what holds the curve, and what it costs the fit there.",
                f"The shape along {key}",
                lambda ax, j=j: ShapeDisplay.from_estimator(
                    machine, np.asarray(Z, dtype=float), feature=j, ax=ax
                ).ax_.legend(fontsize=8),
            )


def view_errors(
    options: dict[str, Any], prepared: Preparation, fitted: FitResult, validated: ValidationResult
) -> Section:
    """Show how well rows are predicted that had no part in the fit."""
    section = Section("Errors on new rows", "errors")
    if validated.validation is None:
        return section.say("Nothing was validated.")
    whole = subject(prepared, fitted)
    section.parts += validation_section(whole, validated.validation, None).parts
    section.parts += errors_section(
        whole, validated.validation.answers, "rows in the folds of the cross-validation"
    ).parts
    return section


def view_kernel(options: dict[str, Any], prepared: Preparation, fitted: FitResult) -> Section:
    """Draw what the kernel keeps and removes."""
    found = kernel_section(subject(prepared, fitted))
    if found is None:
        found = Section("What the kernel penalizes", "kernel")
        found.say(
            "The machine has no single kernel that could be read: it stacks several, or fits parts "
            "of the rows. Choose SVR, LSSVR or SVC to see what a kernel keeps and removes."
        )
    return found


def view_certificate(
    options: dict[str, Any], searched: SearchResult, prepared: Preparation, fitted: FitResult
) -> Section:
    """Show how the fit came to its end, and how far it is from the optimum at most."""
    section = Section("Certificate", "certificate")
    inner = getattr(fitted.model.machine, "estimator_", fitted.model.machine)
    whole = subject(prepared, fitted)
    for part in (certificate_section, machine_section, cost_section):
        section.parts += part(whole).parts
    if hasattr(inner, "solution_") and getattr(inner.solution_, "history", None) is not None:
        try_picture(
            section,
            "The gap between what was reached and what cannot be undercut.",
            "Convergence",
            lambda ax: ConvergenceDisplay.from_estimator(inner, ax=ax),
        )
    return section


def view_tuning(
    options: dict[str, Any], searched: SearchResult, prepared: Preparation, fitted: FitResult
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
        section.lead(f"{plural(len(trials), 'trial')}; smaller is better.")
        list_trials(section, trials, "criterion")
    machine = fitted.model.machine
    question = prepared.question
    if isinstance(machine, LSSVR) and question.task == "regression" and len(question.y) <= 1000:
        Z = fitted.model.pipeline[:-1].transform(fitted.model.ready(question.X))
        rows = some_rows(len(question.y), 300)
        try_picture(
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


def view_predictions(options: dict[str, Any], prepared: Preparation, fitted: FitResult) -> Section:
    """List predictions of the first rows."""
    section = Section("Predictions", "predictions")
    found = cells(prepared, fitted)
    top = found.iloc[: options["rows"]]
    section.say(
        "Rows of the fit, which look better than new ones. The file of predictions has all of them."
    )
    shown = [[shown_cell(v) for v in row] for row in top.to_numpy(object)]
    return section.table(
        f"First {len(top)} of {number(len(found))} rows", list(found.columns), shown, words=0
    )


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
    options : dict
        Its options at the beginning.
    """

    title: str
    said: str
    inputs: tuple[str, ...]
    draw: Callable[..., Section]
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


VIEWS: dict[str, View] = {
    "table": View("Table", "The first rows as they were read.", ("data",), view_rows,
        {"rows": 12}),
    "columns": View("Columns", "What every column is taken for, and how it is spread.",
        ("preparation",), view_columns),
    "gaps": View("Gaps", "Which cells are empty.", ("preparation",), view_gaps),
    "cloud": View("Clouds", "Columns against the target.", ("preparation",), view_cloud),
    "picture": View(
        "Picture",
        "The picture that belongs to the machine.",
        ("preparation", "fit"),
        view_picture,
        {"inputs": ()},
    ),
    "errors": View("Errors", "How well new rows are predicted.",
        ("preparation", "fit", "validation"), view_errors),
    "effects": View("Effects", "What moves the prediction.", ("preparation", "fit"),
        lambda _, p, f: effects_section(subject(p, f), SECONDS)),
    "influence": View("Influence", "Rows that the model depends on most.",
        ("preparation", "fit", "validation"),
        lambda _, p, f, v: influence_section(subject(p, f), v.validation, SECONDS)),
    "kernel": View("Kernel", "What the kernel penalizes.", ("preparation", "fit"), view_kernel),
    "tuning view": View("Tuning", "What a search tried.", ("tuning", "preparation", "fit"),
        view_tuning),
    "certificate": View("Certificate", "How far from the optimum at most.",
        ("tuning", "preparation", "fit"), view_certificate),
    "claims": View("Claims", "What may be said of new rows, and what may not.",
        ("preparation", "fit", "validation"),
        lambda _, p, f, v: claims_section(subject(p, f), None, v.validation)),
    "predictions": View("Predictions", "Predictions of rows.", ("preparation", "fit"),
        view_predictions, {"rows": 20}),
}  # fmt: skip
"""Views by name, in the order in which they are shown."""
