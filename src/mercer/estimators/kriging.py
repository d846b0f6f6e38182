"""Universal kriging: best linear prediction of a trend and what a covariance says of the rest."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self, overload

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer._progress import Bar
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions, fit_context
from mercer._typing import Array, Constraints, Function, PointsLike, TargetsLike
from mercer.kernels.algebra import Scaled
from mercer.kernels.base import Kernel
from mercer.kernels.named import FREE, NAMES
from mercer.machines.best_linear import BestLinear, most_likely
from mercer.machines.blocks import refuse_blocks
from mercer.machines.evaluating import expand
from mercer.machines.expansion import Expansion, store
from mercer.machines.kernel_kinds import is_function
from mercer.machines.subproblems import Rows
from mercer.machines.unpenalized import intercept_of, unpenalized_columns
from mercer.regularizers.null_space import NullSpace, Polynomial

__all__ = ["UniversalKriging"]

# Kernel parameters that choose a family rather than a scale are not estimated.
FAMILY = {"nu", "exponent", "alpha"}


@settings
class UniversalKriging(RegressorMixin, Expansion):  # type: ignore[misc]
    r"""Predict a random field with an unknown trend, and say how well.

    .. math:: z(x) = b' p(x) + u(x), \qquad \operatorname{cov}(u(x), u(x')) = k(x, x'), \qquad
              y_i = z(x_i) + e_i, \quad \operatorname{var} e_i = \nu

    The prediction :math:`\hat z(x) = \sum_i a_i k(x_i, x) + b' p(x)` has the least variance among
    all linear ones that are exact for the trend. It is the machine of the squared loss with
    :math:`C = 1/\nu`; new is its error,

    .. math:: \operatorname{var}(\hat z(x) - z(x)) = k(x, x) - \|e\|^2 + \|g\|^2, \qquad
              Le = k(x), \quad R'g = p(x) - G'e

    with :math:`K + \nu = LL'` and :math:`G = L^{-1}B = QR`; it is computed off the columns of B, so
    that kernels that are conditionally positive definite (generalized covariances, such as minus a
    variogram) do as well. With an empty trend this is the posterior of a Gaussian process.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="matern"
        The covariance k. Its scale matters for the errors: write ``2.0 * Matern(1.0)``.
    trend : NullSpace, optional
        The functions p, by default polynomials of degree one; ``Constant()`` is ordinary kriging,
        ``Empty()`` simple kriging.
    nugget : float, default=0.0
        The variance of the errors of observation.
    optimize : bool, default=False
        Choose the parameters of the kernel with a slope (scales, not families), its factor and the
        nugget, if it is positive, by restricted maximum likelihood, beginning at those given.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    kernel_, nugget_ :
        What was used.
    null_space_coef_ : ndarray of shape (q,)
        Coefficients b of the trend, named in ``null_space_names_``.
    null_space_cov_ : ndarray of shape (q, q)
        Their covariance.
    dual_coef_ : ndarray of shape (1, n)
        Coefficients a.
    log_likelihood_ : float
        Restricted, of contrasts in an orthonormal basis, at the most likely scale.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (5.19) to (5.21), with eq.
    (5.20) meant in the sense of least squares; N. Cressie, *Statistics for Spatial Data*, 1993,
    sec. 3.4.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import UniversalKriging
    >>> from mercer.kernels import Matern
    >>> X = np.random.default_rng(0).uniform(size=(30, 2))
    >>> y = X[:, 0] + np.sin(5 * X[:, 1])
    >>> machine = UniversalKriging(Matern(0.5)).fit(X, y)
    >>> mean, std = machine.predict(X[:3], return_std=True)
    >>> bool(np.allclose(mean, y[:3])), bool(np.all(std < 1e-6))
    (True, True)
    """

    kernel: Kernel | str | Function = "matern"
    _: KW_ONLY
    trend: NullSpace | None = None
    nugget: float = 0.0
    optimize: bool = False

    _parameter_constraints: ClassVar[Constraints] = {
        "kernel": [StrOptions({*FREE, *NAMES} - {"precomputed"}), callable],
        "trend": [NullSpace, None],
        "nugget": [Interval(Real, 0.0, None, closed="left")],
        "optimize": ["boolean"],
    }

    # One dense factorization: nothing to set about how it is done.
    degree, gamma, coef0, gram, cache_size, tol = 3, "scale", 0.0, "dense", 200.0, 1e-6

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike = None) -> Self:
        """Factorize the covariance of a sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Places.
        y : array-like of shape (n_samples,)
            Observations.
        """
        refuse_blocks(self, X)
        X, y = self._check_X(X, y)
        y = np.asarray(y, dtype=np.float64)
        K = self._make_gram(Rows(X)).dense().astype(np.float64)
        B = unpenalized_columns(self, X, Polynomial(1) if self.trend is None else self.trend)
        self.nugget_ = float(self.nugget)
        if B.size and len(y) <= np.linalg.matrix_rank(B):
            raise ValueError(
                f"n_samples={len(y)} observations determine no more than the trend of "
                f"{B.shape[1]} functions; take more samples or fewer functions."
            )
        if self.optimize:
            K = self._optimize(X, y, B)
        self._best = BestLinear(K + self.nugget_ * np.eye(len(y)), B)
        a, self.null_space_coef_ = self._best.coefficients(y)
        self.null_space_cov_ = self._best.coefficient_covariance()
        self.log_likelihood_ = self._best.likelihood(y)[0]
        self.intercept_ = np.atleast_1d(intercept_of(self.null_space_names_, self.null_space_coef_))
        store(self, X, np.arange(len(y)), a[:, None])
        return self

    def _ending(self) -> str:
        return (
            f"solved by one factorization: restricted log-likelihood {self.log_likelihood_:.6g}, "
            f"nugget {self.nugget_:.4g}"
        )

    def _optimize(self, X: PointsLike, y: Array, B: Array) -> Array:
        """Choose kernel and nugget, and return the new kernel matrix."""
        kernel = self.kernel_
        factor, base = (kernel.factor, kernel.kernel) if isinstance(kernel, Scaled) else (1, kernel)
        names = [
            name
            for name in base.gradient(X[:2])
            if name.rpartition("__")[2] not in FAMILY and np.all(np.asarray(_get(base, name)) > 0)
        ]
        sizes = [np.size(_get(base, name)) for name in names]
        start = np.concatenate([np.ravel(_get(base, name)) for name in names] + [np.empty(0)])
        if self.nugget_:
            start = np.append(start, self.nugget_ / factor)

        def at(x: Array) -> tuple[Kernel, float]:
            values = np.split(np.exp(x), np.cumsum(sizes))
            settings = {
                name: value if np.ndim(_get(base, name)) else float(value[0])
                for name, value in zip(names, values[:-1], strict=True)
            }
            return _with(base, settings), float(values[-1][0]) if self.nugget_ else 0.0

        def covariance(x: Array) -> Array:
            bar.update()
            k, nugget = at(x)
            return np.asarray(k(X) + nugget * np.eye(len(y)))

        title = f"{type(self).__name__}, likelihood"
        with Bar(title, show=bool(self.verbose), unit="evaluations") as bar:
            x = most_likely(covariance, B, y, np.log(start))
        scale = BestLinear(covariance(x), B).likelihood(y)[1]
        base, nugget = at(x)
        self.kernel_, self.nugget_ = scale * base, scale * nugget
        return np.asarray(self.kernel_(X), dtype=np.float64)

    @overload
    def predict(self, X: PointsLike) -> Array: ...

    @overload
    def predict(self, X: PointsLike, return_std: bool) -> tuple[Array, Array]: ...

    def predict(self, X: PointsLike, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Predict the field at new places.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New places.
        return_std : bool, default=False
            Also return the standard deviation of the error of the prediction of the field; that of
            a new observation has the variance of the nugget on top.

        Returns
        -------
        ndarray of shape (n_samples,), or a pair of them
        """
        check_is_fitted(self)
        X = self._check_new(X)
        B = self.null_space_(X)
        mean = expand(self, X, self.dual_coef_.T)[:, 0] + B @ self.null_space_coef_
        if not return_std:
            return np.asarray(mean)
        if is_function(self.kernel):
            raise ValueError("a kernel given as a function has no variances; subclass Kernel.")
        K = np.asarray(self.kernel_(X, self.support_vectors_), dtype=np.float64)
        variance = self._best.variance(K, B, self.kernel_.diag(X).astype(np.float64))
        return np.asarray(mean), np.sqrt(variance)


def _get(kernel: Kernel, name: str) -> Any:
    return kernel.get_params()[name]


def _with(kernel: Kernel, settings: dict[str, Any]) -> Kernel:
    """Return a kernel with other parameters."""
    return type(kernel)(**kernel.get_params(deep=False)).set_params(**settings)
