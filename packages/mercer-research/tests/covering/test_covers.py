"""Covers and packings of point sets against set cover, known sets and laws."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from mercer.kernels import Gaussian, Linear
from mercer_research.covering import (
    Box,
    PointCover,
    count_sign_patterns,
    covers,
    exact_cover,
    exact_packing,
    log_sign_patterns,
)

METRICS = (1.0, 2.0, np.inf)


def partitions(items):
    """Yield all ways to divide a list into parts."""
    if not items:
        yield []
        return
    head, *rest = items
    for parts in partitions(rest):
        yield [[head], *parts]
        for i in range(len(parts)):
            yield [*parts[:i], [head, *parts[i]], *parts[i + 1 :]]


def smallest_ball(X, power):
    """Return the radius of the smallest ball around points of the plane."""
    if power == 1:  # squares that stand on a corner
        X = np.column_stack([X[:, 0] + X[:, 1], X[:, 0] - X[:, 1]])
    if power != 2:
        return np.max(np.ptp(X, axis=0)) / 2
    start = np.append(X.mean(axis=0), np.sum((X - X.mean(axis=0)) ** 2))
    inside = {"type": "ineq", "fun": lambda z: z[2] - np.sum((X - z[:2]) ** 2, axis=1)}
    return np.sqrt(minimize(lambda z: z[2], start, constraints=inside, tol=1e-12).x[2])


@pytest.mark.parametrize("power", METRICS)
def test_the_exact_number_is_the_least_over_all_partitions(power):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 2))
    # The balls come from a convex solver with its own tolerance: radii between two of them.
    subsets = {tuple(part) for parts in partitions(list(range(6))) for part in parts}
    reach = {s: smallest_ball(X[list(s)], power) if len(s) > 1 else 0.0 for s in subsets}
    needed = sorted(set(reach.values()))
    gaps = [i for i in range(1, len(needed)) if needed[i] - needed[i - 1] > 1e-4]
    for i in gaps[:: max(1, len(gaps) // 6)]:
        radius = (needed[i - 1] + needed[i]) / 2
        least = min(
            len(parts)
            for parts in partitions(list(range(6)))
            if all(reach[tuple(part)] <= radius for part in parts)
        )
        assert exact_cover(X, radius, power) == least


@pytest.mark.parametrize("power", METRICS)
def test_brackets_contain_the_exact_numbers(power):
    rng = np.random.default_rng(1)
    for n, d in ((9, 1), (9, 2), (8, 3)):
        X = rng.normal(size=(n, d))
        cover = PointCover(X, power)
        for radius in np.geomspace(0.1, 2.0, 6):
            exact = exact_cover(X, radius, power)
            inside = exact_cover(X, radius, power, centres="points")
            packings = [exact_packing(X, r, power) for r in (2 * radius, radius)]
            assert packings[0] <= exact <= inside <= packings[1]
            assert cover.log_lower(radius) <= np.log(exact) + 1e-12
            assert np.log(inside) <= cover.log_covering(radius) + 1e-12
            assert cover.count(radius) <= packings[1]


def test_points_on_a_line_and_corners_of_a_cube():
    n = 12
    line = PointCover(np.arange(float(n)))
    for radius in (0.4, 0.5, 1.0, 1.7, 3.0, 5.5):
        exact = -(-n // (int(2 * radius) + 1))  # a ball holds 2r + 1 neighbours
        assert exact_cover(np.arange(float(n)), radius) == exact
        lower, upper = line.bracket(radius)
        assert lower[0] <= np.log(exact) + 1e-12 <= upper[0] + 2e-12
    corners = np.array(list(product([0.0, 1.0], repeat=4)))
    cube = PointCover(corners, np.inf)
    assert np.exp(cube.log_covering(0.99)) == pytest.approx(16)
    assert np.exp(cube.log_lower(0.49)) == pytest.approx(16)
    assert cube.log_lower(0.5) == 0.0
    assert exact_cover(corners, 0.5, np.inf) == 1
    assert exact_cover(corners, 0.49, np.inf) == 16


@pytest.mark.parametrize("power", METRICS)
def test_a_box_takes_the_cells_that_balls_hold(power):
    """A cell's half diagonal is the radius; a line takes no more balls than its points do."""
    for radius in (0.2, 0.3, 1.1):
        half = radius / np.linalg.norm(np.ones(2), power)
        cells = np.prod(np.ceil(np.array([6.0, 3.0]) / (2 * half) - 1e-9))
        count = np.exp(Box([6.0, 3.0], power).log_covering(radius))
        assert count == pytest.approx(cells)
    line = np.exp(Box([2.0], power).log_covering(0.3))
    assert line == pytest.approx(exact_cover(np.linspace(0.0, 2.0, 13), 0.3, power))


