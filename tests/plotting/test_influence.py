"""Displays of influence draw what was computed."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from mercer import SVR
from mercer.kernels import Gaussian
from mercer.plotting import InfluenceDisplay
from mercer.selection import influence

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
