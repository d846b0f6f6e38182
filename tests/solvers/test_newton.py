"""Newton's method against closed forms, other solvers, scikit-learn and its own promises."""

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize
from sklearn.linear_model import LogisticRegression

from cases import LOSSES, random_risk
from mercer.gram import Dense, Tiled
from mercer.gram.low_rank import LowRank
from mercer.kernels import Gaussian, Linear
from mercer.losses import (
    Absolute,
    Expectile,
    Hinge,
    Huber,
    HuberHinge,
    Logistic,
    PolynomialLoss,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from mercer.problems import RegularizedRisk
from mercer.regularizers import Constant, Empty
from mercer.regularizers import Polynomial as Trend
from mercer.solvers import ConvergenceWarning, InteriorPoint, Newton, Status, minimize, newton
from oracles import conic

EPS = np.finfo(float).eps
SMOOTH = [loss for loss in LOSSES if loss.smooth]
smooth = pytest.mark.parametrize("loss", SMOOTH, ids=repr)


def factor(K):
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def test_squared_loss_is_one_linear_system():
    risk = random_risk(Squared(), null_space=Trend(1), weights=False, C=3.0)
    K, B, n, q = risk.K.K, risk.B, risk.n, risk.q
    M = np.block([[K + np.eye(n) / 3.0, B], [B.T, np.zeros((q, q))]])
    z = np.linalg.solve(M, np.concatenate([risk.y, np.zeros(q)]))
    solution = minimize(risk, Newton(tol=1e-10))
    assert solution.n_iter == 1
    np.testing.assert_allclose(solution.a, z[:n], atol=1e-10)
    np.testing.assert_allclose(solution.b, z[n:], atol=1e-10)


@smooth
@pytest.mark.parametrize("space", [Empty(), Trend(1)], ids=repr)
def test_agrees_with_gradient_descent_on_the_primal(loss, space):
    # f = G u + B b with K = G G': an unconstrained smooth problem for L-BFGS.
    risk = random_risk(loss, null_space=space, seed=1, C=2.0, duplicates=True)
    G = factor(risk.K.K)

    def primal(z):
        u, b = z[: risk.n], z[risk.n :]
        f = G @ u + risk.B @ b
        slope = risk.c * loss.gradient(risk.y, f)
        return 0.5 * u @ u + risk.risk(f), np.concatenate([u + G.T @ slope, risk.B.T @ slope])

    options = {"maxiter": 5000, "maxfun": 10000, "ftol": 1e-15, "gtol": 1e-9}
    reference = scipy_minimize(
        primal, np.zeros(risk.n + risk.q), jac=True, method="L-BFGS-B", options=options
    )
    solution = minimize(risk, Newton(tol=1e-9))
    scale = 1 + abs(reference.fun)
    assert solution.objective <= reference.fun + 1e-12 * scale  # it is the better minimizer
    assert reference.fun - solution.objective <= 1e-8 * scale
    # Strong convexity of the penalty: |u - u'|^2 <= 2 (excess + excess').
    excess = max(reference.fun - solution.objective, 0.0) + solution.gap + 1e-13 * scale
    np.testing.assert_allclose(
        risk.K.K @ solution.a, G @ reference.x[: risk.n], atol=2 * np.sqrt(excess)
    )


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_logistic_regression_of_scikit_learn(C):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(120, 4))
    y = np.where(X @ [1.0, -2.0, 0.5, 0.0] + 0.5 + rng.logistic(size=120) > 0, 1.0, -1.0)
    weight = rng.uniform(0.2, 3.0, 120)
    reference = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12, max_iter=200)
    reference.fit(X, y, sample_weight=weight)
    risk = RegularizedRisk(Logistic(), LowRank(X), y, C * weight, np.ones((120, 1)))
    solution = minimize(risk, Newton(tol=1e-10))
    np.testing.assert_allclose(X.T @ solution.a, reference.coef_[0], atol=1e-7)
    np.testing.assert_allclose(solution.b, reference.intercept_, atol=1e-7)


