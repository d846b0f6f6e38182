"""Data frames of pandas and polars as sources, without importing either."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from mercer._typing import AnyArray, PointsLike, TargetsLike, WeightsLike
from mercer.data.base import Block
from mercer.data.choice import OBJECT, Choice, ColumnSource, Kinds, Names
from mercer.data.streams import rechunked
from mercer.data.table import DataError

__all__ = ["FRAMES", "POLARS", "Frame", "Query", "QueryAdapter"]


class Adapter(ABC):
    """Adapter from the data frames of one library to columns."""

    @abstractmethod
    def kinds(self, frame: PointsLike) -> Kinds:
        """Return the type of every column: of its numbers, object, or a name that is no use."""

    @abstractmethod
    def cut(self, frame: PointsLike, start: int, stop: int) -> PointsLike:
        """Return some rows."""

    @abstractmethod
    def column(self, frame: PointsLike, name: str) -> AnyArray:
        """Return a column as numbers, or as objects with None for missing values."""


class QueryAdapter(Adapter):
    """Adapter that can also run a query, whose frames come one after the other."""

    @abstractmethod
    def batches(self, query: PointsLike, columns: list[str], rows: int) -> Iterator[PointsLike]:
        """Yield the frames of a query, of about so many rows."""


class PandasAdapter(Adapter):
    """Frames of pandas, with its nullable, Arrow and categorical columns."""

    def kinds(self, frame: PointsLike) -> Kinds:
        return {str(name): self._kind(frame.iloc[:, j].dtype) for j, name in self._named(frame)}

    def cut(self, frame: PointsLike, start: int, stop: int) -> PointsLike:
        return frame.iloc[start:stop]

    def column(self, frame: PointsLike, name: str) -> AnyArray:
        series = frame.iloc[:, {str(key): j for j, key in self._named(frame)}[name]]
        kind = self._kind(series.dtype)
        if kind != OBJECT:
            if isinstance(series.dtype, np.dtype) or not series.isna().any():
                return np.asarray(series.to_numpy(dtype=kind))
            missing = kind if kind.kind == "f" else np.float64
            return np.asarray(series.to_numpy(dtype=missing, na_value=np.nan))
        values = np.array(series.astype(object).to_numpy(), dtype=object)
        values[np.asarray(series.isna(), dtype=bool)] = None
        return values

    @staticmethod
    def _named(frame: PointsLike) -> list[tuple[int, Any]]:
        return list(enumerate(frame.columns))

    @staticmethod
    def _kind(dtype: Any) -> Any:
        numpy_type = getattr(dtype, "numpy_dtype", dtype)
        if isinstance(numpy_type, np.dtype) and numpy_type.kind in "biuf":
            return numpy_type
        words = str(dtype).split("[")[0].split("(")[0]
        if words in {"object", "str", "string", "category", "large_string", "dictionary"}:
            return OBJECT
        return str(dtype)


class PolarsAdapter(QueryAdapter):
    """Frames of polars."""

    def kinds(self, frame: PointsLike) -> Kinds:
        return {name: self._kind(dtype) for name, dtype in frame.collect_schema().items()}

    def cut(self, frame: PointsLike, start: int, stop: int) -> PointsLike:
        return frame.slice(start, stop - start)

    def batches(self, query: PointsLike, columns: list[str], rows: int) -> Iterator[PointsLike]:
        chosen = query.select(columns)
        yield from chosen.collect_batches(chunk_size=rows, maintain_order=True)

    def column(self, frame: PointsLike, name: str) -> AnyArray:
        series = frame.get_column(name)
        values = np.asarray(series.to_numpy())
        if self._kind(series.dtype) == OBJECT:
            return values.astype(object)
        return values.astype(np.float64) if values.dtype == object else values

    @staticmethod
    def _kind(dtype: Any) -> Any:
        name = str(dtype).split("(")[0]
        if dtype.is_numeric():
            return np.dtype(np.float64 if name == "Decimal" else name.lower())
        if name == "Null":
            return np.dtype(np.float64)
        if name in {"Boolean", "String", "Categorical", "Enum"}:
            return np.dtype(bool) if name == "Boolean" else OBJECT
        return str(dtype)


POLARS = PolarsAdapter()
FRAMES: dict[str, Adapter] = {"pandas": PandasAdapter(), "polars": POLARS}


class Frame(ColumnSource):
    """A source over a data frame or an Arrow table.

    Parameters
    ----------
    frame : frame
    adapter : Adapter
    y, s : str, list of str, or array-like, optional
        Targets and weights: names of columns, or arrays of their own.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4], "y": ["no", "yes"]})
    >>> source = Frame(frame, FRAMES["pandas"], "y")
    >>> [block.y.tolist() for block in source.blocks(1)], source.feature_names
    ([['no'], ['yes']], ['a', 'b'])
    """

    def __init__(
        self, frame: PointsLike, adapter: Adapter, y: TargetsLike = None, s: WeightsLike = None
    ) -> None:
        self.frame, self.adapter = frame, adapter
        kinds = adapter.kinds(frame)
        if len(kinds) < frame.shape[1]:
            names = [str(name) for name in frame.columns]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise DataError(
                f"columns have different names, but {', '.join(map(repr, twice[:5]))} occurs more "
                "than once; rename or drop columns first"
            )
        named = isinstance(y, str) or (_is_names(y) and all(name in kinds for name in y))
        weight = s if isinstance(s, str) else None
        self.choose(Choice.make(kinds, y if named else None, weight=weight))
        self.y = None if self.choice.targets else _array(y)
        self.s = None if self.choice.weight else _array(s)
        self.n_rows = len(frame)
        for name, other in (("y", self.y), ("weights", self.s)):
            if other is not None and len(other) != self.n_rows:
                raise DataError(f"X has {self.n_rows} rows, {name} has {len(other)}")

    def blocks(self, rows: int) -> Iterator[Block]:
        assert self.n_rows is not None
        for start in range(0, self.n_rows, rows):
            stop = min(start + rows, self.n_rows)
            part = self.adapter.cut(self.frame, start, stop)
            block = self.choice.block(partial(self.adapter.column, part), stop - start, start)
            y = block.y if self.y is None else self.y[start:stop]
            s = block.s if self.s is None else self.s[start:stop]
            yield block._replace(y=y, s=s)


class Query(ColumnSource):
    """A source over a query that runs anew in every pass, and is never held whole.

    Parameters
    ----------
    query : polars.LazyFrame or pyarrow.dataset.Dataset
    adapter : QueryAdapter
        Of the frames that come of it.
    y, s : str or list of str, optional
        Names of the columns of targets and weights.
    """

    def __init__(
        self, query: PointsLike, adapter: QueryAdapter, y: Names = None, s: str | None = None
    ) -> None:
        for name, other in (("targets", y), ("weights", s)):
            if other is not None and not _is_names(other):
                raise TypeError(f"{name} beside a query are names of its columns")
        self.query, self.adapter = query, adapter
        self.choose(Choice.make(adapter.kinds(query), y, weight=s))

    def blocks(self, rows: int) -> Iterator[Block]:
        frames = self.adapter.batches(self.query, self.choice.needed, rows)
        read = (self.choice.block(partial(self.adapter.column, f), f.shape[0], 0) for f in frames)
        done = 0
        for block in rechunked(read, rows):
            yield block
            done = block.start + block.n
        self.n_rows = done


def _is_names(value: object) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list | tuple)
        and bool(value)
        and all(isinstance(item, str) for item in value)
    )


def _array(values: TargetsLike) -> AnyArray | None:
    return None if values is None else np.asarray(values)
