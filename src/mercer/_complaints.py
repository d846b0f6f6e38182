"""Errors that NumPy and pandas raise about data, as sentences that say what to do."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from mercer._typing import PointsLike, TargetsLike

__all__ = ["complaint"]

# What errors of NumPy, pandas and scikit-learn have in common if a target is missing.
OF_MISSING = (
    "Input contains NaN",
    "Input y contains NaN",
    "NAType",
    "NaTType",
    "Unknown label type",
    "not supported between instances of",
    "value of NA is ambiguous",
)


def complaint(machine: object, X: PointsLike, y: TargetsLike, error: Exception) -> str | None:
    """Return the sentence that an error in a fit stands for; None if it is one already.

    Parameters
    ----------
    machine : estimator
        Whose fit failed.
    X, y : object
        Inputs and targets as they were given.
    error : Exception
        What was raised.

    Examples
    --------
    >>> from mercer import SVR
    >>> SVR().fit([[0.0], [1.0]], ["u", "v"])
    Traceback (most recent call last):
    ValueError: y holds words such as 'u', and SVR predicts numbers; ...
    """
    text, name = str(error), type(machine).__name__
    if any(part in text for part in OF_MISSING) and (lost := _missing(y)):
        return (
            f"Input y contains NaN in {len(lost)} of {np.shape(y)[0]} rows, the first of which is "
            f"row {lost[0]} (counted from 0). Leave out the rows without a target: "
            "known = pandas.notna(y); fit(X[known], y[known])."
        )
    if "NAType" in text or "value of NA is ambiguous" in text:
        return (
            "X holds pd.NA among objects; give numbers in which NaN is missing, as in "
            "X.astype('Float64'), or fill them in first."
        )
    if "not supported between instances of" in text and len(kinds := _kinds(y)) > 1:
        return (
            f"labels in y are of several kinds: {' and '.join(sorted(kinds))}; give all of them as "
            "words, as in y.astype(str), or all as numbers."
        )
    if text.startswith("Unknown label type: continuous"):
        value = next((cell for cell in _cells(y) if cell != round(cell)), None)
        such = "" if value is None else f" such as {float(value):.4g}"
        return (
            f"Unknown label type: continuous. y holds numbers{such}, and {name} predicts classes; "
            "for numbers take a regressor, such as SVR or AutoRegressor."
        )
    found = re.search(r"could not convert string to float: (?:np\.str_\()?'(.*?)'", text)
    if found and found[1] in _cells(y):  # and not a word in X
        word = found[1].strip()
        if word.replace(",", "").replace(".", "").lstrip("-").isdigit():
            what = "turn them into numbers first (pandas.read_csv reads decimal=',' and thousands)"
        else:
            what = "for classes take a classifier, such as SVC or AutoClassifier"
        return f"y holds words such as {word[:40]!r}, and {name} predicts numbers; {what}."
    if type(error).__name__ == "DuplicateError" and hasattr(X, "columns"):
        names = [str(column) for column in X.columns]
        twice = sorted({column for column in names if names.count(column) > 1})
        return (
            f"columns of X have different names, but {', '.join(map(repr, twice[:5]))} occurs more "
            "than once; rename or drop columns first."
        )
    return None


def _cells(y: TargetsLike) -> list[Any]:
    if y is None or isinstance(y, str):
        return []
    try:
        return list(np.asarray(y, dtype=object).ravel())
    except (TypeError, ValueError):
        return []


def _missing(y: TargetsLike) -> list[int]:
    """Return the positions of targets that are None, NaN, NaT or NA."""
    absent = ("NoneType", "NAType", "NaTType")
    known = [type(cell).__name__ not in absent and cell == cell for cell in _cells(y)]
    rows = np.asarray(known, dtype=bool).reshape(len(known) and np.shape(y)[0], -1).all(axis=1)
    return np.flatnonzero(~rows).tolist()


def _kinds(y: TargetsLike) -> set[str]:
    """Return which kinds of labels there are, in words."""
    words = {str: "words", bool: "truth values"}
    return {
        next((word for kind, word in words.items() if isinstance(cell, kind)), "numbers")
        for cell in _cells(y)
    }
