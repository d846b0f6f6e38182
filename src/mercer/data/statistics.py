"""Means, variances, ranges and categories of columns, in one pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer._typing import AnyArray, Array, PointsLike
from mercer.data.base import Block, Source
from mercer.data.table import DataError, Table, factorized

__all__ = [
    "Categories",
    "Counts",
    "Moments",
    "categories",
    "codes_of",
    "column_of",
    "counted",
    "moments",
    "ordered",
]


# Features of sparse rows up to which all moments take less than a gigabyte.
MAX_SPARSE_FEATURES = 10_000_000


@dataclass(frozen=True)
class Moments:
    r"""Moments of the values of every feature, with missing values counted apart.

    Two of them add up by Chan's formulas, which do not cancel where means are large:

    .. math:: n = n_1 + n_2, \quad \delta = \bar x_2 - \bar x_1, \quad
              \bar x = \bar x_1 + \delta\, n_2 / n, \quad
              M = M_1 + M_2 + \delta^2\, n_1 n_2 / n.

    Parameters
    ----------
    rows : int
        Number of rows.
    n : (p,) array
        Number of values that are not missing.
    mean : (p,) array
    squares : (p,) array
        Sum of squared deviations from the mean, M.
    low, high : (p,) array
        Smallest and largest value; infinite where there is none.

    References
    ----------
    T. F. Chan, G. H. Golub and R. J. LeVeque, Updating formulae and a pairwise algorithm for
    computing sample variances, Stanford 1979, eqs. (2.1a, b).
    """

    rows: int
    n: Array
    mean: Array
    squares: Array
    low: Array
    high: Array

    def __add__(self, other: Moments) -> Moments:
        n = self.n + other.n
        share = other.n / np.maximum(n, 1.0)
        # Beyond 1e154 the variance is infinite, and of infinite values it is NaN: both are told.
        with np.errstate(over="ignore", invalid="ignore"):
            delta = other.mean - self.mean
            mean = self.mean + delta * share
            squares = self.squares + other.squares + delta**2 * self.n * share
        return Moments(
            self.rows + other.rows,
            n,
            mean,
            squares,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    @property
    def missing(self) -> Array:
        """Number of missing values of every feature."""
        return self.rows - self.n

    @property
    def variance(self) -> Array:
        """Mean squared deviation from the mean; 0 where there is no value."""
        return self.squares / np.maximum(self.n, 1.0)

    @property
    def constant(self) -> NDArray[np.bool_]:
        r"""Which features have one value only, but for the rounding of sums.

        A variance below that of rounding, :math:`n \epsilon v + (n \epsilon \bar x)^2`, is not
        told from zero.
        """
        eps = np.finfo(np.float64).eps
        with np.errstate(over="ignore"):
            bound = self.n * eps * self.variance + (self.n * self.mean * eps) ** 2
        found: NDArray[np.bool_] = (self.variance <= bound) | (self.low == self.high)
        return found

    @classmethod
    def of(cls, X: PointsLike) -> Moments:
        """Return the moments of some rows.

        Parameters
        ----------
        X : (n, p) array, CSR matrix or Table
            In a table, words count as missing.

        Examples
        --------
        >>> Moments.of(np.array([[1.0, 5.0], [3.0, np.nan]])).mean
        array([2., 5.])
        """
        if sp.issparse(X):
            return cls._of_sparse(X)
        if isinstance(X, Table):
            empty = np.full(len(X), np.nan)
            parts = [empty if v.dtype == object else v for v in X.columns.values()]
            X = np.stack([part.astype(np.float64) for part in parts], axis=1)
        values = np.asarray(X, dtype=np.float64)
        known = ~np.isnan(values)
        n = known.sum(axis=0, dtype=np.float64)
        whole = bool(known.all())
        filled = values if whole else np.where(known, values, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            mean = filled.sum(axis=0) / np.maximum(n, 1.0)
            deviation = filled - mean
            if not whole:
                deviation[~known] = 0.0
            squares = np.einsum("ij,ij->j", deviation, deviation)
        low = np.min(values if whole else np.where(known, values, np.inf), axis=0, initial=np.inf)
        high = np.max(
            values if whole else np.where(known, values, -np.inf), axis=0, initial=-np.inf
        )
        return cls(len(values), n, mean, squares, low, high)

    @classmethod
    def _of_sparse(cls, X: PointsLike) -> Moments:
        """Return the moments of a CSR matrix, whose zeros are values as well."""
        if X.shape[1] > MAX_SPARSE_FEATURES:
            raise DataError(
                f"{X.shape[1]:,} features have as many means and variances, more than "
                f"{MAX_SPARSE_FEATURES:,}: leave columns without entries out, select features, or "
                "hash them into fewer (FeatureHasher(n_features=2**20))."
            )
        X = sp.csc_array(X)
        X.sum_duplicates()
        rows, p = X.shape
        column = np.repeat(np.arange(p), np.diff(X.indptr))
        values = X.data.astype(np.float64)
        known = ~np.isnan(values)
        column, values = column[known], values[known]
        missing = np.bincount(
            np.repeat(np.arange(p), np.diff(X.indptr))[~known], minlength=p
        ).astype(np.float64)
        stored = np.bincount(column, minlength=p).astype(np.float64)
        n = rows - missing
        zeros = n - stored
        mean = np.bincount(column, values, minlength=p) / np.maximum(n, 1.0)
        squares = np.bincount(column, (values - mean[column]) ** 2, minlength=p) + zeros * mean**2
        low, high = np.full(p, np.inf), np.full(p, -np.inf)
        np.minimum.at(low, column, values)
        np.maximum.at(high, column, values)
        low, high = (
            np.where(zeros > 0, np.minimum(low, 0.0), low),
            np.where(zeros > 0, np.maximum(high, 0.0), high),
        )
        return cls(rows, n, mean, squares, low, high)


def _moments(block: Block, shared: None, state: None) -> Moments:
    return Moments.of(block.X)


def moments(source: Source, **how: Any) -> Moments:
    """Return count, mean, variance and range of every feature, in one pass.

    Parameters
    ----------
    source : Source
    **how
        Passed to :meth:`Source.total`.

    Examples
    --------
    >>> from mercer.data import as_source
    >>> found = moments(as_source(np.array([[1.0, 2.0], [3.0, 2.0]])))
    >>> found.mean, found.variance, found.constant
    (array([2., 2.]), array([1., 0.]), array([False,  True]))
    """
    result: Moments = source.total(_moments, **how)
    return result


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


def _counts(block: Block, shared: tuple[Any, ...], state: None) -> Categories:
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
    result: Categories = source.total(_counts, shared, None, **how)
    return result
