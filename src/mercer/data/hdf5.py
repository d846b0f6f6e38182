"""Arrays in HDF5 files, opened when they are read, so that they can travel."""

from __future__ import annotations

import math
from typing import Any

import h5py
import numpy as np

from mercer._typing import AnyArray
from mercer.data.headers import check_chunks
from mercer.data.npy import FileArray
from mercer.data.stamps import Stamp
from mercer.data.table import DataError, blamed

__all__ = ["Hdf5Array", "names", "opened"]


# A file could name any other that its reader may read.
ELSEWHERE = (
    "lies in another file (an external link, external storage or a virtual data set), which is not "
    "followed; open the file that holds the rows, or copy them: "
    "target.create_dataset(name, data=source[name][:])"
)
MAX_LINKS = 100
AS_HDF5 = " as an HDF5 file"


class Hdf5Array(FileArray):
    """An array in a file.

    Parameters
    ----------
    path, name : str
        The file and the array in it.
    fill : bool, default=False
        Whether rows that were never written are read as the fill value.
    stamp : Stamp, optional
        How the file looked when it was first opened.
    """

    def __init__(
        self, path: str, name: str, fill: bool = False, stamp: Stamp | None = None
    ) -> None:
        self.path, self.name, self.fill = path, name, fill
        self.stamp = stamp or Stamp.of(path)
        with blamed(path, AS_HDF5):
            self._file = h5py.File(path, "r")
            found = self._file.get(_inside(self._file, path, name))
            listed = [] if isinstance(found, h5py.Dataset) else names(self._file)
        if not isinstance(found, h5py.Dataset):
            raise DataError(f"{path} has no array {name!r}; it has: {', '.join(listed) or 'none'}")
        self._array = found
        with blamed(f"{path}::{name}"):
            self.shape = tuple(found.shape or ())
            self.dtype: np.dtype[Any] = found.dtype
            self._refuse()

    def _refuse(self) -> None:
        """Refuse data sets that are no rows, do not fit in memory, or lie in other files."""
        where, found = f"{self.path}::{self.name}", self._array
        if found.external is not None or found.is_virtual:
            raise DataError(f"{where} {ELSEWHERE}")
        if self.dtype.kind == "O" and h5py.check_string_dtype(self.dtype) is None:
            raise DataError(f"{where} holds references or lists, not numbers or words")
        check_chunks(where, math.prod(found.chunks or ()) * self.dtype.itemsize, self.stamp.size)
        if self.fill or 0 in self.shape:
            return
        if found.chunks is not None:
            grid = zip(self.shape, found.chunks, strict=True)
            missing = math.prod(-(-n // step) for n, step in grid) - found.id.get_num_chunks()
        else:
            missing = int(found.id.get_storage_size() < found.size * found.id.get_type().get_size())
        if missing:
            raise DataError(
                f"{where} has {'chunks' if found.chunks else 'rows'} that were never written, "
                "which read as the fill value. If that is what they are, open the file with "
                "missing_chunks='fill'"
            )

    def __getitem__(self, rows: slice) -> AnyArray:
        where = f"{self.path}::{self.name}"
        with self.stamp.watched(), blamed(where):
            values: AnyArray = self._array[rows]
        if values.dtype == object:
            with blamed(where, " as text"):
                words = [v.decode() if isinstance(v, bytes) else v for v in values.ravel().tolist()]
            values = np.array(words, dtype=object).reshape(values.shape)
        return values

    def __reduce__(self) -> Any:
        return Hdf5Array, (self.path, self.name, self.fill, self.stamp)


def _inside(file: h5py.File, path: str, name: str) -> str:
    """Return the name of an array without soft links, refused if it leads to another file.

    HDF5 follows an external link by opening what it names, which may be any file or a pipe.
    """
    done: list[str] = []
    parts, steps = name.split("/")[::-1], 0
    while parts:
        part, steps = parts.pop(), steps + 1
        if part in ("", "."):
            continue
        link = file.get("/".join([*done, part]), getlink=True)
        if isinstance(link, h5py.ExternalLink):
            raise DataError(f"{path}::{name} {ELSEWHERE}")
        if isinstance(link, h5py.SoftLink):
            if steps > MAX_LINKS:
                raise DataError(f"{path}::{name} is a link that leads nowhere")
            done = [] if link.path.startswith("/") else done
            parts.extend(link.path.split("/")[::-1])
        else:
            done.append(part)
    return "/".join(done) or "/"


def names(file: h5py.File) -> list[str]:
    """Return the names of all arrays in an open file.

    Parameters
    ----------
    file : h5py.File
    """
    found: list[str] = []
    file.visititems(lambda name, item: found.append(name) if hasattr(item, "dtype") else None)
    return found


def opened(path: str, name: str, fill: bool = False) -> Hdf5Array:
    """Return an array in a file; the only one if no name is given.

    Parameters
    ----------
    path, name : str
    fill : bool, default=False
        Read rows that were never written as the fill value.
    """
    stamp = Stamp.of(path)
    if not name:
        with blamed(path, AS_HDF5), h5py.File(path, "r") as file:
            found = names(file)
        if not found:
            raise DataError(f"{path} holds no arrays")
        if len(found) != 1:
            raise DataError(f"{path} holds {', '.join(found)}; say which: '{path}::{found[0]}'")
        name = found[0]
    return Hdf5Array(path, name, fill, stamp)
