r"""Coverage of prediction intervals, promised and observed.

The risk of an interval is the probability :math:`R` that a new observation lies outside. If it is
made of order statistics of n observations that took no part in the fit, it is a random variable
whose law is known whatever the law of the observations: leaving r of the n + 1 spaces between them
outside,

.. math:: R \sim \operatorname{Beta}(r, n + 1 - r).

The largest of n absolute errors leaves one, the interval from the smallest to the largest error
two, and every observation left outside one more.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

__all__ = [
    "CoverageReport",
    "CoverageTest",
    "GroupCoverage",
    "coverage_of",
    "coverage_test",
    "dkw_band",
    "iterated_logarithm",
    "tolerance_level",
    "tolerance_probability",
    "tolerance_sample_size",
]


def tolerance_probability(
    n: int, eps: float, *, exceptions: int = 0, two_sided: bool = False
) -> float:
    r"""Return the probability that more than a share eps of new observations lies outside.

    .. math:: P(R > \epsilon) = (1 - \epsilon)^n \quad\text{or}\quad
              n (1 - \epsilon)^{n-1} - (n - 1)(1 - \epsilon)^n

    for :math:`\pm\max |z_i|` and for :math:`[\min z_i, \max z_i]`, and Beta laws with exceptions.

    Parameters
    ----------
    n : int
        Observations that the ends were taken from, none of which was fitted to.
    eps : float
        Share outside.
    exceptions : int, default=0
        How many of the n lie outside.
    two_sided : bool, default=False
        Whether both ends are observations, and not one distance from a function.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, Example 3.4, eq. (3.47) to (3.51),
    of which the second is misprinted; S. Wilks (1941), Determination of sample sizes for setting
    tolerance limits, Annals of Mathematical Statistics 12.

    Examples
    --------
    >>> round(tolerance_probability(20, 0.1), 6) == round(0.9**20, 6)
    True
    """
    return float(_law(n, exceptions, two_sided).sf(_share(eps, "eps")))


def tolerance_level(n: int, delta: float, *, exceptions: int = 0, two_sided: bool = False) -> float:
    """Return the share outside that is exceeded with probability delta only.

    Parameters
    ----------
    n, exceptions, two_sided
        As in :func:`tolerance_probability`.
    delta : float
        Probability with which the statement may fail.

    Examples
    --------
    >>> round(tolerance_level(58, 0.05), 3)
    0.05
    """
    return float(_law(n, exceptions, two_sided).isf(_share(delta, "delta")))


def tolerance_sample_size(
    eps: float, delta: float, *, exceptions: int = 0, two_sided: bool = False
) -> int:
    r"""Return how many observations prove that at most a share eps lies outside.

    The smallest n with :math:`P(R > \epsilon) \le \delta`, Wilks' rule.

    Parameters
    ----------
    eps, delta : float
        Share outside, and probability with which the statement may fail.
    exceptions, two_sided
        As in :func:`tolerance_probability`.

    Examples
    --------
    >>> tolerance_sample_size(0.05, 0.05), tolerance_sample_size(0.05, 0.05, two_sided=True)
    (59, 93)
    """
    _share(eps, "eps")
    _share(delta, "delta")

    def enough(n: int) -> bool:
        return delta >= tolerance_probability(n, eps, exceptions=exceptions, two_sided=two_sided)

    high = exceptions + 1 + two_sided
    while not enough(high):
        high *= 2
    least = max(high // 2, exceptions + two_sided) + 1
    return least + bisect_left(range(least, high), True, key=enough)


def dkw_band(n: int, delta: float) -> float:
    r"""Return by how much the risk of *every* interval may exceed its share in the sample.

    .. math:: P(R > \hat R + \epsilon) \le 2 \exp(-2 n \epsilon^2), \qquad
              \epsilon = \sqrt{\ln(2/\delta) / 2n}

    for tubes of all widths around one function at once: the inequality of Dvoretzky, Kiefer and
    Wolfowitz with the constant of Massart.

    Parameters
    ----------
    n : int
        Observations.
    delta : float
        Probability with which the statement may fail.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (3.45) and (3.46).

    Examples
    --------
    >>> round(dkw_band(1000, 0.05), 4)
    0.0429
    """
    return float(np.sqrt(np.log(2.0 / _share(delta, "delta")) / (2.0 * _count(n))))


def iterated_logarithm(n: int) -> float:
    r"""Return the rate :math:`\sqrt{\ln \ln n / 2n}` at which such a band shrinks for almost all.

    Parameters
    ----------
    n : int
        Observations, at least three.

    Examples
    --------
    >>> round(iterated_logarithm(10_000), 4)
    0.0105
    """
    if _count(n) < 3:
        raise ValueError(f"the iterated logarithm begins at n = 3, got {n}.")
    return float(np.sqrt(np.log(np.log(n)) / (2.0 * n)))


@dataclass(frozen=True)
class CoverageTest:
    """How many observations lie inside, beside how many should."""

    n: int
    """Observations."""

    inside: int
    """How many of them lie inside."""

    level: float
    """The coverage that was promised."""

    low: float
    """Lower end of the exact confidence interval of the coverage."""

    high: float
    """Its upper end."""

    pvalue: float
    """Probability of so few inside, or fewer, if the promise is kept."""

    @property
    def coverage(self) -> float:
        """The share inside."""
        return self.inside / self.n


def coverage_test(inside: ArrayLike, level: float, *, confidence: float = 0.95) -> CoverageTest:
    """Test whether intervals contain as many new observations as they promise.

    Parameters
    ----------
    inside : array-like of bool of shape (n,)
        Which new observations lie inside.
    level : float
        The coverage that was promised.
    confidence : float, default=0.95
        Of the interval of Clopper and Pearson for the coverage.

    Examples
    --------
    >>> import numpy as np
    >>> test = coverage_test(np.arange(200) < 168, 0.9)
    >>> test.coverage, round(test.low, 3), round(test.high, 3), test.pvalue < 0.01
    (0.84, 0.782, 0.888, True)
    """
    flags = np.asarray(inside, dtype=bool)
    n, k = len(flags), int(np.sum(flags))
    _share(level, "level")
    found = stats.binomtest(k, _count(n), level, alternative="less")
    both = stats.binomtest(k, n, level).proportion_ci(confidence, method="exact")
    return CoverageTest(n, k, level, float(both.low), float(both.high), float(found.pvalue))


@dataclass(frozen=True)
class GroupCoverage:
    """Coverage of intervals in a group of observations."""

    group: Any
    """Its name."""

    n: int
    """Observations."""

    coverage: float
    """Share inside."""

    width: float
    """Mean width."""


@dataclass(frozen=True)
class CoverageReport:
    """Coverage of intervals on observations that were not used to fit them."""

    test: CoverageTest
    """Coverage beside what was promised."""

    width: float
    """Mean width; infinite if one interval is."""

    median_width: float
    """Median of the widths."""

    score: float
    r"""Mean interval score, width plus :math:`2/\alpha` times the distance of those outside."""

    below: float
    """Share of the observations below their interval."""

    above: float
    """Share of the observations above."""

    groups: tuple[GroupCoverage, ...]
    """Coverage in groups, if there are any."""

    @property
    def coverage(self) -> float:
        """Share of the observations inside."""
        return self.test.coverage

    @property
    def worst(self) -> float:
        """Coverage in the group where it is lowest."""
        return min((g.coverage for g in self.groups), default=self.coverage)

    def __str__(self) -> str:
        """Return a few lines to print."""
        t = self.test
        lines = [
            f"{t.coverage:.1%} of {t.n} observations inside, {t.level:.0%} promised "
            f"(between {t.low:.1%} and {t.high:.1%} with confidence)",
            f"{self.below:.1%} below, {self.above:.1%} above; mean width {self.width:.4g}, "
            f"interval score {self.score:.4g}",
        ]
        lines += [f"  {g.group}: {g.coverage:.1%} of {g.n}, {g.width:.4g}" for g in self.groups]
        return "\n".join(lines)


def coverage_of(
    y: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    level: float,
    groups: Sequence[object] | ArrayLike | None = None,
) -> CoverageReport:
    r"""Report coverage, width and score of intervals on observations, overall and in groups.

    .. math:: S_\alpha = (u - l) + \tfrac{2}{\alpha} (l - y)_+ + \tfrac{2}{\alpha} (y - u)_+,
              \qquad \alpha = 1 - \text{level}

    is least on average for the quantiles at :math:`\alpha/2` and :math:`1 - \alpha/2`.

    Parameters
    ----------
    y, low, high : array-like of shape (n,)
        Observations, and the ends of their intervals.
    level : float
        The coverage that was promised.
    groups : array-like of shape (n,), optional
        To which group an observation belongs, such as the hour of a day.

    References
    ----------
    T. Gneiting and A. Raftery (2007), Strictly proper scoring rules, prediction, and estimation,
    J. American Statistical Association 102, eq. (43).

    Examples
    --------
    >>> report = coverage_of([0.0, 1.0, 5.0], [-1.0, 0.0, 0.0], [1.0, 2.0, 4.0], 0.9)
    >>> round(report.coverage, 3), round(report.width, 3), round(report.score, 3)
    (0.667, 2.667, 9.333)
    """
    y, low, high = (np.asarray(part, dtype=np.float64) for part in (y, low, high))
    if not y.shape == low.shape == high.shape or y.ndim != 1:
        raise ValueError(f"ends {low.shape} and {high.shape} do not fit observations {y.shape}.")
    inside = (low <= y) & (y <= high)
    width = high - low
    outside = np.where(inside, 0.0, np.maximum(low - y, y - high))
    parts = []
    if groups is not None:
        labels = np.asarray(groups)
        if labels.shape != y.shape:
            raise ValueError(f"groups {labels.shape} do not fit observations {y.shape}.")
        for label in np.unique(labels):
            at = labels == label
            parts.append(
                GroupCoverage(
                    label.item(), int(at.sum()), float(inside[at].mean()), float(width[at].mean())
                )
            )
    return CoverageReport(
        test=coverage_test(inside, level),
        width=float(np.mean(width)),
        median_width=float(np.median(width)),
        score=float(np.mean(width + 2.0 / (1.0 - level) * outside)),
        below=float(np.mean(y < low)),
        above=float(np.mean(y > high)),
        groups=tuple(parts),
    )


def _law(n: int, exceptions: int, two_sided: bool) -> Any:
    """Return the law of the risk."""
    spaces = exceptions + 1 + two_sided
    if not exceptions >= 0 or spaces > _count(n):
        raise ValueError(
            f"{n} observations with {exceptions} outside leave no interval; take more of them."
        )
    return stats.beta(spaces, n + 1 - spaces)


def _share(value: float, name: str) -> float:
    if not 0 < value < 1:
        raise ValueError(f"{name} must lie between 0 and 1, got {value!r}.")
    return value


def _count(n: int) -> int:
    if n < 1:
        raise ValueError(f"n must be positive, got {n}.")
    return n
