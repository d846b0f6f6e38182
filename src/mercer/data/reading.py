"""A whole file of columns as a data frame, as long as it stays within bounds.

Sources refuse dates and mixed columns, since a machine cannot use them; whoever prepares a table
needs them as they are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv

from mercer.data.ipc import Ipc
from mercer.data.parquet import File, Parquet, blamed
from mercer.data.table import DataError

__all__ = [
    "CHUNK",
    "FORMATS",
    "GROWTH",
    "ROWS",
    "Dialect",
    "distinct",
    "format_of",
    "framed",
    "read_table",
    "too_large",
]

FORMATS = {
    "csv": "csv", "tsv": "csv", "txt": "csv", "data": "csv",
    "parquet": "parquet", "pq": "parquet", "parq": "parquet",
    "arrow": "arrow", "arrows": "arrow", "feather": "arrow", "ipc": "arrow",
}  # fmt: skip
"""Formats by the end of a name."""

SIGNS = (",", ";", "\t", "|", " ")
MISSING = ["", "?", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "#N/A"]
ROWS = 2**14
CHUNK = 2**20
# Text and the columns made of it are in memory together, and most numbers are shorter as text.
GROWTH = 4


def read_table(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    delimiter: str | None = None,
    max_bytes: float = np.inf,
) -> pd.DataFrame:
    r"""Return the rows of a file as a data frame: numbers, words, dates, and gaps.

    A text file whose first line holds numbers only has no names; its columns are called 1, 2, ...
    Columns of nested values are left out, as :attr:`pandas.DataFrame.attrs` says under
    ``"left_out"``.

    Parameters
    ----------
    path : str or path
        A file of values between signs, of Parquet or of Arrow; text may be compressed.
    format : {"csv", "parquet", "arrow"}, optional
        By default what the name of the file ends in.
    delimiter : str, optional
        Between the values of a text file; by default the sign that the first line has most of.
    max_bytes : float, optional
        Memory that the columns may take.

    Returns
    -------
    pandas.DataFrame

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "table.csv"
    >>> _ = path.write_text("x;when;colour\n1.5;2024-02-29;red\n?;2024-03-01;\n")
    >>> read_table(path).dtypes.map(lambda kind: kind.kind).tolist()
    ['f', 'M', 'O']
    """
    file = File.found(os.fspath(path))
    kind = format or format_of(file.path)
    if kind == "csv":
        return framed(_text(file, delimiter, max_bytes), file.path)
    how = Parquet() if kind == "parquet" else Ipc()
    schema = how.inspect(file).schema
    distinct(schema.names, file.path)
    nested = [field.name for field in schema if pa.types.is_nested(field.type)]
    columns = [name for name in schema.names if name not in nested]
    batches = how.batches(file, schema, columns, None, ROWS)
    with blamed(file.path, ""):
        held = list(_bounded(batches, file.path, max_bytes)) if columns else []
        if not held:
            raise DataError(f"{file.path} has no rows of numbers, words or dates")
        frame = framed(pa.Table.from_batches(held), file.path)
    frame.attrs["left_out"] = nested
    return frame


def format_of(path: str) -> str:
    """Return the format that a name ends in.

    Parameters
    ----------
    path : str
        The name; ends of compressed files are looked through.
    """
    ending = re.sub(r"\.(gz|bz2|zst|lz4)$", "", path.lower()).rpartition(".")[2]
    if ending not in FORMATS:
        raise DataError(
            f"{path} ends in none of {', '.join(f'.{name}' for name in FORMATS)}; say which format "
            "it has"
        )
    return FORMATS[ending]


def distinct(names: Iterable[str], path: str) -> None:
    """Refuse two columns of one name.

    Parameters
    ----------
    names : iterable of str
        Names of the columns.
    path : str
        The file, for the sentence.
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(f"{path} has two columns of the name {name!r}")
        seen.add(name)


def _bounded(batches: Iterable[Any], path: str, most: float) -> Iterable[Any]:
    """Yield batches until they are too large together: what a footer declares is not believed."""
    held = 0
    for batch in batches:
        held += batch.nbytes
        if held > most:
            raise too_large(path, most)
        yield batch


def too_large(path: str, most: float) -> DataError:
    """Return the error for a file that needs more memory than there may be.

    Parameters
    ----------
    path : str
        The file.
    most : float
        Bytes.
    """
    return DataError(
        f"{path} needs more than {most / 1e6:.0f} MB of memory; allow more, or give fewer rows or "
        "columns"
    )


