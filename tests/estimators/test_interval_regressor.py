"""Conformal intervals: closed forms beside refits, promises beside simulations."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from mercer import LSSVR, SVR, ConformalRegressor, QuantileBand
from mercer.estimators import intervals
from mercer.estimators.conformal import LeaveFoldOut, quantile, refit
from mercer.kernels import Gaussian
from mercer.regularizers import Polynomial

KERNEL = Gaussian(0.7)
FIXED = LSSVR(KERNEL, C=5.0)


def draw(n, seed, spread=0.0, skew=False):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 1))
    noise = rng.exponential(size=n) - 1 if skew else rng.normal(size=n)
    return X, np.sin(2 * X[:, 0]) + (0.2 + spread * np.abs(X[:, 0])) * noise


@pytest.mark.parametrize("null_space", [None, Polynomial(1)])
@pytest.mark.parametrize("k", [5, 30])
def test_folds_are_left_out_in_closed_form(null_space, k):
    X, y = draw(30, 0)
    Z = np.linspace(-2, 2, 7)[:, None]
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 30)
    machine = LSSVR(KERNEL, C=5.0, null_space=null_space, tol=1e-12).fit(X, y, weight)
    group = np.random.default_rng(2).permutation(np.arange(30) % k)
    closed = LeaveFoldOut.of(machine, group)
    folds = [(np.flatnonzero(group != j), np.flatnonzero(group == j)) for j in range(k)]
    again = refit(machine, X, y, folds, weight, band=False)
    # Systems of condition below 1e3.
    np.testing.assert_allclose(closed.low[again.index], again.low, atol=1e-9)
    np.testing.assert_allclose(closed(Z)[0], again(Z)[0], atol=1e-9)


def test_jackknife_plus_is_that_of_the_machine():
    X, y = draw(60, 3)
    Z = np.linspace(-2, 2, 50)[:, None]
    ours = ConformalRegressor(FIXED, method="jackknife+", scale="constant").fit(X, y)
    expected = FIXED.fit(X, y).predict_interval(Z, method="jackknife+")
    np.testing.assert_allclose(ours.predict_interval(Z), expected, atol=1e-12)


def test_cross_validated_intervals_by_hand():
    X, y = draw(41, 4)
    Z = np.linspace(-2, 2, 9)[:, None]
    folds = KFold(4, shuffle=True, random_state=0)
    machine = ConformalRegressor(SVR(C=2.0), method="cv+", cv=folds, scale="constant").fit(X, y)
    low, high = [], []
    for fit, left in folds.split(X):
        f = SVR(C=2.0).fit(X[fit], y[fit])
        r = np.abs(y[left] - f.predict(X[left]))
        low += list(f.predict(Z)[None] - r[:, None])
        high += list(f.predict(Z)[None] + r[:, None])
    k = int(np.ceil(0.9 * 42))
    np.testing.assert_allclose(
        machine.predict_interval(Z),
        np.column_stack([np.sort(low, axis=0)[41 - k], np.sort(high, axis=0)[k - 1]]),
        atol=1e-12,
    )


@pytest.mark.parametrize("copies", [0, 6])
def test_jackknife_plus_by_hand(copies):
    """Of a machine without a closed form: a row is left out with its copies."""
    X, y = draw(30, 4)
    X[:copies] = X[copies : 2 * copies]
    Z = np.linspace(-2, 2, 9)[:, None]
    machine = ConformalRegressor(SVR(C=2.0), method="jackknife+", scale="constant").fit(X, y)
    low, high = [], []
    for x, target in zip(X, y, strict=True):
        others = np.any(x != X, axis=1)
        f = SVR(C=2.0).fit(X[others], y[others])
        r = abs(target - f.predict(x[None])[0])
        low.append(f.predict(Z) - r)
        high.append(f.predict(Z) + r)
    k = int(np.ceil(0.9 * 31))
    np.testing.assert_allclose(
        machine.predict_interval(Z),
        np.column_stack([np.sort(low, axis=0)[30 - k], np.sort(high, axis=0)[k - 1]]),
        atol=1e-12,
    )


def test_rows_are_left_to_fit_where_most_are_copies_of_one():
    """Those of whole groups that are set aside are not half of the rows, but all that can be."""
    X, y = draw(124, 5)
    X[:100] = X[0]
    machine = ConformalRegressor(
        FIXED, method="split", scale="constant", shuffle=False, calibration=0.5
    ).fit(X, y)
    f = FIXED.fit(X[:100], y[:100])
    q = np.sort(np.abs(y[100:] - f.predict(X[100:])))[int(np.ceil(0.9 * 25)) - 1]
    np.testing.assert_allclose(machine.predict_interval(X)[:, 1] - f.predict(X), q, atol=1e-12)


def test_split_by_hand():
    X, y = draw(100, 5)
    machine = ConformalRegressor(
        FIXED, method="split", scale="constant", shuffle=False, calibration=0.4
    ).fit(X, y)
    f = FIXED.fit(X[:60], y[:60])
    q = np.sort(np.abs(y[60:] - f.predict(X[60:])))[int(np.ceil(0.9 * 41)) - 1]
    np.testing.assert_allclose(machine.predict_interval(X)[:, 1] - f.predict(X), q, atol=1e-12)


def test_quantile_regression_by_hand():
    X, y = draw(200, 6, spread=0.3)
    band = QuantileBand((0.05, 0.95), kernel=KERNEL, C=1.0)
    machine = ConformalRegressor(band, method="cqr", shuffle=False).fit(X, y)
    low, high = band.fit(X[:150], y[:150]).predict_interval(X[150:]).T
    q = np.sort(np.maximum(low - y[150:], y[150:] - high))[int(np.ceil(0.9 * 51)) - 1]
    expected = band.predict_interval(X) + np.array([-q, q])
    np.testing.assert_allclose(machine.predict_interval(X), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("jackknife+", {}),
        ("jackknife+", {"scale": "local"}),
        ("jackknife+", {"symmetric": False}),
        ("jackknife-minmax", {}),
        ("cv+", {"cv": 5}),
        ("split", {}),
        ("split", {"scale": "local"}),
    ],
)
def test_promises_are_kept(method, options):
    inside = []
    options = {"scale": "constant", **options}
    rounds = 6 if options["scale"] == "local" else 20
    for seed in range(rounds):
        X, y = draw(60, seed)
        Z, v = draw(100, 1000 + seed)
        machine = ConformalRegressor(
            FIXED, coverage=0.8, method=method, random_state=seed, **options
        ).fit(X, y)
        low, high = machine.predict_interval(Z).T
        inside.append(np.mean((low <= v) & (v <= high)))
    # Coverage has a standard deviation of sqrt(0.8 * 0.2 / 60) = 0.05 for as many scores, 0.1 for
    # fifteen, and 0.04 for a hundred points: three of the mean over all rounds.
    error = np.sqrt((0.16 / (15 if method == "split" else 60) + 0.16 / 100) / rounds)
    assert np.mean(inside) > 0.8 - 3 * error
    if method in ("jackknife+", "cv+"):
        assert np.mean(inside) < 0.8 + 3 * error + 1 / 61


@pytest.mark.parametrize("method", ["cqr", "tube"])
def test_bands_and_tubes_keep_theirs(method):
    X, y = draw(400, 7, spread=0.3)
    Z, v = draw(2000, 8, spread=0.3)
    machine = ConformalRegressor(method=method, random_state=0).fit(X, y)
    # A hundred scores: 0.03 is one standard deviation of the coverage.
    assert 0.8 < machine.coverage_report(Z, v).coverage < 1.0
    assert machine.predict(Z).shape == (2000,)


def test_local_widths_where_the_sample_proves_them():
    X, y = draw(300, 9, spread=0.4)
    Z, v = draw(3000, 10, spread=0.4)
    machine = ConformalRegressor().fit(X, y)
    assert machine.scale_ == "local"
    assert machine.spread_proof_ > 3
    plain = ConformalRegressor(scale="constant").fit(X, y)
    centre = np.abs(Z[:, 0]) < 0.5
    local, constant = (m.coverage_report(Z, v, centre) for m in (machine, plain))
    # Errors in the middle are a third of those at the ends: the same width covers all of them.
    assert constant.groups[1].coverage > 0.97
    assert local.groups[1].coverage < 0.97
    assert local.groups[1].width < 0.7 * local.groups[0].width
    assert local.score < constant.score
    even = ConformalRegressor().fit(*draw(300, 11))
    assert even.scale_ == "constant"


def test_skewed_errors_are_missed_as_often_on_either_side():
    X, y = draw(400, 12, skew=True)
    Z, v = draw(2000, 13, skew=True)
    how = {"scale": "constant", "method": "split", "random_state": 0}
    even = ConformalRegressor(FIXED, symmetric=False, **how).fit(X, y).coverage_report(Z, v)
    one = ConformalRegressor(FIXED, **how).fit(X, y).coverage_report(Z, v)
    # Errors reach farther above than below, and one distance for both is missed there.
    assert one.above > 2 * one.below
    assert even.below > one.below
    assert abs(even.above - even.below) < 0.5 * abs(one.above - one.below)


def test_weights_are_how_many_a_score_stands_for():
    rng = np.random.default_rng(14)
    values = rng.normal(size=(3, 20))
    s = rng.integers(1, 4, 20)
    for level in (0.3, 0.9, 0.99):
        np.testing.assert_array_equal(
            quantile(values, level, s.astype(float)), quantile(np.repeat(values, s, axis=1), level)
        )
    X, y = draw(50, 15)
    weight = np.repeat([1.0, 0.0], [40, 10])
    weighted = ConformalRegressor(FIXED, scale="constant").fit(X, y, weight)
    without = ConformalRegressor(FIXED, scale="constant").fit(X[:40], y[:40])
    np.testing.assert_allclose(
        weighted.predict_interval(X), without.predict_interval(X), atol=1e-10
    )
    assert weighted.n_calibration_ == 40


def test_large_samples_are_split_and_approximated(monkeypatch):
    monkeypatch.setattr(intervals, "MAX_FACTORED_ROWS", 300)
    monkeypatch.setattr(intervals, "MAX_REFITTED_ROWS", 300)
    X, y = draw(700, 16, spread=0.4)
    Z, v = draw(2000, 17, spread=0.4)
    machine = ConformalRegressor(random_state=0).fit(X, y)
    assert (machine.method_, machine.scale_) == ("split", "local")
    assert machine.estimator_.approximation == "auto"
    assert 0.85 < machine.coverage_report(Z, v).coverage < 0.95


def test_other_machines_and_frames():
    X, y = draw(150, 18)
    frame = pd.DataFrame(np.column_stack([X, X**2]), columns=["x", "square"])
    machine = ConformalRegressor(LinearRegression(), random_state=0).fit(frame, y)
    assert machine.method_ == "cv+"
    assert list(machine.estimator_.feature_names_in_) == ["x", "square"]
    report = machine.coverage_report(frame, y, groups=frame["x"] > 0)
    assert report.coverage > 0.85
    forest = RandomForestRegressor(20, random_state=0)
    split = ConformalRegressor(forest, method="split", random_state=0).fit(frame, y)
    assert split.predict_interval(frame).shape == (150, 2)


def test_features_that_are_no_numbers_are_left_to_the_machine():
    X, y = draw(80, 21)
    frame = pd.DataFrame({"x": X[:, 0], "kind": np.where(X[:, 0] > 0, "a", "b")})
    encode = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    pipe = make_pipeline(encode, LinearRegression())
    machine = ConformalRegressor(pipe, cv=4, random_state=0).fit(frame, y)
    assert machine.scale_ == "constant"
    assert machine.predict_interval(frame).shape == (80, 2)
    with pytest.raises(ValueError, match="numbers"):
        ConformalRegressor(pipe, cv=4, scale="local").fit(frame, y)


def test_another_coverage_and_too_few_samples():
    X, y = draw(60, 19)
    machine = ConformalRegressor(FIXED).fit(X, y)
    wide, narrow = machine.predict_interval(X, 0.95), machine.predict_interval(X, 0.5)
    assert np.all(wide[:, 0] < narrow[:, 0])
    assert np.all(wide[:, 1] > narrow[:, 1])
    assert np.all(np.isinf(machine.predict_interval(X, 0.99)))
    with pytest.raises(ValueError, match="between 0 and 1"):
        machine.predict_interval(X, 1.0)


def test_what_cannot_be_is_refused():
    X, y = draw(30, 20)
    with pytest.raises(ValueError, match="has none"):
        ConformalRegressor(LinearRegression(), method="cqr").fit(X, y)
    with pytest.raises(ValueError, match="n_samples=1"):
        ConformalRegressor().fit(X, y, np.eye(30)[0])
