"""Least-squares support vector machines: one linear system, and all that it tells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions
from mercer._typing import AnyArray, Array, Constraints, Function
from mercer.gram.factor import MAX_BYTES
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.losses.regression import Squared
from mercer.machines import ls_diagnostics
from mercer.machines.base import HARD
from mercer.machines.fitted import FittedExpansion
from mercer.machines.framing import set_output
from mercer.machines.kernel_kinds import is_function, is_precomputed
from mercer.machines.low_rank import LowRankProblem
from mercer.machines.ls_report import Report, kept, quick_listing
from mercer.machines.outputs import Outputs
from mercer.machines.prediction_intervals import predict_interval
from mercer.machines.subproblems import Coefficients, Rows, Sample, SolvedSubproblem, Subproblem
from mercer.reduced.solve import Reduced
from mercer.regularizers.errors import ErrorModel
from mercer.smoothing.eigendecomposition import Spectral
from mercer.smoothing.secular import Morozov, WeightRule
from mercer.solvers import Solution

__all__ = ["LSSVR"]


@settings
class LSSVR(Outputs):
    r"""Least-squares support vector regression, also known as kernel ridge with an intercept.

    .. math:: \min_{f, b} \tfrac12 \|f\|^2 + \tfrac{C}{2} \sum_i s_i (y_i - f(x_i) - b' p(x_i))^2

    It is the linear system

    .. math::

        \begin{pmatrix} K + \operatorname{diag}(1/c) & B \\ B' & 0 \end{pmatrix} \binom{a}{b}
        = \binom{y}{0}, \qquad c_i = C s_i,

    and the posterior mean of a Gaussian process with noise of variance :math:`1/C` in units of the
    kernel. The literature calls C by the name of gamma; ``KernelRidge(alpha=1/C)`` is the machine
    with ``null_space=Empty()``. What its inverse tells is computed when it is first asked for.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        Reproducing kernel of the penalty.
    C : float, "auto" or WeightRule, default=1.0
        Weight of the summed loss against the penalty (Tikhonov), "auto" as in :class:`SVR`; or what
        is known instead:
        ``Morozov(variance)`` leaves residuals of the variance of the noise, ``Ivanov(norm)`` bounds
        the norm; of :mod:`mercer.smoothing`. ``Morozov(variance, std)`` is the mean of machines
        over an interval of variances, one expansion, which has no diagnostics.
    null_space : NullSpace, optional
        Unpenalized functions :math:`p`; an intercept by default.
    errors : ErrorModel, optional
        Covariance of the errors, as in :class:`KernelRegressor`.
    output_covariance : array-like of shape (n_outputs, n_outputs), optional
        The covariance of the outputs, as in :class:`KernelRegressor`.
    degree, gamma, coef0, tol, cache_size, verbose, max_iter :
        As in :class:`SVR`.
    max_time, gram, solver, warm_start, standardize :
        As in :class:`SVR`.
    approximation : Approximation, Local, "auto" or None
        As in :class:`SVR`: the low-rank approximation of the machine.

    Attributes
    ----------
    C_ : float or ndarray
        The weight that was used, or those of the machines that were averaged.
    degrees_of_freedom_ : float
        Trace of the smoother, the effective number of parameters.
    leverages_ : ndarray of shape (n_samples,)
        Diagonal of the smoother.
    loo_residuals_, loo_predictions_ : ndarray like y
        Of the machines that lack one sample each, exactly, at no refit. The kernel and C are kept.
    cost_sensitivity_ : ndarray like y
        Derivative of the optimal value by the targets.
    noise_variance_ : float or ndarray of shape (n_outputs,)
        Variance of the errors of samples of weight one: known, or the most likely.
    dual_coef_ : ndarray of shape (n_outputs, n_support)
        Coefficients a of the expansion, :math:`c_i` times the residuals, one row an output.
    null_space_coef_ : ndarray of shape (q,) or (n_outputs, q)
        Coefficients b of the unpenalized functions.
    support_, support_vectors_, intercept_, n_support_, solution_, innovations_ :
        As in :class:`KernelRegressor`; ``solution_`` of a mean is that of its heaviest machine.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (3.8) to (3.15), with the sign
    of the dual corrected, lemma 3.4, sec. 3.3.3, eq. (4.1) to (4.5), and sec. 6.3.1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR
    >>> X = np.linspace(-3, 3, 50)[:, None]
    >>> machine = LSSVR(C=10.0, gamma=1.0).fit(X, np.sinc(X[:, 0]))
    >>> machine.score(X, np.sinc(X[:, 0])) > 0.98
    True
    >>> bool(np.mean(machine.loo_residuals_**2) < 1e-3), round(machine.degrees_of_freedom_, 1)
    (True, 9.5)
    """

    kernel: Kernel | str | Function = "rbf"
    _: KW_ONLY
    C: float | str | WeightRule = 1.0
    errors: ErrorModel | None = None
    output_covariance: Any = None

    _parameter_constraints: ClassVar[Constraints] = {
        "C": [Interval(Real, 0.0, None, closed="right"), StrOptions({"auto"}), WeightRule],
    }

    # What the sample that is kept tells after the fit, without fitting again ---------------------

    cost_sensitivity_ = property(ls_diagnostics.cost_sensitivity)
    degrees_of_freedom_ = property(ls_diagnostics.degrees_of_freedom)
    leverages_ = property(ls_diagnostics.leverages)
    loo_predictions_ = property(ls_diagnostics.loo_predictions)
    loo_residuals_ = property(ls_diagnostics.loo_residuals)
    noise_variance_ = property(ls_diagnostics.noise_variance)
    contributions = ls_diagnostics.contributions
    influence = ls_diagnostics.influence
    jackknife = ls_diagnostics.jackknife
    log_marginal_likelihood = ls_diagnostics.log_marginal_likelihood
    path = ls_diagnostics.path
    sensitivity_curve = ls_diagnostics.sensitivity_curve
    smoother_matrix = ls_diagnostics.smoother_matrix
    predict = ls_diagnostics.predict
    predict_interval = predict_interval
    set_output = set_output
    __dir__ = quick_listing
    _lazy: ClassVar[frozenset[str]] = frozenset(
        {
            "cost_sensitivity_",
            "degrees_of_freedom_",
            "leverages_",
            "loo_predictions_",
            "loo_residuals_",
            "noise_variance_",
        }
    )

    def _loss(self, rows: Rows | None = None) -> Loss:
        return Squared()

    def _weight(self) -> float:
        return 1.0 if isinstance(self.C, WeightRule) else float(super()._weight())

    def _subproblems(self, sample: Sample) -> Sequence[Subproblem]:
        self.C_: Any = self._weight()
        self._noise_known = self.C.variance if isinstance(self.C, Morozov) else None
        if not isinstance(self.C, WeightRule):
            return super()._subproblems(sample)
        factor, mean = self._chosen(self.C, sample)
        subproblems = super()._subproblems(replace(sample, weights=factor * sample.weights))
        if mean is None:
            return subproblems
        # The machine is a mean of several, and what is solved is the heaviest of them.
        A, b = (part.reshape(len(part), -1).T for part in mean)

        def read(k: int) -> Callable[[Solution], Coefficients]:
            return lambda _: Coefficients(A[k], b[k])

        return [one._replace(read=read(k)) for k, one in enumerate(subproblems)]

    def _chosen(self, rule: WeightRule, sample: Sample) -> tuple[float, tuple[Array, ...] | None]:
        """Return C, and the mean of machines if the rule finds several."""
        s = self._weight() * sample.weights
        if self.output_covariance is not None:
            raise ValueError("a rule for C knows of no output_covariance; give C itself.")
        if 4 * 8.0 * len(s) ** 2 > MAX_BYTES:
            raise ValueError(
                f"{type(rule).__name__} takes an eigendecomposition, too large for {len(s)} "
                "samples; find C on a part of them."
            )
        targets = sample.white(sample.y)
        spectral = Spectral(sample.K.dense().astype(np.float64), sample.white(sample.B), s)
        C, weights = rule.choose(spectral, targets)
        C = np.minimum(C, HARD)
        if len(C) == 1:
            self.C_ = C[0].item()
            return float(C[0]), None
        parts = [spectral.coefficients(targets, float(one)) for one in C]
        mean = [np.tensordot(weights, np.stack(part), axes=1) for part in zip(*parts, strict=True)]
        self.C_ = C
        return float(C[np.argmax(weights)]), tuple(mean)

    def _low_rank_problem(self, rows: Rows, labels: AnyArray | None) -> LowRankProblem:
        if isinstance(self.C, WeightRule):
            raise ValueError(
                f"{type(self.C).__name__} takes an eigendecomposition of all rows; with an "
                "approximation give C itself, or 'auto'."
            )
        return super()._low_rank_problem(rows, labels)

    def _assemble_reduced(
        self, found: Reduced, sample: Sample, solved: Sequence[SolvedSubproblem]
    ) -> None:
        super()._assemble(sample, solved)
        self.C_, self._noise_known = self._weight(), None
        self._report: Report | None = None

    def _assemble(self, sample: Sample, solved: Sequence[SolvedSubproblem]) -> None:
        super()._assemble(sample, solved)
        self._report = None
        if np.ndim(self.C_):
            return  # a mean of machines is no machine of one linear system
        turn, shares = self._coupling(self._loss())
        X, whole = sample.X, is_function(self.kernel) or is_precomputed(self.kernel)
        self._report = Report(
            kernel=self._kernel_fit if is_function(self.kernel) else self.kernel_,
            X=X if whole else kept(X, self.support_vectors_),
            B=sample.B,
            y=np.array(sample.y).reshape(len(sample.y), -1),
            c=self.C_ * sample.weights,
            errors=getattr(self, "errors_", None),
            turn=turn,
            shares=shares,
            kind=self.gram,
        )
        if sample.basis is None and sample.whitening is None and not self._report.coupled:
            self._report.read_left_out([one.solution for one in solved])

    def _with_expansion(self, expansion: FittedExpansion) -> Self:
        new = super()._with_expansion(expansion)
        new._report = None
        return new
