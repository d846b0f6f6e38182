"""Pivoted Cholesky: exact at full rank, a positive rest, one factor from rows and LAPACK."""

import numpy as np
import pytest

from mercer.gram import Dense, Tiled, pivoted
from mercer.gram.low_rank import LowRank
from mercer.gram.pivoted import pivoted_cholesky
from mercer.kernels import Gaussian

N = 40


def test_the_factor_is_exact_at_full_rank():
    rng = np.random.default_rng(0)
    G = rng.normal(size=(N, 6))
    L = pivoted_cholesky(LowRank(G), N).L
    assert L.shape == (N, 6)
    np.testing.assert_allclose(L @ L.T, G @ G.T, atol=1e-12 * N)


def test_the_factor_leaves_a_positive_rest():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, 3))
    gram = Tiled(Gaussian(1.0), X, max_bytes=3000)
    K, before = Gaussian(1.0)(X), np.inf
    for rank in (1, 5, 20):
        L = pivoted_cholesky(gram, rank).L
        rest = K - L @ L.T
        assert np.linalg.eigvalsh(rest).min() >= -N * 1e-15
        assert np.trace(rest) < before
        before = np.trace(rest)


def test_the_factor_off_the_border():
    # -|x - z| is positive definite on vectors that sum to zero: LL' is its part there.
    X = np.random.default_rng(2).normal(size=N)
    K, U = -np.abs(X[:, None] - X[None, :]), np.full((N, 1), N**-0.5)
    off = np.eye(N) - U @ U.T
    L = pivoted_cholesky(Dense(K), N, U).L
    assert L.shape == (N, N - 1)
    # N steps, each with the rounding of N values that are at most as large as K's.
    error = N**2 * np.finfo(float).eps * np.max(np.abs(K))
    np.testing.assert_allclose(L @ L.T, off @ K @ off, atol=error)
    assert pivoted_cholesky(Dense(K), N).L.shape == (N, 0)  # its diagonal is zero


def test_rows_and_lapack_make_the_same_factor():
    rng = np.random.default_rng(3)
    G = rng.normal(size=(N, 7))
    rows, whole = pivoted_cholesky(LowRank(G)), pivoted_cholesky(G @ G.T)
    np.testing.assert_array_equal(rows.pivots, whole.pivots)
    # Seven steps, each with the rounding of entries of K and the division by a pivot's root.
    error = 7 * N * np.finfo(float).eps * np.max(G @ G.T) / np.min(np.diag(whole.L[whole.pivots]))
    np.testing.assert_allclose(rows.L, whole.L, rtol=0, atol=error)


@pytest.mark.parametrize("pivoting", ["largest", "random"])
def test_pivots_make_a_triangle(pivoting):
    K = Gaussian(1.0)(np.random.default_rng(4).normal(size=(N, 2)))
    L, pivots = pivoted_cholesky(Dense(K), 12, pivoting=pivoting)
    assert len(set(pivots)) == 12
    np.testing.assert_allclose(np.triu(L[pivots], 1), 0.0, atol=N * np.finfo(float).eps)
    np.testing.assert_allclose((L @ L.T)[pivots], K[pivots], atol=N**2 * np.finfo(float).eps)


@pytest.mark.parametrize("in_memory", [False, True])
def test_a_tolerance_is_a_share_of_the_largest_entry(in_memory):
    K = np.diag([4.0, 4e-3, 4e-5, 4e-7])
    given = K if in_memory else Dense(K)
    assert [len(pivoted_cholesky(given, tol=t).pivots) for t in (1e-2, 1e-4, 1e-9)] == [1, 2, 4]


@pytest.mark.parametrize("pivoting", ["largest", "random"])
def test_given_rows_come_first_unless_nothing_is_left_of_them(pivoting):
    K = Gaussian(1.0)(np.random.default_rng(5).normal(size=(N, 2)))
    K[7] = K[3]
    K[:, 7] = K[:, 3]
    found = pivoted_cholesky(Dense(K), 6, pivoting=pivoting, first=np.array([9, 3, 7])).pivots
    assert len(found) == 6
    np.testing.assert_array_equal(found[:2], [9, 3])
    assert 7 not in found


@pytest.mark.timeout(20)
def test_rows_of_which_nothing_is_left_are_not_drawn_for_ever():
    class Nothing:
        """Rows that vanish, though their diagonal was said not to."""

        diagonal, floor, dtype = np.ones(5), 0.1, np.dtype(np.float32)

        def rows(self, index):
            return np.zeros((len(index), 5), dtype=np.float32)

    found = pivoted._random(Nothing(), 3, None, 0, None)
    assert found.L.shape == (5, 0)
