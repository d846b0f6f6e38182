"""Files of Arrow itself: with an index of their batches (Feather), or as a stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from mercer.data.parquet import File, Footer, Format, RowGroups, blamed

__all__ = ["Ipc"]


@dataclass(frozen=True)
class Ipc(Format):
    """Files in Arrow's own format; a batch of the file is in memory whole."""

    def inspect(self, file: File) -> Footer:
        with blamed(file.path, " as an Arrow file"):
            with self._opened(file) as (reader, indexed):
                schema, width = reader.schema, len(reader.schema)
            if not indexed:
                return Footer(schema, None, {})
            # To count rows, one column is enough.
            with self._opened(file, [0] if width else None) as (reader, _):
                counts = [reader.get_batch(g).num_rows for g in range(reader.num_record_batches)]
            widths = {f.name: _width(f.type) * max(counts, default=0) for f in schema}
            return Footer(schema, tuple(counts), widths)

    def batches(
        self, file: File, schema: pa.Schema, columns: Sequence[str], groups: RowGroups, rows: int
    ) -> Iterator[pa.RecordBatch]:
        with blamed(file.path, " as an Arrow file"):
            with self._opened(file) as (reader, _):
                fields = sorted(reader.schema.get_field_index(name) for name in columns)
            with self._opened(file, fields) as (reader, indexed):
                if indexed:
                    numbers = range(reader.num_record_batches) if groups is None else groups
                    batches = (reader.get_batch(g) for g in numbers)
                else:
                    batches = iter(reader)
                for batch in batches:
                    # Offsets of words are believed by who reads them: damaged ones lead outside.
                    batch.validate(full=True)
                    yield from (batch.slice(i, rows) for i in range(0, batch.num_rows, rows))

    @contextmanager
    def _opened(
        self, file: File, fields: list[int] | None = None
    ) -> Iterator[tuple[pa.RecordBatchReader, bool]]:
        options = pa.ipc.IpcReadOptions(use_threads=False, included_fields=fields)
        with file.open() as handle:
            indexed = handle.read(6) == b"ARROW1"
            handle.seek(0)
            read = pa.ipc.open_file if indexed else pa.ipc.open_stream
            yield read(handle, options=options), indexed


def _width(kind: pa.DataType) -> int:
    """Return the bytes of a value, sixteen for words."""
    return int(kind.bit_width) // 8 + 1 if pa.types.is_primitive(kind) else 16
