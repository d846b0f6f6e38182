"""Which rows an object was fitted to, proved by fitting it again."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import get_tags

from mercer._typing import PointsLike, TargetsLike
from mercer.kernels.points import is_sparse
from mercer_research.risk_bounds.duplicates import identify
from mercer_research.risk_bounds.fitted_parts import FittedPart
from mercer_research.risk_bounds.state_comparison import (
    ROUNDING_TOLERANCE,
    known_class,
    opaque_setting,
    relative_difference,
    same_state,
)

__all__ = ["Seen", "learns_nothing", "seen"]

Seen = Literal["nothing", "training", "all", "test", "unknown"]

# Rows up to which a model is fitted again, to see which rows it was fitted to.
MAX_ROWS_REFITTED = 10_000

# Outputs of machines of other rows differ by one over the root of their number, of which a
# machine's tolerance is a hundredth.
TOLERANCE_SHARE = 1e-2

# Rows beside the given ones on which outputs are compared.
N_PROBE_ROWS = 200

# An output of more values than this is no label.
MAX_LABELS = 20

OUTPUTS = ("transform", "predict", "predict_proba", "decision_function")


def seen(part: FittedPart, y: TargetsLike, y_test: TargetsLike) -> tuple[Seen, str]:
    """Return which rows an object was fitted to, and how that shows, in words.

    "training" is said only if it is proved: a clone with the same settings, fitted to the training
    rows, gives the same outputs on training rows, held-out rows and rows beside them, and holds the
    same state. So the object is a function of its settings and the training rows, however it was
    made. Objects of other libraries, and settings that hold functions or tables, may carry rows
    past a refit: of them nothing is proved.

    Parameters
    ----------
    part : Part
    y, y_test : targets of the training rows and of the held-out rows

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 2)), rng.integers(2, size=60)
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X[:40], y[:40])
    >>> seen(FittedPart("machine", tree, X[:40], X[40:]), y[:40], y[40:])
    ('training', 'is what a refit to the training rows gives')
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    >>> seen(FittedPart("machine", tree, X[:40], X[40:]), y[:40], y[40:])
    ('all', 'was fitted to training and held-out rows together')
    """
    kept = _kept(part)
    if kept is not None:
        return kept
    n, m = _rows(part.X), 0 if part.X_test is None else _rows(part.X_test)
    counted = _counted(part.fitted)
    if m and counted == n + m:
        return "all", f"counted {counted} rows, as many as training and held-out rows together"
    if part.kind == "machine" and n + m > MAX_ROWS_REFITTED:
        return "unknown", f"is not fitted again to more than {MAX_ROWS_REFITTED} rows"
    return _refitted(part, y, y_test)


def learns_nothing(fitted: object) -> bool:
    """Return whether an object is known to be a function of its settings alone.

    Examples
    --------
    >>> from sklearn.preprocessing import Normalizer, StandardScaler
    >>> learns_nothing(Normalizer()), learns_nothing(StandardScaler())
    (True, False)
    """
    if not known_class(fitted) or opaque_setting(fitted):
        return False
    return not get_tags(fitted).requires_fit


def _rows(X: PointsLike) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _counted(fitted: object) -> int | None:
    """Return the number of rows that an object says it was fitted to."""
    for name in ("n_samples_seen_", "n_samples_fit_", "n_samples_"):
        value = getattr(fitted, name, None)
        if value is not None:
            return int(np.max(value))
    shape = getattr(fitted, "shape_fit_", None)
    return int(shape[0]) if shape else None


def _kept(part: FittedPart) -> tuple[Seen, str] | None:
    """Return that an object keeps held-out rows, None if it keeps none of them.

    Keeping training rows alone proves nothing: rows without a trace may have been there as well.
    """
    if part.X_test is None or is_sparse(part.X) or np.asarray(part.X).dtype.kind not in "biuf":
        return None
    width = np.shape(part.X)[1] if np.ndim(part.X) == 2 else -1
    arrays = [
        value
        for value in getattr(part.fitted, "__dict__", {}).values()
        if isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind == "f"
        if value.shape[1] == width and len(value)
    ]
    if not arrays:
        return None
    X, held = np.asarray(part.X, dtype=np.float64), np.asarray(part.X_test, dtype=np.float64)
    # Features that were projected differ by rounding from one product to the next.
    step = ROUNDING_TOLERANCE * np.maximum(np.max(np.abs(X), axis=0), 1e-300)
    train, test, zero, *kept = identify(
        *(np.round(rows / step) for rows in (X, held, np.zeros((1, width)), *arrays))
    )
    rows = np.setdiff1d(np.concatenate(kept), zero)
    inside, outside = np.isin(rows, train), np.isin(rows, test) & ~np.isin(rows, train)
    if not outside.any():
        return None
    which: Seen = "all" if inside.any() else "test"
    return which, f"keeps {int(outside.sum())} held-out rows among its support vectors"


def _refitted(part: FittedPart, y: TargetsLike, y_test: TargetsLike) -> tuple[Seen, str]:
    """Return to which rows an object fitted again becomes the same."""
    fitted, probes = part.fitted, _probes(part)
    ours = [_outputs(fitted, rows) for rows in probes]
    again = _fit(fitted, part.X, y)
    train = _apart(ours, again, probes)
    same = train <= ROUNDING_TOLERANCE and same_state(fitted, again)
    if same and (words := _unprovable(fitted)):
        return "unknown", f"is what a refit gives, but {words}"
    if same:
        nothing = learns_nothing(fitted)
        return (
            ("nothing", "learns nothing from rows")
            if nothing
            else ("training", "is what a refit to the training rows gives")
        )
    others = list(_others(part, y, y_test))
    for which, words, other in others:
        if _apart(ours, other, probes) <= ROUNDING_TOLERANCE and same_state(fitted, other):
            return which, f"was fitted to {words}"
    near = TOLERANCE_SHARE * train if np.isfinite(train) and _smooth(ours) else 0.0
    for which, words, other in others:
        # Rows in another order give the same machine to its tolerance.
        if _apart(ours, other, probes) < near:
            return which, f"was fitted to {words}"
    return "unknown", _why_unknown(part, again, train)


def _others(
    part: FittedPart, y: TargetsLike, y_test: TargetsLike
) -> Iterator[tuple[Seen, str, Any]]:
    """Yield refits that saw the held-out rows."""
    if part.X_test is None or (y is not None and y_test is None):
        return
    yield "test", "the held-out rows", _fit(part.fitted, part.X_test, y_test)
    targets = None if y is None else np.concatenate([y, y_test])
    with suppress(ValueError, TypeError):  # matrices of kernel values do not stack
        both = _stack(part.X, part.X_test)
        words = "training and held-out rows together"
        yield "all", words, _fit(part.fitted, both, targets)


def _why_unknown(part: FittedPart, again: object, train: float) -> str:
    if again is None:
        return "cannot be fitted again"
    if train <= ROUNDING_TOLERANCE:
        return "predicts what a refit to the training rows does, but holds something else"
    given = part.fitted.get_params(deep=False)
    if "random_state" in given and given["random_state"] is None:
        return "has no fixed random_state, and a refit differs"
    counted = _counted(part.fitted)
    if counted is not None and counted > _rows(part.X):
        return f"counted {counted} rows, more than the {_rows(part.X)} given"
    return "was fitted to other rows, in another order, with weights or by chance"


def _unprovable(fitted: object) -> str:
    """Return why a refit that agrees proves nothing, empty if it does."""
    if not known_class(fitted):
        return "it is neither of scikit-learn nor of this library, and may keep rows elsewhere"
    words = opaque_setting(fitted)
    return f"its setting {words}, which may hold anything" if words else ""


def _probes(part: FittedPart) -> list[PointsLike]:
    """Return rows to compare outputs on: the training rows, the held-out rows, and others."""
    given = [rows for rows in (part.X, part.X_test) if rows is not None]
    table = part.X
    if not isinstance(table, np.ndarray) or table.ndim != 2 or not table.size:
        return given
    if part.X_test is not None and np.shape(part.X_test)[1:] == table.shape[1:]:
        table = np.concatenate([table, np.asarray(part.X_test)])
    # Each column from another row: values of the table, in rows that it does not have.
    rng = np.random.default_rng(0)
    where = rng.integers(len(table), size=(N_PROBE_ROWS, table.shape[1]))
    return [*given, np.take_along_axis(table, where, axis=0)]


def _outputs(fitted: object, X: PointsLike) -> dict[str, Any]:
    """Return everything that an object says of rows, None where it refuses them."""
    said: dict[str, Any] = {}
    for name in OUTPUTS:
        if not hasattr(fitted, name):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                value = getattr(fitted, name)(X)
            except Exception:  # any estimator, and rows that it may not expect
                value = None
        said[name] = value
    return said


def _apart(ours: list[dict[str, object]], other: object, probes: list[PointsLike]) -> float:
    """Return the largest relative difference of outputs on all rows."""
    if other is None:
        return np.inf
    largest = 0.0
    for one, rows in zip(ours, probes, strict=True):
        for name, value in _outputs(other, rows).items():
            if (one[name] is None) != (value is None):
                return np.inf
            if value is not None:
                largest = max(largest, relative_difference(one[name], value))
    return largest


def _smooth(ours: list[dict[str, Any]]) -> bool:
    """Return whether some output is a number that every row moves, and no label."""
    return any(
        len(np.unique(numbers)) > MAX_LABELS
        for said in ours
        for value in said.values()
        if value is not None
        if (numbers := np.asarray(value.data if is_sparse(value) else value)).dtype.kind == "f"
    )


def _stack(X: PointsLike, X_test: PointsLike) -> PointsLike:
    if is_sparse(X):
        return sp.vstack([X, X_test]).tocsr()
    if hasattr(X, "columns"):
        # The library of the frame is loaded, or there were no frame: pandas or polars.
        return sys.modules[type(X).__module__.partition(".")[0]].concat([X, X_test])
    return np.concatenate([np.asarray(X), np.asarray(X_test)])


def _fit(fitted: object, X: PointsLike, y: TargetsLike) -> Any:
    """Return a copy that is fitted to rows, None if it refuses them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return clone(fitted).fit(X, y)
        except Exception:  # any estimator, and rows that it may not expect
            return None
