"""Tubes for a density of noise, and guesses made of the noise."""

import numpy as np
import pytest
from scipy import stats

from mercer.smoothing import (
    cherkassky_C,
    guess_epsilon,
    optimal_epsilon,
    optimal_nu,
    plug_in_bandwidth,
    ridge_C,
    signal_to_noise,
    tube_efficiency,
)

# Table 2.3 of Smola's thesis, with what the scan lost computed again: power, epsilon, nu.
TABLE = [
    (1.0, 0.0, 1.0),
    (1.25, 0.0363, 0.9600),
    (1.5, 0.2093, 0.8067),
    (1.75, 0.4188, 0.6575),
    (2.0, 0.6120, 0.5405),
    (3.0, 1.1180, 0.2909),
    (4.0, 1.3583, 0.1898),
    (5.0, 1.4844, 0.1384),
    (8.0, 1.6339, 0.0743),
    (10.0, 1.6704, 0.0563),
]


@pytest.mark.parametrize(("power", "epsilon", "nu"), TABLE)
def test_the_printed_table(power, epsilon, nu):
    assert abs(optimal_epsilon(power) - epsilon) < 1e-4
    assert abs(optimal_nu(power) - nu) < 1e-4


def test_gaussian_efficiency_has_its_closed_form():
    for t in (0.0, 0.3, 0.612, 1.5):
        inverse = np.pi / 2 * np.exp(t**2) * 2 * stats.norm.sf(t)
        np.testing.assert_allclose(1.0 / tube_efficiency("gaussian", t), inverse, rtol=1e-8)


def test_densities_of_scipy_are_read():
    np.testing.assert_allclose(
        tube_efficiency(stats.norm(scale=3.0), 1.8), tube_efficiency("gaussian", 0.6), rtol=1e-5
    )


def test_laplacian_efficiency_has_its_closed_form():
    scale = 1.0 / np.sqrt(2.0)
    for t in (0.0, 0.5):
        np.testing.assert_allclose(tube_efficiency("laplace", t), np.exp(-t / scale), rtol=1e-7)


def test_efficiency_is_that_of_draws():
    rng = np.random.default_rng(0)
    draws = np.sort(rng.standard_normal((3000, 200)), axis=1)
    epsilon = 0.612
    # The minimizers of the summed loss: bisection for the sign of its derivative.
    low, high = np.full(3000, -1.0), np.full(3000, 1.0)
    for _ in range(40):
        middle = 0.5 * (low + high)
        r = draws - middle[:, None]
        slope = np.sum(r > epsilon, axis=1) - np.sum(r < -epsilon, axis=1)
        low, high = np.where(slope > 0, middle, low), np.where(slope > 0, high, middle)
    # A variance of 3000 draws has a standard error of sqrt(2/3000); n = 200 is nearly asymptotic.
    np.testing.assert_allclose(
        200 * np.var(low), 1.0 / tube_efficiency("gaussian", epsilon), rtol=3 * 0.026 + 0.02
    )


def test_widths_scale_with_the_noise():
    np.testing.assert_allclose(
        optimal_epsilon(stats.norm(scale=2.0)), 2.0 * optimal_epsilon("gaussian"), rtol=1e-6
    )
    np.testing.assert_allclose(optimal_epsilon("gaussian", 2.0), 2.0 * optimal_epsilon("gaussian"))
    np.testing.assert_allclose(optimal_nu(stats.norm(scale=2.0)), optimal_nu("gaussian"), rtol=1e-6)


def test_densities_that_are_none_are_refused():
    with pytest.raises(ValueError, match="symmetric"):
        optimal_epsilon(stats.gamma(2.0))
    with pytest.raises(ValueError, match="power of at least 1"):
        optimal_nu(0.5)
    with pytest.raises(ValueError, match="noise must be"):
        optimal_nu("magic")


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
