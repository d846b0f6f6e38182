"""Filter curves against the closed forms and numbers of the documents."""

import numpy as np
import pytest

from mercer.inspect import filter_curve
from mercer.inspect.bands import band_edge, bandwidth, spectral_decay, widen
from mercer.kernels import (
    BSpline,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    PeriodicGaussian,
    RationalQuadratic,
    Sum,
    ThinPlate,
)
from mercer_research.kernels import Dirichlet


def test_gaussian_numbers():
    # Unitary spectrum 0.5 exp(-w^2 / 8) for width 0.5.
    omega = np.linspace(0.0, 6.0, 31)
    curve = filter_curve(Gaussian(0.5), omega)
    assert curve.power == pytest.approx(0.5 * np.exp(-(omega**2) / 8.0), rel=1e-14)
    assert curve.attenuation[10] == pytest.approx(0.606531, abs=5e-7)
    assert curve.penalty == pytest.approx(2.0 * np.exp(omega**2 / 8.0), rel=1e-14)
    assert curve.decibels == pytest.approx(-10.0 / np.log(10.0) * omega**2 / 8.0, abs=1e-13)
    assert curve.half == pytest.approx(np.sqrt(8.0 * np.log(2.0)), rel=1e-12)
    assert curve.edge(1e-6) == pytest.approx(np.sqrt(8.0 * np.log(1e6)), rel=1e-12)
    assert curve.nonnegative
    assert curve.integrable
    assert not len(curve.zeros)
    assert not len(curve.lobes)


def test_cubic_spline_numbers():
    # S(pi) = (2/pi)^4, zeros at multiples of 2 pi, first side lobe 2.22694e-3 at 2.86059 pi.
    curve = filter_curve(BSpline(1.0, 3), convention="angular")
    at_pi = filter_curve(BSpline(1.0, 3), np.array([0.0, np.pi]), convention="angular")
    assert at_pi.power == pytest.approx([1.0, (2.0 / np.pi) ** 4], rel=1e-12)
    # A zero of fourth order is seen by its logarithm, to the square root of rounding.
    assert curve.zeros[:3] == pytest.approx(2.0 * np.pi * np.arange(1, 4), rel=1e-6)
    assert curve.lobes[0, 0] == pytest.approx(2.86059 * np.pi, abs=5e-6 * np.pi)
    assert curve.lobes[0, 1] == pytest.approx(2.22694e-3, abs=5e-9)
    assert curve.nonnegative


def test_quadratic_spline_is_negative_where_the_document_says():
    # Minimum -0.010251 at 2.8606 pi.
    curve = filter_curve(BSpline(1.0, 2))
    start, stop, where, value = curve.negative[0]
    assert 2.0 * np.pi <= start < where < stop <= 4.0 * np.pi
    assert where == pytest.approx(2.8606 * np.pi, abs=5e-5 * np.pi)
    assert value == pytest.approx(-0.010251, abs=5e-7)
    assert not curve.nonnegative
    assert np.isinf(curve.penalty[curve.power < 0.0]).all()
    assert "negative" in repr(curve)


