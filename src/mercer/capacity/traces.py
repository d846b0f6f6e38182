"""What a fitted estimator remembers of the rows it was fitted to."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _is_fitted, check_is_fitted

from mercer.capacity.certified import CertifiedSVC
from mercer.capacity.copies import identify
from mercer.kernels.points import is_sparse
from mercer.selection.tuning import Tuning

__all__ = [
    "Part",
    "Seen",
    "chosen",
    "measured",
    "parts",
    "seen",
    "settings_tried",
    "stopped_early",
    "title",
]

Seen = Literal["nothing", "training", "all", "test", "unknown"]

# Rows up to which a machine that keeps no rows is fitted again, to see which rows it was fitted to.
REFITTED = 10_000

# Statistics of the same rows agree to rounding; those of other rows differ by one over the root of
# their number, of which a machine's tolerance is a hundredth.
ROUNDING, CLEARLY = 1e-8, 1e-2

# Fitted attributes that hold no trace of the rows themselves.
SILENT = {"n_features_in_", "feature_names_in_", "n_iter_", "classes_", "solution_", "n_outputs_"}


@dataclass(frozen=True, eq=False)
class Part:
    """One fitted object of a model, with the rows as they reached it."""

    kind: Literal["transformer", "search", "machine"]
    fitted: Any
    X: Any
    X_test: Any


def parts(model: Any, X: Any, X_test: Any = None) -> Iterator[Part]:
    """Yield the searches, transformers and the machine that a fitted model is made of.

    Parameters
    ----------
    model : fitted estimator, pipeline, search, or result of :func:`mercer.selection.tune`
    X, X_test : points
        Training rows and held-out rows, as the model takes them.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mercer import SVC
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> model = make_pipeline(StandardScaler(), SVC()).fit(X, X[:, 0] > 0)
    >>> [(part.kind, type(part.fitted).__name__) for part in parts(model, X)]
    [('transformer', 'StandardScaler'), ('machine', 'SVC')]
    """
    if isinstance(model, Pipeline):
        for step in list(model.named_steps.values())[:-1]:
            if step is None or step == "passthrough":
                continue
            yield Part("transformer", step, X, X_test)
            X = step.transform(X)
            X_test = None if X_test is None else step.transform(X_test)
        yield from parts(model[-1], X, X_test)
        return
    if not isinstance(model, Tuning):
        check_is_fitted(model)
    if isinstance(model, CertifiedSVC):
        # It standardizes by rows that none of its bounds counts, and pays for its settings.
        Z, Z_test = (_scaled(model, rows) for rows in (X, X_test))
        yield Part("machine", model.machine_, Z, Z_test)
        return
    if settings_tried(model) is not None:
        yield Part("search", model, X, X_test)
    for name in ("best_estimator_", "machine_", "regressor_", "estimator_", "estimator"):
        inside = getattr(model, name, None)
        # Ensembles keep a pattern of their members under the same name, which is not fitted.
        held = isinstance(inside, BaseEstimator) and (name != "estimator" or _frozen(model))
        if held and (isinstance(inside, Pipeline) or _is_fitted(inside)):
            yield from parts(inside, X, X_test)
            return
    if not isinstance(model, Tuning):
        yield Part("machine", model, X, X_test)


def _scaled(model: CertifiedSVC, X: Any) -> Any:
    return None if X is None else model._scale(np.asarray(X, dtype=np.float64))


def _frozen(model: Any) -> bool:
    return title(model) == "FrozenEstimator"


def chosen(model: Any) -> Any:
    """Return what predicts: the estimator that a search chose, or the model itself.

    Parameters
    ----------
    model : fitted estimator, search, or result of :func:`mercer.selection.tune`
    """
    inside = "machine_" if hasattr(model, "tuning_") else "best_estimator_"
    return getattr(model, inside, model)


def title(fitted: Any) -> str:
    """Return the name of an object's class."""
    return type(fitted).__name__


