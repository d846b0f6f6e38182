"""Eigenvalues of kernels wrapped around a box: transforms, traces, tails, periods."""

import numpy as np
import pytest

from covers_brute import water_filling
from mercer.kernels import (
    BSpline,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    PeriodicGaussian,
    RationalQuadratic,
)
from mercer_research.covering import choose_period, periodized_spectrum, wrap_error
from mercer_research.covering.wrapped import _Shells
from mercer_research.kernels import Periodized

CAUCHY = RationalQuadratic(np.sqrt(0.5), alpha=1.0)  # 1 / (1 + u^2)


@pytest.mark.parametrize("kernel", [Gaussian(0.5), CAUCHY, Matern(0.8, nu=2.5)])
def test_eigenvalues_are_the_transform_of_the_wrapped_kernel(kernel):
    # The discrete transform of n samples is a sum of eigenvalues n apart: negligible here.
    n, v = 4096, 6.0
    sampled = Periodized(kernel, v)(np.arange(n)[:, None] * v / n, np.zeros((1, 1)))[:, 0]
    expected = np.fft.rfft(sampled).real * v / n
    spectrum = periodized_spectrum(kernel, v)
    np.testing.assert_allclose(np.exp(spectrum.log_values[:20]), expected[:20], rtol=0, atol=1e-9)
    np.testing.assert_allclose(spectrum.counts[:20], [1] + 19 * [2], rtol=1e-14)


def test_eigenvalues_of_the_specification():
    found = np.exp(periodized_spectrum(Gaussian(0.5), 6.0).log_values[:6])
    expected = [1.2533141, 1.0927675, 0.7243214, 0.3649813, 0.1398124, 0.0407152]
    np.testing.assert_allclose(found, expected, rtol=0, atol=5e-8)


def test_trace_is_the_wrapped_kernel_at_zero():
    # Exponential kernel: coth(v / 2l), from the sum of its images.
    exponential = periodized_spectrum(Laplacian(1.0), 6.0)
    assert exponential.trace / 6 == pytest.approx(1 / np.tanh(3.0), rel=1e-12)
    assert exponential.trace / 6 == pytest.approx(1.00496982, abs=5e-9)
    # What is left out is 2 sum 2 / (1 + w^2) over frequencies beyond those held.
    J = (exponential.counts.sum() - 1) / 2
    assert np.exp(exponential.log_tail) == pytest.approx(2 * 2 / (2 * np.pi / 6) ** 2 / J, rel=1e-4)


@pytest.mark.parametrize(
    ("dim", "trace"), [(1, 1.00000003), (2, 1.00000006), (3, 1.00000009), (4, 1.00000012)]
)
def test_traces_of_the_gaussian_lattice(dim, trace):
    found = periodized_spectrum(Gaussian(1.0), 6.0, dim).trace / 6.0**dim
    assert found == pytest.approx(trace, abs=6e-9)
    X = np.zeros((1, dim))
    wrapped = PeriodicGaussian(1.0, period=6.0)(X)[0, 0] * (np.sqrt(2 * np.pi) / 3) ** dim
    assert found == pytest.approx(wrapped, rel=1e-13)


GAUSSIAN_LATTICE = {
    1: [(0.738785, 3), (0.137355, 7), (0.00146785, 11), (2.87617e-8, 17), (1.70455e-23, 27)],
    2: [(0.894006, 5), (0.510387, 13), (0.137996, 37), (0.00981304, 69), (9.47214e-6, 145)],
    3: [(0.956022, 7), (0.763481, 27), (0.460758, 81), (0.170762, 171), (0.0157758, 437)],
    4: [(0.981601, 9), (0.894861, 33), (0.711386, 89), (0.462519, 297), (0.162624, 873)],
}


@pytest.mark.parametrize("dim", GAUSSIAN_LATTICE)
def test_best_scaling_of_the_gaussian_lattice(dim):
    spectrum = periodized_spectrum(Gaussian(1.0), 6.0, dim)
    scaling = spectrum.ball().members[1]
    for log_n, (value, axes) in zip((1, 10, 50, 200, 1000), GAUSSIAN_LATTICE[dim], strict=True):
        found = water_filling(spectrum, log_n)
        assert found[0] == pytest.approx(value, rel=4e-6)
        assert found[1] == axes
        assert np.exp(scaling.log_scale(log_n)) == pytest.approx(value, rel=4e-6)
        assert scaling.head(log_n) == axes