@smooth
def test_agrees_with_interior_point_and_conic_solver(loss):
    risk = random_risk(loss, seed=3, n=40, C=20.0, duplicates=True, tiny_class=True)
    reference = conic.solve(risk, factor(risk.K.K))
    newton, interior = minimize(risk, Newton(tol=1e-9)), minimize(risk, InteriorPoint(tol=1e-9))
    scale = 1 + abs(reference.objective)
    assert abs(newton.objective - reference.objective) <= 1e-7 * scale
    gap = newton.gap + interior.gap + 64 * EPS * risk.n * scale
    assert abs(newton.objective - interior.objective) <= gap


@smooth
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear()], ids=repr)
def test_hard_weights_singular_kernels_dependent_columns(loss, C, kernel):
    rng = np.random.default_rng(4)
    risk = random_risk(loss, kernel, seed=4, n=40, C=C, duplicates=True)
    x = rng.normal(size=risk.n)
    for B in (np.zeros((40, 0)), np.ones((40, 1)), np.column_stack([x**0, x, x + 1])):
        problem = RegularizedRisk(loss, risk.K, risk.y, risk.c, B)
        solution = minimize(problem, Newton(tol=1e-6))
        assert solution.converged
        assert solution.violation <= 1e-6
        assert solution.residual <= 1e-12
        assert solution.n_iter <= 40
        if B.shape[1] == 3:
            # Of all b with the same function, the one of least norm: orthogonal to (1, 1, -1).
            assert abs(solution.b @ [1.0, 1.0, -1.0]) <= 1e-10 * (1 + np.abs(solution.b).sum())


def test_convergence_is_quadratic():
    risk = random_risk(Logistic(), seed=5, n=100, C=10.0)
    violations = [line.violation for line in minimize(risk, Newton(tol=1e-12)).history]
    assert len(violations) <= 10
    tail = np.log([v for v in violations if 1e-13 < v < 0.1])
    assert len(tail) >= 2
    # v' <= const v^2: the number of digits nearly doubles.
    assert np.all(tail[1:] <= 1.6 * tail[:-1])


@pytest.mark.parametrize(
    "loss",
    [SquaredEpsilonInsensitive(0.2), Huber(0.5), Expectile(0.8), SquaredHinge(), HuberHinge(0.5)],
    ids=repr,
)
def test_piecewise_quadratic_losses_end_in_one_step(loss):
    # Once every sample is on its piece, the next answer is exact up to rounding.
    solution = minimize(random_risk(loss, seed=6, n=100, C=10.0), Newton(tol=1e-9))
    violations = [line.violation for line in solution.history]
    assert violations[-1] <= 1e-11
    assert violations[-2] > 1e-6


@smooth
@pytest.mark.parametrize("space", [Empty(), Constant(), Trend(1)], ids=repr)
def test_conjugate_gradients_find_the_same(loss, space):
    for C in (1.0, 1e3):
        risk = random_risk(loss, null_space=space, seed=7, n=80, C=C, duplicates=True)
        direct = minimize(risk, Newton(tol=1e-8))
        iterative = minimize(risk, Newton(tol=1e-8, max_bytes=8.0 * 80 * 10, rank=10))
        assert iterative.converged
        gap = direct.gap + iterative.gap + 64 * EPS * risk.n * (1 + abs(direct.objective))
        assert abs(direct.objective - iterative.objective) <= gap
        difference = direct.a - iterative.a
        assert difference @ risk.K.K @ difference <= 4 * gap


class Watched(Tiled):
    """A Gram that remembers the largest block it was asked for."""

    largest = 0

    def block(self, rows, columns):
        out = super().block(rows, columns)
        self.largest = max(self.largest, out.size)
        return out


