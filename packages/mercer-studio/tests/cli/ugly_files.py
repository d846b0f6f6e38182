r"""Twenty text files as others write them: which columns come of each, and what is said.

Every file holds the same sixty sales: an area in square metres, a price, the day of the sale, the
district, and whether there is a garden, with which the rent is to be predicted. Each is written in
another of the ways that make a file hard to read. A file is read by ``mercer fit`` with the options
in `UGLY`, and by pandas with the obvious arguments, also there; both ways must give the same
columns to a machine.

Run as a program it prints a table of what happens to each file.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mercer.preprocessing import TableEncoder
from mercer_studio.cli import main as command

__all__ = ["UGLY", "Ugly", "columns_by_command", "columns_by_pandas", "sales", "table_of"]

TARGET = "rent"


def sales() -> pd.DataFrame:
    """Return the rows that all files hold."""
    rng, n = np.random.default_rng(0), 60
    days = pd.date_range("2023-11-20", periods=n, freq="5D")
    frame = pd.DataFrame(
        {
            "area": rng.uniform(20, 140, n).round(1),
            "price": rng.integers(1_000, 900_000, n),
            "sold": days.strftime("%Y-%m-%d"),
            "district": rng.choice(["Köln", "Zürich", "Århus"], n),
            "garden": rng.choice(["yes", "no"], n),
        }
    )
    frame[TARGET] = (5 * frame.area + 200 * (frame.district == "Köln")).round(2)
    return frame


def text(frame: pd.DataFrame, **how: Any) -> str:
    """Return a frame as text, with a comma between cells unless told."""
    return str(frame.to_csv(index=False, lineterminator="\n", **how))


@dataclass(frozen=True)
class Ugly:
    """A way to write a table.

    Parameters
    ----------
    write : callable
        From the rows to the bytes of a file.
    options : tuple of str
        Of the command line.
    pandas : dict
        Arguments of ``pandas.read_csv``.
    refused : str
        Words of the sentence with which the file is refused, if it is.
    """

    write: Callable[[pd.DataFrame], bytes]
    options: tuple[str, ...] = ()
    pandas: dict[str, Any] = field(default_factory=dict)
    refused: str = ""


def _with(frame: pd.DataFrame, **columns: Any) -> str:
    return text(frame.assign(**columns))


def _date(form: str) -> Callable[[pd.DataFrame], bytes]:
    return lambda f: _with(f, sold=pd.to_datetime(f.sold).dt.strftime(form)).encode()


def _one_bad_cell(frame: pd.DataFrame) -> bytes:
    cells = frame.area.astype(object)
    cells[7] = "oops"
    return _with(frame, area=cells).encode()


def _gaps(frame: pd.DataFrame) -> bytes:
    cells = frame.area.astype(object)
    for k, word in enumerate(("NA", "n/a", "NULL", "nan", "-", "missing", "")):
        cells[8 * k] = word
    return _with(frame, area=cells).encode()


def _quoted(frame: pd.DataFrame) -> bytes:
    cells = [f"flat, {k % 3} rooms\nfloor {k % 2}" for k in range(len(frame))]
    return _with(frame, kind=cells).encode()


def _spelled(frame: pd.DataFrame) -> bytes:
    words = {"yes": ["yes", "Yes", "YES"], "no": ["no", "No", "NO"]}
    return _with(frame, garden=[words[w][k % 3] for k, w in enumerate(frame.garden)]).encode()


UGLY = {
    "semicolons": Ugly(lambda f: text(f, sep=";").encode(), pandas={"sep": ";"}),
    "tabs": Ugly(lambda f: text(f, sep="\t").encode(), pandas={"sep": "\t"}),
    "decimal commas": Ugly(
        lambda f: text(f, sep=";", decimal=",").encode(), pandas={"sep": ";", "decimal": ","}
    ),
    "byte order mark": Ugly(lambda f: text(f).encode("utf-8-sig")),
    "utf-16": Ugly(lambda f: text(f).encode("utf-16"), pandas={"encoding": "utf-16"}),
    "latin-1": Ugly(lambda f: text(f).encode("latin-1"), pandas={"encoding": "latin-1"}),
    "latin-1, asked": Ugly(
        lambda f: text(f).encode("latin-1"), ("--encoding", "latin-1"), {"encoding": "latin-1"}
    ),
    "comments": Ugly(
        lambda f: ("# rents of 2024\n" + text(f)).encode(), ("--comment", "#"), {"comment": "#"}
    ),
    "comments, not asked": Ugly(
        lambda f: ("# rents of 2024\n" + text(f)).encode(), refused="--comment '#'"
    ),
    "days first": Ugly(_date("%d.%m.%Y")),
    "months first": Ugly(_date("%m/%d/%Y")),
    "names of rows": Ugly(lambda f: _with(f, id=[f"A-{k}-x" for k in range(len(f))]).encode()),
    "one bad cell": Ugly(_one_bad_cell),
    "two of a name": Ugly(lambda f: text(f).replace("price", "area", 1).encode()),
    "no names": Ugly(
        lambda f: text(f[["area", "price", TARGET]], header=False).encode(),
        ("--target", "3"),
        {"header": None, "names": ["1", "2", "3"]},
    ),
    "an index": Ugly(lambda f: f.to_csv().encode()),
    "carriage returns": Ugly(lambda f: text(f).replace("\n", "\r\n").encode()),
    "lines in quotes": Ugly(_quoted),
    "blank lines": Ugly(lambda f: ("\n\n" + text(f).replace("\n", "\n\n")).encode()),
    "trailing separators": Ugly(lambda f: text(f).replace("\n", ",\n").encode()),
    "currency": Ugly(lambda f: _with(f, price=[f"EUR {p}.50" for p in f.price]).encode()),
    "thousands": Ugly(
        lambda f: _with(f, price=[f"{p:,}" for p in f.price]).encode(), pandas={"thousands": ","}
    ),
    "percent": Ugly(lambda f: _with(f, area=[f"{a} %" for a in f.area]).encode()),
    "yes and Yes": Ugly(_spelled),
    "an empty column": Ugly(lambda f: _with(f, note="").encode()),
    "a constant column": Ugly(lambda f: _with(f, country="DE").encode()),
    "spellings of missing": Ugly(_gaps),
}
"""Ways to write a table, by what is ugly about them."""


def columns_by_command(path: Path, ugly: Ugly, *more: str) -> tuple[int, dict[str, Any], str]:
    """Return the status of ``mercer fit``, what it says to scripts, and what it says otherwise.

    Parameters
    ----------
    path : Path
        The file.
    ugly : Ugly
        How it is written.
    *more : str
        Further options.
    """
    given = ["--target", TARGET, *ugly.options, "--output", str(path.with_suffix(".skops")), *more]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = command(["fit", str(path), *given, "--json"])
    return status, json.loads(out.getvalue()), err.getvalue()


def columns_by_pandas(path: Path, ugly: Ugly) -> TableEncoder:
    """Return the encoder that AutoRegressor would use for the file, read by pandas.

    Parameters
    ----------
    path : Path
        The file.
    ugly : Ugly
        How it is written.
    """
    frame = pd.read_csv(path, **ugly.pandas)
    target = dict(zip(ugly.options[::2], ugly.options[1::2], strict=True)).get("--target", TARGET)
    return TableEncoder().fit(frame.drop(columns=target))


def table_of(names: list[str]) -> list[tuple[str, str]]:
    """Return for each way to write the table what happened to its file.

    Parameters
    ----------
    names : list of str
        Keys of `UGLY`.
    """
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for k, name in enumerate(names):
            path = Path(folder) / f"file{k}.csv"
            path.write_bytes(UGLY[name].write(sales()))
            status, said, _ = columns_by_command(path, UGLY[name], "--machine", "LSSVR")
            words = said.get("error") or " ".join(
                [
                    ", ".join(f"{c['name']}: {c['kind']}" for c in said["plan"]) + ".",
                    *said["notes"],
                ]
            )
            words = words.replace(f"{folder}/", "")
            rows.append((name, ("" if status == 0 else "refused: ") + words))
    return rows


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", default=list(UGLY))
    for name, words in table_of(parser.parse_args().names):
        print(f"{name:22s}{words}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
