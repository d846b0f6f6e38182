"""Quantiles and expectiles that do not cross, beside a conic program and each one alone."""

import cvxpy as cp
import numpy as np
import pytest

from mercer import KernelRegressor, Nystrom, QuantileBand, QuantileSVR
from mercer.kernels import Gaussian
from mercer.losses import Expectile
from mercer.machines.solving import EarlyStop
from mercer.solvers import Status

KERNEL = Gaussian(0.4)
LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)


def sample(n=60, p=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, p))
    return X, np.sin(3 * X[:, 0]) + (0.2 + 0.3 * np.abs(X[:, 0])) * rng.normal(size=n)


def conic(X, y, C, losses, Z):
    """Solve the joint problem with all constraints at the points Z."""
    n, m = len(y), len(losses)
    points = np.concatenate([X, Z])
    L = np.linalg.cholesky(KERNEL(points) + 1e-9 * np.eye(len(points)))
    W, b = cp.Variable((len(points), m)), cp.Variable((1, m))
    F = L @ W + np.ones((len(points), 1)) @ b
    cost = 0.5 * cp.sum_squares(W)
    for k, loss in enumerate(losses):
        cost = cost + C * loss(y - F[:n, k])
    problem = cp.Problem(cp.Minimize(cost), [F[:, 1:] >= F[:, :-1]])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return problem.value, F.value


def pinball(tau):
    return lambda r: cp.sum(cp.maximum(tau * r, (tau - 1) * r))


def tilted(tau):
    return lambda r: 0.5 * (tau * cp.sum_squares(cp.pos(r)) + (1 - tau) * cp.sum_squares(cp.neg(r)))


@pytest.mark.parametrize(("kind", "loss"), [("quantile", pinball), ("expectile", tilted)])
@pytest.mark.parametrize("further", [0, 20])
def test_agrees_with_a_conic_program(kind, loss, further):
    X, y = sample()
    Z = np.random.default_rng(1).uniform(-1, 1, (further, 2))
    C = 20.0
    band = QuantileBand(
        LEVELS, kind=kind, kernel=KERNEL, C=C, tol=1e-5, points=Z if further else None
    ).fit(X, y)
    assert band.crossing_ > 1e-3  # one by one they cross, so that there is something to do
    assert band.n_constraints_ > 0
    value, F = conic(X, y, C, [loss(tau) for tau in LEVELS], Z)
    # Below by what constraints may be violated, above by the gap that is told.
    slack = band.solution_.gap + 1e-5 * value
    assert band.solution_.objective == pytest.approx(value, abs=slack)
    # 1/2 |f - g|^2 is at most the excess of the objective, and k(x, x) = 1.
    near = np.sqrt(2 * (band.solution_.gap + 1e-5 * value))
    np.testing.assert_allclose(band.predict_quantiles(np.concatenate([X, Z])), F, atol=near + 1e-4)


def test_functions_that_do_not_cross_are_those_fitted_one_by_one():
    X, y = sample(80, 1)
    band = QuantileBand((0.1, 0.5, 0.9), kernel=KERNEL, C=1.0, tol=1e-6).fit(X, y)
    assert band.crossing_ < 0
    assert band.n_constraints_ == 0
    for k, tau in enumerate((0.1, 0.5, 0.9)):
        alone = QuantileSVR(quantile=tau, kernel=KERNEL, C=1.0, tol=1e-6).fit(X, y)
        # The same coefficients; a product of three columns rounds differently than one.
        np.testing.assert_allclose(band.predict_quantiles(X)[:, k], alone.predict(X), atol=1e-12)


