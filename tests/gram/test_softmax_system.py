"""The coupled system against the matrix of all samples and classes, written out."""

import numpy as np
import pytest

from mercer.gram.factor import Indefinite
from mercer.gram.softmax_system import SoftmaxSystem, off_columns

n, k = 7, 3


def drawn(p):
    rng = np.random.default_rng(p)
    X = rng.normal(size=(n, 4))
    Q, c = rng.dirichlet(np.ones(k), size=n), rng.uniform(0.2, 3.0, size=n)
    U = np.linalg.qr(rng.normal(size=(n, p)))[0]
    return X @ X.T, c[:, None] * Q, U, rng.normal(size=(n, k)), rng.normal(size=(p, k))


def written_out(K, weights, U):
    """Return (1 + WK)^-1 W and 1 x U over samples class by class, as they are defined."""
    c = weights.sum(axis=1)
    W = np.zeros((k * n, k * n))
    for i in range(n):
        q = weights[i] / c[i]
        at = np.arange(k) * n + i
        W[np.ix_(at, at)] = c[i] * (np.diag(q) - np.outer(q, q))
    S = np.linalg.solve(np.eye(k * n) + W @ np.kron(np.eye(k), K), W)
    return S, np.kron(np.eye(k), U)


@pytest.mark.parametrize("p", [0, 1, 2])
def test_solution_meets_the_border(p):
    K, weights, U, V, d = drawn(p)
    d -= d.mean(axis=1, keepdims=True)  # curvatures see differences of classes only
    S, border = written_out(K, weights, U)
    found, t = SoftmaxSystem(K, weights, U).solve(V, d)
    expected = S @ (V.T.ravel() + border @ t.T.ravel())
    np.testing.assert_allclose(found.T.ravel(), expected, atol=1e-10)
    np.testing.assert_allclose(U.T @ found, d, atol=1e-10)


@pytest.mark.parametrize("p", [0, 1, 2])
def test_blocks_of_samples(p):
    K, weights, U, _, _ = drawn(p)
    S, border = written_out(K, weights, U)
    S = S - S @ border @ np.linalg.pinv(border.T @ S @ border, rcond=1e-10) @ border.T @ S
    expected = [S[np.ix_(np.arange(k) * n + i, np.arange(k) * n + i)] for i in range(n)]
    np.testing.assert_allclose(SoftmaxSystem(K, weights, U).blocks(), expected, atol=1e-10)


def test_off_columns_is_the_projected_matrix():
    K, _, U, _, _ = drawn(2)
    off = np.eye(n) - U @ U.T
    np.testing.assert_allclose(off_columns(K, U), off @ K @ off, atol=1e-12)


def test_an_indefinite_matrix_is_refused():
    _, weights, U, _, _ = drawn(1)
    with pytest.raises(Indefinite, match="not positive definite"):
        SoftmaxSystem(-100.0 * np.eye(n), weights, U)