@pytest.mark.parametrize(("C", "given_up"), [(10.0, False), (1e9, True)])
def test_conjugate_gradients_are_tried_first_and_given_up_if_slow(monkeypatch, C, given_up):
    # Few rows, so that a factorization is the oracle: limits for a few hundred of them.
    monkeypatch.setattr("mercer.solvers.newton.FACTOR_SPEED_RATIO", 1.0)
    monkeypatch.setattr("mercer.solvers.newton.MIN_PRECONDITIONED_ITERATIONS", 20)
    rng = np.random.default_rng(5)
    X = rng.uniform(-3, 3, size=(300, 3))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + rng.normal(size=300) > 0, 1.0, -1.0)
    K = Dense(Gaussian(0.4)(X))
    risk = RegularizedRisk(Logistic(), K, y, C, Constant()(X))
    factorized = []

    def counted(*arguments, original=newton.factorized):
        factorized.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(newton, "factorized", counted)
    found = minimize(risk, Newton(tol=1e-8, rank=5))
    assert bool(factorized) is given_up
    monkeypatch.setattr("mercer.solvers.newton.MIN_PRECONDITIONED_ITERATIONS", np.inf)
    known = minimize(risk, Newton(tol=1e-8))
    assert found.status is known.status is Status.CONVERGED
    f, g = (K.matvec(s.a) + risk.B @ s.b for s in (found, known))
    np.testing.assert_allclose(f, g, atol=1e-5 * np.max(np.abs(g)))


def test_large_problems_are_never_held():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(600, 2))
    y = np.where(np.sin(2 * X[:, 0]) + 0.5 * rng.normal(size=600) > 0, 1.0, -1.0)
    gram, budget = Watched(Gaussian(1.0), X, max_bytes=100_000), 8 * 100.0 * 600
    solution = minimize(
        RegularizedRisk(Logistic(), gram, y, 1.0, np.ones((600, 1))), Newton(max_bytes=budget)
    )
    assert solution.converged
    assert gram.largest <= budget / 8
    dense = RegularizedRisk(Logistic(), Dense(Gaussian(1.0)(X)), y, 1.0, np.ones((600, 1)))
    reference = minimize(dense, Newton(tol=1e-9))
    assert solution.objective - reference.objective <= solution.gap + 1e-9


def test_only_curved_samples_are_factorized():
    # With margins all but met, the squared hinge has few support vectors.
    rng = np.random.default_rng(9)
    y = np.where(np.arange(400) % 2, 1.0, -1.0)
    X = rng.normal(size=(400, 2)) + 2.5 * y[:, None]
    risk = RegularizedRisk(SquaredHinge(), Dense(Gaussian(3.0)(X)), y, 10.0, np.ones((400, 1)))
    sizes = []

    class Counting(Dense):
        def shifted(self, e, *args):
            sizes.append(np.isfinite(e).sum())
            return super().shifted(e, *args)

    counting = RegularizedRisk(risk.loss, Counting(risk.K.K), y, 10.0, risk.B)
    solution = minimize(counting, Newton(tol=1e-8))
    assert sizes[0] == 400  # at f = 0 nobody has a margin
    assert sizes[-1] == len(solution.support) < 100


@pytest.mark.parametrize("gram", [Dense, lambda K: LowRank(factor(K))], ids=["dense", "low rank"])
@smooth
def test_any_gram(loss, gram):
    risk = random_risk(loss, seed=10)
    other = RegularizedRisk(loss, gram(risk.K.K), risk.y, risk.c, risk.B)
    one, two = minimize(risk, Newton(tol=1e-8)), minimize(other, Newton(tol=1e-8))
    scale = 1 + abs(one.objective)
    assert abs(one.objective - two.objective) <= one.gap + two.gap + 1e-12 * scale


@pytest.mark.parametrize("C", [1.0, 1e4])
def test_separable_classes(C):
    X = np.linspace(-2, 2, 40)[:, None]
    y = np.sign(X[:, 0])
    risk = RegularizedRisk(Logistic(), Dense(Linear()(X)), y, C, np.ones((40, 1)))
    solution = minimize(risk, Newton(tol=1e-7))
    assert solution.converged
    assert np.all(y * solution.f > 0)
    # By symmetry f(x) = w x, and w is the root of w = C sum_i |x_i| / (1 + e^(w |x_i|)).
    w = X[:, 0] @ solution.a
    assert abs(solution.b[0]) <= 1e-6
    x = np.abs(X[:, 0])
    # Slopes are off by at most the tolerance, so the right-hand side is by its multiple.
    assert abs(w - C * np.sum(x / (1 + np.exp(w * x)))) <= 1e-7 * C * x.sum()


