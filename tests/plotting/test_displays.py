"""Displays draw what the instruments compute, on the axes they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from mercer.inspect import filter_curve, gram_report, sample_paths
from mercer.kernels import BSpline, Gaussian, Linear, Matern, PeriodicGaussian, Sigmoid
from mercer.plotting import FilterDisplay, GramDisplay, KernelDisplay, PenaltyDisplay
from mercer.plotting.kernels import PriorDisplay
from mercer_research.kernels import Dirichlet

OMEGA = np.linspace(0.0, 6.0, 61)
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


@pytest.mark.parametrize("what", ["attenuation", "power", "penalty", "decibels"])
def test_filter(ax, what):
    display = FilterDisplay.from_kernel(Gaussian(0.5), OMEGA, ax=ax, what=what, name="one", lw=3)
    curve = filter_curve(Gaussian(0.5), OMEGA)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    x, y = data(display.line_)
    assert x == pytest.approx(OMEGA)
    assert y == pytest.approx(getattr(curve, what))
    assert display.line_.get_label() == "one"
    assert display.line_.get_linewidth() == 3
    assert ax.get_yscale() == ("linear" if what == "decibels" else "log")


def test_filter_cuts_off_and_dots_what_is_negative(ax):
    omega = np.linspace(0.0, 12.0, 121)
    display = FilterDisplay.from_kernel(BSpline(1.0, 2), omega, ax=ax)
    attenuation = display.curve.attenuation
    _, positive = data(display.line_)
    _, negative = data(ax.lines[1])
    assert np.nanmax(np.abs(positive - attenuation)) == 0.0
    assert (np.isnan(positive) == (attenuation <= 1e-8)).all()
    assert np.nanmin(negative) > 0.0
    assert (np.isfinite(negative) == (attenuation < -1e-8)).all()


@pytest.mark.parametrize("what", ["attenuation", "decibels"])
def test_discrete_filter(ax, what):
    display = FilterDisplay.from_kernel(PeriodicGaussian(0.5), np.arange(6), ax=ax, what=what)
    tops = [segment[1, 1] for segment in display.line_.get_segments()]
    assert tops == pytest.approx(getattr(display.curve, what))
    assert data(ax.lines[0])[0] == pytest.approx(np.arange(6.0))


def test_penalties(ax):
    kernels = {"a": Gaussian(), "b": Matern(), "c": BSpline(1.0, 2)}
    display = PenaltyDisplay.from_kernels(kernels, np.linspace(0.0, 8.0, 41), ax=ax)
    assert [line.get_label() for line in display.lines_] == ["a", "b", "c"]
    for line, kernel in zip(display.lines_[:2], kernels.values(), strict=False):
        x, y = data(line)
        power = kernel.spectrum(x)
        assert y == pytest.approx(power[0] / power)
    assert np.isnan(data(display.lines_[2])[1]).any()  # frequencies that cannot be


def test_kernel(ax):
    display = KernelDisplay.from_kernel(Matern(), at=1.0, ax=ax)
    x, y = data(display.line_)
    assert (x[0], x[-1]) == (-3.0, 5.0)
    assert y == pytest.approx(Matern()(x[:, None], np.ones((1, 1)))[:, 0])
    circle = KernelDisplay.from_kernel(Dirichlet(3))
    assert circle.x[[0, -1]] == pytest.approx([-np.pi, np.pi])
    given = KernelDisplay.from_kernel(Linear(), np.array([0.0, 2.0]), at=3.0)
    assert given.values == pytest.approx([0.0, 6.0])


def test_prior(ax):
    display = PriorDisplay.from_kernel(Matern(), X[:, 0], 4, random_state=5, ax=ax, color="k")
    expected = sample_paths(Matern(), X, 4, random_state=5)
    assert len(display.lines_) == 4
    for line, path in zip(display.lines_, expected.T, strict=True):
        assert data(line)[1] == pytest.approx(path)
        assert line.get_color() == "k"


def test_gram():
    figure, axes = plt.subplots(1, 2)
    order = np.argsort(-X[:, 0])
    display = GramDisplay.from_kernel(Gaussian(), X, Y, ax=axes, order=order, cmap="gray")
    assert display.ax_ == list(axes)
    assert display.figure_ is figure
    assert np.asarray(display.image_.get_array()) == pytest.approx(Gaussian()(X[order]))
    values = gram_report(Gaussian(), X).eigenvalues
    assert data(display.line_)[1] == pytest.approx(values[values > 0.0])
    assert display.report.alignment is not None


def test_gram_with_negative_eigenvalues():
    points = np.random.default_rng(0).standard_normal((15, 2))
    display = GramDisplay.from_gram(Sigmoid(1.0, -1.0)(points))
    crosses = data(display.ax_[1].lines[1])[1]
    assert crosses == pytest.approx(-display.report.eigenvalues[display.report.eigenvalues <= 0])


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: FilterDisplay.from_kernel(Gaussian(), what="colour"), "what must be one of"),
        (lambda: FilterDisplay.from_kernel(Gaussian(), ax="axes"), "one Axes"),
        (lambda: GramDisplay.from_gram(np.eye(3), ax=plt.subplots()[1]), "sequence of 2 Axes"),
        (lambda: FilterDisplay.from_kernel(Linear()), "no spectrum"),
    ],
    ids=["what", "ax", "pair", "kernel"],
)
def test_errors_say_what_to_do(call, match):
    with pytest.raises(ValueError, match=match):
        call()
