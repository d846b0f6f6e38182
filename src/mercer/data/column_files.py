"""Files of columns, read by PyArrow: Parquet, Arrow's own formats, and text between signs."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.dataset as ds
import pyarrow.fs as fs
import pyarrow.parquet as pq
from numpy.typing import DTypeLike

from mercer._typing import AnyArray, PointsLike, TargetsLike, WeightsLike
from mercer.data.array_files import Stamp
from mercer.data.arrays import Chain
from mercer.data.base import Block, Source
from mercer.data.columns import (
    OBJECT,
    Choice,
    ColumnSource,
    Frame,
    Kinds,
    Names,
    Query,
    kinds_of,
    listed,
    values_of,
)
from mercer.data.table import DataError
from mercer.data.table import blamed as blamed_by

__all__ = ["ColumnFile", "Files", "Footer", "Piece", "Text", "arrow_source", "blamed", "found"]

Constants = dict[str, int | str | None]
"""Columns that have one value in a whole file."""

blamed = partial(blamed_by, errors=(pa.ArrowException, OSError))
"""Turns an error of Arrow into a sentence that names the file."""

NAMES = {"parquet": "a Parquet file", "arrow": "an Arrow file", "csv": "delimited text"}

BUFFER_BYTES = 2**16
"""Bytes of a column that are read at once from a local file of Parquet."""

PAGE_BYTES = 2**20
"""Bytes of a page of a column of Parquet, and of text that is read at once."""

PIECE_ROWS = 2**20
"""Rows of a piece, unless a single row group has more."""

# Arrow takes 8 kB for a column, even an empty one, so a line of commas could cost a gigabyte.
FREE_COLUMNS, BYTES_PER_COLUMN = 12_000, 100

MISSING_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""What others name a folder after whose rows have no value."""


@dataclass(frozen=True)
class Text:
    """How values stand in a text file.

    Parameters
    ----------
    delimiter : str
    names : tuple of str, optional
        Names of the columns, if the first line does not hold them.
    types : dict, optional
        Types of columns by name, in Arrow's words: ``{"zip": "string"}``.
    encoding : str, optional
        UTF-8 by default, or UTF-16 if the file begins so.
    """

    delimiter: str = ","
    names: tuple[str, ...] | None = None
    types: dict[str, str] = field(default_factory=dict)
    encoding: str | None = None


@dataclass(frozen=True)
class Footer:
    """What is known of a file before its rows are read.

    Parameters
    ----------
    schema : pyarrow.Schema
    groups : tuple of int, optional
        Rows of each group of rows that can be read on its own; None if that is not known.
    nbytes : float
        What the largest group takes in memory.
    """

    schema: pa.Schema
    groups: tuple[int, ...] | None
    nbytes: float = 0.0


