"""Blocks on several threads: order, errors, interrupts, forks, and what BLAS is left with."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from mercer import _threads
from mercer._deadline import Abandoned, deadline, time_left
from mercer._threads import call_ready, map_blocks, team, usable_cores

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

several = pytest.fixture(
    lambda monkeypatch: monkeypatch.setattr(_threads, "usable_cores", lambda: 3)
)


def blas():
    return [library.num_threads for library in _threads._blas().lib_controllers]


def meet(n):
    """Return a function that waits until n threads are in it at once, and says which it ran on."""
    barrier = threading.Barrier(n, timeout=30)

    def block(_):
        barrier.wait()
        return threading.get_ident(), blas()

    return block


@pytest.mark.usefixtures("several")
def test_results_keep_their_order_and_blas_one_thread():
    before = blas()
    found = map_blocks(meet(3), range(3))
    assert len({thread for thread, _ in found}) == 3
    assert all(set(held) == {1} for _, held in found)
    assert blas() == before
    assert map_blocks(lambda i: i * i, range(100)) == [i * i for i in range(100)]
    assert map_blocks(str, []) == []


def test_one_core_is_a_plain_loop(monkeypatch):
    monkeypatch.setattr(_threads, "usable_cores", lambda: 1)
    here = threading.get_ident()
    assert map_blocks(lambda _: threading.get_ident(), range(5)) == [here] * 5


@pytest.mark.usefixtures("several")
def test_a_call_inside_a_block_runs_there():
    def outer(_):
        here = threading.get_ident()
        return map_blocks(lambda _: threading.get_ident(), range(4)) == [here] * 4

    assert map_blocks(outer, range(6)) == [True] * 6


@pytest.mark.usefixtures("several")
def test_callers_on_several_threads_leave_blas_as_it_was():
    before = blas()
    answers = {}

    def call(k):
        answers[k] = map_blocks(lambda i: (time.sleep(0.001), 10 * k + i)[1], range(10))

    callers = [threading.Thread(target=call, args=(k,)) for k in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert answers == {k: list(range(10 * k, 10 * k + 10)) for k in range(6)}
    assert blas() == before


@pytest.mark.usefixtures("several")
def test_an_error_stops_the_rest_and_is_raised():
    before = blas()
    done = []

    def block(i):
        if i == 5:
            raise ValueError("block five")
        time.sleep(0.002)
        done.append(i)

    with pytest.raises(ValueError, match="block five"):
        map_blocks(block, range(500))
    assert len(done) < 20
    assert blas() == before
    assert map_blocks(str, range(3)) == ["0", "1", "2"]


@pytest.mark.usefixtures("several")
def test_errors_of_numpy_are_treated_as_the_caller_says():
    big = np.full(3, 1e300)
    with np.errstate(over="ignore"):
        found = map_blocks(lambda _: float((big * big)[0]), range(9))
    assert found == [np.inf] * 9


def in_child(queue):
    _threads.usable_cores = lambda: 3
    queue.put((map_blocks(lambda i: -i, range(50)), blas()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.usefixtures("several")
def test_a_forked_child_has_threads_of_its_own():
    before = blas()
    map_blocks(meet(3), range(3))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()

    def fork(i):
        # From inside a block, while BLAS is held to one thread.
        if i:
            return None
        child = context.Process(target=in_child, args=(queue,))
        child.start()
        answer = queue.get(timeout=60)
        child.join()
        return answer

    found, left = map_blocks(fork, range(3))[0]
    assert found == [-i for i in range(50)]
    assert left == before


INTERRUPTED = """
import sys, time
from mercer import _threads
_threads.usable_cores = lambda: 2
def block(i):
    print(i, flush=True)
    time.sleep(0.05)
try:
    _threads.map_blocks(block, range(10_000))
except KeyboardInterrupt:
    sys.exit(7)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal on this system")
def test_an_interrupt_ends_it_within_a_block_or_two():
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        for _ in range(4):
            process.stdout.readline()
        process.send_signal(signal.SIGINT)
        more = process.stdout.read().splitlines()
        assert process.wait(timeout=30) == 7
    # A busy machine may hear late, but not after thousands of blocks.
    assert len(more) < 5_000


def test_cores_are_those_granted(monkeypatch, tmp_path):
    monkeypatch.setattr(_threads.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)

    class Library:
        num_threads = 6

    class Blas:
        lib_controllers = (Library,)

    monkeypatch.setattr(_threads, "_blas", Blas)
    for text, cores in (("max 100000", 6), ("350000 100000", 3), ("50000 100000", 1)):
        (tmp_path / "cpu.max").write_text(text)
        monkeypatch.setattr(_threads, "QUOTAS", ((str(tmp_path / "cpu.max"),),))
        _threads._quota.cache_clear()
        assert usable_cores() == cores
    (tmp_path / "quota").write_text("200000\n")
    (tmp_path / "period").write_text("100000\n")
    older = (str(tmp_path / "quota"), str(tmp_path / "period"))
    monkeypatch.setattr(_threads, "QUOTAS", (("/nowhere/cpu.max",), older))
    _threads._quota.cache_clear()
    assert usable_cores() == 2
    _threads._quota.cache_clear()


