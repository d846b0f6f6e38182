"""Generalized least squares: a trend, and how well its coefficients are known."""

from __future__ import annotations

import copy
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import stats
from scipy.linalg import solve_triangular
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._fitting import AllOrNothing
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, fit_context
from mercer._typing import Array, Constraints, PointsLike, TargetsLike
from mercer.machines.blocks import refuse_blocks
from mercer.regularizers.errors import ErrorModel, Independent
from mercer.regularizers.null_space import NullSpace, Polynomial

__all__ = ["GeneralizedLeastSquares", "Wald"]


class Wald(NamedTuple):
    """A test of linear statements about coefficients."""

    statistic: float
    """The F statistic."""
    pvalue: float
    """The probability of a larger one if the statements hold."""
    df: tuple[int, int]
    """Degrees of freedom: of the statements and of the errors."""


@settings
class GeneralizedLeastSquares(RegressorMixin, AllOrNothing, BaseEstimator):  # type: ignore[misc]
    r"""Fit a trend under correlated errors, with standard errors and tests.

    .. math:: \min_b (y - Bb)' C^{-1} (y - Bb), \qquad
              \hat b = (B'C^{-1}B)^{-1} B'C^{-1}y, \quad
              \operatorname{cov} \hat b = \hat\sigma^2 (B'C^{-1}B)^{-1}

    with :math:`\hat\sigma^2` the mean square of the whitened errors over n - q degrees of freedom.
    The coefficients of the free functions of a machine of the squared loss are these, with
    :math:`C = K + 1/\gamma`: the function is an error that is correlated. So
    ``errors=Covariance(kernel, nugget=1 / gamma)`` tells how well they are known.

    Parameters
    ----------
    errors : ErrorModel, optional
        The covariance of the errors up to a factor; independent errors of one size by default.
    trend : NullSpace, optional
        The functions; by default polynomials of degree one.
    scale : float, optional
        The factor :math:`\sigma^2` if it is known; then tests use normal distributions.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    null_space_coef_ : ndarray of shape (q,)
        Coefficients, named in ``null_space_names_``.
    null_space_cov_ : ndarray of shape (q, q)
        Their covariance.
    scale_ : float
        The factor of the covariance of the errors.
    df_ : int
        Degrees of freedom of the errors.
    innovations_ : ndarray of shape (n,)
        Whitened errors.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 5.4.3 and eq. (4.3) to (4.5).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.estimators import GeneralizedLeastSquares
    >>> from mercer.regularizers import AutoRegressive
    >>> t = np.arange(100.0)[:, None]
    >>> rng = np.random.default_rng(0)
    >>> y = 3.0 + 0.1 * t[:, 0] + np.convolve(rng.normal(size=100), 0.7 ** np.arange(50))[:100]
    >>> fit = GeneralizedLeastSquares(AutoRegressive(0.7)).fit(t, y)
    >>> dict(zip(fit.null_space_names_, fit.null_space_coef_.round(2)))
    {'1': np.float64(3.02), 'x0': np.float64(0.1)}
    >>> bool(fit.wald_test([[0.0, 1.0]]).pvalue < 1e-6)
    True
    """

    errors: ErrorModel | None = None
    _: KW_ONLY
    trend: NullSpace | None = None
    scale: float | None = None

    _parameter_constraints: ClassVar[Constraints] = {
        "errors": [ErrorModel, None],
        "trend": [NullSpace, None],
        "scale": [Interval(Real, 0.0, None, closed="neither"), None],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike = None) -> Self:
        """Fit the trend.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        """
        refuse_blocks(self, X)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        self.errors_, space = self._settled()
        features = getattr(self, "feature_names_in_", None)
        self.null_space_ = space
        self.null_space_names_ = space.names(X.shape[1], features)
        W, B = self.errors_.whitening(X), space(X)
        self.df_ = len(y) - B.shape[1]
        if self.df_ <= 0:
            raise ValueError(
                f"n_samples={len(y)} observations leave nothing to judge {B.shape[1]} "
                "coefficients by; take more samples or fewer functions."
            )
        Q, R = np.linalg.qr(W @ B)
        size = np.abs(np.diag(R))
        # Columns that depend on each other leave a diagonal of rounding errors.
        if np.any(size <= 1e-12 * np.linalg.norm(R, axis=0)):
            j = int(np.argmin(size / np.maximum(np.linalg.norm(R, axis=0), 1e-300)))
            raise ValueError(
                f"the function {self.null_space_names_[j]!r} is a combination of those before it; "
                "leave it out."
            )
        white = np.asarray(W @ y)
        self.null_space_coef_ = solve_triangular(R, Q.T @ white)
        self.innovations_ = white - Q @ (Q.T @ white)
        self.scale_ = (
            float(self.innovations_ @ self.innovations_) / self.df_
            if self.scale is None
            else float(self.scale)
        )
        inverse = solve_triangular(R, np.eye(len(R)))
        self.null_space_cov_ = self.scale_ * inverse @ inverse.T
        return self

    def _ending(self) -> str:
        return (
            f"solved by one factorization: {len(self.null_space_coef_)} coefficients, "
            f"{self.df_} degrees of freedom, scale of the errors {self.scale_:.6g}"
        )

    def _trend_columns(self, X: PointsLike, y: TargetsLike) -> tuple[Array, Any]:
        """Return the functions of the trend, and points, as ``estimate_errors`` asks for them."""
        X, _ = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        return self._settled()[1](X), X

    def _settled(self) -> tuple[ErrorModel, NullSpace]:
        """Return errors and trend with names of features replaced by positions."""
        errors = copy.deepcopy(Independent() if self.errors is None else self.errors)
        trend = copy.deepcopy(Polynomial(1) if self.trend is None else self.trend)
        if hasattr(self, "feature_names_in_"):
            features = list(self.feature_names_in_)
            return errors.bind(features), trend.bind(features)
        return errors, trend

    def predict(self, X: PointsLike) -> Array:
        """Evaluate the trend.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        return np.asarray(self.null_space_(X) @ self.null_space_coef_)

    @property
    def coef_(self) -> Array:
        """Coefficients of the functions ``null_space_names_``."""
        check_is_fitted(self)
        return np.asarray(self.null_space_coef_)

    @property
    def standard_errors_(self) -> Array:
        """Standard deviations of the coefficients."""
        check_is_fitted(self)
        return np.sqrt(np.diag(self.null_space_cov_))

    def confidence_intervals(self, level: float = 0.95) -> Array:
        r"""Return intervals that hold the coefficients with a probability.

        .. math:: \hat b_j \pm t_{n-q} \, \operatorname{se}(\hat b_j)

        Parameters
        ----------
        level : float, default=0.95

        Returns
        -------
        ndarray of shape (q, 2)
        """
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1, got {level}.")
        spread = stats.norm if self.scale is not None else stats.t(self.df_)
        half = spread.ppf(0.5 + 0.5 * level) * self.standard_errors_
        return np.stack([self.null_space_coef_ - half, self.null_space_coef_ + half], axis=1)

    def wald_test(self, L: Any, value: Any = 0.0) -> Wald:
        r"""Test the linear statements :math:`Lb = v`.

        .. math:: F = \frac1r (L\hat b - v)' (L \operatorname{cov}(\hat b) L')^{-1} (L\hat b - v)

        Parameters
        ----------
        L : array-like of shape (r, q)
            One statement a row, none of which follows from the others.
        value : float or array-like of shape (r,), default=0.0

        Returns
        -------
        Wald
            Statistic, p-value and degrees of freedom.
        """
        check_is_fitted(self)
        L = np.atleast_2d(np.asarray(L, dtype=np.float64))
        if L.shape[1] != len(self.null_space_coef_):
            raise ValueError(f"L must have {len(self.null_space_coef_)} columns, got {L.shape}.")
        left, r = L @ self.null_space_coef_ - value, len(L)
        F = float(left @ np.linalg.solve(L @ self.null_space_cov_ @ L.T, left)) / r
        if self.scale is None:
            return Wald(F, float(stats.f(r, self.df_).sf(F)), (r, self.df_))
        return Wald(F, float(stats.chi2(r).sf(r * F)), (r, self.df_))
