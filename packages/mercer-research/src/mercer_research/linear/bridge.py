"""Bridge regression: a penalty on any power of the coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, fit_context
from mercer._typing import Array, Constraints, PointsLike, TargetsLike, WeightsLike
from mercer_research.linear._model import LinearModel, Optimum

__all__ = ["Bridge"]

# Coefficients below this part of the largest have no influence on the others that a double could
# hold beside their own size; they are found by their own equation.
SMALL = 1e-7
# Square roots of the inverse weights below this part of the largest belong to coefficients that are
# on their way to zero.
FROZEN = 1e-5
# Steps and relative change at which re-weighting goes on to the next delta, and those of the last.
BRIEF, LONG = (20, 1e-3), (500, 1e-9)


@settings
class Bridge(LinearModel):
    r"""Least squares with a penalty on the p-th powers of the coefficients.

    .. math:: \min_{w, b} \sum_d |w_d|^p + \frac{\psi}{2} \sum_i s_i (y_i - w'x_i - b)^2

    Ridge regression for p = 2, the lasso for p = 1; below that the problem is not convex, and a
    stationary point is found that is sparser still. For :math:`p \le 2` by re-weighted ridge
    regressions

    .. math:: (\psi X'X + 2 \operatorname{diag}(g))\, w = \psi X'y, \qquad
              g_d = \tfrac{p}{2} (w_d^2 + \delta)^{(p-2)/2}

    each of which lowers the cost with :math:`\delta`, while :math:`\delta \to 0`; then, and for
    p > 2 from the start, by Newton steps on the coefficients that are not zero.

    Parameters
    ----------
    p : float, default=1.5
        The power, positive.
    psi : float, default=1.0
        Weight of the errors against the penalty.
    fit_intercept : bool, default=True
        Fit the constant b.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    coef_, intercept_ :
        The hyperplane.
    stationarity_ : float
        Largest violation of the optimality conditions, relative to the largest of the forces
        :math:`\psi |X'y|`.
    convex_ : bool
        Whether the problem is convex, so that a stationary point is the minimum.
    solution_ : Optimum
        The cost with its lower bound by duality, which is minus infinity if the problem is not
        convex.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (6.15) to (6.17), with the
    absolute values and the factor p/2 that are missing there.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import Bridge
    >>> X, y = np.vstack([np.eye(2), -np.eye(2)]), np.array([3.0, 1.0, -3.0, -1.0])
    >>> Bridge(p=2.0, psi=1.0).fit(X, y).coef_
    array([1.5, 0.5])
    >>> Bridge(p=1.0, psi=0.5).fit(X, y).coef_.round(12)
    array([2., 0.])
    """

    p: float = 1.5
    _: KW_ONLY
    psi: float = 1.0

    _parameter_constraints: ClassVar[Constraints] = {
        "p": [Interval(Real, 0.0, None, closed="neither")],
        "psi": [Interval(Real, 0.0, None, closed="neither")],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike = None) -> Self:
        """Fit the hyperplane.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs; the penalty depends on their scales.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the squared errors.
        """
        data = self._centred(X, y, sample_weight)
        problem = _Problem(data.X, data.y, float(self.p), float(self.psi))
        w = problem.solve()
        self._keep(data, w)
        self.convex_ = self.p >= 1
        self.stationarity_ = problem.stationarity(w)
        self.solution_ = problem.certificate(w)
        return self


@dataclass
class _Problem:
    X: Array
    y: Array
    p: float
    psi: float

    def __post_init__(self) -> None:
        self.H = self.psi * (self.X.T @ self.X)
        self.h = self.psi * (self.X.T @ self.y)

    def cost(self, w: Array) -> float:
        r = self.y - self.X @ w
        return float(np.sum(np.abs(w) ** self.p)) + 0.5 * self.psi * float(r @ r)

    def pull(self, w: Array) -> Array:
        """Return the force of the errors on each coefficient."""
        return np.asarray(self.psi * (self.X.T @ (self.y - self.X @ w)))

    def ridge(self, g: Array) -> Array:
        """Return the ridge regression with the weights g, scaled so that it cannot overflow."""
        D = 1.0 / np.sqrt(g)
        # Coefficients with a huge weight do not move the others; each has its own equation then.
        live = np.flatnonzero(FROZEN * D.max() < D)
        A = D[live, None] * self.H[np.ix_(live, live)] * D[live] + 2.0 * np.eye(len(live))
        w = np.zeros(len(g))
        w[live] = D[live] * np.linalg.solve(A, D[live] * self.h[live])
        if len(live) < len(g):
            w = np.where(FROZEN * D.max() < D, w, 0.5 * D**2 * self.pull(w))
        return w

    def solve(self) -> Array:
        w = self.ridge(np.ones(len(self.h)))
        size = float(np.max(np.abs(w), initial=0.0))
        if size == 0.0:
            return w
        if self.p < 2:
            for delta in size**2 * np.logspace(0, -24, 13):
                w = self.reweight(w, delta, *BRIEF)
            w = self.reweight(w, 1e-26 * size**2, *LONG)
        best = self.stationarity(w)
        for _ in range(20):
            new = self.small(self.newton(w))
            reached = self.stationarity(new)
            if not reached < 0.5 * best and best < 1e-9:
                break
            w, best = new, reached
        return w

    def reweight(self, w: Array, delta: float, steps: int, tol: float) -> Array:
        for _ in range(steps):
            new = self.ridge(0.5 * self.p * (w**2 + delta) ** (0.5 * self.p - 1.0))
            moved = np.max(np.abs(new - w)) / np.max(np.abs(new), initial=1e-300)
            w = new
            if moved < tol:
                break
        return w

    def small(self, w: Array) -> Array:
        """Solve for coefficients that are too small to matter to the others, one by one."""
        if self.p >= 2:
            return w
        tiny = np.abs(w) <= SMALL * np.max(np.abs(w), initial=0.0)
        w = np.where(tiny, 0.0, w)
        if self.p > 1:
            c = self.pull(w)
            w = np.where(tiny, np.sign(c) * (np.abs(c) / self.p) ** (1.0 / (self.p - 1.0)), w)
        return w

    def newton(self, w: Array) -> Array:
        """Minimize over the coefficients that are not zero, keeping their signs for p < 2."""
        live = np.abs(w) > (SMALL * np.max(np.abs(w), initial=0.0) if self.p < 2 else -1.0)
        if not live.any():
            return w
        p, cost = self.p, self.cost(w)
        for _ in range(50):
            v = np.abs(w[live])
            g = self.slope(w, live)
            D = p * (p - 1.0) * np.where(v > 0, v, 1.0) ** (p - 2.0) if p != 1 else np.zeros_like(v)
            D = np.where(v > 0, D, 0.0) if p > 2 else D
            A = self.H[np.ix_(live, live)] + np.diag(D)
            # Singular for the lasso with more coefficients than samples, and for a high power whose
            # curvature at small coefficients underflows.
            spare = (p == 1 and len(v) >= len(self.y)) or p > 2
            step = np.linalg.lstsq(A, g, rcond=None)[0] if spare else np.linalg.solve(A, g)
            t, better = 1.0, False
            while t > 1e-10 and not better:
                new = w.copy()
                new[live] -= t * step
                kept = p >= 2 or bool(np.all(np.sign(new[live]) == np.sign(w[live])))
                value = self.cost(new) if kept else np.inf
                # Where costs agree in all digits, the slopes still tell which point is better.
                flat = value <= cost * (1.0 + 1e-14)
                better = value < cost - 1e-14 * cost or bool(
                    flat and np.max(np.abs(self.slope(new, live))) < np.max(np.abs(g))
                )
                t *= 0.5
            if not better:
                break
            w, cost = new, value
        return w

    def slope(self, w: Array, live: NDArray[np.bool_]) -> Array:
        """Return the gradient of the cost in coefficients that are not zero."""
        v = w[live]
        return np.asarray(self.p * np.abs(v) ** (self.p - 1.0) * np.sign(v) - self.pull(w)[live])

    def stationarity(self, w: Array) -> float:
        c, v = self.pull(w), np.abs(w)
        scale = np.max(np.abs(self.h), initial=0.0) or 1.0
        at_zero = np.maximum(np.abs(c) - 1.0, 0.0) if self.p == 1 else np.abs(c) * (self.p > 1)
        slope = self.p * np.where(v > 0, v, 1.0) ** (self.p - 1.0) * np.sign(w)
        off = np.where(v > 0, np.abs(slope - c), at_zero)
        return float(np.max(off, initial=0.0) / scale)

    def certificate(self, w: Array) -> Optimum:
        u = self.psi * (self.y - self.X @ w)
        value = self.cost(w)
        if self.p < 1:
            return Optimum(value, -np.inf, u)
        c = np.abs(self.X.T @ u)
        if self.p == 1:
            # The conjugate of |w| is finite for forces up to one only: step back to there.
            u = u / max(1.0, float(np.max(c, initial=0.0)))
            price = 0.0
        else:
            q = self.p / (self.p - 1.0)
            price = (self.p - 1.0) * float(np.sum((c / self.p) ** q))
        return Optimum(value, float(self.y @ u) - 0.5 * float(u @ u) / self.psi - price, u)
