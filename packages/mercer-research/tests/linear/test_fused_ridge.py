"""Ridge fused with validation: against fine grids, refits, closed forms and scikit-learn."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from mercer_research.linear import FusedRidge, RidgeFusion, Split, clustered_ridge, fuse_orthonormal


def sample(seed=0, n=60, p=8, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.geomspace(10.0, 0.05, p)
    return X, X @ rng.standard_normal(p) + 0.5 + noise * rng.standard_normal(n)


def halves(seed=0, **kwargs):
    X, y = sample(seed, **kwargs)
    n = len(y) // 2
    return X[:n], y[:n], X[n:], y[n:]


def several_minima():
    """Two spectral directions that ask for different penalties: the cost has two valleys."""
    X = np.diag([10.0, 0.1])
    y = np.array([10.0, 0.1])
    # Training coefficients (1, 1); validation wants (0, 1) in most places of the path.
    return X, y, np.diag([1.0, 1.2]), np.array([0.1, 1.2])


@pytest.mark.parametrize("seed", range(6))
def test_not_worse_than_ten_thousand_penalties(seed):
    split = Split.of(*halves(seed), True)
    fusion = RidgeFusion([split])
    grid = np.geomspace(1e-10, 1e10, 10_000)
    assert fusion.value(fusion.minimize()) <= fusion.value(grid).min() * (1 + 1e-12)


def test_cost_is_that_of_refits():
    X, y, X_val, y_val = halves(3)
    fusion = RidgeFusion([Split.of(X, y, X_val, y_val, True)])
    for alpha in (1e-4, 0.3, 40.0, 1e5):
        f = Ridge(alpha=alpha, solver="svd").fit(X, y).predict(X_val)
        assert fusion.value(alpha) == pytest.approx(0.5 * np.sum((y_val - f) ** 2), rel=1e-9)


def test_derivative_by_differences():
    fusion = RidgeFusion([Split.of(*halves(4), True)])
    h = 1e-5
    for theta in (-4.0, 0.0, 5.0):
        slope = (fusion.value(np.exp(theta + h)) - fusion.value(np.exp(theta - h))) / (2 * h)
        # A central difference: h^2 times a third derivative of the size of the cost, and rounding
        # of the cost over h.
        assert fusion.derivative(np.exp(theta)) == pytest.approx(slope, abs=1e-8 * fusion.null)


def test_two_valleys():
    X, y, X_val, y_val = several_minima()
    fusion = RidgeFusion([Split.of(X, y, X_val, y_val, False)])
    inner = fusion.minima()
    grid = np.geomspace(1e-8, 1e8, 4001)
    values = fusion.value(grid)
    valleys = np.flatnonzero((values[1:-1] < values[:-2]) & (values[1:-1] < values[2:]))
    local = len(valleys) + (values[0] <= values[1]) + (values[-1] <= values[-2])
    assert local >= 2
    best = fusion.minimize()
    assert fusion.value(best) <= values.min()
    assert fusion.value(inner).min() == fusion.value(best)


@pytest.mark.parametrize("seed", range(4))
def test_certificate(seed):
    fusion = RidgeFusion([Split.of(*halves(seed), True)])
    best = fusion.minimize()
    proof = fusion.certify(best)
    assert proof.cost == fusion.value(best)
    assert 0 <= proof.gap <= 1.0001e-8 * fusion.null
    # A penalty that is not the best one is seen through.
    worse = fusion.certify(100.0 * (best if np.isfinite(best) and best > 0 else 1.0))
    assert worse.bound <= proof.cost * (1 + 1e-12)


def test_bounds_hold_between_grid_points():
    fusion = RidgeFusion([Split.of(*halves(5), True)])
    part = fusion._parts[0]
    ends = np.linspace(-15, 15, 40)
    floor = part.floor(ends[:-1], ends[1:])
    for low, high, bound in zip(ends[:-1], ends[1:], floor, strict=True):
        inside = fusion.value(np.exp(np.linspace(low, high, 50)))
        assert bound <= inside.min() + 1e-12 * fusion.null


def test_rotating_the_inputs_changes_nothing():
    X, y, X_val, y_val = halves(6)
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 8)))[0]
    one = FusedRidge().fit(X, y, X_val, y_val)
    other = FusedRidge().fit(X @ Q, y, X_val @ Q, y_val)
    # The minimum is flat: a relative error of 1e-13 in the cost is 1e-6 in the penalty.
    assert other.alpha_ == pytest.approx(one.alpha_, rel=1e-5)
    assert other.predict(X_val @ Q) == pytest.approx(one.predict(X_val), rel=1e-6)


def test_the_estimator_is_ridge_at_its_penalty():
    X, y, X_val, y_val = halves(7)
    model = FusedRidge(certify=True).fit(X, y, X_val, y_val)
    twin = Ridge(alpha=model.alpha_, solver="svd").fit(X, y)
    assert model.coef_ == pytest.approx(twin.coef_)
    assert model.intercept_ == pytest.approx(twin.intercept_)
    assert model.certificate_.gap < 1e-6
    curve = model.validation_path_
    k = 60
    assert curve.coefs[k] == pytest.approx(
        Ridge(alpha=curve.parameters[k], solver="svd").fit(X, y).coef_
    )


def test_folds_are_refits():
    X, y = sample(8)
    cv = KFold(4)
    model = FusedRidge(cv=cv).fit(X, y)

    def cost(alpha):
        folds = ((Ridge(alpha, solver="svd").fit(X[f], y[f]), v) for f, v in cv.split(X))
        return sum(0.5 * np.sum((y[v] - ridge.predict(X[v])) ** 2) for ridge, v in folds)

    assert model.validation_cost_ == pytest.approx(cost(model.alpha_))
    assert model.validation_cost_ <= min(cost(a) for a in np.geomspace(1e-4, 1e4, 40))


def test_several_outputs_share_a_penalty():
    X, y, X_val, y_val = halves(9)
    Y, Y_val = np.column_stack([y, -2 * y]), np.column_stack([y_val, -2 * y_val])
    one, two = FusedRidge().fit(X, y, X_val, y_val), FusedRidge().fit(X, Y, X_val, Y_val)
    assert two.alpha_ == pytest.approx(one.alpha_, rel=1e-5)
    assert two.validation_cost_ == pytest.approx(5 * one.validation_cost_)
    assert two.coef_ == pytest.approx(np.stack([one.coef_, -2 * one.coef_]), rel=1e-5)
    assert two.predict(X_val).shape == (30, 2)


def test_ends_of_the_path():
    X, y, X_val, _ = halves(10)
    null = FusedRidge(fit_intercept=False).fit(X, y, X_val, np.zeros(30))
    assert null.alpha_ == np.inf
    assert not null.coef_.any()
    # Noise-free data with more inputs than samples: the shortest interpolation is wanted.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5, 9))
    y = X @ rng.standard_normal(9)
    w = np.linalg.pinv(X) @ y
    X_val = rng.standard_normal((20, 9))
    exact = FusedRidge(fit_intercept=False).fit(X, y, X_val, X_val @ w)
    assert exact.coef_ == pytest.approx(w, abs=1e-6)
    assert exact.validation_cost_ == pytest.approx(0.0, abs=1e-12)


class TestOrthonormal:
    def test_closed_form(self):
        rng = np.random.default_rng(0)
        for _ in range(5):
            X = np.linalg.qr(rng.standard_normal((30, 5)))[0]
            y, X_val = X @ rng.standard_normal(5) + 0.2 * rng.standard_normal(30), np.eye(5)
            y_val = 0.7 * X.T @ y + 0.1 * rng.standard_normal(5)
            closed = fuse_orthonormal(X, y, X_val, y_val)
            exact = FusedRidge(fit_intercept=False).fit(X, y, X_val, y_val)
            assert closed.coef == pytest.approx(exact.coef_, rel=1e-12, abs=1e-12)
            assert closed.alpha == pytest.approx(exact.alpha_, rel=1e-10)

    def test_clipped(self):
        q = np.array([1.0, 2.0])
        none = fuse_orthonormal(np.eye(2), q, np.eye(2), 3 * q)
        assert (none.shrinkage, none.alpha) == (1.0, 0.0)
        all_of_it = fuse_orthonormal(np.eye(2), q, np.eye(2), -q)
        assert (all_of_it.shrinkage, all_of_it.alpha) == (0.0, np.inf)

    def test_refused(self):
        with pytest.raises(ValueError, match="not orthonormal"):
            fuse_orthonormal(2 * np.eye(2), np.ones(2), np.eye(2), np.ones(2))


class TestClustered:
    @pytest.mark.parametrize("seed", range(5))
    def test_every_eigenvalue_its_own_cluster_bounds_ridge(self, seed):
        X, y, X_val, y_val = halves(seed)
        fit = clustered_ridge(X, y, X_val, y_val, n_clusters=None)
        fusion = RidgeFusion([Split.of(X, y, X_val, y_val, True)])
        best = float(fusion.value(fusion.minimize()))
        assert fit.cost <= best * (1 + 1e-9)
        assert fit.refit_cost >= best * (1 - 1e-9)
        mu = fit.filters * fit.centres
        assert np.all((mu >= 0) & (mu <= 1))
        assert np.all(np.diff(fit.filters) >= -1e-9 * fit.filters.max())

    def test_one_cluster_of_equal_eigenvalues_is_the_closed_form(self):
        rng = np.random.default_rng(1)
        X = np.linalg.qr(rng.standard_normal((30, 5)))[0]
        y, X_val = rng.standard_normal(30), rng.standard_normal((20, 5))
        y_val = 0.5 * X_val @ (X.T @ y) + 0.1 * rng.standard_normal(20)
        closed = fuse_orthonormal(X, y, X_val, y_val)
        fit = clustered_ridge(X, y, X_val, y_val, n_clusters=1, fit_intercept=False)
        assert fit.coef == pytest.approx(closed.coef, abs=1e-9)
        # The recovered penalty is a line search to 1e-10 on a function flat to second order.
        assert fit.alpha == pytest.approx(closed.alpha, rel=1e-4)

    def test_predictions_use_the_training_means(self):
        X, y, X_val, y_val = halves(3)
        fit = clustered_ridge(X, y, X_val, y_val, n_clusters=3)
        f = X_val @ fit.coef + fit.intercept
        assert 0.5 * np.sum((f - y_val) ** 2) == pytest.approx(fit.cost)

    def test_refused(self):
        X, y, X_val, y_val = halves()
        with pytest.raises(ValueError, match="n_clusters"):
            clustered_ridge(X, y, X_val, y_val, n_clusters=9)
        with pytest.raises(ValueError, match="constant"):
            clustered_ridge(np.ones((3, 2)), np.ones(3), X_val[:, :2], y_val)
