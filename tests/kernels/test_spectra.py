"""Spectra of all kernels against quadrature, their laws, and the numbers of the specification."""

import numpy as np
import pytest
from scipy import optimize, special

from cases_kernels import FEATURES, STATIONARY
from kernel_families import compact, multiquadric, polyharmonic
from mercer.kernels import (
    BSpline,
    Cauchy,
    DampedOscillator,
    Gaussian,
    InverseMultiquadric,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    PoweredExponential,
    RationalQuadratic,
    Wendland,
)
from mercer_research.kernels import RadialBSpline, fourier_transform
from mercer_research.kernels._fourier import radial_transform

EPS = np.finfo(np.float64).eps
OMEGA = np.array([0.3, 1.0, 2.5])

RADIAL: list[Kernel] = [
    Gaussian(0.8),
    Matern(0.8, nu=0.5),
    Matern(0.9, nu=1.5),
    Matern(1.1, nu=0.8),
    RationalQuadratic(0.9, alpha=4.5),
    RadialBSpline(1.1, dim=1),
    RadialBSpline(0.8, dim=2),
    RadialBSpline(0.9, dim=3),
    RadialBSpline(0.7, dim=5),
    RadialBSpline(0.5, degree=3, dim=1),
    RadialBSpline(0.5, degree=3, dim=3),
    RadialBSpline(0.3, degree=5, dim=2),
    Wendland(2.0, smoothness=0),
    Wendland(2.0, smoothness=1),
    Wendland(2.5, smoothness=2, dim=2),
    Wendland(2.5, smoothness=3, dim=5),
    InverseMultiquadric(0.9, exponent=2.5),
    Cauchy(1.2),
    PoweredExponential(0.9, exponent=1.5),
    PoweredExponential(0.9, exponent=0.6),
    PoweredExponential(0.9, exponent=2.0),
    Gaussian(0.7) * Matern(1.3, nu=0.5),
    InverseMultiquadric(0.9, exponent=1.5) ** 2,
    2.0 * Wendland(2.0) + Gaussian(0.5) ** 3,
]
IN_DIMENSION = [
    (kernel, dim) for kernel in RADIAL for dim in (1, 2, 3) if dim <= getattr(kernel, "dim", 3)
]
every_radial = pytest.mark.parametrize(("kernel", "dim"), IN_DIMENSION, ids=repr)


def profile(kernel, r, dim):
    """The kernel as a function of distances."""
    points = np.zeros((np.size(r), dim))
    points[:, 0] = np.ravel(r)
    return kernel(points, np.zeros((1, dim)))[:, 0].reshape(np.shape(r))


def between_zeros(kernel, omega, dim):
    """The transform of eq. (3.47): Gauss between zeros of the Bessel function, Euler for the rest.

    Other pieces end where compact kernels do and, for what happens at zero, at powers of ten.
    """
    nu = dim / 2 - 1
    zeros = np.pi / omega * (np.arange(1, 200) + nu / 2 - 0.25)
    ends = np.concatenate([np.geomspace(1e-9, 1.0, 10), [1.4, 1.6, 1.8, 2.0, 2.2, 2.5]])
    edges = np.unique(np.concatenate([[0.0], ends, zeros]))

    def partial_sums(nodes):
        x, w = np.polynomial.legendre.leggauss(nodes)
        half = 0.5 * np.diff(edges)[:, None]
        r = edges[:-1, None] + half * (x + 1.0)
        values = omega**-nu * r ** (nu + 1) * profile(kernel, r, dim) * special.jv(nu, omega * r)
        sums = (half * w * values).sum(axis=1).cumsum()[-24:]
        while len(sums) > 1:
            sums = 0.5 * (sums[1:] + sums[:-1])
        return float(sums[0])

    value, other = partial_sums(40), partial_sums(32)
    assert value == pytest.approx(other, abs=1e-10)
    return value


@every_radial
def test_spectrum_is_the_fourier_transform(kernel, dim):
    found = kernel.spectrum(OMEGA, dim)
    exact = [between_zeros(kernel, omega, dim) for omega in OMEGA]
    np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-10)


@every_radial
def test_closed_forms_are_within_the_errors_of_the_numerical_transform(kernel, dim):
    omega = np.array([0.0, 0.1, 0.7, 3.0, 12.0])
    exact = kernel.spectrum(omega, dim)
    found = fourier_transform(kernel, omega, dim)
    known = np.isfinite(found.values) & np.isfinite(exact)
    assert known[:3].all()
    error = np.abs(found.values - exact)[known]
    assert (error <= 4.0 * found.error[known] + 1e-13 * np.abs(exact[known])).all()


