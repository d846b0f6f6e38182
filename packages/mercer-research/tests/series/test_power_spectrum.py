"""Spectra of simulated processes, and the kernels made of them."""

import numpy as np
import pytest
from scipy import integrate

from mercer.kernels import Gaussian, Matern, SpectralMixture
from mercer_research.kernels import FromSpectrum
from mercer_research.series import kernel_from_power_spectrum
from mercer_research.series.power_spectrum import PowerSpectrum, power_spectrum
from mercer_research.series.toeplitz import Toeplitz


def along(kernel, lags):
    return kernel(np.zeros((1, 1)), np.asarray(lags, dtype=float)[:, None])[0]


def test_the_power_of_white_noise():
    noise = 3.0 * np.random.default_rng(0).normal(size=2**15)
    exact = 9.0 * 0.25 / np.sqrt(2 * np.pi)
    estimate = power_spectrum(noise, spacing=0.25, segment=256)
    # Some 128 independent segments: standard errors of 9 % a frequency, and of 1 % for the mean.
    assert estimate.power[1:-1].mean() == pytest.approx(exact, rel=0.03)
    assert np.abs(estimate.power[1:] / exact - 1).max() < 0.6
    assert estimate.omega[-1] == pytest.approx(np.pi / 0.25)
    half = power_spectrum(noise[:1000], times=0.25 * np.arange(1000) + 0.0, average=20)
    assert half.power[20:-20].mean() == pytest.approx(exact, rel=0.2)


def test_variance_is_the_integral_of_the_power():
    y = Toeplitz(along(Matern(5.0), np.arange(4000))).sample(random_state=0)[0]
    estimate = power_spectrum(y, segment=512)
    total = 2 / np.sqrt(2 * np.pi) * integrate.trapezoid(estimate.power, estimate.omega)
    assert total == pytest.approx(y.var(), rel=0.15)


@pytest.mark.parametrize("times", [False, True])
def test_paths_of_a_kernel_have_its_spectrum(times):
    """The spectrum of a Gaussian process is that of its covariance."""
    kernel, spacing = 2.0 * Matern(3.0, nu=1.5), 0.5
    rng = np.random.default_rng(0)
    total = 0.0
    for _ in range(30):
        if times:
            t = np.sort(rng.uniform(0, 150, size=300))
            K = kernel(t[:, None]) + 1e-10 * np.eye(300)
            y = np.linalg.cholesky(K) @ rng.normal(size=300)
            estimate = power_spectrum(y, times=t, n_frequencies=300)
        else:
            row = along(kernel, spacing * np.arange(1024))
            y = Toeplitz(row).sample(random_state=rng)[0]
            estimate = power_spectrum(y, spacing=spacing, segment=256)
        total = total + estimate.power / 30
    band = (estimate.omega > 0.15) & (estimate.omega < 1.2)
    exact = kernel.spectrum(estimate.omega[band])
    if times:
        # Between irregular times power leaks to all frequencies: variance times mean spacing.
        exact = exact + 2.0 * 0.5 / np.sqrt(2 * np.pi)
    # 30 runs of one (or some 7) exponential variables: 18 % (7 %), and the window smears a little.
    worst = np.abs(total[band] / exact - 1)
    assert worst.mean() < (0.25 if times else 0.1)


def test_a_kernel_is_recovered_from_its_series():
    """The spectrum itself is matched."""
    kernel = Gaussian(2.0)
    lags = np.arange(8.0)
    found = 0.0
    rng = np.random.default_rng(1)
    for _ in range(10):
        y = Toeplitz(along(kernel, np.arange(2000))).sample(random_state=rng)[0]
        noisy = y + 0.5 * rng.normal(size=2000)
        estimate = kernel_from_power_spectrum(noisy, noise_variance=0.25, segment=128)
        assert isinstance(estimate, FromSpectrum)
        found = found + along(estimate, lags) / 10
    # Each series has about 2000 / (2 sqrt(pi) 2) = 280 independent values: 8 % for each variance,
    # 3 % for the mean; segments of 128 and their detrending cost a few percent more.
    np.testing.assert_allclose(found, along(kernel, lags), rtol=0, atol=0.12)
    X = np.random.default_rng(0).uniform(0, 50, size=(60, 1))
    assert np.linalg.eigvalsh(estimate(X))[0] > -1e-10


def test_bands_are_fitted():
    exact = SpectralMixture([2.0, 0.7], [0.0, 1.5], [0.3, 0.1])
    omega = np.linspace(0, 3, 600)
    spectrum = PowerSpectrum(omega, exact.spectrum(omega), 1.0)
    found = kernel_from_power_spectrum(spectrum, components=2)
    assert isinstance(found, SpectralMixture)
    np.testing.assert_allclose(along(found, np.arange(15)), along(exact, np.arange(15)), atol=0.02)
    order = np.argsort(found.means)
    # A band around zero and its mirror image look like one if they are nearer than its width.
    np.testing.assert_allclose(np.asarray(found.means)[order], [0.0, 1.5], atol=0.06)
    np.testing.assert_allclose(np.asarray(found.scales)[order], [0.3, 0.1], rtol=0.05)


def test_the_tail_above_the_highest_frequency_is_stated():
    """An exponential covariance sampled at spacing 1: without a tail it cannot have its kink."""
    omega = np.linspace(0, np.pi, 200)
    exact = Matern(2.0, nu=0.5)
    spectrum = PowerSpectrum(omega, exact.spectrum(omega), 1.0)
    with_tail, without = (kernel_from_power_spectrum(spectrum, tail=tail) for tail in (2.0, None))
    # At pi, the spectrum 1/(1/4 + w^2) still decays 2.5 % more slowly than w^-2.
    assert along(with_tail, [0.0])[0] == pytest.approx(1.0, rel=0.01)
    missing = (
        2
        / np.sqrt(2 * np.pi)
        * integrate.quad(lambda w: exact.spectrum(np.array([w]))[0], np.pi, np.inf)[0]
    )
    assert along(without, [0.0])[0] == pytest.approx(1.0 - missing, rel=1e-3)


def test_known_spectra_become_kernels():
    kernel = kernel_from_power_spectrum(lambda w: np.exp(-w))
    np.testing.assert_allclose(along(kernel, [1.0]), np.sqrt(2 / np.pi) / 2, rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: power_spectrum(np.arange(9.0), segment=20), "segment must be"),
        (lambda: power_spectrum(np.arange(3.0), times=[0.0, 1.0, 1.0]), "times must increase"),
        (
            lambda: kernel_from_power_spectrum(
                PowerSpectrum(np.arange(3.0), np.ones(3), 1.0), noise_variance=9.0
            ),
            "No power is left",
        ),
        (
            lambda: kernel_from_power_spectrum(
                PowerSpectrum(np.arange(3.0), np.ones(3), 1.0), tail=0.5
            ),
            "tail must exceed 1",
        ),
    ],
)
def test_nonsense_is_refused_with_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
