"""Dates and times as numbers: when, and where in the day, the week and the year."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._fitting import AllOrNothing
from mercer._settings import settings
from mercer._sklearn import check_feature_names_in, fit_context
from mercer._typing import AnyArray, Constraints, PointsLike, TargetsLike
from mercer.data import DataError
from mercer.preprocessing.readings import Reading, Tally, readings

__all__ = ["Calendar", "DateEncoder", "circle_names", "circles"]

PERIODS = {"day": 1.0, "week": 7.0, "year": 365.2425}
"""Lengths of the periods in days."""

# Times of a period that a sample must stretch over, and phases that it must have, before the phase
# can be told from the trend: a yearly census knows nothing of seasons.
MIN_PERIODS, MIN_PHASES = 2.0, 3
# Parts of a period within which phases are the same: leap years move the first of January.
PHASES_PER_PERIOD = 24
# Digits of points on circles. Two days as far from Monday have one cosine; its last bits, which
# computers do not agree on, would tell them apart by their ranks.
CIRCLE_DIGITS = 12
# Days between 1970-01-01, a Thursday, and the Monday before.
DAYS_AFTER_MONDAY = 3.0


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
    forms_ : list of str
        How the dates of every column are written: ``"ymd"``, ``"dmy"`` (day, month, year),
        ``"mdy"``, or ``"typed"`` for dates that are not words.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if they have any.

    Notes
    -----
    Numbers are taken for days since 1970-01-01, words for dates such as ``2024-02-29``,
    ``2024-02-29T18:30``, ``29.02.2024`` or ``02/29/2024``, whose order the column decides; times
    of a zone are taken in UTC. Missing dates become NaN, and words that are no dates are refused.
    Phases within a 24th of a period count as one.

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

    _parameter_constraints: ClassVar[Constraints] = {"periods": ["array-like"]}

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike = None) -> Self:
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
        columns = self._columns(X, reset=True)
        if not columns:
            raise ValueError("X has no columns; DateEncoder needs at least one column of dates.")
        self.forms_ = [_form(values, name) for name, values in columns.items()]
        self.periods_ = [Calendar.of(t).periods(self.periods) for t in self._days(columns)]
        return self

    def _ending(self) -> str:
        told = sum(len(periods) for periods in self.periods_)
        return f"{len(self.periods_)} columns, {told} periods"

    def transform(self, X: PointsLike) -> NDArray[np.float64]:
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
        for t, periods in zip(
            self._days(self._columns(X, reset=False)), self.periods_, strict=True
        ):
            columns += circles(t, periods)
        return np.column_stack(columns)

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> AnyArray:
        """Return ``x_days`` and, for each period of the column x, ``x_week_cos``, ``x_week_sin``.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns that go in.
        """
        check_is_fitted(self)
        names: list[str] = []
        for x, periods in zip(
            check_feature_names_in(self, input_features), self.periods_, strict=True
        ):
            names += circle_names(x, periods)
        return np.array(names, dtype=object)

    def _columns(self, X: PointsLike, reset: bool) -> dict[str, AnyArray]:
        """Return the columns by name: words, dates or days since 1970."""
        if hasattr(X, "columns"):
            validate_data(self, X, skip_check_array=True, reset=reset)
            return {str(name): _plain(X[name]) for name in X.columns}
        try:
            A = np.asarray(X) if not hasattr(X, "tocsr") else X
        except ValueError:
            raise ValueError("X must be a table: its rows have different lengths.") from None
        if getattr(A, "ndim", 0) == 2 and A.dtype.kind in "MUSO":
            if A.size and A.dtype.kind != "M" and not _dated(A):
                A = validate_data(self, X, dtype=np.float64, ensure_all_finite=False, reset=reset)
            validate_data(self, A, skip_check_array=True, reset=reset)
            columns = [_plain(a) for a in A.T]
        else:
            columns = list(
                validate_data(
                    self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=reset
                ).T
            )
        return dict(zip(map(str, check_feature_names_in(self, None)), columns, strict=True))

    def _days(self, columns: dict[str, AnyArray]) -> list[NDArray[np.float64]]:
        """Return days since 1970."""
        found = []
        # A model that was saved before the orders of dates were learned knows those of ISO.
        forms = getattr(self, "forms_", ["ymd"] * len(columns))
        for (name, values), form in zip(columns.items(), forms, strict=True):
            if values.dtype.kind in "biuf":
                found.append(values.astype(np.float64))
                continue
            days = Reading(form).apply(values, name)
            _refuse_others(values, days, name)
            found.append(days)
        return found

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


@dataclass(frozen=True, eq=False)
class Calendar:
    """Which times a column has, by block: from when to when, and which parts of the periods.

    Parameters
    ----------
    low, high : float
        First and last time in days since 1970; infinity and minus infinity without a time.
    phases : (3, 24) array of bool
        Which parts of a day, a week and a year occur.
    """

    low: float
    high: float
    phases: NDArray[np.bool_]

    @classmethod
    def of(cls, t: NDArray[np.float64]) -> Calendar:
        """Return the calendar of times.

        Parameters
        ----------
        t : (n,) array
            Days since 1970, NaN where missing.
        """
        there = t[~np.isnan(t)]
        phases = np.zeros((len(PERIODS), PHASES_PER_PERIOD), dtype=bool)
        for k, period in enumerate(PERIODS.values()):
            parts = np.rint(PHASES_PER_PERIOD * _phase(there, period)).astype(np.intp)
            phases[k, parts % PHASES_PER_PERIOD] = True
        return cls(there.min(initial=np.inf), there.max(initial=-np.inf), phases)

    def __add__(self, other: Calendar) -> Calendar:
        return Calendar(
            min(self.low, other.low), max(self.high, other.high), self.phases | other.phases
        )

    def periods(self, names: Sequence[str] = tuple(PERIODS)) -> list[str]:
        """Return the periods that the times say something about.

        Parameters
        ----------
        names : sequence of str
            Those that may be.
        """
        known = list(PERIODS)
        return [
            name
            for name in names
            if self.high - self.low >= MIN_PERIODS * PERIODS[name]
            and np.count_nonzero(self.phases[known.index(name)]) >= MIN_PHASES
        ]


def circles(t: NDArray[np.float64], periods: Sequence[str]) -> list[NDArray[np.float64]]:
    """Return times, and their points on the circles of periods.

    Parameters
    ----------
    t : (n,) array
        Days since 1970.
    periods : sequence of str
    """
    columns = [t]
    for name in periods:
        angle = 2.0 * np.pi * _phase(t, PERIODS[name])
        for part in (np.cos(angle), np.sin(angle)):
            columns.append(np.asarray(np.round(part, CIRCLE_DIGITS), dtype=np.float64))
    return columns


def circle_names(name: str, periods: Sequence[str]) -> list[str]:
    """Return the names of the columns that :func:`circles` makes of one.

    Parameters
    ----------
    name : str
    periods : sequence of str
    """
    return [f"{name}_days"] + [f"{name}_{one}_{part}" for one in periods for part in ("cos", "sin")]


def _plain(column: Any) -> AnyArray:
    """Return a column of a frame or an array as words, objects, dates without a zone or numbers."""
    zoned = getattr(getattr(column, "dtype", None), "tz", None) is not None
    values = column.to_numpy("datetime64[us]") if zoned else np.asarray(column)
    return values if values.dtype.kind in "biufM" else values.astype(object)


def _form(values: AnyArray, name: str) -> str:
    """Return how the dates of a column are written."""
    if values.dtype.kind in "biuf":
        return "typed"
    tally = Tally.of(values)
    form = max(("typed", "ymd", "dmy", "mdy"), key=lambda one: tally.counts[one])
    (found,) = readings([tally])
    return found.form if found is not None and found.kind == "date" else form


def _refuse_others(values: AnyArray, days: NDArray[np.float64], name: str) -> None:
    """Refuse words that are no dates; missing cells are missing."""
    if values.dtype.kind == "M":
        return
    for k in np.flatnonzero(np.isnan(days)):
        cell = values[k]
        if cell is not None and cell == cell and str(cell) not in ("NaT", "<NA>", ""):
            raise DataError(
                f"column {name!r} holds {str(cell)[:40]!r} in row {k + 1}, which is not a date "
                "such as 2024-02-29; make it missing (None), or give the column to TableEncoder, "
                "which tells words from dates"
            )


def _dated(A: AnyArray) -> bool:
    """Return whether an array of objects holds words or times, not numbers."""
    return any(isinstance(cell, str | np.datetime64) or hasattr(cell, "year") for cell in A.flat)


def _phase(t: NDArray[np.float64], period: float) -> NDArray[np.float64]:
    """Return where in a period times are, between 0 and 1; weeks begin on Mondays."""
    shift = DAYS_AFTER_MONDAY if period == PERIODS["week"] else 0.0
    return np.asarray(np.mod(t + shift, period) / period)
