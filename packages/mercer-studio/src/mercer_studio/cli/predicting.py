"""Predictions from file to file, some rows at a time."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import pandas as pd

from mercer._typing import AnyArray
from mercer._words import plural
from mercer_studio.cli.commands import load
from mercer_studio.cli.memory import Memory
from mercer_studio.cli.models import Model
from mercer_studio.cli.refusals import Refusal
from mercer_studio.cli.tables import Read, batches
from mercer_studio.cli.telling import Result, Teller
from mercer_studio.cli.visible import visible
from mercer_studio.cli.writing import cells, writer

__all__ = ["predict"]


def predict(
    model: str,
    data: str,
    output: str | None,
    coverage: float | None,
    probabilities: bool,
    keep: Sequence[str],
    memory: Memory,
    teller: Teller,
    formulas: bool = False,
    force: bool = False,
    **how: Any,
) -> Result:
    """Predict the rows of a file.

    Rows are read, predicted and written some thousands at a time, so that memory does not depend
    on their number; only the one object of ``--json`` without an output holds all predictions.

    Parameters
    ----------
    model, data : str
        The files.
    output : str, optional
        Where to write; the standard output by default.
    coverage : float, optional
        Probability of intervals.
    probabilities : bool
        Whether to write probabilities of classes.
    keep : sequence of str
        Columns to write beside the predictions.
    memory : Memory
        What may be taken.
    teller : Teller
        Where to say it.
    formulas : bool, default=False
        Whether text that begins like a formula is written as it is.
    force : bool, default=False
        Whether an output that exists is overwritten.
    **how : object
        How the file is read.
    """
    rows: Any
    if output is not None:
        rows = writer(output, data, model, formulas=formulas, force=force)
    else:
        rows = nullcontext(RowList() if teller.as_json else Printed(formulas))
    with rows as file:
        loaded = load(model, memory)
        coverage = coverage or loaded.card.get("coverage")
        if coverage is not None and loaded.classifies:
            raise Refusal("intervals are for numbers; the model predicts classes.")
        if probabilities and not hasattr(loaded.pipeline, "predict_proba"):
            raise Refusal(f"{type(loaded.machine).__name__} gives no probabilities.")
        columns = None if loaded.wanted is None else [*dict.fromkeys((*loaded.wanted, *keep))]
        n, how = 0, {**how, "features": loaded.card.get("features")}
        with teller.working("predicting", live=output is not None) as shown:
            for table in batches(data, memory, columns, **how):
                file.write(_kept(table, keep) | _answers(loaded, table, coverage, probabilities))
                n += table.shape[0]
                shown.last = plural(n, "row")
    if output is None:
        return {"rows": n, **(file.columns if teller.as_json else {})}
    teller.say(f"saved: {output}, {plural(n, 'row')}")
    return {"output": output, "rows": n}


def _kept(table: Read, keep: Sequence[str]) -> Result:
    if table.frame is None:
        if keep:
            raise Refusal(f"{table.path} is a sparse matrix, without columns to keep.")
        return {}
    if missing := [name for name in keep if name not in table.frame.columns]:
        raise Refusal(f"{table.path} has no column {missing[0]!r}.")
    return {name: _with_gaps(table.frame[name].to_numpy()) for name in keep}


def _with_gaps(values: Any) -> Any:
    """Return a column whose missing words are None, as files have them."""
    return values if values.dtype != object else np.where(pd.isna(values), None, values)


def _answers(model: Model, table: Read, coverage: float | None, probabilities: bool) -> Result:
    """Return what a model says of some rows, by the names of the columns that are written."""
    X = model.features(table)
    if model.card.get("task") == "structure":
        return {f"coordinate_{j + 1}": one for j, one in enumerate(model.predictions(X).T)}
    found = {"prediction": model.predictions(X)}
    if coverage is not None:
        found["low"], found["high"] = model.intervals(X, coverage).T
    if probabilities:
        P = model.probabilities(X)
        found |= {f"p_{c}": P[:, k] for k, c in enumerate(model.pipeline.classes_)}
    return found


class Printed:
    """Rows on the standard output, as CSV; on a terminal nothing in them is obeyed.

    Parameters
    ----------
    formulas : bool
        Whether text that begins like a formula is written as it is.
    """

    def __init__(self, formulas: bool) -> None:
        self.formulas = formulas
        # While a machine works, what it prints goes elsewhere.
        self.file, self.header = sys.stdout, True

    def write(self, columns: dict[str, AnyArray]) -> None:
        """Print rows, below their names if they are the first."""
        rows = cells(columns, self.formulas)
        text = rows.to_csv(index=False, header=self.header, lineterminator="\n")
        print(visible(text) if self.file.isatty() else text, end="", file=self.file)
        self.header = False


class RowList:
    """Rows as lists, for the one object that scripts get."""

    def __init__(self) -> None:
        self.columns: dict[str, list[Any]] = {}

    def write(self, columns: dict[str, AnyArray]) -> None:
        """Add rows."""
        for name, values in columns.items():
            self.columns.setdefault(name, []).extend(np.asarray(values).tolist())
