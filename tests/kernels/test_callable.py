"""Kernels written as functions."""

import numpy as np
import pytest
from scipy import sparse

from mercer.kernels import Gaussian
from mercer.kernels.callable import Callable, Pairwise

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(40, 3)), rng.normal(size=(15, 3))


def squared_product(A, B):
    return (A @ B.T) ** 2


def test_a_function_of_two_sets():
    kernel = Callable(squared_product)
    np.testing.assert_array_equal(kernel(X, Z), squared_product(X, Z))
    np.testing.assert_array_equal(kernel.against(Z)(X), squared_product(X, Z))
    np.testing.assert_array_equal(kernel(X), kernel(X).T)
    np.testing.assert_allclose(kernel(X), squared_product(X, X), rtol=1e-14)
    np.testing.assert_allclose(kernel.diag(X), (X**2).sum(1) ** 2, rtol=1e-13)
    assert kernel.positive_definite
    assert kernel.gradient(X) == {}


def test_a_function_of_two_samples():
    kernel = Pairwise(lambda x, z: float(x @ z) ** 2)
    np.testing.assert_allclose(kernel(X, Z), squared_product(X, Z), rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(kernel(X), kernel(X).T)
    np.testing.assert_allclose(kernel(X), squared_product(X, X), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(kernel.diag(X), (X**2).sum(1) ** 2, rtol=1e-13)
    assert kernel(X[:0], Z).shape == (0, 15)


def test_functions_join_the_algebra():
    kernel = 2.0 * Callable(squared_product) + Gaussian()
    np.testing.assert_allclose(kernel(X, Z), 2 * squared_product(X, Z) + Gaussian()(X, Z))


def test_points_may_be_anything():
    words = ["alpha", "beta", "gamma", "delta"]

    def common(A, B):
        return np.array([[len(set(a) & set(b)) for b in B] for a in A])

    K = Callable(common)(words)
    assert K.dtype == np.float64
    np.testing.assert_array_equal(K, common(words, words))
    kept = Callable(common).points(words, np.array([2, 0]))
    assert kept == ["gamma", "alpha"]
    np.testing.assert_array_equal(Callable(common)(words, kept), common(words, kept))
    np.testing.assert_array_equal(Callable(common).diag(words), K.diagonal())


def test_the_result_may_be_sparse_and_follows_the_dtype_of_the_points():
    kernel = Callable(lambda A, B: A @ B.T)
    S = sparse.csr_array(X)
    np.testing.assert_allclose(kernel(S, sparse.csr_array(Z)), X @ Z.T, atol=1e-14)
    assert kernel(X.astype(np.float32)).dtype == np.float32


def test_a_result_that_is_a_view_of_the_data_is_copied():
    kernel = 3.0 * Callable(lambda A, B: A[:, :1].T)
    A = np.ones((1, 1))
    assert kernel(A, A)[0, 0] == 3.0
    assert A[0, 0] == 1.0


def test_a_function_that_is_not_symmetric_is_refused():
    with pytest.raises(ValueError, match="not symmetric"):
        Callable(lambda A, B: A @ B.T + A[:, :1])(X)


def test_a_wrong_shape_is_refused_with_a_hint():
    with pytest.raises(ValueError, match=r"returned shape \(\).*must return \(40, 40\).*Pairwise"):
        Callable(lambda a, b: 1.0)(X)


@pytest.mark.parametrize("kind", [Callable, Pairwise])
def test_only_functions_are_accepted(kind):
    with pytest.raises(ValueError, match="must be callable"):
        kind("rbf")
