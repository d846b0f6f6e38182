"""What a command says: lines and tables for people, one JSON object for scripts."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mercer._progress import Bar
from mercer_studio.cli.text import visible, visible_json

Result = dict[str, Any]
"""What a command returns to scripts, in JSON's types or those of NumPy."""

GAP = re.compile(r"\bgap ([-+.\de]+)")


class Falling:
    """Progress of work: what is being done, what was said last, and a number on its way down.

    Parameters
    ----------
    title : str
        What is being done.
    bar : Bar, optional
        Shows what was said last.

    Examples
    --------
    >>> line = Falling("fitting")
    >>> for gap in (100.0, 0.01):
    ...     line.heard(f"iteration 3, gap {gap:.0e}")
    >>> line.values
    [100.0, 0.01]
    """

    def __init__(self, title: str, bar: Bar | None = None) -> None:
        self.title, self.bar, self.last = title, bar, ""
        self.values: list[float] = []
        self.began = time.monotonic()

    def say(self, text: str) -> None:
        """Show a text in place of the last one."""
        self.last = text
        if self.bar is not None:
            self.bar.set_postfix_str(visible(text))

    def heard(self, line: str) -> None:
        """Take in a line that a machine said.

        Parameters
        ----------
        line : str
            If it tells a gap, the gap is drawn.
        """
        self.say(line)
        if found := GAP.search(line):
            with contextlib.suppress(ValueError):
                self.fell(float(found[1]))

    def fell(self, value: float) -> None:
        """Take in a number that is to fall: a gap, or a criterion.

        Parameters
        ----------
        value : float
            The number.
        """
        if np.isfinite(value):
            self.values.append(value)

    def tried(self, trial: Any) -> None:
        """Take in a trial of a search.

        Parameters
        ----------
        trial : Trial
            Hyperparameters, and the criterion there.
        """
        self.say(f"{trial.stage}: criterion {trial.value:.4g} on {trial.rows} rows")
        self.fell(float(trial.value))


class Lines(io.TextIOBase):
    """A stream whose lines are shown as progress.

    Parameters
    ----------
    shown : Falling
        The line.
    """

    def __init__(self, shown: Falling) -> None:
        self.shown, self._rest = shown, ""

    def write(self, text: str) -> int:
        """Take in text; complete lines are shown."""
        *lines, self._rest = (self._rest + text).replace("\r", "\n").split("\n")
        for line in lines:
            if line.strip():
                self.shown.heard(line.strip())
        return len(text)


class Teller:
    """Where a command says what it does.

    Parameters
    ----------
    as_json : bool
        Whether to say nothing but one JSON object, at the end.
    console : Console, optional
        Where results go: the standard output by default. Progress goes to the standard error.
    """

    def __init__(self, as_json: bool = False, console: Console | None = None) -> None:
        self.as_json = as_json
        self.console = console or Console(file=sys.stdout, highlight=False, soft_wrap=True)
        self.notes: list[str] = []

    def say(self, text: str) -> None:
        """Say a line."""
        if not self.as_json:
            self.console.print(Text(visible(text)))

    def note(self, text: str) -> None:
        """Say what deserves a second look."""
        if text not in self.notes:
            self.notes.append(text)
            self.say(f"note: {text}")

    def table(self, names: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Say rows and columns."""
        if self.as_json:
            return
        made = Table(box=None, pad_edge=False, header_style="bold")
        for k, name in enumerate(names):
            numeric = all(isinstance(row[k], int | float) for row in rows)
            made.add_column(
                Text(visible(name)), justify="right" if numeric else "left", overflow="fold"
            )
        for row in rows:
            made.add_row(*(Text(visible(_cell(value))) for value in row))
        self.console.print(made)

    def finish(self, result: Result) -> None:
        """Say the result to a script."""
        if self.as_json:
            said = json.dumps(plain({**result, "notes": self.notes}), ensure_ascii=False)
            print(visible_json(said))

    @contextlib.contextmanager
    def working(self, title: str, live: bool = True) -> Iterator[Falling]:
        """Show that work is going on, and what machines say meanwhile; collect their warnings.

        Parameters
        ----------
        title : str
            What is being done.
        live : bool, default=True
            Whether a line may show it; not where rows go to the same terminal meanwhile.
        """
        bar = Bar(
            visible(title),
            show=live and not self.as_json,
            lines=None,
            ticks=True,
            leave=False,
            bar_format="{desc}  {elapsed}{postfix}",
        )
        shown = Falling(title, bar)
        lines: Any = Lines(shown)
        with bar, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            with (
                contextlib.redirect_stdout(lines),
                contextlib.redirect_stderr(lines),
            ):
                yield shown
        for warning in caught:
            if not issubclass(warning.category, DeprecationWarning):
                self.note(" ".join(str(warning.message).split()))


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def plain(value: Any) -> Any:
    """Return a value in JSON's types; numbers that are not finite become null.

    Examples
    --------
    >>> plain({"a": np.float64(1.5), "b": np.array([1, 2]), "c": float("nan")})
    {'a': 1.5, 'b': [1, 2], 'c': None}
    """
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | type(None)) else str(value)
