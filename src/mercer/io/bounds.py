"""What a model's archive may ask for, before anything in it is read as a model.

An archive is a zip whose entries are stored, not compressed, so that reading it takes no more
memory than its own size. The schema of skops is a tree of JSON whose nodes name entries and may
refer to each other; both could make a small file expensive.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer.data.array_files import MAX_EMPTY_ROWS, read_header
from mercer.io.errors import ModelFileError

__all__ = ["MANIFEST", "SCHEMA", "check_archive", "open_archive", "read_json"]

SCHEMA, MANIFEST = "schema.json", "mercer.json"
# A manifest is a page of text.
MAX_MANIFEST_BYTES = 2**20
SPARSE_ENTRIES = {
    f"{part}.npy" for part in ("format", "shape", "data", "indices", "indptr", "_is_array")
}
# Columns of hashed words are many; indices of 32 bits count no more.
MAX_SPARSE_LENGTH = 2**31 - 1


def open_archive(file: BinaryIO, name: str, max_bytes: float) -> zipfile.ZipFile:
    """Open the archive of a model, having checked the size of everything in it.

    Parameters
    ----------
    file : binary file
        The file.
    name : str
        What the file is called in errors.
    max_bytes : float
        Size of the file from which it is not read.
    """
    size = file.seek(0, os.SEEK_END)
    if size > max_bytes:
        raise ModelFileError(
            f"{name} has {size} bytes, more than max_bytes={max_bytes:.0f}; if you trust it, load "
            "it with a larger max_bytes."
        )
    try:
        archive = zipfile.ZipFile(file)
    except zipfile.BadZipFile as error:
        raise ModelFileError(
            f"{name} is not a model that mercer.io.save wrote, or it is cut off: {error}."
        ) from error
    entries = archive.infolist()
    names = {entry.filename for entry in entries}
    if MANIFEST not in names or SCHEMA not in names:
        raise ModelFileError(
            f"{name} is a zip archive, but not one that mercer.io.save wrote: it lacks "
            f"{MANIFEST if MANIFEST not in names else SCHEMA}."
        )
    if len(names) < len(entries):
        raise ModelFileError(f"{name} has entries of the same name; it was not written by mercer.")
    packed = [entry.filename for entry in entries if entry.compress_type != zipfile.ZIP_STORED]
    if packed:
        raise ModelFileError(
            f"{name} has compressed entries ({packed[0]}), which mercer.io.save does not write and "
            "which could be far larger than the file."
        )
    if sum(entry.file_size for entry in entries) > size:
        raise ModelFileError(f"{name} has entries that are larger than the file together.")
    return archive


def read_json(archive: zipfile.ZipFile, entry: str, name: str) -> dict[str, Any]:
    """Return an entry that is JSON.

    Parameters
    ----------
    archive : ZipFile
        The archive.
    entry : str
        Its entry.
    name : str
        What the file is called in errors.
    """
    if entry == MANIFEST and archive.getinfo(entry).file_size > MAX_MANIFEST_BYTES:
        raise ModelFileError(f"{name} has a manifest of more than {MAX_MANIFEST_BYTES} bytes.")
    try:
        found = json.loads(archive.read(entry))
    except (ValueError, RecursionError, zipfile.BadZipFile, EOFError) as error:
        raise ModelFileError(f"{name} is damaged: {entry} cannot be read, {error}.") from error
    if not isinstance(found, dict):
        raise ModelFileError(f"{name} is damaged: {entry} is no JSON object.")
    return found


def check_archive(archive: zipfile.ZipFile, schema: dict[str, Any], name: str) -> None:
    """Refuse an archive whose model would be larger than its file, or take long to look at.

    Parameters
    ----------
    archive : ZipFile
        The archive.
    schema : dict
        Its schema, as JSON.
    name : str
        What the file is called in errors.
    """
    tree = _Tree()
    try:
        work = tree.visit(schema)
    except RecursionError as error:
        raise ModelFileError(f"{name} is nested too deeply.") from error
    # Written by skops, what is shared is written out again wherever it is: the two are alike.
    if work > 10 * tree.inline + 1000:
        raise ModelFileError(
            f"{name} refers to its own parts until {tree.inline} of them would become {work}."
        )
    if tree.bare:
        raise ModelFileError(f"{name} has parts of SciPy that mercer.io.save does not write.")
    for entry, readers in tree.files.items():
        if len(readers) > 1:
            raise ModelFileError(f"{name} reads its entry {entry} more than once.")
        reader = next(iter(readers))
        try:
            _check_entry(archive, entry, reader)
        except (KeyError, ValueError, EOFError, zipfile.BadZipFile, OSError) as error:
            words = f"{name} is damaged: {entry} cannot be read as {reader.what}, {error}."
            raise ModelFileError(words) from error


class _Reader(NamedTuple):
    """A node of the schema that reads an entry of the archive."""

    loader: str
    cls: str
    key: str

    @property
    def what(self) -> str:
        kinds = {"NdArrayNode": "an array", "SparseMatrixNode": "a sparse array"}
        return kinds.get(self.loader, f"a {self.cls}")


class _Tree:
    """Count the nodes of a schema as they are written, and as skops looks at them."""

    def __init__(self) -> None:
        self.inline = 0
        self.bare = False  # whether attributes are set of what SciPy should construct
        self.cost: dict[Any, int] = {}
        self.files: dict[str, set[_Reader]] = {}

    def visit(self, value: Any) -> int:
        """Return how many nodes skops looks at below a value."""
        if isinstance(value, list):
            return sum(self.visit(item) for item in value)
        if not isinstance(value, dict):
            return 0
        node = "__loader__" in value or "__id__" in value
        key = value.get("__id__") if node else None
        self.inline += node
        if str(value.get("__module__", "")).startswith("scipy.sparse") and node:
            self.bare |= value.get("__loader__") != "SparseMatrixNode"
        if isinstance(file := value.get("file"), str) and node:
            loader, cls = str(value.get("__loader__")), str(value.get("__class__"))
            self.files.setdefault(file, set()).add(_Reader(loader, cls, json.dumps(key)))
        if key is not None and not isinstance(key, list | dict):
            # Nodes of a number are all the first of them: skops does not read the others.
            known = self.cost.get(key)
            if known is not None:
                for item in value.values():
                    self.visit(item)
                return known
            self.cost[key] = 1
        total = node + sum(self.visit(item) for item in value.values())
        if key is not None and not isinstance(key, list | dict):
            self.cost[key] = total
        return total


def _check_entry(archive: zipfile.ZipFile, entry: str, reader: _Reader) -> None:
    """Refuse an entry that would become larger than its bytes, or lead outside its arrays.

    The name of an entry says nothing: what it is read as, the schema says.
    """
    size = archive.getinfo(entry).file_size
    if reader.loader == "NdArrayNode":
        with archive.open(entry) as stream:
            dtype = read_header(stream, size).dtype
        _check_scalar(reader.cls, dtype)
    elif reader.loader == "SparseMatrixNode":
        _check_sparse(archive.read(entry))
    elif reader.loader != "BytesNode":  # bytes are as long as they are
        raise ValueError("which mercer.io.save does not write")


def _check_scalar(cls: str, dtype: np.dtype[Any]) -> None:
    """Refuse to make a scalar from another kind of value: np.void of a number is that long."""
    if cls == "ndarray":
        return
    made = getattr(np, cls, None)
    kind = isinstance(made, type) and issubclass(made, np.generic) and np.dtype(made).kind
    if kind != dtype.kind:
        raise ValueError(f"{cls} is not what {dtype.str!r} holds")


def _check_sparse(data: bytes) -> None:
    """Refuse a sparse array, a zip of its own, that is larger than its bytes or inconsistent."""
    with zipfile.ZipFile(io.BytesIO(data)) as arrays:
        entries = arrays.infolist()
        packed = any(info.compress_type != zipfile.ZIP_STORED for info in entries)
        if packed or sum(info.file_size for info in entries) > len(data):
            raise ValueError("it is compressed")
        if len({info.filename for info in entries}) < len(entries):
            raise ValueError("it has entries of the same name")
        if unknown := {info.filename for info in entries} - SPARSE_ENTRIES:
            raise ValueError(f"it has an entry {min(unknown)}")
        for info in entries:
            with arrays.open(info) as stream:
                read_header(stream, info.file_size)
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        form, shape = bytes(stored["format"].item()), tuple(stored["shape"].tolist())
        if form not in (b"csr", b"csc") or len(shape) != 2:
            raise ValueError(f"it is of format {form.decode(errors='replace')}")
        if max(shape) > MAX_SPARSE_LENGTH or (form == b"csc" and shape[0] > MAX_EMPTY_ROWS):
            raise ValueError(f"it has shape {shape}")
        if any(stored[part].ndim != 1 for part in ("data", "indices", "indptr")):
            raise ValueError("its parts are no vectors")
        if {stored[part].dtype.kind for part in ("indices", "indptr")} != {"i"}:
            raise ValueError("its indices are no integers")
    # Compiled loops over sparse arrays trust their indices.
    found: Any = sp.load_npz(io.BytesIO(data))
    found.check_format(full_check=True)
