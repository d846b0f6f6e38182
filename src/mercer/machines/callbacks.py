"""Progress of a fit: scikit-learn's callbacks and a line that shows the gap falling."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Protocol, TextIO

import numpy as np

from mercer._typing import PointsLike, TargetsLike, WeightsLike
from mercer.data.progress import is_live
from mercer.solvers.monitor import Progress

__all__ = ["SILENT", "Line", "Listener", "TaskContext", "fit_task", "relay", "watched"]

Listener = Callable[[Progress], object]


class Silence:
    """The context of a fit that no callback listens to: every task of it does nothing."""

    def subcontext(self, **described: Any) -> Silence:
        """Return the context of a part of the task: this one."""
        return self

    def call_on_fit_task_begin(self, **described: Any) -> Silence:
        """Tell nobody that a task begins."""
        return self

    def call_on_fit_task_end(self, **described: Any) -> bool:
        """Tell nobody that a task ended, so that nobody wants to stop."""
        return False


SILENT = Silence()


class TaskContext(Protocol):
    """Where callbacks are told of a fit and of the problems in it: scikit-learn's, or silence."""

    def subcontext(self, task_name: str = "", max_subtasks: int | None = 0) -> TaskContext: ...

    def call_on_fit_task_begin(self, **task: Any) -> Any: ...

    def call_on_fit_task_end(self, **task: Any) -> Any: ...


@contextmanager
def fit_task(
    estimator: Any, max_subtasks: int, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike
) -> Iterator[TaskContext]:
    """Tell scikit-learn's callbacks that a fit begins and, unless it fails, that it ended.

    Parameters
    ----------
    estimator : estimator
        The one being fitted.
    max_subtasks : int
        The largest number of problems that are solved.
    X, y, sample_weight :
        As given to ``fit``.
    """
    metadata = None if sample_weight is None else {"sample_weight": sample_weight}
    task = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
    context = estimator._init_callback_context(max_subtasks=max_subtasks)
    context.call_on_fit_task_begin(**task)
    yield context
    context.call_on_fit_task_end(**task, reconstruction_attributes={})


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
        self.live = is_live(self.stream)
        self._next = 0.0
        self._first = np.nan
        self._unseen: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        """Show one report, or keep it for later if the last one was a moment ago."""
        if np.isnan(self._first):
            self._first = progress.gap
        self._unseen = progress
        if progress.elapsed >= self._next:
            self._next = progress.elapsed + (0.1 if self.live else 1.0)
            self._show()

    def close(self) -> None:
        """Show where the solver ended, and leave the live line."""
        self._show()
        if self.live:
            self.stream.write("\n")
            self.stream.flush()

    def _show(self) -> None:
        if self._unseen is None:
            return
        progress, self._unseen = self._unseen, None
        text = (
            f"{self.title}: {self._bar(progress)}iteration {progress.iteration}, objective "
            f"{progress.objective:.6g}, gap {progress.gap:.2e}, {progress.elapsed:.1f} s"
        )
        self.stream.write(f"\r{text}\033[K" if self.live else f"{text}\n")
        self.stream.flush()

    def _bar(self, progress: Progress) -> str:
        """Draw the digits gained so far, of eight."""
        if not self.live or not (progress.gap > 0 and self._first > 0):
            return ""
        digits = int(np.clip(np.log10(self._first / progress.gap), 0, 8))
        return f"[{'#' * digits}{'.' * (8 - digits)}] "


def relay(estimator: Any, context: TaskContext) -> Listener:
    """Return a listener that passes reports to scikit-learn's callbacks, one sub-task a report.

    The report travels as ``metadata``: iteration, objective, gap, violation and elapsed seconds.
    The listener answers whether a callback wants to stop.

    Parameters
    ----------
    estimator : estimator
        The one being fitted.
    context : sklearn.callback.CallbackContext
        Its task; its number of sub-tasks is not known in advance.
    """

    def listen(progress: Progress) -> bool:
        task, report = context.subcontext(task_name="iteration"), asdict(progress)
        task.call_on_fit_task_begin(estimator=estimator, metadata=report)
        return bool(task.call_on_fit_task_end(estimator=estimator, metadata=report))

    return listen


@contextmanager
def watched(
    estimator: Any, title: str, context: TaskContext, stop: bool
) -> Iterator[Listener | None]:
    """Give the listener of one problem: callbacks, a line if ``verbose``, none if nobody listens.

    Parameters
    ----------
    estimator : estimator
        The one being fitted.
    title : str
        Which of its problems, empty for the only one.
    context : sklearn.callback.CallbackContext
        The task that solves the problem.
    stop : bool
        End the solver at its first report.
    """
    line = Line(f"{type(estimator).__name__} {title}".strip()) if estimator.verbose else None
    parts: list[Listener] = [] if line is None else [line]
    if getattr(estimator, "_skl_callbacks", None):
        parts.append(relay(estimator, context))
    try:
        # A list, so that every part hears every report.
        yield (lambda progress: any([part(progress) for part in parts]) or stop) if parts else None
    finally:
        if line is not None:
            line.close()
