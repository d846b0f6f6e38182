r"""How large errors are, whatever a minority of them does.

An estimate of scale has a *breakdown point*: the share of values that may be moved anywhere before
it can be made as large as one likes. It is one half for all estimates here, which is the best there
is, and zero for the standard deviation.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from mercer._params import check_sample_weight
from mercer._typing import Array

__all__ = ["SCALES", "ScaleWarning", "robust_scale"]


# What makes each of them the standard deviation of normal values, for large samples.
NORMAL = float(ndtri(0.75))
MAD = 1.0 / NORMAL
SN = 1.1926
QN = 2.2219


class ScaleWarning(UserWarning):
    """Half of the values are equal, so that a robust scale is zero and something else was used."""


def robust_scale(
    r: ArrayLike,
    method: str = "mad",
    *,
    weights: ArrayLike | None = None,
    floor: float | None = None,
) -> float:
    r"""Return the standard deviation that the bulk of some values has.

    .. math::

        \text{mad:}\quad 1.4826\, \operatorname{med}_i |r_i - \operatorname{med}_j r_j|, \qquad
        \text{sn:}\quad 1.1926\, \operatorname{med}_i \operatorname{med}_j |r_i - r_j|, \qquad
        \text{qn:}\quad 2.2219\, \{|r_i - r_j|\}_{i < j,\, (k)}

    with :math:`k = \binom{h}{2}`, :math:`h = \lfloor n/2 \rfloor + 1`. For normal values all tend
    to the standard deviation; their efficiencies are 37, 58 and 82 per cent. The last two need no
    centre, hence no symmetry. All take n log n operations.

    Parameters
    ----------
    r : array-like of shape (n,)
        Values, say residuals.
    method : {"mad", "sn", "qn"}, default="mad"
        Which estimate.
    weights : array-like of shape (n,), optional
        How often each value counts, for ``"mad"``.
    floor : float, optional
        What to return if more than half of the values are equal and their quartiles too; by default
        a part in :math:`10^8` of the largest value.

    Returns
    -------
    float
        Positive. If more than half of the values are equal the estimate is zero: then it is the
        distance of the quartiles over 1.349, or the floor, with a warning.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 3.6.1, where the text after
    eq. (3.58) lacks the absolute deviations; P. Rousseeuw and C. Croux (1993), Alternatives to the
    median absolute deviation, J. American Statistical Association 88, eq. (2.1) and (3.1).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing.scale import robust_scale
    >>> r = np.random.default_rng(0).normal(size=500)
    >>> r[:200] = 1e6
    >>> r.std() > 1e5, robust_scale(r) < 3
    (np.True_, True)
    """
    values = np.asarray(r, dtype=np.float64)
    if values.ndim != 1 or not values.size or not np.all(np.isfinite(values)):
        raise ValueError(
            f"r must be one or more finite numbers in one dimension, got shape {values.shape}."
        )
    if method not in SCALES:
        raise ValueError(f"method must be one of {sorted(SCALES)}, got {method!r}.")
    s = check_sample_weight(weights, len(values), "weights")
    if not np.isfinite(s.sum()):
        raise ValueError("the sum of weights is infinite; scale the weights down")
    if weights is not None and method != "mad":
        raise ValueError(f"only method='mad' weighs values, not {method!r}.")
    values, s = values[s > 0], s[s > 0]
    # What rounding leaves of equal numbers is no scale.
    nothing = 4 * float(np.finfo(np.float64).eps) * float(np.max(np.abs(values)))
    scale = SCALES[method](values, s)
    if scale > nothing:
        return scale
    low, high = (_quantile(values, s, level) for level in (0.25, 0.75))
    scale, what = (high - low) / (2 * NORMAL), "the distance of their quartiles"
    if not scale > nothing:
        scale, what = _floor(values) if floor is None else float(floor), "a floor"
    warnings.warn(
        f"More than half of {len(values)} values are equal, so that their robust scale is zero; "
        f"{what} is used instead, {scale:.3g}. Give the scale if it is known.",
        ScaleWarning,
        stacklevel=2,
    )
    return scale


def _floor(values: Array) -> float:
    return float(np.sqrt(np.finfo(np.float64).eps)) * (float(np.max(np.abs(values))) or 1.0)


def _quantile(values: Array, s: Array, level: float) -> float:
    """Return the middle of all numbers that cut off a share of weighted values."""
    order = np.argsort(values, kind="stable")
    values, below = values[order], np.cumsum(s[order])
    target = level * below[-1]
    rounding = len(s) * float(np.finfo(np.float64).eps) * below[-1]
    i = int(np.searchsorted(below, target - rounding))
    j = int(np.searchsorted(below, target + rounding, side="right"))
    return float(0.5 * (values[i] + values[min(j, len(values) - 1)]))


def _mad(values: Array, s: Array) -> float:
    return MAD * _quantile(np.abs(values - _quantile(values, s, 0.5)), s, 0.5)


def _sn(values: Array, s: Array) -> float:
    """Find the median distance of every value from all, at once by bisection."""
    x, n = np.sort(values), len(values)

    def near(distance: Array) -> NDArray[np.intp]:
        return np.asarray(
            np.searchsorted(x, x + distance, "right") - np.searchsorted(x, x - distance, "left")
        )

    # The high median of distances from a value, itself included, and the low median of those.
    medians = _bisect(near, n // 2 + 1, np.maximum(x - x[0], x[-1] - x))
    return SN * float(np.sort(medians)[(n + 1) // 2 - 1])


def _qn(values: Array, s: Array) -> float:
    """Find the distance of pairs of rank k by bisection, without listing pairs."""
    x, n = np.sort(values), len(values)
    h = n // 2 + 1
    if n == 1:
        return 0.0

    def near(distance: Array) -> NDArray[np.intp]:
        pairs = np.searchsorted(x, x + distance, "right") - np.arange(n) - 1
        return np.asarray([pairs.sum()])

    return QN * float(_bisect(near, h * (h - 1) // 2, np.array([x[-1] - x[0]]))[0])


def _bisect(count: Callable[[Array], NDArray[np.intp]], k: int, high: Array) -> Array:
    """Return the least distances within which there are k, to the last digit."""
    low = np.zeros_like(high)
    while True:
        middle = 0.5 * (low + high)
        if np.all((middle <= low) | (middle >= high)):
            # Distances that are zero are so exactly.
            return np.where(count(np.zeros_like(high)) >= k, 0.0, high)
        enough = count(middle) >= k
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)


SCALES: dict[str, Callable[[Array, Array], float]] = {"mad": _mad, "qn": _qn, "sn": _sn}
"""Estimates of scale by name."""
