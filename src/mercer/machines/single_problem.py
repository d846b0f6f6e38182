"""Machines of one problem: a number for every point."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d

from mercer.gram.base import Gram
from mercer.kernels.algebra import terms
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.machines.approximated import by_blocks
from mercer.machines.base import KernelMachine
from mercer.machines.expansion import Array
from mercer.problems.risk import RegularizedRisk
from mercer.reduced.targets import Targets, Values
from mercer.solvers import Solution

__all__ = ["Regression", "SingleProblem"]


class SingleProblem(KernelMachine):
    """A machine that is one expansion: declare its problem and how to read the solution."""

    @abstractmethod
    def _problem(self, B: Array, K: Gram, y: Array, c: Array) -> RegularizedRisk:
        """Return the problem; ``B`` are the unpenalized columns."""

    def _read(self, solution: Solution) -> tuple[Array, Array]:
        """Return expansion and unpenalized coefficients of the solved problem."""
        return solution.a, solution.b

    def _encode(self, y: Any) -> tuple[Array, float]:
        return column_or_1d(y, warn=True).astype(np.float64, copy=False), 1.0

    def _n_problems(self) -> int:
        return 1

    def _problems(self, B: Array, K: Gram, y: Any, c: Array) -> list[tuple[str, RegularizedRisk]]:
        return [("", self._problem(B, K, y, c))]

    def _assemble(self, X: Any, y: Any, solutions: list[Solution]) -> None:
        a, b = self._read(solutions[0])
        index = np.flatnonzero(a)
        self._store(X, index, a[index, None])
        self._n_support = np.array([len(index)], dtype=np.int32)
        self.null_space_coef_ = b
        self.intercept_ = np.atleast_1d(self._intercept(b))
        self._intercept_ = self.intercept_
        self.n_iter_ = int(solutions[0].n_iter)

    def _decision(self, X: Any) -> Array:
        """Evaluate the fitted function."""
        return self._evaluate(self._check_new(X))

    def _evaluate(self, X: Any) -> Array:
        """Evaluate the fitted function at points that were checked."""
        return (
            self._flat(self._expand(X, self._dual_coef_.T))
            + self.null_space_(X) @ self.null_space_coef_.T
        )

    def _flat(self, F: Array) -> Array:
        """Return values of all outputs, (n, d), as a machine of one output predicts them."""
        return F[:, 0]

    def predict_parts(self, X: Any) -> dict[str, Array]:
        """Evaluate the parts whose sum is the fitted function.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        dict of ndarray of shape (n_samples,) or (n_samples, n_outputs)
            One entry a term of the kernel, under its representation, and one an unpenalized
            function, under its name in ``null_space_names_``.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import KernelRegressor
        >>> from mercer.kernels import Gaussian
        >>> X = np.random.default_rng(0).normal(size=(30, 2))
        >>> kernel = Gaussian(1.0).on([0]) + Gaussian(2.0).on([1])
        >>> machine = KernelRegressor(kernel=kernel).fit(X, X[:, 0] ** 2 + X[:, 1])
        >>> parts = machine.predict_parts(X)
        >>> list(parts)
        ['Gaussian(length_scale=1.0).on([0])', 'Gaussian(length_scale=2.0).on([1])', '1']
        >>> np.allclose(sum(parts.values()), machine.predict(X))
        True
        """
        X = self._check_new(X)
        parts: dict[str, Array] = {}
        components: list[tuple[str, Kernel | None]] = [("kernel", None)]
        if not self._function:
            components = [(repr(kernel), kernel) for kernel in terms(self.kernel_)]
        for name, kernel in components:
            f = self._flat(self._expand(X, self._dual_coef_.T, kernel))
            parts[name] = parts[name] + f if name in parts else f
        b, columns = np.atleast_2d(self.null_space_coef_), self.null_space_(X)
        shares = [self._flat(np.outer(columns[:, j], b[:, j])) for j in range(b.shape[1])]
        return parts | dict(zip(self.null_space_names_, shares, strict=True))


class Regression(RegressorMixin, SingleProblem):  # type: ignore[misc]
    """A machine that predicts a number: declare ``_loss``, or the problem itself."""

    def _loss(self) -> Loss:
        """Return the loss that defines the machine."""
        raise NotImplementedError

    def _compared(self) -> Loss:
        return self._loss()

    def _reduced_loss(self) -> Loss:
        if type(self)._loss is Regression._loss:
            return super()._reduced_loss()
        return self._loss()

    def _reduced_targets(self, labels: Any) -> tuple[Targets, Array]:
        return Values(1), np.ones(1)

    def _problem(self, B: Array, K: Gram, y: Array, c: Array) -> RegularizedRisk:
        loss = self._check_loss(self._loss(), len(y))
        return RegularizedRisk(loss, K, y, c, B)

    @by_blocks
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
