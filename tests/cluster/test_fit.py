"""The same machines over a cluster: equal to those in memory, whatever the cluster looks like."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import mercer.data
from cluster_work import slowly
from mercer import LSSVR, SVC
from mercer.data import Arrays
from mercer.distributed import as_source
from mercer.kernels import Gaussian, Laplacian
from mercer.reduced.nystrom import Nystrom

N, P = 1200, 3
rng = np.random.default_rng(0)
X = rng.normal(size=(N, P))
Y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=N)
LABELS = np.array(["no", "yes"])[(Y > 0).astype(int)]

REGRESSOR = LSSVR(C=10.0, kernel=Gaussian(1.0), approximation=Nystrom(60, random_state=3))
CLASSIFIER = SVC(C=1.0, kernel=Gaussian(1.0), approximation=Nystrom(60, random_state=3))


def decisions(machine):
    return machine.decision_function(X) if isinstance(machine, SVC) else machine.predict(X)


@pytest.fixture(scope="module", params=["regressor", "classifier"])
def task(request):
    machine, y = {"regressor": (REGRESSOR, Y), "classifier": (CLASSIFIER, LABELS)}[request.param]
    return machine, y, clone(machine).fit(X, y)


def assert_equal(machine, expected):
    """Assert that two machines are one but for rounding, or for their gaps.

    Rows in memory keep slopes of losses with kinks from step to step, and those of a cluster do
    not, so that these end at other points. The objective is strongly convex in the function:
    half of its squared distance from the minimizer is at most the gap, and k(x, x) is one.
    """
    if isinstance(machine, SVC):
        atol = sum(np.sqrt(2.0 * one.solution_.gap) for one in (machine, expected))
        a, b = (decisions(one) - one.intercept_ for one in (machine, expected))
        assert machine.solution_.objective - expected.solution_.objective <= machine.solution_.gap
        assert expected.solution_.objective - machine.solution_.objective <= expected.solution_.gap
    else:
        a, b = decisions(machine), decisions(expected)
        atol = 1e-6 * np.abs(b).max()
    np.testing.assert_allclose(a, b, rtol=0, atol=atol)


def test_arrays_and_frames_give_the_machine_of_the_rows_in_memory(client, task):
    machine, y, expected = task
    lazy = da.from_array(X, chunks=(250, P)), da.from_array(y, chunks=250)
    assert_equal(clone(machine).fit(*lazy), expected)
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")).assign(y=y), npartitions=5)
    fitted = clone(machine).fit(frame[list("abc")], frame["y"])
    assert list(fitted.feature_names_in_) == list("abc")
    answers = fitted.predict(frame[list("abc")]).compute()
    np.testing.assert_array_equal(answers.index, np.arange(N))
    if isinstance(machine, SVC):
        whole = pd.DataFrame(X, columns=list("abc"))
        np.testing.assert_array_equal(answers, fitted.predict(whole))
    else:
        values = decisions(expected)
        np.testing.assert_allclose(answers, values, rtol=0, atol=1e-6 * np.abs(values).max())


@pytest.mark.parametrize("kernel", [Laplacian([1.0, 2.0, 4.0]), Laplacian(2.0, categories=["x2"])])
def test_a_laplacian_kernel_is_the_same_wherever_rows_are(client, tmp_path, kernel):
    names = ["x0", "x1", "x2"]  # as rows of arrays are called
    frame = pd.DataFrame(X, columns=names)
    frame["x2"] = (X[:, 2] > 0.0) + (X[:, 2] > 1.0)
    y = Y + frame["x2"]
    machine = LSSVR(C=10.0, kernel=kernel, approximation=Nystrom(60, random_state=3))
    expected = clone(machine).fit(frame, y).predict(frame)
    frame.assign(y=y).to_parquet(tmp_path / "rows.parquet", row_group_size=300)
    lazy = dd.from_pandas(frame.assign(y=y), npartitions=5)
    files = mercer.data.open(str(tmp_path / "rows.parquet"), target="y")
    for source in ((Arrays(frame.to_numpy(), y.to_numpy()),), (files,), (lazy[names], lazy["y"])):
        found = clone(machine).fit(*source)
        np.testing.assert_allclose(
            found.predict(frame), expected, rtol=0, atol=1e-6 * np.abs(expected).max()
        )


def test_weights_come_along(client):
    s = rng.integers(1, 4, size=N).astype(float)
    chunked = [da.from_array(v, chunks=(200, *v.shape[1:])) for v in (X, Y, s)]
    there = clone(REGRESSOR).fit(*chunked[:2], sample_weight=chunked[2])
    assert_equal(there, clone(REGRESSOR).fit(X, Y, sample_weight=s))


def test_predictions_stay_lazy(client, task):
    machine, y, _ = task
    chunked = da.from_array(X, chunks=(250, P))
    fitted = clone(machine).fit(X, y)
    answers = fitted.predict(chunked)
    assert isinstance(answers, da.Array)
    assert answers.chunks == (chunked.chunks[0],)
    if isinstance(machine, SVC):
        np.testing.assert_array_equal(answers.compute(), fitted.predict(X))
    else:
        # Rows at the edge of a chunk are summed by another loop: 60 terms below one, of large
        # coefficients.
        bound = 60 * np.abs(fitted.dual_coef_).sum() * 2**-52
        np.testing.assert_allclose(answers.compute(), fitted.predict(X), rtol=0, atol=bound)


def runs(client, seeds, tasks):
    """Yield machines of rows in other orders and partitions."""
    for seed in seeds:
        shuffled = np.random.default_rng(seed)
        order = shuffled.permutation(N)
        cuts = np.sort(shuffled.choice(N, size=shuffled.integers(1, 12)))
        chunks = tuple(np.diff([0, *cuts, N]).tolist())
        machine, y, expected = tasks
        fitted = clone(machine).fit(
            da.from_array(X[order], chunks=(chunks, P)), da.from_array(y[order], chunks=(chunks,))
        )
        yield fitted, expected


@pytest.fixture(scope="module")
def both():
    tasks = ((REGRESSOR, Y), (CLASSIFIER, LABELS))
    return [(machine, y, clone(machine).fit(X, y)) for machine, y in tasks]


def test_ten_runs_on_other_clusters_agree(client, one, both):
    regression, classification = both
    for fitted, expected in runs(client, range(4), regression):
        assert_equal(fitted, expected)
    with one.as_current():
        for fitted, expected in runs(one, range(4, 7), regression):
            assert_equal(fitted, expected)
        one.cluster.scale(3)
        one.wait_for_workers(3, timeout=60)
        for fitted, expected in runs(one, range(7, 10), regression):
            assert_equal(fitted, expected)
        for fitted, expected in runs(one, range(2), classification):
            assert_equal(fitted, expected)


SCRIPT = """
import sys
import numpy as np, dask.array as da
from distributed import Client
sys.path.insert(0, sys.argv[4])
from cluster_work import slowly
from mercer import SVC
from mercer.distributed import as_source
from mercer.kernels import Gaussian
from mercer.reduced.nystrom import Nystrom

