"""The interior point: a conic solver as judge, the path itself, and the awkward problems."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from cases import LOSSES, random_risk
from mercer.gram import Dense, Tiled
from mercer.gram.factor import orthonormal
from mercer.gram.indexed import Indexed
from mercer.gram.low_rank import LowRank
from mercer.kernels import Gaussian
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Logistic,
    PolynomialLoss,
    Squared,
    SquaredHinge,
)
from mercer.problems import RegularizedRisk
from mercer.problems.nu import nu_classification, nu_regression, one_class
from mercer.problems.reductions import box_program
from mercer.regularizers import Constant, Empty
from mercer.regularizers import Polynomial as Trend
from mercer.solvers import ConvergenceWarning, Direct, InteriorPoint, Status, minimize
from mercer.solvers._central_path import follow
from mercer.solvers.interior_point import KernelSystem
from oracles import conic

TIGHT = InteriorPoint(tol=1e-8)
NULL_SPACES = [Empty(), Constant(), Trend(1)]
EPS = np.finfo(float).eps


def root(K):
    """Return G with K = G G'."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def assert_certified(risk, s, gap=1e-9):
    """Recompute the certificate from the definitions, and hold the solution to it."""
    assert s.status is Status.CONVERGED
    K = risk.K.dense()
    f = K @ s.a + risk.B @ s.b
    primal = 0.5 * s.a @ K @ s.a + np.sum(risk.c * risk.loss.value(risk.y, f)) + risk.d @ s.b
    live = risk.c > 0
    v = -s.a[live] / risk.c[live]
    conjugate = risk.loss.take(np.flatnonzero(live)).conjugate(risk.y[live], v)
    dual = -0.5 * s.a @ K @ s.a - np.sum(risk.c[live] * conjugate)
    scale = 1.0 + abs(primal)
    # Large coefficients of both signs cancel in a'Ka, to the rounding of sums of their sizes.
    sums = risk.n * EPS * float(np.abs(s.a) @ np.abs(K) @ np.abs(s.a))
    assert s.objective == pytest.approx(primal, rel=1e-12, abs=1e-12 + sums)
    # Rounding in sums of terms of the size of the objective, and what B'a = d lacks.
    rounding = 1e3 * EPS * (scale + np.sum(risk.c)) + np.abs(s.b).sum() * 1e-12
    assert -rounding <= primal - dual <= gap * scale + rounding
    assert np.max(np.abs(risk.B.T @ s.a - risk.d), initial=0.0) <= 1e-9 * (1 + np.abs(s.a).sum())
    assert np.all(s.a[~live] == 0)


def assert_agrees(risk, s, G):
    """Compare with Clarabel: objectives, and decision values as far as strong convexity binds."""
    reference = conic.solve(risk, G)
    if reference.accurate:
        assert s.objective == pytest.approx(reference.objective, rel=1e-7, abs=1e-7)
    # |u - u*|^2 / 2 is at most the excess of the objective over the minimum, for both of them.
    u = np.linalg.lstsq(G, reference.penalized, rcond=None)[0]
    f = reference.penalized + risk.B @ reference.b
    value = 0.5 * u @ u + np.sum(risk.c * risk.loss.value(risk.y, f)) + risk.d @ reference.b
    rounding = risk.n * EPS * (1 + abs(s.dual))
    assert value >= s.dual - 1e-9 * (1 + abs(s.dual))
    distance = np.sqrt(2 * s.gap) + np.sqrt(2 * (max(value - s.dual, 0.0) + rounding))
    bound = np.sqrt(risk.K.diag()) * distance
    assert np.all(np.abs(risk.K.matvec(s.a) - reference.penalized) <= bound)


@pytest.mark.parametrize("null_space", NULL_SPACES, ids=repr)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_every_loss_agrees_with_a_conic_solver(loss, null_space):
    risk = random_risk(loss, null_space=null_space, n=24, seed=7, C=3.0)
    s = minimize(risk, TIGHT)
    assert_certified(risk, s)
    assert_agrees(risk, s, root(risk.K.dense()))


@pytest.mark.parametrize("C", [1e-3, 1e4])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_any_scale_duplicates_and_a_tiny_class(loss, C):
    """Kernel matrix of rank three quarters, weights over a decade, C over seven of them."""
    for seed, null_space in enumerate(NULL_SPACES):
        risk = random_risk(
            loss, Gaussian(2.0), null_space, 40, seed, C, duplicates=True, tiny_class=True
        )
        s = minimize(risk, TIGHT)
        assert_certified(risk, s, 1e-8)
        assert s.n_iter <= 35


