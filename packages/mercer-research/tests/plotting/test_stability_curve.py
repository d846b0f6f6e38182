"""Curves of stability are drawn as they are."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer_research.fusion import StableLSSVR, stability_curve
from mercer_research.plotting import StabilityDisplay


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (30, 1))
    return X, np.sinc(X[:, 0]) + 0.1 * rng.standard_normal(30)


def test_bounds_and_residuals(data):
    machine, alphas = StableLSSVR(Gaussian(0.7), cv=5), np.geomspace(1e-3, 1.0, 5)
    _, ax = plt.subplots()
    display = StabilityDisplay.from_estimator(machine, *data, alphas=alphas, ax=ax, lw=3)
    curve = stability_curve(machine, *data, alphas)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    for line, values in zip(display.lines_, (curve.residuals, curve.left_out), strict=True):
        assert np.asarray(line.get_xdata()) == pytest.approx(alphas)
        assert np.asarray(line.get_ydata()) == pytest.approx(values)
        assert line.get_linewidth() == 3
    assert np.asarray(display.corner_.get_xdata()) == pytest.approx([curve.best])
