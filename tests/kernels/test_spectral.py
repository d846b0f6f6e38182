"""Kernels from spectra against kernels that are known, and spectra against quadrature."""

import numpy as np
import pytest
from scipy import integrate

from mercer.kernels import Gaussian, SpectralMixture

EPS = np.finfo(float).eps
LAGS = np.concatenate([[0.0], np.logspace(-6, 2, 200)])


def along(kernel, lags=LAGS):
    """Values at distances from zero."""
    return kernel(np.zeros((1, 1)), np.asarray(lags)[:, None])[0]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: SpectralMixture([1.0], [1.0, 2.0], [1.0, 1.0]), "as many means"),
        (lambda: SpectralMixture([-1.0], [1.0], [1.0]), "at least 0"),
        (lambda: SpectralMixture([1.0], [1.0], [0.0]), "positive"),
        (lambda: SpectralMixture([1.0], [1.0], [1.0])(np.ones((2, 2))), "for 1 features"),
        (lambda: SpectralMixture([1.0], [1.0], [1.0]).spectrum(np.ones(2), 2), "dim=1"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_the_spectrum_of_a_mixture_is_the_fourier_transform():
    kernel = SpectralMixture([1.0, 0.5], means=[0.4, 3.0], scales=[0.3, 0.8])
    for omega in (0.0, 0.4, 2.0, 3.3):
        exact = integrate.quad(
            lambda u: along(kernel, [u])[0], 0, 40, weight="cos", wvar=omega, epsabs=1e-11
        )[0]
        found = kernel.spectrum(np.array([omega]))[0]
        assert found == pytest.approx(np.sqrt(2 / np.pi) * exact, abs=1e-10)


def test_a_mixture_over_features_by_its_definition():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(6, 2)) + 1e3, rng.normal(size=(5, 2)) + 1e3
    w, m, s = [0.7, 2.0], rng.normal(size=(2, 2)), rng.uniform(0.5, 2, size=(2, 2))
    u = X[:, None] - Z
    exact = sum(w[q] * np.exp(-0.5 * ((s[q] * u) ** 2).sum(2)) * np.cos(u @ m[q]) for q in range(2))
    kernel = SpectralMixture(w, m, s)
    # Differences of numbers around 1000.
    np.testing.assert_allclose(kernel(X, Z), exact, rtol=0, atol=1e4 * 10 * EPS)
    omega = rng.normal(size=(3, 2))
    one = SpectralMixture(w[:1], m[:1], s[:1]).spectrum(omega, 2)
    parts = [
        0.5 * w[0] * Gaussian(1 / s[0]).spectrum(omega + side * m[0], 2) for side in (-1.0, 1.0)
    ]
    np.testing.assert_allclose(one, sum(parts), rtol=1e-13)
