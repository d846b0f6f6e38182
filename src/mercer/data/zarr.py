"""Arrays in Zarr stores, whose missing chunks are not taken for zeros by default."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import zarr
from zarr.core.sync import sync

from mercer._typing import AnyArray
from mercer.data.headers import check_chunks
from mercer.data.npy import FileArray
from mercer.data.stamps import Stamp
from mercer.data.table import DataError, blamed

__all__ = ["ZarrArray", "opened"]


class ZarrArray(FileArray):
    """An array in a store, read by rows.

    Parameters
    ----------
    array : zarr.Array
    where : str
        What it is called in errors.
    fill : bool
        Whether a chunk that is not there is read as its fill value. Zarr leaves out chunks that
        hold nothing else, so such a chunk may be right, and may have been lost.
    """

    def __init__(self, array: zarr.Array[Any], where: str, fill: bool) -> None:
        self.array, self.where, self.fill = array, where, fill
        self.shape = tuple(int(n) for n in array.shape)
        self.dtype: np.dtype[Any] = np.dtype(array.dtype)
        self._stamps: dict[str, Stamp | None] = {}
        _refuse_code(array, where)
        # A shard is one file of many chunks.
        self._steps = tuple(int(n) for n in array.shards or array.chunks)
        size = math.prod(self._steps) * self.dtype.itemsize
        check_chunks(where, size, size)
        if min((*self._steps, *(n + 1 for n in self.shape)), default=1) < 1:
            raise DataError(f"{where} has shape {self.shape} in chunks {self._steps}")
        # One at a time: of an array that claims more chunks than anybody has, the first is missing.
        for place in self._places(0, self.shape[0] if self.shape else 0):
            stamp = self._stamps[self._key(place)] = self._look(place)
            if stamp is not None:
                check_chunks(where, size, stamp.size)

    def __getitem__(self, rows: slice) -> AnyArray:
        wanted = rows if isinstance(rows, slice) else slice(None)
        places = list(self._places(*wanted.indices(len(self))[:2]))
        self._check(places)
        try:
            with blamed(self.where):  # each codec has errors of its own
                return np.asarray(self.array[rows])
        finally:
            self._check(places)

    def _places(self, first: int, last: int) -> Iterator[tuple[int, ...]]:
        """Yield the places of the chunks that hold some rows."""
        if first >= last or 0 in self.shape:
            return
        ends = [-(-n // step) for n, step in zip(self.shape, self._steps, strict=True)]
        for i in range(first // self._steps[0], -(-last // self._steps[0])):
            # Not through a product of ranges: it would write them all down first.
            for rest in np.ndindex(*ends[1:]):
                yield (i, *rest)

    def _key(self, place: tuple[int, ...]) -> str:
        return str(self.array.metadata.encode_chunk_key(place))

    def _look(self, place: tuple[int, ...]) -> Stamp | None:
        """Return the stamp of a chunk's file; refuse a chunk that is missing."""
        store = self.array.store_path / self._key(place)
        root = getattr(store.store, "root", None)
        if root is not None:
            file = os.path.join(root, store.path)
            if os.path.lexists(file):
                return Stamp.of(file)
        elif sync(store.exists()):
            return None
        if self.fill:
            return None
        rows = f"rows {place[0] * self._steps[0]} to "
        rows += str(min((place[0] + 1) * self._steps[0], self.shape[0]) - 1)
        raise DataError(
            f"{self.where} has no chunk {self._key(place)!r} ({rows}): it was lost, or left out "
            f"because it holds nothing but the fill value {self.array.fill_value}. If the second "
            "is true, open the store with missing_chunks='fill'"
        )

    def _check(self, places: list[tuple[int, ...]]) -> None:
        """Refuse chunks that are gone or changed since the store was opened."""
        for place in places:
            stamp = self._stamps.get(self._key(place))
            if stamp is not None:
                stamp.check()
            else:
                self._look(place)


def _refuse_code(array: zarr.Array[Any], where: str) -> None:
    """Refuse a codec that unpickles, which would run whatever the file says."""
    pending: list[Any] = [array.metadata.to_dict()]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            names = [str(item.get(key, "")) for key in ("id", "name")]
            if any("pickle" in name.lower() for name in names):
                raise DataError(f"{where} is packed with pickle, which could run any program")
            pending.extend(item.values())
        elif isinstance(item, list | tuple):
            pending.extend(item)
        elif hasattr(item, "get_config"):
            pending.append(item.get_config())
        elif hasattr(item, "to_dict"):
            pending.append(item.to_dict())


def opened(path: str, name: str, fill: bool = False) -> ZarrArray:
    """Return an array in a store; the store itself, or its only array, if no name is given.

    Parameters
    ----------
    path, name : str
    fill : bool, default=False
        Read chunks that are missing as the fill value.
    """
    with blamed(path, " as a Zarr store"):  # each kind of store has errors of its own
        node = zarr.open(path, mode="r")
        found = {} if isinstance(node, zarr.Array) else dict(node.arrays())
    if isinstance(node, zarr.Array):
        if name:
            raise DataError(f"{path} is an array, without others in it such as {name!r}")
        return ZarrArray(node, path, fill)
    if not name and len(found) == 1:
        name = next(iter(found))
    if name not in found:
        listed = ", ".join(found) or "no arrays"
        raise DataError(f"{path} holds {listed}; say which: '{path}::name'")
    return ZarrArray(found[name], f"{path}::{name}", fill)
