"""Whatever holds rows becomes blocks with the same rows; what cannot is refused in words."""

import pickle

import h5py
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
import scipy.sparse as sp
import zarr

import mercer.data
from mercer.data import DataError, as_source, draw
from mercer.data.arrays import Chain, rechunked
from mercer.data.base import Block, Places
from mercer.data.columns import Choice, kinds_of
from mercer.data.opening import is_source
from mercer.data.sampling import fingerprints
from mercer.data.table import Table

N, P = 103, 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, P)).astype(np.float32)
Y = RNG.normal(size=N)
S = RNG.uniform(size=N)
NAMES = ["a", "b", "c"]
COLUMNS = dict(zip(NAMES, X.T.copy(), strict=True)) | {"y": Y, "s": S}


class Again:
    """Blocks that start anew."""

    def __iter__(self):
        for i in range(0, N, 17):
            yield X[i : i + 17], Y[i : i + 17], S[i : i + 17]


def generator():
    yield from Again()


def mapped(tmp_path):
    file = tmp_path / "X.npy"
    np.save(file, X)
    return np.load(file, mmap_mode="r")


def hdf5(tmp_path):
    file = h5py.File(tmp_path / "data.h5", "w")
    return file.create_dataset("X", data=X, chunks=(10, P))


def in_zarr(tmp_path):
    array = zarr.create_array(tmp_path / "X.zarr", shape=X.shape, chunks=(10, P), dtype="float32")
    array[:] = X
    return array


SOURCES = {
    "array": lambda tmp: as_source(X, Y, S),
    "lists": lambda tmp: as_source(X.tolist(), Y.tolist(), S.tolist()),
    "fortran": lambda tmp: as_source(np.asfortranarray(X), Y, S),
    "csr": lambda tmp: as_source(sp.csr_matrix(X), Y, S),
    "csc": lambda tmp: as_source(sp.csc_array(X), Y, S),
    "memory map": lambda tmp: as_source(mapped(tmp), Y, S),
    "hdf5": lambda tmp: as_source(hdf5(tmp), Y, S),
    "zarr": lambda tmp: as_source(in_zarr(tmp), Y, S),
    "pandas": lambda tmp: as_source(pd.DataFrame(COLUMNS), "y", "s"),
    "pandas arrays": lambda tmp: as_source(pd.DataFrame(X, columns=NAMES), pd.Series(Y), list(S)),
    "polars": lambda tmp: as_source(pl.DataFrame(COLUMNS), "y", "s"),
    "polars query": lambda tmp: as_source(pl.DataFrame(COLUMNS).lazy(), "y", "s"),
    "arrow": lambda tmp: as_source(pa.table(COLUMNS), "y", "s"),
    "arrow dataset": lambda tmp: as_source(
        pyarrow.dataset.dataset(pa.table(COLUMNS)), "y", "s"
    ),
    "blocks": lambda tmp: as_source(list(Again())),
    "object": lambda tmp: as_source(Again()),
    "function": lambda tmp: as_source(generator),
    "sources": lambda tmp: as_source([as_source(*b) for b in Again()]),
    "chain": lambda tmp: Chain([as_source(*b) for b in Again()]),
    "mapping": lambda tmp: as_source({name: COLUMNS[name] for name in NAMES}, Y, S).checked(),
}  # fmt: skip


@pytest.mark.parametrize("kind", SOURCES)
def test_rows_come_out_as_they_went_in_as_often_as_one_asks(kind, tmp_path):
    source = SOURCES[kind](tmp_path)
    for rows in (40, 40, 7, 1000):
        blocks = list(source.blocks(rows))
        # Exactly as many rows as were asked for, but for the last block: sums do not depend on how
        # the rows are stored.
        assert [block.n for block in blocks] == [min(rows, N - i) for i in range(0, N, rows)]
        assert [block.start for block in blocks] == list(range(0, N, rows))
        parts = [b.X.toarray() if sp.issparse(b.X) else b.X for b in blocks]
        assert all(part.dtype == (np.float64 if kind == "lists" else np.float32) for part in parts)
        np.testing.assert_array_equal(np.concatenate(parts), X)
        np.testing.assert_array_equal(np.concatenate([block.y for block in blocks]), Y)
        np.testing.assert_array_equal(np.concatenate([block.s for block in blocks]), S)
    assert (source.n_rows, source.n_features) == (N, P)


