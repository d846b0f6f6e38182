"""Combinatorial dimensions against enumeration, and margins against quadratic programs."""

from itertools import combinations, product
from math import comb, log

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer.kernels import Gaussian
from mercer_research.covering import (
    GrowthFunction,
    fat_dimension,
    fat_dimension_bound,
    large_margin_dimension,
    log_growth,
    shattering_margin,
    sparse_fat_dimension_bound,
    vary_levels,
    vc_dimension,
)


def test_sums_of_binomials():
    for m, h in ((1, 1), (10, 3), (30, 29), (30, 30), (12, 20), (1000, 10)):
        assert log_growth(m, h) == pytest.approx(log(sum(comb(m, i) for i in range(h + 1))))
    assert log_growth(5, 0) == 0.0
    # Millions of points and a dimension of thousands stay logarithms.
    assert 5e4 < log_growth(10**9, 5000) < log_growth(10**9, 5000, "exponential") < 1e5


@pytest.mark.parametrize(
    ("m", "h", "chain"),
    [(10, 3, (176, 333.3333333, 743.909)), (1000, 10, (2.66092e23, 5.51146e23, 2.20265e24))],
)
def test_worked_chains(m, h, chain):
    forms = ("exact", "power", "exponential")
    found = [np.exp(log_growth(m, h, form)) for form in forms]
    assert found == pytest.approx(chain, rel=5e-6)  # six digits


def test_the_chain_rises():
    for m in range(1, 30):
        for h in range(1, m + 1):
            exact, power, exponential = (
                log_growth(m, h, form) for form in ("exact", "power", "exponential")
            )
            assert exact <= power + 1e-12
            assert power <= exponential + 1e-12
    with pytest.raises(ValueError, match="form"):
        log_growth(10, 2, "cubic")


def patterns(labels):
    return len(np.unique(np.asarray(labels), axis=0))


def test_growth_of_classes_that_can_be_counted():
    for m in (1, 3, 6):
        points = np.arange(m)
        ends = range(m + 1)
        thresholds = [points < t for t in ends]
        intervals = [(points >= a) & (points < b) for a in ends for b in ends]
        small = [
            np.isin(points, chosen)
            for k in range(min(m, 3) + 1)
            for chosen in combinations(points, k)
        ]
        for labels, h in ((thresholds, 1), (intervals, 2), (small, 3)):
            assert vc_dimension(labels) == min(h, m)
            assert np.log(patterns(labels)) <= log_growth(m, h) + 1e-12
        # One threshold more than points, intervals between any two, and small sets with equality.
        assert patterns(thresholds) == m + 1
        assert patterns(intervals) == m * (m + 1) // 2 + 1
        assert np.log(patterns(small)) == pytest.approx(log_growth(m, 3))


def test_no_class_has_more_patterns_than_its_dimension_allows():
    rng = np.random.default_rng(0)
    for _ in range(60):
        labels = rng.integers(0, 2, size=(rng.integers(1, 20), 5))
        h = vc_dimension(labels) if patterns(labels) > 1 else 0
        assert np.log(patterns(labels)) <= log_growth(5, h) + 1e-12
        assert GrowthFunction(h)(5).log_count == log_growth(5, h)


def test_lines_in_the_plane_shatter_three_points():
    # Directions and offsets on a fine grid: all dichotomies of five points by lines.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5, 2))
    angles = np.linspace(0, 2 * np.pi, 720, endpoint=False)
    projected = X @ [np.cos(angles), np.sin(angles)]
    order = np.sort(projected, axis=0)
    cuts = np.vstack([order[0] - 1, (order[1:] + order[:-1]) / 2, order[-1] + 1])
    labels = np.unique((projected[:, None, :] > cuts).transpose(1, 2, 0).reshape(-1, 5), axis=0)
    assert vc_dimension(labels) == 3
    # General position: 2 (C(4, 0) + C(4, 1) + C(4, 2)) patterns, below Sauer's sum.
    assert len(labels) == 22 <= round(np.exp(log_growth(5, 3)))


def by_midpoints(values, margin):
    """Fat-shattering dimension with levels half-way between any two values of a point."""
    m = values.shape[1]
    best = 0
    for size in range(1, m + 1):
        for points in combinations(range(m), size):
            f = values[:, points]
            middle = [np.unique((column[:, None] + column) / 2) for column in f.T]
            for level in product(*middle):
                signs = {
                    tuple(np.sign(row))
                    for row in f - level
                    if np.all(np.abs(row) >= margin - 1e-12)
                }
                if len(signs) == 2**size:
                    best = size
    return best


def test_fat_dimensions_by_another_enumeration():
    rng = np.random.default_rng(1)
    for _ in range(8):
        values = rng.integers(0, 5, size=(6, 3)) / 4
        for margin in (0.125, 0.25, 0.375, 0.5):
            assert fat_dimension(values, margin) == by_midpoints(values, margin)


