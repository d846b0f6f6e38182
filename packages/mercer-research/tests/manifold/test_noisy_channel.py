"""Noise on latent coordinates: exact for a straight line, to first order for a curve."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.manifold import Interval, PrincipalManifold
from mercer_research.manifold.noisy_channel import noisy_distortion


def test_a_straight_line_costs_the_squared_slope_times_the_variance():
    rng = np.random.default_rng(0)
    t = rng.uniform(-0.5, 0.5, 400)
    X = np.c_[2 * t, t] + 0.01 * rng.normal(size=(400, 2))
    # A stiff kernel part on a free line: rows within keep away from the ends.
    line = PrincipalManifold(Interval(5), lam=1e6, null_space="linear").fit(X)
    inside = X[np.abs(line.transform(X)[:, 0]) < 0.5]
    found = noisy_distortion(line, inside, 0.05, random_state=0)
    slope = np.sum(line.jacobian([[0.0]]) ** 2)
    assert_allclose(found.expected - found.noiseless, 0.05**2 * slope, rtol=1e-3)
    assert abs(found.noisy - found.expected) < 4 * found.standard_error
    assert found.standard_error < 0.02 * found.noisy
    assert found.noisy > 5 * found.noiseless


def test_the_constant_of_the_expansion_on_a_curve():
    """Not twice the squared noise, as was printed."""
    rng = np.random.default_rng(1)
    t = rng.uniform(-1, 1, 300)
    X = np.c_[t, t**2] + 0.02 * rng.normal(size=(300, 2))
    curve = PrincipalManifold(Interval(8), lam=1e-3, tol=1e-4).fit(X)
    inside = X[np.abs(curve.transform(X)[:, 0]) < 0.8]
    found = noisy_distortion(curve, inside, 0.03, n_draws=300, random_state=0)
    rise = found.expected - found.noiseless
    assert_allclose(found.noisy - found.noiseless, rise, rtol=0.1)


def test_no_noise_and_refusals():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    curve = PrincipalManifold(Interval(4), lam=0.1).fit(X)
    still = noisy_distortion(curve, X, 0.0, n_draws=2)
    assert_allclose([still.noisy, still.expected], still.noiseless)
    assert_allclose(still.noiseless, np.mean(curve.distortion(X)))
    with pytest.raises(ValueError, match="sigma must be"):
        noisy_distortion(curve, X, -1.0)
    with pytest.raises(ValueError, match="at least 2"):
        noisy_distortion(curve, X, 0.1, n_draws=1)
