"""How far a pass or a fit has come: a line of text."""

from __future__ import annotations

import multiprocessing
import shutil
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Self, TextIO

__all__ = ["PATIENCE", "Bar", "Line", "about", "alone", "is_live"]

PATIENCE = 2.0
"""Seconds after which a fit that was not asked to say anything shows how far it is."""

BAR_CHARACTERS = 24
# Seconds between two looks at the clock while a line is shown.
TICK = 0.25


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


def alone() -> bool:
    """Return whether this is the first thread of the first process.

    Others, such as those of a cross-validation, would draw their lines over each other.

    Examples
    --------
    >>> alone()
    True
    """
    first = multiprocessing.current_process().name == "MainProcess"
    return first and threading.current_thread() is threading.main_thread()


def about(seconds: float) -> float:
    """Return a time with as many digits as an estimate deserves.

    Examples
    --------
    >>> about(3.14), about(14.4), about(47.0), about(1234.0)
    (3.0, 14.0, 45.0, 1260.0)
    """
    step = 1.0 if seconds < 20 else 5.0 if seconds < 100 else 10.0 if seconds < 600 else 60.0
    return max(1.0, round(seconds / step) * step)


def anew(text: str) -> str:
    """Return what draws a line anew: over the last one, whose rest is erased."""
    return f"\r{text}\033[K"


class Line:
    """Shows what a fit does, how far it is and how long it takes, in one line that is drawn anew.

    The line is there from the beginning or after some patience, is drawn whenever it says something
    else or another second has passed, and gives way to what is said at the end; after an error it
    stays and is ended. Only on a terminal and in a notebook: elsewhere nothing is written.

    Parameters
    ----------
    text : callable
        What the line says, given the seconds since the beginning. It is called from two threads.
    show : bool or None, default=True
        Whether to show anything at all. None is for what nobody asked for: the line is shown by the
        first thread of the first process only, and after :data:`PATIENCE`.

    Examples
    --------
    >>> with Line(lambda seconds: f"{seconds:.0f} s", show=False) as line:
    ...     line.live
    False
    """

    def __init__(self, text: Callable[[float], str], show: bool | None = True) -> None:
        self.text = text
        self.stream: TextIO = sys.stderr
        self.live = (alone() if show is None else show) and is_live(self.stream)
        self.patience = PATIENCE if show is None else 0.0
        self.began = time.monotonic()
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._last = ""

    def update(self) -> None:
        """Draw the line if it says something else."""
        passed = time.monotonic() - self.began
        if self.live and passed >= self.patience:
            text = self.text(passed)
            # A line that reaches the last column would be continued on the next one.
            text = text[: shutil.get_terminal_size().columns - 1]
            with self._lock:
                if text != self._last and not self._ended.is_set():
                    self._write(anew(text))
                    self._last = text

    def __enter__(self) -> Self:
        self.update()
        if self.live:
            threading.Thread(target=self._tick, name="mercer-line", daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        with self._lock:
            self._ended.set()
            if self.live and self._last:
                self._write(anew("") if kind is None else "\n")

    def _tick(self) -> None:
        while not self._ended.wait(TICK):
            self.update()

    def _write(self, text: str) -> None:
        try:
            self.stream.write(text)
            self.stream.flush()
        except (OSError, ValueError):  # a terminal that was closed: the fit goes on
            self.live = False


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
        self.stream.write(f"{anew(text)}{end}" if self.live else f"{text}{end}")
        self.stream.flush()


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
