r"""How good predictions of censored values are: their order, their distance, their probabilities.

Of a censored value one knows an interval. Measures that need more than that weigh what was seen by
one over the probability :math:`G` that it was not censored (IPCW), which is right if censoring does
not depend on the value given the inputs. No measure can show that it did.

Targets are taken in every form that :class:`~mercer.CensoredRegressor` fits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2, norm

from mercer._params import check_sample_weight
from mercer._typing import Array, TargetsLike, WeightsLike
from mercer.losses.base import Loss
from mercer.losses.regression import Absolute
from mercer.machines.survival_targets import Intervals, as_intervals
from mercer.smoothing.survival import SurvivalCurve, kaplan_meier

# Pairs that are compared at once.
MAX_PAIRS = 2**22


def concordance(
    y: TargetsLike,
    predicted: ArrayLike,
    *,
    train: TargetsLike = None,
    tau: float | None = None,
    tol: float = 1e-8,
) -> float:
    r"""Return the share of pairs whose order is known and predicted.

    .. math:: \frac{\sum_{ij} w_i\, [y_i < y_j]\, ([f_i < f_j] + \tfrac12 [f_i = f_j])}
              {\sum_{ij} w_i\, [y_i < y_j]}

    over the pairs of which is known for certain that :math:`y_i < y_j`. An observed value counts as
    smaller than one that is censored from the right at the same value, which is at least that
    large; two observed values that are equal are no pair. Without `train` all weigh
    the same (Harrell), and the measure depends on how much was censored; with it,
    :math:`w_i = G(y_i)^{-2}` makes up for that (Uno).

    Parameters
    ----------
    y : array-like
        Targets: (n,), pairs (n, 2), a structured array or a data frame.
    predicted : array-like of shape (n,)
        Predictions that grow with the target; give minus a risk.
    train : array-like, optional
        Targets from which the probability G of not being censored is estimated.
    tau : float, optional
        Count values below this only, where G is still known well.
    tol : float, default=1e-8
        Predictions that differ by no more are equal.

    Returns
    -------
    float
        One half for predictions that know nothing, one for a perfect order.

    References
    ----------
    F. E. Harrell, K. L. Lee and D. B. Mark (1996), Statistics in Medicine 15. H. Uno, T. Cai, M. J.
    Pencina, R. B. D'Agostino and L. J. Wei (2011), Statistics in Medicine 30.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspect import concordance
    >>> concordance([[1.0, 1.0], [2.0, np.inf], [3.0, 3.0]], [0.1, 0.3, 0.2])
    1.0
    """
    known, f = as_intervals(y), _numbers(predicted, y)
    w = np.ones(len(f))
    if train is not None:
        w = _inverse(train, known, tau) ** 2
    elif tau is not None:
        w = np.where(known.upper < tau, 1.0, 0.0)
    exact, total, right = known.exact, 0.0, 0.0
    early = np.flatnonzero(np.isfinite(known.upper) & (w > 0))
    for i in np.array_split(early, max(1, len(early) * len(f) // MAX_PAIRS)):
        high = known.upper[i, None]
        before = (high < known.lower) | ((high == known.lower) & ~exact)
        equal = np.abs(f[i, None] - f) <= tol
        right_i = np.sum(before & (f[i, None] < f) & ~equal, axis=1) + 0.5 * np.sum(
            before & equal, axis=1
        )
        total += float(w[i] @ np.sum(before, axis=1))
        right += float(w[i] @ right_i)
    if total == 0.0:
        raise ValueError(
            "no two targets have a known order, so that the concordance is not defined."
        )
    return right / total


def interval_error(
    y: TargetsLike,
    predicted: ArrayLike,
    *,
    loss: Loss | None = None,
    sample_weight: WeightsLike = None,
) -> float:
    r"""Return the mean loss of the distance to the intervals; absolute distance by default.

    Parameters
    ----------
    y : array-like
        Targets, as in :func:`concordance`.
    predicted : array-like of shape (n,)
        Predicted values.
    loss : Loss, optional
        What a distance costs.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspect import interval_error
    >>> interval_error([[1.0, 2.0], [2.0, np.inf]], [3.0, 5.0])  # one too high, one inside
    0.5
    """
    known, f = as_intervals(y), _numbers(predicted, y)
    cost = (Absolute() if loss is None else loss).value(np.clip(f, known.lower, known.upper), f)
    return float(np.average(cost, weights=check_sample_weight(sample_weight, len(cost))))


def brier_score(train: TargetsLike, y: TargetsLike, survival: ArrayLike, times: ArrayLike) -> Array:
    r"""Return the mean squared error of predicted probabilities to exceed given times.

    .. math:: B(t) = \frac1n \sum_i \Bigl( \frac{S_i(t)^2\, [y_i \le t]}{G(y_i)}
              + \frac{(1 - S_i(t))^2\, [y_i > t]}{G(t)} \Bigr)

    without the samples that are censored before t.

    Parameters
    ----------
    train : array-like
        Targets from which the probability G of not being censored is estimated.
    y : array-like
        Targets that are known or known to exceed a time.
    survival : array-like of shape (n, m)
        Predicted probabilities, such as ``machine.predict_survival_function(X, times)``.
    times : array-like of shape (m,)
        When.

    Returns
    -------
    ndarray of shape (m,)

    References
    ----------
    E. Graf, C. Schmoor, W. Sauerbrei and M. Schumacher (1999), Statistics in Medicine 18.

    Examples
    --------
    >>> from mercer.inspect import brier_score
    >>> brier_score([1.0, 2.0, 3.0], [1.0, 3.0], [[0.5], [0.5]], [2.0])
    array([0.25])
    """
    known, t = as_intervals(y), np.asarray(times, dtype=np.float64)
    time, event = known.right_censored("the Brier score")
    S = np.asarray(survival, dtype=np.float64)
    if S.shape != (len(time), len(t)):
        raise ValueError(f"survival has shape {S.shape}; give one row a sample, one column a time.")
    unseen = kaplan_meier(*as_intervals(train).right_censored("the Brier score"), reverse=True)
    at = unseen(t)
    if np.any(at <= 0):
        raise ValueError(
            f"no sample was followed beyond {float(np.min(t[at <= 0])):g}; give earlier times."
        )
    gone = (time[:, None] <= t) & event[:, None]
    before = np.where(event, unseen.before(time), 1.0)
    with np.errstate(divide="ignore"):  # a time beyond the last one counts only if it is over
        over = np.where(gone, S**2 / before[:, None], 0.0)
    return np.asarray(np.mean(over + np.where(time[:, None] > t, (1 - S) ** 2 / at, 0.0), axis=0))


def integrated_brier_score(
    train: TargetsLike, y: TargetsLike, survival: ArrayLike, times: ArrayLike
) -> float:
    """Return the Brier score's mean over a stretch of time, by the trapezoidal rule.

    Parameters
    ----------
    train, y, survival, times :
        As in :func:`brier_score`, for two times or more.

    Returns
    -------
    float
        A quarter for probabilities of one half; what the curve of the whole sample has is the score
        to beat.

    Examples
    --------
    >>> from mercer.inspect import integrated_brier_score
    >>> integrated_brier_score([1.0, 2.0, 3.0], [1.0, 3.0], [[0.5, 0.5], [0.5, 0.5]], [1.5, 2.0])
    0.25
    """
    t = np.asarray(times, dtype=np.float64)
    if len(t) < 2 or not np.all(np.diff(t) > 0):
        raise ValueError("times must ascend, and be two at least.")
    return float(np.trapezoid(brier_score(train, y, survival, t), t) / (t[-1] - t[0]))


@dataclass(frozen=True, eq=False)
class SurvivalCalibration:
    """Predicted and observed probabilities to exceed a time, in groups of like predictions.

    Parameters
    ----------
    time : float
        When.
    predicted : ndarray of shape (k,)
        Mean prediction of a group.
    observed, lower, upper : ndarray of shape (k,)
        Kaplan and Meier's estimator of the group, and its confidence limits.
    count : ndarray of shape (k,)
        Samples in a group.
    """

    time: float
    predicted: Array
    observed: Array
    lower: Array
    upper: Array
    count: NDArray[np.intp]

    @property
    def error(self) -> float:
        """Mean absolute difference between predicted and observed, each sample counting alike."""
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.count))


def survival_calibration(
    y: TargetsLike, predicted: ArrayLike, time: float, *, bins: int = 10, coverage: float = 0.95
) -> SurvivalCalibration:
    r"""Compare predicted survival probabilities with the observed survival of groups.

    Parameters
    ----------
    y : array-like
        Targets that are known or known to exceed a time.
    predicted : array-like of shape (n,)
        Predicted probabilities to exceed `time`.
    time : float
        When.
    bins : int, default=10
        Number of groups, each of as many samples.
    coverage : float, default=0.95
        Of the confidence limits: Greenwood's variance on the scale of :math:`\log(-\log S)`.

    Returns
    -------
    SurvivalCalibration

    Examples
    --------
    >>> from mercer.inspect import survival_calibration
    >>> found = survival_calibration([1.0, 2.0, 3.0, 4.0], [0.0, 0.5, 0.5, 1.0], 2.5, bins=2)
    >>> found.predicted, found.observed
    (array([0.25, 0.75]), array([0., 1.]))
    """
    value, event = as_intervals(y).right_censored("this calibration")
    p = _numbers(predicted, y)
    if not 1 <= bins <= len(p):
        raise ValueError(f"bins must lie between 1 and the {len(p)} samples, got {bins}.")
    groups = np.array_split(np.argsort(p, kind="stable"), bins)
    curves = [kaplan_meier(value[g], event[g]) for g in groups]
    observed = np.array([float(curve(time)) for curve in curves])
    spread = np.array([_greenwood(value[g], event[g], time) for g in groups]) * norm.ppf(
        0.5 + 0.5 * coverage
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(observed)
        # log(-log S) has the standard deviation sqrt(sum d / (n (n - d))) / |log S|.
        reach = np.exp(spread / np.abs(logs))
        inner = (observed > 0) & (observed < 1)
        lower = np.where(inner, observed**reach, observed)
        upper = np.where(inner, observed ** (1.0 / reach), observed)
    return SurvivalCalibration(
        float(time),
        np.array([p[g].mean() for g in groups]),
        observed,
        lower,
        upper,
        np.array([len(g) for g in groups]),
    )


@dataclass(frozen=True, eq=False)
class DCalibration:
    """How often targets fell into each tenth of their predicted distributions.

    Parameters
    ----------
    shares : ndarray of shape (bins,)
        Of the samples, from the shortest survival to the longest; all equal if calibrated.
    statistic : float
        Pearson's, of equal shares.
    p_value : float
        Of the statistic. Small means not calibrated; with folds or test samples only, as what was
        fitted is calibrated by construction.
    """

    shares: Array
    statistic: float
    p_value: float


def d_calibration(
    y: TargetsLike, survival: ArrayLike, times: ArrayLike, *, bins: int = 10
) -> DCalibration:
    r"""Test whether targets are distributed as predicted, all times at once.

    If :math:`S_i` is the distribution of :math:`y_i`, then :math:`S_i(y_i)` is uniform. A target
    known by an interval is spread evenly over :math:`[S_i(y_i^+), S_i(y_i^-)]`, and one beyond the
    last time over what is left there.

    Parameters
    ----------
    y : array-like
        Targets, of any kind.
    survival : array-like of shape (n, m)
        Predicted probabilities to exceed the times.
    times : array-like of shape (m,)
        Ascending times; predictions are steps between them.
    bins : int, default=10
        Number of equal parts.

    Returns
    -------
    DCalibration

    References
    ----------
    H. Haider, B. Hoehn, S. Davis and R. Greiner (2020), Effective ways to build and evaluate
    individual survival distributions, JMLR 21, section 3.5.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.inspect import d_calibration
    >>> times = np.arange(1.0, 11.0)
    >>> S = np.tile(1.0 - times / 10.0, (10, 1))
    >>> d_calibration(times, S, times, bins=5).shares.round(6)
    array([0.2, 0.2, 0.2, 0.2, 0.2])
    """
    known, t = as_intervals(y), np.asarray(times, dtype=np.float64)
    S = np.asarray(survival, dtype=np.float64)
    n = len(known.lower)
    if S.shape != (n, len(t)):
        raise ValueError(f"survival has shape {S.shape}; give one row a sample, one column a time.")
    steps, rows = np.column_stack([np.ones(n), S]), np.arange(n)
    low = steps[rows, np.searchsorted(t, known.upper, side="right")]
    # Beyond the last time the curve may fall anywhere.
    low = np.where(known.upper > t[-1], 0.0, low)
    # A value has all of the step at it, an open interval begins behind the step at its lower end.
    left = np.searchsorted(t, known.lower, side="left")
    right = np.searchsorted(t, known.lower, side="right")
    high = np.where(known.exact, steps[rows, left], steps[rows, right])
    edges = np.linspace(0.0, 1.0, bins + 1)
    width = high - low
    overlap = np.minimum(high[:, None], edges[1:]) - np.maximum(low[:, None], edges[:-1])
    point = np.clip(np.ceil(low * bins) - 1, 0, bins - 1)
    spread = np.maximum(overlap, 0.0) / np.where(width > 0, width, 1.0)[:, None]
    mass = np.where((width > 0)[:, None], spread, point[:, None] == np.arange(bins))
    counts = mass.sum(axis=0)[::-1]
    statistic = float(np.sum((counts - n / bins) ** 2) / (n / bins))
    return DCalibration(counts / n, statistic, float(chi2.sf(statistic, bins - 1)))


def _numbers(predicted: ArrayLike, y: TargetsLike) -> Array:
    f = np.asarray(predicted, dtype=np.float64)
    n = len(as_intervals(y).lower)
    if f.shape != (n,) or not np.all(np.isfinite(f)):
        raise ValueError(f"give one finite prediction a sample, ({n},); got shape {f.shape}.")
    return f


def _inverse(train: TargetsLike, known: Intervals, tau: float | None) -> Array:
    """Return one over the probability that a value was not censored; zero for those that were."""
    time, event = known.right_censored("Uno's concordance")
    unseen: SurvivalCurve = kaplan_meier(
        *as_intervals(train).right_censored("Uno's concordance"), reverse=True
    )
    counted = event if tau is None else event & (time < tau)
    G = np.where(counted, unseen.before(time), 1.0)
    if np.any(G <= 0):
        raise ValueError(
            "no sample of train was followed as long as some of y; give a smaller tau, such as "
            "the largest time in train."
        )
    return np.where(counted, 1.0 / G, 0.0)


def _greenwood(time: Array, event: NDArray[np.bool_], t: float) -> float:
    """Return the standard deviation of the logarithm of the product-limit estimator."""
    seen = np.unique(time[event & (time <= t)])
    n = np.sum(time[:, None] >= seen, axis=0)
    d = np.sum((time[:, None] == seen) & event[:, None], axis=0)
    with np.errstate(divide="ignore"):
        return float(np.sqrt(np.sum(d / (n * (n - d)))))
