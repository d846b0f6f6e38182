"""The map of a criterion shows its surface and the way through it."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import LSSVR
from mercer.kernels import Gaussian
from mercer.plotting import CriterionDisplay
from mercer.selection import criterion_surface, tune

X = np.random.default_rng(0).uniform(-2, 2, size=(60, 2))
y = np.sin(3 * X[:, 0]) + 0.2 * np.random.default_rng(1).normal(size=60)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_the_best_point_and_the_way_are_where_they_were_found():
    surface = criterion_surface(LSSVR(kernel=Gaussian(1.0)), X, y)
    tuning = tune(LSSVR(), X, y)
    display = CriterionDisplay(surface=surface, tuning=tuning).plot()
    row, column = surface.best
    assert_allclose(display.best_.get_xdata(), [surface.Cs[column]])
    assert_allclose(display.best_.get_ydata(), [surface.factors[row]])
    Cs = [trial.parameters["C"] for trial in tuning.trials_ if trial.stage == "descent"]
    assert_allclose(display.way_.get_xdata(), Cs)
    assert display.ax_.get_ylabel() == "length scale"


def test_logarithmic_criteria_and_scales_of_several_features():
    display = CriterionDisplay.from_estimator(
        LSSVR(kernel=Gaussian([1.0, 2.0])), X, y, criterion="evidence"
    )
    assert display.way_ is None
    assert display.ax_.get_ylabel() == "factor of the length scales"
