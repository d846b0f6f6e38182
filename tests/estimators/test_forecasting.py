"""Forecasts against recursions written by hand, and nothing of the future in any of them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from mercer import LSSVR, Forecaster
from mercer.kernels import Gaussian, Linear

RNG = np.random.default_rng(0)
N = 60
Y = np.cumsum(RNG.normal(size=N)) + np.sin(np.arange(N) / 3)
X = np.column_stack([np.sin(np.arange(N)), np.arange(N) / N])


def features(y, X, t, horizon, delays):
    lagged = [[y[s - horizon - d] for d in delays] for s in t]
    return np.array(lagged) if X is None else np.column_stack([X[t], lagged])


@pytest.mark.parametrize("known", [None, X])
@pytest.mark.parametrize(("lags", "horizon"), [(3, 1), ((0, 2, 5), 1), (2, 4), ((1, 3), 2)])
def test_recursion_by_hand(lags, horizon, known):
    n, steps, delay = 50, 10, 3
    machine = Forecaster(LinearRegression(), lags=lags, delay=delay, horizon=horizon)
    machine.fit(Y[:n], None if known is None else known[:n])
    delays = [delay * j for j in range(lags)] if isinstance(lags, int) else list(lags)
    t = np.arange(horizon + max(delays), n)
    model = LinearRegression().fit(features(Y, known, t, horizon, delays), Y[t])
    line = np.append(Y[:n], np.zeros(steps))
    for s in range(n, n + steps):
        row = [line[s - horizon - d] for d in delays]
        row = row if known is None else [*known[s], *row]
        line[s] = model.predict([row])[0]
    ahead = None if known is None else known[n:]
    np.testing.assert_allclose(machine.forecast(steps, ahead), line[n:], rtol=1e-9)
    assert machine.n_features_in_ == len(delays) + (0 if known is None else 2)


def test_direct_machines_see_only_what_is_known():
    n, steps = 50, 4
    machine = Forecaster(LinearRegression(), lags=2, strategy="direct", steps=steps).fit(Y[:n])
    for step in range(steps):
        t = np.arange(step + 2, n)
        model = LinearRegression().fit(features(Y, None, t, 1 + step, [0, 1]), Y[t])
        value = model.predict([[Y[n - 1], Y[n - 2]]])[0]
        assert machine.forecast(steps)[step] == pytest.approx(value)
    with pytest.raises(ValueError, match="machines for 4 steps"):
        machine.forecast(5)


def test_without_lags_it_is_regression_on_what_is_known():
    machine = Forecaster(LinearRegression(), lags=0).fit(Y[:40], X[:40])
    expected = LinearRegression().fit(X[:40], Y[:40]).predict(X[40:])
    np.testing.assert_allclose(machine.forecast(20, X[40:]), expected)


@pytest.mark.parametrize("refit", [False, True])
def test_backtest_is_forecasts_from_origins(refit):
    machine = Forecaster(LinearRegression(), lags=3)
    found = machine.backtest(Y, X, start=40, steps=5, every=4, refit=refit)
    assert list(found.origins) == [39, 43, 47, 51]
    for k, origin in enumerate(found.origins + 1):
        n = origin if refit else 40
        fitted = machine.fit(Y[:n], X[:n])
        expected = fitted.forecast(5, X[origin : origin + 5], y=Y[:origin])
        np.testing.assert_allclose(found.forecasts[k], expected, rtol=1e-9)
        np.testing.assert_array_equal(found.actual[k], Y[origin : origin + 5])


def test_the_future_does_not_matter():
    other = Y.copy()
    other[50:] += 100.0
    one, two = (
        Forecaster(LinearRegression(), lags=3).backtest(y, start=40, steps=5) for y in (Y, other)
    )
    before = one.origins + 5 < 50
    np.testing.assert_array_equal(one.forecasts[before], two.forecasts[before])


def test_measures():
    found = Forecaster(LinearRegression(), lags=3).backtest(Y, start=30, steps=2)
    errors = found.actual - found.forecasts
    np.testing.assert_allclose(found.rmse, np.sqrt(np.mean(errors**2, axis=0)))
    assert found.mape == pytest.approx(100 * np.mean(np.abs(errors / found.actual)))
    k = len(errors)
    width = found.halfwidths(0.8)
    rank = int(np.ceil((k + 1) * 0.8))
    np.testing.assert_array_equal(np.sum(np.abs(errors) <= width, axis=0), rank)
    assert np.all(np.isinf(found.halfwidths(0.999)))


def test_columns_by_name_reach_the_kernel():
    frame = pd.DataFrame(X, columns=["season", "trend"])
    kernel = (
        Gaussian(1.0).on(["season"]) + Linear().on(["trend"]) + Gaussian(2.0).on(["lag1", "lag2"])
    )
    machine = Forecaster(LSSVR(kernel=kernel, C=10.0), lags=2).fit(Y[:50], frame[:50])
    plain = Gaussian(1.0).on([0]) + Linear().on([1]) + Gaussian(2.0).on([2, 3])
    same = Forecaster(LSSVR(kernel=plain, C=10.0), lags=2).fit(Y[:50], X[:50])
    np.testing.assert_allclose(machine.forecast(10, frame[50:]), same.forecast(10, X[50:]))


@pytest.mark.parametrize(
    ("settings", "call", "sentence"),
    [
        ({"strategy": "magic"}, (Y,), "strategy must be"),
        ({"horizon": 0}, (Y,), "at least 1"),
        ({"lags": 0}, (Y,), "needs X"),
        ({"lags": 80}, (Y,), "too short"),
        ({}, (Y, X[:5]), "rows for a series"),
        ({}, (np.column_stack([Y, Y]),), "one row of finite values"),
    ],
)
def test_bad_input_is_refused(settings, call, sentence):
    with pytest.raises(ValueError, match=sentence):
        Forecaster(LinearRegression(), **settings).fit(*call)


def test_forecasts_need_what_the_fit_had():
    machine = Forecaster(LinearRegression(), lags=2).fit(Y, X)
    with pytest.raises(ValueError, match="as in fit"):
        machine.forecast(2)
    with pytest.raises(ValueError, match="fewer than"):
        machine.forecast(3, X[:2])
    with pytest.raises(ValueError, match="past of 1"):
        machine.forecast(1, X, y=Y[:1])
    with pytest.raises(ValueError, match="no origin"):
        machine.backtest(Y, X, start=59, steps=5)


def test_the_default_machine_chooses_for_itself():
    y = np.sin(0.4 * np.arange(80))
    assert np.max(np.abs(Forecaster(lags=3).fit(y[:70]).forecast(10) - y[70:])) < 0.02
