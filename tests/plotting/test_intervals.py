"""What the display of intervals draws."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from mercer import LSSVR
from mercer.estimators import SupportVectorTube
from mercer.plotting import IntervalDisplay


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def sample():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 6, (80, 1))
    return X, np.sin(X[:, 0]) + 0.2 * rng.normal(size=80)


def test_intervals_and_observations_are_drawn_where_they_are():
    X, y = sample()
    machine = LSSVR(C=10.0).fit(X[:50], y[:50])
    display = IntervalDisplay.from_estimator(machine, X[50:], y[50:], coverage=0.7, name="ours")
    low, high = machine.predict_interval(X[50:], 0.7).T
    outside = (y[50:] < low) | (y[50:] > high)
    assert sorted(display.outside_.get_xdata()) == sorted(X[50:][outside, 0])
    assert len(display.inside_.get_xdata()) == 30 - outside.sum()
    np.testing.assert_allclose(display.line_.get_ydata(), machine.predict(np.sort(X[50:], axis=0)))
    assert display.ax_.get_legend() is not None


def test_groups_beside_the_promise():
    X, y = sample()
    tube = SupportVectorTube(mu=5.0).fit(X, y)
    display = IntervalDisplay.from_estimator(tube, X, y)
    report = display.report(0.9, np.sort(X[:, 0]) > 3)
    assert report.coverage == 1.0
    display.plot_groups(report, plt.figure().add_subplot())
    assert [bar.get_height() for bar in display.bars_] == [1.0, 1.0]
    assert display.promise_.get_ydata()[0] == 0.9


def test_what_cannot_be_is_refused():
    display = IntervalDisplay(x=[0.0, 1.0], low=[0.0, 0.0], high=[1.0, 1.0])
    with pytest.raises(ValueError, match="no observations"):
        display.report(0.9)
    whole = IntervalDisplay(x=[0.0, 1.0], low=[0.0, 0.0], high=[1.0, 1.0], y=[0.5, 2.0]).report(0.9)
    assert whole.coverage == 0.5
    with pytest.raises(ValueError, match="no groups"):
        display.plot_groups(whole)
