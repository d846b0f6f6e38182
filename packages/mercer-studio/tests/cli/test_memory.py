"""Memory: machines are made to fit a limit, and what does not fit ends in a sentence below it."""

import gzip
import json
import resource
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.commands import call
from mercer_studio.cli.models import pick
from mercer_studio.cli.tables import Memory

LIMIT = 700
"""Megabytes, of which Python and the libraries take about three hundred."""

PEAK = """
import json, sys
from mercer_studio.cli import main
status = main(sys.argv[1:])
from mercer_studio.cli.tables import _held
print(json.dumps([status, _held("VmHWM") / 1e6]))
"""
# The peak of this program alone: `ru_maxrss` is that of the process which started it, too.


def run(*arguments):
    """Run a command in a process of its own: status, peak in megabytes, and what was said."""
    command = [sys.executable, "-c", PEAK, *map(str, arguments), "--memory-limit", f"{LIMIT}MB"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    status, peak = json.loads(found.stdout.splitlines()[-1])
    return status, peak, found.stdout, found.stderr


@pytest.fixture
def large(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(5000, 3)), columns=list("abc"))
    frame["y"] = np.sin(frame.a) + frame.b
    frame.to_parquet(tmp_path / "large.parquet")
    return tmp_path


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds private pages to a limit")
def test_an_exact_machine_becomes_a_smaller_one(large):
    # Its kernel matrix has 200 MB, and a fit holds some of that size.
    status, peak, said, err = run(
        "fit",
        large / "large.parquet",
        "--target",
        "y",
        "--machine",
        "LSSVR",
        "-o",
        large / "m.skops",
    )
    assert status == 0, err
    assert "rows are too many for an exact one" in said
    assert peak < LIMIT


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds private pages to a limit")
def test_a_table_that_unpacks_to_gigabytes_is_refused(tmp_path):
    # 10^8 equal numbers, in a file of some kilobytes.
    table = pa.table({"x": np.zeros(10**6), "y": np.zeros(10**6)})
    with pq.ParquetWriter(tmp_path / "bomb.parquet", table.schema) as writer:
        for _ in range(50):
            writer.write_table(table)
    assert (tmp_path / "bomb.parquet").stat().st_size < 1e6
    status, peak, _, err = run("inspect", tmp_path / "bomb.parquet")
    assert status == 1
    assert "needs more than" in err
    assert peak < LIMIT


def test_text_that_unpacks_to_gigabytes_is_refused(tmp_path):
    with gzip.open(tmp_path / "bomb.csv.gz", "wb") as file:
        file.write(b"x,y\n")
        for _ in range(300):
            file.write(b"0,0\n" * 250_000)
    limit = f"{(Memory(1e12).taken + 1.5e9) / 1e6:.0f}MB"  # this process may be large already
    status, _, err = call("inspect", tmp_path / "bomb.csv.gz", "--memory-limit", limit)
    assert status == 1
    assert "needs more than" in err


def test_allocations_beyond_the_limit_fail_and_the_limit_is_taken_back():
    before = resource.getrlimit(resource.RLIMIT_DATA)
    memory = Memory(Memory(1e12).taken + 2e8)
    with memory.held_to():
        np.ones(10**7)  # 80 MB
        if sys.platform == "linux":
            with pytest.raises(MemoryError):
                np.ones(10**8)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    np.ones(10**8)


def test_a_limit_below_the_libraries_says_what_they_take(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    status, _, err = call("inspect", tmp_path / "a.csv", "--memory-limit", "1MB")
    assert status == 1
    assert "before anything is read" in err


def test_stacked_machines_are_for_memory_that_holds_their_parts():
    taken = Memory(1e12).taken
    for memory, rows, name in (
        (Memory(), 5000, "AutoRegressor"),
        (Memory(taken + 4e8), 5000, "LSSVR"),
        (Memory(taken + 4e8), 500, "AutoRegressor"),
        (Memory(taken + 4e10), 5000, "AutoRegressor"),
    ):
        assert type(pick(None, "regression", rows, memory).machine).__name__ == name
