"""Statistics along a grid, as they are drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from mercer import SVC
from mercer.kernels import Gaussian
from mercer_research.plotting import StatisticsDisplay
from mercer_research.selection import selection_statistics

X = np.linspace(0.0, 6.0, 25)[:, None]


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


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
