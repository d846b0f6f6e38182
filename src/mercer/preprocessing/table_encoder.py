"""Data frames as they are, turned into matrices of numbers and category codes."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from mercer._settings import KW_ONLY, settings
from mercer.data import DataError, Source, Table, quantiles
from mercer.data.categories import column_of, ordered
from mercer.data.table import factorized
from mercer.preprocessing._columns import Columns, numbers, summarized, tabled
from mercer.preprocessing.base import Streamed, has_words, numbered

__all__ = ["TableEncoder"]

FEW = 10
"""Categories that a column may have however few its rows are."""


@settings
class TableEncoder(Streamed):
    r"""Encode a data frame as it is: numbers stay numbers, categories become codes.

    A column of numbers is kept, and missing cells become its median; where at least `min_missing`
    of the rows are missing, a column of 0 and 1 marks them. Booleans are 0 and 1. A column of words
    or of a categorical type becomes a single column of codes :math:`0, \dots, k - 1`, numbered by
    the sorted labels, to be compared by equality only. Missing words are a category of their own.
    Columns with one value and copies of another column are left out. Nothing depends on the order
    of the rows.

    Parameters
    ----------
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns that are categories although they hold numbers: columns with the categorical type
        of pandas, or those of a mask, numbers or names of columns, or no column. Columns of words
        are always categories.
    max_categories : int, default=200
        Most categories of a column. Less frequent categories share the last code, and so does a
        category that the fit has not met; categories that occur equally often are treated alike.
        There are also at most n / 3 categories in n rows, or ten if that is more. A column of words
        that are all different, such as names of rows, is left out for this reason.
    min_missing : float, default=0.01
        Smallest share of rows with a missing number for which a column marks them.
    verbose : bool, default=False
        Tell how far a pass has come.

    Attributes
    ----------
    numeric_ : ndarray of int
        Output columns that are numbers, those that mark missing cells included.
    categorical_ : ndarray of int
        Output columns that are codes of categories.
    missing_ : ndarray of int
        Output columns that mark missing cells, the last; a mark that equals another column is
        left out.
    names_ : list of str
        Names of the output columns: ``x`` for the column x, ``x_missing`` for its mark.
    kept_ : ndarray of int
        For every output column the number of the column it is made from.
    dropped_ : dict from str to str
        Names of the columns that are left out, each with the reason.
    medians_ : ndarray of shape (n_features,)
        Numbers that are filled in; NaN for categories and for columns that are left out.
    categories_ : list of list
        For every column of `categorical_` the labels of the codes 0, 1, ...; None is missing.
    infrequent_ : list of list
        For every column of `categorical_` the labels that share the code after the last.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if they have any.

    Notes
    -----
    A category that the fit has not met has the code -1 where no categories share a code; two
    different such categories are equal to each other then. If every column has one value only, the
    first is kept, because a machine needs at least one feature. Copies are recognized by 64-bit
    fingerprints of the columns. Dates, times and nested values are refused with a sentence that
    names the column, and so are infinite numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.preprocessing import TableEncoder
    >>> frame = pd.DataFrame(
    ...     {
    ...         "size": [1.5, None, 3.5, 2.0],
    ...         "colour": ["red", "blue", None, "red"],
    ...         "sold": [True, False, True, True],
    ...         "country": ["NL", "NL", "NL", "NL"],
    ...     }
    ... )
    >>> encoder = TableEncoder().fit(frame)
    >>> encoder.names_, encoder.categorical_.tolist()
    (['size', 'colour', 'sold', 'size_missing'], [1])
    >>> encoder.transform(frame)
    array([[1.5, 1. , 1. , 0. ],
           [2. , 0. , 0. , 1. ],
           [3.5, 2. , 1. , 0. ],
           [2. , 1. , 1. , 0. ]])
    >>> encoder.categories_, encoder.dropped_
    ([['blue', 'red', None]], {'country': "has one value: 'NL'"})
    """

    categorical_features: Any = "from_dtype"
    _: KW_ONLY
    max_categories: int = 200
    min_missing: float = 0.01

    takes_words = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "max_categories": [Interval(Integral, 2, None, closed="left")],
        "min_missing": [Interval(Real, 0.0, None, closed="left")],
    }

    # Fitting --------------------------------------------------------------------------------------

    def _read(self, X: Any, reset: bool) -> Any:
        if isinstance(X, Table):
            return super()._read(X, reset)
        if has_words(X):
            validate_data(self, X, skip_check_array=True, reset=reset)
            names = list(_check_feature_names_in(self, None))
            return tabled(X, names, declared=isinstance(self.categorical_features, str))
        if getattr(getattr(X, "dtype", None), "kind", None) in {"M", "m"}:
            raise DataError(
                f"X holds {X.dtype}: give numbers that matter instead of dates or times, such as "
                "the day of the year or the days since a certain day"
            )
        # Infinite numbers are refused below, with the name of their column.
        return validate_data(
            self, X, dtype=[np.float64, np.float32], ensure_all_finite=False, reset=reset
        )

    def _learn(self, source: Source) -> None:
        names = list(_check_feature_names_in(self, self._names))
        given = self.categorical_features
        chosen = () if given is None or isinstance(given, str) else numbered(given, names)
        found: Columns = source.total(
            summarized, (tuple(chosen), tuple(names)), None, **self._passes(source, "columns")
        )
        found.require_finite()
        limit = min(self.max_categories, max(FEW, found.n // 3))
        p = len(names)
        words = {j: _split(found.counts[j], limit) for j in range(p) if found.categorical[j]}

        self.dropped_: dict[str, str] = {}
        first: dict[Any, str] = {}
        kept, marked = [], []
        for j, name in enumerate(names):
            key = (j in words, found.digests[j])
            why = _useless(found.counts[j], *words[j]) if j in words else found.useless(j)
            if not why and key in first:
                why = f"equals {first[key]!r}"
            if why:
                self.dropped_[name] = why
            else:
                first[key] = name
                kept.append(j)
        for j in (j for j in range(p) if j not in words):
            key = (False, found.gaps[j])
            enough = max(self.min_missing * found.n, 1) <= found.missing[j] < found.n
            if enough and key not in first:
                first[key] = names[j]
                marked.append(j)
        if not kept and not marked:
            kept = [0]
            del self.dropped_[names[0]]

        columns = [j for j in kept if j not in words]
        self.medians_ = np.full(p, np.nan)
        if columns:
            how = self._passes(source, "medians")
            middle = quantiles(source, 0.5, columns, **how)[0]
            self.medians_[columns] = np.where(np.isnan(middle), 0.0, middle)
        codes = [o for o, j in enumerate(kept) if j in words]
        self.kept_ = np.array(kept + marked, dtype=np.intp)
        self.categorical_ = np.array(codes, dtype=np.intp)
        self.numeric_ = np.setdiff1d(np.arange(len(self.kept_)), self.categorical_)
        self.missing_ = np.arange(len(kept), len(self.kept_))
        self.categories_ = [words[kept[o]][0] for o in codes]
        self.infrequent_ = [words[kept[o]][1] for o in codes]
        self.names_ = self._named(names)

    # Transforming ---------------------------------------------------------------------------------

    def _applied(self, X: Any) -> NDArray[np.float64]:
        result = np.empty((X.shape[0], len(self.kept_)))
        place = {int(o): c for c, o in enumerate(self.categorical_)}
        for o, j in enumerate(self.kept_):
            values = column_of(X, int(j))
            if o in place:
                result[:, o] = self._coded(values, place[o])
            elif o in self.missing_:
                result[:, o] = np.isnan(numbers(values, self._name(j)))
            else:
                there = numbers(values, self._name(j))
                result[:, o] = np.where(np.isnan(there), self.medians_[j], there)
        return result

    def _coded(self, values: NDArray[Any], c: int) -> NDArray[np.intp]:
        labels, rest = self.categories_[c], self.infrequent_[c]
        lookup = {label: i for i, label in enumerate(labels)} | dict.fromkeys(rest, len(labels))
        keys, codes = factorized(values)
        unknown = len(labels) if rest else -1
        known = [lookup.get(None if key != key else key, unknown) for key in keys]
        return np.array(known, dtype=np.intp)[codes]

    def _name(self, j: int) -> str:
        return str(_check_feature_names_in(self, self._names)[j])

    def _named(self, names: Any) -> list[str]:
        result = [str(names[j]) for j in self.kept_]
        for o in self.missing_:
            result[o] = f"{names[self.kept_[o]]}_missing"
            while result[o] in names:  # as a table may have a column of this name already
                result[o] += "_"
        return result

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the output columns: ``x``, and ``x_missing`` for a mark.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns that go in.
        """
        check_is_fitted(self)
        return np.array(self._named(_check_feature_names_in(self, input_features)), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def _split(counts: dict[Any, int], limit: int) -> tuple[list[Any], list[Any]]:
    """Return the labels with a code of their own, and the less frequent labels that share one."""
    labels = ordered(counts)
    if len(labels) <= limit:
        return labels, []
    there = [label for label in labels if label is not None]
    # Missing words keep their code, and one code is for those that share it.
    room = limit - 1 - (len(labels) - len(there))
    least = sorted((counts[label] for label in there), reverse=True)[room]
    own = [label for label in labels if label is None or counts[label] > least]
    return own, [label for label in there if counts[label] <= least]


def _useless(counts: dict[Any, int], own: list[Any], rest: list[Any]) -> str | None:
    """Return why a column of categories says nothing, or None if it does."""
    if len(own) + bool(rest) > 1:
        return None
    if not rest:
        return f"has one value: {own[0]!r}" if own[0] is not None else "has no values"
    return f"has {len(counts)} categories, none of which is frequent"
