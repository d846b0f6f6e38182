"""Rows sorted to leaves, on disk until a leaf asks for its own."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mercer.data.sampling import fingerprints

__all__ = ["Spill"]

Array = NDArray[np.float64]

# Bytes that are held before they are written: files are opened for pieces, not for rows.
HELD = 2**26


class Spill:
    """Numbers of rows, leaf by leaf, in a folder that is gone at the end.

    Parameters
    ----------
    width : int
        Numbers of a row, the last of which tells where it came from.
    folder : path, optional
        Where a folder is made; that of temporary files by default.

    Examples
    --------
    >>> import numpy as np
    >>> with Spill(2) as spill:
    ...     for start in (0.0, 10.0):
    ...         spill.add(3, np.array([[start, 1.0], [start + 1.0, 2.0]]))
    ...     len(spill.rows(3)), spill.leaves
    (4, [3])
    """

    def __init__(self, width: int, folder: Any = None) -> None:
        self.width, self.parent = width, folder
        self.held: dict[int, list[Array]] = {}
        self.bytes = 0
        self.known: set[int] = set()

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="mercer-leaves-", dir=self.parent)
        self.path = Path(self._folder.name)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._folder.cleanup()

    @property
    def leaves(self) -> list[int]:
        """Leaves that have rows."""
        return sorted(self.known)

    def add(self, leaf: int, rows: Array) -> None:
        """Add rows (n, width) to a leaf."""
        self.known.add(leaf)
        self.held.setdefault(leaf, []).append(rows)
        self.bytes += rows.nbytes
        if self.bytes > HELD:
            self._write()

    def rows(self, leaf: int) -> Array:
        """Return the rows of a leaf, in an order that does not depend on how they came."""
        self._write()
        found = np.fromfile(self._file(leaf)).reshape(-1, self.width)
        marks = fingerprints(found[:, :-1])
        return np.asarray(found[np.argsort(marks, kind="stable")])

    def _write(self) -> None:
        for leaf, parts in self.held.items():
            with self._file(leaf).open("ab") as file:
                for part in parts:
                    file.write(np.ascontiguousarray(part, dtype=np.float64).tobytes())
        self.held, self.bytes = {}, 0

    def _file(self, leaf: int) -> Path:
        return self.path / f"{leaf}.rows"
