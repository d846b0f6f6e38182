"""The differogram, drawn."""

import matplotlib.pyplot as plt
import numpy as np

from mercer_research.noise.differogram import DifferogramCloud
from mercer_research.plotting import DifferogramDisplay

X = np.linspace(0, 3, 40)
Y = X + 0.3 * np.random.default_rng(0).standard_normal(40)


def test_the_curve_starts_at_the_noise():
    display = DifferogramDisplay.from_data(X, Y)
    grid, curve = display.line_.get_data()
    assert grid[0] == 0.0
    assert curve[0] == display.fit.nugget
    assert len(display.points_.get_xdata()) == 40 * 39 / 2
    assert len(display.medians_.get_xdata()) == len(display.cloud.binned(12).halves)
    plt.close(display.figure_)


def test_weights_fall_where_the_curve_rises():
    display = DifferogramDisplay.from_data(X, Y, weights=True)
    squares, weights = display.weights_.get_data()
    assert np.all(np.diff(squares) >= 0)
    assert np.all(np.diff(weights) <= 1e-12)
    # One over the curve, up to a factor.
    product = weights * display.fit(squares)
    np.testing.assert_allclose(product, product[0], rtol=1e-6)
    plt.close(display.figure_)


def test_parts_can_be_left_out_and_points_thinned():
    figure, ax = plt.subplots()
    cloud = DifferogramCloud.of(X, Y)
    display = DifferogramDisplay(cloud=cloud).plot(ax, n_bins=0, max_points=100)
    assert display.line_ is None
    assert display.boxes_ is None
    assert len(display.points_.get_xdata()) <= 100
    assert display.plot(ax, points=False, n_bins=3).points_ is None
    assert display.ax_ is ax
    plt.close(figure)
