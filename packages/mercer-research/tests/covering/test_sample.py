"""Covering numbers on a sample: worked numbers, brackets, scale laws."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from covers_brute import UnitBall, log_packing, log_volume_bound
from mercer.kernels import Gaussian, Matern
from mercer_research.covering import Best, MeasuredFrame, PrincipalCovering, RadiiCovering

THREE = np.array([[0.0], [0.7], [2.0]])


def principal(K, norm=1.0):
    return PrincipalCovering(MeasuredFrame.from_gram(K), norm)


def radii(K, norm=1.0):
    return RadiiCovering(MeasuredFrame.from_gram(K), UnitBall(len(K)), norm)


def test_three_points_of_the_specification():
    K = Gaussian()(THREE)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(K)[::-1], [1.95436722, 0.88661436, 0.15901842], atol=5e-9
    )
    cover = principal(K)
    best = Best([cover, UnitBall(3)])
    rows = {0.5: (0.788, 4.764, 2, 2.079), 0.1: (5.616, 8.903, 3, 6.908)}
    for radius, (lower, value, head, returned) in rows.items():
        volume = 0.5 * np.linalg.slogdet(K)[1] + np.log(4 * np.pi / 3) - 3 * np.log(2 * radius)
        assert volume == pytest.approx(lower, abs=5e-4)
        assert log_volume_bound(K, radius) >= volume - 1e-12
        assert cover.log_covering(radius) == pytest.approx(value, abs=5e-4)
        assert cover.head(radius) == head
        assert best.log_covering(radius) == pytest.approx(returned, abs=5e-4)
    assert cover.data_dependent


def draws(K, n, seed=0):
    """Values on the sample of functions of norm 1 at most."""
    values, U = np.linalg.eigh(K)
    root = U * np.sqrt(np.maximum(values, 0))
    w = np.random.default_rng(seed).normal(size=(n, len(K)))
    return w / np.linalg.norm(w, axis=1)[:, None] @ root.T


@pytest.mark.parametrize("make", [principal, radii])
@pytest.mark.parametrize(
    "K",
    [
        Gaussian()(THREE),
        Matern(0.5)(THREE),
        Gaussian()(np.linspace(0, 3, 8)[:, None]),
        np.diag([4.0, 1.0, 0.01]),
    ],
)
def test_bounds_are_above_packings_and_volumes(K, make):
    cover = make(K)
    values = draws(K, 3000)
    for radius in (0.8, 0.5, 0.2, 0.1):
        found = cover.log_covering(radius)
        assert found >= log_packing(values, radius)
        assert found >= log_volume_bound(K, radius)


def test_a_smooth_kernel_on_many_points():
    X = np.linspace(-3, 3, 300)[:, None]
    K = Gaussian(0.5)(X)
    cover, several = principal(K), radii(K)
    for radius in (0.5, 0.2, 0.05, 0.01):
        lower = log_volume_bound(K, radius)
        assert lower <= cover.log_covering(radius) <= lower + 60
        assert several.log_covering(radius) >= lower
    # Several radii help the ball that knows one radius only.
    assert several.log_covering(0.05) < 0.5 * UnitBall(300).log_covering(0.05)
    assert several.head(0.05) > 0


@pytest.mark.parametrize("make", [principal, radii])
def test_monotone_and_homogeneous(make):
    X = np.random.default_rng(0).normal(size=(40, 2))
    K = Matern(1.5, nu=2.5)(X)
    cover, wide, large = make(K), make(K, 3.0), make(9.0 * K)
    grid = np.geomspace(1e-3, 1.5, 60)
    values = [cover.log_covering(r) for r in grid]
    assert (np.diff(values) <= 1e-9).all()
    assert cover.log_covering(cover.norm) == 0.0 == cover.head(1.0)
    assert cover.norm == pytest.approx(1.0)
    for r in (0.5, 0.1, 0.02):
        expected = cover.log_covering(r)
        assert wide.log_covering(3 * r) == pytest.approx(expected, rel=1e-6)
        assert large.log_covering(3 * r) == pytest.approx(expected, rel=1e-6)
        assert cover.scaled(3.0).log_covering(3 * r) == pytest.approx(expected, rel=1e-9)
    order = np.random.default_rng(1).permutation(40)
    mixed = make(K[np.ix_(order, order)])
    assert mixed.log_covering(0.1) == pytest.approx(cover.log_covering(0.1), rel=1e-6)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.05, 0.9))
@example(4169, 0.5)  # one row: both are ln 2
def test_any_choice_of_rows_is_bracketed(seed, radius):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rng.integers(1, 12), 2)) * rng.uniform(0.1, 3)
    K = Gaussian()(X)
    frame = MeasuredFrame.from_gram(K)
    cover, several = PrincipalCovering(frame), RadiiCovering(frame, UnitBall(len(X)))
    # The volume is a sum of at most 40 terms below 400, each rounded.
    volume = log_volume_bound(K, radius) - 40 * 400 * np.finfo(float).eps
    lower = max(volume, log_packing(draws(K, 300, seed), radius))
    assert cover.log_covering(radius) >= lower
    assert several.log_covering(radius) >= lower
    # Entropy numbers invert covering numbers.
    log_n = cover.log_covering(radius)
    if 0 < log_n < np.inf:
        assert np.exp(cover.log_entropy(log_n)) <= radius * (1 + 1e-9)


def test_a_box_is_above_all_samples_of_it():
    kernel = Gaussian(0.7)
    box = PrincipalCovering(MeasuredFrame.on_domain(kernel, [-1.0], [1.0], 0.002, 15))
    assert not box.data_dependent
    for n in (30, 200, 1000):
        K = kernel(np.linspace(-1, 1, n)[:, None])
        for radius in (0.5, 0.2, 0.1):
            assert box.log_covering(radius) >= log_volume_bound(K, radius)


def test_fewer_rows_have_less_capacity():
    # Rows at the edge of the sample are what the largest values come from.
    X = np.r_[np.random.default_rng(0).uniform(-1, 1, (80, 1)), [[3.0], [-3.0]]]
    K = Gaussian()(X)
    for radius in (0.5, 0.1, 0.02):
        assert principal(K[:80, :80]).log_covering(radius) < principal(K).log_covering(radius)


def test_too_few_directions_say_nothing_at_fine_radii():
    X = np.random.default_rng(0).normal(size=(100, 3))
    cover = PrincipalCovering(MeasuredFrame.from_data(Gaussian(0.5), X, 5))
    assert cover.log_covering(0.1) == np.inf
    with pytest.raises(ValueError, match="finite"):
        PrincipalCovering(cover.frame, np.inf)


def test_degenerate_samples():
    # One point, and a point at the origin of feature space.
    assert principal(np.ones((1, 1))).log_covering(0.5) == pytest.approx(np.log(2 / 0.5 + 1))
    both = principal(np.diag([1.0, 0.0]))
    assert both.log_covering(0.5) == pytest.approx(np.log(5.0))
