"""Radial kernels wrapped around boxes: sums of images, Poisson's formula, and what is left out."""

from itertools import product

import numpy as np
import pytest

from mercer.kernels import (
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Matern,
    RationalQuadratic,
    Tensor,
    Wendland,
)
from mercer_research.covering import periodized_spectrum
from mercer_research.kernels import Periodized
from mercer_research.kernels.torus import Torus

EPS = np.finfo(float).eps
RNG = np.random.default_rng(0)

BY_IMAGES = [
    (Matern(1.0), (6.0, 9.0), 12),
    (Gaussian(0.5), (3.0, 2.0), 8),
    (Matern(0.7, nu=0.5), (5.0, 3.0), 14),
    (Matern(0.5, nu=2.5), (5.0, 5.0, 4.0), 6),
    (Wendland(2.0, dim=2), (1.5, 5.0), 4),
]
BY_FREQUENCIES = [
    (Gaussian(3.0), (3.0, 4.0), 14),
    (Gaussian(2.0), (3.0, 2.0, 4.0), 9),
    (Matern(1.0, nu=20.0), (1.0, 1.2), 40),
]


def brute(kernel, sides, u, reach):
    """The sum over all images up to a number of turns, of differences as they are."""
    v = np.asarray(sides)
    images = v * np.array(list(product(range(-reach, reach + 1), repeat=len(v))))
    return np.array([kernel(x - images, np.zeros((1, len(v)))).sum() for x in u])


def differences(sides, n=9):
    return RNG.uniform(-0.5, 0.5, size=(n, len(sides))) * sides


@pytest.mark.parametrize(("kernel", "sides", "reach"), BY_IMAGES + BY_FREQUENCIES, ids=str)
def test_values_are_the_sum_of_images(kernel, sides, reach):
    wrapped, u = Torus(kernel, sides), differences(sides)
    exact, terms = brute(kernel, sides, u, reach), wrapped.truncation()
    assert (terms.images is None) == ((kernel, sides, reach) in BY_FREQUENCIES)
    # Frequencies of a box are sums of both signs, of the size of the value at zero.
    rounding = 50 * EPS * wrapped.diag(np.zeros((1, len(sides))))[0]
    turns = RNG.integers(-2, 3, size=u.shape) * np.asarray(sides)
    found = wrapped(u + turns, np.zeros((1, len(sides))))[:, 0]
    np.testing.assert_allclose(found, exact, rtol=0, atol=terms.error + rounding)


@pytest.mark.parametrize("digits", [2, 5, 9])
@pytest.mark.parametrize(("kernel", "sides", "reach"), BY_IMAGES[:4] + BY_FREQUENCIES, ids=str)
def test_the_error_is_certified(kernel, sides, reach, digits):
    wrapped, u = Torus(kernel, sides, digits), differences(sides, 40)
    u = np.vstack([u, np.zeros(len(sides)), 0.5 * np.asarray(sides)])
    error = np.abs(wrapped(u, np.zeros((1, len(sides))))[:, 0] - brute(kernel, sides, u, reach))
    bound = wrapped.truncation().error
    assert bound <= 10.0**-digits
    assert error.max() <= bound + 1e-12


def test_a_coarse_sum_is_really_cut():
    """The certificate is no more than needed by orders: fewer terms, and an error that shows."""
    sides, u = (6.0, 9.0), differences((6.0, 9.0), 200)
    coarse, fine = Torus(Matern(), sides, 3), Torus(Matern(), sides)
    assert len(coarse.truncation().images) < 0.5 * len(fine.truncation().images)
    error = np.abs(coarse(u, np.zeros((1, 2))) - fine(u, np.zeros((1, 2)))).max()
    assert 1e-3 * coarse.truncation().error < error <= coarse.truncation().error


@pytest.mark.parametrize(("kernel", "sides", "reach"), BY_IMAGES[:3] + BY_FREQUENCIES[::2], ids=str)
def test_poissons_formula(kernel, sides, reach):
    """Coefficients are integrals over the box, here by the trapezoidal rule on a grid."""
    count = 64
    axes = [np.arange(count) * v / count for v in sides]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    sampled = Torus(kernel, sides)(grid, np.zeros((1, 2)))[:, 0].reshape(count, count)
    found = np.fft.fft2(sampled).real / count**2
    n = np.array(list(product(range(-2, 3), repeat=2)))
    # What the grid cannot tell apart: frequencies that differ by multiples of the count. Those
    # beyond the second multiple are less than half of these, since no c falls slower than |n|^-3.
    alias = count * np.array([t for t in product((-2, -1, 0, 1, 2), repeat=2) if any(t)])
    c = Torus(kernel, sides).coefficients
    folded = sum(c(n + shift) for shift in alias)
    slack = 0.5 * folded.max() + 1e-14 * c(np.zeros((1, 2)))[0]
    np.testing.assert_allclose(found[n[:, 0], n[:, 1]], c(n) + folded, rtol=0, atol=slack)


