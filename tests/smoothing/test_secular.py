"""The weight C from the variance of the noise or from the norm, and the mean over an interval."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from mercer.kernels import Gaussian
from mercer.smoothing import Spectral
from mercer.smoothing.secular import average, feasible, ivanov, mean_square, morozov, squared_norm


def problem(seed=0, n=40, weights=False, d=None):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 1))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=n)
    if d:
        y = y[:, None] * np.arange(1, d + 1) + 0.1 * rng.normal(size=(n, d))
    s = rng.uniform(0.2, 3.0, n) if weights else np.ones(n)
    if weights:
        s[3] = 0.0
    return Gaussian(0.7)(X), np.column_stack([np.ones(n), X]), s, y


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("d", [None, 2])
def test_the_residuals_have_the_variance_of_the_noise(weights, d):
    """The root is found to rounding of log C."""
    K, B, s, y = problem(weights=weights, d=d)
    spectral = Spectral(K, B, s)
    C = morozov(spectral, y, 0.1)
    r = spectral.residuals(y, C)
    weighted = s @ r.reshape(len(s), -1) ** 2
    np.testing.assert_allclose(np.sum(weighted) / (np.sum(s) * (d or 1)), 0.1, rtol=1e-10)
    np.testing.assert_allclose(mean_square(spectral, y, C), 0.1, rtol=1e-10)


@pytest.mark.parametrize("d", [None, 2])
def test_the_norm_is_that_asked_for(d):
    K, B, s, y = problem(weights=True, d=d)
    spectral = Spectral(K, B, s)
    C = ivanov(spectral, y, 1.5)
    a = spectral.coefficients(y, C)[0].reshape(len(s), -1)
    np.testing.assert_allclose(np.sum(a * (K @ a)), 1.5**2, rtol=1e-9)
    np.testing.assert_allclose(squared_norm(spectral, y, C), 1.5**2, rtol=1e-10)


def test_ivanov_minimizes_the_error_within_the_ball():
    """The KKT conditions: no function of this norm comes closer, here against SciPy's root."""
    K, B, _, y = problem()
    spectral = Spectral(K, B)
    C = brentq(lambda x: squared_norm(spectral, y, np.exp(x)) - 1.0, -20, 20, xtol=1e-14)
    np.testing.assert_allclose(ivanov(spectral, y, 1.0), np.exp(C), rtol=1e-10)
    a, b = spectral.coefficients(y, np.exp(C))
    best, rng = np.sum((y - K @ a - B @ b) ** 2), np.random.default_rng(0)
    for _ in range(20):
        other = a + 0.01 * rng.normal(size=len(a))
        other *= np.sqrt(a @ K @ a / (other @ K @ other))
        left = y - K @ other
        free = np.linalg.lstsq(B, left, rcond=None)[0]
        assert np.sum((left - B @ free) ** 2) > best


def test_a_bound_that_does_not_bind_interpolates():
    """Interpolation has the squared norm y'K^+y; the next larger bound does not bind."""
    K = Gaussian(0.1)(np.linspace(0, 3, 12)[:, None])
    y = np.cos(np.arange(12.0))
    norm = np.sqrt(y @ np.linalg.solve(K, y))
    assert ivanov(Spectral(K), y, 1.001 * norm) == np.inf
    assert np.isfinite(ivanov(Spectral(K), y, 0.999 * norm))


def test_variances_out_of_range_are_refused_with_the_range():
    """With the projected y, the largest mean square is that of what the columns leave."""
    K, B, _, y = problem()
    spectral = Spectral(K, B)
    low, high = feasible(spectral, y)
    left = y - B @ np.linalg.lstsq(B, y, rcond=None)[0]
    np.testing.assert_allclose(high, np.mean(left**2), rtol=1e-12)
    for wrong in (1.0001 * high, 0.9 * low, -1.0):
        with pytest.raises(ValueError, match=f"between {low:.4g} and {high:.4g}"):
            morozov(spectral, y, wrong)


def test_what_the_kernel_cannot_explain_is_the_least_variance():
    """A linear kernel on two repeated points leaves the spread around their means."""
    x = np.repeat([1.0, 2.0], 5)[:, None]
    y = np.random.default_rng(0).normal(size=10)
    low = feasible(Spectral(x @ x.T), y)[0]
    fit = x[:, 0] * (x[:, 0] @ y) / (x[:, 0] @ x[:, 0])
    np.testing.assert_allclose(low, np.mean((y - fit) ** 2), rtol=1e-8)


@given(st.integers(0, 50), st.floats(1e-3, 0.999))
def test_the_root_is_where_bisection_finds_it(seed, share):
    K, B, s, y = problem(seed, n=15, weights=True)
    spectral = Spectral(K, B, s)
    low, high = feasible(spectral, y)
    variance = low + share * (high - low)
    x = brentq(lambda x: mean_square(spectral, y, np.exp(x)) - variance, -80, 36, xtol=1e-13)
    # Near the ends the curve is flat: compare residuals, of which 13 digits are left by `variance`.
    C = morozov(spectral, y, variance)
    np.testing.assert_allclose(
        mean_square(spectral, y, C), mean_square(spectral, y, np.exp(x)), rtol=1e-11
    )


def test_more_noise_means_less_weight():
    K, B, _, y = problem()
    spectral = Spectral(K, B)
    low, high = feasible(spectral, y)
    C = [morozov(spectral, y, v) for v in np.linspace(1.1 * low, 0.99 * high, 20)]
    assert np.all(np.diff(C) < 0)


def test_the_mean_of_machines_is_one_expansion():
    K, B, _, y = problem()
    spectral = Spectral(K, B)
    mean = average(spectral, y, 0.06, 0.01, width=1.5, n_machines=7)
    np.testing.assert_allclose(np.sum(mean.weights), 1.0)
    f = sum(w * spectral.fitted(y, C) for w, C in zip(mean.weights, mean.C, strict=True))
    np.testing.assert_allclose(K @ mean.a + B @ mean.b, f, atol=1e-10)
    v = mean_square(spectral, y, mean.C)
    assert np.all(np.abs(v - 0.06) < 0.015)
    np.testing.assert_allclose(
        mean.weights / mean.weights[3], np.exp(-0.5 * ((v - 0.06) / 0.01) ** 2), rtol=1e-8
    )


def test_a_degenerate_interval_is_morozov():
    K, B, _, y = problem()
    spectral = Spectral(K, B)
    mean = average(spectral, y, 0.04, 0.0)
    C = morozov(spectral, y, 0.04)
    np.testing.assert_array_equal(mean.C, [C])
    np.testing.assert_array_equal(mean.a, spectral.coefficients(y, C)[0])


def test_an_interval_is_cut_to_what_some_weight_leaves():
    K, B, _, y = problem()
    spectral = Spectral(K, B)
    low, high = feasible(spectral, y)
    mean = average(spectral, y, high, 0.5 * high)
    v = mean_square(spectral, y, mean.C)
    assert low < v.min() < v.max() < high
    with pytest.raises(ValueError, match="between"):
        average(spectral, y, 3 * high, 0.5 * high)
