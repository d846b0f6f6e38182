"""Ridge regression whose penalty minimizes an error of validation: all of it, not on a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.optimize import brentq

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import fit_context
from mercer._typing import Array, Constraints, PointsLike, SplitterLike, TargetsLike
from mercer_research.linear._model import Centred
from mercer_research.linear._validation import Split, Validated

__all__ = ["FusedRidge", "FusionCertificate", "RidgeFusion", "ValidationCurve"]

# Singular values below this part of the largest are zero.
RANK = 1e-12
# Points of the grid whose sign changes are refined, and how far it reaches beyond the spectrum.
POINTS, REACH = 200, 1e8
# Relative gap at which a proof ends, the reach of its intervals, and how many it may look at.
GAP, FAR, MAX_BOXES = 1e-8, 1e14, 200_000


@dataclass(frozen=True)
class ValidationCurve:
    """Validation cost along a path.

    Parameters
    ----------
    parameters : ndarray of shape (k,)
        Weights of the penalty, in ascending order.
    costs : ndarray of shape (k,)
        Half of the squared errors of validation.
    coefs : ndarray of shape (k, p) or (k, p, n_outputs)
        Coefficients of the final data there.
    """

    parameters: Array
    costs: Array
    coefs: Array


@dataclass(frozen=True)
class FusionCertificate:
    """A proof that no other parameter is better.

    Parameters
    ----------
    cost : float
        The cost that was reached.
    bound : float
        No parameter costs less than this.
    n_boxes : int
        How many intervals were looked at.
    """

    cost: float
    bound: float
    n_boxes: int

    @property
    def gap(self) -> float:
        """How much better another parameter could be."""
        return self.cost - self.bound


class RidgeFusion:
    r"""The cost of validation as a function of the penalty, in the coordinates of the spectrum.

    .. math:: J(\alpha) = \tfrac12 \|A \mu(\alpha) - y^v\|^2, \qquad
              A = X^v U \operatorname{diag}(V'y / s), \qquad
              \mu_d = \frac{s_d^2}{s_d^2 + \alpha}, \qquad X = V \operatorname{diag}(s) U'

    summed over splits and outputs. In :math:`\theta = \log \alpha` the shrinkage has the derivative
    :math:`-\mu(1 - \mu)`, so that all derivatives of J are polynomials in :math:`\mu`.

    Parameters
    ----------
    splits : sequence of Split
        Data to fit and to judge by.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import RidgeFusion, Split
    >>> split = Split.of(np.eye(2), np.array([2.0, 2.0]), np.eye(2), np.ones(2), False)
    >>> fusion = RidgeFusion([split])
    >>> alpha = fusion.minimize()
    >>> round(alpha, 9), round(float(fusion.value(alpha)), 9)
    (1.0, 0.0)
    """

    def __init__(self, splits: Sequence[Split]) -> None:
        self._parts = [_Part.of(split) for split in splits]
        spectra = np.concatenate([part.s2 for part in self._parts])
        self.low, self.high = (
            (float(spectra.min()), float(spectra.max())) if len(spectra) else (1.0, 1.0)
        )
        self.null = sum(part.size for part in self._parts)
        """Cost of the null model, which an infinite penalty gives."""

    def value(self, alpha: Any) -> Array:
        """Return the cost at one or several penalties, zero and infinity included."""
        return np.asarray(sum(part.value(part.mu(alpha)) for part in self._parts))

    def derivative(self, alpha: Any) -> Array:
        """Return the derivative of the cost with respect to the logarithm of the penalty."""
        return np.asarray(sum(part.derivatives(part.mu(alpha))[0] for part in self._parts))

    def minima(self) -> Array:
        """Return zero, all local minima that a fine grid can tell apart, and infinity."""
        theta = np.linspace(np.log(self.low / REACH), np.log(self.high * REACH), POINTS)
        slope = self.derivative(np.exp(theta))
        turns = np.flatnonzero((slope[:-1] < 0) & (slope[1:] >= 0))
        inner = [
            np.exp(brentq(self._slope, theta[k], theta[k + 1], xtol=1e-14, rtol=1e-14))
            for k in turns
        ]
        return np.array([0.0, *inner, np.inf])

    def _slope(self, theta: float) -> float:
        return float(self.derivative(np.exp(theta)))

    def minimize(self) -> float:
        """Return the best penalty, of several that are as good the largest."""
        candidates = self.minima()
        costs = self.value(candidates)
        return float(candidates[costs <= costs.min() + 1e-13 * self.null].max())

    def certify(self, alpha: float, gap: float = GAP) -> FusionCertificate:
        r"""Prove how good a penalty is, by branch and bound over all of them.

        On an interval of :math:`\theta` of width h around :math:`\theta_0`

        .. math:: J \ge J(\theta_0) - \tfrac{h}{2} |J'(\theta_0)| - \tfrac{h^2}{8} \max |J''|

        with a bound on the second derivative from the range of each :math:`\mu_d`. Intervals that
        could be better are halved. Before the first and behind the last, where the shrinkage is one
        or zero up to rounding, the bound is the tangent in :math:`\mu`, in which J is convex.

        Parameters
        ----------
        alpha : float
            The penalty to judge.
        gap : float, default=1e-8
            How close the bound is to come, relative to the cost of the null model.
        """
        cost, slack = float(self.value(alpha)), gap * self.null
        best = cost
        ends = np.linspace(np.log(self.low / FAR), np.log(self.high * FAR), POINTS + 1)
        low, high = ends[:-1], ends[1:]
        outer = [(0.0, np.exp(ends[0])), (np.inf, np.exp(ends[-1]))]
        bound = min(best, *(sum(part.beyond(*pair) for part in self._parts) for pair in outer))
        seen = len(low) + 2
        while len(low):
            floor = np.sum([part.floor(low, high) for part in self._parts], axis=0)
            best = min(best, float(self.value(np.exp(0.5 * (low + high))).min()))
            done = floor >= best - slack
            if seen > MAX_BOXES:
                done[:] = True
            bound = min(bound, float(np.min(floor[done], initial=np.inf)))
            low, high = low[~done], high[~done]
            middle = 0.5 * (low + high)
            low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
            seen += len(low)
        return FusionCertificate(cost, bound, seen)


@dataclass(frozen=True)
class _Part:
    """One split: the quadratic form of its cost in the shrinkages."""

    s2: Array
    M: Array
    r: Array
    size: float

    @classmethod
    def of(cls, split: Split) -> _Part:
        U, s2, q = spectrum(split.train)
        # Outputs share the shrinkages: their rows are stacked.
        Y = split.y_val.reshape(len(split.y_val), -1)
        P = split.X_val @ U
        A = np.concatenate([P * column for column in q.T]) if q.size else np.zeros((Y.size, 0))
        y = Y.T.ravel()
        return cls(s2, A.T @ A, A.T @ y, 0.5 * float(y @ y))

    def mu(self, alpha: Any) -> Array:
        alpha = np.asarray(alpha, dtype=np.float64)[..., None]
        return np.asarray(self.s2 / (self.s2 + alpha))

    def value(self, mu: Array) -> Array:
        return np.asarray(self.size - mu @ self.r + 0.5 * np.sum((mu @ self.M) * mu, axis=-1))

    def derivatives(self, mu: Array) -> tuple[Array, Array]:
        """Return the first derivative, and the gradient with respect to the shrinkages."""
        g = mu @ self.M - self.r
        return -np.sum(g * mu * (1.0 - mu), axis=-1), g

    def floor(self, low: Array, high: Array) -> Array:
        """Return lower bounds of the cost on intervals of the logarithm of the penalty."""
        h = high - low
        mu = self.mu(np.exp(0.5 * (low + high)))
        top, bottom = self.mu(np.exp(low)), self.mu(np.exp(high))
        slope, g = self.derivatives(mu)
        # mu(1 - mu) is largest at one half, or at the end of the range that is next to it.
        near = np.clip(0.5, bottom, top)
        v = near * (1.0 - near)
        g_max = np.abs(g) + np.maximum(top - mu, mu - bottom) @ np.abs(self.M)
        tilt = np.maximum(np.abs(1.0 - 2.0 * top), np.abs(1.0 - 2.0 * bottom))
        second = np.sum((v @ np.abs(self.M)) * v, axis=-1) + np.sum(g_max * v * tilt, axis=-1)
        return np.asarray(self.value(mu) - 0.5 * h * np.abs(slope) - 0.125 * h**2 * second)

    def beyond(self, end: float, away: float) -> float:
        """Return the same between a penalty and zero, or between it and infinity.

        The cost is convex in the shrinkages, so it stays above its tangent.
        """
        mu = self.mu(end)
        return float(self.value(mu) - np.abs(self.derivatives(mu)[1]) @ np.abs(self.mu(away) - mu))


def spectrum(train: Centred) -> tuple[Array, Array, Array]:
    """Return right singular vectors (p, r), eigenvalues (r,) and coordinates of the LS fit (r, k).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear._model import centre
    >>> spectrum(centre(2.0 * np.eye(2), np.array([2.0, 4.0]), False))[1]
    array([4., 4.])
    """
    V, s, Ut = np.linalg.svd(train.X, full_matrices=False)
    live = s > RANK * (s[0] if len(s) else 0.0)
    V, s, Ut = V[:, live], s[live], Ut[live]
    Y = train.y.reshape(len(train.y), -1)
    return Ut.T, s**2, V.T @ Y / s[:, None]


@settings
class FusedRidge(Validated):
    r"""Ridge regression and the choice of its penalty as one problem, solved to the end.

    .. math:: \min_{\alpha \ge 0} \tfrac12 \|y^v - X^v w\|^2
              \quad\text{subject to}\quad (X'X + \alpha) w = X'y

    The error of validation along the path of ridge regression may have several local minima. Here
    it is a polynomial in the shrinkages of the singular directions: its derivative is evaluated on
    a fine grid at almost no cost, every change of sign is refined to rounding, and the best of
    these, of no penalty and of an infinite one is taken. ``certify=True`` proves it best by branch
    and bound. With cross-validation the errors of the folds are summed, with one penalty for all.

    Parameters
    ----------
    cv : int or cross-validation splitter, default=5
        Folds that validate, as in :func:`~mercer.machines.folds.as_splitter`, unless validation
        data are given to :meth:`fit`.
    certify : bool, default=False
        Prove that no other penalty is better, to a part 1e-8 of what the null model costs.
    fit_intercept : bool, default=True
        Fit a free constant.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    coef_, intercept_ :
        The hyperplane: of the training data if validation data were given, else of all data.
    alpha_ : float
        The penalty: zero for least squares (the shortest where it is not unique), infinite if
        nothing is better than the mean.
    validation_cost_ : float
        Half of the sum of the squared errors of validation there.
    validation_path_ : ValidationCurve
        Costs and coefficients along the path.
    certificate_ : FusionCertificate or None
        The proof.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, section 7.1.1, eq. (7.1) to (7.4).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import FusedRidge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 20))
    >>> y = X @ np.ones(20) + 5.0 * rng.standard_normal(60)
    >>> model = FusedRidge(certify=True).fit(X[:40], y[:40], X[40:], y[40:])
    >>> bool(model.alpha_ > 1.0), model.certificate_.gap < 1e-6 * model.validation_cost_
    (True, True)
    """

    _: KW_ONLY
    cv: SplitterLike = 5
    certify: bool = False

    _several: ClassVar[bool] = True

    _parameter_constraints: ClassVar[Constraints] = {
        "certify": ["boolean"],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: PointsLike, y: TargetsLike, X_val: PointsLike = None, y_val: TargetsLike = None
    ) -> Self:
        """Find the penalty and the coefficients that belong to it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets; several outputs share the penalty.
        X_val, y_val : array-like, optional
            Validation data of the same kind, instead of ``cv``.
        """
        train, splits = self._splits(X, y, X_val, y_val)
        fusion = RidgeFusion(splits)
        self.alpha_ = fusion.minimize()
        self.validation_cost_ = float(fusion.value(self.alpha_))
        self.certificate_ = fusion.certify(self.alpha_) if self.certify else None
        U, s2, q = spectrum(train)

        def coef(alpha: float) -> Array:
            w = U @ (q * (s2 / (s2 + alpha))[:, None])
            return np.asarray(w[:, 0] if train.y.ndim == 1 else w)

        grid = np.geomspace(1e-4 * fusion.low, 1e4 * fusion.high, 100)
        path = np.stack([coef(alpha) for alpha in grid])
        self.validation_path_ = ValidationCurve(grid, fusion.value(grid), path)
        self._keep(train, coef(self.alpha_))
        return self