def test_weights_over_eight_orders_of_magnitude():
    rng = np.random.default_rng(0)
    for loss in (EpsilonInsensitive(0.1), Hinge(), SquaredHinge(), Logistic(), PolynomialLoss(1.5)):
        risk = random_risk(loss, Gaussian(1.0), Trend(1), 40, 1)
        c = 10.0 ** rng.uniform(-4, 4, 40)
        risk = RegularizedRisk(loss, risk.K, risk.y, c, risk.B)
        assert_certified(risk, minimize(risk, TIGHT), 1e-8)


@pytest.mark.parametrize("power", [1.05, 1.2, 2.0, 6.0])
@pytest.mark.parametrize("C", [1e-2, 1e3])
def test_steep_and_flat_powers(power, C):
    """Conjugates z^21 to z^1.2: the tangent at z alone would not find its way."""
    risk = random_risk(PolynomialLoss(power), n=40, C=C)
    s = minimize(risk, InteriorPoint(tol=1e-6))
    assert s.status is Status.CONVERGED
    assert s.relative_gap <= 1e-8
    if power == 2.0:
        squared = minimize(RegularizedRisk(Squared(), risk.K, risk.y, risk.c, risk.B), Direct())
        np.testing.assert_allclose(s.f, squared.f, atol=1e-5)


@pytest.mark.parametrize("nu", [0.05, 0.5, 1.0])
def test_one_class_machines(nu):
    rng = np.random.default_rng(1)
    K = Gaussian(1.0)(rng.normal(size=(40, 2)))
    c = rng.uniform(0.5, 2.0, 40)
    risk = one_class(Dense(K), c, nu)
    s = minimize(risk, TIGHT)
    assert_certified(risk, s)
    u, rho = cp.Variable(40), cp.Variable()
    objective = cp.sum_squares(u) / 2 - nu * c.sum() * rho + c @ cp.pos(rho - root(K) @ u)
    assert s.objective == pytest.approx(_minimum(objective), rel=1e-7)


@pytest.mark.parametrize("nu", [0.1, 0.4, 0.8])
def test_nu_classification(nu):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 2))
    K, y = Gaussian(1.0)(X), np.where(X[:, 0] + 0.5 * rng.normal(size=40) > 0, 1.0, -1.0)
    risk = nu_classification(Dense(K), y, 2.0, nu)
    s = minimize(risk, TIGHT)
    assert_certified(risk, s)
    u, b, rho = cp.Variable(40), cp.Variable(), cp.Variable()
    slack = cp.pos(rho - cp.multiply(y, root(K) @ u + b))
    objective = cp.sum_squares(u) / 2 - nu * 80.0 * rho + 2.0 * cp.sum(slack)
    assert s.objective == pytest.approx(_minimum(objective), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("nu", [0.1, 0.5, 1.0])
def test_nu_regression_factorizes_each_point_once(nu):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 2))
    K, y = Gaussian(1.0)(X), np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=40)
    risk = nu_regression(Dense(K), y, 5.0, nu)
    s = minimize(risk, replace(TIGHT, max_bytes=8 * 40**2))
    assert_certified(risk, s)
    u, b, tube = cp.Variable(40), cp.Variable(), cp.Variable(nonneg=True)
    slack = cp.pos(cp.abs(y - root(K) @ u - b) - tube)
    objective = cp.sum_squares(u) / 2 + 5.0 * (cp.sum(slack) + 40 * nu * tube)
    assert s.objective == pytest.approx(_minimum(objective), rel=1e-7)
    # The same problem with its matrix written out twice: another path to the same function.
    explicit = RegularizedRisk(risk.loss, Dense(risk.K.dense()), risk.y, risk.c, risk.B, risk.d)
    np.testing.assert_allclose(minimize(explicit, TIGHT).f, s.f, atol=1e-6)


def _minimum(objective):
    problem = cp.Problem(cp.Minimize(objective))
    return problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)


