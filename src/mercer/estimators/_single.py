"""Machines of one problem: a number for every point."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d

from mercer.estimators._expansion import Array
from mercer.estimators.base import KernelMachine
from mercer.gram.base import Gram
from mercer.losses.base import Loss
from mercer.problems.risk import RegularizedRisk
from mercer.regularizers.null_space import Constant, NullSpace
from mercer.solvers import Solution

__all__ = ["Regression", "SingleProblem"]


class SingleProblem(KernelMachine):
    """A machine that is one expansion: declare its problem and how to read the solution."""

    def _null_space(self) -> NullSpace:
        """Return what stays unpenalized; an intercept unless declared otherwise."""
        return Constant()

    @abstractmethod
    def _problem(self, X: Any, K: Gram, y: Array, c: Array) -> RegularizedRisk:
        """Return the problem."""

    def _read(self, solution: Solution) -> tuple[Array, Array]:
        """Return expansion and unpenalized coefficients of the solved problem."""
        return solution.a, solution.b

    def _encode(self, y: Any) -> tuple[Array, float]:
        return column_or_1d(y, warn=True).astype(np.float64, copy=False), 1.0

    def _n_problems(self) -> int:
        return 1

    def _problems(self, X: Any, K: Gram, y: Any, c: Array) -> list[tuple[str, RegularizedRisk]]:
        return [("", self._problem(X, K, y, c))]

    def _assemble(self, X: Any, y: Any, solutions: list[Solution]) -> None:
        a, b = self._read(solutions[0])
        index = np.flatnonzero(a)
        self._store(X, index, a[index, None])
        self._n_support = np.array([len(index)], dtype=np.int32)
        self.null_space_, self.null_space_coef_ = copy.deepcopy(self._null_space()), b
        self.intercept_ = np.atleast_1d(self._intercept(self.null_space_, b))
        self._intercept_ = self.intercept_
        self.n_iter_ = int(solutions[0].n_iter)

    def _decision(self, X: Any) -> Array:
        """Evaluate the fitted function."""
        X = self._check_new(X)
        return (
            self._expand(X, self._dual_coef_.T)[:, 0] + self.null_space_(X) @ self.null_space_coef_
        )


class Regression(RegressorMixin, SingleProblem):  # type: ignore[misc]
    """A machine that predicts a number: declare ``_loss``, or the problem itself."""

    def _loss(self) -> Loss:
        """Return the loss that defines the machine."""
        raise NotImplementedError

    def _problem(self, X: Any, K: Gram, y: Array, c: Array) -> RegularizedRisk:
        loss = self._check_loss(self._loss(), len(y))
        return RegularizedRisk(loss, K, y, c, self._null_space()(X))

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
        return self._decision(X)
