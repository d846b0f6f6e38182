"""Columns that determine the target: copies of it, functions of it, and codes of its values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from mercer._typing import AnyArray, Array, PointsLike
from mercer.preprocessing.table_encoder import TableEncoder

__all__ = ["determining_columns", "leaks_of"]

# Values from which on a line through all of them, or one order of both columns, is no coincidence.
MIN_LINE_VALUES, MIN_ORDERED_VALUES = 5, 20
# Probability, if rows were assigned at random, that equal values always have equal targets.
MAX_CHANCE = 1e-9
# Roundings of a line: of the slope, of a product and of a sum, of numbers of the size of the terms.
ROUNDINGS = 16.0


def determining_columns(
    X: ArrayLike, y: ArrayLike, names: Sequence[str], numbers: Sequence[int]
) -> list[str]:
    """Return a sentence for each column that determines the target.

    A column determines the target if rows with the same value always have the same target, and one
    of these is seen: the target is a line in the column, both have the same or the opposite order,
    or values are repeated so often that equal targets are no coincidence. Different values in all
    rows, as identifiers have, are no evidence by themselves. Neither are classes that thresholds of
    a number separate, as petal lengths separate one of three irises from the others.

    Parameters
    ----------
    X : (n, p) array
        Columns of numbers and of codes of categories.
    y : (n,) array
        Numbers or classes.
    names : sequence of str
        Names of the columns.
    numbers : sequence of int
        Positions of the columns of numbers.

    Returns
    -------
    list of str

    Examples
    --------
    >>> x = np.arange(30.0) ** 2
    >>> determining_columns(x[:, None], 2 * x + 1, ["x"], [0])
    ["Column 'x' determines the target: it is 2 x + 1 in all 30 rows. Check for leakage: ..."]
    >>> determining_columns(np.random.default_rng(0).normal(size=(30, 1)), x, ["x"], [0])
    []
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    classes, target = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        return []
    numeric = y.dtype.kind in "iuf"
    few = len(classes) < MIN_ORDERED_VALUES
    found: list[str] = []
    once: AnyArray | None = None
    for j, name in enumerate(names):
        values, group = np.unique(X[:, j], return_inverse=True)
        low = np.full(len(values), len(classes))
        high = np.full(len(values), -1)
        np.minimum.at(low, group, target)
        np.maximum.at(high, group, target)
        if np.any(low != high):
            continue
        how = None
        if numeric and j in numbers:
            how = _line(values, classes[low].astype(np.float64)) or _order(values, low)
        separates = few and j in numbers and np.count_nonzero(np.diff(low)) == len(classes) - 1
        if how is None and not (separates and len(values) > len(classes)):
            if once is None:  # copies of whole rows are no evidence
                rows = np.column_stack([X, target])
                once = np.unique(rows, axis=0, return_index=True)[1]
            how = _repeated(group[once], target[once])
        if how is not None:
            found.append(
                f"Column {name!r} determines the target: {how} in all {len(y)} rows. Check for "
                "leakage: leave it out unless new rows have it before the target is known."
            )
    return found


def leaks_of(X: PointsLike, y: ArrayLike) -> list[str]:
    """Return a sentence for each column of a table that determines the target.

    Parameters
    ----------
    X : data frame or array of shape (n, p)
        Table.
    y : (n,) array
        Targets.

    Examples
    --------
    >>> leaks_of([[float(k), k % 7] for k in range(21)], [3.0 * k for k in range(21)])
    ["Column 'x0' determines the target: it is 3 x in all 21 rows. Check for leakage: ..."]
    """
    encoder = TableEncoder().fit(X)
    M = np.asarray(encoder.transform(X), dtype=np.float64)
    return determining_columns(M, y, encoder.names_, list(encoder.numeric_))


def _line(x: Array, y: Array) -> str | None:
    """Return the line on which all points are, up to rounding, if there are enough of them."""
    if len(x) < MIN_LINE_VALUES:
        return None
    slope = (y[-1] - y[0]) / (x[-1] - x[0])
    size = np.max(np.abs(y)) + abs(slope) * np.max(np.abs(x))
    if not np.max(np.abs(y[0] + slope * (x - x[0]) - y)) <= ROUNDINGS * np.finfo(float).eps * size:
        return None
    constant = y[0] - slope * x[0]
    factor = {"1": "", "-1": "-"}.get(f"{slope:.6g}", f"{slope:.6g} ")
    end = "" if abs(constant) <= 1e-9 * size else f" {'-' if constant < 0 else '+'} "
    return f"it is {factor}x{end}{f'{abs(constant):.6g}' if end else ''}"


def _order(x: Array, y: AnyArray) -> str | None:
    """Return that the target rises or falls with a column, if it always does."""
    if len(x) < MIN_ORDERED_VALUES:
        return None
    steps = np.diff(y)
    if np.all(steps > 0):
        return "it rises with the column"
    return "it falls when the column rises" if np.all(steps < 0) else None


def _repeated(group: AnyArray, target: AnyArray) -> str | None:
    """Return that values always have the same target, if that is no coincidence."""
    share = np.bincount(target) / len(target)
    size = np.bincount(group)
    different, often = np.unique(size[size > 1], return_counts=True)
    chance = sum(
        float(many) * np.log(np.sum(share ** float(k)))
        for k, many in zip(different, often, strict=True)
    )
    if chance > np.log(MAX_CHANCE):
        return None
    return f"rows with the same one of its {len(size)} values have the same target"