# Every kernel of the suites ----------------------------------------------------------------------

vectors = np.random.default_rng(0).normal(size=(6, FEATURES))
CASES = STATIONARY + compact.KERNELS + multiquadric.KERNELS + polyharmonic.KERNELS


@pytest.mark.parametrize("kernel", CASES, ids=repr)
def test_every_stationary_kernel_has_its_spectrum_in_three_dimensions(kernel):
    """By quadrature if radial; else by that of the same kernel with one unit of length."""
    found = kernel.spectrum(vectors, FEATURES)
    if kernel.order > 0:
        assert (found > 0.0).all()
        return
    if kernel.radial:
        numerical = fourier_transform(kernel, vectors, FEATURES)
        bound = 4.0 * numerical.error + 1e-13 * np.abs(found)
        known = np.isfinite(numerical.values)
        assert known.any()
        assert (np.abs(numerical.values - found) <= bound)[known].all()
        return
    scale = np.broadcast_to(kernel.length_scale, FEATURES)
    unit = type(kernel)(**(kernel.get_params() | {"length_scale": 1.0}))
    if unit.radial:
        exact = fourier_transform(unit, vectors * scale, FEATURES).values
    else:
        exact = [
            fourier_transform(unit, w * s).values for w, s in zip(vectors.T, scale, strict=True)
        ]
        exact = np.prod(exact, axis=0)
    np.testing.assert_allclose(found, exact * scale.prod(), rtol=1e-9, atol=1e-12)


# Laws --------------------------------------------------------------------------------------------

FALLING = [
    (kernel, dim)
    for dim in (1, 2, 3)
    for kernel in (
        Gaussian(0.8),
        Matern(0.8, nu=0.5),
        Matern(0.9, nu=1.5),
        RationalQuadratic(0.9, alpha=4.5),
        InverseMultiquadric(0.9, exponent=2.5),
        Cauchy(1.2),
    )
]
WAVING = [
    *[(RadialBSpline(1.1, dim=dim), dim) for dim in (1, 2, 3)],
    *[(Wendland(2.0, smoothness), 3) for smoothness in range(4)],
    *[(BSpline(1.3, degree), 1) for degree in (1, 3, 5)],
]


def half_line(f, end, wave):
    """Integrate over the half line: waves until `end`, then octaves of a smooth tail."""
    near = np.geomspace(1e-12, 0.25, 20)
    edges = np.concatenate([[0.0], near, np.arange(0.5, end, wave), np.geomspace(end, 1e9, 40)])
    x, w = np.polynomial.legendre.leggauss(16)
    half = 0.5 * np.diff(edges)[:, None]
    values = f((edges[:-1, None] + half * (x + 1.0)).ravel())
    return float((half * w * values.reshape(-1, 16)).sum())


@pytest.mark.parametrize(("kernel", "dim"), FALLING + WAVING, ids=repr)
def test_spectrum_integrates_to_the_value_at_zero_and_keeps_the_energy(kernel, dim):
    r"""k(0) = 2^(1-d/2) / Gamma(d/2) int w^(d-1) P(w) dw; and Parseval, int k^2 = int P^2."""

    def at(w):
        return kernel.spectrum(w, dim)

    top = float(kernel.diag(np.zeros((1, dim)))[0])
    total = half_line(lambda w: w ** (dim - 1) * at(w), 400.0, 1.0)
    # Waves beyond 400 are not resolved; with a kink at zero they hold 2 / (400 pi l) of the total.
    waving = (kernel, dim) in WAVING
    value = 2.0 ** (1 - dim / 2) / special.gamma(dim / 2) * total
    assert value == pytest.approx(top, rel=2e-3 if waving else 1e-8)
    energy = half_line(lambda w: w ** (dim - 1) * at(w) ** 2, 400.0, 1.0)
    power = half_line(lambda r: r ** (dim - 1) * profile(kernel, r, dim) ** 2, 40.0, 0.1)
    assert energy == pytest.approx(power, rel=1e-6)


