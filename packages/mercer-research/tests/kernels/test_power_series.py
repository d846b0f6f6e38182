"""Power series of kernels against their functions, their features and their penalties."""

import numpy as np
import pytest
from scipy import integrate

from mercer.kernels import Gaussian, Linear, Polynomial, Precomputed, Sigmoid
from mercer.kernels.base import Support, put
from mercer.kernels.dot_product import monomials, multinomial
from mercer_research.kernels import PowerSeries
from mercer_research.kernels.power_series import SERIES, operator_penalty

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(7, 3)), RNG.normal(size=(5, 3))


@pytest.mark.parametrize("name", sorted(SERIES))
def test_named_series_are_the_sums_of_their_coefficients(name):
    value, slope, radius, coefficients = SERIES[name]
    s = np.linspace(-0.6, 0.6, 13)
    i = np.arange(200)
    a = coefficients(i)
    assert (a >= 0).all()
    # What is left out is below 0.6^200.
    np.testing.assert_allclose(value(s), np.power.outer(s, i) @ a, rtol=1e-13, atol=1e-14)
    differentiated = np.power.outer(s, i[:-1]) @ (a[1:] * i[1:])
    np.testing.assert_allclose(slope(s), differentiated, rtol=1e-12)
    # Where the radius is finite the series does not converge at it.
    assert np.isinf(radius) == (a[-1] < 1e-100)


def test_a_series_is_applied_to_the_values_of_its_kernel():
    kernel = Gaussian(1.3)
    K = kernel(X, Z)
    np.testing.assert_allclose(PowerSeries("exp", kernel)(X, Z), np.exp(K), rtol=1e-15)
    np.testing.assert_allclose(
        PowerSeries([1.0, 2.0, 0.0, 3.0], kernel)(X, Z), 1 + 2 * K + 3 * K**3, rtol=1e-14
    )
    nested = PowerSeries("sinh", PowerSeries("exp", 0.1 * Linear()))
    np.testing.assert_allclose(nested(X, Z), np.sinh(np.exp(0.1 * X @ Z.T)), rtol=1e-13)


def test_a_binomial_series_is_the_polynomial_kernel():
    kernel = Polynomial(4, gamma=0.5, coef0=0.8)
    # A base near -0.8 cancels in the sum of its powers, which are up to 1.
    np.testing.assert_allclose(
        PowerSeries(kernel.series())(X, Z), kernel(X, Z), rtol=1e-12, atol=1e-14
    )


def test_properties():
    assert PowerSeries("exp", Gaussian()).stationary
    assert PowerSeries("exp", Gaussian()).radial
    assert not PowerSeries().stationary
    assert not PowerSeries([1.0, -1e-9]).positive_definite
    assert not PowerSeries("exp", Sigmoid()).positive_definite
    assert PowerSeries(np.array([0.0, 1.0])).positive_definite
    np.testing.assert_array_equal(PowerSeries([1.0, 3.0]).coefficient(np.arange(4)), [1, 3, 0, 0])


class Compact(Gaussian):
    """A kernel that claims to vanish somewhere."""

    support = Support(np.asarray(1.0), 2)

    def against(self, Z):
        return lambda X, out=None: put(np.zeros((len(X), len(Z))), out)


def test_a_compact_kernel_stays_compact_without_a_constant():
    assert PowerSeries("sinh", Compact()).support == Compact.support
    assert PowerSeries("cosh", Compact()).support is None
    np.testing.assert_array_equal(PowerSeries("sinh", Compact())(X, Z), 0.0)


def test_overflow_is_refused_with_a_sentence():
    large = np.full((1, 1), 30.0)
    with pytest.raises(ValueError, match="'exp' overflows float64"):
        PowerSeries("exp")(large)
    with pytest.raises(ValueError, match="'exp' overflows float64"):
        PowerSeries("exp").diag(large)
    with pytest.raises(ValueError, match="'cosh' overflows float32"):
        PowerSeries("cosh")(np.full((1, 1), 10.0, dtype=np.float32))
    np.testing.assert_allclose(PowerSeries("exp", 0.1 * Linear())(large), np.exp(90.0), rtol=1e-13)
    np.testing.assert_allclose(PowerSeries("sinh")(np.full((1, 1), 26.0)), np.sinh(676.0))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: PowerSeries("tan"), "series must be one of arcsine, cosh, exp"),
        (lambda: PowerSeries([]), "finite numbers"),
        (lambda: PowerSeries([1.0, np.nan]), "finite numbers"),
        (lambda: PowerSeries(kernel="rbf"), "kernel must be a Kernel"),
        (lambda: PowerSeries(kernel=Precomputed()), "precomputed matrix"),
        (lambda: PowerSeries("geometric")(X), "converges for kernel values below 1"),
        (lambda: PowerSeries("arcsine", Gaussian())(X), "scale the points"),
        (lambda: PowerSeries("exp").features(X), "finite series"),
        (lambda: PowerSeries([1.0, 1.0], Gaussian()).features(X), "finite series"),
        (lambda: PowerSeries([1.0, -1.0]).features(X), "negative coefficient"),
        (
            lambda: operator_penalty(PowerSeries("exp", Gaussian()), [[1]], [1.0]),
            "series of Linear",
        ),
    ],
)
def test_nonsense_is_refused_with_a_sentence(build, message):
    with pytest.raises(ValueError, match=message):
        build()


