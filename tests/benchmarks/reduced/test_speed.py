"""What the benchmark of speed says of its numbers, and the rows that it writes."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks.reduced import speed


def kept(**sections: list[dict[str, Any]]) -> speed.Kept:
    found = speed.Kept(None)
    found.table = dict(sections)
    return found


def fit(library: str, n: int, **what: float) -> dict[str, Any]:
    usual = {"cpu": 1.0, "held": 3e8, "peak": 4e8, "error": 0.1, "gap": 1e-6}
    return {"key": [library, "ridge", n, 500]} | usual | what


def complaints(found: speed.Kept) -> list[str]:
    return speed.complaints(found, ratio=1.3, faster=2.0, grows=0.05, flat=50e6)


def test_nothing_to_complain_of():
    growth = [fit("mercer", 10**k, cpu=10.0 ** (k - 5)) for k in (5, 6, 7)]
    fits = [fit("mercer", 10**5), fit("scikit-learn", 10**5, cpu=2.5)]
    falkon = [fit("mercer", 10**6, cpu=100.0)]
    passes = [{"key": [10, 500, "float64"], "ratio": 1.2}]
    assert complaints(kept(passes=passes, fits=fits, falkon=falkon, slope=growth)) == []


@pytest.mark.parametrize(
    ("section", "rows"),
    [
        ("passes", [{"key": [10, 500, "float64"], "ratio": 1.4}]),
        ("fits", [fit("mercer", 10**5), fit("scikit-learn", 10**5, cpu=1.5)]),
        ("fits", [fit("mercer", 10**5, error=0.2), fit("scikit-learn", 10**5, cpu=9.0)]),
        ("falkon", [fit("mercer", 10**6, cpu=200.0)]),
        ("falkon", [fit("mercer", 10**6, peak=1e9)]),
        ("slope", [fit("mercer", 10**5), fit("mercer", 10**6, cpu=13.0)]),
        ("slope", [fit("mercer", 10**5), fit("mercer", 10**6, cpu=10.0, peak=5e8)]),
        ("slope", [fit("mercer", 10**5, gap=1.0), fit("mercer", 10**6, cpu=10.0)]),
    ],
)
def test_one_thing_to_complain_of(section: str, rows: list[dict[str, Any]]):
    assert len(complaints(kept(**{section: rows}))) == 1


def test_files_hold_the_rows_that_arrays_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(speed, "BATCH", 30)
    speed.write(tmp_path, 440)
    X, y = speed.rows_of(440)
    assert X.shape == (440, speed.FEATURES)
    files = sorted(tmp_path.iterdir())
    assert [pq.read_metadata(file).num_rows for file in files] == [300, 140]
    table = np.concatenate([pq.read_table(file).to_pandas().to_numpy() for file in files])
    np.testing.assert_array_equal(table, np.column_stack([X, y]))


def test_a_pass_and_its_bare_loop_agree():
    result = speed.one_pass(3, 40, "float64", rounds=1)
    assert result["apart"] <= 1e-12
    assert set(result["nanoseconds"]) == {"bare", "ours"}