# Text ---------------------------------------------------------------------------------------------


def _text(file: File, delimiter: str | None, most: float) -> Any:
    """Return the table in a text file."""
    with blamed(file.path, " as delimited text"):
        held = pa.BufferOutputStream()
        with pa.input_stream(file.path, compression="detect") as stream:
            while chunk := stream.read(CHUNK):
                held.write(chunk)
                if GROWTH * held.tell() > most:
                    raise too_large(file.path, most)
        text = held.getvalue()
        table = Dialect.of(bytes(text[:CHUNK]), delimiter, file.path).table(text)
    if table.nbytes > most:
        raise too_large(file.path, most)
    distinct(table.column_names, file.path)
    return table


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

    Parameters
    ----------
    sign : str
        Between the values of a line.
    names : list of str, optional
        Names of the columns, if the first line does not hold them.
    """

    sign: str
    names: list[str] | None

    @classmethod
    def of(cls, start: bytes, delimiter: str | None, path: str) -> Dialect:
        """Return the dialect of a file from its first bytes.

        Parameters
        ----------
        start : bytes
            The first lines.
        delimiter : str, optional
            Between the values, if it is known.
        path : str
            The file, for the sentence.
        """
        first, second = (*start.split(b"\n", 2), b"")[:2]
        if b"\0" in first[:4096] or not first.strip():
            what = "is empty" if not first.strip() else "holds no text"
            raise DataError(f"{path} {what}: a line of names and rows are expected")
        sign = delimiter or _sign(first, second)
        cells = first.decode(errors="replace").strip("\r").split(sign)
        numbered = [str(k) for k in range(1, len(cells) + 1)]
        return cls(sign, numbered if all(map(_number, cells)) else None)

    def table(
        self, text: Any, types: Any = None, columns: list[str] | None = None, skip: int = 0
    ) -> Any:
        """Return lines of text as a table of Arrow.

        Parameters
        ----------
        text : bytes or buffer
            Whole lines.
        types : dict, optional
            Types of columns by name; those that fit all lines by default.
        columns : list of str, optional
            Columns to convert; all by default.
        skip : int, default=0
            Lines to leave out.
        """
        made = csv.read_csv(
            pa.BufferReader(text),
            csv.ReadOptions(use_threads=False, column_names=self.names, skip_rows=skip),
            csv.ParseOptions(delimiter=self.sign),
            csv.ConvertOptions(
                column_types=types,
                include_columns=columns,
                null_values=MISSING,
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
        return made.rename_columns([name.strip() for name in made.column_names])


def _sign(first: bytes, second: bytes) -> str:
    """Return the sign that both of the first lines have equally often, or the first has most of."""
    counts = [(first.count(sign.encode()), second.count(sign.encode())) for sign in SIGNS]
    same = [a if a == b else 0 for a, b in counts]
    best = same if any(same) else [a for a, _ in counts]
    return SIGNS[int(np.argmax(best))] if any(best) else ","


def _number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


# Frames -------------------------------------------------------------------------------------------


def framed(table: Any, path: str) -> pd.DataFrame:
    """Return a table as a frame whose columns are numbers, words or times without a zone.

    Parameters
    ----------
    table : pyarrow.Table
        At least one row.
    path : str
        The file, for the sentence.
    """
    if not table.num_columns or not table.num_rows:
        raise DataError(f"{path} has no rows")
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        with blamed(f"{path}, column {name!r},", ""):
            columns[name] = _column(column)
    return pd.DataFrame(columns)


def _column(column: Any) -> Any:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        # A day that nanoseconds cannot hold, such as 9999-12-31 for "never", is none.
        times = column.cast(pa.timestamp("us", getattr(kind, "tz", None)), safe=False)
        return times.cast(pa.timestamp("us")).to_numpy()
    if pa.types.is_boolean(kind) or pa.types.is_null(kind) or pa.types.is_decimal(kind):
        return column.cast(pa.float64(), safe=False).to_numpy()
    if pa.types.is_duration(kind):
        return column.cast(pa.duration("us"), safe=False).cast(pa.int64()).to_numpy() / 1e6
    if pa.types.is_time(kind):
        return column.cast(pa.time64("us"), safe=False).cast(pa.int64()).to_numpy() / 1e6
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return column.to_numpy()
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        column = column.cast(pa.string())
    return np.array([np.nan if cell is None else str(cell) for cell in column.to_pylist()], object)
