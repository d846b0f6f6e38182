"""Local machines on a cluster: the same leaves for any workers and partitions, dead ones too."""

import os
import signal
from collections import Counter

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster
from sklearn.base import clone

from cluster_work import by_remainder, noted
from mercer import LSSVR, SVC
from mercer.data import Arrays
from mercer.distributed import as_source
from mercer.distributed.bundles import bounds_of, shards_of
from mercer.distributed.watch import submit
from mercer.kernels import Gaussian
from mercer.local import Local
from mercer.local.shelf import Shelf

N = 840
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=N)
LABELS = np.array(["a", "b", "c"])[np.digitize(Y, [-0.5, 0.5])]

REGRESSOR = LSSVR(kernel=Gaussian(1.0), approximation=Local(120))
CLASSIFIER = SVC(kernel=Gaussian(1.0), class_weight="balanced", approximation=Local(120))


def partitioned(y, parts):
    # The rows are results of tasks, so that they can be had again.
    size = -(-N // parts)
    return da.from_array(X, chunks=(size, 3)).map_blocks(np.array), da.from_array(y, chunks=size)


@pytest.fixture(scope="module")
def thread():
    """One worker in this process, which needs no start."""
    with (
        LocalCluster(1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def test_any_workers_and_partitions_fit_the_leaves_of_a_source(harmed, thread):
    for machine, y, answers in (
        (REGRESSOR, Y, "predict"),
        (CLASSIFIER, LABELS, "decision_function"),
    ):
        here = clone(machine).fit(Arrays(X, y))
        for workers, parts, hold in ((harmed, 3, True), (harmed, 7, True), (thread, 28, False)):
            source = as_source(*partitioned(y, parts), client=workers, hold=hold)
            there = clone(machine).fit(source)
            np.testing.assert_array_equal(getattr(there, answers)(X), getattr(here, answers)(X))
            assert there.solution_.gap == here.solution_.gap
            for mine, other in zip(there.leaves_, here.leaves_, strict=True):
                np.testing.assert_array_equal(mine.rows, other.rows)


def test_overlap_weights_and_files(harmed, tmp_path):
    how = Local(120, overlap=0.1, blend=True, memory_limit=8 * 120**2, folder=tmp_path)
    weights = rng.uniform(0.5, 2.0, size=N)
    machine = clone(REGRESSOR).set_params(approximation=how)
    here = clone(machine).fit(Arrays(X, Y, weights))
    rows, y = partitioned(Y, 5)
    there = clone(machine).fit(rows, y, sample_weight=da.from_array(weights, chunks=168))
    assert len(list(tmp_path.rglob("*.leaf"))) == 2 * len(here.leaves_)
    np.testing.assert_array_equal(there.predict(X), here.predict(X))
    # Few rows are predicted by other products than many: the same blocks have the same bits.
    blocks = np.concatenate([here.predict(X[part : part + 168]) for part in range(0, N, 168)])
    np.testing.assert_array_equal(there.predict(rows).compute(), blocks)


def test_a_killed_worker_costs_its_leaves_only(harmed, monkeypatch):
    here = clone(REGRESSOR).fit(Arrays(X, Y))
    put, killed = Shelf.put, []

    def killing(self, k, item):
        if not killed:
            killed.append(next(iter(harmed.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)
        put(self, k, item)

    monkeypatch.setattr(Shelf, "put", killing)
    there = clone(REGRESSOR).fit(as_source(*partitioned(Y, 4), client=harmed))
    assert killed
    np.testing.assert_array_equal(there.predict(X), here.predict(X))
    harmed.wait_for_workers(2)


@pytest.mark.parametrize("kill", [False, True])
def test_groups_that_are_done_are_not_done_again(harmed, tmp_path, kill):
    numbers = np.arange(210.0)[:, None]
    notes, file = tmp_path / "notes", tmp_path / "trap"
    if kill:
        file.write_text("")
    source = as_source(da.from_array(numbers, chunks=(30, 1)).map_blocks(np.array), client=harmed)
    with source.sorted(by_remainder, 7, rows=11) as groups:
        shared = (str(notes), str(file))
        found = dict(groups.map(noted, shared, {g: g for g in range(7)}, last=True))
        assert not groups.futures
    assert sorted(found) == list(range(7))
    for group, rows in found.items():
        np.testing.assert_array_equal(rows, np.arange(group, 210, 7))
    times = Counter(notes.read_text().split())
    assert set(times) == {str(g) for g in range(7)}
    # The group that killed its worker had not noted itself; another may have been done, not sent.
    assert sum(times.values()) <= 7 + kill
    harmed.wait_for_workers(2)


@pytest.mark.parametrize("hold", [True, False])
def test_tasks_that_sort_rows_grow_with_workers_and_not_with_partitions(thread, hold, monkeypatch):
    graphs = []

    def noting(client, graph, keys):
        graphs.append(graph)
        return submit(client, graph, keys)

    monkeypatch.setattr("mercer.distributed.bundles.submit", noting)
    numbers, pieces = np.arange(210.0)[:, None], []
    for size in (30, 3):
        rows = da.from_array(numbers, chunks=(size, 1)).map_blocks(np.array)
        with as_source(rows, client=thread, hold=hold).sorted(by_remainder, 7, rows=11) as groups:
            found = dict(groups.map(noted, (os.devnull, ""), {g: g for g in range(7)}))
        for group, some in found.items():
            np.testing.assert_array_equal(some, np.arange(group, 210, 7))
        names = [key[0] for key in graphs[-2] if isinstance(key, tuple)]
        pieces.append(sum(name.startswith("mercer-piece") for name in names))
    # One shard that is held, or at most four of rows that are not, with a piece for each bundle.
    assert pieces[0] == pieces[1] == 7 * (1 if hold else 4)


def test_bundles_are_few_and_not_too_large():
    assert shards_of(3, 1e3, 2) == 3
    assert shards_of(1000, 1e3, 2) == 8
    assert shards_of(1000, 100 * 2.0**28, 2) == 100
    assert shards_of(1000, 64e9, 2, memory=8e9) == 64
    assert bounds_of(7, 3, 1e3) == list(range(8))
    assert len(bounds_of(10_000, 64, 1e9)) == 512 // 64 + 1
    assert len(bounds_of(10_000, 4096, 1e3)) == 4 + 1
    assert len(bounds_of(10_000, 64, 1e9, workers=10)) == 40 + 1
    assert len(bounds_of(10_000, 64, 1e9, workers=100)) == 2**14 // 64 + 1
    assert len(bounds_of(10_000, 4096, 64 * 2**28)) == 65
