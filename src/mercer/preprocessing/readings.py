"""Words that are numbers or dates: how a column is written, decided once and applied to all rows.

A form is chosen by the cells of the whole column: ``1,23`` is a number with a decimal comma, and
``12,345`` one with a thousands separator, unless a neighbour such as ``12,34`` tells otherwise.
Cells are counted form by form, and such counts add up over blocks of rows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._typing import AnyArray
from mercer.data import DataError
from mercer.data.base import Block, PerColumn
from mercer.data.table import Table, factorized

__all__ = ["NUMBERS", "Reading", "Tally", "days_of", "readings", "tallied"]

NUMBERS, DATES = ("point", "comma", "truth"), ("ymd", "dmy", "mdy", "typed")
"""Forms of numbers and of dates; ``typed`` are dates that no word has to be read for."""

# Cells that fit no form, as a share of all: beyond it they are categories beside numbers, such as
# "3+" for the number of children. A single one is a slip where so many others are numbers.
MAX_STRAY_SHARE, MIN_CELLS_BESIDE_A_STRAY = 0.05, 9
# Odd words that a note quotes.
MAX_QUOTED_WORDS = 3

CODES = "EUR|USD|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|HUF|AUD|CAD|NZD|BRL|MXN|KRW|TRY"
UNIT = rf"(?:{CODES}|US\$|A\$|C\$|[$€£¥₹]|kr|zł)"
NUMBER = re.compile(
    rf"(?P<sign>[-+−]?)\s*(?P<before>{UNIT})?\s*(?P<minus>[-+−]?)"
    rf"(?P<digits>\d(?:[\d.,'’\s]*\d)?[.,]?|[.,]\d+)(?P<power>[eE][-+]?\d+)?\s*"
    rf"(?P<after>{UNIT}|%)?"
)
PLAIN = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
CODE = re.compile(r"0\d+")
GROUPED = {
    "point": re.compile(r"(?:\d+|[1-9]\d{0,2}([,'’\s])\d{3}(?:\1\d{3})*)?(?:\.\d*)?"),
    "comma": re.compile(r"(?:\d+|[1-9]\d{0,2}([.'’\s])\d{3}(?:\1\d{3})*)?(?:,\d*)?"),
}
TIME = r"(?:[T ]\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(Z|UTC|[-+]\d{2}:?\d{2})?)?"
YEAR_FIRST = re.compile(rf"(\d{{4}})([-/.])(\d{{1,2}})\2(\d{{1,2}}){TIME}")
MONTH = re.compile(r"\d{4}-\d{2}")
YEAR_LAST = re.compile(rf"(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}){TIME}")
TRUTH = {"yes": 1.0, "y": 1.0, "true": 1.0, "t": 1.0, "no": 0.0, "n": 0.0, "false": 0.0, "f": 0.0}
GAPS = frozenset(
    ("", "-", "--", ".", "?", "na", "n/a", "#n/a", "n.a.", "<na>", "nan", "null", "none", "nil",
     "nat", "missing", "unknown", "not available", "#null!", "#value!", "#div/0!", "#ref!")
)  # fmt: skip
"""Spellings of a missing cell, where the others are numbers or dates."""

DAY_MICROSECONDS = 86_400_000_000
"""Microseconds of a day."""

NAMES = {"ymd": "year, month, day", "dmy": "day, month, year", "mdy": "month, day, year"}


# Single words -------------------------------------------------------------------------------------


def _number(word: str, form: str) -> float | None:
    """Return the number in a word whose decimal sign is known, or None if there is none."""
    found = NUMBER.fullmatch(word)
    if found is None or (found["before"] and found["after"] and found["after"] != "%"):
        return None
    grouped = GROUPED[form].fullmatch(found["digits"])
    if grouped is None or (found["sign"] and found["minus"]):
        return None
    digits = found["digits"].replace(grouped[1], "") if grouped[1] else found["digits"]
    value = float(digits.replace(",", ".") + (found["power"] or ""))
    return -value if (found["sign"] or found["minus"]) in ("-", "−") else value


def _unit(word: str) -> str:
    found = NUMBER.fullmatch(word)
    return "" if found is None else found["before"] or found["after"] or ""


def _microseconds(word: str, form: str) -> int | None:
    """Return the microseconds since 1970 of a date whose order is known, or None if it is none."""
    if form == "ymd":
        found = YEAR_FIRST.fullmatch(f"{word}-01" if MONTH.fullmatch(word) else word)
        parts = found and found.group(1, 3, 4)
    else:
        found = YEAR_LAST.fullmatch(word)
        parts = found and found.group(*((4, 3, 1) if form == "dmy" else (4, 1, 3)))
    if found is None or parts is None:
        return None
    year, month, day = map(int, parts)
    hour, minute, second = (int(part or 0) for part in found.group(5, 6, 7))
    try:
        days = date(year, month, day).toordinal() - date(1970, 1, 1).toordinal()
    except ValueError:
        return None
    if hour > 24 or minute > 59 or second > 60:
        return None
    shift, zone = 0, found[9]
    if zone and zone[0] in "+-":
        shift = (int(zone[1:3]) * 60 + int(zone[-2:])) * (-1 if zone[0] == "-" else 1)
    within = ((hour * 60 + minute - shift) * 60 + second) * 1_000_000
    return days * DAY_MICROSECONDS + within + int((found[8] or "0").ljust(6, "0")[:6])


def _said(cell: object) -> str:
    """Return a cell as a word, dates that are objects in the order of ISO."""
    if isinstance(cell, str):
        return cell.strip()
    if isinstance(cell, datetime) and cell.tzinfo is not None:
        return cell.astimezone(UTC).replace(tzinfo=None).isoformat()
    if isinstance(cell, date):
        return cell.isoformat()
    return str(cell)


# Counting -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tally:
    """How many cells of a column of words fit each form; tallies of blocks add up.

    Parameters
    ----------
    counts : Counter
        Cells by form. Further keys: ``cells`` that are not missing, ``words`` among them, ``plain``
        numbers, ``code`` for digits that begin with 0, ``open`` for numbers whose comma or point
        may be either sign, ``gap`` for spellings of a missing cell.
    units : frozenset of str
        Currency and percent signs.
    spellings : frozenset of str
        Spellings of yes and no, at most a few more than there are words for them.
    odd : tuple of str
        The first few words that fit no form, in order.
    shown : dict from str to str
        The first word of each form that is not a plain number.
    """

    counts: Counter[str] = field(default_factory=Counter)
    units: frozenset[str] = frozenset()
    spellings: frozenset[str] = frozenset()
    odd: tuple[str, ...] = ()
    shown: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, values: AnyArray) -> Tally:
        """Return the tally of a column.

        Parameters
        ----------
        values : (n,) array
            Objects, or dates of NumPy.

        Examples
        --------
        >>> found = Tally.of(np.array(["1,5", "12,25", "oops", None], dtype=object))
        >>> found.counts["comma"], found.counts["point"], found.odd
        (2, 0, ('oops',))
        """
        counts: Counter[str] = Counter()
        if values.dtype.kind == "M":
            n = int(np.count_nonzero(~np.isnat(values)))
            return cls(Counter(cells=n, typed=n))
        units: set[str] = set()
        odd: set[str] = set()
        spellings: set[str] = set()
        shown: dict[str, str] = {}
        keys, codes = factorized(values)
        for key, n in zip(keys, np.bincount(codes, minlength=len(keys)).tolist(), strict=True):
            if key is None or key != key:
                continue
            word = _said(key)
            forms = ["point", "comma", "plain"] if isinstance(key, Real | Decimal) else _forms(word)
            counts.update(dict.fromkeys(("cells", *forms), n))
            if isinstance(key, str):
                counts["words"] += n
            if "truth" in forms:
                spellings.add(word)
            elif not forms:
                odd.add(word)
            if "plain" not in forms:
                if unit := _unit(word):
                    units.add(unit)
                for form in forms:
                    shown[form] = min(word, shown.get(form, word))
        few = tuple(sorted(odd)[:MAX_QUOTED_WORDS])
        return cls(counts, frozenset(units), frozenset(spellings), few, shown)

    def __add__(self, other: Tally) -> Tally:
        shown = dict(self.shown)
        for form, word in other.shown.items():
            shown[form] = min(word, shown.get(form, word))
        return Tally(
            self.counts + other.counts,
            self.units | other.units,
            self.spellings | other.spellings,
            tuple(sorted({*self.odd, *other.odd})[:MAX_QUOTED_WORDS]),
            shown,
        )


def _forms(word: str) -> list[str]:
    """Return the forms that a word fits, and what else is counted of it."""
    if word.casefold() in GAPS:
        return ["gap"]
    if word.casefold() in TRUTH:
        return ["truth"]
    if not any(map(str.isdigit, word)):
        return []
    point, comma = _number(word, "point"), _number(word, "comma")
    found = ["point"] * (point is not None) + ["comma"] * (comma is not None)
    if len(found) == 2 and point != comma:
        found.append("open")
    if PLAIN.fullmatch(word):
        found.append("code" if CODE.fullmatch(word) else "plain")
    return found + [form for form in ("ymd", "dmy", "mdy") if _microseconds(word, form) is not None]


def tallied(block: Block, shared: Collection[int], state: None) -> PerColumn:
    """Return the tallies of a block, None for columns of numbers; the work of a pass.

    Parameters
    ----------
    block : Block
    shared : collection of int
        Columns that stay categories.
    state : None
    """
    if not isinstance(block.X, Table):
        return PerColumn((None,) * int(block.X.shape[1]))
    columns = enumerate(block.X.columns.values())
    return PerColumn(
        tuple(Tally.of(x) if x.dtype.kind in "OM" and j not in shared else None for j, x in columns)
    )


# Deciding -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reading:
    """How the cells of a column become numbers: a form, and what was noticed.

    Parameters
    ----------
    form : str
        Of `NUMBERS` or `DATES`.
    notes : tuple of str
        Sentences about the column, without its name.
    """

    form: str
    notes: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """Whether cells are numbers or dates: ``"number"`` or ``"date"``."""
        return "number" if self.form in NUMBERS else "date"

    def apply(self, values: AnyArray, name: str) -> NDArray[np.float64]:
        """Return a column as numbers, dates as days since 1970; what cannot be read is NaN.

        Parameters
        ----------
        values : (n,) array
            Words, numbers or dates.
        name : str
            Of the column, for the sentence.

        Examples
        --------
        >>> cells = np.array(["1.234,5", "7 €", "oops", None], dtype=object)
        >>> Reading("comma").apply(cells, "price")
        array([1234.5,    7. ,    nan,    nan])
        >>> Reading("dmy").apply(np.array(["02.01.1970"], dtype=object), "sold")
        array([1.])
        """
        kind = values.dtype.kind
        if kind == "M" or kind in "biuf":
            numeric = kind != "M"
            if numeric != (self.kind == "number") and not _empty(values):
                was, now = ("dates", "numbers") if numeric else ("numbers", "dates")
                raise DataError(f"column {name!r} held {was} in the fit; it holds {now} now")
            return values.astype(np.float64) if numeric else days_of(values)
        keys, codes = factorized(values)
        return np.array([self._value(key) for key in keys], dtype=np.float64)[codes]

    def _value(self, cell: Any) -> float:
        if cell is None or cell != cell:
            return np.nan
        if isinstance(cell, Real | Decimal):
            return float(cell) if self.kind == "number" else np.nan
        word = _said(cell)
        if self.form == "truth":
            return TRUTH.get(word.casefold(), np.nan)
        if self.kind == "number":
            value = _number(word, self.form)
            return np.nan if value is None else value
        # A date that begins with its year is the same in every order.
        found = _microseconds(word, "ymd")
        if found is None and self.form != "typed":
            found = _microseconds(word, self.form)
        return np.nan if found is None else found / DAY_MICROSECONDS


def _empty(values: AnyArray) -> bool:
    return bool(np.all(values != values))


def days_of(values: AnyArray) -> NDArray[np.float64]:
    """Return dates of NumPy as days since 1970, NaN where they are missing.

    Parameters
    ----------
    values : (n,) array of datetime64

    Examples
    --------
    >>> days_of(np.array(["1970-01-02T12", "NaT"], dtype="datetime64[h]"))
    array([1.5, nan])
    """
    days = values.astype("datetime64[us]").astype(np.int64) / DAY_MICROSECONDS
    return np.where(np.isnat(values), np.nan, days)


def readings(tallies: Sequence[Tally | None]) -> list[Reading | None]:
    """Return how the columns of a table are read, None for those that are left as they are.

    Where a column leaves it open whether the comma is a decimal sign, or whether the day or the
    month is first, the columns that do not leave it open decide; where there are none, a comma
    before three digits separates thousands, dates with points begin with the day, and others with
    the month.

    Parameters
    ----------
    tallies : sequence of Tally or None

    Examples
    --------
    >>> cells = np.array([f"{day:02d}/03/2024" for day in range(1, 30)], dtype=object)
    >>> [reading] = readings([Tally.of(cells)])
    >>> reading.form, reading.notes[0]
    ('dmy', "words such as '01/03/2024' are read as dates (day, month, year)")
    """
    given = [tally for tally in tallies if tally is not None]
    comma = _balance(given, "comma", "point")
    first = _balance(given, "dmy", "mdy")
    return [None if tally is None else _reading(tally, comma, first) for tally in tallies]


def _balance(tallies: list[Tally], one: str, other: str) -> int:
    """Return a positive number where the columns that are written one way outnumber the others."""
    leans = [
        int(np.sign(tally.counts[one] - tally.counts[other]))
        for tally in tallies
        if _nearly_all(tally, max((one, other), key=lambda form: tally.counts[form]))
    ]
    return sum(leans)


def _nearly_all(tally: Tally, form: str) -> bool:
    """Return whether all cells fit a form but for gaps and a few slips."""
    fits = tally.counts[form]
    stray = tally.counts["cells"] - tally.counts["gap"] - fits
    few = stray <= MAX_STRAY_SHARE * tally.counts["cells"]
    few = few or (stray == 1 and fits >= MIN_CELLS_BESIDE_A_STRAY)
    return fits > 0 and few and 2 * fits >= tally.counts["cells"]


def _reading(tally: Tally, comma: int, day_first: int) -> Reading | None:
    counts = tally.counts
    if counts["typed"] == counts["cells"] and "typed" in counts:
        return Reading("typed")
    folded = {word.casefold() for word in tally.spellings}
    if len(tally.spellings) > len(folded) > 1 and _nearly_all(tally, "truth"):
        words = ", ".join(map(repr, sorted(tally.spellings)[:4]))
        return Reading("truth", (f"spellings of yes and no ({words}) are read as 1 and 0",))
    for form, rival, lean in (
        ("ymd", "ymd", 1),
        ("dmy", "mdy", day_first or (1 if "." in tally.shown.get("dmy", "") else -1)),
        ("comma", "point", comma or -1),
    ):
        open_ = form != rival and counts[form] == counts[rival]
        best = max((form, rival), key=lambda one: (counts[one], lean if one == form else -lean))
        if not _nearly_all(tally, best):
            continue
        if best in NUMBERS:
            # Digits that begin with 0 are codes; and whoever gives numbers as words, all of which
            # any reader of files would have taken for numbers, wants categories.
            if counts["code"] or counts["plain"] == counts["cells"] or len(tally.units) > 1:
                return None
            open_ = open_ and bool(counts["open"])
        return Reading(best, _notes(tally, best, open_))
    return None


def _notes(tally: Tally, form: str, open_: bool) -> tuple[str, ...]:
    notes = []
    example = tally.shown.get(form)
    if form in NUMBERS and example is not None:
        notes.append(f"words such as {example!r} are read as numbers ({_signs(tally, form)})")
    elif form not in NUMBERS and tally.counts["words"]:
        notes.append(f"words such as {example!r} are read as dates ({NAMES[form]})")
    if open_ and form in NUMBERS:
        notes.append("nothing in the column tells thousands separators from decimal signs")
    elif open_:
        notes.append("the day and the month could be exchanged; write 2024-02-29 to be sure")
    if lost := tally.counts["cells"] - tally.counts[form]:
        what = "number" if form in NUMBERS else "date"
        quoted = f" ({', '.join(repr(word[:30]) for word in tally.odd)})" if tally.odd else ""
        cells = f"1 cell that is no {what}" if lost == 1 else f"{lost} cells that are no {what}s"
        notes.append(f"{cells}{quoted} {'is' if lost == 1 else 'are'} taken as missing")
    return tuple(notes)


def _signs(tally: Tally, form: str) -> str:
    """Return which signs a number in this form has, in words."""
    word = tally.shown[form]
    body = NUMBER.fullmatch(word)
    assert body is not None
    found = GROUPED[form].fullmatch(body["digits"])
    assert found is not None
    parts = ["decimal comma"] if form == "comma" else []
    parts += [f"thousands separated by {found[1]!r}"] if found[1] else []
    parts += [f"sign {unit}" for unit in sorted(tally.units)]
    return ", ".join(parts) or "as written"
