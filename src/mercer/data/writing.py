"""Columns written to files block by block, which appear when they are complete."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
from numpy.typing import ArrayLike

from mercer._typing import AnyArray
from mercer.data.npy import Pending
from mercer.data.table import DataError

__all__ = ["ColumnFile", "parts", "same_start"]

OPEN = {
    "parquet": lambda path, schema: pq.ParquetWriter(path, schema, write_page_checksum=True),
    "csv": lambda path, schema: csv.CSVWriter(path, schema),
    "arrow": lambda path, schema: pa.ipc.new_file(path, schema),
}


class ColumnFile(Pending):
    """A file of columns that is being written.

    Parameters
    ----------
    path : str or path
    kind : {"parquet", "csv", "arrow"}
    """

    def __init__(self, path: str | os.PathLike[str], kind: str = "parquet") -> None:
        super().__init__(path)
        self.kind = kind
        self._writer: Any = None
        self._schema = pa.schema([])

    def write(self, columns: dict[str, AnyArray]) -> None:
        """Add rows.

        Parameters
        ----------
        columns : dict from str to (n,) array
        """
        if self._writer is None:
            batch = pa.RecordBatch.from_pydict({name: _array(v) for name, v in columns.items()})
            self._schema = batch.schema
            with self.writing():
                self._writer = OPEN[self.kind](str(self.partial), self._schema)
        else:
            kinds = dict(zip(self._schema.names, self._schema.types, strict=True))
            cast = {name: _array(v, kinds[name]) for name, v in columns.items()}
            batch = pa.RecordBatch.from_pydict(cast)
        with self.writing():
            self._writer.write_batch(batch)

    def _finish(self) -> None:
        if self._writer is not None:
            self._writer.close()


def _array(values: ArrayLike, kind: pa.DataType | None = None) -> pa.Array:
    """Return a column as Arrow's, of a kind if it has one already."""
    values = np.asarray(values)
    if values.dtype.kind in "OUS":
        return pa.array(values.tolist(), kind or (pa.string() if _words(values) else None))
    # Whole numbers may have gaps in a later block, where they come as numbers with NaN.
    gaps = kind is not None and pa.types.is_integer(kind)
    array = pa.array(values, from_pandas=gaps)
    return array if kind is None else array.cast(kind)


def _words(values: AnyArray) -> bool:
    return all(item is None or isinstance(item, str) for item in values.tolist())


def parts(folder: Path) -> dict[int, int]:
    """Return the complete parts in a folder, by number, with their numbers of rows.

    Parameters
    ----------
    folder : Path
    """
    found = {}
    for path in sorted(folder.glob("part-*.parquet")):
        with suppress(pa.ArrowException, OSError, ValueError):
            found[int(path.stem.removeprefix("part-"))] = pq.read_metadata(path).num_rows
    return found


def same_start(path: Path, columns: dict[str, AnyArray]) -> None:
    """Refuse a folder whose first part was written by another machine, or from other rows.

    Parameters
    ----------
    path : Path
        The first part.
    columns : dict from str to (n,) array
        Its first rows as they are now.
    """
    new = pa.table({name: _array(values) for name, values in columns.items()})
    with pq.ParquetFile(path) as file:
        names = file.schema_arrow.names
        old = None
        if names == new.schema.names:
            batch = next(file.iter_batches(new.num_rows), None)
            old = None if batch is None else pa.table(batch).slice(0, new.num_rows)
    if old is None or old.num_rows > new.num_rows or not _close(old, new.slice(0, old.num_rows)):
        raise DataError(
            f"{path} holds other predictions than these; write to another folder, or remove it"
        )


def _close(old: pa.Table, new: pa.Table) -> bool:
    """Return whether two tables agree, numbers up to the rounding of another order of sums."""
    for name in new.schema.names:
        a, b = old.column(name).to_pylist(), new.column(name).to_pylist()
        if pa.types.is_floating(new.schema.field(name).type):
            with np.errstate(invalid="ignore"):
                x, y = np.array(a, dtype=np.float64), np.array(b, dtype=np.float64)
            if not np.allclose(x, y, rtol=1e-6, atol=1e-9 * float(np.max(np.abs(y), initial=0.0)),
                               equal_nan=True):  # fmt: skip
                return False
        elif a != b:
            return False
    return True
