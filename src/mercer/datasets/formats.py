"""Files as they are on the web, read into tables."""

from __future__ import annotations

import bz2
import gzip
import io
import tarfile
import zipfile
from io import BufferedIOBase
from pathlib import Path
from typing import IO, TYPE_CHECKING

from mercer.datasets.download import DownloadError
from mercer.datasets.tables import Entry, pandas

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read"]

MAX_UNPACKED_BYTES = 2**32
"""Bytes of an unpacked file above which it is refused."""


def read(path: Path, how: Entry) -> pd.DataFrame:
    """Return a table of a file.

    Parameters
    ----------
    path : Path
        A CSV or LIBSVM file, as it is or packed (gz, bz2, zip, tar).
    how : dict
        ``format``, "csv" or "libsvm"; ``member``, the file in an archive; for CSV ``sep``,
        ``columns`` where the file names none, ``skip`` lines, ``missing`` and ``words``, what
        values are to be called; for LIBSVM ``features``, their number.
    """
    text = unpacked(path, how.get("member"))
    if how["format"] == "libsvm":
        from sklearn.datasets import load_svmlight_file

        X, y = load_svmlight_file(io.BytesIO(text), n_features=how["features"])
        frame = pandas().DataFrame(X.toarray(), columns=[f"f{j + 1}" for j in range(X.shape[1])])
        return frame.assign(y=y)
    frame = pandas().read_csv(
        io.BytesIO(text),
        sep=how.get("sep", ","),
        header=None if "columns" in how else 0,
        names=how.get("columns"),
        skiprows=how.get("skip", 0),
        na_values=how.get("missing", []),
        skipinitialspace=True,
        engine="python" if len(how.get("sep", ",")) > 1 else "c",
    )
    for column, words in how.get("words", {}).items():
        frame[column] = frame[column].map({_key(word): name for word, name in words.items()})
    return frame.rename(columns=how.get("rename", {}))


def _key(word: str) -> int | str:
    return int(word) if word.lstrip("-").isdigit() else word


def unpacked(path: Path, member: str | None = None) -> bytes:
    """Return the content of a file, or of a file in an archive.

    Parameters
    ----------
    path : Path
    member : str, optional
        Its name in a zip or tar archive.
    """
    if member is not None and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive, archive.open(member) as inside:
            return _bounded(inside, path)
    if member is not None:
        with tarfile.open(path) as tar:
            found = tar.extractfile(member)
            if found is None:
                raise DownloadError(f"{path.name} has no file {member}")
            return _bounded(found, path)
    with path.open("rb") as file:
        begins = file.read(3)
    opening = gzip.open if begins[:2] == b"\x1f\x8b" else bz2.open if begins == b"BZh" else open
    with opening(path, "rb") as file:
        return _bounded(file, path)


def _bounded(file: IO[bytes] | BufferedIOBase, path: Path) -> bytes:
    found: bytes = file.read(MAX_UNPACKED_BYTES + 1)
    if len(found) > MAX_UNPACKED_BYTES:
        raise DownloadError(f"{path.name} unpacks to more than {MAX_UNPACKED_BYTES:,} bytes")
    return found
