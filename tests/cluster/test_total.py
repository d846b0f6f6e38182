"""Sums over partitions on a cluster against the same sums over arrays in memory."""

import asyncio

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from distributed import Client, LocalCluster

from cluster_work import columns, failing, products, threads
from mercer.data import Arrays, DataError, draw
from mercer.distributed import Partitions, as_source
from mercer.distributed.cluster import Cluster
from mercer.distributed.partitions import settled

N, P = 900, 4
STATE = np.random.default_rng(7).normal(size=(P, 3))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, P))
    return X, X @ rng.normal(size=P), rng.uniform(0.5, 2.0, size=N)


def lazily(data, chunks=128):
    return tuple(da.from_array(a, chunks=(chunks, *a.shape[1:])) for a in data)


def assert_same_bits(a, b):
    assert a.keys() == b.keys()
    for name, value in a.items():
        np.testing.assert_array_equal(value, b[name], err_msg=name)


def assert_close(a, b, n=N):
    # A sum of n terms of size one, in another order: n roundings at most, of partial sums <= n.
    assert a.keys() == b.keys()
    for name, value in a.items():
        scale = n * (n if name == "rows" else 1) * np.finfo(float).eps * 100
        np.testing.assert_allclose(value, b[name], rtol=0, atol=scale, err_msg=name)


@pytest.fixture(scope="module")
def expected(data):
    return Arrays(*data).total(products, None, STATE, rows=100)


def test_sums_are_those_of_the_rows_in_memory(client, data, expected):
    source = as_source(*lazily(data))
    assert isinstance(source, Cluster)
    assert (source.n_rows, source.n_features) == (N, P)
    assert_close(source.total(products, None, STATE, rows=100), expected)


def test_bits_do_not_depend_on_where_rows_are_held(client, data):
    X, y, s = lazily(data)
    first = as_source(X, y, s).total(products, None, STATE, rows=50)
    held = as_source(X.persist(), y.persist(), s.persist())
    assert_same_bits(held.total(products, None, STATE, rows=50), first)
    assert_same_bits(held.total(products, None, STATE, rows=50), first)
    streamed = as_source(X, y, s, hold=False)
    assert_same_bits(streamed.total(products, None, STATE, rows=50), first)
    across = as_source(X.rechunk({1: 2}), y, s)
    assert_same_bits(across.total(products, None, STATE, rows=50), first)
    fortran = as_source(X.map_blocks(np.asfortranarray), y, s)
    assert_same_bits(fortran.total(products, None, STATE, rows=50), first)


def test_bits_do_not_depend_on_threads_of_this_machine_without_a_cluster(data, expected):
    with dask.config.set(scheduler="threads"):
        source = as_source(*lazily(data))
        assert type(source) is Partitions
        got = [source.total(products, None, STATE, rows=40, n_jobs=k) for k in (1, 2)]
        assert_same_bits(*got)
        assert_close(got[0], expected)
        assert [b.start for b in source.blocks(100)][:4] == [0, 100, 128, 228]


def test_shared_objects_large_and_small_arrive(client, data, expected):
    for hold in (True, False):
        source = as_source(*lazily(data), hold=hold)
        for size in (3, 30_000):
            for shared in (np.full(size, 0.5), np.full(size, 0.25)):
                for _ in range(2):
                    got = source.total(products, shared, STATE)
                    assert got["shared"] == N * shared.sum()
                    del got["shared"]
                    assert_close(got, expected)


def sent(dask_worker):
    return dask_worker.transfer_outgoing_bytes_total


def test_what_is_shared_goes_to_a_worker_once(client, data):
    source = as_source(*lazily(data, chunks=60))
    shared = np.zeros(250_000)

    def outgoing():
        return sum(client.run(sent).values())

    source.total(products, shared, STATE)
    before = outgoing()
    for _ in range(2):
        source.total(products, shared, STATE)
        # Equal content in another object is the same content.
        source.total(products, shared.copy(), STATE)
    # Four passes of 15 partitions: summands of some hundred bytes, packed up in a thousand or two.
    assert outgoing() - before < 4 * 17 * 4096 < shared.nbytes


