"""A process that works on one call at a time, tells how far it is, and can be ended any time."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

from mercer.data import DataError
from mercer_studio.cli.tables import Memory
from mercer_studio.cli.telling import Falling, Lines
from mercer_studio.cli.text import Refusal

# Values that a worker keeps, so that they travel once.
MAX_KEPT = 6
# Progress that a worker sends at most, in seconds: a solver may tell thousands of gaps.
BETWEEN = 0.02


class Cancelled(Exception):  # noqa: N818, it is an answer rather than a failure
    """Raised where somebody waits for a call that was ended."""


@dataclass(frozen=True, eq=False)
class CachedValue:
    """A value that a worker keeps under a key, so that it travels once.

    Parameters
    ----------
    key : hashable
        Equal keys stand for equal values.
    value : object
        What travels.
    """

    key: Hashable
    value: Any


@dataclass(frozen=True)
class _CacheKey:
    """What is sent instead of a value that the worker has."""

    key: Hashable


@dataclass(eq=False)
class Job:
    """A call that is being worked on.

    Parameters
    ----------
    title : str
        What is being done.

    Attributes
    ----------
    shown : Falling
        What was told last, and the gaps or criteria so far.
    trials : list
        Trials of a search.
    notes : list of str
        Warnings, at the end.
    """

    title: str
    shown: Falling = field(init=False)
    trials: list[Any] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _done: threading.Event = field(default_factory=threading.Event)
    _answer: tuple[str, Any] = ("cancelled", None)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.shown = Falling(self.title)

    @property
    def done(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self._done.is_set()

    @property
    def elapsed(self) -> float:
        """Seconds since it began, or that it took."""
        return self.seconds if self.done else time.monotonic() - self.shown.began

    def result(self) -> Any:
        """Wait, and return what the call returned.

        Raises
        ------
        Cancelled
            If it was ended.
        Refusal
            If it was not possible, with a sentence.
        """
        self._done.wait()
        kind, value = self._answer
        if kind == "cancelled":
            raise Cancelled
        if kind == "failed":
            raise Refusal(value)
        return value

    def _end(self, kind: str, value: Any) -> None:
        if self.done:
            return
        self.seconds = time.monotonic() - self.shown.began
        self._answer = (kind, value)
        self._done.set()


class Worker:
    """A process for calls that take time.

    Parameters
    ----------
    memory : Memory
        What the process may take.
    patient : bool, default=False
        Let the process give way to others, so that the screen answers during a long fit.

    Examples
    --------
    >>> with Worker() as worker:
    ...     worker.submit("adding", sum, [1, 2]).result()
    3
    """

    def __init__(self, memory: Memory | None = None, patient: bool = False) -> None:
        self.memory = Memory() if memory is None else memory
        self.patient = patient
        self._turn, self._lock = threading.Lock(), threading.RLock()
        self._kept: OrderedDict[Hashable, None] = OrderedDict()
        self._process: Any = None
        self._pipe: Any = None
        self._job: Job | None = None
        self._asked: list[Job] = []
        self._closed = False

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def start(self) -> None:
        """Begin the process, which imports what it needs while nobody waits."""
        with self._lock:
            if self._closed or (self._process is not None and self._process.is_alive()):
                return
            context: Any = multiprocessing.get_context(_method())
            if context.get_start_method() == "forkserver":
                # One process imports the libraries, and every worker is a copy of it.
                context.set_forkserver_preload([__name__, "mercer_studio.browser.steps"])
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(
                target=_serve, args=(theirs, self.memory.limit, self.patient), daemon=True
            )
            with _without_main():
                self._process.start()
            theirs.close()
            self._kept.clear()

    def submit(self, title: str, function: Callable[..., Any], *args: Any) -> Job:
        """Call a function in the process, after the calls before it.

        Parameters
        ----------
        title : str
            What is being done.
        function : callable
            Of a module. If it has a parameter `shown`, it is given one to tell trials.
        *args : object
            Its arguments; those that are :class:`CachedValue` travel once.
        """
        job = Job(title)
        with self._lock:
            self._asked = [one for one in self._asked if not one.done] + [job]
        threading.Thread(target=self._run, args=(job, function, args), daemon=True).start()
        return job

    def _run(self, job: Job, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        with self._turn:
            try:
                with self._lock:
                    if self._closed or job.done:
                        return job._end("cancelled", None)
                    self.start()
                    self._job, pipe = job, self._pipe
                    job.shown.began = time.monotonic()
                    sent, new, gone = self._packed(args)
                pipe.send((function, sent, new, gone))
                while True:
                    kind, value = pipe.recv()
                    if kind == "line":
                        job.shown.heard(value)
                    elif kind == "trial":
                        job.trials.append(value)
                        job.shown.tried(value)
                    elif kind == "note":
                        job.notes.append(value)
                    else:
                        return job._end(kind, value)
            except (EOFError, OSError, BrokenPipeError):
                if not job.done:
                    self._lost(job)
            finally:
                with self._lock:
                    self._job = None

    def _lost(self, job: Job) -> None:
        """End a job whose process is gone."""
        process = self._process
        if process is not None:
            process.join(1.0)
        code = None if process is None else process.exitcode
        why = "it ran out of memory or was ended from outside" if code == -9 else f"status {code}"
        job._end("failed", f"the process that worked on this ended: {why}.")

    def _packed(
        self, args: tuple[Any, ...]
    ) -> tuple[list[Any], dict[Hashable, Any], list[Hashable]]:
        """Return arguments to send, values that the process does not have, and keys to forget."""
        sent: list[Any] = []
        new: dict[Hashable, Any] = {}
        for one in args:
            if not isinstance(one, CachedValue):
                sent.append(one)
                continue
            if one.key not in self._kept:
                new[one.key] = one.value
            self._kept[one.key] = None
            self._kept.move_to_end(one.key)
            sent.append(_CacheKey(one.key))
        gone = []
        while len(self._kept) > MAX_KEPT:
            gone.append(self._kept.popitem(last=False)[0])
        return sent, new, gone

    def cancel(self) -> bool:
        """End what is being worked on, by ending the process, and what waits; another one begins.

        Returns
        -------
        bool
            Whether there was anything to end.
        """
        with self._lock:
            ended = [job for job in self._asked if not job.done]
            for job in ended:
                job._end("cancelled", None)
            if self._job not in ended:
                return bool(ended)
            self._kill()
        threading.Thread(target=self.start, daemon=True).start()
        return True

    def close(self) -> None:
        """End the process for good."""
        with self._lock:
            self._closed = True
            for job in self._asked:
                job._end("cancelled", None)
            self._kill()

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join(5.0)
            self._pipe.close()
            self._process = None


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Begin processes that do not import the program which begins them: they need nothing of it.

    A notebook or a script without a guard would run again in every process.
    """
    main: Any = sys.modules["__main__"]
    with _MAIN:
        names = [name for name in ("__file__", "__spec__") if hasattr(main, name)]
        hidden = {name: getattr(main, name) for name in names}
        if "__file__" in hidden:
            del main.__file__
        main.__spec__ = None
        try:
            yield
        finally:
            for name, value in hidden.items():
                setattr(main, name, value)


