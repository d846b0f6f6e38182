"""A file of columns as data frames of some rows each: memory does not depend on its length.

Files of Parquet and Arrow tell the types of their columns. Text does not, and what its first lines
look like is no proof: postal codes are numbers until the first letter. So text is read twice, once
for the types that fit all lines, as :func:`mercer.data.reading.read_table` finds them, and once for
the rows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from mercer.data.ipc import Ipc
from mercer.data.parquet import File, Parquet, blamed
from mercer.data.reading import (
    ROWS,
    Dialect,
    distinct,
    format_of,
    framed,
)
from mercer.data.table import DataError
from mercer.data.text import ADVICE, too_large

__all__ = ["FrameBatches"]

# Every value of a type, as text, is also one of the types behind it.
FAMILIES = (
    (pa.int64(), pa.float64()),
    (pa.date32(), pa.timestamp("s"), pa.timestamp("ns")),
    (pa.string(), pa.binary()),
)


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
    encoding, comment : str, optional
        As in :func:`mercer.data.reading.read_table`.
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
        kind = format or format_of(self.file.path)
        self._how: Any = None
        self.left_out: list[str] = []
        if kind == "csv":
            self._dialect = Dialect.of(self.file.path, delimiter, encoding, comment, max_bytes)
            self.names = list(self._dialect.header.names)
        else:
            self._how = Parquet() if kind == "parquet" else Ipc()
            self._schema = self._how.inspect(self.file).schema
            nested = [field.name for field in self._schema if pa.types.is_nested(field.type)]
            self.left_out = nested
            self.names = [name for name in self._schema.names if name not in nested]
        distinct([*self.names, *self.left_out], self.file.path)

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
                if batch.nbytes > self.most:
                    raise too_large(self.file.path, self.most)
                for k in range(0, batch.num_rows, ROWS):
                    frame = framed(batch.slice(k, ROWS), self.file.path)
                    frame.index = pd.RangeIndex(first, first + len(frame))
                    first += len(frame)
                    yield frame
        if not first:
            raise DataError(f"{self.file.path} has no rows of numbers, words or dates")

    def _typed(self, columns: list[str]) -> Iterator[Any]:
        if columns:
            with blamed(self.file.path, ""):
                found = self._how.batches(self.file, self._schema, columns, None, ROWS)
                yield from (pa.Table.from_batches([batch]) for batch in found)

    # Text -----------------------------------------------------------------------------------------

    def _text(self, columns: list[str]) -> Iterator[Any]:
        types: dict[str, Any] = {}
        for table in self._tables(columns, None):
            for name, kind in zip(table.column_names, table.schema.types, strict=True):
                types[name] = _joined(types.get(name, pa.null()), kind)
        yield from self._tables(columns, types)

    def _tables(self, columns: list[str], types: dict[str, Any] | None) -> Iterator[Any]:
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


def _joined(a: Any, b: Any) -> Any:
    """Return the type of text that is of one type in some lines and of another in others."""
    for one, other in ((a, b), (b, a)):
        if one == other or pa.types.is_null(one):
            return other
        for family in FAMILIES:
            if one in family and other in family[family.index(one) :]:
                return other
    return pa.binary() if pa.binary() in (a, b) else pa.string()