@pytest.mark.parametrize("loss", [EpsilonInsensitive(0.1), Hinge(), Logistic()], ids=repr)
@pytest.mark.parametrize("C", [0.1, 1e3])
def test_thin_factors_give_the_dense_solution(loss, C):
    rng = np.random.default_rng(4)
    n = 150
    G, s = rng.normal(size=(n, 5)), rng.uniform(0.0, 0.1, n)
    y = np.tanh(G @ rng.normal(size=5)) + 0.2 * rng.normal(size=n)
    y = y if isinstance(loss, EpsilonInsensitive) else np.where(y > 0, 1.0, -1.0)
    for diagonal in (None, s):
        thin = LowRank(G, diagonal)
        one = minimize(RegularizedRisk(loss, thin, y, C, np.ones((n, 1))), TIGHT)
        two = minimize(RegularizedRisk(loss, Dense(thin.dense()), y, C, np.ones((n, 1))), TIGHT)
        assert one.status is two.status is Status.CONVERGED
        assert one.objective == pytest.approx(two.objective, rel=2e-8)
        reach = np.sqrt(thin.diag()) * (np.sqrt(2 * one.gap) + np.sqrt(2 * two.gap) + 1e-7)
        assert np.all(np.abs(thin.matvec(one.a) - thin.matvec(two.a)) <= reach)


def test_a_thin_factor_of_many_samples_is_never_squared():
    rng = np.random.default_rng(5)
    n = 20_000  # squared, it would take 3.2 GB
    G = rng.normal(size=(n, 4))
    y = np.where(G @ np.ones(4) + rng.normal(size=n) > 0, 1.0, -1.0)
    risk = RegularizedRisk(Hinge(), LowRank(G), y, 0.01, np.ones((n, 1)))
    s = minimize(risk, InteriorPoint(tol=1e-6, max_bytes=1e7))
    assert s.status is Status.CONVERGED
    assert s.relative_gap <= 1e-8


def thin_plate(X, Z):
    r2 = np.sum((X[:, None] - Z[None]) ** 2, axis=-1)
    return np.where(r2 > 0, 0.5 * r2 * np.log(np.where(r2 > 0, r2, 1.0)), 0.0)


@pytest.mark.parametrize(
    "loss", [Absolute(), EpsilonInsensitive(0.1), Expectile(0.7), Hinge(), Logistic()], ids=repr
)
@pytest.mark.parametrize("C", [0.1, 100.0])
@pytest.mark.parametrize("kind", ["thin plate", "multiquadric"])
def test_conditionally_positive_definite_matrices(kind, C, loss):
    """Positive definite only where B'a = 0; the judge is given the projected matrix."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(24, 2))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=24)
    if isinstance(loss, Hinge | Logistic):
        y = np.where(y > 0, 1.0, -1.0)
    if kind == "thin plate":
        K, B = thin_plate(X, X), np.column_stack([np.ones(24), X])
    else:
        K = -np.sqrt(1.0 + np.sum((X[:, None] - X[None]) ** 2, axis=-1))
        B = np.ones((24, 1))
    assert np.linalg.eigvalsh(K)[0] < -0.1
    Q = np.linalg.qr(B)[0]
    P = np.eye(24) - Q @ Q.T
    s = minimize(RegularizedRisk(loss, Dense(K), y, C, B), TIGHT)
    assert s.status is Status.CONVERGED
    np.testing.assert_allclose(B.T @ s.a, 0.0, atol=1e-9 * np.abs(s.a).sum())
    projected = RegularizedRisk(loss, Dense(P @ K @ P), y, C, B)
    same = minimize(projected, TIGHT)
    assert_agrees(projected, same, root(P @ K @ P))
    assert s.objective == pytest.approx(same.objective, rel=1e-8)
    # Adding g(x) p(z) + p(x) g(z) with p in the null space changes nothing.
    g, p = np.sin(5 * X[:, 0]), B @ np.array([1.0, 0.0, 0.5])[: B.shape[1]]
    other = Dense(K + np.outer(g, p) + np.outer(p, g))
    moved = minimize(RegularizedRisk(loss, other, y, C, B), TIGHT)
    # Both at the same minimum, which strong convexity makes one function up to the null space.
    left, right = P @ (K @ s.a), P @ (other.K @ moved.a)
    reach = np.sqrt(2 * s.gap) + np.sqrt(2 * moved.gap) + np.sqrt(48 * EPS * (1 + s.objective))
    assert np.all(np.abs(left - right) <= np.sqrt(np.diag(P @ K @ P)) * reach + 1e-9)


def test_a_polynomial_of_the_null_space_is_reproduced():
    X = np.random.default_rng(8).normal(size=(30, 2))
    B = np.column_stack([np.ones(30), X])
    b = np.array([1.0, 2.0, -3.0])
    risk = RegularizedRisk(Absolute(), Dense(thin_plate(X, X)), B @ b, 10.0, B)
    s = minimize(risk, TIGHT)
    np.testing.assert_allclose(s.a, 0.0, atol=1e-7)
    np.testing.assert_allclose(s.b, b, atol=1e-7)


def test_dependent_columns_share_their_coefficient():
    risk = random_risk(EpsilonInsensitive(0.1), n=40)
    once = minimize(risk, TIGHT)
    doubled = RegularizedRisk(risk.loss, risk.K, risk.y, risk.c, np.repeat(risk.B, 2, axis=1))
    twice = minimize(doubled, TIGHT)
    np.testing.assert_allclose(twice.f, once.f, atol=1e-6)
    np.testing.assert_allclose(twice.b, np.repeat(once.b / 2, 2), atol=1e-6)


def test_the_path_descends():
    """Every product of slack and multiplier stays positive, and their mean falls."""
    for loss in LOSSES:
        program = box_program(random_risk(loss, n=30, C=10.0)).problem
        U, back = orthonormal(program.A)
        program = replace(program, A=U, e=back.T @ program.e)
        mu = []
        for point in follow(KernelSystem(program)):
            for slack, multiplier in zip(point.walls[:2], point.walls[2:], strict=True):
                finite = np.isfinite(slack)
                assert np.all(slack[finite] > 0)
                assert np.all(multiplier[finite] > 0)
                assert np.all(multiplier[~finite] == 0)
            mu.append(point.mu)
            if len(mu) > 40 or point.mu <= 1e-10 * mu[0]:
                break
        assert len(mu) <= 25
        assert np.all(np.diff(mu[3:]) < 0)


def test_support_vectors_are_exactly_where_they_should_be():
    """Free ones on the tube's wall, bounded ones beyond it, the others inside with a = 0."""
    risk = random_risk(EpsilonInsensitive(0.3), n=60, C=2.0, weights=False)
    s = minimize(risk, InteriorPoint(tol=1e-10))
    assert s.violation <= 1e-10
    r = np.abs(risk.y - s.f)
    free = (s.a != 0) & (np.abs(s.a) < 2.0)
    assert 3 <= np.sum(free) < 60
    np.testing.assert_allclose(r[free], 0.3, atol=1e-10)
    assert np.all(r[np.abs(s.a) == 2.0] >= 0.3 - 1e-10)
    assert np.all(r[s.a == 0] <= 0.3 + 1e-10)


