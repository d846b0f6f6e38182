"""Principal planes against PCA, generalized eigenvectors, linear programs and all partitions."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import eigh
from scipy.optimize import linprog, minimize
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.manifold import HuberDistortion
from mercer.manifold.distortions import AbsoluteDistortion, MetricDistortion, SquaredDistortion
from mercer.manifold.low_rank import principal_plane
from mercer_research.manifold import KPlanes, PrincipalPlane
from mercer_research.manifold.planes import _drawn, descend_planes
from mercer_research.manifold.tilting import spherical_plane, tilt_plane

COSTS = [SquaredDistortion(), HuberDistortion(0.3), AbsoluteDistortion()]


def cloud(n=80, d=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ np.diag(np.arange(d, 0, -1.0)) @ rng.normal(size=(d, d)) + 3


def test_the_squared_cost_gives_principal_components():
    X = cloud()
    made, theirs = PrincipalPlane(2).fit(X), PCA(2).fit(X)
    assert_allclose(np.abs(made.components_), np.abs(theirs.components_), atol=1e-10)
    assert_allclose(np.abs(made.transform(X)), np.abs(theirs.transform(X)), atol=1e-9)
    assert_allclose(made.inverse_transform(made.transform(X)), made.reconstruct(X))
    values = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]
    assert_allclose(made.explained_variance_, values[:2])
    # The least cost is the sum of the discarded variances.
    assert_allclose(made.objective_, values[2:].sum())
    assert_allclose(made.score(X), -made.objective_)


def test_components_in_a_metric():
    X = cloud()
    D = np.array([[2.0, 0.5, 0, 0], [0.5, 1, 0, 0], [0, 0, 3, 1], [0, 0, 1, 4]])
    made = PrincipalPlane(2, cost=MetricDistortion(D)).fit(X)
    V, cov = made.components_, np.cov(X.T, bias=True)
    assert_allclose(V @ D @ V.T, np.eye(2), atol=1e-10)
    values, vectors = eigh(cov, D)
    assert_allclose(V @ cov @ V.T, np.diag(values[::-1][:2]), atol=1e-8)
    assert_allclose(np.abs(V), np.abs(vectors.T[::-1][:2]), atol=1e-8)
    assert_allclose(made.directions_, V @ D, atol=1e-10)
    assert_allclose(made.transform(X), (X - made.mean_) @ V.T, atol=1e-9)
    R = X - made.reconstruct(X)
    assert_allclose(made.distortion(X), np.einsum("nd,de,ne->n", R, np.linalg.inv(D), R))
    assert_allclose(made.objective_, values[:2].sum())


@pytest.mark.parametrize("cost", ["huber", "absolute"])
def test_outliers_do_not_turn_robust_components(cost):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) * [5.0, 0.3, 0.3]
    clean = PrincipalPlane(1).fit(X).components_
    X[:10] = rng.normal(size=(10, 3)) * 0.1 + [0.0, 25.0, 0.0]
    turned = PrincipalPlane(1).fit(X).components_
    robust = PrincipalPlane(1, cost=cost).fit(X).components_
    assert abs(float((turned @ clean.T)[0, 0])) < 0.9
    assert abs(float((robust @ clean.T)[0, 0])) > 0.99


def test_a_wide_huber_cost_is_pca():
    X = cloud()
    wide = PrincipalPlane(2, cost=HuberDistortion(1e6)).fit(X)
    squares = PrincipalPlane(2).fit(X)
    assert_allclose(np.abs(wide.components_ @ squares.components_.T), np.eye(2), atol=1e-6)
    assert_allclose(wide.objective_ * 2e6, squares.objective_, rtol=1e-9)


@pytest.mark.parametrize("cost", [HuberDistortion(0.5), AbsoluteDistortion()], ids=repr)
def test_the_robust_line_is_a_local_minimum(cost):
    """A search without derivatives over lines in the plane finds nothing better nearby."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2)) * [3.0, 0.5] + rng.standard_t(2, size=(40, 2)) * 0.3
    made = PrincipalPlane(1, cost=cost, tol=1e-12, max_iter=5000).fit(X)

    def value(p):
        axis = np.array([np.cos(p[0]), np.sin(p[0])])
        normal = np.array([-axis[1], axis[0]])
        height = (X @ normal - p[1])[:, None]
        if isinstance(cost, HuberDistortion):
            return cost(height).mean()
        # The city-block distance from a line is along the steeper coordinate.
        return np.mean(np.abs(height[:, 0]) / np.abs(normal).max())

    angle = np.arctan2(made.components_[0, 1], made.components_[0, 0])
    normal = np.array([-np.sin(angle), np.cos(angle)])
    start = np.array([angle, made.mean_ @ normal])
    assert_allclose(value(start), made.objective_, rtol=1e-5)
    around = minimize(value, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    assert made.objective_ - around.fun <= 1e-9 * around.fun


def test_absolute_projections_are_linear_programs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5))
    made = PrincipalPlane(2, cost="absolute").fit(X)
    for x, ours in zip(X[:10], made.distortion(X[:10]), strict=True):
        V, r = made.directions_, x - made.mean_
        A = np.block([[V.T, -np.eye(5)], [-V.T, -np.eye(5)]])
        best = linprog(
            np.r_[0, 0, np.ones(5)], A, np.r_[r, -r], bounds=[(None, None)] * 2 + [(0, None)] * 5
        )
        assert best.fun - 1e-9 <= ours <= best.fun * (1 + 1e-4)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 2), st.integers(1, 3), st.booleans(), st.booleans())
