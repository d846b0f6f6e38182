"""Intervals from one factorization: refits, closed forms, exact coverage, laws."""

import numpy as np
import pytest
from scipy import stats

from mercer.smoothing.intervals import METHODS, Predictive, order_statistics

ALL = [(of, method) for of, methods in METHODS.items() for method in methods]


def kernel(X, Z):
    return np.exp(-0.5 * (X[:, None] - Z) ** 2 / 0.3**2)


def bordered(x, B, c):
    q = B.shape[1]
    return np.block([[kernel(x, x) + np.diag(1 / c), B], [B.T, np.zeros((q, q))]])


def predictive(x, y, t, c, C=10.0):
    """Write the machine down with the inverse of the bordered matrix."""
    n, B, P = len(x), np.c_[np.ones(len(x)), x], np.c_[np.ones(len(t)), t]
    inverse, k = np.linalg.inv(bordered(x, B, c)), np.c_[kernel(t, x), P]
    W = k @ inverse
    return Predictive(y, inverse[:n, :n], 1 / c, 1 / C, W[:, :n], 1.0 - np.sum(W * k, axis=1))


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 3, 40)
    return x, np.sin(3 * x) + 0.3 * rng.normal(size=40), np.linspace(-0.2, 3.2, 9)


@pytest.fixture
def fit(sample):
    return predictive(*sample, np.full(40, 10.0))


def refit(x, y, t, c, i):
    keep = np.arange(len(x)) != i
    return predictive(x[keep], y[keep], t, c[keep]).mean


@pytest.mark.parametrize("c", [np.full(40, 10.0), np.linspace(2.0, 20.0, 40)])
def test_left_out_errors_are_those_of_refits(sample, c):
    x, y, t = sample
    fit = predictive(x, y, t, c)
    by_refits = [y[i] - refit(x, y, x[[i]], c, i)[0] for i in range(40)]
    # Two solutions of a system whose condition number is about 1e4.
    np.testing.assert_allclose(fit.left_out, by_refits, atol=1e-10)


def test_jackknife_plus_is_that_of_refits(sample):
    x, y, t = sample
    c = np.full(40, 10.0)
    fit = predictive(x, y, t, c)
    others = np.stack([refit(x, y, t, c, i) for i in range(40)])
    r = np.array([y[i] - refit(x, y, x[[i]], c, i)[0] for i in range(40)])
    # ceil(0.9 * 41) = 37, and the mirror image.
    low = np.sort(others - np.abs(r)[:, None], axis=0)[3]
    high = np.sort(others + np.abs(r)[:, None], axis=0)[36]
    np.testing.assert_allclose(fit.jackknife_plus(0.9), np.c_[low, high], atol=1e-10)
    # ceil(0.95 * 41) = 39.
    both = np.sort(others + r[:, None], axis=0)
    np.testing.assert_allclose(fit.jackknife_plus(0.9, False), both[[1, 38]].T, atol=1e-10)


def test_the_expected_size_of_a_left_out_error_is_that_of_the_machine_without_it(sample):
    x, y, _ = sample
    c = np.full(40, 10.0)
    fit = predictive(x, y, x[:1], c)
    keep = np.arange(40) != 7
    alone = predictive(x[keep], y[keep], x[[7]], c[keep])
    assert 1 / fit.precision[7] == pytest.approx(alone.variance[0] + 0.1, rel=1e-9)


def test_conformal_ranks_studentized_errors(fit):
    z = np.sort(np.abs(fit.left_out) * np.sqrt(fit.precision))[36]
    half = z * np.sqrt(fit.variance + 0.1)
    np.testing.assert_allclose(fit.conformal(0.9), np.c_[fit.mean - half, fit.mean + half])


def test_a_mean_of_normal_values_has_the_interval_of_student():
    rng = np.random.default_rng(1)
    y, n = rng.normal(3.0, 2.0, 25), 25
    mean = Predictive(y, np.eye(n) - 1 / n, np.ones(n), 1.0, np.full((1, n), 1 / n), np.ones(1) / n)
    assert mean.degrees == pytest.approx(24)
    s = np.std(y, ddof=1)
    for of, factor in (("function", 1 / n), ("observation", 1 + 1 / n)):
        ends = stats.t(24, np.mean(y), s * np.sqrt(factor)).interval(0.9)
        np.testing.assert_allclose(mean.bayes(0.9, of)[0], ends)


