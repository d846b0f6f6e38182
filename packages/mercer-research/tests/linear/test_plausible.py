"""The law of covariances, the set it makes plausible, and the sparsest model in it."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
from scipy import stats

from mercer_research.linear import (
    FusedRidge,
    PlausibleLeastSquares,
    covariance_draws,
    covariance_quantiles,
    lasso_homotopy,
    plausible_set,
)

METHODS = ["t", "normal", "wishart", "bootstrap-pairs", "bootstrap-residual"]


def sample(seed=0, n=100, p=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, :2] @ [3.0, -2.0] + rng.standard_normal(n)


def settings(method, **more):
    return (
        {"method": method, "random_state": 0, "n_draws": 4000}
        | ({"noise_variance": 1.0} if method == "normal" else {})
        | more
    )


class TestQuantiles:
    @pytest.mark.parametrize("method", METHODS)
    def test_increase_around_the_covariance(self, method):
        X, y = sample()
        q = covariance_quantiles(X, y, [0.01, 0.25, 0.5, 0.75, 0.99], **settings(method))
        assert np.all(np.diff(q, axis=0) > 0)
        c = X.T @ y
        assert np.all((q[0] < c) & (c < q[-1]))
        if method != "wishart":  # which is skewed
            assert q[2] == pytest.approx(c, abs=1e-9)

    @pytest.mark.parametrize(("method", "known"), [("t", None), ("normal", 1.0)])
    def test_intervals_cover_at_their_level(self, method, known):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((15, 2))
        truth = X.T @ (X @ [1.0, -1.0])
        hits = []
        for _ in range(2000):
            y = X @ [1.0, -1.0] + rng.standard_normal(15)
            low, high = covariance_quantiles(
                X, y, [0.05, 0.95], method=method, noise_variance=known
            )
            hits.append((low <= truth) & (truth <= high))
        # Two standard errors of 2000 draws are 1.3 %.
        assert np.mean(hits, axis=0) == pytest.approx([0.9, 0.9], abs=0.02)

    def test_wishart_by_simulation_and_by_its_limit(self):
        rng = np.random.default_rng(1)
        n, rho = 12, 0.6
        x = rng.standard_normal((200_000, n))
        z = rho * x + np.sqrt(1 - rho**2) * rng.standard_normal(x.shape)
        levels = np.array([0.05, 0.5, 0.95])
        # A sample whose second moments are exactly those of the law.
        X = np.zeros((n, 1))
        X[:2, 0] = np.sqrt(n) * np.array([1.0, 0.0])
        y = np.zeros(n)
        y[:2] = np.sqrt(n) * np.array([rho, np.sqrt(1 - rho**2)])
        ours = covariance_quantiles(X, y, levels, method="wishart")[:, 0]
        # The standard error of a quantile is sqrt(q(1-q)/N) over the density, about 0.02 here.
        assert ours == pytest.approx(np.quantile(np.sum(x * z, axis=1), levels), abs=0.08)
        same = covariance_quantiles(X, X[:, 0], levels, method="wishart")[:, 0]
        assert same == pytest.approx(stats.chi2.ppf(levels, n))
        opposite = covariance_quantiles(X, -X[:, 0], levels, method="wishart")[:, 0]
        assert opposite == pytest.approx(-same[::-1])

    def test_residual_bootstrap_tends_to_t(self):
        X, y = sample(3, n=4000, p=2)
        levels = [0.05, 0.25, 0.75, 0.95]
        t = covariance_quantiles(X, y, levels)
        boot = covariance_quantiles(X, y, levels, **settings("bootstrap-residual", n_draws=3000))
        width = t[-1] - t[0]
        # A quantile of 3000 draws has a standard error of 1.3 % of the width.
        assert np.all(np.abs(boot - t) < 0.05 * width)

    def test_pairs_include_the_variation_of_inputs(self):
        rng = np.random.default_rng(4)
        spreads = []
        for _ in range(20):
            x = rng.standard_normal((100, 1))
            y = 3.14 * x[:, 0] + rng.standard_normal(100)
            pairs, fixed = (
                covariance_draws(x, y, method=m, n_draws=500, random_state=0).std() / 100
                for m in ("bootstrap-pairs", "t")
            )
            spreads.append((pairs, fixed))
        pairs, fixed = np.mean(spreads, axis=0)
        # sqrt((2 w^2 + 1) / n) = 0.455 and 0.1; 20 samples with heavy-tailed squares.
        assert pairs == pytest.approx(0.455, rel=0.12)
        assert fixed == pytest.approx(0.1, rel=0.1)

    @pytest.mark.parametrize("method", METHODS)
    def test_draws_have_the_quantiles(self, method):
        X, y = sample(5, n=30, p=2)
        draws = covariance_draws(X, y, **settings(method))
        q = covariance_quantiles(X, y, [0.25, 0.75], **settings(method))
        middle = draws - np.median(draws, axis=0) + X.T @ y
        inside = np.mean((middle > q[0]) & (middle < q[1]), axis=0)
        assert inside == pytest.approx([0.5, 0.5], abs=0.04)

    def test_refused(self):
        X, y = sample(0)
        with pytest.raises(ValueError, match="noise_variance"):
            covariance_quantiles(X, y, 0.5, method="normal")
        with pytest.raises(ValueError, match="method must be"):
            covariance_quantiles(X, y, 0.5, method="magic")
        with pytest.raises(ValueError, match="between 0 and 1"):
            covariance_quantiles(X, y, 1.0)
        with pytest.raises(ValueError, match="leave nothing"):
            covariance_quantiles(X[:6], y[:6], 0.5)
        with pytest.raises(ValueError, match="one row"):
            covariance_quantiles(X[:6], y, 0.5)
        with pytest.raises(ValueError, match="alpha_s"):
            plausible_set(X, y, 0.0)
        with pytest.raises(ValueError, match="simultaneous"):
            plausible_set(X, y, simultaneous="both")


class TestSet:
    @pytest.mark.parametrize("method", METHODS)
    def test_is_nested_and_collapses_to_least_squares(self, method):
        X, y = sample()
        w = np.linalg.lstsq(X, y, rcond=None)[0]
        sets = [plausible_set(X, y, a, **settings(method)) for a in (0.001, 0.05, 0.5, 0.999)]
        for outer, inner in itertools.pairwise(sets):
            assert np.all(outer.lower <= inner.lower)
            assert np.all(outer.upper >= inner.upper)
        if method != "wishart":
            assert all(S.contains(w) for S in sets)
            width = sets[-1].upper - sets[-1].lower
            assert np.max(width / (sets[0].upper - sets[0].lower)) < 0.01

    def test_support_function_of_a_box(self):
        X = np.linalg.qr(np.random.default_rng(0).standard_normal((40, 3)))[0]
        S = plausible_set(X, X @ [1.0, 2.0, 3.0] + np.random.default_rng(1).standard_normal(40))
        assert S.support_function(np.array([0.0, 1.0, 0.0])) == pytest.approx(S.upper[1])
        assert S.support_function(np.array([1.0, -2.0, 0.0])) == pytest.approx(
            S.upper[0] - 2 * S.lower[1]
        )
        assert S.interval(np.array([0, 0, 1.0])) == pytest.approx((S.lower[2], S.upper[2]))

    def test_singular_designs_need_a_radius(self):
        X, y = sample()
        X = np.column_stack([X, X[:, 0]])
        v = np.zeros(7)
        v[0] = 1.0
        assert plausible_set(X, y).support_function(v) == np.inf
        bounded = plausible_set(X, y, radius=20.0)
        # Coefficients 0 and 6 may differ as long as their sum is plausible.
        assert 3.0 < bounded.support_function(v) < 20.0

    @pytest.mark.parametrize("simultaneous", ["bonferroni", "max"])
    def test_simultaneous_bands_cover_together(self, simultaneous):
        rng = np.random.default_rng(2)
        X = rng.standard_normal((25, 5))
        truth = X.T @ (X @ np.ones(5))
        hits = 0
        for k in range(400):
            y = X @ np.ones(5) + rng.standard_normal(25)
            S = plausible_set(X, y, 0.1, simultaneous=simultaneous, n_draws=500, random_state=k)
            hits += bool(np.all((S.lower <= truth) & (truth <= S.upper)))
        # Three standard errors of 400 runs are 4.5 %; Bonferroni is on the safe side.
        assert hits / 400 > 0.855
        assert hits / 400 < (0.96 if simultaneous == "max" else 0.99)

    def test_regularization_paths_leave_it_at_their_free_ends(self):
        X, y = sample()
        S = plausible_set(X, y, 0.05)
        path = lasso_homotopy(X, y)
        inside = [S.contains(w) for w in path.coefs]
        assert inside[-1]
        assert not inside[0]
        ridge = FusedRidge(fit_intercept=False).fit(X, y).validation_path_
        inside = [S.contains(w) for w in ridge.coefs]
        assert inside[0]
        assert not inside[-1]


class TestSparsest:
    def test_is_the_dantzig_selector(self):
        X, y = sample(6)
        S = plausible_set(X, y, 0.05)
        w = cp.Variable(6)
        reach = 0.5 * (S.upper - S.lower)
        problem = cp.Problem(cp.Minimize(cp.norm1(w)), [cp.abs(X.T @ (y - X @ w)) <= reach])
        best = problem.solve(solver=cp.CLARABEL)
        ours = S.sparsest()
        assert np.abs(ours).sum() == pytest.approx(best, rel=1e-7)
        assert S.contains(ours, tol=1e-8)

    def test_norms_fall_with_the_level(self):
        X, y = sample(7)
        norms = [
            np.abs(plausible_set(X, y, a).sparsest()).sum() for a in (1e-12, 0.01, 0.3, 0.999999)
        ]
        assert norms == sorted(norms)
        w = np.linalg.lstsq(X, y, rcond=None)[0]
        assert plausible_set(X, y, 1 - 1e-9).sparsest() == pytest.approx(w, abs=1e-6)

    def test_zeros_are_plausible_at_last(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((30, 3))
        model = PlausibleLeastSquares(1e-6).fit(X, rng.standard_normal(30))
        assert not model.support_.any()
        assert not model.coef_.any()


class TestEstimator:
    def test_recovers_the_structure(self):
        X, y = sample(8, p=10)
        model = PlausibleLeastSquares(0.001).fit(X + 5.0, y + 7.0)
        assert np.flatnonzero(model.support_).tolist() == [0, 1]
        Z = np.column_stack([np.ones(100), X[:, :2] + 5.0])
        twin = np.linalg.lstsq(Z, y + 7.0, rcond=None)[0]
        assert model.coef_[:2] == pytest.approx(twin[1:])
        assert model.intercept_ == pytest.approx(twin[0])
        shrunk = PlausibleLeastSquares(0.001, refit=False).fit(X, y)
        assert shrunk.coef_ == pytest.approx(shrunk.sparse_coef_)
        assert np.abs(shrunk.coef_).sum() < np.abs(shrunk.refit_coef_).sum()

    def test_does_not_depend_on_the_units(self):
        X, y = sample(9)
        units = np.array([1e-3, 1.0, 1e3, 1.0, 10.0, 0.1])
        one, other = (PlausibleLeastSquares(0.05).fit(Z, y) for Z in (X, X * units))
        assert other.coef_ * units == pytest.approx(one.coef_, abs=1e-6)

    def test_level_by_validation_is_the_best_of_those_tried(self):
        X, y = sample(10)
        model = PlausibleLeastSquares().fit(X[:60], y[:60], X[60:], y[60:])
        fixed = [PlausibleLeastSquares(a).fit(X[:60], y[:60]) for a in model.levels_]
        costs = [0.5 * np.sum((y[60:] - m.predict(X[60:])) ** 2) for m in fixed]
        assert model.validation_costs_ == pytest.approx(costs)
        assert model.alpha_s_ == model.levels_[np.argmin(costs)]

    @pytest.mark.parametrize("method", ["bootstrap-pairs", "wishart"])
    def test_other_laws(self, method):
        X, y = sample(11, p=3)
        model = PlausibleLeastSquares(0.05, method=method, n_draws=500, random_state=0).fit(X, y)
        assert model.support_[:2].all()
        assert model.plausible_set_.contains(model.sparse_coef_, tol=1e-7)
