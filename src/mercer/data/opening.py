"""Sources of whatever holds rows: objects in memory, collections, and files of every format."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from mercer._optional import plugin
from mercer._typing import PointsLike, TargetsLike, WeightsLike
from mercer.data.array_files import Stamp, opened
from mercer.data.arrays import Arrays, Chain, Stream
from mercer.data.base import Mapped, Source
from mercer.data.columns import Choice, Frame, Names, Query, kind_of
from mercer.data.table import DataError, Table

__all__ = ["COLUMNS", "as_source", "is_source", "open"]

COLUMNS = {
    "parquet": "parquet", "pq": "parquet", "parq": "parquet",
    "csv": "csv", "tsv": "csv", "txt": "csv",
    "arrow": "arrow", "arrows": "arrow", "feather": "arrow", "ipc": "arrow",
}  # fmt: skip
ARRAYS = {"npy": "npy", "h5": "hdf5", "hdf5": "hdf5", "hdf": "hdf5", "zarr": "zarr"}
CHUNKED = ("hdf5", "zarr")
FORMATS = COLUMNS | ARRAYS
STORE = (".zarray", ".zgroup", "zarr.json")


def is_source(X: PointsLike) -> bool:
    """Return whether rows come in blocks: a source, or a collection of Dask.

    Parameters
    ----------
    X : object

    Examples
    --------
    >>> import numpy as np
    >>> is_source(as_source(np.zeros((3, 2)))), is_source(np.zeros((3, 2)))
    (True, False)
    """
    return isinstance(X, Source) or _home(X) in {"dask", "dask_expr"}


def as_source(X: PointsLike, y: TargetsLike = None, s: WeightsLike = None) -> Source:
    """Return rows, with their targets and weights, as a source.

    Parameters
    ----------
    X : Source, array, sparse matrix, memory map, frame, or re-iterable of blocks
        An array of NumPy, SciPy, HDF5 or Zarr; a frame of pandas or polars, also a lazy one; a
        table or dataset of Arrow; a collection of Dask; a mapping from names to columns; a list of
        blocks ``X``, ``(X, y)`` or ``(X, y, s)``, anything that yields such blocks anew each time,
        or a function that returns an iterator over them.
    y, s : array-like, str or list of str, optional
        Targets and weights, if `X` does not bring them: arrays, or names of columns of a frame.

    Examples
    --------
    >>> import numpy as np
    >>> as_source(np.zeros((3, 2))).n_rows
    3
    >>> as_source({"x": [1.0, 2.0], "colour": ["red", "blue"]}).feature_names
    ['x', 'colour']
    """
    if isinstance(X, Source):
        if y is not None or s is not None:
            raise TypeError(
                "a source brings its targets and weights; name them where it is opened, as in "
                "mercer.data.open(path, target='y')"
            )
        return _placed(X)
    if isinstance(X, str):
        raise TypeError(f"files are opened: mercer.data.open({X!r}, target=...)")
    home = _home(X)
    if home in {"dask", "dask_expr"}:
        source: Source = plugin("dask").as_source(X, y, s)
        return source
    if home == "pyarrow":
        source = plugin("column_files").arrow_source(X, y, s)
        return source
    if hasattr(X, "collect_batches"):
        return Query(X, y, s)
    if home == "polars" and hasattr(X, "collect"):
        raise TypeError("lazy frames are read in batches by polars 1.34 and newer; call collect()")
    if home in {"pandas", "polars"} and hasattr(X, "columns"):
        return Frame(X, y, s)
    if isinstance(X, dict):
        X = Table(X)
    if _blocks(X):
        if y is not None or s is not None:
            raise TypeError("blocks bring their targets: give (X, y) or (X, y, s)")
        return Stream(X, as_source)
    return Arrays(X, y, s)


def _home(X: PointsLike) -> str:
    return type(X).__module__.split(".")[0]


def _blocks(X: PointsLike) -> bool:
    """Return whether an object yields blocks, rather than rows of numbers."""
    if callable(X):
        return True
    if hasattr(X, "shape") or sp.issparse(X) or isinstance(X, str | bytes):
        return False
    if isinstance(X, list | tuple):
        first = X[0] if X else None
        first = first[0] if isinstance(first, tuple) and first else first
        return isinstance(first, Source) or len(getattr(first, "shape", ())) == 2
    return hasattr(X, "__iter__") and not hasattr(X, "__array__")


def _placed(source: Source) -> Source:
    """Return a source of files read by the workers of a cluster, if a cluster is open."""
    if "distributed" in sys.modules:
        if isinstance(source, Mapped):
            inner = _placed(source.source)
            if inner is not source.source:
                return Mapped(
                    inner, source.function, source.feature_names if source.renamed else None
                )
        elif hasattr(source, "pieces"):
            placed: Source = plugin("dask").as_source(source)
            return placed
    return source


def open(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    target: TargetsLike = None,
    features: Names = None,
    weight: WeightsLike = None,
    *,
    keep: Names = None,
    format: str | None = None,
    dtype: DTypeLike | None = None,
    delimiter: str | None = None,
    names: Sequence[str] | None = None,
    types: dict[str, str] | None = None,
    encoding: str | None = None,
    filesystem: Any = None,
    missing_chunks: Literal["refuse", "fill"] = "refuse",
) -> Source:
    """Open files as a source of rows that is read block by block.

    Parameters
    ----------
    path : str, path, or list of them
        Files, a pattern such as ``"data/*.parquet"``, or a folder. Files of columns: Parquet, CSV
        and TSV (also compressed), Arrow and Feather; folders ``year=2013/`` give a column. Arrays:
        ``.npy``, ``"file.h5::name"``, ``"file.zarr::name"``. A path may be a URI such as
        ``"s3://bucket/folder"``.
    target : str or list of str, optional
        Column of targets, or several. Beside an array: a file or name of an array, or an array.
    features : str or list of str, optional
        Columns of features; by default all that play no other part.
    weight : str, optional
        Column of weights; beside an array as `target`.
    keep : str or list of str, optional
        Columns that travel along, to be written beside predictions.
    format : {"parquet", "csv", "arrow", "npy", "hdf5", "zarr"}, optional
        By default what the names of the files end in.
    dtype : dtype, optional
        Type of the features; by default single precision if that holds the columns exactly.
    delimiter : str, optional
        Between the values of a text file: a comma, or a tabulator in ``.tsv``.
    names : list of str, optional
        Names of the columns of a text file without a line of names.
    types : dict from str to str, optional
        Types of columns of a text file, in Arrow's words: ``{"zip": "string"}``.
    encoding : str, optional
        Of a text file, such as ``"latin-1"``; UTF-8 by default, or UTF-16 if the file begins so.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, optional
        Where the files are; by default this machine, or what a URI says.
    missing_chunks : {"refuse", "fill"}, default="refuse"
        Zarr leaves out chunks that hold nothing but the fill value, and HDF5 those that were never
        written; a chunk that was lost looks the same. ``"refuse"`` says which one is missing;
        ``"fill"`` reads it as the fill value.

    Returns
    -------
    Source
        Its files were looked at: one that is cut short, or has other columns, was refused by name.
        What is no file, such as a pipe or a device, is refused too, since a fit reads rows again
        and again. A file of this machine that is changed or removed before a fit has read it for
        the last time ends the fit with its name.

    Examples
    --------
    >>> import mercer, tempfile, pandas as pd
    >>> folder = tempfile.mkdtemp()
    >>> for k in range(2):
    ...     frame = pd.DataFrame({"x": [0.1, 0.2], "z": [k, k], "y": ["no", "yes"]})
    ...     frame.to_parquet(f"{folder}/part-{k}.parquet")
    >>> source = mercer.data.open(f"{folder}/*.parquet", target="y")
    >>> source.n_rows, source.feature_names
    (4, ['x', 'z'])
    """
    if missing_chunks not in ("refuse", "fill"):
        raise ValueError(f"missing_chunks is 'refuse' or 'fill', not {missing_chunks!r}")
    paths, filesystem = _found(path, filesystem)
    kind, fill = _format(paths, format), missing_chunks == "fill"
    if fill and kind not in CHUNKED:
        raise TypeError(f"missing_chunks is for {' and '.join(CHUNKED)}, not for {kind}")
    if kind in ARRAYS.values():
        if features is not None or keep is not None:
            raise TypeError(f"arrays of {kind} have no names of columns; leave out features, keep")
        if len(paths) > 1 and (target is not None or weight is not None):
            raise TypeError(f"{len(paths)} arrays cannot share a target; chain sources instead")
        sources = [_array_source(p, kind, target, weight, fill) for p in paths]
        return sources[0] if len(sources) == 1 else Chain(sources, paths)
    if kind != "csv" and (delimiter or names or types or encoding):
        raise TypeError(f"delimiter, names, types, encoding are for text files, not for {kind}")
    reader = plugin("column_files")
    sign = delimiter or ("\t" if re.search(r"\.tsv(\.\w+)?$", paths[0]) else ",")
    text = reader.Text(sign, None if names is None else tuple(names), dict(types or {}), encoding)
    files = [reader.ColumnFile.found(p, kind, filesystem, text) for p in paths]
    source: Source = reader.Files(files, target, features, weight, keep, dtype)
    return source


def _found(path: Any, filesystem: Any) -> tuple[list[str], Any]:
    """Return the files a path means, in order, and where they are."""
    if not isinstance(path, str | os.PathLike):
        if not path:
            raise DataError("an empty list of files was given")
        parts = [_found(item, filesystem) for item in path]
        return [name for names, _ in parts for name in names], parts[0][1]
    text = os.fspath(path)
    if filesystem is not None or "://" in text:
        found, filesystem = plugin("column_files").found(text, filesystem, _looks_like_data)
    else:
        text = os.path.expanduser(text)
        file, _, _ = text.partition("::")
        if os.path.isdir(file) and not _is_store(file):
            everything = (str(p) for p in Path(file).rglob("*") if not p.is_dir())
            found = [p for p in everything if _looks_like_data(os.path.relpath(p, file))]
        else:
            found = [text] if os.path.lexists(file) else glob.glob(text, recursive=True)
        for name in found:
            file, _, _ = name.partition("::")
            if not (os.path.isdir(file) and _is_store(file)):
                Stamp.of(file)
    if not found:
        raise DataError(f"there are no files {text}")
    return sorted(found), filesystem


def _is_store(folder: str) -> bool:
    """Return whether a folder is a Zarr store: by its name, or by its files."""
    named = folder.rstrip("/").endswith(".zarr")
    return named or any(os.path.isfile(os.path.join(folder, name)) for name in STORE)


def _looks_like_data(path: str) -> bool:
    """Return whether a file in a folder is one of its data: not hidden, of a format we know."""
    hidden = any(part[0] in "._" for part in path.split("/") if part and "=" not in part)
    return not hidden and _ending(path) in COLUMNS.keys() | {"npy"}


def _ending(path: str) -> str:
    name = path.partition("::")[0].rstrip("/").lower()
    parts = name.rsplit("/", 1)[-1].split(".")
    return parts[-2] if len(parts) > 2 and parts[-1] in {"gz", "bz2", "zst", "lz4"} else parts[-1]


def _format(paths: Sequence[str], given: str | None) -> str:
    if given is not None:
        if given not in FORMATS.values():
            raise ValueError(f"format is one of {', '.join(sorted({*FORMATS.values()}))}")
        return given
    kinds = {FORMATS.get(_ending(p), "") for p in paths}
    if len(kinds) > 1:
        raise DataError(f"files of several formats: {', '.join(paths[:5])}; give one pattern each")
    kind = kinds.pop()
    if _ending(paths[0]) == "npz":
        raise DataError(
            f"{paths[0]} is an archive of arrays; save its arrays one by one with np.save, or pass "
            "those that np.load returns"
        )
    if not kind:
        raise DataError(f"the format of {paths[0]} is not known by its name; say format='parquet'")
    return kind


def _array_source(
    path: str, kind: str, target: TargetsLike, weight: WeightsLike, fill: bool
) -> Source:
    X: Any = opened(path, kind, fill)
    fields = X.dtype.names
    try:
        if not fields:
            y, s = (_beside(path, kind, other, fill) for other in (target, weight))
            return Arrays(X, y, s)
        table = {name: np.asarray(X[name]) for name in fields}
        kinds = {
            name: kind_of("str" if v.dtype.kind in "US" else v.dtype) for name, v in table.items()
        }
        chosen = Choice.make(kinds, target, weight=weight)
        block = chosen.block(lambda name: table[name], len(X), 0)
        names = list(chosen.features)
        return Arrays(block.X, block.y, block.s, None if isinstance(block.X, Table) else names)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def _beside(path: str, kind: str, other: Any, fill: bool) -> Any:
    """Return targets or weights: an array, a file of one, or an array in the same store."""
    if not isinstance(other, str | os.PathLike):
        return other
    text = os.fspath(other)
    if kind != "npy" and _ending(text) not in ARRAYS:
        text = f"{path.partition('::')[0]}::{text}"
    return opened(text, FORMATS.get(_ending(text), kind), fill)
