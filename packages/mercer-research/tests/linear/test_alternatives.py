"""One input out of each group: the relaxation, its certificate, and every choice tried."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from mercer_research.linear import LeastSquaresAmongstAlternatives, relax_alternatives


def sample(seed, n=40, groups=3, size=2, correlation=0.3):
    rng = np.random.default_rng(seed)
    p = groups * size
    X = rng.standard_normal((n, p)) @ (np.eye(p) + correlation * rng.standard_normal((p, p)))
    w = np.zeros(p)
    w[::size] = rng.uniform(0.5, 2, groups)
    return X, X @ w + rng.standard_normal(n), np.repeat(np.arange(groups), size)


def brute(X, y, labels, always=()):
    """Return the least half sum of squares over all choices, with an intercept."""
    groups = [np.flatnonzero(labels == k) for k in np.unique(labels[labels >= 0])]
    best = np.inf, ()
    for choice in itertools.product(*groups):
        Z = np.column_stack([np.ones(len(y)), X[:, [*always, *choice]]])
        r = y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]
        best = min(best, (0.5 * r @ r, choice))
    return best


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("shape", [(3, 2), (2, 4), (5, 2)])
def test_every_choice_tried(seed, shape):
    X, y, labels = sample(seed, groups=shape[0], size=shape[1])
    model = LeastSquaresAmongstAlternatives(labels).fit(X, y)
    value, choice = brute(X, y, labels)
    assert model.exact_
    assert model.solution_.objective == pytest.approx(value, rel=1e-9)
    assert model.selected_.tolist() == list(choice)
    assert model.solution_.bound <= value * (1 + 1e-12)
    # A bound is a bound, and where the relaxation keeps the groups it is the answer.
    assert model.relaxation_.bound <= value * (1 + 1e-9)
    if model.relaxation_.exact:
        assert model.relaxation_.bound == pytest.approx(value, rel=1e-6)


def test_relaxation_alone_often_suffices():
    exact = [LeastSquaresAmongstAlternatives(s[2]).fit(*s[:2]) for s in map(sample, range(20))]
    assert sum(model.relaxation_.exact for model in exact) >= 3


def test_relaxation_by_a_conic_solver():
    X, y, labels = sample(1)
    X = X / np.linalg.norm(X, axis=0)
    groups = [np.flatnonzero(labels == k) for k in range(3)]
    ours = relax_alternatives(X, y, groups)
    values, Q = np.linalg.eigh(X.T @ X)
    gamma = ours.weight
    assert gamma == pytest.approx(values[0], rel=1e-5)
    w, t = cp.Variable(6), cp.Variable(6)
    root = np.sqrt(np.maximum(values - gamma, 0.0))[:, None] * Q.T
    objective = 0.5 * cp.sum_squares(root @ w) - (X.T @ y) @ w + 0.5 * y @ y
    objective += 0.5 * gamma * sum(cp.square(cp.sum(t[g])) for g in groups)
    best = cp.Problem(cp.Minimize(objective), [w <= t, -w <= t]).solve(solver=cp.CLARABEL)
    assert ours.bound == pytest.approx(best, rel=1e-6)


def test_ten_pairs_are_a_thousand_regressions():
    X, y, labels = sample(3, n=60, groups=10, size=2, correlation=0.1)
    model = LeastSquaresAmongstAlternatives(labels).fit(X, y)
    assert model.exact_
    assert model.solution_.objective == pytest.approx(brute(X, y, labels)[0], rel=1e-9)
    assert model.n_nodes_ < 1024


def test_one_group_is_the_best_single_regression():
    X, y, _ = sample(4, groups=1, size=12)
    model = LeastSquaresAmongstAlternatives().fit(X, y)
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    gains = (Xc.T @ yc) ** 2 / np.sum(Xc**2, axis=0)
    d = int(np.argmax(gains))
    assert model.exact_
    assert model.selected_.tolist() == [d]
    assert model.coef_[d] == pytest.approx(Xc[:, d] @ yc / (Xc[:, d] @ Xc[:, d]))
    # The univariate identity: what the input explains is its gain.
    assert 2 * model.solution_.objective == pytest.approx(yc @ yc - gains[d])


def test_inputs_that_are_always_there():
    X, y, labels = sample(5, groups=3, size=2)
    labels = np.where(labels == 0, -1, labels)
    model = LeastSquaresAmongstAlternatives(labels).fit(X, y)
    value, choice = brute(X, y, labels, always=(0, 1))
    assert model.solution_.objective == pytest.approx(value, rel=1e-9)
    assert model.selected_.tolist() == list(choice)
    kept = [0, 1, *choice]
    twin = LinearRegression().fit(X[:, kept], y)
    assert model.coef_[kept] == pytest.approx(twin.coef_)
    assert model.intercept_ == pytest.approx(twin.intercept_)


def test_dependent_columns_fall_back_to_enumeration_with_a_proof():
    X, y, labels = sample(6, groups=3, size=2)
    X[:, 5] = X[:, 0] + X[:, 2]
    model = LeastSquaresAmongstAlternatives(labels).fit(X, y)
    assert model.relaxation_.weight == 0.0
    assert model.exact_
    assert model.solution_.objective == pytest.approx(brute(X, y, labels)[0], rel=1e-9)


def test_more_inputs_than_samples():
    X, y, labels = sample(7, n=8, groups=4, size=3)
    model = LeastSquaresAmongstAlternatives(labels).fit(X, y)
    assert model.exact_
    assert model.solution_.objective == pytest.approx(brute(X, y, labels)[0], rel=1e-8)


def test_without_nodes_there_is_no_proof_but_a_bound():
    for seed in range(20):
        X, y, labels = sample(seed, groups=5, size=2, correlation=0.6)
        model = LeastSquaresAmongstAlternatives(labels, max_nodes=0).fit(X, y)
        if not model.exact_:
            break
    assert not model.exact_
    value = brute(X, y, labels)[0]
    assert model.solution_.bound <= value <= model.solution_.objective * (1 + 1e-12)


@pytest.mark.parametrize("groups", [[0, 1], [0.5] * 6, [-1] * 6])
def test_refused(groups):
    X, y, _ = sample(0)
    with pytest.raises(ValueError, match="groups"):
        LeastSquaresAmongstAlternatives(groups).fit(X, y)
