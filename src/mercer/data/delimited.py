"""Text files of values between commas, or other signs, read as a stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv

from mercer.data.parquet import File, Footer, Format, blamed
from mercer.data.table import DataError

__all__ = ["Delimited"]

BLOCK = 2**20
"""Bytes of text that are read at once."""

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
    """

    delimiter: str = ","
    names: tuple[str, ...] | None = None
    types: dict[str, str] = field(default_factory=dict)

    def inspect(self, file: File) -> Footer:
        with self._opened(file, None, {}) as reader:
            schema = reader.schema
        if unknown := self.types.keys() - {*schema.names}:
            raise DataError(f"{file.path} has no column {', '.join(sorted(unknown))}")
        # Arrow reads the next megabyte while it unpacks one.
        pages = {name: 4 * BLOCK // len(schema.names) for name in schema.names}
        return Footer(pa.schema([pa.field(f.name, self._type(f)) for f in schema]), None, pages)

    def batches(
        self, file: File, schema: Any, columns: Sequence[str], groups: Any, rows: int
    ) -> Iterator[Any]:
        types = {name: schema.field(name).type for name in columns}
        with self._opened(file, columns, types) as reader:
            while True:
                with blamed(file.path, "", ADVICE):
                    try:
                        batch = reader.read_next_batch()
                    except StopIteration:
                        return
                yield from (batch.slice(i, rows) for i in range(0, batch.num_rows, rows))

    def _type(self, column: Any) -> Any:
        if column.name in self.types:
            return pa.type_for_alias(self.types[column.name])
        vague = pa.types.is_integer(column.type) or pa.types.is_null(column.type)
        return pa.float64() if vague else column.type

    def _opened(self, file: File, columns: Sequence[str] | None, types: dict[str, Any]) -> Any:
        with blamed(file.path, " as delimited text"):
            # Arrow unpacks a compressed file if it knows its name.
            path = file.path
            stream = (
                pa.input_stream(path, compression="detect")
                if file.local
                else file.filesystem.open_input_stream(path, compression="detect")
            )
            return csv.open_csv(
                stream,
                csv.ReadOptions(use_threads=False, column_names=self.names, block_size=BLOCK),
                csv.ParseOptions(delimiter=self.delimiter),
                csv.ConvertOptions(
                    column_types=types,
                    include_columns=None if columns is None else list(columns),
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
