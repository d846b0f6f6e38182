"""A large margin measured by the largest coordinate: sparse linear classification."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from mercer._linear_program import linear_program
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, fit_context
from mercer._typing import Array, Constraints, PointsLike, TargetsLike, WeightsLike
from mercer_research.linear._hyperplanes import Hyperplanes
from mercer_research.linear._model import Optimum

__all__ = ["OneNormSVC"]


@settings
class OneNormSVC(Hyperplanes):
    r"""A linear classifier with a large margin and few inputs.

    .. math:: \min_{w, b} \|w\|_1 + C \sum_i s_i \max(0,\, 1 - y_i (w'x_i + b))

    a linear program, solved in its dual form with one variable for each sample and one row for each
    input,

    .. math:: \max_\alpha \sum_i \alpha_i \quad\text{subject to}\quad
              \Bigl|\sum_i \alpha_i y_i x_{id}\Bigr| \le 1, \quad \sum_i \alpha_i y_i = 0, \quad
              0 \le \alpha_i \le C s_i .

    Inputs whose row is not tight have the coefficient zero; a smaller C leaves fewer, until none
    is left. More than two classes are divided each from the rest. (scikit-learn's ``LinearSVC``
    has this penalty only with the squared hinge loss, and penalizes the constant.)

    Parameters
    ----------
    C : float, default=1.0
        Weight of the errors against the norm.
    class_weight : dict or "balanced", optional
        Factors of C for the classes.
    fit_intercept : bool, default=True
        Fit the constant b.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The coefficients w.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The constants b.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    dual_coef_ : ndarray of shape (1, n_samples) or (n_classes, n_samples)
        The signed multipliers :math:`\alpha_i y_i`.
    solutions_ : list of Optimum
        The value of each program, and its bound by duality.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (6.18).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import OneNormSVC
    >>> X = np.array([[-2.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [2.0, -1.0]])
    >>> model = OneNormSVC(C=10.0).fit(X, ["a", "a", "b", "b"])
    >>> model.coef_.round(9) + 0.0
    array([[1., 0.]])
    >>> model.predict([[0.5, 3.0]])
    array(['b'], dtype='<U1')
    """

    C: float = 1.0
    _: KW_ONLY

    _parameter_constraints: ClassVar[Constraints] = {
        "C": [Interval(Real, 0.0, None, closed="neither")],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike = None) -> Self:
        """Solve one linear program for two classes, else one for each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs; the norm depends on their scales.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples' errors.
        """
        X, index, s, positive = self._classes(X, y, sample_weight)
        fits = [
            self._program(X, np.where(index == k, 1.0, -1.0), float(self.C) * s) for k in positive
        ]
        self._keep(fits)
        self.dual_coef_ = np.stack([optimum.multipliers for optimum in self.solutions_])
        return self

    def _program(self, X: Array, y: Array, c: Array) -> tuple[Array, float, Optimum]:
        Z = y[:, None] * X
        p = X.shape[1]
        balance: dict[str, Any] = {}
        if self.fit_intercept:
            balance = {"A_eq": y[None, :], "b_eq": np.zeros(1)}
        answer = linear_program(
            -np.ones(len(y)),
            A_ub=np.vstack([Z.T, -Z.T]),
            b_ub=np.ones(2 * p),
            bounds=np.column_stack([np.zeros(len(y)), c]),
            **balance,
        )
        m = answer.ineqlin.marginals
        w = m[p:] - m[:p]
        b = -float(answer.eqlin.marginals[0]) if self.fit_intercept else 0.0
        hinge = np.maximum(0.0, 1.0 - y * (X @ w + b))
        value = float(np.abs(w).sum() + c @ hinge)
        return w, b, Optimum(value, float(answer.x.sum()), y * answer.x)
