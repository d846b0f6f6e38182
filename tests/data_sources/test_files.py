"""Files are read as they are, in blocks; what is wrong with them is told by name."""

import gzip
import pickle

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
import zarr

import mercer.data
from mercer.data import DataError, as_source
from mercer.data.table import Table

N = 230
RNG = np.random.default_rng(1)
COLUMNS = {
    "a": RNG.normal(size=N).astype(np.float32),
    "b": RNG.normal(size=N).astype(np.float32),
    "id": np.arange(N),
    "y": RNG.normal(size=N),
    "s": RNG.uniform(size=N),
}
X = np.column_stack([COLUMNS["a"], COLUMNS["b"]])
TABLE = pa.table(COLUMNS)
CHOICE = {"target": "y", "features": ["a", "b"], "weight": "s"}


def parts(folder, write, ending):
    """Write the rows into files of 100, 0, 30 and 100 rows."""
    folder.mkdir(exist_ok=True)
    for k, (first, last) in enumerate([(0, 100), (100, 100), (100, 130), (130, N)]):
        write(TABLE.slice(first, last - first), str(folder / f"part-{k}.{ending}"))
    return folder


def write_parquet(table, path):
    pq.write_table(table, path, row_group_size=17)


def write_csv(table, path):
    pyarrow.csv.write_csv(table, path)


def write_stream(table, path):
    with pa.OSFile(path, "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=40)


def write_feather(table, path):
    pyarrow.feather.write_feather(table, path, chunksize=40)


WRITERS = {
    "parquet": write_parquet,
    "csv": write_csv,
    "arrow": write_stream,
    "feather": write_feather,
}


def check(source, exact=True):
    for rows in (64, 64, 500):
        blocks = list(source.blocks(rows))
        assert [block.start for block in blocks] == list(range(0, N, rows))
        found = np.concatenate([block.X for block in blocks])
        same = np.testing.assert_array_equal if exact else np.testing.assert_allclose
        same(found, X)
        np.testing.assert_array_equal(np.concatenate([block.y for block in blocks]), COLUMNS["y"])
        np.testing.assert_array_equal(np.concatenate([block.s for block in blocks]), COLUMNS["s"])
        assert found.dtype == np.float32 or not exact
    assert source.n_rows == N


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("how", ["pattern", "folder", "list", "uri", "system"])
def test_rows_come_out_as_they_went_in(tmp_path, ending, how):
    folder = parts(tmp_path / "data", WRITERS[ending], ending)
    files, system = sorted(folder.glob("*")), None
    if how == "system":
        system = pyarrow.fs.SubTreeFileSystem(str(tmp_path), pyarrow.fs.LocalFileSystem())
    path = {
        "pattern": str(folder / f"*.{ending}"),
        "folder": folder,
        "list": files,
        "uri": folder.as_uri(),
        "system": "data",
    }[how]
    (folder / f"_hidden.{ending}").write_text("x")
    if how == "pattern":
        path = str(folder / f"part*.{ending}")
    source = mercer.data.open(path, filesystem=system, **CHOICE)
    # Text holds as many digits as tell single-precision numbers apart, read in double.
    check(source, exact=ending != "csv")
    again = pickle.loads(pickle.dumps(source))
    check(again, exact=ending != "csv")


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_pieces_are_the_source_and_travel(tmp_path, ending):
    source = mercer.data.open(parts(tmp_path, WRITERS[ending], ending), **CHOICE)
    for rows in (1, 50, 10**6):
        pieces = [pickle.loads(pickle.dumps(piece)) for piece in source.pieces(rows)]
        assert [piece.start for piece in pieces] == np.cumsum(
            [0, *(piece.n_rows for piece in pieces[:-1])]
        ).tolist()
        assert sum(piece.n_rows for piece in pieces) == N
        largest = 17 if ending == "parquet" else 40
        assert all(piece.n_rows <= max(rows, largest) for piece in pieces)
        read = [block for piece in pieces for block in piece.blocks(10)]
        np.testing.assert_array_equal(np.concatenate([block.X for block in read]), X)
        assert [b.start for b in read] == np.cumsum([0, *(b.n for b in read[:-1])]).tolist()
    assert len(source.pieces(10**6)) == 3  # no piece without rows


def test_text_files_count_rows_as_they_are_read(tmp_path):
    source = mercer.data.open(parts(tmp_path, write_csv, "csv"), **CHOICE)
    assert source.n_rows is None
    assert source.places is None
    assert sum(block.n for block in source.blocks(50)) == N == source.n_rows
    assert source.places.of(131).startswith(str(tmp_path / "part-3.csv") + ", row 1 ")
    assert [piece.groups for piece in source.pieces()] == [None] * 4


def test_compressed_text_with_other_signs_names_and_types(tmp_path):
    lines = "\n".join(f"{k}\t0{k}\t{k % 2}" for k in range(5))
    with gzip.open(tmp_path / "data.tsv.gz", "wt") as file:
        file.write(lines)
    source = mercer.data.open(
        tmp_path / "data.tsv.gz", "y", names=["x", "zip", "y"], types={"zip": "string"}
    )
    block = next(source.blocks(10))
    assert block.X.columns["zip"].tolist() == ["00", "01", "02", "03", "04"]
    np.testing.assert_array_equal(block.y, [0, 1, 0, 1, 0])


def test_several_targets_and_columns_that_travel_along(tmp_path):
    source = mercer.data.open(parts(tmp_path, write_parquet, "parquet"), ["y", "s"], ["a"])
    block = next(source.reading(keep="id").blocks(N))
    assert block.y.shape == (N, 2)
    assert block.keep.columns["id"].tolist() == list(range(N))
    assert next(source.blocks(5)).keep is None
    with pytest.raises(DataError, match="no column 'idd'; did you mean 'id'"):
        source.reading(keep="idd")


def test_folders_give_columns(tmp_path):
    for year, carrier in [(2012, "AA"), (2013, "B B"), (2013, "__HIVE_DEFAULT_PARTITION__")]:
        folder = tmp_path / f"year={year}" / f"carrier={carrier}"
        folder.mkdir(parents=True)
        pq.write_table(TABLE.slice(0, 2).select(["a"]), folder / "x.parquet")
    source = mercer.data.open(tmp_path)
    table = next(source.blocks(10)).X
    assert table.columns["year"].tolist() == [2012, 2012, 2013, 2013, 2013, 2013]
    assert table.columns["carrier"].tolist() == ["AA"] * 2 + ["B B"] * 2 + [None] * 2
    assert mercer.data.open(tmp_path, features=["a", "year"]).sources[0].choice.dtype == "float64"
    pq.write_table(TABLE.slice(0, 2).select(["a"]), tmp_path / "x.parquet")
    with pytest.raises(DataError, match=r"x.parquet is not in folders|is not in folders"):
        mercer.data.open(tmp_path)


def test_columns_of_files_are_reconciled(tmp_path):
    pq.write_table(
        pa.table({"x": pa.array([1, 2], pa.int16()), "w": ["u", "v"]}), tmp_path / "0.parquet"
    )
    pq.write_table(pa.table({"x": [0.5], "w": pa.nulls(1)}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"w": ["u"], "x": pa.nulls(1)}), tmp_path / "2.parquet")
    table = next(mercer.data.open(tmp_path).blocks(10)).X
    np.testing.assert_array_equal(table.columns["x"], [1, 2, 0.5, np.nan])
    assert table.columns["w"].tolist() == ["u", "v", None, "u"]
    assert isinstance(table, Table)


