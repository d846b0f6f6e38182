"""Errors about parameters and data in sentences that say what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions

from mercer._words import did_you_mean

__all__ = ["explained", "explaining_data"]

# Names of columns that a sentence lists at most.
LISTED = 5


def explained(estimator: Any, message: str) -> str:
    """Return the sentence about a wrong parameter with a word that may have been meant.

    Parameters
    ----------
    estimator : estimator
        With its parameters.
    message : str
        What scikit-learn says.

    Examples
    --------
    >>> from mercer import SVC
    >>> SVC(kernel="gausian").fit([[0.0], [1.0]], [0, 1])
    Traceback (most recent call last):
    sklearn.utils._param_validation.InvalidParameterError: ... Did you mean 'gaussian'?
    """
    found = re.match(r"The '(\w+)' parameter of (\w+)", message)
    if found is None or not hasattr(estimator, found[1]):
        return message
    name, given = found[1], getattr(estimator, found[1])
    words: set[str] = set()
    for allowed in estimator._parameter_constraints.get(name, ()):
        words |= set(allowed.options) if isinstance(allowed, StrOptions) else set()
    meant = did_you_mean(given, words)
    if name != "approximation" or not words:
        return message + meant
    listed = ", ".join(repr(word) for word in sorted(words))
    return (
        f"approximation={given!r} of {found[2]} is not known.{meant} Give {listed}, a number of "
        'landmarks such as 2000, or an object such as Nystrom(2000, centres="leverage").'
    )


@contextmanager
def explaining_data(X: Any) -> Iterator[None]:
    """Let errors about missing cells, words and dates in data say what to do about them.

    Parameters
    ----------
    X : array-like or data frame
        Inputs as they were given.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR
    >>> SVR().fit([[np.nan, 1.0], [0.0, 2.0]], [0.0, 1.0])
    Traceback (most recent call last):
    ValueError: Input X contains NaN in 1 of 2 columns (0). ...
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        text = str(error)
        if "contains NaN" in text and "X" in text.split("contains NaN")[0]:
            raise ValueError(_missing(X)) from error
        if _of_words(X, text):
            raise type(error)(
                f"{text} Columns {_listed(_word_columns(X))} hold words, categories or dates: "
                "AutoRegressor and AutoClassifier take them as they are, and "
                "mercer.preprocessing.TableEncoder turns them into numbers."
            ) from error
        raise


def _missing(X: Any) -> str:
    names = list(getattr(X, "columns", []))
    values = np.atleast_2d(X.toarray() if hasattr(X, "toarray") else X).astype(np.float64)
    columns = np.flatnonzero(np.isnan(values).any(axis=0))
    shown = [names[j] if names else int(j) for j in columns]
    where = f" in {len(shown)} of {values.shape[1]} columns ({_listed(shown)})" if shown else ""
    return (
        f"Input X contains NaN{where}. Use MissingInputRegressor or MissingInputClassifier, which "
        "account for missing inputs, AutoRegressor or AutoClassifier, or fill them in first, as in "
        "make_pipeline(SimpleImputer(), SVR())."
    )


def _word_columns(X: Any) -> list[Any]:
    """Return names of the columns of a data frame that are no numbers."""
    kinds = getattr(X, "dtypes", None)
    columns = getattr(X, "columns", None)
    if kinds is None or columns is None:
        return []
    return [
        name
        for name, kind in zip(columns, list(kinds), strict=True)
        if getattr(kind, "kind", "f") in "OUSMm" or str(kind) in ("category", "string", "str")
    ]


def _of_words(X: Any, text: str) -> bool:
    return bool(_word_columns(X)) and ("convert" in text or "dtype" in text or "float" in text)


def _listed(names: Any) -> str:
    shown = [repr(name) for name in names[:LISTED]]
    return ", ".join(shown) + (", ..." if len(names) > LISTED else "")
