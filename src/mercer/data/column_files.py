"""Files of columns as one source, and the pieces it can be divided into."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs as fs
from numpy.typing import DTypeLike

from mercer._typing import AnyArray, PointsLike, TargetsLike, WeightsLike
from mercer.data.arrow import as_source, column, kinds
from mercer.data.base import Block, Source
from mercer.data.choice import OBJECT, Choice, ColumnSource, Kinds, Names, listed
from mercer.data.delimited import Delimited
from mercer.data.ipc import Ipc
from mercer.data.parquet import File, Format, Parquet
from mercer.data.streams import Chain, rechunked
from mercer.data.table import DataError

__all__ = ["Delimited", "File", "Files", "Ipc", "Parquet", "Piece", "arrow_source"]

Constants = dict[str, int | str | None]
"""Columns that have one value in a whole file."""

PIECE_ROWS = 2**20
"""Rows of a piece, unless a single row group has more."""

MISSING_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""What others name a folder after whose rows have no value."""


class Piece(ColumnSource):
    """Some groups of rows of one file: a source of its own that travels by its description.

    Parameters
    ----------
    format : Format
    file : File
    schema : pyarrow.Schema
        Of the columns that are read.
    choice : Choice
    groups : tuple of int, optional
        Numbers of the groups; all of the file by default.
    n_rows : int, optional
        Number of rows, if it is known.
    start : int, optional
        Number of the first row in all files, if it is known.
    constants : dict, optional
        Columns that have one value in the whole file.
    """

    def __init__(
        self,
        format: Format,
        file: File,
        schema: pa.Schema,
        choice: Choice,
        groups: tuple[int, ...] | None = None,
        n_rows: int | None = None,
        start: int | None = 0,
        constants: Constants | None = None,
    ) -> None:
        self.format, self.file, self.schema = format, file, schema
        self.groups, self.n_rows, self.start = groups, n_rows, start
        self.constants = constants or {}
        self.choose(choice)

    def blocks(self, rows: int) -> Iterator[Block]:
        offset, n = self.start or 0, 0
        for block in rechunked(self.read(rows), rows):
            yield block._replace(start=block.start + offset)
            n = block.start + block.n
        self.counted(n)

    def read(self, rows: int) -> Iterator[Block]:
        """Yield the rows as the file gives them, at most `rows` of them at once.

        Parameters
        ----------
        rows : int
        """
        names = [name for name in self.choice.needed if name not in self.constants]
        words = {name for name, kind in kinds(self.schema).items() if kind == OBJECT}
        with self.file.watched():
            for batch in self.format.batches(self.file, self.schema, names, self.groups, rows):
                yield self.choice.block(partial(self._column, batch, words), batch.num_rows, 0)

    def counted(self, n: int) -> None:
        """Take down the number of rows, and refuse another than the file promised, or had before.

        Parameters
        ----------
        n : int
        """
        if self.n_rows not in (None, n):
            raise DataError(
                f"{self.file.path} gave {n} rows where {self.n_rows} were promised: it is damaged"
            )
        self.n_rows = n

    def _column(self, batch: pa.RecordBatch, words: set[str], name: str) -> AnyArray:
        if name in self.constants:
            value = self.constants[name]
            kind = OBJECT if isinstance(value, str) or value is None else None
            return np.full(batch.num_rows, value, dtype=kind)
        values = column(batch, name)
        if name in words and values.dtype != object:  # a column without any value
            values = np.full(batch.num_rows, None, dtype=object)
        return values

    def choosing(self, choice: Choice) -> Piece:
        """Return a piece that reads other columns.

        Parameters
        ----------
        choice : Choice
        """
        twin = copy(self)
        twin.choose(choice)
        return twin

    def part(self, groups: tuple[int, ...], n_rows: int, start: int | None) -> Piece:
        """Return some groups of rows as a piece.

        Parameters
        ----------
        groups : tuple of int
        n_rows, start : int
            Number of rows, and of the first of them in all files.
        """
        twin = copy(self)
        twin.groups, twin.n_rows, twin.start = groups, n_rows, start
        return twin


