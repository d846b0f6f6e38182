"""Polynomials on panels against the functions they stand for, and their transforms."""

import numpy as np
import pytest
from scipy import integrate, special

from mercer_research.kernels.piecewise_polynomial import NODES, Piecewise, approximate
from mercer_research.kernels.radial_spectrum import checked, on_a_line, project, spread

EPS = np.finfo(float).eps
UNIT = np.array([0.0, 1.0])
MANY = special.roots_legendre(1000)


def random_polynomials(seed=0):
    rng = np.random.default_rng(seed)
    breaks = np.cumsum(rng.uniform(0.1, 2.0, size=6))
    return Piecewise(breaks, rng.normal(size=(NODES, 5)))


def test_values_and_derivatives_are_those_of_numpy():
    p = random_polynomials()
    derivative = p.derivative()
    for j, (a, b) in enumerate(zip(p.breaks[:-1], p.breaks[1:], strict=True)):
        exact = np.polynomial.Legendre(p.coefficients[:, j], domain=[a, b])
        x = np.linspace(a, b, 20, endpoint=False)
        # Positions up to 6 are rounded; slopes reach 16 * 120 in units of the half-width, and
        # second derivatives another hundred times as much.
        atol = 6 * EPS * 16 * 120 / (0.5 * (b - a))
        np.testing.assert_allclose(p(x), exact(x), rtol=0, atol=atol)
        np.testing.assert_allclose(
            derivative(x), exact.deriv()(x), rtol=0, atol=100 * atol / (0.5 * (b - a))
        )


def test_zero_outside_and_shape_kept():
    p = random_polynomials()
    outside = np.array([[-np.inf, -1.0], [p.end + 1.0, np.inf]])
    np.testing.assert_array_equal(p(outside), 0.0)


@pytest.mark.parametrize("r", [0.0, 0.3, 7.0, 15.9, 16.1, 40.0, 1e3])
def test_the_transform_of_a_polynomial_is_exact(r):
    """Few waves by a Gauss rule and many by Bessel functions, on both sides of the border."""
    p = random_polynomials()
    exact = 0.0
    t, w = MANY
    for a, b in zip(p.breaks[:-1], p.breaks[1:], strict=True):
        x = 0.5 * (a + b) + 0.5 * (b - a) * t
        exact += 0.5 * (b - a) * np.sum(w * p(x) * np.cos(r * x))
    # Values up to 50 over a length of 6, and phases that are rounded.
    assert p.cosine(np.array(r)) == pytest.approx(exact, abs=300 * EPS * (50 + r))


def test_transforms_of_many_frequencies_keep_their_order_and_shape():
    p, r = random_polynomials(), np.random.default_rng(1).uniform(0, 50, size=(3, 4))
    one_by_one = [[p.cosine(np.array([v]))[0] for v in row] for row in r]
    np.testing.assert_allclose(p.cosine(r), one_by_one, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("f", "exact"),
    [
        (np.exp, np.e - 1.0),
        (lambda x: x**-0.5, 2.0),
        (lambda x: np.log(1.0 / x), 1.0),
        (lambda x: 1.0 * (x < 1.0 / np.pi), 1.0 / np.pi),
        (lambda x: np.abs(x - 0.3), 0.29),
        (lambda x: 1.0 / (1e-6 + (x - 0.5) ** 2), 2e3 * np.arctan(500.0)),
    ],
)
def test_fits_find_singularities(f, exact):
    p, error = approximate(f, UNIT, 1e-14 * exact, integral=True)
    assert p.integrals.sum() == pytest.approx(exact, rel=1e-12)
    assert error <= 1e-12 * exact


def test_the_reported_error_bounds_the_largest_one():
    p, error = approximate(np.sqrt, UNIT, 1e-10)
    x = np.random.default_rng(0).uniform(size=10_000) ** 4
    # It is measured at twice as many points as there are coefficients, not everywhere.
    assert np.abs(p(x) - np.sqrt(x)).max() <= 10 * error <= 1e-9


def test_noise_is_not_chased():
    noise = 1e-10 * np.random.default_rng(0).uniform(-1, 1, size=2**20)

    def f(x):
        return np.exp(x) * (1.0 + noise[: x.size].reshape(x.shape))

    p, error = approximate(f, UNIT, 1e-14)
    assert len(p.breaks) < 10
    assert 1e-11 < error < 1e-9


def test_joined_panels_are_both():
    p = approximate(np.exp, UNIT, 1e-14)[0]
    both = p.joined(approximate(np.exp, UNIT + 1.0, 1e-14)[0])
    x = np.linspace(0, 2, 11)
    np.testing.assert_allclose(both(x), np.exp(x), rtol=1e-13)


# On a line --------------------------------------------------------------------------------------


@pytest.mark.parametrize("codim", [1, 2, 3])
def test_projections_by_quadrature(codim):
    def P(rho):
        return np.exp(-rho) / (1.0 + rho**2)

    area = 2 * np.pi ** (codim / 2) / [np.sqrt(np.pi), 1.0, np.sqrt(np.pi) / 2][codim - 1]
    breaks = np.concatenate([[0.0], np.exp2(np.arange(-8, 7))])
    for w in (0.01, 0.7, 5.0):
        exact = integrate.quad(
            lambda v, w=w: P(np.hypot(w, v)) * v ** (codim - 1), 0, 60, epsabs=0, epsrel=1e-12
        )[0]
        found = project(P, breaks, codim)(np.array([w]))[0]
        assert found == pytest.approx(exact * area / (2 * np.pi) ** (codim / 2), rel=1e-10)


def test_a_spread_reaches_from_slow_to_fast():
    where = spread(lambda w: np.exp(-w / 1e6), 1)
    assert where.breaks[0] == 0.0
    assert 2e7 < where.breaks[-1] < 1e8
    assert where.tail < 1e-13
    slow = spread(lambda w: np.exp(-w / 1e-6), 1)
    assert slow.breaks[-1] < 1e-4


def test_the_unit_of_length_is_that_of_the_kernel():
    P = checked(lambda w: np.exp(-0.5 * (1e5 * w) ** 2))
    assert 1e5 / 3 < on_a_line(P, 1, spread(P, 1)).unit < 3e5
