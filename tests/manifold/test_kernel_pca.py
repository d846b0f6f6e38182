"""Kernel PCA: oracles, invariances, null spaces, weights and signs."""

import warnings
from itertools import combinations_with_replacement
from math import factorial

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as Peer
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.kernels import Gaussian, Multiquadric, Polynomial, ThinPlate
from mercer.machines.expansion import IndefiniteKernel
from mercer.machines.solving import EarlyStop
from mercer.manifold import KernelPCA
from mercer.regularizers import Functions

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3)) * [1.0, 2.0, 0.5]
NEW = rng.normal(size=(30, 3))
WEIGHTS = rng.integers(0, 4, len(X)).astype(float)

KERNELS = {
    "rbf": {"gamma": 0.2},
    "laplacian": {"gamma": 0.2},
    "matern": {"gamma": 0.2},
    "poly": {"gamma": 0.5, "degree": 2, "coef0": 1.0},
    "linear": {},
    "multiquadric": {"gamma": 0.5},
    "thin_plate": {},
    "wendland": {"gamma": 0.2},
    "anova": {"gamma": 0.2},
}


@parametrize_with_checks([KernelPCA(), KernelPCA(2, kernel="linear", null_space="constant")])
def test_scikit_learn_compatible(estimator, check):
    check(estimator)


@pytest.mark.parametrize("solver", ["dense", "iterative", "randomized"])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid", "linear"])
def test_the_same_components_as_scikit_learn(kernel, solver):
    how = {"gamma": 0.05, "degree": 2, "coef0": 0.5}
    # scikit-learn has no place for the negative eigenvalue that comes third in size.
    n = {"linear": 3, "sigmoid": 2}.get(kernel, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IndefiniteKernel)
        ours = KernelPCA(n, kernel=kernel, eigen_solver=solver, **how).fit(X)
    peer = Peer(n, kernel=kernel, eigen_solver="dense", **how).fit(X)
    assert np.all(np.abs(ours.eigenvalues_ - peer.eigenvalues_) <= ours.eigenvalue_errors_)
    scores, theirs = ours.transform(NEW), peer.transform(NEW)
    assert_allclose(scores * np.sign(np.sum(scores * theirs, axis=0)), theirs, atol=1e-6)


def test_the_linear_kernel_is_pca():
    ours, peer = KernelPCA(kernel="linear").fit(X), PCA().fit(X)
    assert ours.n_components_ == 3
    assert_allclose(ours.explained_variance_, peer.explained_variance_ * (len(X) - 1) / len(X))
    assert_allclose(ours.explained_variance_ratio_, peer.explained_variance_ratio_)
    assert_allclose(np.abs(ours.transform(NEW)), np.abs(peer.transform(NEW)))


@pytest.mark.parametrize("kernel", KERNELS)
def test_scores_are_uncorrelated_with_the_stated_variance(kernel):
    pca = KernelPCA(6, kernel=kernel, **KERNELS[kernel]).fit(X, sample_weight=WEIGHTS)
    scores = pca.transform(X)
    assert_allclose(WEIGHTS @ scores, 0.0, atol=1e-8 * np.sqrt(pca.eigenvalues_[0]) * len(X))
    covariance = scores.T @ (WEIGHTS[:, None] * scores)
    assert_allclose(covariance, np.diag(pca.eigenvalues_), atol=1e-9 * pca.eigenvalues_[0])
    # (5.8): no score exceeds the root of its eigenvalue.
    assert np.all(np.sqrt(WEIGHTS)[:, None] * np.abs(scores) <= np.sqrt(pca.eigenvalues_) * 1.0001)
    assert_allclose(pca.explained_variance_, pca.eigenvalues_ / WEIGHTS.sum())


@pytest.mark.parametrize("kernel", KERNELS)
def test_components_are_orthonormal_in_feature_space(kernel):
    pca = KernelPCA(5, kernel=kernel, **KERNELS[kernel]).fit(X)
    A = pca.dual_coef_.T
    assert_allclose(pca.null_space_(X).T @ A, 0.0, atol=1e-7)
    gram = A.T @ pca.kernel_(X) @ A
    assert_allclose(gram, np.eye(len(gram)), atol=1e-7)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_share_is_of_all_eigenvalues(kernel):
    few = KernelPCA(3, kernel=kernel, **KERNELS[kernel]).fit(X)
    every = KernelPCA(kernel=kernel, **KERNELS[kernel]).fit(X)
    assert_allclose(every.explained_variance_ratio_.sum(), 1.0, atol=1e-6)
    assert_allclose(few.explained_variance_ratio_, every.explained_variance_ratio_[:3], rtol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "thin_plate", "multiquadric"])
