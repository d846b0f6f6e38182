"""Inverted tails against SciPy, closed forms and high precision."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

from mercer.claims.compressed import log_subsets
from mercer.claims.tails import binomial_upper, kl_upper, log_choose, log_kl_moment, split_kl


@pytest.mark.parametrize("errors", [0, 1, 7, 50, 99])
@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-6])
def test_the_binomial_tail_is_the_interval_of_clopper_and_pearson(errors, delta):
    found = binomial_upper(errors, 100, math.log(delta))
    assert found == pytest.approx(stats.beta.isf(delta, errors + 1, 100 - errors), rel=1e-9)
    interval = stats.binomtest(errors, 100, alternative="less").proportion_ci(1 - delta)
    assert found == pytest.approx(interval.high, rel=1e-6)


def test_tails_that_underflow():
    """Without errors (1 - p)^m = delta has a solution at any size of delta."""
    assert binomial_upper(0, 5000, -3000.0) == pytest.approx(-math.expm1(-3000 / 5000))
    # One error, in decimals whose exponents do not underflow: the tail at the bound is delta.
    p = Decimal(binomial_upper(1, 400, -1500.0))
    tail = (1 - p) ** 400 + 400 * p * (1 - p) ** 399
    assert float(tail.ln()) == pytest.approx(-1500.0, rel=1e-9)
    assert binomial_upper(100, 100, -5.0) == 1.0
    with pytest.raises(ValueError, match="between 0 and"):
        binomial_upper(3, 2, -1.0)


def by_brackets(mean, budget):
    def excess(p):
        return float(split_kl(mean, p)) - budget

    almost = 1 - 1e-16
    return brentq(excess, max(mean, 1e-300), almost) if excess(almost) > 0 else 1.0


def test_the_kl_bound_solves_its_equation():
    q, c = np.array([0.0, 0.01, 0.3, 0.99, 1.0]), 0.05
    p = kl_upper(q, c)
    assert np.all(p >= q)
    assert split_kl(q[:-1], p[:-1]) == pytest.approx(c, rel=1e-6)
    assert p[0] == pytest.approx(-math.expm1(-c))
    assert p[-1] == 1.0
    # Means and budgets of many sizes, against a bracketing root finder.
    for mean in (0.0, 1e-8, 1e-3, 0.2, 0.5, 0.97):
        for budget in (1e-9, 1e-4, 0.01, 0.3, 2.0, 20.0):
            assert kl_upper(mean, budget) == pytest.approx(by_brackets(mean, budget), rel=1e-7)
    # Pinsker: never above q + sqrt(c / 2); exactly as far for small deviations around 1/2.
    assert np.all(p <= q + math.sqrt(c / 2))
    assert kl_upper(0.5, 1e-8) == pytest.approx(0.5 + math.sqrt(1e-8 / 2), abs=1e-8)


def test_the_chernoff_tail_is_above_the_exact_one():
    for k in (0, 3, 20):
        exact = binomial_upper(k, 60, math.log(0.05))
        chernoff = float(kl_upper(k / 60, math.log(20) / 60))
        assert chernoff == pytest.approx(exact) if k == 0 else chernoff > exact


def test_the_constant_of_maurer():
    """Against the sum in rational arithmetic, and his bounds sqrt(m) and 2 sqrt(m)."""
    for m in (1, 2, 8, 30):
        terms = (
            math.comb(m, k) * Fraction(k, m) ** k * (1 - Fraction(k, m)) ** (m - k)
            for k in range(m + 1)
        )
        assert math.exp(log_kl_moment(m)) == pytest.approx(float(sum(terms)), rel=1e-12)
    for m in (8, 100, 6000):
        assert math.sqrt(m) <= math.exp(log_kl_moment(m)) <= 2 * math.sqrt(m)


def test_subsets_and_sizes_share_all_of_delta():
    m = 12
    assert float(np.exp(log_choose(m, 5))) == pytest.approx(math.comb(m, 5))
    total = sum(math.comb(m, d) * math.exp(-log_subsets(d, m)) for d in range(m + 1))
    assert total == pytest.approx(1 - 1 / (m + 2))