def test_progress_tells_of_every_row_once(client, data):
    for hold in (True, False):
        told = []
        as_source(*lazily(data), hold=hold).total(products, None, STATE, report=told.append)
        assert sum(told) == N
        assert sorted(told) == sorted([128] * 7 + [4])


def test_unknown_and_empty_partitions(client, data):
    X, y, s = lazily(data)
    keep = X[:, 0] > 1.9
    source = as_source(X[keep], y[keep], s[keep])
    assert source.n_rows is None
    few = [a[data[0][:, 0] > 1.9] for a in data]
    got = source.total(products, None, STATE)
    assert_close(got, Arrays(*few).total(products, None, STATE))
    assert source.n_rows == len(few[0])
    assert 0 in source.sizes
    none = X[:, 0] > 1e9
    with pytest.raises(ValueError, match="no rows"):
        as_source(X[none], y[none]).total(products, None, STATE)


def test_the_same_rows_are_drawn(client, data):
    here, there = draw(Arrays(*data), 50, seed=3), draw(as_source(*lazily(data)), 50, seed=3)
    np.testing.assert_array_equal(here.X, there.X)
    np.testing.assert_array_equal(here.rows, there.rows)
    assert here.n == there.n == N


def test_blocks_come_to_this_machine(client, data):
    for hold in (True, False):
        source = as_source(*lazily(data), hold=hold)
        if hold:
            source.total(products, None, STATE)
        blocks = list(source.blocks(100))
        np.testing.assert_array_equal(np.concatenate([b.X for b in blocks]), data[0])
        np.testing.assert_array_equal(np.concatenate([b.s for b in blocks]), data[2])
        assert [b.start for b in blocks][:4] == [0, 100, 128, 228]


def frame(data):
    X, y, s = data
    return pd.DataFrame(X, columns=list("abcd")).assign(y=y, s=s)


def test_frames(client, data, expected):
    table = dd.from_pandas(frame(data), npartitions=7)
    for given in (table, table.persist()):
        source = as_source(given, "y", "s")
        assert source.feature_names == list("abcd")
        assert_close(source.total(products, None, STATE), expected)
    apart = as_source(table[list("abcd")], table["y"], table["s"].to_dask_array())
    assert_close(apart.total(products, None, STATE), expected)
    assert apart.n_rows == N
    local = Partitions(apart.graph, apart.keys, P)
    assert_close(local.total(products, None, STATE), expected)


def test_frames_with_text_stay_tables(client, data):
    table = frame(data).assign(colour=np.where(data[1] > 0, "red", "blue"))
    source = as_source(dd.from_pandas(table, npartitions=3), "y")
    got = source.total(columns)
    assert (got["n"], got["text"]) == (N, 3)


def test_sparse_chunks(client, data, expected):
    X = lazily(data)[0].map_blocks(sp.csr_array)
    source = as_source(X, *lazily(data)[1:])
    got = source.total(sparse_products, None, STATE)
    np.testing.assert_allclose(got["X"], expected["X"], rtol=1e-12)
    assert got["n"] == N


def sparse_products(block, shared, state):
    assert sp.issparse(block.X)
    return products(block._replace(X=block.X.toarray()), shared, state)


def test_delayed_partitions_and_futures(client, data, expected):
    cuts = [slice(0, 10), slice(10, 10), slice(10, 700), slice(700, N)]
    parts = [tuple(a[cut] for a in data) for cut in cuts]
    lazy = as_source([dask.delayed(part, traverse=False) for part in parts])
    assert lazy.n_features == P
    assert_close(lazy.total(products, None, STATE), expected)
    assert lazy.sizes == [10, 0, 690, 200]
    futures = [client.submit(tuple, part, pure=False) for part in parts]
    assert_close(as_source(futures).total(products, None, STATE), expected)


