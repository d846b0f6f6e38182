"""Generalized least squares."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelRegressor
from mercer.kernels import Gaussian
from mercer.regularizers import ARMA, AutoRegressive, Columns, Constant, Covariance, Polynomial
from mercer.regularizers.errors import Independent
from mercer_research.estimators import GeneralizedLeastSquares

RNG = np.random.default_rng(5)
N = 50
X = RNG.normal(size=(N, 2))
Y = 1.0 + X @ [2.0, 0.0] + RNG.normal(size=N)
B = np.c_[np.ones(N), X]
ERRORS = [
    Independent(),
    Independent(RNG.uniform(0.5, 2, N)),
    AutoRegressive(0.6),
    ARMA([0.3, 0.2], 0.4),
    Covariance(Gaussian(0.5), nugget=0.3),
]


@pytest.mark.parametrize("errors", ERRORS, ids=lambda errors: repr(errors)[:30])
def test_is_the_textbook_formula(errors):
    fit = GeneralizedLeastSquares(errors).fit(X, Y)
    inverse = np.linalg.inv(errors.matrix(X))
    information = B.T @ inverse @ B
    b = np.linalg.solve(information, B.T @ inverse @ Y)
    scale = (Y - B @ b) @ inverse @ (Y - B @ b) / (N - 3)
    np.testing.assert_allclose(fit.coef_, b, rtol=0, atol=1e-10)
    assert fit.scale_ == pytest.approx(scale, rel=1e-10)
    np.testing.assert_allclose(fit.null_space_cov_, scale * np.linalg.inv(information), rtol=1e-9)
    np.testing.assert_allclose(fit.standard_errors_, np.sqrt(np.diag(fit.null_space_cov_)))
    np.testing.assert_allclose(fit.predict(X[:4]), B[:4] @ b, rtol=0, atol=1e-10)
    assert fit.innovations_ @ fit.innovations_ == pytest.approx(scale * (N - 3), rel=1e-10)


def test_free_coefficients_of_a_machine():
    """Those of the squared loss are generalized least squares with K + 1/C."""
    kernel = Gaussian(0.5)
    machine = KernelRegressor(kernel=kernel, null_space=Polynomial(1), C=4.0).fit(X, Y)
    fit = GeneralizedLeastSquares(Covariance(kernel, nugget=0.25)).fit(X, Y)
    np.testing.assert_allclose(machine.null_space_coef_, fit.coef_, rtol=0, atol=1e-10)
    assert machine.null_space_names_ == fit.null_space_names_


def test_ordinary_least_squares_and_its_tests():
    fit = GeneralizedLeastSquares().fit(X, Y)
    ordinary = LinearRegression().fit(X, Y)
    np.testing.assert_allclose(fit.coef_, np.r_[ordinary.intercept_, ordinary.coef_], rtol=1e-10)
    one = GeneralizedLeastSquares(trend=Constant() + Columns([0])).fit(X, Y)
    known = stats.linregress(X[:, 0], Y)
    assert one.standard_errors_ == pytest.approx([known.intercept_stderr, known.stderr])
    assert one.wald_test([[0.0, 1.0]]).pvalue == pytest.approx(known.pvalue)
    # Leaving columns out: the F test of nested models.
    rest = N - 3
    left = np.sum((Y - fit.predict(X)) ** 2)
    F = (np.sum((Y - Y.mean()) ** 2) - left) / 2 / (left / rest)
    test = fit.wald_test([[0, 1, 0], [0, 0, 1]])
    assert test.statistic == pytest.approx(F)
    assert test.pvalue == pytest.approx(stats.f(2, rest).sf(F))
    assert test.df == (2, rest)


def test_intervals_are_what_tests_accept():
    fit = GeneralizedLeastSquares(AutoRegressive(0.3)).fit(X, Y)
    intervals = fit.confidence_intervals(0.9)
    assert intervals.shape == (3, 2)
    for j, ends in enumerate(intervals):
        row = np.eye(3)[j]
        assert [fit.wald_test(row, end).pvalue for end in ends] == pytest.approx([0.1, 0.1])


def test_a_known_scale():
    fit = GeneralizedLeastSquares(scale=2.0).fit(X, Y)
    np.testing.assert_allclose(fit.null_space_cov_, 2.0 * np.linalg.inv(B.T @ B), rtol=1e-10)
    half = stats.norm.ppf(0.975) * fit.standard_errors_
    np.testing.assert_allclose(fit.confidence_intervals()[:, 1], fit.coef_ + half)
    z = fit.coef_[1] / fit.standard_errors_[1]
    assert fit.wald_test([0, 1, 0]).pvalue == pytest.approx(2 * stats.norm.sf(abs(z)))


def test_intervals_cover():
    """With the true memory, about 90 of 100 intervals hold the slope; without it far fewer."""
    t = np.arange(60.0)[:, None]
    rng = np.random.default_rng(0)
    root = np.linalg.cholesky(AutoRegressive(0.8).matrix(t))
    covered = np.zeros(2)
    for _ in range(200):
        y = root @ rng.normal(size=60)
        for k, errors in enumerate((AutoRegressive(0.8), Independent())):
            low, high = GeneralizedLeastSquares(errors).fit(t, y).confidence_intervals(0.9)[1]
            covered[k] += low <= 0 <= high
    # Three standard deviations of 200 trials.
    assert abs(covered[0] / 200 - 0.9) < 3 * np.sqrt(0.9 * 0.1 / 200)
    assert covered[1] / 200 < 0.6


def test_features_by_name_and_sparse_points():
    frame = pd.DataFrame(X, columns=["a", "b"])
    fit = GeneralizedLeastSquares(trend=Constant() + Columns(["b"])).fit(frame, Y)
    assert fit.null_space_names_ == ["1", "b"]
    plain = GeneralizedLeastSquares(trend=Constant() + Columns([1])).fit(sparse.csr_array(X), Y)
    np.testing.assert_allclose(plain.coef_, fit.coef_, rtol=1e-12)
    timed = GeneralizedLeastSquares(AutoRegressive(0.5, time="b"))
    assert clone(timed).set_params(errors__phi=0.1).errors.phi == 0.1
    frame["b"] = np.arange(N)
    by_time = timed.fit(frame, Y).coef_
    order = RNG.permutation(N)
    shuffled = clone(timed).fit(frame.iloc[order], Y[order]).coef_
    np.testing.assert_allclose(shuffled, by_time, rtol=0, atol=1e-10)


def test_refusals():
    with pytest.raises(ValueError, match="leave nothing to judge"):
        GeneralizedLeastSquares().fit(X[:3], Y[:3])
    with pytest.raises(ValueError, match="'x1' is a combination"):
        GeneralizedLeastSquares().fit(X[:, [0, 0]], Y)
    fit = GeneralizedLeastSquares().fit(X, Y)
    with pytest.raises(ValueError, match="3 columns"):
        fit.wald_test([1.0, 2.0])
    with pytest.raises(ValueError, match="between 0 and 1"):
        fit.confidence_intervals(95)


@parametrize_with_checks([GeneralizedLeastSquares()])
def test_scikit_learn(estimator, check):
    check(estimator)