@pytest.mark.parametrize(
    ("second", "sentence"),
    [
        ({"x": [1.0]}, r"b.parquet has no column w; .*a.parquet has"),
        ({"x": [1.0], "w": ["u"], "z": [1]}, "b.parquet has columns that .* has not: z; say which"),
        ({"x": ["one"], "w": ["u"]}, "column 'x' holds numbers in .*a.parquet and words in .*b.p"),
    ],
)
def test_files_that_do_not_agree_are_refused_by_name(tmp_path, second, sentence):
    pq.write_table(pa.table({"x": [1.0], "w": ["u"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table(second), tmp_path / "b.parquet")
    with pytest.raises(DataError, match=sentence):
        mercer.data.open(tmp_path)
    if "z" in second:
        assert mercer.data.open(tmp_path, features=["x", "w"]).n_rows == 2


def damaged(path, how):
    data = path.read_bytes()
    if how == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "words":
        path.write_bytes(b"these are no columns at all")
    elif how == "shortened":  # the footer is there, some of the pages are gone
        path.write_bytes(data[:4] + data[400:])


@pytest.mark.parametrize("how", ["cut", "empty", "words", "shortened"])
def test_a_damaged_file_is_refused_by_name(tmp_path, how):
    parts(tmp_path, write_parquet, "parquet")
    damaged(tmp_path / "part-2.parquet", how)
    if how == "shortened":  # which is noticed where the pages are read
        source = mercer.data.open(tmp_path, **CHOICE)
        with pytest.raises(DataError, match=r"part-2.parquet, row group 0, cannot be read"):
            list(source.blocks(50))
    else:
        with pytest.raises(DataError, match=r"part-2.parquet cannot be read"):
            mercer.data.open(tmp_path, **CHOICE)
    parts(tmp_path / "arrow", write_feather, "feather")
    if how != "shortened":
        damaged(tmp_path / "arrow" / "part-2.feather", how)
        with pytest.raises(DataError, match=r"part-2.feather cannot be read as an Arrow file"):
            mercer.data.open(tmp_path / "arrow", **CHOICE)


def test_a_damaged_page_is_told_with_its_row_group(tmp_path):
    file = tmp_path / "x.parquet"
    pq.write_table(TABLE, file, row_group_size=50, compression="zstd", write_page_checksum=True)
    group = pq.ParquetFile(file).metadata.row_group(3).column(0)
    data = bytearray(file.read_bytes())
    middle = group.data_page_offset + group.total_compressed_size // 2
    data[middle : middle + 8] = bytes(byte ^ 255 for byte in data[middle : middle + 8])
    file.write_bytes(bytes(data))
    source = mercer.data.open(file, **CHOICE)
    with pytest.raises(DataError, match=r"x.parquet, row group 3, cannot be read"):
        source.total(lambda block, *_: block.n, rows=20)


def test_words_among_numbers_are_told_with_their_row(tmp_path):
    rows = [f"{k}.5,1" for k in range(300_000)]
    rows[250_000] = "many,1"
    (tmp_path / "x.csv").write_text("x,y\n" + "\n".join(rows))
    with pytest.raises(DataError, match=r"x.csv cannot be read: .*'many'.*types="):
        list(mercer.data.open(tmp_path / "x.csv", "y").blocks(5000))


def test_missing_numbers_name_file_and_row(tmp_path):
    hole = TABLE.set_column(0, "a", pa.array([None if k == 131 else 0.5 for k in range(N)], "f4"))
    for k in range(2):
        pq.write_table(hole.slice(100 * k, 100 + 30 * k), tmp_path / f"{k}.parquet")
    with pytest.raises(DataError, match=r"1.parquet, row 31 \(row 131 in all\): 'a' is missing"):
        list(mercer.data.open(tmp_path, **CHOICE).checked().blocks(64))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_negative_weights_name_their_row_and_weights_of_zero_pass(dtype):
    X, s = np.ones((5, 2)), np.array([0, 1, 2, 0, 3], dtype=dtype)
    blocks = list(as_source(X, s=s).checked().blocks(2))
    np.testing.assert_array_equal(np.concatenate([block.s for block in blocks]), s)
    s[3] = -1
    with pytest.raises(DataError, match="row 3: the weight is negative"):
        list(as_source(X, s=s).checked().blocks(2))


def test_arrays_in_files(tmp_path):
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", COLUMNS["y"])
    np.save(tmp_path / "s.npy", COLUMNS["s"])
    check(mercer.data.open(tmp_path / "X.npy", tmp_path / "y.npy", weight=tmp_path / "s.npy"))
    with h5py.File(tmp_path / "one.h5", "w") as file:
        file["X"] = X
    assert mercer.data.open(tmp_path / "one.h5").n_rows == N  # the only array needs no name
    zarr.create_array(tmp_path / "one.zarr", data=X)
    assert mercer.data.open(tmp_path / "one.zarr").n_rows == N
    words = np.array(["yes", "no"] * (N // 2), dtype=object)
    with h5py.File(tmp_path / "words.h5", "w") as file:
        file["X"], file["y"] = X, words
    labels = next(mercer.data.open(f"{tmp_path}/words.h5::X", "y").blocks(2)).y
    assert labels.tolist() == ["yes", "no"]
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["train/X"], file["train/y"], file["s"] = X, COLUMNS["y"], COLUMNS["s"]
    source = mercer.data.open(f"{tmp_path}/data.h5::train/X", "train/y", weight="s")
    check(source)
    check(pickle.loads(pickle.dumps(source)))
    store = zarr.open_group(tmp_path / "data.zarr", mode="w")
    for name, values in (("X", X), ("y", COLUMNS["y"]), ("s", COLUMNS["s"])):
        store.create_array(name, data=values, chunks=(50, *values.shape[1:]))
    source = mercer.data.open(f"{tmp_path}/data.zarr::X", "y", weight="s")
    check(source)
    check(pickle.loads(pickle.dumps(source)))


def test_arrays_of_several_files_and_with_fields(tmp_path):
    for k in range(3):
        np.save(tmp_path / f"{k}.npy", X[100 * k : 100 * (k + 1)])
    source = mercer.data.open(tmp_path)
    np.testing.assert_array_equal(np.concatenate([b.X for b in source.blocks(64)]), X)
    assert source.places.of(201).startswith(str(tmp_path / "2.npy") + ", row 1")
    record = np.array([(1.0, 2.0, "u")], dtype=[("a", "f4"), ("b", "f4"), ("y", "U1")])
    np.save(tmp_path / "record.npy", record)
    block = next(mercer.data.open(tmp_path / "record.npy", "y").blocks(5))
    assert block.X.tolist() == [[1.0, 2.0]]
    assert block.y.tolist() == ["u"]


@pytest.mark.parametrize(
    ("path", "options", "error", "sentence"),
    [
        ("nothing/*.parquet", {}, DataError, "there are no files"),
        ([], {}, DataError, "an empty list"),
        ("x.parquet", {"target": "q"}, DataError, "there is no column 'q'"),
        ("x.parquet", {"target": "a", "features": ["a"]}, DataError, "both feature and target: a"),
        ("x.parquet", {"delimiter": ";"}, TypeError, "for text files, not for parquet"),
        ("x.parquet", {"format": "excel"}, ValueError, "format is one of"),
        ("x.unknown", {}, DataError, "is not known by its name; say format="),
        (["x.parquet", "X.npy"], {}, DataError, "several formats"),
        ("X.npy", {"features": ["a"]}, TypeError, "no names of columns"),
        ("bad.npy", {}, DataError, "cannot be read as an array of NumPy"),
        ("bad.h5::X", {}, DataError, "cannot be read as an HDF5 file"),
        ("bad.h5", {}, DataError, "cannot be read as an HDF5 file"),
        ("two.h5", {}, DataError, r"holds X, y; say which: '.*two.h5::X'"),
        ("two.h5::z", {}, DataError, "has no array 'z'; it has: X, y"),
        ("bad.zarr", {}, DataError, "cannot be read as a Zarr store"),
        ("two.zarr", {}, DataError, "holds (X, y|y, X); say which"),
        ("two.zarr::z", {}, DataError, "holds (X, y|y, X); say which"),
        ("array.zarr::z", {}, DataError, "is an array, without others in it such as 'z'"),
        (["X.npy", "X.npy"], {"target": "y"}, TypeError, "2 arrays cannot share a target"),
        ("x.csv", {"types": {"q": "string"}}, DataError, "has no column q"),
        ("none.parquet", {}, DataError, "there are no rows in"),
        ("twice.parquet", {}, ValueError, "different names"),
    ],
)  # fmt: skip
def test_what_cannot_be_opened_is_refused_in_words(tmp_path, path, options, error, sentence):
    pq.write_table(TABLE, tmp_path / "x.parquet")
    pq.write_table(TABLE.slice(0, 0), tmp_path / "none.parquet")
    pq.write_table(pa.table([[1.0], [2.0]], names=["x", "x"]), tmp_path / "twice.parquet")
    np.save(tmp_path / "X.npy", X)
    with h5py.File(tmp_path / "two.h5", "w") as file:
        file["X"], file["y"] = X, COLUMNS["y"]
    store = zarr.open_group(tmp_path / "two.zarr", mode="w")
    store.create_array("X", data=X)
    store.create_array("y", data=COLUMNS["y"])
    zarr.create_array(tmp_path / "array.zarr", data=X)
    for name in ("x.unknown", "bad.npy", "bad.h5"):
        (tmp_path / name).write_text("nothing")
    (tmp_path / "bad.zarr").mkdir()
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    path = [tmp_path / p for p in path] if isinstance(path, list) else f"{tmp_path}/{path}"
    with pytest.raises(error, match=sentence):
        mercer.data.open(path, **options)


def test_an_fsspec_file_system(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    folder = parts(tmp_path / "data", write_parquet, "parquet")
    memory.put(str(folder), "/bucket", recursive=True)
    check(mercer.data.open("/bucket/*.parquet", filesystem=memory, **CHOICE))
    check(mercer.data.open("/bucket", filesystem=memory, **CHOICE))


def test_a_source_in_memory_adds_up_to_the_same_bits(tmp_path):
    """Blocks do not depend on files and row groups, so neither do sums, not even in rounding."""
    source = mercer.data.open(parts(tmp_path, write_parquet, "parquet"), **CHOICE)
    frame = as_source(pd.DataFrame(COLUMNS)[["a", "b", "y"]], "y")
    sums = [s.total(lambda b, *_: b.X.T.astype(float) @ b.y, rows=48) for s in (source, frame)]
    assert (sums[0] == sums[1]).all()


def test_datasets_of_arrow(tmp_path):
    folder = parts(tmp_path / "in", write_parquet, "parquet")
    dataset = pyarrow.dataset.dataset(folder)
    plain = as_source(dataset, "y", "s")
    assert hasattr(plain, "pieces")  # read by the reader that lets go of what it has read
    few = as_source(dataset.filter(pyarrow.dataset.field("id") < 50), "y", "s")
    assert few.n_rows == 50
    blocks = list(few.blocks(20))
    np.testing.assert_array_equal(np.concatenate([b.y for b in blocks]), COLUMNS["y"][:50])
    year = tmp_path / "by" / "2013"
    year.mkdir(parents=True)
    pq.write_table(TABLE, year / "x.parquet")
    by_path = pyarrow.dataset.dataset(tmp_path / "by", partitioning=["year"])
    assert "year" in as_source(by_path, "y").feature_names
