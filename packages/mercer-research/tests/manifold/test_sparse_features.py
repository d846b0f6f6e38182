"""Sparse kernel features against deflation written out with the whole kernel matrix."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.kernels import Gaussian, Linear, Multiquadric
from mercer.solvers import ConvergenceWarning
from mercer_research.manifold import SparseKernelFeatures, kernel_rows

CONVEX = {
    "variance": ("variance", np.square),
    "power": (3.0, lambda v: np.abs(v) ** 3),
    "exponential": (np.exp, np.exp),
}


def sample(m=60, seed=0):
    return np.random.default_rng(seed).normal(size=(m, 2)) * [2.0, 1.0] + [0.5, 0.0]


def deflated(K, w, p, q, center, normalize):
    """Choose by brute force: all scores from the whole matrix, which is deflated explicitly."""
    K, chosen, best = K.copy(), [], []
    for _ in range(p):
        V = K / np.sqrt(np.diag(K)) if normalize else K
        V = V - w @ V if center else V
        scores = np.maximum(w @ q(V), w @ q(-V))
        scores[chosen] = -np.inf
        i = int(np.argmax(scores))
        chosen.append(i)
        best.append(scores[i])
        K = K - np.outer(K[:, i], K[i]) / K[i, i]
        left = np.sum(np.delete(np.diag(K) * w, chosen))
        K[chosen] = K[:, chosen] = 0.0
        K[chosen, chosen] = 1.0
    return chosen, best, left


@pytest.mark.parametrize("name", CONVEX)
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_brute_force_deflation(name, center, normalize, weighted):
    X = sample()
    contrast, q = CONVEX[name]
    s = np.random.default_rng(1).uniform(0.1, 2.0, len(X)) if weighted else np.ones(len(X))
    w = s / s.sum()
    made = SparseKernelFeatures(
        6, Gaussian(1.0), contrast=contrast, center=center, normalize=normalize
    ).fit(X, sample_weight=s)
    chosen, best, left = deflated(Gaussian(1.0)(X), w, 6, q, center, normalize)
    assert_array_equal(made.selected_, chosen)
    assert_allclose(made.contrast_, best, rtol=1e-9)
    if not center:
        assert_allclose(made.reconstruction_error_[-1], left, rtol=1e-9)


@pytest.mark.parametrize("name", CONVEX)
@pytest.mark.parametrize("center", [False, True])
def test_no_vector_of_the_l1_ball_has_more_contrast(name, center):
    X, rng = sample(), np.random.default_rng(2)
    contrast, q = CONVEX[name]
    K = Gaussian(1.0)(X)
    best = SparseKernelFeatures(1, Gaussian(1.0), contrast=contrast, center=center).fit(X)
    A = rng.laplace(size=(60, 500)) * (rng.uniform(size=(60, 500)) < rng.uniform(0.01, 1, 500))
    A = A[:, np.abs(A).sum(axis=0) > 0]
    values = K @ (A / np.abs(A).sum(axis=0))
    values = values - values.mean(axis=0) if center else values
    assert A.shape[1] > 400
    assert np.mean(q(values), axis=0).max() < best.contrast_[0]


def test_directions_are_orthonormal_in_feature_space():
    X = sample()
    made = SparseKernelFeatures(8, Gaussian(1.0)).fit(X)
    K = Gaussian(1.0)(made.centres_)
    A = np.linalg.inv(made.factor_).T
    assert_allclose(A.T @ K @ A, np.eye(8), atol=1e-12)
    assert_allclose(made.transform(X), Gaussian(1.0)(X, made.centres_) @ A, atol=1e-12)


def test_errors_are_traces_of_what_the_features_leave():
    X = sample()
    K = Gaussian(1.0)(X)
    made = SparseKernelFeatures(20, Gaussian(1.0)).fit(X)
    G = made.transform(X)
    left = [np.trace(K - G[:, :t] @ G[:, :t].T) / len(X) for t in range(1, 21)]
    assert_allclose(made.reconstruction_error_, left, rtol=1e-9)
    assert np.all(np.diff(made.reconstruction_error_) < 0)
    assert_allclose(1 - made.explained_variance_ratio_.sum(), left[-1], rtol=1e-9)  # k(x, x) = 1


def test_normalized_steps_reduce_the_error_as_much_as_any_sample_can():
    X = sample(40)
    K = Gaussian(1.0)(X)
    made = SparseKernelFeatures(1, Gaussian(1.0), normalize=True).fit(X)
    errors = [np.trace(K - np.outer(K[:, i], K[i]) / K[i, i]) / 40 for i in range(40)]
    assert_allclose(made.reconstruction_error_[0], min(errors), rtol=1e-12)


@pytest.mark.parametrize("center", [False, True])
def test_score_is_the_share_of_new_rows_in_an_explicit_feature_space(center):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 4)) * [3.0, 2.0, 1.0, 0.5] + 1.0
    train, new = X[:30], X[30:]
    made = SparseKernelFeatures(2, Linear(), center=center).fit(train)
    axes = np.linalg.qr(made.centres_.T)[0]
    centred = new - new.mean(axis=0) if center else new
    share = np.sum((centred @ axes) ** 2) / np.sum(centred**2)
    assert_allclose(made.score(new), share, rtol=1e-10)
    if center:
        assert_allclose(made.transform(train).mean(axis=0), 0.0, atol=1e-12)
        assert_allclose(made.explained_variance_, made.transform(train).var(axis=0))
        gone = (train - train.mean(axis=0)) @ (np.eye(4) - axes @ axes.T)
        assert_allclose(made.reconstruction_error_[-1], np.sum(gone**2) / 30, rtol=1e-10)


def test_scores_are_right_after_a_fall_by_many_decades():
    """Updates by differences lose the digits of what is left, unless it is computed anew."""
    X = np.random.default_rng(5).normal(size=(50, 3)) * [1.0, 1e-2, 1e-4]
    K = X.astype(np.longdouble) @ X.T.astype(np.longdouble)
    w = np.full(50, np.longdouble(1) / 50)
    chosen, best, _ = deflated(K, w, 3, np.square, False, False)
    made = SparseKernelFeatures(3, Linear()).fit(X)
    assert best[-1] < 1e-15 * best[0]
    assert_array_equal(made.selected_, chosen)
    # The values that are left are 1e-8 of those that were subtracted.
    assert_allclose(made.contrast_, np.array(best, dtype=float), rtol=1e-6)


def test_weight_two_is_the_sample_twice_and_weight_zero_is_no_sample():
    X = sample(30)
    s = np.array([0, 1, 2] * 10)
    weighted = SparseKernelFeatures(5, Gaussian(1.0)).fit(X, sample_weight=s)
    repeated = SparseKernelFeatures(5, Gaussian(1.0)).fit(np.repeat(X, s, axis=0))
    assert_array_equal(weighted.centres_, repeated.centres_)
    assert_allclose(weighted.contrast_, repeated.contrast_)
    assert s[weighted.selected_].min() > 0


def test_blocks_of_rows_do_not_matter(monkeypatch):
    X = sample()
    whole = SparseKernelFeatures(5, Gaussian(1.0), contrast=1.5).fit(X)
    monkeypatch.setattr(kernel_rows, "BLOCK_BYTES", 8 * 60 * 7)
    parts = SparseKernelFeatures(5, Gaussian(1.0), contrast=1.5).fit(X)
    assert_array_equal(parts.selected_, whole.selected_)
    assert_allclose(parts.contrast_, whole.contrast_)


def test_new_points_need_as_many_kernel_values_as_features():
    calls = []

    def kernel(X, Z):
        calls.append((len(X), len(Z)))
        return np.exp(-np.sum((X[:, None] - Z) ** 2, axis=2))

    X = sample()
    made = SparseKernelFeatures(4, kernel).fit(X)
    calls.clear()
    made.transform(X[:10])
    assert sum(n * p for n, p in calls) == 10 * 4


def test_precomputed_matrix():
    X = sample()
    direct = SparseKernelFeatures(4, Gaussian(1.0)).fit(X[:40])
    made = SparseKernelFeatures(4, "precomputed").fit(Gaussian(1.0)(X[:40]))
    assert_array_equal(made.selected_, direct.selected_)
    new = Gaussian(1.0)(X[40:], X[:40])
    assert_allclose(made.transform(new), direct.transform(X[40:]))
    assert not hasattr(made, "score")  # k(x, x) of new points is not known


@pytest.mark.parametrize("turn", [1.0, -1.0])
def test_sign_of_a_contrast_that_is_not_even(turn):
    """The mean of exp is larger where the long tail of a projection points up."""
    X = turn * np.random.default_rng(0).exponential(size=(50, 1))
    made = SparseKernelFeatures(1, Linear(), contrast=np.exp, center=True).fit(X)
    up = turn * (X[:, 0] - X[:, 0].mean())
    assert_allclose(made.transform(X)[:, 0], up)
    longest = np.abs(X[made.selected_[0], 0])
    assert_allclose(made.contrast_[0], np.mean(np.exp(longest * up)))


def test_fewer_dimensions_than_features():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.warns(ConvergenceWarning, match="span 2 dimensions"):
        made = SparseKernelFeatures(5, "linear").fit(X)
    assert made.n_components_ == 2
    assert_allclose(made.reconstruction_error_[-1], 0.0, atol=1e-12)
    assert_allclose(made.score(X), 1.0)


def test_kernels_without_a_feature_space_are_refused():
    X = sample()
    with pytest.raises(ValueError, match="only conditionally positive definite"):
        SparseKernelFeatures(2, Multiquadric()).fit(X)
    with pytest.raises(ValueError, match="not positive definite"):
        SparseKernelFeatures(2, lambda A, B: (A @ B.T) ** 2 - 3 * (A @ B.T) + 1).fit(X)


@parametrize_with_checks(
    [
        SparseKernelFeatures(gamma="auto"),
        SparseKernelFeatures(1, "precomputed", center=True),
        SparseKernelFeatures(1, "linear", contrast=3.0, normalize=True),
    ],
    expected_failed_checks=lambda made: (
        {"check_positive_only_tag_during_fit": "a kernel matrix less its mean is indefinite"}
        if made.kernel == "precomputed"
        else {}
    ),
)
def test_scikit_learn(estimator, check):
    check(estimator)
