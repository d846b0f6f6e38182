"""Numerical transforms: they are right, know how wrong they are, and say when they cannot tell."""

import numpy as np
import pytest
from scipy import special

from mercer.kernels import (
    BSpline,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polyharmonic,
    RationalQuadratic,
)
from mercer_research.kernels._fourier import (
    _alternating,
    fourier_transform,
    oscillation,
    polynomial_transform,
    radial_transform,
)

EPS = np.finfo(np.float64).eps
OMEGA = np.array([0.0, 1e-3, 0.1, 0.5, 1.0, 3.0, 8.0, 30.0, 200.0, 3000.0])


def check(found, exact, slack=4.0):
    """Errors are estimates: the truth, itself a Bessel function to 1e-13, is within a few.

    Finite values come with the promise that they are larger than their errors; where there is none,
    the truth is not much larger.
    """
    np.testing.assert_array_equal(np.isinf(found.values), np.isinf(exact))
    exact = np.where(np.isinf(exact), np.nan, exact)
    known = np.isfinite(found.values)
    bound = slack * found.error + 1e-13 * np.abs(exact)
    assert (np.abs(found.values - exact)[known] <= bound[known]).all()
    assert (np.abs(found.values) > found.error)[known].all()
    assert (np.abs(exact) <= (1.0 + slack) * found.error)[~known & np.isfinite(exact)].all()
    assert (found.error >= found.floor).all()
    return known


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 7])
@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(0.8),
        Gaussian(1e-3),
        Gaussian(300.0),
        Matern(0.7, nu=0.5),
        Matern(1.0, nu=0.3),
        Matern(1.0, nu=5.2),
        RationalQuadratic(1.0, alpha=0.2),
        RationalQuadratic(1.0, alpha=0.6),
        RationalQuadratic(1.0, alpha=1.3),
        RationalQuadratic(0.5, alpha=3.0),
    ],
    ids=repr,
)
def test_closed_forms_are_within_the_errors(kernel, dim):
    found = fourier_transform(kernel, OMEGA, dim)
    known = check(found, kernel.spectrum(OMEGA, dim))
    assert known.sum() >= 2
    if isinstance(kernel, Gaussian):
        # Errors are small enough to be of use: a hundred roundings of the peak.
        assert (found.error[known] <= 200 * EPS * found.values[0]).all()


@pytest.mark.parametrize("degree", range(6))
@pytest.mark.parametrize("scale", [1.0, 1.3, 4.0])
def test_kinks_and_jumps_are_found(degree, scale):
    """At scale 1 and 4 they lie on the powers of two at which the half line is cut."""
    kernel = BSpline(scale, degree)
    found = fourier_transform(kernel, OMEGA)
    known = check(found, kernel.spectrum(OMEGA))
    assert known[:6].all()


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
def test_waves_below_the_floor_are_unknown_not_zero(dim):
    found = fourier_transform(Gaussian(), np.array([1.0, 7.0, 20.0]), dim)
    assert np.isfinite(found.values[:2]).all()
    assert np.isnan(found.values[2])
    assert 0.0 < found.error[2] < 1e-12


def test_waves_beyond_counting_are_only_bounded():
    found = fourier_transform(Gaussian(1e5), np.array([1e4]))
    assert np.isnan(found.values[0])
    assert found.error[0] == pytest.approx(1e5, rel=0.5)


def test_oscillating_functions():
    """The transform of exp(-r) cos(5 r) has two halves of the Cauchy curve."""
    found = radial_transform(lambda r: np.exp(-r) * np.cos(5 * r), OMEGA, 1)
    exact = sum(np.sqrt(0.5 / np.pi) / (1 + (OMEGA + s) ** 2) for s in (-5, 5))
    assert check(found, exact).all()


def test_waves_without_end_are_unknown():
    """The transform of sin(r)/r is a step, but nothing here can sum its waves."""
    found = radial_transform(lambda r: np.sinc(r / np.pi), np.array([0.0, 0.5, 3.0]), 1)
    exact = np.sqrt(np.pi / 2) * np.array([1.0, 1.0, 0.0])
    known = np.isfinite(found.values)
    assert (np.abs(found.values - exact) <= found.error)[known].all()
    assert not known.all()


