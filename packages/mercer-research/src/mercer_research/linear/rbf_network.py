r"""A network of radial functions whose centres and widths are learned: a baseline for machines.

.. math::

    f(x) = b + \sum_k w_k \exp\Bigl(-\frac{|x - z_k|^2}{2 \sigma_k^2}\Bigr), \qquad
    \min_{w, b, z, \sigma} \frac1n \sum_i (y_i - f(x_i))^2 + \lambda |w|^2

The problem is not convex: what is found depends on where the search begins, and there is no
certificate. It is here to be compared with.
"""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import lstsq
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._fitting import AllOrNothing
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, fit_context
from mercer._typing import Array, Constraints, PointsLike, Seed, TargetsLike

__all__ = ["RBFNetwork"]


@settings
class RBFNetwork(RegressorMixin, AllOrNothing, BaseEstimator):  # type: ignore[misc]
    """Radial functions at clustered centres, then all parameters trained together.

    Centres begin at clusters of the sample, widths at the distance of the nearest other centre,
    weights at their least-squares values; then all are moved by a quasi-Newton method, which stops
    when the error on a held-out part rises.

    Parameters
    ----------
    n_centres : int, default=20
        Number of functions.
    alpha : float, default=1e-6
        Penalty on the squared weights.
    max_iter : int, default=200
        Largest number of steps; 0 keeps centres and widths.
    validation : float, default=0.2
        Part of the sample that says when to stop; 0 for none.
    random_state : int, default=0
        Draws clusters and the held-out part.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    centres_ : ndarray of shape (n_centres, n_features)
    widths_, coef_ : ndarray of shape (n_centres,)
    intercept_ : float
    n_iter_ : int
        Steps of the search.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 6.2.1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import RBFNetwork
    >>> X = np.linspace(-3, 3, 60)[:, None]
    >>> machine = RBFNetwork(6).fit(X, np.sin(X[:, 0]))
    >>> machine.score(X, np.sin(X[:, 0])) > 0.99
    True
    """

    n_centres: int = 20
    _: KW_ONLY
    alpha: float = 1e-6
    max_iter: int = 200
    validation: float = 0.2
    random_state: Seed = 0

    _parameter_constraints: ClassVar[Constraints] = {
        "n_centres": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0.0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "validation": [Interval(Real, 0.0, 1.0, closed="left")],
        "random_state": ["random_state"],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike) -> Self:
        """Fit the network to a sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        """
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        rng = check_random_state(self.random_state)
        n, p = X.shape
        k = min(self.n_centres, len(np.unique(X, axis=0)))
        held = rng.permutation(n)[: int(self.validation * n)]
        train = np.setdiff1d(np.arange(n), held)
        k = min(k, len(train))
        Z = KMeans(k, n_init=3, random_state=rng.randint(2**31 - 1)).fit(X[train]).cluster_centers_
        s = _spacing(Z, X)
        # Scaled by the spread of the targets, so that alpha means the same for all of them.
        shift, scale = float(np.mean(y[train])), float(np.std(y[train])) or 1.0
        t = (y - shift) / scale
        w, b = _least_squares(_radial(X[train], Z, s), t[train], self.alpha)
        start = np.concatenate([w, [b], Z.ravel(), np.log(s)])
        best: list[Any] = [np.inf, start]
        if len(held):
            best[0] = _error(start, X[held], t[held], k)

        def watch(theta: Any) -> None:
            if len(held) and (now := _error(theta, X[held], t[held], k)) < best[0]:
                best[:] = [now, theta.copy()]

        steps = 0
        if self.max_iter:
            error = partial(_objective, X=X[train], t=t[train], k=k, alpha=self.alpha)
            search: Any = minimize
            found = search(
                error,
                start,
                jac=True,
                method="L-BFGS-B",
                callback=watch,
                options={"maxiter": self.max_iter},
            )
            steps = int(found.nit)
            if not len(held):
                best[1] = found.x
        w, b, Z, s = _unpack(best[1], k, p)
        self.centres_, self.widths_ = Z, s
        self.coef_, self.intercept_ = scale * w, scale * b + shift
        self.n_iter_ = steps
        return self

    def predict(self, X: PointsLike) -> Array:
        """Predict targets."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        values: Array = _radial(X, self.centres_, self.widths_) @ self.coef_ + self.intercept_
        return values


def _spacing(Z: Array, X: Array) -> Array:
    """Return the distance of every centre from its nearest neighbour."""
    D = np.sqrt(_squared(Z, Z))
    np.fill_diagonal(D, np.inf)
    nearest = np.min(D, axis=1)
    spread = float(np.sqrt(np.mean(np.var(X, axis=0)))) or 1.0
    return np.asarray(np.where(np.isfinite(nearest) & (nearest > 0), nearest, spread))


def _squared(X: Array, Z: Array) -> Array:
    # Far from the origin squares would cancel.
    middle = Z.mean(axis=0)
    X, Z = X - middle, Z - middle
    D: Array = np.sum(X**2, axis=1)[:, None] - 2.0 * X @ Z.T + np.sum(Z**2, axis=1)
    return np.maximum(D, 0.0)


def _radial(X: Array, Z: Array, s: Array) -> Array:
    return np.asarray(np.exp(-0.5 * _squared(X, Z) / s**2))


def _least_squares(H: Array, t: Array, alpha: float) -> tuple[Array, float]:
    n, k = H.shape
    A = np.block([[H, np.ones((n, 1))], [np.sqrt(n * alpha) * np.eye(k), np.zeros((k, 1))]])
    theta = lstsq(A, np.append(t, np.zeros(k)))[0]
    return theta[:k], float(theta[k])


def _unpack(theta: Array, k: int, p: int) -> tuple[Array, float, Array, Array]:
    w, b, rest = theta[:k], float(theta[k]), theta[k + 1 :]
    return w, b, rest[: k * p].reshape(k, p), np.exp(rest[k * p :])


def _error(theta: Array, X: Array, t: Array, k: int) -> float:
    w, b, Z, s = _unpack(theta, k, X.shape[1])
    return float(np.mean((_radial(X, Z, s) @ w + b - t) ** 2))


def _objective(theta: Array, X: Array, t: Array, k: int, alpha: float) -> tuple[float, Array]:
    """Return the penalized error and its gradient."""
    n, p = X.shape
    w, b, Z, s = _unpack(theta, k, p)
    D = _squared(X, Z)
    H = np.exp(-0.5 * D / s**2)
    r = (H @ w + b - t) * (2.0 / n)
    value = float(np.mean((H @ w + b - t) ** 2) + alpha * w @ w)
    G = r[:, None] * H * w  # slope of the error by the exponent of each function
    dZ = (G.T @ X - np.sum(G, axis=0)[:, None] * Z) / (s**2)[:, None]
    ds = np.sum(G * D, axis=0) / s**2  # by the logarithm of the width
    gradient = np.concatenate([H.T @ r + 2.0 * alpha * w, [np.sum(r)], dZ.ravel(), ds])
    return value, gradient
