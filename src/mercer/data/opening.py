"""The door to a source for whatever holds rows."""

from __future__ import annotations

import sys

import scipy.sparse as sp

from mercer._optional import plugin
from mercer._typing import PointsLike, TargetsLike, WeightsLike
from mercer.data.arrays import Arrays
from mercer.data.base import Mapped, Source
from mercer.data.frames import FRAMES, POLARS, Frame, Query
from mercer.data.streams import Stream
from mercer.data.table import Table

__all__ = ["as_source", "is_source"]


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
        return Query(X, POLARS, y, s)
    if home == "polars" and hasattr(X, "collect"):
        raise TypeError("lazy frames are read in batches by polars 1.34 and newer; call collect()")
    if home in FRAMES and hasattr(X, "columns"):
        return Frame(X, FRAMES[home], y, s)
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