def test_no_half_step_raises_the_cost(seed, which, q, gaps, spherical):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 4)) @ rng.normal(size=(4, 4))
    s = rng.uniform(0.1, 1.0, 25)
    s /= s.sum()
    start = (spherical_plane if spherical else principal_plane)(X, s, q)
    if gaps:
        X[rng.uniform(size=X.shape) < 0.15] = np.nan
        X[np.isnan(X).all(axis=1)] = 0.0
    found = tilt_plane(COSTS[which], X, s, start, 30, 0.0)
    assert np.all(np.diff(found.objective) <= 0)
    assert_allclose(found.plane.axes @ found.plane.axes.T, np.eye(q), atol=1e-10)


def test_missing_cells_of_a_line_are_found_again():
    t = np.linspace(-1, 1, 30)
    X = np.c_[t, 2 * t, -t] + 1.0
    gaps = X.copy()
    gaps[::3, 0] = gaps[1::4, 1] = np.nan
    made = PrincipalPlane(1, tol=1e-14, max_iter=2000).fit(gaps)
    assert_allclose(made.impute(gaps), X, atol=1e-5)
    assert_allclose(np.abs(made.components_[0]), np.array([1, 2, 1]) / np.sqrt(6), atol=1e-5)
    with pytest.raises(ValueError, match="no cell may be missing"):
        PrincipalPlane(1, cost=MetricDistortion(np.eye(3))).fit(gaps)


def test_weight_two_is_the_row_twice():
    X = cloud(30)
    s = np.array([0, 1, 2] * 10)
    for cost in ("squared", "huber"):
        one = PrincipalPlane(2, cost=cost).fit(X, sample_weight=s)
        other = PrincipalPlane(2, cost=cost).fit(np.repeat(X, s, axis=0))
        assert_allclose(one.reconstruct(X), other.reconstruct(X), atol=1e-4)
        assert_allclose(one.objective_, other.objective_, rtol=1e-8)


def test_rows_that_span_fewer_directions():
    X = np.outer(np.arange(5.0), [1.0, 0, 0])
    made = PrincipalPlane(3).fit(X)
    assert_allclose(made.components_ @ made.components_.T, np.eye(3), atol=1e-12)
    assert_allclose(made.explained_variance_, [2.0, 0.0, 0.0], atol=1e-12)
    with pytest.raises(ValueError, match="more than the 3 features"):
        PrincipalPlane(4).fit(X)


