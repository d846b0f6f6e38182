"""The one-class machine: the region where most of a sample lies."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _num_samples

from mercer.estimators._regression import Regression
from mercer.estimators.base import Array, KernelMachine
from mercer.gram.base import Gram
from mercer.problems.nu import one_class
from mercer.problems.risk import RegularizedRisk

__all__ = ["OneClassSVM"]


class OneClassSVM(OutlierMixin, Regression):  # type: ignore[misc]
    r"""Estimate the support of a distribution, a drop-in replacement for scikit-learn's.

    .. math:: \min_{f, \rho} \tfrac12 \|f\|^2 + \sum_i s_i \bigl(\max(0, \rho - f(x_i)) - \nu \rho\bigr)

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol : Kernel or str, int, str or float, float, float
        As in :class:`SVR`.
    nu : float, default=0.5
        Upper bound on the fraction of the sample left outside and lower bound on the fraction of
        support vectors, in (0, 1].
    shrinking, cache_size, verbose, max_iter :
        As in :class:`SVR`.
    max_time, gram, solver, warm_start :
        As in :class:`SVR`.

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
    >>> OneClassSVM(gamma="auto").fit(X).predict(X)
    array([-1,  1,  1,  1, -1])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelMachine._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
        "shrinking": ["boolean"],
    }
    _parameter_constraints.pop("C")

    def __init__(
        self,
        *,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        tol=1e-3,
        nu=0.5,
        shrinking=True,
        cache_size=200,
        verbose=False,
        max_iter=-1,
        max_time=None,
        gram="auto",
        solver="auto",
        warm_start=False,
    ):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.max_time = max_time
        self.gram = gram
        self.solver = solver
        self.warm_start = warm_start

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "outlier_detector"
        tags.regressor_tags = None
        tags.target_tags.required = False
        return tags

    def _weight(self) -> float:
        return 1.0

    def _problem(self, K: Gram, y: Array, c: Array, B: Array) -> RegularizedRisk:
        return one_class(K, c, self.nu)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
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
        super().fit(X, np.ones(_num_samples(X)), sample_weight=sample_weight)
        self.offset_ = -self._intercept_
        return self

    def decision_function(self, X: Any) -> Array:
        """Evaluate the decision function, positive inside the region.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New points.

        Returns
        -------
        ndarray of shape (n_samples,)
            Decision values.
        """
        return self._decision(self._check_new(X))

    def score_samples(self, X: Any) -> Array:
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
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> Any:
        """Tell inliers (+1) from outliers (-1).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New points.

        Returns
        -------
        ndarray of shape (n_samples,)
            Plus or minus one.
        """
        return np.where(self.decision_function(X) > 0, 1, -1).astype(np.intp)