def test_levels_that_vary_and_levels_that_do_not():
    rng = np.random.default_rng(2)
    larger = 0
    for _ in range(60):
        values = rng.integers(0, 11, size=(8, 3)) / 10
        for margin in (0.1, 0.2, 0.35, 0.5):
            one = fat_dimension(values, margin, one_level=True)
            vary = fat_dimension(values, margin)
            assert one <= vary
            assert (
                vary <= vary_levels(fat_dimension(values, margin / 2, one_level=True), margin).value
            )
            larger += vary > one
    assert larger > 0  # the two are different notions
    # Levels lie in [margin, 1 - margin]; bins of one margin each are no more than those counted.
    for margin, levels in ((0.5, 1), (0.25, 3), (0.2, 5), (0.1, 9)):
        assert vary_levels(1, margin).value == levels
        assert levels >= round((1 - 2 * margin) / margin)


@pytest.mark.parametrize(
    ("points", "margin"),
    [
        ([0, 1], 0.443547822),
        ([0, 1, 2], 0.268043690),
        ([0, 1, 2, 3], 0.189561518),
        ([0, 0.7, 2], 0.242574958),
    ],
)
def test_worked_margins(points, margin):
    K = Gaussian(1.0)(np.array(points, dtype=float)[:, None])
    result = shattering_margin(K)
    assert result.exact
    assert result.margin == pytest.approx(margin, rel=1e-8)
    assert result.lower <= result.margin * (1 + 1e-12)
    assert len(points) <= fat_dimension_bound(result.margin).value
    assert shattering_margin(K, norm=3.0).margin == pytest.approx(3 * margin, rel=1e-8)


def test_orthogonal_points_attain_the_fat_dimension():
    for m in (1, 4, 9):
        margin = shattering_margin(np.eye(m), norm=2.0).margin
        assert margin == pytest.approx(2 / np.sqrt(m), rel=1e-12)
        assert fat_dimension_bound(margin, norm=2.0).value == pytest.approx(m)


def test_margins_by_quadratic_programs():
    rng = np.random.default_rng(0)
    for m in (2, 3, 5):
        A = rng.standard_normal((m, m + 2))
        K = A @ A.T / m
        inverse = np.linalg.inv(K)
        worst = 0.0
        for y in product((1.0, -1.0), repeat=m):
            Q = np.outer(y, y) * inverse

            def energy(t, Q=Q):
                return t @ Q @ t, 2 * Q @ t

            found = minimize(
                energy, np.ones(m), jac=True, bounds=[(1, None)] * m, options={"ftol": 1e-15}
            )
            worst = max(worst, found.fun)
        assert shattering_margin(K).margin == pytest.approx(1 / np.sqrt(worst), rel=1e-6)


def test_points_that_coincide_cannot_be_told_apart():
    K = Gaussian(1.0)(np.array([[0.0], [0.0], [1.0]]))
    result = shattering_margin(K)
    assert result.margin < 1e-7
    assert result.lower == pytest.approx(0.0, abs=1e-8)


def test_many_points_give_an_upper_bound():
    K = Gaussian(1.0)(np.linspace(0, 15, 16)[:, None])
    result = shattering_margin(K, n_labellings=50)
    assert not result.exact
    assert result.lower <= result.margin
    # A subset is shattered at least as well: here 12 of 16 points, exactly.
    assert result.margin <= shattering_margin(K[:12, :12]).margin


def test_the_hardest_labels_are_those_of_the_margin():
    K = Gaussian(1.0)(np.array([[0.0], [0.3], [1.5], [4.0]]))
    result = shattering_margin(K)
    signed = np.outer(result.labels, result.labels) * K

    def objective(t):
        return t @ signed @ t, 2 * signed @ t

    constraint = {"type": "eq", "fun": lambda t: np.sum(t) - 1}
    found = minimize(
        objective,
        np.full(4, 0.25),
        jac=True,
        bounds=[(0, 1)] * 4,
        constraints=constraint,
        options={"ftol": 1e-15},
    )
    assert np.sqrt(found.fun) == pytest.approx(result.margin, rel=1e-6)


def test_hyperplanes_with_a_margin():
    assert large_margin_dimension(0.5, n_features=10, size=2.0).value == 11.0
    assert large_margin_dimension(0.5, n_features=100, size=2.0).value == 17.0
    assert "new points" in large_margin_dimension(0.5).assumptions[0].text


def test_the_unnamed_constant_must_be_told():
    with pytest.raises(TypeError, match="constant"):
        sparse_fat_dimension_bound(0.5, 10)
    bound = sparse_fat_dimension_bound(0.5, 10, constant=3.0, norm=2.0)
    assert bound.value == pytest.approx(3 * 16 * np.log(22))
    with pytest.raises(ValueError, match="margin"):
        fat_dimension_bound(0.0)
