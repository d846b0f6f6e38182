"""Displays of stability draw the numbers that they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from mercer import LSSVR
from mercer.kernels import Gaussian
from mercer_research.plotting import LCurveDisplay
from mercer_research.plotting.stability import StabilityProfileDisplay
from mercer_research.selection import l_curve
from mercer_research.selection.stability_report import Stability, stability


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (30, 1))
    return X, np.sinc(X[:, 0]) + 0.1 * rng.standard_normal(30)


def test_the_classical_curve(data):
    X, y = data
    curve = l_curve(Gaussian(0.7)(X), y, np.geomspace(0.1, 1e3, 9))
    display = LCurveDisplay(curve=curve).plot()
    assert np.asarray(display.line_.get_xdata()) == pytest.approx(curve.residuals)
    assert np.asarray(display.corner_.get_ydata()) == pytest.approx([curve.norms[curve.corner]])


def test_the_worst_samples_are_numbered(data):
    machine = LSSVR(Gaussian(0.7)).fit(*data)
    found = stability(machine, *data)
    display = StabilityProfileDisplay.from_estimator(machine, *data, worst=2)
    assert [label.get_text() for label in display.labels_] == [str(k) for k in found.worst[:2]]
    assert np.asarray(display.points_.get_ydata()) == pytest.approx(found.left_out)
    with pytest.raises(ValueError, match="one output"):
        StabilityProfileDisplay(stability=Stability(np.ones((2, 2)), np.ones((2, 2))))
