"""Machines with every part left open: any loss, any kernel, anything unpenalized."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import StrOptions
from mercer._typing import Constraints, Function, PointsLike, TargetsLike, WeightsLike
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.losses.classification import Logistic
from mercer.losses.softmax import Softmax
from mercer.machines.callbacks import TaskContext
from mercer.machines.coupled import pose_coupled, refuse_uncoupled, solve_coupled
from mercer.machines.one_vs_rest import OneVsRest
from mercer.machines.outputs import Outputs
from mercer.machines.subproblems import Rows, Sample, SolvedSubproblem, Subproblem
from mercer.regularizers.errors import ErrorModel
from mercer.solvers import Solution

__all__ = ["KernelClassifier", "KernelLogisticRegression", "KernelRegressor"]


@settings
class KernelRegressor(Outputs):
    r"""Minimize a regularized risk for any convex loss, kernel, unpenalized part and error model.

    .. math:: \min_{f, b} \tfrac12 \|f\|^2 + C \sum_i s_i\, l(y_i, f(x_i) + b' p(x_i))

    Targets of shape (n, d) are d outputs: one function each, penalized alike,
    :math:`\tfrac12 \sum_k \|f_k\|^2`, so that no direction among the outputs is preferred, or by
    :math:`\tfrac12 \sum_{kl} (S^{-1})_{kl} \langle f_k, f_l \rangle` with their covariance S.

    Parameters
    ----------
    loss : Loss or str, default="squared"
        What an error costs; parameters of a :class:`~mercer.losses.Loss` are reached as
        ``loss__epsilon``.
    kernel : Kernel, str or callable, default="rbf"
        Reproducing kernel of the penalty.
    null_space : NullSpace, optional
        Unpenalized functions :math:`p`; an intercept by default.
    errors : ErrorModel, optional
        Covariance of the errors, :mod:`mercer.regularizers.errors`: the loss, its parameters
        and the weights of samples act on whitened errors, :math:`W(y - f)` with
        :math:`W C W' = 1`, so that every loss of residuals combines with every model. Without it
        errors are as they come.
    output_covariance : array-like of shape (n_outputs, n_outputs), optional
        The covariance S of the outputs, for the squared loss; the identity by default.
    C : float or "auto", default=1.0
        Weight of the summed loss against the penalty; "auto" as in :class:`SVR`.
    degree, gamma, coef0, tol, cache_size, verbose, max_iter :
        As in :class:`SVR`.
    max_time, gram, solver, warm_start, standardize :
        As in :class:`SVR`.
    approximation : Approximation, Local, "auto" or None
        As in :class:`SVR`: the low-rank approximation of the machine.

    Attributes
    ----------
    null_space_coef_ : ndarray of shape (q,) or (n_outputs, q)
        Coefficients of the unpenalized functions.
    null_space_condition_ : float
        Condition number of these functions on the sample, each divided by its length: how far
        their coefficients are determined. Above 1e6 a fit warns with ``CollinearColumns``;
        dependent functions (infinity) get the shortest coefficients. Fewer samples than functions
        are an error.
    dual_coef_ : ndarray of shape (n_outputs, n_support)
        Coefficients of the expansion, one row an output.
    support_, support_vectors_, intercept_, n_support_, solution_ :
        As in :class:`SVR`; ``solution_`` is that of the whitened problem.
    innovations_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The whitened errors of the sample, if `errors` are given.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import EpsilonInsensitive
    >>> from mercer.regularizers import Polynomial
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> y = 3.0 * X[:, 0] + np.sin(9 * X[:, 0])
    >>> machine = KernelRegressor(
    ...     loss=EpsilonInsensitive(0.01), kernel=Gaussian(0.2), null_space=Polynomial(1), C=10.0
    ... ).fit(X, y)
    >>> machine.null_space_coef_.shape, machine.solution_.converged
    ((2,), True)
    """

    loss: Loss | str = "squared"
    kernel: Kernel | str | Function = "rbf"
    _: KW_ONLY
    errors: ErrorModel | None = None
    output_covariance: Any = None
    C: float | str = 1.0


@settings
class KernelClassifier(OneVsRest):
    r"""Classify by minimizing a regularized risk for any convex loss of the margin.

    .. math:: \min_{f, b} \tfrac12 \|f\|^2 + C \sum_i s_i\, l(y_i, f(x_i) + b' p(x_i))

    Several classes are decided by one machine per class against the rest.

    Parameters
    ----------
    loss : Loss or str, default="squared_hinge"
        What a wrong or narrow decision costs.
    kernel : Kernel, str or callable, default="rbf"
        Reproducing kernel of the penalty.
    null_space : NullSpace, optional
        Unpenalized functions :math:`p`; an intercept by default.
    C : float or "auto", default=1.0
        Weight of the summed loss against the penalty; "auto" as in :class:`SVR`.
    class_weight : dict or "balanced", optional
        Factors of ``C`` by class.
    degree, gamma, coef0, tol, cache_size, verbose, max_iter :
        As in :class:`SVC`.
    max_time, gram, solver, warm_start, standardize :
        As in :class:`SVC`.
    approximation : Approximation, Local, "auto" or None
        As in :class:`SVR`: the low-rank approximation of the machine.

    Attributes
    ----------
    classes_, support_, support_vectors_, dual_coef_ :
        Classes, samples that carry the machine, and their coefficients, a row a class (one row for
        two).
    null_space_coef_ : ndarray of shape (n_machines, q)
        Coefficients of the unpenalized functions.
    solution_ : Solution
        Objective, duality gap, status, iterations and timings; sums over the classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = KernelClassifier(loss="squared_hinge", C=10.0).fit(X, y)
    >>> machine.score(X, y) > 0.95
    True
    """

    loss: Loss | str = "squared_hinge"
    kernel: Kernel | str | Function = "rbf"
    _: KW_ONLY
    C: float | str = 1.0


@settings
class KernelLogisticRegression(OneVsRest):
    r"""Kernel logistic regression: class probabilities from a smooth machine.

    .. math:: \min_{f, b} \tfrac12 \|f\|^2 + C \sum_i s_i \log(1 + e^{-y_i (f(x_i) + b)})

    Several classes are decided by one machine per class against the rest, whose probabilities are
    normalized, or by one machine with a function for every class and the softmax loss,

    .. math:: \min_{f, b} \tfrac12 \sum_c \|f_c\|^2
              + C \sum_i s_i \Bigl(\log \sum_c e^{f_c(x_i) + b_c} - f_{y_i}(x_i) - b_{y_i}\Bigr).

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        Reproducing kernel of the penalty.
    multi_class : {"ovr", "multinomial"}, default="ovr"
        How more than two classes are decided: by one machine per class against the rest, or by
        the softmax loss, which makes one problem of all classes. Its probabilities add up to one
        by themselves and are usually better; a fit takes 2.4 times as long at 500 rows, 14 times
        at 2,000, and has no approximation. Two classes are the same machine either way.
    C : float or "auto", default=1.0
        Weight of the summed loss against the penalty; "auto" as in :class:`SVR`.
    class_weight : dict or "balanced", optional
        Factors of ``C`` by class.
    degree, gamma, coef0, tol, cache_size, verbose, max_iter :
        As in :class:`SVC`.
    null_space, max_time, gram, solver, warm_start, standardize :
        As in :class:`SVC`; the softmax loss has Newton's method for a solver.
    approximation : Approximation, Local, "auto" or None
        As in :class:`SVR`: the low-rank approximation of the machine.

    Attributes
    ----------
    classes_, support_, support_vectors_, dual_coef_, intercept_, solution_ :
        As in :class:`KernelClassifier`.

    Notes
    -----
    The dual of the softmax loss is a maximum entropy: probabilities :math:`p_i` of the classes at
    every sample, with coefficients :math:`a_{ic} = C s_i (1[y_i = c] - p_{ic})`, maximize
    :math:`-\tfrac12 \sum_c a_c' K a_c - C \sum_{ic} s_i\, p_{ic} \log p_{ic}`, and have the sums of
    the labels over the unpenalized functions. The gap in ``solution_`` is
    :math:`C \sum_i s_i \operatorname{KL}(p_i \| \operatorname{softmax} f(x_i))`.

    References
    ----------
    J. Zhu, T. Hastie (2005), Kernel logistic regression and the import vector machine, Journal of
    Computational and Graphical Statistics 14.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelLogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = KernelLogisticRegression(C=10.0).fit(X, y)
    >>> machine.predict_proba(X[:1]).argmax()
    np.int64(0)
    >>> machine = KernelLogisticRegression(C=10.0, multi_class="multinomial").fit(X, y)
    >>> machine.predict_proba(X[[0, 70]]).round(2)
    array([[0.99, 0.01, 0.  ],
           [0.01, 0.49, 0.5 ]])
    """

    kernel: Kernel | str | Function = "rbf"
    _: KW_ONLY
    C: float | str = 1.0
    multi_class: str = "ovr"

    _parameter_constraints: ClassVar[Constraints] = {
        "multi_class": [StrOptions({"ovr", "multinomial"})],
    }

    def fit(self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None) -> Self:
        if self.multi_class == "multinomial":
            refuse_uncoupled(self, X)
        super().fit(X, y, sample_weight)
        return self

    def _loss(self, rows: Rows | None = None) -> Loss:
        return Logistic()

    @property
    def _coupled(self) -> bool:
        """Whether all classes are one problem."""
        return self.multi_class == "multinomial" and len(self.classes_) > 2

    def _subproblems(self, sample: Sample) -> Sequence[Subproblem]:
        return [pose_coupled(self, sample)] if self._coupled else super()._subproblems(sample)

    def _minimize(
        self, subproblems: Sequence[Subproblem], context: TaskContext
    ) -> Sequence[Solution]:
        if self._coupled:
            return [solve_coupled(self, subproblems[0], context)]
        return super()._minimize(subproblems, context)

    def _assemble(self, sample: Sample, solved: Sequence[SolvedSubproblem]) -> None:
        if self._coupled:
            ((solution, a, b, _),) = solved
            k = len(self.classes_)
            solved = [
                SolvedSubproblem(solution, *part)
                for part in zip(a.reshape(k, -1), b.reshape(k, -1), strict=True)
            ]
        super()._assemble(sample, solved)
        if self._coupled:
            self.loss_ = Softmax()
