"""Leaves that stay on workers: the same predictions, wherever they are and whoever dies."""

import os
import pickle
import signal

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster, get_worker
from sklearn.base import clone

from mercer import LSSVR, KernelLogisticRegression, io
from mercer.data import Arrays
from mercer.distributed import as_source, gather, predict
from mercer.distributed.bundles import Bundles
from mercer.distributed.leaves import KeptLeaves
from mercer.kernels import Gaussian
from mercer.local import Local
from mercer.local.shelf import Shelf
from mercer.machines import leaf_samples
from mercer.machines.solving import EarlyStop

N, CHUNK = 840, 210
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=N)
LABELS = np.array(["a", "b", "c"])[np.digitize(Y, [-0.5, 0.5])]

REGRESSOR = LSSVR(kernel=Gaussian(1.0), approximation=Local(120, gather=False))
CLASSIFIER = KernelLogisticRegression(kernel=Gaussian(1.0), approximation=Local(120, gather=False))


def rows_and(y):
    # The rows are results of tasks, so that they can be had again.
    rows = da.from_array(X, chunks=(CHUNK, 3)).map_blocks(np.array)
    return rows, da.from_array(y, chunks=CHUNK)


def fitted(machine, y, client):
    """The machine with its leaves on workers, and its twin with leaves of this process."""
    there = clone(machine).fit(as_source(*rows_and(y), client=client))
    assert isinstance(there.leaves_, KeptLeaves)
    return there, clone(machine).fit(Arrays(X, y))


def computed(lazy, client):
    """Compute a collection on one of several clusters."""
    return client.compute(lazy).result()


def by_chunks(machine, method="predict"):
    answer = getattr(machine, method)
    return np.concatenate([answer(X[i : i + CHUNK]) for i in range(0, N, CHUNK)])


def address(leaf, shared, points):
    """Return where a leaf is asked."""
    return get_worker().address


@pytest.mark.parametrize("blend", [False, True])
def test_predictions_have_the_bits_of_gathered_leaves(client, blend):
    how = Local(120, overlap=0.1, blend=True, gather=False) if blend else REGRESSOR.approximation
    for machine, y, methods in (
        (REGRESSOR, Y, ("predict",)),
        (CLASSIFIER, LABELS, ("predict", "decision_function", "predict_proba")),
    ):
        there, here = fitted(clone(machine).set_params(approximation=how), y, client)
        assert there.solution_.gap == here.solution_.gap
        assert there.solution_.objective == here.solution_.objective
        assert not hasattr(there, "support_")
        for method in methods:
            answer = getattr(there, method)
            np.testing.assert_array_equal(answer(X), getattr(here, method)(X))
            np.testing.assert_array_equal(answer(X[:3]), getattr(here, method)(X[:3]))
            lazy = answer(rows_and(y)[0])
            assert lazy.chunks[0] == (CHUNK,) * 4
            np.testing.assert_array_equal(computed(lazy, client), by_chunks(here, method))
        for mine, other in zip(there.leaves_, here.leaves_, strict=True):
            np.testing.assert_array_equal(mine.rows, other.rows)


def test_frames_and_partitions_without_rows(client):
    frame = pd.DataFrame(X, columns=["p", "q", "r"], index=10 + np.arange(N))
    rows, targets = (dd.from_pandas(v, npartitions=4) for v in (frame, pd.Series(LABELS)))
    there = clone(CLASSIFIER).fit(as_source(rows, targets, client=client))
    here = pickle.loads(pickle.dumps(there))
    got = computed(predict(there, rows, "predict_proba"), client)
    assert list(got.columns) == ["a", "b", "c"]
    assert list(got.index) == list(frame.index)
    np.testing.assert_array_equal(got, predict(here, rows, "predict_proba").compute())
    labels = there.predict(rows)
    assert labels.divisions == rows.divisions
    np.testing.assert_array_equal(computed(labels, client), here.predict(rows).compute())
    there, here = fitted(CLASSIFIER, LABELS, client)
    few = rows_and(LABELS)[0]
    few = few[few[:, 0] > 2.5]  # of some chunks, nothing
    got = there.predict(few)
    np.testing.assert_array_equal(computed(got, client), here.predict(few).compute())


def test_leaves_stay_and_are_asked_where_they_are(client, monkeypatch):
    monkeypatch.setattr(Shelf, "put", lambda *_: pytest.fail("a leaf came to the client"))
    there = clone(REGRESSOR).fit(as_source(*rows_and(Y), client=client))
    leaves = there._local.leaves
    assert len(leaves.shelves) <= 2  # one for each worker that fitted any
    places = client.who_has(leaves.shelves)
    asked = list(leaves.ask(address, None, [(k, X[:1]) for k in range(len(leaves))]))
    for key, found in zip(leaves.keys, asked, strict=True):
        assert found in places[leaves.shelves[leaves.shelf_of[key]].key]
    there.predict(X)
    assert client.who_has(leaves.shelves) == places


def test_shelves_are_not_larger_than_they_may_be(client, monkeypatch):
    monkeypatch.setattr("mercer.distributed.cluster.max_bytes", lambda memory: 1.0)
    there, here = fitted(REGRESSOR, Y, client)
    assert len(there._local.leaves.shelves) == len(here.leaves_)
    np.testing.assert_array_equal(there.predict(X), here.predict(X))


