"""Bridge regression: ridge and lasso at its ends, optimality conditions, cvxpy in between."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import Ridge

from mercer_research.linear import Bridge, LassoConstrained


def sample(seed=0, n=40, p=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, :2] @ [2.0, -1.0] + 0.5 + rng.standard_normal(n)


def cost(model, X, y, p, psi):
    r = y - model.predict(X)
    return np.sum(np.abs(model.coef_) ** p) + 0.5 * psi * r @ r


def test_two_is_ridge():
    X, y = sample()
    model = Bridge(2.0, psi=0.3).fit(X, y)
    twin = Ridge(alpha=2.0 / 0.3, solver="svd").fit(X, y)
    assert model.coef_ == pytest.approx(twin.coef_)
    assert model.intercept_ == pytest.approx(twin.intercept_)


@pytest.mark.parametrize("psi", [0.02, 0.1, 1.0])
def test_one_is_the_lasso(psi):
    X, y = sample(1)
    model = Bridge(1.0, psi=psi).fit(X, y)
    twin = LassoConstrained(lam=2.0 / psi).fit(X, y)
    assert model.coef_ == pytest.approx(twin.coef_, abs=1e-9)
    assert (model.coef_ == 0).tolist() == (np.abs(twin.coef_) < 1e-12).tolist()


@pytest.mark.parametrize("p", [1.0, 1.05, 1.2, 1.5, 1.9, 2.0, 2.5, 4.0])
def test_convex_powers_are_solved_with_a_proof(p):
    X, y = sample(2)
    s = np.random.default_rng(0).uniform(0.2, 2, 40)
    model = Bridge(p, psi=0.2).fit(X, y, sample_weight=s)
    assert model.convex_
    # Sums of 40 terms in double precision; the gap is of second order in the stationarity.
    assert model.stationarity_ < 1e-9
    assert abs(model.solution_.relative_gap) < 1e-9


@pytest.mark.parametrize("p", [1.2, 1.5, 3.0])
def test_minimum_by_a_conic_solver(p):
    X, y = sample(3)
    model = Bridge(p, psi=0.2).fit(X, y)
    w, b = cp.Variable(6), cp.Variable()
    objective = cp.sum(cp.power(cp.abs(w), p)) + 0.1 * cp.sum_squares(y - X @ w - b)
    best = cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    ours = cost(model, X, y, p, 0.2)
    assert ours == pytest.approx(best, rel=1e-6)
    assert ours == pytest.approx(model.solution_.objective)


def test_below_one_it_is_stationary_and_sparser():
    X, y = sample(4)
    model, lasso = Bridge(0.5, psi=0.2).fit(X, y), Bridge(1.0, psi=0.2).fit(X, y)
    assert not model.convex_
    assert model.solution_.bound == -np.inf
    assert model.stationarity_ < 1e-9
    assert np.count_nonzero(model.coef_) <= np.count_nonzero(lasso.coef_)
    # A local minimum: no small step is lower.
    rng = np.random.default_rng(0)
    here = model.solution_.objective
    for _ in range(50):
        near = Bridge(0.5, psi=0.2).fit(X, y)
        near.coef_ = model.coef_ + 1e-4 * rng.standard_normal(6)
        assert cost(near, X, y, 0.5, 0.2) > here


def test_more_inputs_than_samples():
    X, y = sample(5, n=10, p=25)
    for p in (1.0, 1.5):
        assert Bridge(p, psi=0.5).fit(X, y).stationarity_ < 1e-8


def test_nothing_to_explain():
    X, _ = sample()
    model = Bridge(1.3).fit(X, np.full(40, 2.0))
    assert not model.coef_.any()
    assert model.intercept_ == pytest.approx(2.0)
