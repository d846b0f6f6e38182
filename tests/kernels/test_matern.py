"""The Matern profile at every smoothness and distance."""

from fractions import Fraction
from math import exp, factorial

import numpy as np
import pytest
from scipy import integrate, special

from mercer.kernels import matern

S = np.array([0.0, 1e-30, 1e-8, 1e-3, 0.1, 1.0, 7.0, 50.0, 300.0])


def half_integer(s, p):
    """Smoothness p + 1/2 is a polynomial times an exponential; all its terms are positive."""
    a = float(np.sqrt((2 * p + 1) * s))
    total = sum(
        Fraction(factorial(p + i), factorial(i) * factorial(p - i)) * Fraction(2 * a) ** (p - i)
        for i in range(p + 1)
    )
    log = float(np.log(float(total * Fraction(factorial(p), factorial(2 * p)))))
    return exp(log - a)


@pytest.mark.parametrize("p", [0, 1, 2, 3, 10, 29, 30, 31, 60, 100])
def test_half_integers_are_polynomials_times_exponentials(p):
    expected = [half_integer(s, p) for s in S]
    # The logarithms are numbers up to a few hundred, so 1e-16 of them is 1e-13 of the value.
    np.testing.assert_allclose(matern.value(S, p + 0.5), expected, rtol=1e-12)


@pytest.mark.parametrize("nu", [0.05, 0.3, 1.0, 4.2, 29.9])
def test_bessel_functions_and_the_mixture_are_one_function(nu):
    """The integral that defines the mixture, by adaptive quadrature."""
    for s in (1e-3, 0.1, 1.0, 7.0):
        a = np.sqrt(2 * nu * s)

        def integrand(t, a=a):
            return np.exp(nu * t - np.exp(t) - 0.25 * a * a * np.exp(-t) - special.gammaln(nu))

        low = np.log(0.25 * a * a) - np.log(800.0)
        expected, _ = integrate.quad(
            integrand, low, 6.0, epsabs=0, epsrel=1e-12, limit=500, points=[np.log(nu)]
        )
        assert matern.value(np.array([s]), nu)[0] == pytest.approx(expected, rel=1e-10)


def test_smoothness_crosses_the_two_methods_without_a_step():
    below, above = (matern.value(S, matern.LARGE + d) for d in (0.0, 1e-9))
    # The derivative of log k by nu is below s^2 / nu^2.
    np.testing.assert_allclose(above, below, rtol=1e-11 + 1e-9 * S.max() ** 2 / 900)


@pytest.mark.parametrize("nu", [1e3, 9.9e3, 1.01e4, 1e6, 1e9, 1e12])
def test_large_smoothness_is_the_gaussian_up_to_its_correction(nu):
    """The mixing variable is 1 + d with variance 1/nu; expand E exp(-s / 2(1 + d)) to order d^2.

    With s <= 10 the terms left out, of d^3 with mean 2 / nu^2 and of d^4 with mean 3 / nu^2, have
    coefficients below 30 each, and the logarithm adds half the square of the first correction.
    """
    s = np.linspace(0.0, 10.0, 21)
    expected = -0.5 * s + (s**2 / 8 - s / 2) / nu
    found = np.log(matern.value(s, nu))
    np.testing.assert_allclose(found, expected, rtol=0, atol=200 / nu**2 + 1e-14)


@pytest.mark.parametrize("nu", [0.1, 0.5, 0.8, 1.0, 1.2, 1.5, 2.5, 6.0, 30.5, 31.5, 80.0, np.inf])
def test_slope_is_minus_twice_the_derivative(nu):
    s = np.array([0.01, 0.3, 1.0, 4.0, 20.0])
    h = 1e-4 * s
    coarse = -(matern.value(s + h, nu) - matern.value(s - h, nu)) / h
    fine = -(matern.value(s + h / 2, nu) - matern.value(s - h / 2, nu)) / (h / 2)
    noise = 1e-13 / h
    error = np.abs(coarse - fine) + noise
    assert (np.abs(matern.slope(s, nu) - (4 * fine - coarse) / 3) <= error).all()


def test_limits_at_zero():
    for nu in (0.1, 0.5, 1.0, 1.5, 20.0, 30.5, 1e5, np.inf):
        assert matern.value(np.zeros(1), nu)[0] == pytest.approx(1.0, abs=1e-15)
        assert np.isfinite(matern.slope(np.zeros(1), nu)[0])
    assert matern.slope(np.zeros(1), 2.0)[0] == 2.0
    assert matern.slope(np.zeros(1), 0.5)[0] == 0.0


def test_values_never_leave_the_unit_interval():
    s = np.concatenate([[0.0], np.geomspace(1e-300, 1e8, 400)])
    for nu in (0.01, 0.5, 3.0, 12.3, 29.99, 30.01, 500.0):
        values = matern.value(s, nu)
        assert (values >= 0.0).all()
        assert (values <= 1.0).all()
        # nu log(a) and log K_nu cancel; both are below 350 nu.
        assert (np.diff(values) <= 4 * np.finfo(float).eps * (1.0 + 350 * nu)).all()


@pytest.mark.parametrize("nu", [0.3, 0.5, 1.0, 7.2, 29.0, 40.0])
def test_the_profile_vanishes_at_every_large_distance(nu):
    far = np.array([1e7, 1e12, 1e20, 1e36])
    np.testing.assert_array_equal(matern.value(far, nu), 0.0)
