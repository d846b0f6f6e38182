"""How long the next evaluation of a search takes, judged by the last one, and whether it may."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import numpy as np

from mercer._deadline import deadline, time_left

__all__ = ["Pace", "Stop", "work"]

# Rows beyond which factors, and not kernel values, are most of the work: 2,000 rows took 24 times
# as long as 500.
CUBIC = 2500.0
# Share of an evaluation that a fit to as many rows takes: a criterion and its gradient are several
# factorizations, held-out losses several fits.
FIT = 0.25
# Largest share of a limit that is kept for the last fit, and the least that this fit is given, in
# seconds: half a machine is of no use to anybody.
KEPT, LEAST = 0.5, 0.3


class Stop(Exception):  # noqa: N818
    """Raised when a budget is spent or a callback ends the search."""


@dataclass(eq=False)
class Pace:
    """The clock of a search, which ends it before an evaluation that would end too late.

    Parameters
    ----------
    limit : float, optional
        Seconds for the search and the fit after it.
    rows : int, default=0
        Rows of the fit after it.
    """

    limit: float | None = None
    rows: int = 0
    began: float = field(default_factory=lambda: time.perf_counter())
    unit: float = 0.0
    """Seconds of the last evaluation over its work; 0 before there was one."""

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self.began

    @property
    def late(self) -> bool:
        """Whether time is used up."""
        return self.limit is not None and self.elapsed > self.limit

    def start(self, rows: int) -> None:
        """Begin an evaluation on so many rows, or stop because it would end too late."""
        time_left()  # ends a search that nobody waits for
        self._since = self.elapsed
        if self.limit is None:
            return
        fit = min(FIT * self.unit * work(self.rows), KEPT * self.limit)
        if self.unit and self._since + self.unit * work(rows) + fit > self.limit:
            raise Stop

    def end(self, rows: int) -> None:
        """Learn from the evaluation that began last."""
        self.unit = (self.elapsed - self._since) / work(rows)

    def last_fit(self) -> AbstractContextManager[None]:
        """Return the limit of the fit after the search: what is left, but not nothing."""
        if self.limit is None:
            return nullcontext()
        return deadline(max(self.limit - self.elapsed, LEAST))


def work(rows: int) -> float:
    """Return the work of an evaluation in arbitrary units.

    Examples
    --------
    >>> work(2000) / work(500)
    24.0
    """
    return float(np.square(float(rows)) * (CUBIC + rows))
