"""Several functions with one kernel, beside the matrix written out."""

import numpy as np
import pytest

from mercer.gram import Dense
from mercer.gram.levels import Levels


def written_out(seed=0):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(6, 3))
    K = points @ points.T + np.eye(6)
    index, U = rng.integers(0, 6, 15), rng.normal(size=(15, 3))
    # Functionals of the functions stacked into one vector of 18 values, whose matrix is kron(I, K).
    S = np.zeros((15, 18))
    for k in range(3):
        S[np.arange(15), 6 * k + index] = U[:, k]
    return Levels(Dense(K), index, U), S @ np.kron(np.eye(3), K) @ S.T


def test_blocks_products_and_diagonal():
    gram, matrix = written_out()
    v = np.random.default_rng(1).normal(size=(15, 2))
    # Sums of at most 54 products of numbers of order ten.
    np.testing.assert_allclose(gram.dense(), matrix, atol=1e-12)
    np.testing.assert_allclose(gram.diag(), np.diag(matrix), atol=1e-12)
    np.testing.assert_allclose(gram.matvec(v), matrix @ v, atol=1e-11)
    np.testing.assert_allclose(gram.matvec(v[:, 0]), matrix @ v[:, 0], atol=1e-11)
    np.testing.assert_allclose(gram.block([3, 3, 0], slice(2, 9)), matrix[[3, 3, 0], 2:9])
    np.testing.assert_allclose(gram.single().dense(), matrix, rtol=1e-5, atol=1e-4)


def test_systems_are_solved_function_by_function():
    rng = np.random.default_rng(2)
    points = rng.normal(size=(8, 2))
    K = np.exp(-np.sum((points[:, None] - points) ** 2, axis=2))
    U = np.vstack([np.repeat(np.eye(2), 8, axis=0), np.tile([-1.0, 1.0], (5, 1))])
    U[3] *= -2.0
    gram = Levels(Dense(K), np.concatenate([np.tile(np.arange(8), 2), rng.integers(0, 8, 5)]), U)
    e, r = rng.uniform(0.01, 1.0, 21), rng.normal(size=(21, 3))
    M = gram.dense() + np.diag(e)
    # Condition below 1e4.
    np.testing.assert_allclose(gram.shifted(e)(r), np.linalg.solve(M, r), atol=1e-10)
    np.testing.assert_allclose(gram.shifted(e)(r[:, 0]), np.linalg.solve(M, r[:, 0]), atol=1e-10)
    e[[2, 18]] = np.inf
    some = np.isfinite(e)
    x = gram.shifted(e)(r)
    np.testing.assert_allclose(x[some], np.linalg.solve(M[np.ix_(some, some)], r[some]), atol=1e-10)
    assert not x[~some].any()


def test_a_row_for_every_functional():
    with pytest.raises(ValueError, match="row for each"):
        Levels(Dense(np.eye(2)), [0, 1], np.ones((3, 2)))
