"""Small parts of smoothers beside their definitions, and the same answers in other units."""

import numpy as np
import pytest
from scipy import stats
from scipy.spatial import cKDTree

from mercer.kernels import Gaussian
from mercer.smoothing import Morozov, Spectral
from mercer.smoothing.noise import _first_differences, _left_out, _mueller, in_units
from mercer.smoothing.tube_width import _LogDensity


def test_first_differences_have_unit_variance():
    x, variance = np.arange(5.0), np.array([1.0, 4.0, 9.0, 0.25, 2.0])
    D = _first_differences(x, variance).toarray()
    np.testing.assert_allclose(np.diag(D @ np.diag(variance) @ D.T), 1.0, rtol=1e-14)
    np.testing.assert_allclose(D.sum(axis=1), 0.0, atol=1e-15)
    np.testing.assert_array_equal(D != 0, np.eye(4, 5) + np.eye(4, 5, 1) != 0)


def test_one_machine_has_the_variance_that_is_given():
    x = np.linspace(-3.0, 3.0, 50)[:, None]
    y = np.sinc(x[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=50)
    spectral = Spectral(Gaussian()(x))
    alone, doubted = Morozov(0.01), Morozov(0.01, std=0.004, n_machines=1)
    for found, expected in zip(doubted.choose(spectral, y), alone.choose(spectral, y), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_pairs_are_compared_at_the_bandwidth_that_leaves_out_best():
    rng = np.random.default_rng(1)
    X = rng.uniform(0.0, 1.0, (80, 1))
    y = np.sin(12 * X[:, 0]) + 0.1 * rng.normal(size=80)
    points = in_units(X)
    apart = np.abs(points - points.T)
    nearest = np.sort(apart, axis=1)[:, 1:]
    tried = [float(np.median(nearest[:, k - 1])) for k in (2, 4, 8, 16, 32)]
    errors = [_left_out(cKDTree(points), y, h) for h in tried]
    assert max(errors) > 1.5 * min(errors)
    best = _mueller(X, y, tried[int(np.argmin(errors))])
    assert _mueller(X, y)[0] == pytest.approx(best[0], rel=1e-9)
    assert _mueller(X, y, tried[int(np.argmax(errors))])[0] != pytest.approx(best[0], rel=1e-3)


def test_a_log_density_is_a_loss_of_the_residual():
    y, f = np.array([2.0, -1.0, 0.5]), np.array([0.0, 0.5, 3.0])
    loss = _LogDensity(stats.gumbel_r.logpdf)
    np.testing.assert_allclose(loss.value(y, f), -stats.gumbel_r.logpdf(y - f), rtol=1e-15)
    # Minus the logarithm is z + exp(-z), whose slope by f is exp(-z) - 1.
    np.testing.assert_allclose(loss.gradient(y, f), np.expm1(-(y - f)), rtol=1e-6)
