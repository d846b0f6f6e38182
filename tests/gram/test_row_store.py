"""Stored rows: products and squares of the matrix, bounded memory, no work done twice."""

import numpy as np
import pytest

from mercer.gram import Dense, Tiled, row_store
from mercer.gram.indexed import Indexed
from mercer.gram.row_store import RowStore
from mercer.kernels import Gaussian

N = 60


class Counting(Tiled):
    """A matrix that counts the values it evaluates."""

    values = 0

    def block(self, rows, columns):
        block = super().block(rows, columns)
        self.values += block.size
        return block

    def add_rows(self, F, index, t, out=None):
        before = self.values
        super().add_rows(F, index, t, out)
        self.values = before + len(index) * len(F)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def points(rng):
    return rng.normal(size=(N, 3))


def bytes_of(n_rows):
    return n_rows * N * 8


def grams(X):
    kernel = Gaussian(1.0)
    return [Dense(kernel(X)), Tiled(kernel, X), Indexed(Tiled(kernel, X), np.arange(N))]


@pytest.mark.parametrize("kind", range(3))
@pytest.mark.parametrize("capacity", [0, 1, 7, N])
def test_products_and_squares_are_those_of_the_matrix(kind, capacity, points, rng, monkeypatch):
    monkeypatch.setattr(row_store, "MAX_WHOLE_ROWS", 0)
    K, store = Gaussian(1.0)(points), RowStore(grams(points)[kind], bytes_of(capacity))
    F, a = np.zeros(N), np.zeros(N)
    for turn in range(30):
        index = np.sort(rng.choice(N, rng.integers(1, 20), replace=False))
        t = rng.normal(size=len(index))
        store.add(F, index, t)
        a[index] += t
        np.testing.assert_allclose(F, K @ a, atol=1e-12)
        if turn % 2:
            index = rng.choice(N, 20)  # points may repeat
        np.testing.assert_allclose(store.square(index), K[np.ix_(index, index)], atol=1e-14)


@pytest.mark.parametrize("capacity", [0, 7, N])
def test_two_sums_at_once(capacity, points, rng, monkeypatch):
    monkeypatch.setattr(row_store, "MAX_WHOLE_ROWS", 0)
    K, store = Gaussian(1.0)(points), RowStore(Tiled(Gaussian(1.0), points), bytes_of(capacity))
    both, expected = np.zeros((2, N)), np.zeros((2, N))
    for _ in range(12):
        index = np.sort(rng.choice(N, rng.integers(1, 20), replace=False))
        T = rng.normal(size=(2, len(index)))
        store.add(both, index, T)
        expected += T @ K[index]
        np.testing.assert_allclose(both, expected, atol=1e-12)


def test_a_row_that_fits_is_evaluated_once(points, monkeypatch):
    monkeypatch.setattr(row_store, "MAX_WHOLE_ROWS", 0)
    gram = Counting(Gaussian(1.0), points)
    store, index = RowStore(gram, bytes_of(N)), np.arange(10)
    for _ in range(3):
        store.add(np.zeros(N), index, np.ones(10))
        store.square(index)
    assert gram.values == store.evaluations == 10 * N


def test_a_square_evaluates_only_what_entered_since_the_last(points, monkeypatch):
    monkeypatch.setattr(row_store, "MAX_WHOLE_ROWS", 0)
    gram = Counting(Gaussian(1.0), points)
    store = RowStore(gram, 0)
    store.square(np.arange(20))
    store.square(np.arange(4, 22))
    assert gram.values == store.evaluations == 20 * 20 + 2 * 18


def test_rows_not_worth_keeping_are_not_kept(points, monkeypatch):
    monkeypatch.setattr(row_store, "MAX_WHOLE_ROWS", 0)
    gram = Counting(Gaussian(1.0), points)
    store, F, index = RowStore(gram, bytes_of(N)), np.zeros(N), np.arange(10)
    store.add(F, index, np.ones(10), keep=index < 4)
    store.add(F, index, np.ones(10), keep=index < 0)
    assert gram.values == store.evaluations == 16 * N
    np.testing.assert_allclose(F, 2 * Gaussian(1.0)(points)[:10].sum(0))


def test_young_rows_stay_and_stale_ones_make_room(points, monkeypatch):
    monkeypatch.setattr(row_store, "MAX_WHOLE_ROWS", 0)
    gram = Counting(Gaussian(1.0), points)
    store, F = RowStore(gram, bytes_of(5)), np.zeros(N)
    first, second, one = np.arange(5), np.arange(5, 10), np.ones(5)
    store.add(F, first, one)
    store.add(F, second, one)  # no room: evaluated and forgotten
    assert gram.values == 10 * N
    store.add(F, first, one)
    assert gram.values == 10 * N
    for _ in range(row_store.STALE_REQUESTS + 2):
        store.add(F, second, one)
    before = gram.values
    store.add(F, second, one)
    assert gram.values == before
    np.testing.assert_allclose(
        F,
        Gaussian(1.0)(points)[:5].sum(0) * 2
        + (row_store.STALE_REQUESTS + 4) * Gaussian(1.0)(points)[5:10].sum(0),
    )


def test_a_small_matrix_is_evaluated_at_once(points):
    store = RowStore(Tiled(Gaussian(1.0), points), bytes_of(N))
    assert store.evaluations == N * N
    store.add(np.zeros(N), np.arange(3), np.ones(3))
    assert store.evaluations == N * N


def test_memory_in_float32_is_half(points):
    gram = Tiled(Gaussian(1.0), points).single()
    store = RowStore(gram, bytes_of(8))
    assert store.dtype == np.float32
    assert store._store.nbytes <= bytes_of(8)
    assert len(store._store) == 16


def test_all_rows_at_once_are_those_that_were_missing():
    X = np.random.default_rng(0).normal(size=(2100, 3))
    gram = Tiled(Gaussian(1.0), X)
    store = RowStore(gram, 1e8)
    F, t = np.zeros(2100), np.array([1.0, -2.0])
    store.add(F, np.array([5, 7]), t)
    assert not store.is_complete
    store.complete()
    assert store.is_complete
    again = np.zeros(2100)
    store.add(again, np.array([5, 7]), t)
    np.testing.assert_allclose(again, F, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(store.square(np.arange(9)), gram.block(slice(0, 9), slice(0, 9)))
    assert store.evaluations == 2100**2 + 2 * 2100
