"""Files as frames of some rows each: together they are the frame of the whole file."""

import gzip

import numpy as np
import pandas as pd
import pytest

from mercer.data.table import DataError
from mercer_studio import reading
from mercer_studio.reading import FrameBatches, read_table


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Cut text and rows so often that types differ between the parts."""
    monkeypatch.setattr(reading, "CHUNK_BYTES", 400)
    monkeypatch.setattr(reading, "FRAME_ROWS", 7)


def together(path, columns=None, **how):
    frames = list(FrameBatches(path, **how).frames(columns))
    assert len(frames) > 3
    assert max(map(len, frames)) <= 7
    return pd.concat(frames)


def assert_equal(found, expected):
    """Compare frames; pandas gives words without a single word among them another type."""
    words = {name: object for name in expected if expected[name].dtype.kind == "O"}
    pd.testing.assert_frame_equal(found.astype(words), expected.astype(words))


N = 120
LATE = np.arange(N) > 100
COLUMNS = {
    "whole": np.where(LATE, "1.5", "1"),
    "postal code": np.where(LATE, "A9", "0017"),
    "gaps first": np.where(LATE, "3", ""),
    "words after gaps": np.where(LATE, "red", "?"),
    "day": np.where(LATE, "2024-03-01 12:30:00", "2024-02-29"),
    "no day": np.where(LATE, "unknown", "2024-02-29"),
    "hour": np.where(LATE, "12:30:00", "7"),
    "truth": np.where(LATE, "false", "true"),
    "nothing": np.full(N, ""),
}


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv"])
def test_types_are_those_of_the_whole_text(tmp_path, ending):
    frame = pd.DataFrame(COLUMNS).rename(columns={"whole": " whole "})
    text = frame.to_csv(index=False, sep="\t" if ending == ".tsv" else ",").encode()
    path = tmp_path / f"late{ending}"
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    whole = read_table(path)
    assert whole.dtypes.map(lambda kind: kind.kind).tolist() == list("fOfOMOOff")
    assert_equal(together(path), whole)
    some = ["day", "whole"]
    assert_equal(together(path, some), whole[some])


@pytest.mark.parametrize("seed", range(20))
def test_random_text_is_read_as_a_whole_file_is(tmp_path, seed):
    rng = np.random.default_rng(seed)
    kinds = ["7", "-2.5e3", "", "x", "2024-02-29", "2024-02-29T01:02:03", "NA", "1" * 25, '"a,b"']
    path = tmp_path / "random.csv"
    chosen = [rng.choice(kinds, rng.integers(1, 4), replace=False) for _ in range(4)]
    columns = [rng.choice(pick, 150, p=rng.dirichlet(np.full(len(pick), 0.2))) for pick in chosen]
    lines = [",".join(cells) for cells in zip(*columns, strict=True)]
    path.write_text("\r\n".join(["a,b,c,d", *lines]))
    # Cells that are all missing leave an empty line, which counts for no row in either way.
    assert_equal(together(path), read_table(path))


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_typed_files(tmp_path, ending):
    frame = pd.DataFrame({"x": np.arange(100.0), "word": ["a", None] * 50, "tags": [["t"]] * 100})
    path = tmp_path / f"typed{ending}"
    (frame.to_parquet if ending == ".parquet" else frame.to_feather)(path)
    assert FrameBatches(path).left_out == ["tags"]
    assert_equal(together(path), read_table(path))


def test_a_wrong_line_is_counted_from_the_start_of_the_file(tmp_path):
    path = tmp_path / "broken.csv"
    path.write_text("a,b\n" + "1,2\n" * 300 + "1,2,3\n" + "1,2\n" * 300)
    for reader in (read_table, lambda p: list(FrameBatches(p).frames())):
        with pytest.raises(DataError, match="Row #302: Expected 2 columns, got 3"):
            reader(path)


def test_lines_and_files_that_are_too_long_or_empty(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "1" * 10_000 + ",2\n")
    with pytest.raises(DataError, match="needs more than"):
        list(FrameBatches(path, max_bytes=20_000).frames())
    path.write_text("a,b\n" + "1,2\n" * 5000)  # 80,000 bytes of numbers, seven rows at a time
    assert len(together(path, max_bytes=20_000)) == 5000
    path.write_text("a,b\n")
    with pytest.raises(DataError, match="no rows"):
        list(FrameBatches(path).frames())


def test_lines_within_quotes_are_never_cut(tmp_path):
    """Cells of several lines, longer than the parts that are read, against the whole file."""
    cells = ["\n".join(f"line {j} of {k}" for j in range(k % 90)) for k in range(200)]
    frame = pd.DataFrame({"k": np.arange(200.0), "w": [f"{c}!" for c in cells]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert_equal(together(tmp_path / "a.csv"), frame)


def test_a_quote_that_is_never_closed_does_not_hold_the_file(tmp_path, monkeypatch):
    """The text in hand stays bounded, and its end is looked for once a part."""
    monkeypatch.setattr(reading, "MAX_QUOTED_ROW_BYTES", 2_000)
    rows = b'size,k\n5" pipe,1\n' + b"7,2\n" * 5_000
    held = [
        len(part)
        for part in reading.whole_lines(
            iter([rows[i : i + 400] for i in range(0, len(rows), 400)]), "a.csv"
        )
    ]
    assert sum(held) == len(rows)
    assert max(held) <= 2_800
