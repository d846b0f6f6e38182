"""Where validation data come from: given beside the sample, or cut out of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import validate_data

from mercer._typing import Array, PointsLike, TargetsLike
from mercer.machines.folds import as_splitter
from mercer_research.linear._model import Centred, LinearModel, centre

__all__ = ["Split", "Validated"]


@dataclass(frozen=True)
class Split:
    """Data to fit, and data to judge the fit by, seen from the means of the former.

    Parameters
    ----------
    train : Centred
        What is fitted.
    X_val, y_val : ndarray of shape (m, p) and (m,) or (m, k)
        What judges, with the means of the training data subtracted.
    """

    train: Centred
    X_val: Array
    y_val: Array

    @classmethod
    def of(cls, X: Array, y: Array, X_val: Array, y_val: Array, fit_intercept: bool) -> Split:
        """Centre one pair of samples."""
        train = centre(X, y, fit_intercept)
        return cls(train, X_val - train.mean_x, y_val - train.mean_y)

    def cost(self, coef: Array) -> float:
        """Return half of the squared errors of validation."""
        return 0.5 * float(np.sum((self.X_val @ coef - self.y_val) ** 2))


class Validated(LinearModel):
    """A model with a hyperparameter that minimizes an error of validation."""

    def _splits(
        self, X: PointsLike, y: TargetsLike, X_val: PointsLike, y_val: TargetsLike
    ) -> tuple[Centred, list[Split]]:
        """Return the data of the final fit, and the splits that judge hyperparameters."""
        X, y, _ = self._data(X, y, least=2)
        if (X_val is None) != (y_val is None):
            raise ValueError("Give both of X_val and y_val, or neither to use cv.")
        if X_val is not None:
            X_val, y_val = validate_data(
                self,
                X_val,
                y_val,
                reset=False,
                dtype=np.float64,
                y_numeric=True,
                multi_output=self._several,
            )
            y_val = np.asarray(y_val, dtype=np.float64)
            if y_val.shape[1:] != y.shape[1:]:
                raise ValueError(
                    f"y_val has shape {y_val.shape}, which does not go with {y.shape}."
                )
            split = Split.of(X, y, X_val, y_val, self.fit_intercept)
            return split.train, [split]
        splits = [
            Split.of(X[fit], y[fit], X[rest], y[rest], self.fit_intercept)
            for fit, rest in as_splitter(self.cv, y).split(X, y)
        ]
        return centre(X, y, self.fit_intercept), splits