@pytest.mark.parametrize(("kernel", "dim"), FALLING, ids=repr)
def test_the_transform_of_the_spectrum_is_the_kernel(kernel, dim):
    """Hankel's transform is its own inverse."""
    r = np.array([0.0, 0.2, 1.0, 3.0])
    found = radial_transform(lambda w: kernel.spectrum(w.ravel(), dim).reshape(w.shape), r, dim)
    np.testing.assert_allclose(found.values, profile(kernel, r, dim), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "kernel", [k for k in RADIAL if "length_scale" in k.get_params()], ids=repr
)
def test_a_stretched_kernel_has_a_narrowed_spectrum(kernel):
    """k(x / s) has the spectrum s^d P(s w)."""
    s, dim = 1.7, min(2, getattr(kernel, "dim", 2))
    params = kernel.get_params()
    stretched = type(kernel)(**(params | {"length_scale": s * params["length_scale"]}))
    expected = s**dim * kernel.spectrum(s * OMEGA, dim)
    np.testing.assert_allclose(stretched.spectrum(OMEGA, dim), expected, rtol=1e-11)


# Numbers of the specification --------------------------------------------------------------------


def test_the_gaussian_of_figure_3_2():
    kernel = Gaussian(0.5)
    omega = np.array([0.0, 1.0, 2.0])
    found = kernel.spectrum(omega)
    np.testing.assert_allclose(found, 0.5 * np.exp(-(omega**2) / 8), rtol=4 * EPS)
    assert found[2] / found[0] == pytest.approx(0.606531, abs=5e-7)


def test_the_cubic_spline_of_figure_3_1():
    kernel = BSpline()

    def attenuation(w):
        return float(kernel.spectrum(np.atleast_1d(w))[0] / kernel.spectrum(np.zeros(1))[0])

    assert attenuation(np.pi) == pytest.approx((2 / np.pi) ** 4, rel=10 * EPS)
    assert attenuation(np.pi) == pytest.approx(0.164256, abs=5e-7)
    assert attenuation(2 * np.pi) < 1e-60
    lobe = optimize.minimize_scalar(
        lambda w: -attenuation(w), bounds=(2.2 * np.pi, 3.8 * np.pi), options={"xatol": 1e-10}
    )
    assert lobe.x / np.pi == pytest.approx(2.86059, abs=5e-6)
    assert -lobe.fun == pytest.approx(2.22694e-3, abs=5e-9)


def test_even_splines_have_negative_lobes():
    kernel = BSpline(degree=2)

    def attenuation(w):
        return float(kernel.spectrum(np.atleast_1d(w))[0] / kernel.spectrum(np.zeros(1))[0])

    lobe = optimize.minimize_scalar(attenuation, bounds=(2.2 * np.pi, 3.8 * np.pi))
    assert lobe.x / np.pi == pytest.approx(2.8606, abs=5e-5)
    assert lobe.fun == pytest.approx(-0.010251, abs=5e-7)
    omega = np.linspace(0.0, 50.0, 2001)
    for degree in range(10):
        assert (BSpline(1.0, degree).spectrum(omega).min() < -1e-9) == (degree % 2 == 0)


def test_transforms_in_three_dimensions():
    """a = 1.3, w = 0.9: with the Gamma(d/2 + 1) that is printed it would be 0.441235."""
    found = Matern(1 / 1.3, nu=0.5).spectrum(np.array([0.9]), 3)[0]
    assert found == pytest.approx(0.331919977294, abs=1e-12)


def test_the_triangle_is_no_kernel_in_the_plane():
    found = radial_transform(lambda r: np.maximum(1.0 - r, 0.0), np.linspace(0.1, 30.0, 300), 2)
    assert np.nanmin(found.values + found.error) < -1e-4
    assert np.nanmin(radial_transform(lambda r: np.maximum(1.0 - r, 0.0), OMEGA, 1).values) > 0.0


# Self-consistency in the space of functions ------------------------------------------------------


def line(f, *kinks):
    """Integrate over the real line a function that is smooth between kinks and falls like e^-t."""
    edges = np.unique(np.concatenate([np.linspace(-40.0, 40.0, 81), kinks]))
    x, w = np.polynomial.legendre.leggauss(30)
    half = 0.5 * np.diff(edges)[:, None]
    return float((half * w * f(edges[:-1, None] + half * (x + 1.0))).sum())


def test_the_exponential_is_consistent_with_value_and_slope():
    """P = sqrt(2/pi) / (1 + w^2), so the norm of e^-|t| is half that of f and f' in L2."""
    x, y = 0.3, 1.1

    def f(t, at):
        return np.exp(-np.abs(t - at))

    # The product of slopes has the sign of both sides: minus between the points.
    def integrand(t):
        return 0.5 * f(t, x) * f(t, y) * (1.0 + np.sign(t - x) * np.sign(t - y))

    expected = Matern(1.0, nu=0.5)([[x]], [[y]])[0, 0]
    assert line(integrand, x, y) == pytest.approx(expected, abs=1e-14)


