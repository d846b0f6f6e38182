r"""Gradient descent with weight decay: the baseline that networks are trained by.

In the space of the kernel the gradient of the regularized risk at :math:`f = Ka + Bb` is the
expansion with coefficients :math:`a_i + c_i l'(y_i, f_i)`, and in b it is
:math:`d + B'(c\,l')`. A step along it shrinks all coefficients and corrects each by the slope of
its own loss,

.. math:: a \leftarrow (1 - \eta)\, a - \eta\, c\, l'(y, f), \qquad
          b \leftarrow b - \eta\, (d + B'(c\,l')).

With the Gram matrix :math:`K^2` of weight decay, :math:`\alpha = Ka` are the coefficients of a
network and the step is :math:`\Delta \alpha = -\eta C (\partial R / \partial \alpha + \alpha / C)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np

from mercer.problems.reductions import infeasible
from mercer.problems.risk import RegularizedRisk
from mercer.solvers.base import Answer, Solver
from mercer.solvers.certify import snap_to_box
from mercer.solvers.monitor import Monitor
from mercer.solvers.solution import Solution

__all__ = ["GradientDescent"]

# Steps between two certificates, and growth of the step after one that was long enough.
OFTEN, GROWTH = 10, 1.5

# Steps after which neither a lower objective nor half the violation is the end.
PATIENCE = 1000

# Changes of the objective, relative to it, that are rounding.
ROUNDING = 1e-13


@dataclass(eq=False)
class GradientDescent(Solver):
    r"""Gradient descent with weight decay, for smooth losses: a baseline, not the fastest way.

    It does not reach tight tolerances on every problem, as the other solvers do, and is not among
    those that estimators choose from. One product with K a step, and about as many steps as the
    condition number :math:`1 + \max c\, \|K\|`; :class:`Newton` and :class:`ConjugateGradient` take
    a few.

    Parameters
    ----------
    tol : float, default=1e-3
        Largest violation of an optimality condition.
    max_iter : int, default=-1
        Largest number of steps, -1 for no limit.
    max_time : float, optional
        Largest number of seconds.
    step : float, optional
        The rate :math:`\eta`. By default it is found: halved until a step lowers the objective by
        at least a quarter of what the slope promises, and raised again by half.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (1.25).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.losses import Squared
    >>> from mercer.problems import RegularizedRisk
    >>> from mercer.solvers import minimize
    >>> from mercer_research.linear import GradientDescent
    >>> risk = RegularizedRisk(Squared(), Dense(np.diag([1.0, 3.0])), np.array([1.0, 2.0]), 1.0)
    >>> minimize(risk, GradientDescent(tol=1e-9)).a.round(6)
    array([0.5, 0.5])
    """

    step: float | None = None

    def refuses(self, risk: RegularizedRisk) -> str:
        if not risk.loss.smooth:
            return (
                f"{type(risk.loss).__name__} has a kink, at which gradient descent does not come "
                "to rest; use SMO or InteriorPoint"
            )
        return infeasible(risk)

    def solve(self, risk: RegularizedRisk, start: Solution | None, monitor: Monitor) -> Answer:
        a = np.zeros(risk.n) if start is None else start.a.copy()
        b = np.zeros(risk.q) if start is None else start.b.copy()
        Ka, rate, safe, best, least = risk.K.matvec(a), self.step or 1.0, np.inf, np.inf, np.inf
        last = 0
        for iteration in count():
            f = Ka + risk.B @ b
            value = 0.5 * float(a @ Ka) + risk.risk(f) + float(risk.d @ b)
            slope = np.where(risk.c > 0, risk.c * risk.loss.gradient(risk.y, f), 0.0)
            g, h = a + slope, risk.d + risk.B.T @ slope
            Kg = risk.K.matvec(g)
            if iteration % OFTEN == 0 or monitor.spent(iteration):
                # The slopes are coefficients that meet their bounds, which a only tends to.
                snapped = snap_to_box(risk, -slope)
                found = risk.certificate(snapped, b, Ka - Kg + risk.K.matvec(snapped + slope))
                stop = monitor.report(iteration, value, found.gap, found.violation)
                # Where the objective no longer changes the conditions may still come closer.
                if value < best or found.violation <= 0.5 * least:
                    best, least = min(value, best), min(found.violation, least)
                    last = iteration
                stalled = iteration - last > PATIENCE
                if found.violation <= self.tol:
                    return Answer(snapped, b, iteration)
                if stop or stalled:
                    return Answer(snap_to_box(risk, a), b, iteration)
            promised = float(g @ Kg) + float(h @ h)
            # Below rounding of the objective nothing can be seen of a step: a safe rate stays.
            seen = self.step is None and rate * promised > ROUNDING * abs(value)
            while seen:
                moved = a - rate * g, b - rate * h, Ka - rate * Kg
                lowered = value - (
                    0.5 * float(moved[0] @ moved[2])
                    + risk.risk(moved[2] + risk.B @ moved[1])
                    + float(risk.d @ moved[1])
                )
                if lowered >= 0.25 * rate * promised or rate * promised <= ROUNDING * abs(value):
                    break
                rate *= 0.5
            if self.step is None:
                rate = rate if seen else min(rate, safe)
                safe = min(safe, 0.5 * rate) if seen else safe
            a, b, Ka = a - rate * g, b - rate * h, Ka - rate * Kg
            rate *= GROWTH if seen else 1.0
        raise AssertionError("unreachable")  # pragma: no cover
