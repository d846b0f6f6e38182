"""Parquet datasets that workers read, piece by piece."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mercer.data
from cluster_work import products
from mercer.data import DataError
from mercer.distributed import as_source
from mercer.distributed.cluster import Cluster

N, P = 70_000, 3
STATE = np.random.default_rng(7).normal(size=(P, 2))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(0)
    for k, rows in enumerate((40_000, 30_000)):
        X = rng.normal(size=(rows, P))
        table = pa.table({**{f"x{j}": X[:, j] for j in range(P)}, "y": X.sum(axis=1)})
        pq.write_table(table, folder / f"part-{k}.parquet", row_group_size=10_000)
    return folder


def opened(folder):
    return mercer.data.open(str(folder / "*.parquet"), target="y")


@pytest.mark.parametrize("hold", [True, False])
def test_workers_read_pieces_of_files(client, folder, hold):
    local = opened(folder)
    here = local.total(products, np.ones(20_000), STATE, rows=5000)
    source = as_source(local, hold=hold)
    assert isinstance(source, Cluster)
    assert (source.n_rows, source.n_features, len(source.keys)) == (N, P, 7)
    assert source.feature_names == ["x0", "x1", "x2"]
    for _ in range(2):
        there = source.total(products, np.ones(20_000), STATE, rows=5000)
        # The same blocks, since pieces are row groups here, added in another order.
        for name in here:
            np.testing.assert_allclose(there[name], here[name], rtol=1e-10, err_msg=name)


def test_an_active_client_is_used_without_being_asked(client, folder):
    assert isinstance(mercer.data.as_source(opened(folder)), Cluster)
    doubled = mercer.data.as_source(opened(folder).map(twice))
    assert isinstance(doubled.source, Cluster)
    assert doubled.total(products, None, STATE)["n"] == N
    assert isinstance(as_source(opened(folder).map(twice)).source, Cluster)


def twice(block):
    return block._replace(X=2 * block.X)


def test_a_file_that_breaks_after_it_was_opened_is_named(client, folder, tmp_path):
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    source = as_source(opened(tmp_path), hold=False)
    source.total(products, None, STATE)
    broken = tmp_path / "part-1.parquet"
    data = bytearray(broken.read_bytes())
    middle = len(data) // 2
    data[middle - 5000 : middle + 5000] = bytes(10_000)
    broken.write_bytes(bytes(data))
    with pytest.raises(DataError, match=r"part-1\.parquet") as caught:
        source.total(products, None, STATE)
    assert any("in partition" in note for note in caught.value.__notes__)


def test_a_bad_value_is_found_in_its_file(client, folder, tmp_path):
    for file in folder.iterdir():
        table = pq.read_table(file)
        if "part-1" in file.name:
            values = table["x1"].to_numpy().copy()
            values[25_001] = np.nan
            table = table.set_column(1, "x1", pa.array(values))
        pq.write_table(table, tmp_path / file.name, row_group_size=10_000)
    source = as_source(opened(tmp_path)).checked()
    with pytest.raises(DataError, match=r"part-1\.parquet, row 25001 \(row 65001 in all\)"):
        source.total(products, None, STATE)
