"""What holds for every Gram operator, against the matrix it stands for."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases_kernels import FEATURES, GRAMS
from mercer.gram import Dense
from mercer.gram.base import Gram, positions, submatrix
from mercer.gram.indexed import Indexed
from mercer.kernels import Gaussian, Linear

EPS = np.finfo(np.float64).eps
N = 31
KERNEL = Gaussian(1.5) + 0.1 * Linear()
every_gram = pytest.mark.parametrize("make", GRAMS, ids=lambda f: f.__name__)
INDICES = [
    slice(None),
    slice(3, 17, 2),
    np.array([4, 0, 30]),
    [-1, 5],
    np.array([7, 7, 2, 7]),
    np.arange(N) % 3 == 0,
    np.array([], dtype=int),
    [],
]


def case(make, dtype=np.float64):
    X = np.random.default_rng(0).normal(size=(N, FEATURES)).astype(dtype)
    gram = make(KERNEL, X)
    return gram, KERNEL(X.astype(np.float64)), close(gram, N)


def close(gram, terms=1):
    """A few dozen roundings of values up to about two, and as many more as terms are summed."""
    eps = float(np.finfo(gram.dtype).eps)
    return {"rtol": 0, "atol": 30 * eps * terms}


@every_gram
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_shape_dtype_diagonal_and_whole(make, dtype):
    gram, K, tolerance = case(make, dtype)
    assert isinstance(gram, Gram)
    assert gram.shape == (N, N)
    assert gram.dtype == dtype
    assert gram.diag().dtype == dtype
    np.testing.assert_allclose(gram.diag(), K.diagonal(), **tolerance)
    np.testing.assert_allclose(gram.dense(), K, **tolerance)
    assert gram.dense().flags.c_contiguous
    assert gram.dense().dtype == dtype


@every_gram
@pytest.mark.parametrize("rows", INDICES, ids=repr)
def test_blocks_are_those_of_the_matrix(make, rows):
    gram, K, tolerance = case(make)
    expected = K[positions(rows, N)]
    np.testing.assert_allclose(gram.rows(rows), expected, **tolerance)
    for columns in INDICES:
        found = gram.block(rows, columns)
        np.testing.assert_allclose(found, expected[:, positions(columns, N)], **tolerance)


@every_gram
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(N,), (N, 1), (N, 4)])
@pytest.mark.parametrize("fill", [1.0, 0.4, 0.1, 0.0])
def test_products_are_those_of_the_matrix(make, dtype, shape, fill):
    gram, K, tolerance = case(make, dtype)
    rng = np.random.default_rng(1)
    v = rng.normal(size=shape)
    v[rng.random(N) >= fill] = 0.0
    found = gram.matvec(v)
    assert found.shape == v.shape
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, K @ v, **tolerance)


@every_gram
@pytest.mark.parametrize("rows", [np.arange(N), np.array([2, 9, 9, 30]), np.array([], dtype=int)])
def test_some_entries_of_a_product_are_those_of_the_whole(make, rows):
    gram, K, tolerance = case(make)
    rng = np.random.default_rng(2)
    for fill in (1.0, 0.4, 0.0):
        v = rng.normal(size=N) * (rng.random(N) < fill)
        np.testing.assert_allclose(gram.product(v, rows), (K @ v)[rows], **tolerance)


@every_gram
def test_two_sums_of_rows_at_once(make):
    gram, K, tolerance = case(make)
    both, index = np.ones((2, N)), np.array([3, 0, 30, 8, 9])
    T = np.random.default_rng(3).normal(size=(2, 5))
    gram.add_rows(both, index, T)
    np.testing.assert_allclose(both, 1.0 + T @ K[index], **tolerance)


@every_gram
def test_products_of_float32_are_added_in_float64(make):
    """Against the same float32 values: only the rounding of float64 sums remains."""
    gram, _, _ = case(make, np.float32)
    v = np.random.default_rng(1).normal(size=N)
    held = make.__name__ in ("dense", "precomputed", "indexed")
    values = gram.dense().astype(np.float64)
    # Values that are computed again, in blocks of another shape, may round differently.
    eps = EPS if held else float(np.finfo(np.float32).eps)
    np.testing.assert_allclose(gram.matvec(v), values @ v, rtol=0, atol=30 * N * eps)


@every_gram
def test_wrong_vectors_are_refused(make):
    gram, _, _ = case(make)
    for shape in [(N + 1,), (1, N), (N, 1, 1), ()]:
        with pytest.raises(ValueError, match=rf"multiplies arrays of shape \({N},\)"):
            gram.matvec(np.ones(shape))


@every_gram
def test_positions_out_of_range_are_refused(make):
    gram, _, _ = case(make)
    with pytest.raises(IndexError):
        gram.rows([N])
    with pytest.raises(IndexError):
        gram.block([0], [-N - 1])


@every_gram
@pytest.mark.parametrize("live", [1.0, 0.6])
def test_shifted_systems_are_solved(make, live):
    gram, K, _ = case(make)
    rng = np.random.default_rng(2)
    e = rng.uniform(0.5, 2.0, size=N)
    e[rng.random(N) >= live] = np.inf
    r = rng.normal(size=N)
    x = gram.shifted(e)(r)
    on = np.isfinite(e)
    M = K[np.ix_(on, on)] + np.diag(e[on])
    # A backward stable solution errs by the condition number times rounding.
    error = np.linalg.cond(M) * N * 100 * EPS
    np.testing.assert_allclose(x[on], np.linalg.solve(M, r[on]), rtol=0, atol=error)
    np.testing.assert_array_equal(x[~on], 0.0)


@every_gram
def test_the_origin_explains_every_row(make):
    gram, K, tolerance = case(make)
    base, back = gram.origin()
    np.testing.assert_allclose(base.dense()[np.ix_(back, back)], K, **tolerance)


@every_gram
def test_what_is_said_about_memory_is_true(make):
    gram, _, _ = case(make)
    if gram.in_memory:
        assert np.shares_memory(gram.dense(), gram.dense())
    assert gram.factor_bytes <= 8.0 * N * N


@every_gram
def test_operators_survive_pickling(make):
    gram, K, tolerance = case(make)
    gram.rows([0, 1])
    again = pickle.loads(pickle.dumps(gram))
    np.testing.assert_allclose(again.rows([3, 1]), K[[3, 1]], **tolerance)


@every_gram
def test_a_part_has_the_errors_of_the_matrix(make):
    gram, _, _ = case(make)
    below = gram.part_of()
    (gram if below is None else below[0]).kernel_error = 0.25
    index = np.array([4, 0, 30])
    copies = [pickle.loads(pickle.dumps(gram)), gram.keeping(1e6), gram.restrict(index)]
    for part in [gram, Indexed(gram, index), Indexed(Indexed(gram, index), [0]), *copies]:
        assert part is None or part.value_error() == 0.25


def test_the_empty_matrix():
    gram = Dense(np.empty((0, 0)))
    assert gram.matvec(np.empty(0)).shape == (0,)
    assert gram.dense().shape == gram.rows([]).shape == (0, 0)


def test_products_in_several_pieces(monkeypatch):
    monkeypatch.setattr("mercer.gram.base.BLOCK_BYTES", 3 * 8 * N)
    gram, K, tolerance = case(GRAMS[0])
    rng = np.random.default_rng(1)
    v = rng.normal(size=N)
    np.testing.assert_allclose(gram.matvec(v), K @ v, **tolerance)
    v[rng.random(N) < 0.8] = 0.0
    np.testing.assert_allclose(gram.matvec(v), K @ v, **tolerance)


@given(st.lists(st.integers(-5, 4)), st.slices(5))
def test_positions_and_submatrices_are_those_of_numpy(index, part):
    K = np.arange(25.0).reshape(5, 5)
    every = np.arange(5)
    np.testing.assert_array_equal(positions(part, 5), every[part])
    np.testing.assert_array_equal(positions(index, 5), every[np.array(index, dtype=int)])
    rows = np.array(index, dtype=int)
    np.testing.assert_array_equal(submatrix(K, index, part), K[rows][:, part])
    np.testing.assert_array_equal(submatrix(K, part, index), K[part][:, rows])
    np.testing.assert_array_equal(submatrix(K, index, index), K[rows][:, rows])
    assert submatrix(K, part, rows).flags.c_contiguous


def test_a_view_costs_nothing():
    K = np.eye(4)
    assert np.shares_memory(Dense(K).block(slice(0, 2), slice(None)), K)
