"""Digests of files: whether they are, to the last bit, the files that were read before."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from mercer._threads import usable_cores
from mercer.data.stamps import Stamp
from mercer.data.table import DataError, blamed

__all__ = ["compare", "differences", "listed", "measured", "text"]

Opened = Callable[[str], AbstractContextManager[Any]]


def measured(paths: Iterable[str], opened: Opened | None = None) -> dict[str, str]:
    """Return the SHA-256 of every file, by its path below the folder that all of them are in.

    Parameters
    ----------
    paths : iterable of str
        Files, and folders whose files are all meant.
    opened : callable, optional
        Opens a file of another machine.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.csv").write_text("x")
    >>> measured([str(folder / "a.csv")])["a.csv"][:8]
    '2d711642'
    """
    files = sorted(
        {file for path in paths for file in (_files(path) if opened is None else [path])}
    )
    with ThreadPoolExecutor(usable_cores()) as pool:
        found = list(pool.map(lambda file: _measure(file, opened), files))
    names = [Path(os.path.abspath(file) if opened is None else file).as_posix() for file in files]
    base = os.path.commonpath([os.path.dirname(name) for name in names])
    return {os.path.relpath(n, base): hex for n, hex in zip(names, found, strict=True)}


def _files(path: str) -> list[str]:
    if not os.path.isdir(path):
        return [path]
    return [os.path.join(here, name) for here, _, names in os.walk(path) for name in names]


def _measure(path: str, opened: Opened | None) -> str:
    if opened is not None:
        with opened(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    with Stamp.of(path).watched(), blamed(path, errors=OSError), open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def listed(given: Mapping[str, str] | str | os.PathLike[str]) -> dict[str, str]:
    """Return digests by name: those given, or those in a file as ``sha256sum`` writes it.

    Parameters
    ----------
    given : mapping, str or path

    Examples
    --------
    >>> listed({"./a.csv": "2D71"})
    {'a.csv': '2d71'}
    """
    if isinstance(given, Mapping):
        pairs = [(str(name), str(hex)) for name, hex in given.items()]
    else:
        Stamp.of(given)
        lines = Path(given).read_text(encoding="utf-8", errors="replace").splitlines()
        pairs = []
        for number, line in enumerate((line for line in lines if line.strip()), start=1):
            match = re.fullmatch(r"([0-9a-fA-F]{64}) [ *](.+)", line)
            if match is None:
                raise DataError(
                    f"{os.fspath(given)}, line {number}, is not what sha256sum writes: {line[:100]}"
                )
            pairs.append((match[2], match[1]))
    return {os.path.normpath(name): hex.lower() for name, hex in pairs}


def text(digests: Mapping[str, str]) -> str:
    """Return digests as ``sha256sum`` writes them.

    Parameters
    ----------
    digests : mapping from str to str
    """
    return "".join(f"{digests[name]}  {name}\n" for name in sorted(digests))


def differences(found: Mapping[str, str], known: Mapping[str, str]) -> str:
    """Return in words how files differ from those that were known, empty if they do not.

    A name is also that of a file further down: a folder may have moved.

    Parameters
    ----------
    found, known : mapping from str to str

    Examples
    --------
    >>> differences({"a": "1", "b": "2"}, {"x/a": "1", "b": "3", "c": "4"})
    'b is another file than it was; c is missing'
    """
    left, words = dict(known), []
    for name, hex in found.items():
        alike = [k for k in left if _ends(name, k) or _ends(k, name)]
        if not alike:
            words.append(f"{name} is new")
            continue
        best = max(alike, key=lambda k: (k == name, left[k] == hex))
        if left.pop(best) != hex:
            words.append(f"{name} is another file than it was")
    words += [f"{name} is missing" for name in left]
    return "; ".join(words[:5]) + (f"; and {len(words) - 5} more" if len(words) > 5 else "")


def _ends(name: str, other: str) -> bool:
    return name == other or name.endswith(f"/{other}")


def compare(
    found: Mapping[str, str], given: Mapping[str, str] | str | os.PathLike[str], where: str
) -> None:
    """Refuse files that are not those whose digests are given.

    Parameters
    ----------
    found : mapping from str to str
    given : mapping, str or path
        As :func:`listed` takes them.
    where : str
        What the files are called.
    """
    if words := differences(found, listed(given)):
        raise DataError(f"{where} cannot be verified: {words}")
