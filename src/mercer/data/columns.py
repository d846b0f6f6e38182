"""Columns of frames and tables: their types, their values, and the part that each plays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from mercer._optional import plugin
from mercer._typing import AnyArray, PointsLike, TargetsLike, WeightsLike
from mercer.data.arrays import rechunked
from mercer.data.base import Block, Source
from mercer.data.table import DataError, Table, common_type

__all__ = [
    "OBJECT",
    "Choice",
    "ColumnSource",
    "Frame",
    "Kinds",
    "Names",
    "Query",
    "kind_of",
    "kinds_of",
    "listed",
    "pandas_frame",
    "refusal",
    "values_of",
]

Names = str | Sequence[str] | None
Kinds = dict[str, np.dtype[Any] | str]
"""The type of every column: of its numbers, object, or the name of a type that is no use."""

OBJECT = np.dtype(object)

FLOAT = np.dtype(np.float64)

# Names of types in pandas, polars and Arrow that NumPy has not, or has for another type.
TYPES = {
    "boolean": np.dtype(bool),
    "float": np.dtype(np.float32),
    "halffloat": np.dtype(np.float16),
    **dict.fromkeys(("decimal", "decimal32", "decimal64", "decimal128", "decimal256"), FLOAT),
    "null": FLOAT,
    **dict.fromkeys(("object", "str", "string", "large_string", "string_view"), OBJECT),
    **dict.fromkeys(("category", "categorical", "enum"), OBJECT),
}


def kind_of(dtype: Any) -> np.dtype[Any] | str:
    """Return the type of the numbers of a column, object for words, or the name of another type.

    Parameters
    ----------
    dtype : dtype of pandas, polars or Arrow

    Examples
    --------
    >>> import polars as pl
    >>> kind_of(pl.Float32()), kind_of(pl.String()), kind_of(pl.Date())
    (dtype('float32'), dtype('O'), 'Date')
    """
    shown = str(dtype)
    if shown.startswith("dictionary<") and hasattr(dtype, "value_type"):
        return kind_of(dtype.value_type)
    name = re.split(r"[\[(<{]", shown)[0]
    if name == "Object":  # of polars: anything at all
        return shown
    if (known := TYPES.get(name.lower())) is not None:
        return known
    try:
        numbers = np.dtype(name if name[:1] in "<>" else name.lower())
    except TypeError:
        return shown
    return numbers if numbers.kind in "biuf" else shown


def kinds_of(frame: PointsLike) -> Kinds:
    """Return the types of the columns of a frame, a table or a query.

    Parameters
    ----------
    frame : frame of pandas or polars, lazy frame, table, dataset or schema of Arrow
    """
    if hasattr(frame, "collect_schema"):
        pairs = [*frame.collect_schema().items()]
    elif hasattr(frame, "dtypes"):
        pairs = [(str(name), dtype) for name, dtype in frame.dtypes.items()]
    else:
        schema: Any = getattr(frame, "schema", frame)
        pairs = [(field.name, field.type) for field in schema]
    names = [name for name, _ in pairs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise DataError(
            f"columns have different names, but {', '.join(map(repr, twice[:5]))} occurs more than "
            "once; rename or drop columns first"
        )
    return {name: kind_of(dtype) for name, dtype in pairs}


def values_of(column: Any) -> AnyArray:
    """Return a column as numbers, NaN where missing, or as objects, None where missing.

    Parameters
    ----------
    column : series of pandas or polars, array of Arrow

    Examples
    --------
    >>> import pandas as pd
    >>> values_of(pd.Series([1, None], dtype="Int8"))
    array([ 1., nan])
    """
    if hasattr(column, "combine_chunks"):
        column = column.combine_chunks()
        if hasattr(column, "chunks"):  # more than fits into one array
            return np.concatenate([values_of(chunk) for chunk in column.chunks])
    if hasattr(column, "dictionary_encode"):
        return _arrow_values(column)
    kind = kind_of(column.dtype)
    if hasattr(column, "is_null"):  # polars
        values = np.asarray(column.to_numpy())
        if kind == OBJECT:
            return values.astype(object)
        return values.astype(np.float64) if values.dtype == object else values
    if kind == OBJECT:
        values = np.array(column.astype(object).to_numpy(), dtype=object)
        values[np.asarray(column.isna(), dtype=bool)] = None
        return values
    if isinstance(column.dtype, np.dtype) or not column.isna().any():
        return np.asarray(column.to_numpy(dtype=kind))
    missing = kind if np.dtype(kind).kind == "f" else np.float64
    return np.asarray(column.to_numpy(dtype=missing, na_value=np.nan))


def _arrow_values(column: Any) -> AnyArray:
    shown = str(column.type)
    if kind_of(column.type) == OBJECT:
        # A string that occurs a thousand times becomes one object, not a thousand.
        encoded = column if shown.startswith("dictionary<") else column.dictionary_encode()
        words = np.array([*encoded.dictionary.to_pylist(), None], dtype=object)
        codes = encoded.indices.cast("int64").fill_null(len(words) - 1)
        return np.asarray(words[codes.to_numpy()])
    if shown.startswith("dictionary<"):
        column = column.dictionary_decode()
    if shown.startswith(("decimal", "null")):
        column = column.cast("float64")
    values = np.asarray(column.to_numpy(zero_copy_only=False))
    return values.astype(np.float64) if values.dtype == object else values


def pandas_frame(X: PointsLike, names: Sequence[str]) -> Any:
    """Return rows as a data frame of pandas; an array is not copied.

    Parameters
    ----------
    X : (n, p) array, CSR matrix or Table
    names : sequence of str

    Examples
    --------
    >>> pandas_frame(np.zeros((2, 2)), ["a", "b"]).columns.tolist()
    ['a', 'b']
    """
    pandas = plugin("pandas")
    if isinstance(X, Table):
        return pandas.DataFrame(dict(zip(names, X.columns.values(), strict=True)))
    if sp.issparse(X):
        return pandas.DataFrame.sparse.from_spmatrix(X, columns=list(names))
    return pandas.DataFrame(X, columns=list(names), copy=False)


def refusal(name: str, kind: str) -> str:
    """Return a sentence about a column of a type that cannot be used: how to make numbers of it.

    Parameters
    ----------
    name : str
    kind : str
        Name of the type.

    Examples
    --------
    >>> refusal("sold", "timestamp[us]")
    "column 'sold' holds timestamp[us]; leave it out, or give a data frame in memory to ..."
    """
    low = kind.lower()
    if low.startswith(("duration", "timedelta")):
        return (
            f"column {name!r} holds {kind}; give a number instead of a length of time, such as its "
            f"seconds (in pandas df[{name!r}].dt.total_seconds())"
        )
    if low.startswith("time") and not low.startswith("timestamp"):
        return (
            f"column {name!r} holds {kind}; give a number instead of a time of day, such as its "
            "hour, or leave it out"
        )
    if low.startswith("period"):
        return (
            f"column {name!r} holds {kind}; give the dates at which periods begin (in pandas "
            f"df[{name!r}].dt.to_timestamp())"
        )
    if low.startswith(("date", "timestamp")):
        return (
            f"column {name!r} holds {kind}; leave it out, or give a data frame in memory to "
            "AutoRegressor, AutoClassifier or mercer.preprocessing.TableEncoder, which encode "
            f"dates, or numbers that matter, such as the year (in pandas df[{name!r}].dt.year)"
        )
    return (
        f"column {name!r} holds {kind}, which is neither numbers nor categories; leave it out "
        "(features=[...]), or turn it into numbers first"
    )


def listed(names: Names) -> tuple[str, ...]:
    """Return names that may be one or none as a tuple."""
    return () if names is None else (names,) if isinstance(names, str) else tuple(names)


@dataclass(frozen=True)
class Choice:
    """Columns by the part they play.

    Parameters
    ----------
    features : tuple of str
    targets : tuple of str
        None or one or several; one gives targets (n,), several (n, d).
    weight : str, optional
    keep : tuple of str
        Columns that travel along unseen, to be written beside predictions.
    dtype : dtype, optional
        Type of the array of features; None if some are not numbers, and blocks hold a table.
    matrix : bool
        Whether targets are (n, d) although there is one.
    """

    features: tuple[str, ...]
    targets: tuple[str, ...] = ()
    weight: str | None = None
    keep: tuple[str, ...] = ()
    dtype: np.dtype[Any] | None = None
    matrix: bool = False

    @classmethod
    def make(
        cls,
        kinds: Kinds,
        target: Names = None,
        features: Names = None,
        weight: str | None = None,
        keep: Names = None,
        dtype: DTypeLike | None = None,
    ) -> Choice:
        """Return the columns that were asked for, or a sentence about those that cannot be had.

        Parameters
        ----------
        kinds : dict from str to dtype or str
            For every column the type of its numbers, object if they are not numbers, or the name
            of a type that cannot be used.
        target, features, weight, keep : str or sequence of str, optional
            By default all columns that play no other part are features.
        dtype : dtype, optional
            Type of the array of features; by default the smallest that holds them.

        Examples
        --------
        >>> kinds = {"x": np.dtype("f4"), "y": np.dtype("f8"), "when": "timestamp"}
        >>> Choice.make(kinds, target="y", features="x").dtype
        dtype('float32')
        >>> Choice.make(kinds, target="yy")
        Traceback (most recent call last):
        mercer.data.table.DataError: there is no column 'yy'; did you mean 'y'? There are: x, ...
        """
        targets, kept = listed(target), listed(keep)
        chosen = listed(features)
        for name in (*targets, *kept, *chosen, *listed(weight)):
            if name not in kinds:
                close = get_close_matches(name, kinds, n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ";"
                shown = ", ".join(list(kinds)[:20]) + (", ..." if len(kinds) > 20 else "")
                raise DataError(f"there is no column {name!r}{hint} There are: {shown}")
        if features is None:
            other = {*targets, *kept, *listed(weight)}
            chosen = tuple(name for name in kinds if name not in other)
        if not chosen:
            raise DataError("no columns are left to be features")
        if both := {*chosen} & {*targets}:
            raise DataError(f"both feature and target: {', '.join(sorted(both))}")
        for name in (*chosen, *targets, *listed(weight)):
            if isinstance(kind := kinds[name], str):
                raise DataError(refusal(name, kind))
        if weight is not None and kinds[weight] == OBJECT:
            raise DataError(f"weights are numbers; column {weight!r} is not")
        if len(targets) > 1 and any(kinds[name] == OBJECT for name in targets):
            raise DataError(f"several targets are numbers; not all of {', '.join(targets)} are")
        numeric = all(kinds[name] != OBJECT for name in chosen)
        found = common_type([kinds[name] for name in chosen]) if numeric else None
        if numeric and dtype is not None:
            found = np.dtype(dtype)
        several = target is not None and not isinstance(target, str)
        return cls(chosen, targets, weight, kept, found, several)

    @property
    def needed(self) -> list[str]:
        """Names of the columns to read, each once."""
        return list(
            dict.fromkeys((*self.features, *self.targets, *listed(self.weight), *self.keep))
        )

    def block(self, column: Callable[[str], AnyArray], n: int, start: int) -> Block:
        """Return a block of rows.

        Parameters
        ----------
        column : callable
            From a name to the values (n,): numbers, or objects with None for what is missing.
        n, start : int
            Number of rows and of the first of them.
        """
        X: PointsLike
        if self.dtype is None:
            X = Table({name: column(name) for name in self.features})
        else:
            X = np.empty((n, len(self.features)), dtype=self.dtype)
            for j, name in enumerate(self.features):
                X[:, j] = column(name)
        y: TargetsLike = None
        if self.targets:
            values = [column(name) for name in self.targets]
            y = np.stack(values, axis=1) if self.matrix else values[0]
        s = None if self.weight is None else column(self.weight).astype(np.float64)
        keep = Table({name: column(name) for name in self.keep}) if self.keep else None
        return Block(X, y, s, start, keep)


class ColumnSource(Source):
    """A source of rows that have columns, some of which are chosen."""

    choice: Choice

    def choose(self, choice: Choice) -> None:
        """Read these columns from now on.

        Parameters
        ----------
        choice : Choice
        """
        self.choice = choice
        self.n_features, self.feature_names = len(choice.features), list(choice.features)


class Frame(ColumnSource):
    """A source over a data frame or an Arrow table.

    Parameters
    ----------
    frame : frame of pandas or polars, table or record batch of Arrow
    y, s : str, list of str, or array-like, optional
        Targets and weights: names of columns, or arrays of their own.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4], "y": ["no", "yes"]})
    >>> source = Frame(frame, "y")
    >>> [block.y.tolist() for block in source.blocks(1)], source.feature_names
    ([['no'], ['yes']], ['a', 'b'])
    """

    def __init__(self, frame: PointsLike, y: TargetsLike = None, s: WeightsLike = None) -> None:
        self.frame, kinds = frame, kinds_of(frame)
        self.numbers = {name: j for j, name in enumerate(kinds)}
        named = isinstance(y, str) or (_is_names(y) and all(name in kinds for name in y))
        weight = s if isinstance(s, str) else None
        self.choose(Choice.make(kinds, y if named else None, weight=weight))
        self.y = None if y is None or named else np.asarray(y)
        self.s = None if s is None or weight else np.asarray(s)
        self.n_rows = int(frame.shape[0])
        for name, other in (("y", self.y), ("weights", self.s)):
            if other is not None and len(other) != self.n_rows:
                raise DataError(f"X has {self.n_rows} rows, {name} has {len(other)}")

    def blocks(self, rows: int) -> Iterator[Block]:
        assert self.n_rows is not None
        for start in range(0, self.n_rows, rows):
            stop = min(start + rows, self.n_rows)
            cut = partial(self._cut, start, stop)
            block = self.choice.block(cut, stop - start, start)
            y = block.y if self.y is None else self.y[start:stop]
            s = block.s if self.s is None else self.s[start:stop]
            yield block._replace(y=y, s=s)

    def _cut(self, start: int, stop: int, name: str) -> AnyArray:
        if hasattr(self.frame, "iloc"):
            return values_of(self.frame.iloc[start:stop, self.numbers[name]])
        column = self.frame[name] if hasattr(self.frame, "get_column") else self.frame.column(name)
        return values_of(column.slice(start, stop - start))


class Query(ColumnSource):
    """A source over a query that runs anew in every pass, and is never held whole.

    Parameters
    ----------
    query : polars.LazyFrame or pyarrow.dataset.Dataset
    y, s : str or list of str, optional
        Names of the columns of targets and weights.
    """

    def __init__(self, query: PointsLike, y: Names = None, s: str | None = None) -> None:
        for name, other in (("targets", y), ("weights", s)):
            if other is not None and not _is_names(other):
                raise TypeError(f"{name} beside a query are names of its columns")
        self.query = query
        self.choose(Choice.make(kinds_of(query), y, weight=s))

    def blocks(self, rows: int) -> Iterator[Block]:
        needed, done = self.choice.needed, 0
        frames: Iterator[Any]
        if hasattr(self.query, "collect_batches"):
            chosen = self.query.select(needed)
            frames = chosen.collect_batches(chunk_size=rows, maintain_order=True)
        else:
            # Arrow reads ahead sixteen batches of four files unless it is told not to.
            little = {"batch_readahead": 1, "fragment_readahead": 1, "use_threads": False}
            frames = self.query.to_batches(columns=needed, batch_size=rows, **little)
        read = (self.choice.block(partial(_column, f), f.shape[0], 0) for f in frames)
        for block in rechunked(read, rows):
            yield block
            done = block.start + block.n
        self.n_rows = done


def _column(frame: Any, name: str) -> AnyArray:
    return values_of(frame[name])


def _is_names(value: object) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list | tuple)
        and bool(value)
        and all(isinstance(item, str) for item in value)
    )
