"""Columns of tables: reading them from frames, and the sums by which they are told apart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import time, timedelta
from decimal import Decimal
from numbers import Complex, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer._typing import AnyArray, PointsLike
from mercer.data import Categories, DataError, as_source
from mercer.data.base import Block, PerColumn
from mercer.data.columns import refusal
from mercer.data.sampling import fingerprints
from mercer.data.statistics import Counts, counted
from mercer.data.table import Table, hashes
from mercer.preprocessing.readings import Reading

__all__ = ["ColumnStatistics", "infinite", "numbers", "summarized", "tabled"]

Bits = NDArray[np.uint64]

UNNAMED = re.compile(r"(Unnamed: 0)?")
"""Names of a column that has none."""

DATES = ("datetime", "date", "timestamp")
"""How the types of columns of dates begin, in the words of pandas, polars and Arrow."""


# Reading ------------------------------------------------------------------------------------------


def tabled(X: PointsLike, names: list[str], *, declared: bool) -> Table:
    """Return a frame or an array as a table: numbers, dates, or objects that are words.

    Parameters
    ----------
    X : frame, or (n, p) array-like of objects
    names : list of str
    declared : bool
        Whether columns of pandas' categorical type are categories even if their labels are numbers.

    Examples
    --------
    >>> table = tabled([["a", 1], ["b", None]], ["x0", "x1"], declared=True)
    >>> table.text, table.columns["x1"]
    (['x0'], array([ 1., nan]))
    """
    categories = _declared(X) if declared else {}
    orders: dict[str, list[Any]] = {}
    if hasattr(X, "columns"):
        if not len(X):
            raise ValueError(f"Found a table with 0 sample(s) (shape={X.shape})")
        labels = _labels_of(X)
        dates = _dates(X, labels)
        others = [label for label in labels if label not in dates]
        found: dict[Any, AnyArray] = dict(dates)
        if others:
            rest = X if not dates else X.select(others) if hasattr(X, "select") else X[others]
            block = next(as_source(rest).blocks(len(X))).X
            each = block.columns.values() if isinstance(block, Table) else block.T
            found |= dict(zip(others, each, strict=True))
        # Columns without words for names are called x0, x1, ..., as scikit-learn does.
        columns = {name: found[label] for name, label in zip(names, labels, strict=True)}
        categories = {
            name: categories[str(label)]
            for name, label in zip(names, labels, strict=True)
            if str(label) in categories
        }
        orders = {
            name: kind.categories.tolist() for name, kind in categories.items() if kind.ordered
        }
    else:
        dated = getattr(getattr(X, "dtype", None), "kind", "O") == "M"
        columns = dict(zip(names, np.asarray(X, dtype=None if dated else object).T, strict=True))
    return Table(
        {
            name: _plain(values, name, name in categories) if values.dtype == object else values
            for name, values in columns.items()
        },
        categories,
        orders,
    )


def _declared(X: PointsLike) -> dict[str, Any]:
    """Return the columns of pandas' categorical type, each with its type."""
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return {}
    kinds = zip(X.columns, X.dtypes, strict=True)
    return {str(name): kind for name, kind in kinds if str(kind) == "category"}


def _labels_of(X: PointsLike) -> list[Any]:
    return list(X.columns if hasattr(X, "dtypes") else X.schema.names)


def _dates(X: PointsLike, labels: list[Any]) -> dict[Any, AnyArray]:
    """Return the columns of a frame that hold dates by their type, in UTC if they have a zone."""
    kinds = list(X.dtypes if hasattr(X, "dtypes") else X.schema.types)
    if len(set(labels)) < len(labels):  # refused where the other columns are read
        return {}
    found = {}
    for label, kind in zip(labels, kinds, strict=True):
        if str(kind).lower().startswith(DATES):
            values = X[label]
            zoned = getattr(kind, "tz", None) is not None and hasattr(values, "dt")
            made = np.asarray(values.to_numpy("datetime64[us]") if zoned else values.to_numpy())
            # Columns of Arrow in pandas come as objects, which are read one by one.
            found[label] = made.astype("datetime64[us]" if made.dtype.kind == "M" else object)
    return found


def _plain(values: AnyArray, name: str, category: bool) -> AnyArray:
    """Return a column of objects as numbers if it holds numbers only and is no category."""
    types = {type(value) for value in values.tolist()}
    for kind in types:
        if issubclass(kind, time | timedelta | np.timedelta64):
            raise DataError(refusal(name, f"{kind.__name__.lower()} objects"))
        nested = kind.__hash__ is None or issubclass(kind, tuple | frozenset)
        if nested or (issubclass(kind, Complex) and not issubclass(kind, Real)):
            raise DataError(refusal(name, f"values of type {kind.__name__}"))
    if any(kind.__name__ == "NAType" for kind in types):
        values = np.array([None if type(v).__name__ == "NAType" else v for v in values], object)
    numeric = all(issubclass(kind, Real | Decimal | None.__class__) for kind in types)
    return numbers(values, name) if numeric and not category else values


