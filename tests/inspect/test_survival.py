"""Measures of censored predictions: by hand, by loops, and as scikit-survival 0.28 has them."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV

from mercer import CensoredRegressor
from mercer.inspect import (
    brier_score,
    concordance,
    d_calibration,
    integrated_brier_score,
    interval_error,
    survival_calibration,
)
from mercer.losses import Squared


def sample(n=80):
    """Draw what the numbers of scikit-survival below were computed from."""
    rng = np.random.default_rng(7)
    T, limit = rng.exponential(2.0, n), rng.exponential(3.0, n)
    f = T * rng.lognormal(0.0, 1.0, n)
    f[::7] = 1.0
    return np.minimum(T, limit), limit >= T, f


TIME, EVENT, F = sample()
Y = np.array(list(zip(EVENT, TIME, strict=True)), dtype=[("event", "?"), ("time", "f8")])
TIMES = np.array([0.5, 1.0, 1.5, 2.0])
S = np.exp(-TIMES / F[50:, None])


def test_order_as_scikit_survival_counts_it():
    # concordance_index_censored(event, time, -f)[0], and with np.ceil(2 * time), full of ties
    assert concordance(Y, F) == pytest.approx(0.7590047393364929, rel=1e-14)
    whole = Y.copy()
    whole["time"] = np.ceil(2 * TIME)
    assert concordance(whole, F) == pytest.approx(0.7712075848303394, rel=1e-14)
    # concordance_index_ipcw(train, test, -f, tau=2.0)[0]
    found = concordance(Y[50:], F[50:], train=Y[:50], tau=2.0)
    assert found == pytest.approx(0.8243014629803032, rel=1e-14)


def test_squared_errors_of_probabilities_as_scikit_survival_has_them():
    # brier_score(train, test, S, times)[1] and integrated_brier_score(train, test, S, times)
    expected = [0.1406346510791417, 0.26872752193777444, 0.19614379663949869, 0.22971275073550987]
    np.testing.assert_allclose(brier_score(Y[:50], Y[50:], S, TIMES), expected, rtol=1e-13)
    assert integrated_brier_score(Y[:50], Y[50:], S, TIMES) == pytest.approx(0.21668167316153297)


def test_limits_as_scikit_survival_has_them():
    # kaplan_meier_estimator(event[:40], time[:40], conf_type="log-log") at 1.5
    found = survival_calibration(Y[:40], np.full(40, 0.5), 1.5, bins=1)
    assert found.observed[0] == pytest.approx(0.4479299702000852)
    assert found.lower[0] == pytest.approx(0.27223901, abs=1e-8)
    assert found.upper[0] == pytest.approx(0.609118, abs=1e-6)
    assert found.error == pytest.approx(0.5 - 0.4479299702000852)


def test_order_of_intervals_by_a_loop():
    rng = np.random.default_rng(0)
    low = rng.integers(0, 6, 40).astype(float)
    high = low + rng.choice([0.0, 1.0, 2.0, np.inf], 40)
    f = rng.integers(0, 5, 40).astype(float)
    right = total = 0.0
    for i, j in permutations(range(40), 2):
        # i is at most high_i, and j exceeds low_j, or is it if it is known.
        if high[i] < low[j] or (high[i] == low[j] and low[j] < high[j]):
            total += 1
            right += 1.0 if f[i] < f[j] else 0.5 * (f[i] == f[j])
    assert concordance(np.column_stack([low, high]), f) == pytest.approx(right / total)


def test_order_has_its_symmetries(monkeypatch):
    assert concordance(Y, np.exp(F)) == concordance(Y, F)
    assert concordance(Y, -F) == pytest.approx(1.0 - concordance(Y, F))
    assert concordance(TIME, TIME) == 1.0
    assert concordance(Y, np.zeros(80)) == 0.5
    whole = concordance(Y, F)
    monkeypatch.setattr("mercer.inspect.survival.MAX_PAIRS", 500)  # many pieces add up to the same
    assert concordance(Y, F) == pytest.approx(whole)
    with pytest.raises(ValueError, match="known order"):
        concordance([[1.0, np.inf], [2.0, np.inf]], [0.0, 1.0])


def test_uno_does_not_depend_on_how_much_is_censored():
    rng = np.random.default_rng(0)
    n = 3000
    f = rng.normal(size=n)
    T = np.exp(f + rng.normal(size=n))
    truth = concordance(T, f, tau=2.0)
    limit = rng.exponential(1.5, n)
    y = np.column_stack([np.minimum(T, limit), np.where(limit >= T, T, np.inf)])
    uno, harrell = concordance(y, f, train=y, tau=2.0), concordance(y, f, tau=2.0)
    assert abs(uno - truth) < 0.01  # its standard error for so many pairs is about 0.006
    assert abs(harrell - truth) > 2 * abs(uno - truth)


def test_distances():
    y = [[1.0, 2.0], [-np.inf, 0.0], [3.0, 3.0], [5.0, np.inf]]
    f = [2.5, 1.0, 2.0, 9.0]
    assert interval_error(y, f) == pytest.approx((0.5 + 1.0 + 1.0 + 0.0) / 4)
    assert interval_error(y, f, loss=Squared()) == pytest.approx((0.125 + 0.5 + 0.5) / 4)
    assert interval_error(y, f, sample_weight=[0, 0, 0, 1]) == 0.0


def test_calibrated_probabilities_are_uniform():
    rng = np.random.default_rng(1)
    n = 2000
    scale = rng.uniform(0.5, 2.0, n)
    T, limit = rng.exponential(scale), rng.exponential(2.0, n)
    y = np.column_stack([np.minimum(T, limit), np.where(limit >= T, T, np.inf)])
    times = np.linspace(0.005, 15.0, 3000)
    true, wrong = np.exp(-times / scale[:, None]), np.exp(-times / scale[:, None] / 1.3)
    assert d_calibration(y, true, times).p_value > 0.05
    assert d_calibration(y, wrong, times).p_value < 1e-4
    # Without censoring it is the histogram of S(T), which Kolmogorov's test looks at as well.
    known = d_calibration(T, true, times)
    counts = np.histogram(np.exp(-T / scale), np.linspace(0, 1, 11))[0][::-1]
    np.testing.assert_allclose(known.shares * n, counts, atol=8)  # steps of 0.005 in time
    assert kstest(np.exp(-T / scale), "uniform").pvalue > 0.01
    # Intervals are spread over what their ends leave.
    wide = d_calibration(np.column_stack([np.zeros(n), np.full(n, np.inf)]), true, times)
    np.testing.assert_allclose(wide.shares, 0.1)
    # Curves that end early leave the rest to all that is below them.
    half = d_calibration([9.0], [[0.5]], [1.0], bins=4)
    np.testing.assert_allclose(half.shares, [0.0, 0.0, 0.5, 0.5])
    cells = np.column_stack([np.floor(T * 4) / 4, np.ceil(T * 4) / 4])
    assert d_calibration(cells, true, times).p_value > 0.05


def test_groups_follow_their_predictions():
    rng = np.random.default_rng(2)
    n = 2000
    scale = rng.uniform(0.5, 3.0, n)
    T, limit = rng.exponential(scale), rng.exponential(3.0, n)
    y = np.column_stack([np.minimum(T, limit), np.where(limit >= T, T, np.inf)])
    found = survival_calibration(y, np.exp(-1.0 / scale), 1.0, bins=10)
    inside = (found.lower <= found.predicted) & (found.predicted <= found.upper)
    assert inside.sum() >= 8  # nineteen of twenty are expected
    assert found.error < 0.05
    assert found.count.sum() == n
    assert survival_calibration(y, np.exp(-2.0 / scale), 1.0).error > 0.1
    with pytest.raises(ValueError, match="bins"):
        survival_calibration(y, np.exp(-1.0 / scale), 1.0, bins=0)


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(ValueError, match="one finite prediction"):
        concordance(Y, F[:10])
    with pytest.raises(ValueError, match="smaller tau"):
        concordance([5.0, 9.0], [1.0, 2.0], train=[[1.0, 1.0], [2.0, np.inf]])
    with pytest.raises(ValueError, match="earlier times"):
        brier_score([[1.0, 1.0], [2.0, np.inf]], [1.0], [[0.5]], [3.0])
    with pytest.raises(ValueError, match="known to lie in"):
        brier_score(Y, [[1.0, 2.0]], [[0.5]], [1.0])
    with pytest.raises(ValueError, match="one column a time"):
        brier_score(Y, Y, S, TIMES)
    with pytest.raises(ValueError, match="ascend"):
        integrated_brier_score(Y[:50], Y[50:], S[:, :1], TIMES[:1])
    with pytest.raises(ValueError, match="one column a time"):
        d_calibration(Y, S, TIMES)


def test_machines_are_tuned_by_their_order():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = Y.copy()
    y["time"] *= np.exp(X[:, 0])
    search = GridSearchCV(
        CensoredRegressor(log=True),
        {"C": [1e-3, 1.0]},
        scoring=make_scorer(concordance),
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.6
    curves = search.best_estimator_.predict_survival_function(X, TIMES)
    assert integrated_brier_score(y, y, curves, TIMES) < 0.25


def test_an_event_is_before_a_censoring_at_the_same_time():
    inf = np.inf
    assert concordance([[1.0, 1.0], [1.0, inf]], [0.0, 1.0]) == 1.0
    assert concordance([[1.0, 1.0], [1.0, inf]], [1.0, 0.0]) == 0.0
    with pytest.raises(ValueError, match="no two targets"):
        concordance([[1.0, 1.0], [1.0, 1.0]], [0.0, 1.0])
