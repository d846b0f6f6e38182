"""Workers that die, freeze and are replaced while sums are made, and data that is lost for good."""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import dask.array as da
import numpy as np
import pytest
from distributed import Client, KilledWorker

from cluster_work import slow_down, slow_products, speed_up
from mercer import LSSVR
from mercer.data import Arrays
from mercer.distributed import as_source
from mercer.distributed.cluster import Cluster
from mercer.kernels import Gaussian
from mercer.local import Local
from mercer.reduced import Nystrom

N, P = 960, 4
STATE = np.random.default_rng(7).normal(size=(P, 3))
SHARED = np.ones(30_000)
X = np.random.default_rng(0).normal(size=(N, P))


def source_of(client, **how):
    # The rows are results of tasks, so that they can be had again.
    rows = da.from_array(X, chunks=(80, P)).map_blocks(np.array)
    return as_source(rows, rows.sum(axis=1), client=client, **how)


def passed(source, file="", seconds=0.02, shared=SHARED):
    return source.total(slow_products, shared, (seconds, str(file), STATE), rows=40)


@pytest.fixture(scope="module")
def undisturbed(harmed):
    sums = passed(source_of(harmed), seconds=0.0)
    np.testing.assert_allclose(sums["X"], X.T @ (X @ STATE), rtol=1e-12)
    return sums


def assert_same_bits(a, b):
    assert a.keys() == b.keys()
    for name, value in a.items():
        np.testing.assert_array_equal(value, b[name], err_msg=name)


def trap(folder, number):
    """Return a file that makes the first worker who meets it send itself a signal."""
    file = folder / "trap"
    file.write_text(str(int(number)))
    return file


@pytest.mark.parametrize("hold", [True, False])
def test_a_worker_killed_in_the_middle_of_a_pass(harmed, undisturbed, tmp_path, hold):
    source = source_of(harmed, hold=hold)
    passed(source)
    file = trap(tmp_path, signal.SIGKILL)
    assert_same_bits(passed(source, file), undisturbed)
    assert not file.exists()
    assert_same_bits(passed(source), undisturbed)


def test_a_worker_killed_in_the_first_pass(harmed, undisturbed, tmp_path):
    assert_same_bits(passed(source_of(harmed), trap(tmp_path, signal.SIGKILL)), undisturbed)


def test_all_workers_replaced_one_by_one(harmed, undisturbed):
    source = source_of(harmed)
    passed(source)
    first = harmed.run(os.getpid)
    over = threading.Event()

    def replace():
        for pid in first.values():
            harmed.wait_for_workers(len(first))
            os.kill(pid, signal.SIGKILL)
            time.sleep(0.5)
        harmed.wait_for_workers(len(first))
        over.set()

    killer = threading.Thread(target=replace)
    killer.start()
    passes = 0
    while not over.is_set() or passes < 3:
        assert_same_bits(passed(source), undisturbed)
        passes += 1
    killer.join()
    assert not set(first.values()) & set(harmed.run(os.getpid).values())


def test_a_frozen_worker_is_restarted(harmed, undisturbed, tmp_path):
    harmed.wait_for_workers(2)
    before = set(harmed.run(os.getpid).values())
    source = source_of(harmed, patience=2.0)
    passed(source)
    assert_same_bits(passed(source, trap(tmp_path, signal.SIGSTOP)), undisturbed)
    harmed.wait_for_workers(2)
    assert before - set(harmed.run(os.getpid).values())


@pytest.mark.parametrize(
    ("how", "what"),
    [(Nystrom(40), "sums"), (Local(120), "leaves")],
)
def test_a_slow_worker_delays_a_fit_and_changes_nothing(harmed, how, what):
    """A task sleeps for longer than the patience, but its worker gives signs of life meanwhile."""
    harmed.wait_for_workers(2)
    before, y = harmed.run(os.getpid), np.sin(X[:, 0]) + X[:, 1]
    rows = da.from_array(X, chunks=(80, P)).map_blocks(np.array)
    targets = da.from_array(y, chunks=80)

    def predicted():
        source = as_source(rows, targets, client=harmed, patience=5.0)
        machine = LSSVR(kernel=Gaussian(1.0), C=1.0, approximation=how).fit(source)
        return machine.predict(X), machine.solution_.gap

    quick = predicted()
    slow = next(iter(before))
    harmed.run(slow_down, what, 7.0, workers=[slow])
    try:
        values, gap = predicted()
    finally:
        calls = harmed.run(speed_up, what, workers=[slow])[slow]
    assert calls > 0
    np.testing.assert_array_equal(values, quick[0])
    assert gap == quick[1]
    assert harmed.run(os.getpid) == before  # nobody was restarted


def test_a_worker_that_the_cluster_gave_up_comes_back(harmed, undisturbed):
    """As on a busy machine, where starting a process takes longer than a LocalCluster waits."""
    harmed.wait_for_workers(2)
    source = source_of(harmed, patience=2.0)
    passed(source)
    cluster = harmed.cluster
    name = next(iter(cluster.workers))
    lost = cluster.workers[name]
    # What a cluster does with a worker that it misses for `lost-worker-timeout`.
    harmed.sync(lost.close)
    del cluster.workers[name]
    assert len(cluster.workers) == 1
    deadline = time.monotonic() + 100
    while len(harmed.scheduler_info()["workers"]) < 2:
        assert time.monotonic() < deadline
        assert_same_bits(passed(source), undisturbed)
    # The cluster writes down its workers after the scheduler does.
    while len(cluster.workers) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Silent:
    """Stands for a cluster whose workers live but are too busy to say so."""

    def __init__(self):
        self.given_up = []

    def scheduler_info(self, n_workers):
        return {"workers": {"a": {"last_seen": 1.0}, "b": {"last_seen": time.time()}}}

    def run_on_scheduler(self, function, workers):
        self.given_up.append((time.monotonic(), workers))

    asynchronous, cluster = False, None