@pytest.mark.parametrize(
    ("kernel", "rows"),
    [
        (Laplacian(1.0), {0: 1.002482, 5: 0.556815, 100: 0.153662, 10000: 0.0155916}),
        (CAUCHY, {0: 1.043914, 5: 0.412745, 100: 0.00284030, 1000: 7.90134e-10}),
    ],
)
def test_best_scaling_of_slower_spectra(kernel, rows):
    spectrum = periodized_spectrum(kernel, 6.0)
    for log_n, value in rows.items():
        assert water_filling(spectrum, log_n)[0] == pytest.approx(value, rel=3e-6)


def test_covering_numbers_of_the_specification():
    # Gaussian of width 0.5 on a period of 6, bound by bound.
    ball = periodized_spectrum(Gaussian(0.5), 6.0).ball()
    truncation, scaling = ball.members
    table = {
        0.9: (18.8583, 4.4729, 1),
        0.2: (40.8914, 28.7877, 11),
        0.05: (65.0690, 51.6430, 13),
        0.001: (149.2653, 129.7944, 21),
    }
    for radius, (scaled, truncated, head) in table.items():
        assert scaling.log_covering(radius) == pytest.approx(scaled, abs=6e-5)
        assert truncation.log_covering(radius) == pytest.approx(truncated, abs=6e-5)
        assert truncation.head(radius) == head
        assert ball.log_covering(radius) == pytest.approx(truncated, abs=6e-5)


def test_a_product_is_its_kernel_of_several_features():
    product = periodized_spectrum([Gaussian(1.0), Gaussian(0.5)], [6.0, 5.0])
    box = periodized_spectrum(Gaussian([1.0, 0.5]), [6.0, 5.0], dim=2)
    np.testing.assert_allclose(product.log_values[:80], box.log_values[:80], atol=1e-12)
    np.testing.assert_allclose(product.counts[:80], box.counts[:80], rtol=1e-12)
    np.testing.assert_allclose(product.frequencies[:80], box.frequencies[:80], rtol=1e-12)
    assert product.trace == pytest.approx(box.trace, rel=1e-13)
    assert product.eigenfunction_bound == pytest.approx(30**-0.5)
    shells = periodized_spectrum(Gaussian(0.7), 6.0, dim=2)
    both = periodized_spectrum([Gaussian(0.7), Gaussian(0.7)], 6.0)
    np.testing.assert_allclose(both.log_values[:80], shells.log_values[:80], atol=1e-11)
    np.testing.assert_allclose(both.counts[:80], shells.counts[:80], rtol=1e-12)


def test_scaling_laws():
    # k(x / s) on a box s times as large: eigenvalues times s^d; twice the kernel: twice.
    for dim in (1, 2):
        one = periodized_spectrum(Matern(0.5, nu=2.5), 3.0, dim)
        wide = periodized_spectrum(Matern(1.0, nu=2.5), 6.0, dim)
        np.testing.assert_allclose(
            wide.log_values[:200], one.log_values[:200] + dim * np.log(2), atol=1e-12
        )
        assert wide.log_tail == pytest.approx(one.log_tail + dim * np.log(2), abs=1e-6)
        np.testing.assert_allclose(wide.frequencies[:200], one.frequencies[:200] / 2)
    double = periodized_spectrum(2.0 * Gaussian(0.5), 6.0)
    single = periodized_spectrum(Gaussian(0.5), 6.0)
    np.testing.assert_allclose(double.log_values[:9], single.log_values[:9] + np.log(2), atol=1e-13)


def test_zeros_of_a_spectrum_are_left_out_and_lobes_sorted():
    # A spline of scale 1 on a period 6 has no eigenvalue at the multiples of 6.
    spectrum = periodized_spectrum(BSpline(1.0, degree=3), 6.0)
    assert (np.diff(spectrum.log_values) < 0).all()
    assert spectrum.trace / 6 == pytest.approx(2 / 3, rel=1e-12)
    order = np.rint(spectrum.frequencies[:30] * 6 / (2 * np.pi)).astype(int)
    assert not (order % 6 == 0)[1:].any()
    assert (np.diff(order) < 0).any()


