"""Text files of values between commas, or other signs, read as a stream."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.csv as csv

from mercer.data.parquet import File, Footer, Format, RowGroups, blamed
from mercer.data.table import DataError

__all__ = ["Delimited"]

BLOCK_BYTES = 2**20
"""Bytes of text that are read at once."""

# Arrow takes 8 kB for a column, even an empty one, so a line of commas could cost a gigabyte.
FREE_COLUMNS, BYTES_PER_COLUMN = 12_000, 100

ADVICE = "; if a column holds words after all, say so: types={'name': 'string'}"


@dataclass(frozen=True)
class Delimited(Format):
    """Files of values between signs.

    What a column holds is read off the first megabyte. Whole numbers are taken for numbers with a
    fraction, because one may follow; words among numbers are refused with file and row.

    Parameters
    ----------
    delimiter : str
    names : tuple of str, optional
        Names of the columns, if the first line does not hold them.
    types : dict, optional
        Types of columns by name, in Arrow's words: ``{"zip": "string"}``.
    encoding : str, optional
        Of the text; UTF-8 by default, or UTF-16 if the file begins so.
    """

    delimiter: str = ","
    names: tuple[str, ...] | None = None
    types: dict[str, str] = field(default_factory=dict)
    encoding: str | None = None

    def inspect(self, file: File) -> Footer:
        self._check_width(file)
        with self._opened(file, None, {}) as reader:
            try:
                schema = reader.schema
                names = schema.names  # Arrow makes this list anew whenever it is asked for it
                # Words whose bytes are no UTF-8 are taken for bytes by Arrow.
                coded = any(map(pa.types.is_binary, schema.types))
            except UnicodeDecodeError:
                coded = True
        if coded:
            raise DataError(
                f"{file.path} is not {self.encoding or 'UTF-8'}; say its encoding, such as "
                "encoding='latin-1' or encoding='cp1252'"
            )
        if unknown := self.types.keys() - {*names}:
            raise DataError(f"{file.path} has no column {', '.join(sorted(unknown))}")
        # Arrow reads the next megabyte while it unpacks one.
        pages = dict.fromkeys(names, 4 * BLOCK_BYTES // len(names))
        return Footer(pa.schema([pa.field(f.name, self._type(f)) for f in schema]), None, pages)

    def batches(
        self, file: File, schema: pa.Schema, columns: Sequence[str], groups: RowGroups, rows: int
    ) -> Iterator[pa.RecordBatch]:
        known = dict(zip(schema.names, schema.types, strict=True))
        types = {name: known[name] for name in columns}
        with self._opened(file, columns, types) as reader:
            while True:
                with blamed(file.path, "", ADVICE):
                    try:
                        batch = reader.read_next_batch()
                    except StopIteration:
                        return
                yield from (batch.slice(i, rows) for i in range(0, batch.num_rows, rows))

    def _check_width(self, file: File) -> None:
        """Refuse a first line with more columns than its file could have use for."""
        with blamed(file.path, " as delimited text"), self._stream(file) as stream:
            line = stream.read(BLOCK_BYTES).partition(b"\n")[0]
        with file.open() as handle:
            most = FREE_COLUMNS + handle.size() // BYTES_PER_COLUMN
        if (found := line.count(self.delimiter.encode())) >= most:
            raise DataError(
                f"{file.path} has {found + 1} columns in its first line, more than the {most} that "
                "a text file of its size is read with; write the rows as Parquet or .npy"
            )

    def _type(self, column: pa.Field) -> pa.DataType:
        if column.name in self.types:
            return pa.type_for_alias(self.types[column.name])
        vague = pa.types.is_integer(column.type) or pa.types.is_null(column.type)
        return pa.float64() if vague else column.type

    @staticmethod
    def _stream(file: File) -> pa.NativeFile:
        # Arrow unpacks a compressed file if it knows its name.
        if file.filesystem is None:
            return pa.input_stream(file.path, compression="detect")
        return file.filesystem.open_input_stream(file.path, compression="detect")

    def _opened(
        self, file: File, columns: Sequence[str] | None, types: dict[str, pa.DataType]
    ) -> csv.CSVStreamingReader:
        with blamed(file.path, " as delimited text"):
            encoding = self.encoding or "utf8"
            if self.encoding is None:
                with self._stream(file) as start:
                    wide = start.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
                encoding = "utf-16" if wide else encoding
            return csv.open_csv(
                self._stream(file),
                csv.ReadOptions(
                    use_threads=False,
                    column_names=self.names,
                    block_size=BLOCK_BYTES,
                    encoding=encoding,
                ),
                csv.ParseOptions(delimiter=self.delimiter),
                csv.ConvertOptions(
                    column_types=types,
                    include_columns=None if columns is None else list(columns),
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
