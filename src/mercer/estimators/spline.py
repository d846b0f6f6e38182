"""Smoothing splines on the line and in space: the squared loss and a penalty on derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize_scalar

from mercer._deadline import eigh
from mercer._sklearn import Interval, StrOptions
from mercer._typing import AnyArray, Array, Constraints
from mercer.gram.factor import orthonormal
from mercer.kernels.base import Kernel
from mercer.kernels.polyharmonic import ThinPlate
from mercer.losses.base import Loss
from mercer.losses.regression import Squared
from mercer.machines.low_rank import LowRankProblem
from mercer.machines.outputs import Outputs
from mercer.machines.subproblems import Rows, Sample, Subproblem
from mercer.reduced.base import Approximation, FeatureMap
from mercer.reduced.normal_equations import NormalEquations
from mercer.reduced.nystrom import Nystrom
from mercer.reduced.passes import Census, Passes
from mercer.reduced.solve import FIRST_FUNCTIONS, Reduced, Task, choose_map, problem_of, solve
from mercer.regularizers.errors import ErrorModel

__all__ = ["SmoothingSpline", "ThinPlateSpline"]

# Penalties from nothing to everything, in units of the largest eigenvalue of the kernel matrix.
PENALTY_DECADES = np.linspace(-14.0, 4.0, 91)


class DerivativePenalty(Outputs):
    """Base of the splines: the order of the derivatives, and their weight against the errors."""

    _parameter_constraints: ClassVar[Constraints] = {
        "order": [Interval(Integral, 1, None, closed="left")],
        "lam": [Interval(Real, 0.0, None, closed="neither"), StrOptions({"gcv", "reml"})],
        "errors": [ErrorModel, None],
        "approximation": [
            Nystrom,
            StrOptions({"auto", "nystrom"}),
            Interval(Integral, 1, None, closed="left"),
            None,
        ],
        "verbose": ["verbose"],
    }

    # A spline is one linear system: there is nothing to set about how it is solved.
    null_space = None
    degree, gamma, coef0 = 3, "scale", 0.0
    tol, cache_size, max_iter, max_time = 1e-6, 2000.0, -1, None
    gram, solver, warm_start = "auto", "auto", False

    def __init__(
        self,
        order: int = 2,
        *,
        lam: float | str = 1.0,
        errors: ErrorModel | None = None,
        approximation: Approximation | str | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.order = order
        self.lam = lam
        self.errors = errors
        self.approximation = approximation
        self.verbose = verbose

    @property
    def kernel(self) -> ThinPlate:
        """The kernel whose quadratic form is the penalty."""
        return ThinPlate(int(self.order))

    def _loss(self, rows: Rows | None = None) -> Loss:
        return Squared()

    def _weight(self) -> float:
        return 1.0

    def _subproblems(self, sample: Sample) -> Sequence[Subproblem]:
        if isinstance(self.lam, str):
            K, B, y = sample.K.dense(), sample.white(sample.B), sample.white(sample.y)
            self.lam_ = _chosen(K, B, y.reshape(len(y), -1), sample.weights, self.lam)
        else:
            self.lam_ = float(self.lam)
        return super()._subproblems(replace(sample, weights=sample.weights / self.lam_))

    def _low_rank_problem(self, rows: Rows, labels: AnyArray | None) -> LowRankProblem:
        problem = super()._low_rank_problem(rows, labels)
        # One that is to be chosen is set when the functions are known.
        self.lam_ = 1.0 if isinstance(self.lam, str) else float(self.lam)
        return replace(problem, factors=problem.factors / self.lam_)

    def _solve_reduced(
        self, task: Task, census: Census, passes: Passes, how: Approximation
    ) -> Reduced:
        if not isinstance(self.lam, str):
            return super()._solve_reduced(task, census, passes, how)
        few = (
            how if how.number != "auto" else how.set_m(min(FIRST_FUNCTIONS, len(census.pool.keys)))
        )
        phi = choose_map(task, census, passes, few)
        task = self._with_penalty(task, passes, how, phi)
        if how.number == "auto":
            phi = choose_map(task, census, passes, how)
            task = self._with_penalty(task, passes, how, phi)
        return solve(task, census, passes, how, phi)

    def _with_penalty(
        self, task: Task, passes: Passes, how: Approximation, phi: FeatureMap
    ) -> Task:
        """Return the task with the penalty that the criterion chooses in one pass."""
        equations = NormalEquations.gather(problem_of(task, phi, passes, how), passes)
        self.lam_ = 1.0 / _chosen_weight(equations, str(self.lam))
        return replace(task, C=np.full(task.targets.k, 1.0 / self.lam_))


class SmoothingSpline(DerivativePenalty):
    r"""The smoothing spline of one variable.

    .. math:: \min_f \sum_i s_i (y_i - f(x_i))^2 + \lambda \int f^{(m)}(t)^2 \, dt

    Its solution is a piecewise polynomial of degree 2m - 1 with knots at the samples, and a
    polynomial of degree m - 1 beyond them. Here it is the machine of the squared loss with
    :math:`C = 1/\lambda` and the kernel :class:`~mercer.kernels.ThinPlate`, which leaves
    polynomials of a degree below m free.

    Parameters
    ----------
    order : int, default=2
        The order m of the derivative that is penalized; 2 for cubic splines.
    lam : float or {"gcv", "reml"}, default=1.0
        The penalty :math:`\lambda`, whose unit is that of x to the power 2m - 1; or how to choose
        it: by generalized cross-validation, or by restricted maximum likelihood of a Gaussian
        process.
    errors : ErrorModel, optional
        Covariance of the errors; the sum is then over squared whitened errors.
    approximation : Nystrom, "auto" or None
        Knots at some of the samples only, as in :class:`SVR`; the penalty is then chosen in one
        pass over the rows.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    lam_ : float
        The penalty used.
    null_space_coef_ : ndarray of shape (m,) or (n_outputs, m)
        Coefficients of the polynomial part, of ``null_space_names_``.
    dual_coef_, support_, support_vectors_, solution_ :
        As in :class:`KernelRegressor`.

    See Also
    --------
    scipy.interpolate.make_smoothing_spline : the same function for m = 2, in a time linear in n.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (5.11) to (5.16), where eq.
    (5.13) inverts the penalty; G. Wahba, *Spline Models for Observational Data*, 1990, chs. 1, 4.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.interpolate import make_smoothing_spline
    >>> from mercer import SmoothingSpline
    >>> x = np.linspace(0.0, 1.0, 30)
    >>> y = np.sin(6 * x)
    >>> spline = SmoothingSpline(lam=1e-3).fit(x[:, None], y)
    >>> np.allclose(spline.predict(x[:, None]), make_smoothing_spline(x, y, lam=1e-3)(x), atol=1e-8)
    True
    """

    def _resolved(self, rows: Rows, gamma: Any = None) -> Kernel:
        p = rows.X.shape[1]
        if p != 1:
            raise ValueError(
                f"SmoothingSpline is a function of 1 feature, got {p} features; use "
                "ThinPlateSpline."
            )
        return super()._resolved(rows, gamma)


class ThinPlateSpline(DerivativePenalty):
    r"""The thin-plate spline of several variables.

    .. math:: \min_f \sum_i s_i (y_i - f(x_i))^2 + \lambda \sum_{|n| = m} \frac{m!}{n!}
              \int_{\mathbb{R}^d} (\partial^n f)^2 \, dx

    The penalty does not change if the points are rotated. In the plane with m = 2 it is the bending
    energy :math:`\int f_{xx}^2 + 2 f_{xy}^2 + f_{yy}^2`, and scipy's ``RBFInterpolator`` with the
    kernel ``thin_plate_spline`` and ``smoothing`` :math:`8 \pi \lambda` is the same function.

    Parameters
    ----------
    order : int, default=2
        The order m of the derivatives, more than half the number of features.
    lam : float or {"gcv", "reml"}, default=1.0
        The penalty :math:`\lambda`, whose unit is that of x to the power 2m - d, or how to choose
        it.
    errors : ErrorModel, optional
        Covariance of the errors.
    approximation : Nystrom, "auto" or None
        As in :class:`SmoothingSpline`.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    lam_, null_space_coef_, dual_coef_, support_, support_vectors_, solution_ :
        As in :class:`SmoothingSpline`.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.85); G. Wahba, *Spline Models for
    Observational Data*, 1990, sec. 2.4.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators import ThinPlateSpline
    >>> X = np.random.default_rng(0).uniform(size=(50, 2))
    >>> plane = ThinPlateSpline(lam=1e9).fit(X, 1 + 2 * X[:, 0] - 3 * X[:, 1])
    >>> plane.null_space_coef_.round(6)
    array([ 1.,  2., -3.])
    """


def _chosen_weight(equations: NormalEquations, criterion: str) -> float:
    r"""Return the weight of the squared loss that minimizes a criterion, all outputs together.

    The restricted likelihood of several outputs with one variance is that of each with its own,
    but for :math:`m \log` of the mean of their objectives in place of the mean of logarithms.
    """
    if criterion == "gcv" or equations.problem.k == 1:
        return equations.choose("gcv" if criterion == "gcv" else "evidence")
    m = float(equations.n[0]) - equations.systems[0][0].rank

    def value(t: float) -> float:
        objective = equations.objective(np.exp(t))
        common = np.log(np.mean(objective)) - np.mean(np.log(objective))
        return float(len(objective) * m * common - 2.0 * np.sum(equations.log_evidence(np.exp(t))))

    tried = np.log(equations.Cs)
    best = int(np.argmin([value(t) for t in tried]))
    ends = tried[max(best - 1, 0)], tried[min(best + 1, len(tried) - 1)]
    return float(np.exp(minimize_scalar(value, bounds=ends, method="bounded").x))


def _chosen(K: Array, B: Array, Y: Array, c: Array, criterion: str) -> float:
    r"""Return the penalty that minimizes a criterion, from one spectral decomposition.

    In an orthonormal basis of what the free functions do not reach, the smoother is diagonal:
    residuals are :math:`\lambda z_i / (s_i + \lambda)`. Generalized cross-validation is the mean
    of their squares over the squared mean of :math:`\lambda/(s_i + \lambda)`; the restricted
    likelihood is that of :math:`z_i` with variances proportional to :math:`1 + s_i/\lambda`.
    """
    root = np.sqrt(c[c > 0])
    K, B, Y = root[:, None] * K[c > 0][:, c > 0] * root, root[:, None] * B[c > 0], Y[c > 0]
    rank = orthonormal(B)[0].shape[1]
    Z = np.linalg.qr(orthonormal(B)[0], mode="complete")[0][:, rank:]
    if not Z.shape[1]:
        return 1.0  # the free functions interpolate, whatever the penalty
    s, U = eigh(Z.T @ K @ Z)
    s = np.maximum(s, 0.0)
    squares = np.sum((U.T @ (Z.T @ (root[:, None] * Y))) ** 2, axis=1)
    scale, d = float(s[-1]) or 1.0, Y.shape[1]

    def value(decade: float) -> float:
        keep = 1.0 / (1.0 + s / (scale * 10.0**decade))
        if criterion == "gcv":
            return float(np.log(squares @ keep**2) - 2 * np.log(np.sum(keep)))
        return float(len(s) * d * np.log(squares @ keep) - d * np.sum(np.log(keep)))

    best = int(np.argmin([value(decade) for decade in PENALTY_DECADES]))
    low, high = (
        PENALTY_DECADES[max(best - 1, 0)],
        PENALTY_DECADES[min(best + 1, len(PENALTY_DECADES) - 1)],
    )
    answer = minimize_scalar(value, bounds=(low, high), method="bounded", options={"xatol": 1e-8})
    return float(scale * 10.0**answer.x)
