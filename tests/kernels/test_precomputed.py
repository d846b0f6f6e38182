"""A matrix in place of points."""

import numpy as np
import pytest
from scipy import sparse

from mercer.kernels import Gaussian, Precomputed

rng = np.random.default_rng(0)
X, new = rng.normal(size=(8, 2)), rng.normal(size=(5, 2))


def test_a_machine_reads_its_support_columns_as_with_any_kernel():
    """The same two lines evaluate an expansion for points and for a matrix."""
    support, a = np.array([1, 4, 6]), np.array([1.0, -2.0, 0.5])
    values = [
        kernel(test, kernel.points(train, support)) @ a
        for kernel, train, test in (
            (Gaussian(), X, new),
            (Precomputed(), Gaussian()(X), Gaussian()(new, X)),
        )
    ]
    np.testing.assert_allclose(values[0], values[1], atol=1e-15)


def test_the_matrix_itself():
    K = Gaussian()(X)
    kernel = Precomputed()
    assert kernel(K) is K
    np.testing.assert_array_equal(kernel.diag(K), np.ones(8))
    assert kernel.precomputed
    assert kernel.positive_definite
    assert not Gaussian().precomputed
    assert kernel(K.astype(np.float32)).dtype == np.float32
    assert kernel.gradient(K) == {}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda k: k(sparse.csr_array(np.eye(3))), "must be dense"),
        (lambda k: k(np.eye(3), np.eye(3)), "integer positions"),
        (lambda k: k(np.eye(3), np.array([0.0])), "integer positions"),
        (lambda k: k(np.eye(3), np.array([3])), r"shape \(n_test, n_train\)"),
        (lambda k: k.diag(np.ones((2, 3))), "square"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call(Precomputed())
