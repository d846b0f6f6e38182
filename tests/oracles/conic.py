"""The regularized risk written once more, for a conic solver that knows nothing of duality here.

With ``K = G G'`` the problem is ``min 1/2 |u|^2 + sum_i c_i l(y_i, (G u + B b)_i) + d'b``; every
loss is spelled out from its textbook formula.
"""

import warnings
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    HuberHinge,
    Interval,
    LogCosh,
    Logistic,
    PiecewisePolynomial,
    Pinball,
    Polynomial,
    PowerHinge,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)


@dataclass(frozen=True)
class Reference:
    """Objective, penalized part ``G u`` and unpenalized part ``B b`` of the conic solution."""

    objective: float
    penalized: np.ndarray
    b: np.ndarray
    accurate: bool


def expression(loss, y, f):
    """Return the loss as a cvxpy expression and the constraints of its slack variables."""
    if isinstance(loss, Interval):
        # The target that costs least is a variable; ends at infinity are no constraints.
        low, high = y - loss.below, y + loss.above
        t, bounded, capped = cp.Variable(y.shape), np.isfinite(low), np.isfinite(high)
        value, slack = expression(loss.loss, t, f)
        return value, [*slack, t[bounded] >= low[bounded], t[capped] <= high[capped]]
    r, m = y - f, cp.multiply(y, f)
    if isinstance(loss, Squared):
        return cp.square(r) / 2, []
    if isinstance(loss, Absolute):
        return cp.abs(r), []
    if isinstance(loss, EpsilonInsensitive):
        return cp.pos(cp.abs(r) - loss.epsilon), []
    if isinstance(loss, SquaredEpsilonInsensitive):
        return cp.square(cp.pos(cp.abs(r) - loss.epsilon)) / 2, []
    if isinstance(loss, Huber):
        return cp.huber(r, loss.delta) / 2, []
    if isinstance(loss, LogCosh):
        u = r / loss.delta
        return loss.delta**2 * (cp.logistic(2 * u) - u - np.log(2)), []
    if isinstance(loss, Pinball):
        return loss.quantile * cp.pos(r) + (1 - loss.quantile) * cp.pos(-r), []
    if isinstance(loss, Expectile):
        tau = loss.expectile
        return tau * cp.square(cp.pos(r)) / 2 + (1 - tau) * cp.square(cp.pos(-r)) / 2, []
    if isinstance(loss, Hinge):
        return cp.pos(loss.margin - m), []
    if isinstance(loss, SquaredHinge):
        return cp.square(cp.pos(1 - m)) / 2, []
    if isinstance(loss, PowerHinge):
        return cp.power(cp.pos(1 - m), loss.power) / loss.power, []
    if isinstance(loss, Logistic):
        return cp.logistic(-m), []
    if isinstance(loss, Polynomial):
        return cp.power(cp.pos(cp.abs(r) - loss.epsilon), loss.power) / loss.power, []
    # A parabola or power with straight arms is the infimal convolution of the two.
    s, t = cp.Variable(y.shape, nonneg=True), cp.Variable(y.shape, nonneg=True)
    if isinstance(loss, HuberHinge):
        return cp.square(s) / (2 * loss.delta) + t, [s + t >= 1 - m]
    assert isinstance(loss, PiecewisePolynomial)
    p, sigma = loss.power, loss.sigma
    power = cp.power(s, p) / (p * sigma ** (p - 1))
    return power + t, [s + t >= cp.abs(r) - loss.epsilon]


def solve(risk, G):
    """Minimize the risk with Clarabel at its tightest tolerance."""
    u = cp.Variable(G.shape[1])
    b = cp.Variable(risk.q) if risk.q else None
    f = G @ u + (risk.B @ b if risk.q else 0)
    loss, constraints = expression(risk.loss, risk.y, f)
    objective = cp.sum_squares(u) / 2 + cp.sum(cp.multiply(np.asarray(risk.c), loss))
    if risk.q:
        objective = objective + risk.d @ b
    problem = cp.Problem(cp.Minimize(objective), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cvxpy warns when the tightest tolerance is not reached
        problem.solve(
            solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11, max_iter=200
        )
    return Reference(
        objective=float(problem.value),
        penalized=G @ u.value,
        b=b.value if risk.q else np.empty(0),
        accurate=problem.status == cp.OPTIMAL,
    )
