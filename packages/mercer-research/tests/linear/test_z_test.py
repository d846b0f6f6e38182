"""The z-test: its law if the null is true, its power if not, and the interval it belongs to."""

import numpy as np
import pytest
from scipy import stats

from mercer_research.linear import location_test, z_test

SIDES = ("two-sided", "greater", "less")


@pytest.mark.parametrize("alternative", SIDES)
def test_p_values_are_uniform_if_the_null_is_true(alternative):
    rng = np.random.default_rng(0)
    samples = 3.0 + 2.0 * rng.standard_normal((300, 7))
    found = [location_test(y, 3.0, sigma=2.0, alternative=alternative).p_value for y in samples]
    # At the level 1e-3: one seed of a thousand would fail.
    assert stats.kstest(found, "uniform").pvalue > 1e-3


def test_power_is_that_of_the_normal_law():
    rng = np.random.default_rng(1)
    shift, n, repeats = 0.5, 16, 800
    samples = shift + rng.standard_normal((repeats, n))
    share = np.mean([location_test(y, sigma=1.0).rejects(0.05) for y in samples])
    z, reach = shift * np.sqrt(n), stats.norm.isf(0.025)
    power = stats.norm.sf(reach - z) + stats.norm.cdf(-reach - z)
    assert abs(share - power) < 4 * np.sqrt(power * (1 - power) / repeats)


@pytest.mark.parametrize("alternative", SIDES)
def test_the_interval_holds_what_is_not_rejected(alternative):
    test = z_test(1.3, 0.4, alternative=alternative)
    low, high = test.interval(0.9)
    for null in (low, high):
        if np.isfinite(null):
            at = z_test(1.3, 0.4, null, alternative)
            assert at.p_value == pytest.approx(0.1)
    assert z_test(1.3, 0.4, max(low, -9.0) + 1e-6, alternative).p_value > 0.1
    assert test.statistic == pytest.approx(1.3 / 0.4)


def test_without_sigma_it_is_that_of_the_sample():
    y = np.random.default_rng(2).normal(size=400)
    assert location_test(y).p_value == pytest.approx(stats.ttest_1samp(y, 0.0).pvalue, abs=2e-3)


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="standard error"):
        z_test(1.0, 0.0)
    with pytest.raises(ValueError, match="alternative"):
        z_test(1.0, 1.0, alternative="both")
    with pytest.raises(ValueError, match="give sigma"):
        location_test([1.0])
    with pytest.raises(ValueError, match="level"):
        z_test(1.0, 1.0).rejects(2.0)
    with pytest.raises(ValueError, match="coverage"):
        z_test(1.0, 1.0).interval(0.0)
    with pytest.raises(ValueError, match="one sample"):
        location_test(np.ones((2, 2)))
