"""Sets by their names: from a folder, or from their public address and then from a folder."""

from __future__ import annotations

import json
import os
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._words import did_you_mean
from mercer.datasets.download import DownloadError, download
from mercer.datasets.folder import Folder
from mercer.datasets.folder import data_home as home_of
from mercer.datasets.formats import read
from mercer.datasets.tables import Entry, description, digest, means, pandas

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["describe", "fetch", "names"]

MEAN_TOLERANCE = 1e-5
"""Relative difference of means that single precision makes."""


@cache
def addresses() -> dict[str, Entry]:
    """Return where sets are on the web, how to read them and what their cells add up to."""
    found: dict[str, Entry] = json.loads(
        (resources.files("mercer.datasets") / "addresses.json").read_text(encoding="utf-8")
    )
    return found


def names(data_home: str | os.PathLike[str] | None = None) -> list[str]:
    """Return the sets that `fetch` knows: those with an address, and those in the folder.

    Parameters
    ----------
    data_home : path, optional
        See `fetch`.

    Examples
    --------
    >>> from mercer.datasets import names
    >>> "covtype" in names()
    True
    """
    return sorted({*addresses(), *Folder(home_of(data_home)).entries})


def describe(name: str, data_home: str | os.PathLike[str] | None = None) -> str:
    """Return origin, licence and size of a set.

    Parameters
    ----------
    name : str
        One of `names`.
    data_home : path, optional
        See `fetch`.

    Examples
    --------
    >>> from mercer.datasets import describe
    >>> print(describe("yacht").splitlines()[-1])
    308 rows, 6 features.
    """
    entries = addresses() | Folder(home_of(data_home)).entries
    if name not in entries:
        raise ValueError(_unknown(name, list(entries)))
    return description(entries[name])


def fetch(
    name: str,
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    missing: str = "keep",
    binary: bool = False,
    return_X_y: bool = False,
    verbose: bool | None = None,
) -> Any:
    """Return a real set, downloaded from its public address when it is first asked for.

    Parameters
    ----------
    name : str
        One of `names`.
    data_home : path, optional
        Folder to read from and to keep downloads in. By default the one that the environment
        variable ``MERCER_DATA`` names, which is a mirror: nothing is downloaded to it. Without it
        a folder among the caches of the user.
    download_if_missing : bool, default=True
        Whether to use the network.
    missing : {"keep", "drop"}, default="keep"
        Rows with missing cells are kept, with NaN, or dropped.
    binary : bool, default=False
        Ask for the customary one of several classes against the rest, as -1 and 1.
    return_X_y : bool, default=False
        Return ``(data, target)`` alone.
    verbose : bool, optional
        Write lines of progress; only to terminals by default.

    Returns
    -------
    sklearn.utils.Bunch or (data, target)
        With ``data`` (words as columns of zeros and ones), ``target``, ``feature_names``,
        ``frame`` (the table as it is), ``split`` (the published partition, or None), ``task`` and
        ``DESCR``; survival sets also have ``time`` and ``event``, images ``images``.

    Examples
    --------
    >>> from mercer.datasets import fetch
    >>> X, y = fetch("covtype", return_X_y=True)  # doctest: +SKIP
    """
    home = home_of(data_home)
    folder = Folder(home)
    if name not in folder.entries:
        if name not in addresses():
            raise ValueError(_unknown(name, names(data_home)))
        if data_home is None and os.environ.get("MERCER_DATA"):
            raise DownloadError(
                f"the folder that MERCER_DATA names has no {name}, and a mirror is not added to. "
                f"Give data_home to download it to another folder"
            )
        if not download_if_missing:
            raise DownloadError(f"{name} is not in {home}, and download_if_missing is False")
        _download(name, folder, verbose)
    found = folder.read(name, missing=missing, binary=binary)
    return (found.data, found.target) if return_X_y else found


def _unknown(name: str, known: list[str]) -> str:
    return (
        f"no set is called {name!r}.{did_you_mean(name, known)} mercer.datasets.names() lists all; "
        "others are read from a folder that MERCER_DATA names"
    )


def _download(name: str, folder: Folder, verbose: bool | None) -> None:
    """Download the files of a set, check their cells and keep them as one table."""
    entry = addresses()[name]
    parts = []
    for file in entry["files"]:
        path = folder.path / "downloads" / name / file["url"].rpartition("/")[2]
        download(file["url"], path, sha256=file.get("sha256"), verbose=verbose)
        try:
            part = read(path, entry | file)
        except (ValueError, KeyError, EOFError, OSError) as error:
            path.unlink()
            raise DownloadError(
                f"{file['url']} is not the table that was expected ({error})"
            ) from error
        parts.append(part.assign(split=file["part"]) if "part" in file else part)
    frame = pandas().concat(parts, ignore_index=True)
    if not _is_measured(frame, entry):
        raise DownloadError(
            f"{name} from {entry['files'][0]['url']} has not the cells that results of this "
            f"library were measured with. The download is kept in {folder.path / 'downloads'}"
        )
    facts = ("task", "target", "rows", "features", "origin", "licence", "note", "positive", "drop")
    kept = {key: entry[key] for key in facts if key in entry}
    split = {"split": "split"} if "split" in frame.columns else {}
    folder.keep(name, frame, kept | split)
    for file in entry["files"]:
        (folder.path / "downloads" / name / file["url"].rpartition("/")[2]).unlink()


def _is_measured(frame: pd.DataFrame, entry: Entry) -> bool:
    """Answer whether a table has the cells, or the means, that results were measured with."""
    if len(frame) != entry["rows"]:
        return False
    if "cells" in entry:
        return digest(frame) == str(entry["cells"])
    return bool(np.allclose(means(frame), entry["means"], rtol=MEAN_TOLERANCE, atol=0.0))