def test_a_frame_may_name_several_targets():
    block = next(as_source(pd.DataFrame(COLUMNS), ["y", "s"]).blocks(5))
    np.testing.assert_array_equal(block.y, np.column_stack([Y, S])[:5])
    labels = ["no", "yes"] * 5  # labels, not names of columns
    assert as_source(pd.DataFrame(X[:10], columns=NAMES), labels).y.tolist() == labels


TYPES = {
    "pandas": lambda: pd.DataFrame(
        {
            "flag": [True, False, True],
            "small": np.array([1, 2, 3], dtype=np.int8),
            "maybe": pd.array([1, None, 3], dtype="Int32"),
            "colour": pd.Categorical(["red", None, "blue"]),
            "word": pd.array(["x", "y", None], dtype="string"),
        }
    ),
    "polars": lambda: pl.DataFrame(
        {"flag": [True, False, True], "small": [1, 2, 3], "maybe": [1, None, 3]},
        schema_overrides={"small": pl.Int8, "maybe": pl.Int32},
    ).with_columns(
        pl.Series("colour", ["red", None, "blue"], dtype=pl.Categorical),
        pl.Series("word", ["x", "y", None]),
    ),
    "arrow": lambda: pa.table(
        {
            "flag": [True, False, True],
            "small": pa.array([1, 2, 3], pa.int8()),
            "maybe": pa.array([1, None, 3], pa.int32()),
            "colour": pa.array(["red", None, "blue"]).dictionary_encode(),
            "word": pa.array(["x", "y", None], pa.large_string()),
        }
    ),
}


@pytest.mark.parametrize("kind", TYPES)
def test_types_of_columns(kind):
    table = next(as_source(TYPES[kind]()).blocks(10)).X
    assert isinstance(table, Table)
    assert table.text == ["colour", "word"]
    assert table.columns["colour"].tolist() == ["red", None, "blue"]
    assert table.columns["word"].tolist() == ["x", "y", None]
    np.testing.assert_array_equal(table.columns["maybe"], [1, np.nan, 3])
    np.testing.assert_array_equal(table.columns["flag"], [1, 0, 1])


@pytest.mark.parametrize("kind", TYPES)
def test_text_is_refused_by_whoever_needs_numbers(kind):
    with pytest.raises(DataError, match=r"'colour', 'word'; turn them .*Encoder"):
        next(as_source(TYPES[kind]()).checked().blocks(10))


def test_dates_are_refused_by_name():
    when = pd.to_datetime(["2020-01-01", "2020-01-02"])
    frames = (
        pd.DataFrame({"x": [1.0, 2], "when": when}),
        pl.DataFrame({"x": [1.0, 2], "when": when}),
    )
    for frame in (*frames, pa.table(frames[1].to_arrow())):
        with pytest.raises(DataError, match=r"column 'when' holds .*; leave it out"):
            as_source(frame)


