"""Temporary files are for their owner alone, and links that wait for them lead nowhere."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import mercer.datasets
import mercer.io
from mercer import LSSVR, SVR, Nystrom
from mercer.data.spill import Spill
from mercer.data.writing import Npy
from mercer.datasets.download import DownloadError, _privately, download
from mercer.local.shelf import Shelf

pytestmark = pytest.mark.skipif(os.name != "posix", reason="files have owners and modes")

X = np.random.default_rng(0).normal(size=(300, 2))


@pytest.fixture(autouse=True)
def careless() -> Iterator[None]:
    """Let new files be open to everybody, as far as the umask goes."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_checkpoints(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    LSSVR(approximation=Nystrom(20, n_jobs=1, checkpoint=kept)).fit(X, X[:, 0])
    assert mode(kept) == 0o700
    assert {mode(file) for file in kept.iterdir()} == {0o600}


def test_spilled_rows_and_leaves(tmp_path: Path) -> None:
    with Spill(tmp_path, held=0) as spill:
        spill.add(0, np.ones((2, 2)))
        assert mode(spill.path) == 0o700
    shelf = Shelf(0, 0, folder=tmp_path)
    shelf.put(0, np.ones(10))
    folders = list(tmp_path.iterdir())
    assert folders
    assert {mode(folder) for folder in folders} == {0o700}


def test_downloads(tmp_path: Path) -> None:
    with open(tmp_path / "x.part", "wb", opener=_privately):
        assert mode(tmp_path / "x.part") == 0o600
    own = tmp_path / "own"
    own.write_text("mine")
    (tmp_path / "set.csv.part").symlink_to(own)
    with pytest.raises(DownloadError, match=r"set.csv.part is a link"):
        download("http://127.0.0.1:9/set.csv", tmp_path / "set.csv")
    assert own.read_text() == "mine"


def test_partial_files_have_names_that_cannot_be_guessed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Npy(tmp_path / "x.npy") as first, Npy(tmp_path / "x.npy") as second:
        assert first.partial != second.partial
        first.write(X)
        second.write(X)
    seen = []
    replace = Path.replace
    monkeypatch.setattr(Path, "replace", lambda self, to: (seen.append(self), replace(self, to)))
    for _ in range(2):
        mercer.io.save(SVR().fit(X[:20], X[:20, 0]), tmp_path / "m.skops")
    assert seen[0] != seen[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.skops", "x.npy"]


VARIABLES = """
import mercer.datasets
try:
    mercer.datasets.fetch("covtype")
except ValueError as error:
    print(error)
"""


def test_variables_with_nonsense_end_in_sentences_that_name_them() -> None:
    given = {"MERCER_DATA": "~nobody-of-this-name/x"}
    run = subprocess.run(
        [sys.executable, "-c", VARIABLES],
        capture_output=True,
        text=True,
        env=os.environ | given | {"MERCER_DEBUG": "\x1b"},
    )
    assert run.returncode == 0, run.stderr
    (data,) = run.stdout.splitlines()
    assert "there is no folder '~nobody-of-this-name/x'" in data
    assert "MERCER_DATA: set another" in data


@pytest.mark.parametrize("catalogue", ["{", "[]", '{"covtype": 1}'])
def test_a_damaged_catalogue(
    catalogue: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "catalog.json").write_text(catalogue)
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=r"catalog.json .*catalogue of data sets.*MERCER_DATA"):
        mercer.datasets.fetch("covtype")
