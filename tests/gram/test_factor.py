"""Systems with a shifted kernel matrix: the answers of LAPACK on the explicit matrix."""

import numpy as np
import pytest

from mercer.gram import Dense, Tiled, factor
from mercer.gram.factor import Indefinite, bordered, lacking, orthonormal, shifted
from mercer.gram.held import LazyGram
from mercer.gram.indexed import Indexed
from mercer.gram.low_rank import LowRank
from mercer.gram.precomputed import Precomputed
from mercer.kernels import Gaussian

EPS = np.finfo(float).eps
N = 40


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def backward(K, e, x, r):
    """Return the componentwise backward error of ``(K + diag(e)) x = r``."""
    return np.max(np.abs(K @ x + e * x - r) / (np.abs(K) @ np.abs(x) + e * np.abs(x) + np.abs(r)))


def grams(X):
    kernel = Gaussian(1.0)
    K = kernel(X)
    values, vectors = np.linalg.eigh(K)
    G = vectors * np.sqrt(np.maximum(values, 0.0))
    everything = np.arange(len(X))
    return [
        Dense(K),
        Precomputed(K),
        Tiled(kernel, X, max_bytes=2000),
        LazyGram(kernel, X),
        LowRank(G),
        LowRank(np.column_stack([G, np.zeros((len(X), 3))])),
        Indexed(Dense(K), everything),
    ]


@pytest.mark.parametrize("kind", range(7))
def test_every_gram_solves_like_lapack(kind, rng):
    X = rng.normal(size=(N, 3))
    gram, K = grams(X)[kind], Gaussian(1.0)(X)
    e = rng.uniform(0.5, 2.0, N)
    for r in (rng.normal(size=N), rng.normal(size=(N, 3))):
        x = shifted(gram, e)(r)
        assert x.shape == r.shape
        # Condition number at most (N + 2) / 0.5, and a little for the factor of K.
        np.testing.assert_allclose(x, np.linalg.solve(K + np.diag(e), r), atol=1e4 * N * EPS)


@pytest.mark.parametrize("diagonal", [None, 0.3])
def test_low_rank_is_the_dense_matrix(diagonal, rng):
    G = rng.normal(size=(N, 4))
    s = None if diagonal is None else np.full(N, diagonal)
    K = G @ G.T + (0.0 if s is None else np.diag(s))
    e = rng.uniform(0.5, 2.0, N)
    r = rng.normal(size=N)
    np.testing.assert_allclose(
        shifted(LowRank(G, s), e)(r), np.linalg.solve(K + np.diag(e), r), atol=1e4 * N * EPS
    )


@pytest.mark.parametrize("thin", [False, True])
def test_an_infinite_shift_deletes_row_and_column(thin, rng):
    G = rng.normal(size=(N, 4))
    K, gram = G @ G.T, LowRank(G) if thin else Dense(G @ G.T)
    e = np.where(np.arange(N) % 3 == 0, np.inf, 1.0)
    live = np.isfinite(e)
    r = rng.normal(size=(N, 2))
    x = shifted(gram, e)(r)
    assert np.all(x[~live] == 0)
    by_hand = np.linalg.solve(K[np.ix_(live, live)] + np.eye(live.sum()), r[live])
    np.testing.assert_allclose(x[live], by_hand, atol=1e4 * N * EPS)
    assert np.all(shifted(gram, np.full(N, np.inf))(r) == 0)


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("digits", [(-8, 8), (-13, 3)])
def test_shifts_of_any_scale_are_solved_to_rounding(thin, digits, rng):
    G = rng.normal(size=(N, 4))
    K, gram = G @ G.T, LowRank(G) if thin else Dense(G @ G.T)
    e = 10.0 ** rng.uniform(*digits, N)
    r = rng.normal(size=N)
    assert backward(K, e, shifted(gram, e)(r), r) <= 100 * N * EPS


@pytest.mark.parametrize("thin", [False, True])
def test_a_singular_matrix_is_solved_on_its_range(thin, rng):
    G = rng.normal(size=(N, 4))
    K, gram = G @ G.T, LowRank(G) if thin else Dense(G @ G.T)
    r = K @ rng.normal(size=N)
    e = np.zeros(N)
    assert backward(K, e, shifted(gram, e)(r), r) <= 100 * N * EPS


