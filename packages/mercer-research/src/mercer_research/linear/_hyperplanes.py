"""Shared code of classifiers: of two classes, or by hyperplanes of each class and the rest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._fitting import AllOrNothing
from mercer._params import check_sample_weight
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import StrOptions
from mercer._typing import Array, Constraints, PointsLike, TargetsLike, WeightsLike
from mercer.machines.classifier import chosen
from mercer_research.linear._model import Optimum

__all__ = ["Hyperplanes", "TwoClasses"]


class LinearClassifier(ClassifierMixin, AllOrNothing, BaseEstimator, ABC):  # type: ignore[misc]
    """A classifier that predicts by the sign or the largest of its decision values."""

    @abstractmethod
    def decision_function(self, X: PointsLike) -> Array:
        """Return the decision values of new inputs, (n,) or (n, n_classes)."""

    def predict(self, X: PointsLike) -> Any:
        """Return the labels of new inputs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs.
        """
        best = chosen(self.decision_function(X))
        return self.classes_[best]


class TwoClasses(LinearClassifier):
    """A classifier of two classes only."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _signs(self, y: TargetsLike) -> Array:
        """Return labels plus and minus one; refuse another number of classes."""
        self.classes_, index = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)} with {len(self.classes_)} class."
            )
        return np.where(index == 1, 1.0, -1.0)


@settings
class Hyperplanes(LinearClassifier):
    """A fit that ends in ``coef_`` and ``intercept_``, a row for each hyperplane."""

    _: KW_ONLY
    class_weight: Any = None
    fit_intercept: bool = True

    _parameter_constraints: ClassVar[Constraints] = {
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "fit_intercept": ["boolean"],
    }

    def _classes(
        self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike
    ) -> tuple[Array, NDArray[np.intp], Array, list[int]]:
        """Return inputs, class numbers, weights, and the classes that are divided from the rest."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        s = check_sample_weight(sample_weight, X.shape[0])
        self.classes_, index = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"The sample has one class only, {self.classes_[0]!r}; a classifier needs two."
            )
        s = s * compute_sample_weight(self.class_weight, y)
        several = len(self.classes_) > 2
        return X, index, s, list(range(len(self.classes_))) if several else [1]

    def _keep(self, fits: list[tuple[Array, float, Optimum]]) -> None:
        """Store weights, constant and certificate of each hyperplane."""
        weights, constants, self.solutions_ = map(list, zip(*fits, strict=True))
        self.coef_, self.intercept_ = np.stack(weights), np.array(constants)

    def _ending(self) -> str:
        worst: Optimum = max(self.solutions_, key=lambda one: one.gap)
        return worst.summary()[0]

    def decision_function(self, X: PointsLike) -> Array:
        """Return the signed distances to the hyperplanes, in units of the margin.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        F = np.asarray(X @ self.coef_.T + self.intercept_)
        return F[:, 0] if len(self.classes_) == 2 else F
