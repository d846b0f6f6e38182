"""What the regression machines share: one problem, one expansion."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin, _fit_context
from sklearn.callback import with_callbacks
from sklearn.utils.validation import column_or_1d

from mercer.estimators.base import Array, KernelMachine
from mercer.gram.base import Gram
from mercer.losses.base import Loss
from mercer.problems.risk import RegularizedRisk
from mercer.regularizers.null_space import Constant, NullSpace
from mercer.solvers import Solution, Status

__all__ = ["Regression"]


class Regression(RegressorMixin, KernelMachine):  # type: ignore[misc]
    """A machine that predicts a number: declare ``_loss``, or the problem itself."""

    def _loss(self) -> Loss:
        """Return the loss that defines the machine."""
        raise NotImplementedError

    def _null_space(self) -> NullSpace:
        """Return what stays unpenalized; an intercept unless declared otherwise."""
        return Constant()

    def _problem(self, K: Gram, y: Array, c: Array, B: Array) -> RegularizedRisk:
        """Return the problem; the loss's own unless declared otherwise."""
        return RegularizedRisk(self._loss(), K, y, c, B)

    def _read(self, solution: Solution) -> tuple[Array, Array]:
        """Return expansion and unpenalized coefficients of a solved problem."""
        return solution.a, solution.b

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the machine to a sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs; the kernel matrix (n_samples, n_samples) for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples' losses.

        Returns
        -------
        self
            The fitted machine.
        """
        X, y = self._check_X(X, y)
        y = column_or_1d(y, warn=True).astype(np.float64, copy=False)
        weights = self._check_weights(sample_weight, len(y))
        context = self._init_callback_context(max_subtasks=1)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        K = self._make_gram(X)
        null_space = self._null_space()
        risk = self._problem(K, y, self._weight() * weights, null_space(X))
        self._solutions = self._minimize([("", risk)], 1, context)
        (self.solution_,) = self._solutions
        a, b = self._read(self.solution_)
        self.null_space_ = null_space
        self._store(X, np.flatnonzero(a), a[a != 0][:, None])
        self._dual_coef_ = self.dual_coef_
        self._set_b(b)
        self._n_support = np.array([len(self.support_), 0], dtype=np.int32)
        self.n_iter_ = int(self.solution_.n_iter)
        self.fit_status_ = int(self.solution_.status is not Status.CONVERGED)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _set_b(self, b: Array) -> None:
        self.null_space_coef_ = b
        self.intercept_ = b if isinstance(self.null_space_, Constant) else np.zeros(1)
        self._intercept_ = self.intercept_

    def predict(self, X: Any) -> Array:
        """Evaluate the fitted function.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted values.
        """
        return self._decision(self._check_new(X))

    def _decision(self, X: Any) -> Array:
        null_space = self.null_space_
        coef = self._dual_coef_.T
        if isinstance(null_space, Constant):
            return np.asarray(self._expand(X, coef, self._intercept_, None)[:, 0])
        return np.asarray(self._expand(X, coef, self.null_space_coef_[:, None], null_space)[:, 0])

    @property
    def n_support_(self) -> Any:
        """Number of support vectors."""
        if not hasattr(self, "support_"):
            raise AttributeError("n_support_ is available after fit")
        return self._n_support[:1]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "support_")
