"""Monitors, to which solvers report and which tell them to stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mercer._deadline import time_left
from mercer.solvers.status import Status

__all__ = ["Monitor", "Progress"]


@dataclass(frozen=True)
class Progress:
    """One line of a solver's report.

    Parameters
    ----------
    iteration : int
        Iterations so far, in the solver's own unit.
    objective : float
        Value of the regularized risk.
    gap : float
        Duality gap, or an upper estimate of it; nan where the solver has none yet.
    violation : float
        Largest violation of an optimality condition.
    elapsed : float
        Seconds since the solver started.
    """

    iteration: int
    objective: float
    gap: float
    violation: float
    elapsed: float


class Monitor:
    """Monitor of a solver: takes its reports and tells it to stop, by clock, budget or listener.

    Parameters
    ----------
    max_iter : int, default=-1
        Largest number of iterations, -1 for no limit.
    max_time : float, optional
        Largest number of seconds; fewer if a deadline around it comes first.
    listener : callable, optional
        Called with each :class:`Progress`; a true answer stops the solver.

    Attributes
    ----------
    evaluations : int
        Kernel values that were computed.
    certified : float
        Seconds of the solver that its certificate takes.
    """

    def __init__(
        self,
        max_iter: int = -1,
        max_time: float | None = None,
        listener: Callable[[Progress], object] | None = None,
    ) -> None:
        self.max_iter = max_iter
        left = time_left()
        self.max_time = left if max_time is None else min(max_time, left)
        self.listener = listener
        self.history: list[Progress] = []
        self.status: Status | None = None
        self.evaluations = 0
        self.certified = 0.0
        self._start = time.perf_counter()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._start

    @property
    def late(self) -> bool:
        """Whether time is used up."""
        return self.elapsed >= self.max_time

    def left(self, done: int, at_most: int) -> int:
        """Return how many of ``at_most`` further iterations the budget allows after ``done``."""
        return at_most if self.max_iter < 0 else max(0, min(at_most, self.max_iter - done))

    def spent(self, done: int) -> bool:
        """Answer whether iterations or time are used up after ``done`` iterations."""
        return self.late or not self.left(done, 1)

    def report(
        self,
        iteration: int,
        objective: float,
        gap: float = np.nan,
        violation: float = np.nan,
        *,
        undivided: bool = False,
    ) -> bool:
        """Record one line and answer whether the solver has to stop now.

        Parameters
        ----------
        iteration, objective, gap, violation :
            As in :class:`Progress`.
        undivided : bool, default=False
            Whether iterations are as long as each other, and too long to overrun a limit by one: it
            is not begun where, by the last one, it would end too late.
        """
        progress = Progress(iteration, objective, gap, violation, self.elapsed)
        last = progress.elapsed - self.history[-1].elapsed if self.history else 0.0
        self.history.append(progress)
        if self.listener is not None and self.listener(progress):
            self.status = Status.STOPPED
        elif 0 <= self.max_iter <= iteration:
            self.status = Status.MAX_ITER
        elif progress.elapsed + (last if undivided else 0.0) >= self.max_time:
            self.status = Status.MAX_TIME
        return self.status is not None

    def rest(self, done: int, at_most: int) -> Monitor:
        """Return the monitor of a search that goes on after ``done`` iterations."""
        seconds = max(self.max_time - self.elapsed, 0.0)
        before, listener = self.elapsed, self.listener

        def told(line: Progress) -> object:
            return listener and listener(_after(line, done, before))

        return Monitor(self.left(done, at_most), seconds, told)

    def follow(self, rest: Monitor, done: int) -> None:
        """Take over the reports of a search that went on after ``done`` iterations."""
        before = rest._start - self._start
        self.history += [_after(line, done, before) for line in rest.history]
        self.status = rest.status if rest.status is Status.STOPPED else self.status


def _after(line: Progress, done: int, before: float) -> Progress:
    return replace(line, iteration=line.iteration + done, elapsed=line.elapsed + before)
