"""A file of columns as data frames: whole, within bounds, or some rows at a time.

Sources refuse dates and mixed columns, since a machine cannot use them; whoever prepares a table
needs them as they are. Files of Parquet and Arrow tell the types of their columns. Text does not,
and what its first lines look like is no proof: postal codes are numbers until the first letter. So
text in parts is read twice, once for the types that fit all lines, and once for the rows.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from mercer.data.files import COLUMNS
from mercer.data.ipc import Ipc
from mercer.data.parquet import File, Parquet, blamed
from mercer.data.table import DataError
from mercer_studio.text import ADVICE, MEMORY_PER_TEXT_BYTE, Dialect, too_large

__all__ = ["FORMATS", "FRAME_ROWS", "FrameBatches", "read_table"]

FORMATS = COLUMNS | {"data": "csv"}
"""Formats by the end of a name."""

FRAME_ROWS = 2**14
"""Rows of a frame, where a file is read in parts."""

# Every value of a type, as text, is also one of the types behind it.
FAMILIES = (
    (pa.int64(), pa.float64()),
    (pa.date32(), pa.timestamp("s"), pa.timestamp("ns")),
    (pa.string(), pa.binary()),
)


def read_table(
    path: str | os.PathLike[str],
    *,
    max_bytes: float = np.inf,
    **how: str | None,
) -> pd.DataFrame:
    r"""Return the rows of a file as a data frame: numbers, words, dates, and gaps.

    A text file whose first line holds numbers only has no names; its columns are called 1, 2, ...
    Columns of nested values are left out, as :attr:`pandas.DataFrame.attrs` says under
    ``"left_out"``; under ``"notes"`` it says what was guessed of a text file.

    Parameters
    ----------
    path : str or path
        A file of values between signs, of Parquet or of Arrow; text may be compressed.
    max_bytes : float, optional
        Memory that the columns may take.
    **how : str, optional
        ``format``, ``delimiter``, ``encoding`` and ``comment`` as in :class:`FrameBatches`.

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
    return FrameBatches(path, max_bytes=max_bytes, **how).whole()


