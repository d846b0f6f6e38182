"""Names mean what they mean in scikit-learn."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from mercer.kernels import (
    Callable,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    named,
    resolve,
    resolve_gamma,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 4)) * 3.0
y = np.repeat([0, 1], 15)


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.7, 2])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_gamma_is_that_of_scikit_learn(gamma, layout):
    fitted = SVC(gamma=gamma).fit(layout(X), y)._gamma
    assert resolve_gamma(gamma, layout(X)) == fitted


def test_gamma_of_data_without_variance_is_one():
    assert resolve_gamma("scale", np.ones((3, 2))) == 1.0
    assert resolve_gamma("scale", sparse.csr_array((3, 2))) == 1.0


def test_gamma_of_large_data_is_read_in_pieces(monkeypatch):
    monkeypatch.setattr(named, "BLOCK_BYTES", 200)
    assert resolve_gamma("scale", X) == pytest.approx(1.0 / (4 * X.var()), rel=1e-14)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("linear", Linear()),
        ("poly", Polynomial(2, 0.5, 1.5)),
        ("rbf", Gaussian(1.0)),
        ("sigmoid", Sigmoid(0.5, 1.5)),
        ("laplacian", Laplacian(2.0)),
        ("matern", Matern(1.0, 1.5)),
        ("rational_quadratic", RationalQuadratic(1.0, 1.0)),
        ("precomputed", Precomputed()),
    ],
)
def test_names(name, expected):
    assert resolve(name, X, gamma=0.5, degree=2, coef0=1.5) == expected


def test_gamma_zero_is_an_infinite_width():
    assert resolve("rbf", X, gamma=0.0) == Gaussian(np.inf)
    assert resolve("laplacian", X, gamma=0.0) == Laplacian(np.inf)


def test_kernels_and_functions():
    kernel = Gaussian(3.0)
    assert resolve(kernel, X) is kernel
    assert resolve(np.dot, X) == Callable(np.dot)


def test_names_without_gamma_do_not_look_at_the_data():
    assert resolve("linear", None) == Linear()


@pytest.mark.parametrize("kernel", ["rfb", None, 3])
def test_unknown_kernels_are_refused_with_the_names(kernel):
    with pytest.raises(ValueError, match=r"laplacian, linear, matern, poly, precomputed, rational"):
        resolve(kernel, X)


@pytest.mark.parametrize("gamma", ["scales", -1.0, np.nan, np.inf, [1.0]])
def test_nonsense_gamma_is_refused_with_a_sentence(gamma):
    with pytest.raises(ValueError, match="gamma must be 'scale', 'auto' or a number"):
        resolve("rbf", X, gamma=gamma)
