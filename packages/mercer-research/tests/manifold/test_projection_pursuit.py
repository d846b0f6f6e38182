"""Kernel projection pursuit against eigenvectors, FastICA and searches over all angles."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.decomposition import FastICA
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.kernels import Gaussian, Multiquadric
from mercer.solvers import ConvergenceWarning
from mercer_research.manifold import KernelProjectionPursuit, SparseKernelFeatures
from mercer_research.manifold.ascent import ascend, ascend_l1
from mercer_research.manifold.contrasts import CONTRASTS, Contrast, power


def fourth(v):
    return v**4


def slope_of_fourth(v):
    return 4 * v**3


FOURTH = (fourth, slope_of_fourth)


class Named:
    """A function whose text is the same in every process, as names of tests have to be."""

    def __init__(self, function):
        self.function = function

    def __call__(self, v):
        return self.function(v)

    def __repr__(self):
        return self.function.__name__


SHAPES = [name for name in CONTRASTS if name != "variance"]


def cloud(m=80, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, 3)) * [2.0, 1.0, 0.5] + rng.exponential(size=(m, 3))


def white(m, r, seed=0):
    """Rows of sources that are not Gaussian, mixed and whitened."""
    rng = np.random.default_rng(seed)
    S = np.column_stack([rng.exponential(size=m), rng.uniform(size=m), rng.laplace(size=(m, r))])
    S = S[:, :r] @ rng.normal(size=(r, r))
    S -= S.mean(axis=0)
    U = np.linalg.svd(S, full_matrices=False)[0]
    return U * np.sqrt(m)


def centred(K, w):
    K = K - w @ K
    return K - (K @ w)[:, None]


@pytest.mark.parametrize("name", CONTRASTS)
def test_slopes_curvatures_and_means_of_a_gaussian(name):
    q = CONTRASTS[name]
    x, h = np.linspace(-3, 3, 41), 1e-5
    # Central differences: an error of h^2, and rounding of 1e-16 / h and 1e-16 / h^2.
    assert_allclose((q.value(x + h) - q.value(x - h)) / (2 * h), q.slope(x), atol=1e-7)
    assert_allclose((q.slope(x + h) - q.slope(x - h)) / (2 * h), q.curvature(x), atol=1e-7)
    if q.reference is not None:
        mean = quad(lambda v: float(q.value(np.array(v))) * norm.pdf(v), -12, 12)[0]
        assert_allclose(q.reference, mean, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("deflation", ["uncorrelated", "orthogonal"])
def test_the_variance_gives_kernel_pca(weighted, deflation):
    X = cloud()
    s = np.random.default_rng(1).uniform(0.2, 2, 80) if weighted else np.ones(80)
    w = s / s.sum()
    made = KernelProjectionPursuit(
        3, Gaussian(2.0), contrast="variance", deflation=deflation, n_init=2, random_state=0
    ).fit(X, sample_weight=s)
    root = np.sqrt(w)
    values, U = np.linalg.eigh(root[:, None] * centred(Gaussian(2.0)(X), w) * root)
    values, U = values[::-1][:3], U[:, ::-1][:, :3]
    assert_allclose(made.contrast_, values, rtol=1e-9)  # the square of tol=1e-6, a thousand times
    scores = np.sqrt(values) * U / root[:, None]
    assert_allclose(np.abs(made.transform(X)), np.abs(scores), atol=1e-4)
    # Local maxima of the variance on the sphere are its maximum.
    for optima in made.optima_:
        assert_allclose(optima, optima[0], rtol=1e-9)


def test_the_fixed_point_never_lowers_a_convex_contrast():
    Y, w = white(60, 4) * [3.0, 2.0, 1.0, 0.5], np.full(60, 1 / 60)
    for seed in range(5):
        start = np.random.default_rng(seed).normal(size=4)
        found = ascend(Y, w, Contrast(*FOURTH), start, white=False, tol=1e-6, max_iter=500)
        assert found.converged
        u, values = start / np.linalg.norm(start), []
        for _ in found.values:
            values.append(np.mean((Y @ u) ** 4))
            u = Y.T @ (Y @ u) ** 3
            u /= np.linalg.norm(u)
        assert np.all(np.diff(values) >= -1e-14 * values[-1])
        assert_allclose(found.values, values, rtol=1e-10)


@pytest.mark.parametrize("name", SHAPES)
def test_every_step_raises_a_contrast_that_is_not_convex(name):
    Y, w = white(100, 5, seed=3), np.full(100, 0.01)
    q = CONTRASTS[name]
    for seed in range(10):
        start = np.random.default_rng(seed).normal(size=5)
        found = ascend(Y, w, q, start, white=True, tol=1e-6, max_iter=1000)
        assert found.converged
        assert np.all(np.diff(found.values) > 0)
        u = found.direction
        g = Y.T @ (w * q.slope(Y @ u))
        assert np.linalg.norm(g - (g @ u) * u) <= 1e-5 * np.linalg.norm(g)


@pytest.mark.parametrize("name", SHAPES)
def test_local_maxima_are_those_of_all_angles(name):
    Y = white(200, 2, seed=5)
    angles = np.linspace(0, np.pi, 20001)
    values = np.abs(
        np.mean(CONTRASTS[name].value(Y @ np.array([np.cos(angles), np.sin(angles)])), axis=0)
        - CONTRASTS[name].reference
    )
    made = KernelProjectionPursuit(1, "linear", contrast=name, n_init=20, random_state=0).fit(Y)
    assert_allclose(made.contrast_[0], values.max(), rtol=1e-6)
    around = np.append(values[:-1], [values[0], values[1]])
    inner = (around[1:-1] >= around[:-2]) & (around[1:-1] >= around[2:])
    maxima = around[1:-1][inner]
    for value in made.optima_[0]:
        assert np.min(np.abs(maxima - value)) <= 1e-6 * value
    assert_allclose(made.optima_[0][0], made.contrast_[0], rtol=1e-12)


def test_several_local_maxima_are_reported():
    Y = white(200, 2, seed=5)
    made = KernelProjectionPursuit(1, "linear", contrast="kurtosis", n_init=20, random_state=0)
    optima = made.fit(Y).optima_[0]
    assert len(np.unique(np.round(optima, 4))) > 1
    assert np.all(np.diff(optima) <= 0)


@pytest.mark.parametrize(("name", "fun"), [("kurtosis", "cube"), ("logcosh", "logcosh")])
def test_linear_kernel_is_fast_ica(name, fun):
    rng = np.random.default_rng(0)
    S = np.column_stack(
        [rng.laplace(size=1000), rng.uniform(-1, 1, 1000), rng.exponential(size=1000)]
    )
    X = S @ rng.normal(size=(3, 3)) + 2.0
    made = KernelProjectionPursuit(3, "linear", contrast=name, random_state=0).fit(X)
    ours = made.transform(X)
    theirs = FastICA(
        3,
        fun=fun,
        algorithm="deflation",
        whiten="unit-variance",
        random_state=0,
        tol=1e-10,
        max_iter=1000,
    ).fit_transform(X)
    assert_allclose(np.cov(ours.T, bias=True), np.eye(3), atol=1e-9)
    sources = np.abs(np.corrcoef(S.T, ours.T)[:3, 3:])
    assert np.all(sources.max(axis=1) > 0.98)
    assert np.array_equal(np.sort(sources.argmax(axis=1)), [0, 1, 2])
    # Deflation takes the first direction that it meets, ours the best: the same sources up to what
    # the order of deflation moves them.
    assert np.all(np.abs(np.corrcoef(theirs.T, ours.T)[:3, 3:]).max(axis=1) > 0.99)
    assert np.all(np.mean(ours**3, axis=0) >= 0)


def test_chance_does_not_score_on_new_rows():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(200, 20)), rng.normal(size=(2000, 20))
    made = KernelProjectionPursuit(1, "linear", contrast="kurtosis", random_state=0).fit(X)
    assert made.contrast_[0] > 1.0
    assert abs(made.score(new)) < 0.3  # four standard deviations of the kurtosis, sqrt(24 / 2000)
    real = np.column_stack([rng.laplace(size=2000), rng.normal(size=(2000, 19))])
    made.fit(real[:1000])
    assert made.score(real[1000:]) > 1.0


@pytest.mark.parametrize("contrast", ["kurtosis", FOURTH])
def test_deflation(contrast):
    X = cloud()
    K = Gaussian(2.0)(X)
    for deflation in ("uncorrelated", "orthogonal"):
        made = KernelProjectionPursuit(
            3, Gaussian(2.0), contrast=contrast, deflation=deflation, n_init=2, random_state=0
        ).fit(X)
        products = made.dual_coef_.T @ K @ made.dual_coef_
        covariance = np.cov(made.transform(X).T, bias=True)
        diagonal = {"uncorrelated": covariance, "orthogonal": products}[deflation]
        sizes = np.sqrt(np.outer(np.diag(diagonal), np.diag(diagonal)))
        assert_allclose((diagonal - np.diag(np.diag(diagonal))) / sizes, 0.0, atol=1e-8)


@pytest.mark.parametrize("contrast", ["variance", 3.0])
def test_convex_contrasts_on_the_l1_ball_are_sparse_features(contrast):
    X = cloud()
    sparse = SparseKernelFeatures(3, Gaussian(2.0), contrast=contrast, center=True).fit(X)
    K, w = Gaussian(2.0)(X), np.full(80, 1 / 80)
    q = CONTRASTS["variance"] if contrast == "variance" else power(3.0)
    found = ascend_l1(K, w, q, white=False, max_iter=5)
    assert np.flatnonzero(found.direction).tolist() == [sparse.selected_[0]]
    assert_allclose(found.values, sparse.contrast_[:1])
    if contrast == "variance":
        made = KernelProjectionPursuit(3, Gaussian(2.0), contrast=contrast, constraint="l1").fit(X)
        assert_allclose(np.abs(made.transform(X)), np.abs(sparse.transform(X)), atol=1e-10)
        assert np.count_nonzero(made.dual_coef_[:, 2]) == 3


@pytest.mark.parametrize("name", SHAPES)
def test_local_search_on_the_l1_ball(name):
    X = cloud(60)
    K, w = Gaussian(2.0)(X), np.full(60, 1 / 60)
    found = ascend_l1(K, w, CONTRASTS[name], white=True, max_iter=30)
    V = (K - K.mean(axis=0)) / K.std(axis=0)
    vertices = np.abs(np.mean(CONTRASTS[name].value(V), axis=0) - CONTRASTS[name].reference)
    assert_allclose(found.values[0], vertices.max())
    assert np.all(np.diff(found.values) > 0)
    assert len(found.values) > 1
    assert_allclose(np.abs(found.direction).sum(), 1.0)
    xi = K @ found.direction
    xi = (xi - xi.mean()) / xi.std()
    assert_allclose(CONTRASTS[name].of(xi, w), found.values[-1])


def test_conditionally_positive_definite_kernels():
    """Features of centred points do not see functions of one point added to the kernel."""
    X = cloud()
    settings = {"contrast": "variance", "n_init": 1, "random_state": 0}
    made = KernelProjectionPursuit(2, Multiquadric(), **settings).fit(X)
    K = np.asarray(Multiquadric()(X))
    g = X[:, 0] ** 2
    other = KernelProjectionPursuit(2, "precomputed", **settings).fit(K + g[:, None] + g)
    assert_allclose(
        np.abs(made.transform(X)), np.abs(other.transform(K + g[:, None] + g)), atol=1e-4
    )
    with pytest.raises(ValueError, match="only conditionally"):
        KernelProjectionPursuit(2, Multiquadric(), constraint="l1").fit(X)


def test_weight_two_is_the_sample_twice():
    X = cloud(60)
    s = np.array([0, 1, 2] * 20)
    settings = {"contrast": "kurtosis", "rank": 3, "n_init": 20, "random_state": 0}
    weighted = KernelProjectionPursuit(1, Gaussian(2.0), **settings).fit(X, sample_weight=s)
    repeated = KernelProjectionPursuit(1, Gaussian(2.0), **settings).fit(np.repeat(X, s, axis=0))
    assert_allclose(weighted.contrast_, repeated.contrast_, rtol=1e-8)
    assert_allclose(weighted.transform(X), repeated.transform(X), atol=1e-4)


def test_settings_that_contradict_each_other_are_refused():
    X = cloud(20)
    for settings, match in (
        ({"contrast": "kurtosis", "whiten": False}, "unit variance"),
        ({"contrast": (np.square,)}, "pair of functions"),
        ({"constraint": "l1", "rank": 3}, "principal components"),
        ({"constraint": "l1", "deflation": "uncorrelated"}, "orthogonal directions only"),
    ):
        with pytest.raises(ValueError, match=match):
            KernelProjectionPursuit(1, "linear", **settings).fit(X)


def test_an_ascent_that_does_not_end_is_told():
    with pytest.warns(ConvergenceWarning, match="did not end in 1 steps"):
        KernelProjectionPursuit(1, "linear", max_iter=1, random_state=0).fit(cloud())


@parametrize_with_checks(
    [
        KernelProjectionPursuit(1, "linear", rank=1),
        KernelProjectionPursuit(1, gamma="auto", contrast="variance", tol=1e-11),
        KernelProjectionPursuit(
            1, "linear", constraint="l1", contrast=tuple(map(Named, FOURTH)), random_state=0
        ),
    ],
    # A contrast does not rise in double precision where a direction is right to eight digits.
    expected_failed_checks=lambda made: (
        {"check_sample_weight_equivalence_on_sparse_data": "nine digits of a maximizer"}
        if made.contrast == "variance"
        else {}
    ),
)
def test_scikit_learn(estimator, check):
    check(estimator)
