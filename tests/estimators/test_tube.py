"""Support vector tubes beside conic programs, nu-regression, the LASSO and their own promises."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import lars_path_gram

from mercer import NuSVR, Nystrom
from mercer.estimators import SupportVectorTube
from mercer.gram import Dense
from mercer.kernels import Gaussian
from mercer.problems.support_vector_tube import tube, tube_back
from mercer.regularizers import Empty, Polynomial
from mercer.solvers import SMO, minimize
from mercer.solvers.tube_path import tube_path

KERNEL = Gaussian(0.6)
TOL = 1e-8


def sample(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(-2, 2, (n, 1)), axis=0)
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n)


def conic(K, y, mu, c=None, B=None, walls=None):
    """Solve the primal with one variable a wall; ``c`` are weights of slacks, None if hard."""
    n = len(y)
    L = np.linalg.cholesky(K + 1e-10 * np.eye(n))
    w, t, below, above = cp.Variable(n), cp.Variable(), cp.Variable(n), cp.Variable(n)
    f = L @ w
    if B is not None:
        f = f + B @ cp.Variable(B.shape[1])
    low, high = (y, y) if walls is None else walls
    cost = 0.5 * cp.sum_squares(w) + mu * t
    rows = [f + t + above >= low, f - t - below <= high, above >= 0, below >= 0, t >= 0]
    if c is None:
        rows += [above == 0, below == 0]
    else:
        cost = cost + c @ (above + below)
    problem = cp.Problem(cp.Minimize(cost), rows)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return problem.value, float(t.value), np.asarray(f.value)


@pytest.mark.parametrize("null_space", [None, Empty(), Polynomial(1)])
@pytest.mark.parametrize("exceptions", [0, 5.5])
def test_agrees_with_a_conic_program(null_space, exceptions):
    X, y = sample()
    machine = SupportVectorTube(
        KERNEL, mu=4.0, exceptions=exceptions, null_space=null_space, tol=TOL
    ).fit(X, y)
    B = machine.null_space_(X) if machine.null_space_names_ else None
    c = None if exceptions == 0 else np.full(len(y), 4.0 / exceptions)
    value, t, f = conic(KERNEL(X), y, 4.0, c, B)
    # Clarabel stops at 1e-10 of the objective, which bounds f in the norm of the kernel by its root
    # times sqrt(2 * 1e-10 * value) < 3e-5.
    assert machine.solution_.objective == pytest.approx(value, rel=1e-6)
    assert machine.tube_halfwidth_ == pytest.approx(t, abs=5e-5)
    np.testing.assert_allclose(machine.predict(X), f, atol=5e-5)


def test_walls_around_intervals():
    X, y = sample()
    low, high = y - 0.1, y + np.random.default_rng(1).uniform(0, 0.5, len(y))
    c = np.full(len(y), 3.0)
    B = np.ones((len(y), 1))
    solution = minimize(tube(Dense(KERNEL(X)), (low, high), c, 3.0, B), SMO(tol=TOL))
    value, t, _ = conic(KERNEL(X), y, 3.0, None, B, (low, high))
    assert solution.objective == pytest.approx(value, rel=1e-6)
    walls = tube_back(solution.a, solution.b, (low, high), solution.f, c, 3.0)
    assert walls.halfwidth == pytest.approx(t, abs=1e-5)


def test_every_target_is_inside_a_hard_tube():
    X, y = sample(200)
    machine = SupportVectorTube(KERNEL, mu=10.0).fit(X, y)
    r = np.abs(y - machine.predict(X))
    # The half-width is the largest residual by construction, up to rounding of the prediction.
    assert r.max() <= machine.tube_halfwidth_ * (1 + 1e-12) + 1e-12
    assert machine.coverage_ == 1.0
    # Support vectors sit on the walls, to the tolerance of the fit.
    assert np.min(r[machine.support_]) >= machine.tube_halfwidth_ - 2 * machine.tol


@pytest.mark.parametrize("exceptions", [3, 7.5, 20])
def test_it_is_nu_regression_and_counts_exceptions(exceptions):
    X, y = sample(60)
    machine = SupportVectorTube(KERNEL, mu=8.0, exceptions=exceptions, tol=TOL).fit(X, y)
    nu = NuSVR(kernel=KERNEL, nu=exceptions / 60, C=8.0 / exceptions, tol=TOL).fit(X, y)
    low, high = machine.halfwidth_range_
    assert low - 1e-6 <= nu.epsilon_ <= high + 1e-6
    np.testing.assert_allclose(machine.predict(X), nu.predict(X), atol=1e-6)
    r = np.abs(y - machine.predict(X))
    assert np.sum(r > machine.tube_halfwidth_ + 1e-6) <= exceptions <= len(machine.support_)


def test_up_to_one_exception_is_none():
    X, y = sample()
    one = SupportVectorTube(KERNEL, mu=4.0, exceptions=1, tol=TOL).fit(X, y)
    none = SupportVectorTube(KERNEL, mu=4.0, tol=TOL).fit(X, y)
    assert one.tube_halfwidth_ == none.tube_halfwidth_


def test_exceptions_below_and_above_are_counted_apart():
    X, y = sample(120)
    machine = SupportVectorTube(KERNEL, mu=8.0, exceptions=(2.5, 20.5), tol=TOL).fit(X, y)
    low, high = machine.predict_interval(X).T
    above, below = np.sum(y > high + 1e-6), np.sum(y < low - 1e-6)
    on = np.sum(np.abs(y - high) <= 1e-6), np.sum(np.abs(y - low) <= 1e-6)
    assert above <= 20.5 <= above + on[0]
    assert below <= 2.5 <= below + on[1]
    even = SupportVectorTube(KERNEL, mu=8.0, exceptions=(4.5, 4.5), tol=TOL).fit(X, y)
    both = SupportVectorTube(KERNEL, mu=8.0, exceptions=9, tol=TOL).fit(X, y)
    np.testing.assert_allclose(even.predict(X), both.predict(X), atol=1e-6)


def test_a_whole_number_of_exceptions_may_leave_the_width_open():
    # Samples too far apart to see each other: a = (0, 0, 1, 1) on its bounds, residuals 0, 0, 9 and
    # 49, and a wall between 0 and 9 has two outside, which is what it may have.
    X = np.arange(4.0)[:, None] * 100
    y = np.array([0.0, 0.0, 10.0, 50.0])
    machine = SupportVectorTube(KERNEL, mu=2.0, exceptions=2, null_space=Empty(), tol=TOL)
    low, high = machine.fit(X, y).halfwidth_range_
    assert machine.tube_halfwidth_ == low
    assert (low, high) == pytest.approx((0.0, 9.0), abs=1e-6)


def test_as_many_exceptions_as_samples_are_the_machine_of_absolute_errors():
    X, y = sample()
    machine = SupportVectorTube(KERNEL, mu=40.0, exceptions=40, tol=TOL).fit(X, y)
    K = KERNEL(X) + 1e-10 * np.eye(40)
    w, b = cp.Variable(40), cp.Variable()
    f = np.linalg.cholesky(K) @ w + b
    cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + cp.norm1(y - f))).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10
    )
    assert machine.tube_halfwidth_ == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_allclose(machine.predict(X), f.value, atol=5e-5)


def test_weights_are_copies():
    X, y = sample(30)
    weights = np.random.default_rng(2).integers(0, 4, 30)
    for exceptions in (0, 6.5):
        machine = SupportVectorTube(KERNEL, mu=5.0, exceptions=exceptions, tol=TOL)
        weighted = machine.fit(X, y, weights).predict(X)
        copied = machine.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).predict(X)
        np.testing.assert_allclose(weighted, copied, atol=1e-6)


def test_path_is_the_lasso_and_ends_at_interpolation():
    X, y = sample(25)
    K = KERNEL(X) + 1e-3 * np.eye(25)
    path = tube_path(K, y)
    t, _, a = lars_path_gram(y, K, n_samples=1, method="lasso", eps=1e-14)
    assert len(path.halfwidths) == len(t)
    # Both solve the same systems, whose condition is below 1e5.
    np.testing.assert_allclose(path.halfwidths, t, atol=1e-9)
    np.testing.assert_allclose(path.a, a.T, atol=1e-7)
    assert path.halfwidths[0] == np.max(np.abs(y))
    assert path.prices[-1] == pytest.approx(np.abs(np.linalg.solve(K, y)).sum(), rel=1e-8)
    assert path.at(path.prices[-1] * 2)[2] == 0.0


@pytest.mark.parametrize("null_space", [None, Polynomial(1)])
def test_path_with_a_trend_meets_the_machine(null_space):
    X, y = sample(30)
    machine = SupportVectorTube(Gaussian(0.5), null_space=null_space, tol=TOL)
    path = machine.path(X, y)
    if null_space is None:
        assert path.halfwidths[0] == pytest.approx(0.5 * np.ptp(y))
    assert np.all(np.diff(path.halfwidths) < 0)
    for mu in (0.3, 2.0, 8.0):
        a, _, t = path.at(mu)
        machine.set_params(mu=mu).fit(X, y)
        # t is optimal to tol, the coefficients only as far as K tells them apart.
        assert machine.tube_halfwidth_ == pytest.approx(t, abs=10 * TOL)
        assert np.sum(np.abs(a)) == pytest.approx(mu, rel=1e-9)


def test_small_and_large_prices():
    X, y = sample()
    flat = SupportVectorTube(KERNEL, mu=1e-9).fit(X, y)
    assert flat.tube_halfwidth_ == pytest.approx(0.5 * np.ptp(y), abs=1e-6)
    widths = [
        SupportVectorTube(KERNEL, mu=mu, tol=1e-6).fit(X, y).tube_halfwidth_
        for mu in (0.1, 1.0, 10.0, 100.0)
    ]
    assert np.all(np.diff(widths) < 0)


def test_calibrated_tubes_cover_what_they_promise():
    rng = np.random.default_rng(3)
    X, y = sample(60)
    machine = SupportVectorTube(KERNEL, mu=5.0).fit(X, y)
    inside = []
    for _ in range(200):
        Z = rng.uniform(-2, 2, (60, 1))
        v = np.sin(2 * Z[:, 0]) + 0.3 * rng.normal(size=60)
        low, high = machine.calibrate(Z[:40], v[:40], 0.8).predict_interval(Z[40:]).T
        inside.append(np.mean((low <= v[40:]) & (v[40:] <= high)))
    # 33 of 41 ranks: between 0.8 and 0.805; 200 rounds have a standard error below 0.008.
    assert abs(np.mean(inside) - 33 / 41) < 3 * 0.008
    assert machine.calibration_ == (40, 0.8)
    assert machine.calibrate(X[:3], y[:3], 0.9).tube_halfwidth_ == np.inf


def test_automatic_price_is_about_as_good_as_the_best():
    X, y = sample(150, seed=4)
    Z = np.linspace(-1.9, 1.9, 200)[:, None]
    truth = np.sin(2 * Z[:, 0])

    def error(mu):
        machine = SupportVectorTube(KERNEL, mu=mu, exceptions=75).fit(X, y)
        return np.mean((machine.predict(Z) - truth) ** 2)

    best = min(error(mu) for mu in (1.0, 10.0, 100.0, 1000.0))
    assert error("auto") < 4 * best + 1e-3


def test_among_few_functions_it_is_nu_regression():
    X, y = sample(300, seed=5)
    how = Nystrom(40, random_state=0)
    machine = SupportVectorTube(KERNEL, mu=60.0, exceptions=60, approximation=how, tol=1e-5)
    nu = NuSVR(kernel=KERNEL, nu=0.2, C=1.0, approximation=how, tol=1e-5)
    np.testing.assert_allclose(machine.fit(X, y).predict(X), nu.fit(X, y).predict(X), atol=1e-6)
    assert machine.tube_halfwidth_ == pytest.approx(nu.epsilon_, abs=1e-6)
    with pytest.raises(ValueError, match="need all samples at once"):
        SupportVectorTube(KERNEL, mu=1.0, approximation=how).fit(X, y)


def test_what_cannot_be_is_refused():
    X, y = sample(10)
    with pytest.raises(ValueError, match="both be positive"):
        SupportVectorTube(mu=1.0, exceptions=(0, 3)).fit(X, y)
    with pytest.raises(ValueError, match="keep a constant unpenalized"):
        SupportVectorTube(mu=1.0, exceptions=(1, 3), null_space=Empty()).fit(X, y)
    with pytest.raises(ValueError, match="go through all"):
        SupportVectorTube(mu=1.0, exceptions=(11, 3)).fit(X, y)
    with pytest.raises(ValueError, match="ends before it begins"):
        tube(Dense(np.eye(2)), (np.ones(2), np.zeros(2)), np.ones(2), 1.0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        SupportVectorTube(mu=1.0).fit(X, y).calibrate(X, y, 1.0)
