"""Statements about intervals beside simulations and printed tables."""

import numpy as np
import pytest
from scipy import stats

from mercer.smoothing import coverage_test, dkw_band, tolerance_level, tolerance_sample_size
from mercer.smoothing.coverage import coverage_of, iterated_logarithm, tolerance_probability

ROUNDS = 20_000


def simulated(n, eps, exceptions, two_sided):
    """Return how often more than eps lies outside, for uniform errors on [-1, 1]."""
    z = np.random.default_rng(0).uniform(-1, 1, (ROUNDS, n))
    if two_sided:
        order = np.sort(z, axis=1)
        # One more below than above, if not the same: any choice leaves the same law.
        low, high = (exceptions + 1) // 2, exceptions // 2
        risk = 1.0 - 0.5 * (order[:, n - 1 - high] - order[:, low])
    else:
        risk = 1.0 - np.sort(np.abs(z), axis=1)[:, n - 1 - exceptions]
    return np.mean(risk > eps)


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize("exceptions", [0, 1, 3])
@pytest.mark.parametrize(("n", "eps"), [(20, 0.1), (40, 0.05)])
def test_probabilities_are_those_of_simulations(n, eps, exceptions, two_sided):
    p = tolerance_probability(n, eps, exceptions=exceptions, two_sided=two_sided)
    share = simulated(n, eps, exceptions, two_sided)
    # Four standard errors of a share of 20000.
    assert abs(share - p) < 4 * np.sqrt(0.25 / ROUNDS)


def test_closed_forms_of_the_source():
    n, eps = 30, 0.07
    assert tolerance_probability(n, eps) == pytest.approx((1 - eps) ** n, rel=1e-12)
    printed = n * (1 - eps) ** (n - 1) - (n - 1) * (1 - eps) ** n
    assert tolerance_probability(n, eps, two_sided=True) == pytest.approx(printed, rel=1e-12)


def test_sample_sizes_of_wilks():
    # The classical table for 95 % of the population with 95 % confidence, and 90/95 and 99/99.
    assert tolerance_sample_size(0.05, 0.05) == 59
    assert tolerance_sample_size(0.05, 0.05, two_sided=True) == 93
    assert tolerance_sample_size(0.10, 0.05) == 29
    assert tolerance_sample_size(0.01, 0.01) == 459
    assert tolerance_sample_size(0.05, 0.05, exceptions=1) == 93


def test_sizes_levels_and_probabilities_fit_each_other():
    n = tolerance_sample_size(0.03, 0.1, exceptions=4)
    assert tolerance_probability(n, 0.03, exceptions=4) <= 0.1
    assert tolerance_probability(n - 1, 0.03, exceptions=4) > 0.1
    level = tolerance_level(n, 0.1, exceptions=4)
    assert level <= 0.03
    assert tolerance_probability(n, level, exceptions=4) == pytest.approx(0.1, rel=1e-9)


def test_bands_for_all_widths_at_once():
    assert dkw_band(200, 0.05) == pytest.approx(np.sqrt(np.log(2 / 0.05) / 400))  # Massart
    rng = np.random.default_rng(1)
    n, delta = 50, 0.2
    z = np.sort(rng.uniform(size=(4000, n)), axis=1)
    # sup over t of P(z > t) - share above t: at t just above an order statistic.
    excess = np.max(np.arange(1, n + 1) / n - z, axis=1)
    below = np.max(z - np.arange(n) / n, axis=1)
    fails = np.mean(np.maximum(excess, below) > dkw_band(n, delta))
    assert fails <= delta
    assert fails > 0.5 * delta  # Massart's constant is nearly reached
    assert iterated_logarithm(100) == pytest.approx(np.sqrt(np.log(np.log(100)) / 200))


def test_coverage_is_tested_exactly():
    test = coverage_test([True] * 80 + [False] * 20, 0.9)
    assert test.pvalue == pytest.approx(stats.binom.cdf(80, 100, 0.9), rel=1e-9)
    assert test.low == pytest.approx(stats.beta.ppf(0.025, 80, 21), rel=1e-6)
    assert test.high == pytest.approx(stats.beta.ppf(0.975, 81, 20), rel=1e-6)


def test_report_by_groups_and_score():
    y = np.array([0.0, 1.0, 5.0, 2.0])
    low, high = y - np.array([1, -1, 1, 1]), y + np.array([1, 2, -3, 1])
    report = coverage_of(y, low, high, 0.8, list("aabb"))
    assert report.coverage == 0.5
    assert [g.coverage for g in report.groups] == [0.5, 0.5]
    assert report.worst == 0.5
    assert (report.below, report.above) == (0.25, 0.25)
    # Widths 2, 1, -2, 2; outside by 1 and 3 at 2 / 0.2 each.
    assert report.score == pytest.approx((2 + 1 - 2 + 2 + 10 * (1 + 3)) / 4)
    assert "50.0% of 4" in str(report)


def test_the_score_is_least_at_the_quantiles():
    y = np.random.default_rng(2).normal(size=20_000)
    q = stats.norm.ppf(0.95)

    def score(a, b):
        return coverage_of(y, np.full_like(y, -a), np.full_like(y, b), 0.9).score

    assert score(q, q) < min(score(q * 1.2, q), score(q, q * 0.8), score(q * 1.2, q * 1.2))


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: tolerance_probability(0, 0.1), "positive"),
        (lambda: tolerance_probability(3, 0.1, exceptions=3), "leave no interval"),
        (lambda: tolerance_level(3, 1.0), "delta"),
        (lambda: tolerance_sample_size(0.0, 0.1), "eps"),
        (lambda: iterated_logarithm(2), "begins at"),
        (lambda: coverage_test([True], 1.5), "level"),
        (lambda: coverage_of([1.0], [0.0, 1.0], [2.0], 0.9), "do not fit"),
        (lambda: coverage_of([1.0], [0.0], [2.0], 0.9, [1, 2]), "groups"),
    ],
)
def test_what_cannot_be_is_refused(call, why):
    with pytest.raises(ValueError, match=why):
        call()