def test_silent_workers_are_restarted_ever_more_rarely(monkeypatch):
    """On an overloaded machine no pass would end if its workers were restarted all the time."""
    ticks = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: 0.001 * next(ticks))
    client = Silent()
    source = Cluster({}, [], 1, client=client, patience=0.1)
    begun = time.monotonic()
    for _ in range(10_000):
        source.watch.look()
        if len(client.given_up) == 4:
            break
    assert [workers for _, workers in client.given_up] == [["a"]] * 4
    waits = np.diff([begun, *(when for when, _ in client.given_up)])
    patience = 0.1 * 2.0 ** np.arange(4)
    assert np.all((patience <= waits) & (waits <= 2.0 * patience))


def test_a_cluster_without_workers_ends_the_fit_with_a_sentence():
    client = Silent()
    client.scheduler_info = lambda n_workers: {"workers": {}}
    source = Cluster({}, [], 1, client=client, patience=0.02)
    start = time.monotonic()

    def wait():
        while time.monotonic() - start < 60:
            source.watch.look()
            time.sleep(0.001)

    with pytest.raises(RuntimeError, match=r"no workers for .*checkpoint goes on where it was"):
        wait()


@pytest.fixture
def commands(tmp_path):
    """Yield a client of a scheduler and two workers without nannies, each started by a command."""
    dask = [sys.executable, "-m", "dask"]
    where = ["--scheduler-file", str(tmp_path / "scheduler.json")]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    here = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(here)}
    calls = [
        ["scheduler", *where, "--port", "0", "--dashboard-address", ":0", "--host", "127.0.0.1"],
        *[["worker", *where, "--no-nanny", "--no-dashboard", "--nthreads", "1"]] * 2,
    ]
    processes = [subprocess.Popen([*dask, *call], env=environment, **quiet) for call in calls]
    try:
        with Client(scheduler_file=where[1], set_as_default=False, timeout=60) as client:
            client.wait_for_workers(2, timeout=60)
            yield client
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_a_frozen_worker_without_a_nanny_is_left_behind(commands, undisturbed, tmp_path):
    source = source_of(commands, patience=2.0)
    assert_same_bits(passed(source), undisturbed)
    assert_same_bits(passed(source, trap(tmp_path, signal.SIGSTOP)), undisturbed)
    assert len(commands.scheduler_info()["workers"]) == 1


def test_work_that_kills_every_worker_ends_with_advice(harmed):
    source = as_source(da.zeros((4, P), chunks=(4, P)), client=harmed)
    allowed = harmed.run_on_scheduler(allow, 0)
    with pytest.raises(KilledWorker) as caught:
        source.total(deadly)
    harmed.run_on_scheduler(allow, allowed)
    assert "does not fit into the memory" in caught.value.__notes__[0]
    harmed.wait_for_workers(2)


def allow(failures, dask_scheduler):
    """Set how often a task may lose its worker, and return how often it might before."""
    before = dask_scheduler.allowed_failures
    dask_scheduler.allowed_failures = failures
    return before


def deadly(block, shared, state):
    os.kill(os.getpid(), signal.SIGKILL)


def test_rows_that_were_only_scattered_are_lost_with_a_sentence(harmed, tmp_path):
    harmed.wait_for_workers(2)
    futures = harmed.scatter([X[:480], X[480:]])
    source = as_source(futures, client=harmed)
    file = trap(tmp_path, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="only scattered"):
        passed(source, file)


def test_sums_here_and_there_agree(undisturbed):
    here = Arrays(X, X.sum(axis=1)).total(slow_products, SHARED, (0.0, "", STATE))
    # 960 terms of size one, summed in another order.
    np.testing.assert_allclose(here["X"], undisturbed["X"], rtol=0, atol=960 * 100 * 2**-52)


def test_rows_are_divided_anew_when_workers_come_and_go(one):
    source = source_of(one, patience=8.0)
    expected = passed(source, seconds=0.0)
    assert len(source.holding.groups) == 1
    for workers in (3, 2):
        one.cluster.scale(workers)
        deadline = time.monotonic() + 100
        while len(source.holding.groups) != workers:
            assert time.monotonic() < deadline
            assert_same_bits(passed(source), expected)
        # Nobody has more than its share, and every partition is somewhere once.
        held = list(source.holding.groups.values())
        assert sorted(itertools.chain(*held)) == list(range(12))
        assert max(map(len, held)) == 12 // workers
        assert_same_bits(passed(source), expected)
        where = one.who_has(source.holding.shards)
        assert {places[0] for places in where.values()} == set(source.holding.groups)


def test_two_workers_get_half_of_the_partitions_each(harmed, undisturbed):
    harmed.wait_for_workers(2)
    source = source_of(harmed)
    passed(source)
    assert [len(numbers) for numbers in source.holding.groups.values()] == [6, 6]
    before = harmed.run_on_scheduler(results_of_passes)
    for _ in range(5):
        assert_same_bits(passed(source), undisturbed)
    # Two sums over shards, and one of both.
    assert harmed.run_on_scheduler(results_of_passes) - before == 5 * 3


def results_of_passes(dask_scheduler):
    """Return how many tasks of passes have ended, however they are called."""
    names = ("mercer-part", "mercer-sum", "mercer-order")
    prefixes = dask_scheduler.task_prefixes.items()
    return sum(p.state_counts["memory"] for name, p in prefixes if name.startswith(names))