def lines(n=60, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(-2, 2, n)
    axis = np.array([[1.0, 0.2], [0.1, 1.0]])[rng.integers(2, size=n)]
    return t[:, None] * axis + 0.02 * rng.normal(size=(n, 2))


def test_the_best_two_lines_of_all_partitions():
    X = np.random.default_rng(2).normal(size=(9, 2))
    least = np.inf
    for labels in product([0, 1], repeat=8):
        labels = np.array([0, *labels])
        total = sum(
            np.linalg.eigvalsh(np.cov(X[labels == j].T, bias=True))[0] * np.sum(labels == j)
            for j in (0, 1)
            if np.sum(labels == j) > 1
        )
        least = min(least, total / 9)
    made = KPlanes(2, n_init=60, random_state=0).fit(X)
    assert_allclose(made.objective_, least, rtol=1e-8, atol=1e-12)


def test_planes_of_dimension_q_and_their_rows():
    X = lines()
    made = KPlanes(2, random_state=0).fit(X)
    for j in (0, 1):
        own = X[made.labels_ == j]
        assert_allclose(made.means_[j], own.mean(axis=0))
        theirs = PCA(1).fit(own)
        assert_allclose(np.abs(made.directions_[j]), np.abs(theirs.components_), atol=1e-8)
    assert made.objective_ < 1e-3
    assert_array_equal(made.predict(X), made.labels_)
    assert_allclose(made.transform(X).min(axis=1), made.distortion(X))
    R = X - made.reconstruct(X)
    assert_allclose(np.sum(R**2, axis=1), made.distortion(X), atol=1e-12)
    one = KPlanes(1, 2).fit(cloud())
    assert_allclose(one.objective_, PrincipalPlane(2).fit(cloud()).objective_)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 3))
def test_k_planes_descend_and_end(seed, k, q):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(20, 3))
    s = rng.uniform(0.1, 1.0, 20)
    s /= s.sum()
    found = descend_planes(X, s, _drawn(X, s, k, q, rng), 1000, 0.0)
    assert found.converged
    assert np.all(np.diff(found.objective) <= 1e-14)


def test_k_planes_in_a_metric():
    X = lines()
    D = np.array([[2.0, 0.3], [0.3, 0.5]])
    made = KPlanes(2, cost=MetricDistortion(D), random_state=0).fit(X)
    white = X @ np.linalg.inv(np.linalg.cholesky(D)).T
    assert_allclose(KPlanes(2, random_state=0).fit(white).objective_, made.objective_)
    R = X - made.reconstruct(X)
    assert_allclose(made.distortion(X), np.einsum("nd,de,ne->n", R, np.linalg.inv(D), R))


def test_refusals_and_warnings():
    X = lines()
    with pytest.raises(ValueError, match="belong to squared costs"):
        KPlanes(2, cost="huber").fit(X)
    with pytest.raises(ValueError, match="contains NaN"):
        KPlanes(2).fit([[np.nan, 1.0], [0.0, 1.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="too few for n_planes=3"):
        KPlanes(3).fit(X[:2])
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations"):
        KPlanes(2, max_iter=1, random_state=0).fit(X)


@parametrize_with_checks(
    [
        PrincipalPlane(1),
        PrincipalPlane(1, cost="huber", max_iter=3000),
        KPlanes(2, random_state=0),
    ],
    # As of scikit-learn's KMeans: random starts draw other rows from a sample with copies.
    expected_failed_checks=lambda made: (
        {
            "check_sample_weight_equivalence_on_dense_data": "random starts draw other rows",
            "check_clustering": "blobs are no planes: rows of one blob lie on several lines",
        }
        if isinstance(made, KPlanes)
        else {}
    ),
)
def test_scikit_learn(estimator, check):
    check(estimator)
