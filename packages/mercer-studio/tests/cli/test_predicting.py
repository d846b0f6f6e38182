"""Predictions some rows at a time are those of the whole file, in memory that does not grow."""

import json
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.commands import call, shell
from cli.test_memory import LIMIT, run
from mercer import LSSVR, io
from mercer_studio import reading
from mercer_studio.cli.tables import Memory

N = 200


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Return a folder with a table and a model of it."""
    folder, rng = tmp_path_factory.mktemp("fitted"), np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "day": pd.date_range("2022-01-01", periods=N).as_unit("us"),
            "price": rng.uniform(1, 3, N).round(3),
            "code": np.where(np.arange(N) < 150, "0017", "A9"),
            "count": rng.integers(0, 9, N),
        }
    )
    frame["sold"] = frame.price * (1 + (frame.code == "A9"))
    frame.loc[3:8, "price"], frame.loc[9, "code"], frame.loc[5, "day"] = np.nan, None, pd.NaT
    frame.to_csv(folder / "shop.csv", index=False)
    frame.to_parquet(folder / "shop.parquet")
    frame.to_feather(folder / "shop.arrow")
    shell(f"mercer fit {folder}/shop.csv --target sold --machine LSSVR -o {folder}/m.skops")
    return folder


@pytest.fixture
def cut(monkeypatch):
    """Cut files so often that a file of the test has many parts."""
    monkeypatch.setattr(reading, "CHUNK_BYTES", 500)
    monkeypatch.setattr(reading, "FRAME_ROWS", 30)


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_parts_are_predicted_as_the_whole(fitted, tmp_path, cut, ending):
    data, asked = f"{fitted}/shop.{ending}", "--keep code --keep day --keep count"
    # What the pipeline says of all rows at once; codes are words, also in parts of digits only.
    frame = pd.read_parquet(fitted / "shop.parquet")
    model = io.load(fitted / "m.skops")
    expected = model.predict(frame[list(model.card_["columns"])].astype({"code": object}))
    for output in ("p.csv", "p.tsv", "p.parquet", "p.arrow"):
        shell(f"mercer predict {fitted}/m.skops {data} {asked} -o {tmp_path / output}")
    said = shell(f"mercer predict {fitted}/m.skops {data} {asked}")
    assert (tmp_path / "p.csv").read_text() == said
    assert (tmp_path / "p.tsv").read_text().replace("\t", ",") == said
    found = json.loads(shell(f"mercer predict {fitted}/m.skops {data} --json"))
    # Sums of one row and of many are rounded in another order.
    close = {"rtol": 1e-12, "atol": 0.0}
    np.testing.assert_allclose(found["prediction"], expected, **close)
    for written in (
        pd.read_csv(tmp_path / "p.csv", dtype={"code": object}, parse_dates=["day"]),
        pd.read_parquet(tmp_path / "p.parquet"),
        pd.read_feather(tmp_path / "p.arrow"),
    ):
        np.testing.assert_allclose(written.prediction, expected, **close)
        kept = written[["code", "day", "count"]].astype({"code": object, "day": frame.day.dtype})
        asked_for = frame[["code", "day", "count"]].astype({"code": object})
        pd.testing.assert_frame_equal(kept.fillna({"code": "-"}), asked_for.fillna({"code": "-"}))


def test_a_late_error_leaves_no_file_and_names_the_row(fitted, tmp_path, cut):
    lines = (fitted / "shop.csv").read_text().splitlines()
    cells = lines[181].split(",")
    cells[1] = "inf"
    (tmp_path / "late.csv").write_text("\n".join([*lines[:181], ",".join(cells), *lines[182:]]))
    output = tmp_path / "p.csv"
    status, _, err = call("predict", fitted / "m.skops", tmp_path / "late.csv", "-o", output)
    assert status == 1
    assert "column 'price', is infinite in row 181" in err
    assert [path.name for path in tmp_path.iterdir()] == ["late.csv"]


def test_a_word_among_numbers_is_missing_in_whatever_part(fitted, tmp_path, cut):
    """Also where it is alone in its part: the parts are no matter of the user."""
    lines = (fitted / "shop.csv").read_text().splitlines()
    for word, name in (("cheap", "word"), ("", "gap")):
        cells = lines[181].split(",")
        cells[1] = word
        rows = [*lines[:181], ",".join(cells), *lines[182:]]
        (tmp_path / f"{name}.csv").write_text("\n".join(rows))
        said = shell(
            f"mercer predict {fitted}/m.skops {tmp_path}/{name}.csv -o {tmp_path}/{name}.tsv"
        )
        assert ("such as 'cheap'; they are taken as missing" in said) == (name == "word")
    assert (tmp_path / "word.tsv").read_text() == (tmp_path / "gap.tsv").read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds private pages to a limit")
def test_memory_does_not_grow_with_rows(tmp_path):
    names, rng = [f"x{j}" for j in range(16)], np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(12, 16)), columns=names)
    io.save(LSSVR().fit(X, X.x0), tmp_path / "m.skops")
    part = pa.table({name: np.zeros(2**17) for name in names})
    rows = 10 * 2**17  # 168 MB as numbers, more than a table may take of the limit
    assert 8 * 16 * rows > Memory(LIMIT * 1e6).table
    with pq.ParquetWriter(tmp_path / "long.parquet", part.schema) as writer:
        for _ in range(10):
            writer.write_table(part)
    model, data, output = (tmp_path / name for name in ("m.skops", "long.parquet", "p.parquet"))
    status, peak, _, err = run("predict", model, data, "-o", output)
    assert status == 0, err
    assert peak < LIMIT
    assert pq.read_metadata(output).num_rows == rows
