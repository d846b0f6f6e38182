"""A baseline is held to its definition: gradients, a linear case in closed form, and its stop."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer_research.linear import RBFNetwork
from mercer_research.linear.rbf_network import _objective

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (80, 2))
Y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.05 * RNG.normal(size=80)


def test_gradient():
    theta = RNG.normal(size=3 + 1 + 6 + 3)
    args = (X, Y, 3, 0.1)
    error = check_grad(lambda t: _objective(t, *args)[0], lambda t: _objective(t, *args)[1], theta)
    # Forward differences of step 1e-8 leave some 1e-7 of the size of the second derivatives.
    assert error < 1e-5 * (1 + np.linalg.norm(_objective(theta, *args)[1]))


def test_without_steps_it_is_ridge_on_functions_of_clusters():
    machine = RBFNetwork(8, alpha=1e-3, max_iter=0, validation=0.0).fit(X, Y)
    squares = np.sum((X[:, None] - machine.centres_) ** 2, axis=2)
    H = np.exp(-squares / (2 * machine.widths_**2))
    r = Y - machine.predict(X)
    np.testing.assert_allclose(H @ machine.coef_ + machine.intercept_, Y - r, atol=1e-10)
    # Stationary: H'r = n alpha w, and residuals without a mean.
    np.testing.assert_allclose(H.T @ r, 80 * 1e-3 * machine.coef_, atol=1e-8)
    assert np.sum(r) == pytest.approx(0.0, abs=1e-9)


def test_training_lowers_the_error_and_scales_with_the_targets():
    start = RBFNetwork(8, max_iter=0, validation=0.0).fit(X, Y)
    found = RBFNetwork(8, validation=0.0).fit(X, Y)
    assert found.n_iter_ > 0
    assert np.mean((found.predict(X) - Y) ** 2) < 0.5 * np.mean((start.predict(X) - Y) ** 2)
    scaled = RBFNetwork(8, max_iter=3).fit(X, 10 * Y + 5)
    np.testing.assert_allclose(
        scaled.predict(X), 10 * RBFNetwork(8, max_iter=3).fit(X, Y).predict(X) + 5, rtol=1e-6
    )


@parametrize_with_checks([RBFNetwork(4, max_iter=20)])
def test_contract(estimator, check):
    check(estimator)