def test_conventions_differ_by_a_power_of_two_pi():
    omega = np.linspace(0.0, 3.0, 7)
    for dim in (1, 2, 3):
        unitary, angular = (
            filter_curve(Matern(), omega, dim, convention) for convention in ("unitary", "angular")
        )
        assert angular.power == pytest.approx((2.0 * np.pi) ** (dim / 2) * unitary.power)
        assert angular.attenuation == pytest.approx(unitary.attenuation)


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Matern(1.3, nu=2.5), BSpline(1.1, 3)], ids=repr)
def test_a_wider_kernel_is_the_same_curve_with_smaller_frequencies(kernel):
    # Against computing the curve anew.
    curve = filter_curve(kernel).widened(2.5)
    again = filter_curve(widen(kernel, 2.5), curve.omega)
    assert curve.kernel == again.kernel
    assert curve.power == pytest.approx(again.power, rel=1e-9, abs=1e-300)
    assert curve.half == pytest.approx(again.half, rel=1e-9)
    assert curve.zeros == pytest.approx(again.zeros, rel=1e-6)
    assert curve.lobes == pytest.approx(again.lobes, rel=1e-6)
    assert curve.decay.kind == again.decay.kind
    assert curve.decay.rate == pytest.approx(again.decay.rate, rel=1e-6)
    plane = filter_curve(kernel, dim=2) if kernel.radial else None
    if plane is not None:
        wider = plane.widened(2.5)
        expected = widen(kernel, 2.5).spectrum(wider.omega, 2)
        assert wider.power == pytest.approx(expected, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(
    ("kernel", "dim", "kind", "exponent"),
    [
        # Laplacian alpha = 1, which is the exponent 2; 1/(1+x^2) p = 1; Gaussian p = 2.
        (Laplacian(), 1, "polynomial", 2.0),
        (Matern(nu=1.5), 1, "polynomial", 4.0),
        (Matern(nu=1.5), 3, "polynomial", 6.0),
        (RationalQuadratic(np.sqrt(0.5), alpha=1.0), 1, "exponential", 1.0),
        (Gaussian(3.0), 1, "gaussian", 2.0),
        (Gaussian(0.2), 2, "gaussian", 2.0),
        (BSpline(1.0, 1), 1, "polynomial", 2.0),
        (BSpline(1.0, 3), 1, "polynomial", 4.0),
        (ThinPlate(2), 1, "polynomial", 4.0),
        (Gaussian(5.0) + Matern(nu=0.5), 1, "polynomial", 2.0),
    ],
    ids=repr,
)
def test_decay_classes(kernel, dim, kind, exponent):
    decay = spectral_decay(kernel, dim)
    assert decay.kind == kind
    # The tail is seen below one percent of the peak, where (1 + w^2)^-a is off by a / w^2.
    assert decay.exponent == pytest.approx(exponent, rel=0.02)
    assert decay.confidence > 0.5


def test_rates_of_decay():
    assert spectral_decay(Gaussian(3.0)).rate == pytest.approx(4.5, rel=1e-9)
    assert spectral_decay(RationalQuadratic(np.sqrt(0.5))).rate == pytest.approx(1.0, rel=1e-9)


def test_integrability_depends_on_the_dimension():
    assert filter_curve(Laplacian()).integrable
    assert filter_curve(Matern(nu=0.5), dim=3).integrable


def test_discrete_spectra():
    # Coefficients e^(-0.05 n^2) relative to the constant; Dirichlet flat on 2 N + 1.
    curve = filter_curve(PeriodicGaussian(np.sqrt(0.1)))
    assert curve.discrete
    numbers = [0.951229, 0.818731, 0.286505, 6.73795e-3]
    assert curve.attenuation[[1, 2, 5, 10]] == pytest.approx(numbers, rel=2e-6)
    assert curve.decay.kind == "gaussian"
    assert curve.decay.rate == pytest.approx(0.05, rel=1e-6)
    flat = filter_curve(Dirichlet(10), np.arange(15))
    assert flat.attenuation == pytest.approx((np.arange(15) <= 10) * 1.0)
    assert flat.zeros == pytest.approx(np.arange(11, 15))
    assert flat.decay.kind == "finite"
    assert flat.edge(0.5) == pytest.approx(10.0)
    assert flat.half == pytest.approx(10.0)
    assert band_edge(Dirichlet(10, period=1.0), 0.5) == pytest.approx(20.0 * np.pi)
    assert flat.integrable is None
    with pytest.raises(ValueError, match="period"):
        flat.widened(2.0)
    with pytest.raises(ValueError, match="integers"):
        filter_curve(Dirichlet(10), np.array([0.5, 1.5]))
    with pytest.raises(ValueError, match="one feature"):
        filter_curve(Dirichlet(10), dim=2)


def test_a_pole_at_zero():
    curve = filter_curve(ThinPlate(2), np.array([0.5, 1.0, 2.0]))
    assert curve.reference == 0.5
    assert curve.attenuation == pytest.approx([1.0, 2.0**-4, 4.0**-4])
    assert np.isnan(curve.half)
    assert "half" not in repr(curve)
    with pytest.raises(ValueError, match="positive frequencies"):
        filter_curve(ThinPlate(2), np.zeros(1))


def test_band_edge_is_the_last_crossing():
    # sinc^2 comes back above 1e-3 in its side lobes; the last point above is found by brute force.
    omega = np.linspace(0.0, 200.0, 2_000_001)
    values = np.sinc(omega / (2.0 * np.pi)) ** 2
    last = omega[values > 1e-3].max()
    assert band_edge(BSpline(1.0, 1), 1e-3) == pytest.approx(last, abs=2e-4)
    for precision in (0.9, 0.5, 1e-3, 1e-8):
        expected = np.sqrt(1.0 / precision - 1.0)
        assert band_edge(Matern(nu=0.5), precision) == pytest.approx(expected, rel=1e-10)
    with pytest.raises(ValueError, match="between 0 and 1"):
        band_edge(Gaussian(), 1.5)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_bandwidth_counts_the_lattice(dim):
    kernel, length = Gaussian(0.8), 6.0
    found = bandwidth(kernel, 0.05, dim, length)
    edge = np.sqrt(2.0 * np.log(20.0)) / 0.8
    n = np.arange(-10, 11)
    lattice = np.stack(np.meshgrid(*[n] * dim), axis=-1).reshape(-1, dim) * 2.0 * np.pi / length
    assert found.frequency == pytest.approx(edge, rel=1e-12)
    assert found.count == (np.linalg.norm(lattice, axis=1) < edge).sum()
    assert bandwidth(kernel, 0.05, dim).count is None


def test_bandwidth_refuses_what_cannot_be_counted():
    with pytest.raises(ValueError, match="radial"):
        bandwidth(Laplacian(), 0.1, 2, 10.0)
    with pytest.raises(ValueError, match="does not fall"):
        bandwidth(ThinPlate(2), 0.1, 1, 10.0)
    with pytest.raises(ValueError, match="ten million"):
        bandwidth(Matern(nu=0.5), 1e-9, 2, 1e3)
    with pytest.raises(ValueError, match="positive"):
        bandwidth(Gaussian(), 0.1, 1, -1.0)


def test_widen_reaches_every_length_scale():
    kernel = 2.0 * Gaussian([1.0, 2.0]) + Matern(3.0)
    wide = widen(kernel, 2.0)
    assert isinstance(wide, Sum)
    assert wide == 2.0 * Gaussian(np.array([2.0, 4.0])) + Matern(6.0)
    assert kernel == 2.0 * Gaussian([1.0, 2.0]) + Matern(3.0)
    with pytest.raises(ValueError, match="no length_scale"):
        widen(Linear(), 2.0)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: filter_curve(Linear()), "no spectrum"),
        (lambda: filter_curve(Gaussian(), np.array([1.0, 0.5])), "rising"),
        (lambda: filter_curve(Gaussian(), np.array([-1.0, 0.5])), "at least 0"),
        (lambda: filter_curve(Gaussian(), convention="french"), "convention"),
        (lambda: filter_curve(Gaussian()).widened(0.0), "factor"),
    ],
)
def test_errors_say_what_to_do(call, match):
    with pytest.raises(ValueError, match=match):
        call()
