"""Several functions with one kernel, beside the matrix written out."""

import numpy as np
import pytest

from mercer.gram import Dense, Levels


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


def test_a_row_for_every_functional():
    with pytest.raises(ValueError, match="row for each"):
        Levels(Dense(np.eye(2)), [0, 1], np.ones((3, 2)))
