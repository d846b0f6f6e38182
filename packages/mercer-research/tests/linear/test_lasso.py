"""The bounded lasso and its path, held to its optimality conditions, to cvxpy and to grids."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import Lasso
from sklearn.model_selection import KFold

from mercer_research.linear import (
    LassoConstrained,
    PiecewiseLinearPath,
    Split,
    ValidatedLasso,
    hard_threshold,
    lasso_homotopy,
    shrink,
    soft_threshold,
)


def sample(seed=0, n=50, p=8):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ (np.eye(p) + 0.5)
    return X, X[:, :3] @ [2.0, -1.0, 0.5] + 1.0 + rng.standard_normal(n)


def orthonormal(seed=0, n=30, p=6):
    rng = np.random.default_rng(seed)
    return np.linalg.qr(rng.standard_normal((n, p)))[0], rng.standard_normal(n)


@pytest.mark.parametrize("shape", [(50, 8), (12, 20)])
def test_path_satisfies_the_optimality_conditions(shape):
    X, y = sample(1, *shape)
    path = lasso_homotopy(X, y)
    assert path.parameters[0] == pytest.approx(2 * np.abs(X.T @ y).max())
    assert not path.coefs[0].any()
    for lam in np.linspace(0, 1.2, 50) * path.parameters[0]:
        w = path.at(lam)
        g = 2 * X.T @ (y - X @ w)
        size = path.parameters[0]
        assert np.abs(g).max() <= lam + 1e-9 * size
        assert g[w != 0] == pytest.approx(lam * np.sign(w[w != 0]), abs=1e-9 * size)


def test_end_of_the_path_is_least_squares():
    X, y = sample()
    path = lasso_homotopy(X, y)
    assert path.parameters[-1] == 0.0
    assert path.coefs[-1] == pytest.approx(np.linalg.lstsq(X, y, rcond=None)[0], abs=1e-9)


def test_constrained_form_by_a_conic_solver():
    X, y = sample(2)
    s = np.random.default_rng(3).uniform(0.2, 2.0, 50)
    model = LassoConstrained(1.7).fit(X, y, sample_weight=s)
    w, b = cp.Variable(8), cp.Variable()
    objective = cp.sum(cp.multiply(s, cp.square(y - X @ w - b)))
    bound = cp.norm1(w) <= 1.7
    best = cp.Problem(cp.Minimize(objective), [bound]).solve(solver=cp.CLARABEL)
    ours = s @ (y - model.predict(X)) ** 2
    assert ours == pytest.approx(best, rel=1e-7)
    assert ours == pytest.approx(model.solution_.objective)
    assert model.tau_ == pytest.approx(1.7)
    assert model.lam_ == pytest.approx(float(bound.dual_value), rel=1e-5)
    assert 0 <= model.solution_.relative_gap < 1e-12


def test_bound_and_multiplier_are_two_names_of_one_point():
    X, y = sample(4)
    one = LassoConstrained(lam=20.0).fit(X, y)
    other = LassoConstrained(one.tau_).fit(X, y)
    assert other.lam_ == pytest.approx(20.0)
    assert other.coef_ == pytest.approx(one.coef_)
    twin = Lasso(alpha=20.0 / (2 * 50), tol=1e-12).fit(X, y)
    assert one.coef_ == pytest.approx(twin.coef_, abs=1e-6)
    assert one.intercept_ == pytest.approx(twin.intercept_, abs=1e-6)


def test_bound_is_felt_only_below_least_squares():
    X, y = sample(5)
    free = LassoConstrained().fit(X, y)
    assert free.lam_ == 0.0
    above, below = (LassoConstrained(f * free.tau_).fit(X, y) for f in (1.5, 0.999))
    assert above.lam_ == 0.0
    assert above.coef_ == pytest.approx(free.coef_)
    assert below.lam_ > 0
    assert below.tau_ == pytest.approx(0.999 * free.tau_)


def test_refused():
    X, y = sample()
    with pytest.raises(ValueError, match="not both"):
        LassoConstrained(1.0, lam=1.0).fit(X, y)
    with pytest.raises(ValueError, match="both of X_val"):
        ValidatedLasso().fit(X, y, X_val=X)


def test_constant_targets_have_a_path_of_one_point():
    X, _ = sample()
    model = LassoConstrained(1.0).fit(X, np.full(50, 3.0))
    assert not model.coef_.any()
    assert model.predict(X) == pytest.approx(3.0)
    assert len(model.path_.parameters) == 1


class TestOrthonormal:
    def test_lasso(self):
        X, y = orthonormal()
        q = X.T @ y
        for lam in (0.05, 0.5, 1.5):
            assert lasso_homotopy(X, y).at(lam) == pytest.approx(soft_threshold(q, lam), abs=1e-12)

    def test_ridge(self):
        X, y = orthonormal()
        w = np.linalg.solve(X.T @ X + 0.7 * np.eye(6), X.T @ y)
        assert shrink(X.T @ y, 0.7) == pytest.approx(w)

    def test_best_subset(self):
        X, y = orthonormal(1, 30, 4)
        lam = 0.4

        def cost(keep):
            w = np.where(keep, X.T @ y, 0.0)
            return np.sum((y - X @ w) ** 2) + lam * np.sum(keep)

        subsets = [np.array([k >> d & 1 for d in range(4)], dtype=bool) for k in range(16)]
        best = min(subsets, key=cost)
        assert (hard_threshold(X.T @ y, lam) != 0).tolist() == best.tolist()


class TestValidation:
    def test_not_worse_than_any_point_of_a_grid(self):
        for seed in range(3):
            X, y = sample(seed)
            model = ValidatedLasso().fit(X[:30], y[:30], X[30:], y[30:])
            fits = [LassoConstrained(lam=t).fit(X[:30], y[:30]) for t in np.linspace(0, 60, 40)]
            costs = [0.5 * np.sum((y[30:] - m.predict(X[30:])) ** 2) for m in fits]
            assert model.validation_cost_ <= min(costs) * (1 + 1e-12)
            assert 0.5 * np.sum((y[30:] - model.predict(X[30:])) ** 2) == pytest.approx(
                model.validation_cost_
            )

    def test_folds_are_refits(self):
        X, y = sample(7)
        cv = KFold(4)
        model = ValidatedLasso(cv=cv).fit(X, y)

        def cost(lam):
            total = 0.0
            for fit, rest in cv.split(X):
                fold = LassoConstrained(lam=lam).fit(X[fit], y[fit])
                total += 0.5 * np.sum((y[rest] - fold.predict(X[rest])) ** 2)
            return total

        assert model.validation_cost_ == pytest.approx(cost(model.lam_))
        assert model.validation_cost_ <= min(cost(lam) for lam in np.linspace(0, 60, 20))
        assert model.coef_ == pytest.approx(LassoConstrained(lam=model.lam_).fit(X, y).coef_)

    def test_no_signal_prefers_the_null_model(self):
        rng = np.random.default_rng(3)
        X = rng.standard_normal((40, 5))
        y = rng.standard_normal(40)
        # Validation targets against the training fit: every step away from zero is a step back.
        split = Split.of(X, y, X, -y, False)
        model = ValidatedLasso(fit_intercept=False).fit(X, y, X, -y)
        assert not model.coef_.any()
        assert model.validation_cost_ == pytest.approx(split.cost(np.zeros(5)))


def test_path_at_a_knot_from_both_sides():
    path = PiecewiseLinearPath(np.array([3.0, 1.0, 0.0]), np.array([[0.0, 0], [2, 0], [3, 1]]))
    assert path.at(1.0) == pytest.approx([2.0, 0.0])
    assert path.at(np.array([4.0, 2.0, 0.5, -1.0])) == pytest.approx(
        np.array([[0, 0], [1, 0], [2.5, 0.5], [3, 1]])
    )
    assert path.with_norm(1.0) == pytest.approx(2.0)
