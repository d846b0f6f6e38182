"""What a fit of a table says of itself: the machine at work, how many are done, and the time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from mercer._fitting import say
from mercer.data.progress import Line, about

__all__ = ["Telling", "telling", "told"]

# Seconds from which on a fit is long enough to say how a shorter one is had.
LONG = 10.0
# Share of the expected time that is proposed as a budget.
PROPOSED = 0.5


@dataclass(eq=False)
class Telling:
    """How far a fit is.

    Parameters
    ----------
    machine : estimator
        What is fitted.
    """

    machine: Any
    doing: str = "reading the table"
    """What is done when no machine is being fitted."""

    planned: int = 0
    """Number of machines."""

    done: int = 0
    running: list[str] = field(default_factory=list)
    """Names of the machines that are being fitted."""

    expected: float | None = None
    """Seconds that the whole fit takes if machines take as long as those that are done."""

    line: Line = field(init=False)

    def __post_init__(self) -> None:
        verbose = self.machine.verbose
        self.line = Line(self.text, show=None if verbose is None else bool(verbose))

    def text(self, seconds: float) -> str:
        """Return the line.

        Examples
        --------
        >>> from mercer import AutoRegressor
        >>> now = Telling(AutoRegressor(), planned=6, done=1, running=["matern"], expected=40.0)
        >>> now.text(8.2)
        'AutoRegressor: matern, 1 of 6 machines, 8 s of about 40 s; budget=20 would stop at 20 s'
        """
        what = " + ".join(self.running) or self.doing
        count = f", {self.done} of {self.planned} machines" if self.planned else ""
        budget = self.machine.budget
        limit = advice = ""
        if budget is not None:
            limit = f" of at most {budget:g} s"
        elif self.expected is not None:
            limit = f" of about {about(max(self.expected, seconds)):g} s"
            if self.expected > LONG:
                proposed = about(PROPOSED * self.expected)
                advice = f"; budget={proposed:g} would stop at {proposed:g} s"
        return f"{type(self.machine).__name__}: {what}{count}, {seconds:.0f} s{limit}{advice}"

    def begin(self, name: str) -> None:
        """Say that a machine is begun."""
        self.running.append(name)
        self.line.update()

    def end(self, name: str, seconds: float) -> None:
        """Say that a machine is done: in the line, or in one of its own where there is none."""
        if name in self.running:
            self.running.remove(name)
        self.done += 1
        passed = time.monotonic() - self.line.began
        self.expected = passed * max(self.planned, self.done) / self.done
        if not self.line.live:
            say(self.machine, f"{name}: {seconds:.1f} s")
        self.line.update()

    def go_on(self, doing: str) -> None:
        """Say what is done next."""
        self.doing = doing
        self.line.update()


_telling: ContextVar[Telling | None] = ContextVar("telling", default=None)


@contextmanager
def telling(machine: Any) -> Iterator[Telling]:
    """Enter a fit, whose parts find what it says by :func:`told`."""
    now = Telling(machine)
    token = _telling.set(now)
    try:
        with now.line:
            yield now
    finally:
        _telling.reset(token)


def told() -> Telling:
    """Return what the fit around says."""
    now = _telling.get()
    assert now is not None
    return now
