"""Covering numbers from dimensions: worked numbers, and exact covers of small classes."""

import math
from functools import cache
from itertools import product

import numpy as np
import pytest

from mercer_research.covering import (
    FatCovering,
    PseudoCovering,
    fat_dimension,
    fat_dimension_bound,
    log_covering_from_below,
    log_growth,
)


def exact_count(values, radius, *, mean=False):
    """Least number of balls: any centres in the largest difference, members in the mean one."""
    n = len(values)

    def fits(members):
        chosen = values[[i for i in range(n) if members >> i & 1]]
        if mean:
            return np.any(
                np.all(np.mean(np.abs(values[:, None] - chosen), -1) <= radius + 1e-12, 1)
            )
        return np.all(np.ptp(chosen, axis=0) <= 2 * radius + 1e-12)

    balls = [members for members in range(1, 1 << n) if fits(members)]

    @cache
    def least(left):
        if not left:
            return 0
        first = left & -left
        return 1 + min(least(left & ~ball) for ball in balls if ball & first)

    return least((1 << n) - 1)


def ball(margin):
    return fat_dimension_bound(margin).value


@pytest.mark.parametrize(
    ("m", "radius", "worked"),
    [
        (100, 0.5, 1930.3),
        (1_000, 0.5, 4590.6),
        (1_000, 0.2, 28030.3),
        (1_000, 0.1, 104980.8),
        (10**6, 0.1, 477026.7),
    ],
)
def test_worked_numbers_of_the_formula(m, radius, worked):
    # As in the text, where the range and the dimension that exceeds m are ignored.
    d = 16 / radius**2
    by_hand = np.log(2) + d * np.log2(np.e * m * radius / 8) * np.log(4 * m / radius**2)
    assert by_hand == pytest.approx(worked, abs=0.05)
    covering = FatCovering(ball, m, largest=1.0)
    by_dimension, grid = covering._both(radius)
    assert by_dimension == (pytest.approx(worked, abs=0.05) if d < m else np.inf)
    assert covering.log_covering(radius) == (0.0 if radius >= 0.5 else min(by_dimension, grid))


def test_the_simpler_form_is_weaker():
    for m, radius in ((10**4, 0.3), (10**6, 0.1), (10**9, 0.4)):
        sharp, simple = (FatCovering(ball, m, form=f)._both(radius)[0] for f in ("alon", "squared"))
        assert sharp <= simple
        # Both by hand, in bits: fat(r / 4) of the unit ball is 16 / r^2.
        d = 16 / radius**2
        rows = math.log2(2 * math.e * m) - math.log2(d * radius)
        assert sharp / math.log(2) == pytest.approx(1 + d * rows * math.log2(4 * m / radius**2))
        root = math.log2(4 * math.e * m / radius)
        assert simple / math.log(2) == pytest.approx(3 * d * root * root)


def test_coverings_fall_with_the_radius_and_end_at_the_norm():
    for covering in (FatCovering(ball, 10**6, largest=2.0), PseudoCovering(4, largest=2.0)):
        radii = np.geomspace(1e-3, 1.2, 200)
        logs = [covering.log_covering(radius) for radius in radii]
        assert np.all(np.diff(logs) <= 1e-9)
        assert covering.log_covering(covering.norm) == 0.0
    grid = FatCovering(ball, 50, largest=2.0)
    assert grid.log_covering(0.1) == pytest.approx(50 * np.log(10))
    assert grid.active(0.1) == "grid of values"
    assert FatCovering(ball, 10**6, largest=2.0).active(0.4) == "fat-shattering dimension"


def test_exact_covers_lie_below():
    rng = np.random.default_rng(0)
    for _ in range(5):
        values = rng.integers(0, 6, size=(8, 4)) / 5
        for radius in (0.1, 0.25, 0.4):
            exact = np.log(exact_count(values, radius))

            def fat(margin, values=values):
                return fat_dimension(values, margin)

            for form in ("alon", "squared"):
                covering = FatCovering(fat, 4, form=form)
                by_dimension, grid = covering._both(radius)
                assert exact <= min(by_dimension, grid) + 1e-12
            assert exact >= log_covering_from_below(fat, radius) - 1e-12

    # As far as exact covers are known the bounds are loose, so both are computed by hand as well:
    # one function in two on 8 points at margin 0.4, none above it.
    def one(margin):
        return 1 if margin <= 0.4 else 0

    above, grid = FatCovering(one, 8)._both(0.4)
    assert above == pytest.approx(math.log(2 * (4 * 8 / 0.16) ** math.log2(2 * math.e * 8 / 0.4)))
    assert grid == pytest.approx(8 * math.log(2))
    squared, _ = FatCovering(one, 8, form="squared")._both(0.4)
    assert squared == pytest.approx(3 * math.log2(4 * math.e * 8 / 0.4) ** 2 * math.log(2))
    # fat(16 r) / 8 beside fat(4 r) ln 2 / 32, each the larger once.
    assert log_covering_from_below(lambda margin: 24, 0.01) == pytest.approx(3.0)
    steps = {0.16: 0, 0.04: 64}
    below = log_covering_from_below(lambda margin: steps[round(margin, 12)], 0.01)
    assert below == pytest.approx(2 * math.log(2))


def test_pseudo_dimensions_cover_in_the_mean():
    # Binary functions: the pseudo-dimension is the VC dimension. Small sets of points have h.
    for m, h in ((4, 2), (5, 2)):
        values = np.array([row for row in product((0.0, 1.0), repeat=m) if sum(row) <= h])[:9]
        for radius in (0.05, 0.21, 0.41):
            exact = np.log(exact_count(values, radius, mean=True))
            assert exact <= PseudoCovering(h).log_covering(radius)
    # ln 2 + h ln(q ln q) with q = 2 e B / r, as printed.
    ratio = 2 * np.e / 0.05
    printed = np.log(2) + 3 * np.log(ratio * np.log(ratio))
    assert PseudoCovering(3).log_covering(0.05) == pytest.approx(printed)
    # At radii below 1/m functions are told apart, and their number is Sauer's at most.
    assert log_growth(20, 3) <= PseudoCovering(3).log_covering(0.99 / 20)


def test_all_functions_on_a_cube_need_no_fewer_than_said():
    for d in (1, 2, 3):
        values = np.array(list(product((0.0, 1.0), repeat=d)))

        def fat(margin, d=d):
            return d if margin <= 0.5 else 0

        for radius in (0.02, 0.1, 0.12):
            exact = np.log(exact_count(values, radius, mean=True))
            assert exact >= log_covering_from_below(fat, radius)
