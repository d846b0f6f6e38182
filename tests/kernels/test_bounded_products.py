"""Sums of Gaussians in float32 are within their proved bounds of those in float64."""

import numpy as np
import pytest
from scipy import sparse

from mercer.kernels import Gaussian, Linear, Matern
from mercer.kernels.bounded_products import bounded_products
from mercer.kernels.products import products

ENDS = [100, 100, 256]


@pytest.fixture(autouse=True)
def always(monkeypatch):
    monkeypatch.setattr("mercer.kernels.bounded_products.WORTH", 1)


def draw(kind, p, rng):
    if kind == "biased":
        # Every coordinate is rounded the same way, and so is every partial sum.
        signs = rng.choice([-1.0, 1.0], size=(768, 1))
        X = signs * (1.0 + 0.49 * 2.0**-23) * np.ones(p) / np.sqrt(p)
        X *= rng.uniform(0.9, 1.1, size=(768, 1))
    else:
        X = rng.normal(size=(768, p)) / np.sqrt(p)
    if kind == "outliers":
        X[::50] *= 60.0
    return X[:512], X[512:]


@pytest.mark.parametrize("q", [1, 3])
@pytest.mark.parametrize("p", [1, 8, 300])
@pytest.mark.parametrize("width", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("kind", ["normal", "outliers", "biased"])
def test_bounds_hold(kind, width, p, q):
    rng = np.random.default_rng(p)
    X, Z = draw(kind, p, rng)
    A = rng.normal(size=(256, q))
    kernel = Gaussian(width)
    exact = products(kernel, Z, X, A, ENDS)
    found = bounded_products(kernel, Z, X, A, ENDS)
    assert np.all(np.abs(found.values - exact).max(axis=2) <= found.bounds)
    # Nor are they much larger than what float32 must lose: rounded coordinates of p features.
    terms = products(kernel, Z, X, np.abs(A).max(axis=1, keepdims=True), ENDS)[..., 0]
    ordinary = np.abs(X).max(axis=1) < 3.0
    largest = 4.0 * max(1.0, np.max(np.sum(X[ordinary] ** 2, axis=1))) / min(width, 1.0) ** 2
    part = 2.0**-24 * (p + 300) * largest * 20.0
    if kind != "outliers":
        assert np.all(found.bounds[:, ordinary] <= part * terms[:, ordinary] + 1e-30)


@pytest.mark.parametrize("p", [1, 3])
def test_bounds_are_nearly_met(p):
    """The constant is no guess: of many single terms some are off by a good part of it."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(2, p))
    x = z[0] + 0.3 * rng.normal(size=(20_000, p))
    a = np.array([[1.0], [0.0]])
    found = bounded_products(Gaussian(0.1), z, x, a, [2])
    error = np.abs(found.values - products(Gaussian(0.1), z, x, a, [2]))[0, :, 0]
    assert np.all(error <= found.bounds[0])
    assert np.max(error / found.bounds[0]) > 0.1


def test_points_too_far_for_float32_have_no_bound():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(600, 2)), rng.normal(size=(50, 2))
    X[3], X[5] = 1e5, 1e30
    found = bounded_products(Gaussian(1e-2), Z, X, np.ones((50, 1)), [50])
    assert np.flatnonzero(np.isinf(found.bounds[0])).tolist() == [3, 5]


def test_what_has_no_bound(monkeypatch):
    rng = np.random.default_rng(0)
    X, A = rng.normal(size=(600, 3)), np.ones((600, 1))
    assert bounded_products(Gaussian(1.0), X, X, A, [600]) is not None
    assert bounded_products(Matern(1.0, 1.5), X, X, A, [600]) is None
    assert bounded_products(Linear(), X, X, A, [600]) is None
    assert bounded_products(2.0 * Gaussian(1.0), X, X, A, [600]) is None
    S = sparse.csr_array(X)
    assert bounded_products(Gaussian(1.0), S, S, A, [600]) is None
    assert bounded_products(Gaussian(1.0), X, X[:50], A, [600]) is None
    monkeypatch.setattr("mercer.kernels.bounded_products.WORTH", 10**6)
    assert bounded_products(Gaussian(1.0), X, X, A, [600]) is None
