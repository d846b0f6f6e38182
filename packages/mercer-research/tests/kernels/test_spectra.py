"""Factors and products of kernels whose spectra are known."""

import numpy as np

from mercer.kernels import BSpline, Gaussian, Laplacian
from mercer_research.kernels.convolution import spectral_power
from mercer_research.kernels.spectra import known_product, one_a_feature

RNG = np.random.default_rng(0)
CATEGORIES = (1, 4)
SCALES = np.array([0.7, 1.5, 2.0, 5.0, 0.9, 3.0])


def points(n):
    """Return four columns of numbers and two of categories."""
    X = RNG.normal(size=(n, 6))
    X[:, CATEGORIES] = RNG.integers(-1, 3, size=(n, 2))
    return X


X, Z = points(25), points(15)


def test_factors_and_products_keep_categories():
    kernel = Laplacian(SCALES, CATEGORIES)
    factors = one_a_feature(kernel, 6)
    product = np.prod([k(X[:, [j]], Z[:, [j]]) for j, k in enumerate(factors)], axis=0)
    np.testing.assert_allclose(product, kernel(X, Z), rtol=1e-13)
    both = known_product(kernel, Laplacian(2.0, CATEGORIES[::-1]))
    np.testing.assert_allclose(both(X, Z), kernel(X, Z) * Laplacian(2.0, CATEGORIES)(X, Z))
    assert known_product(kernel, Laplacian(SCALES)) is None
    assert spectral_power(kernel, 2.0) is None


def test_factors_of_other_kernels():
    for kernel in (Gaussian(SCALES), Gaussian(1.3), BSpline(SCALES, 5)):
        parts = [k(X[:, [j]], Z[:, [j]]) for j, k in enumerate(one_a_feature(kernel, 6))]
        np.testing.assert_allclose(np.prod(parts, axis=0), kernel(X, Z), rtol=1e-12)
