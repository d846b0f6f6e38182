"""Machines that predict numbers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from mercer._params import check_sample_weight
from mercer._settings import settings
from mercer._sklearn import StrOptions, num_samples
from mercer._typing import AnyArray, Array, Constraints, PointsLike, TargetsLike, WeightsLike
from mercer.data.opening import is_source
from mercer.kernels.algebra import terms
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.losses.named import REGRESSION, resolve
from mercer.machines.base import KernelMachine
from mercer.machines.evaluating import expand
from mercer.machines.kernel_kinds import is_function
from mercer.machines.low_rank import LowRankProblem, by_blocks
from mercer.machines.scoring import r2
from mercer.machines.subproblems import Rows
from mercer.reduced.problem import Values
from mercer.regularizers.errors import ErrorModel

__all__ = ["Regression", "predict_parts"]


def predict_parts(self: Any, X: PointsLike) -> dict[str, Array]:
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
    if not is_function(self.kernel):
        components = [(repr(kernel), kernel) for kernel in terms(self.kernel_)]
    for name, kernel in components:
        f = self._flat(expand(self, X, self._dual_coef_.T, kernel))
        parts[name] = parts[name] + f if name in parts else f
    b, columns = np.atleast_2d(self.null_space_coef_), self.null_space_(X)
    shares = [self._flat(np.outer(columns[:, j], b[:, j])) for j in range(b.shape[1])]
    return parts | dict(zip(self.null_space_names_, shares, strict=True))


@settings
class Regression(RegressorMixin, KernelMachine):  # type: ignore[misc]
    """A machine that predicts a number: by its parameter `loss`, or a loss that it declares."""

    _parameter_constraints: ClassVar[Constraints] = {
        "loss": [Loss, StrOptions(set(REGRESSION))],
        "errors": [ErrorModel, None],
        "output_covariance": ["array-like", None],
    }

    def _loss(self, rows: Rows | None = None) -> Loss:
        return resolve(self.loss, REGRESSION)

    predict_parts = predict_parts

    def _low_rank_problem(self, rows: Rows, labels: AnyArray | None) -> LowRankProblem:
        return LowRankProblem(self._loss(rows), Values(1), np.ones(1))

    @by_blocks
    def predict(self, X: PointsLike) -> Array:
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
        return self._evaluate(self._check_new(X))

    def score(
        self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None
    ) -> float:
        """Return the coefficient of determination of the predictions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or Source
            New inputs; a source has its targets, and is read once, block by block.
        y : array-like of shape (n_samples,), optional
            Their targets; not needed where `X` has them.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        float
            1 for predictions without error, 0 for those of the mean.
        """
        if is_source(X):
            return r2(self, X, y, sample_weight)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, num_samples(X))
        return float(super().score(X, y, sample_weight))
