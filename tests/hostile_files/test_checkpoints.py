"""Checkpoints that others wrote or that were damaged: nothing in them is executed."""

import io
import os
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hostile_files.rows import canary, limited
from mercer.data.base import Sums
from mercer.reduced.checkpoint import Checkpoint

pytestmark = pytest.mark.skipif(os.name != "posix", reason="makes pipes and looks at rights")

ANSWER = Sums(x=np.arange(6.0).reshape(2, 3), w=np.array(["a", "bc"]))


def asked(folder: Path) -> bool:
    """Ask for the answer, and return whether it had to be made."""
    answer, made = Checkpoint(folder)(1, "problem", {"A": np.ones(2)}, lambda: ANSWER)
    assert answer.keys() == ANSWER.keys()
    for name, value in ANSWER.items():
        np.testing.assert_array_equal(answer[name], value)
    return made


def test_sixty_damaged_files(tmp_path: Path) -> None:
    """A damaged file is made again; what no check sum covers is of no consequence."""
    file = tmp_path / "pass-00001.npz"
    assert asked(tmp_path)
    data = file.read_bytes()
    assert not asked(tmp_path)
    rng = np.random.default_rng(5)
    for case in range(60):
        place = int(rng.integers(len(data)))
        bad = data[:place] + bytes([data[place] ^ (1 << case % 8)]) + data[place + 1 :]
        file.write_bytes(bad if case % 3 else data[:place])
        asked(tmp_path)
        assert not asked(tmp_path)


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
    (tmp_path / "pass-00001.npz").write_bytes(CRAFTED[name](tmp_path))
    with limited(20):
        assert asked(tmp_path)
    assert not asked(tmp_path)
    assert not (tmp_path / "sang").exists()


def test_what_is_no_file_is_replaced_and_links_are_not_followed(tmp_path: Path) -> None:
    file = tmp_path / "pass-00001.npz"
    os.mkfifo(file)
    with limited(20):
        assert asked(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with file.open("wb") as stream:
        stream.truncate(2**42)  # terabytes of nothing
    assert asked(tmp_path)
    file.unlink()
    # A link where the new file is to be written leads to somebody's own file.
    own = tmp_path / "own"
    own.write_text("mine")
    (tmp_path / f"pass-00001.{os.getpid()}.tmp").symlink_to(own)
    file.symlink_to(own)
    assert asked(tmp_path)
    assert own.read_text() == "mine"
    assert not file.is_symlink()
