"""The coverage of prediction intervals: counted on new data, or bounded without new data."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from mercer.inspect.risk import Terms, check_bounded, norm_of
from mercer.smoothing.coverage import CoverageReport, coverage_of

__all__ = ["TubeRisk", "coverage_report", "tube_risk_bound"]


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


@dataclass(frozen=True)
class TubeRisk(Terms):
    r"""The terms of a bound on :math:`P(|y - f(x)| > \tau)`.

    The empirical term is what lies outside the tube of the sample.
    """

    halfwidth: float
    """Half-width t of the tube."""

    tau: float
    """The larger half-width that the bound is for."""

    delta: float
    """The probability with which the bound may fail."""

    @property
    def vacuous(self) -> bool:
        """Whether the bound is at least 1, which every probability satisfies."""
        return self.value >= 1.0


def tube_risk_bound(
    machine: Any, X: Any, y: ArrayLike, tau: float, *, delta: float = 0.05
) -> TubeRisk:
    r"""Bound the probability that a new observation lies farther than tau from a function.

    With probability at least :math:`1 - \delta` over samples, for all functions of norm up to B and
    :math:`\tau > t`,

    .. math:: P(|y - f(x)| > \tau) \le \frac{1}{n(\tau - t)} \sum_i (|y_i - f(x_i)| - t)_+
              + \frac{4 B \sqrt{\operatorname{tr} K}}{n(\tau - t)}
              + 3 \sqrt{\frac{\ln(2/\delta)}{2n}}

    As of :func:`risk_bound`, the norm B is read off the machine although the theorem wants it
    beforehand: a diagnostic, and vacuous for most samples. For a statement to act on calibrate on
    data held out, :meth:`mercer.estimators.SupportVectorTube.calibrate`.

    Parameters
    ----------
    machine : fitted SupportVectorTube or NuSVR
        Without unpenalized functions (``null_space=Empty()``).
    X, y
        The sample it was fitted to.
    tau : float
        A half-width larger than that of the tube.
    delta : float, default=0.05
        Probability with which the bound may fail.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, theorem 3.3, eq. (3.71).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators import SupportVectorTube
    >>> from mercer.inspect import tube_risk_bound
    >>> from mercer.regularizers import Empty
    >>> X = np.linspace(-3, 3, 400)[:, None]
    >>> tube = SupportVectorTube(mu=1.0, null_space=Empty()).fit(X, np.sinc(X[:, 0]))
    >>> bound = tube_risk_bound(tube, X, np.sinc(X[:, 0]), tau=2.0)
    >>> bound.vacuous, bound.empirical < 1e-6
    (False, True)
    """
    check_bounded(machine, delta)
    t = float(machine.tube_halfwidth_ if hasattr(machine, "tube_halfwidth_") else machine.epsilon_)
    if not tau > t:
        raise ValueError(f"tau={tau!r} must exceed the half-width of the tube, {t:.6g}.")
    y = np.asarray(y, dtype=np.float64)
    n, f = len(y), machine.predict(X)
    norm = norm_of(machine, f)
    outside = np.maximum(np.abs(y - f) - t, 0.0)
    trace = float(np.sum(machine.kernel_.diag(X)))
    return TubeRisk(
        empirical=float(np.sum(outside)) / (n * (tau - t)),
        complexity=4.0 * norm * float(np.sqrt(trace)) / (n * (tau - t)),
        confidence=3.0 * float(np.sqrt(np.log(2.0 / delta) / (2.0 * n))),
        halfwidth=t,
        tau=float(tau),
        delta=delta,
    )