# Operators of polynomial kernels ------------------------------------------------------------------


def exponents_up_to(p, degree):
    return np.vstack([monomials(p, d) for d in range(degree + 1)])


@pytest.mark.parametrize("p", [1, 2, 4])
@pytest.mark.parametrize(
    "kernel",
    [*(Polynomial(d) for d in range(1, 6)), Polynomial(3, 0.7, 1.3), PowerSeries([0.5, 0, 2, 0.1])],
    ids=repr,
)
def test_the_penalty_of_an_expansion_is_its_norm(kernel, p):
    """Coefficients of f = sum_i b_i k(x_i, .) are those of its features times their scale."""
    points, b = RNG.normal(size=(6, p)), RNG.normal(size=6)
    a = kernel.series() if isinstance(kernel, Polynomial) else kernel.coefficient(np.arange(4))
    n = exponents_up_to(p, a.size - 1)
    powers = np.prod(points[:, None, :] ** n, axis=2)
    c = a[n.sum(axis=1)] * multinomial(n) * (b @ powers)
    new = RNG.normal(size=(4, p))
    f = np.prod(new[:, None, :] ** n, axis=2) @ c
    np.testing.assert_allclose(f, kernel(new, points) @ b, rtol=1e-10, atol=1e-10)
    K = kernel(points)
    assert operator_penalty(kernel, n, c) == pytest.approx(b @ K @ b, rel=1e-10)


@pytest.mark.parametrize("p", [1, 2, 3, 4])
@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5])
def test_only_the_exponent_minus_one_half_is_consistent(p, degree):
    x, z = RNG.normal(size=(2, p))
    n = monomials(p, degree)
    # The Taylor coefficients of <x, .>^degree are multinomial(n) x^n.
    weights = multinomial(n)
    left, right = (weights * np.prod(point**n, axis=1) for point in (x, z))
    k = Polynomial(degree)(x[None], z[None])[0, 0]
    scale = np.abs(left) @ np.abs(right)
    assert (left / weights) @ right == pytest.approx(k, abs=1e-13 * scale)
    if p > 1 and degree > 1:
        assert (left * weights) @ right != pytest.approx(k, abs=1e-6 * abs(k))


def test_the_operator_of_degree_two():
    """Weights 1/2, 1/sqrt(2), 1/2 of the second derivatives give (x1^2, sqrt(2) x1 x2, x2^2)."""
    x = np.array([0.7, -1.2])
    second = np.array([2 * x[0] ** 2, 2 * x[0] * x[1], 2 * x[1] ** 2])  # of <x, .>^2
    image = np.array([0.5, 1 / np.sqrt(2), 0.5]) * second
    np.testing.assert_allclose(image, Polynomial(2).features(x[None])[0], rtol=1e-14)


def test_degrees_that_do_not_occur_cost_infinitely_much():
    assert operator_penalty(Polynomial(2), np.array([[1, 0]]), np.array([1.0])) == np.inf
    assert operator_penalty(Polynomial(2), np.array([[2, 1]]), np.array([1.0])) == np.inf
    assert operator_penalty(Polynomial(2), np.array([[1, 0]]), np.array([0.0])) == 0.0
    assert operator_penalty(PowerSeries("sinh"), np.array([[2]]), np.array([1.0])) == np.inf


def test_the_exponential_penalizes_by_the_bargmann_norm():
    # exp(x z) reproduces entire functions with the mean of |f|^2 under exp(-|z|^2) / pi.
    c = np.array([0.3, -1.0, 0.5, 0.2])
    norm, _ = integrate.dblquad(
        lambda r, angle: (
            abs(np.polynomial.polynomial.polyval(r * np.exp(1j * angle), c)) ** 2
            * np.exp(-(r**2))
            * r
            / np.pi
        ),
        0,
        2 * np.pi,
        0,
        7,
    )
    penalty = operator_penalty(PowerSeries("exp"), np.arange(4)[:, None], c)
    assert penalty == pytest.approx(norm, rel=1e-8)
