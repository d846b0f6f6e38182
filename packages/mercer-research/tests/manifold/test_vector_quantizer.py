"""Vector quantizers against scikit-learn, closed forms and all partitions of small samples."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.manifold.distortions import (
    AbsoluteDistortion,
    HuberDistortion,
    MetricDistortion,
    SquaredDistortion,
)
from mercer_research.manifold import VectorQuantizer
from mercer_research.manifold.centres import centre_of, weighted_median
from mercer_research.manifold.vector_quantizer import descend_clusters

COSTS = [SquaredDistortion(), AbsoluteDistortion(), HuberDistortion(0.5), HuberDistortion(1e-3)]


def groups(n=90, seed=0, d=2):
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(3, d)) * 5
    return means[rng.integers(3, size=n)] + rng.normal(size=(n, d))


def test_one_cluster_is_the_mean_and_costs_the_variance():
    X = groups()
    made = VectorQuantizer(1).fit(X)
    assert_allclose(made.cluster_centers_[0], X.mean(axis=0))
    assert_allclose(made.objective_, X.var(axis=0).sum())


def test_one_cluster_of_an_absolute_cost_is_the_median():
    X = groups()
    made = VectorQuantizer(1, cost="absolute").fit(X)
    assert_allclose(made.cluster_centers_[0], np.median(X, axis=0))


@pytest.mark.parametrize("seed", range(5))
def test_k_means_is_that_of_scikit_learn_from_the_same_start(seed):
    X = groups(seed=seed)
    start = X[np.random.default_rng(seed).choice(90, size=5, replace=False)]
    s = np.random.default_rng(seed).uniform(0.1, 2.0, 90)
    ours = VectorQuantizer(5, init=start, tol=0.0).fit(X, sample_weight=s)
    theirs = KMeans(5, init=start, n_init=1, tol=0.0, algorithm="lloyd").fit(X, sample_weight=s)
    assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-10)
    assert_array_equal(ours.labels_, theirs.labels_)
    assert_allclose(ours.objective_, theirs.inertia_ / s.sum())


@pytest.mark.parametrize("cost", COSTS, ids=repr)
def test_the_best_of_all_partitions_is_found(cost):
    """Every partition of eight rows into two clusters, each with its best centres."""
    X = np.random.default_rng(3).normal(size=(8, 2))
    least = np.inf
    for labels in product([0, 1], repeat=7):
        labels = np.array([0, *labels])
        total = 0.0
        for j in (0, 1):
            if np.any(labels == j):
                rows = X[labels == j]
                centre = centre_of(cost, rows, np.ones(len(rows)), rows.mean(axis=0)).point
                total += cost(rows - centre).sum()
        least = min(least, total / 8)
    made = VectorQuantizer(2, cost=cost, n_init=30, random_state=0, tol=0.0).fit(X)
    assert_allclose(made.objective_, least, rtol=1e-6)
    assert made.local_minima_.shape == (30,)
    assert_allclose(made.local_minima_.min(), made.objective_)


@pytest.mark.parametrize("sigma", [0.1, 1.0, 10.0])
def test_hubers_centre_is_the_minimum_of_its_cost_and_certified(sigma):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(30, 3)), [[50.0, 0.0, 0.0]]])
    s = rng.uniform(0.5, 1.5, 31)
    cost = HuberDistortion(sigma)
    found = centre_of(cost, X, s, X[0])
    best = minimize(lambda c: s @ cost(X - c), X.mean(axis=0), method="BFGS", tol=1e-12)
    value = s @ cost(X - found.point)
    assert_allclose(value, best.fun, rtol=1e-8)
    assert -1e-12 * value <= value - best.fun <= found.gap + 1e-9 * value
    assert found.gap <= 1e-8 * value


def test_limits_of_hubers_cost():
    X = groups()
    start = X[:3]
    wide = VectorQuantizer(3, cost=HuberDistortion(1e6), init=start, tol=0.0).fit(X)
    means = VectorQuantizer(3, init=start, tol=0.0).fit(X)
    assert_allclose(wide.cluster_centers_, means.cluster_centers_, rtol=1e-8)
    assert_allclose(wide.objective_ * 2e6, means.objective_, rtol=1e-8)
    narrow = VectorQuantizer(1, cost=HuberDistortion(1e-6)).fit(X)
    median = minimize(
        lambda c: np.linalg.norm(X - c, axis=1).sum(),
        X.mean(axis=0),
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 5000},
    )
    assert_allclose(narrow.cluster_centers_[0], median.x, atol=1e-4)


@pytest.mark.parametrize("cost", ["absolute", HuberDistortion(0.5)])
def test_one_gross_outlier_moves_a_centre_by_a_bounded_amount(cost):
    X = groups(40)
    clean = VectorQuantizer(1, cost=cost).fit(X).cluster_centers_
    for far in (1e2, 1e4, 1e6):
        spoilt = VectorQuantizer(1, cost=cost).fit(np.vstack([X, [[far, far]]])).cluster_centers_
        assert np.linalg.norm(spoilt - clean) < 1.0
    mean = VectorQuantizer(1).fit(np.vstack([X, [[1e6, 1e6]]])).cluster_centers_
    assert np.linalg.norm(mean) > 1e4


def test_a_metric_is_k_means_of_whitened_rows():
    X = groups()
    D = np.array([[4.0, 1.0], [1.0, 0.5]])
    L = np.linalg.cholesky(D)
    start = X[:4]
    ours = VectorQuantizer(4, cost=MetricDistortion(D), init=start, tol=0.0).fit(X)
    white = X @ np.linalg.inv(L).T
    theirs = KMeans(4, init=start @ np.linalg.inv(L).T, n_init=1, tol=0.0).fit(white)
    assert_allclose(ours.cluster_centers_ @ np.linalg.inv(L).T, theirs.cluster_centers_, rtol=1e-9)
    R = X - ours.reconstruct(X)
    assert_allclose(ours.distortion(X), np.einsum("nd,de,ne->n", R, np.linalg.inv(D), R))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from(range(len(COSTS))),
    st.integers(1, 6),
    st.booleans(),
)
def test_no_half_step_raises_the_cost(seed, cost, k, gaps):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 3)) * rng.exponential(size=3)
    if gaps:
        X[rng.uniform(size=X.shape) < 0.2] = np.nan
        X[np.isnan(X).all(axis=1)] = 0.0
    s = rng.uniform(size=25)
    s /= s.sum()
    start = rng.normal(size=(k, 3)) * 3
    found = descend_clusters(COSTS[cost], X, s, start, 100, 0.0)
    assert np.all(np.diff(found.objective) <= 1e-14 * found.objective[0])
    assert found.converged


def test_missing_cells_cost_nothing_and_pull_on_nothing():
    X = np.array([[0.0, 1.0], [2.0, np.nan], [np.nan, 3.0]])
    made = VectorQuantizer(1).fit(X)
    assert_allclose(made.cluster_centers_, [[1.0, 2.0]])
    assert_allclose(made.distortion(X), [2.0, 1.0, 1.0])
    assert_allclose(made.impute(X), [[0.0, 1.0], [2.0, 2.0], [1.0, 3.0]])
    assert_allclose(VectorQuantizer(1, cost="absolute").fit(X).cluster_centers_, [[1.0, 2.0]])
    with pytest.raises(ValueError, match="no cell may be missing"):
        VectorQuantizer(1, cost=MetricDistortion(np.eye(2))).fit(X)
    with pytest.raises(ValueError, match="no known cell"):
        made.predict([[np.nan, np.nan]])


def test_an_empty_cluster_goes_where_rows_cost_most():
    X = np.array([[0.0], [1.0], [10.0]])
    found = descend_clusters(
        SquaredDistortion(), X, np.full(3, 1 / 3), np.array([[0.0], [100.0]]), 100, 0.0
    )
    assert_allclose(np.sort(found.centres.ravel()), [0.5, 10.0])
    assert np.all(np.diff(found.objective) <= 0)


@pytest.mark.parametrize("cost", COSTS, ids=repr)
def test_weight_two_is_the_row_twice_and_weight_zero_is_no_row(cost):
    X = groups(30)
    s = np.array([0, 1, 2] * 10)
    start = X[[1, 2, 4]]
    weighted = VectorQuantizer(3, cost=cost, init=start, tol=0.0).fit(X, sample_weight=s)
    repeated = VectorQuantizer(3, cost=cost, init=start, tol=0.0).fit(np.repeat(X, s, axis=0))
    # Huber's centre is certified to nine digits of the cost, half of which a centre has.
    assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, atol=1e-4)
    assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-8)


def test_weighted_medians():
    rng = np.random.default_rng(0)
    for n in range(1, 12):
        x, s = rng.integers(5, size=n).astype(float), rng.integers(1, 4, size=n)
        assert weighted_median(x, s.astype(float), 0.0) == np.median(np.repeat(x, s))
    assert weighted_median(np.array([np.nan]), np.ones(1), 7.0) == 7.0


def test_new_rows():
    X = groups()
    made = VectorQuantizer(3, random_state=0).fit(X)
    costs = np.array([[np.sum((x - c) ** 2) for c in made.cluster_centers_] for x in X])
    assert_allclose(made.transform(X), costs)
    assert_array_equal(made.predict(X), made.labels_)
    assert_array_equal(made.predict(X), costs.argmin(axis=1))
    assert_allclose(made.score(X), -costs.min(axis=1).mean())
    assert_allclose(made.score(X), -made.objective_)
    assert_allclose(made.reconstruct(X), made.cluster_centers_[made.labels_])
    assert np.array_equal(made.transform(X[:1]), made.transform(X)[:1])


def test_a_fit_that_does_not_end_is_told():
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations"):
        VectorQuantizer(5, max_iter=1, n_init=1, random_state=0).fit(groups())
    with pytest.raises(ValueError, match="too few for n_clusters=9"):
        VectorQuantizer(9).fit(groups(8))
    with pytest.raises(ValueError, match="2 finite centres of 2 features"):
        VectorQuantizer(2, init=[[1.0, 2.0]]).fit(groups())


@parametrize_with_checks(
    [
        VectorQuantizer(3, n_init=3),
        VectorQuantizer(1, cost="absolute"),
        VectorQuantizer(3, cost="huber", n_init=2),
    ],
    # As of scikit-learn's KMeans: random starts draw other rows from a sample with copies.
    expected_failed_checks=lambda made: (
        {"check_sample_weight_equivalence_on_dense_data": "random starts draw other rows"}
        if made.n_clusters > 1
        else {}
    ),
)
def test_scikit_learn(estimator, check):
    check(estimator)
