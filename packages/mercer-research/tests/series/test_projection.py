"""Projections onto covariances of a series, against semidefinite programs."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import linalg

from mercer_research.series.projection import nearest_definite, nearest_moving_average
from mercer_research.series.toeplitz import Toeplitz

ROW = np.exp(-0.3 * np.arange(50.0))


def times(n):
    """Return how often each lag occurs in a matrix."""
    return np.where(np.arange(n) > 0, 2.0, 1.0) * (n - np.arange(n))


def draw(seed, n):
    w = np.random.default_rng(seed).normal(size=n)
    w[0] = abs(w[0]) + 0.5
    return w


@pytest.mark.parametrize(
    "w", [*(draw(seed, 7) for seed in range(4)), np.array([1.0, -0.8, -0.8]), np.array([0.0, 1.0])]
)
def test_the_projection_solves_the_semidefinite_program(w):
    n = len(w)
    x = cp.Variable(n)
    T = sum(x[k] * (linalg.toeplitz(np.eye(n)[k])) for k in range(n))
    distance = cp.sum(cp.multiply(times(n), cp.square(x - w)))
    problem = cp.Problem(cp.Minimize(distance), [T >> 0])
    problem.solve(solver="CLARABEL")
    v = nearest_definite(w)
    # A gap g leaves sqrt(g) to the solution: 1e-8 of a squared distance of at most 40 in theirs.
    np.testing.assert_allclose(v, x.value, rtol=0, atol=7e-4)
    assert times(n) @ (v - w) ** 2 == pytest.approx(problem.value, rel=1e-6)
    assert np.linalg.eigvalsh(linalg.toeplitz(v))[0] >= 0.0


@pytest.mark.parametrize(("seed", "n"), [(1, 60), (4, 5), (3, 20)])
def test_the_projection_makes_an_obtuse_angle_with_all_that_is_definite(seed, n):
    """<T(w) - T(v), T(u) - T(v)> <= 0 for every definite u: the gap, and no more."""
    w, rng = draw(seed, n), np.random.default_rng(0)
    v = nearest_definite(w)
    assert Toeplitz(v).is_positive_semidefinite(0.0)
    gap = 1e-10 * times(n) @ w**2
    for theta in np.append(rng.uniform(0, np.pi, 200), [0.0, np.pi]):
        u = 10.0 * np.cos(theta * np.arange(n))
        assert times(n) @ ((w - v) * u) <= gap
    assert abs(times(n) @ ((w - v) * v)) <= gap


@pytest.mark.parametrize("w", [0.7 ** np.arange(40), ROW, np.ones(4), np.zeros(3), [2.0]])
def test_definite_sequences_are_their_own_projection(w):
    np.testing.assert_array_equal(nearest_definite(w), w)


def test_units_do_not_matter():
    w = draw(2, 5)
    for unit in (1e-200, 1e200):
        np.testing.assert_allclose(nearest_definite(unit * w) / unit, nearest_definite(w))


@pytest.mark.parametrize("seed", range(3))
def test_the_nearest_moving_average_solves_the_semidefinite_program(seed):
    """v is definite if, and only if, its values are sums along the diagonals of some Q >= 0."""
    v = np.random.default_rng(seed).normal(size=7)
    v[0] = abs(v[0]) + 0.5
    found = nearest_moving_average(v)
    times = np.where(np.arange(7) > 0, 2.0, 1.0)
    Q = cp.Variable((7, 7), PSD=True)
    x = cp.hstack([cp.sum(cp.diag(Q, k)) for k in range(7)])
    objective = cp.Minimize(cp.sum(cp.multiply(times, cp.square(x - v))))
    cp.Problem(objective).solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12)
    # A relative gap of 1e-12 in an objective of about 3 leaves its square root to the solution.
    np.testing.assert_allclose(found, x.value, rtol=0, atol=3e-6)


def test_many_lags_of_noise_become_definite():
    v = np.random.default_rng(0).normal(size=60) * 0.95 ** np.arange(60)
    v[0] = 2.0
    found = nearest_moving_average(v)
    assert np.fft.hfft(np.append(found, np.zeros(6001))).min() >= -1e-9


def test_definite_sequences_are_left_alone_and_others_become_definite():
    kept = nearest_moving_average(ROW)
    np.testing.assert_allclose(kept, ROW, rtol=0, atol=1e-12)
    v = nearest_moving_average([1.0, 0.9, 0.9])
    for n in (3, 50, 300):
        row = np.pad(v, (0, n - 3))
        assert np.linalg.eigvalsh(linalg.toeplitz(row))[0] >= -1e-12