def test_weight_two_is_a_row_twice(kernel):
    weighted = KernelPCA(4, kernel=kernel).fit(X, sample_weight=WEIGHTS)
    repeated = KernelPCA(4, kernel=kernel).fit(np.repeat(X, WEIGHTS.astype(int), axis=0))
    assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_, rtol=1e-10)
    assert_allclose(weighted.transform(NEW), repeated.transform(NEW), atol=1e-7)
    assert_allclose(weighted.explained_variance_ratio_, repeated.explained_variance_ratio_)


# Null spaces -------------------------------------------------------------------------------------


def brute(kernel, Z, Z_new, X, X_new, weights):
    """Return the projected kernel by its four sums, on the sample and against new points."""
    H = np.linalg.solve(Z.T @ (weights[:, None] * Z), Z.T * weights)
    K, k, h, g = kernel(X), kernel(X_new, X), Z @ H, Z_new @ H
    return K - h @ K - K @ h.T + h @ K @ h.T, k - g @ K - k @ h.T + g @ K @ h.T


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("kernel", "null_space", "columns"),
    [
        (Gaussian(2.0), "constant", lambda X: np.ones((len(X), 1))),
        (Gaussian(2.0), "linear", lambda X: np.c_[np.ones(len(X)), X]),
        (ThinPlate(), None, lambda X: np.c_[np.ones(len(X)), X]),
        (
            Polynomial(2, 1.0, 1.0),
            Functions([lambda X: X[:, 0] * X[:, 1]]),
            lambda X: np.c_[np.ones(len(X)), X[:, 0] * X[:, 1]],
        ),
    ],
)
def test_new_points_are_projected_as_the_formula_says(kernel, null_space, columns, weighted):
    X2, N2 = (X[:, :2], NEW[:, :2]) if isinstance(kernel, ThinPlate) else (X, NEW)
    w = rng.uniform(0.5, 2.0, len(X)) if weighted else np.ones(len(X))
    pca = KernelPCA(4, kernel=kernel, null_space=null_space).fit(X2, sample_weight=w)
    K, k = brute(kernel, columns(X2), columns(N2), X2, N2, w)
    values, U = np.linalg.eigh(np.sqrt(w)[:, None] * K * np.sqrt(w))
    assert values[0] > -1e-9 * values[-1]
    values, U = values[::-1][:4], U[:, ::-1][:, :4]
    assert_allclose(pca.eigenvalues_, values, rtol=1e-9)
    scores, expected = pca.transform(N2), k @ (np.sqrt(w)[:, None] * U) / np.sqrt(values)
    assert_allclose(np.abs(scores), np.abs(expected), atol=1e-7 * np.abs(expected).max())
    Z = columns(X2)
    assert_allclose(Z.T @ (w[:, None] * pca.transform(X2)), 0.0, atol=1e-6)


def test_a_linear_null_space_leaves_nothing_to_linear_pca():
    with pytest.raises(ValueError, match="no component"):
        KernelPCA(kernel="linear", null_space="linear").fit(X)
    pca = KernelPCA(3, null_space="linear").fit(X)
    assert pca.null_space_names_ == ["1", "x0", "x1", "x2"]
    assert_allclose(np.corrcoef(pca.transform(X).T, X.T)[:3, 3:], 0.0, atol=1e-9)


def test_without_centring():
    pca = KernelPCA(3, gamma=0.2, center=False).fit(X)
    values = np.linalg.eigvalsh(Gaussian.from_gamma(0.2)(X))[::-1]
    assert_allclose(pca.eigenvalues_, values[:3])
    assert pca.null_space_coef_.shape == (3, 0)


def test_a_multiquadric_is_positive_after_centring():
    K = Multiquadric(1.0)(X)
    assert np.linalg.eigvalsh(K)[0] < -1.0  # of order one only
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pca = KernelPCA(kernel=Multiquadric(1.0), center=False).fit(X)
    assert pca.null_space_names_ == ["1"]
    assert np.all(pca.eigenvalues_ > 0.0)


