"""Centres against brute force: leverage scores, remainders, clusters."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.data import Arrays, draw
from mercer.data.sampling import FingerprintSample
from mercer.gram import Dense
from mercer.kernels import (
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Precomputed,
    Sigmoid,
    StringSpectrum,
    ThinPlate,
    Wendland,
)
from mercer.reduced.centres import (
    KINDS,
    WAYS,
    Anchored,
    choose,
    grow,
    inclusion,
    leverage_scores,
    means,
    recursive_scores,
    units,
)

KERNELS = [
    Gaussian(1.5),
    2.0 * Matern([1.0, 2.0, 3.0], nu=0.5) + Linear().on([0]),
    Wendland(4.0, dim=3),
    Laplacian(2.0) * Polynomial(2, coef0=1.0),
]


def unbalanced(n=600, p=3, seed=0):
    """Most rows near each other, a tenth of them far away from everything."""
    rng = np.random.default_rng(seed)
    far = n // 10
    return np.concatenate([0.5 * rng.normal(size=(n - far, p)), 5.0 * rng.normal(size=(far, p))])


def pool_of(X, size=None, y=None, s=None, seed=0):
    return draw(Arrays(X, y, s), X.shape[0] if size is None else size, seed)


def remainder(kernel, X, Z):
    """Return tr(K - K_Z K_ZZ^+ K_Z') as a part of tr K, by an eigenvalue decomposition."""
    values, vectors = np.linalg.eigh(kernel(Z))
    keep = values > 1e-10 * values[-1]
    F = kernel(X, Z) @ (vectors[:, keep] / np.sqrt(values[keep]))
    return 1.0 - np.sum(F**2) / np.sum(kernel.diag(X))


# What every kind promises.


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_different_rows_of_the_sample(kind, kernel):
    X = unbalanced(200)
    pool = pool_of(X, 150, y=X[:, 0])
    centres = choose(kind, kernel, pool, 20)
    assert len(centres) == 20
    assert len(np.unique(centres.Z, axis=0)) == 20
    if centres.index is not None:
        assert np.array_equal(centres.Z, pool.X[centres.index])


@pytest.mark.parametrize("kind", KINDS)
def test_the_choice_does_not_depend_on_the_order_of_rows(kind):
    X = unbalanced(200)
    again = np.random.default_rng(1).permutation(200)
    a, b = (
        choose(kind, Gaussian(), p, 10)
        for p in (pool_of(X, y=X[:, 0]), pool_of(X[again], y=X[again, 0]))
    )
    assert np.array_equal(a.Z, b.Z)


@pytest.mark.parametrize("kind", WAYS)
def test_growth_is_nested(kind):
    X = unbalanced(300)
    pool = pool_of(X, y=X[:, 0])
    few = choose(kind, Gaussian(), pool, 7)
    more = grow(kind, Gaussian(), pool, few, 30)
    assert len(more) == 30
    assert np.array_equal(more.Z[:7], few.Z)
    assert len(np.unique(more.Z, axis=0)) == 30
    assert remainder(Gaussian(), X, more.Z) < remainder(Gaussian(), X, few.Z)


@pytest.mark.parametrize("kind", ["rpcholesky", "pivoted", "leverage"])
def test_rows_that_say_nothing_new_are_not_chosen(kind):
    X = np.random.default_rng(0).normal(size=(60, 2))
    pool = pool_of(X, y=X[:, 0])
    centres = choose(kind, Linear(), pool, 10)
    # The linear kernel of two features has rank two; leverage scores draw without looking back.
    assert len(centres) == (10 if kind == "leverage" else 2)


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_rows_and_more_centres_than_rows(kind):
    X = sp.random_array((50, 30), density=0.2, rng=np.random.default_rng(0), format="csr")
    pool = pool_of(X, y=np.arange(50.0))
    centres = choose(kind, Gaussian(3.0), pool, 80)
    assert sp.issparse(centres.Z)
    assert len(centres) == pool.X.shape[0]
    assert np.array_equal(np.sort(centres.index), np.arange(pool.X.shape[0]))


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"uniform", "kmeans", "pivoted"}))
def test_better_than_uniform_where_rows_are_unbalanced(kind):
    X, kernel = unbalanced(600), Gaussian(1.5)
    pool = pool_of(X)
    by_chance = remainder(kernel, X, choose("uniform", kernel, pool, 60).Z)
    mean = np.mean([remainder(kernel, X, choose(kind, kernel, pool, 60, seed=s).Z) for s in (0, 1)])
    # Rows drawn by volume leave at most 1 + r/(m - r + 1) times the tail of the spectrum beyond r
    # in the mean, twice that beyond half of them (Belabbas and Wolfe 2009; Guruswami and Sinop
    # 2012); good choices do not leave more.
    tail = np.sort(np.linalg.eigvalsh(kernel(X)))[:-30].sum() / len(X)
    assert mean < 0.85 * by_chance
    assert mean < 2.0 * tail


