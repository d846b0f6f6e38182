"""What a person leaves with: a script that repeats everything, a model file and a report."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from sklearn.base import clone

from mercer import io
from mercer._words import plural
from mercer_studio.browser.steps import (
    FitResult,
    MachinePlan,
    Preparation,
    SearchResult,
    ValidationResult,
)
from mercer_studio.browser.views import VIEWS, available
from mercer_studio.cli.models import CARD
from mercer_studio.cli.tables import Read
from mercer_studio.cli.text import Refusal
from mercer_studio.reporting import report
from mercer_studio.reporting.page import Page, Section, number
from mercer_studio.reporting.script import script_of

# Parameters that end a fit by the clock.
TIMES = ("budget", "max_time")


def model_script(
    prepared: Preparation, fitted: FitResult, source: str, how: dict[str, Any] | None = None
) -> str:
    """Return a script that reads the table, prepares it, fits the same machine and predicts.

    It needs nothing of the studio. Hyperparameters that a search found are written with all their
    digits, so its predictions are those on the screen, to the last bit on the same machine.

    Parameters
    ----------
    prepared : Preparation
        The question.
    fitted : FitResult
        The model.
    source : str
        The file, as the script is to open it.
    how : dict, optional
        How it is read.
    """
    question, model = prepared.question, fitted.model
    plan = question.plan
    assert plan is not None
    lines = ["# " + line for line in _said(prepared, fitted)]
    reads = bool(plan.readings) or "date" in plan.used.values()
    borrowed = [name for name, used in (
        ("labels", question.task == "classification"),
        ("words", "category" in plan.used.values()),
    ) if used]  # fmt: skip
    if question.task == "survival":
        lines.append("import numpy as np")
    if reads:
        lines.append("from mercer_studio.cli.preparation import typed")
    if borrowed:
        lines.append(f"from mercer_studio.cli.tables import {', '.join(borrowed)}")
    lines.append("from mercer_studio.reading import read_table")
    if question.reading is not None:
        lines.append("from mercer.preprocessing.readings import Reading")
    made = script_of(_told(model.pipeline)).splitlines()
    imports = [line for line in made if line.startswith(("from ", "import "))]
    lines += [line for line in imports if line not in lines]
    given = "".join(f", {key}={value!r}" for key, value in (how or {}).items() if value)
    lines += ["", f"table = read_table({_text(source)}{given})"]
    lines += _rows(question, model.card)
    names = ", ".join(_text(name) for name in plan.used)
    lines.append(f"X = table[[{names}]].copy()")
    lines += _cells(question)
    if reads:
        kinds, forms = dict(plan.used), dict(plan.readings)
        as_is = bool(model.card.get("as_is"))
        lines.append(f"X = typed(X, {kinds!r}, {forms!r}, as_is={as_is})")
    body = [line for line in made if line not in imports]
    lines += [*_target(question, model.card), *body[:-1]]
    if getattr(model.pipeline[0], "_sklearn_output_config", {}).get("transform") == "pandas":
        lines.append('model[0].set_output(transform="pandas")')
    if question.task == "structure":
        lines += ["model.fit(X)", "predictions = model.transform(X)"]
    else:
        lines += ["model.fit(X, y)", "predictions = model.predict(X)"]
    if fitted.intervals is not None:
        share = model.card.get("coverage")
        lines.append(f"intervals = model[-1].predict_interval(model[:-1].transform(X), {share!r})")
    return "\n".join([*lines, ""])


def _told(pipeline: Any) -> Any:
    """Return a pipeline that is not fitted and tells how far it is, as it did in the studio.

    A solver that is listened to stops at other steps, so that without it the last digits differ.
    """
    made = clone(pipeline)
    machine = made[-1]
    for one in (machine, getattr(machine, "estimator", None)):
        if one is not None and "verbose" in one.get_params(deep=False):
            one.set_params(verbose=True)
    return made


def _said(prepared: Preparation, fitted: FitResult) -> list[str]:
    question = prepared.question
    name = type(fitted.model.machine).__name__
    what = {
        "structure": "draws a map of the rows",
        "survival": f"predicts {question.target}, some of which are only known to be exceeded",
    }.get(question.task, f"predicts {question.target}")
    said = [f"{_plain(name)} {_plain(what)}; written by the studio of mercer."]
    params = fitted.model.machine.get_params(deep=True)
    if any(params.get(f"{inner}{key}") for inner in ("", "estimator__") for key in TIMES):
        said.append("It stops after a time, so that another run may find another model.")
    return said


def _plain(text: str) -> str:
    """Return text without characters that could end a comment, reorder it or not be encoded."""
    return "".join(c if c.isprintable() else " " for c in text)


def _text(name: str) -> str:
    """Return a name as a string of Python.

    JSON has two escapes for a character outside of the basic plane, which Python reads as two
    characters; `repr` escapes what cannot be printed or encoded.
    """
    return json.dumps(name) if name.isascii() else repr(name)


def _rows(question: Any, card: dict[str, Any]) -> list[str]:
    """Return lines that leave out rows without a target, and mark gaps."""
    lines = []
    for name, value in (card.get("gaps") or {}).items():
        place = f"table[{_text(name)}]"
        lines.append(f"{place} = {place}.astype(float).mask({place} == {value!r})")
    if question.task == "structure":
        return lines
    target = _text(question.target)
    if question.reading is not None:
        lines.append(
            f"table[{target}] = Reading({question.reading!r}).apply("
            f"table[{target}].to_numpy(object), {target})"
        )
    known = [target] + ([_text(card["event"])] if card.get("event") else [])
    for name in known:
        lines.append(f"table = table[table[{name}].notna()].reset_index(drop=True)")
    return lines


def _cells(question: Any) -> list[str]:
    """Return lines that make categories words and numbers floats, as the fit had them."""
    used = question.plan.used
    lines = [
        f"X[{_text(name)}] = words(X[{_text(name)}])" for name in used if used[name] == "category"
    ]
    floats = [n for n in used if used[n] == "number" and question.X[n].dtype.kind in "iufb"]
    if floats:
        names = ", ".join(_text(name) for name in floats)
        lines.append(f"X = X.astype(dict.fromkeys([{names}], float))")
    return lines


def _target(question: Any, card: dict[str, Any]) -> list[str]:
    target = f"table[{_text(question.target)}]"
    if question.task == "structure":
        return []
    if question.task == "survival":
        event = f"table[{_text(card['event'])}]"
        return [
            f"time, seen = {target}.to_numpy(float), {event}.to_numpy(float) == 1.0",
            "y = np.column_stack([time, np.where(seen, time, np.inf)])",
        ]
    if question.task == "classification":
        return [f"y = labels({target})"]
    return [f"y = {target}.to_numpy(float)"]


def model_file(prepared: Preparation, fitted: FitResult) -> bytes:
    """Return the model as a file that :func:`mercer.io.load` and ``mercer predict`` read.

    Parameters
    ----------
    prepared : Preparation
        The question.
    fitted : FitResult
        The model.
    """
    model, question = fitted.model, prepared.question
    setattr(model.pipeline, CARD, model.card)
    data = None if question.y is None else (model.ready(question.X), question.y)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.skops"
        io.save(model.pipeline, path, **({} if data is None else {"data": data}))
        return path.read_bytes()


def page(
    table: Read,
    prepared: Preparation,
    searched: SearchResult,
    planned: MachinePlan,
    fitted: FitResult,
    validated: ValidationResult | None,
    script: str,
) -> str:
    """Return a report: that of :func:`mercer.report`, or one of the views of other tasks.

    Parameters
    ----------
    table, prepared, searched, planned, fitted, validated :
        What the stages gave.
    script : str
        That repeats it.
    """
    question, model = prepared.question, fitted.model
    if question.task in ("regression", "classification"):
        X = model.ready(question.X)
        return report(model.pipeline, X, question.y, target=question.target).html
    values = {
        "data": table,
        "preparation": prepared,
        "tuning": searched,
        "fit": fitted,
        "validation": validated or ValidationResult(said="not validated"),
    }
    sections = []
    for name in available(question.task):
        view = VIEWS[name]
        if view.inputs == ("data",) or name == "predictions":
            continue
        try:
            drawn = view.draw(dict(view.options), *(values[one] for one in view.inputs))
        except (Refusal, ValueError) as error:
            drawn = Section(view.title, name).say(str(error))
        # Pictures are named by the view, so that no two on the page have the same name.
        sections.append(Section(view.title, name.replace(" ", "-"), drawn.parts))
    sections.append(Section("The script that repeats it", "script").code(script))
    scores = [] if validated is None else [(k, number(v)) for k, v in validated.scores.items()]
    what = "maps the rows" if question.task == "structure" else f"predicts {question.target}"
    n, p = question.X.shape
    return Page(
        title=f"{type(model.machine).__name__} {what}",
        under=f"A report on {plural(n, 'row')} and {plural(p, 'input')}: {planned.why}.",
        glance=[("rows", number(int(n))), ("inputs", number(int(p))), *scores],
        sections=sections,
    ).html
