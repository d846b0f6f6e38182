"""Matrices that are held: no copies, no nonsense."""

import numpy as np
import pytest

from mercer.gram import Dense
from mercer.gram.low_rank import LowRank
from mercer.gram.precomputed import Precomputed
from mercer.kernels import Gaussian


@pytest.mark.parametrize("kind", [Dense, Precomputed])
def test_the_matrix_is_not_copied(kind):
    for dtype in (np.float32, np.float64):
        K = np.eye(3, dtype=dtype)
        assert np.shares_memory(kind(K).dense(), K)
        assert kind(K).in_memory
    assert kind(np.eye(3, dtype=int)).dtype == np.float64
    assert kind([[1, 0], [0, 1]]).shape == (2, 2)


@pytest.mark.parametrize("kind", [Dense, Precomputed])
def test_only_square_matrices(kind):
    for shape in [(2, 3), (2,), (2, 2, 2)]:
        with pytest.raises(ValueError, match="square, got shape"):
            kind(np.ones(shape))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_precomputed_matrix_must_be_finite(bad):
    K = np.eye(3)
    K[1, 2] = bad
    with pytest.raises(ValueError, match="not finite"):
        Precomputed(K)


def test_asymmetry_is_measured(monkeypatch):
    monkeypatch.setattr("mercer.gram.precomputed.BLOCK_BYTES", 100)
    K = np.random.default_rng(0).normal(size=(9, 9))
    K = K + K.T
    assert Precomputed(K).asymmetry() == 0.0
    K[7, 2] += 0.25
    assert Precomputed(K).asymmetry() == pytest.approx(0.25)
    assert Precomputed(np.empty((0, 0))).asymmetry() == 0.0


def test_a_memory_map_stays_on_disk(tmp_path):
    K = Gaussian()(np.random.default_rng(0).normal(size=(20, 2)))
    path = tmp_path / "K.npy"
    np.save(path, K)
    gram = Precomputed(np.load(path, mmap_mode="r"))
    assert isinstance(gram.K, np.memmap)
    assert not gram.in_memory
    np.testing.assert_array_equal(gram.rows([3]), K[[3]])
    v = np.random.default_rng(1).normal(size=20)
    np.testing.assert_allclose(gram.matvec(v), K @ v, atol=1e-13)


def test_dense_from_a_kernel():
    X = np.random.default_rng(0).normal(size=(6, 2))
    # A Gram is computed by the fastest way; values are those of a call up to rounding.
    np.testing.assert_array_equal(Dense.from_kernel(Gaussian(), X).dense(), Gaussian().symmetric(X))
    eps = np.finfo(float).eps
    np.testing.assert_allclose(Gaussian().symmetric(X), Gaussian()(X), rtol=8 * eps, atol=0)


def test_low_rank_with_more_columns_than_points():
    G = np.random.default_rng(0).normal(size=(4, 9))
    gram = LowRank(G)
    e = np.ones(4)
    r = np.arange(4.0)
    np.testing.assert_allclose(
        gram.shifted(e)(r), np.linalg.solve(G @ G.T + np.eye(4), r), rtol=1e-12
    )
    assert gram.factor_bytes == 8.0 * 16
    np.testing.assert_allclose(gram.diag(), (G**2).sum(1), rtol=1e-14)
    assert LowRank(np.ones((3, 1), dtype=int)).dtype == np.float64


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("diagonal", [None, np.linspace(0.0, 1.0, 30)])
def test_low_rank_systems_are_solved_at_the_size_of_the_factor(dtype, diagonal):
    rng = np.random.default_rng(0)
    G = rng.normal(size=(30, 3)).astype(dtype)
    gram = LowRank(G, diagonal)
    e = rng.uniform(0.5, 2.0, size=30)
    e[:4] = np.inf
    r = rng.normal(size=(30, 2))
    M = gram.dense().astype(np.float64)[4:, 4:] + np.diag(e[4:])
    # Entries of M are rounded to the dtype of the factor; the solution errs by its condition.
    error = np.linalg.cond(M) * 100 * float(np.finfo(dtype).eps)
    x = gram.shifted(e)(r)
    np.testing.assert_allclose(x[4:], np.linalg.solve(M, r[4:]), rtol=0, atol=error)
    np.testing.assert_array_equal(x[:4], 0.0)
    assert gram.resident
    assert gram.factor_bytes == 8.0 * 30 * 3


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((np.ones(3),), r"G must have shape \(n, m\)"),
        ((np.ones((3, 1)), np.ones(2)), r"diagonal must have shape \(3,\)"),
        ((np.ones((3, 1)), -np.ones(3)), "at least 0"),
        ((np.ones((3, 1)), np.full(3, np.nan)), "at least 0"),
    ],
)
def test_nonsense_factors_are_refused_with_a_sentence(args, message):
    with pytest.raises(ValueError, match=message):
        LowRank(*args)


@pytest.mark.parametrize("shape", [(300,), (300, 2), (300, 7)])
def test_half_of_a_symmetric_matrix_is_enough(shape):
    """Whichever way a product reads the matrix, it is that of NumPy."""
    rng = np.random.default_rng(0)
    K = Gaussian(1.0)(rng.normal(size=(300, 2)))
    for matrix in (K, np.asfortranarray(K), K.astype(np.float32)):
        v = rng.normal(size=shape)
        # A sum of 300 products rounds to 300 eps of the sum of their sizes.
        bound = 300 * np.finfo(float).eps * np.max(K @ np.abs(v))
        exact = matrix.astype(float) @ v
        np.testing.assert_allclose(Dense(matrix).matvec(v), exact, rtol=0, atol=bound)


def test_finite_entries_whose_sum_is_not():
    large = np.full((2, 2), 1e308)
    assert Precomputed(large).shape == (2, 2)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="not finite"):
            Precomputed(np.array([[1e308, bad], [bad, 1e308]]))