def test_one_class_only():
    # The infimum is not attained: b grows until the slopes are below the tolerance.
    risk = RegularizedRisk(Logistic(), Dense(np.eye(5)), np.ones(5), 1.0, np.ones((5, 1)))
    solution = minimize(risk, Newton(tol=1e-4))
    assert solution.converged
    assert not np.any(solution.a)
    assert 1 / (1 + np.exp(solution.b[0])) <= 1e-4
    assert solution.gap >= solution.objective  # the infimum is zero


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("delta", [1e-3, 1.0])
def test_starts_where_nothing_is_curved(shift, delta):
    # At f = 0 every residual is on a straight arm, and no curvature says how far to move b.
    rng = np.random.default_rng(11)
    X, n = rng.normal(size=(60, 2)), 60
    y = shift + 50 * np.sign(rng.normal(size=n)) + rng.normal(size=n)
    B = np.column_stack([np.ones(n), X])
    tol = 1e-6 * (1 + shift * 1e-4)  # rounding of f and y
    huber = RegularizedRisk(Huber(delta), Dense(Gaussian(1.0)(X)), y, 1.0 / delta, B)
    solution, reference = minimize(huber, Newton(tol=tol)), minimize(huber, InteriorPoint(tol=tol))
    assert solution.converged
    gap = solution.gap + reference.gap + 1e-12 * (1 + reference.objective)
    assert abs(solution.objective - reference.objective) <= gap


@smooth
def test_a_cost_of_the_intercept(loss):
    # d'b with d inside of what the coefficients can sum to.
    risk = random_risk(loss, seed=12, n=30, C=2.0)
    lower, upper = (np.clip(bound, -risk.c, risk.c) for bound in risk.box())
    d = np.array([0.3 * upper.sum() + 0.1 * lower.sum()])
    tilted = RegularizedRisk(loss, risk.K, risk.y, risk.c, risk.B, d)
    solution = minimize(tilted, Newton(tol=1e-9))
    assert solution.converged
    assert solution.a.sum() == pytest.approx(d[0], rel=1e-12)
    reference = conic.solve(tilted, factor(risk.K.K))
    scale = 1 + abs(reference.objective)
    assert abs(solution.objective - reference.objective) <= 1e-7 * scale
    assert solution.objective - solution.dual == pytest.approx(solution.gap, abs=1e-12 * scale)


def test_coefficients_that_do_not_meet_the_constraint_prove_nothing():
    # One sample: a = d = 1, and 1/2 + (1 + b)^2 / 2 + b is smallest, -1, at b = -2. At a = b = 0,
    # where the method starts, primal and dual function are both zero.
    one = np.ones(1)
    risk = RegularizedRisk(Squared(), Dense(np.eye(1)), 0 * one, 1.0, np.eye(1), one)
    solution = minimize(risk, Newton(tol=1e-12))
    assert solution.objective == pytest.approx(-1.0, abs=1e-15)
    assert [line.gap >= line.objective + 1.0 - 1e-15 for line in solution.history] == [True, True]


def test_conditionally_positive_definite_kernel():
    # Thin plates: r^2 log r is positive definite on vectors orthogonal to 1, x and y.
    rng = np.random.default_rng(13)
    X = rng.uniform(-1, 1, size=(40, 2))
    r2 = ((X[:, None] - X[None]) ** 2).sum(-1)
    K = 0.5 * r2 * np.log(np.where(r2 > 0, r2, 1.0))
    B, y = np.column_stack([np.ones(40), X]), np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=40)
    y[:4] += 3.0
    squared = RegularizedRisk(Squared(), Dense(K), y, 10.0, B)
    M = np.block([[K + np.eye(40) / 10.0, B], [B.T, np.zeros((3, 3))]])
    z = np.linalg.solve(M, np.concatenate([y, np.zeros(3)]))
    solution = minimize(squared, Newton(tol=1e-8))
    np.testing.assert_allclose(solution.a, z[:40], atol=1e-8)
    np.testing.assert_allclose(solution.b, z[40:], atol=1e-8)
    robust = RegularizedRisk(Huber(0.2), Dense(K), y, 10.0, B)
    newton, interior = minimize(robust, Newton(tol=1e-8)), minimize(robust, InteriorPoint(tol=1e-8))
    assert newton.converged
    assert abs(newton.objective - interior.objective) <= newton.gap + interior.gap + 1e-10