class Files(Chain):
    """Files of columns, one after the other.

    Each is looked at when the source is made, so that what is missing, cut short or of another
    shape is told before any work is done.

    Parameters
    ----------
    format : Format
    files : sequence of File
    target, features, weight, keep, dtype :
        As in :func:`mercer.data.open`.
    """

    sources: list[Piece]  # type: ignore[assignment]

    def __init__(
        self,
        format: Format,
        files: Sequence[File],
        target: Names = None,
        features: Names = None,
        weight: str | None = None,
        keep: Names = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        paths = [file.path for file in files]
        with ThreadPoolExecutor(8) as pool:
            footers = list(pool.map(format.inspect, files))
        if all(footer.groups is not None and not sum(footer.groups) for footer in footers):
            raise DataError(f"there are no rows in {', '.join(paths[:5])}")
        constants = _from_folders(paths)
        fixed = {name: _kind_of(c[name] for c in constants) for name in constants[0]}
        named = {*listed(target), *listed(features), *listed(weight), *listed(keep)}
        only = None if features is None else named
        # Of a hundred thousand files most look the same: what they hold is worked out once.
        keys = [footer.schema.remove_metadata().serialize().to_pybytes() for footer in footers]
        first = {key: k for k, key in reversed([*enumerate(keys)])}
        different = sorted(first.values())
        schemas = [footers[k].schema for k in different]
        self.kinds: Kinds = {**_merged(schemas, [paths[k] for k in different], only), **fixed}
        read = {keys[k]: _settled(footers[k].schema, self.kinds) for k in different}
        try:
            choice = Choice.make(self.kinds, target, features, weight, keep, dtype)
        except DataError as error:
            raise DataError(f"{paths[0]}: {error}") from error
        pieces: list[Piece] = []
        self.groups = [footer.groups for footer in footers]
        self._pages: dict[str, int] = {}
        for footer in footers:
            for name, size in footer.pages.items():
                self._pages[name] = max(size, self._pages.get(name, 0))
        start: int | None = 0
        for file, footer, key, constant in zip(files, footers, keys, constants, strict=True):
            n = None if footer.groups is None else sum(footer.groups)
            pieces.append(Piece(format, file, read[key], choice, None, n, start, constant))
            start = None if n is None or start is None else start + n
        super().__init__(pieces, paths)

    def blocks(self, rows: int) -> Iterator[Block]:
        return rechunked(self._read(rows), rows)

    @property
    def reading_bytes(self) -> int:  # type: ignore[override]
        """About how much memory reading takes beside the blocks."""
        return sum(self._pages.get(name, 0) for name in self.sources[0].choice.needed)

    def _read(self, rows: int) -> Iterator[Block]:
        for piece in self.sources:
            n = 0
            for block in piece.read(rows):
                yield block
                n += block.n
            piece.counted(n)

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
                        parts.append(whole.part(tuple(range(first, g + 1)), n, start))
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
        old = self.sources[0].choice
        kept = [*dict.fromkeys((*old.keep, *listed(keep)))]
        made = Choice.make(self.kinds, features=[*listed(features)] or [*old.features], keep=kept)
        choice = replace(old, features=made.features, keep=made.keep, dtype=made.dtype)
        twin = copy(self)
        twin.n_features, twin.feature_names = len(made.features), list(made.features)
        twin.sources = [piece.choosing(choice) for piece in self.sources]
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
        files = [File.found(path, system) for path in X.files]
        return Files(Parquet(), files, y, None, s)
    return as_source(X, y, s)


def _from_folders(paths: Sequence[str]) -> list[Constants]:
    """Return the columns that folders are named after, as in ``year=2013/part.parquet``."""
    found = [dict(re.findall(r"(?<![^/\\])([^/\\=]+)=([^/\\]*)(?=[/\\])", path)) for path in paths]
    names = found[0].keys()
    for path, columns in zip(paths, found, strict=True):
        if columns.keys() != names:
            raise DataError(f"{path} is not in folders {'/'.join(f'{n}=...' for n in names)}")
    for name in names:
        values = [columns[name] for columns in found]
        if all(re.fullmatch(r"-?\d{1,15}", value) for value in values):
            for columns in found:
                columns[name] = int(columns[name])
    return [
        {name: None if value == MISSING_FOLDER else value for name, value in columns.items()}
        for columns in found
    ]


def _kind_of(values: Iterable[object]) -> np.dtype[Any]:
    return np.dtype(np.int64) if all(isinstance(v, int) for v in values) else OBJECT


def _merged(schemas: Sequence[pa.Schema], paths: Sequence[str], only: set[str] | None) -> Kinds:
    """Return the types of columns in all files, or an error for a column that a file lacks."""
    found = []
    for path, schema in zip(paths, schemas, strict=True):
        try:
            found.append(kinds(schema))
        except ValueError as error:
            raise DataError(f"{path}: {error}") from error
    first = found[0]
    result: Kinds = {}
    wanted = {name for name in first if only is None or name in only}
    for path, other in zip(paths, found, strict=True):
        here = {name for name in other if only is None or name in only}
        if missing := wanted - here:
            raise DataError(f"{path} has no column {', '.join(sorted(missing))}; {paths[0]} has")
        if more := here - wanted:
            raise DataError(
                f"{path} has columns that {paths[0]} has not: {', '.join(sorted(more))}; say which "
                "columns are to be read with features=[...]"
            )
    for name in first:
        seen = {
            path: other[name]
            for path, other, schema in zip(paths, found, schemas, strict=True)
            if name in other and not pa.types.is_null(schema.field(name).type)
        }
        numbers = [k for k in seen.values() if not isinstance(k, str) and k != OBJECT]
        if not seen:
            result[name] = np.dtype(np.float64)
        elif len(numbers) == len(seen):
            result[name] = np.result_type(*numbers)
        elif len({str(k) for k in seen.values()}) == 1:
            result[name] = next(iter(seen.values()))
        elif name in wanted:
            a = next(iter(seen))
            b = next(path for path in seen if str(seen[path]) != str(seen[a]))
            raise DataError(
                f"column {name!r} holds {_words(seen[a])} in {a} and {_words(seen[b])} in {b}"
            )
    return result


def _settled(schema: pa.Schema, found: Kinds) -> pa.Schema:
    """Return the types columns are read as, from other files where a file has no value at all."""
    fields = []
    for field in schema:
        words = found.get(field.name) == OBJECT
        empty = pa.types.is_null(field.type)
        kind = (pa.string() if words else pa.float64()) if empty else field.type
        fields.append(pa.field(field.name, kind))
    return pa.schema(fields)


def _words(kind: np.dtype[Any] | str) -> str:
    return "words" if kind == OBJECT else kind if isinstance(kind, str) else "numbers"
