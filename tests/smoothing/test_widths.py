"""Widths and weights from samples left out, against brute force."""

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.kernels.named import median_distance, resolve
from mercer.losses import Absolute, EpsilonInsensitive, Hinge, Squared
from mercer.smoothing.widths import (
    MAX_ERROR_RATIO,
    Guess,
    guess_C,
    guess_width,
    margin_error,
    search_width,
)

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (40, 2))
Y = np.sin(2 * X[:, 0]) + 0.2 * RNG.standard_normal(40)
K = Gaussian(1.0)(X)


def refits(C, y):
    """Return errors of machines fitted without each sample."""
    left = []
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        n = len(rest)
        M = np.zeros((n + 1, n + 1))
        M[:n, :n] = K[np.ix_(rest, rest)] + np.eye(n) / C
        M[:n, n] = M[n, :n] = 1.0
        a = np.linalg.solve(M, np.append(y[rest], 0.0))
        left.append(y[i] - K[i, rest] @ a[:n] - a[n])
    return np.array(left)


@pytest.mark.parametrize(("y", "cost"), [(Y, None), (np.sign(Y), margin_error)])
def test_the_guess_is_the_best_of_all_refits(y, cost):
    options = {} if cost is None else {"cost": cost}
    found = guess_C(K, y, np.ones((40, 1)), **options)
    cost = cost or (lambda y, f: (y - f) ** 2)
    left = refits(found.C, y)
    np.testing.assert_allclose(found.left_out[:, 0], left, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.error, np.mean(cost(y, y - left)), rtol=1e-7)
    for factor in (10.0**-1, 10.0**-0.5, 10.0**0.5, 10.0):
        other = refits(found.C * factor, y)
        assert np.mean(cost(y, y - other)) >= found.error / MAX_ERROR_RATIO * (1 - 1e-9)


def test_samples_without_weight_are_not_there():
    left_out = guess_C(K, Y, np.ones((40, 1)), np.r_[np.zeros(5), np.ones(35)])
    alone = guess_C(K[5:, 5:], Y[5:], np.ones((35, 1)))
    np.testing.assert_allclose(left_out.C, alone.C, rtol=1e-9)
    np.testing.assert_allclose(left_out.left_out, alone.left_out, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(left_out.index, np.arange(5, 40))


def test_other_losses_get_the_weight_that_curves_as_much():
    r = np.random.default_rng(1).standard_normal((4000, 1))
    found = Guess(10.0, r, 0 * r, np.ones(4000), np.arange(4000), 1.0, 1.0)
    assert found.weight_of(Squared()) == 10.0
    np.testing.assert_allclose(
        found.weight_of(Absolute()), 10.0 * np.sum(r**2) / np.sum(np.abs(r)), rtol=1e-12
    )
    # Curvature of the tube under N(0, 1) is twice the density at its wall; 4000 draws know it to
    # about two per cent.
    density = np.exp(-0.5 * 0.612**2) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(
        found.weight_of(EpsilonInsensitive(0.612)), 10.0 / (2 * density), rtol=0.06
    )
    y = np.where(np.arange(4000) % 2, 1.0, -1.0)[:, None]
    labels = Guess(10.0, r, y, np.ones(4000), np.arange(4000), 1.0, 1.0)
    excess = np.maximum(0.0, (y * r)[:, 0])
    expected = 10.0 * np.sum(r**2) / excess.sum()
    np.testing.assert_allclose(labels.weight_of(Hinge()), expected, rtol=1e-12)
    still = Guess(10.0, 0 * r, 0 * r, np.ones(4000), np.arange(4000), 0.0, 0.0)
    assert still.weight_of(Absolute()) == 10.0


def test_constant_targets_have_a_guess():
    found = guess_C(K, np.ones(40), np.ones((40, 1)))
    assert np.isfinite(found.C)
    assert found.noise_variance < 1e-20


@pytest.mark.parametrize(("frequency", "low", "high"), [(1.0, 0.5, 10.0), (20.0, 0.01, 0.5)])
def test_wiggly_functions_get_narrow_kernels(frequency, low, high):
    x = np.linspace(0, 2, 150)[:, None]
    y = np.sin(frequency * x[:, 0]) + 0.05 * np.random.default_rng(0).standard_normal(150)
    assert low < search_width(x, y).length_scale < high


def test_search_takes_the_width_with_the_least_error():
    found = search_width(X, Y)
    middle = guess_width(X)
    errors = {
        width: guess_C(Gaussian(width)(X), Y, np.ones((40, 1))).error
        for width in middle * 2.0 ** np.arange(-2, 3)
    }
    assert found.length_scale == min(errors, key=errors.get)
    assert found.error == min(errors.values())


def test_widths_scale_with_the_points():
    for method in ("median", "mean", "neighbours"):
        np.testing.assert_allclose(guess_width(3.0 * X, method), 3.0 * guess_width(X, method))
        assert guess_width(np.zeros((5, 2)), method) == 1.0
    assert guess_width([[1.0]]) == 1.0
    with pytest.raises(ValueError, match="method must be"):
        guess_width(X, "magic")


def test_neighbours_are_nearer_in_larger_samples():
    rng = np.random.default_rng(0)
    small, large = (guess_width(rng.uniform(size=(n, 1)), "neighbours") for n in (50, 450))
    # The order of the best bandwidth, n^(-1/5) in one dimension; edges blur it.
    assert 0.8 < (small / large) / 9 ** (1 / 5) < 1.25


def test_the_named_median_is_the_median():
    distances = np.linalg.norm(X[:, None] - X, axis=2)[np.triu_indices(40, 1)]
    np.testing.assert_allclose(median_distance(X), np.median(distances))
    np.testing.assert_allclose(resolve("rbf", X, "median").length_scale, np.median(distances))
    np.testing.assert_allclose(resolve("laplacian", X, "median").length_scale, np.median(distances))
