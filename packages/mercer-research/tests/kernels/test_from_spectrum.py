"""Kernels from spectra against kernels that are known, and spectra against quadrature."""

import pickle

import numpy as np
import pytest
from scipy import integrate, special

from mercer.kernels import Gaussian, Matern
from mercer_research.kernels import BandLimited, FromSpectrum

EPS = np.finfo(float).eps
LAGS = np.concatenate([[0.0], np.logspace(-6, 2, 200)])


def along(kernel, lags=LAGS):
    """Values at distances from zero."""
    return kernel(np.zeros((1, 1)), np.asarray(lags)[:, None])[0]


def spectrum_of(kernel, dim):
    return lambda w: kernel.spectrum(np.ravel(w), dim).reshape(w.shape)


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
@pytest.mark.parametrize(
    "exact", [Gaussian(1.3), Matern(0.7, nu=1.5), Matern(2.0, nu=3.7)], ids=repr
)
def test_known_kernels_come_back_within_the_error_bound(exact, dim):
    kernel = FromSpectrum(spectrum_of(exact, dim), dim)
    found = along(kernel)
    assert kernel.error <= 1e-12
    # The bound is for the integral; a table is compared with it at some points only.
    np.testing.assert_allclose(found, along(exact), rtol=0, atol=10 * kernel.error)


def test_a_kernel_with_a_kink_and_slow_decay_of_its_spectrum():
    exact = Matern(1.0, nu=0.5)
    kernel = FromSpectrum(spectrum_of(exact, 1))
    np.testing.assert_allclose(along(kernel), along(exact), rtol=0, atol=1e-12)


def test_the_worked_operator_in_unitary_convention():
    """The inverse transform of 1/(1 + w^2) at 0.8."""
    value = along(FromSpectrum(lambda w: 1.0 / (1.0 + w**2)), [0.8])[0]
    assert value == pytest.approx(0.563150343, abs=5e-10)
    assert value == pytest.approx(np.sqrt(np.pi / 2) * np.exp(-0.8), rel=1e-12)
    green = FromSpectrum.from_symbol(lambda w: 1.0 + w**2)
    np.testing.assert_allclose(along(green), 0.5 * np.exp(-LAGS), rtol=0, atol=1e-12)


@pytest.mark.parametrize("h", [0.5, 2.0])
def test_a_gaussian_filter_is_a_gaussian_kernel(h):
    """The weight exp(-w^2/h) belongs to sqrt(h/2) exp(-h t^2/4)."""
    kernel = FromSpectrum(lambda w: np.exp(-(w**2) / h))
    exact = np.sqrt(h / 2) * np.exp(-h * LAGS**2 / 4)
    np.testing.assert_allclose(along(kernel), exact, rtol=0, atol=1e-13)


