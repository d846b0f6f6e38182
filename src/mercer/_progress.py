"""How far a pass, a fit or a search is: a bar of tqdm."""

from __future__ import annotations

import multiprocessing
import shutil
import sys
import threading
import warnings
from typing import Any, TextIO

from tqdm import TqdmWarning

with warnings.catch_warnings():
    warnings.simplefilter("ignore", TqdmWarning)  # without ipywidgets a notebook shows text
    from tqdm.auto import tqdm

__all__ = ["PATIENCE", "Bar"]

PATIENCE = 2.0
"""Seconds after which a fit that was not asked to say anything shows how far it is."""


class _Lines:
    """A stream that writes each state of a bar as a line of text, but not the empty first one."""

    def __init__(self, stream: TextIO, last: str | None) -> None:
        self.stream, self.last = stream, last

    def write(self, text: str) -> None:
        text = text.strip()
        if text and text != self.last:
            if self.last is not None:
                self.stream.write(f"{text}\n")
            self.last = text

    def flush(self) -> None:
        self.stream.flush()


class Bar(tqdm):  # type: ignore[misc]
    """A bar of tqdm on the standard error, to be used in a ``with`` statement.

    Parameters
    ----------
    title : str
        What is done.
    total : int, optional
        Number of units, if it is known.
    show : bool, int or None, default=True
        False shows nothing. None shows the bar only on a terminal and in a notebook, and only in
        the first thread of the first process: other bars would be drawn over each other.
    lines : float or None, default=10.0
        Seconds between two lines of text, where the bar cannot be drawn anew; the last state is a
        line, too. None writes nothing there.
    ticks : bool, default=False
        Whether to draw the bar each second, also where nothing is counted meanwhile.
    unit : str, default="rows"
        What is counted.
    **how :
        Other arguments of tqdm, such as ``leave`` and ``delay``.

    Examples
    --------
    >>> with Bar("gradient", 200, show=False) as bar:
    ...     _ = bar.update(100)
    """

    monitor_interval = 0  # no thread that watches over all bars

    def __init__(
        self,
        title: str,
        total: int | None = None,
        *,
        show: bool | int | None = True,
        lines: float | None = 10.0,
        ticks: bool = False,
        unit: str = "rows",
        **how: Any,
    ) -> None:
        notebook = type(sys.stderr).__module__.startswith("ipykernel")
        live = notebook or bool(getattr(sys.stderr, "isatty", lambda: False)())
        if show is None:
            first = multiprocessing.current_process().name == "MainProcess"
            show = live and first and threading.current_thread() is threading.main_thread()
        if not live:
            show = show and lines is not None
            stream = _Lines(sys.stderr, "" if "postfix" in how else None)
            how |= {"file": stream, "mininterval": lines, "position": 0}
        elif not notebook:  # tqdm draws nothing on a terminal that does not know its size
            columns, rows = shutil.get_terminal_size()
            how |= {"ncols": columns - 1, "nrows": rows}
        self._ended, self._ticker = threading.Event(), None
        how |= {"desc": title, "total": total, "unit": f" {unit}"}
        super().__init__(disable=not show, miniters=0, **how)
        if ticks and show:
            self._ticker = threading.Thread(target=self._tick, name="mercer-bar", daemon=True)
            self._ticker.start()

    def _tick(self) -> None:
        while not self._ended.wait(1.0):
            self.update(0)

    def close(self) -> None:
        """End the bar."""
        self._ended.set()
        if self._ticker is not None:
            self._ticker.join()
        super().close()