def test_functions_added_to_the_kernel_change_nothing():
    """k(x, x') + g(x) + g(x') has the same components: centring takes g away."""
    K, k = Gaussian(2.0)(X), Gaussian(2.0)(NEW, X)
    g, g_new = np.sin(X[:, 0]), np.sin(NEW[:, 0])
    plain = KernelPCA(4, kernel="precomputed").fit(K)
    moved = KernelPCA(4, kernel="precomputed").fit(K + g[:, None] + g)
    assert_allclose(moved.eigenvalues_, plain.eigenvalues_, atol=1e-10)
    assert_allclose(moved.transform(k + g_new[:, None] + g), plain.transform(k), atol=1e-9)


# Ways to give a kernel ---------------------------------------------------------------------------


def test_precomputed_matrices_and_functions():
    kernel = Gaussian(2.0)
    expected = KernelPCA(3, kernel=kernel).fit(X, sample_weight=WEIGHTS)
    matrix = KernelPCA(3, kernel="precomputed").fit(kernel(X), sample_weight=WEIGHTS)
    function = KernelPCA(3, kernel=lambda A, B: kernel(A, B)).fit(X, sample_weight=WEIGHTS)
    assert_allclose(matrix.transform(kernel(NEW, X)), expected.transform(NEW), atol=1e-9)
    assert_allclose(function.transform(NEW), expected.transform(NEW), atol=1e-9)
    assert matrix.__sklearn_tags__().input_tags.pairwise


def test_sparse_points():
    dense = KernelPCA(3).fit(X, sample_weight=WEIGHTS)
    sparse = KernelPCA(3).fit(sp.csr_array(X), sample_weight=WEIGHTS)
    assert_allclose(sparse.transform(sp.csr_array(NEW)), dense.transform(NEW), atol=1e-9)


def test_an_indefinite_kernel_by_the_size_of_its_eigenvalues():
    D = np.abs(X[:, None] - X[None]).sum(axis=2) ** 2  # no squared Euclidean distance
    K = -0.5 * D
    with pytest.warns(IndefiniteKernel, match="components have negative eigenvalues"):
        pca = KernelPCA(12, kernel="precomputed").fit(K)
    J = np.eye(len(X)) - 1.0 / len(X)
    values = np.linalg.eigvalsh(J @ K @ J)
    expected = values[np.argsort(-np.abs(values))][:12]
    assert_allclose(pca.eigenvalues_, expected, rtol=1e-9)
    assert_allclose(pca.signature_, np.sign(expected))
    assert -1 in pca.signature_
    # Scores are scaled by the root of the size: their squares sum to it.
    assert_allclose(np.sum(pca.transform(K) ** 2, axis=0), np.abs(expected), rtol=1e-9)
    for solver in ("iterative", "randomized"):
        with pytest.warns(IndefiniteKernel):
            other = KernelPCA(6, kernel="precomputed", eigen_solver=solver).fit(K)
        assert np.all(np.abs(other.eigenvalues_ - expected[:6]) <= other.eigenvalue_errors_)


# Polynomial kernels ------------------------------------------------------------------------------


def monomials(X, degree, weighted):
    columns = []
    for index in combinations_with_replacement(range(X.shape[1]), degree):
        powers = np.bincount(index, minlength=X.shape[1])
        count = factorial(degree) / np.prod([factorial(q) for q in powers])
        columns.append(np.prod(X[:, index], axis=1) * (np.sqrt(count) if weighted else 1.0))
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("degree", [2, 3])
def test_polynomial_components_do_not_depend_on_the_axes(degree):
    O = np.linalg.qr(rng.normal(size=(3, 3)))[0]  # noqa: E741
    how = {"kernel": Polynomial(degree, 1.0, 0.0)}
    plain, turned = KernelPCA(4, **how).fit(X), KernelPCA(4, **how).fit(X @ O)
    assert_allclose(turned.transform(NEW @ O), plain.transform(NEW), atol=1e-7, rtol=1e-7)
    explicit = PCA(4).fit(monomials(X, degree, True))
    scores = explicit.transform(monomials(NEW, degree, True))
    assert_allclose(np.abs(plain.transform(NEW)), np.abs(scores), atol=1e-7, rtol=1e-7)
    # Monomials without the multinomial weights depend on the axes.
    values = [PCA(4).fit(monomials(Y, degree, False)).explained_variance_ for Y in (X, X @ O)]
    assert np.max(np.abs(values[0] / values[1] - 1.0)) > 0.01


