"""Rules of thumb from the noise, against their definitions."""

import numpy as np
import pytest

from mercer_research.noise import (
    cherkassky_C,
    guess_epsilon,
    plug_in_bandwidth,
    ridge_C,
    signal_to_noise,
)


def test_cherkassky():
    np.testing.assert_allclose(
        guess_epsilon(4.0, 100, "cherkassky"), 6 * np.sqrt(np.log(100) / 100)
    )
    y = np.array([1.0, 2.0, 6.0])
    bounds = abs(y.mean() + 3 * y.std()), abs(y.mean() - 3 * y.std())
    np.testing.assert_allclose(cherkassky_C(y), max(bounds))
    np.testing.assert_allclose(cherkassky_C(-y), max(bounds))
    with pytest.raises(ValueError, match="number of samples"):
        guess_epsilon(1.0, rule="cherkassky")
    with pytest.raises(ValueError, match="rule must be"):
        guess_epsilon(1.0, rule="magic")
    with pytest.raises(ValueError, match="must be positive"):
        guess_epsilon(-1.0)


def test_ridge_and_the_differogram_agree_on_isotropic_weights():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 4))
    X = (X - X.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(X.T, ddof=0))).T
    w = np.array([1.0, -2.0, 0.5, 0.0])
    y = X @ w + 0.1 * rng.standard_normal(3000)
    # The slope of half the squared differences is |w|^2 / 2D and both are (|w|^2 / D) / sigma^2.
    np.testing.assert_allclose(
        ridge_C(X, y, 0.01), signal_to_noise(w @ w / 8, 0.01), rtol=5 * 0.1 / np.sqrt(3000)
    )


def test_the_bandwidth_minimizes_its_error():
    n, sigma = 400, 0.3
    x = np.linspace(0, 2, n)
    y = x**3
    h = plug_in_bandwidth(x, y, sigma**2)
    # Mean squared bias and variance, h^4/4 E[f''^2] and sigma^2 |X| R(K) / (n h), with f'' = 6x and
    # a range of 2.
    roughness = 36 * (8 / 3) / 2

    def error(h):
        return h**4 / 4 * roughness + sigma**2 * 2 / (2 * np.sqrt(np.pi) * n * h)

    assert error(h) <= min(error(1.01 * h), error(0.99 * h))
    np.testing.assert_allclose(plug_in_bandwidth(10 * x, y, sigma**2), 10 * h, rtol=1e-9)
    np.testing.assert_allclose(plug_in_bandwidth(x, 5 * y, 25 * sigma**2), h, rtol=1e-9)
    np.testing.assert_allclose(
        plug_in_bandwidth(x, y, 1.0, "printed"), 0.4254 / 400**0.2, rtol=1e-4
    )
    with pytest.raises(ValueError, match="rule must be"):
        plug_in_bandwidth(x, y, 1.0, "magic")
    with pytest.raises(ValueError, match="one feature"):
        plug_in_bandwidth(np.ones((9, 2)), np.ones(9), 1.0)


def test_a_bandwidth_needs_six_samples():
    x = np.linspace(0.0, 1.0, 6)
    assert plug_in_bandwidth(x, x**2, 0.01) > 0
    with pytest.raises(ValueError, match="at least six samples"):
        plug_in_bandwidth(x[:5], x[:5] ** 2, 0.01)
