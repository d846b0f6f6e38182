"""Matching pursuit against brute force, and projections against the normal equations."""

from itertools import permutations

import numpy as np
import pytest

from mercer.compression import project
from mercer.compression.pursuit import matching_pursuit
from mercer.kernels import Gaussian, Laplacian, Linear, StringSpectrum, ThinPlate

EPS = np.finfo(float).eps


def expansion(n=30, d=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    return X, rng.normal(size=n) if d == 1 else rng.normal(size=(n, d))


def distance(kernel, X, a, index, b):
    """The norm of the difference from scratch, as the quadratic form of its coefficients."""
    d = np.array(a, dtype=float).copy()
    d[index] -= b
    return np.sqrt(max(np.sum(d * (kernel(X) @ d)), 0.0))


@pytest.mark.parametrize("d", [1, 3])
def test_every_step_is_the_best_that_brute_force_finds(d):
    X, a = expansion(20, d)
    K, kernel = Laplacian(1.0)(X), Laplacian(1.0)
    index, _, history = matching_pursuit(kernel, X, a, 6)
    for m in range(6):
        chosen = list(index[:m])

        def left(j, chosen=chosen):
            rows = [*chosen, j]
            b = np.linalg.solve(K[np.ix_(rows, rows)], K[rows] @ a)
            return distance(kernel, X, a, rows, b)

        others = [j for j in range(20) if j not in chosen]
        best = min(left(j) for j in others)
        assert left(index[m]) == pytest.approx(best, rel=1e-8)
        assert history[m + 1] == pytest.approx(best, rel=1e-8)


@pytest.mark.parametrize("d", [1, 2])
def test_weights_solve_the_normal_equations(d):
    X, a = expansion(40, d)
    kernel = Gaussian(0.7)
    index, b, history = matching_pursuit(kernel, X, a, 15)
    K = kernel(X)
    rest = K[index] @ a - K[np.ix_(index, index)] @ b
    # The difference of a projection vanishes at the centres, up to rounding of sums of 40 terms.
    assert np.abs(rest).max() <= 40 * EPS * np.abs(b).sum() * 10
    assert history[-1] == pytest.approx(distance(kernel, X, a, index, b), rel=1e-6)


def test_it_stops_at_a_distance():
    X, a = expansion(60)
    index, b, history = matching_pursuit(Laplacian(2.0), X, a, distance=1.0)
    assert history[-1] <= 1.0 < history[-2]
    assert distance(Laplacian(2.0), X, a, index, b) <= 1.0 + 1e-9


def test_dependent_terms_are_left_out():
    """Inner products of two features span two dimensions, whatever the number of points."""
    X, a = expansion(30)
    index, b, history = matching_pursuit(Linear(), X, a)
    assert len(index) == 2
    # A squared distance that is all rounding: eps times the squared norm, of a sum of 30 terms.
    assert history[-1] <= np.sqrt(30 * EPS) * history[0]
    np.testing.assert_allclose(b @ X[index], a @ X, rtol=1e-10)


def test_repeated_points_are_one():
    X = np.repeat(np.array([[0.0], [1.0]]), 3, axis=0)
    index, b, _ = matching_pursuit(Gaussian(), X, np.arange(6.0))
    assert sorted(X[index, 0]) == [0.0, 1.0]
    assert sorted(b.round(10)) == [3.0, 12.0]


def test_strings_are_compared_as_they_are():
    words = np.array(["kernel", "kernels", "machine", "machines", "mercer"], dtype=object)
    kernel, a = StringSpectrum(2), np.array([1.0, 1.0, -1.0, -1.0, 0.5])
    index, b, history = matching_pursuit(kernel, words, a, 3)
    assert history[-1] == pytest.approx(distance(kernel, words, a, index, b), rel=1e-8)
    order = [
        distance(
            kernel,
            words,
            a,
            list(rows),
            np.linalg.lstsq(
                kernel(words[list(rows)]), kernel(words[list(rows)], words) @ a, rcond=None
            )[0],
        )
        for rows in permutations(range(5), 1)
    ]
    assert history[1] == pytest.approx(min(order), rel=1e-8)


@pytest.mark.parametrize("d", [1, 2])
def test_projection_is_least_squares_in_the_space(d):
    X, a = expansion(30, d)
    Z = np.random.default_rng(1).uniform(-2, 2, (8, 2))
    kernel = Gaussian(1.0)
    b = project(kernel, X, a, Z)
    expected = np.linalg.solve(kernel(Z), kernel(Z, X) @ a)
    # Both solve a system of this condition.
    np.testing.assert_allclose(b, expected, rtol=np.linalg.cond(kernel(Z)) * 1e-13)


def test_a_wild_kernel_needs_a_machine():
    with pytest.raises(ValueError, match="compress a machine"):
        matching_pursuit(ThinPlate(2), np.zeros((3, 2)), np.ones(3))


def test_as_many_coefficients_as_points():
    with pytest.raises(ValueError, match="3 points need as many coefficients, got 2"):
        project(Gaussian(), np.zeros((3, 1)), np.ones(2), np.zeros((1, 1)))