_MAIN = threading.Lock()


def _method() -> str:
    """Return how processes begin: as copies of one that has imported everything, where it is safe.

    The system libraries of macOS do not survive being copied.
    """
    known = multiprocessing.get_all_start_methods()
    return "forkserver" if "forkserver" in known and sys.platform != "darwin" else "spawn"


# In the process -----------------------------------------------------------------------------------


class _PipeProgress(Falling):
    """Progress that is sent to where it is shown."""

    def __init__(self, pipe: Any) -> None:
        super().__init__("")
        self.pipe, self._last = pipe, 0.0

    def heard(self, line: str) -> None:
        """Send a line, unless one was sent a moment ago."""
        now = time.monotonic()
        if now - self._last > BETWEEN:
            self._last = now
            self.pipe.send(("line", line))

    def tried(self, trial: Any) -> None:
        """Send a trial."""
        self.pipe.send(("trial", trial))


def _serve(pipe: Any, limit: float | None, patient: bool) -> None:
    """Work on calls until nobody sends any."""
    if patient and hasattr(os, "nice"):
        os.nice(10)
    kept: dict[Hashable, Any] = {}
    with contextlib.suppress(EOFError, OSError, KeyboardInterrupt), Memory(limit).held_to():
        while True:
            function, sent, new, gone = pipe.recv()
            kept.update(new)
            args = [kept[one.key] if isinstance(one, _CacheKey) else one for one in sent]
            kind, value, notes = _called(function, args, pipe)
            for key in gone:
                kept.pop(key, None)
            for note in notes:
                pipe.send(("note", note))
            try:
                pipe.send((kind, value))
            except (TypeError, AttributeError) as error:
                pipe.send(("failed", f"the answer cannot be sent: {error}"))


def _called(function: Callable[..., Any], args: list[Any], pipe: Any) -> tuple[str, Any, list[str]]:
    """Return how a call ended, with what, and what it warned of."""
    shown = _PipeProgress(pipe)
    lines: Any = Lines(shown)
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(lines),
        contextlib.redirect_stderr(lines),
    ):
        warnings.simplefilter("default")
        try:
            names = getattr(getattr(function, "__code__", None), "co_varnames", ())
            kind = "done"
            value = function(*args, **({"shown": shown} if "shown" in names else {}))
        except (Refusal, DataError, ValueError, ImportError, LookupError) as error:
            kind, value = "failed", " ".join(str(error).split())
        except MemoryError:
            kind, value = "failed", "there is not enough memory for this; give fewer rows."
        except Exception as error:  # whatever it is, it is said and does not end the process
            kind, value = "failed", f"{type(error).__name__}: {' '.join(str(error).split())}"
    notes = [
        " ".join(str(one.message).split())
        for one in caught
        if not issubclass(one.category, DeprecationWarning | PendingDeprecationWarning)
    ]
    return kind, value, list(dict.fromkeys(notes))
