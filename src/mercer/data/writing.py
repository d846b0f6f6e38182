"""Arrays and columns written to files block by block, which appear when they are complete."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from mercer._optional import plugin
from mercer._typing import AnyArray
from mercer.data.table import DataError

__all__ = ["ColumnWriter", "Npy", "Pending", "parts", "same_start"]


class Pending:
    """A file under another name until it is complete, and gone if it never is.

    Parameters
    ----------
    path : str or path
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        # A name that nobody can guess: in a folder of others, a link could wait under it.
        self.partial = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}.partial")
        self.path.parent.mkdir(parents=True, exist_ok=True)

    def _finish(self) -> None:
        """Write the remaining rows."""

    def __enter__(self) -> Self:
        return self

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Say of a disk that is full, or cannot be written to, which file was to be there."""
        try:
            yield
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            raise OSError(
                error.errno,
                f"{self.path} could not be written ({why}); nothing is left of it: make room, or "
                "write elsewhere",
            ) from error

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        try:
            with self.writing():
                self._finish()
                if kind is None:
                    os.replace(self.partial, self.path)
        except OSError:
            # What could not be written cannot be closed either: the first error is the one to tell.
            if kind is None:
                raise
        finally:
            self.partial.unlink(missing_ok=True)


class Npy(Pending):
    """An array that grows by rows while it is written.

    Parameters
    ----------
    path : str or path

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/x.npy"
    >>> with Npy(path) as file:
    ...     file.write(np.zeros((2, 3)))
    ...     file.write(np.ones((1, 3)))
    >>> np.load(path).shape
    (3, 3)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        self.rows = 0
        self._file = self.partial.open("wb")
        self._like: AnyArray | None = None

    def write(self, values: AnyArray) -> None:
        """Add rows.

        Parameters
        ----------
        values : (n, ...) array
        """
        values = np.ascontiguousarray(values)
        if values.dtype.hasobject:
            raise DataError("an .npy file holds numbers, not objects; write a .parquet file")
        if self._like is None:
            self._like = values[:0]
            self._header(self._like)
        with self.writing():
            self._file.write(values.astype(self._like.dtype, casting="same_kind", copy=False).data)
        self.rows += len(values)

    def _header(self, like: AnyArray) -> None:
        # NumPy leaves room in the header for any number of rows.
        shape = (self.rows, *like.shape[1:])
        described = np.lib.format.dtype_to_descr(like.dtype)
        np.lib.format.write_array_header_1_0(
            self._file, {"descr": described, "fortran_order": False, "shape": shape}
        )

    def _finish(self) -> None:
        if self._like is not None:
            self._file.seek(0)
            self._header(self._like)
        self._file.close()


class ColumnWriter(Pending):
    """A file of columns that is being written.

    Parameters
    ----------
    path : str or path
    kind : {"parquet", "csv", "arrow"}
    """

    def __init__(self, path: str | os.PathLike[str], kind: str = "parquet") -> None:
        super().__init__(path)
        self.kind, self._arrow = kind, plugin("pyarrow")
        self._writer: Any = None
        self._kinds: dict[str, Any] = {}

    def write(self, columns: dict[str, AnyArray]) -> None:
        """Add rows.

        Parameters
        ----------
        columns : dict from str to (n,) array
        """
        cast = {name: _arrow_array(v, self._kinds.get(name)) for name, v in columns.items()}
        batch = self._arrow.RecordBatch.from_pydict(cast)
        with self.writing():
            if self._writer is None:
                schema, path = batch.schema, str(self.partial)
                self._kinds = dict(zip(schema.names, schema.types, strict=True))
                if self.kind == "parquet":
                    made = plugin("parquet").ParquetWriter(path, schema, write_page_checksum=True)
                elif self.kind == "csv":
                    made = plugin("csv").CSVWriter(path, schema)
                else:
                    made = self._arrow.ipc.new_file(path, schema)
                self._writer = made
            self._writer.write_batch(batch)

    def _finish(self) -> None:
        if self._writer is not None:
            self._writer.close()


def _arrow_array(values: ArrayLike, kind: Any = None) -> Any:
    """Return a column as Arrow's, of a kind if it has one already."""
    pa, values = plugin("pyarrow"), np.asarray(values)
    if values.dtype.kind in "OUS":
        items = values.tolist()
        words = all(item is None or isinstance(item, str) for item in items)
        return pa.array(items, kind or (pa.string() if words else None))
    # Whole numbers may have gaps in a later block, where they come as numbers with NaN.
    array = pa.array(values, from_pandas=kind is not None and pa.types.is_integer(kind))
    return array if kind is None else array.cast(kind)


def parts(folder: Path) -> dict[int, int]:
    """Return the complete parts in a folder, by number, with their numbers of rows.

    Parameters
    ----------
    folder : Path
    """
    counts = {}
    for path in sorted(folder.glob("part-*.parquet")):
        with suppress(OSError, ValueError):  # those of Arrow are among them
            number = int(path.stem.removeprefix("part-"))
            counts[number] = plugin("parquet").read_metadata(path).num_rows
    return counts


def same_start(path: Path, columns: dict[str, AnyArray]) -> None:
    """Refuse a folder whose first part was written by another machine, or from other rows.

    Parameters
    ----------
    path : Path
        The first part.
    columns : dict from str to (n,) array
        Its first rows as they are now.
    """
    new = {name: _arrow_array(values) for name, values in columns.items()}
    n = len(next(iter(new.values())))
    with plugin("parquet").ParquetFile(path) as file:
        same = file.schema_arrow.names == list(new)
        old = next(file.iter_batches(n), None) if same else None
    if old is None or not all(
        _close(old.column(name), new[name].slice(0, old.num_rows)) for name in new
    ):
        raise DataError(
            f"{path} holds other predictions than these; write to another folder, or remove it"
        )


def _close(old: Any, new: Any) -> bool:
    """Return whether two columns agree, numbers up to the rounding of another order of sums."""
    if not plugin("pyarrow").types.is_floating(new.type):
        return bool(old.equals(new))
    x, y = (np.asarray(v.to_numpy(zero_copy_only=False), dtype=np.float64) for v in (old, new))
    atol = 1e-9 * float(np.max(np.abs(y), initial=0.0))
    return x.shape == y.shape and np.allclose(x, y, rtol=1e-6, atol=atol, equal_nan=True)
