"""Arrays in HDF5 files, opened when they are read, so that they can travel."""

from __future__ import annotations

import math
import os
from typing import Any

import h5py
import numpy as np

from mercer.data.memory import machine_bytes, show
from mercer.data.npy import FileArray
from mercer.data.stamps import Stamp
from mercer.data.table import DataError

__all__ = ["Hdf5Array", "names", "opened"]


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
        try:
            self._file = h5py.File(path, "r")
            found = self._file.get(name)
            listed = [] if isinstance(found, h5py.Dataset) else names(self._file)
        except Exception as error:  # of damaged files HDF5 says many things
            raise DataError(f"{path} cannot be read as an HDF5 file: {_words(error)}") from error
        if not isinstance(found, h5py.Dataset):
            raise DataError(f"{path} has no array {name!r}; it has: {', '.join(listed) or 'none'}")
        self._array = found
        try:
            self.shape = tuple(found.shape or ())
            self.dtype: np.dtype[Any] = found.dtype
            self._refuse()
        except DataError:
            raise
        except Exception as error:
            raise DataError(f"{path}::{name} cannot be read: {_words(error)}") from error

    def _refuse(self) -> None:
        """Refuse data sets that are no rows, do not fit in memory, or lie in missing files."""
        where, found = f"{self.path}::{self.name}", self._array
        if self.dtype.kind == "O" and h5py.check_string_dtype(self.dtype) is None:
            raise DataError(f"{where} holds references or lists, not numbers or words")
        size = math.prod(found.chunks or ()) * self.dtype.itemsize
        if size > machine_bytes():
            raise DataError(f"{where} has chunks of {show(size)}, more than this machine's memory")
        if self.fill or 0 in self.shape:
            return
        # What lies in other files is read as the fill value if they are missing.
        elsewhere = [] if found.external is None else [part[0] for part in found.external]
        if found.is_virtual:
            elsewhere = [part.file_name for part in found.virtual_sources()]
        folder = os.path.dirname(os.path.abspath(self.path))
        for name in elsewhere:
            if name != "." and not os.path.isfile(os.path.join(folder, name)):
                raise DataError(f"{where} has rows in {name}, which is no file in {folder}")
        if found.is_virtual or elsewhere:
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

    def __getitem__(self, rows: Any) -> Any:
        with self.stamp.watched():
            try:
                values = self._array[rows]
            except Exception as error:  # of damaged files HDF5 says many things
                where = f"{self.path}::{self.name}"
                raise DataError(f"{where} cannot be read: {_words(error)}") from error
        if values.dtype == object:
            try:
                decode = [
                    v.decode() if isinstance(v, bytes) else v for v in values.ravel().tolist()
                ]
            except UnicodeDecodeError as error:
                raise DataError(f"{self.path}::{self.name} holds no text: {error}") from error
            values = np.array(decode, dtype=object).reshape(values.shape)
        return values

    def __reduce__(self) -> Any:
        return Hdf5Array, (self.path, self.name, self.fill, self.stamp)


def names(file: Any) -> list[str]:
    """Return the names of all arrays in an open file.

    Parameters
    ----------
    file : h5py.File
    """
    found: list[str] = []
    file.visititems(lambda name, item: found.append(name) if hasattr(item, "dtype") else None)
    return found


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]


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
        try:
            with h5py.File(path, "r") as file:
                found = names(file)
        except Exception as error:  # of damaged files HDF5 says many things
            raise DataError(f"{path} cannot be read as an HDF5 file: {_words(error)}") from error
        if not found:
            raise DataError(f"{path} holds no arrays")
        if len(found) != 1:
            raise DataError(f"{path} holds {', '.join(found)}; say which: '{path}::{found[0]}'")
        name = found[0]
    return Hdf5Array(path, name, fill, stamp)
