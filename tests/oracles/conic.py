"""The regularized risk written once more, for a conic solver that knows nothing of duality here.

With ``K = G G'`` the problem is ``min 1/2 |u|^2 + sum_i c_i l(y_i, (G u + B b)_i) + d'b``; every
loss is spelled out from its textbook formula (``FORMULAS`` of ``tests/brute.py``).
"""

import warnings
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from brute import OF_THE_MARGIN, formula
from mercer.losses import Interval


@dataclass(frozen=True)
class Reference:
    """Objective, penalized part ``G u`` and unpenalized part ``B b`` of the conic solution."""

    objective: float
    penalized: np.ndarray
    b: np.ndarray
    accurate: bool


class Expressions:
    """The functions that formulas are written in, of cvxpy expressions."""

    abs, pos, logistic = map(staticmethod, (cp.abs, cp.pos, cp.logistic))

    def __init__(self):
        self.constraints = []

    def straightened(self, s, bend, power=2.0):
        """Return a power of s >= 0 up to ``bend``, of slope one there, and its tangent beyond."""
        if power == 2.0:
            return cp.huber(s, bend) / (2 * bend)
        # A power with a straight arm is the infimal convolution of the two.
        near, far = cp.Variable(s.shape, nonneg=True), cp.Variable(s.shape, nonneg=True)
        self.constraints.append(near + far >= s)
        return near**power / (power * bend ** (power - 1)) + far


def expression(loss, y, f):
    """Return the loss as a cvxpy expression and the constraints of its slack variables."""
    if isinstance(loss, Interval):
        # The target that costs least is a variable; ends at infinity are no constraints.
        low, high = y - loss.below, y + loss.above
        t, bounded, capped = cp.Variable(y.shape), np.isfinite(low), np.isfinite(high)
        value, slack = expression(loss.loss, t, f)
        return value, [*slack, t[bounded] >= low[bounded], t[capped] <= high[capped]]
    of_margin = type(loss).__name__ in OF_THE_MARGIN
    functions = Expressions()
    value = formula(loss)(loss, cp.multiply(y, f) if of_margin else y - f, functions)
    return value, functions.constraints


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
