"""The linear program of the 1-norm margin, held to a conic solver and to its limits."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import load_iris

from mercer_research.linear import OneNormSVC


def sample(seed=0, n=60, p=5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, np.sign(X[:, 0] - 0.5 * X[:, 1] + 0.5 * rng.standard_normal(n))


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_minimum_by_a_conic_solver(fit_intercept):
    X, y = sample()
    s = np.random.default_rng(1).uniform(0.2, 2.0, 60)
    model = OneNormSVC(0.4, fit_intercept=fit_intercept).fit(X, y, sample_weight=s)
    w, b = cp.Variable(5), cp.Variable() if fit_intercept else 0.0
    hinge = cp.pos(1 - cp.multiply(y, X @ w + b))
    best = cp.Problem(cp.Minimize(cp.norm1(w) + 0.4 * s @ hinge)).solve(solver=cp.CLARABEL)
    ours = np.abs(model.coef_).sum() + 0.4 * s @ np.maximum(0, 1 - y * model.decision_function(X))
    assert ours == pytest.approx(best, rel=1e-7)
    optimum = model.solutions_[0]
    assert ours == pytest.approx(optimum.objective)
    assert abs(optimum.relative_gap) < 1e-9


def test_multipliers_are_feasible():
    X, y = sample(2)
    a = OneNormSVC(0.3).fit(X, y).dual_coef_[0]
    assert np.all((y * a >= -1e-12) & (y * a <= 0.3 + 1e-12))
    assert a.sum() == pytest.approx(0.0, abs=1e-9)
    assert np.abs(X.T @ a).max() <= 1 + 1e-9


def test_smaller_weights_leave_fewer_inputs_until_none():
    X, y = sample(3)
    counts = [np.count_nonzero(OneNormSVC(C).fit(X, y).coef_) for C in (10.0, 0.1, 0.03, 0.001)]
    assert counts[0] == 5
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 0


def test_several_classes_against_the_rest():
    X, y = load_iris(return_X_y=True)
    model = OneNormSVC(1.0).fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert model.score(X, y) > 0.9
    setosa = OneNormSVC(1.0).fit(X, y == 0)
    assert model.solutions_[0].objective == pytest.approx(setosa.solutions_[0].objective)


def test_class_weights_are_factors_of_C():
    X, y = sample(4)
    one = OneNormSVC(0.3, class_weight={1: 2.0, -1: 0.5}).fit(X, y)
    other = OneNormSVC(0.3).fit(X, y, sample_weight=np.where(y > 0, 2.0, 0.5))
    assert one.coef_ == pytest.approx(other.coef_)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="one class only"):
        OneNormSVC().fit(np.eye(3), np.ones(3))
