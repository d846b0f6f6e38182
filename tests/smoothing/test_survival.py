import numpy as np
import pytest
from scipy.optimize import minimize

from mercer.smoothing.survival import SurvivalCurve, kaplan_meier, turnbull


def test_product_limit_by_hand():
    # Six patients: 1, 2+, 3, 3, 4+, 6. At risk: 6, then 4 with two deaths, then 1.
    curve = kaplan_meier([3, 1, 2, 6, 3, 4], [1, 1, 0, 1, 1, 0])
    np.testing.assert_array_equal(curve.times, [1, 3, 6])
    np.testing.assert_allclose(curve.survival, [5 / 6, 5 / 6 * 2 / 4, 0.0], atol=1e-15)
    np.testing.assert_allclose(curve([0.5, 1, 2.9, 3, 7]), [1, 5 / 6, 5 / 6, 5 / 12, 0], atol=1e-15)
    np.testing.assert_allclose(curve.before([1, 3]), [1, 5 / 6], atol=1e-15)
    np.testing.assert_array_equal(curve.quantile([0.1, 0.5, 0.99]), [1, 3, 6])


def test_bounds_at_a_time_come_after_values_at_it():
    time, event = [1, 2, 2, 3], [False, True, False, True]
    # Of those censored: one of four at 1; at 2 one of the two that are left after the event.
    unseen = kaplan_meier(time, event, reverse=True)
    np.testing.assert_array_equal(unseen.times, [1, 2])
    np.testing.assert_allclose(unseen.survival, [3 / 4, 3 / 8])


def test_weights_are_copies():
    rng = np.random.default_rng(0)
    time, event, w = rng.integers(1, 6, 20), rng.random(20) < 0.6, rng.integers(0, 3, 20)
    one = kaplan_meier(time, event, w)
    other = kaplan_meier(np.repeat(time, w), np.repeat(event, w))
    np.testing.assert_array_equal(one.times, other.times)
    np.testing.assert_allclose(one.survival, other.survival, atol=1e-14)
    lower, upper = time - 1.0, time + rng.integers(0, 2, 20)
    one, other = turnbull(lower, upper, w), turnbull(np.repeat(lower, w), np.repeat(upper, w))
    np.testing.assert_allclose(one(np.arange(8)), other(np.arange(8)), atol=1e-9)


def test_intervals_without_upper_ends_are_the_product_limit():
    rng = np.random.default_rng(1)
    time, event = rng.exponential(size=30).round(1), rng.random(30) < 0.6
    limit = kaplan_meier(time, event)
    # One interval that holds everything carries no information, but takes the general way.
    lower, upper = np.append(time, -np.inf), np.append(np.where(event, time, np.inf), np.inf)
    general = turnbull(lower, upper, tol=1e-9, max_iter=100000)
    assert general.gap <= 1e-9
    grid = np.linspace(0, 3, 50)
    # A likelihood short of its maximum by 1e-9 a sample is flat to its root in the shares.
    np.testing.assert_allclose(general(grid), limit(grid), atol=np.sqrt(1e-9 * 30))


def test_likelihood_is_largest():
    rng = np.random.default_rng(2)
    n = 25
    x = rng.exponential(size=n)
    lower = np.maximum(x - rng.uniform(0, 1, n), 0.0)
    upper = np.where(rng.random(n) < 0.3, np.inf, x + rng.uniform(0, 1, n))
    curve = turnbull(lower, upper)
    # Brute force: shares on all cells between ends, by a general optimizer.
    ends = np.unique(np.concatenate([lower, upper]))
    cells = np.stack([ends[:-1], ends[1:]], axis=1)
    holds = (cells[:, 0] >= lower[:, None]) & (cells[:, 1] <= upper[:, None])

    def loss(z):
        p = np.exp(z - z.max())
        p /= p.sum()
        P = holds @ p
        slope = -(holds / P[:, None]).sum(0) / n
        return -np.log(P).mean(), p * (slope - slope @ p)

    best = -min(
        minimize(loss, rng.normal(size=len(cells)), jac=True, method="L-BFGS-B").fun
        for _ in range(3)
    )
    S = np.where(np.isinf(upper), 0.0, curve(upper))
    own = np.log(np.maximum(curve(lower) - S, 1e-300)).mean()
    assert curve.gap <= 1e-5
    assert own >= best - 1e-5 - 1e-9  # what its certificate allows
    assert own <= best + 1e-5  # what is left by the general optimizer


def test_quantiles_beyond_the_data_are_infinite():
    curve = SurvivalCurve(np.array([1.0]), np.array([0.6]))
    np.testing.assert_array_equal(curve.quantile([0.3, 0.5]), [1.0, np.inf])


@pytest.mark.parametrize("level", [0.25, 0.5, 0.75])
def test_quantiles_of_known_values(level):
    x = np.random.default_rng(0).permutation(100) / 100.0
    curve = kaplan_meier(x, np.ones(100))
    assert curve.quantile(level) == np.quantile(x, level, method="inverted_cdf")
