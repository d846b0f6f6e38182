"""Count, mean, variance and range of every feature in one pass, merged without loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer._typing import Array, PointsLike
from mercer.data.base import Block, Source
from mercer.data.table import DataError, Table

__all__ = ["Moments", "moments"]


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


def _work(block: Block, shared: None, state: None) -> Moments:
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
    result: Moments = source.total(_work, **how)
    return result
