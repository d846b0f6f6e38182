"""Dates and times as numbers: when, and where in the day, the week and the year."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from mercer._fitting import AllOrNothing
from mercer._settings import settings

__all__ = ["DateEncoder"]

PERIODS = {"day": 1.0, "week": 7.0, "year": 365.2425}
"""Lengths of the periods in days."""

# Times of a period that a sample must stretch over, and phases that it must have, before the phase
# can be told from the trend: a yearly census knows nothing of seasons.
STRETCH, PHASES = 2.0, 3
# Parts of a period within which phases are the same: leap years move the first of January.
PARTS = 24
# Digits of points on circles. Two days as far from Monday have one cosine; its last bits, which
# computers do not agree on, would tell them apart by their ranks.
DIGITS = 12
# Days between 1970-01-01, a Thursday, and the Monday before.
MONDAY = 3.0


@settings
class DateEncoder(TransformerMixin, AllOrNothing, BaseEstimator):  # type: ignore[misc]
    r"""Encode dates and times as days since 1970 and as points on circles.

    A time of t days becomes

    .. math:: t, \quad \cos \frac{2 \pi t}{P}, \quad \sin \frac{2 \pi t}{P}

    for the periods P of a day, a week and a year over which the column stretches at least twice
    and in which it has at least three phases. On a circle the 31st of December is next to the 1st
    of January, which the number of the day in the year cannot say.

    Parameters
    ----------
    periods : tuple of str, default=("day", "week", "year")
        Periods that may be encoded.

    Attributes
    ----------
    periods_ : list of list of str
        Periods of every column.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if they have any.

    Notes
    -----
    Numbers are taken for days since 1970-01-01, words for dates such as ``2024-02-29`` or
    ``2024-02-29T18:30``; times of a zone are taken in UTC. Missing dates become NaN. Phases within
    a 24th of a period count as one.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.preprocessing import DateEncoder
    >>> days = np.arange("2023-01-01", "2023-03-01", dtype="datetime64[D]")[:, None]
    >>> encoder = DateEncoder().fit(days)
    >>> encoder.get_feature_names_out(["sold"])
    array(['sold_days', 'sold_week_cos', 'sold_week_sin'], dtype=object)
    >>> encoder.transform([["2023-01-02"]]).tolist()  # a Monday
    [[19359.0, 1.0, 0.0]]
    """

    periods: tuple[str, ...] = ("day", "week", "year")

    _parameter_constraints: ClassVar[dict[str, Any]] = {"periods": ["array-like"]}

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn which periods the columns have.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            Dates.
        y : object, optional
            Ignored.
        """
        if unknown := set(self.periods) - PERIODS.keys():
            raise ValueError(f"periods are among {list(PERIODS)}, got {sorted(unknown)}.")
        T = self._days(X, reset=True)
        self.periods_ = [[name for name in self.periods if _told(t, PERIODS[name])] for t in T.T]
        return self

    def _ending(self) -> str:
        told = sum(len(periods) for periods in self.periods_)
        return f"{len(self.periods_)} columns, {told} periods"

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Encode dates.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            Dates.

        Returns
        -------
        ndarray of shape (n_samples, n_encoded)
        """
        check_is_fitted(self)
        columns = []
        for t, periods in zip(self._days(X, reset=False).T, self.periods_, strict=True):
            columns.append(t)
            for name in periods:
                angle = 2.0 * np.pi * _phase(t, PERIODS[name])
                columns += [np.round(part, DIGITS) for part in (np.cos(angle), np.sin(angle))]
        return np.column_stack(columns)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return ``x_days`` and, for each period of the column x, ``x_week_cos``, ``x_week_sin``.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns that go in.
        """
        check_is_fitted(self)
        names: list[str] = []
        for x, periods in zip(
            _check_feature_names_in(self, input_features), self.periods_, strict=True
        ):
            names.append(f"{x}_days")
            names += [f"{x}_{name}_{part}" for name in periods for part in ("cos", "sin")]
        return np.array(names, dtype=object)

    def _days(self, X: Any, reset: bool) -> NDArray[np.float64]:
        """Return days since 1970, (n, p)."""
        if hasattr(X, "columns"):
            validate_data(self, X, skip_check_array=True, reset=reset)
            return np.column_stack([_column(X[name]) for name in X.columns])
        try:
            A = np.asarray(X) if not hasattr(X, "tocsr") else X
        except ValueError:
            raise ValueError("X must be a table: its rows have different lengths.") from None
        if getattr(A, "ndim", 0) == 2 and A.dtype.kind in "MUSO":
            if A.size and A.dtype.kind != "M" and not _dated(A):
                A = validate_data(self, X, dtype=np.float64, ensure_all_finite=False, reset=reset)
            validate_data(self, A, skip_check_array=True, reset=reset)
            return np.column_stack([_column(a) for a in A.T])
        T: NDArray[np.float64] = validate_data(
            self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=reset
        )
        return T

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def _dated(A: NDArray[Any]) -> bool:
    """Return whether an array of objects holds words or times, not numbers."""
    return any(isinstance(cell, str | np.datetime64) or hasattr(cell, "year") for cell in A.flat)


def _column(column: Any) -> NDArray[np.float64]:
    """Return a column of times, words or numbers as days."""
    zoned = getattr(getattr(column, "dtype", None), "tz", None) is not None
    values = column.to_numpy("datetime64[us]") if zoned else np.asarray(column)
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    if values.dtype.kind != "M":
        words = ["NaT" if cell is None or cell != cell else str(cell) for cell in values]
        values = np.array(words, dtype="datetime64[us]")
    days = values.astype("datetime64[us]").astype(np.int64) / 86_400e6
    return np.where(np.isnat(values), np.nan, days)


def _phase(t: NDArray[np.float64], period: float) -> NDArray[np.float64]:
    """Return where in a period times are, between 0 and 1; weeks begin on Mondays."""
    shift = MONDAY if period == PERIODS["week"] else 0.0
    return np.asarray(np.mod(t + shift, period) / period)


def _told(t: NDArray[np.float64], period: float) -> bool:
    """Return whether a column says something about a period."""
    there = t[~np.isnan(t)]
    if not len(there) or np.ptp(there) < STRETCH * period:
        return False
    return len(np.unique(np.rint(PARTS * _phase(there, period)) % PARTS)) >= PHASES
