"""Arrays in files of NumPy, HDF5 and Zarr, read by rows; and files that change under a fit."""

from __future__ import annotations

import math
import os
import platform
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

import numpy as np

from mercer._optional import plugin
from mercer._typing import AnyArray
from mercer.data.memory import machine_bytes, show
from mercer.data.table import DataError, blamed

__all__ = [
    "MAX_EMPTY_ROWS",
    "ArrayFile",
    "ArrayHeader",
    "Hdf5Array",
    "HeaderError",
    "NpyArray",
    "Stamp",
    "ZarrArray",
    "opened",
    "read_header",
]

MAX_EMPTY_ROWS = 10**7
"""Rows that an array without numbers may have: machines loop over them."""

MAX_PACKED_CHUNK_BYTES = 2**26
"""Bytes that a packed chunk may have whatever its file has: gzip packs zeros a thousand times."""

MAX_LINKS = 100

# A file could name any other that its reader may read.
ELSEWHERE = (
    "lies in another file (an external link, external storage or a virtual data set), which is not "
    "followed; open the file that holds the rows, or copy them: "
    "target.create_dataset(name, data=source[name][:])"
)
HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(frozen=True)
class Stamp:
    """Size and time of change of a file, by which a file that changes under a fit is refused.

    Parameters
    ----------
    path : str
    size : int
    changed : int
        Nanoseconds.
    host : str
        Machine that looked: on another one, copies of a file may have another time.

    Examples
    --------
    >>> Stamp.of("/dev/null")
    Traceback (most recent call last):
    mercer.data.table.DataError: /dev/null is a device, not a file; a fit reads its rows again ...
    """

    path: str
    size: int
    changed: int
    host: str

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Stamp:
        """Return the stamp of a file; refuse devices and pipes, which would block or never end.

        Parameters
        ----------
        path : str or path
        """
        name = os.fspath(path)
        try:
            status = os.stat(name)
        except OSError as error:
            link = "is a link that leads to no file" if os.path.islink(name) else "cannot be read"
            raise DataError(f"{name} {link}: {error.strerror}") from error
        except ValueError as error:  # a zero byte in the name
            raise DataError(f"{name!r} is no name of a file: {error}") from error
        if not stat.S_ISREG(status.st_mode):
            kind = KINDS.get(stat.S_IFMT(status.st_mode), "something else")
            raise DataError(
                f"{name} is {kind}, not a file; a fit reads its rows again and again: write them "
                "to a file first"
            )
        return cls(name, status.st_size, status.st_mtime_ns, platform.node())

    def check(self) -> None:
        """Refuse a file that changed since it was opened."""
        try:
            status = os.stat(self.path)
        except OSError as error:
            raise DataError(
                f"{self.path} was there when it was opened and is gone: {error.strerror}"
            ) from error
        here = (status.st_size, status.st_mtime_ns)
        if here[0] != self.size or (here[1] != self.changed and self.host == platform.node()):
            raise DataError(
                f"{self.path} changed after it was opened ({self.size} bytes then, {here[0]} now); "
                "open it again when nobody writes to it"
            )

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Check before and after reading; of a file that changed, that is the error."""
        self.check()
        try:
            yield
        except DataError:
            self.check()
            raise
        self.check()


class HeaderError(ValueError):
    """A header says what no array of NumPy with these bytes can be.

    Examples
    --------
    >>> issubclass(HeaderError, ValueError)
    True
    """


class ArrayHeader(NamedTuple):
    """What an array is, as its header says.

    Parameters
    ----------
    shape : tuple of int
    columns : bool
        Whether columns, not rows, lie one after the other.
    dtype : dtype
    """

    shape: tuple[int, ...]
    columns: bool
    dtype: np.dtype[Any]


def read_header(stream: IO[bytes], size: int) -> ArrayHeader:
    """Return the header of an array, refused if the bytes that follow cannot hold the array.

    A type of no size (``|V0``, ``<U0``) fits any shape into no bytes, and NumPy then allocates the
    shape, or loops over it; objects could only be unpickled.

    Parameters
    ----------
    stream : binary file
        At the beginning of the array; at its first number afterwards.
    size : int
        Bytes of the whole array with its header.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> np.save(file, np.zeros((2, 3)))
    >>> begin = file.seek(0)
    >>> read_header(file, len(file.getvalue())).shape
    (2, 3)
    >>> read_header(io.BytesIO(file.getvalue()), len(file.getvalue()) - 1)
    Traceback (most recent call last):
    ...
    mercer.data.array_files.HeaderError: its header promises 48 bytes of numbers, and 47 follow
    """
    try:
        version = np.lib.format.read_magic(stream)
        if version not in HEADERS:
            raise HeaderError(f"its header is of version {version[0]}.{version[1]}")
        shape, columns, dtype = HEADERS[version](stream)
    except HeaderError:
        raise
    except Exception as error:  # a header may hold anything, so parsing it may raise anything
        words = str(error).splitlines() or [type(error).__name__]
        raise HeaderError(f"its header is damaged, {words[0]}") from error
    if dtype.hasobject:
        raise HeaderError("it holds pickled objects, which are never read")
    if any(type(n) is not int or n < 0 for n in shape):
        raise HeaderError(f"its header says shape {shape}")
    count = math.prod(shape)
    if dtype.itemsize == 0 and count:
        raise HeaderError(f"its type {dtype.str!r} has no size")
    if max(shape, default=0) > MAX_EMPTY_ROWS and not count:
        raise HeaderError(f"its header says shape {shape}, which is empty")
    left = size - stream.tell()
    if count * dtype.itemsize > left:
        wanted = count * dtype.itemsize
        raise HeaderError(f"its header promises {wanted} bytes of numbers, and {left} follow")
    return ArrayHeader(shape, bool(columns), dtype)


def _check_chunks(where: str, size: int, stored: int) -> None:
    """Refuse chunks that are far larger in memory than in their file, or than the memory."""
    if size > machine_bytes():
        raise DataError(f"{where} has chunks of {show(size)}, more than this machine's memory")
    if size > max(MAX_PACKED_CHUNK_BYTES, 2 * stored):
        raise DataError(
            f"{where} has chunks of {show(size)} in a file of {show(stored)}; if these are your "
            "rows, write them in smaller chunks"
        )


class ArrayFile(ABC):
    """An array in a file, which has a shape and is read by rows; it travels by its description.

    Parameters
    ----------
    where : str
        What it is called in errors.
    shape : tuple of int
    dtype : dtype
    """

    def __init__(self, where: str, shape: tuple[int, ...], dtype: Any) -> None:
        self.where, self.shape, self.dtype = where, tuple(map(int, shape)), np.dtype(dtype)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def __getitem__(self, rows: slice) -> AnyArray:
        """Return some rows; refuse a file that changed since it was opened."""


class NpyArray(ArrayFile):
    """An array of NumPy in a file.

    It is not mapped into memory: of a mapped file that is cut short by somebody else, the next look
    at a row ends the process, with no chance of a sentence.

    Parameters
    ----------
    stamp : Stamp
        The file.
    header : ArrayHeader
    offset : int
        Where in the file the numbers begin.
    """

    def __init__(self, stamp: Stamp, header: ArrayHeader, offset: int) -> None:
        super().__init__(stamp.path, header.shape, header.dtype)
        self.stamp, self.columns, self.offset = stamp, header.columns, offset

    def __getitem__(self, rows: slice) -> AnyArray:
        first, last, _ = rows.indices(len(self))
        n, others = max(last - first, 0), self.shape[1:]
        width = math.prod(others)
        with self.stamp.watched(), blamed(self.where, errors=OSError):
            if self.columns:
                parts = [self._read(j * len(self) + first, n) for j in range(width)]
                return np.stack(parts, axis=-1).reshape((n, *others), order="F")
            return self._read(first * width, n * width).reshape(n, *others)

    def _read(self, start: int, count: int) -> AnyArray:
        offset = self.offset + start * self.dtype.itemsize
        values: AnyArray = np.fromfile(self.where, self.dtype, count, offset=offset)
        if len(values) != count:
            raise DataError(f"{self.where} ends before its header says")
        return values


class Hdf5Array(ArrayFile):
    """An array in a file of HDF5.

    Parameters
    ----------
    path, name : str
        The file and the array in it; the only one if no name is given.
    fill : bool, default=False
        Whether rows that were never written are read as the fill value.
    stamp : Stamp, optional
        How the file looked when it was first opened.
    """

    def __init__(
        self, path: str, name: str, fill: bool = False, stamp: Stamp | None = None
    ) -> None:
        h5py = plugin("hdf5")
        self.path, self.fill, self.stamp = path, fill, stamp or Stamp.of(path)
        with blamed(path, " as an HDF5 file"):
            self._file = h5py.File(path, "r")
            names: list[str] = []
            self._file.visititems(
                lambda name, item: names.append(name) if hasattr(item, "dtype") else None
            )
            self.name = name or (names[0] if len(names) == 1 else "")
            array = self._file.get(self._inside()) if self.name else None
        if not self.name:
            hint = f"{', '.join(names)}; say which: '{path}::{names[0]}'" if names else "no arrays"
            raise DataError(f"{path} holds {hint}")
        if not isinstance(array, h5py.Dataset):
            raise DataError(f"{path} has no array {name!r}; it has: {', '.join(names) or 'none'}")
        where, self._array = f"{path}::{self.name}", array
        with blamed(where):
            super().__init__(where, array.shape or (), array.dtype)
            self._refuse(h5py.check_string_dtype(array.dtype) is not None)

    def _refuse(self, words: bool) -> None:
        """Refuse data sets that are no rows, do not fit in memory, or lie in other files."""
        array = self._array
        if array.external is not None or array.is_virtual:
            raise DataError(f"{self.where} {ELSEWHERE}")
        if self.dtype.kind == "O" and not words:
            raise DataError(f"{self.where} holds references or lists, not numbers or words")
        nbytes = math.prod(array.chunks or ()) * self.dtype.itemsize
        _check_chunks(self.where, nbytes, self.stamp.size)
        if self.fill or 0 in self.shape:
            return
        if array.chunks is not None:
            grid = zip(self.shape, array.chunks, strict=True)
            missing = math.prod(-(-n // step) for n, step in grid) - array.id.get_num_chunks()
        else:
            missing = int(array.id.get_storage_size() < array.size * array.id.get_type().get_size())
        if missing:
            raise DataError(
                f"{self.where} has {'chunks' if array.chunks else 'rows'} that were never written, "
                "which read as the fill value. If that is what they are, open the file with "
                "missing_chunks='fill'"
            )

    def _inside(self) -> str:
        """Return the name of the array without soft links, refused if it leads to another file.

        HDF5 follows an external link by opening what it names, which may be any file or a pipe.
        """
        done: list[str] = []
        parts, steps = self.name.split("/")[::-1], 0
        while parts:
            part, steps = parts.pop(), steps + 1
            if part in ("", "."):
                continue
            link = self._file.get("/".join([*done, part]), getlink=True)
            if hasattr(link, "filename"):
                raise DataError(f"{self.path}::{self.name} {ELSEWHERE}")
            if hasattr(link, "path"):
                if steps > MAX_LINKS:
                    raise DataError(f"{self.path}::{self.name} is a link that leads nowhere")
                done = [] if link.path.startswith("/") else done
                parts.extend(link.path.split("/")[::-1])
            else:
                done.append(part)
        return "/".join(done) or "/"

    def __getitem__(self, rows: slice) -> AnyArray:
        with self.stamp.watched(), blamed(self.where):
            values: AnyArray = self._array[rows]
        if values.dtype == object:
            with blamed(self.where, " as text"):
                words = [v.decode() if isinstance(v, bytes) else v for v in values.ravel().tolist()]
            values = np.array(words, dtype=object).reshape(values.shape)
        return values

    def __reduce__(self) -> Any:
        return Hdf5Array, (self.path, self.name, self.fill, self.stamp)


class ZarrArray(ArrayFile):
    """An array in a Zarr store, whose missing chunks are not taken for zeros by default.

    Parameters
    ----------
    path, name : str
        The store and the array in it; the store itself, or its only array, if no name is given.
    fill : bool, default=False
        Whether a chunk that is not there is read as its fill value. Zarr leaves out chunks that
        hold nothing else, so such a chunk may be right, and may have been lost.
    """

    def __init__(self, path: str, name: str, fill: bool = False) -> None:
        with blamed(path, " as a Zarr store"):
            node = plugin("zarr").open(path, mode="r")
            arrays = None if hasattr(node, "chunks") else dict(node.arrays())
        if arrays is None and name:
            raise DataError(f"{path} is an array, without others in it such as {name!r}")
        if arrays is not None:
            name = next(iter(arrays)) if not name and len(arrays) == 1 else name
            if name not in arrays:
                names = ", ".join(arrays) or "no arrays"
                raise DataError(f"{path} holds {names}; say which: '{path}::name'")
            node, path = arrays[name], f"{path}::{name}"
        super().__init__(path, node.shape, node.dtype)
        self.array, self.fill = node, fill
        described = {**node.metadata.to_dict(), "attributes": "", "fill_value": ""}
        if "pickle" in str(described).lower():
            raise DataError(f"{path} is packed with pickle, which could run any program")
        # A shard is one file of many chunks.
        self._steps = tuple(map(int, node.shards or node.chunks))
        size = math.prod(self._steps) * self.dtype.itemsize
        _check_chunks(path, size, size)
        if min((*self._steps, *(n + 1 for n in self.shape)), default=1) < 1:
            raise DataError(f"{path} has shape {self.shape} in chunks {self._steps}")
        self.stamps: dict[str, Stamp | None] = {}
        # One at a time: of an array that claims more chunks than anybody has, the first is missing.
        for row, key in self._chunks(0, self.shape[0] if self.shape else 0):
            stamp = self.stamps[key] = self._look(row, key)
            if stamp is not None:
                _check_chunks(path, size, stamp.size)

    def __getitem__(self, rows: slice) -> AnyArray:
        first, last, _ = rows.indices(len(self))
        self._check(first, last)
        try:
            with blamed(self.where):  # each codec has errors of its own
                return np.asarray(self.array[rows])
        finally:
            self._check(first, last)

    def _check(self, first: int, last: int) -> None:
        """Refuse chunks of some rows that are gone or changed since the store was opened."""
        for row, key in self._chunks(first, last):
            if (stamp := self.stamps.get(key)) is not None:
                stamp.check()
            else:
                self._look(row, key)

    def _chunks(self, first: int, last: int) -> Iterator[tuple[int, str]]:
        """Yield the first row and the name of every chunk that holds some rows."""
        if first >= last or 0 in self.shape:
            return
        step, *steps = self._steps
        ends = [-(-n // step) for n, step in zip(self.shape[1:], steps, strict=True)]
        for i in range(first // step, -(-last // step)):
            # Not through a product of ranges: it would write them all down first.
            for rest in np.ndindex(*ends):
                yield i * step, str(self.array.metadata.encode_chunk_key((i, *rest)))

    def _look(self, row: int, key: str) -> Stamp | None:
        """Return the stamp of a chunk's file; refuse a chunk that is missing."""
        place = self.array.store_path
        file = os.path.join(place.store.root, place.path, key)
        if os.path.lexists(file):
            return Stamp.of(file)
        if self.fill:
            return None
        rows = f"rows {row} to {min(row + self._steps[0], self.shape[0]) - 1}"
        raise DataError(
            f"{self.where} has no chunk {key!r} ({rows}): it was lost, or left out because it "
            f"holds nothing but the fill value {self.array.fill_value}. If the second is true, "
            "open the store with missing_chunks='fill'"
        )


def opened(path: str, kind: str, fill: bool = False) -> ArrayFile | AnyArray:
    """Return an array in a file: of numbers, to be read by rows; of words or records, in memory.

    Parameters
    ----------
    path : str
        A file, or the name of an array in one: ``"file.h5::name"``.
    kind : {"npy", "hdf5", "zarr"}
    fill : bool, default=False
        Read rows that were never written as the fill value.
    """
    file, _, name = path.partition("::")
    if kind != "npy":
        return (Hdf5Array if kind == "hdf5" else ZarrArray)(file, name, fill)
    stamp = Stamp.of(file)
    with blamed(file, " as an array of NumPy"), open(file, "rb") as stream:
        if stream.read(2) == b"PK":
            raise DataError(
                f"{file} is an archive of arrays (.npz), not one array; save its arrays one by "
                "one with np.save, or pass those that np.load returns"
            )
        stream.seek(0)
        header = read_header(stream, stamp.size)
        if header.dtype.kind not in "biuf":
            stream.seek(0)
            whole: AnyArray = np.load(stream, allow_pickle=False)
            return whole
        return NpyArray(stamp, header, stream.tell())
