"""Projection, its out-of-sample form, and Mercer's features."""

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA
from sklearn.preprocessing import KernelCenterer

from mercer import KernelRegressor
from mercer.inspect import gram_report, project, project_new
from mercer.inspect.projection import MercerMap, column_space, complement, monomials
from mercer.kernels import Gaussian, Kernel, Linear, Polyharmonic, Polynomial, Sigmoid, ThinPlate
from mercer.regularizers import Polynomial as Polynomials

RNG = np.random.default_rng(3)
X = RNG.standard_normal((30, 2))
Z = RNG.standard_normal((7, 2))
ONES, ONES_NEW = np.ones((30, 1)), np.ones((7, 1))


def smallest(K):
    values = np.linalg.eigvalsh(K)
    return values[0] / np.abs(values).max()


def test_one_column_of_ones_is_the_centring_of_kernel_pca():
    K, K_new = Gaussian()(X), Gaussian()(Z, X)
    centre = KernelCenterer().fit(K)
    assert project(K, ONES) == pytest.approx(centre.transform(K), abs=1e-14)
    assert project_new(K_new, K, ONES_NEW, ONES) == pytest.approx(
        centre.transform(K_new), abs=1e-14
    )


@pytest.mark.parametrize(
    ("kernel", "degree"), [(Polyharmonic(1.0), 0), (Polyharmonic(3.0), 1), (ThinPlate(2), 1)]
)
def test_projection_makes_conditional_kernels_definite(kernel, degree):
    K = kernel(X)
    assert smallest(K) < -1e-3
    # Down to -m eps |K|, with the norm of the matrix before projection.
    bound = -len(K) * np.finfo(float).eps * np.linalg.norm(K, 2)
    assert np.linalg.eigvalsh(project(K, Polynomials(degree)(X)))[0] > bound


def test_projection_is_that_of_the_explicit_projector():
    K, B = Gaussian()(X), Polynomials(2)(X)
    P = np.eye(30) - B @ np.linalg.solve(B.T @ B, B.T)
    assert project(K, B) == pytest.approx(P @ K @ P, abs=1e-13)
    assert project(K, np.c_[B, 2.0 * B[:, :1] - B[:, 1:2]]) == pytest.approx(P @ K @ P, abs=1e-13)
    assert project(K, np.empty((30, 0))) == pytest.approx(K)


def test_invariance_under_functions_of_one_point():
    # Here k + g(x) + g(z) has the same centred matrix.
    K, g = Gaussian()(X), X[:, 0] ** 3
    assert project(K + g[:, None] + g, ONES) == pytest.approx(project(K, ONES), abs=1e-12)


def test_few_points_leave_nothing():
    # Up to d + 1 points in general position are all polynomial.
    few = X[:3]
    assert np.abs(project(ThinPlate(2)(few), Polynomials(1)(few))).max() < 1e-12


def test_multiquadric_of_the_document():
    # All values negative, projected positive semidefinite.
    K = -np.sqrt(1.0 + ((X[:, None] - X) ** 2).sum(axis=2))
    assert (K < 0.0).all()
    assert smallest(project(K, ONES)) > -1e-14


def test_new_points_that_are_the_sample():
    K, B = ThinPlate(2)(X), Polynomials(1)(X)
    assert project_new(K, K, B, B) == pytest.approx(project(K, B), abs=1e-11)


def test_new_points_by_explicit_features():
    # phi(x) - sum_l h_l(x) phi(x_l) for the features of a polynomial kernel, term by term.
    def phi(A):
        return np.c_[A[:, 0] ** 2, np.sqrt(2.0) * A[:, 0] * A[:, 1], A[:, 1] ** 2]

    kernel, B, B_new = Polynomial(2), Polynomials(1)(X), Polynomials(1)(Z)
    hat = np.linalg.solve(B.T @ B, B.T)
    sample, new = phi(X) - B @ hat @ phi(X), phi(Z) - B_new @ hat @ phi(X)
    found = project_new(kernel(Z, X), kernel(X), B_new, B)
    assert found == pytest.approx(new @ sample.T, abs=1e-11)


def test_scores_are_orthogonal_to_what_was_projected_out():
    B = Polynomials(1)(X)
    values, vectors = np.linalg.eigh(project(Gaussian()(X), B))
    scores = vectors[:, values > 1e-10]
    assert np.abs(B.T @ scores).max() < 1e-8


def test_the_machine_does_not_notice_the_projection():
    # With an intercept the squared machine on the projected matrix is the same.
    y, K = np.sin(X[:, 0]), Gaussian()(X)
    plain, projected = (
        KernelRegressor(kernel="precomputed", C=10.0, solver="direct").fit(A, y).predict(A)
        for A in (K, project(K, ONES))
    )
    assert plain == pytest.approx(projected, abs=1e-9)


def test_ranks_and_shapes():
    B = np.c_[np.ones(5), np.arange(5.0), 1e6 * np.arange(5.0) + 1.0]
    assert column_space(B).shape == (5, 2)
    assert complement(B).shape == (5, 3)
    assert np.abs(complement(B).T @ B / 1e6).max() < 1e-14
    assert complement(np.empty((4, 0))) == pytest.approx(np.eye(4))
    with pytest.raises(ValueError, match="B has shape"):
        project(np.eye(3), np.ones((2, 1)))
    with pytest.raises(ValueError, match="K_new has shape"):
        project_new(np.ones((2, 4)), np.eye(3), np.ones((2, 1)), np.ones((3, 1)))


def test_monomials_span_what_the_kernel_leaves_free():
    B, expected = monomials(ThinPlate(2), 5.0 + 0.1 * X), Polynomials(1)(X)
    assert np.linalg.matrix_rank(np.c_[B, expected], tol=1e-8) == 3
    assert monomials(Gaussian(), X).shape == (30, 0)


@pytest.mark.parametrize("kernel", [Gaussian(0.8), Polynomial(2, coef0=1.0), Linear()], ids=repr)
def test_mercer_features_multiply_to_kernel_values(kernel: Kernel):
    # Exact on the sample, and for new points in the span.
    phi = MercerMap(kernel, X)
    assert phi.features @ phi.features.T == pytest.approx(kernel(X), abs=1e-12)
    assert phi(X) == pytest.approx(phi.features, abs=1e-6)  # divided by roots of 1e-14 eigenvalues
    if not isinstance(kernel, Gaussian):
        assert phi(Z) @ phi(Z).T == pytest.approx(kernel(Z), rel=1e-9, abs=1e-10)


def test_mercer_features_are_those_of_kernel_pca():
    K = project(Gaussian()(X), ONES)
    pca = KernelPCA(4, kernel="precomputed").fit_transform(K)
    values, vectors = np.linalg.eigh(K)
    assert np.abs(pca) == pytest.approx(np.abs((vectors * np.sqrt(np.abs(values)))[:, :-5:-1]))
    phi = MercerMap(Gaussian(), X, n_components=4)
    assert phi.features.shape == (30, 4)
    assert phi.eigenvalues == pytest.approx(gram_report(Gaussian(), X).eigenvalues[:4])


def test_indefinite_kernels_have_no_real_features():
    with pytest.raises(ValueError, match="eigenvalue"):
        MercerMap(Sigmoid(1.0, -1.0), X)