def settings_tried(model: Any) -> float | None:
    """Return how many settings a search chose from, infinity for a continuum, None for no search.

    Parameters
    ----------
    model : fitted estimator or search

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from mercer import SVC
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> search = GridSearchCV(SVC(), {"C": [1, 10, 100]}, cv=3).fit(X, X[:, 0] > 0)
    >>> settings_tried(search), settings_tried(search.best_estimator_)
    (3, None)
    """
    if hasattr(model, "cv_results_"):
        return len(model.cv_results_["params"])
    tuning = model if isinstance(model, Tuning) else getattr(model, "tuning_", None)
    if tuning is not None:
        if all(trial.stage == "halving" for trial in tuning.trials_):
            return len({repr(sorted(trial.parameters.items())) for trial in tuning.trials_})
        return np.inf
    optimized = getattr(model, "optimizer", None) is not None and hasattr(
        model, "log_marginal_likelihood_value_"
    )
    cross_validated = title(model).endswith("CV") and not isinstance(model, Pipeline)
    stacked = hasattr(model, "members_") and hasattr(model, "left_out_score_")
    threshold = hasattr(model, "threshold_") and hasattr(model, "estimator_")
    return np.inf if optimized or cross_validated or stacked or threshold else None


def measured(fitted: Any) -> list[str]:
    """Return the settings of a machine that were measured on the rows it was fitted to.

    Parameters
    ----------
    fitted : estimator

    Examples
    --------
    >>> from mercer import SVC
    >>> measured(SVC(gamma="scale")), measured(SVC(gamma=0.5)), measured(SVC(kernel="linear"))
    (["gamma='scale'"], [], [])
    """
    given = fitted.get_params(deep=False) if isinstance(fitted, BaseEstimator) else {}
    words = {"gamma": ("scale", "median", "tuned"), "C": ("auto",)}
    words |= {"epsilon": ("auto",), "nu": ("auto",), "length_scale": ("auto", "median")}
    found = [f"{name}={given[name]!r}" for name in words if _is_word(given.get(name), words[name])]
    if given.get("kernel", "rbf") not in ("rbf", "poly", "sigmoid", "gaussian", "laplace"):
        # A kernel that is given as an object, or is linear, has no gamma.
        found = [one for one in found if not one.startswith("gamma")]
    return found + (["standardize=True"] if given.get("standardize") is True else [])


def _is_word(value: Any, words: tuple[str, ...]) -> bool:
    return isinstance(value, str) and value in words


def stopped_early(fitted: Any) -> bool:
    """Return whether a machine held some of its own rows out to decide when to stop."""
    given = fitted.get_params(deep=False) if isinstance(fitted, BaseEstimator) else {}
    asked = given.get("early_stopping") is True or bool(getattr(fitted, "do_early_stopping_", 0))
    return asked or (given.get("n_iter_no_change") is not None and "n_estimators" in given)


def seen(part: Part, y: Any, y_test: Any) -> tuple[Seen, str]:
    """Return which rows an object was fitted to, and how that shows, in words.

    In this order: rows that it keeps (support vectors, landmarks), how many rows it counted, and
    what the same object becomes when it is fitted again to the training rows, to the held-out rows
    and to both.

    Parameters
    ----------
    part : Part
    y, y_test : targets of the training rows and of the held-out rows
    """
    kept = _kept(part)
    if kept is not None:
        return kept
    n, m = _rows(part.X), 0 if part.X_test is None else _rows(part.X_test)
    counted = _counted(part.fitted)
    if m and counted == n + m:
        return "all", f"counted {counted} rows, as many as training and held-out rows together"
    if part.kind == "machine" and n + m > REFITTED:
        return "unknown", "is too large to be fitted again"
    return _refitted(part, y, y_test, counted)


def _rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _counted(fitted: Any) -> int | None:
    """Return the number of rows that an object says it was fitted to."""
    for name in ("n_samples_seen_", "n_samples_fit_", "n_samples_"):
        value = getattr(fitted, name, None)
        if value is not None:
            return int(np.max(value))
    shape = getattr(fitted, "shape_fit_", None)
    return int(shape[0]) if shape else None


