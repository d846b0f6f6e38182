r"""Thresholds that accept a rare class at a fixed efficiency, and the purity they reach.

Counts of a sample say how often class j is taken for the wanted class; the population has other
shares of the classes, :math:`p_j`, and lets another part of each pass, :math:`\pi_j`:

.. math::

    \mathrm{eff}_j = \pi_j \frac{\#\{j \text{ accepted}\}}{\# j}, \qquad
    \mathrm{purity} = \frac{p_c\,\mathrm{eff}_c}{\sum_j p_j\,\mathrm{eff}_j}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import train_test_split
from sklearn.utils import indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._fitting import AllOrNothing
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import HasMethods, Interval, fit_context, safe_indexing
from mercer._typing import AnyArray, Array, Constraints, PointsLike, TargetsLike

__all__ = ["PurityCurve", "ThresholdSelector", "purity_curve"]


@dataclass(frozen=True)
class PurityCurve:
    """Efficiency and purity of a class at every threshold of a score.

    Parameters
    ----------
    thresholds : ndarray of shape (t,)
        Falling; a sample is accepted if its score is at least the threshold.
    efficiency, purity : ndarray of shape (t,)
        Share of the class that is accepted, and its share of what is.
    chance : float
        Purity of accepting everything.
    """

    thresholds: Array
    efficiency: Array
    purity: Array
    chance: float

    def at(self, efficiency: float) -> int:
        """Return the position of the highest threshold that reaches an efficiency."""
        reached = np.flatnonzero(self.efficiency >= efficiency * (1 - 1e-12))
        if not len(reached):
            raise ValueError(
                f"no threshold accepts {efficiency:g} of the class; all of it is "
                f"{self.efficiency[-1]:g}, which its acceptance limits"
            )
        return int(reached[0])


def purity_curve(
    y: TargetsLike,
    score: Any,
    target: Any,
    *,
    priors: Mapping[Any, float] | None = None,
    acceptance: Mapping[Any, float] | None = None,
) -> PurityCurve:
    """Return efficiency and purity of a class at every threshold.

    Parameters
    ----------
    y : array-like of shape (n,)
        True classes.
    score : array-like of shape (n,)
        High where the class is likely.
    target : label
        The class that is wanted.
    priors : mapping from label to float, optional
        Shares of the classes in the population; those of the sample by default.
    acceptance : mapping from label to float, optional
        Which part of a class reaches the classifier at all; all of it by default.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 6.1.2, eq. (6.1)-(6.2).

    Examples
    --------
    >>> from mercer_research.selection.threshold import purity_curve
    >>> curve = purity_curve([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], 1)
    >>> curve.efficiency, curve.purity.round(2)
    (array([0.5, 0.5, 1. , 1. ]), array([1.  , 0.5 , 0.67, 0.5 ]))
    """
    y, score = np.asarray(y), np.asarray(score, dtype=np.float64)
    labels, codes = np.unique(y, return_inverse=True)
    if target not in labels:
        raise ValueError(f"class {target!r} does not occur; there are {labels.tolist()}")
    counts = np.bincount(codes)
    p = _shares(priors, labels, counts / len(y), "priors")
    let = _shares(acceptance, labels, np.ones(len(labels)), "acceptance")
    order = np.argsort(-score, kind="stable")
    # Samples with the same score are accepted together.
    last = np.flatnonzero(np.append(np.diff(score[order]) != 0, True))
    accepted = np.cumsum(np.eye(len(labels))[codes[order]], axis=0)[last]
    efficiency = let * accepted / counts
    c = int(np.flatnonzero(labels == target)[0])
    whole = p * let
    return PurityCurve(
        score[order][last],
        efficiency[:, c],
        p[c] * efficiency[:, c] / (efficiency @ p),
        float(whole[c] / np.sum(whole)),
    )


def _shares(
    given: Mapping[Any, float] | None, labels: AnyArray, default: Array, name: str
) -> Array:
    if given is None:
        return default
    missing = [label for label in labels.tolist() if label not in given]
    if missing:
        raise ValueError(f"{name} must name every class; {missing} are missing")
    shares = np.array([float(given[label]) for label in labels.tolist()])
    if np.any(shares < 0) or not np.any(shares > 0):
        raise ValueError(f"{name} must not be negative, nor zero for all classes")
    return shares


@settings
class ThresholdSelector(MetaEstimatorMixin, AllOrNothing, BaseEstimator):  # type: ignore[misc]
    """Accept a class above a threshold that keeps a given part of it; reject everything else.

    The threshold is chosen on a part of the sample that the classifier does not see.

    Parameters
    ----------
    estimator : classifier
        With ``decision_function`` or ``predict_proba``.
    target : label, optional
        The class that is wanted; the rarest by default.
    efficiency : float, default=0.15
        Which part of the class is to be accepted.
    priors, acceptance : mapping from label to float, optional
        As in :func:`purity_curve`.
    validation : float, default=0.25
        Part of the sample that the threshold is chosen on.
    random_state : int, default=0
        How that part is drawn.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    threshold_ : float
        Samples with at least this score are accepted.
    curve_ : PurityCurve
        What the held-out part says.
    purity_, chance_ : float
        Purity on it at the threshold, and that of accepting everything.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mercer import SVC
    >>> from mercer_research.selection import ThresholdSelector
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> rare = ThresholdSelector(SVC(standardize=True), efficiency=0.5).fit(X, y)
    >>> rare.purity_ > 0.95
    True
    """

    estimator: Any
    _: KW_ONLY
    target: Any = None
    efficiency: float = 0.15
    priors: Mapping[Any, float] | None = None
    acceptance: Mapping[Any, float] | None = None
    validation: float = 0.25
    random_state: int = 0

    _parameter_constraints: ClassVar[Constraints] = {
        "estimator": [
            HasMethods(["fit", "decision_function"]),
            HasMethods(["fit", "predict_proba"]),
        ],
        "efficiency": [Interval(Real, 0.0, 1.0, closed="right")],
        "validation": [Interval(Real, 0.0, 1.0, closed="neither")],
    }

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: PointsLike, y: TargetsLike) -> Self:
        """Fit the classifier to a part of the sample, and choose the threshold on the rest."""
        check_classification_targets(y)
        X, y = indexable(X, column_or_1d(y, warn=True))
        labels, counts = np.unique(y, return_counts=True)
        if len(labels) < 2:
            raise ValueError("The number of classes has to be greater than one; got 1 class")
        wanted = labels[int(np.argmin(counts))] if self.target is None else self.target
        if wanted not in labels:
            raise ValueError(f"class {wanted!r} does not occur; there are {labels.tolist()}")
        index = np.arange(len(y))
        train, held = train_test_split(
            index, test_size=self.validation, stratify=y, random_state=self.random_state
        )
        self.estimator_ = clone(self.estimator).fit(safe_indexing(X, train), y[train])
        self.target_ = wanted
        self.curve_ = purity_curve(
            y[held],
            self.score_samples(safe_indexing(X, held)),
            wanted,
            priors=self.priors,
            acceptance=self.acceptance,
        )
        at = self.curve_.at(self.efficiency)
        self.threshold_ = float(self.curve_.thresholds[at])
        self.purity_, self.chance_ = float(self.curve_.purity[at]), self.curve_.chance
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = self.estimator.__sklearn_tags__().input_tags
        return tags

    def score_samples(self, X: PointsLike) -> Array:
        """Return the score of the wanted class."""
        check_is_fitted(self, "estimator_")
        machine = self.estimator_
        column = int(np.flatnonzero(machine.classes_ == self.target_)[0])
        method = "decision_function" if hasattr(machine, "decision_function") else "predict_proba"
        scores = np.asarray(getattr(machine, method)(X))
        if scores.ndim == 1:
            return scores if column else -scores
        return np.asarray(scores[:, column])

    def predict(self, X: PointsLike) -> NDArray[np.bool_]:
        """Return which samples are accepted; all others are rejected."""
        return np.asarray(self.score_samples(X) >= self.threshold_)
