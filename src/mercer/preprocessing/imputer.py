"""Values for those that are missing."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions, check_feature_names_in
from mercer._typing import Constraints, PointsLike
from mercer.data import Moments, Source, categories, quantiles
from mercer.data.base import Block, Sums
from mercer.data.statistics import Counts, ordered
from mercer.data.table import Table
from mercer.preprocessing.base import Streamed

__all__ = ["Imputer"]


@settings
class Imputer(Streamed):
    """Fill in numbers that are missing, with a value learned in one pass.

    Words that are missing are left to :class:`Encoder`, for which they are a category.

    Parameters
    ----------
    fill : {"mean", "median", "most_frequent"} or float, default="mean"
        What is filled in; the median is that of at most 100,000 rows drawn at random. Of values
        that are as frequent, the smallest.
    indicator : bool, default=False
        Add a feature for each one that was missing in some row of the fit: 1 where it is missing.
    verbose : bool, default=False
        Tell how far a pass has come.

    Attributes
    ----------
    statistics_ : ndarray of shape (n_features,)
        What is filled in; NaN for columns of words.
    missing_ : ndarray of shape (n_features,)
        Number of missing values of each feature.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if they have any.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.preprocessing import Imputer
    >>> Imputer(indicator=True).fit_transform([[1.0, 2.0], [np.nan, 3.0]])
    array([[1., 2., 0.],
           [1., 3., 1.]])
    """

    fill: str | float = "mean"
    _: KW_ONLY
    indicator: bool = False

    takes_words = True
    takes_sparse = True

    _parameter_constraints: ClassVar[Constraints] = {
        "fill": [
            StrOptions({"mean", "median", "most_frequent"}),
            Interval(Real, None, None, closed="neither"),
        ],
        "indicator": ["boolean"],
    }

    def _learn(self, source: Source) -> None:
        both = self._pass("moments", source, source.total, _moments_and_words)
        found, words = both["moments"], both["words"] > 0
        self.missing_ = np.where(words, 0, found.missing).astype(np.int64)
        if not isinstance(self.fill, str):
            self.statistics_ = np.where(words, np.nan, float(self.fill))
            return
        if (empty := (found.n == 0) & ~words).any():
            names = check_feature_names_in(self, self._names)[empty]
            raise ValueError(
                f"there is no value of {', '.join(map(str, names))} to learn from; leave such "
                "features out, or fill in a number, as in Imputer(0.0)"
            )
        numbers = [int(j) for j in np.flatnonzero(~words)]
        self.statistics_ = np.full(source.n_features, np.nan)
        if self.fill == "mean":
            self.statistics_[numbers] = found.mean[numbers]
        elif self.fill == "median":
            middle = self._pass("median", source, quantiles, source, 0.5, numbers)[0]
            self.statistics_[numbers] = middle
        else:
            counts = self._pass("counts", source, categories, source, numbers).counts
            self.statistics_[numbers] = [_most_frequent(count) for count in counts]

    def _applied(self, X: PointsLike) -> PointsLike:
        marked = self.missing_ > 0 if self.indicator else np.zeros(len(self.missing_), dtype=bool)
        if isinstance(X, Table):
            return self._table(X, marked)
        fill = self.statistics_.astype(X.dtype)
        sparse = sp.issparse(X)
        if sparse:
            filled: Any = sp.csr_array(X, copy=True)
            missing = np.isnan(filled.data)
            flags = sp.csr_array(
                (missing.astype(X.dtype), filled.indices, filled.indptr), shape=X.shape
            )[:, marked]
            filled.data[missing] = fill[filled.indices[missing]]
            if not marked.any():
                return filled
            flags.eliminate_zeros()
            return sp.csr_array(sp.hstack([filled, flags]))
        missing = np.isnan(X)
        filled = np.where(missing, fill, X)
        if not marked.any():
            return filled
        return np.concatenate([filled, missing[:, marked].astype(X.dtype)], axis=1)

    def _table(self, X: Table, marked: NDArray[np.bool_]) -> Table:
        filled, flags = {}, {}
        for j, (name, values) in enumerate(X.columns.items()):
            if values.dtype == object:
                filled[name] = values
                continue
            missing = np.isnan(values)
            filled[name] = np.where(missing, self.statistics_[j], values)
            if marked[j]:
                flags[f"{name}_missing"] = missing.astype(np.float64)
        return Table(filled | flags)

    def _output_names(self, names: list[str]) -> list[str]:
        marks = zip(names, self.missing_ > 0, strict=True)
        return names + [f"{name}_missing" for name, lacks in marks if lacks and self.indicator]


def _moments_and_words(block: Block, shared: None, state: None) -> Sums:
    """Return the moments of a block, and which columns hold words."""
    found = Moments.of(block.X)  # which refuses more columns than there is room for
    words = np.zeros(block.X.shape[1], dtype=np.int64)
    if isinstance(block.X, Table):
        words += [v.dtype == object for v in block.X.columns.values()]
    return Sums(moments=found, words=words)


def _most_frequent(counts: Counts) -> float:
    there = {value: n for value, n in counts.items() if value == value}
    most = max(there.values())
    return float(next(value for value in ordered(there) if there[value] == most))
