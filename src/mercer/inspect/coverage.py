"""The coverage of prediction intervals, counted on new data."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from mercer.smoothing.coverage import CoverageReport, coverage_of

__all__ = ["coverage_report"]


def coverage_report(
    machine: Any, X: Any, y: ArrayLike, coverage: float = 0.9, groups: ArrayLike | None = None
) -> CoverageReport:
    """Count how many new observations lie in the intervals of a machine, everywhere and by groups.

    Parameters
    ----------
    machine : fitted regressor with ``predict_interval``
        If that takes a coverage it is asked for this one.
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Observations that took no part in the fit.
    coverage : float, default=0.9
        What the intervals promise.
    groups : array-like of shape (n_samples,), optional
        Groups that are counted apart.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR
    >>> from mercer.inspect import coverage_report
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, (300, 1))
    >>> y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=300)
    >>> machine = LSSVR(C=10.0).fit(X[:200], y[:200])
    >>> report = coverage_report(machine, X[200:], y[200:], groups=X[200:, 0] > 3)
    >>> bool(report.coverage > 0.8), len(report.groups)
    (True, 2)
    """
    check_is_fitted(machine)
    asked = "coverage" in signature(machine.predict_interval).parameters
    ends = machine.predict_interval(X, coverage=coverage) if asked else machine.predict_interval(X)
    low, high = np.asarray(ends).T
    return coverage_of(y, low, high, coverage, groups)
