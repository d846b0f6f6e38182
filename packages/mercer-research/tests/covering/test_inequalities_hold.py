"""Validity by simulation: a thousand samples with known risks, each inequality at delta 0.05.

Nearly every inequality has its control: the same simulation, where a bound that forgets the size of
the class, or half of the width for one function, must fail too often. So simulations can say no.
"""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom

from mercer_research.covering import (
    Distortion,
    FiniteClass,
    GrowthFunction,
    Interval,
    binary_classes,
    finite_classes,
    margin_bound,
    margin_distribution_bound,
    margin_errors,
    one_function,
    real_valued_classes,
    share_delta,
    squared_errors,
    structural_risk,
    vc_bound,
    zero_training_error,
)

DRAWS, DELTA = 1000, 0.05
# If a bound fails with probability at most 0.05, more failures than this have a probability below
# one in a million; 0.05 itself would be exceeded every other time by a bound that is just right.
MOST = int(binom.isf(1e-6, DRAWS, DELTA))


@pytest.fixture
def rng():
    return np.random.default_rng(20261117)


def fails(deviations, width):
    """Count the samples on which a bound does not hold."""
    assert len(deviations) == DRAWS
    return int(np.sum(deviations > width))


def half_of_one(m):
    """Half of what Hoeffding gives one function: too small for any class of this file."""
    return one_function().width(FiniteClass(0.0), m).value / 2


def test_the_margin_of_the_count():
    assert binom.sf(MOST, DRAWS, DELTA) <= 1e-6 < binom.sf(MOST - 1, DRAWS, DELTA)


def test_one_function(rng):
    # Coins, for which the inequality is nearly as sharp as it gets.
    m = 200
    means = rng.binomial(m, 0.5, DRAWS) / m
    width = one_function().width(FiniteClass(0.0), m).value
    assert fails(means - 0.5, width) <= MOST
    assert fails(means - 0.5, half_of_one(m)) > MOST
    both = one_function(two_sided=True).width(FiniteClass(0.0), m).value
    assert fails(np.abs(means - 0.5), both) <= MOST


def test_different_ranges(rng):
    ranges = np.r_[np.full(50, 2.0), np.full(150, 0.1)]
    sums = rng.choice([-0.5, 0.5], size=(DRAWS, 200)) @ ranges / 200
    assert fails(sums, one_function(ranges).width(FiniteClass(0.0), 200).value) <= MOST
    # With the mean range instead of the mean square it would be too small.
    assert fails(sums, one_function(np.mean(ranges)).width(FiniteClass(0.0), 200).value) > MOST


def test_finite_classes(rng):
    # 300 independent coins: the largest deviation is far beyond that of one of them.
    m, count = 400, 300
    deviations = np.max(np.abs(rng.binomial(m, 0.5, (DRAWS, count)) / m - 0.5), axis=1)
    covering = FiniteClass(np.log(count))
    assert fails(deviations, finite_classes().width(covering, m).value) <= MOST
    assert fails(deviations, finite_classes().width(FiniteClass(0.0), m).value) > MOST


def thresholds(rng, m):
    """Return the largest deviations of all thresholds: Kolmogorov's statistic of uniform points."""
    x = np.sort(rng.uniform(size=(DRAWS, m)), axis=1)
    i = np.arange(1, m + 1)
    return x, np.max(np.maximum(i / m - x, x - (i - 1) / m), axis=1)


def test_binary_classes(rng):
    m = 500
    _, deviations = thresholds(rng, m)
    growth = GrowthFunction(1)
    for inequality in (binary_classes(), binary_classes(printed=True)):
        assert fails(deviations, inequality.width(growth, m).value) <= MOST
    assert fails(deviations, vc_bound(0.0, m, 1).value) <= MOST
    # Kolmogorov's statistic is larger than what one threshold would do.
    assert fails(deviations, one_function().width(FiniteClass(0.0), m).value) > MOST


def test_zero_training_error(rng):
    # Labels change sign at 1/2; the worst threshold without errors is the nearest point on a side.
    m = 300
    x, _ = thresholds(rng, m)
    right = np.min(np.where(x > 0.5, x, 1.0), axis=1) - 0.5
    left = 0.5 - np.max(np.where(x <= 0.5, x, 0.0), axis=1)
    worst = np.maximum(left, right)
    width = zero_training_error().width(GrowthFunction(1), m).value
    assert fails(worst, width) <= MOST
    # One classifier fixed beforehand would have ln(1 / delta) / m, and both sides exceed it.
    assert fails(worst, np.log(1 / DELTA) / m) > MOST


def test_real_valued_classes(rng):
    # Waves of all phases, f_t(x) = (1 + cos(x - t)) / 2, on a circle.
    m = 400
    x = rng.uniform(0, 2 * np.pi, size=(DRAWS, m))
    # The largest deviation is half the length of the mean vector.
    deviations = 0.5 * np.hypot(np.mean(np.cos(x), axis=1), np.mean(np.sin(x), axis=1))
    # Phases between -pi and pi, and slopes at most 1/2: an interval of half-width pi / 2.
    assert fails(deviations, real_valued_classes().width(Interval(np.pi / 2), m).value) <= MOST
    assert fails(deviations, half_of_one(m)) > MOST


def test_squared_errors(rng):
    # Constants between 0 and 1, targets 0 or 1: linear in the constant, largest at an end.
    m = 400
    share = rng.binomial(m, 0.5, DRAWS) / m
    a = np.linspace(0, 1, 3)[:, None]
    deviations = np.max(np.abs((share - 0.5) * (1 - 2 * a)), axis=0)
    assert fails(deviations, squared_errors().width(Interval(0.5), m).value) <= MOST
    assert fails(deviations, half_of_one(m)) > MOST