def _kept(part: Part) -> tuple[Seen, str] | None:
    """Return whose rows an object keeps, None if it keeps none."""
    if is_sparse(part.X) or np.asarray(part.X).dtype.kind not in "biuf":
        return None
    width = np.shape(part.X)[1] if np.ndim(part.X) == 2 else -1
    arrays = [
        value
        for value in vars(part.fitted).values()
        if isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind == "f"
        if value.shape[1] == width and len(value)
    ]
    if not arrays:
        return None
    X = np.asarray(part.X, dtype=np.float64)
    held = np.zeros((0, width)) if part.X_test is None else np.asarray(part.X_test, dtype=float)
    # Features that were projected differ by rounding from one product to the next.
    step = ROUNDING * np.maximum(np.max(np.abs(X), axis=0), 1e-300)
    train, test, zero, *kept = identify(
        *(np.round(rows / step) for rows in (X, held, np.zeros((1, width)), *arrays))
    )
    rows = np.setdiff1d(np.concatenate(kept), zero)
    inside, outside = np.isin(rows, train), np.isin(rows, test) & ~np.isin(rows, train)
    if outside.any():
        which: Seen = "all" if inside.any() else "test"
        return which, f"keeps {int(outside.sum())} held-out rows among its support vectors"
    if inside.sum() > 1:
        return "training", "keeps training rows only"
    return None


def _refitted(part: Part, y: Any, y_test: Any, counted: int | None) -> tuple[Seen, str]:
    """Return to which rows an object fitted again becomes the same."""
    if not _attributes(part.fitted):
        return "nothing", "learns nothing from rows"
    again = _fit(part.fitted, part.X, y)
    train = np.inf if again is None else _distance(part.fitted, again)
    if train <= ROUNDING:
        return "training", "was fitted to the training rows alone"
    if part.X_test is not None:
        n, m = _rows(part.X), _rows(part.X_test)
        both = _stack(part.X, part.X_test)
        targets = None if y is None or y_test is None else np.concatenate([y, y_test])
        order = np.arange(n + m)
        for rows, which, words in (
            (order, "all", "training and held-out rows together"),
            (order[n:], "test", "the held-out rows"),
        ):
            if targets is None and y is not None:
                continue
            again = _fit(
                part.fitted, _safe_indexing(both, rows), None if targets is None else targets[rows]
            )
            gap = np.inf if again is None else _distance(part.fitted, again)
            if gap <= max(ROUNDING, CLEARLY * train if np.isfinite(train) else 0.0):
                return which, f"was fitted to {words}"  # type: ignore[return-value]
    if counted is not None and counted > _rows(part.X):
        return "unknown", f"counted {counted} rows, more than the {_rows(part.X)} given"
    return "unknown", "was fitted to other rows, or by chance"


def _stack(X: Any, X_test: Any) -> Any:
    if is_sparse(X):
        return sp.vstack([X, X_test]).tocsr()
    if hasattr(X, "columns"):
        # The library of the frame is loaded, or there were no frame: pandas or polars.
        return sys.modules[type(X).__module__.partition(".")[0]].concat([X, X_test])
    return np.concatenate([np.asarray(X), np.asarray(X_test)])


def _fit(fitted: Any, X: Any, y: Any) -> Any:
    """Return a copy that is fitted to rows, None if it refuses them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return clone(fitted).fit(X, y)
        except (ValueError, TypeError):
            return None


def _attributes(fitted: Any) -> dict[str, Any]:
    """Return what was learned from rows: public attributes that end in an underscore."""
    names = (name for name in vars(fitted) if name.endswith("_") and not name.startswith("_"))
    return {name: vars(fitted)[name] for name in names if name not in SILENT}


def _distance(first: Any, second: Any) -> float:
    """Return the largest relative difference between two fitted objects of one class."""
    one, other = _attributes(first), _attributes(second)
    if one.keys() != other.keys():
        return np.inf
    return max((_apart(one[name], other[name]) for name in one), default=0.0)


def _apart(a: Any, b: Any) -> float:
    if isinstance(a, BaseEstimator) and isinstance(b, BaseEstimator):
        return _distance(a, b)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        if len(a) != len(b):
            return np.inf
        return max((_apart(x, z) for x, z in zip(a, b, strict=True)), default=0.0)
    if is_sparse(a) and is_sparse(b):
        a, b = a.toarray(), b.toarray()
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return np.inf
    if a.dtype.kind not in "biuf" or b.dtype.kind not in "biuf":
        simple = a.dtype.kind in "US" or all(isinstance(v, str | float | int) for v in a.ravel())
        return 0.0 if not simple or np.array_equal(a, b) else np.inf
    a, b = a.astype(float), b.astype(float)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if same.all():
        return 0.0
    size = max(float(np.max(np.abs(a[~same]))), float(np.max(np.abs(b[~same]))), 1e-300)
    return float(np.max(np.abs(a[~same] - b[~same]))) / size
