"""Files that appear when they are complete, and arrays of NumPy written block by block."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Self

import numpy as np

from mercer.data.table import DataError

__all__ = ["Npy", "Pending"]


class Pending:
    """A file under another name until it is complete, and gone if it never is.

    Parameters
    ----------
    path : str or path
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.partial = self.path.with_name(f".{self.path.name}.partial")
        self.path.parent.mkdir(parents=True, exist_ok=True)

    def _finish(self) -> None:
        """Write what is left to write."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: object, trace: object) -> None:
        try:
            self._finish()
            if kind is None:
                os.replace(self.partial, self.path)
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
        self._like: Any = None

    def write(self, values: Any) -> None:
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
            self._header()
        self._file.write(values.astype(self._like.dtype, casting="same_kind", copy=False).data)
        self.rows += len(values)

    def _header(self) -> None:
        # NumPy leaves room in the header for any number of rows.
        shape = (self.rows, *self._like.shape[1:])
        described = np.lib.format.dtype_to_descr(self._like.dtype)
        np.lib.format.write_array_header_1_0(
            self._file, {"descr": described, "fortran_order": False, "shape": shape}
        )

    def _finish(self) -> None:
        if self._like is not None:
            self._file.seek(0)
            self._header()
        self._file.close()
