"""Data frames as they are, turned into matrices of numbers and category codes."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions, check_feature_names_in
from mercer._typing import AnyArray, Constraints, PointsLike
from mercer.data import DataError, Source, quantiles
from mercer.data.base import PerColumn
from mercer.data.statistics import Counts, codes_of, ordered
from mercer.data.table import Table, factorized
from mercer.preprocessing._columns import (
    ColumnStatistics,
    infinite,
    numbers,
    summarized,
    tabled,
)
from mercer.preprocessing.base import Streamed, has_words, numbered
from mercer.preprocessing.expanding import Expand, calendars
from mercer.preprocessing.readings import NUMBERS, readings, tallied

__all__ = ["RARE", "TEXT", "TableEncoder"]

FREE_CATEGORIES = 10
"""Categories that a column may have however few its rows are."""

RARE = "none of which is frequent"
"""End of the reason why words that are all different are left out."""

TEXT = "free text"
"""Part of the reason why a column of texts is left out."""

MIN_TEXT_WORDS, MIN_DIFFERENT_SHARE = 3.0, 0.5
"""Mean number of words of texts, and different texts among the cells, from which they are free."""

FEW_SENTENCES = 5
"""Columns left out for like reasons that have a sentence each; `dropped_` names them all."""

ALIKE = {"has one value": "has one value", "equals ": "equals another column"}
"""Beginnings of reasons, and what is said of many columns for which they hold."""


@settings
class TableEncoder(Streamed):
    r"""Encode a data frame as it is: numbers stay numbers, categories become codes.

    A column of numbers is kept, and missing cells become its median; where at least `min_missing`
    of the rows are missing, a column of 0 and 1 marks them. Booleans are 0 and 1. Dates become days
    since 1970 and points on the circles of the day, the week and the year, as
    :class:`DateEncoder` makes them. A column of words or of a categorical type becomes a single
    column of codes :math:`0, \dots, k - 1`, numbered by the sorted labels, to be compared by
    equality only. Missing words are a category of their own. Labels of an ordered categorical type,
    such as "low" < "medium" < "high" or what ``pandas.cut`` makes, become numbers
    :math:`0, 1, \dots` in their order. Columns with one value, copies of another column, a first
    column without a name that numbers the rows, and free text (several words a cell, most cells
    different) are left out. Nothing depends on the order of the rows.

    Words that are numbers or dates are read as such where nearly all cells of the column are:
    ``1,23``, ``12,345``, ``EUR 12.3``, ``5 %``; ``2024-02-29``, ``29.02.2024``, ``02/29/2024``.
    The cells of the whole column decide between decimal commas and thousands separators, and
    between day and month first. A cell that cannot be read, such as ``n/a`` or ``oops``, is a
    missing cell, in the fit and in new rows. `notes_` says what was done.

    Parameters
    ----------
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Columns that are categories although they hold numbers: columns with the categorical type
        of pandas, or those of a mask, numbers or names of columns, or no column. Their words are
        never read as numbers or dates. Other columns of words are categories unless nearly all
        cells are numbers or dates in a form that readers of files leave as words. To compare
        ordered labels by equality only, name their columns here.
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
    readings_ : dict from str to str
        How words of a column are read: ``"point"`` or ``"comma"`` for the decimal sign of numbers,
        ``"truth"`` for yes and no, ``"ymd"``, ``"dmy"`` or ``"mdy"`` for dates, ``"typed"`` for
        dates that are not words.
    periods_ : dict from str to list of str
        For every column of dates the periods that it says something about.
    orders_ : dict from str to list
        For every column of an ordered categorical type its labels in order. A label that is not
        among them is a missing cell.
    notes_ : list of str
        What was read, and which columns were left out for which reason.
    medians_ : ndarray
        Numbers that are filled in, one for each column, and one for each number of a date; NaN for
        categories and for columns that are left out.
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
    fingerprints of the columns. Words all of which are plain numbers, such as ``"7"``, were given
    as words on purpose and stay categories, and so do digits that begin with 0. Lengths of time,
    times of day and nested values are refused with a sentence that names the column, and so are
    infinite numbers.

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

    _parameter_constraints: ClassVar[Constraints] = {
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "max_categories": [Interval(Integral, 2, None, closed="left")],
        "min_missing": [Interval(Real, 0.0, None, closed="left")],
    }

    # Fitting --------------------------------------------------------------------------------------

    def _read(self, X: PointsLike, reset: bool) -> PointsLike:
        if isinstance(X, Table):
            return super()._read(X, reset)
        declared = isinstance(self.categorical_features, str)
        kind = getattr(getattr(X, "dtype", None), "kind", None)
        if kind == "m":
            raise DataError(
                f"X holds {X.dtype}: give numbers instead of lengths of time, such as seconds: "
                "X / np.timedelta64(1, 's')"
            )
        if has_words(X) or (kind == "M" and np.ndim(X) == 2):
            validate_data(self, X, skip_check_array=True, reset=reset)
            return tabled(X, list(check_feature_names_in(self, None)), declared=declared)
        # Infinite numbers are refused below, with the name of their column.
        return validate_data(
            self, X, dtype=[np.float64, np.float32], ensure_all_finite=False, reset=reset
        )

    def _read_words(
        self, source: Source, first: PointsLike, given: list[str], fixed: frozenset[int]
    ) -> Source:
        """Learn which words are numbers and dates, and return the source with them as numbers.

        Parameters
        ----------
        source : Source
        first : Table or (1, p) array
            The first row, which knows which categories are ordered.
        given : list of str
            Names of the columns.
        fixed : frozenset of int
            Columns that are categories, which are not read.
        """
        self.readings_: dict[str, str] = {}
        self.periods_: dict[str, list[str]] = {}
        self.orders_: dict[str, list[Any]] = {}
        self.notes_: list[str] = []
        if not isinstance(first, Table):
            return source
        self.orders_ = dict(first.orders)
        self.notes_ += [_in_order(name, labels) for name, labels in self.orders_.items()]
        tallies: PerColumn = self._pass("words", source, source.total, tallied, fixed, None)
        for name, tally, reading in zip(
            given, tallies.columns, readings(tallies.columns), strict=True
        ):
            if reading is not None:
                self.readings_[name] = reading.form
                self.notes_ += [f"Column {name!r}: {note}." for note in reading.notes]
            elif tally is not None and 0 < tally.counts["cells"] == tally.counts["plain"]:
                self.notes_.append(
                    f"Column {name!r}: its words are numbers and are taken as categories; give "
                    "numbers if their size matters."
                )
        if not self.readings_ and not self.orders_:
            return source
        dates = [name for name, form in self.readings_.items() if form not in NUMBERS]
        if dates:
            shared = (tuple(dates), tuple(self.readings_[name] for name in dates))
            found: PerColumn = self._pass("dates", source, source.total, calendars, shared, None)
            spans = zip(dates, found.columns, strict=True)
            self.periods_ = {name: span.periods() for name, span in spans}
        return source.map(self._expand, self._expand.names(given))

    @property
    def _expand(self) -> Expand:
        # Models that were saved before words were read have no readings, and so with orders.
        kept = (getattr(self, name, {}) for name in ("readings_", "periods_", "orders_"))
        return Expand(*kept)

    def _learn(self, source: Source) -> None:
        given = [str(name) for name in check_feature_names_in(self, self._names)]
        asked = self.categorical_features
        chosen = set() if asked is None or isinstance(asked, str) else set(numbered(asked, given))
        first_row = next(iter(source.blocks(1))).X
        fixed = frozenset(chosen)
        if isinstance(first_row, Table):
            fixed |= {given.index(name) for name in first_row.categories}
        source = self._read_words(source, first_row, given, fixed)
        names, origin = self._expand.names(given), self._expand.origin(given)
        shared = (tuple(k for k, j in enumerate(origin) if j in chosen), tuple(names))
        statistics = self._pass("columns", source, source.total, summarized, shared, None)
        found: tuple[ColumnStatistics, ...] = statistics.columns
        if unbounded := [column.name for column in found if column.infinite]:
            raise DataError(infinite(unbounded[0]))
        n, p = found[0].n, len(names)
        limit = min(self.max_categories, max(FREE_CATEGORIES, n // 3))
        words = {j: _split(found[j].counts, limit) for j in range(p) if found[j].categorical}

        dropped: dict[int, str] = {}
        first: dict[Any, str] = {}
        kept, marked = [], []
        for j, name in enumerate(names):
            key = (j in words, found[j].digest)
            why = _useless(found[j].counts, *words[j]) if j in words else found[j].useless(j == 0)
            if j in words and words[j][1] and origin[j] not in fixed:
                why = _free_text(found[j].counts) or why
            if not why and key in first:
                why = f"equals {first[key]!r}"
            if why:
                dropped[j] = why
            else:
                first[key] = name
                kept.append(j)
        for j in (j for j in range(p) if j not in words):
            key = (False, found[j].gaps)
            enough = max(self.min_missing * n, 1) <= found[j].missing < n
            if enough and key not in first:
                first[key] = names[j]
                marked.append(j)
        if not kept and not marked:
            kept = [0]
            del dropped[0]

        columns = [j for j in kept if j not in words]
        self.medians_ = np.full(p, np.nan)
        if columns:
            middle = self._pass("medians", source, quantiles, source, 0.5, columns)[0]
            self.medians_[columns] = np.where(np.isnan(middle), 0.0, middle)
        codes = [o for o, j in enumerate(kept) if j in words]
        self._placed = np.array(kept + marked, dtype=np.intp)
        self.kept_ = np.array(origin, dtype=np.intp)[self._placed]
        self.categorical_ = np.array(codes, dtype=np.intp)
        self.numeric_ = np.setdiff1d(np.arange(len(self.kept_)), self.categorical_)
        self.missing_ = np.arange(len(kept), len(self.kept_))
        self.categories_ = [words[kept[o]][0] for o in codes]
        self.infrequent_ = [words[kept[o]][1] for o in codes]
        self.names_ = self._named(names)
        used = {origin[j] for j in kept}
        self.dropped_: dict[str, str] = {
            given[origin[j]]: self._dated(given[origin[j]], found[j]) or why
            for j, why in dropped.items()
            if origin[j] not in used
        }
        self.notes_ += _sentences(self.dropped_)

    def _dated(self, name: str, found: ColumnStatistics) -> str | None:
        """Return why a column of dates says nothing, if it is a column of dates with one value."""
        if name not in self.periods_ or found.missing == found.n:
            return None
        day = np.datetime64(round(found.low * 86_400), "s")
        return f"has one value: {np.datetime_as_string(day, 'D')}"

    # Transforming ---------------------------------------------------------------------------------

    def _applied(self, X: PointsLike) -> NDArray[np.float64]:
        names = [str(name) for name in check_feature_names_in(self, self._names)]
        columns, made = self._expand.columns(X, names), self._expand.names(names)
        placed = getattr(self, "_placed", self.kept_)
        result = np.empty((X.shape[0], len(placed)))
        place = {int(o): c for c, o in enumerate(self.categorical_)}
        for o, j in enumerate(placed):
            if o in place:
                result[:, o] = self._coded(columns[j], place[o])
                continue
            there = numbers(columns[j], made[j])
            gaps = np.isnan(there)
            result[:, o] = gaps if o in self.missing_ else np.where(gaps, self.medians_[j], there)
        return result

    def _coded(self, values: AnyArray, c: int) -> NDArray[np.intp]:
        lookup, unknown = codes_of(self.categories_[c], self.infrequent_[c])
        keys, codes = factorized(values)
        known = [lookup.get(None if key != key else key, unknown) for key in keys]
        return np.array(known, dtype=np.intp)[codes]

    def _named(self, names: Sequence[str]) -> list[str]:
        placed = getattr(self, "_placed", self.kept_)
        result = [str(names[j]) for j in placed]
        for o in self.missing_:
            result[o] = f"{names[placed[o]]}_missing"
            while result[o] in names:  # as a table may have a column of this name already
                result[o] += "_"
        return result

    def _output_names(self, names: list[str]) -> list[str]:
        """Return the names of the output columns: ``x``, and ``x_missing`` for a mark."""
        old = (str(name) for name in check_feature_names_in(self, self._names))
        renamed = dict(zip(old, names, strict=True))
        expand = Expand(
            {renamed[name]: form for name, form in self._expand.readings.items()},
            {renamed[name]: span for name, span in self._expand.periods.items()},
            {renamed[name]: order for name, order in self._expand.orders.items()},
        )
        return self._named(expand.names(names))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def _split(counts: Counts, limit: int) -> tuple[list[Any], list[Any]]:
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


def _useless(counts: Counts, own: list[Any], rest: list[Any]) -> str | None:
    """Return why a column of categories says nothing, or None if it does."""
    if len(own) + bool(rest) > 1:
        return None
    if not rest:
        return f"has one value: {own[0]!r}" if own[0] is not None else "has no values"
    return f"has {len(counts)} categories, {RARE}"


def _free_text(counts: Counts) -> str | None:
    """Return why a column of texts is left out, or None if its words are labels."""
    texts = [label for label in counts if isinstance(label, str)]
    cells = sum(counts[text] for text in texts)
    length = sum(len(text.split()) for text in texts)
    if len(texts) <= MIN_DIFFERENT_SHARE * cells or length < MIN_TEXT_WORDS * len(texts):
        return None
    return f"holds {TEXT}: {len(texts)} different texts in {cells} cells"


def _in_order(name: str, labels: list[Any]) -> str:
    """Return the sentence about ordered labels that become ranks."""
    shown = list(map(str, labels if len(labels) <= 4 else [*labels[:2], "...", labels[-1]]))
    return f"Column {name!r}: its labels become numbers in their order, {' < '.join(shown)}."


def _sentences(dropped: dict[str, str]) -> list[str]:
    """Return sentences about columns that are left out, one for many of them with like reasons.

    Examples
    --------
    >>> _sentences({"a": "has one value: 0", "b": "equals 'c'"})
    ["Column 'a' is left out: it has one value: 0.", "Column 'b' is left out: it equals 'c'."]
    >>> _sentences({f"x{j}": "has one value: 0" for j in range(20)})
    ["20 columns are left out: each has one value. They are 'x0', 'x1', 'x2' and 17 others."]
    """
    found, left = [], dict(dropped)
    for beginning, said in ALIKE.items():
        alike = [name for name, why in dropped.items() if why.startswith(beginning)]
        if len(alike) > FEW_SENTENCES:
            first = ", ".join(map(repr, alike[:3]))
            found.append(
                f"{len(alike)} columns are left out: each {said}. They are {first} and "
                f"{len(alike) - 3} others."
            )
            left = {name: why for name, why in left.items() if name not in alike}
    return [_left_out(name, why) for name, why in left.items()] + found


def _left_out(name: str, why: str) -> str:
    """Return the sentence about a column that is left out, and what could be done."""
    if TEXT in why:
        return (
            f"Column {name!r} is left out: it {why}. If they matter, give numbers made from them, "
            "such as those of scikit-learn's TfidfVectorizer and TruncatedSVD, or a column that "
            "says whether a word occurs."
        )
    if not why.endswith(RARE):
        return f"Column {name!r} is left out: it {why}."
    return (
        f"Column {name!r} is left out: it {why}, as names of rows are. If a part of it matters, "
        "make a column of that part, such as the letters that a code begins with."
    )
