"""Whole files as frames: formats agree, columns keep their kinds, bounds hold."""

import gzip
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mercer.data.reading import read_table
from mercer.data.table import DataError


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    found = pd.DataFrame(
        {
            "size": rng.normal(size=40).round(3),
            "count": rng.integers(0, 9, 40),
            "colour": rng.choice(["red", "dark blue"], 40),
            "sold": pd.date_range("2024-02-27", periods=40, freq="h").as_unit("us"),
        }
    )
    found.loc[3, "size"], found.loc[4, "colour"] = np.nan, None
    return found


def write(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".feather":
        frame.to_feather(path)
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    else:
        frame.to_csv(path, index=False, sep={".tsv": "\t", ".txt": ";"}.get(path.suffix, ","))
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt", "a.csv.gz", "a.parquet", "a.feather"])
def test_every_format_gives_the_frame_that_was_written(tmp_path, frame, name):
    found = read_table(write(frame, tmp_path / name))
    assert found.columns.tolist() == frame.columns.tolist()
    assert found.dtypes.map(lambda kind: kind.kind).tolist() == ["f", "i", "O", "M"]
    np.testing.assert_array_equal(found["size"], frame["size"])
    np.testing.assert_array_equal(found["count"], frame["count"])
    np.testing.assert_array_equal(found["sold"], frame["sold"])
    assert found["colour"].isna().tolist() == frame["colour"].isna().tolist()
    assert found["colour"].dropna().tolist() == frame["colour"].dropna().tolist()


def test_text_without_names_has_numbered_columns(tmp_path):
    path = tmp_path / "raw.data"
    path.write_text("5.1 3.5 1\n4.9 ? 0\n")
    found = read_table(path)
    assert found.columns.tolist() == ["1", "2", "3"]
    assert found["2"].isna().tolist() == [False, True]


def test_numbers_of_other_types_are_numbers_and_nested_values_are_left_out(tmp_path):
    table = pa.table(
        {
            "truth": [True, None, False],
            "price": pa.array([1, 2, None], pa.decimal128(5, 2)),
            "lasted": pa.array([1_500_000, 2, 3], pa.duration("us")),
            "tags": [["a"], ["b"], []],
            "zoned": pa.array([0, 1, None], pa.timestamp("s", tz="Europe/Amsterdam")),
        }
    )
    path = tmp_path / "odd.parquet"
    pa.parquet.write_table(table, path)
    found = read_table(path)
    assert found.dtypes.map(lambda kind: kind.kind).tolist() == ["f", "f", "f", "M"]
    assert found["lasted"][0] == 1.5
    assert found.attrs["left_out"] == ["tags"]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet", "a.feather"])
def test_a_table_beyond_the_bound_is_refused(tmp_path, name):
    path = write(pd.DataFrame({"x": np.zeros(200_000), "z": np.zeros(200_000)}), tmp_path / name)
    assert len(read_table(path, max_bytes=5e7)) == 200_000
    with pytest.raises(DataError, match="needs more than 1 MB"):
        read_table(path, max_bytes=1e6)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv", b"a,b\n", "has no rows"),
        ("a.csv", b"a,a\n1,2\n", "two columns of the name 'a'"),
        ("a.csv", b"a,b\n1,2\n3\n", "cannot be read as delimited text"),
        ("a.csv", b"PK\3\4\0\0binary\0", "holds no text"),
        ("a.parquet", b"PAR1 garbage PAR1", "cannot be read as a Parquet file"),
        ("a.arrow", b"ARROW1\0\0garbage", "cannot be read as an Arrow file"),
        ("a.xyz", b"a\n1\n", "say which format"),
    ],
)
def test_what_is_no_table_is_refused_with_a_reason(tmp_path, name, content, words):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=re.escape(words)):
        read_table(path)