def test_expectiles_that_do_not_cross():
    X, y = sample(80, 1)
    band = QuantileBand((0.2, 0.8), kind="expectile", kernel=KERNEL, tol=1e-8).fit(X, y)
    alone = KernelRegressor(Expectile(0.8), kernel=KERNEL, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(band.predict_quantiles(X)[:, 1], alone.predict(X), atol=1e-7)


def test_quantiles_leave_their_share_below():
    X, y = sample(200, 1)
    band = QuantileBand(LEVELS, kernel=KERNEL, C=2.0, tol=1e-6).fit(X, y)
    assert band.n_constraints_ == 0
    Q = band.predict_quantiles(X)
    for k, tau in enumerate(LEVELS):
        assert np.sum(y < Q[:, k] - 1e-5) <= tau * 200 <= np.sum(y < Q[:, k] + 1e-5)


def test_the_middle_keeps_its_share_where_outer_ones_borrow():
    # With an intercept the slopes of all losses add up to zero over all levels together: what one
    # level has too many below, multipliers take from the next.
    X, y = sample()
    band = QuantileBand(LEVELS, kernel=KERNEL, C=20.0, tol=1e-5).fit(X, y)
    a = band.solution_.a
    n, m = len(y), len(LEVELS)
    assert abs(a[: n * m].sum()) <= 1e-6 * 20 * n
    assert np.all(a[n * m :] >= 0)
    assert np.sum(a[n * m :]) <= sum(LEVELS) * 20 * n


def test_order_holds_at_the_sample_and_what_is_left_is_told():
    X, y = sample(80)
    band = QuantileBand(LEVELS, kernel=KERNEL, C=10.0, points=100, random_state=0).fit(X, y)
    assert np.max(band.crossing(X)) <= 2 * band.tol
    new = np.random.default_rng(2).uniform(-1, 1, (500, 2))
    apart = QuantileBand(LEVELS, kernel=KERNEL, C=10.0).fit(X, y)
    # Points between samples are held too, so that less is left to sorting elsewhere.
    assert np.mean(band.crossing(new) > 1e-3) < np.mean(apart.crossing(new) > 1e-3)
    assert np.all(np.diff(band.predict_quantiles(new), axis=1) >= 0)
    np.testing.assert_array_equal(band.predict(new), band.predict_quantiles(new)[:, 2])
    np.testing.assert_array_equal(
        band.predict_interval(new), band.predict_quantiles(new)[:, [0, 4]]
    )


def test_weights_are_copies():
    X, y = sample(30)
    weights = np.random.default_rng(2).integers(0, 3, 30)
    band = QuantileBand((0.2, 0.5, 0.8), kernel=KERNEL, C=20.0, tol=1e-7)
    weighted = band.fit(X, y, weights).predict_quantiles(X)
    gap = band.solution_.gap
    copied = band.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).predict_quantiles(X)
    near = np.sqrt(2 * (gap + band.solution_.gap))
    np.testing.assert_allclose(weighted, copied, atol=2 * near + 1e-6)


def test_among_few_functions():
    X, y = sample(400, 1)
    levels = (0.1, 0.5, 0.9)
    how = Nystrom(60, random_state=0)
    band = QuantileBand(levels, kernel=KERNEL, C=1.0, approximation=how, tol=1e-4).fit(X, y)
    full = QuantileBand(levels, kernel=KERNEL, C=1.0, tol=1e-4).fit(X, y)
    # Sixty centres span a kernel of this width on an interval; both are within the tolerance.
    assert np.mean(np.abs(band.predict_quantiles(X) - full.predict_quantiles(X))) < 5e-3


def test_what_cannot_be_is_refused():
    X, y = sample(20)
    for wrong, why in [((0.5, 0.1), "ascend"), ((0.0, 0.5), "between 0 and 1"), ((), "ascend")]:
        with pytest.raises(ValueError, match=why):
            QuantileBand(wrong).fit(X, y)
    with pytest.raises(ValueError, match="features"):
        QuantileBand(points=np.zeros((3, 5))).fit(X, y)
    with pytest.raises(ValueError, match="points=None"):
        QuantileBand(kernel="precomputed", points=3).fit(KERNEL(X), y)


def test_functions_cross_where_no_time_is_left_for_their_order(monkeypatch):
    X, y = sample()
    settings = {"kernel": KERNEL, "C": 20.0, "points": None}
    whole = QuantileBand(LEVELS, **settings).fit(X, y)
    monkeypatch.setattr("mercer.solvers.non_crossing_search.time_left", lambda: 0.0)
    with pytest.warns(EarlyStop, match="increase max_time"):
        band = QuantileBand(LEVELS, **settings).fit(X, y)
    assert band.solution_.status is Status.MAX_TIME
    assert band.n_constraints_ == 0
    assert band.crossing_ == whole.crossing_ > 1e-3
    apart = [QuantileSVR(tau, kernel=KERNEL, C=20.0).fit(X, y).predict(X) for tau in LEVELS]
    np.testing.assert_allclose(band.predict_quantiles(X), np.sort(np.stack(apart, 1)), atol=1e-12)
