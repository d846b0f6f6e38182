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
    LatentMapDisplay,
    ShapeDisplay,
    SurvivalCalibrationDisplay,
    SurvivalDisplay,
    panels,
)
from mercer_studio.browser.data_views import (
    MAX_POINTS,
    association,
    label,
    picture,
    say_rows,
    shown_cell,
    some_rows,
    target_values,
    try_picture,
    view_cloud,
    view_columns,
    view_gaps,
    view_noise,
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
from mercer_studio.cli.tables import Read
from mercer_studio.reporting.page import Section, number
from mercer_studio.reporting.sections import (
    certificate_section,
    cost_section,
    effects_section,
    influence_section,
    kernel_section,
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


def view_picture(
    options: dict[str, Any], table: Read, prepared: Preparation, fitted: FitResult
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
    y = target_values(question)
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


def _survival(options: dict[str, Any], prepared: Preparation, fitted: FitResult) -> Section:
    """Draw curves of survival of rows with short and long predicted times."""
    question, model = prepared.question, fitted.model
    section = Section("Picture", "picture")
    X, machine = model.ready(question.X), model.machine
    order = np.argsort(fitted.predictions, kind="stable")
    at = order[(np.array([0.05, 0.25, 0.5, 0.75, 0.95]) * (len(order) - 1)).astype(int)]
    Z = model.pipeline[:-1].transform(safe_indexing(X, at))
    names = [f"row {i + 1}" for i in at]

    def paint(ax: Any) -> None:
        display = SurvivalDisplay.from_estimator(machine, Z, y=question.y, names=names, ax=ax)
        # Three colours that everybody can tell apart, and two kinds of lines.
        for k, line in enumerate(display.lines_):
            line.set(color=f"C{k % 3}", linestyle="-" if k < 3 else "--")
        label(ax, question.target, f"probability to exceed {question.target}")
        ax.legend(fontsize=8)

    picture(
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
            *map(shown_cell, question.X.iloc[i].to_numpy(object)[:8]),
        ]
        for i in at
    ]
    section.table("These rows", head, shown)
    middle = float(np.median(question.y[:, 0]))
    everyone = model.pipeline[:-1].transform(X)
    try_picture(
        section,
        f"Calibration at {question.target} = {number(middle)}, on rows of the fit, which look "
        "better than new ones.",
        "Observed against predicted survival",
        lambda ax: SurvivalCalibrationDisplay.from_estimator(
            machine, everyone, question.y, time=middle, bins=5, ax=ax
        ),
    )
    return section


def _map(options: dict[str, Any], table: Read, prepared: Preparation, fitted: FitResult) -> Section:
    """Draw the rows at the coordinates that a map gives them."""
    question, machine = prepared.question, fitted.model.machine
    section = Section("Picture", "picture")
    Z = np.asarray(fitted.predictions, dtype=np.float64)
    rows = some_rows(len(Z), MAX_POINTS)
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
    picture(
        section,
        f"Every point is a row; rows that are alike lie close to each other.{by}",
        "Map of the rows",
        paint,
        (7.2, 5.6),
    )
    say_rows(section, len(rows), len(Z))
    return section


def view_errors(
    options: dict[str, Any], prepared: Preparation, fitted: FitResult, validated: ValidationResult
) -> Section:
    """Show how well rows are predicted that had no part in the fit."""
    section = Section("Errors on new rows", "errors")
    if validated.validation is None:
        for name, value in validated.scores.items():
            section.lead(f"{name[:1].upper()}{name[1:]} {number(value)}")
        if "concordance" in validated.scores:
            section.say(
                "Of two rows of which it is known who comes first, so large a share is predicted "
                "in the right order; one half is guessing."
            )
        return section.say(f"{validated.said[:1].upper()}{validated.said[1:]}.")
    whole = subject(prepared, fitted)
    section.parts += validation_section(whole, validated.validation, None).parts
    section.parts += errors_section(
        whole, validated.validation.answers, "rows in the folds of the cross-validation"
    ).parts
    return section


def view_effects(options: dict[str, Any], prepared: Preparation, fitted: FitResult) -> Section:
    """Draw what moves the prediction."""
    return effects_section(subject(prepared, fitted), SECONDS)


def view_influence(
    options: dict[str, Any], prepared: Preparation, fitted: FitResult, validated: ValidationResult
) -> Section:
    """List the rows that the model depends on most."""
    return influence_section(subject(prepared, fitted), validated.validation, SECONDS)


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
        values = np.array([trial.value for trial in trials], dtype=float)
        best = int(np.argmin(values))
        section.lead(f"{plural(len(trials), 'trial')}; the best is number {best + 1}.")
        picture(
            section,
            "The criterion of every trial; smaller is better.",
            "Criterion by trial",
            lambda ax: panels.descent(ax, values, best, "criterion"),
        )
        names = list(trials[best].parameters)
        shown = [
            [
                k + 1,
                trial.stage,
                *map(shown_cell, trial.parameters.values()),
                trial.rows,
                trial.value,
            ]
            for k in np.argsort(values, kind="stable")[:12]
            if (trial := trials[k]) and list(trial.parameters) == names
        ]
        section.table("The best trials", ["trial", "stage", *names, "rows", "criterion"], shown, 2)
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


def view_uncertainty(options: dict[str, Any], prepared: Preparation, fitted: FitResult) -> Section:
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
    rows = some_rows(len(question.y), MAX_POINTS)
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
            label(ax, name, question.target)
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
    return picture(
        section,
        "Left, errors drawn again from left-out ones. Right, the posterior of a Gaussian process "
        "with the same kernel. Other columns are held at their middles.",
        "Bands of the function by bootstrap and by Bayesian inference",
        paint,
        (9.0, 3.6),
        (1, 2),
    )


def view_claims(
    options: dict[str, Any], prepared: Preparation, fitted: FitResult, validated: ValidationResult
) -> Section:
    """Say what may be claimed of new rows."""
    whole = subject(prepared, fitted)
    return claims_section(whole, None, validated.validation)


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


TASKS = ("regression", "classification", "survival", "structure")


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


_NUMBERS = ("regression",)
_BOTH = ("regression", "classification")
_PREDICTED = ("regression", "classification", "survival")

VIEWS: dict[str, View] = {
    "table": View("Table", "The first rows as they were read.", ("data",), view_rows, (),
        {"rows": 12}),
    "columns": View("Columns", "What every column is taken for, and how it is spread.",
        ("preparation",), view_columns),
    "gaps": View("Gaps", "Which cells are empty.", ("preparation",), view_gaps),
    "cloud": View("Clouds", "Columns against the target.", ("preparation",), view_cloud),
    "noise": View("Noise", "An estimate of the noise, before any model.", ("preparation",),
        view_noise, _NUMBERS),
    "picture": View(
        "Picture",
        "The picture that belongs to the machine.",
        ("data", "preparation", "fit"),
        view_picture,
        TASKS,
        {"inputs": (), "colour": None, "magnification": False},
    ),
    "errors": View("Errors", "How well new rows are predicted.",
        ("preparation", "fit", "validation"), view_errors),
    "effects": View("Effects", "What moves the prediction.", ("preparation", "fit"), view_effects,
        _BOTH),
    "uncertainty": View("Uncertainty", "The band of the function, in two ways.",
        ("preparation", "fit"), view_uncertainty, _NUMBERS, {"inputs": ()}),
    "influence": View("Influence", "Rows that the model depends on most.",
        ("preparation", "fit", "validation"), view_influence, _BOTH),
    "kernel": View("Kernel", "What the kernel penalizes.", ("preparation", "fit"), view_kernel,
        _BOTH),
    "tuning view": View("Tuning", "What a search tried.", ("tuning", "preparation", "fit"),
        view_tuning, _PREDICTED),
    "certificate": View("Certificate", "How far from the optimum at most.",
        ("tuning", "preparation", "fit"), view_certificate),
    "claims": View("Claims", "What may be said of new rows, and what may not.",
        ("preparation", "fit", "validation"), view_claims, _BOTH),
    "predictions": View("Predictions", "Predictions of rows.", ("preparation", "fit"),
        view_predictions, TASKS, {"rows": 20}),
}  # fmt: skip
"""Views by name, in the order in which they are shown."""