def test_well_scaled_problems_reach_tight_tolerances():
    for loss in LOSSES:
        s = minimize(random_risk(loss, n=60), TIGHT)
        assert s.violation <= 1e-8
        assert s.relative_gap <= 1e-9


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), Logistic()], ids=repr)
def test_one_class_alone_costs_nothing(loss):
    """The dual has no interior: a = 0 is its only point."""
    K = Dense(Gaussian(1.0)(np.random.default_rng(0).normal(size=(30, 2))))
    s = minimize(RegularizedRisk(loss, K, np.ones(30), 1.0, np.ones((30, 1))), TIGHT)
    assert s.status is Status.CONVERGED
    assert s.objective <= 1e-8


def test_no_weights_no_answer_but_zero():
    risk = random_risk(Hinge(), n=10)
    s = minimize(RegularizedRisk(Hinge(), risk.K, risk.y, 0.0, risk.B), TIGHT)
    assert np.all(s.a == 0)
    assert s.objective == 0.0


def test_matrices_that_are_not_held_are_read_once():
    rng = np.random.default_rng(10)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    tiled = Tiled(Gaussian(1.0), X)
    for K in (tiled, Indexed(tiled, np.arange(30)[::-1])):
        risk = RegularizedRisk(Absolute(), K, y, 1.0, np.ones((30, 1)))
        dense = RegularizedRisk(Absolute(), Dense(K.dense()), y, 1.0, np.ones((30, 1)))
        np.testing.assert_allclose(minimize(risk, TIGHT).f, minimize(dense, TIGHT).f, atol=1e-7)


def test_a_solution_to_start_from_is_returned():
    risk = random_risk(EpsilonInsensitive(0.1), n=40)
    first = minimize(risk, TIGHT)
    again = minimize(risk, TIGHT, first)
    assert again.n_iter == 0
    np.testing.assert_array_equal(again.a, first.a)
    other = random_risk(EpsilonInsensitive(0.1), n=40, C=5.0)
    warm = minimize(other, TIGHT, first)
    assert warm.status is Status.CONVERGED
    assert warm.objective == pytest.approx(minimize(other, TIGHT).objective, rel=1e-8)


