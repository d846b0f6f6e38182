"""Sums over parts by several engines: the same bits, whoever has which parts in whatever order."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import reduce
from itertools import pairwise
from multiprocessing import get_context
from operator import add

import joblib
import numpy as np
import pytest
from distributed import Client, LocalCluster
from hypothesis import given
from hypothesis import strategies as st

from cluster_work import failing, products
from mercer import LSSVR, SVC
from mercer.data import Arrays, Parts
from mercer.data.parts import PartialSums
from mercer.kernels import Gaussian
from mercer.reduced import Nystrom

N, P = 700, 3
rng = np.random.default_rng(0)
X = rng.normal(size=(N, P))
Y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
STATE = rng.normal(size=(P, 2))
CUTS = [0, 130, 131, 300, 480, 610, 700]
SOURCES = [Arrays(X[a:b], Y[a:b]) for a, b in pairwise(CUTS)]


def in_order(values):
    """Return the sum as the tree has it, written down another way: halves at a power of two."""
    if len(values) <= 1:
        return values[0]
    half = 1 << ((len(values) - 1).bit_length() - 1)
    return in_order(values[:half]) + in_order(values[half:])


@given(st.integers(1, 70), st.integers(1, 9), st.randoms())
def test_the_total_has_the_bits_of_one_tree(count, workers, random):
    values = [random.uniform(-1, 1) * 10.0 ** random.randint(-8, 8) for _ in range(count)]
    shares = [PartialSums(count) for _ in range(workers)]
    for i in random.sample(range(count), count):
        random.choice(shares).put(i, values[i])
    random.shuffle(shares)
    assert reduce(add, shares).total == in_order(values)


@pytest.mark.parametrize(("begin", "end"), [(0, 64), (8, 16), (3, 60), (17, 23)])
def test_neighbours_are_few_nodes(begin, end):
    sums = PartialSums(64)
    for i in range(begin, end):
        sums.put(i, 1.0)
    assert sum(sums.nodes.values()) == end - begin
    # A stretch is at most two nodes of every size.
    assert len(sums.nodes) <= 2 * (end - begin).bit_length()
    assert (len(sums.nodes) == 1) == ((begin, end) in [(0, 64), (8, 16)])


def test_missing_and_empty_summands():
    sums = PartialSums(3)
    sums.put(0, None)
    sums.put(2, None)
    with pytest.raises(ValueError, match="missing"):
        _ = sums.total
    sums.put(1, None)
    assert sums.total is None


def with_joblib(function, items):
    return joblib.Parallel(n_jobs=2)(joblib.delayed(function)(item) for item in items)


@pytest.fixture(scope="module")
def engines():
    settings = {"processes": False, "dashboard_address": ":0", "memory_limit": 0}
    with (
        ThreadPoolExecutor(2) as threads,
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes,
        LocalCluster(1, threads_per_worker=2, **settings) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield {
            "map": map,
            "threads": threads.map,
            "processes": processes.map,
            "joblib": with_joblib,
            "dask": lambda function, items: client.gather(client.map(function, items, pure=False)),
        }


def test_engines_agree_to_the_bit(engines):
    whole = Arrays(X, Y).total(products, None, STATE, rows=50)
    first = None
    for name, engine in engines.items():
        for workers in (None, 1, 4):
            got = Parts(SOURCES, engine, workers).total(products, None, STATE, rows=50)
            first = first or got
            for key, value in got.items():
                np.testing.assert_array_equal(value, first[key], err_msg=f"{name}, {workers}")
    # N terms below 10 * N in another order.
    for key, value in whole.items():
        np.testing.assert_allclose(first[key], value, rtol=0, atol=N * 10 * N * 2**-52)


def test_a_machine_is_the_same_whatever_engine_fits_it(engines):
    machine = LSSVR(C=10.0, kernel=Gaussian(1.0), approximation=Nystrom(40, random_state=3))
    here = machine.fit(Arrays(X, Y)).predict(X)
    for engine in engines.values():
        there = machine.fit(Parts(SOURCES, engine)).predict(X)
        np.testing.assert_allclose(there, here, rtol=0, atol=1e-6 * np.abs(here).max())


def test_state_of_rows_is_kept_in_this_process(engines):
    machine = SVC(C=10.0, kernel=Gaussian(1.0), approximation=Nystrom(40, random_state=3))
    labels = np.where(np.median(Y) < Y, 1, 0)
    here = machine.fit(Arrays(X, labels)).solution_
    parts = [Arrays(X[a:b], labels[a:b]) for a, b in pairwise(CUTS)]
    there = machine.fit(Parts(parts, engines["threads"])).solution_
    assert there.converged
    assert abs(there.objective - here.objective) <= here.gap + there.gap


def test_blocks_know_their_place_and_errors_their_part(tmp_path):
    source = Parts(SOURCES, map)
    assert (source.n_rows, source.n_features) == (N, P)
    np.testing.assert_array_equal(np.concatenate([b.X for b in source.blocks(60)]), X)
    with pytest.raises(ValueError, match="row 305 is bad") as caught:
        source.total(failing, str(tmp_path / "tries"), 305)
    assert caught.value.__notes__ == ["in partition 3"]
    told = []
    source.total(products, None, STATE, report=told.append)
    assert sum(told) == N


def test_parts_that_cannot_be_divided_are_refused():
    with pytest.raises(ValueError, match="at least one"):
        Parts([], map)
    unknown = Arrays(X)
    unknown.n_rows = None
    with pytest.raises(ValueError, match="must be known"):
        Parts([unknown], map)
