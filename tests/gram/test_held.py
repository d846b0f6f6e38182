"""A matrix held from the moment it is asked for, and its float32 copy."""

import numpy as np
import pytest

from mercer.gram import Dense, Tiled
from mercer.gram.held import LazyGram
from mercer.gram.indexed import Indexed
from mercer.gram.make import make
from mercer.kernels import Gaussian, Linear, Polynomial


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(40, 3))


def test_small_samples_are_dense_larger_ones_held_the_largest_tiled(X):
    assert isinstance(make(Gaussian(), X), Dense)
    assert isinstance(make(Gaussian(), np.ones((1000, 1))), LazyGram)
    assert type(make(Gaussian(), np.ones((1000, 1)), cache_bytes=10**6)) is Tiled


def test_nothing_is_computed_before_it_is_asked_for(X, monkeypatch):
    gram = LazyGram(Gaussian(1.0), X)
    gram.block([0, 1], [2]), gram.matvec(np.ones(40)), gram.diag()
    assert not gram.in_memory
    K = gram.dense()
    assert gram.in_memory
    assert gram.resident
    assert gram.dense() is K
    monkeypatch.setattr(Gaussian, "against", None)
    np.testing.assert_array_equal(gram.block([0, 1], [2]), K[:2, [2]])
    np.testing.assert_allclose(gram.matvec(np.ones(40)), K.sum(1))
    out = np.empty((2, 40))
    assert gram.rows([3, 4], out) is out
    np.testing.assert_array_equal(out, K[3:5])


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Polynomial(2), Linear()])
@pytest.mark.parametrize("form", [LazyGram, Tiled])
def test_the_single_matrix_is_the_same_to_float32(kernel, form, X):
    gram = form(kernel, X + 100.0 if kernel.stationary else X)
    single = gram.single()
    assert single.dtype == np.float32
    assert gram.single() is single
    K = gram.dense()
    np.testing.assert_allclose(single.dense(), K, atol=2e-6 * np.abs(K).max())
    index = np.array([5, 3, 30])
    part = Indexed(gram, index).single()
    np.testing.assert_allclose(part.dense(), K[np.ix_(index, index)], atol=2e-6 * np.abs(K).max())


def test_rows_are_added_while_they_are_computed(X):
    gram, F = Tiled(Gaussian(1.0), X).single(), np.zeros(40)
    index, t, out = np.array([4, 7, 1]), np.array([1.0, -2.0, 0.5]), np.empty((3, 40), np.float32)
    gram.add_rows(F, index, t, out)
    gram.add_rows(F, index, t)
    K = Gaussian(1.0)(X)
    np.testing.assert_allclose(out, K[index], atol=2e-6)
    np.testing.assert_allclose(F, 2 * t @ K[index], atol=2e-5)


def test_a_copy_in_float32_is_not_made_of_what_is_too_large(X, monkeypatch):
    monkeypatch.setattr("mercer.gram.tiled.SINGLE_BYTES", 10)
    gram = Tiled(Gaussian(1.0), X)
    assert gram.single() is gram
