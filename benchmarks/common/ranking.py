"""What ten splits of each set say about two methods, and about many."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import friedmanchisquare, rankdata, studentized_range, wilcoxon

Array = NDArray[np.float64]
# Errors closer than this, relatively, are the same for every use.
SAME = 0.01
ALPHA = 0.05


@dataclass(frozen=True)
class Comparison:
    """One method against another: wins, ties and losses, differences and a test.

    Attributes
    ----------
    sets : tuple of int
        Wins, ties and losses of the mean errors of the sets. A tie: the means differ by no more
        than 1 % or than the standard error of the mean of the paired differences of the splits.
    splits : tuple of int
        The same of single splits, where a tie is a difference of at most 1 %.
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
    splits: tuple[int, int, int]
    whole: float
    ratio: float
    p_value: float


def compare(ours: Array, theirs: Array) -> Comparison:
    """Compare errors (sets, splits) of two methods on the same splits."""
    apart = ours - theirs
    mean, other = ours.mean(axis=1), theirs.mean(axis=1)
    within = apart.std(axis=1, ddof=1) / np.sqrt(apart.shape[1])
    tolerance = np.maximum(SAME * other, within)
    positive = (mean > 0) & (other > 0)
    relative = np.log(mean[positive] / other[positive])
    differences = relative if positive.all() else mean - other
    p_value = float(wilcoxon(differences).pvalue) if np.any(differences) else 1.0
    return Comparison(
        _count(mean - other, tolerance),
        _count(apart, SAME * theirs),
        float(mean.mean() / other.mean()),
        float(np.exp(relative.mean())),
        p_value,
    )


def _count(apart: Array, tolerance: Array) -> tuple[int, int, int]:
    wins, losses = int(np.sum(apart < -tolerance)), int(np.sum(apart > tolerance))
    return wins, apart.size - wins - losses, losses


@dataclass(frozen=True)
class Ranking:
    """Average ranks of methods over sets, best first.

    ``distance`` is Nemenyi's critical difference at 5 %; ``groups`` are runs (first, last) of
    neighbours in the order that it does not tell apart; ``p_value`` is Friedman's.
    """

    names: tuple[str, ...]
    ranks: tuple[float, ...]
    distance: float
    groups: tuple[tuple[int, int], ...]
    p_value: float


def rank(errors: dict[str, Array]) -> Ranking:
    """Rank methods by mean errors (sets,), ties sharing a rank (Demsar 2006, section 3.2.2)."""
    table = np.array(list(errors.values()))
    k, n = table.shape
    average = rankdata(table, axis=0).mean(axis=1)
    order = np.argsort(average, kind="stable")
    q = studentized_range.ppf(1 - ALPHA, k, np.inf) / np.sqrt(2)
    distance = float(q * np.sqrt(k * (k + 1) / (6 * n)))
    ranks = average[order]
    reach = [int(np.sum(ranks <= r + distance)) - 1 for r in ranks]
    groups = [
        (i, j) for i, j in enumerate(reach) if j > i and (i == 0 or j > reach[i - 1])
    ]  # a run inside a longer one says nothing
    return Ranking(
        tuple(list(errors)[i] for i in order),
        tuple(float(r) for r in ranks),
        distance,
        tuple(groups),
        float(friedmanchisquare(*table).pvalue),
    )


def geometric(ratios: Any) -> tuple[float, float, float]:
    """Return geometric mean, least and largest."""
    ratios = np.asarray(ratios, dtype=float)
    return float(np.exp(np.log(ratios).mean())), float(ratios.min()), float(ratios.max())
