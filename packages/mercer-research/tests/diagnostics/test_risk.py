"""The bound on the squared error: its parts, how they move, and that it holds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import LSSVR
from mercer.kernels import Gaussian
from mercer.regularizers import Empty
from mercer_research.diagnostics import risk_bound


def sample(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 1))
    return X, np.clip(np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n), -1.2, 1.2)


def fitted(n, seed=0, C=10.0):
    X, y = sample(n, seed)
    return LSSVR(kernel=Gaussian(0.7), C=C, null_space=Empty()).fit(X, y), X, y


def test_parts_are_their_formulas():
    machine, X, y = fitted(60)
    bound = risk_bound(machine, X, y, delta=0.1)
    K, a = Gaussian(0.7)(X), machine.dual_coef_[0]
    B = np.sqrt(a @ K @ a)
    assert_allclose(bound.norm, B, rtol=1e-6)
    assert_allclose(bound.radius, 1.0)
    assert_allclose(bound.empirical, np.mean((y - K @ a) ** 2), rtol=1e-6)
    complexity = 16 * B / 60 * (B * np.sqrt(np.trace(K)) + np.linalg.norm(y))
    assert_allclose(bound.complexity, complexity, rtol=1e-6)
    assert_allclose(bound.confidence, 12 * B**2 * np.sqrt(np.log(20) / 120), rtol=1e-6)
    assert_allclose(bound.value, bound.empirical + bound.complexity + bound.confidence)


def test_it_falls_with_the_sample_and_rises_with_certainty_and_norm():
    bounds = [risk_bound(*fitted(n)).value for n in (50, 200, 800)]
    assert bounds[0] > bounds[1] > bounds[2]
    machine, X, y = fitted(100)
    assert risk_bound(machine, X, y, delta=0.01).value > risk_bound(machine, X, y).value
    assert risk_bound(*fitted(100, C=1e4)).value > risk_bound(*fitted(100, C=1.0)).value


def test_it_holds_on_new_points():
    """It is so wide that it fails far less often than it may."""
    X, y = sample(4000, 999)
    for seed in range(20):
        machine, *given = fitted(80, seed)
        bound = risk_bound(machine, *given)
        assert bound.valid
        assert np.mean((y - machine.predict(X)) ** 2) <= bound.value


def test_a_large_sample_makes_it_say_something():
    assert risk_bound(*fitted(80)).vacuous
    n = 2500
    X, y = sample(n, 0)
    machine = LSSVR(kernel=Gaussian(2.0), C=0.1, null_space=Empty(), tol=1e-6).fit(X, y)
    bound = risk_bound(machine, X, y, delta=0.5)
    assert bound.vacuous == (bound.value >= 4 * (bound.norm * bound.radius) ** 2)
    assert not bound.vacuous


def test_what_it_is_not_for_is_refused():
    X, y = sample(30, 0)
    with pytest.raises(ValueError, match="Empty"):
        risk_bound(LSSVR().fit(X, y), X, y)
    machine = LSSVR(null_space=Empty()).fit(X, y)
    with pytest.raises(ValueError, match="delta"):
        risk_bound(machine, X, y, delta=1.0)
    two = np.column_stack([y, y])
    with pytest.raises(ValueError, match="one output"):
        risk_bound(LSSVR(null_space=Empty()).fit(X, two), X, two)
