"""The smallest ball around a sample and radius-margin numbers, against geometry."""

import numpy as np
import pytest

from covers_brute import UnitBall, log_volume_bound
from mercer.kernels import Gaussian, Linear, Matern
from mercer_research.covering import enclosing_ball, sample_radii
from mercer_research.selection.bounds import smallest_ball

AWAY = np.array([5.0, 0.0])


def test_two_points_lie_at_half_their_distance():
    X = np.array([[0.0, 0.0], [1.0, 2.0]])
    for kernel in (Gaussian(), Linear(), Matern(0.5)):
        K = kernel(X)
        half = 0.5 * np.sqrt(K[0, 0] + K[1, 1] - 2 * K[0, 1])
        ball = enclosing_ball(kernel, X)
        assert ball.radius == pytest.approx(half, rel=1e-12)
        assert ball.gap < 1e-8


def test_known_balls():
    # A regular simplex of n vertices at distance 1 from the origin: radius sqrt(1 - 1/n).
    for n in (3, 5, 40):
        ball = enclosing_ball(Linear(), np.eye(n))
        assert ball.radius == pytest.approx(np.sqrt(1 - 1 / n), rel=1e-9)
        assert ball.centre_norm == pytest.approx(np.sqrt(1 / n), rel=1e-8)
    corners = np.array([[x, y] for x in (-1.0, 1.0) for y in (-1.0, 1.0)]) + AWAY
    inside = np.random.default_rng(0).uniform(-0.9, 0.9, (500, 2)) + AWAY
    for X in (corners, np.r_[inside, corners]):  # points inside change nothing
        ball = enclosing_ball(Linear(), X)
        assert ball.radius == pytest.approx(np.sqrt(2), rel=1e-9)
        assert ball.centre_norm == pytest.approx(5.0, rel=1e-8)
        assert ball.gap < 1e-8


@pytest.mark.parametrize(
    ("kernel", "shape"),
    [
        (Gaussian(), (300, 2)),
        (Gaussian(0.3), (150, 6)),
        (Linear(), (2000, 3)),
        (Matern(), (250, 1)),
    ],
)
def test_the_gap_certifies(kernel, shape):
    X = np.random.default_rng(1).normal(size=shape)
    ball = enclosing_ball(kernel, X)
    assert ball.gap < 1e-8
    # Every row lies in the ball, by distances of its own.
    K = kernel(X, ball.points)
    inner = ball.weights @ kernel(ball.points) @ ball.weights
    squares = kernel.diag(X) - 2 * K @ ball.weights + inner
    assert squares.max() <= ball.radius**2 * (1 + 1e-12)
    assert ball.weights.min() >= 0
    assert ball.weights.sum() == pytest.approx(1.0)
    assert smallest_ball(kernel(X[:400]))[0] <= ball.radius**2 * (1 + 1e-7)


def test_scale_and_order():
    X = np.random.default_rng(2).normal(size=(100, 2))
    one, two = enclosing_ball(Linear(), X), enclosing_ball(Linear(), 3.0 * X[::-1])
    assert two.radius == pytest.approx(3 * one.radius, rel=1e-9)
    blocks = enclosing_ball(Linear(), [X[:10], X[10:]])
    assert blocks.radius == pytest.approx(one.radius, rel=1e-9)


def test_a_core_too_small_says_so():
    ball = enclosing_ball(Linear(), np.eye(60), most=30)
    assert ball.lower < np.sqrt(1 - 1 / 60) < ball.radius
    assert ball.gap > 1e-3


def test_repeated_points():
    assert enclosing_ball(Gaussian(), np.zeros((5, 2))).radius == 0.0


def test_numbers_of_a_machine():
    rng = np.random.default_rng(3)
    X, a = rng.normal(size=(50, 2)), rng.normal(size=50)
    a[10:20] = 0.0
    kernel = Gaussian(1.5)
    radii = sample_radii(kernel, X, a, margin=0.5)
    K = kernel(X)
    assert radii.norm == pytest.approx(np.sqrt(a @ K @ a))
    assert radii.size == 1.0
    assert radii.ball.radius < 1.0
    assert radii.ratio == pytest.approx(radii.ball.radius**2 * (a @ K @ a) / 0.25)
    assert radii.n_samples == 50
    assert radii.data_dependent
    assert sample_radii(kernel, X).ratio is None


def test_covering_about_the_centre():
    # Far from the origin the ball about the centre is small, and the offset cheap.
    X = 10.0 + np.random.default_rng(4).normal(size=(30, 2))
    radii = sample_radii(Linear(), X)
    cover = radii.covering(UnitBall(30), norm=1.0)
    assert cover.data_dependent
    plain = UnitBall(30).scaled(radii.size)
    assert cover.log_covering(1.0) < 0.5 * plain.log_covering(1.0)
    assert "offset of the centre" in cover.active(1.0)
    for radius in (5.0, 1.0, 0.3):
        assert cover.log_covering(radius) >= log_volume_bound(X @ X.T, radius)
    with pytest.raises(ValueError, match="norm"):
        radii.covering(UnitBall(30))
