"""Regression of one or several outputs, on errors as they are or whitened."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import column_or_1d

from mercer._typing import AnyArray, Array, PointsLike, TargetsLike
from mercer.gram.remembered import FactorizedGram
from mercer.gram.whitened import whiten
from mercer.losses.base import Loss
from mercer.machines.expansion import store_nonzero
from mercer.machines.low_rank import LowRankProblem
from mercer.machines.regression import Regression
from mercer.machines.subproblems import (
    Rows,
    Sample,
    SampleGram,
    SolvedSubproblem,
    Subproblem,
    check_loss,
)
from mercer.problems.risk import RegularizedRisk
from mercer.reduced.problem import Values
from mercer.regularizers.errors import ErrorModel
from mercer.solvers import Solution

__all__ = ["Outputs"]

# Kernel and noise enter through their sum: this alike in shape, data do not tell them apart.
ALIKE_CORRELATION = 0.99


class Outputs(Regression):
    """A machine that predicts a number or several, and may know the covariance of its errors."""

    _several: ClassVar[bool] = True
    output_covariance: Any = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _encode(self, y: TargetsLike) -> tuple[Array, float]:
        y = np.asarray(y)
        if y.ndim == 2:
            self._n_outputs: int | None = y.shape[1]
            return y.astype(np.float64, copy=False), 1.0
        self._n_outputs = None
        return column_or_1d(y).astype(np.float64, copy=False), 1.0

    def _plain_gram(self, rows: Rows) -> SampleGram:
        """Return the Gram of errors as they are."""
        return SampleGram(self._make_gram(rows))

    def _build_gram(self, rows: Rows) -> SampleGram:
        laid = self._plain_gram(rows)
        for name in ("errors_", "innovations_", "_residual_coef", "_residual_X"):
            self.__dict__.pop(name, None)
        if self.errors is None:
            return laid
        errors: ErrorModel = copy.deepcopy(self.errors)
        if hasattr(self, "feature_names_in_"):
            errors = errors.bind(list(self.feature_names_in_))
        self.errors_ = errors
        W = errors.whitening(rows.X)
        if laid.K.in_memory:
            _warn_if_alike(laid.K.dense(), errors.matrix(rows.X))
        return laid._replace(K=whiten(laid.K, W), whitening=W)

    def _subproblems(self, sample: Sample) -> Sequence[Subproblem]:
        loss, K, B = check_loss(self._loss(sample), len(sample.y)), sample.K, sample.B
        targets, B, c = sample.white(sample.y), sample.white(B), self._weight() * sample.weights
        turn, shares = self._coupling(loss)
        if self._n_outputs is None:
            return [Subproblem("", RegularizedRisk(loss, K, targets, c, B))]
        if K.resident:
            K = FactorizedGram(K)
        return [
            Subproblem(f"output {k}", RegularizedRisk(loss, K, target, share * c, B))
            for k, (target, share) in enumerate(zip((targets @ turn).T, shares, strict=True))
        ]

    def _low_rank_problem(self, rows: Rows, labels: AnyArray | None) -> LowRankProblem:
        if self.errors is not None:
            raise ValueError(
                "correlated errors need all rows at once; fit them without an approximation, "
                "on a part of the rows."
            )
        turn, shares = self._coupling(self._loss())
        targets = Values(self._n_outputs or 1, None if self.output_covariance is None else turn)
        return LowRankProblem(self._loss(rows), targets, shares)

    def _coupling(self, loss: Loss) -> tuple[Array, Array]:
        """Return the directions among the outputs that do not know of each other, and their sizes.

        The squared loss looks the same from every direction, so that eigenvectors of the covariance
        take the penalty apart.
        """
        d = self._n_outputs or 1
        if self.output_covariance is None:
            return np.eye(d), np.ones(d)
        S = np.asarray(self.output_covariance, dtype=np.float64)
        if not loss.quadratic:
            raise ValueError("output_covariance couples outputs of the squared loss only.")
        if S.shape != (d, d) or not np.allclose(S, S.T):
            raise ValueError(
                f"output_covariance must be a symmetric matrix {(d, d)}, got shape {S.shape}."
            )
        sizes, turn = np.linalg.eigh(S)
        if not sizes[0] > 0:
            raise ValueError(
                "output_covariance must be positive definite; predict an output that is a "
                "combination of others from those."
            )
        return turn, sizes

    def _assemble(self, sample: Sample, solved: Sequence[SolvedSubproblem]) -> None:
        turn, _ = self._coupling(self._loss())
        A = sample.unwhitened(np.stack([one.a for one in solved], axis=1) @ turn.T)
        if sample.basis is not None:
            A = sample.basis @ A
        b = turn @ np.stack([one.b for one in solved])
        self._keep(sample.X, A, b, [one.solution for one in solved])
        if sample.whitening is not None:
            # Of the function that is predicted, not of what a solver carried along in float32.
            self.innovations_ = sample.white(sample.y - self._evaluate(sample.X))
            self._residual_coef = sample.unwhitened(self.innovations_)
            self._residual_X = sample.X

    def _keep(self, X: PointsLike, A: Array, b: Array, solutions: list[Solution]) -> None:
        """Make the machine of coefficients (n, outputs) and of free ones (outputs, q)."""
        store_nonzero(self, X, A, b if self._n_outputs else b[0])
        self.n_iter_ = max(int(solution.n_iter) for solution in solutions)

    def _flat(self, F: Array) -> Array:
        return F if self._n_outputs else F[:, 0]

    def predict_observation(self, X: PointsLike) -> Array:
        r"""Predict new observations: the fitted function and the part of the error that is known.

        .. math:: f(x) + \rho(x)' C^{-1} (y - f), \qquad
                  \rho_i(x) = \operatorname{cov}(e(x), e_i), \quad C = \operatorname{cov}(e)

        the best linear prediction of an observation whose error is correlated with those of the
        sample. For the squared loss :math:`C^{-1}(y - f)` is :math:`a / C` with the weight C of the
        loss. At the points of the sample themselves it returns the observations, unless the
        covariance has a nugget.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs. Errors in the order of time without a `time` of their own go on after the
            sample.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)

        References
        ----------
        K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (9.27), which lacks the
        weight of the loss.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import KernelRegressor
        >>> from mercer.kernels import Gaussian
        >>> from mercer.regularizers import AutoRegressive
        >>> t = np.arange(30.0)[:, None]
        >>> errors = AutoRegressive(0.8, time=0)
        >>> machine = KernelRegressor(kernel=Gaussian(10.0), errors=errors).fit(t, np.sin(t[:, 0]))
        >>> np.allclose(machine.predict_observation(t), np.sin(t[:, 0]))
        True
        """
        X = self._check_new(X)
        f = self._evaluate(X)
        if not hasattr(self, "errors_"):
            return f
        return np.asarray(f + self.errors_.cross(X, self._residual_X) @ self._residual_coef)


def _warn_if_alike(K: Array, C: Array) -> None:
    """Warn if kernel and covariance of errors have one shape: only their sum is observed."""
    norms = np.linalg.norm(K) * np.linalg.norm(C)
    if len(K) > 2 and np.vdot(K, C) > ALIKE_CORRELATION * norms:
        warnings.warn(
            "The kernel matrix and the covariance of the errors have the same shape (alignment "
            f"{np.vdot(K, C) / norms:.3f}), so data cannot tell the function from its errors; use "
            "a wider kernel, or errors with less memory.",
            UserWarning,
            stacklevel=2,
        )
