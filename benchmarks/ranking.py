"""What errors on many sets say about methods: wins and ties, ratios, tests, average ranks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import friedmanchisquare, rankdata, studentized_range, wilcoxon

Array = NDArray[np.float64]
# Errors closer than this, relatively, are the same for every use.
SAME = 0.01
ALPHA = 0.05


def geometric(values: Any) -> float:
    """Return the geometric mean of what is positive and finite."""
    v = np.asarray(values, dtype=float)
    v = v[np.isfinite(v) & (v > 0)]
    return float(np.exp(np.log(v).mean())) if len(v) else np.nan


@dataclass(frozen=True)
class Duel:
    """One method against another over sets; smaller is better and a failed fit is infinite.

    Attributes
    ----------
    counts : tuple of int
        Wins, ties and losses; a tie is a difference of at most 1 % of the other's value.
    ratio : float
        Geometric mean of the ratios, over sets where both are positive and finite.
    p_value : float
        Of Wilcoxon's signed ranks of the relative differences, two-sided.
    """

    counts: tuple[int, int, int]
    ratio: float
    p_value: float


def duel(ours: Array, theirs: Array, tie: float = SAME) -> Duel:
    """Compare two methods by their values (sets,) on the same sets."""
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    apart = relative(ours, theirs)
    finite = np.isfinite(ours) & np.isfinite(theirs)
    same = apart == 0.0
    same[finite] |= np.abs(ours[finite] - theirs[finite]) <= tie * theirs[finite]
    wins, losses = (int(np.sum(~same & side)) for side in (apart < 0, apart > 0))
    usual = finite & (ours > 0) & (theirs > 0)
    return Duel(
        (wins, len(ours) - wins - losses, losses),
        geometric(ours[usual] / theirs[usual]),
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


@dataclass(frozen=True)
class Comparison:
    """One method against another with several splits a set.

    Attributes
    ----------
    sets : tuple of int
        Wins, ties and losses of the mean errors of the sets. A tie: the means differ by no more
        than 1 % or than the standard error of the mean of the paired differences of the splits.
    whole : float
        Ratio of the errors' means over all sets and splits.
    ratio : float
        Geometric mean over sets of the ratio of mean errors (sets where either is 0 are left out).
    p_value : float
        Of Wilcoxon's signed ranks of the sets' mean differences, two-sided; these are relative
        where no mean is 0, so that all sets speak with one voice. Splits of one set share rows and
        are no independent witnesses.
    """

    sets: tuple[int, int, int]
    whole: float
    ratio: float
    p_value: float


def compare(ours: Array, theirs: Array) -> Comparison:
    """Compare errors (sets, splits) of two methods on the same splits."""
    apart = ours - theirs
    mean, other = ours.mean(axis=1), theirs.mean(axis=1)
    within = apart.std(axis=1, ddof=1) / np.sqrt(apart.shape[1])
    tolerance = np.maximum(SAME * other, within)
    wins, losses = int(np.sum(mean - other < -tolerance)), int(np.sum(mean - other > tolerance))
    positive = (mean > 0) & (other > 0)
    logs = np.log(mean[positive] / other[positive])
    differences = logs if positive.all() else mean - other
    return Comparison(
        (wins, len(mean) - wins - losses, losses),
        float(mean.mean() / other.mean()),
        float(np.exp(logs.mean())),
        float(wilcoxon(differences).pvalue) if np.any(differences) else 1.0,
    )


@dataclass(frozen=True)
class Ranking:
    """Average ranks of methods over sets, best first.

    ``distance`` is Nemenyi's critical difference at 5 %; ``p_value`` is Friedman's.
    """

    ranks: dict[str, float]
    distance: float
    p_value: float


def rank(errors: Mapping[str, Array]) -> Ranking:
    """Rank methods by mean errors (sets,), ties sharing a rank (Demsar 2006, section 3.2.2)."""
    table = np.array(list(errors.values()))
    k, n = table.shape
    average = rankdata(table, axis=0).mean(axis=1)
    order = np.argsort(average, kind="stable")
    q = studentized_range.ppf(1 - ALPHA, k, np.inf) / np.sqrt(2)
    return Ranking(
        {list(errors)[i]: float(average[i]) for i in order},
        float(q * np.sqrt(k * (k + 1) / (6 * n))),
        float(friedmanchisquare(*table).pvalue),
    )
