"""Multiquadrics, their inverses, Cauchy's kernel, powered exponentials: values, orders, spectra."""

import numpy as np
import pytest
from scipy import linalg, special
from scipy.interpolate import RBFInterpolator
from scipy.spatial.distance import cdist

from mercer.kernels import (
    Cauchy,
    DampedOscillator,
    Gaussian,
    InverseMultiquadric,
    Matern,
    Multiquadric,
    PoweredExponential,
    RationalQuadratic,
)

EPS = np.finfo(np.float64).eps
X, Z = (np.random.default_rng(seed).normal(size=(12, 3)) for seed in (0, 1))
R = cdist(X, Z)
CLOSE = {"rtol": 1e-13, "atol": 0}


def test_values_are_those_of_the_textbook_up_to_a_factor():
    c = 1.7
    np.testing.assert_allclose(c * Multiquadric(c)(X, Z), -np.sqrt(c**2 + R**2), **CLOSE)
    np.testing.assert_allclose(c**3 * Multiquadric(c, 1.5)(X, Z), (c**2 + R**2) ** 1.5, **CLOSE)
    np.testing.assert_allclose(InverseMultiquadric(c)(X, Z) / c, 1 / np.sqrt(c**2 + R**2), **CLOSE)
    np.testing.assert_allclose(DampedOscillator(c)(X, Z) / c**2, 1 / (c**2 + R**2), **CLOSE)
    np.testing.assert_allclose(Cauchy(c)(X, Z), (1 + (R / c) ** 2) ** -2, **CLOSE)
    np.testing.assert_allclose(
        Cauchy(c)(X[:, :1], Z[:, :1]), DampedOscillator(c)(X[:, :1], Z[:, :1])
    )
    np.testing.assert_allclose(PoweredExponential(c, 0.7)(X, Z), np.exp(-((R / c) ** 0.7)), **CLOSE)


def test_families_meet_where_they_should():
    alpha, scale = 0.8, 1.3
    same = RationalQuadratic(scale / np.sqrt(2 * alpha), alpha)
    omega = np.array([0.2, 1.0, 4.0])
    kernel = InverseMultiquadric(scale, alpha)
    np.testing.assert_allclose(kernel(X, Z), same(X, Z), **CLOSE)
    np.testing.assert_allclose(kernel.spectrum(omega, 3), same.spectrum(omega, 3), rtol=1e-13)
    np.testing.assert_allclose(PoweredExponential(scale)(X, Z), Matern(scale, 0.5)(X, Z), **CLOSE)
    gaussian = Gaussian(scale / np.sqrt(2))
    np.testing.assert_allclose(PoweredExponential(scale, 2.0)(X, Z), gaussian(X, Z), **CLOSE)


@pytest.mark.parametrize("exponent", [0.2, 0.5, 1.3, 2.5])
def test_the_order_is_that_of_conditional_definiteness_and_no_less(exponent):
    kernel = Multiquadric(0.8, exponent)
    points = np.random.default_rng(0).normal(size=(40, 1))
    K = kernel(points)
    assert kernel.order == int(np.ceil(exponent))
    for order, good in ((kernel.order, True), (kernel.order - 1, False)):
        Q = linalg.null_space((points ** np.arange(order)).T) if order else np.eye(40)
        lowest = np.linalg.eigvalsh(Q.T @ K @ Q)[0]
        assert (lowest >= -40 * EPS * np.linalg.norm(K, 2)) == good


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_radial_interpolator_of_scipy(smoothing):
    points = np.random.default_rng(3).normal(size=(30, 2))
    y, at = np.sin(points).sum(axis=1), points[:9] + 0.3
    oracle = RBFInterpolator(
        points, y, kernel="multiquadric", epsilon=0.5, degree=0, smoothing=smoothing
    )
    kernel = Multiquadric(2.0)
    one = np.ones((30, 1))
    system = np.block([[kernel(points) + smoothing * np.eye(30), one], [one.T, np.zeros((1, 1))]])
    a = np.linalg.solve(system, np.append(y, 0.0))
    np.testing.assert_allclose(kernel(at, points) @ a[:-1] + a[-1], oracle(at), rtol=0, atol=1e-8)


# Spectra -----------------------------------------------------------------------------------------


