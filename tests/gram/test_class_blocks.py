"""Matrices of pairs of classes against those cut from the whole one."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import SVC
from mercer.gram import Dense, Tiled
from mercer.gram.class_blocks import ClassBlocks
from mercer.gram.held import LazyGram
from mercer.kernels import Gaussian, Kernel, Linear
from mercer.machines import one_vs_one

SIZES = [3, 70, 1, 130]
ENDS = np.cumsum(SIZES)
N, P = ENDS[-1], 4


class Counting(Tiled):
    """A matrix that counts the kernel values computed as blocks."""

    values = 0

    def block(self, rows, columns):
        block = super().block(rows, columns)
        self.values += block.size
        return block


def points(form=np.asarray):
    return form(np.random.default_rng(0).normal(size=(N, P)))


def members(i, j):
    classes = np.repeat(np.arange(len(SIZES)), SIZES)
    return np.flatnonzero((classes == i) | (classes == j))


@pytest.mark.parametrize("kernel", [Gaussian(1.5), Linear(), Gaussian(1.0) + Linear()], ids=repr)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("gram", [Tiled, LazyGram, lambda k, X: Dense(k(X))])
def test_pairs_are_cut_from_the_whole_matrix(kernel, form, gram):
    X = points(form)
    whole = kernel(points())
    # A distance is the difference of squared norms, which are at most `size`.
    size = 4.0 * np.max(np.sum(points() ** 2, axis=1))
    blocks = ClassBlocks(gram(kernel, X), ENDS)
    for i, j in combinations(range(len(SIZES)), 2):
        K, index = blocks.pair(i, j), members(i, j)
        expected = whole[np.ix_(index, index)]
        for matrix, unit in ((K, 2.0**-53), (K.single(), 2.0**-24)):
            close = {"rtol": 0.0, "atol": 8 * P * unit * size}
            some = np.array([0, -1, 1])
            # Before and after somebody has asked for all of it.
            for _ in range(2):
                np.testing.assert_allclose(matrix.block(some, slice(None)), expected[some], **close)
                np.testing.assert_allclose(matrix.diag(), expected.diagonal(), **close)
                np.testing.assert_allclose(matrix.rows(np.arange(len(index))), expected, **close)
            np.testing.assert_allclose(matrix.dense(), expected, **close)
            np.testing.assert_allclose(
                matrix.rows(some, out=np.empty((3, len(index)))), expected[some], **close
            )
        assert K.shape == expected.shape
        assert K.dtype == np.float64


def test_a_copy_survives_the_next_pair_and_a_class_meets_itself_once():
    gram = Counting(Gaussian(1.0), points())
    blocks = ClassBlocks(gram, ENDS)
    kept = blocks.pair(0, 1).dense()
    before = kept.copy()
    for i, j in combinations(range(len(SIZES)), 2):
        blocks.pair(i, j).rows(slice(None))
    np.testing.assert_array_equal(kept, before)
    assert gram.values == np.sum(np.square(SIZES))


@pytest.mark.parametrize("n", [200, 1500])
def test_machines_do_not_depend_on_sharing(monkeypatch, n):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(n, P)), rng.integers(0, 3, n)
    X[:, 0] += y
    shared = SVC(C=2.0, gamma=0.3, tol=1e-6).fit(X, y).solution_
    monkeypatch.setattr(one_vs_one, "SHARED_MEMORY_PART", 0.0)
    alone = SVC(C=2.0, gamma=0.3, tol=1e-6).fit(X, y).solution_
    # Each is above the minimum by at most its gap, which the other shows too.
    assert shared.converged
    assert shared.objective - alone.objective <= shared.gap
    assert alone.objective - shared.objective <= alone.gap
    assert max(shared.relative_gap, alone.relative_gap) <= 1e-5


def test_large_classes_and_little_memory_share_nothing(monkeypatch):
    asked = []
    monkeypatch.setattr(ClassBlocks, "pair", lambda self, i, j: asked.append((i, j)))
    machine = SVC()
    machine.classes_ = np.arange(3)
    y = np.repeat([0, 1, 2], 40)
    K = Tiled(Gaussian(1.0), np.zeros((120, 1)))
    rows = np.arange(80)
    machine._pair_matrices(K, y)(0, 1, rows)
    assert asked == [(0, 1)]
    machine._pair_matrices(K, y[::-1].copy())(0, 1, rows)
    monkeypatch.setattr(one_vs_one, "MAX_WHOLE_ROWS", 79)
    machine._pair_matrices(K, y)(0, 1, rows)
    monkeypatch.setattr(one_vs_one, "MAX_WHOLE_ROWS", 80)
    machine.cache_size = 8 * 3 * 40**2 / 2**20 / one_vs_one.SHARED_MEMORY_PART * 0.99
    machine._pair_matrices(K, y)(0, 1, rows)
    assert asked == [(0, 1)]


class Plain(Kernel):
    """A kernel as a user writes it: its evaluator takes points and nothing else."""

    def against(self, Z):
        return lambda X: np.exp(-((X[:, None] - Z) ** 2).sum(2))

    def diag(self, X):
        return np.ones(len(X))


def test_evaluators_of_users_take_points_only():
    X = np.random.default_rng(0).normal(size=(600, 2))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    plain, same = (SVC(kernel=kernel).fit(X, y) for kernel in (Plain(), Gaussian.from_gamma(1.0)))
    np.testing.assert_allclose(
        plain.decision_function(X), same.decision_function(X), atol=4 * plain.tol
    )
