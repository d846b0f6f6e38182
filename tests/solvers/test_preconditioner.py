"""Thin factors: near the best, positive definite, the same on every run; and their inverse."""

import numpy as np
import pytest

from mercer.gram import Dense, Tiled
from mercer.gram.low_rank import LowRank
from mercer.gram.pivoted import pivoted_cholesky
from mercer.kernels import Gaussian
from mercer.solvers._preconditioner import (
    COMPUTED_VALUE_COST,
    FACTOR_NUMBER_COST,
    ITERATIONS_PER_ROOT,
    approximately,
    nystrom,
    thin_rank,
    worthwhile,
)

N = 300
EPS = np.finfo(float).eps


def largest_pivots(K, rank, U=None):
    return pivoted_cholesky(K, rank, U).L


def random_pivots(K, rank, U=None, seed=0, dtype=np.float64):
    return pivoted_cholesky(K, rank, U, pivoting="random", random_state=seed, dtype=dtype).L


FACTORS = [largest_pivots, random_pivots, nystrom]
every_factor = pytest.mark.parametrize("factor", FACTORS)


def matrix(n=N, seed=0):
    return Gaussian(1.0)(np.random.default_rng(seed).normal(size=(n, 2)))


@every_factor
def test_the_rest_is_positive_and_nearly_the_least(factor):
    """Theorem 2.3 of Chen et al.: r / eps + r log(1 / eps eta) rows leave 1 + eps of the best."""
    K = matrix()
    values = np.linalg.eigvalsh(K)[::-1]
    before = np.inf
    for rank in (5, 20, 60):
        L = factor(Dense(K), rank)
        assert L.shape == (N, rank)
        rest = K - L @ L.T
        assert np.linalg.eigvalsh(rest)[0] >= -N * EPS * values[0]
        left = np.trace(rest)
        assert left < before
        # Twice the columns of what is compared with: eps = 1 and a logarithm of the ratio.
        assert left <= 2.0 * np.sum(values[rank // 2 :]) + N**2 * EPS
        before = left


@every_factor
def test_the_factor_is_exact_at_full_rank(factor):
    G = np.random.default_rng(0).normal(size=(N, 6))
    L = factor(LowRank(G), 40)
    assert np.linalg.matrix_rank(L, tol=1e-6 * np.linalg.norm(L)) == 6
    np.testing.assert_allclose(L @ L.T, G @ G.T, atol=N * np.sqrt(N) * EPS * np.max(G @ G.T))


@every_factor
def test_the_factor_off_the_border(factor):
    """-|x - z| is positive definite on vectors that sum to zero: LL' is its part there."""
    X = np.random.default_rng(2).normal(size=40)
    K, U = -np.abs(X[:, None] - X[None, :]), np.full((40, 1), 40**-0.5)
    off = np.eye(40) - U @ U.T
    L = factor(Dense(K), 40, U)
    assert L.shape[1] <= 39
    # What remains when a factor of all columns is cut at its floor, n eps of the largest value.
    error = 40**2 * np.sqrt(40) * EPS * np.max(np.abs(K))
    np.testing.assert_allclose(L @ L.T, off @ K @ off, atol=error)


@pytest.mark.parametrize("factor", [random_pivots, nystrom])
def test_draws_are_those_of_the_seed(factor):
    K = Dense(matrix())
    one, same, other = (factor(K, 30, None, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.allclose(one, other)


def test_drawn_rows_have_the_law_of_one_at_a_time():
    """Two blocks of equal points: a first row is drawn of each in proportion to its size."""
    n, first = 60, []
    K = np.zeros((n, n))
    K[:20, :20], K[20:, 20:] = 1.0, 1.0
    for seed in range(300):
        L = random_pivots(Dense(K), 1, None, seed)
        first.append(L[0, 0] > 0)
    # 20 of 60 rows: a share of 1/3, five standard deviations of 300 draws.
    assert abs(np.mean(first) - 1 / 3) <= 5 * np.sqrt(2 / 9 / 300)
    # Two rows always find both blocks, since nothing of the first remains.
    assert random_pivots(Dense(K), 9, None, 0).shape == (n, 2)


def test_a_factor_in_single_precision():
    K = matrix()
    L = random_pivots(Dense(K), 60, dtype=np.float32)
    assert L.dtype == np.float32
    double = random_pivots(Dense(K), 60)
    rests = [np.trace(K - F.astype(float) @ F.astype(float).T) for F in (L, double)]
    # Entries of L are at most one: each is off by 2^-24, in a sum of 60 squares.
    assert abs(rests[0] - rests[1]) <= 2 * N * 60 * 2.0**-24 + 0.5 * rests[1]
    M = L.astype(float) @ L.astype(float).T + 0.1 * np.eye(N)
    r = np.random.default_rng(0).normal(size=(N, 3))
    # The inverse is that of the rounded factor, in double precision.
    error = np.linalg.cond(M) * N * EPS * np.max(np.abs(np.linalg.solve(M, r)))
    np.testing.assert_allclose(
        approximately(np.full(N, 0.1), L)(r), np.linalg.solve(M, r), atol=error
    )


@pytest.mark.parametrize("shape", [(), (1,), (4,)])
@pytest.mark.parametrize("spread", [0.0, 3.0])
def test_the_inverse(shape, spread):
    rng = np.random.default_rng(3)
    e, L = 10 ** rng.uniform(-spread, spread, N), rng.normal(size=(N, 7))
    e[::5] = np.inf
    live = np.isfinite(e)
    M = L[live] @ L[live].T + np.diag(e[live])
    r = rng.normal(size=(live.sum(), *shape))
    x = approximately(e, L)(r)
    assert x.shape == r.shape
    np.testing.assert_allclose(M @ x, r, atol=N * EPS * np.linalg.cond(M) * np.max(np.abs(r)))


def test_the_inverse_is_positive_where_the_shift_vanishes():
    L = random_pivots(Dense(matrix()), 40)
    inverse = approximately(np.full(N, 1e-30), L)(np.eye(N))
    assert np.linalg.eigvalsh(0.5 * (inverse + inverse.T))[0] > 0


@pytest.mark.parametrize("rough", [True, False])
def test_products_in_single_precision(rough):
    """Off by the ratio of K to the shift times the rounding of float32, one per cent at most."""
    L = random_pivots(Dense(matrix()), 60, dtype=np.float32)
    M = L.astype(float) @ L.astype(float).T
    top, r = np.linalg.eigvalsh(M)[-1], np.random.default_rng(0).normal(size=(N, 3))
    for ratio in (1e2, 1e4, 1e6):
        e = top / ratio
        x = np.linalg.solve(M + e * np.eye(N), r)
        error = np.linalg.norm(approximately(np.full(N, e), L, rough)(r * 1e-30) * 1e30 - x, axis=0)
        # Beyond a ratio of 1e5 products are in double precision, whatever is asked for.
        digits = 0.01 if rough and ratio < 1e5 else 1e-6
        assert np.all(error <= digits * np.linalg.norm(r, axis=0) / e)
        assert np.all(error <= digits * np.linalg.norm(x, axis=0))


def test_largest_rank_follows_rows_and_memory():
    assert thin_rank(50, 1e9) == 50
    assert thin_rank(40_000, 1.6e7) == 100
    assert thin_rank(40_000, 1.6e7, 8) == 50
    assert thin_rank(10**6, 1.0) == 1


def test_columns_are_drawn_while_they_pay():
    """The cheapest rank of a matrix whose eigenvalues fall like 1/k, by the costs themselves."""
    n, shift, top = 50_000, 0.1, 5000.0
    k = np.arange(256, 8000)
    iterations = ITERATIONS_PER_ROOT * np.sqrt(1.0 + top / k / shift)
    cost = (
        iterations * (0.5 * n**2 * COMPUTED_VALUE_COST + FACTOR_NUMBER_COST * n * k)
        + n * k.astype(float) ** 2
    )
    rule = worthwhile(n, shift)
    stop = next(int(j) for j in k if not rule(int(j), top / j))
    # The rule leaves out what fewer iterations save in reading the factor.
    assert abs(stop / k[np.argmin(cost)] - 1.0) <= 0.05
    # Fewer pay where kernel values are cheaper, the shift is larger, or there are fewer rows.
    for other in (worthwhile(n, shift, 1.0), worthwhile(n, 10 * shift), worthwhile(n // 4, shift)):
        assert next(int(j) for j in k if not other(int(j), top / j)) < 0.8 * stop


def test_a_factor_ends_where_columns_no_longer_pay():
    asked = []

    def more(columns, gain):
        asked.append((columns, gain))
        return columns < 150

    K = matrix()
    L = pivoted_cholesky(Dense(K + 0.1 * np.eye(N)), pivoting="random", more=more).L
    assert L.shape[1] == asked[-1][0] >= 150
    assert asked[-2][0] < 150
    first = asked[0][0]
    assert asked[0][1] == pytest.approx(np.sum(L[:, :first] ** 2) / first)


def test_tiles_are_read_by_rows():
    X = np.random.default_rng(1).normal(size=(N, 3))
    tiled, held = (
        random_pivots(gram, 30)
        for gram in (Tiled(Gaussian(1.0), X, max_bytes=30_000), Dense(Gaussian(1.0)(X)))
    )
    np.testing.assert_allclose(tiled @ tiled.T, held @ held.T, atol=1e-10)
