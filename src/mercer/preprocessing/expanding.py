"""Words and ordered labels as numbers, dates as several columns: a table before its encoding."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._typing import AnyArray, PointsLike
from mercer.data.base import Block, PerColumn
from mercer.data.table import Table, factorized
from mercer.preprocessing.dates import Calendar, circle_names, circles
from mercer.preprocessing.readings import Reading

__all__ = ["Expand", "calendars"]


@dataclass(frozen=True)
class Expand:
    """A function of blocks: words that are numbers become numbers, dates several columns each.

    Parameters
    ----------
    readings : dict from str to str
        Forms of the columns that are read, see :class:`~mercer.preprocessing.readings.Reading`.
    periods : dict from str to list of str
        Periods of the columns of dates.
    orders : dict from str to list
        Labels in order of the columns whose labels become ranks; any other label is missing.

    Examples
    --------
    >>> Expand({"sold": "ymd"}, {"sold": ["week"]}).names(["price", "sold"])
    ['price', 'sold_days', 'sold_week_cos', 'sold_week_sin']
    """

    readings: dict[str, str]
    periods: dict[str, list[str]]
    orders: dict[str, list[Any]] = field(default_factory=dict)

    def names(self, given: list[str]) -> list[str]:
        """Return the names of the columns that come out.

        Parameters
        ----------
        given : list of str
            Names of the columns that go in.
        """
        if not self.periods:
            return given
        made = []
        for name in given:
            for one in circle_names(name, self.periods[name]) if name in self.periods else [name]:
                # As a table may have a column of this name already.
                made.append(f"{one}_" if one != name and one in given else one)
        return made

    def origin(self, given: list[str]) -> list[int]:
        """Return for every column that comes out the number of the column it is made from.

        Parameters
        ----------
        given : list of str
            Names of the columns that go in.
        """
        return [
            j
            for j, name in enumerate(given)
            for _ in range(1 + 2 * len(self.periods.get(name, ())))
        ]

    def columns(self, X: PointsLike, given: list[str]) -> list[AnyArray]:
        """Return the columns that come out.

        Parameters
        ----------
        X : Table or (n, p) array
        given : list of str
            Names of the columns that go in.
        """
        found: list[AnyArray] = []
        each = list(X.columns.values()) if isinstance(X, Table) else list(np.asarray(X).T)
        for name, values in zip(given, each, strict=True):
            form = self.readings.get(name)
            if name in self.orders:
                found.append(_ranks(values, self.orders[name]))
                continue
            if form is None:
                found.append(values)
                continue
            x = Reading(form).apply(values, name)
            found += circles(x, self.periods[name]) if name in self.periods else [x]
        return found

    def __call__(self, block: Block) -> Block:
        """Return a block with the columns that come out.

        Parameters
        ----------
        block : Block
        """
        given = list(block.X.columns)
        made = dict(zip(self.names(given), self.columns(block.X, given), strict=True))
        return block._replace(X=Table(made))


def _ranks(values: AnyArray, order: list[Any]) -> AnyArray:
    """Return the places of labels in their order, NaN for other labels and missing ones."""
    place = {label: float(rank) for rank, label in enumerate(order)}
    keys, codes = factorized(values)
    return np.array([place.get(key, np.nan) for key in keys])[codes]


def calendars(
    block: Block, shared: tuple[tuple[str, ...], tuple[str, ...]], state: None
) -> PerColumn:
    """Return the calendars of a block; the work of a pass.

    Parameters
    ----------
    block : Block
    shared : tuple
        Names of the columns of dates, and their forms.
    state : None
    """
    return PerColumn(
        tuple(
            Calendar.of(Reading(form).apply(block.X.columns[name], name))
            for name, form in zip(*shared, strict=True)
        )
    )
