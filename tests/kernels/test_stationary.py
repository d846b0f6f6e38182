"""Stationary kernels against their formulas, scikit-learn, and their Fourier transforms."""

import itertools
from functools import partial

import numpy as np
import pytest
from scipy import integrate, sparse, special
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

from mercer import LSSVR
from mercer.kernels import Gaussian, Laplacian, Matern, RationalQuadratic

EPS = np.finfo(np.float64).eps
SCALES = np.array([0.7, 1.5, 2.0])
rng = np.random.default_rng(0)
X, Z = rng.normal(size=(25, 3)), rng.normal(size=(15, 3))

# Distances by different routes agree to about 30 roundings of numbers below 100.
CLOSE = {"rtol": 0, "atol": 1e-13}


@pytest.mark.parametrize("gamma", [0.0, 0.3, 2.0, 40.0])
def test_gaussian_is_that_of_scikit_learn(gamma):
    kernel = Gaussian.from_gamma(gamma)
    assert kernel.gamma == pytest.approx(gamma, rel=4 * EPS)
    np.testing.assert_allclose(kernel(X, Z), pairwise.rbf_kernel(X, Z, gamma=gamma), **CLOSE)
    np.testing.assert_allclose(kernel(X), pairwise.rbf_kernel(X, gamma=gamma), **CLOSE)


def test_gamma_per_feature():
    kernel = Gaussian.from_gamma(0.5 / SCALES**2)
    np.testing.assert_allclose(kernel.length_scale, SCALES)
    np.testing.assert_allclose(kernel.gamma, 0.5 / SCALES**2)
    np.testing.assert_allclose(kernel(X, Z), gp.RBF(SCALES)(X, Z), **CLOSE)


def test_infinite_width_is_constant():
    for kernel in (Gaussian(np.inf), Laplacian(np.inf), Matern(np.inf), RationalQuadratic(np.inf)):
        np.testing.assert_array_equal(kernel(X, Z), 1.0)
        np.testing.assert_array_equal(kernel.gradient(X, Z)["length_scale"], 0.0)


@pytest.mark.parametrize("scale", [1.3, SCALES], ids=["scalar", "per feature"])
@pytest.mark.parametrize("nu", [0.3, 0.5, 1.0, 1.5, 2.2, 2.5, 7.0, np.inf])
def test_matern_is_that_of_scikit_learn(scale, nu):
    # scikit-learn adds epsilon to a zero distance; there are none here.
    expected = gp.Matern(scale, nu=nu)(X, Z)
    np.testing.assert_allclose(Matern(scale, nu)(X, Z), expected, **CLOSE)


def test_rational_quadratic_is_that_of_scikit_learn():
    expected = gp.RationalQuadratic(1.3, alpha=0.6)(X, Z)
    np.testing.assert_allclose(RationalQuadratic(1.3, 0.6)(X, Z), expected, **CLOSE)


def test_laplacian_is_that_of_scikit_learn():
    expected = pairwise.laplacian_kernel(X, Z, gamma=0.4)
    np.testing.assert_allclose(Laplacian(2.5)(X, Z), expected, **CLOSE)
    expected = np.exp(-cdist(X / SCALES, Z / SCALES, "cityblock"))
    np.testing.assert_allclose(Laplacian(SCALES)(X, Z), expected, **CLOSE)


@pytest.mark.parametrize("nu", [0.2, 0.5, 0.9])
def test_matern_at_repeated_points_between_two_sets(nu):
    """With an infinite slope at zero, an error of epsilon in r^2 would be one of 1e-8 in k."""
    far = X + 30.0
    K = Matern(1.0, nu)(far, far.copy())
    np.testing.assert_array_equal(K.diagonal(), 1.0)
    tiny = far.copy()
    tiny[:, 0] += 2.0**-30
    expected = Matern(1.0, nu)(np.zeros((1, 1)), np.full((1, 1), 2.0**-30))[0, 0]
    assert expected < 1.0
    np.testing.assert_allclose(Matern(1.0, nu)(far, tiny).diagonal(), expected, rtol=1e-12)


def in_extended_precision(X, nu, length_scale):
    """Matern kernel values from differences, in numbers of 64 bits after the point."""
    points = X.astype(np.longdouble)
    r = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2)) / np.longdouble(length_scale)
    root = np.sqrt(np.longdouble(3.0)) * r
    return {
        0.5: np.exp(-r),
        1.5: (1 + root) * np.exp(-root),
        np.inf: np.exp(-(r**2) / 2),
    }[nu]


