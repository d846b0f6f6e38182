"""Different values of columns and how often they occur, in one pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from mercer._typing import AnyArray, PointsLike
from mercer.data.base import Block, Source
from mercer.data.table import DataError, Table, factorized

__all__ = ["Categories", "Counts", "categories", "codes_of", "column_of", "ordered"]

Counts = dict[Any, int]
"""Values of a column with how often they occur."""

MAX_CATEGORY_VALUES = 1_000_000
"""Different values of a column beyond which it is taken for a name of rows."""


def column_of(X: PointsLike, j: int) -> AnyArray:
    """Return a column of an array, a CSR matrix or a table.

    Parameters
    ----------
    X : (n, p) array, CSR matrix or Table
    j : int
    """
    if isinstance(X, Table):
        return list(X.columns.values())[j]
    column: Any = X[:, [j]].toarray()[:, 0] if sp.issparse(X) else X[:, j]  # type: ignore[index]
    return np.asarray(column)


def ordered(values: Iterable[Any]) -> list[Any]:
    """Return values in order, those that are missing last; kinds that do not compare by their kind.

    Parameters
    ----------
    values : iterable

    Examples
    --------
    >>> ordered(["b", None, "a"]), ordered([2.0, "a", 1.0])
    (['a', 'b', None], [1.0, 2.0, 'a'])
    """
    everything = list(values)
    missing = [v for v in everything if v is None or v != v]
    there = [v for v in everything if not (v is None or v != v)]
    try:
        return sorted(there) + missing
    except TypeError:
        return sorted(there, key=lambda v: (type(v).__name__, v)) + missing


@dataclass(frozen=True)
class Categories:
    """How often every value of some columns occurs.

    Parameters
    ----------
    names : tuple of str
        Names of the columns.
    counts : tuple of dict
        For each column, its values with their counts; None or NaN is missing.
    most : int
        Number of different values that is refused.
    """

    names: tuple[str, ...]
    counts: tuple[Counts, ...]
    most: int = MAX_CATEGORY_VALUES

    def __add__(self, other: Categories) -> Categories:
        return Categories(
            self.names,
            tuple(_limited(name, _joined(a, b), self.most) for name, a, b in
                  zip(self.names, self.counts, other.counts, strict=True)),
            self.most,
        )  # fmt: skip


def _joined(a: Counts, b: Counts) -> Counts:
    total = Counter(a)
    total.update(b)
    return dict(total)


def _limited(name: str, counts: Counts, most: int) -> Counts:
    if len(counts) > most:
        raise DataError(
            f"column {name!r} has more than {most:,} different values, as names of rows have: "
            "leave it out, or pass a larger limit"
        )
    return counts


def counted(values: AnyArray) -> Counts:
    """Return the different values of a column with their counts.

    Parameters
    ----------
    values : (n,) array

    Examples
    --------
    >>> counted(np.array(["a", "b", "a"], dtype=object))
    {'a': 2, 'b': 1}
    """
    keys, codes = factorized(values)
    # One NaN for all, so that it is found again as a key.
    names = [np.nan if key != key else key for key in keys]
    return dict(zip(names, np.bincount(codes, minlength=len(names)).tolist(), strict=True))


def codes_of(labels: Sequence[Any], rest: Iterable[Any]) -> tuple[dict[Any, int], int]:
    """Return the code of every label, and the code of labels that were never met.

    Parameters
    ----------
    labels : sequence
        Labels with a code of their own.
    rest : iterable
        Less frequent labels, which share the code after the last; -1 is for new ones without any.

    Examples
    --------
    >>> codes_of(["a", "b"], ["c"])
    ({'a': 0, 'b': 1, 'c': 2}, 2)
    """
    shared = dict.fromkeys(rest, len(labels))
    known = {label: code for code, label in enumerate(labels)} | shared
    return known, len(labels) if shared else -1


def _work(block: Block, shared: tuple[Any, ...], state: None) -> Categories:
    columns, names, most, with_targets = shared
    if columns is None:
        # Only words: a column of numbers has no categories unless it is said to have some.
        each = block.X.columns.values() if isinstance(block.X, Table) else ()
        found = [counted(v) if v.dtype == object else {} for v in each]
        found = found or [{} for _ in range(block.X.shape[1])]
    else:
        found = [counted(column_of(block.X, j)) for j in columns]
    if with_targets:
        found.append(counted(np.asarray(block.y)))
    limited = (_limited(name, counts, most) for name, counts in zip(names, found, strict=True))
    return Categories(names, tuple(limited), most)


def categories(
    source: Source,
    columns: Iterable[int] | Literal["words"] | None = None,
    *,
    targets: bool = False,
    most: int = MAX_CATEGORY_VALUES,
    **how: Any,
) -> Categories:
    """Return the different values of columns and how often they occur, in one pass.

    Parameters
    ----------
    source : Source
    columns : iterable of int or "words", optional
        Numbers of the columns; all by default. With ``"words"`` all columns are listed, and the
        values of those that hold words are counted.
    targets : bool, default=False
        Count the values of the target as well, as the last column.
    most : int, default=1,000,000
        A column with more values is refused.
    **how
        Passed to :meth:`Source.total`.

    Examples
    --------
    >>> from mercer.data import as_source
    >>> source = as_source({"colour": ["red", "blue", "red"]})
    >>> categories(source).counts
    ({'red': 2, 'blue': 1},)
    """
    known = source.feature_names or [f"x{j}" for j in range(source.n_features)]
    everything = columns is None or isinstance(columns, str)
    chosen: tuple[Any, ...] = tuple(range(source.n_features) if everything else columns)  # type: ignore[arg-type]
    names = (*(known[j] for j in chosen), *(("target",) if targets else ()))
    shared = (None if columns == "words" else chosen, names, most, targets)
    result: Categories = source.total(_work, shared, None, **how)
    return result