def test_a_scaler_in_front_travels_with_the_work(client, data):
    source = as_source(*lazily(data)).map(doubled)
    got = source.total(products, None, STATE)
    np.testing.assert_allclose(
        got["X"], Arrays(2 * data[0]).total(products, None, STATE)["X"], rtol=1e-12
    )


def doubled(block):
    return block._replace(X=2 * block.X)


def test_blas_keeps_to_the_threads_of_a_worker(client, data):
    assert as_source(*lazily(data)).total(threads) == 1
    assert as_source(*lazily(data)).total(threads, n_jobs=3) == 1


def test_an_error_names_its_partition_and_is_not_tried_again(client, data, tmp_path):
    with pytest.raises(ValueError, match="row 300 is bad") as caught:
        as_source(*lazily(data)).total(failing, str(tmp_path / "tries"), 300)
    assert "in partition 2" in caught.value.__notes__
    assert (tmp_path / "tries").read_text() == "x"


def test_partitions_of_different_lengths_are_refused(client, data):
    table = dd.from_pandas(frame(data), npartitions=4)
    other = dd.from_pandas(frame(data).iloc[:-1], npartitions=4)
    with pytest.raises(DataError, match="X has 225 rows, y has 22"):
        as_source(table[list("abcd")], other["y"]).total(products, None, STATE)


@pytest.mark.parametrize(
    ("X", "y", "sentence"),
    [
        (da.zeros(5), None, "rows and columns"),
        (da.zeros((5, 2)), da.zeros(4), "X has 5 rows, the others have 4"),
        (da.zeros((5, 2)), np.zeros(4), "X has 5 rows, the others have 4"),
        (da.zeros((6, 2), chunks=3)[da.zeros(6, chunks=3) == 0], np.zeros(6), "not known"),
        (
            da.zeros((6, 2), chunks=3)[da.zeros(6, chunks=3) == 0],
            da.zeros(6, chunks=6),
            "X has 2 partitions, the others have 1",
        ),
        ([], None, "at least one"),
    ],
)
def test_what_does_not_fit_is_refused(X, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        as_source(X, y)


def test_partitions_are_delayed():
    with pytest.raises(TypeError, match="delayed value or a future"):
        as_source([np.zeros((2, 2))])


def test_an_asynchronous_client_is_refused(client):
    address = client.scheduler.address

    async def ask():
        async with Client(address, asynchronous=True) as other:
            as_source(da.zeros((4, 2)), client=other, hold=True)

    with pytest.raises(ValueError, match="asynchronous=False"):
        asyncio.run(ask())


def test_rows_in_memory_are_divided_like_the_inputs(client, data, expected):
    source = as_source(da.from_array(data[0], chunks=(100, 2)), data[1], data[2])
    assert_close(source.total(products, None, STATE), expected)


def test_arrays_that_begin_anywhere_are_settled():
    buffer = np.zeros(8 * 12 + 8, dtype=np.uint8)
    odd = np.ndarray((3, 4), buffer=buffer, offset=3)
    good = settled(odd)
    assert good.ctypes.data % 8 == 0
    assert settled(good) is good
    assert settled(good.T).flags.c_contiguous
    assert settled(None) is None


def test_workers_that_are_threads_of_this_process(data, expected):
    settings = {"processes": False, "dashboard_address": ":0", "memory_limit": 0}
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, **settings) as cluster,
        Client(cluster, set_as_default=False) as inside,
    ):
        X, y, s = lazily(data)
        keep = X[:, 0] < 1e9
        for hold in (True, False):
            source = as_source(X[keep], y[keep], s[keep], client=inside, hold=hold)
            got = source.total(products, np.ones(20_000), STATE)
            assert got.pop("shared") == N * 20_000
            assert_close(got, expected)
            assert sum(block.n for block in source.blocks(100)) == N
        few = as_source(da.from_array(data[0], chunks=(N, P)), client=inside)
        np.testing.assert_allclose(few.total(products, None, STATE)["X"], expected["X"], rtol=1e-10)
