"""Blocks of work on all cores that may be used, one thread of BLAS each."""

from __future__ import annotations

import itertools
import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import copy_context
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from mercer._deadline import LOOK, until_left

T = TypeVar("T")
R = TypeVar("R")

# Where Linux tells a container its share of processor time: quota and period, in microseconds.
QUOTAS = (
    ("/sys/fs/cgroup/cpu.max",),
    ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"),
)


# Where Linux tells how many threads run or want to, in all processes: "0.20 0.18 0.12 1/80 11206".
RUNNING = Path("/proc/loadavg")

# Rows of matrices that a single thread factorizes in a fifth of a second.
SMALL = 2000


class Shared:
    """What all callers share: the pool, and how many of them hold BLAS to one thread."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pool: ThreadPoolExecutor | None = None
        self.size = 0
        self.holders = 0
        self.threads: list[int] = []

    def submit(self, function: Callable[[], None], n: int) -> list[Future[None]]:
        """Run a function on n threads, each in a copy of the caller's context."""
        with self.lock:
            if self.pool is None or self.size < n:
                if self.pool is not None:
                    self.pool.shutdown(wait=False)
                self.pool, self.size = ThreadPoolExecutor(n, thread_name_prefix="mercer"), n
            # NumPy's error state is part of the context.
            return [self.pool.submit(copy_context().run, function) for _ in range(n)]

    @contextmanager
    def one_thread_of_blas(self) -> Iterator[None]:
        """Hold BLAS to one thread until the last of several callers has left."""
        with self.lock:
            if not self.holders:
                self.threads = [library.num_threads for library in _blas().lib_controllers]
                self.set_threads([1] * len(self.threads))
            self.holders += 1
        try:
            yield
        finally:
            with self.lock:
                self.holders -= 1
                if not self.holders:
                    self.set_threads(self.threads)

    def set_threads(self, threads: list[int]) -> None:
        """Set the threads of each BLAS library, from whichever thread this is called.

        threadpoolctl (3.8) obeys only the thread that set a number first, for as long as it lives.
        Here the first caller of several in different threads sets it and the last puts it back.
        """
        for library, n in zip(_blas().lib_controllers, threads, strict=True):
            if library.num_threads != n:
                release = getattr(library, "clear_controlling_thread", lambda force: None)
                release(force=True)
                library.set_num_threads(n)
                release(force=True)


_shared = Shared()
_inside = threading.local()


def _after_fork() -> None:
    """Start afresh in a child: it has neither the threads nor the callers of its parent."""
    global _shared
    if _shared.holders:
        _shared.set_threads(_shared.threads)
    _shared = Shared()
    _inside.worker = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@lru_cache(maxsize=1)
def _blas() -> Any:
    """Return what controls the BLAS libraries; finding them takes ten milliseconds."""
    return ThreadpoolController().select(user_api="blas")


@lru_cache(maxsize=1)
def _quota() -> float:
    """Return the number of cores' worth of time a container may use, infinite without a limit."""
    for files in QUOTAS:
        try:
            text = " ".join(Path(file).read_text() for file in files)
        except OSError:
            continue
        quota, period = text.split()
        if quota != "max" and int(quota) > 0:
            return int(quota) / int(period)
    return float("inf")


def usable_cores() -> int:
    """Return how many threads are worth starting: at least 1.

    The least of the cores this process may run on, the share of time its container was given, and
    the number of threads that BLAS is held to, so that whoever limits BLAS limits us.

    Examples
    --------
    >>> usable_cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    cores = min(cores, max(1, int(min(_quota(), cores))))
    if cores > 1:
        # Of several libraries the freest: some packages bring one that never has a second thread.
        held = [library.num_threads for library in _blas().lib_controllers]
        cores = min(cores, max(held, default=cores))
    return max(1, cores)


@contextmanager
def team() -> Iterator[None]:
    """Hold BLAS to one thread for as long as a computation lasts that shares its own work out.

    BLAS's threads wait for each other at the end of every product. Where products are small, or
    cores are taken by others, most of the time goes into that; blocks from :func:`map_blocks` meet
    once. Those inside use the cores that were usable at the beginning.

    Examples
    --------
    >>> with team():
    ...     map_blocks(lambda i: i + 1, range(2))
    [1, 2]
    """
    before = getattr(_inside, "cores", 0)
    _inside.cores = before or usable_cores()
    try:
        with _shared.one_thread_of_blas():
            yield
    finally:
        _inside.cores = before


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS, and with it blocks from :func:`map_blocks`, to the thread of the caller.

    Examples
    --------
    >>> with one_thread():
    ...     usable_cores()
    1
    """
    with _shared.one_thread_of_blas():
        yield


def small_algebra(rows: float) -> AbstractContextManager[None]:
    """Hold BLAS to one thread where several would wait for each other: few rows, or no idle cores.

    Threads of BLAS spin until the last of them has its part of a product. For small matrices that
    takes longer than the product; and where another process has the core of one of them, all wait
    for the operating system to come round. Blocks from :func:`map_blocks` inside use all cores.

    Parameters
    ----------
    rows : float
        Rows of the largest matrices.

    Examples
    --------
    >>> import numpy as np
    >>> with small_algebra(400):
    ...     _ = np.linalg.eigh(np.eye(400))
    """
    return team() if rows <= SMALL or _idle_cores() < 2 else nullcontext()


