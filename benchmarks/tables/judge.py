"""What one number a set says about a method beside others: wins, ratios, corrected tests."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wilcoxon

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Duel:
    """One method against another over sets; smaller is better and a failed fit is infinite.

    Attributes
    ----------
    counts : tuple of int
        Wins, ties and losses; a tie is a difference of at most ``tie`` times the other's value.
    ratio : float
        Geometric mean of the ratios, over sets where both are positive and finite.
    p_value : float
        Of Wilcoxon's signed ranks of the relative differences, two-sided.
    """

    counts: tuple[int, int, int]
    ratio: float
    p_value: float


def duel(ours: Array, theirs: Array, tie: float) -> Duel:
    """Compare two methods by their values (sets,) on the same sets."""
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    apart = relative(ours, theirs)
    finite = np.isfinite(ours) & np.isfinite(theirs)
    same = apart == 0.0
    same[finite] |= np.abs(ours[finite] - theirs[finite]) <= tie * theirs[finite]
    wins, losses = (int(np.sum(~same & side)) for side in (apart < 0, apart > 0))
    usual = finite & (ours > 0) & (theirs > 0)
    logs = np.log(ours[usual] / theirs[usual])
    return Duel(
        (wins, len(ours) - wins - losses, losses),
        float(np.exp(logs.mean())) if len(logs) else np.nan,
        float(wilcoxon(apart).pvalue) if np.any(apart) else 1.0,
    )


def relative(ours: Array, theirs: Array) -> Array:
    r"""Return :math:`(a - b) / (a + b)`, which also knows a value of zero and a failed fit.

    Its order is that of the logarithm of the ratio, so that signed ranks are the same as those of
    logarithms wherever these exist; the ends -1 and 1 are a zero, or a failure of one side.
    """
    a, b = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    found = np.zeros(len(a))
    usual = np.isfinite(a) & np.isfinite(b) & (a + b > 0)
    found[usual] = (a[usual] - b[usual]) / (a[usual] + b[usual])
    found[np.isinf(a) & np.isfinite(b)] = 1.0
    found[np.isfinite(a) & np.isinf(b)] = -1.0
    return found


def holm(p_values: Sequence[float]) -> Array:
    """Return p-values corrected for their number, step down (Holm 1979)."""
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(steps, 1.0)
    return corrected
