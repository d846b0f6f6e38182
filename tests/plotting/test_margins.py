"""Displays of margins draw what was measured."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from mercer import SVC
from mercer.inspect import margin_report
from mercer.plotting import MarginDisplay
from mercer_research.diagnostics import TwoGaussians

X, Y = TwoGaussians([1.0], [-1.0]).draw(40, 0)


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_distribution():
    machine = SVC().fit(X, Y)
    report = margin_report(machine, X, Y)
    _, ax = plt.subplots()
    display = MarginDisplay.from_estimator(machine, X, Y, ax=ax, color="k")
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    np.testing.assert_allclose(display.line_.get_xdata(), np.sort(report.margins))
    far = MarginDisplay(report=report).plot(geometric=True)
    np.testing.assert_allclose(far.line_.get_xdata(), np.sort(report.geometric))
    assert far.ax_.get_xlabel() == "distance"
