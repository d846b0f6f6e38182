"""Displays of filters draw what the instruments compute, on the axes they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from mercer import SVR, KernelRegressor
from mercer.kernels import Gaussian, Matern
from mercer_research.diagnostics import compare, machine_report
from mercer_research.plotting import ComparisonDisplay, MachineFilterDisplay

X = np.linspace(0.0, 8.0, 60)[:, None]


Y = np.sin(X[:, 0])


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def data(line):
    x, y = line.get_data()
    return np.asarray(x), np.asarray(y)


def test_comparison(ax):
    display = ComparisonDisplay.from_kernels(Gaussian(), Matern(nu=2.5), 0.1, ax=ax)
    expected = compare(Gaussian(), Matern(nu=2.5), 0.1)
    for line, values in zip(
        display.lines_, (expected.attenuation, expected.other_attenuation), strict=True
    ):
        assert data(line)[1] == pytest.approx(values)
    assert display.lines_[0].get_label() == "Gaussian(length_scale=1.0)"
    named = display.plot(names=("one", "two"))
    assert named.lines_[1].get_label() == "two"
    assert named.ax_ is not ax


def test_machine(ax):
    machine = KernelRegressor(kernel=Gaussian()).fit(X, Y)
    display = MachineFilterDisplay.from_estimator(machine, X, Y, n_bands=10, ax=ax)
    report = machine_report(machine, X, Y, n_bands=10)
    assert data(display.points_)[1] == pytest.approx(report.transfer)
    assert data(display.line_)[1] == pytest.approx(report.response)
    assert display.points_.get_color() == display.line_.get_color()
    vectors = MachineFilterDisplay.from_estimator(SVR(kernel=Gaussian()).fit(X, Y), X, Y, name="v")
    assert vectors.line_ is None
    assert vectors.points_.get_label() == "v"