@pytest.mark.parametrize("kernel", [Matern(1.0), Gaussian(0.8), RationalQuadratic(1.0, alpha=4.0)])
def test_the_trace_is_that_of_the_capacity(kernel):
    """Eigenvalues of the lattice sum to the volume times the value at zero."""
    v, dim = 5.0, 2
    spectrum = periodized_spectrum(kernel, v, dim=dim)
    held = float(np.sum(np.exp(spectrum.log_values) * spectrum.counts))
    trace = v**dim * float(Torus(kernel, [v] * dim).diag(np.zeros((1, dim)))[0])
    rest = float(np.exp(spectrum.log_tail))
    assert held - 1e-12 * trace <= trace <= held + rest + 1e-12 * trace
    n = np.array([[0, 0], [0, 1], [1, 1], [0, 2], [1, 2]])
    np.testing.assert_allclose(
        v**dim * Torus(kernel, [v] * dim).coefficients(n),
        np.exp(spectrum.log_values[:5]),
        rtol=1e-12,
    )


def test_eigenvalues_of_a_grid_are_the_spectrum():
    """The Gram matrix of a grid is circulant: cosines are its eigenvectors."""
    sides, count = np.array([4.0, 6.0]), 12
    axes = [np.arange(count) * v / count for v in sides]
    X = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    kernel = Torus(Gaussian(0.9), sides)
    values = np.linalg.eigvalsh(kernel(X))[::-1]
    n = np.array(list(product(range(-40, 41), repeat=2)))
    folded = np.zeros((count, count))
    np.add.at(folded, (n[:, 0] % count, n[:, 1] % count), kernel.coefficients(n))
    exact = np.sort(count**2 * folded.ravel())[::-1]
    np.testing.assert_allclose(values, exact, rtol=0, atol=1e-12 * exact[0])


def test_a_gaussian_is_a_product_of_features():
    X = RNG.uniform(-4, 4, size=(12, 2))
    for width in (0.6, 2.5):
        product_of = Tensor(Periodized(Gaussian(width), period=4.0))(X)
        scale = product_of.max()
        np.testing.assert_allclose(
            Torus(Gaussian(width), (4.0, 4.0))(X), product_of, rtol=0, atol=1e-13 * scale
        )
    # An exponential of the distance is not: the reason for this kernel.
    apart = Tensor(Periodized(Matern(nu=0.5), period=4.0))(X) - Torus(Matern(nu=0.5), (4, 4))(X)
    assert np.abs(apart).max() > 0.1


@pytest.mark.parametrize(("kernel", "sides", "reach"), BY_IMAGES + BY_FREQUENCIES, ids=str)
def test_gram_matrices_are_positive(kernel, sides, reach):
    X = RNG.uniform(-9, 9, size=(40, len(sides)))
    wrapped = Torus(kernel, sides)
    K = wrapped(X)
    assert np.linalg.eigvalsh(K)[0] >= -len(K) * (EPS * np.trace(K) + wrapped.truncation().error)
    np.testing.assert_allclose(
        wrapped.paired(X, X[::-1]), K[:, ::-1].diagonal(), atol=1e-13 * K[0, 0]
    )


def test_frequencies_stay_positive_however_they_are_cut():
    X = RNG.uniform(0, 3, size=(40, 2))
    wrapped = Torus(Gaussian(1.5), (3.0, 3.0), digits=1)
    assert wrapped.truncation().error > 1e-3
    K = wrapped(X)
    assert np.linalg.eigvalsh(K)[0] >= -len(K) * EPS * np.trace(K)


def test_compact_kernels_are_not_changed_by_long_periods():
    X = RNG.uniform(0, 1, size=(20, 2))
    kernel = Wendland(0.7, dim=2)
    np.testing.assert_allclose(Torus(kernel, (1.8, 1.8))(X), kernel(X), rtol=0, atol=4 * EPS)
    assert np.abs(Torus(kernel, (1.2, 1.2))(X) - kernel(X)).max() > 1e-2


def test_what_cannot_be_wrapped():
    with pytest.raises(ValueError, match="distance alone"):
        Torus(Laplacian(), (2.0, 2.0))
    with pytest.raises(ValueError, match="distance alone"):
        Torus(Gaussian([1.0, 2.0]), (2.0, 2.0))
    with pytest.raises(ValueError, match="two positive numbers"):
        Torus(Gaussian(), (2.0,))
    with pytest.raises(ValueError, match="digits"):
        Torus(Gaussian(), (2.0, 2.0), 0)
    with pytest.raises(ValueError, match="2 entries"):
        Torus(Gaussian(), (2.0, 2.0))(np.zeros((3, 3)))
    with pytest.raises(NotImplementedError, match="discrete"):
        Torus(Gaussian(), (2.0, 2.0)).spectrum(np.ones(1))
    # Values like 1/r in the plane have no sum, and their spectrum a pole at zero.
    with pytest.raises(ValueError, match="fall fast enough"):
        Torus(InverseMultiquadric(exponent=0.5), (2.0, 2.0))(np.zeros((1, 2)))


@pytest.mark.parametrize("periods", [(0.0, 1.0), (1.0, np.inf), (1.0, -2.0), (1.0,)])
def test_every_side_of_the_box_is_positive_and_finite(periods):
    with pytest.raises(ValueError, match="two positive numbers"):
        Torus(Gaussian(1.0), periods)