def test_every_step_is_reported_and_may_be_the_last():
    risk = random_risk(Hinge(), n=40)
    lines = []
    s = minimize(risk, TIGHT, listener=lines.append)
    assert [line.iteration for line in lines] == list(range(s.n_iter + 1))
    assert lines[-1].gap == pytest.approx(s.gap, abs=1e-12)
    assert lines[-1].objective == pytest.approx(s.objective)
    stopped = minimize(risk, TIGHT, listener=lambda line: line.iteration == 2)
    assert stopped.status is Status.STOPPED
    assert stopped.n_iter == 2
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        assert minimize(risk, replace(TIGHT, max_iter=2)).status is Status.MAX_ITER
    with pytest.warns(ConvergenceWarning, match="max_time"):
        assert minimize(risk, replace(TIGHT, max_time=0.0)).status is Status.MAX_TIME


def test_an_interruption_passes_through():
    def interrupt(line):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        minimize(random_risk(Hinge(), n=20), TIGHT, listener=interrupt)


def test_what_cannot_be_reached_is_admitted():
    risk = random_risk(Logistic(), n=40)
    with pytest.warns(ConvergenceWarning, match="no further progress"):
        s = minimize(risk, InteriorPoint(tol=1e-30, max_iter=-1))
    assert s.status is Status.STALLED
    assert s.violation <= 1e-12


def test_numbers_beyond_the_range_of_floats_are_admitted():
    risk = random_risk(EpsilonInsensitive(0.1), n=20)
    huge = RegularizedRisk(risk.loss, Dense(1e200 * risk.K.dense()), risk.y, 1.0, risk.B)
    with pytest.warns(ConvergenceWarning, match="no further progress"):
        s = minimize(huge, TIGHT)
    assert np.all(np.isfinite(s.a))
    assert s.gap > 0
    with pytest.raises(FloatingPointError, match="scale the inputs"):
        minimize(RegularizedRisk(risk.loss, risk.K, 1e160 * risk.y, 1e160, risk.B), TIGHT)
    program = box_program(risk).problem
    program = replace(program, p=1e200 * program.p, upper=1e200 * program.upper)
    with pytest.raises(np.linalg.LinAlgError, match="not finite"):
        next(follow(KernelSystem(program)))


def test_without_a_kernel_the_null_space_is_fitted():
    """K = 0 makes the program linear: an intercept alone, the median, the majority."""
    risk = random_risk(Absolute(), n=21, weights=False)
    zero = Dense(np.zeros((21, 21)))
    s = minimize(RegularizedRisk(Absolute(), zero, risk.y, 1.0, risk.B), TIGHT)
    assert s.status is Status.CONVERGED
    assert s.b[0] == pytest.approx(np.median(risk.y), abs=1e-8)
    y = np.where(np.arange(20) < 13, 1.0, -1.0)
    s = minimize(RegularizedRisk(Hinge(), Dense(zero.K[:20, :20]), y, 1.0, np.ones((20, 1))), TIGHT)
    assert s.b[0] == pytest.approx(1.0, abs=1e-8)
    assert s.objective == pytest.approx(14.0, rel=1e-8)


def test_what_is_refused():
    risk = random_risk(Hinge(), n=40)
    with pytest.raises(ValueError, match="max_bytes"):
        minimize(risk, InteriorPoint(max_bytes=8 * 40**2 - 1))
    with pytest.raises(ValueError, match="unbounded below"):
        minimize(one_class(risk.K, np.ones(40), 1.5), TIGHT)
    X = np.random.default_rng(0).normal(size=(40, 2))
    for B in (None, X[:, :1]):
        plate = RegularizedRisk(Hinge(), Dense(thin_plate(X, X)), risk.y, 1.0, B)
        with pytest.raises(ValueError, match="conditionally positive definite"):
            minimize(plate, TIGHT)


def test_a_path_ends_where_rounding_explains_the_gap():
    """Two dozen more steps lowered a gap of 2e-6 of the objective by nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=300)
    risk = RegularizedRisk(
        EpsilonInsensitive(0.1), Dense(Gaussian(1.58)(X)), y, 1e7, np.ones((300, 1))
    )
    found = minimize(risk, InteriorPoint())
    own = 0.5 * found.a @ Gaussian(1.58)(X) @ found.a
    dual = found.a @ y - 0.1 * np.abs(found.a).sum() - own
    # The weight is exact: no coefficient reaches it. Both values enclose those of the constraint.
    assert np.max(np.abs(found.a)) < 1e6
    assert own == pytest.approx(dual, rel=1e-5)
    assert found.n_iter <= 25
