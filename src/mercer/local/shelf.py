"""Fitted leaves: in memory while they are few, in files of their own beyond."""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self, overload

__all__ = ["Shelf"]


class Shelf(Sequence[Any]):
    """A sequence of objects, which are written to files where they take more than some memory.

    Files are read by the process that wrote them, in a private folder that is removed when the
    shelf is collected. A pickled shelf contains its objects, and writes them again where it
    arrives. Copies share the files, which are never changed.

    Parameters
    ----------
    limit : float
        Bytes, as pickled, up to which objects stay in memory.
    cache : float
        Bytes of objects that are kept after they were read from files.
    folder : path, optional
        Where the private folder is made; that of temporary files by default.

    Examples
    --------
    >>> shelf = Shelf(limit=100, cache=100)
    >>> for k in range(30):
    ...     shelf.put(k, f"leaf {k}")
    >>> shelf.on_disk, len(shelf), shelf[-1], shelf[:2]
    (True, 30, 'leaf 29', ['leaf 0', 'leaf 1'])
    """

    def __init__(self, limit: float, cache: float, folder: Any = None) -> None:
        self.limit, self.cache, self.parent = limit, cache, folder
        self._begin()

    def _begin(self) -> None:
        self.items: dict[Any, Any] = {}
        self.sizes: dict[Any, int] = {}
        self.path: Path | None = None
        self._order: list[Any] = []
        self._names: dict[Any, int] = {}
        self._kept: OrderedDict[Any, Any] = OrderedDict()
        self._held = 0  # bytes in memory: of all objects, or of those that were read
        self._lock = threading.Lock()

    @property
    def on_disk(self) -> bool:
        """Whether objects are in files."""
        return self.path is not None

    @property
    def in_memory(self) -> bool:
        """Whether objects are in the memory of this process."""
        return self.path is None

    def ask(
        self,
        work: Callable[[Any, Any, Any], Any],
        shared: Any,
        questions: Iterable[tuple[int, Any]],
    ) -> Iterator[Any]:
        """Yield ``work(object, shared, question)`` in order, for questions with numbers."""
        return (work(self[k], shared, question) for k, question in questions)

    def put(self, k: Any, item: Any) -> None:
        """Put an object under a key, once; the order of the objects is that of their keys."""
        data = pickle.dumps(item, protocol=pickle.HIGHEST_PROTOCOL)
        self._names[k], self.sizes[k] = len(self.sizes), len(data)
        if self.path is not None:
            self._file(k).write_bytes(data)
            return
        self.items[k] = item
        self._held += len(data)
        if self._held > self.limit:
            self._move()

    def close(self) -> None:
        """Remove the folder, if there is one."""
        if self.path is not None:
            self._end()

    def __len__(self) -> int:
        return len(self.sizes)

    @overload
    def __getitem__(self, k: int) -> Any: ...
    @overload
    def __getitem__(self, k: slice) -> list[Any]: ...
    def __getitem__(self, k: int | slice) -> Any:
        n = len(self)
        if isinstance(k, slice):
            return [self._read(key) for key in self._keys()[k]]
        if not -n <= k < n:
            raise IndexError(f"there are {n} leaves, no number {k}.")
        return self._read(self._keys()[k])

    def __iter__(self) -> Iterator[Any]:
        return map(self._read, self._keys())

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> Any:
        if self.path is None:
            return _in_memory, (self.__getstate__(),)
        files = {k: self._file(k).read_bytes() for k in self._keys()}
        return _in_files, (self.limit, self.cache, files)

    # A format that is safe to read writes attributes, not pickles: the objects themselves. Nothing
    # that arrives this way is ever unpickled.
    def __getstate__(self) -> dict[str, Any]:
        keys = self._keys()
        return {
            "limit": self.limit,
            "cache": self.cache,
            "keys": keys,
            "items": [self._read(k) for k in keys],
            "sizes": [self.sizes[k] for k in keys],
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.limit, self.cache, self.parent = state["limit"], state["cache"], None
        self._begin()
        self.items = dict(zip(state["keys"], state["items"], strict=True))
        self.sizes = dict(zip(state["keys"], state["sizes"], strict=True))

    def _keys(self) -> list[Any]:
        if len(self._order) != len(self.sizes):
            self._order = sorted(self.sizes)
        return self._order

    def _open(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="mercer-leaves-", dir=self.parent))
        self._end = weakref.finalize(self, _remove, str(self.path), os.getpid())

    def _move(self) -> None:
        self._open()
        for k, item in self.items.items():
            self._file(k).write_bytes(pickle.dumps(item, protocol=pickle.HIGHEST_PROTOCOL))
        self.items, self._held = {}, 0

    def _read(self, k: Any) -> Any:
        if self.path is None:
            return self.items[k]
        with self._lock:
            if k in self._kept:
                self._kept.move_to_end(k)
                return self._kept[k]
        item = pickle.loads(self._file(k).read_bytes())
        with self._lock:
            if k not in self._kept:
                self._kept[k] = item
                self._held += self.sizes[k]
            while self._held > self.cache and len(self._kept) > 1:
                self._held -= self.sizes[self._kept.popitem(last=False)[0]]
        return item

    def _file(self, k: Any) -> Path:
        assert self.path is not None
        return self.path / f"{self._names[k]}.leaf"


def _in_memory(state: dict[str, Any]) -> Shelf:
    shelf = Shelf.__new__(Shelf)
    shelf.__setstate__(state)
    return shelf


def _in_files(limit: float, cache: float, files: dict[Any, bytes]) -> Shelf:
    # The folder that was asked for may not be there: those of temporary files are everywhere.
    shelf = Shelf(limit, cache)
    shelf._open()
    for k, data in files.items():
        shelf._names[k], shelf.sizes[k] = len(shelf.sizes), len(data)
        shelf._file(k).write_bytes(data)
    return shelf


def _remove(path: str, process: int) -> None:
    """Remove a folder, unless a forked child ends: it is the folder of its parent."""
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)
