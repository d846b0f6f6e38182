"""The evolution diagram draws the path that it is given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from mercer_research.linear import FusedRidge, lasso_homotopy
from mercer_research.plotting import PathDisplay


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture
def path():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4))
    return lasso_homotopy(X, X @ [2.0, -1.0, 0.0, 0.5] + rng.standard_normal(30))


@pytest.mark.parametrize("against", ["parameter", "norm"])
def test_lines_are_the_coefficients(path, against):
    _, ax = plt.subplots()
    display = PathDisplay.from_path(path, ax=ax, against=against, names=list("abcd"), lw=3)
    x = path.parameters if against == "parameter" else path.norms
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert [line.get_label() for line in display.lines_] == list("abcd")
    for line, column in zip(display.lines_, path.coefs.T, strict=True):
        assert np.asarray(line.get_xdata()) == pytest.approx(x)
        assert np.asarray(line.get_ydata()) == pytest.approx(column)
        assert line.get_linewidth() == 3


@pytest.mark.parametrize("against", ["parameter", "norm"])
def test_the_chosen_point_is_marked_where_it_belongs(path, against):
    lam = 0.3 * path.parameters[0]
    display = PathDisplay.from_path(path, chosen=lam, against=against)
    (x, _) = display.ax_.lines[4].get_xdata()
    assert x == pytest.approx(lam if against == "parameter" else np.abs(path.at(lam)).sum())


def test_other_paths_and_a_logarithmic_axis():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), rng.standard_normal(40)
    curve = FusedRidge().fit(X, y).validation_path_
    display = PathDisplay.from_path(curve, log=True, xlabel="penalty")
    assert display.ax_.get_xscale() == "log"
    assert display.ax_.get_xlabel() == "penalty"
    assert len(display.lines_) == 3


def test_refused(path):
    with pytest.raises(ValueError, match="one row for each"):
        PathDisplay(parameters=[1.0], coefs=np.ones((2, 2)))
    with pytest.raises(ValueError, match="names were given"):
        PathDisplay(parameters=[1.0], coefs=np.ones((1, 2)), names=["a"])
    with pytest.raises(ValueError, match="against must be"):
        PathDisplay.from_path(path, against="time")
