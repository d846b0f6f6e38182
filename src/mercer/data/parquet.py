"""Parquet files: their footers, and their rows in batches of bounded size."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as fs
import pyarrow.parquet as pq

from mercer.data.stamps import Stamp
from mercer.data.table import DataError
from mercer.data.table import blamed as blamed_by

__all__ = ["File", "Footer", "Format", "Parquet", "RowGroups", "blamed"]

blamed = partial(blamed_by, errors=(pa.ArrowException, OSError))
"""Turns an error of Arrow into a sentence that names the file."""

RowGroups = tuple[int, ...] | None
"""Of groups of rows, the numbers or the sizes; None for all, or where they are not known."""

BUFFER_BYTES = 2**16
"""Bytes of a column that are read at once from a local file."""

PAGE_BYTES = 2**20
"""Bytes of a page of a column: what most writers aim at."""


@dataclass(frozen=True)
class File:
    """Where a file is.

    Parameters
    ----------
    path : str
    filesystem : pyarrow.fs.FileSystem, optional
        This machine's by default.
    stamp : Stamp, optional
        How a file of this machine looked when it was opened.
    """

    path: str
    filesystem: fs.FileSystem | None = None
    stamp: Stamp | None = None

    @classmethod
    def found(cls, path: str, filesystem: fs.FileSystem | None = None) -> File:
        """Return a file with its stamp, if it is local; refuse paths that are no files.

        Parameters
        ----------
        path : str
        filesystem : pyarrow.fs.FileSystem, optional
        """
        return cls(path, filesystem, Stamp.of(path) if filesystem is None else None)

    @property
    def local(self) -> bool:
        """Whether the file is on this machine."""
        return self.filesystem is None

    def watched(self) -> AbstractContextManager[None]:
        """Refuse a file that changed since it was opened, before and after it is read."""
        return nullcontext() if self.stamp is None else self.stamp.watched()

    @contextmanager
    def open(self) -> Iterator[pa.RecordBatch]:
        """Give the file, open for reading in any order."""
        system = self.filesystem or fs.LocalFileSystem()
        # Of a relative path Arrow would say what it made of it.
        path = str(Path(self.path).absolute()) if self.local else self.path
        with system.open_input_file(path) as handle:
            yield handle


@dataclass(frozen=True)
class Footer:
    """Footer of a Parquet file: columns, types and row groups, known before rows are read.

    Parameters
    ----------
    schema : pyarrow.Schema
    groups : tuple of int, optional
        Rows of each group of rows that can be read on its own; None if that is not known.
    pages : dict from str to int
        About how many bytes of a column are unpacked at once.
    """

    schema: pa.Schema
    groups: RowGroups
    pages: dict[str, int]


class Format(ABC):
    """How files of one kind are read."""

    @abstractmethod
    def inspect(self, file: File) -> Footer:
        """Return the footer of a file.

        Parameters
        ----------
        file : File
        """

    @abstractmethod
    def batches(
        self, file: File, schema: pa.Schema, columns: Sequence[str], groups: RowGroups, rows: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield record batches of at most `rows` rows.

        Parameters
        ----------
        file : File
        schema : pyarrow.Schema
            Of all files together.
        columns : sequence of str
        groups : tuple of int, optional
            Which groups of rows; all by default.
        rows : int
        """


@dataclass(frozen=True)
class Parquet(Format):
    """Files of Parquet.

    A batch holds what was asked for, and beside it about a page of every column: memory depends on
    neither the size of the file nor, on this machine, that of its row groups.
    """

    def inspect(self, file: File) -> Footer:
        with blamed(file.path, " as a Parquet file"), file.open() as handle:
            size = handle.size()
            metadata, schema = _footer(handle)
        groups = tuple(metadata.row_group(g).num_rows for g in range(metadata.num_row_groups))
        if groups:
            last = metadata.row_group(len(groups) - 1)
            ends = (_end(last.column(j)) for j in range(last.num_columns))
            # Behind the footer there are eight bytes that tell its length.
            if max(ends, default=0) > size - 8 - metadata.serialized_size:
                raise DataError(
                    f"{file.path} is shorter than its footer says: it was cut or overwritten"
                )
        return Footer(schema, groups, _pages(metadata, file.local))

    def batches(
        self, file: File, schema: pa.Schema, columns: Sequence[str], groups: RowGroups, rows: int
    ) -> Iterator[pa.RecordBatch]:
        words = [name for name in columns if _is_text(schema.field(name).type)]
        how = {"pre_buffer": False, "buffer_size": BUFFER_BYTES} if file.local else {}
        with blamed(file.path, " as a Parquet file"), file.open() as handle:
            reader = pq.ParquetFile(
                handle, read_dictionary=words, page_checksum_verification=True, **how
            )
            for g in range(reader.num_row_groups) if groups is None else groups:
                with blamed(f"{file.path}, row group {g},", ""):
                    yield from reader.iter_batches(
                        rows, row_groups=[g], columns=list(columns), use_threads=False
                    )


class _Unread(Exception):  # noqa: N818, it is how a check ends, not a failure
    """The rows of a file are asked for, and only its footer was to be read."""


class _UntilFooter(io.RawIOBase):
    """A file that can be read until its footer is known."""

    def __init__(self, handle: pa.NativeFile) -> None:
        self.handle, self.known = handle, False

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return int(self.handle.tell())

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self.handle.seek(offset, whence))

    def read(self, size: int = -1) -> bytes:
        if self.known:
            raise _Unread
        return bytes(self.handle.read(None if size < 0 else size))


def _footer(handle: pa.NativeFile) -> tuple[pq.FileMetaData, pa.Schema]:
    """Return the metadata and the schema of a file, damaged metadata refused by an error.

    Asked for the metadata of a column whose levels are damaged, Arrow ends the process; preparing
    to read the column, it raises. So it is let go as far as the first byte of a row.
    """
    file = _UntilFooter(handle)
    opened = pa.PythonFile(file, mode="r")
    footer = pq.ParquetFile(opened, pre_buffer=False, buffer_size=BUFFER_BYTES)
    file.known = True
    # Those that are looked at.
    for g in sorted({0, footer.num_row_groups - 1}) if footer.num_row_groups else ():
        with suppress(_Unread):
            next(footer.iter_batches(1, row_groups=[g], use_threads=False), None)
    return footer.metadata, footer.schema_arrow


def _pages(metadata: pq.FileMetaData, local: bool) -> dict[str, int]:
    """Return about how many bytes of a column are held while its rows are read.

    A page as it is packed and unpacked, and the values of a batch; the first row group stands for
    all of them. From afar, a row group is fetched as a whole.
    """
    if not metadata.num_row_groups:
        return {}
    first = metadata.row_group(0)
    pages: dict[str, int] = {}
    for chunk in (first.column(j) for j in range(first.num_columns)):
        whole = int(chunk.total_uncompressed_size)
        held = 2 * min(whole, PAGE_BYTES) + (0 if local else chunk.total_compressed_size)
        name = chunk.path_in_schema.split(".")[0]
        pages[name] = pages.get(name, 0) + held + BUFFER_BYTES
    return pages


def _end(chunk: pq.ColumnChunkMetaData) -> int:
    """Return where a column of a row group ends in its file."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        start = min(start, chunk.dictionary_page_offset)
    return int(start + chunk.total_compressed_size)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
