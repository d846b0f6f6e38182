"""Solvers over a factor K = ZZ' against LIBSVM, LIBLINEAR, SciPy and solvers over kernel values."""

from contextlib import nullcontext

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
import sklearn.svm
from numpy.testing import assert_allclose

from mercer import SVC, SVR
from mercer.gram import Dense, Tiled
from mercer.gram.low_rank import LowRank
from mercer.gram.make import make
from mercer.kernels import Gaussian, Linear
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Pinball,
    SquaredHinge,
)
from mercer.problems import RegularizedRisk
from mercer.problems.nu import nu_classification, nu_regression
from mercer.solvers import (
    SMO,
    Auto,
    ConvergenceWarning,
    CoordinateDescent,
    InteriorPoint,
    Status,
    minimize,
)
from mercer.solvers.auto import by_factor
from mercer.solvers.thin import ThinInteriorPoint

BOTH = pytest.mark.parametrize(
    "solver",
    [ThinInteriorPoint(tol=1e-6), CoordinateDescent(tol=1e-4)],
    ids=lambda s: type(s).__name__,
)
MARGINS = (Hinge(), SquaredHinge())
RESIDUALS = (EpsilonInsensitive(0.1), Absolute(), Huber(0.5), Pinball(0.3))


def sample(n=120, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    t = X @ rng.standard_normal(d) + 0.7 + rng.standard_normal(n)
    return X, t, np.where(t > 0, 1.0, -1.0)


@BOTH
@pytest.mark.parametrize("q", [0, 1, 2])
@pytest.mark.parametrize("loss", [*MARGINS, *RESIDUALS], ids=lambda loss: type(loss).__name__)
def test_objective_is_that_of_an_interior_point_over_kernel_values(solver, loss, q):
    # Sweeps are for many columns: with few, coefficients get into each other's way.
    d = 60 if isinstance(solver, CoordinateDescent) else 4
    X, t, labels = sample(d=d)
    X, t = X / np.sqrt(d), t / np.sqrt(d)
    y, c = (labels if loss in MARGINS else t), np.random.default_rng(1).uniform(0.1, 2.0, len(t))
    c[:3] = 0.0
    B = np.column_stack([np.ones(len(t)), np.linspace(-1, 1, len(t))])[:, :q]
    found = minimize(RegularizedRisk(loss, LowRank(X), y, c, B), solver)
    exact = minimize(RegularizedRisk(loss, Dense(X @ X.T), y, c, B), InteriorPoint(tol=1e-8))
    assert found.status is Status.CONVERGED
    assert found.violation <= solver.tol
    # Both bounds are proved: the values differ by no more than the gaps.
    assert abs(found.objective - exact.objective) <= found.gap + exact.gap + 1e-9 * exact.objective
    # A violation of tol in each of n rows: n tol, in units of losses of about one.
    assert found.gap <= 10 * solver.tol * found.objective


@BOTH
def test_tiny_problem_is_that_of_scipy(solver):
    X, _, y = sample(12, 2)
    found = minimize(RegularizedRisk(Hinge(), LowRank(X), y, 0.8, np.ones((12, 1))), solver)
    # Margins as constraints on (w, b, slack): SLSQP knows neither dual nor kernel.
    constraint = {
        "type": "ineq",
        "fun": lambda v: y * (X @ v[:2] + v[2]) - 1 + v[3:],
        "jac": lambda v: np.column_stack([y[:, None] * X, y, np.eye(12)]),
    }
    scipy_found = scipy.optimize.minimize(
        lambda v: 0.5 * v[:2] @ v[:2] + 0.8 * v[3:].sum(),
        np.r_[np.zeros(3), np.ones(12)],
        jac=lambda v: np.r_[v[:2], 0.0, np.full(12, 0.8)],
        constraints=[constraint],
        bounds=[(None, None)] * 3 + [(0, None)] * 12,
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert_allclose(X.T @ found.a, scipy_found.x[:2], atol=1e-4)
    assert_allclose(found.objective, scipy_found.fun, rtol=1e-6)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("weights", [None, {0: 3.0, 1: 0.5}])
def test_classifier_is_that_of_libsvm(C, weights):
    X, _, labels = sample(400, 5)
    y = (labels > 0).astype(int)
    ours = SVC(kernel="linear", C=C, class_weight=weights, tol=1e-6)
    ours.set_params(solver="thin_interior_point").fit(X, y)
    theirs = sklearn.svm.SVC(kernel="linear", C=C, class_weight=weights, tol=1e-6).fit(X, y)
    # LIBSVM leaves violations of 1e-6 and w moves by as much times its condition.
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("weights", [None, {0: 3.0, 1: 0.5}])
def test_objective_is_at_most_that_of_libsvm_where_classes_overlap_and_C_is_large(weights):
    X, _, labels = sample(400, 5)
    y = (labels > 0).astype(int)
    c = 1000.0 * np.where(y == 0, 3.0, 0.5) if weights else np.full(400, 1000.0)
    ours = SVC(kernel="linear", C=1000.0, class_weight=weights, tol=1e-6).fit(X, y)
    theirs = sklearn.svm.SVC(kernel="linear", C=1000.0, class_weight=weights, tol=1e-3).fit(X, y)
    values = [
        0.5 * np.sum(machine.coef_**2)
        + c @ np.maximum(1 - labels * machine.decision_function(X), 0.0)
        for machine in (ours, theirs)
    ]
    assert values[0] <= values[1]
    assert_allclose(values[0], ours.solution_.objective, rtol=1e-9)
    assert ours.solution_.gap <= 1e-6 * values[0]


def test_regressor_is_that_of_libsvm_with_weights():
    X, t, _ = sample(400, 5)
    weights = np.random.default_rng(2).uniform(0.0, 2.0, 400)
    ours = SVR(kernel="linear", tol=1e-6, solver="thin_interior_point").fit(X, t, weights)
    theirs = sklearn.svm.SVR(kernel="linear", tol=1e-6).fit(X, t, weights)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)


def text(n, d, k, seed=0):
    """Return unit rows of k random columns each, and labels with an offset."""
    rng = np.random.default_rng(seed)
    columns = (d * rng.random(n * k) ** 3).astype(int)
    X = sp.csr_matrix((rng.exponential(size=n * k), (np.repeat(np.arange(n), k), columns)), (n, d))
    length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X = sp.csr_matrix(sp.diags_array(1 / length) @ X)
    s = X @ rng.standard_normal(d)
    return X, np.where(s > np.quantile(s, 0.6), 1.0, -1.0)


@pytest.mark.parametrize("kind", ["hinge", "squared_hinge"])
def test_sparse_objective_without_intercept_is_that_of_liblinear(kind):
    X, y = text(2000, 3000, 20)
    loss = Hinge() if kind == "hinge" else SquaredHinge()
    found = minimize(RegularizedRisk(loss, Tiled(Linear(), X), y, 1.0), CoordinateDescent(tol=1e-4))
    # LIBLINEAR's squared hinge has no half.
    C = 1.0 if kind == "hinge" else 0.5
    theirs = sklearn.svm.LinearSVC(
        loss=kind, C=C, fit_intercept=False, tol=1e-7, dual=True, max_iter=100_000
    )
    w = theirs.fit(X, y).coef_.ravel()
    slack = np.maximum(0, 1 - y * (X @ w))
    value = 0.5 * w @ w + C * np.sum(slack if kind == "hinge" else slack**2)
    assert found.status is Status.CONVERGED
    assert value - found.gap - 1e-6 * value <= found.objective <= value + found.gap + 1e-6 * value


def test_sparse_intercept_is_not_penalized():
    X, y = text(1500, 500, 10)
    a, b = (
        SVC(kernel="linear", solver="coordinate_descent", tol=1e-5).fit(X, y),
        sklearn.svm.SVC(kernel="linear", tol=1e-6).fit(X, y),
    )
    assert_allclose(a.intercept_, b.intercept_, atol=1e-3)
    penalized = sklearn.svm.LinearSVC(
        loss="hinge", intercept_scaling=0.1, tol=1e-6, max_iter=100_000
    ).fit(X, y)
    assert abs(penalized.intercept_ - b.intercept_) > 1e-2  # so that the test can fail


@BOTH
def test_columns_without_numbers_and_rows_twice(solver):
    X, _, y = sample(60, 3)
    X = np.column_stack([X, np.zeros(60), X[:, 0], np.ones(60)])
    X, y = np.concatenate([X, X[:20], np.zeros((2, 6))]), np.concatenate([y, y[:20], [1.0, -1.0]])
    found = minimize(RegularizedRisk(Hinge(), LowRank(X), y, 2.0, np.ones((82, 1))), solver)
    exact = minimize(
        RegularizedRisk(Hinge(), Dense(X @ X.T), y, 2.0, np.ones((82, 1))), InteriorPoint(tol=1e-8)
    )
    assert found.status is Status.CONVERGED
    assert_allclose(found.objective, exact.objective, rtol=1e-5)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
@pytest.mark.parametrize("C", [1e-3, 1e5])
def test_stiff_problems_converge_over_columns(C, scale):
    X, t, _ = sample(300, 6)
    X = X * np.geomspace(1.0, scale, 6)
    risk = RegularizedRisk(EpsilonInsensitive(0.1), LowRank(X), t, C, np.ones((300, 1)))
    rounded = C * scale >= 1e8
    with pytest.warns(ConvergenceWarning, match="double precision") if rounded else nullcontext():
        found = minimize(risk, ThinInteriorPoint())
    # Terms of 1e12 cancel in decision values of one, which are known to some thousandths then.
    assert found.status is (Status.LOOSE if rounded else Status.CONVERGED)
    assert found.n_iter < 50
    a, Z = found.a.astype(np.longdouble), X.astype(np.longdouble)
    w = Z.T @ a
    losses = np.maximum(np.abs(t - Z @ w - found.b[0]) - 0.1, 0.0).sum()
    primal = 0.5 * w @ w + C * losses
    dual = a @ t - 0.1 * np.abs(a).sum() - 0.5 * w @ w
    slack = 1e-12 * float(np.abs(a) @ np.abs(t) + w @ w)
    assert found.dual <= dual + slack
    assert primal <= found.objective + slack


def test_float32_is_measured_in_float64():
    X, _, y = sample(600, 8)
    X = X.astype(np.float32)
    gram = make(Linear(), X)
    v = np.random.default_rng(0).standard_normal(600)
    assert_allclose(gram.matvec(v), X.astype(float) @ (X.astype(float).T @ v), rtol=1e-12)
    for solver in (ThinInteriorPoint(), CoordinateDescent()):
        found = minimize(RegularizedRisk(Hinge(), gram, y, 1.0, np.ones((600, 1))), solver)
        assert found.status is Status.CONVERGED


def test_auto_takes_the_factor_where_it_wins_and_says_so():
    X, _, labels = sample(1000, 10)
    y = labels > 0
    thin = SVC(kernel="linear", C=1e3).fit(X, y)
    assert thin.solution_.solver == "ThinInteriorPoint"
    assert "10 columns, 1000 samples" in thin.solution_.reason
    assert SVC(kernel="linear").fit(X, y).solution_.solver == "SMO"  # over after few steps
    assert SVC(kernel="linear").fit(X[:100], y[:100]).solution_.solver == "SMO"
    assert SVC(kernel="rbf").fit(X, y).solution_.solver == "SMO"
    S, s = text(4000, 5000, 8)
    sparse = SVC(kernel="linear").fit(S, s)
    assert sparse.solution_.solver == "CoordinateDescent"
    assert "entries a row" in sparse.solution_.reason
    assert sparse.score(S, s) > 0.8


def test_pairs_are_tried_first_however_large_the_weights_are():
    # Two classes with a gap between them: a few hundred steps, whatever the weights are.
    X, _, labels = sample(300, 10)
    X[:, 0] += 3.0 * labels
    for kernel in ("linear", "poly"):
        found = SVC(kernel=kernel, C=1e4).fit(X, labels)
        theirs = sklearn.svm.SVC(kernel=kernel, C=1e4, tol=1e-6).fit(X, labels)
        assert found.solution_.solver == "SMO"
        assert found.solution_.relative_gap <= 1e-2
        close = found.decision_function(X) - theirs.decision_function(X)
        # Half the squared norm is strongly convex: no better function is farther away than this.
        largest = np.max(found.kernel_.diag(X))
        reach = np.sqrt(2.0 * found.solution_.gap * largest) + 1e-3
        assert np.max(np.abs(close - np.mean(close))) <= 2.0 * reach


def test_a_tube_of_nu_is_found_over_columns():
    X, t, _ = sample(400, 4)
    risk = nu_regression(LowRank(X), t, np.full(400, 1e3), 0.5)
    solver, reason = Auto().choose(risk)
    assert type(solver).__name__ == "ThinInteriorPoint"
    assert "4 columns, 800 samples" in reason
    thin, pairs = minimize(risk, solver), minimize(risk, SMO(tol=1e-2))
    # Each is above the bound that the other proves.
    assert thin.objective >= pairs.dual - 1e-9 * abs(pairs.dual)
    assert pairs.objective >= thin.dual - 1e-9 * abs(thin.dual)
    assert thin.relative_gap < 1e-8
    # Margins of nu have no targets, and may be nothing: their zeros are left to pair steps.
    labels = np.where(t > 0, 1.0, -1.0)
    assert by_factor(nu_classification(LowRank(X), labels, np.full(400, 1e3), 0.3), Auto()) is None


def test_several_classes_over_columns_vote_as_libsvm():
    X, t, _ = sample(3600, 4)
    y = np.digitize(t, np.quantile(t, [0.3, 0.6]))
    ours, theirs = SVC(kernel="linear").fit(X, y), sklearn.svm.SVC(kernel="linear").fit(X, y)
    assert np.mean(ours.predict(X) != theirs.predict(X)) < 2e-3


@BOTH
def test_what_has_no_factor_is_refused(solver):
    X, _, y = sample(20, 2)
    assert "no factor" in solver.refuses(RegularizedRisk(Hinge(), Dense(X @ X.T), y))
    assert "not quadratic" in solver.refuses(RegularizedRisk(Logistic(), LowRank(X), y))
    assert Tiled(Gaussian(), X).root() is None


def test_limits_end_a_run_and_are_said():
    X, y = text(3500, 800, 10)
    risk = RegularizedRisk(Hinge(), Tiled(Linear(), X), y, 100.0, np.ones((3500, 1)))
    with pytest.warns(UserWarning, match="stopped at max_iter"):
        assert minimize(risk, CoordinateDescent(tol=1e-9, max_iter=2)).n_iter == 2
    assert by_factor(risk, Auto()) is not None


def test_listener_sees_the_gap_fall():
    X, _, y = sample(300, 4)
    risk = RegularizedRisk(Hinge(), LowRank(X), y, 1.0, np.ones((300, 1)))
    for solver in (ThinInteriorPoint(), CoordinateDescent()):
        lines = []
        minimize(risk, solver, listener=lines.append)
        assert len(lines) > 2
        assert lines[-1].gap < lines[0].gap
