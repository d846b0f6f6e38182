"""The distribution function of a sample, histograms, windows and the Gaussian of a sample."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy import stats
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._fitting import AllOrNothing
from mercer._params import check_sample_weight
from mercer._settings import fixed, settings
from mercer._sklearn import Interval, StrOptions, fit_context
from mercer._typing import Array, Constraints, PointsLike, Seed, TargetsLike, WeightsLike

__all__ = ["EmpiricalCDF", "GaussianDensity", "HistogramDensity", "ParzenWindow"]


# Pairs of a sample and new points that are looked at at once.
BLOCK = 4_000_000

# Gaps to a mean, in units of the sample, whose squares are numbers.
FARTHEST = 1e150

# The lowest logarithm of a density that is no zero.
LOWEST = float(np.finfo(np.float64).min)


@settings
class Sampled(AllOrNothing, BaseEstimator):  # type: ignore[misc]
    """What estimated distributions have in common: samples are rows."""

    verbose: bool = fixed(False)  # sums or counts over a sample, a moment

    def _checked(self, X: PointsLike, reset: bool = False) -> Array:
        if not reset:
            check_is_fitted(self)
        checked: Array = validate_data(self, X, reset=reset, dtype=np.float64)
        return checked

    def _line(self, X: PointsLike, reset: bool = False) -> Array:
        """Return a sample of numbers; refuse one of several features."""
        X = self._checked(X, reset)
        if X.shape[1] != 1:
            raise ValueError(
                f"{type(self).__name__} is a distribution of numbers, got {X.shape[1]} features; "
                "use ParzenWindow or GaussianDensity."
            )
        return np.asarray(X[:, 0], dtype=np.float64)

    def _weights(self, sample_weight: WeightsLike, n: int) -> Array:
        w = check_sample_weight(sample_weight, n)
        if not np.isfinite(w.sum()):
            raise ValueError("the sum of sample_weight is infinite; scale the weights down")
        return np.asarray(w / w.sum())


class Distribution(DensityMixin, Sampled):  # type: ignore[misc]
    """A distribution with a density: declare its logarithm."""

    @abstractmethod
    def score_samples(self, X: PointsLike) -> Array:
        """Evaluate the logarithm of the density, (n,)."""

    def pdf(self, X: PointsLike) -> Array:
        """Evaluate the density, (n,)."""
        return np.exp(self.score_samples(X))

    def score(self, X: PointsLike, y: TargetsLike = None) -> float:
        """Return the mean logarithm of the density at points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        """
        return float(np.mean(self.score_samples(X)))


class EmpiricalCDF(Sampled):
    r"""The distribution function of a sample, :math:`\hat F(x) = \sum_i w_i [x_i \le x]`.

    Of several features, all of them must be at most those of x.

    Attributes
    ----------
    sample_, weights_ : ndarray
        The sample, and what each row weighs; the sum is one.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (1.11), with "at most".

    Examples
    --------
    >>> EmpiricalCDF().fit([[1.0], [3.0]]).cdf([[0.9], [1.0], [5.0]])
    array([0. , 0.5, 1. ])
    """

    def fit(self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None) -> Self:
        """Keep a sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
        """
        X = self._checked(X, reset=True)
        self.sample_ = X
        self.weights_ = self._weights(sample_weight, len(X))
        return self

    def cdf(self, X: PointsLike) -> Array:
        """Evaluate the distribution function, (n,)."""
        X = self._checked(X)
        out = np.empty(len(X))
        step = max(1, BLOCK // self.sample_.size)
        for start in range(0, len(X), step):
            part = X[start : start + step]
            below = np.all(self.sample_[None, :, :] <= part[:, None, :], axis=2)
            out[start : start + step] = below @ self.weights_
        # Weights add up to one up to rounding.
        return np.minimum(out, 1.0)


class HistogramDensity(Distribution):
    r"""The histogram, :math:`\hat p(x) = f_j / (N (b_{j+1} - b_j))` in the bin of x.

    Parameters
    ----------
    bins : int, str or array-like, default=10
        Number of bins of equal width, a rule of ``numpy.histogram_bin_edges``, or the edges.

    Attributes
    ----------
    edges_, heights_ : ndarray

    Examples
    --------
    >>> HistogramDensity(bins=2).fit([[0.0], [0.5], [2.0]]).pdf([[0.1], [1.5], [3.0]]).round(3)
    array([0.667, 0.333, 0.   ])
    """

    def __init__(self, bins: Any = 10) -> None:
        self.bins = bins

    def fit(self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None) -> Self:
        """Count a sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, 1)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
        """
        x = self._line(X, reset=True)
        w = self._weights(sample_weight, len(x))
        try:
            self.heights_, self.edges_ = np.histogram(x, bins=self.bins, weights=w, density=True)
        except ValueError as error:
            raise ValueError(
                f"bins={self.bins!r} cannot be laid over values from {x.min():.17g} to "
                f"{x.max():.17g}: {error} Scale the values, or give other bins."
            ) from error
        return self

    def score_samples(self, X: PointsLike) -> Array:
        """Evaluate the logarithm of the density, (n,)."""
        x = self._line(X)
        j = np.searchsorted(self.edges_, x, side="right") - 1
        j = np.where(x == self.edges_[-1], len(self.heights_) - 1, j)
        inside = (j >= 0) & (j < len(self.heights_))
        with np.errstate(divide="ignore"):
            return np.log(np.where(inside, self.heights_[np.where(inside, j, 0)], 0.0))

    def cdf(self, X: PointsLike) -> Array:
        """Evaluate the distribution function, (n,)."""
        mass = np.append(0.0, np.cumsum(self.heights_ * np.diff(self.edges_)))
        return np.asarray(np.interp(self._line(X), self.edges_, mass), dtype=np.float64)


class ParzenWindow(Distribution):
    r"""The mean of Gaussian windows around a sample.

    .. math:: \hat p(x) = \sum_i w_i \prod_j \frac{1}{h_j} \varphi\Bigl(\frac{x_j - x_{ij}}{h_j}
              \Bigr)

    Parameters
    ----------
    bandwidth : float, array-like of shape (n_features,) or {"normal", "silverman"}
        The widths h; "normal" (the default) is the best for a Gaussian,
        :math:`(4/(p+2))^{1/(p+4)} n^{-1/(p+4)}` standard deviations, "silverman" 0.9 n^(-1/5) of
        the smaller of standard deviation and scaled quartile range.

    Attributes
    ----------
    sample_, weights_, bandwidth_ : ndarray

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (1.13), with the window of
    width h divided by h.

    Examples
    --------
    >>> ParzenWindow(bandwidth=1.0).fit([[0.0]]).pdf([[0.0]]).round(4)
    array([0.3989])
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "bandwidth": [
            StrOptions({"normal", "silverman"}),
            Interval(Real, 0.0, None, closed="neither"),
            "array-like",
        ]
    }

    def __init__(self, bandwidth: Any = "normal") -> None:
        self.bandwidth = bandwidth

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None) -> Self:
        """Put windows around a sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
        """
        X = self._checked(X, reset=True)
        self.weights_ = self._weights(sample_weight, len(X))
        self.sample_ = X
        p = X.shape[1]
        if isinstance(self.bandwidth, str):
            centre = self.weights_ @ X
            spread = np.sqrt(self.weights_ @ (X - centre) ** 2)
            effective = 1.0 / float(np.sum(self.weights_**2))
            factor = (4.0 / (p + 2.0)) ** (1.0 / (p + 4.0))
            if self.bandwidth == "silverman":
                quartiles = np.subtract(*np.percentile(X, [75, 25], axis=0)) / 1.349
                spread = np.where(quartiles > 0, np.minimum(spread, quartiles), spread)
                factor = 0.9
            h = factor * spread * effective ** (-1.0 / (p + 4.0))
            if not np.all(np.isfinite(h)):
                raise FloatingPointError("the spread of X is not finite")
            self.bandwidth_ = np.where(h > 0, h, 1.0)
        else:
            self.bandwidth_ = np.array(np.broadcast_to(np.asarray(self.bandwidth, float), p))
            if not np.all(self.bandwidth_ > 0):
                raise ValueError("bandwidth must be positive.")
        return self

    def score_samples(self, X: PointsLike) -> Array:
        """Evaluate the logarithm of the density, (n,)."""
        X = self._checked(X)
        out = np.empty(len(X))
        step = max(1, BLOCK // self.sample_.size)
        scale = np.sum(np.log(self.bandwidth_)) + 0.5 * X.shape[1] * np.log(2.0 * np.pi)
        with np.errstate(divide="ignore", over="ignore"):
            logs = np.log(self.weights_)
            for start in range(0, len(X), step):
                gaps = (X[start : start + step, None, :] - self.sample_) / self.bandwidth_
                terms = logs - 0.5 * np.sum(gaps**2, axis=2)
                # So far from all windows that the square overflows the density is zero.
                top = np.maximum(terms.max(axis=1), LOWEST)
                out[start : start + step] = top + np.log(np.exp(terms - top[:, None]).sum(axis=1))
        return np.asarray(out - scale)

    def cdf(self, X: PointsLike) -> Array:
        """Evaluate the distribution function, (n,)."""
        X = self._checked(X)
        gaps = (X[:, None, :] - self.sample_) / self.bandwidth_
        return np.asarray(np.prod(stats.norm.cdf(gaps), axis=2) @ self.weights_)

    def sample(self, n_samples: int = 1, random_state: Seed = None) -> Array:
        """Draw new points, (n_samples, n_features)."""
        check_is_fitted(self)
        rng = check_random_state(random_state)
        chosen = rng.choice(len(self.sample_), size=n_samples, p=self.weights_)
        noise = rng.normal(size=(n_samples, self.sample_.shape[1]))
        return np.asarray(self.sample_[chosen] + self.bandwidth_ * noise)


class GaussianDensity(Distribution):
    """The Gaussian of largest likelihood: mean and covariance of a sample.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
    covariance_ : ndarray of shape (n_features, n_features)
        Divided by the number of samples.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (1.14).

    Examples
    --------
    >>> model = GaussianDensity().fit([[0.0], [2.0]])
    >>> float(model.mean_[0]), float(model.covariance_[0, 0])
    (1.0, 1.0)
    """

    def fit(self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None) -> Self:
        """Take the moments of a sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
        """
        X = self._checked(X, reset=True)
        w = self._weights(sample_weight, len(X))
        self.mean_ = w @ X
        gaps = X - self.mean_
        # Squares of gaps may be beyond the range of numbers: in units of about the largest gap.
        self._unit = float(2.0 ** np.floor(np.log2(np.max(np.abs(gaps), initial=0.0) or 1.0)))
        scaled = gaps / self._unit
        self._covariance = scaled.T @ (w[:, None] * scaled)
        self.covariance_ = self._covariance * self._unit * self._unit
        if not np.all(np.isfinite(self.covariance_)):
            raise FloatingPointError("the covariance of X is not finite")
        if not self._covariance.any():
            raise ValueError(
                f"All rows are equal (n_samples = {len(X)}): a Gaussian without spread has no "
                "density. Give rows that differ, or ParzenWindow a bandwidth."
            )
        return self

    @property
    def _law(self) -> Any:
        """The distribution of gaps to the mean, in units of the sample."""
        zero = np.zeros(len(self.mean_))
        return stats.multivariate_normal(zero, self._covariance, allow_singular=True)

    def _gaps(self, X: PointsLike) -> Array:
        with np.errstate(over="ignore"):
            gaps = (self._checked(X) - self.mean_) / self._unit
        return np.asarray(np.clip(gaps, -FARTHEST, FARTHEST))

    def score_samples(self, X: PointsLike) -> Array:
        """Evaluate the logarithm of the density, (n,)."""
        gaps, law = self._gaps(X), self._law
        # The density per unit of X: a factor of the unit for each direction that varies.
        per_unit = np.log(self._unit) * law.cov_object.rank
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(np.atleast_1d(law.logpdf(gaps)) - per_unit)

    def cdf(self, X: PointsLike) -> Array:
        """Evaluate the distribution function, (n,).

        Notes
        -----
        From three features on SciPy integrates at random points, to about 1e-5; before SciPy 1.16
        these points differ from call to call.
        """
        law, values = self._law, []
        for row in self._gaps(X):
            # The same points for every row: its value does not depend on the rows before it.
            law.random_state = 0
            values.append(float(law.cdf(row)))
        return np.asarray(values, dtype=np.float64)

    def sample(self, n_samples: int = 1, random_state: Seed = None) -> Array:
        """Draw new points, (n_samples, n_features)."""
        check_is_fitted(self)
        drawn = self._law.rvs(n_samples, random_state=check_random_state(random_state))
        return np.asarray(self.mean_ + self._unit * np.asarray(drawn).reshape(n_samples, -1))
