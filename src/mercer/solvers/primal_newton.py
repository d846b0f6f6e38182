r"""Newton's method over the weights of a linear machine with a smooth loss.

.. math::

    \min_w\; \tfrac12 |w|^2 + \sum_i c_i\, l(y_i, z_i'w), \qquad
    (1 + Z'DZ)\, p = -(w + Z'g),

with slopes g and curvatures D of the losses. Few columns are factorized; of many the system is
solved by conjugate gradients, as precisely as the gradient is small (Lin and Moré, 1999).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from mercer._typing import Array
from mercer.gram.features import Features
from mercer.problems.risk import RegularizedRisk
from mercer.solvers.base import Answer, Solver
from mercer.solvers.monitor import Monitor
from mercer.solvers.solution import Solution

__all__ = ["PrimalNewton"]

# Columns up to which the system is factorized where rows are dense.
MAX_FACTORIZED_COLUMNS = 500
# Numbers of a block of rows that is multiplied by itself at once.
BLOCK_NUMBERS = 2**21
# The system is solved up to this part of the gradient, or the root of its decrease so far.
FORCING = 0.1
MAX_CG_STEPS = 500
# A step is shortened until it brings this part of the decrease that its slope promises.
SUFFICIENT_DECREASE = 1e-4
MAX_HALVINGS = 40
# A promise below this part of the objective is rounding; so many such steps are made.
ROUNDING, MAX_ROUNDED_STEPS = 1e-15, 3


@dataclass(eq=False)
class PrimalNewton(Solver):
    """Newton's method over weights: for smooth losses and many more rows than columns.

    Takes a smooth loss over a :class:`~mercer.gram.features.Features` matrix, without unpenalized
    columns.

    Parameters
    ----------
    tol : float, default=1e-3
        Largest violation of an optimality condition.
    max_iter : int, default=-1
        Largest number of Newton steps, -1 for no limit.
    max_time : float, optional
        Largest number of seconds.

    References
    ----------
    C.-J. Lin, R. C. Weng, S. S. Keerthi, Trust region Newton method for large-scale logistic
    regression, JMLR 9 (2008), section 2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram.features import Features
    >>> from mercer.losses import SquaredHinge
    >>> from mercer.problems import RegularizedRisk
    >>> from mercer.solvers import minimize
    >>> from mercer.solvers.primal_newton import PrimalNewton
    >>> x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> risk = RegularizedRisk(SquaredHinge(), Features(x), np.sign(x[:, 0]), 0.5)
    >>> minimize(risk, PrimalNewton(tol=1e-9)).a @ x
    array([0.5])
    """

    def refuses(self, risk: RegularizedRisk) -> str:
        if not isinstance(risk.K, Features):
            return "the kernel matrix is not that of features; use Newton"
        if risk.q:
            return "there are unpenalized columns; use Newton"
        if not risk.loss.smooth:
            return f"{type(risk.loss).__name__} is not smooth; use RowDescent"
        return ""

    def solve(self, risk: RegularizedRisk, start: Solution | None, monitor: Monitor) -> Answer:
        K, loss, y, c = risk.K, risk.loss, risk.y, risk.c
        assert isinstance(K, Features)
        w = np.zeros(K.d + 1) if start is None else K.weights(start.a[:, None])[:, 0]
        f = K.values(w[:, None])[:, 0]
        steps, rounded, first = 0, 0, 0.0
        while True:
            a = -c * loss.gradient(y, f)
            slope = w - K.weights(a[:, None])[:, 0]
            # The weights of the coefficients, whose decision values certify them.
            Ka = f - K.values(slope[:, None])[:, 0]
            violation = float(np.max(risk.terms.violation(a, Ka), initial=0.0))
            size = float(np.linalg.norm(slope))
            first = first or size
            if violation <= 0.5 * self.tol or not size or monitor.spent(steps):
                break
            objective = 0.5 * float(w @ w) + risk.risk(f)
            if monitor.listener is not None:
                c_now = risk.certificate(a, np.empty(0), Ka)
                if monitor.report(steps, c_now.primal, c_now.gap, violation):
                    break
            bend = c * loss.curvature(y, f)
            p = self._direction(K, bend, slope, min(FORCING, (size / first) ** 0.5))
            move = K.values(p[:, None])[:, 0]
            t, promise = 1.0, float(slope @ p)
            rounded += -promise <= ROUNDING * objective
            if rounded > MAX_ROUNDED_STEPS:
                break
            for _ in range(MAX_HALVINGS):
                ahead = w + t * p
                value = 0.5 * float(ahead @ ahead) + risk.risk(f + t * move)
                if value <= objective + SUFFICIENT_DECREASE * t * promise:
                    break
                t *= 0.5
            else:
                break  # no further progress in floating point
            w, f, steps = ahead, f + t * move, steps + 1
        return Answer(a, np.empty(0), steps)

    def _direction(self, K: Features, bend: Array, slope: Array, part: float) -> Array:
        """Return Newton's direction."""
        if not K.sparse_rows and K.d <= MAX_FACTORIZED_COLUMNS:
            H = K.weighted_square(bend, BLOCK_NUMBERS)
            H[np.diag_indices_from(H)] += 1.0
            p: Array = cho_solve(cho_factor(H, lower=True, overwrite_a=True), -slope)
            return p
        active = np.flatnonzero(bend)
        Z, D = K.take(active), bend[active]
        # Preconditioned by the diagonal.
        scale = 1.0 / (1.0 + Z.column_squares(D))
        p, r = np.zeros_like(slope), -slope
        z = scale * r
        d, rz = z.copy(), float(r @ z)
        goal = part**2 * float(r @ (scale * r))
        for _ in range(MAX_CG_STEPS):
            Hd = d + Z.weights((D * Z.values(d[:, None])[:, 0])[:, None])[:, 0]
            length = rz / float(d @ Hd)
            p += length * d
            r -= length * Hd
            z = scale * r
            before, rz = rz, float(r @ z)
            if rz <= goal:
                break
            d = z + (rz / before) * d
        return p
