"""Files of columns as data frames: text of others, Parquet, Arrow, whole or in parts."""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv

from mercer.data.column_files import ColumnFile, blamed
from mercer.data.opening import COLUMNS
from mercer.data.table import DataError

CHUNK_BYTES = 2**20
"""Bytes that are read at once."""

MEMORY_PER_TEXT_BYTE = 4
"""Text and the columns made of it are in memory together; most numbers are shorter as text."""

MAX_QUOTED_ROW_BYTES = 2**24
"""Bytes of the longest row with a line within quotes."""

SEPARATORS = (",", ";", "\t", "|", " ")
# Bytes that have no letter in the code page of Windows, and those that no text has.
UNUSED = frozenset(b"\x81\x8d\x8f\x90\x9d")
CONTROL = frozenset(range(32)) - frozenset(b"\t\n\r\f\v\x1a\x1b")
BLANK = re.compile(rb"\A(?:[ ]*\r?\n)+")
QUOTED = re.compile(rb'"[^"]*"')
NUMBER = re.compile(r"[-+]?(?:\d[\d.,]*|[.,]\d+)(?:[eE][-+]?\d+)?\s*%?|nan|inf", re.IGNORECASE)

MISSING = [
    *("", "?", "NA", "N/A", "n/a", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None", "none"),
    *("#N/A", "#N/A N/A", "#NA", "<NA>", "NaT", "-1.#IND", "1.#IND", "-1.#QNAN", "1.#QNAN"),
]
"""Spellings of a missing cell."""

ADVICE = (
    "; a separator inside a cell must stand in quotes, --delimiter says which sign separates the "
    "cells, and --comment '#' leaves out lines that begin with this sign"
)


# Encodings ----------------------------------------------------------------------------------------


def encoding_of(chunks: Iterable[bytes], path: str) -> tuple[str, str]:
    """Return the encoding of a file, and a sentence about it if it had to be guessed.

    UTF-8 and UTF-16 are recognized. Other bytes are taken for the code page of Windows in Western
    Europe, or for Latin-1.

    Parameters
    ----------
    chunks : iterable of bytes
        The file from its beginning.
    path : str
        Its name, for the sentence.

    Examples
    --------
    >>> encoding_of(["größe".encode("utf-16")], "t.csv")
    ('utf-16', '')
    >>> encoding_of(["größe;1".encode("latin-1")], "t.csv")[0]
    'cp1252'
    """
    check: codecs.IncrementalDecoder = codecs.getincrementaldecoder("utf-8")()
    seen, name = set[int](), "utf-8-sig"
    for k, chunk in enumerate(chunks):
        if k == 0 and (wide := _wide(chunk)):
            return wide, ""
        if k == 0 and _binary(chunk[:4096]):
            raise DataError(f"{path} holds no text: a line of names and rows are expected")
        seen |= {*np.unique(np.frombuffer(chunk, dtype=np.uint8)).tolist()}
        try:
            check.decode(chunk)
        except UnicodeDecodeError:
            name = "cp1252"
            check = codecs.getincrementaldecoder("latin-1")()
    if name != "cp1252":
        return name, ""
    name = "latin-1" if UNUSED & seen else name
    return name, f"{path} is not UTF-8 and is read as {name}; say another with --encoding."


def _binary(start: bytes) -> bool:
    """Return whether bytes are no text: a zero, or other control bytes where all is not UTF-8."""
    if not CONTROL & {*start}:
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return True
    return 0 in start


def _wide(start: bytes) -> str:
    """Return which UTF-16 a text is in, or nothing."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    odd, even = start[1:200:2], start[0:200:2]
    if len(odd) > 3 and not any(odd) and all(even):
        return "utf-16-le"
    return "utf-16-be" if len(even) > 3 and not any(even) and all(odd) else ""


def decoded(chunks: Iterable[bytes], encoding: str, path: str) -> Iterator[bytes]:
    """Yield a text in UTF-8.

    Parameters
    ----------
    chunks : iterable of bytes
        The text.
    encoding : str
        In which it is.
    path : str
        The file, for the sentence.
    """
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
    except LookupError as error:
        raise DataError(
            f"there is no encoding {encoding[:40]!r}; known are utf-8, utf-16, latin-1, cp1252 and "
            "others of Python"
        ) from error
    try:
        for chunk in chunks:
            yield decoder.decode(chunk).encode()
        yield decoder.decode(b"", final=True).encode()
    except UnicodeError as error:
        raise DataError(
            f"{path} is not in the encoding {encoding}: {error}; say another with --encoding, such "
            "as utf-8, utf-16 or latin-1"
        ) from error


# Lines --------------------------------------------------------------------------------------------


def whole_lines(chunks: Iterable[bytes], path: str, most: float = np.inf) -> Iterator[bytes]:
    """Yield text cut between rows: a new line within quotes is part of its cell.

    Parameters
    ----------
    chunks : iterable of bytes
    path : str
        The file, for the sentence.
    most : float, optional
        Bytes of memory that a row and what is made of it may take.
    """
    rest = b""
    for chunk in chunks:
        held = rest + chunk
        if MEMORY_PER_TEXT_BYTE * len(held) > most:
            raise too_large(path, most)
        end = _row_end(held)
        if end:
            yield held[:end]
        rest = held[end:]
    if rest:
        yield rest


def _row_end(held: bytes) -> int:
    """Return where the last whole row ends, 0 if there is none."""
    end = held.rfind(b"\n") + 1
    # Where a quote is never closed, rows would go on to the end of the file.
    if len(held) > MAX_QUOTED_ROW_BYTES or not held.count(b'"', 0, end) % 2:
        return end
    signs = np.frombuffer(held, dtype=np.uint8)
    lines = np.flatnonzero(signs == ord("\n"))
    within = np.searchsorted(np.flatnonzero(signs == ord('"')), lines) % 2
    return int(lines[within == 0][-1]) + 1 if not within.all() else 0


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


def uncommented(text: bytes, sign: str | None) -> bytes:
    r"""Return rows without the lines that begin with a sign.

    Parameters
    ----------
    text : bytes
        Whole rows.
    sign : str, optional
        At the beginning of a comment.

    Examples
    --------
    >>> uncommented(b"# units: m\nx,y\n", "#")
    b'x,y\n'
    """
    if not sign:
        return text
    kept, quotes = [], 0
    for line in text.splitlines(keepends=True):
        if quotes % 2 or not line.lstrip().startswith(sign.encode()):
            kept.append(line)
            quotes += line.count(b'"')
    return b"".join(kept)


def separator(start: bytes) -> str:
    r"""Return the sign that the first two lines have equally often, or the first has most of.

    Parameters
    ----------
    start : bytes
        The first lines.

    Examples
    --------
    >>> separator(b"width;height\n1,5;2,5\n")
    ';'
    """
    first, second = (*QUOTED.sub(b"", start).split(b"\n", 2), b"")[:2]
    counts = [(first.count(sign.encode()), second.count(sign.encode())) for sign in SEPARATORS]
    same = [a if a == b else 0 for a, b in counts]
    best = same if any(same) else [a for a, _ in counts]
    return SEPARATORS[int(np.argmax(best))] if any(best) else ","


def names_of(start: bytes, sign: str, path: str) -> tuple[tuple[str, ...], int, tuple[str, ...]]:
    r"""Return the names in the first line of a text, the lines that they take, and notes.

    If it holds numbers only, they are numbers. A column without a name is called ``Unnamed: 2`` by
    its place, and of two columns of one name the second is called ``x.1``, as pandas does.

    Parameters
    ----------
    start : bytes
        The first lines.
    sign : str
        Between the cells.
    path : str
        The file, for the sentences.

    Examples
    --------
    >>> names_of(b"x,,x\n1,2,3\n", ",", "t.csv")[0]
    ('x', 'Unnamed: 1', 'x.1')
    """
    if len(sign) != 1:
        raise DataError(f"the delimiter is a single sign, not {sign[:20]!r}")
    rows = csv.reader(io.StringIO(start.decode(errors="replace"), newline=""), delimiter=sign)
    try:
        first = next(rows)
        lines = rows.line_num
        second = next((row for row in rows if row), [])
    except (csv.Error, StopIteration) as error:
        raise DataError(f"{path} cannot be read as delimited text: {error}{ADVICE}") from error
    cells = [cell.strip() for cell in first]
    if all(NUMBER.fullmatch(cell) for cell in cells):
        numbers = tuple(str(k) for k in range(1, len(cells) + 1))
        return numbers, 0, (f"{path} has no line of names: columns are called 1, 2, ...",)
    if len(second) > len(cells) and not any(second[len(cells) :]):
        cells += [""] * (len(second) - len(cells))
    names: list[str] = []
    taken, times, notes = {*cells}, dict[str, int](), []
    for k, cell in enumerate(cells):
        name = cell or f"Unnamed: {k}"
        if cell and cell in times:
            while (name := f"{cell}.{times[cell]}") in taken:
                times[cell] += 1
            notes.append(f"{path} has two columns of the name {cell!r}: one is called {name!r}.")
        times[cell] = times.get(cell, 0) + 1
        taken.add(name)
        names.append(name)
    return tuple(names), lines, tuple(notes)


def chunks_of(path: str) -> Iterator[bytes]:
    """Yield the bytes of a file, unpacked.

    Parameters
    ----------
    path : str
    """
    with pa.input_stream(path, compression="detect") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            yield chunk


def trimmed(start: bytes) -> bytes:
    """Return a text without empty lines at its beginning.

    Parameters
    ----------
    start : bytes
    """
    return BLANK.sub(b"", start)


# Tables -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

    Parameters
    ----------
    sign : str
        Between the values of a line.
    names : tuple of str
        Of the columns, different from each other.
    skip : int
        Lines that the names take.
    encoding : str
        Of the text.
    comment : str, optional
        Sign at the beginning of lines that are left out.
    notes : tuple of str
        What was guessed.
    """

    sign: str
    names: tuple[str, ...]
    skip: int
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
            begins = (trimmed(uncommented(text, comment)) for text in rows)
            start = next(filter(None, begins), b"")
        if b"\0" in start[:4096] or not start.strip():
            what = "is empty" if not start.strip() else "holds no text"
            raise DataError(f"{path} {what}: a line of names and rows are expected")
        names, skip, notes = names_of(start, sign := delimiter or separator(start), path)
        return cls(sign, names, skip, found, comment, (*([note] if note else []), *notes))

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
        self,
        text: bytes | pa.Buffer,
        types: dict[str, pa.DataType] | None = None,
        columns: list[str] | None = None,
        skip: int = 0,
    ) -> pa.Table:
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
        return pa_csv.read_csv(
            pa.BufferReader(text),
            pa_csv.ReadOptions(use_threads=False, column_names=list(self.names), skip_rows=skip),
            pa_csv.ParseOptions(delimiter=self.sign, newlines_in_values=True),
            pa_csv.ConvertOptions(
                column_types=types,
                include_columns=columns,
                null_values=MISSING,
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )


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
    path: str | os.PathLike[str], *, max_bytes: float = np.inf, **how: str | None
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
        kind = format or _format_of(os.fspath(path))
        self.file, self.most = ColumnFile.found(os.fspath(path), kind), max_bytes
        self.left_out: list[str] = []
        if kind == "csv":
            self._dialect = Dialect.of(self.file.path, delimiter, encoding, comment, max_bytes)
            self.names = list(self._dialect.names)
        else:
            self._schema = self.file.inspect().schema
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
            for batch in self._text(wanted) if self.file.format == "csv" else self._typed(wanted):
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
        if self.file.format == "csv":
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
            with blamed(self.file.path, ""):
                found = self.file.batches(self._schema, columns, None, FRAME_ROWS)
                yield from (pa.Table.from_batches([batch]) for batch in found)

    # Text -----------------------------------------------------------------------------------------

    def _whole_text(self) -> pa.Table:
        with blamed(self.file.path, " as delimited text", ADVICE):
            held = pa.BufferOutputStream()
            for lines in self._dialect.lines(self.file.path, self.most):
                held.write(lines)
                self._bound(MEMORY_PER_TEXT_BYTE * held.tell())
            table = self._dialect.table(held.getvalue(), skip=self._dialect.skip)
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
        skip, before = self._dialect.skip, 0
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
