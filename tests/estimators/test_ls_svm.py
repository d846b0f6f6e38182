"""Least-squares support vector regression: the system, its relatives, and its C."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge

from mercer import LSSVR, KernelRegressor
from mercer.kernels import Gaussian
from mercer.regularizers import Empty, Polynomial


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (40, 2))
    return X, np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=40)


# Answers of two programs agree to rounding times the condition of the system, about
# n C max k = 400 here: 1e-10 is five orders above 400 eps.
CLOSE = {"rtol": 1e-10, "atol": 1e-10}


def test_it_solves_the_bordered_system(sample):
    X, y = sample
    s = np.random.default_rng(1).uniform(0.5, 2.0, 40)
    machine = LSSVR(Gaussian(0.8), C=7.0, null_space=Polynomial(1)).fit(X, y, sample_weight=s)
    B = np.column_stack([np.ones(40), X])
    A = np.block([[Gaussian(0.8)(X) + np.diag(1 / (7.0 * s)), B], [B.T, np.zeros((3, 3))]])
    answer = np.linalg.solve(A, np.concatenate([y, np.zeros(3)]))
    np.testing.assert_allclose(machine.dual_coef_[0], answer[:40], **CLOSE)
    np.testing.assert_allclose(machine.null_space_coef_, answer[40:], **CLOSE)
    residuals = y - machine.predict(X)
    np.testing.assert_allclose(machine.dual_coef_[0], 7.0 * s * residuals, rtol=1e-8, atol=1e-8)
    assert machine.C_ == 7.0


def test_it_is_kernel_ridge_and_the_mean_of_a_gaussian_process(sample):
    X, y = sample
    f = LSSVR(Gaussian(0.8), C=10.0, null_space=Empty()).fit(X, y).predict(X + 0.1)
    ridge = KernelRidge(alpha=0.1, kernel="rbf", gamma=0.5 / 0.8**2).fit(X, y)
    np.testing.assert_allclose(f, ridge.predict(X + 0.1), **CLOSE)
    process = GaussianProcessRegressor(RBF(0.8), alpha=0.1, optimizer=None).fit(X, y)
    np.testing.assert_allclose(f, process.predict(X + 0.1), **CLOSE)


def test_it_is_the_general_machine_of_the_squared_loss(sample):
    X, y = sample
    Y = np.column_stack([y, X[:, 0] ** 2])
    S = np.array([[2.0, 0.5], [0.5, 1.0]])
    settings = {"C": 3.0, "output_covariance": S}
    ours = LSSVR(Gaussian(1.0), **settings).fit(X, Y)
    theirs = KernelRegressor("squared", Gaussian(1.0), **settings).fit(X, Y)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_primal_dual_and_half_the_inner_product_agree(sample):
    """The optimum is half of y'a, and a is its derivative in y."""
    X, y = sample
    machine = LSSVR(Gaussian(0.8), C=10.0).fit(X, y)
    a, r = machine.dual_coef_[0], y - machine.predict(X)
    primal = 0.5 * a @ Gaussian(0.8)(X) @ a + 5.0 * r @ r
    np.testing.assert_allclose([primal, machine.solution_.objective], 0.5 * y @ a, rtol=1e-10)


def test_weights_are_repetitions_and_infinity_interpolates(sample):
    """Weight k is the row k times, 0 leaves it out, a huge one passes through it."""
    X, y = sample
    s = np.random.default_rng(2).integers(0, 4, 40)
    weighted = LSSVR(Gaussian(0.8), C=7.0).fit(X, y, sample_weight=s)
    repeated = LSSVR(Gaussian(0.8), C=7.0).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), **CLOSE)
    assert not set(weighted.support_) & set(np.flatnonzero(s == 0))
    s = np.ones(40)
    s[11] = 1e9
    nailed = LSSVR(Gaussian(0.8), C=7.0).fit(X, y, sample_weight=s)
    # a_i / c_i with a of the size of 10.
    np.testing.assert_allclose(nailed.predict(X[[11]]), y[11], atol=1e-8)
