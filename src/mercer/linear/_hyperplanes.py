"""Classifiers by hyperplanes: one for two classes, else one for each class against the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from mercer._fitting import AllOrNothing
from mercer.linear._model import Array
from mercer.machines.classifier import chosen

__all__ = ["Hyperplanes"]


class Hyperplanes(ClassifierMixin, AllOrNothing, BaseEstimator):  # type: ignore[misc]
    """A fit that ends in ``coef_`` and ``intercept_``, a row for each hyperplane."""

    def _classes(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Array, NDArray[np.intp], Array, list[int]]:
        """Return inputs, class numbers, weights, and the classes that are divided from the rest."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        s = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self.classes_, index = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"The sample has one class only, {self.classes_[0]!r}; a classifier needs two."
            )
        s = s * compute_sample_weight(self.class_weight, y)
        several = len(self.classes_) > 2
        return X, index, s, list(range(len(self.classes_))) if several else [1]

    def decision_function(self, X: Any) -> Array:
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

    def predict(self, X: Any) -> Any:
        """Return the labels of new inputs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs.
        """
        return self.classes_[chosen(self.decision_function(X))]
