"""What a machine of a table is made of, in words and numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._typing import AnyArray, Array, PointsLike
from mercer._words import did_you_mean

__all__ = ["Effect", "Explanation", "effect_of"]


RELEVANCE = (
    "relevance: how far a column moves kernel values, or what cuts of trees gain by it;",
    "plot(X, y) and effect(X, column) show how far it moves predictions.",
)


@dataclass(frozen=True, eq=False)
class Effect:
    """How the mean prediction changes with a column."""

    column: str
    """Name of the column."""

    values: AnyArray
    """Values of the column: quantiles of a number or date, or categories."""

    mean: Array
    """Mean prediction with the column at each value, (k,) or (k, d)."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """Members and columns of a machine of a table, the most relevant first."""

    members: list[tuple[str, float, float, float]]
    """Name, share of the weight, left-out error and seconds of every machine."""

    columns: list[tuple[str, float]]
    """Name of every column, and its relevance in shares of all: how far it moves kernel values, or
    what cuts of trees gain by it. How far it moves predictions is its effect, see `effect`."""

    error: float
    """Left-out error of the whole."""

    measure: str
    """What errors are."""

    notes: list[str]
    """What deserves a second look."""

    kinds: dict[str, float]
    """Shares of the weight that kernel machines have, and trees."""

    def __str__(self) -> str:
        lines = [f"{'machine':30s}{'weight':>8s}{self.measure:>20s}{'seconds':>9s}"]
        lines += [f"{a:30s}{w:8.2f}{e:20.4g}{s:9.1f}" for a, w, e, s in self.members]
        lines += [f"{'together':30s}{1:8.2f}{self.error:20.4g}"]
        if len(self.kinds) > 1:
            lines += [f"  {kind:28s}{share:8.2f}" for kind, share in self.kinds.items()]
        lines += [""]
        lines += [f"{'column':30s}{'relevance':>12s}"]
        lines += [f"{name[:29]:30s}{share:12.1%}" for name, share in self.columns[:20]]
        if len(self.columns) > 20:
            rest = sum(share for _, share in self.columns[20:])
            lines.append(f"{f'{len(self.columns) - 20} others':30s}{rest:12.1%}")
        lines += ["", *RELEVANCE]
        return "\n".join([*lines, *([""] if self.notes else []), *self.notes])


def effect_of(predict: Any, X: PointsLike, column: Any, points: int) -> Effect:
    """Return the mean prediction with a column at several values, all else as it is.

    Parameters
    ----------
    predict : callable
        Predictions for a table.
    X : data frame or array
        Rows over which to average.
    column : str or int
        Name or position of the column.
    points : int
        Number of values, if the column has more.
    """
    X = X.to_pandas() if hasattr(X, "to_pandas") else X
    frame = hasattr(X, "iloc")
    X = X if frame else np.asarray(X)
    name = _named(X, column)
    given: Any = X[name] if frame else X[:, column]
    values = _values(given.dropna().to_numpy() if frame else given, given.dtype.kind, points)
    means = []
    for value in values:
        moved = X.copy()
        if frame:
            # Of the type of the column: the encoder reads categories, dates and numbers by it.
            moved[name] = type(given)([value] * len(X), index=X.index, dtype=given.dtype)
        else:
            moved[:, column] = value
        means.append(np.mean(predict(moved), axis=0))
    return Effect(str(name), values, np.asarray(means))


def _values(seen: AnyArray, kind: str, points: int) -> AnyArray:
    """Return some values of a column: all if they are few, quantiles, or frequent categories.

    Parameters
    ----------
    seen : (m,) array
        Values that are not missing.
    kind : str
        Kind of the type of the column, as NumPy abbreviates it.
    points : int
        Number of values.
    """
    seen = seen[seen == seen]
    try:
        values, counts = np.unique(seen, return_counts=True)
    except TypeError:  # words and numbers in one column have no order
        number = Counter(seen.tolist())
        values = np.array(sorted(number, key=str), dtype=object)
        counts = np.array([number[value] for value in values])
    if len(values) <= points:
        return values
    levels = np.linspace(0.02, 0.98, points)
    if kind == "f":
        return np.unique(np.quantile(seen, levels))
    if kind in "iuM":  # an integer or a day is a value of the column, none between two of them
        middle = np.rint(levels * (len(seen) - 1)).astype(np.intp)
        return np.unique(np.sort(seen)[middle])
    return values[np.sort(np.argsort(-counts, kind="stable")[:points])]


def _named(X: Any, column: Any) -> Any:
    """Return the name of a column of a table, or its position in an array."""
    names = X.columns if hasattr(X, "columns") else range(np.shape(X)[1])
    if column in names:
        return column
    if isinstance(column, str):
        raise ValueError(f"no column is called {column!r}.{did_you_mean(column, map(str, names))}")
    if not -len(names) <= column < len(names):
        raise ValueError(f"there is no column {column}; the table has {len(names)}.")
    return names[column]
