"""Which columns of a table are features, targets and weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from mercer._typing import AnyArray, PointsLike, TargetsLike
from mercer.data.base import Block, Source
from mercer.data.table import DataError, Table, common_type

__all__ = ["Choice", "ColumnSource", "Kinds", "refusal"]

Names = str | Sequence[str] | None
OBJECT = np.dtype(object)
Kinds = dict[str, np.dtype[Any] | str]
"""The type of every column: of its numbers, object, or the name of a type that is no use."""


def refusal(name: str, kind: str) -> str:
    """Return a sentence about a column of a type that cannot be used: how to make numbers of it.

    Parameters
    ----------
    name : str
    kind : str
        Name of the type.

    Examples
    --------
    >>> refusal("sold", "timestamp[us]")
    "column 'sold' holds timestamp[us]; leave it out, or give a data frame in memory to ..."
    """
    low = kind.lower()
    if low.startswith(("duration", "timedelta")):
        return (
            f"column {name!r} holds {kind}; give a number instead of a length of time, such as its "
            f"seconds (in pandas df[{name!r}].dt.total_seconds())"
        )
    if low.startswith("time") and not low.startswith("timestamp"):
        return (
            f"column {name!r} holds {kind}; give a number instead of a time of day, such as its "
            "hour, or leave it out"
        )
    if low.startswith("period"):
        return (
            f"column {name!r} holds {kind}; give the dates at which periods begin (in pandas "
            f"df[{name!r}].dt.to_timestamp())"
        )
    if low.startswith(("date", "timestamp")):
        return (
            f"column {name!r} holds {kind}; leave it out, or give a data frame in memory to "
            "AutoRegressor, AutoClassifier or mercer.preprocessing.TableEncoder, which encode "
            f"dates, or numbers that matter, such as the year (in pandas df[{name!r}].dt.year)"
        )
    return (
        f"column {name!r} holds {kind}, which is neither numbers nor categories; leave it out "
        "(features=[...]), or turn it into numbers first"
    )


def listed(names: Names) -> tuple[str, ...]:
    return () if names is None else (names,) if isinstance(names, str) else tuple(names)


@dataclass(frozen=True)
class Choice:
    """Columns by the part they play.

    Parameters
    ----------
    features : tuple of str
    targets : tuple of str
        None or one or several; one gives targets (n,), several (n, d).
    weight : str, optional
    keep : tuple of str
        Columns that travel along unseen, to be written beside predictions.
    dtype : dtype, optional
        Type of the array of features; None if some are not numbers, and blocks hold a table.
    matrix : bool
        Whether targets are (n, d) although there is one.
    """

    features: tuple[str, ...]
    targets: tuple[str, ...] = ()
    weight: str | None = None
    keep: tuple[str, ...] = ()
    dtype: np.dtype[Any] | None = None
    matrix: bool = False

    @classmethod
    def make(
        cls,
        kinds: Kinds,
        target: Names = None,
        features: Names = None,
        weight: str | None = None,
        keep: Names = None,
        dtype: DTypeLike | None = None,
    ) -> Choice:
        """Return the columns that were asked for, or a sentence about those that cannot be had.

        Parameters
        ----------
        kinds : dict from str to dtype or str
            For every column the type of its numbers, object if they are not numbers, or the name
            of a type that cannot be used.
        target, features, weight, keep : str or sequence of str, optional
            By default all columns that play no other part are features.
        dtype : dtype, optional
            Type of the array of features; by default the smallest that holds them.

        Examples
        --------
        >>> kinds = {"x": np.dtype("f4"), "y": np.dtype("f8"), "when": "timestamp"}
        >>> Choice.make(kinds, target="y", features="x").dtype
        dtype('float32')
        >>> Choice.make(kinds, target="yy")
        Traceback (most recent call last):
        mercer.data.table.DataError: there is no column 'yy'; did you mean 'y'? There are: x, ...
        """
        targets, kept = listed(target), listed(keep)
        chosen = listed(features)
        for name in (*targets, *kept, *chosen, *listed(weight)):
            if name not in kinds:
                close = get_close_matches(name, kinds, n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ";"
                shown = ", ".join(list(kinds)[:20]) + (", ..." if len(kinds) > 20 else "")
                raise DataError(f"there is no column {name!r}{hint} There are: {shown}")
        if features is None:
            other = {*targets, *kept, *listed(weight)}
            chosen = tuple(name for name in kinds if name not in other)
        if not chosen:
            raise DataError("no columns are left to be features")
        if both := {*chosen} & {*targets}:
            raise DataError(f"both feature and target: {', '.join(sorted(both))}")
        for name in (*chosen, *targets, *listed(weight)):
            if isinstance(kind := kinds[name], str):
                raise DataError(refusal(name, kind))
        if weight is not None and kinds[weight] == OBJECT:
            raise DataError(f"weights are numbers; column {weight!r} is not")
        if len(targets) > 1 and any(kinds[name] == OBJECT for name in targets):
            raise DataError(f"several targets are numbers; not all of {', '.join(targets)} are")
        numeric = all(kinds[name] != OBJECT for name in chosen)
        found = common_type([kinds[name] for name in chosen]) if numeric else None
        if numeric and dtype is not None:
            found = np.dtype(dtype)
        several = target is not None and not isinstance(target, str)
        return cls(chosen, targets, weight, kept, found, several)

    @property
    def needed(self) -> list[str]:
        """Names of the columns to read, each once."""
        return list(
            dict.fromkeys((*self.features, *self.targets, *listed(self.weight), *self.keep))
        )

    def block(self, column: Callable[[str], AnyArray], n: int, start: int) -> Block:
        """Return a block of rows.

        Parameters
        ----------
        column : callable
            From a name to the values (n,): numbers, or objects with None for what is missing.
        n, start : int
            Number of rows and of the first of them.
        """
        X: PointsLike
        if self.dtype is None:
            X = Table({name: column(name) for name in self.features})
        else:
            X = np.empty((n, len(self.features)), dtype=self.dtype)
            for j, name in enumerate(self.features):
                X[:, j] = column(name)
        y: TargetsLike = None
        if self.targets:
            values = [column(name) for name in self.targets]
            y = np.stack(values, axis=1) if self.matrix else values[0]
        s = None if self.weight is None else column(self.weight).astype(np.float64)
        keep = Table({name: column(name) for name in self.keep}) if self.keep else None
        return Block(X, y, s, start, keep)


class ColumnSource(Source):
    """A source of rows that have columns, some of which are chosen."""

    choice: Choice

    def choose(self, choice: Choice) -> None:
        """Read these columns from now on.

        Parameters
        ----------
        choice : Choice
        """
        self.choice = choice
        self.n_features, self.feature_names = len(choice.features), list(choice.features)