def test_numbers_of_the_specification():
    """1/(a^2 + r^2) for a = 1.3 at 0.9, in one and three dimensions."""
    kernel = DampedOscillator(1.3)
    omega = np.array([0.9])
    for dim, expected in ((1, 0.299220981), (3, 0.432208084)):
        assert kernel.spectrum(omega, dim)[0] / 1.3**2 == pytest.approx(expected, abs=5e-10)


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
def test_spectra_as_printed(dim):
    w, c, beta, nu = np.array([0.4, 1.1, 3.0, 40.0]), 1.3, 0.7, dim / 2 - 1
    inverse = 2 ** (1 - beta) / special.gamma(beta) * (w / c) ** (beta - dim / 2)
    np.testing.assert_allclose(
        InverseMultiquadric(c, beta).spectrum(w, dim) / c ** (2 * beta),
        inverse * special.kv(dim / 2 - beta, c * w),
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        DampedOscillator(c).spectrum(w, dim) / c**2,
        (c / w) ** nu * special.kv(nu, c * w),
        rtol=1e-12,
    )
    root = 2**1.5 / abs(special.gamma(-0.5)) * (w / c) ** (-(dim + 1) / 2)
    np.testing.assert_allclose(
        c * Multiquadric(c).spectrum(w, dim), root * special.kv((dim + 1) / 2, c * w), rtol=1e-12
    )
    cauchy = Cauchy(c).spectrum(w, dim)
    np.testing.assert_allclose(cauchy[1:] / cauchy[0], np.exp(-c * (w[1:] - w[0])), rtol=1e-12)


def test_poles_and_tails():
    """Infinite where the tail is not integrable, zero and not NaN at any high frequency."""
    ends = np.array([0.0, 1e4, 1e12, 1e200])
    for kernel, dim, pole in [
        (DampedOscillator(), 1, False),
        (DampedOscillator(), 2, True),
        (DampedOscillator(), 3, True),
        (InverseMultiquadric(), 1, True),
        (InverseMultiquadric(1.0, 2.0), 3, False),
        (Multiquadric(), 2, True),
        (Cauchy(), 4, False),
    ]:
        found = kernel.spectrum(ends, dim)
        assert np.isinf(found[0]) == pole
        np.testing.assert_array_equal(found[1:], 0.0)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("exponent", [0.3, 0.5, 1.5])
def test_the_generalized_spectrum_gives_the_quadratic_form(exponent, dim):
    r"""For coefficients orthogonal to polynomials, a'Ka = (2 pi)^-d/2 int P |sum a e^iwx|^2 dw.

    Over directions that is a sum of Bessel functions; the product is O(w^(2q+2-2e-1)) at zero for
    coefficients orthogonal to degree q and falls exponentially.
    """
    points = np.random.default_rng(5).normal(size=(40, dim))
    powers = np.stack(np.meshgrid(*[np.arange(5)] * dim), axis=-1).reshape(-1, dim)
    powers = powers[powers.sum(axis=1) <= 4]
    B = np.prod(points[:, None, :] ** powers, axis=2)
    a = linalg.null_space(B.T)[:, 0]
    kernel = Multiquadric(0.9, exponent)
    edges = np.concatenate([np.geomspace(0.02, 1.0, 20), np.arange(1.5, 45.0, 0.5)])
    x, weight = np.polynomial.legendre.leggauss(16)
    half = 0.5 * np.diff(edges)[:, None]
    w, weight = (edges[:-1, None] + half * (x + 1)).ravel(), (half * weight).ravel()
    wave = {
        1: lambda t: np.sqrt(2 / np.pi) * np.cos(t),
        2: special.j0,
        3: lambda t: np.sqrt(2 / np.pi) * np.sinc(t / np.pi),
    }[dim]
    waves = np.outer(a, a).ravel() @ wave(cdist(points, points).reshape(-1, 1) * w)
    integral = weight @ (w ** (dim - 1) * kernel.spectrum(w, dim) * waves)
    exact = a @ kernel(points) @ a
    # Rounding of the waves, a sum of terms a_i a_j, times the pole at 0.02.
    noise = 1e-15 * np.abs(a).sum() ** 2 * 0.02 ** (-2 * exponent) * 10
    assert integral == pytest.approx(exact, rel=1e-6, abs=noise)
    assert noise < 0.01 * exact


def test_powered_exponentials_say_where_they_cannot_see():
    found = PoweredExponential(1.0, 1.9).spectrum(np.array([1.0, 1e9]), 3)
    assert np.isfinite(found[0])
    assert np.isnan(found[1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Multiquadric(exponent=1.0), "not an integer"),
        (lambda: Multiquadric(exponent=-0.5), "positive and not an integer"),
        (lambda: InverseMultiquadric(exponent=0.0), "exponent must be a positive number"),
        (lambda: PoweredExponential(exponent=2.5), "at most 2"),
        (lambda: Cauchy(-1.0), "length_scale must be"),
        (lambda: DampedOscillator([1.0, 2.0])(X), "2 entries but the points have 3"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
