"""Classifiers of any loss: one problem a class against the rest."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.metaestimators import available_if

from mercer._settings import settings
from mercer._sklearn import StrOptions
from mercer._typing import Array, Constraints, PointsLike, TargetsLike
from mercer.losses.base import Loss
from mercer.losses.named import CLASSIFICATION, resolve
from mercer.machines.classifier import Classifier, signs
from mercer.machines.evaluating import expand
from mercer.machines.expansion import store_nonzero
from mercer.machines.low_rank import by_blocks
from mercer.machines.subproblems import Rows, Sample, SolvedSubproblem, Subproblem, check_loss

__all__ = ["OneVsRest", "has_probabilities", "probabilities"]


def probabilities(loss: Any, f: Array) -> Array:
    """Return probabilities of the classes from decision values, (n,) or (n, n_classes)."""
    p = loss.probability(np.column_stack([-f, f]) if f.ndim == 1 else f)
    total = p.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(p, total, out=np.full_like(p, 1 / p.shape[1]), where=total > 0))


def has_probabilities(machine: OneVsRest) -> bool:
    """Return whether the loss of a machine has probabilities; else say how to have them."""
    if not hasattr(getattr(machine, "loss_", machine._loss()), "probability"):
        raise AttributeError(
            "this loss has no probabilities; use the logistic loss, or CalibratedClassifierCV"
        )
    return True


@settings
class OneVsRest(Classifier):
    """A classifier of any loss, one problem a class, only one for two classes."""

    _parameter_constraints: ClassVar[Constraints] = {
        "loss": [Loss, StrOptions(set(CLASSIFICATION))],
    }

    def _loss(self, rows: Rows | None = None) -> Loss:
        return resolve(self.loss, CLASSIFICATION)

    def _labels(self, y: TargetsLike) -> list[tuple[str, Array]]:
        """Return the name of each problem, and its labels plus and minus one."""
        n_classes = len(self.classes_)
        titles = [""] if n_classes == 2 else [str(label) for label in self.classes_]
        return list(zip(titles, signs(y, n_classes).T, strict=True))

    def _subproblems(self, sample: Sample) -> Sequence[Subproblem]:
        loss = check_loss(self._loss(sample), len(sample.y))
        c = self._weight() * sample.weights
        return [
            Subproblem(title, self._risk(loss, sample.K, labels, c, sample.B))
            for title, labels in self._labels(sample.y)
        ]

    def _book(self) -> Array:
        n_classes = len(self.classes_)
        return signs(np.arange(n_classes), n_classes)

    def _assemble(self, sample: Sample, solved: Sequence[SolvedSubproblem]) -> None:
        coef, free = np.column_stack([one.a for one in solved]), [one.b for one in solved]
        store_nonzero(self, sample.X, coef, np.array(free))
        self.loss_: Any = copy.deepcopy(self._loss())
        self.n_iter_ = int(self.solution_.n_iter)

    @by_blocks
    def decision_function(self, X: PointsLike) -> Array:
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
        f = expand(self, X, self._dual_coef_.T) + self.null_space_(X) @ self.null_space_coef_.T
        return np.asarray(f[:, 0] if len(self.classes_) == 2 else f)

    @available_if(has_probabilities)
    @by_blocks
    def predict_proba(self, X: PointsLike) -> Array:
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
        return probabilities(self.loss_, f)