def test_structured_and_object_arrays_are_tables():
    record = np.array([(1.0, "u"), (2.0, "v")], dtype=[("x", "f8"), ("word", "U1")])
    assert as_source(record).feature_names == ["x", "word"]
    mixed = np.array([[1, "u"], [None, "v"]], dtype=object)
    columns = next(as_source(mixed).blocks(5)).X.columns
    np.testing.assert_array_equal(columns["x0"], [1, np.nan])
    assert columns["x1"].tolist() == ["u", "v"]


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: as_source(generator()), TypeError, "a generator gives its blocks once"),
        (lambda: as_source(np.zeros(5)), DataError, r"rows and columns; .*reshape\(-1, 1\)"),
        (lambda: as_source(np.zeros((5, 2)), np.zeros(4)), DataError, "X has 5 rows, y has 4"),
        (lambda: as_source(np.zeros((5, 2)), None, np.ones(6)), DataError, "weights has 6"),
        (lambda: as_source(np.zeros((5, 0))), DataError, "no columns"),
        (lambda: as_source(np.zeros((5, 2)), np.zeros((5, 2, 2))), DataError, "one number a row"),
        (lambda: as_source(np.zeros((5, 2), dtype=complex)), DataError, "not complex128"),
        (lambda: as_source("a.parquet"), TypeError, r"mercer.data.open\('a.parquet'"),
        (lambda: as_source(as_source(X), Y), TypeError, "brings its targets"),
        (lambda: as_source([(X, Y)], Y), TypeError, "blocks bring their targets"),
        (lambda: as_source(list), DataError, "there are no blocks"),
        (lambda: as_source(lambda: [(X, Y, S, S)]), DataError, "block 0 has 4 parts"),
        (lambda: as_source([(X, Y[:5])]), DataError, f"block 0: X has {N} rows, y has 5"),
        (lambda: Chain([]), DataError, "nothing to chain"),
        (lambda: Chain([as_source(X), as_source(X[:, :2])]), DataError, "other features"),
        (lambda: as_source(pd.DataFrame(COLUMNS), "z"), DataError, "there is no column 'z'"),
        (lambda: as_source(pd.DataFrame(X, columns=NAMES), Y[:4]), DataError, "y has 4"),
        (lambda: as_source(pl.DataFrame(COLUMNS).lazy(), Y), TypeError, "names of its columns"),
        (lambda: as_source(pa.table(COLUMNS).to_reader()), TypeError, "gives its batches once"),
        (lambda: as_source(pd.DataFrame(X, columns=["a", "b", "a"])), DataError, "different names"),
        (lambda: Table({}), DataError, "at least one column"),
        (lambda: Table({"a": [1], "b": [1, 2]}), DataError, "one length"),
        (lambda: Table({"a": [[1]]}), DataError, "one-dimensional"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_in_words(make, error, sentence):
    with pytest.raises(error, match=sentence):
        make()


def test_blocks_must_agree_with_each_other_and_with_themselves():
    with pytest.raises(DataError, match="block 1 has 2 features, the first has 3"):
        list(as_source([(X, Y), (X[:, :2], Y)]).blocks(50))
    counts = iter([5, 5, 4])
    shrinking = as_source(lambda: [np.zeros((next(counts), 2))])
    list(shrinking.blocks(3))
    with pytest.raises(DataError, match="5 rows in one pass and 4 in another"):
        list(shrinking.blocks(3))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "missing"), (-np.inf, "infinite")])
def test_the_first_bad_value_is_named(sparse, value, word):
    bad = X.copy()
    bad[61, 1] = value
    source = as_source(sp.csr_array(bad) if sparse else bad)
    source.feature_names = NAMES
    source.places = Places((0, 60), ("one.parquet", "two.parquet"))
    with pytest.raises(DataError, match=rf"two.parquet, row 1 \(row 61 in all\): 'b' is {word}"):
        source.checked().total(lambda block, *_: block.n, rows=10)


def test_bad_targets_and_weights_are_named():
    y, s, words = Y.copy(), S.copy(), np.array(["yes"] * N, dtype=object)
    y[7], s[8], words[9] = np.nan, np.inf, None
    for source, sentence in (
        (as_source(X, y), "row 7: the target is missing"),
        (as_source(X, np.column_stack([Y, y])), "row 7: the target is missing"),
        (as_source(X, Y, s), "row 8: the weight is infinite"),
        (as_source(X, words), "row 9: the target is missing"),
    ):
        with pytest.raises(DataError, match=sentence):
            list(source.checked().blocks(5))


def test_large_finite_values_are_not_taken_for_infinite():
    big = np.full((4, 2), 1e308)
    assert next(as_source(big).checked().blocks(4)).X is not None


def test_checking_twice_is_checking_once():
    source = as_source(X).checked()
    assert source.checked() is source
    assert pickle.loads(pickle.dumps(source.function))(Block(X)).n == N


