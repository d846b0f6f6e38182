"""Equivalent widths: the eight numbers of the figure, moment matches, and the minimax property."""

import numpy as np
import pytest

from mercer.inspect import filter_curve
from mercer.inspect.bands import widen
from mercer.kernels import BSpline, Gaussian, Laplacian, Linear, Matern, ThinPlate
from mercer_research.diagnostics import compare, equivalent_width
from mercer_research.kernels import Dirichlet


def test_spline_against_gaussian_of_the_figure():
    # The function exp(-w^2 / 40) against B_3 of scale sqrt(3/20), at w = pi, 2 pi, 3 pi, 4 pi.
    gaussian = Gaussian(1.0 / np.sqrt(20.0))
    match = equivalent_width(gaussian, BSpline(), precision=5e-3, method="moments")
    assert match.kernel.length_scale == pytest.approx(np.sqrt(3.0 / 20.0), rel=1e-6)
    omega = np.pi * np.arange(5)
    spline, normal = (filter_curve(k, omega).attenuation[1:] for k in (match.kernel, gaussian))
    assert spline == pytest.approx([0.778912, 0.353165, 0.079080, 0.005103], abs=6e-7)
    assert normal == pytest.approx([0.781344, 0.372708, 0.108537, 0.019296], abs=6e-7)


@pytest.mark.parametrize("degree", [1, 3, 5])
@pytest.mark.parametrize("scale", [0.4, 3.0])
def test_second_moments_of_splines(degree, scale):
    match = equivalent_width(BSpline(scale, degree), Gaussian(), method="moments")
    # Differences of O(h^4) with h a fiftieth of the band.
    assert match.scale == pytest.approx(scale * np.sqrt((degree + 1) / 12.0), rel=1e-6)


def test_minimax_is_a_minimum():
    gaussian, matern = Gaussian(0.3), Matern(nu=2.5)
    match = equivalent_width(gaussian, matern, precision=0.02)
    for factor in (0.9, 0.99, 1.01, 1.1):
        other = compare(gaussian, widen(match.kernel, factor), precision=0.02)
        assert other.worst_log_ratio > match.worst_log_ratio
    assert (
        match.worst_log_ratio
        < equivalent_width(gaussian, matern, precision=0.02, method="moments").worst_log_ratio
    )
    assert match.edge == pytest.approx(np.sqrt(2.0 * np.log(50.0)) / 0.3)


def test_a_kernel_is_equivalent_to_itself():
    match = equivalent_width(Matern(0.4, nu=1.5), Matern(3.0, nu=1.5))
    assert match.kernel.length_scale == pytest.approx(0.4, rel=1e-8)
    assert match.worst_log_ratio == pytest.approx(0.0, abs=1e-7)


def test_comparison_against_the_closed_form():
    found = compare(Gaussian(), Gaussian(1.2), precision=0.1)
    # |w^2 (1.44 - 1) / 2| is largest at the edge w^2 = 2 ln 10.
    assert found.worst_log_ratio == pytest.approx(0.44 * np.log(10.0), rel=1e-9)
    assert found.at == pytest.approx(found.edge)
    assert found.worst_factor == pytest.approx(10.0**0.44)


def test_a_zero_within_the_band_is_infinitely_far():
    found = compare(Gaussian(0.2), BSpline(1.0, 2), precision=0.1)
    assert np.isinf(found.worst_log_ratio)


def test_kernels_that_are_not_radial_in_several_dimensions():
    match = equivalent_width(Laplacian(2.0), Laplacian(0.5), dim=2)
    assert match.kernel.length_scale == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: equivalent_width(Gaussian(), Matern(), method="guess"), "method"),
        (lambda: compare(ThinPlate(), Gaussian()), "pole"),
        (lambda: compare(Dirichlet(3), Gaussian()), "real line"),
        (lambda: compare(Linear(), Gaussian()), "no spectrum"),
        (lambda: compare(Gaussian(), Gaussian(), precision=0.0), "between 0 and 1"),
    ],
)
def test_errors_say_what_to_do(call, match):
    with pytest.raises(ValueError, match=match):
        call()
