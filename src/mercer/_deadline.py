"""Time limits that hold for everything inside a fit, and compiled calls that Ctrl-C can leave.

A limit is set once, at the outermost fit, and read where time is spent: by the monitors of solvers
and by linear and conic programs. What belongs to a fit then shares one clock, however many problems
it solves.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

__all__ = [
    "Abandoned",
    "deadline",
    "eigh",
    "interruptible",
    "linprog",
    "no_deadline",
    "time_left",
    "until_left",
]

T = TypeVar("T")

# Seconds after which a linear program that nobody waits for ends by itself. One that somebody waits
# for begins again with ten times as many: it has lost a tenth of its time, or at worst half.
ABANDONED = 600.0
# Seconds between two looks at signals on systems where they do not end a wait.
LOOK = 0.1
# Rows from which on an eigendecomposition takes so long, a third of a second, that it is left to
# another thread.
LARGE = 800

_ends: ContextVar[float] = ContextVar("ends", default=np.inf)
_left: ContextVar[threading.Event | None] = ContextVar("left", default=None)


class Abandoned(BaseException):
    """Raised in a thread whose answer nobody waits for any more."""


@contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """Let whatever is inside end after so many seconds, or at an earlier limit around it.

    Examples
    --------
    >>> with deadline(10.0), deadline(None), deadline(60.0):
    ...     time_left() <= 10.0
    True
    >>> time_left()
    inf
    """
    ends = np.inf if seconds is None else time.perf_counter() + seconds
    token = _ends.set(min(ends, _ends.get()))
    try:
        yield
    finally:
        _ends.reset(token)


@contextmanager
def no_deadline() -> Iterator[None]:
    """Let whatever is inside end by itself: half a machine is of no use to anybody.

    Examples
    --------
    >>> with deadline(10.0), no_deadline():
    ...     time_left()
    inf
    """
    token = _ends.set(np.inf)
    try:
        yield
    finally:
        _ends.reset(token)


@contextmanager
def until_left(left: threading.Event) -> Iterator[None]:
    """Let whatever is inside end with :class:`Abandoned` at its next look at the clock, once set.

    Examples
    --------
    >>> left = threading.Event()
    >>> with until_left(left):
    ...     left.set()
    ...     time_left()
    Traceback (most recent call last):
    mercer._deadline.Abandoned
    """
    token = _left.set(left)
    try:
        yield
    finally:
        _left.reset(token)


def time_left() -> float:
    """Return the seconds until the deadline: infinite without any, never negative."""
    if (left := _left.get()) is not None and left.is_set():
        raise Abandoned
    ends = _ends.get()
    return np.inf if ends == np.inf else max(ends - time.perf_counter(), 0.0)


def interruptible(
    function: Callable[..., T], *args: Any, leave: Callable[[], object] | None = None, **kwargs: Any
) -> T:
    """Call a compiled function from another thread, so that Ctrl-C does not have to wait for it.

    An interrupt is heard between two lines of Python in the main thread, and a call into compiled
    code is one line. The function must leave the interpreter's lock while it works, and end by
    itself. Outside the main thread, where no interrupt arrives, it is called as it is.

    Parameters
    ----------
    function : callable
    *args, **kwargs
        Its arguments.
    leave : callable, optional
        Called when an interrupt arrives, to tell the function that nobody waits any more.

    Examples
    --------
    >>> interruptible(sum, [1, 2])
    3
    """
    if threading.current_thread() is not threading.main_thread():
        return function(*args, **kwargs)
    done, answers, failures = threading.Event(), [], []

    def run() -> None:
        try:
            answers.append(function(*args, **kwargs))
        except BaseException as failure:  # raised where the caller waits
            failures.append(failure)
        finally:
            done.set()

    threading.Thread(
        target=copy_context().run, args=(run,), name="mercer-deadline", daemon=True
    ).start()
    try:
        while not done.wait(LOOK):
            pass
    except BaseException:
        if leave is not None:
            leave()
        raise
    if failures:
        raise failures[0]
    return answers[0]


def linprog(cost: Any, *, options: dict[str, Any] | None = None, **arguments: Any) -> Any:
    """Solve a linear program as :func:`scipy.optimize.linprog` does, until the deadline or Ctrl-C.

    Examples
    --------
    >>> linprog([1.0, 1.0], A_ub=[[-1.0, -2.0]], b_ub=[-2.0], bounds=(0, None)).fun
    1.0
    """
    options = dict(options or {})
    limit, attempt = min(float(options.get("time_limit", np.inf)), time_left()), ABANDONED
    while True:
        options["time_limit"] = min(limit, attempt)
        solve: Any = optimize.linprog
        answer = interruptible(solve, cost, options=options, **arguments)
        iterated = answer.nit >= options.get("maxiter", np.inf)
        if answer.status != 1 or limit <= attempt or iterated:
            return answer
        attempt *= 10.0


def eigh(M: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return eigenvalues and eigenvectors of a symmetric matrix, given its lower triangle.

    Examples
    --------
    >>> eigh(np.diag([2.0, 1.0]))[0]
    array([1., 2.])
    """
    found = interruptible(np.linalg.eigh, M) if len(M) > LARGE else np.linalg.eigh(M)
    return found.eigenvalues, found.eigenvectors
