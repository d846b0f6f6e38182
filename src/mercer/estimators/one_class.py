"""The one-class machine: the region where most of a sample lies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import OutlierMixin

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import num_samples
from mercer._typing import AnyArray, Array, Function, PointsLike, TargetsLike, WeightsLike
from mercer.data.opening import is_source
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.losses.classification import Hinge
from mercer.machines.base import KernelMachine
from mercer.machines.evaluating import dense
from mercer.machines.fitted import FittedExpansion
from mercer.machines.kernel_kinds import is_precomputed
from mercer.machines.low_rank import LowRankProblem, by_blocks
from mercer.machines.regression import predict_parts
from mercer.machines.subproblems import Rows, Sample, SolvedSubproblem, Subproblem
from mercer.machines.unpenalized import constant_column
from mercer.problems.nu import one_class
from mercer.reduced.problem import Ones, VariableOffset

__all__ = ["OneClassSVM"]

# By which part of the largest value that its terms can make a value may differ between batches.
ROUNDING = 1e-12


@settings
class OneClassSVM(OutlierMixin, KernelMachine):  # type: ignore[misc]
    r"""Estimate the support of a distribution, a drop-in replacement for scikit-learn's.

    .. math::

        \min_{f, \rho} \tfrac12 \|f\|^2 + \sum_i s_i \bigl(\max(0, \rho - f(x_i)) - \nu \rho\bigr)

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol : Kernel or str, int, str or float, float, float
        As in :class:`SVR`.
    nu : float, default=0.5
        Upper bound on the fraction of the sample left outside and lower bound on the fraction of
        support vectors, in (0, 1].
    shrinking, cache_size, verbose, max_iter :
        As in :class:`SVR`.
    null_space, max_time, gram, solver, warm_start, standardize :
        As in :class:`SVR`.
    approximation : Approximation, "auto" or None
        As in :class:`SVR`: the low-rank approximation of the machine.

    Attributes
    ----------
    offset_ : ndarray of shape (1,)
        The level :math:`\rho`: ``decision_function = score_samples - offset_``.
    support_, support_vectors_, dual_coef_, intercept_, n_support_, solution_ :
        As in :class:`SVR`.

    Examples
    --------
    >>> from mercer import OneClassSVM
    >>> X = [[0], [0.44], [0.45], [0.46], [1]]
    >>> OneClassSVM(gamma="auto").fit(X).predict([[0.45], [1.0], [5.0]])
    array([ 1, -1, -1])
    """

    _: KW_ONLY
    kernel: Kernel | str | Function = "rbf"
    nu: float = 0.5
    shrinking: bool = True

    predict_parts = predict_parts

    def _weight(self) -> float:
        return 1.0

    def _targets(self, y: TargetsLike) -> Array:
        if isinstance(self.gamma, str) and self.gamma == "tuned":
            raise ValueError("gamma='tuned' needs targets; use 'median' or a number.")
        return super()._targets(y)

    def _loss(self, rows: Rows | None = None) -> Loss:
        return Hinge(margin=0.0)  # whose offset is a variable

    def _validate(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike) -> Rows:
        return super()._validate(X, np.ones(num_samples(X)) if y is None else y, sample_weight)

    def _subproblems(self, sample: Sample) -> Sequence[Subproblem]:
        return [
            Subproblem(
                "",
                one_class(
                    sample.K,
                    sample.weights,
                    self.nu,
                    sample.B,
                    constant_column(self.null_space_names_),
                ),
            )
        ]

    def _low_rank_problem(self, rows: Rows, labels: AnyArray | None) -> LowRankProblem:
        one = constant_column(self.null_space_names_)
        if one is None:
            raise ValueError(
                "the one-class machine needs a constant among the unpenalized functions: its offset"
            )
        offset = VariableOffset(self.nu, one)
        return LowRankProblem(self._loss(rows), Ones(), np.ones(1), width=offset)

    def _assemble(self, sample: Sample, solved: Sequence[SolvedSubproblem]) -> None:
        super()._assemble(sample, solved)
        self.offset_ = -self.intercept_

    def _with_expansion(self, expansion: FittedExpansion) -> Self:
        new = super()._with_expansion(expansion)
        new.offset_ = -new.intercept_
        return new

    def fit(self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None) -> Self:
        """Fit the region to a sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The sample.
        y : ignored
            Present for scikit-learn's interface.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        self
            The fitted machine.
        """
        mapped = self.approximation is not None and isinstance(X, np.memmap)
        streamed = mapped or is_source(X)
        super().fit(X, None if streamed else np.ones(num_samples(X)), sample_weight)
        return self

    @by_blocks
    def decision_function(self, X: PointsLike) -> Array:
        """Evaluate the decision function, positive inside the region and zero on its boundary.

        Values that are zero but for rounding are zero: points of the sample lie on the boundary,
        and their labels are not to depend on the batch that they are in.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New points.

        Returns
        -------
        ndarray of shape (n_samples,)
            Decision values.
        """
        X = self._check_new(X)
        f = self._evaluate(X)
        return np.where(np.abs(f) <= ROUNDING * self._largest(X), 0.0, f)

    def _largest(self, X: PointsLike) -> Array:
        """Return bounds on the terms of decision values, or the level where these are unknown."""
        level = np.full(num_samples(X), np.max(np.abs(self.null_space_coef_), initial=0.0))
        if is_precomputed(self.kernel) or self._X_fit is not None or self._functions is not None:
            return level
        kernel, Z = self.kernel_, self.support_vectors_
        norm = float(np.abs(dense(self._dual_coef_))[0] @ np.sqrt(np.abs(kernel.diag(Z))))
        return level + norm * np.sqrt(np.abs(kernel.diag(X)))

    @by_blocks
    def score_samples(self, X: PointsLike) -> Array:
        """Evaluate the decision function without its offset.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New points.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores, larger inside.
        """
        return np.asarray(self.decision_function(X) + self.offset_)

    @by_blocks
    def predict(self, X: PointsLike) -> Any:
        """Tell inliers (+1), those on the boundary among them, from outliers (-1).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New points.

        Returns
        -------
        ndarray of shape (n_samples,)
            Plus or minus one.
        """
        return np.where(self.decision_function(X) >= 0, 1, -1).astype(np.intp)
