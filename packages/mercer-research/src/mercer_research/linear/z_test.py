"""The z-test: whether a number differs from another number, given its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm
from sklearn.utils.validation import check_array

from mercer._typing import TargetsLike

__all__ = ["ZTest", "location_test", "z_test"]

ALTERNATIVES = ("two-sided", "greater", "less")


@dataclass(frozen=True)
class ZTest:
    r"""The outcome of a z-test.

    Parameters
    ----------
    statistic : float
        :math:`z = (\hat\theta - \theta_0) / s`, standard normal if :math:`\theta_0` is true.
    p_value : float
        Probability of a statistic as far away, if it is.
    estimate, error : float
        :math:`\hat\theta` and its standard error s.
    null : float
        :math:`\theta_0`.
    alternative : str
        What is held against it.
    """

    statistic: float
    p_value: float
    estimate: float
    error: float
    null: float
    alternative: str

    def rejects(self, level: float = 0.05) -> bool:
        """Answer whether the null hypothesis is rejected at a level."""
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1, got {level}.")
        return self.p_value <= level

    def interval(self, coverage: float = 0.95) -> tuple[float, float]:
        """Return the numbers that are not rejected at the level ``1 - coverage``."""
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must lie between 0 and 1, got {coverage}.")
        if self.alternative == "two-sided":
            reach = self.error * float(norm.isf(0.5 * (1.0 - coverage)))
            return self.estimate - reach, self.estimate + reach
        reach = self.error * float(norm.isf(1.0 - coverage))
        greater = self.alternative == "greater"
        return (self.estimate - reach, np.inf) if greater else (-np.inf, self.estimate + reach)


def z_test(
    estimate: float, error: float, null: float = 0.0, alternative: str = "two-sided"
) -> ZTest:
    r"""Test a coefficient against a number: against zero for its relevance.

    .. math:: z = (\hat\theta - \theta_0) / s \sim N(0, 1)

    Parameters
    ----------
    estimate : float
        The estimate :math:`\hat\theta`, normal around the truth.
    error : float
        Its standard error s.
    null : float, default=0.0
        The number :math:`\theta_0`.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        Where the truth lies if not there.

    Returns
    -------
    ZTest

    Examples
    --------
    >>> round(z_test(1.96, 1.0).p_value, 3)
    0.05
    """
    if alternative not in ALTERNATIVES:
        raise ValueError(f"alternative must be one of {ALTERNATIVES}, got {alternative!r}.")
    if not (error > 0 and np.isfinite(error)):
        raise ValueError(f"The standard error must be positive and finite, got {error}.")
    z = float((estimate - null) / error)
    p = {"two-sided": 2.0 * norm.sf(abs(z)), "greater": norm.sf(z), "less": norm.cdf(z)}
    return ZTest(z, float(p[alternative]), float(estimate), float(error), null, alternative)


def location_test(
    y: TargetsLike, null: float = 0.0, *, sigma: float | None = None, alternative: str = "two-sided"
) -> ZTest:
    r"""Test the mean of a sample against a number.

    .. math:: z = \sqrt N (\hat\mu - \mu_0) / \sigma

    Parameters
    ----------
    y : array-like of shape (n,)
        The sample.
    null : float, default=0.0
        The number :math:`\mu_0`.
    sigma : float, optional
        Standard deviation of a sample's values; without it that of the sample, for which the
        statistic is normal only for large ones.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        As in :func:`z_test`.

    Returns
    -------
    ZTest

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, example 1.3, eq. (1.29) to (1.33).

    Examples
    --------
    >>> test = location_test([0.2, 0.5, -0.1, 0.4], sigma=0.25)
    >>> round(test.statistic, 6), test.rejects(0.05)
    (2.0, True)
    """
    values = check_array(y, ensure_2d=False, dtype=np.float64, ensure_min_samples=1)
    if values.ndim != 1:
        raise ValueError(f"y must be one sample, got an array of shape {values.shape}.")
    n = len(values)
    if sigma is None:
        if n < 2:
            raise ValueError("One value tells nothing of its spread; give sigma.")
        sigma = float(np.std(values, ddof=1))
    return z_test(float(np.mean(values)), sigma / float(np.sqrt(n)), null, alternative)