def test_memory_is_kept_by_looking_at_fewer_rows():
    pool = pool_of(unbalanced(600))
    for kind in ("rpcholesky", "pivoted"):
        per = WAYS[kind].bytes
        index = choose(kind, Gaussian(), pool, 10, max_bytes=per * 10 * 100).index
        assert np.max(index) < 100


# Refusals.


def test_refusals_say_what_to_do():
    pool = pool_of(unbalanced(40))
    with pytest.raises(ValueError, match=r"one of \['kmeans'.*or points, got 'best'"):
        choose("best", Gaussian(), pool, 3)
    with pytest.raises(ValueError, match="at least 1, got 0"):
        choose("uniform", Gaussian(), pool, 0)
    with pytest.raises(ValueError, match="give the kernel itself"):
        choose("uniform", Precomputed(), pool, 3)
    with pytest.raises(ValueError, match="'uniform' or 'kmeans'"):
        choose("rpcholesky", Sigmoid(), pool, 3)
    with pytest.raises(ValueError, match="objects, which have no means"):
        choose("kmeans", StringSpectrum(2), pool, 3)
    with pytest.raises(ValueError, match="have 2 features but the rows have 3"):
        choose(np.ones((4, 2)), Gaussian(), pool, 3)
    with pytest.raises(ValueError, match="finite"):
        choose(np.full((4, 3), np.nan), Gaussian(), pool, 3)
    with pytest.raises(ValueError, match="continues a choice of rows"):
        grow("pivoted", Gaussian(), pool, choose("kmeans", Gaussian(), pool, 3), 5)
    with pytest.raises(ValueError, match="choose more than 10 centres"):
        choose("uniform", ThinPlate(order=3), pool, 4)
    flat = pool_of(np.column_stack([np.arange(20.0), np.zeros(20)]))
    with pytest.raises(ValueError, match="do not determine the 3 polynomials"):
        choose("uniform", ThinPlate(), flat, 5)


def test_points_are_taken_as_they_are_but_once():
    Z = np.array([[3.0, 1.0, 0.0], [0.0, 1.0, 2.0], [3.0, 1.0, 0.0]])
    centres = choose(Z, Gaussian(), pool_of(unbalanced(40)), 1)
    assert np.array_equal(centres.Z, Z[:2])
    assert centres.index is None


# Leverage scores.


def test_scores_are_the_diagonal_of_the_smoother():
    X = unbalanced(80)
    K = Gaussian(1.5)(X)
    exact = np.diag(K @ np.linalg.inv(K + 0.3 * np.eye(80)))
    assert np.allclose(leverage_scores(Dense(K), 0.3), exact, rtol=0.0, atol=1e-9)
    assert np.allclose(leverage_scores(Dense(K), 0.3, rows=5), exact[:5], rtol=0.0, atol=1e-9)


def test_scores_from_rows_with_chances_are_those_of_the_weighted_rows():
    # Row j drawn with chance pi stands for 1/pi rows: phi'(sum_j phi phi'/pi + rho)^-1 phi.
    X = unbalanced(40)
    K, J, chances, rho = Polynomial(2, coef0=1.0), np.arange(0, 40, 3), 0.25, 0.7
    F = K.features(X)
    A = F[J].T @ F[J] / chances + rho * np.eye(F.shape[1])
    exact = np.einsum("ij,ij->i", F @ np.linalg.inv(A), F)
    ours = leverage_scores(Dense(K(X)), rho, J, np.full(len(J), chances))
    # Kernel values up to 1e5 are subtracted from each other and divided by rho.
    assert np.allclose(ours, exact, rtol=0.0, atol=1e5 * 40 * np.finfo(float).eps / rho)


@pytest.mark.parametrize("seed", [0, 1])
def test_recursive_scores_are_right_up_to_a_factor(seed):
    X = unbalanced(800, seed=seed)
    X = X[np.random.default_rng(seed).permutation(800)]
    K, m = Gaussian(1.5)(X), 200
    # A ridge at which about fifty directions count: the scores need no larger one.
    ridge = float(np.sort(np.linalg.eigvalsh(K))[-50])
    exact = np.diag(K @ np.linalg.inv(K + ridge * np.eye(800)))
    ours = recursive_scores(Dense(K), m, ridge, np.random.default_rng(seed))
    # A row that half of the rows are said to stand for counts twice or not at all: a factor of two
    # either way. Directions of d rows are known from m up to 1 + sqrt(d/m), here 1.5.
    ratio = ours / exact
    assert np.all(ratio > 1.0 / 3.0)
    assert np.all(ratio < 3.0)
    assert abs(np.log(np.median(ratio))) < 0.2


def test_chances_add_up_and_follow_the_scores():
    scores = np.array([5.0, 0.1, 0.2, 0.3, 0.0, 9.0])
    chances = inclusion(scores, 3)
    assert np.isclose(chances.sum(), 3.0, rtol=1e-14)
    assert np.allclose(chances, [1.0, 1 / 6, 2 / 6, 3 / 6, 0.0, 1.0], rtol=1e-14)
    assert np.array_equal(inclusion(scores, 6), np.ones(6))
    assert np.array_equal(inclusion(scores, 5), [1, 1, 1, 1, 0, 1])