# Numbers, signs and names ------------------------------------------------------------------------


def test_a_share_of_the_variance():
    every = KernelPCA(gamma=0.05).fit(X)
    sums = np.cumsum(every.explained_variance_ratio_)
    for solver in ("dense", "iterative", "randomized"):
        pca = KernelPCA(0.9, gamma=0.05, eigen_solver=solver).fit(X)
        assert pca.n_components_ == 1 + np.argmax(sums >= 0.9)
    # The matrix of many components is computed again with more of them.
    narrow = KernelPCA(0.9, gamma=10.0, eigen_solver="randomized").fit(X)
    assert narrow.explained_variance_ratio_.sum() >= 0.9
    assert narrow.explained_variance_ratio_[:-1].sum() < 0.9
    assert narrow.n_components_ > 32


def test_the_broken_stick():
    Y = np.random.default_rng(1).normal(size=(200, 10))
    Y[:, :2] *= 6.0
    assert KernelPCA("broken-stick", kernel="linear").fit(Y).n_components_ == 2


def test_components_of_rounding_are_left_out():
    pca = KernelPCA(10, kernel="linear").fit(X)
    assert pca.n_components_ == 3
    assert pca.transform(NEW).shape == (30, 3)


def test_signs_do_not_depend_on_the_order_or_the_solver():
    order = np.random.default_rng(2).permutation(len(X))
    plain = KernelPCA(5, gamma=0.1).fit(X).transform(NEW)
    mixed = KernelPCA(5, gamma=0.1, eigen_solver="randomized").fit(X[order])
    assert_allclose(mixed.transform(NEW), plain, atol=1e-6)
    scores = KernelPCA(5, gamma=0.1).fit_transform(X)
    assert np.all(scores.max(axis=0) >= -scores.min(axis=0))


def test_a_row_has_the_same_scores_alone_and_in_a_batch():
    pca = KernelPCA(4).fit(X)
    together = pca.transform(NEW)
    assert_allclose(np.vstack([pca.transform(x[None]) for x in NEW]), together, atol=1e-12)


def test_names_and_frames():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    pca = clone(KernelPCA(2)).set_output(transform="pandas").fit(frame)
    assert list(pca.transform(frame).columns) == ["kernelpca0", "kernelpca1"]
    assert pca.null_space_names_ == ["1"]


def test_too_few_iterations_are_told():
    Y = np.random.default_rng(1).normal(size=(300, 20))
    with pytest.warns(EarlyStop, match="raise max_iter"):
        KernelPCA(3, eigen_solver="randomized", max_iter=1).fit(Y)


def test_one_point_has_no_component():
    with pytest.raises(ValueError, match="no component"):
        KernelPCA().fit(np.ones((5, 2)))
    with pytest.raises(ValueError, match="needs two samples with a weight"):
        KernelPCA().fit(X, sample_weight=np.eye(len(X))[0])


def test_a_matrix_that_is_never_held():
    tiled = KernelPCA(4, gram="tiled", eigen_solver="iterative").fit(X)
    assert_allclose(tiled.transform(NEW), KernelPCA(4).fit(X).transform(NEW), atol=1e-6)


@pytest.mark.parametrize("shift", [1e2, 1e4, 1e6])
def test_a_linear_kernel_keeps_what_its_values_know_far_from_the_origin(shift):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(60, 4)) * [0.5, 1.0, 2.0, 3.0], rng.normal(size=(20, 4))
    scores = KernelPCA(3, kernel="linear").fit(X + shift).transform(new + shift)
    oracle = PCA(3).fit(X).transform(new)
    oracle *= np.sign(np.sum(oracle * scores, axis=0))
    # Kernel values have the size of the squared shift, and each score is a sum of sixty.
    assert np.max(np.abs(scores - oracle)) < np.finfo(float).eps * shift**2 * 60
