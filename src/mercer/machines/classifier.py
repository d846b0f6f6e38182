"""Base of classifiers: labels, and weights by class."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from mercer._settings import KW_ONLY, settings
from mercer.machines.approximated import by_blocks
from mercer.machines.base import KernelMachine
from mercer.machines.expansion import Array
from mercer.reduced.targets import Codes, Targets
from mercer.smoothing.widths import margin_error

__all__ = ["Classifier"]


def _has_probabilities(machine: Any) -> bool:
    return machine.predict_proba is not None  # says itself why it is not there


@settings
class Classifier(ClassifierMixin, KernelMachine):  # type: ignore[misc]
    """A machine that predicts a class."""

    _: KW_ONLY
    class_weight: dict[Any, float] | str | None = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def _encode(self, y: Any) -> tuple[NDArray[np.intp], Array]:
        labels = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        n_classes = len(self.classes_)
        if n_classes < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {n_classes} class"
            )
        self.class_weight_ = compute_class_weight(
            self.class_weight, classes=self.classes_, y=labels
        )
        return codes, self.class_weight_[codes]

    def _labelled(self) -> bool:
        return True

    def _count_classes(self, classes: Any, counts: Any) -> None:
        if len(classes) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(classes)} class"
            )
        check_classification_targets(classes)
        self.classes_ = classes
        if self.class_weight == "balanced":
            sizes = counts[:, 0]
            self.class_weight_ = sizes.sum() / (len(classes) * sizes)
        else:
            self.class_weight_ = compute_class_weight(self.class_weight, classes=classes, y=classes)
        self._check_live(counts[:, 1])

    def _check_live(self, live: Any) -> None:
        """Refuse classes without a row that has weight."""
        if np.count_nonzero(live) < 2:
            raise ValueError(
                "Invalid input - all samples with positive weights belong to the same class."
            )

    def _book(self) -> Array:
        """Return the codes of the classes in the problems: plus and minus one, 0 for neither."""
        raise self._irreducible()

    def _reduced_targets(self, labels: Any) -> tuple[Targets, Array]:
        book = self._book()
        return Codes(labels, book, np.asarray(self.class_weight_)), np.ones(book.shape[1])

    def _targets(self, y: Any) -> Array:
        """Return labels plus and minus one, of every class against the rest, (n, d)."""
        n_classes = len(self.classes_)
        classes = np.arange(1, 2) if n_classes == 2 else np.arange(n_classes)
        return np.where(y[:, None] == classes, 1.0, -1.0)

    def _cost(self, y: Array, f: Array) -> Array:
        return margin_error(y, f)

    @available_if(_has_probabilities)
    @by_blocks
    def predict_log_proba(self, X: Any) -> Array:
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