def test_warm_start_continues():
    risk = random_risk(Logistic(), seed=14, n=60, C=100.0)
    cold = minimize(risk, Newton(tol=1e-8))
    nearby = RegularizedRisk(Logistic(), risk.K, risk.y, 1.05 * risk.c, risk.B)
    warm = minimize(nearby, Newton(tol=1e-8), cold)
    again = minimize(nearby, Newton(tol=1e-8))
    assert warm.n_iter < again.n_iter
    gap = warm.gap + again.gap + 64 * EPS * risk.n * (1 + abs(again.objective))
    assert abs(warm.objective - again.objective) <= gap
    assert minimize(risk, Newton(tol=1e-8), cold).n_iter == 0


def test_reports_a_falling_objective_and_a_true_gap():
    risk = random_risk(HuberHinge(0.1), seed=15, n=80, C=100.0)
    history = minimize(risk, Newton(tol=1e-8)).history
    objectives = np.array([line.objective for line in history])
    gaps = np.array([line.gap for line in history])
    rounding = 64 * EPS * risk.n * objectives[0]
    assert [line.iteration for line in history] == list(range(len(history)))
    assert np.all(np.diff(objectives) <= rounding)
    assert np.all(gaps >= objectives - objectives[-1] - rounding)
    assert gaps[-1] <= 1e-6


def test_stops_when_told():
    risk = random_risk(Logistic(), seed=16, n=60, C=1e3)
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter after 2"):
        solution = minimize(risk, Newton(tol=1e-8, max_iter=2))
    assert solution.status is Status.MAX_ITER
    assert not solution.converged
    stopped = minimize(risk, Newton(tol=1e-8), listener=lambda line: line.iteration == 3)
    assert (stopped.status, stopped.n_iter) == (Status.STOPPED, 3)
    with pytest.warns(ConvergenceWarning, match="stopped at max_time"):
        late = minimize(risk, Newton(tol=1e-8, max_time=0.0))
    assert late.n_iter == 0


def test_conjugate_gradients_stop_in_time():
    risk = random_risk(Logistic(), seed=17, n=200, C=1e4)
    with pytest.warns(ConvergenceWarning, match="stopped at max_time"):
        solution = minimize(risk, Newton(tol=1e-10, max_time=1e-2, max_bytes=2e3, rank=1))
    assert np.all(np.isfinite(solution.a))


def test_does_not_reach_what_rounding_forbids():
    risk = random_risk(Squared(), seed=18, C=10.0)
    with pytest.warns(ConvergenceWarning, match="no further progress"):
        solution = minimize(risk, Newton(tol=0.0))
    assert solution.status is Status.STALLED
    assert solution.violation <= 1e-12


@pytest.mark.parametrize("loss", [Absolute(), Hinge(), PolynomialLoss(1.5)], ids=repr)
def test_refuses_kinks(loss):
    with pytest.raises(ValueError, match=f"{type(loss).__name__} has a kink or unbounded curv"):
        minimize(random_risk(loss), Newton())


def test_refuses_costs_that_no_coefficients_meet():
    B, K = np.ones((4, 2)), Dense(np.eye(4))
    apart = RegularizedRisk(Squared(), K, np.zeros(4), 1.0, B, np.array([1.0, 2.0]))
    beyond = RegularizedRisk(Logistic(), K, np.ones(4), 1.0, B, np.array([8.0, 8.0]))
    # Coefficients in [0, 1] meet a_1 + 2 a_2 = 3 or 2 a_1 + a_2 = 0, never both.
    pair, cost = np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([3.0, 0.0])
    both = RegularizedRisk(Logistic(), Dense(np.eye(2)), np.ones(2), 1.0, pair, cost)
    for risk in (apart, beyond, both):
        with pytest.raises(ValueError, match="unbounded below"):
            minimize(risk, Newton())
