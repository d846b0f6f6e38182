"""What a search for hyperparameters says of itself: trials, the best of them, and the time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from mercer.data.progress import Line, about
from mercer.selection.objective import Trial
from mercer.selection.pace import work

__all__ = ["Watching"]

LAST = 10
"""Trials on all rows that a search ends with, usually."""

LONG, PROPOSED = 10.0, 0.5
"""Seconds from which on it is said how a shorter search is had, and the share of the time that is
proposed."""


@dataclass(eq=False)
class Watching:
    """Sees every trial of a search, and shows how far it is.

    Parameters
    ----------
    name : str
        Name of the machine.
    rows : int
        Rows that the last trials are computed from.
    max_time : float or None
        Seconds that the search may take.
    callback : callable or None
        Sees every trial, too; a true answer ends the search.
    verbose : bool or None
        Whether to say anything, see :func:`~mercer.selection.tune`.
    """

    name: str
    rows: int
    max_time: float | None
    callback: Callable[[Trial], object] | None
    verbose: bool | None
    trials: list[Trial] = field(default_factory=list)
    line: Line = field(init=False)

    def __post_init__(self) -> None:
        self.line = Line(self.text, show=self.verbose)

    def __call__(self, trial: Trial) -> object:
        """Take in a trial."""
        self.trials.append(trial)
        if self.verbose and not self.line.live:
            print(f"{self.name}: {trial}", file=sys.stderr, flush=True)
        self.line.update()
        return self.callback(trial) if self.callback is not None else None

    @property
    def expected(self) -> float | None:
        """Seconds of the whole search, if trials on all rows take as long as the last one."""
        if not self.trials:
            return None
        last = self.trials[-1]
        took = last.seconds - (self.trials[-2].seconds if len(self.trials) > 1 else 0.0)
        left = LAST - sum(trial.rows >= self.rows for trial in self.trials)
        return last.seconds + max(left, 0) * max(took, 0.0) * work(self.rows) / work(last.rows)

    def text(self, seconds: float) -> str:
        """Return the line.

        Examples
        --------
        >>> now = Watching("LSSVR", 700, None, None, False)
        >>> _ = now(Trial("start", {"C": 1.0}, 0.25, 350, 1.0))
        >>> now.text(4.2)
        'tune LSSVR: 1 trial, best 0.25, 4 s of about 45 s; max_time=25 would stop at 25 s'
        """
        count = f"{len(self.trials)} trial{'' if len(self.trials) == 1 else 's'}"
        best = min((t.value for t in self.trials if np.isfinite(t.value)), default=None)
        found = "" if best is None else f", best {best:.4g}"
        limit = advice = ""
        if self.max_time is not None:
            limit = f" of at most {self.max_time:g} s"
        elif (expected := self.expected) is not None:
            limit = f" of about {about(max(expected, seconds)):g} s"
            if expected > LONG:
                proposed = about(PROPOSED * expected)
                advice = f"; max_time={proposed:g} would stop at {proposed:g} s"
        return f"tune {self.name}: {count}{found}, {seconds:.0f} s{limit}{advice}"
