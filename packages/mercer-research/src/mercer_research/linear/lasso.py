"""The lasso with a bound, its whole path, and the point of the path that validation prefers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Self

import numpy as np
from sklearn.linear_model import lars_path

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, fit_context
from mercer._typing import Array, Constraints, PointsLike, SplitterLike, TargetsLike, WeightsLike
from mercer_research.linear._model import LinearModel, Optimum
from mercer_research.linear._validation import Split, Validated

__all__ = [
    "LassoConstrained",
    "PiecewiseLinearPath",
    "ValidatedLasso",
    "best_along",
    "lasso_homotopy",
]


@dataclass(frozen=True)
class PiecewiseLinearPath:
    """Coefficients that are linear in a parameter between knots.

    Parameters
    ----------
    parameters : ndarray of shape (k,)
        The knots, in descending order.
    coefs : ndarray of shape (k, p)
        Coefficients at the knots.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import PiecewiseLinearPath
    >>> path = PiecewiseLinearPath(np.array([2.0, 0.0]), np.array([[0.0], [1.0]]))
    >>> path.at(0.5), path.norms
    (array([0.75]), array([0., 1.]))
    """

    parameters: Array
    coefs: Array

    @property
    def norms(self) -> Array:
        """The 1-norms at the knots."""
        return np.asarray(np.abs(self.coefs).sum(axis=1))

    def at(self, t: float | Array) -> Array:
        """Return the coefficients at one value of the parameter (p,), or at several (m, p).

        Beyond the first and the last knot they stay what they are there.
        """
        # np.interp wants ascending knots.
        columns = [np.interp(t, self.parameters[::-1], c[::-1]) for c in self.coefs.T]
        return np.stack(columns, axis=-1)

    def with_norm(self, tau: float) -> float:
        """Return the largest parameter whose coefficients have a given 1-norm."""
        return float(np.interp(tau, self.norms, self.parameters))


def lasso_homotopy(X: Array, y: Array) -> PiecewiseLinearPath:
    r"""Return all minimizers of :math:`\|y - Xw\|^2 + \lambda \|w\|_1`, from the null model on.

    Parameters
    ----------
    X, y : ndarray of shape (n, p) and (n,)
        A design and targets without a free constant.

    Returns
    -------
    PiecewiseLinearPath
        In the multiplier :math:`\lambda`, which ends at the largest correlation
        :math:`2 \max |X'y|` above and at zero below. The steps are those of scikit-learn's
        ``lars_path``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import lasso_homotopy
    >>> lasso_homotopy(np.eye(2), np.array([1.0, 3.0])).parameters
    array([6., 2., 0.])
    """
    correlations = np.abs(X.T @ y)
    # Below this there is no correlation but what rounding makes of none.
    if not correlations.max(initial=0.0) > 1e-13 * np.linalg.norm(X) * np.linalg.norm(y):
        return PiecewiseLinearPath(np.zeros(1), np.zeros((1, X.shape[1])))
    alphas, _, coefs = lars_path(X, y, method="lasso")
    return PiecewiseLinearPath(2.0 * len(y) * alphas, np.asarray(coefs.T, dtype=np.float64))


def best_along(
    paths: Sequence[PiecewiseLinearPath], splits: Sequence[Split]
) -> tuple[float, float]:
    r"""Return the parameter with the least cost of validation, and that cost, over whole paths.

    Between knots the cost is a parabola: with the errors :math:`e` at one end and the change
    :math:`\delta` of the predictions to the other, its lowest point is at the fraction
    :math:`\operatorname{clip}(\delta'e / \delta'\delta, 0, 1)`. The best of all segments is the
    best of the path; of several with the same cost the largest parameter is taken.

    Parameters
    ----------
    paths : sequence of PiecewiseLinearPath
        One for each split, all in the same parameter.
    splits : sequence of Split
        Which data judge each path.
    """
    knots = np.unique(np.concatenate([path.parameters for path in paths]))[::-1]
    slope, curve, start = np.zeros(len(knots) - 1), np.zeros(len(knots) - 1), np.zeros(len(knots))
    for path, split in zip(paths, splits, strict=True):
        E = split.y_val - path.at(knots) @ split.X_val.T
        D = E[:-1] - E[1:]
        start += np.sum(E**2, axis=1)
        slope += np.sum(D * E[:-1], axis=1)
        curve += np.sum(D**2, axis=1)
    theta = np.clip(slope / np.where(curve > 0, curve, 1.0), 0.0, 1.0)
    inner = start[:-1] - 2.0 * theta * slope + theta**2 * curve
    places = np.append(knots[:-1] + theta * np.diff(knots), knots[-1])
    costs = np.append(inner, start[-1])
    best = np.flatnonzero(costs <= costs.min() + 1e-13 * start.max())
    winner = best[np.argmax(places[best])]
    return float(places[winner]), 0.5 * float(max(costs[winner], 0.0))


@settings
class LassoConstrained(LinearModel):
    r"""Least squares under a bound on the sum of the absolute coefficients.

    .. math:: \min_{w, b} \sum_i s_i (y_i - w'x_i - b)^2
              \quad\text{subject to}\quad \|w\|_1 \le \tau

    by the whole path of solutions, which is linear between finitely many knots in :math:`\tau` as
    well as in the multiplier :math:`\lambda` of the bound. Either may be given; scikit-learn's
    ``Lasso(alpha)`` is :math:`\lambda = 2 n \alpha`.

    Parameters
    ----------
    tau : float, optional
        The bound.
    lam : float, optional
        Its multiplier :math:`\lambda`, instead of the bound. With neither there is no bound.
    fit_intercept : bool, default=True
        Fit the constant b.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    coef_, intercept_ :
        The hyperplane.
    tau_, lam_ : float
        The norm that is reached, and the multiplier; zero where the bound is not felt.
    path_ : PiecewiseLinearPath
        All solutions, in :math:`\lambda`; ``path_.norms`` are the values of :math:`\tau`.
    solution_ : Optimum
        The sum of squares with a lower bound, by the gradient :math:`g` at the answer: no other
        point with that norm is lower by more than :math:`g'w + \tau \|g\|_\infty`.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (6.4).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import LassoConstrained
    >>> X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> model = LassoConstrained(tau=2.5).fit(X, [3.0, -3.0, 1.0, -1.0])
    >>> model.coef_, round(model.lam_, 9)
    (array([2.25, 0.25]), 3.0)
    """

    tau: float | None = None
    _: KW_ONLY
    lam: float | None = None

    _parameter_constraints: ClassVar[Constraints] = {
        "tau": [Interval(Real, 0.0, None, closed="left"), None],
        "lam": [Interval(Real, 0.0, None, closed="left"), None],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike = None) -> Self:
        """Follow the path and stop at the bound.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs; the norm depends on their scales.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the squared errors.
        """
        if self.tau is not None and self.lam is not None:
            raise ValueError("Give the bound tau or its multiplier lam, not both.")
        data = self._centred(X, y, sample_weight)
        self.path_ = lasso_homotopy(data.X, data.y)
        lam = float(self.path_.parameters[-1]) if self.lam is None else float(self.lam)
        if self.tau is not None:
            lam = self.path_.with_norm(float(self.tau))
        w = self.path_.at(lam)
        r = data.y - data.X @ w
        g = -2.0 * (data.X.T @ r)
        self.lam_ = min(lam, float(self.path_.parameters[0]))
        self.tau_ = float(np.abs(w).sum())
        value = float(r @ r)
        gap = float(g @ w) + self.tau_ * float(np.max(np.abs(g)))
        self.solution_ = Optimum(value, value - gap, 2.0 * r)
        self._keep(data, w)
        return self


@settings
class ValidatedLasso(Validated):
    r"""The lasso whose bound minimizes an error of validation, exactly and without a grid.

    .. math:: \min_\lambda \sum_v \|y^v - X^v w_\lambda\|^2, \qquad
              w_\lambda = \arg\min_w \|y - Xw\|^2 + \lambda \|w\|_1

    On each segment of the path the error is a parabola, so that the best of all :math:`\lambda` is
    found by one look at every segment. With cross-validation the sum goes over the folds, with one
    :math:`\lambda` for all of them.

    Parameters
    ----------
    cv : int or cross-validation splitter, default=5
        Folds that validate, as in :func:`~mercer.machines.folds.as_splitter`, unless validation
        data are given to :meth:`fit`.
    fit_intercept : bool, default=True
        Fit a free constant.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    coef_, intercept_ :
        The hyperplane: of the training data if validation data were given, else of all data.
    lam_, tau_ : float
        The multiplier, and the bound that belongs to it.
    path_ : PiecewiseLinearPath
        The path of the data that ``coef_`` belongs to.
    validation_cost_ : float
        Half of the sum of the squared errors of validation at ``lam_``.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, definition 7.1 and eq. (6.4).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import ValidatedLasso
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 8))
    >>> y = 3 * X[:, 0] + rng.standard_normal(60)
    >>> model = ValidatedLasso().fit(X, y)
    >>> bool(model.coef_[0] > 2.5), bool(np.abs(model.coef_[1:]).max() < 0.3)
    (True, True)
    """

    _: KW_ONLY
    cv: SplitterLike = 5

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: PointsLike, y: TargetsLike, X_val: PointsLike = None, y_val: TargetsLike = None
    ) -> Self:
        """Follow the paths and take the best point.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Targets.
        X_val, y_val : array-like of shape (n_validation, n_features) and (n_validation,), optional
            Validation data, instead of ``cv``.
        """
        train, splits = self._splits(X, y, X_val, y_val)
        paths = [lasso_homotopy(split.train.X, split.train.y) for split in splits]
        self.lam_, self.validation_cost_ = best_along(paths, splits)
        self.path_ = lasso_homotopy(train.X, train.y) if X_val is None else paths[0]
        w = self.path_.at(self.lam_)
        self.tau_ = float(np.abs(w).sum())
        self._keep(train, w)
        return self
