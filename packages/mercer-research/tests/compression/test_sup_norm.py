"""The rule for an error at every point: what it keeps, and what it may cost."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Laplacian, Polynomial
from mercer_research.compression.sup_norm import sup_terms


def sample(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return np.sort(rng.uniform(-3, 3, n))[:, None], rng.choice([-1.0, 1.0], n) / n


@pytest.mark.parametrize("step", ["exact", "fixed"])
@pytest.mark.parametrize("error", [0.2, 0.1, 0.03])
@pytest.mark.parametrize("kernel", [Laplacian(1.0), Gaussian(0.5), Polynomial(3, coef0=1.0)])
def test_the_error_and_the_count_hold(kernel, step, error):
    X, a = sample()
    few = sup_terms(kernel, X, 5 * a, error, step=step)
    values = kernel(X) @ (5 * a) - kernel(X, X[few.index]) @ few.coef
    # The steps carry the difference along; it was computed again at the end.
    assert np.abs(values).max() <= error * (1 + 1e-8)
    assert few.sup_error == pytest.approx(np.abs(values).max(), rel=1e-6)
    norm, radius = 25 * a @ kernel(X) @ a, np.max(kernel.diag(X))
    assert few.bound == np.floor(norm * radius / error**2)
    assert len(few.index) <= few.steps <= few.bound


def test_steps_of_one_size_are_those_of_the_rule():
    """Subtract error / R^2 of the kernel function where the rest is largest; here R = 1."""
    X, a = sample(80)
    kernel, error = Laplacian(1.0), 0.05
    K = kernel(X)
    rest, coef, steps = K @ (5 * a), np.zeros(80), 0
    while np.abs(rest).max() > error:
        i = int(np.argmax(np.abs(rest)))
        weight = np.sign(rest[i]) * error
        rest, steps = rest - weight * K[:, i], steps + 1
        coef[i] += weight
    few = sup_terms(kernel, X, 5 * a, error, step="fixed")
    ours = np.zeros(80)
    ours[few.index] = few.coef
    np.testing.assert_allclose(ours, coef, rtol=0, atol=1e-12)
    assert few.steps == steps


def test_every_step_lowers_the_norm_by_what_the_proof_needs():
    """The norm of the difference falls by more than the squared error over R^2 at each step."""
    X, a = sample(80)
    kernel, error = Laplacian(1.0), 0.01
    K = kernel(X)
    few = sup_terms(kernel, X, a, error, step="fixed")
    d = a.copy()
    d[few.index] -= few.coef
    fall = a @ K @ a - d @ K @ d
    assert fall > few.steps * error**2
    # Every step has the same size, so that weights are multiples of it.
    np.testing.assert_allclose(few.coef / error, np.round(few.coef / error), atol=1e-9)


def test_several_functions_and_other_points():
    X, a = sample()
    A = np.column_stack([a, a[::-1] * 3])
    Z = np.linspace(-3, 3, 500)[:, None]
    few = sup_terms(Laplacian(1.0), X, A, 0.02, points=Z)
    rest = Laplacian(1.0)(Z, X) @ A - Laplacian(1.0)(Z, Z[few.index]) @ few.coef
    assert np.abs(rest).max() <= 0.02 * (1 + 1e-8)
    K = Laplacian(1.0)(X)
    bounds = [np.floor(c @ K @ c / 0.02**2) for c in A.T]
    assert few.steps <= few.bound == sum(bounds)


def test_bad_settings_are_refused():
    X, a = sample(5)
    with pytest.raises(ValueError, match="error must be positive"):
        sup_terms(Laplacian(), X, a, 0.0)
    with pytest.raises(ValueError, match="'exact' or 'fixed'"):
        sup_terms(Laplacian(), X, a, 0.1, step="long")
