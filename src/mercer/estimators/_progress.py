"""What a person sees of a fit: scikit-learn's callbacks and a line that shows the gap falling."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TextIO

import numpy as np

from mercer.solvers.base import Progress

__all__ = ["Line", "Relay", "listeners"]


class Line:
    """A live line on a terminal, plain lines elsewhere, at most a few a second.

    Parameters
    ----------
    title : str
        What is being fitted.
    stream : text stream, optional
        Where to write, the standard error by default.
    """

    def __init__(self, title: str, stream: TextIO | None = None) -> None:
        self.title = title
        self.stream = sys.stderr if stream is None else stream
        self.live = bool(getattr(self.stream, "isatty", lambda: False)())
        self._next = 0.0
        self._first = np.nan

    def __call__(self, progress: Progress) -> None:
        """Show one report."""
        if np.isnan(self._first):
            self._first = progress.gap
        if progress.elapsed < self._next:
            return
        self._next = progress.elapsed + (0.1 if self.live else 1.0)
        text = (
            f"{self.title}: {self._bar(progress)}iteration {progress.iteration}, objective "
            f"{progress.objective:.6g}, gap {progress.gap:.2e}, {progress.elapsed:.1f} s"
        )
        self.stream.write(f"\r{text}\033[K" if self.live else f"{text}\n")
        self.stream.flush()

    def close(self) -> None:
        """End the live line."""
        if self.live:
            self.stream.write("\n")
            self.stream.flush()

    def _bar(self, progress: Progress) -> str:
        """Draw the digits gained so far, of eight."""
        if not self.live or not (progress.gap > 0 and self._first > 0):
            return ""
        digits = int(np.clip(np.log10(self._first / progress.gap), 0, 8))
        return f"[{'#' * digits}{'.' * (8 - digits)}] "


class Relay:
    """Passes reports to scikit-learn callbacks, one sub-task a report.

    The report travels as ``metadata``: iteration, objective, gap, violation and elapsed seconds.

    Parameters
    ----------
    estimator : estimator
        The one being fitted.
    context : sklearn.callback.CallbackContext
        Its task; its number of sub-tasks is not known in advance.
    """

    def __init__(self, estimator: Any, context: Any) -> None:
        self.estimator = estimator
        self.context = context

    def __call__(self, progress: Progress) -> bool:
        """Tell the callbacks and answer whether one of them wants to stop."""
        metadata = {
            "iteration": progress.iteration,
            "objective": progress.objective,
            "gap": progress.gap,
            "violation": progress.violation,
            "elapsed": progress.elapsed,
        }
        task = self.context.subcontext(task_name="iteration")
        task.call_on_fit_task_begin(estimator=self.estimator, metadata=metadata)
        return bool(task.call_on_fit_task_end(estimator=self.estimator, metadata=metadata))


def listeners(*parts: Callable[[Progress], object]) -> Callable[[Progress], bool]:
    """Join listeners into one that stops when any of them asks for it."""

    def listen(progress: Progress) -> bool:
        return any([bool(part(progress)) for part in parts])

    return listen
