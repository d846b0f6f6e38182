"""Views by name: what each shows, of which stages, and for which tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mercer_studio.browser.data_views import (
    view_cloud,
    view_columns,
    view_differogram,
    view_gaps,
    view_rows,
)
from mercer_studio.browser.model_views import (
    view_certificate,
    view_claims,
    view_effects,
    view_errors,
    view_influence,
    view_kernel,
    view_picture,
    view_predictions,
    view_tuning,
    view_uncertainty,
)
from mercer_studio.reporting.page import Section

__all__ = ["TASKS", "VIEWS", "View", "available", "draw"]

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
    "differogram": View("Noise", "An estimate of the noise, before any model.", ("preparation",),
        view_differogram, _NUMBERS),
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
