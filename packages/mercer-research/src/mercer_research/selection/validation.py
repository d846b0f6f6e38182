"""Criteria of validation: how well a machine's coefficients predict samples put aside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._typing import Array
from mercer.losses.base import Loss
from mercer.losses.named import CLASSIFICATION, REGRESSION, resolve

__all__ = ["Validation"]


@dataclass(frozen=True, eq=False)
class Validation:
    r"""The mean loss of a machine on samples it was not trained on.

    .. math:: J_2 = \frac{1}{m} \sum_j l\bigl(y_j, (K_v a + B_v b)_j\bigr)

    Parameters
    ----------
    K : (m, n) array
        Kernel between validation and training samples.
    y : (m,) array
        Targets, or labels plus and minus one.
    B : (m, q) array, optional
        Unpenalized columns at the validation samples; a constant by default.
    loss : str or Loss
        The name of a loss (``"squared"``, ``"absolute"``, ``"hinge"``, ``"logistic"``, ...), or
        ``"error"``, the share of wrong signs.
    """

    K: Array
    y: Array
    B: Array | None = None
    loss: str | Loss = "squared"

    def __post_init__(self) -> None:
        if not self.counts:
            self.resolved()
        if np.shape(self.K)[0] != np.shape(self.y)[0]:
            raise ValueError("K must have one row a validation sample, as y has")

    @property
    def counts(self) -> bool:
        """Whether it counts mistakes."""
        return isinstance(self.loss, str) and self.loss == "error"

    @property
    def columns(self) -> Array:
        """The unpenalized columns."""
        return np.ones((len(self.y), 1)) if self.B is None else np.asarray(self.B, dtype=float)

    def resolved(self) -> Loss:
        """Return the loss itself."""
        # The error of a class is piecewise constant, and has no loss.
        return resolve(self.loss, REGRESSION | CLASSIFICATION)

    def predict(self, a: Array, b: Array) -> Array:
        """Return decision values at the validation samples."""
        return np.asarray(self.K @ a + self.columns[:, : len(b)] @ b)

    def value(self, f: Array) -> float:
        """Return the criterion at decision values."""
        if self.counts:
            return float(np.mean(self.y * f <= 0))
        return float(np.mean(self.resolved().value(self.y, f)))

    def gradient(self, f: Array) -> Array:
        """Return its derivatives by the decision values."""
        return np.asarray(self.resolved().gradient(self.y, f) / len(self.y))
