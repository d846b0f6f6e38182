"""The functional of the softmax loss: its certificate bounds what a search for points finds."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer.gram import Dense
from mercer.problems.multinomial import MultinomialRisk

n, k = 12, 3


def drawn(seed=0, q=1, weights=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    K = np.exp(-0.5 * np.sum((X[:, None] - X) ** 2, axis=2))
    y = np.r_[np.arange(k), rng.integers(0, k, n - k)]
    c = rng.uniform(0.5, 3.0, n) if weights else 2.0
    B = np.column_stack([np.ones(n), X])[:, :q]
    return MultinomialRisk(Dense(K), y, k, c, B)


def objective(risk, A, b):
    """The functional from its formula."""
    F = risk.K.dense() @ A + risk.B @ b
    losses = np.log(np.exp(F).sum(axis=1)) - F[np.arange(n), risk.y]
    return 0.5 * np.trace(A.T @ risk.K.dense() @ A) + risk.c @ losses


def searched(risk):
    """Return the lowest objective that a quasi-Newton method finds."""
    G = np.linalg.cholesky(risk.K.dense() + 1e-13 * np.eye(n))

    def value(x):
        U, b = x[: n * k].reshape(n, k), x[n * k :].reshape(risk.q, k)
        F = G @ U + risk.B @ b
        slope = risk.c[:, None] * risk.loss.slope(risk.y, F)
        gradient = np.r_[(U + G.T @ slope).ravel(), (risk.B.T @ slope).ravel()]
        return 0.5 * np.sum(U**2) + risk.risk(F), gradient

    size = (n + risk.q) * k
    options = {"maxiter": 10_000, "gtol": 1e-12, "ftol": 0.0}
    return minimize(value, np.zeros(size), jac=True, method="L-BFGS-B", options=options).fun


@pytest.mark.parametrize("q", [0, 1, 3])
def test_the_gap_bounds_what_is_lost_at_any_point_of_the_dual(q):
    risk, rng = drawn(q=q), np.random.default_rng(1)
    least = searched(risk)
    for _ in range(20):
        _, P = risk.balanced(np.log(rng.dirichlet(np.ones(k), size=n)))
        A, b = risk.coefficients(P), rng.normal(size=(q, k))
        found = risk.certificate(A, b)
        assert found.primal == pytest.approx(objective(risk, A, b), rel=1e-12)
        assert found.dual <= least + 1e-9 <= found.primal + 2e-9
        assert found.gap == pytest.approx(found.primal - found.dual, rel=1e-12)
        # The value of the dual, from its formula.
        entropy = risk.c @ np.sum(P * np.log(P), axis=1)
        by_formula = -0.5 * np.trace(A.T @ risk.K.dense() @ A) - entropy
        assert found.dual == pytest.approx(by_formula, rel=1e-10, abs=1e-10)
        assert found.residual < 1e-14
        assert found.dual <= risk.bound(A, risk.K.matvec(A)) + 1e-9 <= least + 2e-9


def test_coefficients_outside_the_simplex_prove_nothing():
    risk = drawn()
    A = np.zeros((n, k))
    A[0] = [1.0, 1.0, -2.0]  # two classes with negative or too large probabilities
    assert risk.certificate(A, np.zeros((1, k))).gap == np.inf


def test_rounding_of_large_weights_is_in_the_gap():
    """Objectives of weights of 1e9 are not known to their last digits, nor is the gap zero."""
    small, large = drawn(weights=False), drawn(weights=False)
    large.c = np.full(n, 1e9)
    P = small.balanced(np.zeros((n, k)))[1]
    for risk, least in ((small, 0.0), (large, 1e-6)):
        A = risk.coefficients(P)
        found = risk.certificate(A, np.zeros((1, k)))
        young = risk.c @ risk.loss.young_gap(P, found.f)
        assert least <= found.gap - young <= 1e-6 * found.primal


@pytest.mark.parametrize("q", [1, 3])
def test_balanced_probabilities_have_the_sums_of_the_labels(q):
    risk = drawn(q=q)
    b, P = risk.balanced(np.zeros((n, k)))
    np.testing.assert_allclose(risk.B.T @ risk.coefficients(P), 0.0, atol=1e-13)
    np.testing.assert_allclose(b.sum(axis=1), 0.0, atol=1e-13)
    if q == 1:  # frequencies
        shares = np.bincount(risk.y, weights=risk.c) / risk.c.sum()
        np.testing.assert_allclose(P, np.tile(shares, (n, 1)), rtol=1e-12)


def test_balanced_keeps_what_is_balanced():
    risk = drawn(q=3)
    _, P = risk.balanced(np.random.default_rng(2).normal(size=(n, k)))
    b, again = risk.balanced(np.log(P))
    np.testing.assert_allclose(b, 0.0, atol=1e-13)
    np.testing.assert_allclose(again, P, rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.zeros(4, dtype=int)}, "labels of shape"),
        ({"y": np.full(3, 7)}, "labels must be 0, ..., 2"),
        ({"c": np.array([1.0, -1.0, 1.0])}, "finite and not negative"),
    ],
)
def test_nonsense_is_refused(change, message):
    given = {"K": Dense(np.eye(3)), "y": np.arange(3), "k": 3, "c": 1.0} | change
    with pytest.raises(ValueError, match=message):
        MultinomialRisk(**given)
