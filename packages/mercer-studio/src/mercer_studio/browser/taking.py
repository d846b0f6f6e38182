"""What a person leaves with: a script that repeats everything, a model file and a report."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from sklearn.base import clone

from mercer import io
from mercer_studio.browser.steps import (
    FitResult,
    Preparation,
)
from mercer_studio.cli.models import CARD
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
    reads = bool(plan.readings) or "date" in plan.used.values()
    borrowed = ["labels"] if question.task == "classification" else []
    borrowed += ["words"] if "category" in plan.used.values() else []
    imports = {
        "from mercer_studio.cli.preparation import typed": reads,
        f"from mercer_studio.cli.tables import {', '.join(borrowed)}": borrowed,
        "from mercer_studio.reading import read_table": True,
        "from mercer.preprocessing.readings import Reading": question.reading is not None,
    }
    given = "".join(f", {key}={value!r}" for key, value in (how or {}).items() if value)
    before = [f"table = read_table({_text(source)}{given})", *_rows(question, model.card)]
    names = ", ".join(_text(name) for name in plan.used)
    before += [f"X = table[[{names}]].copy()", *_cells(question)]
    if reads:
        as_is = bool(model.card.get("as_is"))
        before.append(f"X = typed(X, {plan.used!r}, {plan.readings!r}, as_is={as_is})")
    target = f"table[{_text(question.target)}]"
    classes = question.task == "classification"
    y = f"y = labels({target})" if classes else f"y = {target}.to_numpy(float)"
    after = []
    if getattr(model.pipeline[0], "_sklearn_output_config", {}).get("transform") == "pandas":
        after.append('model[0].set_output(transform="pandas")')
    after += ["model.fit(X, y)", "predictions = model.predict(X)"]
    if fitted.intervals is not None:
        share = model.card.get("coverage")
        after.append(f"intervals = model[-1].predict_interval(model[:-1].transform(X), {share!r})")
    comments = ["# " + line for line in _said(prepared, fitted)]
    return script_of(
        _told(model.pipeline),
        [*comments, *(line for line, needed in imports.items() if needed)],
        [*before, y],
        [*after, ""],
    )


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
    said = [
        f"{_plain(name)} {_plain(f'predicts {question.target}')}; written by the studio of mercer."
    ]
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
    target = _text(question.target)
    if question.reading is not None:
        lines.append(
            f"table[{target}] = Reading({question.reading!r}).apply("
            f"table[{target}].to_numpy(object), {target})"
        )
    return [*lines, f"table = table[table[{target}].notna()].reset_index(drop=True)"]


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
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.skops"
        io.save(model.pipeline, path, data=(model.ready(question.X), question.y))
        return path.read_bytes()
