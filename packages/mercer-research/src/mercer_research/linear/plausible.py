"""Plausible models: the law of a sample's covariances, and the models that it allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from scipy.optimize import brentq
from sklearn.utils import check_random_state

from mercer._linear_program import NoOptimumError, linear_program
from mercer._typing import Array, Seed
from mercer_research.linear.least_squares import least_squares

__all__ = [
    "METHODS",
    "PlausibleSet",
    "covariance_draws",
    "covariance_quantiles",
    "plausible_set",
    "plausible_sets",
]

METHODS = ("t", "normal", "wishart", "bootstrap-pairs", "bootstrap-residual")


def covariance_quantiles(
    X: Array,
    y: Array,
    levels: ArrayLike,
    *,
    method: str = "t",
    noise_variance: float | None = None,
    n_draws: int = 10_000,
    n_constants: int = 0,
    random_state: Seed = None,
) -> Array:
    r"""Return quantiles of each covariance :math:`c_d = \sum_i x_{id} y_i` of inputs and output.

    With fixed inputs :math:`\operatorname{cov}(X'y) = \sigma^2 X'X`; with random ones, jointly
    Gaussian with the output, :math:`c_d` is an entry of a Wishart matrix,

    .. math:: c_d \sim \tfrac12 \sigma_x \sigma_y
              \bigl((1 + \rho) \chi^2_n - (1 - \rho) \chi'^2_n\bigr)

    with independent :math:`\chi^2`, whose quantiles are computed by quadrature.

    Parameters
    ----------
    X, y : ndarray of shape (n, p) and (n,)
        The sample; subtract means first if a constant is free, and say so by ``n_constants=1``.
    levels : float or array-like
        Probabilities.
    method : str, default="t"
        "normal" for errors of known variance; "t" if it is estimated; "wishart" for random inputs;
        "bootstrap-pairs" draws samples with replacement, which includes the variation of the
        inputs; "bootstrap-residual" draws residuals, with fixed inputs. Draws are moved so that
        their median is :math:`X'y`.
    noise_variance : float, optional
        Variance of the errors, for "normal".
    n_draws : int, default=10000
        How many samples a bootstrap draws.
    n_constants : int, default=0
        How many free constants were subtracted.
    random_state : int, RandomState instance or None
        For the bootstrap.

    Returns
    -------
    ndarray of shape (n_levels, p)
        On the scale of :math:`X'y`, to be compared with :math:`X'Xw`.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, example 7.1, eq. (7.16), where the
    variance is misprinted; it is :math:`\sigma^2 \sum x_i^2 / n^2` for :math:`c/n`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import covariance_quantiles
    >>> X, y = np.ones((4, 1)), np.array([1.0, 2.0, 3.0, 4.0])
    >>> covariance_quantiles(X, y, [0.025, 0.5], method="normal", noise_variance=1.0).round(2)
    array([[ 6.08],
           [10.  ]])
    """
    X, y, q = _checked(X, y, method), np.asarray(y, dtype=np.float64), np.atleast_1d(levels)
    q = np.asarray(q, dtype=np.float64)
    if not np.all((q > 0) & (q < 1)):
        raise ValueError(f"levels must lie between 0 and 1, got {levels!r}.")
    c = X.T @ y
    if method in ("normal", "t"):
        sd, dof = _spread(X, y, method, noise_variance, n_constants)
        z = stats.norm.ppf(q) if method == "normal" else stats.t.ppf(q, dof)
        return np.asarray(c + np.outer(z, sd))
    if method == "wishart":
        n = len(y) - n_constants
        sizes = np.sqrt(np.sum(X**2, axis=0) / n), float(np.sqrt(y @ y / n))
        scale = sizes[0] * sizes[1]
        rho = np.clip(c / np.where(scale > 0, n * scale, 1.0), -1.0, 1.0)
        return np.stack([s * _product(q, n, r) for s, r in zip(scale, rho, strict=True)], axis=1)
    draws = covariance_draws(
        X, y, method=method, n_draws=n_draws, n_constants=n_constants, random_state=random_state
    )
    return np.asarray(np.quantile(draws, q, axis=0) + (c - np.median(draws, axis=0)))


def covariance_draws(
    X: Array,
    y: Array,
    *,
    method: str = "t",
    noise_variance: float | None = None,
    n_draws: int = 10_000,
    n_constants: int = 0,
    random_state: Seed = None,
) -> Array:
    """Draw covariances of inputs and output, all of them together.

    Parameters
    ----------
    X, y, method, noise_variance, n_draws, n_constants, random_state :
        As in :func:`covariance_quantiles`.

    Returns
    -------
    ndarray of shape (n_draws, p)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import covariance_draws
    >>> X, y = np.eye(3), np.ones(3)
    >>> covariance_draws(X, y, method="bootstrap-pairs", n_draws=5, random_state=0).sum(axis=1)
    array([3., 3., 3., 3., 3.])
    """
    X, y = _checked(X, y, method), np.asarray(y, dtype=np.float64)
    rng = check_random_state(random_state)
    n = len(y)
    if method == "bootstrap-pairs":
        counts = rng.multinomial(n, np.full(n, 1.0 / n), size=n_draws)
        return np.asarray(counts @ (X * y[:, None]))
    if method == "wishart":
        Z = np.column_stack([X, y])
        dof = n - n_constants
        _, s, Vt = np.linalg.svd(Z / np.sqrt(dof), full_matrices=False)
        A = s[:, None] * Vt
        noise = (rng.standard_normal((dof, len(s))) for _ in range(n_draws))
        products = (A.T @ (g.T @ (g @ A[:, -1])) for g in noise)
        return np.array([column[:-1] for column in products])
    fit = least_squares(X, y)
    spare = n - fit.rank - n_constants
    if method == "bootstrap-residual":
        e = fit.residuals - fit.residuals.mean()
        e = e * np.sqrt(n / max(spare, 1))
        chosen = rng.randint(n, size=(n_draws, n))
        return np.asarray(X.T @ (X @ fit.coef) + e[chosen] @ X)
    sigma = np.sqrt(_variance(X, y, method, noise_variance, n_constants))
    draws: Array = sigma * rng.standard_normal((n_draws, n)) @ X
    if method == "t":
        draws = draws / np.sqrt(rng.chisquare(spare, size=n_draws) / spare)[:, None]
    return np.asarray(X.T @ y + draws)


def _checked(X: Array, y: Array, method: str) -> Array:
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}.")
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or len(X) != len(y):
        raise ValueError(f"X must have one row for each of the {len(y)} targets, got {X.shape}.")
    return X


def _variance(
    X: Array, y: Array, method: str, noise_variance: float | None, n_constants: int
) -> float:
    if method == "normal":
        if noise_variance is None:
            raise ValueError("method='normal' needs the noise_variance; use 't' to estimate it.")
        return noise_variance
    fit = least_squares(X, y)
    spare = len(y) - fit.rank - n_constants
    if spare < 1:
        raise ValueError(
            f"{len(y)} samples leave nothing to estimate the noise of {fit.rank} coefficients "
            "from; use method='normal' with a noise_variance, or 'bootstrap-pairs'."
        )
    return float(fit.residuals @ fit.residuals) / spare


def _spread(
    X: Array, y: Array, method: str, noise_variance: float | None, n_constants: int
) -> tuple[Array, float]:
    variance = _variance(X, y, method, noise_variance, n_constants)
    dof = len(y) - np.linalg.matrix_rank(X) - n_constants
    return np.sqrt(variance * np.sum(X**2, axis=0)), float(dof)


def _product(q: Array, n: int, rho: float) -> Array:
    """Return quantiles of a sum of n products of standard normals with a correlation."""
    a, b = 0.5 * (1.0 + rho), 0.5 * (1.0 - rho)
    if b < 1e-12:
        return np.asarray(stats.chi2.ppf(q, n))
    if a < 1e-12:
        return np.asarray(-stats.chi2.ppf(1.0 - q, n))
    # P(a U - b V <= c) = E F((c + b V) / a): a trapezoid over V is accurate to rounding, for its
    # density falls off at both ends. For n = 1, 2 it does not at zero: V = W^2 makes it do so.
    top = float(stats.chi2.isf(1e-17, n))
    w = np.linspace(0.0, np.sqrt(top), 4001)[1:]
    mass = stats.chi2.pdf(w**2, n) * 2.0 * w
    mass /= mass.sum()

    def cdf(c: float) -> float:
        return float(mass @ stats.chi2.cdf((c + b * w**2) / a, n))

    low, high = -b * top, a * top
    return np.array([brentq(lambda c, p=p: cdf(c) - p, low, high, xtol=1e-10 * n) for p in q])


@dataclass(frozen=True)
class PlausibleSet:
    r"""The coefficients that a sample does not contradict, a polytope.

    .. math:: S = \{w : l \le X'Xw \le u\}

    Parameters
    ----------
    G : ndarray of shape (p, p)
        :math:`X'X`.
    lower, upper : ndarray of shape (p,)
        Quantiles of :math:`X'y`.
    radius : float, default=inf
        Bound on :math:`\|w\|_1`, which a singular G needs for the set to be bounded.
    """

    G: Array
    lower: Array
    upper: Array
    radius: float = np.inf

    def contains(self, coef: Array, tol: float = 1e-9) -> bool:
        """Whether coefficients belong to the set, up to rounding.

        Parameters
        ----------
        coef : ndarray of shape (p,)
        tol : float, default=1e-9
            Relative to the sizes of the bounds.
        """
        z = self.G @ coef
        slack = tol * np.maximum(np.abs(self.lower), np.abs(self.upper))
        inside = np.all((z >= self.lower - slack) & (z <= self.upper + slack))
        return bool(inside and np.abs(coef).sum() <= self.radius * (1 + tol))

    def support_function(self, v: Array) -> float:
        r"""Return :math:`\max_{w \in S} v'w`, infinite where the set is not bounded.

        Parameters
        ----------
        v : ndarray of shape (p,)
            The contrast.
        """
        v = np.asarray(v, dtype=np.float64)
        try:
            answer = linear_program(
                np.concatenate([-v, v]), **self._constraints(), bounds=(0, None)
            )
        except NoOptimumError as failure:
            if failure.infeasible:
                raise ArithmeticError(f"The set is empty: {failure.answer.message}") from None
            return np.inf
        return -float(answer.fun)

    def interval(self, v: Array) -> tuple[float, float]:
        """Return the plausible range of a linear combination of the coefficients."""
        v = np.asarray(v, dtype=np.float64)
        return -self.support_function(-v), self.support_function(v)

    def sparsest(self, weights: Array | None = None) -> Array:
        r"""Return :math:`\arg\min_{w \in S} \sum_d h_d |w_d|`: few coefficients, as a rule.

        With bounds symmetric around :math:`X'y` this is the Dantzig selector.

        Parameters
        ----------
        weights : ndarray of shape (p,), optional
            The prices h, one by default.
        """
        p = len(self.lower)
        h = np.ones(p) if weights is None else np.asarray(weights, dtype=np.float64)
        # Coefficients in units of their price, rows of size one: HiGHS has absolute tolerances.
        size = np.max(np.abs(self.G / h), axis=1)
        size[size == 0] = 1.0
        A = self.G / h / size[:, None]
        lower, upper = self.lower / size, self.upper / size
        unit = max(float(np.max(np.abs(lower))), float(np.max(np.abs(upper)))) or 1.0
        answer = linear_program(
            np.ones(2 * p),
            A_ub=np.block([[A, -A], [-A, A]]),
            b_ub=np.concatenate([upper, -lower]) / unit,
            bounds=(0, None),
        )
        return np.asarray((answer.x[:p] - answer.x[p:]) * unit / h)

    def _constraints(self) -> dict[str, Any]:
        A = np.block([[self.G, -self.G], [-self.G, self.G]])
        b = np.concatenate([self.upper, -self.lower])
        if np.isfinite(self.radius):
            A, b = np.vstack([A, np.ones(A.shape[1])]), np.append(b, self.radius)
        return {"A_ub": A, "b_ub": b}


def plausible_set(
    X: Array,
    y: Array,
    alpha_s: float = 0.05,
    *,
    method: str = "t",
    simultaneous: str | None = None,
    radius: float = np.inf,
    noise_variance: float | None = None,
    n_draws: int = 10_000,
    n_constants: int = 0,
    random_state: Seed = None,
) -> PlausibleSet:
    r"""Collect the coefficients that a test on the covariances does not reject.

    .. math:: S_\alpha = \{w : c(\alpha_s/2) \le X'Xw \le c(1 - \alpha_s/2)\}

    Every least-squares solution belongs to it. A larger level makes it smaller.

    Parameters
    ----------
    X, y : ndarray of shape (n, p) and (n,)
        The sample, without a free constant.
    alpha_s : float, default=0.05
        Level of the test of each covariance.
    method, noise_variance, n_draws, n_constants, random_state :
        As in :func:`covariance_quantiles`.
    simultaneous : {"bonferroni", "max"}, optional
        Make the level that of all covariances together: by dividing it by p, or by the law of the
        largest standardized deviation, from draws.
    radius : float, default=inf
        Bound on the 1-norm of the coefficients.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, section 7.1.4, eq. (7.15) and
    (7.17), with bounds on :math:`X'y` and quantiles instead of :math:`\pm \alpha \sigma^2`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import plausible_set
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 2))
    >>> y = X @ [1.0, 0.0] + rng.standard_normal(100)
    >>> S = plausible_set(X, y)
    >>> S.contains(np.array([1.0, 0.0])), S.contains(np.zeros(2))
    (True, False)
    >>> S.sparsest().round(2) + 0.0
    array([0.7, 0. ])
    """
    (found,) = plausible_sets(
        X,
        y,
        [alpha_s],
        simultaneous=simultaneous,
        radius=radius,
        method=method,
        noise_variance=noise_variance,
        n_draws=n_draws,
        n_constants=n_constants,
        random_state=random_state,
    )
    return found


def plausible_sets(
    X: Array,
    y: Array,
    levels: ArrayLike,
    *,
    simultaneous: str | None = None,
    radius: float = np.inf,
    **settings: Any,
) -> list[PlausibleSet]:
    """Return the sets of several levels for the price of one law.

    Parameters
    ----------
    X, y, simultaneous, radius, **settings
        As in :func:`plausible_set`.
    levels : array-like of shape (k,)
        The levels.
    """
    alphas = np.asarray(levels, dtype=np.float64)
    if not np.all((alphas > 0) & (alphas < 1)):
        raise ValueError(f"alpha_s must lie between 0 and 1, got {levels!r}.")
    if simultaneous not in (None, "bonferroni", "max"):
        raise ValueError(f"simultaneous must be 'bonferroni' or 'max', got {simultaneous!r}.")
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if simultaneous == "max":
        draws = covariance_draws(X, y, **settings)
        far = draws - np.median(draws, axis=0)
        sd = draws.std(axis=0)
        sd[sd == 0] = 1.0
        reach = np.quantile(np.max(np.abs(far) / sd, axis=1), 1.0 - alphas)
        c = X.T @ y
        lower, upper = c - np.outer(reach, sd), c + np.outer(reach, sd)
    else:
        half = 0.5 * alphas / (X.shape[1] if simultaneous else 1)
        bounds = covariance_quantiles(X, y, np.concatenate([half, 1.0 - half]), **settings)
        lower, upper = bounds[: len(half)], bounds[len(half) :]
    G = X.T @ X
    return [PlausibleSet(G, low, high, radius) for low, high in zip(lower, upper, strict=True)]
