"""Location and scale by matching quantiles, against a conic solver and closed forms."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.stats import norm

from mercer_research.linear import robust_location

# Both are linear programs solved to 1e-9 or better in units of the standardized sample.
TOL = 1e-7


def contaminated(n=40, seed=0):
    rng = np.random.default_rng(seed)
    y, bad = rng.standard_normal(n), rng.random(n) < 0.2
    y[bad] = rng.uniform(-10, 10, bad.sum())
    return y


@pytest.mark.parametrize("lam", [0.1, 0.5, 2.0])
def test_against_a_conic_solver(lam):
    y = contaminated()
    found = robust_location(y, lam)
    n, t = len(y), np.sort(y)
    z = norm.ppf((np.arange(1, n + 1) - 0.375) / (n + 0.25))
    d, mu, sigma, r = cp.Variable(n), cp.Variable(), cp.Variable(nonneg=True), cp.Variable()
    u = t - d
    limits = [cp.diff(u) >= 0, cp.abs(u - mu - sigma * z) <= r, n * mu == cp.sum(u)]
    problem = cp.Problem(cp.Minimize(lam * r + cp.norm1(d) / n), limits)
    problem.solve(solver=cp.CLARABEL)
    assert found.objective == pytest.approx(problem.value, abs=TOL)
    assert found.bound == pytest.approx(found.objective, abs=TOL)


@pytest.mark.parametrize("lam", [0.05, 0.3, 1.0])
def test_the_answer_satisfies_its_conditions(lam):
    y = contaminated(seed=1)
    found = robust_location(y, lam)
    scores, sample, corrected = found.qq()
    assert sample == pytest.approx(np.sort(y))
    assert np.all(np.diff(corrected) >= -TOL)
    off = corrected - found.location - found.scale * scores
    assert np.max(np.abs(off)) == pytest.approx(found.radius, abs=TOL)
    assert found.location == pytest.approx(found.corrected.mean(), abs=TOL)
    assert found.objective == pytest.approx(lam * found.radius + np.mean(np.abs(found.shifts)))


def test_small_weights_shift_nothing():
    y = contaminated(seed=2)
    found = robust_location(y, 1e-3)
    assert found.location == pytest.approx(y.mean(), abs=TOL)
    assert found.shifts == pytest.approx(np.zeros(40), abs=TOL)
    assert not found.outliers().any()


@pytest.mark.parametrize("lam", [1.0, 30.0])
def test_large_weights_are_least_absolute_regression_on_the_scores(lam):
    y = contaminated(seed=3)
    found = robust_location(y, lam)
    scores, sample, _ = found.qq()
    mu, sigma = cp.Variable(), cp.Variable(nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.norm1(sample - mu - sigma * scores)))
    problem.solve(solver=cp.CLARABEL)
    assert found.radius == pytest.approx(0.0, abs=TOL)
    assert found.objective == pytest.approx(problem.value / 40, abs=TOL)


def test_translation_and_scale():
    y = contaminated(seed=4)
    one, other = robust_location(y, 0.4), robust_location(7.0 - 100.0 * y, 0.4)
    # The scores are symmetric, so that reflected samples have reflected programs.
    assert other.objective == pytest.approx(100.0 * one.objective, rel=1e-6)
    assert other.location == pytest.approx(7.0 - 100.0 * one.location, abs=1e-4)
    assert other.scale == pytest.approx(100.0 * one.scale, abs=1e-4)


def test_a_normal_sample_with_few_outliers():
    rng = np.random.default_rng(0)
    y = np.append(3.0 + 2.0 * rng.standard_normal(97), [40.0, 50.0, 60.0])
    rng.shuffle(y)
    found = robust_location(y)
    # Three standard errors of mean and deviation of 97 normal numbers.
    assert found.location == pytest.approx(3.0, abs=3 * 2 / np.sqrt(97))
    assert found.scale == pytest.approx(2.0, abs=3 * 2 / np.sqrt(2 * 97))
    assert list(np.flatnonzero(found.outliers(5.0))) == list(np.flatnonzero(y > 30))
    low, high = found.interval(0.9)
    assert (low + high) / 2 == pytest.approx(found.location)
    assert (high - low) / 2 == pytest.approx(found.scale * norm.ppf(0.95))
    assert found.quantile(0.975) == pytest.approx(found.interval()[1])


def test_drawn_scores_ties_and_constants():
    y = contaminated(seed=5)
    one = robust_location(y, 0.5, scores="sample", random_state=0)
    two = robust_location(y, 0.5, scores="sample", random_state=0)
    assert one.location == two.location
    assert sorted(one.scores) == pytest.approx(
        np.sort(np.random.RandomState(0).standard_normal(40))
    )
    tied = robust_location(np.repeat([1.0, 2.0, 2.0, 5.0], 5))
    assert 1.0 <= tied.location <= 5.0
    constant = robust_location(np.full(6, 3.0))
    assert (constant.location, constant.scale) == pytest.approx((3.0, 0.0))
    assert not constant.outliers().any()
    assert robust_location([4.0]).location == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"y": np.ones((2, 2))}, "one sample"),
        ({"y": np.ones(3), "lam": -1.0}, "at least zero"),
        ({"y": np.ones(3), "scores": "blom"}, "'expected' or 'sample'"),
    ],
)
def test_refused(call, message):
    with pytest.raises(ValueError, match=message):
        robust_location(**call)