def test_matern_is_consistent_with_two_derivatives():
    """For nu = 3/2, 1/P is (b^2 + w^2)^2 / (4 b^3) up to the convention, b = sqrt(3)/l."""
    x, y, scale = 0.3, 1.1, 0.7
    b = np.sqrt(3) / scale

    def derivatives(t, at):
        u = t - at
        e = np.exp(-b * np.abs(u))
        return (1 + b * np.abs(u)) * e, -(b**2) * u * e, b**2 * (b * np.abs(u) - 1) * e

    def integrand(t):
        (f, df, ddf), (g, dg, ddg) = derivatives(t, x), derivatives(t, y)
        return (b**4 * f * g + 2 * b**2 * df * dg + ddf * ddg) / (4 * b**3)

    expected = Matern(scale, nu=1.5)([[x]], [[y]])[0, 0]
    assert line(integrand, x, y) == pytest.approx(expected, abs=1e-13)


def test_the_exponential_in_space_is_consistent_with_the_laplacian():
    r"""1/P gives (1/8 pi) int (f - Lf)(g - Lg), and f - Lf is (2/r) e^-r.

    With the two points as foci of spheroids, r1 r2 = (R/2)^2 (s^2 - t^2) and the volume element is
    (R/2)^3 (s^2 - t^2) ds dt dphi, so the quotient is free of poles.
    """
    distance = 0.8
    s, weight = np.polynomial.laguerre.laggauss(30)
    s = 1.0 + s / distance
    # exp(-r1 - r2) = exp(-R s); t runs over [-1, 1] and the angle over 2 pi.
    integrand = 4.0 * np.full_like(s, (distance / 2) ** 3 / (distance / 2) ** 2)
    total = (weight / distance * integrand).sum() * np.exp(-distance) * 2.0 * 2 * np.pi
    expected = Matern(1.0, nu=0.5)([[0.0, 0.0, 0.0]], [[distance, 0.0, 0.0]])[0, 0]
    assert total / (8 * np.pi) == pytest.approx(expected, rel=1e-13)


def test_the_gaussian_is_consistent_with_all_derivatives():
    r"""1/P = e^(s^2 w^2/2) / s: the sum of (s^2/2)^m/m! int f^(m) g^(m), eq. (3.29).

    The derivatives are Hermite functions, and the terms fall like 2^-m.
    """
    x, y, scale = 0.3, 1.1, 0.8

    def hermite(t, at, m):
        u = (t - at) / scale
        return special.eval_hermitenorm(m, u) * np.exp(-0.5 * u**2)

    total = 0.0
    for m in range(50):
        # f^(m) = (-1)^m s^-m He_m e^(-u^2/2)
        factor = 0.5**m / special.factorial(m)
        total += factor * line(lambda t, m=m: hermite(t, x, m) * hermite(t, y, m))
    expected = Gaussian(scale)([[x]], [[y]])[0, 0]
    assert total / (np.sqrt(2 * np.pi) * scale) == pytest.approx(expected, abs=1e-13)


# Composition -------------------------------------------------------------------------------------

pairs = np.random.default_rng(1).normal(size=(5, 2))


def test_products_of_known_kernels_are_known():
    found = (Gaussian(0.6) * Gaussian(0.8)).spectrum(OMEGA, 3)
    np.testing.assert_allclose(found, Gaussian(0.48).spectrum(OMEGA, 3), rtol=20 * EPS)
    found = (3.0 * Gaussian([0.6, 1.0]) ** 4).spectrum(pairs, 2)
    np.testing.assert_allclose(found, 3.0 * Gaussian([0.3, 0.5]).spectrum(pairs, 2), rtol=20 * EPS)
    found = (Laplacian(1.0) * Laplacian([3.0, 1.0])).spectrum(pairs, 2)
    np.testing.assert_allclose(found, Laplacian([0.75, 0.5]).spectrum(pairs, 2), rtol=20 * EPS)
    found = (DampedOscillator(0.7) ** 2 * InverseMultiquadric(0.7)).spectrum(OMEGA, 2)
    exact = InverseMultiquadric(0.7, 2.5).spectrum(OMEGA, 2)
    np.testing.assert_allclose(found, exact, rtol=20 * EPS)


