r"""Predictions that did not see a sample, and the intervals that their errors make.

A new observation and the n of the sample are exchangeable, and so are their errors as long as each
is that of a machine that did not see it. With bases :math:`l_i \le h_i` of such machines, one
prediction or the ends of an interval, and scores

.. math:: e_i = \max(l_i(x_i) - y_i, \; y_i - h_i(x_i)) / \sigma(x_i)

the interval at x is from the low quantile of :math:`l_i(x) - e_i \sigma(x)` to the high one of
:math:`h_i(x) + e_i \sigma(x)`. Which machine did not see what makes the method: one machine and
samples aside (split), one a fold (CV+), one a sample (jackknife+).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from mercer._sklearn import safe_indexing
from mercer._typing import Array, Estimator, IntervalPredictor, PointsLike
from mercer.estimators.ls_svm import LSSVR
from mercer.machines.ls_diagnostics import at
from mercer.machines.ls_report import report_of

__all__ = ["Aside", "LeaveFoldOut", "Refitted", "bases", "conformal_ends", "has_left_out", "refit"]

# Memory for what the machines without a sample predict, and rows of new points at least at once.
CHUNK_BYTES = 2**26
# Rounding of a product that is an integer.
ROUNDING = 4 * np.finfo(np.float64).eps


def bases(machine: IntervalPredictor, X: PointsLike, band: bool) -> tuple[Array, Array]:
    """Return the ends of the intervals of a machine, or its predictions as both of them."""
    if not band:
        f = np.asarray(machine.predict(X), dtype=np.float64)
        return f, f
    low, high = np.asarray(machine.predict_interval(X), dtype=np.float64).T
    return low, high


@dataclass(frozen=True, eq=False)
class Aside:
    """One machine, and samples that it has not seen."""

    machine: IntervalPredictor
    band: bool
    index: NDArray[np.intp]
    """Numbers of those samples."""

    low: Array
    high: Array
    """What the machine says of them."""

    @property
    def group(self) -> NDArray[np.intp]:
        """Which machine has not seen a sample."""
        return np.zeros(len(self.index), dtype=np.intp)

    def __call__(self, X: PointsLike) -> tuple[Array, Array]:
        low, high = bases(self.machine, X, self.band)
        return low[:, None], high[:, None]


@dataclass(frozen=True, eq=False)
class Refitted:
    """One machine a fold."""

    machines: Sequence[Any]
    band: bool
    index: NDArray[np.intp]
    group: NDArray[np.intp]
    low: Array
    high: Array

    def __call__(self, X: PointsLike) -> tuple[Array, Array]:
        low, high = zip(*(bases(machine, X, self.band) for machine in self.machines), strict=True)
        return np.column_stack(low), np.column_stack(high)


@dataclass(frozen=True, eq=False)
class LeaveFoldOut:
    r"""All machines without a fold, from the factorization of the one with all samples.

    .. math:: f^{(-S)}(x) = f(x) - w_S(x)' Q_{SS}^{-1} a_S, \qquad
              y_S - f^{(-S)}(x_S) = Q_{SS}^{-1} a_S

    with the weights w of the targets in a prediction, the inverse Q off the unpenalized functions
    and :math:`a = Qy`. For folds of one sample it is its left-out error.
    """

    machine: LSSVR
    index: NDArray[np.intp]
    group: NDArray[np.intp]
    low: Array
    errors: Array
    """Those of samples without their fold."""

    @property
    def high(self) -> Array:
        """The same: a prediction is both ends of its interval."""
        return self.low

    @classmethod
    def of(cls, machine: LSSVR, group: NDArray[np.intp]) -> LeaveFoldOut:
        """Leave the folds out that samples belong to.

        Parameters
        ----------
        machine : LSSVR
            Fitted exactly, to one output.
        group : (n,) array of int
            To which fold a sample belongs.
        """
        report = report_of(machine)
        live = np.asarray(np.arange(report.n)[report.live])
        y, group = report.y[live, 0], group[live]
        Q = report.factors[0].inverse
        a = np.asarray(Q @ y)
        errors = np.empty(len(y))
        if len(np.unique(group)) == len(group):
            errors = a / np.maximum(np.diag(Q), np.finfo(np.float64).tiny)
        else:
            for k in np.unique(group):
                S = np.flatnonzero(group == k)
                errors[S] = np.linalg.solve(Q[np.ix_(S, S)], a[S])
        return cls(machine, live, group, y - errors, errors)

    def __call__(self, X: PointsLike) -> tuple[Array, Array]:
        X, K, B = at(self.machine, X)
        weights = report_of(self.machine).weights(0, K, B)[:, self.index] * self.errors
        k = int(self.group.max()) + 1
        moved = weights
        if k < len(self.group):
            moved = np.zeros((len(K), k))
            for j in range(k):
                moved[:, j] = np.sum(weights[:, self.group == j], axis=1)
        elif not np.array_equal(self.group, np.arange(k)):
            moved = np.empty_like(weights)
            moved[:, self.group] = weights
        f = self.machine._evaluate(X)[:, None] - moved
        return f, f


def has_left_out(machine: IntervalPredictor) -> bool:
    """Return whether a fitted machine has closed-form leave-one-out residuals."""
    if not isinstance(machine, LSSVR) or getattr(machine, "_report", None) is None:
        return False
    report = report_of(machine)
    return report.errors is None and not report.coupled and report.y.shape[1] == 1


def refit(
    estimator: Estimator,
    X: PointsLike,
    y: Array,
    folds: Sequence[Any],
    weight: Array | None,
    band: bool,
    report: Callable[[int, int, Any], object] = lambda k, n, machine: None,
) -> Refitted:
    """Fit a machine without each of the folds.

    Parameters
    ----------
    estimator : regressor
    X, y, weight
        The sample.
    folds : sequence of pairs of integer arrays
        Samples to fit to and samples left out; those left out by none do not take part.
    band : bool
        Whether the machines have intervals.
    report : callable, optional
        Sees the number of each fold, the number of all, and its machine.
    """
    machines, index, group, low, high = [], [], [], [], []
    for k, (fit, left) in enumerate(folds):
        extra = {} if weight is None else {"sample_weight": weight[fit]}
        machine = clone(estimator).fit(safe_indexing(X, fit), y[fit], **extra)
        ends = bases(machine, safe_indexing(X, left), band)
        machines.append(machine)
        report(k, len(folds), machine)
        index.append(np.asarray(left))
        group.append(np.full(len(left), k))
        low.append(ends[0])
        high.append(ends[1])
    i, g, lo, hi = (np.concatenate(part) for part in (index, group, low, high))
    if weight is not None:
        live = weight[i] > 0
        i, g, lo, hi = i[live], g[live], lo[live], hi[live]
    return Refitted(machines, band, i, g, lo, hi)


def conformal_ends(
    held: Any,
    X: PointsLike,
    below: Array,
    above: Array,
    coverage: float,
    spread: Array,
    *,
    weight: Array | None = None,
    minmax: bool = False,
) -> Array:
    r"""Return the ends of intervals at new points.

    Parameters
    ----------
    held : Aside, Refitted or LeftOut
        Machines that did not see something, and what.
    X : (m, p) points
    below, above : (n,) array
        Scores of the low and of the high end, in units of the spread; the same array twice if the
        worse of both counts, else each end has half of what may be missed.
    coverage : float
    spread : (m,) array
        How large errors are expected to be at the new points.
    weight : (n,) array, optional
        How many samples each stands for.
    minmax : bool
        Take the extremes of what the machines predict: wider, and with the coverage guaranteed.

    Returns
    -------
    (m, 2) array
    """
    level = coverage if below is above else 0.5 + 0.5 * coverage
    group, m = held.group, len(spread)
    few = len(np.unique(group)) == 1
    out = np.empty((m, 2))
    if few or minmax:
        quantiles = [quantile(e[None], level, weight)[0] for e in (below, above)]
    step = max(64, int(CHUNK_BYTES / (8 * len(group))))
    for first in range(0, m, step):
        part = slice(first, first + step)
        low, high = held(safe_indexing(X, np.arange(m)[part]))
        size = spread[part]
        if few or minmax:
            out[part, 0] = np.min(low, axis=1) - quantiles[0] * size
            out[part, 1] = np.max(high, axis=1) + quantiles[1] * size
        else:
            reach = size[:, None]
            out[part, 0] = -quantile(below * reach - low[:, group], level, weight)
            out[part, 1] = quantile(high[:, group] + above * reach, level, weight)
    return out


def quantile(values: Array, level: float, weight: Array | None = None) -> Array:
    r"""Return the value up to which a further one lies with a probability, along the last axis.

    The k-th smallest of n, :math:`k = \lceil \gamma (n + 1) \rceil`, or the smallest up to which
    weights add up to :math:`\gamma (\sum_i s_i + 1)`; infinite if none is.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators.conformal import quantile
    >>> z = np.arange(1.0, 10.0)[None]
    >>> quantile(z, 0.8), quantile(z, 0.95), quantile(z, 0.5, np.repeat([3.0, 1.0], [1, 8]))
    (array([8.]), array([inf]), array([4.]))
    """
    n = values.shape[1]
    if weight is None:
        k = int(np.ceil(level * (n + 1) * (1.0 - ROUNDING)))
        if k > n:
            return np.full(len(values), np.inf)
        return np.asarray(np.partition(values, k - 1, axis=1)[:, k - 1])
    order = np.argsort(values, axis=1)
    mass = np.cumsum(weight[order], axis=1)
    target = level * (float(np.sum(weight)) + 1.0) * (1.0 - ROUNDING)
    reached = mass >= target
    first = np.argmax(reached, axis=1)
    rows = np.arange(len(values))
    return np.where(reached.any(axis=1), values[rows, order[rows, first]], np.inf)
