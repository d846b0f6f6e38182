"""Shared code of linear models: data in, one hyperplane out, a certificate of optimality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._fitting import AllOrNothing
from mercer._params import check_sample_weight
from mercer._settings import KW_ONLY, settings
from mercer._typing import Array, Constraints, PointsLike, TargetsLike, WeightsLike
from mercer.solvers.status import GAP_ROUNDING, relative_gap

__all__ = ["Array", "Centred", "LinearModel", "Optimum", "centre"]


@dataclass(frozen=True)
class Optimum:
    r"""Certificate of optimality: primal and dual value, and the dual solution.

    Parameters
    ----------
    objective : float
        The value that the answer reaches.
    bound : float
        A number that no answer goes below.
    multipliers : ndarray of shape (n,)
        The dual variables of the samples, positive where a sample lies above the fit.
    violation : float
        Largest violation of the conditions under which the bound holds; rounding only.
    """

    objective: float
    bound: float
    multipliers: Array
    violation: float = 0.0

    def __post_init__(self) -> None:
        if not np.isfinite(self.objective):
            raise ValueError(
                f"the objective of the answer is {self.objective}, beyond the range of floating "
                "point: scale the inputs and targets."
            )

    @property
    def gap(self) -> float:
        """The duality gap."""
        return self.objective - self.bound

    @property
    def relative_gap(self) -> float:
        """Gap divided by the larger magnitude of objective and bound."""
        return relative_gap(self.objective, self.bound, self.gap)

    def summary(self) -> list[str]:
        """Return how exact the answer is, in one line, as solutions of machines say it."""
        part = f"{self.gap:.2g} ({100.0 * self.relative_gap:.2g} %)"
        part = "rounding" if self.relative_gap <= GAP_ROUNDING else part
        return [f"optimal: objective {self.objective:.6g}, certified within {part} of the optimum"]


@dataclass(frozen=True)
class Centred:
    """A sample whose free constant, and square roots of whose weights, are taken out.

    Parameters
    ----------
    X, y : ndarray of shape (n, p) and (n,) or (n, k)
        What is left of the design and of the targets.
    mean_x, mean_y : ndarray of shape (p,) and () or (k,)
        What was subtracted; zero without an intercept.
    """

    X: Array
    y: Array
    mean_x: Array
    mean_y: Array

    def intercept(self, coef: Array) -> Any:
        """Return the constants that go with coefficients (p,) or (p, k)."""
        b = self.mean_y - self.mean_x @ coef
        return float(b) if np.ndim(b) == 0 else b


def centre(X: Array, y: Array, fit_intercept: bool, weights: Array | None = None) -> Centred:
    """Take the free constant out of a weighted least-squares problem.

    Examples
    --------
    >>> import numpy as np
    >>> data = centre(np.array([[1.0], [3.0]]), np.array([2.0, 6.0]), True)
    >>> data.X.ravel(), data.intercept(np.array([2.0]))
    (array([-1.,  1.]), 0.0)
    """
    mean_x, mean_y = np.zeros(X.shape[1]), np.zeros(y.shape[1:])
    if fit_intercept:
        mean_x = np.average(X, axis=0, weights=weights)
        mean_y = np.asarray(np.average(y, axis=0, weights=weights))
    X, y = X - mean_x, y - mean_y
    if weights is not None:
        root = np.sqrt(weights)
        X, y = root[:, None] * X, (root * y.T).T
    return Centred(X, y, mean_x, mean_y)


def require_squares(X: Array, y: Array | None = None) -> None:
    """Refuse inputs or targets whose squares overflow.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    y : ndarray, optional
    """
    with np.errstate(over="ignore"):
        for name, values in {"X": X, "y": y}.items():
            if values is not None and not np.isfinite(np.vdot(values, values)):
                raise ValueError(
                    f"the squares of {name} overflow; scale inputs and targets to magnitudes near "
                    "one (StandardScaler, TransformedTargetRegressor)."
                )


@settings
class LinearModel(RegressorMixin, AllOrNothing, BaseEstimator):  # type: ignore[misc]
    """A fit that ends in ``coef_`` and ``intercept_``."""

    _: KW_ONLY
    fit_intercept: bool = True

    _parameter_constraints: ClassVar[Constraints] = {
        "fit_intercept": ["boolean"],
        "cv": ["cv_object"],
        "random_state": ["random_state"],
    }

    _several: ClassVar[bool] = False
    """Whether targets with several columns are understood."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._several
        return tags

    def _data(
        self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike = None, least: int = 1
    ) -> tuple[Array, Array, Array]:
        """Return checked inputs, targets and weights; samples that weigh nothing are left out."""
        X, y = validate_data(
            self,
            X,
            y,
            dtype=np.float64,
            y_numeric=True,
            multi_output=self._several,
            ensure_min_samples=least,
        )
        y = np.asarray(y, dtype=np.float64)
        require_squares(X, y)
        if np.any((np.sum(np.square(X), axis=0) == 0) & np.any(X, axis=0)):
            raise ValueError("the squares of X underflow; scale the inputs (StandardScaler).")
        if sample_weight is None:
            return X, y, np.ones(len(X))
        s = check_sample_weight(sample_weight, X.shape[0])
        live = s > 0
        return X[live], y[live], s[live]

    def _centred(
        self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike = None, least: int = 1
    ) -> Centred:
        """Return checked data without their free constant and their weights."""
        X, y, s = self._data(X, y, sample_weight, least)
        return centre(X, y, self.fit_intercept, s)

    def _keep(self, data: Centred, coef: Array) -> None:
        """Store coefficients (p,) or (p, k) as scikit-learn does."""
        self.coef_ = coef.T
        self.intercept_ = data.intercept(coef)

    def predict(self, X: PointsLike) -> Array:
        """Evaluate the hyperplane.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(X @ self.coef_.T + self.intercept_)
