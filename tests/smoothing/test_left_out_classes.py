"""Decisions without a sample, by one Newton step, against machines without it."""

import numpy as np
import pytest
from scipy.special import softmax

from mercer.gram import Dense
from mercer.problems.multinomial import MultinomialRisk
from mercer.smoothing.left_out_classes import left_out_scores
from mercer.solvers.coupled_newton import CoupledNewton
from mercer.tabular.tasks import left_out_decisions

n, k = 60, 3


def drawn(C, q=1):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = np.argmax(np.c_[X, -X.sum(axis=1)] + 0.7 * rng.normal(size=(n, 3)), axis=1)
    c = C * rng.uniform(0.5, 2.0, n)
    c[5] = 0.0
    K = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2) / 4.5)
    return K, y, c, np.column_stack([np.ones(n), X])[:, :q]


def fitted(K, y, c, B):
    """Return coefficients and scores of the machine of some samples."""
    found = CoupledNewton(tol=1e-10).minimize(MultinomialRisk(Dense(K), y, k, c, B))
    return found.a.reshape(k, -1).T, found.b.reshape(k, -1).T, found.f.reshape(k, -1).T


@pytest.mark.parametrize("C", [0.03, 3.0, 300.0])
@pytest.mark.parametrize("q", [1, 3])
def test_it_is_one_newton_step_without_the_sample(C, q):
    """From the parabola of all other losses, written out over all samples and classes."""
    K, y, c, B = drawn(C, q)
    F = fitted(K, y, c, B)[2]
    found = left_out_scores(K, F, y, c, B)
    values, vectors = np.linalg.eigh(K)
    Z = np.hstack([vectors * np.sqrt(np.maximum(values, 0.0)), B])  # functions, then columns
    penalty = np.diag(np.r_[np.ones(n), np.zeros(q)])
    P = softmax(F, axis=1)
    W = c[:, None, None] * (P[:, :, None] * np.eye(k) - P[:, :, None] * P[:, None, :])
    for i in range(0, n, 10):
        rest = np.delete(np.arange(n), i)
        H = np.einsum("ia,icd,ib->acbd", Z[rest], W[rest], Z[rest])
        H += np.einsum("ab,cd->acbd", penalty, np.eye(k))
        g = np.outer(Z[i], c[i] * (np.eye(k)[y[i]] - P[i])).ravel()
        size = k * (n + q)
        step = -np.linalg.lstsq(H.reshape(size, size), g, rcond=1e-13)[0].reshape(-1, k)
        scores = F[i] + Z[i] @ step
        np.testing.assert_allclose(found[i], scores - scores.mean(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("C", [0.3, 3.0])
def test_one_step_is_close_to_refits(C):
    K, y, c, B = drawn(C)
    F = fitted(K, y, c, B)[2]
    found = left_out_scores(K, F, y, c, B)
    refits = []
    for i in range(0, n, 4):
        rest = np.delete(np.arange(n), i)
        A, b, _ = fitted(K[np.ix_(rest, rest)], y[rest], c[rest], B[rest])
        refits.append(K[i, rest] @ A + B[i] @ b)
    error, change = found[::4] - refits, F[::4] - refits
    # One Newton step removes nearly all of the difference that leaving out makes.
    assert np.sqrt(np.mean(error**2)) < 0.15 * np.sqrt(np.mean(change**2))


def test_two_classes_are_the_binary_step():
    """f_2 - f_1 of two coupled classes is the binary machine of twice the weight."""
    K, y, c, B = drawn(1.0)
    y = np.minimum(y, 1)
    found = CoupledNewton(tol=1e-10).minimize(MultinomialRisk(Dense(K), y, 2, c, B))
    F = found.f.reshape(2, -1).T
    ours = left_out_scores(K, F, y, c, B)
    f = F[:, 1] - F[:, 0]
    binary = left_out_decisions(K, f, np.where(y == 1, 1.0, -1.0), c, 2.0)
    np.testing.assert_allclose(ours[:, 1] - ours[:, 0], binary, atol=1e-6)


def test_a_sample_without_weight_keeps_its_scores():
    K, y, c, B = drawn(3.0)
    F = fitted(K, y, c, B)[2]
    found = left_out_scores(K, F, y, c)
    np.testing.assert_allclose(found[5], F[5] - F[5].mean(), atol=1e-12)
    own = np.arange(n), y
    rest = np.arange(n) != 5
    assert np.all((F - F.mean(axis=1, keepdims=True))[own][rest] > found[own][rest])


def test_certain_samples_stay_finite():
    """Where probabilities underflow curvatures vanish, and nothing is divided by zero."""
    K, y, c, _ = drawn(1e-3)
    F = 1e3 * (np.eye(k)[y] - 1.0 / k)
    found = left_out_scores(K, F, y, c)
    np.testing.assert_allclose(found, F, atol=1e-6)