def margin_samples(rng, m, flip):
    """Return, for 41 offsets t of f(x) = x - t, true risks and shares below the margin."""
    t = np.linspace(-0.5, 0.5, 41)
    x = rng.uniform(-1, 1, size=(DRAWS, m))
    y = np.where(x > 0, 1.0, -1.0) * np.where(rng.uniform(size=x.shape) < flip, -1.0, 1.0)
    risks = flip + (1 - 2 * flip) * np.abs(t) / 2
    return t, x, y, risks


def test_margins_on_the_sample(rng):
    m, rho, flip = 300, 0.1, 0.2
    t, x, y, risks = margin_samples(rng, m, flip)
    below = np.stack([np.mean(y * (x - offset) < rho, axis=1) for offset in t], axis=1)
    assert below[0, 0] == margin_errors(y[0], x[0] - t[0], rho)
    deviations = np.max(risks - below, axis=1)
    # Offsets between -1/2 and 1/2.
    width = margin_bound(Interval(0.5), rho, m, empirical=0.5).value - 0.5
    assert fails(deviations, width) <= MOST
    # Rows below no margin at all are fewer, and then half of a width for one function fails.
    plain = np.stack([np.mean(y * (x - offset) < 0, axis=1) for offset in t], axis=1)
    assert fails(np.max(risks - plain, axis=1), half_of_one(m)) > MOST


def test_margins_without_errors(rng):
    # A gap around 0 of which the sample may see more than there is: points between are rare.
    m, rho, rare = 400, 0.2, 0.004
    side = rng.choice([-1.0, 1.0], size=(DRAWS, m))
    between = rng.uniform(size=side.shape) < rare
    x = side * np.where(between, rng.uniform(0, 0.4, side.shape), rng.uniform(0.4, 1, side.shape))
    t = np.linspace(-0.2, 0.2, 21)
    kept = np.stack([np.all(side * (x - offset) >= rho, axis=1) for offset in t], axis=1)
    risks = rare * np.abs(t) / 0.8
    worst = np.max(np.where(kept, risks, 0.0), axis=1)
    assert np.mean(np.any(kept, axis=1)) > 0.1  # the event has something to say
    assert fails(worst, margin_bound(Interval(0.2), rho, m).value) <= MOST


def test_all_margins(rng):
    # One coordinate that is the label, save for rare flips: margins 1 and -1.
    m, flip = 10**6, 1e-6
    flips = rng.binomial(m, flip, DRAWS)
    bounds = {k: spoken(m, k) for k in np.unique(flips)}
    held = np.array([bounds[k] >= flip for k in flips])
    assert np.sum(~held) <= MOST
    assert np.mean([bounds[k] < 1 for k in flips]) > 0.5  # most of them say something


def spoken(m, flips):
    margins = np.ones(m)
    margins[:flips] = -1.0
    return margin_distribution_bound(margins, 1.0).value


def codebooks():
    """Pairs of centres on a grid of [-1, 1], and uniform data: risks are integrals."""
    grid = np.linspace(-1, 1, 7)
    pairs = np.array([(a, b) for a in grid for b in grid if a < b])
    x = (np.arange(20_000) + 0.5) / 10_000 - 1
    costs = np.min((x[:, None, None] - pairs) ** 2, axis=2)
    return pairs, np.mean(costs, axis=0)


def test_distortions(rng):
    m = 250
    pairs, risks = codebooks()
    seen = np.empty((DRAWS, len(pairs)))
    for i in range(DRAWS):
        x = rng.uniform(-1, 1, size=(m, 1, 1))
        seen[i] = np.mean(np.min((x - pairs) ** 2, axis=2), axis=0)
    covering = FiniteClass(np.log(len(pairs)))
    cost = Distortion()
    deviations = np.max(np.abs(seen - risks), axis=1)
    assert fails(deviations, cost.deviation(covering, m).value) <= MOST
    excess = risks[np.argmin(seen, axis=1)] - np.min(risks)
    assert fails(excess, cost.excess(covering, m).value) <= MOST
    assert np.mean(excess) <= cost.mean_excess(covering, m).value
    # Costs in [0, 4]: with a range of 1/4 instead the bound is wrong.
    wrong = one_function(0.25, two_sided=True).width(FiniteClass(0.0), m).value
    assert fails(deviations, wrong) > MOST


def test_structural_risk(rng):
    # Classes of 1, 10 and 100 coins, each represented by the one that looks best on the sample.
    m, sizes = 400, (1, 10, 100)
    risks = np.full(sum(sizes), 0.5)
    seen = rng.binomial(m, risks, (DRAWS, len(risks))) / m
    cuts = np.cumsum((0, *sizes))
    best = np.stack([np.min(seen[:, a:b], axis=1) for a, b in pairwise(cuts)], axis=1)
    # Widths depend on the classes only, so that one call tells them.
    choice = structural_risk(
        [FiniteClass(np.log(s)) for s in sizes], [0.5] * 3, finite_classes(), m, nested=False
    )
    bounds = best + choice.widths
    chosen = np.min(bounds, axis=1)
    assert fails(0.5 - chosen, 0.0) <= MOST
    # Choosing among them as if the winner had been alone, or as if it had been one coin, fails.
    single = one_function().width(FiniteClass(0.0), m, delta=share_delta(DELTA, 3)[0]).value
    assert fails(0.5 - np.min(best, axis=1), single) > MOST
