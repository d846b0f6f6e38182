"""Predictions from file to file, some rows at a time; a file appears when it is complete."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from mercer._typing import AnyArray
from mercer._words import plural
from mercer.data.writing import ColumnWriter, Pending
from mercer_studio.cli.commands import load
from mercer_studio.cli.models import Model
from mercer_studio.cli.tables import Memory, Read, batches, writable
from mercer_studio.cli.telling import Result, Teller
from mercer_studio.cli.text import Refusal, visible, without_formula

SIGNS = {".csv": ",", ".tsv": "\t"}
COLUMNS = {".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow"}
ENDINGS = (*SIGNS, *COLUMNS)
"""What the name of a file of predictions may end in."""


class RowWriter(Protocol):
    """What rows are written to."""

    def write(self, columns: dict[str, AnyArray]) -> None:
        """Add rows.

        Parameters
        ----------
        columns : dict from str to (n,) array
            The same names in every call.
        """


class Text(Pending):
    """A text file that is being written.

    Parameters
    ----------
    path : str or path
        The file.
    sign : str
        Between the values of a line.
    formulas : bool, default=False
        Whether text that begins like a formula is written as it is.

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/rows.csv"
    >>> with Text(path, ",") as file:
    ...     file.write({"x": [1, 2]})
    ...     file.write({"x": [3]})
    >>> Path(path).read_text().split()
    ['x', '1', '2', '3']
    """

    def __init__(self, path: str | os.PathLike[str], sign: str, formulas: bool = False) -> None:
        super().__init__(path)
        self.sign, self.rows, self.formulas = sign, 0, formulas
        with self.writing():
            self._file = self.partial.open("w", encoding="utf-8", newline="")

    def write(self, columns: dict[str, AnyArray]) -> None:
        """Add rows, below their names if they are the first.

        Parameters
        ----------
        columns : dict from str to (n,) array
            Columns by name.
        """
        frame = cells(columns, self.formulas)
        with self.writing():
            frame.to_csv(self._file, index=False, sep=self.sign, header=not self.rows)
        self.rows += len(frame)

    def _finish(self) -> None:
        self._file.close()


def cells(columns: dict[str, AnyArray], formulas: bool = False) -> pd.DataFrame:
    """Return columns as text files have them.

    Parameters
    ----------
    columns : dict from str to (n,) array
        Columns by name.
    formulas : bool, default=False
        Whether text that begins like a formula is left as it is; by default an apostrophe goes
        before it, which spreadsheets take for text. Numbers are never touched.

    Examples
    --------
    >>> cells({"=a": ["@b", "c"], "x": [-1.0, 2.0]}).to_dict("list")
    {"'=a": ["'@b", 'c'], 'x': [-1.0, 2.0]}
    """
    frame = pd.DataFrame(columns)
    if formulas:
        return frame
    for k, kind in enumerate(frame.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            frame.isetitem(k, frame.iloc[:, k].map(without_formula))
    return frame.rename(columns=without_formula)


def writer(
    output: str, *read: str, formulas: bool = False, force: bool = False
) -> AbstractContextManager[RowWriter]:
    """Return a file to write rows to, its format by the end of its name.

    Parameters
    ----------
    output : str
        The file.
    *read : str
        Files that are read meanwhile, which it must not replace.
    formulas : bool, default=False
        Whether text that begins like a formula is written as it is.
    force : bool, default=False
        Whether a file that exists is overwritten.
    """
    path = Path(output)
    if path.suffix not in ENDINGS:
        raise Refusal(f"{output} must end in one of {', '.join(ENDINGS)}.")
    if path.resolve() in [Path(one).resolve() for one in read]:
        raise Refusal(f"{output} is what is read; give another --output.")
    writable(output, force)
    if path.suffix in SIGNS:
        return Text(path, SIGNS[path.suffix], formulas)
    return ColumnWriter(path, COLUMNS[path.suffix])


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
                shown.say(plural(n, "row"))
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
