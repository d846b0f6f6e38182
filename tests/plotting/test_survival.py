"""Displays of survival draw the numbers that they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from mercer import CensoredRegressor
from mercer.inspect import survival_calibration
from mercer.plotting import SurvivalCalibrationDisplay, SurvivalDisplay
from mercer.smoothing.survival import kaplan_meier


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1))
    T, limit = np.exp(X[:, 0]) * rng.exponential(size=60), rng.exponential(2.0, 60)
    y = np.column_stack([np.minimum(T, limit), np.where(limit >= T, T, np.inf)])
    return CensoredRegressor(log=True).fit(X, y), X, y


def test_curves(fitted):
    machine, X, y = fitted
    _, ax = plt.subplots()
    display = SurvivalDisplay.from_estimator(machine, X[:2], y=y, names=["a", "b"], ax=ax, lw=3)
    assert display.ax_ is ax
    curves = machine.predict_survival_function(X[:2])
    for line, row, name in zip(display.lines_, curves, "ab", strict=True):
        np.testing.assert_array_equal(line.get_ydata(), np.append(1.0, row))
        np.testing.assert_array_equal(line.get_xdata(), np.append(0.0, machine.event_times_))
        assert line.get_label() == name
        assert line.get_linewidth() == 3
    whole = kaplan_meier(y[:, 0], y[:, 0] == y[:, 1])
    np.testing.assert_allclose(display.whole_.get_ydata()[1:], whole(machine.event_times_))
    assert SurvivalDisplay.from_estimator(machine, X[:1], times=[1.0, 2.0]).whole_ is None


def test_groups(fitted):
    machine, X, y = fitted
    display = SurvivalCalibrationDisplay.from_estimator(machine, X, y, time=1.0, bins=4)
    p = machine.predict_survival_function(X, [1.0])[:, 0]
    found = survival_calibration(y, p, 1.0, bins=4)
    points = display.points_.lines[0]
    np.testing.assert_array_equal(points.get_xdata(), found.predicted)
    np.testing.assert_array_equal(points.get_ydata(), found.observed)
    assert "exceed 1" in display.ax_.get_xlabel()
