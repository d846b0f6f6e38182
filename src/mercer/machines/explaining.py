"""Errors about parameters and data in sentences that say what to do."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, RegressorMixin

from mercer._sklearn import StrOptions
from mercer._typing import PointsLike
from mercer._words import did_you_mean
from mercer.kernels.named import ALIASES

__all__ = ["ScaleWarning", "explained", "explaining_data", "warn_of_scales"]

# Names of columns that a sentence lists at most.
MAX_LISTED_COLUMNS = 5

# Features that vary so many times less than the widest one hardly count in distances: of 200 rows
# whose three features matter alike, R2 is .95 at a ratio of one, .75 at ten and .48 at twenty. A
# warning needs this share of the features. Rows that are looked at.
WIDER, PART, LOOKED_AT = 20.0, 0.2, 10_000


# What may be given beside names.
OBJECTS = {
    "approximation": "a number of landmarks such as 2000, or an object such as "
    'Nystrom(2000, centres="leverage")',
    "kernel": "a function of two sets of points, or an object such as Gaussian(length_scale=2.0)",
}


class ScaleWarning(UserWarning):
    """Features of very different scales meet a kernel with one width for all of them."""


def warn_of_scales(machine: object, X: PointsLike) -> None:
    """Warn if many features hardly count because others vary twenty times as much.

    Parameters
    ----------
    machine : KernelMachine
        With a kernel that has one width for all features.
    X : (n, p) array or sparse matrix
        Sparse ones are counts and codes, and left alone.
    """
    if sp.issparse(X) or X.ndim != 2 or X.shape[1] < 2:
        return
    some = X[:LOOKED_AT]
    centred = some - np.add.reduce(some, axis=0) / len(some)
    squares = np.einsum("ij,ij->j", centred, centred)
    if np.minimum.reduce(squares) * WIDER**2 >= np.maximum.reduce(squares):
        return  # as nearly always
    spread = np.sqrt(squares / len(some))
    widest = np.maximum.reduce(spread)
    if not np.isfinite(widest):
        return
    varied = spread > 0.0
    lost = np.flatnonzero(varied & (spread * WIDER < widest))
    if len(lost) == 0 or len(lost) < PART * np.count_nonzero(varied):
        return
    names = getattr(machine, "feature_names_in_", None)
    named = [str(j) if names is None else repr(str(names[j])) for j in (*lost, spread.argmax())]
    listed = ", ".join(named[:-1][:MAX_LISTED_COLUMNS]) + (
        ", ..." if len(lost) > MAX_LISTED_COLUMNS else ""
    )
    warnings.warn(
        f"{len(lost)} of {X.shape[1]} features ({listed}) vary more than {WIDER:g} times less than "
        f"feature {named[-1]}, and hardly count in the kernel. Scale them, as "
        f"{type(machine).__name__}(standardize=True) does; AutoRegressor and AutoClassifier learn "
        "a scale for each.",
        ScaleWarning,
        stacklevel=2,
    )


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
    sklearn.utils._param_validation.InvalidParameterError: ... Did you mean 'gaussian'? Give ...
    """
    found = re.match(r"The '(\w+)' parameter of (\w+)", message)
    if found is None or not hasattr(estimator, found[1]):
        return message
    name, given = found[1], getattr(estimator, found[1])
    # Words that are allowed come in the order of a set, which changes from run to run.
    message = re.sub(
        r"\{('[^{}]*')\}", lambda m: "{" + ", ".join(sorted(m[1].split(", "))) + "}", message
    )
    words: set[str] = set()
    for allowed in estimator._parameter_constraints.get(name, ()):
        words |= set(allowed.options) if isinstance(allowed, StrOptions) else set()
    meant = did_you_mean(given, words)
    if name not in OBJECTS or not words:
        return message + meant
    listed = ", ".join(repr(word) for word in sorted(words - ALIASES.keys()))
    return f"{name}={given!r} of {found[2]} is not known.{meant} Give {listed}, {OBJECTS[name]}."


@contextmanager
def explaining_data(machine: object, X: PointsLike) -> Iterator[None]:
    """Let errors about missing cells, words and dates in data say what to do about them.

    Parameters
    ----------
    machine : estimator
        That the data are for.
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
        if "NAType" in text or ("contains NaN" in text and "X" in text.split("contains NaN")[0]):
            raise ValueError(_missing(machine, X)) from error
        if _of_words(X, text):
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(_worded(machine, X)) from error
        raise


def _missing(machine: object, X: PointsLike) -> str:
    names = list(getattr(X, "columns", []))
    held = X.toarray() if hasattr(X, "toarray") else X
    missing = held.isna() if hasattr(held, "isna") else [[_gap(v) for v in row] for row in held]
    columns = np.flatnonzero(np.asarray(missing, dtype=bool).any(axis=0))
    shown = [names[j] if names else int(j) for j in columns]
    where = f" in {len(shown)} of {np.shape(missing)[1]} columns ({_listed(shown)})"
    filled = f"make_pipeline(SimpleImputer(), {type(machine).__name__}())"
    contains = f"Input X contains NaN{where if shown else ''}."
    if not isinstance(machine, ClassifierMixin | RegressorMixin):
        return f"{contains} Fill them in first, as in {filled}."
    kind = "Classifier" if isinstance(machine, ClassifierMixin) else "Regressor"
    return (
        f"{contains} Use MissingInput{kind}, which accounts for missing inputs, Auto{kind}, or "
        f"fill them in first, as in {filled}."
    )


def _gap(cell: Any) -> bool:
    return cell is None or type(cell).__name__ == "NAType" or bool(cell != cell)


def _worded(machine: object, X: PointsLike) -> str:
    names = _word_columns(X)
    spans = [name for name in names if str(X[name].dtype).startswith(("timedelta", "duration"))]
    if spans:
        return (
            f"Columns {_listed(spans)} hold lengths of time, and {type(machine).__name__} takes "
            f"numbers: give seconds, as in X[{spans[0]!r}].dt.total_seconds()."
        )
    return (
        f"Columns {_listed(names)} hold words, categories or dates, and {type(machine).__name__} "
        "takes numbers: AutoRegressor and AutoClassifier take them as they are, and "
        "mercer.preprocessing.TableEncoder turns them into numbers, as in "
        f"make_pipeline(TableEncoder(), {type(machine).__name__}())."
    )


def _word_columns(X: PointsLike) -> list[Any]:
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


def _of_words(X: PointsLike, text: str) -> bool:
    return bool(_word_columns(X)) and ("convert" in text or "dtype" in text or "float" in text)


def _listed(names: Any) -> str:
    shown = [repr(name) for name in names[:MAX_LISTED_COLUMNS]]
    return ", ".join(shown) + (", ..." if len(names) > MAX_LISTED_COLUMNS else "")