@dataclass(frozen=True)
class ColumnFile:
    """A file of columns.

    A batch of Parquet takes what was asked for, and about a page of every column beside it: memory
    depends on neither the size of the file nor, on this machine, that of its row groups. A batch of
    Arrow's own formats is in memory whole.

    Parameters
    ----------
    path : str
    format : {"parquet", "arrow", "csv"}
    filesystem : pyarrow.fs.FileSystem, optional
        This machine's by default.
    text : Text
        How a text file is written.
    stamp : Stamp, optional
        How a file of this machine looked when it was opened.
    """

    path: str
    format: str
    filesystem: fs.FileSystem | None = None
    text: Text = Text()
    stamp: Stamp | None = None

    @classmethod
    def found(
        cls,
        path: str,
        format: str,
        filesystem: fs.FileSystem | None = None,
        text: Text = Text(),
    ) -> ColumnFile:
        """Return a file with its stamp, if it is local; refuse paths that are no files."""
        stamp = Stamp.of(path) if filesystem is None else None
        return cls(path, format, filesystem, text, stamp)

    def watched(self) -> AbstractContextManager[None]:
        """Refuse a file that changed since it was opened, before and after it is read."""
        return nullcontext() if self.stamp is None else self.stamp.watched()

    def inspect(self) -> Footer:
        """Return the footer of the file."""
        if self.format == "csv":
            return self._inspect_text()
        with self._blamed(), self._open() as handle:
            if self.format == "arrow":
                reader, indexed = self._arrow(handle)
                if not indexed:
                    return Footer(reader.schema, None)
                counts = [reader.get_batch(g).num_rows for g in range(reader.num_record_batches)]
                return Footer(reader.schema, tuple(counts), handle.size() / max(len(counts), 1))
            parquet = pq.ParquetFile(handle, pre_buffer=False, buffer_size=BUFFER_BYTES)
            groups = [parquet.metadata.row_group(g) for g in range(parquet.num_row_groups)]
            nbytes = max((group.total_byte_size for group in groups), default=0)
            return Footer(parquet.schema_arrow, tuple(group.num_rows for group in groups), nbytes)

    def batches(
        self, schema: pa.Schema, columns: Sequence[str], groups: Sequence[int] | None, rows: int
    ) -> Iterator[pa.RecordBatch]:
        """Yield record batches of at most `rows` rows.

        Parameters
        ----------
        schema : pyarrow.Schema
            Of the file.
        columns : sequence of str
        groups : sequence of int, optional
            Which groups of rows; all by default.
        rows : int
        """
        read = {"parquet": self._read_parquet, "arrow": self._read_arrow, "csv": self._read_text}
        for batch in read[self.format](schema, columns, groups, rows):
            yield from (batch.slice(i, rows) for i in range(0, batch.num_rows, rows))

    def _read_parquet(
        self, schema: pa.Schema, columns: Sequence[str], groups: Sequence[int] | None, rows: int
    ) -> Iterator[pa.RecordBatch]:
        # As a dictionary a string that occurs a thousand times is unpacked once.
        words = [n for n in columns if str(schema.field(n).type) in ("string", "large_string")]
        local = self.filesystem is None
        how = {"pre_buffer": False, "buffer_size": BUFFER_BYTES} if local else {}
        with self._blamed(), self._open() as handle:
            reader = pq.ParquetFile(
                handle, read_dictionary=words, page_checksum_verification=True, **how
            )
            for g in range(reader.num_row_groups) if groups is None else groups:
                with blamed(f"{self.path}, row group {g},"):
                    yield from reader.iter_batches(
                        rows, row_groups=[g], columns=list(columns), use_threads=False
                    )

    def _read_arrow(
        self, schema: pa.Schema, columns: Sequence[str], groups: Sequence[int] | None, rows: int
    ) -> Iterator[pa.RecordBatch]:
        fields = sorted(schema.get_field_index(name) for name in columns)
        with self._blamed(), self._open() as handle:
            reader, indexed = self._arrow(handle, fields)
            batches = iter(reader) if not indexed else map(
                reader.get_batch, range(reader.num_record_batches) if groups is None else groups
            )  # fmt: skip
            for batch in batches:
                # Offsets of words are believed by who reads them: damaged ones lead outside.
                batch.validate(full=True)
                yield batch

    def _read_text(
        self, schema: pa.Schema, columns: Sequence[str], groups: object, rows: int
    ) -> Iterator[pa.RecordBatch]:
        types = {name: schema.field(name).type for name in columns}
        advice = "; if a column holds words after all, say so: types={'name': 'string'}"
        with self._open_text(columns, types) as reader:
            while True:
                with blamed(self.path, advice=advice):
                    try:
                        batch = reader.read_next_batch()
                    except StopIteration:
                        return
                yield batch

    def _blamed(self) -> AbstractContextManager[None]:
        """Turn an error of Arrow into a sentence that names the file."""
        hint = f" as {NAMES[self.format]}"
        return blamed(self.path, hint)

    def _open(self) -> pa.NativeFile:
        # Of a relative path Arrow would say what it made of it.
        local = self.filesystem is None
        path = str(Path(self.path).absolute()) if local else self.path
        return (self.filesystem or fs.LocalFileSystem()).open_input_file(path)

    @staticmethod
    def _arrow(handle: pa.NativeFile, fields: list[int] | None = None) -> tuple[Any, bool]:
        """Return a reader of a file with an index of its batches, or of a stream; and which."""
        options = pa.ipc.IpcReadOptions(use_threads=False, included_fields=fields)
        indexed = handle.read(6) == b"ARROW1"
        handle.seek(0)
        read = pa.ipc.open_file if indexed else pa.ipc.open_stream
        return read(handle, options=options), indexed

    def _inspect_text(self) -> Footer:
        """Return what the first megabyte tells; whole numbers may have a fraction further down."""
        with self._blamed(), self._stream() as stream:
            line = stream.read(PAGE_BYTES).partition(b"\n")[0]
        with self._blamed(), self._open() as handle:
            most = FREE_COLUMNS + handle.size() // BYTES_PER_COLUMN
        if (signs := line.count(self.text.delimiter.encode())) >= most:
            raise DataError(
                f"{self.path} has {signs + 1} columns in its first line, more than the {most} that "
                "a text file of its size is read with; write the rows as Parquet or .npy"
            )
        with self._open_text(None, {}) as reader:
            try:
                schema = reader.schema
                # Words whose bytes are no UTF-8 are taken for bytes by Arrow.
                coded = any(map(pa.types.is_binary, schema.types))
            except UnicodeDecodeError:
                coded = True
        if coded:
            raise DataError(
                f"{self.path} is not {self.text.encoding or 'UTF-8'}; say its encoding, such as "
                "encoding='latin-1' or encoding='cp1252'"
            )
        if unknown := self.text.types.keys() - {*schema.names}:
            raise DataError(f"{self.path} has no column {', '.join(sorted(unknown))}")
        # Arrow reads the next megabyte while it unpacks one.
        return Footer(pa.schema([self._settled(column) for column in schema]), None, 4 * PAGE_BYTES)

    def _settled(self, column: pa.Field) -> pa.Field:
        if column.name in self.text.types:
            return pa.field(column.name, pa.type_for_alias(self.text.types[column.name]))
        vague = pa.types.is_integer(column.type) or pa.types.is_null(column.type)
        return pa.field(column.name, pa.float64()) if vague else column

    def _stream(self) -> pa.NativeFile:
        # Arrow unpacks a compressed file if it knows its name.
        if self.filesystem is None:
            return pa.input_stream(self.path, compression="detect")
        return self.filesystem.open_input_stream(self.path, compression="detect")

    def _open_text(
        self, columns: Sequence[str] | None, types: dict[str, pa.DataType]
    ) -> csv.CSVStreamingReader:
        with self._blamed():
            encoding = self.text.encoding
            if encoding is None:
                with self._stream() as start:
                    wide = start.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
                encoding = "utf-16" if wide else "utf8"
            return csv.open_csv(
                self._stream(),
                csv.ReadOptions(
                    use_threads=False,
                    column_names=self.text.names,
                    block_size=PAGE_BYTES,
                    encoding=encoding,
                ),
                csv.ParseOptions(delimiter=self.text.delimiter),
                csv.ConvertOptions(
                    column_types=types,
                    include_columns=None if columns is None else list(columns),
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )


class Piece(ColumnSource):
    """Some groups of rows of one file: a source of its own that travels by its description.

    Parameters
    ----------
    file : ColumnFile
    schema : pyarrow.Schema
        Of the file.
    kinds : dict
        Types of the columns in all files.
    choice : Choice
    n_rows : int, optional
        Number of rows, if it is known.
    start : int, optional
        Number of the first row in all files, if it is known.
    constants : dict
        Columns that have one value in the whole file.
    """

    groups: tuple[int, ...] | None = None
    """Numbers of the groups of rows; None for all of the file."""

    def __init__(
        self,
        file: ColumnFile,
        schema: pa.Schema,
        kinds: Kinds,
        choice: Choice,
        n_rows: int | None,
        start: int | None,
        constants: Constants,
    ) -> None:
        self.file, self.schema, self.kinds = file, schema, kinds
        self.n_rows, self.start, self.constants = n_rows, start, constants
        self.choose(choice)

    def blocks(self, rows: int) -> Iterator[Block]:
        """Yield the rows as the file gives them, at most `rows` of them at once."""
        names = [name for name in self.choice.needed if name not in self.constants]
        n = 0
        with self.file.watched():
            for batch in self.file.batches(self.schema, names, self.groups, rows):
                column = partial(self._column, batch)
                yield self.choice.block(column, batch.num_rows, (self.start or 0) + n)
                n += batch.num_rows
        if self.n_rows not in (None, n):
            raise DataError(
                f"{self.file.path} gave {n} rows where {self.n_rows} were promised: it is damaged"
            )
        self.n_rows = n

    def _column(self, batch: pa.RecordBatch, name: str) -> AnyArray:
        words = self.kinds[name] == OBJECT
        if name in self.constants:
            value = self.constants[name]
            return np.full(batch.num_rows, value, dtype=OBJECT if words else None)
        values = values_of(batch[name])
        if words and values.dtype != object:  # a column without any value
            values = np.full(batch.num_rows, None, dtype=object)
        return values

    def altered(self, **changes: Any) -> Piece:
        """Return a piece with other attributes."""
        twin = copy(self)
        twin.__dict__.update(changes)
        twin.choose(twin.choice)
        return twin


class Files(Chain):
    """Files of columns, one after the other.

    Each is looked at when the source is made, so that what is missing, cut short or of another
    shape is told before any work is done.

    Parameters
    ----------
    files : sequence of ColumnFile
    target, features, weight, keep, dtype :
        As in :func:`mercer.data.open`.
    """

    sources: list[Piece]  # type: ignore[assignment]

    def __init__(
        self,
        files: Sequence[ColumnFile],
        target: Names = None,
        features: Names = None,
        weight: str | None = None,
        keep: Names = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        paths = [file.path for file in files]
        with ThreadPoolExecutor(8) as pool:
            footers = list(pool.map(ColumnFile.inspect, files))
        self.groups = [footer.groups for footer in footers]
        if all(groups is not None and not sum(groups) for groups in self.groups):
            raise DataError(f"there are no rows in {', '.join(paths[:5])}")
        constants = _from_folders(paths)
        wanted = {*listed(target), *listed(features), *listed(weight), *listed(keep)}
        schemas = [footer.schema for footer in footers]
        kinds = _merged(schemas, paths, None if features is None else wanted)
        for name in constants[0]:
            whole = all(isinstance(constant[name], int) for constant in constants)
            kinds[name] = np.dtype(np.int64) if whole else OBJECT
        try:
            choice = Choice.make(kinds, target, features, weight, keep, dtype)
        except DataError as error:
            raise DataError(f"{paths[0]}: {error}") from error
        self.largest = max(footer.nbytes for footer in footers)
        pieces: list[Piece] = []
        start: int | None = 0
        for file, footer, constant in zip(files, footers, constants, strict=True):
            n = None if footer.groups is None else sum(footer.groups)
            pieces.append(Piece(file, footer.schema, kinds, choice, n, start, constant))
            start = None if n is None or start is None else start + n
        super().__init__(pieces, paths)

    @property
    def reading_bytes(self) -> int:  # type: ignore[override]
        """About how much memory reading takes beside the blocks.

        Of Parquet a page of every column as it is packed and unpacked; from afar a row group.
        """
        file, columns = self.sources[0].file, len(self.sources[0].choice.needed)
        pages = columns * (2 * PAGE_BYTES + BUFFER_BYTES)
        if file.format != "parquet":
            return int(self.largest)
        return int(min(pages, 2 * self.largest) + (0 if file.filesystem is None else self.largest))

    def pieces(self, rows: int = PIECE_ROWS) -> list[Piece]:
        """Return sources that make up this one and can be read apart, on other machines.

        Parameters
        ----------
        rows : int
            Neighbouring row groups of a file go into one piece as long as it has no more rows.
        """
        parts: list[Piece] = []
        for whole, counts in zip(self.sources, self.groups, strict=True):
            if counts is None:
                parts.append(whole)
                continue
            start, first, n = whole.start, 0, 0
            for g, count in enumerate(counts):
                n += count
                if g + 1 == len(counts) or n + counts[g + 1] > rows:
                    if n:
                        groups = tuple(range(first, g + 1))
                        parts.append(whole.altered(groups=groups, n_rows=n, start=start))
                    start, first, n = None if start is None else start + n, g + 1, 0
        return parts

    def reading(self, features: Names = None, keep: Names = None) -> Files:
        """Return a source of the same files that reads other columns.

        Parameters
        ----------
        features : str or list of str, optional
            Columns of features; those of this source by default.
        keep : str or list of str, optional
            Columns that travel along, beside those of this source.
        """
        old, kinds = self.sources[0].choice, self.sources[0].kinds
        kept = [*dict.fromkeys((*old.keep, *listed(keep)))]
        made = Choice.make(kinds, features=[*listed(features)] or [*old.features], keep=kept)
        choice = replace(old, features=made.features, keep=made.keep, dtype=made.dtype)
        twin = copy(self)
        twin.n_features, twin.feature_names = len(made.features), list(made.features)
        twin.sources = [piece.altered(choice=choice) for piece in self.sources]
        return twin


def arrow_source(X: PointsLike, y: TargetsLike = None, s: WeightsLike = None) -> Source:
    """Return a table, record batch or dataset of Arrow as a source.

    Parameters
    ----------
    X : pyarrow.Table, pyarrow.RecordBatch or pyarrow.dataset.Dataset
    y, s : str, list of str or array-like, optional
    """
    # Arrow's scanner holds on to what it has read of Parquet files; their own reader does not. Of
    # 128 MB in one row group, read in blocks of 65,536 rows, the scanner of Arrow 26 holds 329 MB
    # (205 MB through buffered streams), the reader 57 MB. It knows neither filters nor columns that
    # are computed from paths in ways of their own.
    if (
        isinstance(X, ds.FileSystemDataset)
        and isinstance(X.format, ds.ParquetFileFormat)
        and not getattr(X, "_scan_options", None)
        and {*X.schema.names} <= {*next(X.get_fragments()).physical_schema.names}
    ):
        system = None if isinstance(X.filesystem, fs.LocalFileSystem) else X.filesystem
        files = [ColumnFile.found(path, "parquet", system) for path in X.files]
        return Files(files, y, None, s)
    if isinstance(X, ds.Dataset):
        source = Query(X, y, s)
        source.n_rows = int(X.count_rows())
        return source
    if not isinstance(X, pa.Table | pa.RecordBatch):
        raise TypeError(
            f"a {type(X).__name__} gives its batches once, but a fit reads them again and again; "
            "pass a table, a dataset, or mercer.data.open(path)"
        )
    return Frame(X, y, s)


def found(
    path: str, filesystem: Any, looks_like_data: Callable[[str], bool]
) -> tuple[list[str], fs.FileSystem]:
    """Return the files of another machine that a path or pattern means, and their file system.

    Parameters
    ----------
    path : str
        A path in the file system, or a URI without one.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, optional
    looks_like_data : callable
        Whether a file in a folder is meant, by its path in that folder.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.csv").write_text("x")
    >>> names, _ = found(folder.as_uri() + "/*.csv", None, lambda name: True)
    >>> len(names)
    1
    """
    base, star, _ = path.partition("*")
    root = base.rpartition("/")[0] if star else path
    if filesystem is None:
        filesystem, root_path = fs.FileSystem.from_uri(root)
        pattern = root_path + path[len(root) :]
    else:
        if not isinstance(filesystem, fs.FileSystem):
            filesystem = fs.PyFileSystem(fs.FSSpecHandler(filesystem))
        root_path, pattern = root.rstrip("/"), path
    info = filesystem.get_file_info(root_path)
    if info.type == fs.FileType.File:
        return [root_path], filesystem
    if info.type == fs.FileType.NotFound:
        return [], filesystem
    if info.type != fs.FileType.Directory:
        raise DataError(f"{path} is neither a file nor a folder; write its rows to a file first")
    everything = filesystem.get_file_info(fs.FileSelector(root_path, recursive=True))
    files = [item.path for item in everything if item.type == fs.FileType.File]
    if star:
        return [p for p in files if fnmatch(p, pattern)], filesystem
    prefix = len(root_path.rstrip("/")) + 1
    return [p for p in files if looks_like_data(p[prefix:])], filesystem


def _from_folders(paths: Sequence[str]) -> list[Constants]:
    """Return the columns that folders are named after, as in ``year=2013/part.parquet``."""
    columns = [
        dict(re.findall(r"(?<![^/\\])([^/\\=]+)=([^/\\]*)(?=[/\\])", path)) for path in paths
    ]
    for path, own in zip(paths, columns, strict=True):
        if own.keys() != columns[0].keys():
            folders = "/".join(f"{name}=..." for name in columns[0])
            raise DataError(f"{path} is not in folders {folders}")
    whole = {
        name: all(re.fullmatch(r"-?\d{1,15}", own[name]) for own in columns) for name in columns[0]
    }
    return [
        {
            name: int(value) if whole[name] else None if value == MISSING_FOLDER else value
            for name, value in own.items()
        }
        for own in columns
    ]


def _merged(schemas: Sequence[pa.Schema], paths: Sequence[str], only: set[str] | None) -> Kinds:
    """Return the types of columns in all files, or an error for a column that a file lacks."""
    # Of a hundred thousand files most look the same: what they hold is worked out once.
    different: dict[pa.Schema, str] = {}
    for schema, path in zip(schemas, paths, strict=True):
        different.setdefault(schema.remove_metadata(), path)
    names: list[str] = []
    wanted: set[str] = set()
    merged: Kinds = {}
    origin: dict[str, str] = {}
    for schema, path in different.items():
        try:
            kinds = kinds_of(schema)
        except DataError as error:
            raise DataError(f"{path}: {error}") from error
        here = {name for name in kinds if only is None or name in only}
        names, wanted = names or list(kinds), wanted or here
        if missing := wanted - here:
            raise DataError(f"{path} has no column {', '.join(sorted(missing))}; {paths[0]} has")
        if more := here - wanted:
            raise DataError(
                f"{path} has columns that {paths[0]} has not: {', '.join(sorted(more))}; say which "
                "columns are to be read with features=[...]"
            )
        for name, kind in kinds.items():
            if pa.types.is_null(schema.field(name).type):
                continue
            before = merged.get(name, kind)
            if OBJECT not in (before, kind) and not isinstance(before, str) | isinstance(kind, str):
                kind = np.result_type(before, kind)
            elif str(before) != str(kind):
                if name in wanted:
                    raise DataError(
                        f"column {name!r} holds {_words(before)} in {origin[name]} and "
                        f"{_words(kind)} in {path}"
                    )
                kind = "several types"
            merged[name] = kind
            origin.setdefault(name, path)
    return {name: merged.get(name, np.dtype(np.float64)) for name in names}


def _words(kind: np.dtype[Any] | str) -> str:
    return "words" if kind == OBJECT else kind if isinstance(kind, str) else "numbers"
