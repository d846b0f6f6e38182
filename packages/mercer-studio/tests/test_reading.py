"""Whole files as frames: formats agree, columns keep their kinds, bounds hold."""

import gzip
import io
import re
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import mercer.data
from mercer.data.column_files import ColumnFile
from mercer.data.table import DataError
from mercer_studio.reading import FrameBatches, read_table


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


WORDS = "größe;Straße\n1,5;Köln\n2,5;Zürich\n"


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1", "cp1252"]
)
def test_encodings_are_recognized(tmp_path, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes(WORDS.encode(encoding))
    frame = read_table(path)
    assert frame.to_dict("list") == {"größe": ["1,5", "2,5"], "Straße": ["Köln", "Zürich"]}
    note = f"{path} is not UTF-8 and is read as cp1252; say another with --encoding."
    assert frame.attrs["notes"] == [note] * (encoding in ("latin-1", "cp1252"))
    (batch,) = FrameBatches(path).frames()
    pd.testing.assert_frame_equal(batch, frame)
    asked = read_table(path, encoding=encoding)
    assert asked.attrs["notes"] == []
    pd.testing.assert_frame_equal(asked, frame)


def test_wrong_encodings_are_refused_with_the_file_and_the_remedy(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(WORDS.encode("latin-1"))
    with pytest.raises(DataError, match=r"a\.csv is not in the encoding utf-8.*--encoding"):
        read_table(path, encoding="utf-8")
    with pytest.raises(DataError, match="there is no encoding 'klingon'; known are utf-8"):
        read_table(path, encoding="klingon")
    with pytest.raises(DataError, match=r"a\.csv is not UTF-8; say its encoding.*latin-1"):
        mercer.data.open(path, delimiter=";")
    source = mercer.data.open(path, delimiter=";", encoding="latin-1")
    assert source.feature_names == ["größe", "Straße"]
    path.write_bytes(WORDS.encode("utf-16"))
    assert mercer.data.open(path, delimiter=";").feature_names == ["größe", "Straße"]
    with pytest.raises(TypeError, match="encoding are for text files"):
        mercer.data.open(path, format="parquet", encoding="utf-8")


def test_comments_names_and_quotes(tmp_path):
    """Comments go, columns without a name or with the same one are named as pandas does."""
    path = tmp_path / "a.csv"
    text = '\n# one\nx,x,,note,\n# two\n1,2,3,"a\n# no comment",\n\n4,5,6,"b, c",\n'
    path.write_text(text)
    frame = read_table(path, comment="#")
    expected = pd.read_csv(io.StringIO(text.replace("# one\n", "").replace("# two\n", "")))
    assert list(frame.columns) == list(expected.columns)
    assert frame.to_numpy()[:, :4].tolist() == expected.to_numpy()[:, :4].tolist()
    assert frame.iloc[:, 4].isna().all()
    assert frame.attrs["notes"] == [f"{path} has two columns of the name 'x': one is called 'x.1'."]
    (batch,) = FrameBatches(path, comment="#").frames()
    pd.testing.assert_frame_equal(batch, frame)
    with pytest.raises(DataError, match=r"a\.csv cannot be read as delimited text.*--comment '#'"):
        read_table(path)
    # Separators at the ends of the rows alone.
    path.write_text("a,b\n1,2,\n3,4,\n")
    assert list(read_table(path).columns) == ["a", "b", "Unnamed: 2"]


def test_wide_text_is_looked_at_in_linear_time(tmp_path, monkeypatch):
    """Names are asked of Arrow, which makes a list of all of them each time, a few times only."""
    asked = []

    class Counted:
        def __init__(self, schema):
            self.schema = schema

        @property
        def names(self):
            asked.append(1)
            return self.schema.names

        def __getattr__(self, name):
            return getattr(self.schema, name)

        def __iter__(self):
            return iter(self.schema)

    class Reader:
        def __init__(self, reader):
            self.schema = Counted(reader.schema)

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

    opened = ColumnFile._open_text
    monkeypatch.setattr(ColumnFile, "_open_text", lambda self, *how: Reader(opened(self, *how)))
    steps = {}
    for p in (100, 400):
        path = tmp_path / f"{p}.csv"
        path.write_text(",".join(f"c{j}" for j in range(p)) + "\n" + ",".join("1" * p) + "\n")
        asked.clear()
        calls = [0]
        sys.setprofile(lambda *event, calls=calls: calls.__setitem__(0, calls[0] + 1))
        ColumnFile.found(str(path), "csv").inspect()
        sys.setprofile(None)
        steps[p] = len(asked), calls[0]
    assert steps[100][0] == steps[400][0] <= 3
    assert steps[400][1] <= 4 * steps[100][1]