def test_a_product_has_the_convolution_of_the_spectra():
    left, right = Gaussian(0.7), Matern(1.3, nu=1.5)
    found = (2.0 * left * right).spectrum(OMEGA)
    for omega, value in zip(OMEGA, found, strict=True):
        # Poles are sqrt(3)/1.3 away from the path of 44: Gauss errs by exp(-2 * 400 * 1.33 / 22).
        x, w = np.polynomial.legendre.leggauss(400)
        t = 22.0 * x
        convolution = 22.0 * w @ (left.spectrum(t) * right.spectrum(omega - t))
        assert value == pytest.approx(2.0 * convolution / np.sqrt(2 * np.pi), rel=1e-11)


def test_different_features_have_the_product_of_the_spectra():
    one, other = Matern(0.7), Gaussian(1.2)
    expected = one.spectrum(pairs[:, 0]) * other.spectrum(pairs[:, 1])
    for kernel in (
        one.on([0]) * other.on([1]),
        other.on([1]) * one.on([-2]),
        one.on(slice(0, 1)) * other.on(slice(1, 2)),
        (other.on([0]) * one.on([1])).on([1, 0]),
    ):
        np.testing.assert_allclose(kernel.spectrum(pairs, 2), expected, rtol=20 * EPS)
    scaled = (2.0 * one.on([0])) * (3.0 * other).on([1])
    np.testing.assert_allclose(scaled.spectrum(pairs, 2), 6.0 * expected, rtol=20 * EPS)
    both = (one.on([0]) + 2.0 * one.on([0])) * other.on([1])
    np.testing.assert_allclose(both.spectrum(pairs, 2), 3.0 * expected, rtol=20 * EPS)
    square = (one.on([0]) * other.on([1])) ** 2
    exact = (one**2).spectrum(pairs[:, 0]) * (other**2).spectrum(pairs[:, 1])
    np.testing.assert_allclose(square.spectrum(pairs, 2), exact, rtol=20 * EPS)
    three = np.column_stack([pairs, pairs[:, :1] + 0.5])
    mixed = Matern(0.9).on([2, 0]) * one.on([1])
    exact = Matern(0.9).spectrum(three[:, [2, 0]], 2) * one.spectrum(three[:, 1])
    np.testing.assert_allclose(mixed.spectrum(three, 3), exact, rtol=20 * EPS)


def test_products_over_features_are_taken_apart():
    kernel = Laplacian([0.8, 1.1]) * BSpline(1.7) * Gaussian(1.4)
    found = kernel.spectrum(pairs, 2)
    # Everything vanishes outside a square, and is smooth between the knots.
    edges = 1.7 * np.arange(-2.0, 3.0)
    x, w = np.polynomial.legendre.leggauss(40)
    half = 0.5 * np.diff(edges)[:, None]
    u, w = (edges[:-1, None] + half * (x + 1.0)).ravel(), (half * w).ravel()
    U = np.stack(np.meshgrid(u, u, indexing="ij"), axis=-1).reshape(-1, 2)
    values = kernel(U, np.zeros((1, 2)))[:, 0].reshape(len(u), len(u))
    waves = np.exp(-1j * pairs[:, :, None] * u)
    exact = np.einsum("mi,mj,ij,i,j->m", waves[:, 0], waves[:, 1], values, w, w).real / (2 * np.pi)
    np.testing.assert_allclose(found, exact, rtol=1e-11)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Gaussian().on([0]).spectrum(pairs, 2), NotImplementedError, "on feature 1 of 2"),
        (
            lambda: (Gaussian().on([0]) + Gaussian().on([1])).spectrum(pairs, 2),
            NotImplementedError,
            "zero or infinite everywhere",
        ),
        (
            lambda: (Matern().on([0]) * Matern()).spectrum(pairs, 2),
            NotImplementedError,
            "convolution over several features",
        ),
        (
            lambda: (Laplacian() * Matern()).spectrum(pairs, 2),
            NotImplementedError,
            "convolution over several features",
        ),
        (lambda: (Linear() * Gaussian()).spectrum(OMEGA), NotImplementedError, "difference"),
        (lambda: (Linear() ** 2).spectrum(OMEGA), NotImplementedError, "difference"),
        (
            lambda: (Gaussian().on([0]) * Gaussian().on([1])).spectrum(OMEGA, 2),
            ValueError,
            "pass frequency vectors",
        ),
    ],
)
def test_what_has_no_spectrum_is_refused_with_a_sentence(call, error, message):
    with pytest.raises(error, match=message):
        call()
