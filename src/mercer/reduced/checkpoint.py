"""Files of a checkpoint: arrays and nothing else, signed if there is a key."""

from __future__ import annotations

import hashlib
import hmac
import io
import math
import os
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mercer.data.array_files import read_header
from mercer.data.memory import machine_bytes

__all__ = ["CheckpointError", "load", "save"]

KEY = "MERCER_CHECKPOINT_KEY"
"""Variable of the environment that holds the key. A parameter would travel with the machine."""

MARK = b"HMAC-SHA256:"


class CheckpointError(OSError):
    """A checkpoint could not be written or belongs to another fit."""


def _signature(data: Any) -> bytes:
    """Return the signature that is written behind data: empty without a key."""
    key = os.fsencode(os.environ.get(KEY, ""))  # any bytes will do
    return MARK + hmac.digest(key, data, hashlib.sha256) if key else b""


def _privately(path: str, flags: int) -> int:
    """Open a file that its owner alone can read: sums of rows tell about the rows."""
    return os.open(path, flags, mode=0o600)


def _of_others(found: os.stat_result) -> bool:
    """Return whether somebody else may have written a file."""
    if not hasattr(os, "geteuid"):
        return False
    return found.st_uid not in (os.geteuid(), 0) or bool(found.st_mode & stat.S_IWOTH)


def save(file: Path, arrays: Mapping[str, Any]) -> bool:
    """Write arrays under another name first: they are kept as a whole or not at all.

    Parameters
    ----------
    file : Path
    arrays : mapping from str to array

    Returns
    -------
    bool
        Whether they were kept: objects, as words from a table are, could only be pickled, and
        whoever reads a pickle runs it.
    """
    if any(np.asarray(value).dtype.hasobject for value in arrays.values()):
        return False
    buffer = io.BytesIO()
    np.savez(buffer, **{name: np.asarray(value) for name, value in arrays.items()})  # type: ignore[arg-type]
    other = file.with_suffix(f".{os.getpid()}.tmp")
    try:
        # Never through a link that somebody has put there.
        other.unlink(missing_ok=True)
        with open(other, "xb", opener=_privately) as stream:
            stream.write(buffer.getbuffer())
            stream.write(_signature(buffer.getbuffer()))
            stream.flush()
            os.fsync(stream.fileno())
        other.replace(file)
    finally:
        other.unlink(missing_ok=True)
    return True


def load(file: Path) -> dict[str, Any] | None:
    """Return the arrays of a file; None if the file is missing, or damaged and to be made again.

    Parameters
    ----------
    file : Path
    """
    try:
        if not os.path.lexists(file):
            return None
        found = file.lstat()
        if not stat.S_ISREG(found.st_mode):
            raise CheckpointError(f"{file} is not a file; remove it")
        if _of_others(found) and not os.environ.get(KEY):
            raise CheckpointError(
                f"{file} belongs to another user, or others can write to it, and nothing shows who "
                f"wrote it. Remove it, or sign checkpoints with a key in {KEY}"
            )
        if found.st_size > machine_bytes():
            return None
        data = file.read_bytes()
    except CheckpointError:
        raise
    except OSError as error:
        raise CheckpointError(f"{file} could not be read ({error.strerror})") from error
    end = len(data) - len(MARK) - hashlib.sha256().digest_size
    content, signature = (data[:end], data[end:]) if data[end:].startswith(MARK) else (data, b"")
    if os.environ.get(KEY) and not hmac.compare_digest(_signature(content), signature):
        raise CheckpointError(
            f"{file} was not signed with the key in {KEY}: it was changed, or written with another "
            "key or without a key. Remove it, or give the key it was written with"
        )
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {item.filename.removesuffix(".npy"): _array(archive, item)
                    for item in archive.infolist()}  # fmt: skip
    except Exception:  # a damaged archive may raise anything
        return None


def _array(archive: zipfile.ZipFile, item: zipfile.ZipInfo) -> Any:
    """Return an array of an archive, which takes no more memory than the file has bytes."""
    if item.compress_type != zipfile.ZIP_STORED:
        raise ValueError("packed")
    data = archive.read(item)
    stream = io.BytesIO(data)
    shape, columns, dtype = read_header(stream, len(data))
    rest = memoryview(data)[stream.tell() :]
    if math.prod(shape) * dtype.itemsize != len(rest):
        raise ValueError("not an array of numbers or words")
    return np.frombuffer(rest, dtype).reshape(shape, order="F" if columns else "C").copy(order="K")
