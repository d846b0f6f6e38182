"""Views against fancy indexing, and what they ask of the matrix below."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gram_spy import Spy
from mercer.gram import Dense, Tiled
from mercer.gram.indexed import Indexed
from mercer.kernels import Linear

rng = np.random.default_rng(0)
K = rng.normal(size=(8, 8))
K = K @ K.T


@given(
    st.lists(st.integers(0, 7), min_size=1, max_size=20),
    st.lists(st.integers(0, 99), max_size=6),
    st.lists(st.integers(0, 99), max_size=6),
    st.booleans(),
)
def test_views_are_fancy_indexing(index, rows, columns, two):
    view = Indexed(Dense(K), index)
    whole = K[np.ix_(index, index)]
    m = len(index)
    rows, columns = np.array(rows, dtype=int) % m, np.array(columns, dtype=int) % m
    np.testing.assert_array_equal(view.block(rows, columns), whole[np.ix_(rows, columns)])
    np.testing.assert_array_equal(view.rows(rows), whole[rows])
    assert view.rows(rows).flags.c_contiguous
    np.testing.assert_array_equal(view.diag(), whole.diagonal())
    np.testing.assert_array_equal(view.dense(), whole)
    v = rng.normal(size=(m, 2) if two else m)
    # Up to 20 products of numbers below 100 and 3.
    np.testing.assert_allclose(view.matvec(v), whole @ v, rtol=0, atol=1e-11)
    base, back = view.origin()
    np.testing.assert_array_equal(base.dense()[np.ix_(back, back)], whole)
    assert len(np.unique(back)) == base.shape[0]


@pytest.mark.parametrize("index", [slice(2, 5), np.arange(8) % 2 == 0, [-1, 0]])
def test_views_by_slices_masks_and_from_the_end(index):
    np.testing.assert_array_equal(Indexed(Dense(K), index).dense(), K[index][:, index])


def test_only_distinct_rows_are_read_below():
    spy = Spy(K)
    view = Indexed(spy, [3, 3, 1, 3, 6])
    view.rows([0, 1, 3])
    view.block([0, 1], [0, 1, 4])
    view.matvec(np.array([1.0, 2.0, 0.0, 1.0, 1.0]))
    for rows, columns in spy.asked:
        assert len(np.unique(rows)) == len(rows)
        assert len(np.unique(columns)) == len(columns)
    assert [(list(r), list(c)) for r, c in spy.asked] == [
        ([3], [1, 3, 6]),
        ([3], [3, 6]),
        ([1, 3, 6], [3, 6]),
    ]


def test_doubled_samples_need_one_product_below():
    spy = Spy(K)
    v = rng.normal(size=16)
    twice = np.tile(np.arange(8), 2)
    np.testing.assert_allclose(
        Indexed(spy, twice).matvec(v), K[np.ix_(twice, twice)] @ v, atol=1e-12
    )
    assert len(spy.asked) == 1


def test_views_of_views():
    view = Indexed(Indexed(Dense(K), [5, 2, 7]), [2, 0])
    np.testing.assert_array_equal(view.dense(), K[np.ix_([7, 5], [7, 5])])


def test_points_out_of_range():
    with pytest.raises(IndexError, match="8 points"):
        Indexed(Dense(K), [8])


def test_a_factor_is_that_of_its_points():
    X = np.random.default_rng(0).normal(size=(6, 2))
    index = np.array([4, 0, 4])
    view = Indexed(Tiled(Linear(), X), index)
    np.testing.assert_array_equal(view.root(), X[index])
    np.testing.assert_allclose(view.root() @ view.root().T, view.dense(), atol=1e-12)
    assert Indexed(Dense(X @ X.T), index).root() is None
