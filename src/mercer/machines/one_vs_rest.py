"""Classifiers of any loss: one problem a class against the rest."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer.machines.approximated import by_blocks
from mercer.machines.classifier import Classifier
from mercer.machines.expansion import Array
from mercer.machines.posing import Posed, Sample, Solved
from mercer.problems.risk import RegularizedRisk

__all__ = ["OneVsRest"]


def _has_probabilities(machine: Any) -> bool:
    if not hasattr(getattr(machine, "loss_", machine._loss()), "probability"):
        raise AttributeError(
            "this loss has no probabilities; use the logistic loss, or CalibratedClassifierCV"
        )
    return True


class OneVsRest(Classifier):
    """A classifier for a declared loss, one problem a class, only one for two classes."""

    def _positives(self) -> range:
        """Return the classes that have a problem of their own."""
        n_classes = len(self.classes_)
        return range(1, 2) if n_classes == 2 else range(n_classes)

    def _labels(self, y: Any) -> list[tuple[str, Array]]:
        """Return the name of each problem, and its labels plus and minus one."""
        classes = self._positives()
        return [
            (str(self.classes_[p]) if len(classes) > 1 else "", np.where(y == p, 1.0, -1.0))
            for p in classes
        ]

    def _pose(self, sample: Sample) -> Sequence[Posed]:
        loss = self._check_loss(self._loss(sample), len(sample.y))
        c = self._weight() * sample.weights
        return [
            Posed(title, RegularizedRisk(loss, sample.K, labels, c, sample.B))
            for title, labels in self._labels(sample.y)
        ]

    def _book(self) -> Array:
        classes = np.arange(len(self.classes_))
        return np.where(classes[:, None] == np.array(self._positives()), 1.0, -1.0)

    def _assemble(self, sample: Sample, solved: list[Solved]) -> None:
        coef = np.column_stack([one.a for one in solved])
        index = np.flatnonzero(np.any(coef != 0, axis=1))
        self._store(sample.X, index, coef[index])
        self._n_support = np.array([len(index)], dtype=np.int32)
        self.loss_ = copy.deepcopy(self._loss())
        self.null_space_coef_ = np.array([one.b for one in solved])
        self.intercept_ = self._intercept(self.null_space_coef_)
        self.n_iter_ = int(self.solution_.n_iter)

    @by_blocks
    def decision_function(self, X: Any) -> Array:
        """Evaluate the decision function.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes positive speaks for ``classes_[1]``; for more, one column per class.
        """
        X = self._check_new(X)
        f = self._expand(X, self._dual_coef_.T) + self.null_space_(X) @ self.null_space_coef_.T
        return np.asarray(f[:, 0] if len(self.classes_) == 2 else f)

    @by_blocks
    def predict(self, X: Any) -> Any:
        """Predict the class of new points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels.
        """
        check_is_fitted(self)
        f = self.decision_function(X)
        return self.classes_[(f > 0).astype(np.intp) if f.ndim == 1 else np.argmax(f, axis=1)]

    @available_if(_has_probabilities)
    @by_blocks
    def predict_proba(self, X: Any) -> Array:
        """Predict class probabilities, for losses that have them, normalized over the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, columns in the order of ``classes_``.
        """
        f = self.decision_function(X)
        loss: Any = self.loss_
        p = loss.probability(np.column_stack([-f, f]) if f.ndim == 1 else f)
        total = p.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(p, total, out=np.full_like(p, 1 / p.shape[1]), where=total > 0))
