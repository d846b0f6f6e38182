"""Substrates that are made sparse and validated at once."""

import numpy as np
import pytest
from sklearn.linear_model import lars_path

from mercer.kernels import Gaussian
from mercer.losses import Squared
from mercer.programs.variation import Part, VariationProblem
from mercer_research.fusion import fuse_sparse_substrate, fuse_structure


def draw(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (70, 1))
    y = np.sinc(X[:, 0]) + 0.1 * rng.normal(size=70)
    K = Gaussian(0.8)(X, X[:40])
    return K[:40], y[:40], K[40:], y[40:]


def test_the_penalty_of_a_sparse_substrate_is_the_best_of_all():
    K, y, K_val, y_val = draw()
    found = fuse_sparse_substrate(K, y, K_val, y_val)
    a, b = found.coefficients
    zeta = found.hyperparameters["zeta"]
    # The conditions of the lasso hold where it ends, to the precision of its steps.
    residual = y - K @ a - b
    slope = (K - K.mean(axis=0)).T @ residual
    assert np.max(np.abs(slope)) <= zeta * (1 + 1e-6)
    np.testing.assert_allclose(slope[a != 0], zeta * np.sign(a[a != 0]), rtol=1e-4)
    assert found.value == pytest.approx(0.5 * np.sum((y_val - K_val @ a - b) ** 2))
    # A fine grid over the knots of an independent homotopy is nowhere better.
    middle = K.mean(axis=0)
    alphas, _, coefs = lars_path(K - middle, y - y.mean(), method="lasso")
    for alpha in np.linspace(alphas[-1], alphas[0], 2001):
        w = np.array([np.interp(alpha, alphas[::-1], c[::-1]) for c in coefs])
        cost = 0.5 * np.sum((y_val - y.mean() - (K_val - middle) @ w) ** 2)
        assert found.value <= cost * (1 + 1e-9)


def test_structure_is_validated_along_its_path():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (80, 3))
    y = 2 * X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=80)
    designs = [x[:, None] ** np.arange(1, 4) for x in X.T]
    parts = [Part(Z[:50], np.arange(50)) for Z in designs]
    problem = VariationProblem(parts, Squared(), y[:50], np.ones(50), np.ones((50, 1)), ridge=0.0)
    new = [Z[50:] for Z in designs], np.ones((30, 1)), y[50:]
    choice, found = fuse_structure(problem, *new, n_mus=10, steps=8)
    mu = choice.hyperparameters["mu"]
    again = problem.solve(mu)
    np.testing.assert_allclose(again.solution.f, found.solution.f, atol=1e-2)

    def cost(one):
        f = sum(Z @ w for Z, w in zip(new[0], one.w, strict=True)) + one.b
        return 0.5 * np.sum((new[2] - f) ** 2)

    assert choice.value == pytest.approx(cost(found))
    grid = problem.path(problem.largest_mu() * np.geomspace(1, 1e-3, 10))
    assert choice.value <= min(cost(one) for one in grid) * (1 + 1e-3)
    # No gap on a substrate: what the penalty costs is what the fitted values gain.
    f = found.solution.f - found.b[0]
    gain = f @ (y[:50] - found.solution.f)
    assert mu * found.variation.sum() == pytest.approx(gain, rel=1e-3)
