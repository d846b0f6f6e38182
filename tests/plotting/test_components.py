"""Pictures of components show what machines say of them."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from mercer import AdditiveClassifier, AdditiveRegressor
from mercer.estimators import SparseAdditiveRegressor
from mercer.kernels import Gaussian
from mercer.plotting import ComponentDisplay, EvolutionDisplay


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(-1, 1, (60, 3)), columns=["age", "dose", "site"])
    frame["site"] = rng.integers(0, 3, 60)
    return frame


@pytest.fixture(scope="module")
def y(frame):
    return np.sin(3 * frame["age"]) + frame["dose"] + 0.5 * frame["site"]


def test_curves_points_and_maps(frame, y):
    machine = AdditiveRegressor(["age", "site", ("age", "dose")], categorical=["site"], C=10.0).fit(
        frame, y
    )
    display = ComponentDisplay.from_estimator(machine, frame)
    age, site, both = display.axes_
    assert (age.get_xlabel(), site.get_title()) == ("age", "site")
    assert (both.get_xlabel(), both.get_ylabel()) == ("age", "dose")
    curve = age.lines[0]
    grid = pd.DataFrame(np.tile(np.median(frame, axis=0), (200, 1)), columns=frame.columns)
    grid["age"] = curve.get_xdata()
    np.testing.assert_allclose(curve.get_ydata(), machine.predict_components(grid)[:, 0])
    np.testing.assert_allclose(display.errors[0], machine.component_errors(grid)[:, 0])
    assert list(site.get_xticks()) == [0, 1, 2]
    assert age.get_ylim() == site.get_ylim()
    some = ComponentDisplay.from_estimator(machine, frame, components=["site"], bands=False)
    assert len(some.axes_) == 1
    assert some.errors is None


def test_classes_and_what_cannot_be_drawn(frame, y):
    labels = np.digitize(y, [0.0, 1.0])
    machine = AdditiveClassifier([0, (0, 1, 2)]).fit(frame.to_numpy(), labels)
    display = ComponentDisplay.from_estimator(machine, frame.to_numpy(), output=2)
    assert display.names == ["x0"]
    with pytest.raises(ValueError, match="more than two"):
        ComponentDisplay.from_estimator(machine, frame.to_numpy(), components=[1])
    nothing = SparseAdditiveRegressor(C=1.0, mu=1e6).fit(frame, y)
    with pytest.raises(ValueError, match="no components"):
        ComponentDisplay.from_estimator(nothing, frame)
    with pytest.raises(ValueError, match="where mu was chosen"):
        EvolutionDisplay.from_estimator(nothing)


def test_the_evolution_of_components(frame, y):
    machine = SparseAdditiveRegressor(kernel=Gaussian(1.0), n_mus=3, cv=2).fit(frame, y)
    display = EvolutionDisplay.from_estimator(machine)
    for line, column in zip(display.lines_, machine.path_.coefs.T, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), column)
    assert len(display.axes_) == 2
    with pytest.raises(ValueError, match="shape"):
        EvolutionDisplay(parameters=[1.0], variation=[[1.0, 2.0]], names=["a"])
    drawn = ComponentDisplay.from_estimator(machine, frame)
    assert drawn.names == machine.selected_names_
