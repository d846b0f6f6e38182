"""Progress of a fit: scikit-learn's callbacks, and a bar that shows the gap falling."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Protocol

from mercer._progress import Bar
from mercer._typing import PointsLike, TargetsLike, WeightsLike
from mercer.solvers.monitor import Progress

__all__ = ["SILENT", "Listener", "TaskContext", "fit_task", "relay", "watched"]

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
    """Give the listener of one problem: callbacks, a bar if ``verbose``, none if nobody listens.

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
    bar: Bar | None = None

    def show(progress: Progress) -> None:
        nonlocal bar
        n, values = (
            progress.iteration,
            f"objective {progress.objective:.6g}, gap {progress.gap:.2e}",
        )
        values += f", {progress.elapsed:.1f} s"
        if bar is None:
            name = f"{type(estimator).__name__} {title}".strip()
            form = "{desc}: iteration {n}{postfix}"
            bar = Bar(name, lines=1.0, initial=n, postfix=values, bar_format=form)
        else:
            bar.set_postfix_str(values, refresh=False)
            bar.update(n - bar.n)

    parts: list[Listener] = [show] if estimator.verbose else []
    if getattr(estimator, "_skl_callbacks", None):
        parts.append(relay(estimator, context))
    try:
        # A list, so that every part hears every report.
        yield (lambda progress: any([part(progress) for part in parts]) or stop) if parts else None
    finally:
        if bar is not None:
            bar.close()
