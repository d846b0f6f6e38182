"""Bounds chosen by validation: every answer is a bounded fit, and no subset is better."""

import itertools

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from mercer_research.linear import (
    FusedRidge,
    Split,
    ValidatedLasso,
    ValidatedSelection,
    selection_penalty,
)
from mercer_research.linear.constrained import constrained_least_squares


def sample(seed=0, p=5, n=30, m=40):
    rng = np.random.default_rng(seed)
    mix = np.eye(p) + 0.6 * rng.standard_normal((p, p))
    X = rng.standard_normal((n + m, p)) @ mix
    w = np.where(rng.random(p) < 0.5, 0.0, rng.uniform(-2, 2, p))
    y = X @ w + rng.standard_normal(n + m)
    return X[:n], y[:n], X[n:], y[n:]


def bounded(X, y, W):
    """Return the least-squares fit within bounds, by SciPy."""
    X, y = X - X.mean(axis=0), y - y.mean()
    live = W > 0
    w = np.zeros(len(W))
    w[live] = lsq_linear(X[:, live], y, (-W[live], W[live]), method="bvls", tol=1e-14).x
    return w


def cost(X, y, X_val, y_val, w):
    return Split.of(X, y, X_val, y_val, True).cost(w)


@pytest.mark.parametrize("method", ["exact", "local", "penalty"])
@pytest.mark.parametrize("seed", range(4))
def test_the_answer_is_the_fit_within_its_bounds(method, seed):
    data = sample(seed)
    model = ValidatedSelection(method).fit(*data)
    assert bounded(*data[:2], model.bounds_) == pytest.approx(model.coef_, abs=1e-6)
    assert model.validation_cost_ == pytest.approx(cost(*data, model.coef_))
    f = model.predict(data[2])
    assert 0.5 * np.sum((data[3] - f) ** 2) == pytest.approx(model.validation_cost_)


