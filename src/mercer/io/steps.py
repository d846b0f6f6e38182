"""What is done with columns before a machine sees them, as values of a graph.

Ranks by linear interpolation, dates as points on circles, and tables whose words become codes and
whose gaps are filled and marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.data.statistics import codes_of
from mercer.io.errors import CannotConvert
from mercer.io.symbols import Backend, Handle, Value
from mercer.preprocessing import TableEncoder
from mercer.preprocessing.dates import CIRCLE_DIGITS, DAYS_AFTER_MONDAY, PERIODS

__all__ = ["GAPS", "Cells", "dated", "dates", "encoded", "interpolated"]


GAPS = ("", "nan")
"""Words that stand for missing cells: graphs have no missing words."""


def interpolated(x: Value, knots: Sequence[Array], values: Sequence[Array]) -> Value:
    """Write linear interpolation of every column, constant beyond its ends, (n, p).

    The knot below a number is found by bisection, of all columns together: as many steps as the
    number of knots has binary digits.

    Parameters
    ----------
    x : Value
        Numbers, (n, p).
    knots, values : sequences of arrays
        In ascending order, for every column.
    """
    tables = [_table(a, f) for a, f in zip(knots, values, strict=True)]
    size = 2 ** int(np.ceil(np.log2(max(len(a) for a, _ in tables))))
    a = np.stack([np.pad(a, (0, size - len(a)), constant_values=np.inf) for a, _ in tables])
    f = np.stack([np.pad(f, (0, size - len(f))) for _, f in tables])
    last = np.array([len(one) - 2.0 for one, _ in tables])
    begin = size * np.arange(len(tables), dtype=np.int64)
    at, step = x * np.zeros((1, len(tables))), size // 2
    while step:
        beyond = (at + float(step)).looked_up(a.ravel(), begin).above(x)
        at = at + (1.0 - beyond) * float(step)
        step //= 2
    at = at.at_most(last[None])
    with np.errstate(invalid="ignore"):
        width, rise = np.diff(a, append=np.inf), np.diff(f, append=0.0)
    width[~np.isfinite(width)] = 1.0
    low, left = at.looked_up(f.ravel(), begin), at.looked_up(a.ravel(), begin)
    share = (x - left) / at.looked_up(width.ravel(), begin)
    return low + share.at_least(0.0).at_most(1.0) * at.looked_up(rise.ravel(), begin)


def _table(knots: Array, values: Array) -> tuple[Array, Array]:
    """Return at least two knots: a column without values is zero, with a single one constant."""
    if len(knots) > 1:
        return knots, values
    a, f = (knots[0], values[0]) if len(knots) else (0.0, 0.0)
    return np.array([a, a + max(1.0, abs(a))]), np.array([f, f])


def dates(t: Value, periods: Sequence[Sequence[str]]) -> Value:
    """Write days since 1970 with their places in periods, as a DateEncoder has them.

    Parameters
    ----------
    t : Value
        Days since 1970, (n, p).
    periods : sequence of sequences of str
        Periods of every column.
    """
    found = []
    for j, names in enumerate(periods):
        days = t.columns([j])
        found.append(days)
        for name in names:
            period = PERIODS[name]
            shifted = days + (DAYS_AFTER_MONDAY if name == "week" else 0.0)
            # Whole turns are left out of the days, not of the turns, which are rounded.
            phase = shifted - (shifted / period).map("Floor") * period
            angle = phase / period * (2.0 * np.pi)
            unit = 10.0**CIRCLE_DIGITS
            found += [(angle.map(part) * unit).map("Round") / unit for part in ("Cos", "Sin")]
    return found[0].beside(*found[1:])


class Cells(NamedTuple):
    """A column of a table as it comes into a graph, (n, 1)."""

    handle: Handle
    words: bool


def encoded(cells: Sequence[Cells], encoder: TableEncoder, backend: Backend, single: bool) -> Value:
    """Write the table of numbers and codes that a TableEncoder makes, (n, k).

    Parameters
    ----------
    cells : sequence of Cells
        The columns: numbers, also those that are read from words, in the precision of the backend;
        dates as days since 1970 in float64.
    encoder : TableEncoder
        A fitted encoder.
    backend : Backend
        Where nodes are written.
    single : bool
        Whether numbers came in float32, to which labels that are numbers are rounded then.
    """
    place = {int(o): c for c, o in enumerate(encoder.categorical_)}
    dates_of, columns = dated(encoder), list[Cells]()
    for j, cell in enumerate(cells):
        if j not in dates_of:
            columns.append(cell)
            continue
        if cell.words:
            raise CannotConvert(
                f"the column {dates_of[j][0]!r} held dates when the model was fitted; give it an "
                "input of numbers, days since 1970-01-01 in float64."
            )
        parts = dates(Value(backend.wide(), cell.handle), [dates_of[j][1]])
        for k in range(1 + 2 * len(dates_of[j][1])):
            columns.append(Cells(parts.columns([k]).within(backend).handle, False))
    given = encoder._names or [f"x{j}" for j in range(encoder.n_features_in_)]
    names, orders = encoder._expand.names(given), encoder._expand.orders
    found = []
    for o, j in enumerate(getattr(encoder, "_placed", encoder.kept_)):
        handle, words = columns[j]
        marks = o in encoder.missing_
        if order := orders.get(names[j]):
            places = {label: rank for rank, label in enumerate(order)}
            write = _of_words if words else _of_numbers
            ranks = write(backend, handle, places, -1, names[j], single)
            gap = ranks.equals(-1.0)
            found.append(gap if marks else ranks + gap * (float(encoder.medians_[j]) + 1.0))
            continue
        if o in place:
            codes = codes_of(encoder.categories_[place[o]], encoder.infrequent_[place[o]])
            write = _of_words if words else _of_numbers
            found.append(write(backend, handle, *codes, encoder.names_[o], single))
            continue
        if words:
            raise CannotConvert(
                f"the column {encoder.names_[o]!r} held numbers when the model was fitted; give it "
                "an input of numbers."
            )
        x = Value(backend, handle)
        found.append(x.gaps() if marks else x.filled(float(encoder.medians_[j])))
    return found[0].beside(*found[1:])


def dated(encoder: TableEncoder) -> dict[int, tuple[str, list[str]]]:
    """Return the name and the periods of every column of dates by its number.

    Parameters
    ----------
    encoder : TableEncoder
        A fitted encoder.
    """
    periods = getattr(encoder, "periods_", {})
    names = encoder._names or [f"x{j}" for j in range(encoder.n_features_in_)]
    return {j: (name, periods[name]) for j, name in enumerate(names) if name in periods}


def _of_words(
    backend: Backend, handle: Handle, known: dict[Any, int], other: int, name: str, single: bool
) -> Value:
    if wrong := [label for label in known if not isinstance(label, str | None)]:
        raise CannotConvert(
            f"the column {name!r} has the category {wrong[0]!r}, which is no word; give it an "
            "input of numbers."
        )
    words = {label: code for label, code in known.items() if label is not None}
    # A gap is a category of its own, or one that was never met.
    words = dict.fromkeys(GAPS, known.get(None, other)) | words
    found = backend.apply(
        "LabelEncoder",
        handle,
        op_domain="ai.onnx.ml",
        keys_strings=list(words),
        values_int64s=list(words.values()),
        default_int64=other,
    )
    return Value(backend, backend.cast(found, backend.dtype))


def _of_numbers(
    backend: Backend, handle: Handle, known: dict[Any, int], other: int, name: str, single: bool
) -> Value:
    if wrong := [label for label in known if isinstance(label, str)]:
        raise CannotConvert(
            f"the column {name!r} has the category {wrong[0]!r}: give it an input of words, by "
            "initial_types."
        )
    x = Value(backend, handle)
    there = {label: code for label, code in known.items() if label is not None}
    labels = np.array(list(there), dtype=np.float64)
    if single:
        labels = labels.astype(np.float32).astype(np.float64)
    codes = np.array(list(there.values()), dtype=np.float64) - other
    gap = float(known.get(None, other) - other)
    return x.equals(labels[None]) @ codes[:, None] + x.gaps() * gap + float(other)