def test_frequencies_as_vectors_and_empty():
    omega = np.random.default_rng(0).normal(size=(5, 3))
    by_vector = fourier_transform(Matern(), omega, 3).values
    by_length = fourier_transform(Matern(), np.linalg.norm(omega, axis=1), 3).values
    np.testing.assert_array_equal(by_vector, by_length)
    assert fourier_transform(Matern(), np.empty(0)).values.shape == (0,)


@pytest.mark.parametrize("dim", range(1, 9))
def test_the_oscillation_is_a_bessel_function(dim):
    t = np.array([1e-3, 0.5, 0.999, 1.0, 1.001, 7.0, 100.0])
    nu = dim / 2 - 1
    np.testing.assert_allclose(oscillation(t, dim), t**-nu * special.jv(nu, t), rtol=0, atol=1e-14)
    assert oscillation(np.zeros(1), dim)[0] == pytest.approx(2**-nu / special.gamma(nu + 1))


def test_alternating_series():
    k = np.arange(30)
    assert _alternating(30) @ ((-1.0) ** k / (k + 1)) == pytest.approx(np.log(2), abs=1e-15)
    assert _alternating(30) @ ((-1.0) ** k / np.sqrt(k + 1)) == pytest.approx(
        (1 - np.sqrt(2)) * special.zeta(0.5), abs=1e-14
    )


@pytest.mark.parametrize("dim", [1, 2, 3, 6])
def test_the_indicator_of_the_ball(dim):
    """As printed, w^-d/2 J_d/2(w); for a = 0.9 in three dimensions 0.245032579398."""
    one = np.ones(1)
    omega = OMEGA[1:]
    exact = omega ** (-dim / 2) * special.jv(dim / 2, omega)
    found = polynomial_transform(np.ones_like, one, one, omega, dim)
    np.testing.assert_allclose(found.values, exact, rtol=0, atol=3e-14)
    value = polynomial_transform(np.ones_like, one, one, np.array([0.9]), 3).values[0]
    assert value == pytest.approx(0.245032579398, abs=1e-12)


@pytest.mark.parametrize("dim", [1, 3])
@pytest.mark.parametrize("power", [2, 5, 8])
def test_polynomials_far_out_by_exact_recursion(power, dim):
    """int_0^1 (1-r)^p e^{iwr} dr by parts is exact in w > p; for d = 3 a derivative of d = 1."""
    omega = np.array([25.0, 64.0, 200.0, 1e4, 1e8])

    def moment(p, w):
        # M_p = i/w - i p/w M_(p-1), M_0 = i/w (1 - e^iw); without the first i/w, which is in all.
        total, term = 0.0, 1j / w
        for k in range(p):
            term = term * (-1j * (p - k) / w)
            total = total + term
        return total - term * np.exp(1j * w)

    # r (1-r)^p = (1-r)^p - (1-r)^(p+1)
    exact = {
        1: moment(power, omega).real,
        3: (moment(power, omega) - moment(power + 1, omega)).imag / omega,
    }[dim] * np.sqrt(2 / np.pi)
    at_zero = np.polynomial.polynomial.polypow([1.0, -1.0], power)
    at_one = np.eye(power + 1)[-1]
    found = polynomial_transform(lambda r: (1 - r) ** power, at_zero, at_one, omega, dim)
    np.testing.assert_allclose(found.values, exact, rtol=1e-12)
    assert (np.abs(found.values - exact) <= found.error + 1e-15 * np.abs(exact)).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fourier_transform(Linear(), OMEGA), "difference of one feature"),
        (lambda: fourier_transform(Laplacian(), OMEGA, 2), "distance of several"),
        (lambda: fourier_transform(Polyharmonic(), OMEGA), "known by a closed form"),
        (lambda: radial_transform(np.ones_like, OMEGA, 1), "does not decay"),
        (lambda: radial_transform(np.cos, OMEGA, 1), "does not decay"),
    ],
)
def test_what_has_no_transform_is_refused_with_a_sentence(call, message):
    with pytest.raises(NotImplementedError, match=message):
        call()
