"""Rows, weights and costs of quantizers, and the images that rows are replaced by."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable
from numbers import Integral, Real
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._fitting import AllOrNothing
from mercer._params import check_sample_weight
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions
from mercer._typing import Constraints, PointsLike, TargetsLike, WeightsLike
from mercer.data.opening import is_source
from mercer.kernels.points import Array
from mercer.manifold.distortions import Distortion, MetricDistortion, as_distortion

__all__ = ["Quantizer", "best_of", "costs_of", "known_cells"]

Found = TypeVar("Found")


def known_cells(R: Array) -> Array:
    """Return residuals with zeros in the place of missing cells."""
    return np.where(np.isnan(R), 0.0, R)


def costs_of(distortion: Distortion, X: Array, images: Array) -> Array:
    """Return the cost of every row at each image, (n, k), over the cells that are known."""
    costs = [distortion(known_cells(X - image)) for image in images]
    return np.stack(costs, axis=1)


def best_of(starts: Iterable[Found], value: Callable[[Found], float]) -> tuple[Found, Array]:
    """Return the start that ended lowest, and the values at which all of them ended."""
    found = list(starts)
    ends = np.array([value(one) for one in found])
    return found[int(np.argmin(ends))], ends


@settings
class Quantizer(AllOrNothing, BaseEstimator):  # type: ignore[misc]
    """A map from a latent set to rows, each row replaced by its cheapest image."""

    _: KW_ONLY
    cost: Distortion | str = "squared"
    max_iter: int = 300
    tol: float = 1e-6

    _parameter_constraints: ClassVar[Constraints] = {
        "cost": [Distortion, StrOptions({"squared", "huber", "absolute"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0.0, None, closed="left")],
    }

    @abstractmethod
    def _images(self, rows: Array) -> Array:
        """Return the cheapest images of rows, both in coordinates of the cost."""

    def _distortion(self) -> Distortion:
        return as_distortion(self.cost)

    def _rows(self, X: PointsLike, reset: bool) -> Array:
        """Return checked rows in coordinates of the cost."""
        if not reset:
            check_is_fitted(self)
        if is_source(X):
            raise ValueError(
                f"{type(self).__name__} goes over its rows many times: give an array of some of "
                "them (mercer.data.draw), or fit PrincipalManifold to rows in blocks."
            )
        X = np.asarray(
            validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=reset)
        )
        missing = np.isnan(X)
        if missing.all(axis=1).any():
            raise ValueError("some rows have no known cell, so that they lie nowhere; drop them.")
        distortion = self._distortion()
        distortion.check(X.shape[1])
        if not np.isfinite(np.nansum(X * X)):
            raise ValueError("The squares of X overflow. Scale the inputs (StandardScaler).")
        if not missing.any():
            return distortion.whiten(X)
        if isinstance(distortion, MetricDistortion):
            raise ValueError(
                "a metric mixes the features, so that no cell may be missing (NaN); impute first, "
                "or use cost='squared'."
            )
        if reset and missing.all(axis=0).any():
            raise ValueError("some features have no known cell; drop them.")
        return np.asarray(X, dtype=np.float64)

    def _weights(self, sample_weight: WeightsLike, X: PointsLike) -> Array:
        """Return the weights of rows, whose sum is one."""
        s = check_sample_weight(sample_weight, X.shape[0])
        if not np.isfinite(s.sum()):
            raise ValueError("the sum of sample_weight is infinite; scale the weights down")
        return np.asarray(s / s.sum(), dtype=np.float64)

    def _warn_unless(self, converged: bool) -> None:
        if not converged:
            warnings.warn(
                f"{type(self).__name__} stopped after {self.max_iter} iterations while its cost "
                "still fell; raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def distortion(self, X: PointsLike) -> Array:
        """Return the cost of every row at its cheapest image, (n_samples,): a score of novelty.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks a missing cell.
        """
        rows = self._rows(X, reset=False)
        return self._distortion()(known_cells(rows - self._images(rows)))

    def score_samples(self, X: PointsLike) -> Array:
        """Return minus the cost of every row: low for rows unlike the sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        return -self.distortion(X)

    def score(
        self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None
    ) -> float:
        """Return minus the mean cost.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
        """
        return float(np.average(self.score_samples(X), weights=sample_weight))

    def reconstruct(self, X: PointsLike) -> Array:
        """Return the cheapest images of rows, (n_samples, n_features).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        rows = self._rows(X, reset=False)
        return self._distortion().restore(self._images(rows))

    def impute(self, X: PointsLike) -> Array:
        """Return rows with missing cells filled in from their cheapest images.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks a missing cell.
        """
        rows = self._rows(X, reset=False)
        images = self._distortion().restore(self._images(rows))
        return np.where(np.isnan(rows), images, np.asarray(X, dtype=np.float64))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = not isinstance(self.cost, MetricDistortion)
        return tags
