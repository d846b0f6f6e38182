"""Files that change under a fit, and disks that cannot be written to: a sentence with a name."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mercer.data
from hostile_files.rows import WRITERS, limited
from mercer.data import DataError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="removes files that are open")


def _one(path: Path) -> Path:
    """Return a file: of a store, one of its last chunk."""
    return path / "c" / "4" / "0" if path.is_dir() else path


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def longer(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


def written_over(path: Path) -> None:
    data = path.read_bytes()
    os.utime(path, ns=(0, 0))
    path.write_bytes(data[::-1])


def replaced(path: Path) -> None:
    other = path.with_name("new")
    other.write_bytes(path.read_bytes()[:-9] + bytes(9))
    os.utime(other, ns=(0, 0))
    other.replace(path)


FAULTS: list[Callable[[Path], Any]] = [cut, emptied, longer, written_over, replaced, os.remove]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", WRITERS)
def test_a_file_that_changes_between_passes_or_in_one(
    name: str, fault: Callable[[Path], Any], tmp_path: Path
) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    source = mercer.data.open(path)
    passed = sum(block.n for block in source.blocks(50))
    assert passed == 300
    begun = source.blocks(50)
    next(begun)
    fault(_one(path))
    stem = name.split(".")[0]
    sentence = rf"{stem}.*(changed after it was opened|is gone|cannot be read)"
    with limited(20), pytest.raises(DataError, match=sentence):
        for _ in begun:
            pass
    with limited(20), pytest.raises(DataError, match=r"changed after it was opened|is gone"):
        sum(block.n for block in source.blocks(50))


def test_a_fit_ends_with_the_name_and_leaves_the_old_machine(tmp_path: Path) -> None:
    from mercer import LSSVR, Nystrom

    path = tmp_path / "x.parquet"
    WRITERS["x.parquet"](path)
    source = mercer.data.open(path, target="y", features=["a", "b"])
    machine = LSSVR(approximation=Nystrom(10, n_jobs=1)).fit(source)
    before = machine.predict(pd.DataFrame({"a": [0.0], "b": [1.0]}))
    cut(path)
    with pytest.raises(DataError, match=r"x.parquet changed after it was opened"):
        machine.fit(source)
    np.testing.assert_array_equal(machine.predict(pd.DataFrame({"a": [0.0], "b": [1.0]})), before)


# Disks --------------------------------------------------------------------------------------------

WRITE = """
import sys, resource, signal
import numpy as np
import mercer.data
from sklearn.linear_model import LinearRegression
LIMIT
X = np.random.default_rng(0).normal(size=(60_000, 3))
machine = LinearRegression().fit(X[:9], X[:9, 0])
for ending in ("parquet", "csv", "arrow", "npy", ""):
    to = sys.argv[1] + "/" + ("out." + ending if ending else "folder")
    try:
        mercer.data.predict(machine, X, to, rows=6000)
    except OSError as error:
        print(type(error).__name__, error)
    else:
        print("written")
"""
FULL = (
    "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))"
)


def written(folder: Path, limit: str = "") -> list[str]:
    """Return what became of predictions in files of five kinds."""
    run = subprocess.run(
        [sys.executable, "-c", WRITE.replace("LIMIT", limit), str(folder)],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


def check_disk(lines: list[str], folder: Path, why: str) -> None:
    assert len(lines) == 5
    for line, name in zip(lines, ("parquet", "csv", "arrow", "npy", "part-00000"), strict=True):
        assert name in line
        assert "could not be written" in line
        assert why in line
    assert not [p for p in folder.rglob("*") if p.is_file()]  # nothing half written


@pytest.mark.skipif(sys.platform == "darwin", reason="limits on files are not kept there")
def test_a_limit_on_the_size_of_files(tmp_path: Path) -> None:
    check_disk(written(tmp_path, FULL), tmp_path, "File too large")


@pytest.fixture
def small_disk(tmp_path: Path) -> Any:
    """Yield a disk of 64 kB, where one may be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("only who may mount a disk has a small one; a limit on files stands for it")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(small_disk: Path) -> None:
    check_disk(written(small_disk), small_disk, "No space left on device")


def test_a_disk_that_is_read_only(small_disk: Path) -> None:
    again = ["mount", "-o", "remount,ro", str(small_disk)]
    subprocess.run(again, check=True)
    lines = written(small_disk)
    assert len(lines) == 5
    assert all("Read-only file system" in line and "disk" in line for line in lines)


def test_a_checkpoint_on_a_full_disk_and_on_one_that_is_read_only(small_disk: Path) -> None:
    from mercer import LSSVR, Nystrom
    from mercer.reduced import CheckpointError

    X = np.random.default_rng(0).normal(size=(400, 2))
    machine = LSSVR(approximation=Nystrom(150, n_jobs=1, checkpoint=small_disk / "kept"))
    with pytest.raises(CheckpointError, match=r"No space left on device.*make room and fit again"):
        machine.fit(X, X[:, 0])
    assert not list(small_disk.rglob("*.tmp"))
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    machine.approximation.checkpoint = small_disk / "other"
    with pytest.raises(CheckpointError, match="no checkpoint can be kept in"):
        machine.fit(X, X[:, 0])