def test_moving_eigenvalues_to_the_tail_keeps_the_trace():
    for kernel, dim in ((Matern(0.3, nu=1.5), 2), (Gaussian(0.2), 2), (Matern(0.3, nu=0.5), 3)):
        spectrum = periodized_spectrum(kernel, 2.0, dim)
        for most in (50, 1000):
            some = spectrum.first(most)
            assert some.counts.sum() <= most * (1 + 1e-12)
            assert some.trace == pytest.approx(spectrum.trace, rel=1e-13)


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
@pytest.mark.parametrize("kernel", [Gaussian(0.2), Matern(0.2, nu=2.5)])
def test_the_integral_is_above_the_sum_over_the_lattice(kernel, dim):
    spectrum = periodized_spectrum(kernel, 2.0, dim)
    radius = spectrum.frequencies * 2.0 / (2 * np.pi)
    masses = spectrum.counts * np.exp(spectrum.log_values)
    for start in (3.0, 6.0, 10.0):
        left = masses[radius >= start - 1e-9].sum() + np.exp(spectrum.log_tail)
        bound = _Shells(kernel, 2.0, dim)._integral(start)
        assert bound >= left
        if dim == 1:
            assert bound <= 2 * masses[radius >= start - 1 - 1e-9].sum()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: periodized_spectrum(CAUCHY, 6.0, 2), "infinite at frequency zero"),
        (lambda: periodized_spectrum(BSpline(1.0, degree=2), 6.0), "not positive definite"),
        (lambda: periodized_spectrum(Linear(), 6.0), "no spectrum"),
        (lambda: periodized_spectrum(Periodic(), 6.0), "periodic already"),
        (lambda: periodized_spectrum(Gaussian(), -1.0), "positive and finite"),
        (lambda: choose_period(Gaussian(), 1.0, 0.0), "compact support"),
        (lambda: choose_period(Gaussian(), -1.0), "half_width"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("kernel", "start"),
    [
        (Gaussian(0.5), 3 + 0.5 * np.sqrt(2 * np.log(2e3))),
        (Laplacian(0.7), 3 + 0.7 * np.log(2e3)),
    ],
)
def test_the_shortest_period_for_a_precision(kernel, start):
    found = choose_period(kernel, 1.5, precision=1e-3)
    assert found.error <= 1e-3
    assert wrap_error(kernel, found.period - 1e-4, 1.5) > 1e-3
    # The formulas count an image on either side; at the end of the data only one is near.
    assert 0.9 * start < found.period <= start
    u = np.linspace(-3, 3, 201)[:, None]
    wrapped = Periodized(kernel, found.period)(u, np.zeros((1, 1)))
    difference = np.abs(wrapped - kernel(u, np.zeros((1, 1)))).max()
    assert difference == pytest.approx(found.error, rel=1e-3)


def test_compact_kernels_are_not_changed_by_their_period():
    kernel = BSpline(0.5, degree=3)  # support [-1, 1]
    found = choose_period(kernel, 1.5, precision=0.0)
    assert found.period == pytest.approx(1.0 + 3.0)
    u = np.linspace(-3, 3, 301)[:, None]
    origin = np.zeros((1, 1))
    assert np.abs(Periodized(kernel, 4.0)(u, origin) - kernel(u, origin)).max() < 1e-14
    assert np.abs(Periodized(kernel, 3.6)(u, origin) - kernel(u, origin)).max() > 1e-3


def test_periods_in_two_dimensions():
    # At the end of one axis and the middle of the other the images are those of one dimension.
    found = choose_period(Gaussian(0.5), 1.0, 1e-3, dim=2)
    assert found.period == pytest.approx(choose_period(Gaussian(0.5), 1.0, 1e-3).period, abs=1e-3)
    u = np.linspace(-2, 2, 41)
    one = Periodized(Gaussian(0.5), found.period)(u[:, None], np.zeros((1, 1)))[:, 0]
    difference = np.outer(one, one) - np.exp(-2 * np.add.outer(u**2, u**2))
    assert np.abs(difference).max() == pytest.approx(found.error, rel=1e-6)
