"""Boosting, looked at as the search for a wide margin."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._params import check_sample_weight
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import HasMethods, Interval, fit_context
from mercer._typing import Array, Constraints, PointsLike, Seed, TargetsLike, WeightsLike
from mercer_research.linear._hyperplanes import TwoClasses

__all__ = ["MarginBoost", "boosting_bound"]


def boosting_bound(errors: ArrayLike, rho: ArrayLike) -> Any:
    r"""Bound the share of training samples whose margin is below rho.

    .. math:: R_\rho(f) \le 2^T \prod_{t=1}^T \sqrt{\epsilon_t^{1 - \rho}
              (1 - \epsilon_t)^{1 + \rho}}

    Parameters
    ----------
    errors : array-like of shape (T,)
        Weighted errors of the weak learners, between 0 and 1/2.
    rho : float or array-like
        Margins.

    References
    ----------
    R. E. Schapire, Y. Freund, P. Bartlett, W. S. Lee, 1998; *Advances in Large Margin
    Classifiers*, theorem 1.12, eq. (1.86).

    Examples
    --------
    >>> round(boosting_bound([0.2, 0.3], 0.0), 4)
    0.7332
    """
    e, r = np.asarray(errors, dtype=np.float64), np.asarray(rho, dtype=np.float64)[..., None]
    if np.any((e < 0) | (e > 0.5)):
        raise ValueError("Errors of weak learners lie between 0 and 1/2.")
    with np.errstate(divide="ignore"):
        # An error of zero makes the bound zero for every margin below one.
        logs = np.log(2.0) + 0.5 * ((1.0 - r) * np.log(e) + (1.0 + r) * np.log1p(-e))
    bound = np.exp(np.sum(logs, axis=-1))
    return float(bound) if bound.ndim == 0 else bound


@settings
class MarginBoost(TwoClasses):
    r"""AdaBoost for two classes, with the margins of its combination.

    .. math:: f(x) = \frac{\sum_t a_t g_t(x)}{\sum_t a_t} \in [-1, 1], \qquad
              a_t = \tfrac12 \ln \frac{1 - \epsilon_t}{\epsilon_t}, \qquad
              D_{t+1}(i) = \frac{D_t(i)\, e^{-a_t y_i g_t(x_i)}}{2\sqrt{\epsilon_t (1 -
              \epsilon_t)}}

    A baseline to compare margin distributions with. scikit-learn's ``AdaBoostClassifier`` is the
    same reweighting; it has no normalized margins by stage, no bound on their distribution, and
    goes on past a learner without errors.

    Parameters
    ----------
    estimator : classifier, optional
        The weak learner, which takes sample weights; a tree of one cut by default.
    n_estimators : int, default=50
        Largest number of rounds.
    random_state : int or RandomState, optional
        Passed to weak learners that have one.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels.
    estimators_ : list of classifiers
        The weak learners. A learner without errors ends the rounds and is the only one kept; one
        that is no better than chance ends them before it is added.
    estimator_weights_, estimator_errors_, normalizers_ : ndarray of shape (T,)
        :math:`a_t`, :math:`\epsilon_t` and :math:`Z_t = 2\sqrt{\epsilon_t (1 - \epsilon_t)}`,
        whose product bounds the training error.
    margins_ : ndarray of shape (n_samples,)
        Margins :math:`y_i f(x_i)` of the training sample.
    weights_ : ndarray of shape (n_samples,)
        The distribution :math:`D_{T+1}` in which the last learner is as good as chance.

    References
    ----------
    A. J. Smola, P. Bartlett, B. Schoelkopf, D. Schuurmans, Introduction to large margin
    classifiers, in *Advances in Large Margin Classifiers*, table 1.2 and theorem 1.12.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mercer_research.linear import MarginBoost, boosting_bound
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MarginBoost(n_estimators=20).fit(X, y)
    >>> below = (model.margins_ < 0.1).mean()
    >>> bool(below <= boosting_bound(model.estimator_errors_, 0.1))
    True
    """

    estimator: Any = None
    _: KW_ONLY
    n_estimators: int = 50
    random_state: Seed = None

    _parameter_constraints: ClassVar[Constraints] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike = None) -> Self:
        """Add weak learners, each for the mistakes of its predecessors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sample_weight : array-like of shape (n_samples,), optional
            The distribution to begin with; uniform by default.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        labels = self._signs(y)
        s = check_sample_weight(sample_weight, X.shape[0])
        D = s / s.sum()
        rng = check_random_state(self.random_state)
        learners: list[Any] = []
        errors, total = [], np.zeros(len(y))
        for _ in range(self.n_estimators):
            learner = self._learner(rng).fit(X, y, sample_weight=D)
            g = self._sign(learner, X)
            error = float(D[g != labels].sum())
            if error >= 0.5:
                break
            if error == 0.0:
                learners, errors, total = [learner], [0.0], g
                break
            a = 0.5 * np.log((1.0 - error) / error)
            learners.append(learner)
            errors.append(error)
            total = total + a * g
            D = D * np.exp(-a * labels * g)
            D /= D.sum()
        if not learners:
            raise ValueError(
                "The weak learner is no better than chance in the first round; use another learner."
            )
        self.estimators_, self.weights_ = learners, D
        e = self.estimator_errors_ = np.array(errors)
        self.estimator_weights_ = (
            0.5 * np.log((1.0 - e) / e) if np.all(e > 0) else np.ones(len(learners))
        )
        self.normalizers_ = 2.0 * np.sqrt(e * (1.0 - e))
        self.margins_ = labels * total / self.estimator_weights_.sum()
        return self

    def _ending(self) -> str:
        n, margin = len(self.estimators_), float(np.min(self.margins_))
        return f"fitted, {n} learners, smallest margin {margin:.4g}"

    def _learner(self, rng: Any) -> Any:
        learner = DecisionTreeClassifier(max_depth=1) if self.estimator is None else self.estimator
        learner = clone(learner)
        if "random_state" in learner.get_params():
            learner.set_params(random_state=rng.randint(2**31 - 1))
        return learner

    def _sign(self, learner: Any, X: Array) -> Array:
        return np.where(learner.predict(X) == self.classes_[1], 1.0, -1.0)

    def staged_decision(self, X: PointsLike) -> Array:
        """Return the normalized function after each round, (T, n_samples).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        G = np.stack([self._sign(learner, X) for learner in self.estimators_])
        a = self.estimator_weights_[:, None]
        return np.asarray(np.cumsum(a * G, axis=0) / np.cumsum(a, axis=0))

    def staged_margins(self, X: PointsLike, y: TargetsLike) -> Array:
        """Return margins after each round, (T, n_samples).

        Parameters
        ----------
        X, y : array-like
            Inputs and their labels.
        """
        return np.where(np.asarray(y) == self.classes_[1], 1.0, -1.0) * self.staged_decision(X)

    def decision_function(self, X: PointsLike) -> Array:
        """Evaluate the normalized function, between minus one and one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs.
        """
        return np.asarray(self.staged_decision(X)[-1])