def test_bootstrap_of_a_mean_of_normal_values_is_near_student():
    rng = np.random.default_rng(2)
    n = 200
    y = stats.norm.ppf((rng.permutation(n) + 0.5) / n)
    mean = Predictive(y, np.eye(n) - 1 / n, np.ones(n), 1.0, np.full((1, n), 1 / n), np.ones(1) / n)
    for wild in (False, True):
        ends = mean.bootstrap(0.9, "function", wild, 20_000, 0)[0]
        # A 5 per cent point of 20,000 draws has the standard error 0.015 of the standard error
        # s = 1/sqrt(200) of the mean, three of which are 0.05 s.
        np.testing.assert_allclose(ends, mean.bayes(0.9, "function")[0], atol=0.05 / np.sqrt(n))


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("method", ["conformal", "local", "jackknife+"])
def test_exchangeable_errors_are_covered_exactly(method, symmetric):
    """Of n + 1 values each is as likely to be the new one: the share is that of the ranks.

    The prediction is a constant known beforehand, so that left-out errors are the errors.
    """
    n, runs = 19, 1500
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(runs):
        *y, new = rng.exponential(size=n + 1)
        p = Predictive(np.array(y), np.eye(n), np.ones(n), 1.0, np.zeros((1, n)), np.zeros(1))
        low, high = p.interval(method, coverage=0.8, symmetric=symmetric)[0]
        inside += low <= new <= high
    # ceil(0.8 * 20) = 16 of 20 for magnitudes, the ranks 2 to 18 of 20 for both tails; four
    # standard errors.
    share = 0.8
    assert inside / runs == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / runs))


def test_ranks():
    assert order_statistics(9, 0.9) == (1, 9)
    assert order_statistics(99, 0.95) == (5, 95)
    assert order_statistics(19, 0.95) == (1, 19)
    assert order_statistics(18, 0.95) == (0, 19)


def test_too_few_samples_prove_nothing(sample):
    x, y, t = (part[:8] for part in sample)
    fit = predictive(x, y, t, np.full(8, 10.0))
    for method in ("conformal", "local", "jackknife+"):
        ends = fit.interval(method, coverage=0.9)
        assert np.all(ends[:, 0] == -np.inf)
        assert np.all(ends[:, 1] == np.inf)


@pytest.mark.parametrize(("of", "method"), ALL)
def test_units_of_y(sample, fit, of, method):
    x, y, t = sample
    options = {"n_resamples": 300, "random_state": 0}
    other = predictive(x, 5.0 - 2.0 * x + 3.0 * y, t, np.full(40, 10.0))
    expected = (5.0 - 2.0 * t)[:, None] + 3.0 * fit.interval(method, of, **options)
    np.testing.assert_allclose(other.interval(method, of, **options), expected, atol=1e-8)


@pytest.mark.parametrize(("of", "method"), ALL)
def test_more_coverage_is_wider(fit, of, method):
    narrow = fit.interval(method, of, 0.5, random_state=0)
    wide = fit.interval(method, of, 0.9, random_state=0)
    assert np.all(wide[:, 0] <= narrow[:, 0])
    assert np.all(narrow[:, 1] <= wide[:, 1])
    assert np.all(narrow[:, 0] < narrow[:, 1])


def test_observations_vary_more_than_functions(fit):
    for method in ("bayes", "bootstrap"):
        widths = [
            np.ptp(fit.interval(method, of, random_state=0), axis=1)
            for of in ("function", "observation")
        ]
        assert np.all(widths[0] < widths[1])


def test_local_and_wild_follow_errors_that_grow():
    rng = np.random.default_rng(5)
    x = np.sort(rng.uniform(0, 3, 300))
    y = rng.normal(size=300) * np.where(x < 1.5, 0.1, 1.0)
    fit = predictive(x, y, np.array([0.75, 2.25]), np.full(300, 1.0), 1.0)
    for method, of, least in (
        ("local", "observation", 4.0),
        ("wild", "function", 1.5),
    ):
        left, right = np.ptp(fit.interval(method, of, random_state=0), axis=1)
        assert right > least * left, method
    left, right = np.ptp(fit.interval("conformal"), axis=1)
    assert right == pytest.approx(left, rel=0.2)


def test_a_sample_that_nothing_predicts_is_left_aside():
    x = np.r_[np.linspace(0, 1, 20), 50.0]
    B = np.c_[np.ones(21), x == 50.0]
    y = np.r_[np.sin(6 * x[:20]), 9.0]
    M = np.block([[kernel(x, x) + np.eye(21), B], [B.T, np.zeros((2, 2))]])
    inverse, k = np.linalg.inv(M), np.c_[kernel(x[:3], x), B[:3]]
    W = k @ inverse
    fit = Predictive(y, inverse[:21, :21], np.ones(21), 1.0, W[:, :21], 1 - np.sum(W * k, axis=1))
    assert not fit.known[-1]
    assert np.isinf(fit.left_out[-1])
    for of, method in ALL:
        assert np.all(np.isfinite(fit.interval(method, of, random_state=0)))
