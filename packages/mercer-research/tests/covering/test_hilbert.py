"""Counts on m points: worked numbers, and the constructions that the counts count."""

from math import comb, log

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer_research.covering import CarlBound, ConvexHull, Cube, HilbertBall, PointCover


@pytest.mark.parametrize(
    ("m", "radius", "explicit", "terms", "conjectured", "proved"),
    [
        (100, 0.5, 18.06, 4, 20.46, 1697.9),
        (1000, 0.5, 27.23, 4, 40.19, 5256.4),
        (1000, 0.2, 132.18, 25, 149.54, 13388.0),
        (1000, 0.1, 398.83, 100, 367.00, 26945.5),
        (10**6, 0.1, 1087.13, 100, 2020.66, 717327.0),
    ],
)
def test_worked_counts(m, radius, explicit, terms, conjectured, proved):
    # Printed to two decimals, with the proved constant to one.
    ball = HilbertBall(m)
    assert ball.log_covering(radius) == pytest.approx(explicit, abs=6e-3)
    assert ball.terms(radius) == terms
    assert CarlBound(m, constant=1.86).log_covering(radius) == pytest.approx(conjectured, abs=6e-3)
    assert CarlBound(m).log_covering(radius) == pytest.approx(proved, abs=6e-2)


def test_worked_three_points():
    assert np.exp(HilbertBall(3).log_covering(0.5)) == pytest.approx(210)
    assert HilbertBall(3).log_covering(0.1) == pytest.approx(21.257, abs=6e-4)
    assert Cube(3).log_covering(0.5) == pytest.approx(2.079, abs=6e-4)
    assert Cube(3).log_covering(0.1) == pytest.approx(6.908, abs=6e-4)


def test_a_conjecture_is_called_one():
    assert CarlBound(10).assumptions == ()
    (assumption,) = CarlBound(10, constant=1.86).assumptions
    assert assumption.status == "assumed"
    assert "conjectured" in assumption.text


@pytest.mark.parametrize("outputs", [1, 3])
def test_greedy_terms_are_no_more_than_counted(outputs):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    K = 4.0 * Gaussian(0.7)(X)  # R = 2
    norm, R = 1.5, 2.0
    ball = HilbertBall(30, norm * R, outputs)
    L = np.linalg.cholesky(K + 1e-12 * np.eye(30))
    for radius in (1.0, 0.4, 0.2):
        for _ in range(5):
            w = rng.normal(size=(30, outputs))
            rest = L @ (norm * w / np.linalg.norm(w))
            steps = 0
            # A coordinate of the outputs may leave this share of a Euclidean distance.
            share = radius / np.sqrt(outputs)
            while np.max(np.linalg.norm(rest, axis=1)) > radius:
                i, c = np.unravel_index(np.argmax(np.abs(rest)), rest.shape)
                assert abs(rest[i, c]) > share
                rest[:, c] -= share / R**2 * np.sign(rest[i, c]) * K[:, i]
                steps += 1
            assert steps <= ball.terms(radius)


def test_counts_are_those_of_multisets():
    # Two points, at most three steps of four kinds: enumerate.
    kinds, T = 4, 3
    multisets = {
        tuple(sorted((a, b, c))) for a in range(5) for b in range(5) for c in range(5)
    }  # the kind 4 is no step
    assert np.exp(HilbertBall(2).log_covering(0.55)) == pytest.approx(len(multisets))
    assert HilbertBall(2).terms(0.55) == T
    assert kinds == 2 * HilbertBall(2).n_points


def test_huge_counts_keep_their_digits():
    for m, radius in ((5, 1e-6), (5, 1e-4), (2000, 1e-5)):
        ball = HilbertBall(m)
        T = ball.terms(radius)
        exact = log(comb(2 * m + T, 2 * m)) if m < 10 else None
        found = ball.log_covering(radius)
        if exact is not None:  # Stirling: the entropy exceeds it by half a logarithm of its size
            assert exact <= found <= exact + 0.5 * np.log(2 * np.pi * 2 * m) + 1 / (12 * m)
        assert found <= m * 2 * (1 + np.log1p(T / (2 * m)))
    assert np.isfinite(HilbertBall(5).log_covering(1e-100))


def test_bounds_are_monotone():
    radii = np.geomspace(1e-3, 2, 60)
    for make in (HilbertBall, Cube, CarlBound, lambda m: ConvexHull(m, 10)):
        for few, many in ((5, 6), (100, 1000)):
            at = np.array([[make(m).log_covering(r) for r in radii] for m in (few, many)])
            assert np.all(np.diff(at, axis=1) <= 1e-9)
            assert np.all(at[0] <= at[1] + 1e-9)
            assert np.all(at[:, radii >= 1] == 0.0)
    larger = HilbertBall(50, 3.0)
    assert larger.log_covering(0.3) == HilbertBall(50).log_covering(0.1)
    assert CarlBound(50, 3.0).log_covering(0.3) == pytest.approx(CarlBound(50).log_covering(0.1))


def test_carl_inverts():
    carl = CarlBound(500, 2.0, constant=1.86)
    for radius in (0.5, 0.1):
        assert np.exp(carl.log_entropy(carl.log_covering(radius))) == pytest.approx(
            radius, rel=1e-9
        )
    assert carl.log_entropy(0.1) == pytest.approx(np.log(2.0))


def test_steps_are_where_a_term_more_is_needed():
    ball = HilbertBall(20, 2.0)
    for radius in ball.steps(0.2)[:20]:
        assert ball.terms(radius) + 1 == ball.terms(radius * (1 - 1e-6))


def test_drawn_terms_approximate_convex_combinations():
    rng = np.random.default_rng(1)
    X = np.linspace(-1, 1, 25)[:, None]
    K = np.tanh(2 * X @ X.T - 0.5)  # indefinite
    hull = ConvexHull(25, 25, float(np.abs(K).max()))
    radius = 0.5 * hull.norm
    T = int(2 * np.log(50) * 4) + 1
    for _ in range(10):
        a = rng.dirichlet(np.full(25, 0.3)) * rng.choice([-1, 1], 25)
        # The mean of T terms is near with positive probability, hence some of many draws is.
        index = rng.choice(25, size=(50, T), p=np.abs(a))
        means = (np.sign(a)[index, None] * K[index]).mean(axis=1)
        assert np.min(np.max(np.abs(means - a @ K), axis=1)) <= radius
    draws = rng.dirichlet(np.full(25, 0.1), size=3000) * rng.choice([-1, 1], (3000, 25))
    packed = PointCover(draws @ K, np.inf, start=0, smallest=2 * radius).log_lower(radius)
    assert 0 < packed <= hull.log_covering(radius)