def test_who_limits_blas_limits_us():
    with threadpool_limits(limits=1, user_api="blas"):
        assert usable_cores() == 1


def test_every_thread_limits_blas_and_the_last_puts_it_back():
    free = blas()
    inside, first_left, found = threading.Event(), threading.Event(), []

    def last():
        with _threads.one_thread():
            inside.set()
            first_left.wait(60)
            found.append(blas())

    with threadpool_limits(limits=2, user_api="blas"):
        several = blas()
        assert max(several) == 2
        with _threads.one_thread():  # here first, in this thread
            thread = threading.Thread(target=last)
            thread.start()
            inside.wait(60)
        first_left.set()
        thread.join(60)
        assert found == [[1] * len(free)]
        assert blas() == several
        other = threading.Thread(target=last)
        other.start()
        other.join(60)
        assert found[1] == [1] * len(free)
        assert blas() == several
    assert blas() == free


def test_busy_cores_are_not_idle(monkeypatch, tmp_path):
    said = tmp_path / "loadavg"
    monkeypatch.setattr(_threads, "RUNNING", said)
    monkeypatch.setattr(_threads.os, "cpu_count", lambda: 4)
    for running, idle in ((1, 4), (3, 2), (4, 1), (9, -4)):
        said.write_text(f"0.20 0.18 0.12 {running}/80 11206\n")
        assert _threads._idle_cores() == idle
        with threadpool_limits(limits=2, user_api="blas"):
            # A solver may bring a BLAS of its own that never has more than one thread.
            free = blas()
            assert max(free) == 2
            with _threads.small_algebra(5000):
                assert blas() == (free if idle > 1 else [1] * len(free))
    said.unlink()
    assert _threads._idle_cores() == 4


class TestCallReady:
    """Items in threads, each begun when those that it needs are done."""

    @pytest.mark.parametrize("n_jobs", [1, 2, 5])
    def test_an_item_waits_for_what_it_needs(self, n_jobs):
        needs = {"b": "a", "c": "b", "e": "d"}
        waiting, done = list("cebad"), {}

        def pick():
            for item in waiting:
                if needs.get(item) in (None, *done):
                    waiting.remove(item)
                    return item
            return None

        for item, answer in call_ready(lambda item: (item, sorted(done)), pick, n_jobs):
            done[item] = answer
        assert sorted(done) == list("abcde")
        assert all(needs[item] in done[item][1] for item in needs)

    def test_so_many_run_at_the_same_time(self):
        barrier, items = threading.Barrier(3, timeout=60), [1, 2, 3]
        found = call_ready(lambda k: barrier.wait() >= 0, lambda: items.pop() if items else None, 3)
        assert dict(found) == {1: True, 2: True, 3: True}

    def test_context_goes_along(self):
        items = [1, 2]
        with deadline(1e6), np.errstate(divide="raise"):
            found = dict(
                call_ready(
                    lambda k: (time_left() < np.inf, np.geterr()["divide"]),
                    lambda: items.pop() if items else None,
                    2,
                )
            )
        assert found == {1: (True, "raise"), 2: (True, "raise")}

    def test_blocks_inside_are_a_plain_loop(self):
        items = [1, 2]

        def work(k):
            here = threading.get_ident()
            return all(map_blocks(lambda i: threading.get_ident() == here, range(8)))

        with team():
            found = dict(call_ready(work, lambda: items.pop() if items else None, 2))
        assert found == {1: True, 2: True}

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
    def test_after_an_error_others_end_at_their_next_look_at_the_clock(self, error):
        ended, begun = threading.Event(), threading.Event()

        def work(k):
            if k == "fails":
                begun.wait(60)
                raise error("no")
            try:
                begun.set()
                while True:
                    time_left()
            except Abandoned:
                ended.set()
                raise

        items = ["fails", "goes on"]
        with pytest.raises(error):
            list(call_ready(work, lambda: items.pop() if items else None, 2))
        assert ended.wait(60)

    def test_an_interrupt_of_the_caller_is_heard_at_once(self):
        release, picked = threading.Event(), []

        def pick():
            if picked:
                raise KeyboardInterrupt
            picked.append(1)
            return 1

        with pytest.raises(KeyboardInterrupt):
            list(call_ready(lambda k: release.wait(600), pick, 2))
        release.set()
