"""Predictions written some rows at a time, to a file that appears when it is complete."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import pandas as pd

from mercer._optional import plugin
from mercer._typing import AnyArray
from mercer.data.npy import Pending
from mercer_studio.cli.refusals import Refusal
from mercer_studio.cli.visible import without_formula

__all__ = ["ENDINGS", "RowWriter", "Text", "cells", "writable", "writer"]

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


def writable(output: str, force: bool) -> Path:
    """Return where to write, refused if a file is there that was not given up.

    Parameters
    ----------
    output : str
        The file.
    force : bool
        Whether a file that exists may be overwritten.
    """
    path = Path(output)
    if not path.parent.is_dir():
        raise Refusal(f"there is no folder {path.parent}.")
    if path.is_dir():
        raise Refusal(f"{path} is a folder.")
    if not force and os.path.lexists(path):
        raise Refusal(f"{path} exists; add --force to overwrite it, or write to another file.")
    return path


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
    made: AbstractContextManager[RowWriter] = plugin("writing").ColumnFile(
        path, COLUMNS[path.suffix]
    )
    return made