address, folder, data = sys.argv[1:4]
with Client(address), np.load(data) as stored:
    X, y = (da.from_array(stored[k], chunks=(240, *stored[k].shape[1:])) for k in ("X", "y"))
    approximation = Nystrom(60, random_state=3, checkpoint=folder)
    SVC(C=1.0, kernel=Gaussian(1.0), approximation=approximation).fit(as_source(X, y).map(slowly))
"""


def test_a_killed_client_goes_on_where_it_was(client, tmp_path):
    folder, data = tmp_path / "passes", tmp_path / "data.npz"
    np.savez(data, X=X, y=LABELS)
    arguments = [client.scheduler.address, str(folder), str(data), str(Path(__file__).parents[1])]
    with subprocess.Popen([sys.executable, "-c", SCRIPT, *arguments]) as process:
        deadline = time.monotonic() + 100
        while len(list(folder.glob("pass-*.npz"))) < 4:
            assert process.poll() is None, "the fit ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
    # The first pass is made again, to see whether the rows are the same.
    kept = {file: file.stat().st_mtime_ns for file in sorted(folder.glob("pass-*.npz"))[1:]}
    chunked = [da.from_array(v, chunks=(240, *v.shape[1:])) for v in (X, LABELS)]
    machine = clone(CLASSIFIER).set_params(approximation__checkpoint=str(tmp_path / "whole"))
    expected = decisions(machine.fit(as_source(*chunked).map(slowly)))
    passes = machine.solution_.passes
    machine.set_params(approximation__checkpoint=str(folder))
    got = decisions(machine.fit(as_source(*chunked).map(slowly)))
    np.testing.assert_array_equal(got, expected)
    assert 3 <= len(kept) < passes - 1
    assert machine.solution_.passes == passes
    assert all(file.stat().st_mtime_ns == when for file, when in kept.items())


def test_a_worker_killed_in_a_fit_changes_nothing(harmed, both):
    machine, y, expected = both[1]
    with harmed.as_current():
        source = as_source(
            *(da.from_array(v, chunks=(240, *v.shape[1:])).map_blocks(np.array) for v in (X, y))
        ).map(slowly)
        pids = list(harmed.run(os.getpid).values())
        killer = threading.Timer(1.0, os.kill, (pids[0], signal.SIGKILL))
        killer.start()
        fitted = clone(machine).fit(source)
        killer.join()
    assert_equal(fitted, expected)
