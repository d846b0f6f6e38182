"""A whole file of columns as a data frame, as long as it stays within bounds.

Sources refuse dates and mixed columns, since a machine cannot use them; whoever prepares a table
needs them as they are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv

from mercer.data.ipc import Ipc
from mercer.data.parquet import File, Parquet, blamed
from mercer.data.table import DataError
from mercer.data.text import (
    ADVICE,
    GROWTH,
    ColumnNames,
    chunks_of,
    decoded,
    encoding_of,
    separator,
    too_large,
    trimmed,
    uncommented,
    whole_lines,
)

__all__ = [
    "FORMATS",
    "ROWS",
    "Dialect",
    "distinct",
    "format_of",
    "framed",
    "read_table",
]

FORMATS = {
    "csv": "csv", "tsv": "csv", "txt": "csv", "data": "csv",
    "parquet": "parquet", "pq": "parquet", "parq": "parquet",
    "arrow": "arrow", "arrows": "arrow", "feather": "arrow", "ipc": "arrow",
}  # fmt: skip
"""Formats by the end of a name."""

MISSING = [
    *("", "?", "NA", "N/A", "n/a", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None", "none"),
    *("#N/A", "#N/A N/A", "#NA", "<NA>", "NaT", "-1.#IND", "1.#IND", "-1.#QNAN", "1.#QNAN"),
]
ROWS = 2**14


def read_table(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    comment: str | None = None,
    max_bytes: float = np.inf,
) -> pd.DataFrame:
    r"""Return the rows of a file as a data frame: numbers, words, dates, and gaps.

    A text file whose first line holds numbers only has no names; its columns are called 1, 2, ...
    Columns of nested values are left out, as :attr:`pandas.DataFrame.attrs` says under
    ``"left_out"``; under ``"notes"`` it says what was guessed of a text file.

    Parameters
    ----------
    path : str or path
        A file of values between signs, of Parquet or of Arrow; text may be compressed.
    format : {"csv", "parquet", "arrow"}, optional
        By default what the name of the file ends in.
    delimiter : str, optional
        Between the values of a text file; by default the sign that the first line has most of.
    encoding : str, optional
        Of a text file: ``"utf-8"``, ``"utf-16"``, ``"latin-1"``, ...; recognized by default.
    comment : str, optional
        Sign at the beginning of lines of a text file that are left out.
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
        dialect = Dialect.of(file.path, delimiter, encoding, comment, max_bytes)
        frame = framed(_text(file, dialect, max_bytes), file.path)
        frame.attrs["notes"] = list(dialect.notes)
        return frame
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
            raise DataError(f"{path} has two columns of the name {name!r}; rename one of them")
        seen.add(name)


def _bounded(batches: Iterable[Any], path: str, most: float) -> Iterable[Any]:
    """Yield batches until they are too large together: what a footer declares is not believed."""
    held = 0
    for batch in batches:
        held += batch.nbytes
        if held > most:
            raise too_large(path, most)
        yield batch


# Text ---------------------------------------------------------------------------------------------


def _text(file: File, dialect: Dialect, most: float) -> Any:
    """Return the table in a text file."""
    with blamed(file.path, " as delimited text", ADVICE):
        held = pa.BufferOutputStream()
        for lines in dialect.lines(file.path, most):
            held.write(lines)
            if GROWTH * held.tell() > most:
                raise too_large(file.path, most)
        table = dialect.table(held.getvalue(), skip=dialect.header.lines)
    if table.nbytes > most:
        raise too_large(file.path, most)
    return table


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

    Parameters
    ----------
    sign : str
        Between the values of a line.
    header : ColumnNames
        Names of the columns.
    encoding : str
        Of the text.
    comment : str, optional
        Sign at the beginning of lines that are left out.
    notes : tuple of str
        What was guessed.
    """

    sign: str
    header: ColumnNames
    encoding: str = "utf-8-sig"
    comment: str | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        path: str,
        delimiter: str | None = None,
        encoding: str | None = None,
        comment: str | None = None,
        most: float = np.inf,
    ) -> Dialect:
        """Return the dialect of a file.

        Parameters
        ----------
        path : str
            The file.
        delimiter, encoding, comment : str, optional
            What is known.
        most : float, optional
            Bytes of memory that a row may take.
        """
        with blamed(path, " as delimited text"):
            found, note = (encoding, "") if encoding else encoding_of(chunks_of(path), path)
            rows = whole_lines(decoded(chunks_of(path), found, path), path, most)
            start = next((kept for text in rows if (kept := _trimmed(text, comment))), b"")
        if b"\0" in start[:4096] or not start.strip():
            what = "is empty" if not start.strip() else "holds no text"
            raise DataError(f"{path} {what}: a line of names and rows are expected")
        header = ColumnNames.of(start, sign := delimiter or separator(start), path)
        return cls(sign, header, found, comment, (*([note] if note else []), *header.notes))

    def lines(self, path: str, most: float) -> Iterator[bytes]:
        """Yield about a megabyte of whole rows of a file at a time, in UTF-8, without comments.

        Parameters
        ----------
        path : str
            The file.
        most : float
            Bytes that a row may take.
        """
        begun = False
        for text in whole_lines(decoded(chunks_of(path), self.encoding, path), path, most):
            kept = uncommented(text, self.comment)
            kept, begun = kept if begun else trimmed(kept), begun or bool(trimmed(kept))
            if kept:
                yield kept

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
        return csv.read_csv(
            pa.BufferReader(text),
            csv.ReadOptions(
                use_threads=False, column_names=list(self.header.names), skip_rows=skip
            ),
            csv.ParseOptions(delimiter=self.sign, newlines_in_values=True),
            csv.ConvertOptions(
                column_types=types,
                include_columns=columns,
                null_values=MISSING,
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )


def _trimmed(text: bytes, comment: str | None) -> bytes:
    return trimmed(uncommented(text, comment))


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
