"""Regression of several outputs by the length of their residuals."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Real
from typing import ClassVar

import numpy as np

from mercer._settings import KW_ONLY, fixed, settings
from mercer._sklearn import Interval
from mercer._typing import AnyArray, Constraints, Function
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.machines.callbacks import TaskContext
from mercer.machines.kernel_kinds import is_function
from mercer.machines.low_rank import LowRankProblem
from mercer.machines.outputs import Outputs
from mercer.machines.solving import EarlyStop
from mercer.machines.subproblems import Rows, Sample, SolvedSubproblem, Subproblem
from mercer.solvers import Solution
from mercer.solvers.rounding import SUMMATION_ROUNDING
from mercer.solvers.status import MAX_RELATIVE_GAP
from mercer_research.programs.vector_valued_tube import VectorTube

__all__ = ["MultiOutputSVR"]


@settings
class MultiOutputSVR(Outputs):
    r"""Support vector regression of several outputs, none of whose directions is preferred.

    .. math:: \min_{f, b} \tfrac12 \sum_k \|f_k\|^2
              + C \sum_i s_i \max(0, |y_i - f(x_i) - b|_2 - \epsilon)

    The tube is a ball around the prediction: forces, positions, colours and other vectors are
    fitted alike in every coordinate system, which machines with a tube for each output are not.
    Samples that are wrong in all outputs at once pull only so far. With one output it is
    :class:`SVR`.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        Positive definite kernel, the same for every output.
    epsilon : float, default=0.1
        Radius within which a residual costs nothing.
    C : float, default=1.0
        Weight of the summed loss against the penalty.
    null_space : NullSpace, optional
        Unpenalized functions; an intercept by default.
    degree, gamma, coef0 :
        As in :class:`SVR`.
    tol : float, default=1e-6
        Tolerance of the program, relative to its numbers.
    max_time : float, optional
        Largest number of seconds.
    standardize : bool, default=False
        Whether features are divided by their standard deviations.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_ :
        Samples that carry the machine and their coefficients, a row an output.
    solution_ : Solution
        Objective, duality gap, status, iterations and timings.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 3.6, proposition 3.7.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.estimators import MultiOutputSVR
    >>> t = np.linspace(0, 6, 40)[:, None]
    >>> Y = np.column_stack([np.cos(t[:, 0]), np.sin(t[:, 0])])
    >>> machine = MultiOutputSVR(C=10.0).fit(t, Y)
    >>> turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    >>> turned = MultiOutputSVR(C=10.0).fit(t, Y @ turn)
    >>> bool(np.max(np.abs(machine.predict(t) @ turn - turned.predict(t))) < 1e-3)
    True
    """

    kernel: Kernel | str | Function = "rbf"
    _: KW_ONLY
    epsilon: float = 0.1
    C: float = 1.0
    tol: float = 1e-6

    # The problem has a solver of its own, and errors that are independent.
    gram: str = fixed("auto")
    solver: str = fixed("auto")
    cache_size: float = fixed(200.0)
    max_iter: int = fixed(-1)
    warm_start: bool = fixed(False)
    approximation: None = fixed(None)
    errors = None

    _parameter_constraints: ClassVar[Constraints] = {
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
        "C": [Interval(Real, 0.0, None, closed="neither")],
    }

    def _loss(self, rows: Rows | None = None) -> Loss:
        raise ValueError(
            "MultiOutputSVR has a loss of vectors, which tools for single outputs cannot use."
        )

    def _low_rank_problem(self, rows: Rows, labels: AnyArray | None) -> LowRankProblem:
        raise ValueError(
            "MultiOutputSVR is a program over rows in memory; sources of blocks are for machines "
            "with an approximation. Read the rows first."
        )

    def _subproblems(self, sample: Sample) -> Sequence[Subproblem]:
        if not is_function(self.kernel) and self.kernel_.order:
            raise ValueError(
                "MultiOutputSVR needs a positive definite kernel; those with free polynomials of "
                "their own are for KernelRegressor."
            )
        Y, c = sample.y.reshape(len(sample.y), -1), np.asarray(self._weight() * sample.weights)
        rounding = SUMMATION_ROUNDING + sample.K.value_error()
        program = VectorTube(sample.K.dense(), Y, c, sample.B, float(self.epsilon), rounding)
        return [Subproblem("", program)]

    def _minimize(self, subproblems: Sequence[Subproblem], context: TaskContext) -> list[Solution]:
        ((_, problem, _),) = subproblems
        # A gap above this part of the objective would not be called converged.
        solution: Solution = problem.solve(min(self.tol, MAX_RELATIVE_GAP), self.max_time)
        if not solution.converged:
            warnings.warn(
                f"Solver terminated early ({solution.status.value}). Duality gap "
                f"{solution.gap:.2e} at objective {solution.objective:.6g}. Scale the inputs "
                "(StandardScaler, MinMaxScaler), lower C or loosen tol.",
                EarlyStop,
                stacklevel=4,
            )
        return [solution]

    def _assemble(self, sample: Sample, solved: Sequence[SolvedSubproblem]) -> None:
        (one,), q = solved, self._n_outputs or 1
        self._keep(sample.X, one.a.reshape(-1, q), one.b.reshape(-1, q).T, [one.solution])
