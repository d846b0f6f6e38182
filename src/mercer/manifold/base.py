"""What maps from rows to latent coordinates share: rows with gaps, coordinates, scores."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._fitting import AllOrNothing
from mercer._typing import PointsLike, TargetsLike, WeightsLike
from mercer.kernels.points import Array
from mercer.manifold.latent import Latent

__all__ = ["LatentMap"]


class LatentMap(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    AllOrNothing,
    BaseEstimator,  # type: ignore[misc]
):
    """A map between rows, cells of which may be missing, and coordinates in a latent set."""

    _least_rows = 1

    @property
    @abstractmethod
    def _latent(self) -> Latent:
        """The latent set of the fitted map."""

    @abstractmethod
    def score_samples(self, X: PointsLike) -> Any:
        """Return a score of every row, (n_samples,)."""

    def score(
        self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None
    ) -> float:
        """Return the mean over rows of :meth:`score_samples`.

        Parameters
        ----------
        X : array-like or source of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
        """
        return float(np.average(self.score_samples(X), weights=sample_weight))

    def _check(self, X: PointsLike, reset: bool) -> Array:
        """Return rows, NaN where a cell is missing."""
        if not reset:
            check_is_fitted(self)
        least = self._least_rows if reset else 1
        options: dict[str, Any] = {"ensure_all_finite": "allow-nan", "ensure_min_samples": least}
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=reset, **options))

    def _coordinates(self, Z: PointsLike) -> Array:
        """Return latent coordinates, those outside of the set moved to its boundary."""
        check_is_fitted(self)
        Z = np.asarray(Z, dtype=np.float64)
        if Z.ndim != 2 or Z.shape[1] != self._latent.dim:
            raise ValueError(f"coordinates have {self._latent.dim} columns, got shape {Z.shape}.")
        if not np.isfinite(Z).all():
            raise ValueError("coordinates must be finite numbers.")
        return self._latent.clip(Z)

    @property
    def _n_features_out(self) -> int:
        return self._latent.dim

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
