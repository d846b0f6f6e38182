"""Regression under four norms, held to theirs: medians, mid-ranges, cvxpy, scikit-learn."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, QuantileRegressor

from mercer_research.linear import NormRegression, least_squares, location, residual_scale

LOSSES = ["absolute", "huber", "squared", "maximum"]


def sample(seed=0, n=60, p=4):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, p))
    return X, X @ rng.uniform(-5, 5, p) + 0.7 + rng.laplace(0, 1, n)


def value(loss, r, s, c):
    if loss == "absolute":
        return s @ np.abs(r)
    if loss == "squared":
        return 0.5 * s @ r**2
    if loss == "maximum":
        return np.max(np.abs(r))
    return s @ np.where(np.abs(r) <= c, 0.5 * r**2, c * np.abs(r) - 0.5 * c**2)


@pytest.mark.parametrize("loss", LOSSES)
def test_minimum_by_a_conic_solver(loss):
    X, y = sample()
    s = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    model = NormRegression(loss).fit(X, y, sample_weight=s)
    c = 1.345 * model.scale_ if loss == "huber" else 1.0
    w, b = cp.Variable(4), cp.Variable()
    r = y - X @ w - b
    objective = {
        "absolute": cp.sum(cp.multiply(s, cp.abs(r))),
        "squared": 0.5 * cp.sum(cp.multiply(s, cp.square(r))),
        "huber": 0.5 * cp.sum(cp.multiply(s, cp.huber(r, c))),
        "maximum": cp.norm_inf(r),
    }[loss]
    best = cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    ours = value(loss, y - model.predict(X), s, c)
    assert ours == pytest.approx(model.solution_.objective, rel=1e-12)
    # Clarabel stops at a relative gap of 1e-8.
    assert ours == pytest.approx(best, rel=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_certificate(loss):
    X, y = sample(3)
    optimum = NormRegression(loss).fit(X, y).solution_
    # Sums of 60 terms of size one, in double precision; HiGHS is held to 1e-10.
    assert abs(optimum.relative_gap) < 1e-9
    assert optimum.violation < 1e-9
    assert optimum.bound <= optimum.objective + 1e-9


def test_absolute_is_the_median_regression_of_scikit_learn():
    X, y = sample(5)
    twin = QuantileRegressor(alpha=0.0, solver="highs").fit(X, y)
    model = NormRegression("absolute").fit(X, y)
    assert model.coef_ == pytest.approx(twin.coef_, abs=1e-6)
    assert model.intercept_ == pytest.approx(twin.intercept_, abs=1e-6)


def test_constants():
    y = np.array([3.0, -1.0, 4.0, 1.5, 9.0])
    zero = np.zeros((5, 1))
    expected = {"absolute": np.median(y), "squared": y.mean(), "maximum": 0.5 * (y.min() + y.max())}
    for loss, constant in expected.items():
        model = NormRegression(loss).fit(zero, y)
        assert model.intercept_ == pytest.approx(constant, abs=1e-12)
        assert model.predict(zero) == pytest.approx(np.full(5, constant))


def test_huber_lies_between_its_limits():
    X, y = sample(7)
    mean, median = NormRegression("squared").fit(X, y), NormRegression("absolute").fit(X, y)
    wide = NormRegression("huber", scale=1e4).fit(X, y)
    narrow = NormRegression("huber", scale=1e-9).fit(X, y)
    assert wide.coef_ == pytest.approx(mean.coef_, abs=1e-9)
    # Huber's cost over c differs from the absolute one by at most n c / 2 at any point, and the
    # median fit is a vertex whose value grows at a rate of order one around it.
    assert narrow.coef_ == pytest.approx(median.coef_, abs=1e-6)


def test_huber_resists_what_moves_the_mean():
    X, y = sample(9)
    far = y.copy()
    far[0] += 1e6
    gone = np.arange(1, 60)
    huber = NormRegression("huber", scale=1.0)
    with_it, without = huber.fit(X, far).coef_, huber.fit(X[gone], y[gone]).coef_
    assert np.linalg.norm(with_it - without) < 1.0
    assert np.linalg.norm(NormRegression("squared").fit(X, far).coef_ - without) > 1e3


def test_scale_is_zero_for_an_exact_fit():
    X, _ = sample()
    y = X @ np.ones(4)
    y[:3] += 5.0
    model = NormRegression("huber").fit(X, y)
    assert model.scale_ < 1e-9
    assert model.coef_ == pytest.approx(np.ones(4), abs=1e-8)


def test_robust_scale_counts_weights_as_repetitions():
    X, y = sample(11)
    A = np.column_stack([np.ones(60), X])
    s = np.random.default_rng(2).integers(1, 4, 60)
    twice = np.repeat(np.arange(60), s)
    assert residual_scale(A, y, s) == pytest.approx(residual_scale(A[twice], y[twice]), rel=1e-9)


class TestLeastSquares:
    def test_hat_matrix(self):
        X, y = sample(13)
        fit = least_squares(X, y)
        H = fit.hat
        assert pytest.approx(H.T) == H
        assert pytest.approx(H, abs=1e-12) == H @ H
        assert np.linalg.eigvalsh(H).min() > -1e-12
        assert np.trace(H) == pytest.approx(fit.rank) == np.linalg.matrix_rank(X)
        assert H @ y == pytest.approx(X @ fit.coef)
        assert fit.leverages == pytest.approx(np.diag(H))

    def test_covariance_is_that_of_a_simulation(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((20, 3))
        noise = rng.standard_normal((20000, 20))
        W = np.linalg.lstsq(X, noise.T, rcond=None)[0]
        theory = least_squares(X, noise[0]).covariance(1.0)
        # A variance estimated from 20000 draws has a relative standard error of 1 %.
        assert np.cov(W) == pytest.approx(theory, abs=0.05 * theory.max())
        # And the residual variance is unbiased: mean of 20000 with relative error sqrt(2/17)/141.
        found = [least_squares(X, y).noise_variance for y in noise[:2000]]
        assert np.mean(found) == pytest.approx(1.0, abs=4 * np.sqrt(2 / 17 / 2000))

    def test_dependent_columns_give_the_shortest_answer(self):
        X, y = sample(15)
        X = np.column_stack([X, X[:, 0] + X[:, 1]])
        fit = least_squares(X, y)
        assert fit.rank == 4
        assert fit.coef == pytest.approx(np.linalg.pinv(X) @ y)

    def test_regression_of_scikit_learn(self):
        X, y = sample(17)
        s = np.random.default_rng(4).uniform(0.1, 3, 60)
        model, twin = NormRegression("squared"), LinearRegression().fit(X, y, sample_weight=s)
        model.fit(X, y, sample_weight=s)
        assert model.coef_ == pytest.approx(twin.coef_)
        assert model.intercept_ == pytest.approx(twin.intercept_)
        assert model.rank_ == 5
        assert model.covariance_.shape == (5, 5)
        assert model.leverages_.sum() == pytest.approx(5)

    def test_nothing_left_to_estimate_noise_from(self):
        assert least_squares(np.eye(3), np.ones(3)).noise_variance == np.inf


class TestLocation:
    @pytest.mark.parametrize("n", [1, 2, 7, 8])
    def test_median(self, n):
        y = np.random.default_rng(n).standard_normal(n)
        centre = location(y)
        assert centre.value == pytest.approx(np.median(y))
        assert centre.above.sum() == pytest.approx(centre.below.sum())
        assert centre.above[y > centre.value] == pytest.approx(1.0)
        assert centre.below[y < centre.value] == pytest.approx(1.0)
        assert centre.above[y == centre.value] == pytest.approx(0.5)
        assert centre.interval[0] <= centre.value <= centre.interval[1]

    def test_ties_share(self):
        centre = location([1.0, 2.0, 2.0, 2.0, 5.0, 6.0])
        assert centre.value == 2.0
        assert centre.multipliers.sum() == pytest.approx(0.0)
        assert centre.multipliers[1:4] == pytest.approx(-1 / 3)

    def test_every_point_of_the_interval_is_a_median(self):
        y = np.array([0.0, 1.0, 4.0, 9.0])
        ends = location(y).interval
        costs = [np.abs(y - mu).sum() for mu in np.linspace(*ends, 5)]
        assert costs == pytest.approx([costs[0]] * 5)
        assert np.abs(y - (ends[0] - 0.1)).sum() > costs[0]

    def test_mean_and_middle_of_the_range(self):
        y = np.array([0.0, 1.0, 4.0, 9.0])
        mean, middle = location(y, "squared"), location(y, "maximum")
        assert (mean.value, middle.value) == (3.5, 4.5)
        assert mean.multipliers == pytest.approx(y - 3.5)
        assert middle.multipliers == pytest.approx([-0.5, 0.0, 0.0, 0.5])

    def test_influence_is_bounded_except_for_the_mean(self):
        y = np.append(np.random.default_rng(0).standard_normal(50), 1e4)
        assert np.abs(location(y, "huber").multipliers).max() < 3.0
        assert np.abs(location(y).multipliers).max() == 1.0
        assert location(y, "squared").multipliers.max() > 9e3
        assert location(y, "huber").multipliers.sum() == pytest.approx(0.0, abs=1e-9)

    def test_huber_with_a_given_scale(self):
        y = np.append(np.zeros(9), 100.0)
        # Nine zeros pull back with mu each against the threshold of the one that is far.
        assert location(y, "huber", scale=2.0).value == pytest.approx(1.345 * 2.0 / 9.0)

    @pytest.mark.parametrize(("y", "loss"), [([[1.0], [2.0]], "absolute"), ([1.0], "cubic")])
    def test_refused(self, y, loss):
        with pytest.raises(ValueError, match="must be"):
            location(y, loss)