def test_long_memory():
    """A pole at zero frequency: w^(-1/2) e^-w is the real part of a power of 1 + i t."""
    kernel = FromSpectrum(lambda w: w**-0.5 * np.exp(-w))
    exact = np.sqrt(2 / np.pi) * special.gamma(0.5) * np.real((1 + 1j * LAGS) ** -0.5)
    np.testing.assert_allclose(along(kernel), exact, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_a_density_with_a_kink_at_zero(dim):
    """e^-w is not smooth in more than one dimension; its kernel is that of Poisson."""
    kernel = FromSpectrum(lambda w: np.exp(-w), dim)
    constant = 2 ** (dim / 2) * special.gamma((dim + 1) / 2) / np.sqrt(np.pi)
    exact = constant * (1 + LAGS**2) ** (-(dim + 1) / 2)
    np.testing.assert_allclose(along(kernel), exact, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
def test_a_band_is_band_limited(dim):
    exact = BandLimited(0.5, dim)
    kernel = FromSpectrum(lambda w: exact.spectrum(w.ravel(), dim).reshape(w.shape), dim)
    np.testing.assert_allclose(along(kernel), along(exact), rtol=0, atol=1e-12)


def test_a_table_is_interpolated():
    """Two triangles around +-2 of width 1: a transform that is known."""
    kernel = FromSpectrum(((1.0, 2.0, 3.0), (0.0, 1.0, 0.0)))
    with np.errstate(invalid="ignore"):
        exact = np.sqrt(2 / np.pi) * np.cos(2 * LAGS) * np.sinc(LAGS / (2 * np.pi)) ** 2
    np.testing.assert_allclose(along(kernel), exact, rtol=0, atol=1e-13)
    np.testing.assert_allclose(kernel.spectrum(np.array([0.5, 1.5, 3.5])), [0.0, 0.5, 0.0])


def test_units_of_length():
    kernel = FromSpectrum(lambda w: np.exp(-0.5 * w**2), 2, length_scale=1.7)
    np.testing.assert_allclose(along(kernel), along(Gaussian(1.7)), rtol=0, atol=1e-13)
    omega = np.linspace(0, 3, 7)
    np.testing.assert_allclose(kernel.spectrum(omega, 2), Gaussian(1.7).spectrum(omega, 2))
    X = np.random.default_rng(0).normal(size=(20, 2))
    anisotropic = FromSpectrum(lambda w: np.exp(-0.5 * w**2), 2, length_scale=[0.5, 2.0])
    np.testing.assert_allclose(anisotropic(X), Gaussian([0.5, 2.0])(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("exact", [Gaussian(1.3), Matern(0.7, nu=1.5)], ids=repr)
def test_the_spectrum_in_fewer_dimensions_is_a_projection(exact):
    kernel = FromSpectrum(spectrum_of(exact, 4), 4)
    omega = np.array([0.0, 0.3, 1.0, 2.5])
    for dim in (1, 2, 3, 4):
        found, wanted = kernel.spectrum(omega, dim), exact.spectrum(omega, dim)
        np.testing.assert_allclose(found, wanted, rtol=1e-11)
    with pytest.raises(ValueError, match="in 4 dimensions"):
        kernel.spectrum(omega, 5)


def test_tables_do_not_depend_on_what_was_asked_before():
    asked, fresh = (FromSpectrum(lambda w: np.exp(-w)) for _ in range(2))
    lags = np.array([0.1, 3.0, 200.0])
    one_by_one = [asked._function(np.array([r]))[0] for r in lags]
    np.testing.assert_array_equal(one_by_one, fresh._function(lags))
    # A spectrum e^-w has the kernel sqrt(2/pi) / (1 + t^2), which never becomes negligible.
    exact = np.sqrt(2 / np.pi) / (1 + lags**2)
    np.testing.assert_allclose(one_by_one, exact, rtol=0, atol=1e-13)


def test_far_points_have_nothing_to_do_with_each_other():
    kernel = FromSpectrum(lambda w: np.exp(-0.5 * w**2))
    np.testing.assert_array_equal(along(kernel, [1e7, 1.1e7]), 0.0)


def test_narrow_peaks_are_seen_where_they_are_announced():
    def peak(w):
        return np.exp(-0.5 * ((w - 1000.0) / 1e-3) ** 2)

    with pytest.raises(ValueError, match="zero at all frequencies"):
        FromSpectrum(peak)
    kernel = FromSpectrum(peak, breaks=[1000.0 - 0.01, 1000.0, 1000.0 + 0.01])
    lags = LAGS[LAGS < 1.0]
    exact = 2e-3 * np.exp(-0.5 * (1e-3 * lags) ** 2) * np.cos(1000.0 * lags)
    # Phases up to 1000 are rounded.
    np.testing.assert_allclose(along(kernel, lags), exact, rtol=0, atol=2e-3 * 1000 * 10 * EPS)


def test_negative_densities_are_refused_with_their_place():
    with pytest.raises(ValueError, match=r"is -0\.\d+ at frequency [56]\.\d+\. By Bochner"):
        FromSpectrum(lambda w: np.where(w < 5.0, 1.0, -0.5) * np.exp(-w / 10.0))
    with pytest.raises(ValueError, match="is nan at frequency"):
        FromSpectrum(lambda w: np.full_like(w, np.nan))


def test_densities_that_are_not_integrable_are_refused():
    """1/(1 + w^2) has a bounded kernel in one dimension only."""
    for dim in (2, 3):
        with pytest.raises(ValueError, match=rf"\^-2\.00, but .* faster than \|omega\|\^-{dim}"):
            FromSpectrum(lambda w: 1.0 / (1.0 + w**2), dim)
    with pytest.raises(ValueError, match="not positive at frequency"):
        FromSpectrum.from_symbol(lambda w: w**4 - 1.0)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: FromSpectrum(np.exp, dim=0), "dim must be"),
        (lambda: FromSpectrum(lambda w: np.ones(3)), "as many values"),
        (lambda: FromSpectrum(((0.0, 1.0), (1.0,))), "as many values as frequencies"),
        (lambda: FromSpectrum(((1.0, 0.5), (1.0, 1.0))), "increasing"),
        (lambda: FromSpectrum(((0.0, 1.0), (1.0, -1.0))), "Bochner"),
        (lambda: FromSpectrum(((0.0, 1.0), (1.0, 1.0)))(np.ones((2, 2))), r"set dim=2.*\.on"),
        (lambda: BandLimited()(np.ones((2, 2))), r"set dim=2"),
        (lambda: BandLimited(dim=0), "dim must be"),
        (lambda: BandLimited().spectrum(np.ones(2), 2), "not positive definite in 2"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_changed_parameters_change_the_kernel():
    kernel = FromSpectrum(((0.0, 1.0), (1.0, 1.0)))
    before = along(kernel, [1.0])[0]
    kernel.set_params(density=((0.0, 2.0), (1.0, 1.0)))
    assert before == pytest.approx(np.sqrt(2 / np.pi) * np.sin(1.0), rel=1e-12)
    assert along(kernel, [1.0])[0] == pytest.approx(np.sqrt(2 / np.pi) * np.sin(2.0), rel=1e-12)
    with pytest.raises(ValueError, match="Bochner"):
        kernel.set_params(density=((0.0, 1.0), (1.0, -1.0)))
    assert along(pickle.loads(pickle.dumps(kernel)), [1.0])[0] == along(kernel, [1.0])[0]


def test_band_limited_kernels_in_closed_form():
    a = LAGS[1:] / 0.7
    np.testing.assert_allclose(along(BandLimited(0.7), LAGS[1:]), np.sin(a) / a, atol=1e-13)
    exact = 2 * special.j1(a) / a
    np.testing.assert_allclose(along(BandLimited(0.7, 2), LAGS[1:]), exact, rtol=0, atol=1e-13)
    exact = 3 * special.spherical_jn(1, a) / a
    np.testing.assert_allclose(along(BandLimited(0.7, 3), LAGS[1:]), exact, rtol=0, atol=1e-13)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("more", [0, 1, 2])
def test_the_spectrum_of_a_band_integrates_to_the_kernel(dim, more):
    """By the radial transform in d dimensions, whatever ball the spectrum is projected from."""
    kernel, r = BandLimited(0.5, dim + more), 1.3
    nu = 0.5 * dim - 1

    def integrand(w):
        return kernel.spectrum(np.array([w]), dim)[0] * w ** (nu + 1) * special.jv(nu, w * r)

    value = integrate.quad(integrand, 0, 2.0, epsabs=1e-11)[0] * r**-nu
    # quad loses digits at the end of a band whose spectrum falls like a square root.
    assert value == pytest.approx(along(kernel, [r])[0], abs=1e-8)
