"""Convolutions against sums over grids, closed forms and each other."""

import numpy as np
import pytest
from scipy import special

from mercer.kernels import BSpline, Gaussian, Laplacian, Linear, Matern, RationalQuadratic
from mercer_research.kernels import FromSpectrum, self_convolution
from mercer_research.kernels.convolution import convolution_root

CLOSED = [Gaussian(0.8), BSpline(0.7, degree=1), Matern(0.6, nu=1.5), Matern(0.5, nu=2.5)]


def along(kernel, lags):
    return kernel(np.zeros((1, 1)), np.asarray(lags)[:, None])[0]


@pytest.mark.parametrize(
    "kernel", [*CLOSED, 2.5 * Gaussian(0.8), RationalQuadratic(0.5, 3.0)], ids=repr
)
def test_a_fine_grid_multiplies_like_the_convolution(kernel):
    """The matrix h K^2 is that of k * k on a dense uniform grid, away from its ends."""
    h = 0.02
    X = np.arange(-8.0, 8.0 + h / 2, h)[:, None]
    K = kernel(X)
    middle = len(X) // 2
    found = h * K[middle] @ K[:, middle : middle + 100]
    exact = along(self_convolution(kernel), h * np.arange(100))
    # The trapezoidal rule: exact to rounding for smooth kernels, h^2 where a derivative jumps;
    # the tail of the rational quadratic beyond 8 is (8/0.5)^-12 / 6 of it.
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-3 * exact[0])


def test_the_gaussian_on_a_grid_to_rounding():
    s, h = 0.8, 0.1
    X = np.arange(-10.0, 10.0 + h / 2, h)[:, None]
    K = Gaussian(s)(X)
    t = X[100:140, 0] - X[100, 0]
    exact = s * np.sqrt(np.pi) * np.exp(-(t**2) / (4 * s**2))
    np.testing.assert_allclose(h * (K @ K)[100, 100:140], exact, rtol=0, atol=1e-13)
    np.testing.assert_allclose(along(self_convolution(Gaussian(s)), t), exact, rtol=0, atol=1e-14)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize(
    "kernel", [*CLOSED, Gaussian([0.5, 1.0, 2.0]), BSpline([0.5, 1.0, 2.0], 1)], ids=repr
)
def test_spectra_are_squared_and_rooted(kernel, dim):
    if np.ndim(kernel.length_scale) and dim != 3:
        return
    rng = np.random.default_rng(0)
    omega = rng.normal(size=(9, dim))
    squared = self_convolution(3.0 * kernel, dim).spectrum(omega, dim)
    exact = 9.0 * (2 * np.pi) ** (dim / 2) * kernel.spectrum(omega, dim) ** 2
    np.testing.assert_allclose(squared, exact, rtol=1e-11)
    back = convolution_root(self_convolution(3.0 * kernel, dim), dim)
    np.testing.assert_allclose(
        back.spectrum(omega, dim), 3.0 * kernel.spectrum(omega, dim), rtol=1e-11
    )


def test_identities_of_the_documents():
    """Widths: sigma -> sqrt(2) sigma, B_n -> B_(2n+1), exponential -> (1 + t) e^-t."""
    assert self_convolution(Gaussian(1.0)).kernel.length_scale == pytest.approx(np.sqrt(2.0))
    square = self_convolution(BSpline(1.0, 1))
    assert square.kernel == BSpline(1.0, 3)
    assert square.factor == pytest.approx(1.0, rel=1e-15)
    assert convolution_root(BSpline(1.0, 9)).kernel == BSpline(1.0, 4)
    t = np.linspace(0, 5, 21)
    for exponential in (Laplacian(2.0), Matern(2.0, nu=0.5)):
        found = along(self_convolution(exponential), t)
        np.testing.assert_allclose(found, 2.0 * (1 + t / 2) * np.exp(-t / 2), rtol=1e-12)
    assert self_convolution(Matern(1.0, nu=np.inf)) == self_convolution(Gaussian(1.0))


