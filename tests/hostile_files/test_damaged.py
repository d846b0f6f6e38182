"""Files that were cut, flipped and overwritten give their rows, or a sentence with the name."""

import datetime
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer.data
from hostile_files.rows import WRITERS, outcome, read
from mercer.data import DataError

CASES = 32
"""Of every format: cut at eight places, one byte flipped in sixteen, eight bytes written over."""


def damage(data: bytes, case: int, rng: np.random.Generator) -> bytes:
    """Return bytes with a fault in them, never the same ones."""
    place = int(rng.integers(len(data)))
    if case < 8:
        return data[:place]
    if case < 24:
        return data[:place] + bytes([data[place] ^ (1 << int(rng.integers(8)))]) + data[place + 1 :]
    run = rng.integers(0, 256, 64, dtype=np.uint8).tobytes()
    run = run if case < 28 else bytes(64)
    changed = (data[:place] + run + data[place + 64 :])[: len(data)]
    return changed if changed != data else data[:-1]


@pytest.mark.parametrize("name", WRITERS)
def test_damage_is_noticed_or_gives_rows(name: str, tmp_path: Path) -> None:
    """What comes is rows or a sentence with the name of the file."""
    seed = sorted(WRITERS).index(name)
    whole = tmp_path / "whole" / name
    whole.parent.mkdir()
    WRITERS[name](whole)
    expected = read(whole)
    counts = {"right": 0, "refused": 0, "other": 0}
    for case in range(CASES):
        rng = np.random.default_rng([seed, case])
        folder = tmp_path / str(case)
        folder.mkdir()
        path = folder / name
        if whole.is_dir():
            shutil.copytree(whole, path)
            files = sorted(p for p in path.rglob("*") if p.is_file())
            file = files[int(rng.integers(len(files)))]
        else:
            shutil.copy(whole, path)
            file = path
        file.write_bytes(damage(file.read_bytes(), case, rng))
        counts[outcome(path, expected)] += 1
        shutil.rmtree(folder)
    assert sum(counts.values()) == CASES
    if name == "checked.parquet":
        # Page headers and the footer have no checksum; all that holds numbers has.
        assert counts["other"] <= 2


# Files that do not belong together ----------------------------------------------------------------

FRAMES: dict[str, tuple[dict[str, Any], str]] = {
    "a column more": ({"a": [1.0], "b": [1.0], "c": [1.0]}, "has columns that .* has not: c"),
    "a column less": ({"a": [1.0]}, "has no column b"),
    "another name": ({"a": [1.0], "B": [1.0]}, "has no column b"),
    "words": ({"a": [1.0], "b": ["u"]}, "column 'b' holds numbers in .* and words in"),
    "dates": ({"a": [1.0], "b": [datetime.date(2013, 1, 1)]}, "column 'b' holds"),
    "lists": ({"a": [1.0], "b": [[1.0]]}, "column 'b' holds"),
    "bytes": ({"a": [1.0], "b": [b"x"]}, "column 'b' holds"),
}


@pytest.mark.parametrize("ending", ["parquet", "arrow", "feather"])
@pytest.mark.parametrize("case", FRAMES)
def test_mixed_columns(case: str, ending: str, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet as pq

    def write(columns: dict[str, Any], path: Path) -> None:
        table = pa.table(columns)
        if ending == "parquet":
            pq.write_table(table, path)
        else:
            pyarrow.feather.write_feather(table, str(path))

    other, sentence = FRAMES[case]
    write({"a": [1.0], "b": [2.0]}, tmp_path / f"0.{ending}")
    write(other, tmp_path / f"1.{ending}")
    with pytest.raises(DataError, match=sentence) as caught:
        mercer.data.open(tmp_path)
    assert f"1.{ending}" in str(caught.value)


@pytest.mark.parametrize("other", [np.zeros((3, 3)), np.zeros((3,)), np.array([["u", "v"]])])
def test_mixed_arrays(other: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "0.npy", np.zeros((3, 2)))
    np.save(tmp_path / "1.npy", other)
    with pytest.raises(DataError, match=r"1.npy"):
        mercer.data.open(tmp_path)
