"""Machines at the same training error, and two classes whose best rule is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.base import clone
from sklearn.utils import check_random_state

from mercer._typing import Array, PointsLike, Seed, SupportVectors, TargetsLike
from mercer.inspect.margins import empirical_risk, margin_report

__all__ = ["MatchedMachine", "TwoGaussians", "match_errors"]


@dataclass(frozen=True, eq=False)
class TwoGaussians:
    r"""Two classes of which the best rule is known.

    .. math:: f(x) = (\mu_+ - \mu_-)'\Sigma^{-1} x - \tfrac12 (\mu_+'\Sigma^{-1}\mu_+ -
              \mu_-'\Sigma^{-1}\mu_-), \qquad \text{error } \Phi(-\Delta/2), \quad
              \Delta^2 = (\mu_+ - \mu_-)'\Sigma^{-1}(\mu_+ - \mu_-)

    for classes that are equally likely and Gaussian with one covariance.

    Parameters
    ----------
    positive, negative : array-like of shape (p,)
        Means.
    covariance : array-like of shape (p, p), optional
        The identity by default.

    References
    ----------
    A. J. Smola, P. Bartlett, B. Schoelkopf, D. Schuurmans, Introduction to large margin
    classifiers, in *Advances in Large Margin Classifiers*, eq. (1.4)-(1.9); the constant of the
    density is :math:`(2\pi)^{p/2}`.

    Examples
    --------
    >>> from mercer_research.diagnostics import TwoGaussians
    >>> classes = TwoGaussians([1.0, 0.0], [-1.0, 0.0])
    >>> round(classes.error, 4), classes.decision([[0.5, 7.0]])
    (0.1587, array([1.]))
    """

    positive: ArrayLike
    negative: ArrayLike
    covariance: ArrayLike | None = None

    @property
    def _sigma(self) -> Array:
        p = len(np.asarray(self.positive))
        return np.eye(p) if self.covariance is None else np.asarray(self.covariance, dtype=float)

    @property
    def weights(self) -> Array:
        """The weights of the best hyperplane, (p,)."""
        difference = np.asarray(self.positive, dtype=float) - np.asarray(self.negative)
        return np.asarray(np.linalg.solve(self._sigma, difference))

    @property
    def error(self) -> float:
        """The share of mistakes that no rule goes below."""
        difference = np.asarray(self.positive, dtype=float) - np.asarray(self.negative)
        return float(stats.norm.cdf(-0.5 * np.sqrt(difference @ self.weights)))

    def decision(self, X: ArrayLike) -> Array:
        """Return the logarithm of how much more likely the positive class is, (n,)."""
        middle = 0.5 * (np.asarray(self.positive, dtype=float) + np.asarray(self.negative))
        return np.asarray((np.asarray(X, dtype=float) - middle) @ self.weights)

    def density(self, X: ArrayLike, label: int) -> Array:
        """Return the joint density of inputs and a label, plus or minus one, (n,)."""
        mean = np.asarray(self.positive if label > 0 else self.negative, dtype=float)
        points = np.asarray(X, dtype=np.float64)
        return 0.5 * np.atleast_1d(stats.multivariate_normal(mean, self._sigma).pdf(points))

    def draw(self, n: int, random_state: Seed = None) -> tuple[Array, Array]:
        """Return n inputs and their labels plus and minus one."""
        rng = check_random_state(random_state)
        y = np.where(rng.uniform(size=n) < 0.5, 1.0, -1.0)
        noise = rng.standard_normal((n, len(self._sigma))) @ np.linalg.cholesky(self._sigma).T
        means = np.where(y[:, None] > 0, np.asarray(self.positive), np.asarray(self.negative))
        return means + noise, y


@dataclass(frozen=True, eq=False)
class MatchedMachine:
    """A kind of machine at the error that it was matched to."""

    name: str
    parameter: dict[str, Any]
    """The setting that came nearest."""

    machine: SupportVectors
    error: float
    """Share of mistakes on the sample it was matched on."""

    test_error: float
    """On a test sample; not a number without one."""

    norm: float
    """Norm of the function in the space of the kernel."""

    total: float
    """Sum of the sizes of the coefficients."""

    support: int
    """How many samples have one."""

    minimum: float
    """The smallest margin over the norm: the least distance of a sample to the boundary."""


def match_errors(
    families: Mapping[str, tuple[Any, str, Sequence[Any]]],
    X: PointsLike,
    y: TargetsLike,
    *,
    error: float | None = None,
    X_test: PointsLike = None,
    y_test: TargetsLike = None,
) -> list[MatchedMachine]:
    r"""Compare regularizers at the same training error.

    The same expansion and hinge loss with three ways to regularize: the squared norm (``SVC``),
    the sum of the coefficients (``SparseClassifier``), and margins that adapt
    (``AdaptiveMarginSVC``). What they do to norm, coefficients and margins can be compared once
    each is set to make as many mistakes as the others.

    Parameters
    ----------
    families : dict of (estimator, parameter, values)
        Each kind of machine, the parameter that regularizes it, and its values.
    X, y : array-like
        A sample of two classes.
    error : float, optional
        The error to match; by default the largest of what each family does at its best.
    X_test, y_test : array-like, optional
        A test sample.

    Returns
    -------
    list of MatchedMachine
        One of each family, in their order: of settings equally near, the first.

    References
    ----------
    J. Weston, R. Herbrich, Adaptive margin support vector machines, in *Advances in Large Margin
    Classifiers*, section 2.4.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer_research.estimators import AdaptiveMarginSVC
    >>> from mercer_research.diagnostics import TwoGaussians, match_errors
    >>> X, y = TwoGaussians([1.0, 0.0], [-1.0, 0.0]).draw(60, 0)
    >>> families = {
    ...     "norm": (SVC(gamma=0.5), "C", [0.01, 1.0, 100.0]),
    ...     "adaptive": (AdaptiveMarginSVC(gamma=0.5), "lam", [5.0, 1.0, 0.1]),
    ... }
    >>> [found.name for found in match_errors(families, X, y)]
    ['norm', 'adaptive']
    """
    fitted = {
        name: [clone(estimator).set_params(**{key: value}).fit(X, y) for value in values]
        for name, (estimator, key, values) in families.items()
    }
    errors = {
        name: np.array([empirical_risk(machine, X, y) for machine in machines])
        for name, machines in fitted.items()
    }
    goal = max(float(e.min()) for e in errors.values()) if error is None else float(error)
    rows = []
    for name, (_, key, values) in families.items():
        k = int(np.argmin(np.abs(errors[name] - goal)))
        machine = fitted[name][k]
        report = margin_report(machine, X, y)
        rows.append(
            MatchedMachine(
                name=name,
                parameter={key: values[k]},
                machine=machine,
                error=float(errors[name][k]),
                test_error=np.nan if X_test is None else empirical_risk(machine, X_test, y_test),
                norm=report.norm,
                total=float(abs(machine.dual_coef_).sum()),
                support=len(machine.support_),
                minimum=report.minimum / report.norm if report.norm > 0 else np.nan,
            )
        )
    return rows
