"""The display of a capacity report draws its numbers, and none that may not be quoted."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC
from mercer_research.plotting import CapacityDisplay
from mercer_research.risk_bounds import capacity_report

X, Y = make_moons(240, noise=0.2, random_state=0)
TRAIN, TEST = (X[:160], Y[:160]), (X[160:], Y[160:])


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def report():
    return capacity_report(SVC(gamma=1.0).fit(*TRAIN), *TRAIN, *TEST)


def test_bars_are_the_bounds(report):
    display = CapacityDisplay(report=report).plot()
    drawn = {name: bar.get_width() for name, bar in display.bars_.items()}
    shown = {"holds", "says nothing"}
    assert drawn == pytest.approx(
        {r.name: min(r.bound.value, 1.0) for r in report.rungs if r.status in shown}
    )
    assert display.lines_["known"].get_xdata()[0] == report.trivial
    assert display.lines_["held out"].get_xdata()[0] == report.test_error
    assert f"{report.claim.bound.value:.3g}" in display.axes_[0].get_title(loc="left")


def test_eigenvalues_are_those_of_the_report(report):
    values = CapacityDisplay(report=report).plot().lines_["eigenvalues"].get_ydata()
    np.testing.assert_array_equal(values, report.size.eigenvalues[: len(values)])


def test_a_refused_bound_has_no_bar_and_no_number():
    model = make_pipeline(StandardScaler(), SVC(gamma=1.0)).fit(*TRAIN)
    display = CapacityDisplay.from_estimator(model, *TRAIN, *TEST, cv=None)
    refused = [r for r in display.report.rungs if r.status == "refused"]
    assert refused
    words = [text.get_text() for text in display.axes_[0].texts]
    for rung in refused:
        assert rung.name not in display.bars_
        assert not any(f"{rung.bound.value:.3g}" in word for word in words)
    assert "refused: StandardScaler was fitted to them" in words


def test_given_axes_are_drawn_on(report):
    figure, axes = plt.subplots(1, 2)
    display = CapacityDisplay(report=report).plot(axes)
    assert display.figure_ is figure
    with pytest.raises(ValueError, match="a sequence of 2 Axes"):
        CapacityDisplay(report=report).plot(axes[0])


def test_a_machine_without_a_kernel_has_a_ladder_alone():
    forest = RandomForestClassifier(10, random_state=0).fit(*TRAIN)
    display = CapacityDisplay.from_estimator(forest, *TRAIN, *TEST, cv=None)
    assert len(display.axes_) == 1
    assert set(display.bars_) == {"held-out rows"}
