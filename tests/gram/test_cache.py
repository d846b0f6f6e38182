"""The row cache: right rows, least recently used first out, bounded memory."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gram_spy import Spy
from mercer.gram import Dense, RowCache, Tiled
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)
N = 12
K = rng.normal(size=(N, N))
K = K @ K.T


def cache_of(capacity, gram):
    """A cache of so many rows; the bytes left over are not enough for another."""
    return RowCache(gram, max_bytes=capacity * N * 8 + N * 8 - 1)


def stored(cache):
    """Rows found in the cache, as the outside sees them: those that cost no evaluation."""
    return {int(i) for i in np.flatnonzero(cache._slot >= 0)}


@given(st.integers(0, 14), st.lists(st.lists(st.integers(0, N - 1), max_size=9), max_size=12))
def test_rows_are_right_and_the_oldest_leave_first(capacity, requests):
    spy = Spy(K)
    cache = cache_of(capacity, spy)
    assert cache.capacity == min(capacity, N)
    last_use = {}
    hits = misses = 0
    for tick, request in enumerate(requests):
        spy.asked.clear()
        before, wanted = stored(cache), set(request)
        np.testing.assert_array_equal(cache.rows(request), K[np.array(request, dtype=int)])
        after = stored(cache)
        asked = [list(rows) for rows, _ in spy.asked]
        assert len(after) <= capacity
        if len(wanted) > cache.capacity:
            # Larger than the cache: one call below for all of it, and what fits is kept.
            assert asked == [request]
            assert len(after) == cache.capacity
            assert after <= before | wanted
            misses += len(request)
            last_use.update(dict.fromkeys(after - before, tick))
            continue
        missing = sorted(wanted - before)
        assert asked == ([missing] if missing else [])
        assert wanted <= after <= before | wanted
        gone = before - after
        assert len(gone) == max(0, len(before | wanted) - cache.capacity)
        if gone and after - wanted:
            assert max(last_use[i] for i in gone) <= min(last_use[i] for i in after - wanted)
        last_use.update(dict.fromkeys(wanted, tick))
        hits += len(wanted) - len(missing)
        misses += len(missing)
    assert (cache.hits, cache.misses, cache.evaluations) == (hits, misses, misses * N)


@pytest.mark.parametrize("first", [[], [0, 5, 7]])
def test_blocks_and_products_use_stored_rows_and_keep_nothing_new(first):
    spy = Spy(K)
    cache = cache_of(4, spy)
    cache.rows(first)
    spy.asked.clear()
    cache.evaluations = 0
    np.testing.assert_array_equal(cache.block([5, 1, 5], [2, 0]), K[np.ix_([5, 1, 5], [2, 0])])
    assert cache.evaluations == (2 if first else 6)
    np.testing.assert_array_equal(cache.block([0, 7], [3]), K[np.ix_([0, 7], [3])])
    cache.evaluations = 0
    v = np.zeros((N, 2))
    v[[0, 5, 9]] = rng.normal(size=(3, 2))
    np.testing.assert_allclose(cache.matvec(v), K @ v, rtol=0, atol=1e-12)
    assert cache.evaluations == (N if first else 3 * N)
    assert stored(cache) == set(first)


def test_products_of_stored_rows_alone_ask_nothing_below():
    spy = Spy(K)
    cache = cache_of(4, spy)
    cache.rows([1, 2])
    spy.asked.clear()
    v = np.zeros(N)
    v[2] = 3.0
    np.testing.assert_allclose(cache.matvec(v), 3.0 * K[2], rtol=1e-15)
    assert spy.asked == []


def test_whatever_is_returned_may_be_changed_without_harm():
    cache = cache_of(4, Dense(K))
    cache.rows([1, 2])[:] = 0.0
    np.testing.assert_array_equal(cache.rows([1, 2]), K[[1, 2]])


def test_questions_about_the_whole_go_below():
    below = Dense(K)
    cache = cache_of(2, below)
    assert cache.in_memory
    assert cache.resident
    assert cache.factor_bytes == below.factor_bytes
    assert cache.dense() is below.dense() or np.shares_memory(cache.dense(), K)
    np.testing.assert_array_equal(cache.diag(), K.diagonal())
    assert cache.origin()[0] is below


@pytest.mark.parametrize("request_size", [1, 40, 200])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_memory_is_the_cache_and_the_answer(request_size, dtype):
    n, capacity = 2000, 60
    X = rng.normal(size=(n, 3)).astype(dtype)
    row = n * X.itemsize
    below = Tiled(Gaussian(), X, max_bytes=2**20)
    below.rows([0])
    tracemalloc.start()
    cache = RowCache(below, max_bytes=capacity * row)
    bookkeeping = tracemalloc.get_traced_memory()[0] - capacity * row
    assert cache.capacity == capacity
    for _ in range(5):
        cache.rows(rng.integers(n, size=request_size))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert bookkeeping < 20 * n
    # Besides store and answer: the tiles below, which have their own bound.
    assert peak <= capacity * row + request_size * row + 2**20 + 20 * n


def test_a_failure_below_leaves_the_cache_intact():
    class Failing(Spy):
        fail = False

        def block(self, rows, columns):
            if self.fail:
                raise KeyboardInterrupt
            return super().block(rows, columns)

    gram = Failing(K)
    cache = cache_of(2, gram)
    cache.rows([0, 1])
    gram.fail = True
    with pytest.raises(KeyboardInterrupt):
        cache.rows([1, 2])
    gram.fail = False
    for i in (0, 1, 2):
        np.testing.assert_array_equal(cache.rows([i]), K[[i]])
