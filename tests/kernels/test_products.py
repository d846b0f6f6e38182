"""Kernel values times coefficients: in blocks, for runs of columns."""

import numpy as np
import pytest
from scipy import sparse

from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial, Precomputed, Sigmoid
from mercer.kernels.callable import Callable
from mercer.kernels.products import products

EPS = np.finfo(np.float64).eps
rng = np.random.default_rng(0)
X, Z = 0.7 * rng.normal(size=(1200, 4)), 0.7 * rng.normal(size=(900, 4))
A = rng.normal(size=(900, 2))
ENDS = [250, 250, 900]
KERNELS = [
    Gaussian(1.0),
    Gaussian([0.5, 1.0, 2.0, np.inf]),
    Matern(1.0, 0.5),
    Polynomial(3, 0.3, 1.0),
    Sigmoid(0.2),
    Linear(),
    Laplacian(2.0),
    2.0 * Gaussian(1.0) + Linear(),
    Callable(lambda X, Z: (X @ Z.T) ** 2),
]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: repr(k).split(" at ")[0])


def expected(kernel, X, Z, A, ends):
    K, starts = kernel(X, Z), [0, *ends][:-1]
    return np.stack([K[:, a:b] @ A[a:b] for a, b in zip(starts, ends, strict=True)])


@every_kernel
def test_values_are_those_of_the_matrix(kernel, monkeypatch):
    exact = expected(kernel, X, Z, A, ENDS)
    close = {"rtol": 0, "atol": 900 * EPS * np.abs(kernel(X, Z)).max() * np.abs(A).max()}
    np.testing.assert_allclose(products(kernel, Z, X, A, ENDS), exact, **close)
    monkeypatch.setattr("mercer.kernels.products.BLOCK_BYTES", 10_000)
    np.testing.assert_allclose(products(kernel, Z, X, A, ENDS), exact, **close)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@every_kernel
@pytest.mark.parametrize("q", [1, 2])
def test_a_row_does_not_depend_on_its_company(kernel, layout, q):
    if layout is not np.asarray and isinstance(kernel, Callable):
        return
    X_, Z_, coef = layout(X), layout(Z), A[:, :q]
    exact = expected(kernel, X, Z, coef, ENDS)
    close = {"rtol": 0, "atol": 900 * EPS * np.abs(kernel(X, Z)).max() * np.abs(A).max()}
    for rows in (slice(None), slice(7), slice(3, 4), slice(None, None, -1)):
        found = products(kernel, Z_, X_[rows], coef, ENDS)
        np.testing.assert_allclose(found, exact[:, rows], **close)


def test_points_too_large_to_be_made_dense_stay_sparse(monkeypatch):
    monkeypatch.setattr("mercer.kernels.products.DENSE_BYTES", 100.0)
    S, T = sparse.csr_array(X), sparse.csr_array(Z)
    found = products(Gaussian(1.0), T, S, A, ENDS)
    assert np.abs(found - expected(Gaussian(1.0), X, Z, A, ENDS)).max() < 1e-10


def test_points_beyond_single_precision():
    far = 1e40 * X
    found = products(Gaussian(1e40), 1e40 * Z, far, A, ENDS)
    assert np.abs(found - expected(Gaussian(1.0), X, Z, A, ENDS)).max() < 1e-10


def test_the_precomputed_kernel_reads_its_columns():
    K, index = X @ rng.normal(size=(4, 20)), np.array([3, 7, 8])
    found = products(Precomputed(), index, K, A[:3], [1, 3])
    np.testing.assert_allclose(found[0], K[:, [3]] @ A[:1])
    np.testing.assert_allclose(found[1], K[:, [7, 8]] @ A[1:3])


def test_no_points_and_no_runs():
    assert products(Gaussian(1.0), Z, X[:0], A, ENDS).shape == (3, 0, 2)


def test_points_far_from_zero_keep_their_digits():
    """A date in seconds, rounded to float32, is off by a minute."""
    found = products(Gaussian(1.0), 1.7e9 + Z, 1.7e9 + X, A, ENDS)
    exact = expected(Gaussian(1.0), (1.7e9 + X) - 1.7e9, (1.7e9 + Z) - 1.7e9, A, ENDS)
    assert np.abs(found - exact).max() < 1e-10


def test_only_stationary_kernels_have_an_origin():
    np.testing.assert_allclose((2.0 * Gaussian(1.0) + Laplacian(1.0)).origin(X), X.mean(axis=0))
    assert (Gaussian(1.0) + Linear()).origin(X) is None
    assert Gaussian(1.0).origin(sparse.csr_array(X)) is None
    assert Gaussian(1.0).origin(X.astype(np.float32)) is None