@pytest.mark.parametrize("nu", [0.5, 1.5, np.inf])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e8])
@pytest.mark.parametrize("rows", ["one row", "constant", "equal", "pairs", "near", "any"])
def test_value_error_bounds_the_error_of_values(rows, offset, form, nu):
    """Equal rows have no distance, and the slope of Matern 1/2 there is infinite."""
    points = X[:6] + offset
    points = {
        "one row": points[:1],
        "constant": np.full((6, 3), 0.1 + offset),
        "equal": np.repeat(points[:1], 6, axis=0),
        "pairs": np.repeat(points, 2, axis=0),
        "near": np.concatenate([points, points + 1e-9]),
        "any": points,
    }[rows]
    kernel, given = Matern(0.37, nu), form(points)
    bound = kernel.value_error(given)
    # Values that need relative digits of a distance have 1e-12 of it, and rows that are not moved
    # have two roundings of their size.
    size = np.max(np.linalg.norm(points, axis=1)) / 0.37
    assert 0 <= bound <= 1.001 * (1e-12 + (0 if form is np.asarray else 2 * EPS * size))
    assert kernel.value_error(form(points.astype(np.float32))) == 0.0
    assert kernel.value_error(form(points[:0])) == 0.0
    exact = in_extended_precision(points, nu, 0.37)
    for values in (kernel(given), kernel(given, given), kernel.against(given)(given)):
        # Beyond the bound there are units in the last place.
        assert np.max(np.abs(values - exact)) <= bound + 8 * EPS


def test_narrow_kernels_on_distant_data_keep_their_digits():
    """Data at 1e5 +- 1 with width 1e-3: formula and naive kernel would give noise."""
    far = 1e5 + rng.uniform(-1, 1, size=(30, 2))
    near = far + 5e-4 * rng.normal(size=far.shape)
    difference = far[:, None, :] - near[None, :, :]
    expected = np.exp(-0.5 * (difference**2).sum(axis=2) / 1e-6)
    assert expected.max() > 0.5
    # Relative error of s: 1e-8, and exp(-s / 2) changes by at most s/2 exp(-s / 2) < 0.37 of it.
    np.testing.assert_allclose(Gaussian(1e-3)(far, near), expected, rtol=0, atol=4e-9)


# Spectra ----------------------------------------------------------------------------------------


def profile(kernel, r):
    return float(kernel(np.array([[0.0]]), np.array([[r]]))[0, 0])


def transform(kernel, omega, dim):
    r"""Radial Fourier transform, w^-v int r^(v+1) k(r) J_v(w r) dr with v = d/2 - 1."""
    if dim == 2:

        def integrand(r):
            return r * profile(kernel, r) * special.j0(omega * r)

        edges = np.linspace(0.0, 400.0, 401)
        parts = [
            integrate.quad(integrand, a, b, epsabs=1e-13, epsrel=1e-11)[0]
            for a, b in itertools.pairwise(edges)
            if profile(kernel, a) > 1e-18
        ]
        return sum(parts)
    weight = "cos" if dim == 1 else "sin"
    value, _ = integrate.quad(
        lambda r: (r if dim == 3 else 1.0) * profile(kernel, r),
        0.0,
        np.inf,
        weight=weight,
        wvar=omega,
        epsabs=1e-11,
        limlst=500,
    )
    return np.sqrt(2 / np.pi) * value / (omega if dim == 3 else 1.0)


RADIAL = [
    Gaussian(0.8),
    Matern(0.8, nu=0.5),
    Matern(0.8, nu=1.5),
    Matern(1.1, nu=2.5),
    Matern(1.1, nu=0.8),
    Matern(1.1, nu=np.inf),
    RationalQuadratic(0.9, alpha=4.5),
]


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
def test_spectrum_is_the_fourier_transform(kernel, dim):
    for omega in (0.3, 1.0, 2.5):
        expected = transform(kernel, omega, dim)
        found = kernel.spectrum(np.array([omega]), dim)[0]
        # The quadrature promises 1e-11 per piece, at most 400 pieces.
        assert found == pytest.approx(expected, rel=1e-8, abs=4e-9)


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
def test_spectrum_integrates_to_the_value_at_zero(kernel, dim):
    sphere = 2 * np.pi ** (dim / 2) / special.gamma(dim / 2)

    def integrand(w):
        return w ** (dim - 1) * kernel.spectrum(np.array([w]), dim)[0]

    total = integrate.quad(integrand, 0, 1)[0] + integrate.quad(integrand, 1, np.inf)[0]
    assert (2 * np.pi) ** (-dim / 2) * sphere * total == pytest.approx(1.0, rel=1e-7)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_spectrum_of_the_exponential_as_printed(dim):
    a, omega = 1.7, np.linspace(0.0, 5.0, 9)
    gamma = special.gamma((dim + 1) / 2)
    expected = 2 ** (dim / 2) * a / np.sqrt(np.pi) * gamma / (a**2 + omega**2) ** ((dim + 1) / 2)
    np.testing.assert_allclose(Matern(1 / a, 0.5).spectrum(omega, dim), expected, rtol=1e-13)


@pytest.mark.parametrize("alpha", [0.4, 0.5, 1.0, 40.0])
def test_spectrum_of_heavy_and_light_tails(alpha):
    """In one dimension; alpha = 0.4 and 0.5 have a pole at zero."""
    kernel = RationalQuadratic(1.0, alpha)
    for omega in (0.4, 1.5):
        expected = transform(kernel, omega, 1)
        assert kernel.spectrum(np.array([omega]))[0] == pytest.approx(expected, rel=1e-7)
    assert np.isinf(kernel.spectrum(np.zeros(1))[0]) == (alpha <= 0.5)


