"""Arrays of NumPy in files: read by rows, and written block by block, complete or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, Self

import numpy as np

from mercer._typing import AnyArray
from mercer.data.headers import read_header
from mercer.data.stamps import Stamp
from mercer.data.table import DataError, blamed

__all__ = ["FileArray", "Npy", "NpyArray", "Pending", "opened"]

ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
"""What archives of arrays begin with."""


def opened(path: str) -> NpyArray | AnyArray:
    """Return an array in a file: of numbers, to be read by rows; of words or records, in memory.

    Parameters
    ----------
    path : str
    """
    stamp = Stamp.of(path)
    with blamed(path, " as an array of NumPy"):
        with open(path, "rb") as file:
            if file.read(4) in ZIP_MAGIC:
                raise DataError(
                    f"{path} is an archive of arrays (.npz), not one array; save its arrays one by "
                    "one with np.save, or pass those that np.load returns"
                )
            file.seek(0)
            header = read_header(file, os.fstat(file.fileno()).st_size)
            offset = file.tell()
        if header.dtype.kind not in "biuf":
            whole: AnyArray = np.load(path, allow_pickle=False)
            return whole
    return NpyArray(stamp, header.shape, header.dtype, offset, header.columns)


class FileArray:
    """An array in a file, which has a shape and is read by rows."""

    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]


class NpyArray(FileArray):
    """An array in a file whose rows are read as they are asked for.

    They are not mapped into memory: of a mapped file that is cut short by somebody else, the next
    look at a row ends the process, with no chance of a sentence.

    Parameters
    ----------
    stamp : Stamp
        The file.
    shape : tuple of int
    dtype : dtype
    offset : int
        Where in the file the numbers begin.
    columns : bool
        Whether columns, not rows, lie one after the other.
    """

    def __init__(
        self,
        stamp: Stamp,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        offset: int,
        columns: bool,
    ) -> None:
        self.stamp, self.shape, self.dtype = stamp, shape, dtype
        self.offset, self.columns = offset, columns

    def __getitem__(self, rows: slice) -> AnyArray:
        first, last, _ = rows.indices(len(self))
        n, others = max(last - first, 0), self.shape[1:]
        path, width = self.stamp.path, int(np.prod(others))
        with self.stamp.watched(), blamed(path, errors=OSError), open(path, "rb") as file:
            if self.columns:
                parts = [self._read(file, j * len(self) + first, n) for j in range(width)]
                return np.stack(parts, axis=-1).reshape((n, *others), order="F")
            return self._read(file, first * width, n * width).reshape(n, *others)

    def _read(self, file: BufferedReader, start: int, count: int) -> AnyArray:
        values = np.empty(count, dtype=self.dtype)
        file.seek(self.offset + start * self.dtype.itemsize)
        if file.readinto(values.view(np.uint8).data) != values.nbytes:
            raise DataError(f"{self.stamp.path} ends before its header says")
        return values


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