def test_brackets_are_monotone_and_scale():
    X = np.random.default_rng(2).normal(size=(400, 3))
    radii = np.geomspace(1e-3, 10, 40)
    lower, upper = PointCover(X).bracket(radii)
    assert np.all(np.diff(lower) <= 0)
    assert np.all(np.diff(upper) <= 0)
    assert np.all(lower <= upper)
    assert upper[0] == np.log(400)
    assert upper[-1] == lower[-1] == 0.0
    # A power of 2, so that distances scale without rounding.
    scaled = PointCover(4 * X).bracket(4 * radii)
    np.testing.assert_array_equal(scaled[0], lower)
    np.testing.assert_array_equal(scaled[1], upper)


def test_traversal_by_hand_in_any_block_size(monkeypatch):
    X = np.random.default_rng(3).normal(size=(60, 2))
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    order = [7]
    radii = [np.inf]
    while len(order) < 60:
        away = distances[:, order].min(axis=1)
        order.append(int(np.argmax(away)))
        radii.append(away.max())
    whole = PointCover(X, start=7)
    np.testing.assert_array_equal(whole.order, order)
    np.testing.assert_allclose(whole.radii, radii, rtol=1e-14)
    monkeypatch.setattr(covers, "BLOCK_BYTES", 200)
    np.testing.assert_array_equal(PointCover(X, start=7).order, order)


def test_a_traversal_that_stops_early_stays_a_bracket():
    X = np.random.default_rng(4).normal(size=(200, 2))
    full, part = PointCover(X), PointCover(X, max_points=20)
    for radius in (1.0, full.radii[21], 0.01):
        assert part.log_covering(radius) >= full.log_covering(radius)
        assert part.log_lower(radius) <= full.log_lower(radius)
    assert part.log_covering(0.01) == np.log(200)
    assert len(PointCover(X, smallest=0.5).order) == full.count(0.5)


def test_kernels_measure_distances_in_their_feature_space():
    X = np.random.default_rng(5).normal(size=(50, 3))
    np.testing.assert_allclose(PointCover(X, Linear()).radii, PointCover(X).radii, rtol=1e-6)
    # No two features of a Gaussian are farther apart than sqrt(2).
    assert PointCover(100 * X, Gaussian()).norm == pytest.approx(np.sqrt(2))


def test_what_is_no_metric_is_refused():
    with pytest.raises(ValueError, match="triangle inequality"):
        PointCover([[0.0], [1.0]], 0.5)
    with pytest.raises(ValueError, match="at least one point"):
        PointCover(np.empty((0, 2)))
    with pytest.raises(ValueError, match="too many subsets"):
        exact_cover(np.arange(30.0), 1.0)
    with pytest.raises(ValueError, match="1, 2 and infinity"):
        exact_cover(np.arange(3.0), 1.0, 3.0)
    with pytest.raises(ValueError, match="'anywhere' or 'points'"):
        exact_cover(np.arange(3.0), 1.0, centres="none")


@pytest.mark.parametrize("power", METRICS)
def test_cells_of_a_box_fit_into_balls(power):
    widths = np.array([3.0, 1.0, 0.4])
    box = Box(widths, power)
    for radius in (0.2, 0.5, 1.0):
        cells = np.maximum(np.ceil(widths * 3 ** (1 / power) / (2 * radius) - 1e-9), 1)
        assert np.exp(box.log_covering(radius)) == pytest.approx(np.prod(cells))
        assert np.linalg.norm(widths / cells / 2, power) <= radius * (1 + 1e-12)
    assert box.log_covering(np.linalg.norm(widths / 2, power)) == 0.0
    with pytest.raises(ValueError, match="finite"):
        Box(np.inf)


@pytest.mark.parametrize("rank", [1, 2, 3, 5])
def test_sign_patterns_are_those_that_a_function_has(rank):
    m = 5
    X = np.random.default_rng(6).normal(size=(m, rank))
    realized = 0
    for signs in product([-1.0, 1.0], repeat=m):
        A = -np.array(signs)[:, None] * X
        free = [(None, None)] * rank
        realized += linprog(np.zeros(rank), A_ub=A, b_ub=-np.ones(m), bounds=free).success
    assert np.exp(log_sign_patterns(m, rank)) == pytest.approx(realized)
    assert log_sign_patterns(m, m) == pytest.approx(m * np.log(2))
    draws = np.random.default_rng(7).normal(size=(4000, rank)) @ X.T
    assert count_sign_patterns(draws) <= realized
    if rank <= 2:
        assert count_sign_patterns(draws) == realized
    with pytest.raises(ValueError, match="rank"):
        log_sign_patterns(m, m + 1)
