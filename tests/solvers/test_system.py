"""The linear system of Newton's method: three ways to solve it, one answer."""

import numpy as np
import pytest

from mercer.gram import Dense
from mercer.gram.pivoted import pivoted_cholesky
from mercer.kernels import Gaussian
from mercer.solvers._preconditioner import approximately
from mercer.solvers._system import factorized, iterated

N = 40


def system(seed=0, q=2):
    """Draw K, e with a quarter of its entries infinite, orthonormal U, and a right-hand side."""
    rng = np.random.default_rng(seed)
    K = Gaussian(1.0)(rng.normal(size=(N, 2)))
    e = 10 ** rng.uniform(-3, 1, N)
    e[::4] = np.inf
    U = np.linalg.qr(rng.normal(size=(N, q)))[0]
    r = np.where(np.isfinite(e), rng.normal(size=N), 0.0)
    return K, e, U, r, rng.normal(size=q)


def by_hand(K, e, U, r, d):
    live = np.flatnonzero(np.isfinite(e))
    k, q = len(live), U.shape[1]
    M = np.block(
        [[K[np.ix_(live, live)] + np.diag(e[live]), U[live]], [U[live].T, np.zeros((q, q))]]
    )
    z = np.linalg.solve(M, np.concatenate([r[live], d]))
    x = np.zeros(len(e))
    x[live] = z[:k]
    return x, z[k:]


def near(residual, x, t):
    return bool(np.max(np.abs(residual)) <= 1e-10)


@pytest.mark.parametrize("q", [0, 1, 3])
def test_factorized_solves_the_system(q):
    K, e, U, r, d = system(q=q)
    x, t = factorized(Dense(K), e, U, 1e9)(r, d)
    expected = by_hand(K, e, U, r, d)
    # The matrix is as ill-conditioned as 40 / 1e-3.
    np.testing.assert_allclose(x, expected[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(t, expected[1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("q", [0, 1, 3])
@pytest.mark.parametrize("rank", [0, 5, 40])
def test_iterated_solves_the_system(q, rank):
    K, e, U, r, d = system(q=q)
    L = pivoted_cholesky(Dense(K), rank).L
    x, t = iterated(Dense(K), e, U, approximately(e, L), near)(r, d)
    expected = by_hand(K, e, U, r, d)
    # Residuals of 1e-10 in f are errors of at most 1e-10 / min e in x; the constraint is exact.
    np.testing.assert_allclose(x, expected[0], atol=1e-10 * N / 1e-3)
    np.testing.assert_allclose(t, expected[1], atol=1e-10 * N / 1e-3)
    np.testing.assert_allclose(U.T @ x, d, atol=1e-12 * np.abs(x).sum())
    assert not np.any(x[~np.isfinite(e)])


def test_a_better_preconditioner_needs_fewer_products():
    K, e, U, r, d = system()
    rounds = []
    for rank in (0, 10, N):
        calls = []

        def enough(residual, x, t, calls=calls):
            calls.append(1)
            return near(residual, x, t)

        inverse = approximately(e, pivoted_cholesky(Dense(K), rank).L)
        iterated(Dense(K), e, U, inverse, enough)(r, d)
        rounds.append(len(calls))
    assert rounds[0] > rounds[1] > rounds[2]
    assert rounds[2] <= 2  # all of K: one step, and one look


def test_conditionally_positive_definite():
    # -|x - z| is positive definite on vectors that sum to zero.
    rng = np.random.default_rng(0)
    X = rng.normal(size=N)
    K = -np.abs(X[:, None] - X[None, :])
    e, U, r, d = np.full(N, 0.1), np.full((N, 1), N**-0.5), rng.normal(size=N), np.zeros(1)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(K + np.diag(e))
    expected = by_hand(K, e, U, r, d)
    for solve in (
        factorized(Dense(K), e, U, 1e9),
        iterated(Dense(K), e, U, approximately(e, np.zeros((N, 0))), near),
    ):
        x, t = solve(r, d)
        np.testing.assert_allclose(x, expected[0], atol=1e-7)
        np.testing.assert_allclose(t, expected[1], atol=1e-7)


def test_an_empty_system():
    K, _, U, _, _ = system()
    x, t = factorized(Dense(K), np.full(N, np.inf), U, 1e9)(np.zeros(N), np.ones(2))
    assert not np.any(x)
    assert not np.any(t)


def test_a_negative_eigenvalue_is_found_out():
    K, e, U, r, d = system(q=0)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        iterated(Dense(K - 5.0 * np.eye(N)), e, U, approximately(e, np.zeros((N, 0))), near)(r, d)