def test_rounding_of_single_precision_is_not_indefinite(rng):
    X = np.repeat(rng.normal(size=(N // 4, 3)), 4, axis=0)
    K = Gaussian(1.0)(X.astype(np.float32))
    # What the shift is for: the same matrix held in double precision is rejected.
    noise = rng.normal(size=K.shape).astype(np.float32)
    K = K + np.float32(3e-8) * (noise + noise.T)
    assert K.dtype == np.float32
    x = shifted(Dense(K), np.zeros(N))(K @ np.ones(N))
    assert np.all(np.isfinite(x))
    with pytest.raises(Indefinite):
        shifted(Dense(K.astype(float)), np.zeros(N))


def test_an_indefinite_matrix_is_refused(rng):
    with pytest.raises(Indefinite, match="not positive definite"):
        shifted(Dense(-np.eye(N)), np.full(N, 0.5))
    x = shifted(Dense(-np.eye(N)), np.full(N, 2.0))(np.ones(N))
    np.testing.assert_allclose(x, 1.0)


def test_a_solution_beyond_range_is_an_error():
    with pytest.raises(np.linalg.LinAlgError, match="not finite"):
        shifted(Dense(np.array([[1e-300]])), np.zeros(1))(np.array([1e300]))


def test_blocks_make_the_same_factor(rng, monkeypatch):
    G = rng.normal(size=(N, N))
    K, e, r = G @ G.T, np.ones(N), rng.normal(size=N)
    whole = shifted(Dense(K), e)(r)
    monkeypatch.setattr(factor, "PANEL_ROWS", 7)
    np.testing.assert_allclose(shifted(Dense(K), e)(r), whole, rtol=1e4 * N * EPS)
    with pytest.raises(Indefinite):  # found in a later block
        shifted(Dense(np.diag(np.where(np.arange(N) == N - 1, -2.0, 1.0))), e)


def test_memory_is_asked_for_before_it_is_taken(rng):
    K = Dense(np.eye(N))
    with pytest.raises(ValueError, match="max_bytes"):
        shifted(K, np.ones(N), max_bytes=8 * N**2 - 1)
    shifted(K, np.ones(N), max_bytes=8 * N**2)
    assert lacking(K, 8 * N**2) == ""
    assert "low-rank" in lacking(K, 8 * N**2 - 1)
    # A matrix that is not held takes its own place beside the factor.
    tiled = Tiled(Gaussian(1.0), rng.normal(size=(N, 2)))
    assert lacking(tiled, 16 * N**2) == ""
    assert lacking(tiled, 16 * N**2 - 1)


def test_a_thin_factor_is_never_squared(rng):
    n = 20_000  # squared, it would take 3.2 GB
    G = rng.normal(size=(n, 3))
    gram = LowRank(G)
    assert lacking(gram, 8 * G.size) == ""
    r = rng.normal(size=n)
    x = shifted(gram, np.ones(n), max_bytes=1e7)(r)
    assert np.max(np.abs(G @ (G.T @ x) + x - r)) <= 1e-10


@pytest.mark.parametrize("q", [0, 1, 3])
def test_the_border_is_met(q, rng):
    G = rng.normal(size=(N, N))
    M, B = G @ G.T + np.eye(N), rng.normal(size=(N, q))
    r, d = rng.normal(size=N), rng.normal(size=q)
    x, b = bordered(shifted(Dense(M), np.zeros(N)), B)(r, d)
    full = np.block([[M, B], [B.T, np.zeros((q, q))]])
    expected = np.linalg.solve(full, np.concatenate([r, d]))
    bound = 100 * N * EPS * np.linalg.cond(full)
    np.testing.assert_allclose(np.concatenate([x, b]), expected, atol=bound)
    np.testing.assert_allclose(B.T @ x, d, atol=100 * N * EPS)


def test_a_border_that_shows_nothing_leaves_its_coefficient_alone():
    x, b = bordered(lambda r: 0.0 * r, np.ones((3, 1)))(np.ones(3), np.zeros(1))
    assert np.all(x == 0)
    assert np.all(b == 0)


def test_columns_are_reduced_to_their_rank(rng):
    t = rng.normal(size=N)
    B = np.column_stack([np.ones(N), 1e9 * t, np.ones(N), 3.0 + 2.0 * t, np.zeros(N)])
    U, back = orthonormal(B)
    assert U.shape == (N, 2)
    np.testing.assert_allclose(U.T @ U, np.eye(2), atol=1e-14)
    np.testing.assert_allclose(B @ back, U, atol=1e-12)
    # Among the coefficients of the same function, the shortest.
    b = rng.normal(size=5)
    shortest = np.linalg.pinv(B) @ (B @ b)
    np.testing.assert_allclose(back @ (U.T @ (B @ b)), shortest, atol=1e-6)


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_one_column_has_its_direction(rng, size):
    B = size * rng.normal(size=(N, 1))
    U, back = orthonormal(B)
    np.testing.assert_allclose(U.T @ U, [[1.0]], atol=N * EPS)
    np.testing.assert_allclose(B @ back, U, atol=N * EPS)
    assert orthonormal(0.0 * B)[0].shape == (N, 0)


def test_no_columns_have_a_basis_too():
    U, back = orthonormal(np.zeros((5, 0)))
    assert U.shape == (5, 0)
    assert back.shape == (0, 0)
    U, back = orthonormal(np.zeros((5, 2)))
    assert U.shape == (5, 0)
    assert back.shape == (2, 0)


@pytest.mark.parametrize("n", [1, 39, 40, 41, 97])
def test_cholesky_by_blocks(n, monkeypatch):
    """Blocks of 20 make the factor that LAPACK makes at once."""
    monkeypatch.setattr(factor, "PANEL_ROWS", 20)
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n, n + 1))
    A = A @ A.T + np.eye(n)
    M = np.array(A, order="F")
    assert factor.cholesky(M)
    # Backward stable: n eps of the diagonal (Higham 2002, theorem 10.3).
    L = np.tril(M)
    bound = 4 * n * np.finfo(float).eps * np.max(np.diag(A))
    np.testing.assert_allclose(L @ L.T, A, rtol=0, atol=bound)
    M = np.array(A - 2.0 * np.linalg.eigvalsh(A)[0] * np.eye(n), order="F")
    assert not factor.cholesky(M)


@pytest.mark.parametrize("q", [0, 2])
@pytest.mark.parametrize("k", [None, 3])
def test_borders_of_several_right_hand_sides(q, k):
    rng = np.random.default_rng(3)
    M = np.diag(rng.uniform(1.0, 2.0, 6))
    B = rng.normal(size=(6, q))
    shape = () if k is None else (k,)
    r, d = rng.normal(size=(6, *shape)), rng.normal(size=(q, *shape))
    x, b = factor.bordered(lambda v: np.linalg.solve(M, v), B)(r, d)
    whole = np.block([[M, B], [B.T, np.zeros((q, q))]])
    np.testing.assert_allclose(
        np.concatenate([x, b]), np.linalg.solve(whole, np.concatenate([r, d])), atol=1e-12
    )


@pytest.mark.parametrize("n", [1, 5, 64, 65, 300])
def test_triangles_are_inverted_squared_and_mirrored(n):
    rng = np.random.default_rng(n)
    M = rng.normal(size=(n, 2 * n))
    M = M @ M.T
    L = np.linalg.cholesky(M)
    dirty = np.asfortranarray(L + np.triu(rng.normal(size=(n, n)), 1))
    inverse = factor.triangular_inverse(dirty)
    np.testing.assert_allclose(inverse @ L, np.eye(n), atol=1e-10)
    assert not np.any(np.triu(inverse, 1))
    found = factor.mirrored(factor.squared(inverse))
    np.testing.assert_allclose(found, np.linalg.inv(M), rtol=1e-8, atol=1e-12)
    assert found.flags.c_contiguous
