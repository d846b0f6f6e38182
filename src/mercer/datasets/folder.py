"""A folder of tables: Parquet files and images, and a catalogue that says what is in them.

The folder that ``MERCER_DATA`` names and the one in which downloads are kept look alike, so a
folder that was filled once serves machines without a network.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import Bunch

from mercer._typing import AnyArray
from mercer.data.writing import Pending
from mercer.datasets.tables import Entry, drop, of_images, of_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Folder", "data_home"]

CATALOGUE = "catalog.json"
AT_FAULT = "The folder is the one of data_home, or of the variable MERCER_DATA: set another."
IDA_SPLITS = 100
"""Partitions of a set of the IDA benchmark: published ones first, then random ones."""


def data_home(folder: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder that sets are read from and kept in.

    Parameters
    ----------
    folder : path, optional
        By default the one that the environment variable ``MERCER_DATA`` names, and without it
        ``mercer/data`` among the caches of the user.

    Examples
    --------
    >>> data_home("/tmp/tables").name
    'tables'
    """
    given = folder or os.environ.get("MERCER_DATA")
    if given:
        try:
            return Path(given).expanduser()
        except RuntimeError as error:
            words = f"there is no folder {os.fspath(given)!r}: {error} {AT_FAULT}"
            raise ValueError(words) from error
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches) / "mercer" / "data"


class Folder:
    """Sets in a folder.

    Parameters
    ----------
    path : path
        The folder, with ``catalog.json``.

    Examples
    --------
    >>> Folder("no such folder").entries
    {}
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @property
    def entries(self) -> dict[str, Entry]:
        """What the catalogue says of every set."""
        catalogue = self.path / CATALOGUE
        if not catalogue.exists():
            return {}
        try:
            found = json.loads(catalogue.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ValueError(
                f"{catalogue} cannot be read as a catalogue of data sets: {error}. {AT_FAULT}"
            ) from error
        if not isinstance(found, dict) or not all(isinstance(e, dict) for e in found.values()):
            raise ValueError(f"{catalogue} is no catalogue of data sets. {AT_FAULT}")
        return found

    def read(self, name: str, *, missing: str = "keep", binary: bool = False) -> Bunch:
        """Return a set as arrays.

        Parameters
        ----------
        name : str
            A key of `entries`.
        missing : {"keep", "drop"}, default="keep"
            Rows with missing cells are kept, with NaN, or dropped.
        binary : bool, default=False
            Ask for the customary one of several classes against the rest, as -1 and 1.
        """
        entry = self.entries[name]
        path = self._inside(entry["file"])
        found = of_images(path, entry) if path.suffix == ".npz" else of_table(path, entry, binary)
        if "n_train" in entry:
            found.splits, found.original_splits = (
                self._splits(name, entry),
                entry["original_splits"],
            )
        if missing == "drop":
            drop(found)
        elif missing != "keep":
            raise ValueError(f"missing must be 'keep' or 'drop', got {missing!r}")
        return found

    def verify(self) -> list[str]:
        """Return the sets whose files are missing, or are not what the catalogue says."""
        return [
            name
            for name, entry in self.entries.items()
            if not self._inside(entry["file"]).exists()
            or hashlib.sha256(self._inside(entry["file"]).read_bytes()).hexdigest()
            != entry["sha256"]
        ]

    def keep(self, name: str, frame: pd.DataFrame, entry: Entry) -> None:
        """Store a table and write it into the catalogue.

        Parameters
        ----------
        name : str
        frame : pandas.DataFrame
        entry : dict
            What the catalogue is to say of it: task, target, licence...
        """
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self.path / f"{name}.parquet"
        with Pending(path) as file:
            frame.to_parquet(file.partial, index=False)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        entries = self.entries | {name: entry | {"file": path.name, "sha256": digest}}
        with Pending(self.path / CATALOGUE) as file:
            file.partial.write_text(json.dumps(entries, indent=1), encoding="utf-8")

    def _inside(self, file: str) -> Path:
        """Return where a file is; a catalogue cannot name one elsewhere."""
        path = (self.path / file).resolve()
        if not path.is_relative_to(self.path.resolve()):
            raise ValueError(f"the catalogue names {file}, which is not in its folder")
        return path

    def _splits(self, name: str, entry: Entry) -> list[tuple[AnyArray, AnyArray]]:
        """Return published partitions and, up to a hundred, random ones from a fixed seed."""
        n, m, key = entry["rows"], entry["n_train"], name.removeprefix("raetsch_")
        found = []
        if entry["original_splits"]:
            with np.load(self._inside("raetsch/raetsch_splits.npz"), allow_pickle=False) as stored:
                for rows in stored[key].astype(np.int64):
                    found.append((rows, np.setdiff1d(np.arange(n), rows)))
        seed = int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "little")
        rng = np.random.default_rng(seed)
        while len(found) < IDA_SPLITS:
            order = rng.permutation(n)
            found.append((order[:m], np.sort(order[m:])))
        return found