def test_the_gaussian_root_of_the_documents():
    """The kernel s exp(-t^2/h) is the convolution of a multiple of exp(-2 t^2/h) with itself."""
    s, h = 3.0, 0.7
    for dim in (1, 2, 3):
        root = convolution_root(s * Gaussian(np.sqrt(h / 2)), dim)
        amplitude = np.sqrt(s / ((np.pi / 2) ** (dim / 2) * (h / 2) ** (dim / 2)))
        t = np.linspace(0, 2, 9)
        np.testing.assert_allclose(along(root, t), amplitude * np.exp(-2 * t**2 / h), rtol=1e-12)


def test_the_root_of_the_exponential_kernel_is_known_but_unbounded():
    """K_0 convolved with itself by its spectrum, which is that of the exponential kernel."""
    s, h = 2.0, 0.7
    with pytest.raises(ValueError, match="bounded only if nu > dim / 2"):
        convolution_root(s * Laplacian(h))
    # The cosine transform of K_0(t/h) is pi/2 / sqrt(1/h^2 + w^2).
    omega = np.linspace(0, 4, 9)
    amplitude = np.sqrt(2 * s / h) / np.pi
    transform = np.sqrt(2 / np.pi) * amplitude * (np.pi / 2) / np.sqrt(h**-2 + omega**2)
    exact = s * Laplacian(h).spectrum(omega)
    np.testing.assert_allclose(np.sqrt(2 * np.pi) * transform**2, exact, rtol=1e-12)
    # And a value of the convolution by quadrature, with logarithmic poles at 0 and t: a power of
    # six towards them makes the integrand smooth.
    u, weight = np.polynomial.legendre.leggauss(100)
    v, t, total = 0.5 * (1 + u), 0.5, 0.0
    for side in (-12.0, 0.5 * t):
        away = np.abs(side) * v**6
        other = t - np.sign(side) * away
        # The two poles are mirror images of each other.
        values = special.k0(away / h) * special.k0(other / h)
        total += 2 * np.sum(0.5 * weight * 6 * v**5 * np.abs(side) * values)
    assert amplitude**2 * total == pytest.approx(s * np.exp(-t / h), rel=1e-10)


@pytest.mark.parametrize("dim", [1, 2])
def test_the_general_way_agrees_with_closed_forms(dim):
    """A sum of one kernel is not recognized, so that its spectrum is used."""
    t = np.linspace(0, 6, 30)
    for kernel in (Matern(1.2, nu=2.5), Gaussian(0.9))[: 3 - dim]:
        hidden = 0.5 * kernel + 0.5 * kernel
        square, root = self_convolution(hidden, dim), convolution_root(hidden, dim)
        assert isinstance(square.kernel, FromSpectrum)
        assert isinstance(root.kernel, FromSpectrum)
        exact = along(self_convolution(kernel, dim), t)
        np.testing.assert_allclose(along(square, t), exact, rtol=0, atol=1e-10 * exact[0])
        exact = along(convolution_root(kernel, dim), t)
        np.testing.assert_allclose(along(root, t), exact, rtol=0, atol=1e-10 * exact[0])


def test_high_splines_are_convolved_from_their_spectrum():
    kernel = BSpline(1.0, degree=5)
    t = np.linspace(0, 5, 11)
    x = np.linspace(-4, 4, 8001)
    exact = [np.sum(along(kernel, np.abs(x)) * along(kernel, np.abs(x - s))) * 1e-3 for s in t]
    # Splines of degree 5 have four continuous derivatives: the sum is exact to h^6.
    np.testing.assert_allclose(along(self_convolution(kernel), t), exact, rtol=0, atol=1e-11)


def test_fitted_values_of_coefficient_ridge_are_those_of_the_squared_matrix():
    """K (K^2 + lambda I)^-1 K y = K^2 (K^2 + lambda I)^-1 y."""
    rng = np.random.default_rng(0)
    X, y, lam = rng.uniform(size=(40, 1)), rng.normal(size=40), 0.1
    K = Gaussian(0.2)(X)
    a = np.linalg.solve(K @ K + lam * np.eye(40), K @ y)
    fitted = K @ K @ np.linalg.solve(K @ K + lam * np.eye(40), y)
    np.testing.assert_allclose(K @ a, fitted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("convolve", [self_convolution, convolution_root])
def test_kernels_without_a_convolution_are_refused(convolve):
    with pytest.raises(ValueError, match="kernels of the distance"):
        convolve(Linear())
    with pytest.raises(ValueError, match="in 2 dimensions"):
        convolve(Laplacian(), dim=2)
