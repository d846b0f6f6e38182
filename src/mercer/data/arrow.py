"""Tables and datasets of Arrow as sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from mercer._typing import AnyArray, PointsLike, TargetsLike, WeightsLike
from mercer.data.base import Source
from mercer.data.choice import OBJECT, Kinds
from mercer.data.frames import Frame, Query, QueryAdapter

__all__ = ["ArrowAdapter", "as_source", "column", "kinds"]


def kinds(schema: pa.Schema) -> Kinds:
    """Return the type of every column: of its numbers, object, or the name of one that is no use.

    Parameters
    ----------
    schema : pyarrow.Schema

    Examples
    --------
    >>> kinds(pa.schema({"x": pa.float32(), "word": pa.string(), "when": pa.date32()}))
    {'x': dtype('float32'), 'word': dtype('O'), 'when': 'date32[day]'}
    """
    if len(set(schema.names)) < len(schema.names):
        raise ValueError(f"columns have different names; these do not: {', '.join(schema.names)}")
    return {field.name: _kind(field.type) for field in schema}


def _kind(kind: pa.DataType) -> Any:
    if pa.types.is_dictionary(kind):
        return _kind(kind.value_type)
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return np.dtype(kind.to_pandas_dtype())
    if pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return np.dtype(np.float64)
    words = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return OBJECT if any(test(kind) for test in words) else str(kind)


def column(batch: pa.RecordBatch | pa.Table, name: str) -> AnyArray:
    """Return a column as numbers, NaN where missing, or as objects, None where missing.

    Parameters
    ----------
    batch : pyarrow.RecordBatch or pyarrow.Table
    name : str

    Examples
    --------
    >>> column(pa.table({"x": pa.array([1, None], pa.int8())}), "x")
    array([ 1., nan])
    """
    values = batch.column(name)
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.ChunkedArray):  # what does not fit into one array
        return np.concatenate([_array(chunk) for chunk in values.chunks])
    return _array(values)


def _array(values: pa.Array) -> AnyArray:
    if _kind(values.type) == OBJECT:
        # A string that occurs a thousand times becomes one object, not a thousand.
        encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        words = np.array([*encoded.dictionary.to_pylist(), None], dtype=object)
        return np.asarray(words[encoded.indices.fill_null(len(words) - 1).to_numpy()])
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_decimal(values.type) or pa.types.is_null(values.type):
        values = values.cast(pa.float64())
    array = np.asarray(values.to_numpy(zero_copy_only=False))
    return array.astype(np.float64) if array.dtype == object else array


class ArrowAdapter(QueryAdapter):
    """Tables of Arrow."""

    def kinds(self, frame: pa.Table) -> Kinds:
        return kinds(frame.schema)

    def cut(self, frame: pa.Table, start: int, stop: int) -> pa.Table:
        return frame.slice(start, stop - start)

    def column(self, frame: pa.Table, name: str) -> AnyArray:
        return column(frame, name)

    def batches(self, query: ds.Dataset, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
        # Arrow reads ahead sixteen batches of four files unless it is told not to.
        little = {"batch_readahead": 1, "fragment_readahead": 1, "use_threads": False}
        yield from query.to_batches(columns=columns, batch_size=rows, **little)


def as_source(X: PointsLike, y: TargetsLike = None, s: WeightsLike = None) -> Source:
    """Return a table, record batch or dataset of Arrow as a source.

    Parameters
    ----------
    X : pyarrow.Table, pyarrow.RecordBatch or pyarrow.dataset.Dataset
    y, s : str, list of str or array-like, optional
    """
    if isinstance(X, ds.Dataset):
        source = Query(X, ArrowAdapter(), y, s)
        source.n_rows = int(X.count_rows())
        return source
    if isinstance(X, pa.RecordBatch):
        X = pa.Table.from_batches([X])
    if not isinstance(X, pa.Table):
        raise TypeError(
            f"a {type(X).__name__} gives its batches once, but a fit reads them again and again; "
            "pass a table, a dataset, or mercer.data.open(path)"
        )
    return Frame(X, ArrowAdapter(), y, s)