@pytest.mark.parametrize("seed", range(4))
def test_no_subset_no_ridge_no_lasso_and_no_bounds_are_better(seed):
    data = sample(seed, p=4)
    X, y = data[:2]
    model = ValidatedSelection("exact").fit(*data)
    assert model.certified_
    assert model.bound_ <= model.validation_cost_
    for k in range(5):
        for kept in itertools.combinations(range(4), k):
            W = np.zeros(4)
            W[list(kept)] = 1e6
            assert cost(*data, bounded(X, y, W)) >= model.validation_cost_ / (1 + 1e-7)
    assert FusedRidge().fit(*data).validation_cost_ >= model.validation_cost_ / (1 + 1e-7)
    assert ValidatedLasso().fit(*data).validation_cost_ >= model.validation_cost_ / (1 + 1e-7)
    rng = np.random.default_rng(seed)
    free = np.abs(np.linalg.lstsq(X - X.mean(axis=0), y - y.mean(), rcond=None)[0])
    for _ in range(50):
        w = bounded(X, y, 1.5 * free * rng.random(4) + 1e-12)
        assert cost(*data, w) >= model.validation_cost_ / (1 + 1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_local_search_is_not_better_than_the_proof(seed):
    data = sample(seed, p=7)
    exact, local = (ValidatedSelection(m).fit(*data) for m in ("exact", "local"))
    assert exact.certified_
    assert not local.certified_
    assert local.bound_ == -np.inf
    assert local.validation_cost_ >= exact.validation_cost_ * (1 - 1e-7)


def test_the_set_of_bounded_fits_is_not_convex():
    """An input that helps alone and hinders beside its twin changes sign from fit to fit."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    X[:, 1] = X[:, 0] + 0.3 * X[:, 1]
    y = X @ [2.0, -1.0, 0.5] + 0.3 * rng.standard_normal(30)
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    free = np.abs(np.linalg.lstsq(Xc, yc, rcond=None)[0])
    points = [bounded(X, y, 1.2 * free * rng.random(3) * rng.integers(0, 2, 3)) for _ in range(60)]
    assert max(selection_penalty(w, Xc, yc) for w in points) < 1e-8
    pairs = [0.5 * (points[i] + points[j]) for i in range(60) for j in range(i)]
    missed = np.mean([selection_penalty(w, Xc, yc) > 1e-6 for w in pairs])
    assert missed > 0.05


class TestOrthonormal:
    def data(self):
        rng = np.random.default_rng(3)
        X = np.linalg.qr(rng.standard_normal((30, 5)))[0]
        y, X_val = 3 * rng.standard_normal(30), rng.standard_normal((40, 5))
        return X, y, X_val, X_val @ (X.T @ y) * 0.6 + rng.standard_normal(40)

    @pytest.mark.parametrize("method", ["exact", "penalty"])
    def test_one_box(self, method):
        X, y, X_val, y_val = self.data()
        model = ValidatedSelection(method, fit_intercept=False).fit(X, y, X_val, y_val)
        c = X.T @ y
        box = lsq_linear(X_val, y_val, (np.minimum(0, c), np.maximum(0, c)), method="bvls").x
        assert model.coef_ == pytest.approx(box, abs=1e-7)
        assert model.certified_
        assert model.n_nodes_ == 1
        ridge = FusedRidge(fit_intercept=False).fit(X, y, X_val, y_val)
        assert model.validation_cost_ <= ridge.validation_cost_

    def test_a_large_penalty_is_exact(self):
        """Beyond a finite weight the penalized problem has the solution of the box."""
        X, y, X_val, y_val = self.data()
        w = ValidatedSelection(fit_intercept=False).fit(X, y, X_val, y_val).coef_
        # Coefficients with the sign of their force cost nothing; of the other sign |w| (|c| + |w|).
        assert selection_penalty(w, X, y) == pytest.approx(0.0, abs=1e-9)
        wrong = np.sum(np.abs(w) * (np.abs(X.T @ y) + np.abs(w)))
        assert selection_penalty(-w, X, y) == pytest.approx(wrong, rel=1e-9)

        def penalized(v, weight):
            return np.sum((y_val - X_val @ v) ** 2) + 2 * weight * selection_penalty(v, X, y)

        # A slope of the error at the answer that the penalty has to outweigh, per unit of the
        # smallest force or coefficient that it multiplies.
        g = X.T @ (y - X @ w)
        weight = np.abs(X_val.T @ (y_val - X_val @ w)).max() / np.abs(w + g).min()
        rng = np.random.default_rng(0)
        here = penalized(w, 1.1 * weight)
        for size in (1e-3, 1e-1, 1.0):
            for _ in range(100):
                assert penalized(w + size * rng.standard_normal(5), 1.1 * weight) >= here * (
                    1 - 1e-9
                )


def test_many_inputs_are_searched_locally():
    data = sample(1, p=22, n=60, m=60)
    model = ValidatedSelection().fit(*data)
    assert not model.certified_
    assert model.validation_cost_ <= ValidatedLasso().fit(*data).validation_cost_ * (1 + 1e-9)
    assert model.validation_cost_ <= FusedRidge().fit(*data).validation_cost_ * (1 + 1e-9)


def test_a_budget_ends_the_proof_with_a_bound():
    for seed in range(20):
        data = sample(seed, p=6)
        short, full = (ValidatedSelection("exact", max_nodes=k).fit(*data) for k in (1, 2000))
        assert short.bound_ <= full.validation_cost_ * (1 + 1e-9)
        if not short.certified_:
            break
    assert not short.certified_


def test_validation_data_out_of_the_sample():
    X, y, _, _ = sample(2, n=80)
    one, other = ValidatedSelection().fit(X, y), ValidatedSelection().fit(X, y)
    assert one.coef_ == pytest.approx(other.coef_)
    with pytest.warns(UserWarning, match="cannot judge"):
        ValidatedSelection().fit(X, y, X[:3], y[:3])


class TestLeastSquaresWithInequalities:
    def test_bounds_by_scipy(self):
        rng = np.random.default_rng(0)
        for _ in range(20):
            E, f = rng.standard_normal((8, 5)), rng.standard_normal(8)
            G = np.vstack([np.eye(5), -np.eye(5)])
            fit = constrained_least_squares(E, f, G, np.full(10, -0.3))
            twin = lsq_linear(E, f, (-0.3, 0.3), method="bvls", tol=1e-14)
            assert fit.x == pytest.approx(twin.x, abs=1e-8)
            assert fit.value == pytest.approx(twin.cost, rel=1e-9)
            assert fit.bound == pytest.approx(fit.value, rel=1e-9)

    def test_infeasible(self):
        G, h = np.array([[1.0], [-1.0]]), np.array([1.0, 1.0])
        assert constrained_least_squares(np.eye(1), np.zeros(1), G, h).value == np.inf

    def test_without_inequalities(self):
        fit = constrained_least_squares(
            np.eye(2), np.array([1.0, 2.0]), np.zeros((0, 2)), np.zeros(0)
        )
        assert fit.x == pytest.approx([1.0, 2.0])

    def test_fewer_rows_than_columns(self):
        fit = constrained_least_squares(np.ones((1, 2)), np.ones(1), -np.eye(2), -np.ones(2))
        assert fit.x.sum() == pytest.approx(1.0, abs=1e-6)
        assert fit.value == pytest.approx(0.0, abs=1e-9)
