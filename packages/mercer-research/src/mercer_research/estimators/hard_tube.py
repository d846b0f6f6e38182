"""The smoothest function within a tolerance that nothing may exceed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import ClassVar

import numpy as np

from mercer._settings import KW_ONLY, fixed, settings
from mercer._sklearn import Interval
from mercer._typing import AnyArray, Array, Constraints, Function
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.losses.regression import EpsilonInsensitive
from mercer.machines.callbacks import TaskContext, watched
from mercer.machines.low_rank import LowRankProblem, irreducible
from mercer.machines.regression import Regression
from mercer.machines.solving import EarlyStop, finite, last_solution
from mercer.machines.subproblems import Rows, Sample, Subproblem
from mercer.problems.risk import RegularizedRisk
from mercer.solvers import Solution, Solver, Status, minimize
from mercer.solvers.auto import THRESHOLDS
from mercer_research.estimators.hard_margin import path_of_few
from mercer_research.programs.chebyshev import smallest_tube

__all__ = ["HardTubeSVR", "InfeasibleTube"]

# The first weight of errors in units of targets over kernel values, the factor by which it grows
# while a multiplier reaches it, and the largest that leaves digits to see anything by.
FIRST, GROWTH, LARGEST = 100.0, 100.0, 1e12

# The weight at the end in units of the largest multiplier.
MARGIN = 2.0


class InfeasibleTube(ValueError):  # noqa: N818
    """No function of the space stays within the tube.

    Parameters
    ----------
    epsilon : float
        The half-width that was asked for.
    smallest : float
        What no function is nearer than, in its largest error.
    certificate : ndarray of shape (n,)
        Multipliers that prove it, as in :class:`~mercer_research.programs.chebyshev.SmallestTube`.
    """

    def __init__(self, epsilon: float, smallest: float, certificate: Array) -> None:
        super().__init__(
            f"no function stays within {epsilon:g} of all targets: the smallest tolerance is "
            f"{smallest:.6g}. Raise epsilon to that, use a kernel that tells the points apart, or "
            "allow errors by SVR."
        )
        self.epsilon, self.smallest, self.certificate = epsilon, smallest, certificate


@settings
class HardTubeSVR(Regression):
    r"""The flattest function within a tolerance of every target.

    .. math:: \min_f \tfrac12 \|f\|^2 \qquad \text{subject to}\; |y_i - f(x_i) - b| \le \epsilon

    The machine for errors of rounding and reading, which have a bound and no tails. It is
    :class:`SVR` with a C that no multiplier reaches. Where there is no such function, as for two
    targets of one point that are more than :math:`2\epsilon` apart, the fit raises
    :class:`InfeasibleTube` with the smallest tolerance that there is and a proof. Where the kernel
    matrix has no digits for either, the fit raises a ValueError.

    Parameters
    ----------
    epsilon : float, default=0.1
        The tolerance.
    kernel, degree, gamma, coef0, tol, cache_size, verbose, max_iter :
        As in :class:`SVR`.
    null_space, max_time, gram, solver, warm_start, standardize :
        As in :class:`SVR`.

    Attributes
    ----------
    epsilon_min_ : float
        A tolerance for which there is a function: the largest error of the nearest one that was
        found before the fit. Zero if a function passes through all targets; where it is above
        zero a smaller tolerance may do, see
        :func:`~mercer_research.programs.chebyshev.smallest_tube`.
    C_ : float
        The weight of errors that was high enough.
    support_, support_vectors_, dual_coef_, intercept_, solution_ :
        As in :class:`SVR`; support vectors lie on the walls of the tube.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (1.3) and (1.4).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.estimators import HardTubeSVR
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> machine = HardTubeSVR(epsilon=0.05, tol=1e-6).fit(X, np.round(np.sin(X[:, 0]), 1))
    >>> error = np.abs(machine.predict(X) - np.round(np.sin(X[:, 0]), 1))
    >>> bool(error.max() <= 0.05 + 1e-6)
    True
    """

    epsilon: float = 0.1
    kernel: Kernel | str | Function = "rbf"
    _: KW_ONLY
    approximation: None = fixed(None)

    # As often as a weight may grow from the first to beyond the largest.
    _max_tasks = 10

    _parameter_constraints: ClassVar[Constraints] = {
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
    }
    C = 1.0

    def _loss(self, rows: Rows | None = None) -> Loss:
        return EpsilonInsensitive(float(self.epsilon))

    def _low_rank_problem(self, rows: Rows, labels: AnyArray | None) -> LowRankProblem:
        raise irreducible(self)

    def _subproblems(self, sample: Sample) -> Sequence[Subproblem]:
        K, y, B = sample.K, sample.y, sample.B
        # A tolerance has no weight, but a sample may be left out.
        live = np.flatnonzero(sample.weights > 0)
        tube = smallest_tube(K.block(live, live), y[live], B[live], float(self.epsilon))
        self.epsilon_min_ = tube.epsilon
        # Solvers keep the walls to tol.
        if tube.lower > self.epsilon + self.tol:
            certificate = np.zeros(len(y))
            certificate[live] = tube.certificate
            raise InfeasibleTube(float(self.epsilon), tube.lower, certificate)
        spread = float(np.ptp(y[live])) or 1.0
        weight = FIRST * spread / float(np.mean(K.diag()[live]) or 1.0)
        c = weight * (sample.weights > 0).astype(np.float64)
        return [Subproblem("", RegularizedRisk(self._loss(), K, y, c, B))]

    def _minimize(self, subproblems: Sequence[Subproblem], context: TaskContext) -> list[Solution]:
        risk = subproblems[0].risk
        path = None if risk.K.root() is not None else path_of_few(self, risk.n)
        solver = self._make_solver()
        if path is not None and solver.max_iter < 0:
            # Few pair steps suffice in a wide tube; in a narrow one they creep.
            solver = solver.set_params(max_iter=THRESHOLDS.max_pair_steps)
        solution, factor, steps = last_solution(self, 0, 1, risk), 1.0, 0
        while True:
            solution, warned = self._penalized(risk, factor, solver, solution, context)
            steps += solution.n_iter + 1
            ended = solution.status in (Status.MAX_TIME, Status.STOPPED)
            reached = float(np.max(np.abs(solution.a))) / float(np.max(risk.c))
            crept = solution.status is Status.MAX_ITER and path not in (None, solver)
            # Below its weight a multiplier is that of a constraint: the penalty is exact.
            exact = reached < 0.99 * factor and not crept
            if exact or ended or FIRST * factor >= LARGEST:
                break
            if path not in (None, solver):
                # A path takes as many steps where the weight is much too large.
                solver, factor = path, GROWTH**2 * factor
            factor *= GROWTH
        enough = max(MARGIN * reached, 1.0)
        if enough < factor and not ended:
            # A weight multiplies what rounding leaves of the gap.
            factor = enough
            solution, warned = self._penalized(risk, factor, solver, solution, context)
            steps += solution.n_iter + 1
        self.C_ = factor * float(np.max(risk.c))
        for warning in warned:
            warnings.warn(warning.message, stacklevel=6)
        error = float(np.max(np.abs(risk.y - solution.f)[risk.c > 0]))
        kept = self.epsilon + 10.0 * self.tol
        # A solver that reached its limit warns; a weight beyond the largest has no digits.
        if error > kept and not ended and (self.epsilon_min_ > kept or not exact):
            raise ValueError(
                f"the flattest function within epsilon={self.epsilon:g} of all targets is "
                f"not decided: the fit has errors of up to {error:.3g}, a function found "
                f"before it {self.epsilon_min_:.3g}, and no larger tolerance is proven. "
                "Raise epsilon, or use a kernel that tells the points apart."
            )
        return [replace(solution, n_iter=steps, reason="an exact penalty")]

    def _penalized(
        self,
        risk: RegularizedRisk,
        factor: float,
        solver: Solver,
        start: Solution | None,
        context: TaskContext,
    ) -> tuple[Solution, list[warnings.WarningMessage]]:
        """Minimize with other weights, and return the solution with the warnings about it."""
        here = RegularizedRisk(risk.loss, risk.K, risk.y, factor * risk.c, risk.B)
        task = context.subcontext(task_name="problem", max_subtasks=None)
        task.call_on_fit_task_begin(estimator=self)
        with (
            watched(self, "", task, False) as listener,
            warnings.catch_warnings(record=True) as warned,
            finite(),
        ):
            warnings.simplefilter("always", EarlyStop)
            solution = minimize(here, solver, start, listener=listener, warning=EarlyStop)
        task.call_on_fit_task_end(estimator=self)
        return solution, warned
