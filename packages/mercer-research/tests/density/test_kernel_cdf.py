"""Smooth distribution functions: what makes them ones, along every feature."""

import numpy as np
import pytest
from scipy import stats

from mercer.kernels import Gaussian, Matern
from mercer_research.density import KernelCDF
from mercer_research.density.kernel_cdf import coordinate_order

GRID = np.linspace(-6, 6, 2001)[:, None]


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(0).normal(size=(40, 1))


@pytest.mark.parametrize("loss", ["squared", "absolute", "largest"])
def test_smooth_function_is_a_distribution(x, loss):
    model = KernelCDF(loss).fit(x)
    F, p = model.cdf(GRID), model.pdf(GRID)
    assert np.all(np.diff(F) >= -1e-6)
    assert F[0] == 0.0
    assert F[-1] == 1.0
    assert p.min() >= 0.0
    # The density is cut off where it is negative by less than the tolerance of slopes.
    assert np.trapezoid(p, GRID[:, 0]) == pytest.approx(1.0, abs=2e-3)
    q = model.quantile([0.1, 0.5, 0.9])
    np.testing.assert_allclose(model.cdf(q[:, None]), [0.1, 0.5, 0.9], atol=1e-8)
    assert stats.kstest(model.sample(500, 0)[:, 0], lambda t: model.cdf(t[:, None])).pvalue > 0.001


def test_largest_distance_is_least_of_the_three(x):
    gaps = {
        loss: KernelCDF(loss, kernel=Gaussian(0.6), C=300.0).fit(x).discrepancy_
        for loss in ("squared", "largest")
    }
    assert gaps["largest"] <= gaps["squared"] + 1e-4


def test_density_is_proved_not_to_be_negative(x):
    model = KernelCDF(prove=True).fit(x)
    certificate = model.shape_certificate_
    assert certificate.holds
    assert certificate.everywhere
    low, high = model.support_interval_
    fine = np.linspace(low, high, 20001)[:, None]
    assert model._curve.derivative(fine, 0, 1)[1].min() >= 0.0


def test_ties_weights_and_support():
    x = np.array([[1.0], [1.0], [2.0], [5.0]])
    model = KernelCDF(support=(0.0, None)).fit(x)
    other = KernelCDF(support=(0.0, None)).fit(x[1:], sample_weight=[2.0, 1.0, 1.0])
    np.testing.assert_allclose(model.cdf(GRID), other.cdf(GRID), atol=1e-6)
    assert model.cdf([[0.0]])[0] == pytest.approx(0.0, abs=1e-6)
    assert model.pdf([[-0.1]])[0] == 0.0
    with pytest.raises(ValueError, match="beyond the support"):
        KernelCDF(support=(1.5, None)).fit(x)


def test_other_kernels_are_differentiated_by_differences(x):
    model = KernelCDF(kernel=Matern(1.0, nu=1.5)).fit(x)
    assert np.trapezoid(model.pdf(GRID), GRID[:, 0]) == pytest.approx(1.0, abs=5e-3)


def test_joint_function_rises_along_both_features():
    X = np.random.default_rng(1).normal(size=(25, 2))
    model = KernelCDF(C=30.0, lines=4, grid=6, tol=1e-2).fit(X)
    F = model.cdf(X)
    below = np.all(X[:, None] <= X[None], axis=2)
    assert np.max((F[:, None] - F[None])[below]) < 2e-2
    assert np.abs(F - below.mean(axis=0)).max() < 0.15  # from the share of samples below
    assert model.pdf(X).min() >= 0.0
    cube = np.random.default_rng(1).normal(size=(15, 3))
    many = KernelCDF(C=30.0).fit(cube)
    F = many.cdf(cube)
    below = np.all(cube[:, None] <= cube[None], axis=2)
    assert np.max((F[:, None] - F[None])[below]) < 1e-3


def test_order_in_every_coordinate_without_what_follows():
    X = np.random.default_rng(1).integers(0, 4, (12, 2)).astype(float)
    pairs = coordinate_order(X)
    reach = np.eye(12, dtype=bool)
    reach[pairs[:, 0], pairs[:, 1]] = True
    for _ in range(4):
        reach |= reach @ reach
    _, first = np.unique(X, axis=0, return_index=True)
    below = np.all(X[first][:, None] <= X[first][None], axis=2)
    np.testing.assert_array_equal(reach[np.ix_(first, first)], below)
    assert len(pairs) < below.sum() - len(first)
