"""Local averages."""

from __future__ import annotations

import copy
from numbers import Real
from typing import ClassVar, Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._fitting import AllOrNothing
from mercer._params import check_sample_weight
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions, fit_context
from mercer._typing import Array, Constraints, PointsLike, TargetsLike, WeightsLike
from mercer.kernels import Gaussian, Kernel
from mercer_research.linear._model import require_squares

__all__ = ["NadarayaWatson"]

# Widths that are tried before the best of them is refined, from a part of the smallest distance to
# a multiple of the largest, beyond which nothing changes any more.
GRID = 40
TOL = 1e-6


@settings
class NadarayaWatson(RegressorMixin, AllOrNothing, BaseEstimator):  # type: ignore[misc]
    r"""Predict the average of the targets around a point.

    .. math:: \hat f(x) = \frac{\sum_i s_i\, k(x, x_i)\, y_i}{\sum_i s_i\, k(x, x_i)}

    for any kernel that is not negative. Nothing is solved, which makes it a pilot or a baseline:
    every prediction lies between the smallest and the largest target, and a wide kernel gives their
    mean. Where all weights vanish in floating point, the nearest samples answer.

    Parameters
    ----------
    kernel : Kernel, optional
        The shape of the weights, a Gaussian by default. It needs a ``length_scale`` unless
        ``length_scale=None``.
    length_scale : float, "auto" or None, default="auto"
        The width. "auto" minimizes the mean square of the errors of leaving one sample out,
        :math:`y_i - \sum_{j \ne i} k_{ij} y_j / \sum_{j \ne i} k_{ij}`, over all widths from far
        below the distance of neighbours to far above the size of the sample. None leaves the kernel
        as it is.
    far : {"nearest", "nan"}, default="nearest"
        What is predicted where every weight is zero.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel that was used.
    length_scale_ : float
        Its width.
    loo_error_ : float
        Mean squared error of leaving one sample out.
    X_fit_, y_fit_, sample_weight_ : ndarray
        The sample.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, section 3.2.3, eq. (3.7).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import NadarayaWatson
    >>> x = np.linspace(0, 6, 50)
    >>> model = NadarayaWatson().fit(x[:, None], np.sin(x))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.05)
    True
    """

    kernel: Kernel | None = None
    _: KW_ONLY
    length_scale: float | str | None = "auto"
    far: str = "nearest"

    _parameter_constraints: ClassVar[Constraints] = {
        "kernel": [Kernel, None],
        "length_scale": [StrOptions({"auto"}), Interval(Real, 0.0, None, closed="neither"), None],
        "far": [StrOptions({"nearest", "nan"})],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike = None) -> Self:
        """Keep the sample and find the width.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples in the average and in the error.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        require_squares(X)
        s = check_sample_weight(sample_weight, X.shape[0])
        live = s > 0
        self.X_fit_, self.sample_weight_ = X[live], s[live]
        self.y_fit_ = np.asarray(y, dtype=np.float64)[live]
        self.kernel_ = Gaussian() if self.kernel is None else copy.deepcopy(self.kernel)
        if self.length_scale is not None and not hasattr(self.kernel_, "length_scale"):
            raise ValueError(
                f"{type(self.kernel_).__name__} has no length_scale; set length_scale=None to take "
                "it as it is."
            )
        if self.length_scale == "auto":
            self.kernel_.set_params(length_scale=self._width())
        elif self.length_scale is not None:
            self.kernel_.set_params(length_scale=float(self.length_scale))
        self.length_scale_ = getattr(self.kernel_, "length_scale", None)
        self.loo_error_ = self._error(self.kernel_)
        return self

    def _width(self) -> float:
        d2 = cdist(self.X_fit_, self.X_fit_, "sqeuclidean")
        # Samples at one place, or what rounding leaves of a distance between them, set no width.
        apart = np.sqrt(d2[d2 > 1e-14 * (d2.max() if d2.size else 0.0)])
        if not len(apart):
            return 1.0
        grid = np.geomspace(0.1 * apart.min(), 10.0 * apart.max(), GRID)
        shape = copy.deepcopy(self.kernel_)

        def error(log_width: float) -> float:
            return self._error(shape.set_params(length_scale=float(np.exp(log_width))))

        errors = np.array([error(np.log(h)) for h in grid])
        # Among widths that are as good, the widest.
        best = int(np.flatnonzero(errors <= errors.min() * (1 + 1e-12))[-1])
        if best in (0, GRID - 1):
            return float(grid[best])
        ends = float(np.log(grid[best - 1])), float(np.log(grid[best + 1]))
        found = minimize_scalar(error, bounds=ends, method="bounded", options={"xatol": TOL})
        return float(np.exp(found.x)) if found.fun < errors[best] else float(grid[best])

    def _error(self, kernel: Kernel) -> float:
        K = np.asarray(kernel(self.X_fit_, self.X_fit_), dtype=np.float64) * self.sample_weight_
        # A sample of weight s is s samples at one place: one of them is left out.
        s = self.sample_weight_
        K[np.diag_indices_from(K)] *= np.maximum(1.0 - 1.0 / s, 0.0)
        f = self._average(K, self.X_fit_, leave_out=True)
        return float(np.average((self.y_fit_ - f) ** 2, weights=s))

    def _average(self, K: Array, X: Array, leave_out: bool = False) -> Array:
        """Return weighted means of the targets; of the nearest targets where no weight is."""
        if np.min(K, initial=0.0) < 0:
            raise ValueError(
                f"{type(self.kernel_).__name__} is negative somewhere, which no weight may be; "
                "choose a kernel that is not."
            )
        total = K.sum(axis=1)
        lost = ~(total > 1e-300)
        f = K @ self.y_fit_ / np.where(lost, 1.0, total)
        if lost.any() and (self.far == "nearest" or leave_out):
            d2 = cdist(X[lost], self.X_fit_, "sqeuclidean")
            if leave_out and len(self.y_fit_) > 1:
                d2[np.arange(len(d2)), np.flatnonzero(lost)] = np.inf
            near = (d2 <= d2.min(axis=1, keepdims=True) * (1 + 1e-12)) * self.sample_weight_
            f[lost] = near @ self.y_fit_ / near.sum(axis=1)
        elif lost.any():
            f[lost] = np.nan
        return np.asarray(np.clip(f, self.y_fit_.min(), self.y_fit_.max()))

    def predict(self, X: PointsLike) -> Array:
        """Average the targets around new points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        K = np.asarray(self.kernel_(X, self.X_fit_), dtype=np.float64) * self.sample_weight_
        return self._average(K, X)
