"""Bias and variance of least-squares machines."""

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.smoothing import Spectral
from mercer_research.diagnostics import bias_variance
from mercer_research.diagnostics.bias_variance import plug_in


def sinc(n=60, B=None, weights=None):
    X = np.sort(np.random.default_rng(0).uniform(-3, 3, n))[:, None]
    columns = None if B is None else X ** np.arange(B)
    return Spectral(Gaussian(1.0)(X), columns, weights), np.sinc(X[:, 0])


@pytest.mark.parametrize("B", [None, 2])
def test_formulas_are_those_of_the_smoother(B):
    """Bias (S - 1)g and variance tr(SS') with weights: errors of variance 1/s."""
    s = np.random.default_rng(1).uniform(0.5, 2.0, 60)
    spectral, g = sinc(B=B, weights=s)
    Cs = np.array([0.3, 20.0])
    errors = bias_variance(spectral, g, 0.04, Cs)
    for k, C in enumerate(Cs):
        S = spectral.smoother(C)
        np.testing.assert_allclose(errors.squared_bias[k], s @ (S @ g - g) ** 2, rtol=1e-9)
        np.testing.assert_allclose(errors.variance[k], 0.04 * np.sum(s[:, None] * S**2 / s))


def test_they_are_means_over_samples():
    """2000 draws: the total has a relative standard error below sqrt(2/2000/dof) < 2 %."""
    spectral, g = sinc(B=1)
    rng = np.random.default_rng(0)
    draws = g[:, None] + 0.3 * rng.normal(size=(60, 2000))
    error = np.mean(np.sum((spectral.fitted(draws, 5.0) - g[:, None]) ** 2, axis=0))
    np.testing.assert_allclose(bias_variance(spectral, g, 0.09, 5.0).total, error, rtol=0.06)


def test_some_shrinkage_always_pays():
    """At u = 1/C -> 0 squared bias is of second order, variance falls by 2 sigma^2 sum 1/values."""
    X = np.linspace(0, 4, 12)[:, None]
    spectral = Spectral(Gaussian(0.3)(X))
    g = np.sin(X[:, 0])
    u = 1e-6
    near, at = (bias_variance(spectral, g, 0.01, C) for C in (1 / u, 1e15))
    slope = -2 * 0.01 * np.sum(1 / spectral.values)
    np.testing.assert_allclose((near.variance - at.variance) / u, slope, rtol=1e-3)
    assert near.squared_bias < 1e-4 * (at.variance - near.variance)


def test_the_total_has_one_minimum_inside():
    spectral, g = sinc(100)
    total = bias_variance(spectral, g, 0.01, np.logspace(-4, 6, 200)).total
    k = int(np.argmin(total))
    assert 0 < k < 199
    assert np.all(np.diff(total[: k + 1]) < 0)
    assert np.all(np.diff(total[k:]) > 0)


def test_the_plug_in_finds_the_minimum_of_its_pilot():
    spectral, g = sinc()
    y = g + 0.1 * np.random.default_rng(2).normal(size=60)
    C = plug_in(spectral, y, noise_variance=0.01, pilot=50.0)
    Cs = np.logspace(-3, 5, 4000)
    totals = bias_variance(spectral, spectral.fitted(y, 50.0), 0.01, Cs).total
    # The grid is that fine, and the minimum at least as good as its best.
    np.testing.assert_allclose(C, Cs[np.argmin(totals)], rtol=5e-3)
    total = bias_variance(spectral, spectral.fitted(y, 50.0), 0.01, C).total
    assert total <= totals.min() * (1 + 1e-9)


def test_interpolation_has_no_bias_and_all_of_the_noise():
    spectral = Spectral(Gaussian(0.1)(np.arange(8.0)[:, None]))
    at = bias_variance(spectral, np.ones(8), 0.5, np.inf)
    np.testing.assert_array_equal([at.squared_bias, at.variance], [0.0, 4.0])


def test_a_kernel_that_vanishes_is_refused():
    with pytest.raises(ValueError, match="no C differs"):
        plug_in(Spectral(np.zeros((3, 3))), np.arange(3.0))


@pytest.mark.parametrize("scale", [2.0**-20, 2.0**20])
def test_the_weight_of_a_larger_kernel_is_smaller(scale):
    x = np.linspace(-3.0, 3.0, 60)[:, None]
    y = np.sinc(x[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=60)
    K = Gaussian()(x)
    C = plug_in(Spectral(K), y)
    assert plug_in(Spectral(scale * K), y) * scale == pytest.approx(C, rel=1e-6)


def test_targets_without_any_residual_have_a_weight():
    # What the columns of B explain leaves nothing, whatever C is.
    x = np.linspace(-3.0, 3.0, 20)[:, None]
    assert np.isfinite(plug_in(Spectral(Gaussian()(x), np.ones((20, 1))), np.zeros(20)))