class FrameBatches:
    r"""Rows of a file as data frames, some rows at a time, with the types of the whole file.

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
        Memory that the rows of a frame may take.

    Attributes
    ----------
    names : list of str
        Columns that can be read.
    left_out : list of str
        Columns of nested values.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "table.csv"
    >>> _ = path.write_text("x,code\n" + "1,0017\n" * 20_000 + "2.5,A9\n")
    >>> file = FrameBatches(path)
    >>> file.names
    ['x', 'code']
    >>> [(len(frame), frame.code.iloc[0]) for frame in file.frames()]
    [(16384, '0017'), (3617, '0017')]
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        delimiter: str | None = None,
        encoding: str | None = None,
        comment: str | None = None,
        max_bytes: float = np.inf,
    ) -> None:
        self.file, self.most = File.found(os.fspath(path)), max_bytes
        kind = format or _format_of(self.file.path)
        self._how: Parquet | Ipc | None = None
        self.left_out: list[str] = []
        if kind == "csv":
            self._dialect = Dialect.of(self.file.path, delimiter, encoding, comment, max_bytes)
            self.names = list(self._dialect.header.names)
        else:
            self._how = Parquet() if kind == "parquet" else Ipc()
            self._schema = self._how.inspect(self.file).schema
            self.left_out = [f.name for f in self._schema if pa.types.is_nested(f.type)]
            self.names = [name for name in self._schema.names if name not in self.left_out]
        counts = Counter([*self.names, *self.left_out])
        if twice := [name for name, n in counts.items() if n > 1]:
            raise DataError(
                f"{self.file.path} has two columns of the name {twice[0]!r}; rename one of them"
            )

    def frames(self, columns: Sequence[str] | None = None) -> Iterator[pd.DataFrame]:
        """Yield the rows; the index of a frame goes on where that of the frame before ended.

        Parameters
        ----------
        columns : sequence of str, optional
            Columns to read; all of `names` by default.
        """
        wanted = self.names if columns is None else list(columns)
        first = 0
        with self.file.watched():
            for batch in self._text(wanted) if self._how is None else self._typed(wanted):
                self._bound(batch.nbytes)
                for k in range(0, batch.num_rows, FRAME_ROWS):
                    frame = framed(batch.slice(k, FRAME_ROWS), self.file.path)
                    frame.index = pd.RangeIndex(first, first + len(frame))
                    first += len(frame)
                    yield frame
        if not first:
            raise self._empty()

    def whole(self) -> pd.DataFrame:
        """Return all rows; see :func:`read_table`."""
        if self._how is None:
            frame = framed(self._whole_text(), self.file.path)
            frame.attrs["notes"] = list(self._dialect.notes)
            return frame
        held, size = [], 0
        for table in self._typed(self.names):
            held.append(table)
            size += table.nbytes
            self._bound(size)  # what a footer declares is not believed
        if not held:
            raise self._empty()
        with blamed(self.file.path, ""):
            frame = framed(pa.concat_tables(held), self.file.path)
        frame.attrs["left_out"] = self.left_out
        return frame

    def _bound(self, size: float) -> None:
        if size > self.most:
            raise too_large(self.file.path, self.most)

    def _empty(self) -> DataError:
        return DataError(f"{self.file.path} has no rows of numbers, words or dates")

    def _typed(self, columns: list[str]) -> Iterator[pa.Table]:
        if columns:
            assert self._how is not None
            with blamed(self.file.path, ""):
                found = self._how.batches(self.file, self._schema, columns, None, FRAME_ROWS)
                yield from (pa.Table.from_batches([batch]) for batch in found)

    # Text -----------------------------------------------------------------------------------------

    def _whole_text(self) -> pa.Table:
        with blamed(self.file.path, " as delimited text", ADVICE):
            held = pa.BufferOutputStream()
            for lines in self._dialect.lines(self.file.path, self.most):
                held.write(lines)
                self._bound(MEMORY_PER_TEXT_BYTE * held.tell())
            table = self._dialect.table(held.getvalue(), skip=self._dialect.header.lines)
        self._bound(table.nbytes)
        return table

    def _text(self, columns: list[str]) -> Iterator[pa.Table]:
        types: dict[str, pa.DataType] = {}
        for table in self._tables(columns, None):
            for name, kind in zip(table.column_names, table.schema.types, strict=True):
                types[name] = _joined(types.get(name, pa.null()), kind)
        yield from self._tables(columns, types)

    def _tables(
        self, columns: list[str], types: dict[str, pa.DataType] | None
    ) -> Iterator[pa.Table]:
        """Yield the lines as tables, of given types or of those that fit each table."""
        skip, before = self._dialect.header.lines, 0
        for text in self._dialect.lines(self.file.path, self.most):
            if text.strip():
                with blamed(self.file.path, " as delimited text", ADVICE), _counting(before):
                    yield self._dialect.table(text, types, columns, skip)
            before += text.count(b"\n")
            skip = 0


@contextmanager
def _counting(before: int) -> Iterator[None]:
    """Count the row of an error from the start of the file, not from where the text was cut."""
    try:
        yield
    except pa.ArrowInvalid as error:
        words = re.sub(r"(?<=Row #)\d+", lambda n: str(before + int(n[0])), str(error))
        raise pa.ArrowInvalid(words) from error


def _joined(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    """Return the type of text that is of one type in some lines and of another in others."""
    for one, other in ((a, b), (b, a)):
        if one == other or pa.types.is_null(one):
            return other
        for family in FAMILIES:
            if one in family and other in family[family.index(one) :]:
                return other
    return pa.binary() if pa.binary() in (a, b) else pa.string()


def _format_of(path: str) -> str:
    """Return the format that a name ends in; ends of compressed files are looked through."""
    ending = re.sub(r"\.(gz|bz2|zst|lz4)$", "", path.lower()).rpartition(".")[2]
    if ending not in FORMATS:
        raise DataError(
            f"{path} ends in none of {', '.join(f'.{name}' for name in FORMATS)}; say which format "
            "it has"
        )
    return FORMATS[ending]


# Frames -------------------------------------------------------------------------------------------


def framed(table: pa.Table, path: str) -> pd.DataFrame:
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


def _column(column: pa.ChunkedArray) -> Any:
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