def test_rational_quadratic_approaches_the_gaussian():
    omega = np.linspace(0.0, 3.0, 5)
    for dim in (1, 3):
        found = RationalQuadratic(0.8, 1e7).spectrum(omega, dim)
        np.testing.assert_allclose(found, Gaussian(0.8).spectrum(omega, dim), rtol=1e-5)


@pytest.mark.parametrize("kernel", [Gaussian, Laplacian])
def test_spectra_of_products_over_features_are_products(kernel):
    omega = rng.normal(size=(8, 3))
    expected = np.prod(
        [kernel(s).spectrum(w) for s, w in zip(SCALES, omega.T, strict=True)], axis=0
    )
    np.testing.assert_allclose(kernel(SCALES).spectrum(omega, 3), expected, rtol=1e-13)


def test_spectrum_of_the_laplacian_is_the_fourier_transform():
    for omega in (0.3, 1.0, 2.5):
        expected = transform(Laplacian(1.4), omega, 1)
        assert Laplacian(1.4).spectrum(np.array([omega]))[0] == pytest.approx(expected, rel=1e-8)


def test_vectors_and_lengths_of_frequencies_agree():
    omega = rng.normal(size=(8, 3))
    length = np.linalg.norm(omega, axis=1)
    for kernel in RADIAL:
        np.testing.assert_allclose(
            kernel.spectrum(omega, 3), kernel.spectrum(length, 3), rtol=1e-12
        )


@pytest.mark.parametrize("scale", [0.9, SCALES], ids=["tied", "single"])
@pytest.mark.parametrize("far", [0.0, 1e3], ids=["near", "far"])  # far points: no compiled pass
@pytest.mark.parametrize(
    "make", [Gaussian, partial(Matern, nu=1.5), partial(Matern, nu=2.5)], ids=["inf", "3/2", "5/2"]
)
def test_compiled_passes_are_the_formulas(make, far, scale):
    kernel, generator = make(scale), np.random.default_rng(5)
    P = generator.normal(size=(150, 3))
    P[:2] += far
    G = generator.normal(size=(150, 150))
    G = G + G.T
    # An absolute error of 1e-12 of a squared distance is one of the value.
    np.testing.assert_allclose(kernel.symmetric(P), kernel(P, P.copy()), rtol=0, atol=1e-11)
    expected = np.tensordot(G, kernel.gradient(P)["length_scale"], axes=2)
    np.testing.assert_allclose(
        kernel.pullback(P, G)["length_scale"], expected, rtol=1e-9, atol=1e-9 * 150
    )


@pytest.mark.parametrize("nu", [1.5, 2.5])
@pytest.mark.parametrize("far", [0.0, 1e6])
def test_compiled_sums_of_matern_values_are_the_formula(nu, far):
    generator = np.random.default_rng(7)
    P, Q = generator.normal(size=(300, 3)), generator.normal(size=(40, 3))
    P[0] += far
    machine = LSSVR(Matern(SCALES, nu=nu), C=10.0).fit(P, np.sin(2.0 * P[:, 1]))
    a = np.sqrt(2.0 * nu) * cdist(Q / SCALES, P / SCALES)
    K = (1.0 + a + (a * a / 3.0 if nu == 2.5 else 0.0)) * np.exp(-a)
    coefficients = np.zeros(300)
    coefficients[machine.support_] = np.ravel(machine.dual_coef_)
    expected = K @ coefficients + machine.intercept_
    np.testing.assert_allclose(machine.predict(Q), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Gaussian(SCALES).spectrum(np.ones(2), 3), "pass frequency vectors"),
        (lambda: Laplacian(1.0).spectrum(np.ones(2), 3), "pass frequency vectors"),
        (lambda: Gaussian(SCALES).spectrum(np.ones((2, 2)), 2), "the dimension is 2"),
        (lambda: Gaussian(1.0).spectrum(np.ones((2, 2)), 3), "must have shape"),
        (lambda: Gaussian(0.0), "positive number"),
        (lambda: Gaussian([1.0, -1.0]), "positive number"),
        (lambda: Gaussian([]), "positive number"),
        (lambda: Gaussian(np.nan), "positive number"),
        (lambda: Gaussian([[1.0]]), "positive number"),
        (lambda: Gaussian.from_gamma(-1.0), "gamma must be at least 0"),
        (lambda: Gaussian([1.0, 2.0])(X), "2 entries but the points have 3"),
        (lambda: Laplacian([1.0, 2.0])(X), "2 entries but the points have 3"),
        (lambda: Matern(nu=0.0), "nu must be positive"),
        (lambda: RationalQuadratic(alpha=0.0), "alpha must be"),
        (lambda: RationalQuadratic(alpha=np.inf), "Gaussian"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
