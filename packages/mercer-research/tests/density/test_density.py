"""Distributions: what makes them ones, and programs against other formulations."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import stats
from sklearn.neighbors import KernelDensity

from mercer_research.density import (
    ChiSquareDensity,
    EmpiricalCDF,
    GaussianDensity,
    HistogramDensity,
    ParzenWindow,
)

GRID = np.linspace(-6, 6, 2001)[:, None]


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(0).normal(size=(40, 1))


def test_empirical_function_is_that_of_scipy(x):
    model = EmpiricalCDF().fit(x)
    expected = stats.ecdf(x[:, 0]).cdf.evaluate(GRID[:, 0])
    np.testing.assert_allclose(model.cdf(GRID), expected, atol=1e-12)
    # Continuous from the right, with a jump of one over n at a point.
    edge = x[:1]
    assert (model.cdf(edge) - model.cdf(edge - 1e-12))[0] == pytest.approx(1 / 40)
    both = np.column_stack([x, -x])
    joint = EmpiricalCDF().fit(both, sample_weight=np.arange(40.0))
    assert joint.cdf(both)[3] == pytest.approx(3.0 / np.arange(40.0).sum())


def test_windows_are_those_of_scikit_learn(x):
    X = np.column_stack([x, x**2])
    model = ParzenWindow(bandwidth=0.3).fit(X)
    expected = KernelDensity(bandwidth=0.3).fit(X).score_samples(X)
    np.testing.assert_allclose(model.score_samples(X), expected, rtol=1e-10)
    line = ParzenWindow().fit(x)
    assert np.trapezoid(line.pdf(GRID), GRID[:, 0]) == pytest.approx(1.0, abs=1e-6)
    slopes = np.gradient(line.cdf(GRID), GRID[:, 0])
    np.testing.assert_allclose(slopes, line.pdf(GRID), atol=1e-4)  # second-order differences
    rough, smooth = (
        np.abs(np.diff(ParzenWindow(bandwidth=h).fit(x).pdf(GRID))).sum() for h in (0.1, 0.5)
    )
    assert smooth < rough  # wider windows vary less
    assert stats.kstest(line.sample(2000, 0)[:, 0], lambda t: line.cdf(t[:, None])).pvalue > 0.001


def test_gaussian_has_the_largest_likelihood(x):
    X = np.column_stack([x, x**2])
    model = GaussianDensity().fit(X)
    np.testing.assert_allclose(model.covariance_, np.cov(X.T, bias=True), rtol=1e-12)
    expected = stats.multivariate_normal(X.mean(0), model.covariance_).logpdf(X)
    np.testing.assert_allclose(model.score_samples(X), expected, rtol=1e-10)
    assert model.sample(7, 0).shape == (7, 2)


def test_histogram_counts(x):
    model = HistogramDensity(bins=10).fit(x)
    mass = model.heights_ * np.diff(model.edges_)
    assert mass.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(mass * 40, np.histogram(x, 10)[0], atol=1e-12)
    assert model.pdf(x).min() > 0  # the largest of the sample is in the last bin
    assert model.cdf(GRID)[-1] == pytest.approx(1.0)


def chi_square(c, f, N, A):
    mass = N * A @ c
    live = (mass > 0) | (f > 0)  # an empty bin without mass costs nothing
    return float(np.sum((f - mass)[live] ** 2 / mass[live]))


def test_chi_square_density_against_another_cone(x):
    knots = np.linspace(-3, 3, 9)
    model = ChiSquareDensity(knots).fit(x)
    f, h, N = np.histogram(x, knots)[0], np.diff(knots), 40
    A = 0.5 * h[:, None] * (np.eye(8, 9) + np.eye(8, 9, 1))
    c = cp.Variable(9)
    mass = N * A @ c
    cost = cp.sum([cp.quad_over_lin(f[i] - mass[i], mass[i]) for i in range(8)])
    best = cp.Problem(cp.Minimize(cost), [c >= 0, cp.sum(A @ c) == 1]).solve(solver="CLARABEL")
    assert chi_square(model.heights_, f, N, A) == pytest.approx(best, rel=1e-6, abs=1e-7)
    assert model.chi_square_ == pytest.approx(best, rel=1e-6, abs=1e-7)
    assert (A @ model.heights_).sum() == pytest.approx(1.0)
    # Not above the frequency polygon, another density on these knots.
    polygon = np.convolve(np.append(0, np.append(f / (N * h), 0)), [0.5, 0.5])[1:-1]
    polygon /= (A @ polygon).sum()
    assert best <= chi_square(polygon, f, N, A)
    total = np.trapezoid(model.pdf(GRID), GRID[:, 0])
    assert total == pytest.approx(1.0, abs=1e-3)
    np.testing.assert_allclose(model.cdf(GRID)[[0, -1]], [0.0, 1.0], atol=1e-9)
    with pytest.raises(ValueError, match="do not cover"):
        ChiSquareDensity([0.0, 1.0]).fit(x)
