"""Arrays in HDF5 files, opened when they are read, so that they can travel."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np

from mercer.data.table import DataError

__all__ = ["Hdf5Array", "names", "opened"]


class Hdf5Array:
    """An array in a file.

    Parameters
    ----------
    path, name : str
        The file and the array in it.
    """

    def __init__(self, path: str, name: str) -> None:
        self.path, self.name = path, name
        self._open()

    def _open(self) -> None:
        try:
            self._file = h5py.File(self.path, "r")
        except OSError as error:
            raise DataError(f"{self.path} cannot be read as an HDF5 file: {error}") from error
        found = self._file.get(self.name)
        if not isinstance(found, h5py.Dataset):
            has = ", ".join(names(self._file)) or "none"
            raise DataError(f"{self.path} has no array {self.name!r}; it has: {has}")
        self._array = found

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return tuple(self._array.shape)

    @property
    def ndim(self) -> int:
        """Number of its dimensions."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of its numbers."""
        kind: np.dtype[Any] = self._array.dtype
        return kind

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Any:
        try:
            values = self._array[rows]
        except OSError as error:
            raise DataError(f"{self.path}::{self.name} cannot be read: {error}") from error
        if values.dtype == object:
            decode = [v.decode() if isinstance(v, bytes) else v for v in values.ravel().tolist()]
            values = np.array(decode, dtype=object).reshape(values.shape)
        return values

    def __reduce__(self) -> Any:
        return Hdf5Array, (self.path, self.name)


def names(file: Any) -> list[str]:
    """Return the names of all arrays in an open file.

    Parameters
    ----------
    file : h5py.File
    """
    found: list[str] = []
    file.visititems(lambda name, item: found.append(name) if hasattr(item, "dtype") else None)
    return found


def opened(path: str, name: str) -> Hdf5Array:
    """Return an array in a file; the only one if no name is given.

    Parameters
    ----------
    path, name : str
    """
    if not name:
        try:
            with h5py.File(path, "r") as file:
                found = names(file)
        except OSError as error:
            raise DataError(f"{path} cannot be read as an HDF5 file: {error}") from error
        if len(found) != 1:
            raise DataError(f"{path} holds {', '.join(found)}; say which: '{path}::{found[0]}'")
        name = found[0]
    return Hdf5Array(path, name)
