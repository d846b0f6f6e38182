"""Backfitting ends at the joint machine; marginal integration averages a local mean."""

import numpy as np
import pytest

from mercer import AdditiveRegressor
from mercer.kernels import Gaussian
from mercer_research.linear import backfit, marginal_integration


def draw(n=60, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, p))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=n)


def test_backfitting_converges_to_the_joint_machine():
    X, y = draw(50)
    Ks = [Gaussian(0.7)(X[:, [j]]) for j in range(3)]
    machine = AdditiveRegressor(kernel=Gaussian(0.7), C=5.0, tol=1e-10).fit(X, y)
    found = backfit(Ks, y, 5.0, tol=1e-14)
    parts = machine.predict_components(X, centred=False)
    np.testing.assert_allclose(found.components, parts, atol=1e-9)
    assert found.intercept == pytest.approx(machine.intercept_[0], abs=1e-9)
    alpha = 5.0 * (y - found.fitted)
    np.testing.assert_allclose(
        found.components, np.column_stack([K @ alpha for K in Ks]), atol=1e-9
    )


def test_marginal_integration_averages_a_pilot():
    X, y = draw(40, 2)
    found = marginal_integration(X, y, [0.4, 0.5])

    def pilot(x):
        weights = np.exp(-0.5 * np.sum(((X - x) / [0.4, 0.5]) ** 2, axis=1))
        return weights @ y / weights.sum()

    brute = [np.mean([pilot([x, other]) for other in X[:, 1]]) for x in X[:, 0]]
    np.testing.assert_allclose(found.components[:, 0], brute - np.mean(brute), atol=1e-12)
