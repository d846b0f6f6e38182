"""Intervals of machines: Gaussian processes, outputs, weights, and what is refused."""

import numpy as np
import pytest
from scipy.stats import t as student
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from mercer import LSSVR
from mercer.kernels import Gaussian, Matern
from mercer.regularizers import AutoRegressive, Empty, Polynomial
from mercer.smoothing import Ivanov, Morozov
from mercer.smoothing.intervals import METHODS

ALL = [(of, method) for of, methods in METHODS.items() for method in methods]


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, (60, 1))
    return X, np.sin(3 * X[:, 0]) + 0.3 * rng.normal(size=60), np.linspace(0, 3, 7)[:, None]


def machine(**options):
    return LSSVR(Gaussian(0.5), C=10.0, **options)


def test_bayes_is_the_posterior_of_a_gaussian_process(sample):
    X, y, T = sample
    fitted = machine(null_space=Empty()).fit(X, y)
    process = GaussianProcessRegressor(RBF(0.5), alpha=0.1, optimizer=None).fit(X, y)
    mean, std = process.predict(T, return_std=True)
    Q = np.linalg.inv(Gaussian(0.5)(X) + 0.1 * np.eye(60))
    scale = np.sum((Q @ y) ** 2) / np.trace(Q)
    z = student.ppf(0.95, np.trace(Q) ** 2 / np.sum(Q**2)) * np.sqrt(scale)
    for of, extra in (("function", 0.0), ("observation", 0.1)):
        low, high = fitted.predict_interval(T, method="bayes", of=of).T
        # Square roots of variances that cancel to 1e-2 of one, each known to 1e-12.
        np.testing.assert_allclose(0.5 * (low + high), mean, atol=1e-9)
        np.testing.assert_allclose(0.5 * (high - low), z * np.sqrt(std**2 + extra), rtol=1e-6)


@pytest.mark.parametrize(("of", "method"), ALL)
def test_outputs_are_taken_one_by_one(sample, of, method):
    X, y, T = sample
    Y = np.c_[y, y**2]
    options = {"method": method, "of": of, "n_resamples": 200, "random_state": 0}
    both = machine().fit(X, Y).predict_interval(T, **options)
    assert both.shape == (7, 2, 2)
    for k in range(2):
        one = machine().fit(X, Y[:, k]).predict_interval(T, **options)
        np.testing.assert_allclose(both[:, k], one, atol=1e-9)


@pytest.mark.parametrize(("of", "method"), ALL)
def test_a_sample_without_weight_is_as_if_it_were_not_there(sample, of, method):
    X, y, T = sample
    weights = np.ones(60)
    weights[::5] = 0.0
    options = {"method": method, "of": of, "n_resamples": 200, "random_state": 0}
    there = machine().fit(X, y, sample_weight=weights).predict_interval(T, **options)
    without = machine().fit(X[weights > 0], y[weights > 0]).predict_interval(T, **options)
    np.testing.assert_allclose(there, without, atol=1e-9)


def test_the_defaults_are_the_recommended_ones(sample):
    X, y, T = sample
    fitted = machine().fit(X, y)
    for of, methods in METHODS.items():
        np.testing.assert_array_equal(
            fitted.predict_interval(T, of=of), fitted.predict_interval(T, of=of, method=methods[0])
        )


def test_a_trend_and_a_kernel_without_variances(sample):
    X, y, T = sample
    kernel = Gaussian(0.5)
    trend = machine(null_space=Polynomial(1)).fit(X, y).predict_interval(T, method="jackknife+")
    assert np.all(np.isfinite(trend))
    expected = machine().fit(X, y).predict_interval(T, method="jackknife+")
    given = LSSVR("precomputed", C=10.0).fit(kernel(X), y).predict_interval(kernel(T, X))
    np.testing.assert_allclose(given, expected, atol=1e-8)
    plain = LSSVR(lambda A, B: kernel(np.asarray(A), np.asarray(B)), C=10.0).fit(X, y)
    np.testing.assert_allclose(plain.predict_interval(T), expected, atol=1e-8)
    with pytest.raises(ValueError, match=r"asks for k\(x, x\)"):
        plain.predict_interval(T, of="function")


def test_outputs_that_hang_together_have_a_posterior(sample):
    X, y, T = sample
    S = np.array([[1.0, 0.6], [0.6, 2.0]])
    fitted = LSSVR(Gaussian(0.5), C=10.0, output_covariance=S).fit(X, np.c_[y, -y])
    low, high = np.moveaxis(fitted.predict_interval(T), -1, 0)
    np.testing.assert_allclose(0.5 * (low + high), fitted.predict(T), atol=1e-9)
    with pytest.raises(ValueError, match="not exchangeable"):
        fitted.predict_interval(T, method="jackknife+")


def test_errors_that_hang_together(sample):
    X, y, T = sample
    order = np.argsort(X[:, 0])
    fitted = machine(errors=AutoRegressive(0.5, time=0)).fit(X[order], y[order])
    assert fitted.predict_interval(T, of="function").shape == (7, 2)
    with pytest.raises(ValueError, match="depends on those of the sample"):
        fitted.predict_interval(T)


def test_seeds(sample):
    X, y, T = sample
    fitted = machine().fit(X, y)
    one, two, other = (
        fitted.predict_interval(T, method="bootstrap", random_state=seed) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, two)
    assert np.any(one != other)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"coverage": 1.0}, "coverage must be between 0 and 1"),
        ({"of": "slope"}, "of must be one of"),
        ({"method": "wild"}, "method must be one of"),
        ({"method": "jackknife+", "of": "function"}, "method must be one of"),
    ],
)
def test_refusals(sample, options, complaint):
    X, y, T = sample
    with pytest.raises(ValueError, match=complaint):
        machine().fit(X, y).predict_interval(T, **options)


def test_a_trend_that_explains_everything_has_no_intervals():
    X, y = np.array([[0.0], [1.0]]), np.array([0.0, 1.0])
    with pytest.raises(ValueError, match="cannot tell"):
        machine(null_space=Polynomial(1)).fit(X, y).predict_interval(X)


def test_rules_for_c(sample):
    X, y, T = sample
    fitted = LSSVR(Matern(1.0), C=Ivanov(2.0)).fit(X, y)
    same = LSSVR(Matern(1.0), C=fitted.C_).fit(X, y)
    np.testing.assert_allclose(fitted.predict_interval(T), same.predict_interval(T), rtol=1e-6)
    averaged = LSSVR(Matern(1.0), C=Morozov(0.09, std=0.01)).fit(X, y)
    with pytest.raises(AttributeError, match="mean of machines"):
        averaged.predict_interval(T)
