"""Downloads that can be interrupted, go on where they stopped, and are what they should be."""

from __future__ import annotations

import hashlib
import http.client
import os
import time
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from mercer._progress import Bar

__all__ = ["DownloadError", "download"]

PIECE_BYTES = 2**18
"""Bytes read at a time."""


class DownloadError(OSError):
    """A file could not be had, or was not what it should be."""


def download(
    url: str,
    path: str | os.PathLike[str],
    *,
    sha256: str | None = None,
    most: int = 2**32,
    attempts: int = 3,
    timeout: float = 30.0,
    verbose: bool | None = None,
) -> Path:
    """Download a file, going on where an interrupted download of it stopped.

    Parameters
    ----------
    url : str
        An address, http or https.
    path : path
        Where to keep it. Until all of it is there, it is in a file beside that ends in ``.part``.
    sha256 : str, optional
        The digest it must have.
    most : int, default=2**32
        Bytes above which it is refused.
    attempts : int, default=3
        How often a broken connection is taken up again.
    timeout : float, default=30
        Seconds without an answer after which a connection is broken.
    verbose : bool, optional
        Write a line of progress; only to terminals by default.

    Returns
    -------
    Path

    Raises
    ------
    DownloadError
        With a sentence that says what went wrong and what to do.
    """
    path = Path(path)
    if path.exists() and (sha256 is None or _digest(path) == sha256):
        return path
    if urlsplit(url).scheme not in {"http", "https"}:
        raise DownloadError(f"{url} is not an address of the web")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    if part.is_symlink():
        raise DownloadError(f"{part} is a link, which could lead to any file; remove it")
    for attempt in range(1, attempts + 1):
        try:
            _take_up(url, part, most, timeout, verbose)
            break
        except HTTPError as error:
            raise DownloadError(f"{url} answers {error.code} {error.reason}") from error
        except (URLError, http.client.HTTPException, OSError) as error:
            if isinstance(error, DownloadError):
                raise
            if attempt == attempts:
                had = part.stat().st_size if part.exists() else 0
                raise DownloadError(
                    f"{urlsplit(url).hostname} cannot be reached or broke off "
                    f"({getattr(error, 'reason', error)}), after {had:,} bytes. Try again to go on "
                    "from there; without a network, set MERCER_DATA to a folder that has the set"
                ) from error
            time.sleep(min(0.1 * 2**attempt, 5.0))
    if sha256 is not None and (found := _digest(part)) != sha256:
        part.unlink()
        raise DownloadError(
            f"{url} is not the file that was expected: its SHA-256 is {found}, not {sha256}. "
            "Somebody changed it; what came was thrown away"
        )
    os.replace(part, path)
    return path


def _take_up(url: str, part: Path, most: int, timeout: float, verbose: bool | None) -> None:
    """Append to a file what is missing of it."""
    had = part.stat().st_size if part.exists() else 0
    request = Request(url, headers={"Range": f"bytes={had}-"} if had else {})
    try:
        answer = urlopen(request, timeout=timeout)
    except HTTPError as error:
        if had and error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            # All of it was there, or it is another file now: its digest will tell.
            return
        raise
    with answer:
        if had and answer.status != http.client.PARTIAL_CONTENT:
            had = 0
        length = answer.headers.get("Content-Length")
        size = None if length is None else had + int(length)
        if (size or 0) > most:
            raise DownloadError(f"{url} has {size:,} bytes, more than the {most:,} allowed")
        name = urlsplit(url).path.rpartition("/")[2]
        with (
            open(part, "ab" if had else "wb", opener=_privately) as out,
            Bar(name, size, show=verbose, unit="bytes", unit_scale=True) as bar,
        ):
            bar.update(had)
            while piece := answer.read(PIECE_BYTES):
                had += len(piece)
                if had > most:
                    raise DownloadError(f"{url} has more than the {most:,} bytes allowed")
                out.write(piece)
                bar.update(len(piece))
        if size is not None and had < size:
            raise http.client.IncompleteRead(b"", size - had)


def _privately(path: str, flags: int) -> int:
    """Open a file for its owner alone, and through no link that somebody has put there."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), mode=0o600)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
