r"""The distribution of values of which only intervals are known.

For values that are seen or known to exceed a bound this is the product-limit estimator,

.. math:: S(t) = \prod_{t_j \le t} \Bigl(1 - \frac{d_j}{n_j}\Bigr),

with :math:`d_j` values at :math:`t_j` and :math:`n_j` known to be at least that large. For any
intervals it is the distribution of largest likelihood, which has no formula, but a certificate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mercer._params import check_sample_weight
from mercer._typing import Array

__all__ = ["SurvivalCurve", "kaplan_meier", "turnbull"]


@dataclass(frozen=True, eq=False)
class SurvivalCurve:
    """A step function that falls from one: the probability to exceed a value.

    Parameters
    ----------
    times : ndarray of shape (m,)
        Where it falls, in ascending order.
    survival : ndarray of shape (m,)
        What it is from there on. If the last value is not zero, the rest lies beyond all data.
    gap : float, default=0.0
        How much likelihood it lacks at most, in units of the logarithm a sample.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing.survival import SurvivalCurve
    >>> curve = SurvivalCurve(np.array([1.0, 2.0]), np.array([0.5, 0.0]))
    >>> curve([0.9, 1.0, 5.0]), curve.before(1.0), curve.quantile(0.5)
    (array([1. , 0.5, 0. ]), array(1.), array(1.))
    """

    times: Array
    survival: Array
    gap: float = 0.0

    def __call__(self, t: ArrayLike) -> Array:
        """Return the probability to exceed ``t``."""
        return self._at(t, "right")

    def before(self, t: ArrayLike) -> Array:
        """Return the probability to be ``t`` or to exceed it."""
        return self._at(t, "left")

    def quantile(self, level: ArrayLike) -> Array:
        """Return the least value that is not exceeded with this probability, or infinity."""
        reached = 1.0 - np.asarray(level, dtype=np.float64)
        # Sums of shares of a sample miss their level by rounding only.
        k = np.searchsorted(-self.survival, -reached - 1e-12, side="left")
        return np.asarray(np.append(self.times, np.inf)[k])

    def _at(self, t: ArrayLike, side: str) -> Array:
        k = np.searchsorted(self.times, np.asarray(t, dtype=np.float64), side=side)  # type: ignore[call-overload]
        return np.asarray(np.append(1.0, self.survival)[k])


def kaplan_meier(
    time: ArrayLike, event: ArrayLike, weights: ArrayLike | None = None, *, reverse: bool = False
) -> SurvivalCurve:
    r"""Return the product-limit estimator of values seen or known to exceed a bound.

    Parameters
    ----------
    time : array-like of shape (n,)
        Values, and bounds of those not seen.
    event : array-like of shape (n,)
        Whether the value was seen.
    weights : array-like of shape (n,), optional
        How often a sample counts.
    reverse : bool, default=False
        Return the distribution of the bounds instead: the probability not to be censored. Where a
        value and a bound coincide the value comes first, here as there.

    Returns
    -------
    SurvivalCurve

    References
    ----------
    E. L. Kaplan and P. Meier (1958), Nonparametric estimation from incomplete observations, JASA
    53.

    Examples
    --------
    >>> from mercer.smoothing.survival import kaplan_meier
    >>> curve = kaplan_meier([1.0, 2.0, 2.0, 3.0], [True, True, False, True])
    >>> curve.times, curve.survival
    (array([1., 2., 3.]), array([0.75, 0.5 , 0.  ]))
    """
    t, seen = np.asarray(time, dtype=np.float64), np.asarray(event, dtype=bool)
    w = check_sample_weight(weights, len(t), "weights")
    times, at = np.unique(t, return_inverse=True)
    fall = np.bincount(at, w * seen, len(times))
    lost = np.bincount(at, w * ~seen, len(times))
    risk = np.cumsum((fall + lost)[::-1])[::-1]
    if reverse:
        fall, risk = lost, risk - fall
    steps = fall > 0
    survival = np.cumprod(1.0 - fall[steps] / risk[steps])
    return SurvivalCurve(times[steps], np.maximum(survival, 0.0))


def turnbull(
    lower: ArrayLike,
    upper: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    tol: float = 1e-5,
    max_iter: int = 10000,
) -> SurvivalCurve:
    r"""Return the distribution of largest likelihood of values known by intervals.

    .. math:: \max_p \sum_i w_i \log P_i, \qquad P_i = \sum_{j \in (l_i, u_i]} p_j

    All mass lies where a lower end is followed by an upper one, and its share of such a place is
    the share that samples give it in turn, :math:`p_j \leftarrow p_j D_j` with
    :math:`D_j = \sum_{i \ni j} w_i / (W P_i)`. As the likelihood is concave, it misses its maximum
    by at most :math:`W (\max_j D_j - 1)`.

    Parameters
    ----------
    lower, upper : array-like of shape (n,)
        Ends of the intervals: open below, closed above, and a value where they are equal.
    weights : array-like of shape (n,), optional
        How often a sample counts.
    tol : float, default=1e-5
        Largest loss of logarithmic likelihood a sample.
    max_iter : int, default=10000
        Largest number of sweeps.

    Returns
    -------
    SurvivalCurve
        Falls at the upper ends of the places with mass; ``gap`` is the bound above.

    References
    ----------
    B. W. Turnbull (1976), The empirical distribution function with arbitrarily grouped, censored
    and truncated data, JRSS B 38.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing.survival import turnbull
    >>> curve = turnbull([0.0, 1.0, 2.0], [1.0, 2.0, np.inf])
    >>> curve.times, curve.survival.round(6)
    (array([1., 2.]), array([0.666667, 0.333333]))
    """
    low, high = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
    w = check_sample_weight(weights, len(low), "weights")
    live = w > 0
    low, high, w = low[live], high[live], w[live] / w[live].sum()
    exact = low == high
    if np.all(exact | np.isposinf(high)):
        return kaplan_meier(low, exact, w)
    # At one number a value begins before an interval ends, and that ends before the next begins.
    values = np.concatenate([low, high])
    kinds = np.concatenate([np.where(exact, 0, 2), np.ones(len(low), dtype=int)])
    order = np.lexsort((kinds, values))
    begins = order < len(low)
    place = np.flatnonzero(begins[:-1] & ~begins[1:])
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    first = np.searchsorted(place, rank[: len(low)], side="left")
    last = np.searchsorted(place + 1, rank[len(low) :], side="right")
    m = len(place)
    p, gap = np.full(m, 1.0 / m), np.inf
    for _ in range(max_iter):
        total = np.append(0.0, np.cumsum(p))
        share = w / (total[last] - total[first])
        pull = np.bincount(first, share, m + 1) - np.bincount(last, share, m + 1)
        D = np.cumsum(pull[:m])
        gap = float(np.max(D) - 1.0)
        if gap <= tol:
            break
        p = p * D
        p /= p.sum()
    ends = values[order[place + 1]]
    keep = np.isfinite(ends)
    survival = np.clip(1.0 - np.cumsum(p), 0.0, 1.0)
    return SurvivalCurve(ends[keep], survival[keep], max(gap, 0.0))