def test_questions_are_sent_in_parts(client, monkeypatch):
    monkeypatch.setattr("mercer.distributed.leaves.MAX_SENT_BYTES", 100)
    there, here = fitted(REGRESSOR, Y, client)
    np.testing.assert_array_equal(there.predict(X), here.predict(X))


def test_branches_that_are_cut_later_have_their_leaves(client, monkeypatch):
    monkeypatch.setattr(leaf_samples, "MAX_TREE_ROWS", 400)
    there, here = fitted(REGRESSOR, Y, client)
    # Two branches of 200 points each are cut into seven leaves.
    assert {g for g, _ in there._local.leaves.keys} == {0, 1}
    assert len(there.leaves_) == len(here.leaves_) > 2
    np.testing.assert_array_equal(there.predict(X), here.predict(X))


@pytest.mark.parametrize("lazily", [False, True])
def test_leaves_of_a_killed_worker_are_fitted_again(harmed, lazily):
    there, here = fitted(REGRESSOR, Y, harmed)
    leaves = there._local.leaves
    (holder,) = harmed.who_has(leaves.shelves[:1])[leaves.shelves[0].key]
    os.kill(harmed.run(os.getpid, workers=[holder])[holder], signal.SIGKILL)
    if lazily:
        lazy = there.predict(rows_and(Y)[0])
        np.testing.assert_array_equal(computed(lazy, harmed), by_chunks(here))
    np.testing.assert_array_equal(there.predict(X), here.predict(X))
    for mine, other in zip(there.leaves_, here.leaves_, strict=True):
        np.testing.assert_array_equal(mine.machine.dual_coef_, other.machine.dual_coef_)
    harmed.wait_for_workers(2)


def test_a_worker_killed_between_fits_of_leaves_costs_nothing(harmed, monkeypatch):
    keep, killed = Bundles.keep, []

    def killing(self, *args):
        for one in keep(self, *args):
            if not killed:
                killed.append(next(iter(harmed.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)
            yield one

    monkeypatch.setattr(Bundles, "keep", killing)
    there, here = fitted(REGRESSOR, Y, harmed)
    assert killed
    np.testing.assert_array_equal(there.predict(X), here.predict(X))
    harmed.wait_for_workers(2)


def test_saving_and_gathering_bring_the_leaves(client, tmp_path):
    there, here = fitted(REGRESSOR, Y, client)
    again = pickle.loads(pickle.dumps(there))
    assert isinstance(again._local.leaves, Shelf)
    np.testing.assert_array_equal(again.predict(X), here.predict(X))
    io.save(there, tmp_path / "machine.skops")
    np.testing.assert_array_equal(io.load(tmp_path / "machine.skops").predict(X), here.predict(X))
    assert isinstance(there.leaves_, KeptLeaves)
    assert gather(there) is there
    assert gather(there) is there
    assert isinstance(there.leaves_, list)
    np.testing.assert_array_equal(there.predict(X), here.predict(X))
    np.testing.assert_array_equal(there.support_, here.support_)
    np.testing.assert_array_equal(there.solution_.a, here.solution_.a)


def test_gathered_leaves_keep_to_the_memory(client):
    how = Local(120, gather=False, memory_limit=8 * 120**2)
    there, here = fitted(clone(REGRESSOR).set_params(approximation=how), Y, client)
    gather(there)
    assert there._local.leaves.on_disk
    np.testing.assert_array_equal(there.predict(X), here.predict(X))


def test_a_closed_client_is_named():
    with LocalCluster(1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster:
        with Client(cluster, set_as_default=False) as thread:
            there, _ = fitted(REGRESSOR, Y, thread)
        with pytest.raises(RuntimeError, match=r"7 leaves .* closed\. Fit again, and call mercer"):
            there.predict(X)


def test_leaves_of_this_machine_are_here():
    machine = clone(REGRESSOR).fit(X, Y)
    assert isinstance(machine.leaves_, list)
    with pytest.raises(IndexError, match="no number 9"):
        KeptLeaves.__getitem__(_Seven(), 9)


class _Seven(KeptLeaves):
    def __init__(self):
        self.keys = [(0, j) for j in range(7)]


def test_leaves_that_time_is_lacking_for_are_predicted_by_the_client(client, monkeypatch):
    machine = clone(REGRESSOR).set_params(approximation=Local(120, adapt=False, gather=False))
    whole = clone(machine).fit(Arrays(X, Y))
    # By this clock time ends after the machine of few rows and two of seven leaves.
    clock = iter([9.0, 9.0, 0.0])
    monkeypatch.setattr("mercer.machines.leaves.time_left", lambda: next(clock))
    with pytest.warns(EarlyStop, match="of the tree was fitted; there one machine of 120 rows"):
        there = clone(machine).set_params(max_time=1e6).fit(as_source(*rows_and(Y), client=client))
    monkeypatch.undo()
    leaves, leaf = there._local.leaves, there.tree_.route(X)
    assert len(leaves.here) == 5
    coarse = next(iter(leaves.here.values())).machine
    away = np.isin(leaf, [k for k, key in enumerate(leaves.keys) if key in leaves.here])
    expected = np.where(away, coarse.predict(X), whole.predict(X))
    np.testing.assert_allclose(there.predict(X), expected, rtol=1e-12)
    lazy = there.predict(rows_and(Y)[0])
    np.testing.assert_array_equal(computed(lazy, client), by_chunks(there))
    assert there.leaves_[0].machine is not None
