"""Work for the newest request only: requests that a newer one overtook are dropped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["NewestOnly"]

T = TypeVar("T")


class NewestOnly(Generic[T]):
    """Hand requests to a function in a thread of their own, one at a time, never a queue.

    A slider that is dragged asks more often than a machine is fitted. What was asked while the
    function ran is forgotten, except for the last.

    Parameters
    ----------
    work : callable
        Called with a request; must not raise.

    Examples
    --------
    >>> from mercer_studio.browser.playground.newest import NewestOnly
    >>> done = []
    >>> worker = NewestOnly(done.append)
    >>> worker.ask(1)
    >>> worker.join()
    >>> done
    [1]
    """

    def __init__(self, work: Callable[[T], None]) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._waiting: list[T] = []
        self._thread: threading.Thread | None = None

    def ask(self, request: T) -> None:
        """Put a request in the place of the one that waits, and start the thread if none runs."""
        with self._lock:
            self._waiting = [request]
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()

    @property
    def waiting(self) -> bool:
        """Whether a newer request waits."""
        return bool(self._waiting)

    def join(self) -> None:
        """Wait until nothing runs and nothing waits."""
        while (thread := self._thread) is not None:
            thread.join()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                request = self._waiting.pop()
            self._work(request)
