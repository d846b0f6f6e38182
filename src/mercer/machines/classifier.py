"""Base of classifiers: labels, and weights by class."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._params import check_sample_weight
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import StrOptions, num_samples
from mercer._typing import AnyArray, Array, Constraints, PointsLike, TargetsLike, WeightsLike
from mercer.data.opening import is_source
from mercer.machines.base import KernelMachine
from mercer.machines.low_rank import LowRankProblem, by_blocks, irreducible
from mercer.machines.plain_arrays import is_plain_targets, number_classes
from mercer.machines.scoring import accuracy
from mercer.machines.subproblems import Rows
from mercer.reduced.problem import Codes
from mercer.smoothing.widths import margin_error

__all__ = ["Classifier", "chosen", "encode_classes", "refuse_one_class", "signs"]


def encode_classes(y: TargetsLike) -> tuple[Any, NDArray[np.intp]]:
    """Return the classes, and the position of each sample's among them; refuse a single class."""
    known = number_classes(y)
    if known is None:
        check_classification_targets(y)
        known = np.unique(y, return_inverse=True)
    classes, codes = known
    _refuse_too_few(len(classes))
    return classes, codes


def _refuse_too_few(n_classes: int) -> None:
    if n_classes < 2:
        raise ValueError(f"The number of classes has to be greater than one; got {n_classes} class")


def refuse_one_class(live: Any) -> None:
    """Refuse labels of the samples with weight if all of them are the same."""
    if np.all(live == live[:1]):
        raise ValueError(
            "Invalid input - all samples with positive weights belong to the same class."
        )


def signs(codes: Any, n_classes: int) -> Array:
    """Return labels plus and minus one, of every class against the rest, (n, d).

    Examples
    --------
    >>> import numpy as np
    >>> signs(np.array([0, 1, 2]), 3)[:, 0], signs(np.array([0, 1]), 2)[:, 0]
    (array([ 1., -1., -1.]), array([-1.,  1.]))
    """
    classes = np.arange(1, 2) if n_classes == 2 else np.arange(n_classes)
    return np.where(codes[:, None] == classes, 1.0, -1.0)


def chosen(f: Array) -> NDArray[np.intp]:
    """Return the positions of the classes that decision values, (n,) or (n, d), speak for."""
    return np.asarray(f > 0 if f.ndim == 1 else np.argmax(f, axis=1), dtype=np.intp)


def _has_probabilities(machine: Classifier) -> bool:
    return machine.predict_proba is not None  # says itself why it is not there


@settings
class Classifier(ClassifierMixin, KernelMachine):  # type: ignore[misc]
    """A machine that predicts a class."""

    _: KW_ONLY
    class_weight: dict[Any, float] | str | None = None

    _labelled: ClassVar[bool] = True

    _parameter_constraints: ClassVar[Constraints] = {
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def _encode(self, y: TargetsLike) -> tuple[NDArray[np.intp], Array]:
        labels = y if is_plain_targets(y, len(y)) else column_or_1d(y, warn=True)
        self.classes_, codes = encode_classes(labels)
        if self.class_weight is None:
            self.class_weight_ = np.ones(len(self.classes_))
        else:
            self.class_weight_ = compute_class_weight(
                self.class_weight, classes=self.classes_, y=labels
            )
        return codes, self.class_weight_[codes]

    def _count_classes(self, classes: Any, counts: Any) -> None:
        _refuse_too_few(len(classes))
        check_classification_targets(classes)
        self.classes_ = classes
        if self.class_weight == "balanced":
            sizes = counts[:, 0]
            self.class_weight_ = sizes.sum() / (len(classes) * sizes)
        else:
            self.class_weight_ = compute_class_weight(self.class_weight, classes=classes, y=classes)
        refuse_one_class(np.flatnonzero(counts[:, 1]))

    def _book(self) -> Array:
        """Return the codes of the classes in the problems: plus and minus one, 0 for neither."""
        raise irreducible(self)

    def _low_rank_problem(self, rows: Rows, labels: AnyArray | None) -> LowRankProblem:
        book = self._book()
        targets = Codes(labels, book, np.asarray(self.class_weight_))
        return LowRankProblem(self._loss(rows), targets, np.ones(book.shape[1]))

    def _targets(self, y: TargetsLike) -> Array:
        return signs(y, len(self.classes_))

    def _cost(self, y: Array, f: Array) -> Array:
        return margin_error(y, f)

    @by_blocks
    def predict(self, X: PointsLike) -> Any:
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
        return self.classes_[chosen(self.decision_function(X))]

    @available_if(_has_probabilities)
    @by_blocks
    def predict_log_proba(self, X: PointsLike) -> Array:
        """Predict logarithms of class probabilities, where there are probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Logarithms of the probabilities.
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def score(
        self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None
    ) -> float:
        """Return the share of samples whose class is predicted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or Source
            New inputs; a source has its labels, and is read once, block by block.
        y : array-like of shape (n_samples,), optional
            Their classes; not needed where `X` has them.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        float
            The accuracy.
        """
        if is_source(X):
            return accuracy(self, X, y, sample_weight)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, num_samples(X))
        return float(super().score(X, y, sample_weight))