def test_pivoted_takes_the_largest_remainder():
    X = unbalanced(40)
    K = Gaussian(2.0)(X)
    pool = pool_of(X)
    ours = choose("pivoted", Gaussian(2.0), pool, 5).index
    K, chosen = Gaussian(2.0)(pool.X), [0]
    for _ in range(4):
        J = chosen
        left = np.diag(K) - np.einsum("ij,ji->i", K[:, J], np.linalg.solve(K[np.ix_(J, J)], K[J]))
        chosen = [*chosen, int(np.argmax(left))]
    assert ours.tolist() == chosen


# Conditionally positive definite kernels.


def test_beside_its_anchors_a_thin_plate_is_positive_definite_and_vanishes_there():
    X = np.random.default_rng(0).normal(size=(40, 2))
    P = np.column_stack([np.ones(40), X])
    anchors = np.array([3, 7, 20])
    K = Anchored(Dense(ThinPlate()(X)), P, anchors).dense()
    values = np.linalg.eigvalsh(K)
    assert values[0] > -1e-12 * values[-1] * 40
    assert np.allclose(K[anchors], 0.0, atol=1e-12 * values[-1])
    # Coefficients orthogonal to the polynomials do not see what was taken off.
    a = np.linalg.qr(P, mode="complete")[0][:, 3:]
    assert np.allclose(a.T @ K @ a, a.T @ ThinPlate()(X) @ a, atol=1e-12 * values[-1])
    assert np.allclose(np.diag(K), Anchored(Dense(ThinPlate()(X)), P, anchors).diag())


@pytest.mark.parametrize("kind", WAYS)
def test_the_first_centres_of_a_thin_plate_determine_its_polynomials(kind):
    X = 100.0 + np.random.default_rng(0).normal(size=(120, 2))
    pool = pool_of(X, y=X[:, 0])
    few = choose(kind, ThinPlate(), pool, 10)
    more = grow(kind, ThinPlate(), pool, few, 25)
    assert np.linalg.matrix_rank(np.column_stack([np.ones(3), few.Z[:3] - 100.0])) == 3
    assert len(more) == len(np.unique(more.Z, axis=0)) == 25
    assert np.array_equal(more.Z[:10], few.Z)


# Clusters.


def test_clusters_are_those_of_the_features_in_units_of_the_kernel():
    X = unbalanced(300)
    scale = np.array([1.0, 10.0, 0.1])
    a = choose("kmeans", Gaussian(), pool_of(X), 10)
    pool = pool_of(X)
    stretched = FingerprintSample(
        pool.size, pool.keys, pool.X * scale, None, None, pool.rows, pool.n
    )
    b = choose("kmeans", Gaussian(scale), stretched, 10)
    assert np.allclose(a.Z * scale, b.Z, rtol=1e-10)


def test_means_on_a_circle_are_rows():
    pool = pool_of(np.random.default_rng(0).uniform(size=(50, 1)))
    centres = choose("kmeans", Periodic(), pool, 5)
    assert np.array_equal(centres.Z, pool.X[centres.index])


def test_features_that_the_kernel_does_not_see_are_their_means():
    pool = pool_of(unbalanced(100))
    Z = choose("kmeans", Gaussian().on([0, 1]), pool, 5).Z
    assert np.allclose(Z[:, 2], pool.X[:, 2].mean(), rtol=1e-13)
    assert units(Gaussian(2.0).on([0, 1]) * Linear(), 3).tolist() == [
        np.hypot(0.5, 1.0),
        np.hypot(0.5, 1.0),
        1.0,
    ]


def test_means_have_weights():
    Y = np.array([[0.0], [1.0], [100.0], [101.0]])
    Z = means(Y, np.array([3.0, 1.0, 1.0, 3.0]), 2, 0)
    assert np.allclose(np.sort(Z[:, 0]), [0.25, 100.75], rtol=1e-12)


def test_means_are_at_least_as_near_as_rows_drawn():
    X = unbalanced(500)

    def error(Z):
        return np.min(((X[:, None] - Z) ** 2).sum(axis=2), axis=1).sum()

    chosen = [choose("kmeans", Gaussian(), pool_of(X), 40, seed=seed).Z for seed in range(4)]
    drawn = [choose("uniform", Gaussian(), pool_of(X), 40).Z]
    assert max(map(error, chosen)) < 0.5 * min(map(error, drawn))


def test_the_same_seed_gives_the_same_means_and_equal_rows_one():
    X = np.repeat(unbalanced(8), 5, axis=0)
    a, b = (means(X, np.ones(40), 30, 3) for _ in range(2))
    assert np.array_equal(a, b)
    assert len(choose("kmeans", Gaussian(), pool_of(X), 30).Z) <= 8
