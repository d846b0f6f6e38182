"""Kernels of the inner product against scikit-learn and against their features."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import pairwise

from mercer.kernels import Linear, Polynomial, Sigmoid
from mercer.kernels.dot_product import monomials

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(25, 3)), rng.normal(size=(15, 3))


def test_linear():
    np.testing.assert_allclose(Linear()(X, Z), pairwise.linear_kernel(X, Z), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(
        Linear().symmetric(X), pairwise.linear_kernel(X), rtol=1e-13, atol=1e-14
    )
    np.testing.assert_allclose(Linear().diag(X), np.sum(X**2, axis=1), rtol=1e-13)


@pytest.mark.parametrize("degree", [1, 2, 3, 7])
@pytest.mark.parametrize("coef0", [0.0, 0.7, -0.4])
def test_polynomial_is_that_of_scikit_learn(degree, coef0):
    kernel = Polynomial(degree, 0.3, coef0)
    expected = pairwise.polynomial_kernel(X, Z, degree=degree, gamma=0.3, coef0=coef0)
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-12, atol=1e-13)
    expected = pairwise.polynomial_kernel(X, degree=degree, gamma=0.3, coef0=coef0)
    np.testing.assert_allclose(kernel(X), expected, rtol=1e-12, atol=1e-13)
    assert kernel.positive_definite == (coef0 >= 0)


def test_a_negative_constant_is_really_not_positive_definite():
    assert np.linalg.eigvalsh(Polynomial(2, 1.0, -1.0)(X))[0] < -1e-3


def test_sigmoid_is_that_of_scikit_learn():
    expected = pairwise.sigmoid_kernel(X, Z, gamma=0.3, coef0=-0.2)
    np.testing.assert_allclose(Sigmoid(0.3, -0.2)(X, Z), expected, rtol=1e-13, atol=1e-14)


def test_the_square_of_the_inner_product_is_the_inner_product_of_squares():
    """Features x1^2, sqrt(2) x1 x2, x2^2."""
    A, B = X[:, :2], Z[:, :2]
    features = [np.c_[M[:, 0] ** 2, np.sqrt(2) * M[:, 0] * M[:, 1], M[:, 1] ** 2] for M in (A, B)]
    np.testing.assert_allclose(
        Polynomial(degree=2)(A, B), features[0] @ features[1].T, rtol=1e-12, atol=1e-14
    )


def test_the_inhomogeneous_polynomial_is_a_sum_of_homogeneous_ones():
    c = 0.8
    expected = Linear() ** 3 + 3 * c * Linear() ** 2 + 3 * c**2 * Linear()
    np.testing.assert_allclose(
        Polynomial(3, coef0=c)(X, Z), expected(X, Z) + c**3, rtol=1e-11, atol=1e-12
    )


def test_degree_zero_is_constant():
    np.testing.assert_array_equal(Polynomial(0, coef0=-2.0)(X, Z), 1.0)
    assert Polynomial(0, coef0=-2.0).positive_definite
    for gradient in Polynomial(0).gradient(X, Z).values():
        np.testing.assert_array_equal(gradient, np.zeros((25, 15)))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Polynomial(degree=-1), "degree must be"),
        (lambda: Polynomial(degree=2.5), "degree must be"),
        (lambda: Polynomial(gamma=-1.0), "gamma must be"),
        (lambda: Polynomial(coef0=np.nan), "coef0 must be"),
        (lambda: Sigmoid(gamma=np.inf), "gamma must be"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(build, message):
    with pytest.raises(ValueError, match=message):
        build()


# The explicit map of monomials --------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel", [Polynomial(3), Polynomial(4, 0.6, 0.9), Polynomial(0)], ids=repr
)
def test_monomials_are_the_features_of_polynomial_kernels(kernel):
    expected = kernel(X, Z)
    found = kernel.features(X) @ kernel.features(Z).T
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(kernel.features(csr_array(X)), kernel.features(X))
    assert kernel.features(X.astype(np.float32)).dtype == np.float32


def test_the_map_of_degree_two_in_the_plane():
    found = Polynomial(2).features([[2.0, 3.0]])
    np.testing.assert_allclose(found, [[4.0, np.sqrt(2) * 6.0, 9.0]])
    assert Polynomial(2, coef0=1.0).features(X).shape == (25, 10)


def test_monomials_are_counted_before_they_are_listed():
    assert len(monomials(4, 3)) == 20
    assert (monomials(4, 3).sum(axis=1) == 3).all()
    with pytest.raises(ValueError, match="There are 9525431552 monomials of degree 5 in 256"):
        Polynomial(5).features(np.ones((1, 256)))


def test_no_features_of_what_is_not_positive_definite():
    with pytest.raises(ValueError, match="no feature map"):
        Polynomial(2, coef0=-1.0).features(X)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(3, 0.5, 1.0), Sigmoid(0.3, -0.1)])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_square_is_symmetric_and_that_of_a_call(kernel, kind):
    X = np.random.default_rng(0).normal(size=(70, 5)).astype(kind)
    for points in (X, csr_array(X)):
        K = kernel.symmetric(points)
        assert K.dtype == kind
        np.testing.assert_array_equal(K, K.T)
        # Five products and their sum, and powers of three of them, each to a few roundings.
        scale = np.max(np.abs(kernel(points)))
        np.testing.assert_allclose(K, kernel(points), atol=50 * np.finfo(kind).eps * scale)


@pytest.mark.parametrize(
    ("p", "degree", "name"),
    [(2, -1, "degree"), (-1, 2, "p"), (0, 2, "p"), (2, 1.5, "degree"), (2, np.nan, "degree")],
)
def test_monomials_of_no_number_of_variables_or_degree(p, degree, name):
    with pytest.raises(ValueError, match=f"^{name} must be an integer"):
        monomials(p, degree)