def test_rechunking_keeps_order_and_columns_that_travel_along():
    keep = Table({"id": np.arange(N)})
    given = [Block(X[i : i + 9], Y[i : i + 9], None, 0, keep[i : i + 9]) for i in range(0, N, 9)]
    blocks = list(rechunked(given, 20))
    np.testing.assert_array_equal(np.concatenate([b.keep.columns["id"] for b in blocks]), range(N))
    assert all(block.s is None for block in blocks)


def test_a_sample_of_a_table_is_that_of_its_rows():
    words = np.array(list("abcdefghij") * 10 + ["k", None, "m"], dtype=object)
    table = {"x": np.arange(N) % 7, "word": words}
    first, turned = as_source(table), as_source({k: v[::-1] for k, v in table.items()})
    a, b = draw(first, 10, rows=20), draw(turned, 10, rows=9)
    np.testing.assert_array_equal(a.keys, b.keys)
    assert a.X.columns["word"].tolist() == b.X.columns["word"].tolist()
    # Equal rows have equal fingerprints, and 103 rows of 7 x 13 values others.
    h = fingerprints(Table(table))
    pairs = {(x, w) for x, w in zip(table["x"].tolist(), words.tolist(), strict=True)}
    assert len(np.unique(h)) == len(pairs)


def test_collections_of_dask_go_where_they_are(tmp_path):
    da = pytest.importorskip("dask.array")
    pytest.importorskip("distributed")
    source = as_source(da.from_array(X, chunks=(40, P)), da.from_array(Y, chunks=40))
    assert is_source(da.from_array(X))
    total = source.total(product)
    np.testing.assert_allclose(total, X.T.astype(float) @ Y, rtol=1e-12)
    # Without a cluster, files are read here.
    pd.DataFrame(COLUMNS).to_parquet(tmp_path / "x.parquet")
    files = mercer.data.open(tmp_path / "x.parquet", "y")
    assert as_source(files) is files
    transformed = files.map(lambda block: block, ["p", "q", "r", "t"])
    assert as_source(transformed) is transformed


def product(block, shared, state):
    return block.X.T.astype(float) @ block.y


def test_columns_that_cannot_play_their_part_are_refused():
    frame = pd.DataFrame({"w": ["a", "b"], "y": [1.0, 2.0], "v": ["c", "d"]})
    for choice, sentence in (
        ({"weight": "w"}, "weights are numbers; column 'w' is not"),
        ({"target": ["y", "v"]}, "several targets are numbers; not all of y, v are"),
        ({"target": ["y", "w", "v"]}, "no columns are left to be features"),
    ):
        with pytest.raises(DataError, match=sentence):
            Choice.make(kinds_of(frame), **choice)
    assert Choice.make({"x": np.dtype("f4")}, dtype="f8").dtype == np.float64


def test_numbers_of_other_types():
    table = pa.table({
        "d": pa.array([1, None, 3], pa.decimal128(5, 2)),
        "n": pa.nulls(3),
        "k": pa.array([10, 20, 10]).dictionary_encode(),
        "b": pa.array([True, None, False]),
    })  # fmt: skip
    for data in (table, table.to_batches()[0]):
        found = next(as_source(data).blocks(5)).X
        expected = [[1, np.nan, 10, 1], [np.nan, np.nan, 20, np.nan], [3, np.nan, 10, 0]]
        np.testing.assert_array_equal(found, expected)


def test_a_source_without_rows_has_no_sum():
    with pytest.raises(ValueError, match="no rows"):
        as_source(np.zeros((0, 2))).total(product)


def test_lazy_frames_of_an_older_polars_are_refused_with_a_remedy():
    class LazyFrame:
        __module__ = "polars.lazyframe"
        columns = ("a",)

        def collect(self):
            return pl.DataFrame({"a": [1.0]})

    with pytest.raises(TypeError, match=r"polars 1\.34 and newer; call collect\(\)"):
        as_source(LazyFrame())
