"""Rows sorted to groups: a pass that writes each group to a file, and work on one group at once."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np

from mercer._jobs import each
from mercer._typing import Array

__all__ = ["MAX_HELD_BYTES", "GroupWork", "Groups", "Sort", "Spill"]


# Bytes that are held before they are written: files are opened for pieces, not for rows.
MAX_HELD_BYTES = 2**26

Sort = Callable[[Any], Iterable[tuple[int, Array]]]
"""From a block to numbers of groups, each with a table of its rows, (n, width)."""

GroupWork = Callable[[Any, Any, Any], Any]
"""A function of the rows of a group, of what is the same for all groups, and of its own state."""


class Groups(Protocol):
    """Rows that are sorted to groups, wherever they are."""

    def map(
        self,
        work: GroupWork,
        shared: Any,
        states: Mapping[int, Any],
        n_jobs: int | None = None,
        last: bool = False,
    ) -> Iterator[tuple[int, Any]]:
        """Yield groups with ``work(rows, shared, state)``, as they are done.

        Parameters
        ----------
        work : callable
            A function of a module, because it may have to travel. The order of the rows that it
            gets depends on who sorted them.
        shared : object
            The same for all groups.
        states : dict
            What differs, by group; groups without an entry are left out.
        n_jobs : int, optional
            Number of processes on this machine; without meaning on a cluster.
        last : bool, default=False
            Whether the rows of these groups are not asked for again.
        """


class Spill:
    """Groups of rows in files of a folder that is gone at the end.

    Parameters
    ----------
    folder : path, optional
        Where a folder is made; that of temporary files by default.
    held : float
        Bytes that are held before they are written.

    Examples
    --------
    >>> import numpy as np
    >>> def work(rows, shared, state):
    ...     return float(rows.sum()) + shared + state
    >>> with Spill() as spill:
    ...     for start in (0.0, 10.0):
    ...         spill.add(3, np.array([[start, 1.0], [start + 1.0, 2.0]]))
    ...     list(spill.map(work, 100.0, {3: 1000.0}))
    [(3, 1128.0)]
    """

    def __init__(
        self, folder: str | os.PathLike[str] | None = None, held: float = MAX_HELD_BYTES
    ) -> None:
        self.parent, self.most = folder, held
        self.held: dict[int, list[Array]] = {}
        self.bytes, self.width = 0, 0

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="mercer-rows-", dir=self.parent)
        self.path = Path(self._folder.name)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._folder.cleanup()

    def add(self, group: int, rows: Array) -> None:
        """Add rows (n, width) to a group."""
        self.width = rows.shape[1]
        self.held.setdefault(group, []).append(rows)
        self.bytes += rows.nbytes
        if self.bytes > self.most:
            self._write()

    def map(
        self,
        work: GroupWork,
        shared: Any,
        states: Mapping[int, Any],
        n_jobs: int | None = None,
        last: bool = False,
    ) -> Iterator[tuple[int, Any]]:
        """Yield groups with ``work(rows, shared, state)``, in order; see :class:`Groups`."""
        self._write()
        calls = (
            (work, str(self._file(group)), self.width, shared, state)
            for group, state in states.items()
        )
        for group, result in zip(states, each(on_file, calls, n_jobs), strict=True):
            if last:
                self._file(group).unlink(missing_ok=True)
            yield group, result

    def _write(self) -> None:
        for group, parts in self.held.items():
            with self._file(group).open("ab") as file:
                for part in parts:
                    file.write(np.ascontiguousarray(part, dtype=np.float64).tobytes())
        self.held, self.bytes = {}, 0

    def _file(self, group: int) -> Path:
        return self.path / f"{group}.rows"


def on_file(work: GroupWork, file: str, width: int, shared: Any, state: Any) -> Any:
    """Return the work on the rows of a file, read where the work is done."""
    return work(np.fromfile(file).reshape(-1, width), shared, state)
