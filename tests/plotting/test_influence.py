"""Displays of influence and of statistics along a grid draw what was computed."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from mercer import SVC, SVR
from mercer.kernels import Gaussian
from mercer.plotting import InfluenceDisplay
from mercer.plotting.influence import StatisticsDisplay
from mercer.selection import influence
from mercer.selection.protocols import selection_statistics

X = np.linspace(0.0, 6.0, 25)[:, None]


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_influence():
    y = np.sin(X[:, 0])
    machine = SVR(kernel=Gaussian(1.0), epsilon=0.2, tol=1e-6).fit(X, y)
    _, ax = plt.subplots()
    display = InfluenceDisplay.from_estimator(machine, X, y, ax=ax, x=X[:, 0])
    places, size = display.points_.get_data()
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert places == pytest.approx(X[:, 0])
    assert size == pytest.approx(influence(machine, X, y).size, abs=1e-6)
    assert len(display.stems_.get_segments()) == 25
    with pytest.raises(ValueError, match="one place"):
        display.plot(x=[1.0])


def test_statistics():
    y = X[:, 0] > 3
    values = [0.1, 1.0, 10.0]
    found = selection_statistics(
        SVC(kernel=Gaussian()), X, y, "kernel__length_scale", values, X_test=X, y_test=y
    )
    display = StatisticsDisplay(statistics=found).plot()
    assert set(display.lines_) == {
        "support vectors",
        "training error",
        "mean slack",
        "Jaakkola-Haussler",
        "test error",
    }
    assert display.lines_["mean slack"].get_ydata() == pytest.approx(found.slack)
    assert display.ax_.get_xscale() == "log"
    assert display.ax_.get_xlabel() == "kernel__length_scale"
