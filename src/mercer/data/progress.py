"""How far a pass has come: a line of text."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Self, TextIO

__all__ = ["Bar", "is_live"]

BAR_CHARACTERS = 24


def is_live(stream: TextIO) -> bool:
    """Return whether a line can be drawn anew: on a terminal, or in the cell of a notebook.

    Examples
    --------
    >>> import io
    >>> is_live(io.StringIO())
    False
    """
    notebook = type(stream).__module__.startswith("ipykernel")
    return notebook or bool(getattr(stream, "isatty", lambda: False)())


class Bar:
    """A line that tells the rows done, rows a second and the time that is left.

    On a terminal and in a notebook the line is a bar, drawn anew a few times a second. Elsewhere
    nothing is written unless it is asked for, and then one line in ten seconds and one at the end.

    Parameters
    ----------
    title : str
        Name of the pass.
    total : int, optional
        Number of rows, if it is known.
    show : bool, optional
        Whether to write; only to terminals by default.
    stream : text stream, optional
        Where to write: the standard error by default.
    clock : callable, optional
        Tells the time in seconds.
    unit : str, default="rows"
        What is counted.

    Examples
    --------
    >>> import io
    >>> ticks = iter([0.0, 2.0, 4.0])
    >>> out = io.StringIO()
    >>> with Bar("gradient", 200, show=True, stream=out, clock=lambda: next(ticks)) as bar:
    ...     bar(100)
    >>> print(out.getvalue(), end="")
    gradient: 100 of 200 rows, 50%, 50 rows/s, 2 s left
    gradient: 100 of 200 rows, 50%, 25 rows/s, 0:04
    """

    def __init__(
        self,
        title: str,
        total: int | None = None,
        *,
        show: bool | None = None,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        unit: str = "rows",
    ) -> None:
        self.title, self.total = title, total
        self.stream = sys.stderr if stream is None else stream
        self.live = is_live(self.stream)
        self.show = self.live if show is None else show
        self.clock, self.unit = clock, unit
        self.done = 0
        self._began = clock()
        self._next = 0.0

    def __call__(self, rows: int) -> None:
        """Count rows that are done.

        Parameters
        ----------
        rows : int
        """
        self.done += rows
        if not self.show:
            return
        elapsed = self.clock() - self._began
        if elapsed >= self._next and self.done != self.total:  # the end is told by close
            self._next = elapsed + (0.2 if self.live else 10.0)
            self._write(elapsed, False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Write where the pass ended, once."""
        if self.show:
            self._write(self.clock() - self._began, True)
            self.show = False

    def _write(self, elapsed: float, last: bool) -> None:
        share = self.done / self.total if self.total else None
        rate = self.done / elapsed if elapsed > 0 else 0.0
        parts = [f"{self.done:,} {self.unit}" if not self.total else ""]
        if share is not None:
            parts = [f"{self.done:,} of {self.total:,} {self.unit}", f"{share:.0%}"]
        parts.append(f"{rate:,.{'3g' if rate < 1000 else '0f'}} {self.unit}/s")
        if last:
            parts.append(_duration(elapsed))
        elif self.total and rate > 0:
            left = max(self.total - self.done, 0) / rate
            parts.append(f"{_duration(left) if left >= 60 else f'{left:.0f} s'} left")
        bar = ""
        if self.live and share is not None:
            filled = min(int(share * BAR_CHARACTERS), BAR_CHARACTERS)
            bar = f"[{'#' * filled}{'.' * (BAR_CHARACTERS - filled)}] "
        text = f"{self.title}: {bar}{', '.join(parts)}"
        end = "\n" if last or not self.live else ""
        self.stream.write(f"\r{text}\033[K{end}" if self.live else f"{text}{end}")
        self.stream.flush()


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