def _idle_cores() -> int:
    """Return how many cores of the machine nobody else uses at this moment, where Linux tells."""
    try:
        running = int(RUNNING.read_text().split()[3].split("/")[0])
    except (OSError, ValueError, IndexError):
        return os.cpu_count() or 1
    return (os.cpu_count() or 1) - max(0, running - 1)  # this thread runs too


def stream_blocks(
    function: Callable[[T], R], blocks: Iterable[T], n_jobs: int | None = None
) -> Iterator[R]:
    """Yield ``function(block)`` for each block, in order, while others are being computed.

    Blocks are drawn as they are needed, at most one more at a time than there are threads, so that
    memory is bounded however many there are. Otherwise as :func:`map_blocks`.

    Parameters
    ----------
    function : callable
        Must be safe to call from several threads, on different blocks.
    blocks : iterable
    n_jobs : int, optional
        Number of threads; one for every usable core by default.

    Examples
    --------
    >>> list(stream_blocks(lambda i: i * i, range(4)))
    [0, 1, 4, 9]
    """
    if getattr(_inside, "worker", False):
        n_jobs = 1
    elif n_jobs is None:
        n_jobs = getattr(_inside, "cores", 0) or usable_cores()
    with _shared.one_thread_of_blas():
        if n_jobs <= 1:
            yield from map(function, blocks)
            return

        def run(block: T) -> R:
            _inside.worker = True
            try:
                return function(block)
            finally:
                _inside.worker = False

        pending: deque[Future[R]] = deque()
        with ThreadPoolExecutor(n_jobs, thread_name_prefix="mercer") as pool:
            try:
                for block in blocks:
                    pending.append(pool.submit(copy_context().run, run, block))
                    if len(pending) > n_jobs:
                        yield pending.popleft().result()
                while pending:
                    yield pending.popleft().result()
            finally:
                for future in pending:
                    future.cancel()


def call_ready(
    function: Callable[[T], R], pick: Callable[[], T | None], n_jobs: int = 1
) -> Iterator[tuple[T, R]]:
    """Yield items and ``function(item)`` as they end, with up to `n_jobs` of them in threads.

    Which item is next is asked here, in the thread of the caller, each time that a thread is free,
    so that an item can wait for the results of others. With one job, or from inside of a block,
    it is a plain loop. After an error, an interrupt or a break nothing further is begun, and what
    is running ends by itself at its next look at the clock; nobody waits for it.

    Parameters
    ----------
    function : callable
        Must be safe to call from several threads, on different items.
    pick : callable
        Returns the item to begin next; None if there is none, or none before another one ends.
    n_jobs : int, default=1
        Number of threads.

    Examples
    --------
    >>> items = [3, 2, 1]
    >>> sorted(call_ready(lambda k: k * k, lambda: items.pop() if items else None, 2))
    [(1, 1), (2, 4), (3, 9)]
    """
    if n_jobs <= 1 or getattr(_inside, "worker", False):
        while (item := pick()) is not None:
            yield item, function(item)
        return
    ended: queue.SimpleQueue[tuple[T, list[R], BaseException | None]] = queue.SimpleQueue()

    def run(item: T) -> None:
        _inside.worker = True
        try:
            ended.put((item, [function(item)], None))
        except BaseException as failure:  # raised where the caller waits
            ended.put((item, [], failure))

    running, left = 0, threading.Event()
    with _shared.one_thread_of_blas():
        try:
            while True:
                while running < n_jobs and (item := pick()) is not None:
                    with until_left(left):
                        work = copy_context()
                    threading.Thread(
                        target=work.run, args=(run, item), name="mercer-member", daemon=True
                    ).start()
                    running += 1
                if not running:
                    return
                while True:
                    try:
                        item, found, failure = ended.get(timeout=LOOK)
                        break
                    except queue.Empty:  # signals do not end a wait on every system
                        continue
                running -= 1
                if failure is not None:
                    raise failure
                yield item, found[0]
        finally:
            left.set()


def map_blocks(function: Callable[[T], R], blocks: Iterable[T]) -> list[R]:
    """Return ``[function(block) for block in blocks]``, computed on all usable cores.

    The function should leave the interpreter's lock while it works, as BLAS and compiled loops do.
    While the blocks run, BLAS keeps to one thread. A call from inside a block, or with
    one usable core, is a plain loop. After an error or an interrupt no further block is begun.

    Parameters
    ----------
    function : callable
        Must be safe to call from several threads, on different blocks.
    blocks : iterable

    Returns
    -------
    list
        Results in the order of the blocks.

    Examples
    --------
    >>> map_blocks(lambda i: i * i, range(4))
    [0, 1, 4, 9]
    """
    todo = list(blocks)
    if getattr(_inside, "worker", False):
        cores = 1
    else:
        cores = getattr(_inside, "cores", 0) or usable_cores()
    workers = min(cores, len(todo))
    if workers <= 1:
        return [function(block) for block in todo]
    results: list[Any] = [None] * len(todo)
    numbers = itertools.count()
    stopped = threading.Event()

    def run() -> None:
        _inside.worker = True
        try:
            for i in numbers:
                if i >= len(todo) or stopped.is_set():
                    return
                results[i] = function(todo[i])
        except BaseException:
            stopped.set()
            raise
        finally:
            _inside.worker = False

    with _shared.one_thread_of_blas():
        helpers = _shared.submit(run, workers - 1)
        try:
            run()
        finally:
            # Those that have not begun have nothing left to do; the others end their block.
            begun = [helper for helper in helpers if not helper.cancel()]
            wait(begun)
    for helper in begun:
        helper.result()
    return results
