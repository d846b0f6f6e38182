"""Checkpoints that others wrote: nothing in them is executed, and with a key none is believed."""

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from hostile_files.rows import canary, limited
from mercer import LSSVR, Nystrom
from mercer.reduced import CheckpointError
from mercer.reduced.checkpoint import KEY, load, save

pytestmark = pytest.mark.skipif(os.name != "posix", reason="makes pipes and sends signals")

ARRAYS = {"key": np.array("k"), "s.x": np.arange(6.0).reshape(2, 3), "s.w": np.array(["a", "bc"])}


def check_unbroken(found: Any) -> None:
    assert found.keys() == ARRAYS.keys()
    for name, value in ARRAYS.items():
        np.testing.assert_array_equal(found[name], value)


@pytest.mark.parametrize("key", ["", "secret"])
def test_sixty_damaged_files(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key a damaged file is made again, by its check sums; with one it is refused."""
    monkeypatch.setenv(KEY, key)
    file = tmp_path / "pass-00001.npz"
    save(file, ARRAYS)
    data = file.read_bytes()
    check_unbroken(load(file))
    rng = np.random.default_rng(5)
    for case in range(60):
        place = int(rng.integers(len(data)))
        bad = data[:place] + bytes([data[place] ^ (1 << case % 8)]) + data[place + 1 :]
        file.write_bytes(bad if case % 3 else data[:place])
        if key:
            with pytest.raises(CheckpointError, match=r"pass-00001.npz was not signed"):
                load(file)
        else:
            found = load(file)  # what no check sum covers is of no consequence
            if found is not None:
                check_unbroken({name: found.get(name) for name in ARRAYS})


def member(data: bytes, packed: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packed) as file:
        file.writestr("key.npy", data)
    return out.getvalue()


def npy(shape: str, descr: str = "'<f8'") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(64)


CRAFTED: dict[str, Callable[[Path], bytes]] = {
    "pickle": canary,
    "pickle in an archive": lambda f: member(canary(f)),
    "objects": lambda f: member(npy("(1,)", "'|O'")[:-64] + canary(f)),
    "objects in records": lambda f: member(npy("(1,)", "[('a', '|O')]")[:-64] + canary(f)),
    "a bomb": lambda f: member(npy("(1,)") + bytes(10**7), zipfile.ZIP_DEFLATED),
    "a bomb of another kind": lambda f: member(npy("(1,)") + bytes(10**6), zipfile.ZIP_LZMA),
    "petabytes": lambda f: member(npy(f"({2**50},)")),
    "more than an address": lambda f: member(npy(f"({2**62}, {2**62})")),
    "wraps to nothing": lambda f: member(npy(f"({2**32}, {2**32})")),
    "negative": lambda f: member(npy("(-8,)")),
    "negative twice": lambda f: member(npy("(-4, -2)")),
    "a program": lambda f: member(npy(f"__import__('os').system('touch {f}/sang')")),
    "version 9": lambda f: member(b"\x93NUMPY\x09\x00\x00\x00"),
    "nothing in it": lambda f: member(b""),
    "empty": lambda f: b"",
    "one byte": lambda f: b"P",
}


@pytest.mark.parametrize("name", CRAFTED)
def test_crafted_files_are_made_again(name: str, tmp_path: Path) -> None:
    file = tmp_path / "pass-00000.npz"
    file.write_bytes(CRAFTED[name](tmp_path))
    with limited(20):
        assert load(file) is None
    assert not (tmp_path / "sang").exists()


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "pass-00000.npz"
    assert load(file) is None
    os.mkfifo(file)
    with limited(20), pytest.raises(CheckpointError, match=r"pass-00000.npz is not a file"):
        load(file)
    file.unlink()
    file.mkdir()
    with pytest.raises(CheckpointError, match=r"pass-00000.npz is not a file"):
        load(file)
    file.rmdir()
    with file.open("wb") as stream:
        stream.truncate(2**42)  # terabytes of nothing
    assert load(file) is None
    file.unlink()
    # A link where the new file is to be written leads to somebody's own file.
    own = tmp_path / "own"
    own.write_text("mine")
    (tmp_path / f"pass-00000.{os.getpid()}.tmp").symlink_to(own)
    file.symlink_to(own)
    with pytest.raises(CheckpointError, match=r"pass-00000.npz is not a file"):
        load(file)
    save(file, ARRAYS)
    assert own.read_text() == "mine"
    check_unbroken(load(file))


def test_a_key_of_any_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, os.fsdecode(b"\xff\xfe"))
    save(tmp_path / "pass-00000.npz", ARRAYS)
    check_unbroken(load(tmp_path / "pass-00000.npz"))


@pytest.mark.parametrize("whose", ["another user's", "everybody's"])
def test_files_that_others_may_have_written(
    whose: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "pass-00000.npz"
    save(file, ARRAYS)
    if whose == "everybody's":
        file.chmod(0o666)
    elif os.geteuid() == 0:
        os.chown(file, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(CheckpointError, match=f"belongs to another user, .* key in {KEY}"):
        load(file)
    monkeypatch.setenv(KEY, "secret")
    with pytest.raises(CheckpointError, match="was not signed"):
        load(file)
    file.unlink()
    save(file, ARRAYS)
    file.chmod(0o666)  # what was signed is believed, wherever it was
    check_unbroken(load(file))


def test_sparse_sums_with_indices_out_of_range_are_made_again(tmp_path: Path) -> None:
    """Whoever can write a file can compute its key; compiled loops must not follow its indices."""
    X = sp.random_array((300, 5), density=0.5, rng=np.random.default_rng(0), format="csr")
    y = X.sum(axis=1)
    machine = LSSVR(approximation=Nystrom(20, n_jobs=1, checkpoint=tmp_path))
    expected = machine.fit(X, y).predict(X)
    changed = 0
    for file in sorted(tmp_path.glob("pass-*.npz")):
        found = load(file)
        assert found is not None
        for name in [name for name in found if name.endswith(".indices")]:
            found[name][:] = 2**30
            changed += 1
        save(file, found)
    assert changed
    np.testing.assert_array_equal(machine.fit(X, y).predict(X), expected)


def test_objects_are_not_kept(tmp_path: Path) -> None:
    words = np.array(["a", None], dtype=object)
    assert not save(tmp_path / "x.npz", {"w": words})
    assert not list(tmp_path.iterdir())


def sample() -> tuple[Any, Any]:
    X = np.random.default_rng(0).normal(size=(300, 2))
    return X, X[:, 0]


def test_files_of_another_hand_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What somebody wrote without the key, or with another, is not believed."""
    machine = LSSVR(approximation=Nystrom(20, n_jobs=1, checkpoint=tmp_path))
    plain = machine.fit(*sample()).dual_coef_
    monkeypatch.setenv(KEY, "secret")
    with pytest.raises(CheckpointError, match=r"pass-00001.npz was not signed with the key in M"):
        machine.fit(*sample())
    for file in tmp_path.iterdir():
        file.unlink()
    np.testing.assert_array_equal(machine.fit(*sample()).dual_coef_, plain)
    np.testing.assert_array_equal(machine.fit(*sample()).dual_coef_, plain)
    monkeypatch.setenv(KEY, "another")
    with pytest.raises(CheckpointError, match="was not signed"):
        machine.fit(*sample())
    monkeypatch.delenv(KEY)  # who asks for no signature reads signed files too
    np.testing.assert_array_equal(machine.fit(*sample()).dual_coef_, plain)
    assert "secret" not in repr(machine)
