"""What a fitted model is made of, and which of its settings its own rows decided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer._typing import PointsLike
from mercer.machines.automatic import named
from mercer.selection.tuning import Tuning
from mercer_research.risk_bounds.certified_svc import CertifiedSVC

__all__ = [
    "FittedPart",
    "chosen",
    "innermost",
    "measured",
    "parts",
    "settings_tried",
    "stopped_early",
    "title",
]


@dataclass(frozen=True, eq=False)
class FittedPart:
    """One fitted object of a model, with the rows as they reached it."""

    kind: Literal["transformer", "search", "machine"]
    fitted: Any
    X: PointsLike
    X_test: PointsLike


def parts(model: object, X: PointsLike, X_test: PointsLike = None) -> Iterator[FittedPart]:
    """Yield the searches, the transformers and what predicts, of which a fitted model is made.

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
            yield FittedPart("transformer", _thawed(step), X, X_test)
            X = step.transform(X)
            X_test = None if X_test is None else step.transform(X_test)
        yield from parts(model[-1], X, X_test)
        return
    if not isinstance(model, Tuning):
        check_is_fitted(model)
    if settings_tried(model) is not None:
        yield FittedPart("search", model, X, X_test)
    inside = _thawed(chosen(model))
    if inside is not model:
        yield from parts(inside, X, X_test)
    elif not isinstance(model, Tuning):
        yield FittedPart("machine", model, X, X_test)


def _thawed(model: Any) -> Any:
    """Return what a frozen estimator holds, or the model itself."""
    return model.estimator if title(model) == "FrozenEstimator" else model


def innermost(model: object, X: PointsLike) -> FittedPart:
    """Return what predicts in a model, with the rows as they reach it.

    Wrappers are not looked into: one that moves a threshold, or transforms targets, predicts
    something else than the machine inside, and a bound of the latter is none of the former.

    Parameters
    ----------
    model : fitted estimator, pipeline or search
    X : points
    """
    *_, last = parts(model, X)
    if isinstance(last.fitted, CertifiedSVC):
        Z = last.fitted._scale(np.asarray(last.X, dtype=np.float64))
        return FittedPart("machine", last.fitted.machine_, Z, None)
    return last


def chosen(model: object) -> Any:
    """Return what predicts: the estimator that a search chose, or the model itself.

    Parameters
    ----------
    model : fitted estimator, search, or result of :func:`mercer.selection.tune`
    """
    inside = "machine_" if hasattr(model, "tuning_") else "best_estimator_"
    return getattr(model, inside, model)


def title(fitted: object) -> str:
    """Return the name of an object's class."""
    return type(fitted).__name__


def settings_tried(model: object) -> float | None:
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


def measured(fitted: object) -> list[str]:
    """Return the settings of a machine that were measured on the rows it was fitted to.

    Parameters
    ----------
    fitted : estimator

    Examples
    --------
    >>> from mercer import SVC
    >>> measured(SVC(gamma="scale")), measured(SVC(gamma=0.5)), measured(SVC(kernel="linear"))
    (["gamma='scale'"], [], [])
    >>> measured(SVC(kernel="matern", gamma="median"))
    ["gamma='median'"]
    """
    given = fitted.get_params(deep=False) if isinstance(fitted, BaseEstimator) else {}
    words = {"gamma": ("scale", "median", "tuned"), "C": ("auto",)}
    words |= {"epsilon": ("auto",), "nu": ("auto",), "length_scale": ("auto", "median")}
    found = [f"{name}={given[name]!r}" for name in words if _is_word(given.get(name), words[name])]
    if not named(given.get("kernel", "rbf")):
        # A kernel that is given as an object, or is linear, has no gamma.
        found = [one for one in found if not one.startswith("gamma")]
    return found + (["standardize=True"] if given.get("standardize") is True else [])


def _is_word(value: object, words: tuple[str, ...]) -> bool:
    return isinstance(value, str) and value in words


def stopped_early(fitted: object) -> bool:
    """Return whether a machine held some of its own rows out to decide when to stop."""
    given = fitted.get_params(deep=False) if isinstance(fitted, BaseEstimator) else {}
    asked = given.get("early_stopping") is True or bool(getattr(fitted, "do_early_stopping_", 0))
    return asked or (given.get("n_iter_no_change") is not None and "n_estimators" in given)
