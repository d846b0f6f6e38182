"""Linear regression under the norm that suits the noise."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar, Self

import numpy as np

from mercer._linear_program import linear_program
from mercer._params import check_sample_weight
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions, fit_context
from mercer._typing import Array, Constraints, PointsLike, TargetsLike, WeightsLike
from mercer_research.linear._model import LinearModel, Optimum
from mercer_research.linear.least_squares import LeastSquaresFit, least_squares

__all__ = ["NormRegression", "residual_scale", "solve_norm"]

# The median of |e| for e ~ N(0, 1), and the threshold that keeps 95 % efficiency there.
NORMAL_MEDIAN, THRESHOLD = 0.6744897501960817, 1.345


@settings
class NormRegression(LinearModel):
    r"""Fit a hyperplane under the :math:`L_1`, Huber, :math:`L_2` or :math:`L_\infty` norm.

    .. math:: \min_{w, b} \sum_i s_i\, \rho(y_i - w'x_i - b), \qquad
              \rho(r) \in \{|r|,\; h_c(r),\; \tfrac12 r^2\}
              \qquad\text{or}\qquad \min_{w, b} \max_i |y_i - w'x_i - b|

    each the maximum likelihood for its own noise: Laplace, Gaussian with outliers, Gaussian,
    uniform. Nothing is penalized. The first and the last are linear programs, solved in their dual
    form, :math:`\max y'u` subject to :math:`X'u = 0` and :math:`|u_i| \le s_i` or
    :math:`\|u\|_1 \le 1`, which has one row for each coefficient; Huber's
    :math:`h_c(r) = \tfrac12 r^2` for :math:`|r| \le c`, else :math:`c|r| - \tfrac12 c^2`, by
    re-weighted least squares that end in Newton's step.

    Parameters
    ----------
    loss : {"absolute", "huber", "squared", "maximum"}, default="absolute"
        The norm.
    scale : float or "auto", default="auto"
        Standard deviation :math:`\sigma` of the bulk of the errors, for Huber's threshold
        :math:`c = \text{threshold} \cdot \sigma`; "auto" reads it off the residuals of the
        :math:`L_1` fit, see :func:`residual_scale`.
    threshold : float, default=1.345
        Threshold in units of the scale; 1.345 has efficiency 95 % under Gaussian noise.
    fit_intercept : bool, default=True
        Fit the constant b.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The coefficients w.
    intercept_ : float
        The constant b.
    solution_ : Optimum
        The value reached, the bound by duality, and the multipliers :math:`u`: the slopes
        :math:`s_i \rho'(r_i)`, which show the influence of each sample.
    scale_ : float
        The scale that was used; only for Huber's loss.
    rank_ : int
        Rank of the design, with the constant.
    covariance_ : ndarray of shape (n_features + 1, n_features + 1)
        Only for the squared loss: covariance of (b, w) with the noise variance estimated; without
        an intercept its row and column are missing.
    noise_variance_, leverages_ :
        Only for the squared loss, see :func:`least_squares`.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, lemmas 3.1 and 3.2 and example 3.1,
    eq. (3.6); its threshold :math:`1.345 \sigma^2` is meant as :math:`1.345 \sigma`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import NormRegression
    >>> X, y = np.arange(5.0)[:, None], np.array([0.0, 1.0, 2.0, 3.0, 40.0])
    >>> model = NormRegression("absolute").fit(X, y)
    >>> model.coef_.round(9), round(model.solution_.gap, 9)
    (array([1.]), 0.0)
    >>> NormRegression("maximum").fit(X, y).coef_
    array([10.])
    """

    loss: str = "absolute"
    _: KW_ONLY
    scale: float | str = "auto"
    threshold: float = THRESHOLD

    _parameter_constraints: ClassVar[Constraints] = {
        "loss": [StrOptions({"absolute", "huber", "squared", "maximum"})],
        "scale": [StrOptions({"auto"}), Interval(Real, 0.0, None, closed="neither")],
        "threshold": [Interval(Real, 0.0, None, closed="neither")],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike = None) -> Self:
        """Fit the hyperplane.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            How often each sample counts. The largest error is the same however often it occurs, so
            for ``loss="maximum"`` it matters only whether a weight is positive.
        """
        X, y, s = self._data(X, y, sample_weight)
        A = np.column_stack([np.ones(len(X)), X]) if self.fit_intercept else X
        c = start = None
        if self.loss == "huber":
            if self.scale == "auto":
                start = _absolute(A, y, s)
                self.scale_ = _middle(y - A @ start[0], s, A.shape[1])
            else:
                self.scale_ = float(self.scale)
            c = self.threshold * self.scale_
        w, self.solution_, fit = solve_norm(A, y, self.loss, s, c, start)
        self.rank_ = fit.rank
        if self.loss == "squared":
            self.covariance_, self.noise_variance_ = fit.covariance(), fit.noise_variance
            self.leverages_ = fit.leverages
        self.intercept_ = float(w[0]) if self.fit_intercept else 0.0
        self.coef_ = w[1:] if self.fit_intercept else w
        return self


def solve_norm(
    A: Array,
    y: Array,
    loss: str,
    s: Array,
    c: float | None = None,
    start: tuple[Array, Optimum] | None = None,
) -> tuple[Array, Optimum, LeastSquaresFit]:
    """Return the coefficients of a design under a norm, their certificate and the design's fit.

    Parameters
    ----------
    A, y, s : ndarray of shape (n, p), (n,) and (n,)
        Design, targets and weights.
    loss : {"absolute", "huber", "squared", "maximum"}
    c : float, optional
        Threshold of Huber's loss; with zero it is the absolute loss, to which it tends.
    start : tuple, optional
        The answer of the absolute loss, if it is known already.
    """
    fit = least_squares(A, y, s)
    if loss == "squared":
        r = fit.residuals
        u = s * r
        value = 0.5 * float(u @ r)
        bound = float(y @ u) - 0.5 * float(u @ r)
        return fit.coef, Optimum(value, bound, u, _off(A, u, s * np.abs(y))), fit
    if loss == "maximum":
        return *_maximum(A, y), fit
    w, optimum = _absolute(A, y, s) if start is None else start
    if loss == "absolute" or not c:
        return w, optimum, fit
    return *_huber(A, y, s, c, w), fit


def _off(A: Array, u: Array, size: Array) -> float:
    """Return by how much multipliers miss ``A'u = 0``, relative to the terms of the sums."""
    terms = np.abs(A).T @ size
    return float(np.max(np.abs(A.T @ u) / np.where(terms > 0, terms, 1.0), initial=0.0))


def _scaled(A: Array, y: Array) -> tuple[Array, Array, Array, float]:
    """Bring columns and targets to size one, where the tolerances of a linear program belong."""
    columns = np.max(np.abs(A), axis=0)
    columns[columns == 0] = 1.0
    size = float(np.max(np.abs(y), initial=0.0)) or 1.0
    return A / columns, y / size, size / columns, size


def _absolute(A: Array, y: Array, s: Array) -> tuple[Array, Optimum]:
    A1, y1, back, _ = _scaled(A, y)
    s1 = s / s.max()
    answer = linear_program(
        -y1, A_eq=A1.T, b_eq=np.zeros(A.shape[1]), bounds=np.column_stack([-s1, s1])
    )
    w = -answer.eqlin.marginals * back
    u = answer.x * s.max()
    value = float(s @ np.abs(y - A @ w))
    return w, Optimum(value, float(y @ u), u, _off(A, u, s))


def _maximum(A: Array, y: Array) -> tuple[Array, Optimum]:
    A1, y1, back, _ = _scaled(A, y)
    n, p = A.shape
    answer = linear_program(
        np.concatenate([-y1, y1]),
        A_eq=np.hstack([A1.T, -A1.T]),
        b_eq=np.zeros(p),
        A_ub=np.ones((1, 2 * n)),
        b_ub=np.ones(1),
        bounds=(0, None),
    )
    w = -answer.eqlin.marginals * back
    u = answer.x[:n] - answer.x[n:]
    value = float(np.max(np.abs(y - A @ w)))
    return w, Optimum(value, float(y @ u), u, _off(A, u, np.full(n, 1.0 / n)))


def _huber(A: Array, y: Array, s: Array, c: float, w: Array) -> tuple[Array, Optimum]:
    def cost(w: Array) -> float:
        r = np.abs(y - A @ w)
        return float(s @ np.where(r <= c, 0.5 * r**2, c * r - 0.5 * c**2))

    value = cost(w)
    for _ in range(500):
        r = y - A @ w
        inside = np.abs(r) <= c
        # Newton: exact as soon as it is known which errors are large. Re-weighting: never upwards.
        pull = A.T @ (s * np.where(inside, y, c * np.sign(r)))
        H = (A * (s * inside)[:, None]).T @ A
        newton: Array = np.asarray(np.linalg.lstsq(H, pull, rcond=None)[0])
        weights = s * np.minimum(1.0, c / np.maximum(np.abs(r), 1e-300))
        steps = [newton, least_squares(A, y, weights).coef]
        costs = [cost(step) for step in steps]
        best = int(np.argmin(costs))
        if not costs[best] < value:
            break
        w, value = steps[best], costs[best]
    r = y - A @ w
    u = s * np.clip(r, -c, c)
    return w, Optimum(value, float(y @ u) - 0.5 * float(u @ (u / s)), u, _off(A, u, s * c))


def residual_scale(A: Array, y: Array, sample_weight: Array | None = None) -> float:
    r"""Estimate the standard deviation of most of the errors.

    The median of the absolute residuals of the :math:`L_1` fit over :math:`\Phi^{-1}(3/4)`. That
    fit passes through as many samples as it has coefficients, so as many of the smallest residuals
    are left out.

    Parameters
    ----------
    A : ndarray of shape (n, p)
        The design, with a column of ones if a constant is wanted.
    y : ndarray of shape (n,)
        Targets.
    sample_weight : ndarray of shape (n,), optional
        How often each sample counts.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import residual_scale
    >>> y = np.random.default_rng(0).standard_normal(4000)
    >>> bool(abs(residual_scale(np.ones((4000, 1)), y) - 1.0) < 0.05)
    True
    """
    s = check_sample_weight(sample_weight, len(y))
    return _middle(y - A @ _absolute(A, y, s)[0], s, A.shape[1])


def _middle(r: Array, s: Array, p: int) -> float:
    """Return the robust scale of residuals of which p vanish by construction."""
    r = np.abs(r)
    order = np.argsort(r)
    mass = np.cumsum(s[order])
    spent = min(float(p), mass[-1])
    half = spent + 0.5 * (mass[-1] - spent)
    return float(r[order][min(int(np.searchsorted(mass, half)), len(r) - 1)]) / NORMAL_MEDIAN