def numbers(values: AnyArray, name: str) -> NDArray[np.float64]:
    """Return a column as floating-point numbers, and refuse infinite numbers.

    A word among numbers is a missing cell; words alone are refused.

    Parameters
    ----------
    values : (n,) array
    name : str
        Name of the column, for the sentence.
    """
    try:
        found = values.astype(np.float64)
    except OverflowError:
        found = np.array([np.inf])
    except (TypeError, ValueError):
        found = Reading("point").apply(values, name)
        if np.isnan(found).all():
            words = f"column {name!r} held numbers in the fit; it holds words now"
            raise DataError(words) from None
    if np.isinf(found).any():
        raise DataError(infinite(name))
    return found


def infinite(name: str) -> str:
    return (
        f"column {name!r} of X contains infinity, or a number too large for double precision; "
        "replace it by a finite number, or by NaN if it is missing"
    )


# Sums over blocks ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnStatistics:
    """Counts, range and fingerprints of a column of a table.

    Parameters
    ----------
    n : int
        Number of rows.
    categorical : bool
    counted : Categories
        Values of categories with their counts, under the name of the column; none of numbers.
    missing : int
        Missing numbers.
    low, high : float
        Smallest and largest number; of a column without a number, infinity and minus infinity.
    infinite, whole : bool
        Whether there are infinite numbers, and whether all numbers are whole.
    digest, gaps : int
        Fingerprints of the values, and of the places of missing numbers as 0 and 1.
    """

    n: int
    categorical: bool
    counted: Categories
    missing: int = 0
    low: float = np.inf
    high: float = -np.inf
    infinite: bool = False
    whole: bool = True
    digest: int = 0
    gaps: int = 0

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.counted.names[0]

    @property
    def counts(self) -> Counts:
        """Values of a category with their counts; empty for numbers."""
        return self.counted.counts[0]

    def __add__(self, other: ColumnStatistics) -> ColumnStatistics:
        if self.categorical != other.categorical:
            words = f"column {self.name!r} holds numbers in some blocks and words in others"
            raise DataError(words)
        return ColumnStatistics(
            self.n + other.n,
            self.categorical,
            self.counted + other.counted,
            self.missing + other.missing,
            min(self.low, other.low),
            max(self.high, other.high),
            self.infinite or other.infinite,
            self.whole and other.whole,
            (self.digest + other.digest) % 2**64,
            (self.gaps + other.gaps) % 2**64,
        )

    def useless(self, first: bool) -> str | None:
        """Return why a column of numbers says nothing, or None if it does.

        Parameters
        ----------
        first : bool
            Whether it is the first column.
        """
        if self.low < self.high:
            # Frames that were written with their index: its numbers are those of the rows.
            counts = self.whole and self.high - self.low >= self.n - 1
            index = first and counts and not self.missing and UNNAMED.fullmatch(self.name)
            return "has no name and numbers the rows" if index else None
        return "has no values" if self.missing == self.n else f"has one value: {self.low:g}"


def summarized(
    block: Block, shared: tuple[tuple[int, ...], tuple[str, ...]], state: None
) -> PerColumn:
    r"""Return the statistics of the columns of a block; the work of a pass.

    The fingerprint of column j is :math:`\sum_i h(x_{ij}) g(x_i)` modulo :math:`2^{64}` with hashes
    h of a value and g of a whole row: it is the same in every order and division of the rows.

    Parameters
    ----------
    block : Block
    shared : tuple
        Numbers of the columns of numbers that are categories, and names of all columns.
    state : None
    """
    chosen, names = shared
    if sp.issparse(block.X):
        raise DataError("a table has dense columns; X is sparse: use X.toarray()")
    rows = fingerprints(block.X) | np.uint64(1)

    def one(values: AnyArray, name: str, categorical: bool) -> ColumnStatistics:
        words = values.dtype == object
        categorical |= words
        counted = Categories((name,), (_labels(values) if categorical else {},))
        if words:
            return ColumnStatistics(
                block.n, categorical, counted, digest=_digest(hashes(values), rows)
            )
        x = values.astype(np.float64)
        x[np.isnan(x)] = np.nan  # of all its bit patterns a single pattern
        there = x[~np.isnan(x)]
        return ColumnStatistics(
            block.n,
            categorical,
            counted,
            len(x) - len(there),
            there.min(initial=np.inf),
            there.max(initial=-np.inf),
            bool(np.isinf(there).any()),
            bool(np.all(there == np.rint(there))),
            _digest(fingerprints(x[:, None]), rows),
            _digest(fingerprints(np.isnan(x)[:, None]), rows),
        )

    columns = block.X.columns.values() if isinstance(block.X, Table) else np.asarray(block.X).T
    pairs = enumerate(zip(columns, names, strict=True))
    return PerColumn(tuple(one(values, name, j in chosen) for j, (values, name) in pairs))


def _labels(values: AnyArray) -> Counts:
    """Return the values of a column with their counts, None for those that are missing."""
    return {(None if key != key else key): n for key, n in counted(values).items()}


def _digest(values: Bits, rows: Bits) -> int:
    with np.errstate(over="ignore"):
        return int(np.sum(values * rows, dtype=np.uint64))
