"""Knowledge as steep samples: against a conic formulation, and what multipliers mean."""

import time

import cvxpy as cp
import numpy as np
import pytest

from mercer._deadline import deadline
from mercer.gram import Dense
from mercer.gram.combined import Extended, extend
from mercer.gram.low_rank import LowRank
from mercer.kernels import Gaussian
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    Logistic,
    Pinball,
    Squared,
    SquaredHinge,
)
from mercer.problems import constrained
from mercer.problems.constrained import Between, ConstrainedRisk, SampleLosses, chebychev
from mercer.regularizers import (
    At,
    Bounded,
    Concave,
    Constant,
    Convex,
    Increasing,
    Lipschitz,
    Mean,
    Polynomial,
    Slope,
)
from mercer.regularizers.constraints import Domain, compile_rows
from mercer.solvers import InteriorPoint, _central_path, constraint_generation
from mercer.solvers.constraint_generation import Conflict, satisfy

n, C, KERNEL = 30, 5.0, Gaussian(0.5)
TOL = 1e-7


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(3)
    X = np.sort(rng.uniform(0, 3, (n, 1)), axis=0)
    return X, np.tanh(2 * X[:, 0] - 3) + 0.3 * rng.normal(size=n)


def solved(sample, loss, known, space=None, weight=1e3, grid=20, **options):
    """Return the problem and its solution for a loss, or for the largest error."""
    X, y = sample
    space = Constant() if space is None else space
    B = space(X)
    if loss is None:
        said = chebychev(y, y, C, B)
    else:
        said = SampleLosses(loss, y, np.full(n, C), B, np.zeros(B.shape[1]))
    rows = compile_rows(known, Domain(X, grid=grid))
    problem = ConstrainedRisk(said, Dense(KERNEL(X)), X, KERNEL, space, rows)
    found = satisfy(problem, InteriorPoint(tol=TOL), weight, tol=1e-6, **options)
    return problem, found


def conic(sample, cost, known, space=None, grid=20):
    """Minimize the same functional over the span of all points, by Clarabel.

    Features of the joint matrix are exact up to its rounding, 1e-15 of its trace, and without
    directions that would need coefficients beyond double precision.
    """
    X, y = sample
    space = Constant() if space is None else space
    rows = compile_rows(known, Domain(X, grid=grid))
    P = np.concatenate([X, rows.Z])
    values, vectors = np.linalg.eigh(KERNEL(P))
    keep = values > 1e-13 * values[-1]
    F = vectors[:, keep] * np.sqrt(values[keep])
    w, b = cp.Variable(F.shape[1]), cp.Variable(space(X).shape[1])
    f = F @ w + space(P) @ b
    G = rows.G @ f[n:]
    low, high = np.isfinite(rows.lower), np.isfinite(rows.upper)
    constraints = [G[low] >= rows.lower[low]] if low.any() else []
    constraints += [G[high] <= rows.upper[high]] if high.any() else []
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cost(y, f[:n])), constraints)
    return problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)


COSTS = {
    "squared": (Squared(), lambda y, f: 0.5 * cp.sum_squares(y - f)),
    "absolute": (Absolute(), lambda y, f: cp.norm1(y - f)),
    "tube": (EpsilonInsensitive(0.1), lambda y, f: cp.sum(cp.pos(cp.abs(y - f) - 0.1))),
    "huber": (Huber(0.2), lambda y, f: 0.5 * cp.sum(cp.huber(y - f, 0.2))),
    "pinball": (Pinball(0.8), lambda y, f: cp.sum(cp.maximum(0.8 * (y - f), -0.2 * (y - f)))),
    "expectile": (
        Expectile(0.8),
        lambda y, f: 0.4 * cp.sum_squares(cp.pos(y - f)) + 0.1 * cp.sum_squares(cp.neg(y - f)),
    ),
    "largest": (None, lambda y, f: cp.norm_inf(y - f)),
}
KNOWN = {
    "increasing": [Increasing(0)],
    "bounded": [Increasing(0), Bounded(-0.7, 0.6)],
    "convex": [Convex(0, over={0: (0.0, 1.0)}), Concave(0, over={0: (2.0, 3.0)})],
    "values": [At([0.5, 2.5], [-0.5, 0.9]), Mean(0.1, 0.1)],
    "slopes": [Slope(0, at_most=0.8), Lipschitz(2.0)],
}


@pytest.mark.parametrize("known", KNOWN)
@pytest.mark.parametrize("loss", COSTS)
def test_optimum_is_that_of_a_conic_program(sample, loss, known):
    own, cost = COSTS[loss]
    problem, found = solved(sample, own, KNOWN[known])
    expected = conic(sample, cost, KNOWN[known])
    # Objectives of different spans and solvers: both are within 1e-8 of their optimum.
    assert found.solution.objective == pytest.approx(expected, rel=1e-6)
    assert found.solution.relative_gap < 1e-7
    assert found.solution.converged
    # Second differences of kernel values, of rows with rows: their rounding over four powers of
    # the step.
    size = float(np.max(abs(problem.rows.G).sum(axis=1)))
    rounding = np.finfo(float).eps * size**2 * float(np.abs(found.multipliers).sum())
    assert found.violation < 1e-6 + rounding


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), Logistic()])
def test_margin_losses_take_knowledge_too(sample, loss):
    X, y = sample
    labels = np.where(y > 0, 1.0, -1.0)
    cost = {
        Hinge: lambda y, f: cp.sum(cp.pos(1 - cp.multiply(y, f))),
        SquaredHinge: lambda y, f: 0.5 * cp.sum_squares(cp.pos(1 - cp.multiply(y, f))),
        Logistic: lambda y, f: cp.sum(cp.logistic(-cp.multiply(y, f))),
    }[type(loss)]
    known = [Slope(0, at_least=0.0, at_most=0.9)]
    found = solved((X, labels), loss, known)[1]
    assert found.solution.objective == pytest.approx(conic((X, labels), cost, known), rel=1e-6)


def test_unpenalized_lines_are_part_of_what_is_known(sample):
    known, space = [Increasing(0), At(1.0, 0.0)], Polynomial(1)
    _, found = solved(sample, Squared(), known, space)
    expected = conic(sample, COSTS["squared"][1], known, space)
    assert found.solution.objective == pytest.approx(expected, rel=1e-6)


def test_optimality_conditions_from_outside(sample):
    problem, found = solved(sample, Squared(), KNOWN["bounded"])
    X, y = sample
    a, b = found.solution.a, found.solution.b
    alpha, beta = problem.expansion(a)
    P = np.concatenate([X, problem.taken.Z])
    f = KERNEL(X, P) @ np.concatenate([alpha, beta]) + b[0]
    np.testing.assert_allclose(a[:n], C * (y - f), atol=1e-8 * C)  # slopes of the loss
    rows, eta = problem.rows, found.multipliers
    at_lower = found.values <= rows.lower + 1e-6
    at_upper = found.values >= rows.upper - 1e-6
    assert np.all(at_lower[eta > 1e-6])  # active, and of their sign
    assert np.all(at_upper[eta < -1e-6])
    # No constant is penalized: coefficients of the sample and of the rows balance.
    assert abs(a[:n].sum() + eta @ (rows.G @ np.ones(len(rows.Z)))) < 1e-8 * np.abs(a).sum()


def test_multiplier_is_the_price_of_a_wall(sample):
    price = solved(sample, Squared(), [At(1.0, 0.2)])[1].multipliers[0]
    step = 1e-3
    up, down = (
        solved(sample, Squared(), [At(1.0, 0.2 + t)])[1].solution.objective for t in (step, -step)
    )
    # The objective is a parabola in the wall, so that a central difference is exact.
    assert price == pytest.approx((up - down) / (2 * step), rel=1e-5)


def test_knowledge_that_the_sample_has_changes_nothing(sample):
    free = solved(sample, Squared(), [])[1].solution
    found = solved(sample, Squared(), [Bounded(-100.0, 100.0), Lipschitz(1e3)])[1]
    np.testing.assert_allclose(found.solution.a[:n], free.a, atol=1e-8)
    assert not found.multipliers.any()


def test_rows_are_added_where_they_are_violated(sample):
    problem, found = solved(sample, Squared(), [Increasing(0)], grid=400)
    assert found.violation <= 1e-6
    assert len(problem.chosen) < problem.rows.r / 2


def test_small_weights_are_raised(sample):
    low = solved(sample, Absolute(), [At(1.0, 2.0)], weight=0.1)[1]
    high = solved(sample, Absolute(), [At(1.0, 2.0)], weight=1e4)[1]
    assert low.weight > 0.1
    assert low.violation < 1e-6
    assert low.solution.objective == pytest.approx(high.solution.objective, rel=1e-6)


@pytest.mark.parametrize("loss", [Squared(), Absolute()])
def test_contradictions_are_named(sample, loss):
    known = [Increasing(0), At([0.5, 2.5], [1.0, 0.0])]
    with pytest.raises(Conflict, match="cannot all hold") as error:
        solved(sample, loss, known)
    assert len(error.value.rows)


def test_low_rank_features_give_the_same_machine(sample):
    X, y = sample
    rows = compile_rows([Increasing(0)], Domain(X, grid=20))
    P = np.concatenate([X, rows.Z])
    values, vectors = np.linalg.eigh(KERNEL(P))
    keep = values > 1e-14
    root = vectors[:, keep] / np.sqrt(values[keep])

    def features(Z):
        return KERNEL(Z, P) @ root

    said = SampleLosses(Huber(0.2), y, np.full(n, C), np.ones((n, 1)), np.zeros(1))
    low = ConstrainedRisk(said, LowRank(features(X)), X, KERNEL, Constant(), rows, features)
    found = satisfy(low, InteriorPoint(tol=TOL), 1e4, tol=1e-6)
    other = solved(sample, Huber(0.2), [Increasing(0)])[1]
    assert found.solution.objective == pytest.approx(other.solution.objective, rel=1e-6)


def test_distance_to_an_interval():
    loss, y = Between.walls(np.array([0.0, -np.inf, 1.0, -1.0]), np.array([1.0, 2.0, np.inf, -1.0]))
    f = np.array([-0.5, 2.5, 0.0, -1.5])
    np.testing.assert_allclose(loss.value(y, f), [0.5, 0.5, 1.0, 0.5])
    np.testing.assert_allclose(loss.value(y, np.array([0.5, -9.0, 9.0, -1.0])), 0.0)


def test_extended_gram_is_the_matrix_of_its_blocks():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(9, 4))
    whole = F @ F.T
    gram = Extended(Dense(whole[:6, :6]), whole[:6, 6:], whole[6:, 6:])
    index = np.array([8, 0, 5, 6])
    np.testing.assert_allclose(gram.block(index, slice(None)), whole[index])
    np.testing.assert_allclose(gram.diag(), np.diag(whole))
    np.testing.assert_allclose(gram.matvec(F), whole @ F)
    np.testing.assert_allclose(extend(gram.K, gram.V, gram.H).dense(), whole)
    with pytest.raises(ValueError, match="functionals need V"):
        Extended(gram.K, gram.V.T, gram.H)


def test_a_limit_lets_fewer_rows_take_part_at_first_and_the_same_solution(sample, monkeypatch):
    known = [Increasing(0), Bounded(-0.5, 0.8)]
    whole, expected = solved(sample, Squared(), known)
    heard = []
    # Time stands still, and a machine so slow that 7 rows are half of the limit.
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)
    monkeypatch.setattr(constraint_generation, "FACTOR_FLOPS", 2.0 * (10 / 3 * 7.5**3 + n * 7.5**2))
    with deadline(1.0):
        _, found = solved(
            sample, Squared(), known, batch=5, report=lambda *line: heard.append(line)
        )
    assert len(whole.chosen) > 7
    assert heard[0][:2] == (1, 7)
    assert found.rounds > 1
    assert found.violation <= 1e-6
    assert found.solution.objective == pytest.approx(expected.solution.objective, rel=1e-6)


def test_a_sample_that_has_the_shape_needs_no_factorization(sample, monkeypatch):
    X, y = sample
    steps, follow = [], _central_path.follow
    monkeypatch.setattr(_central_path, "follow", lambda system: steps.append(1) or follow(system))
    _, found = solved(sample, Squared(), [Bounded(-9.0, 9.0)])
    assert not steps
    assert not np.any(found.multipliers)
    one = np.ones((n, 1))
    M = np.block([[KERNEL(X) + np.eye(n) / C, one], [one.T, np.zeros((1, 1))]])
    expected = np.linalg.solve(M, np.append(y, 0.0))[:n]
    np.testing.assert_allclose(found.solution.a[:n], expected, atol=1e-9)
    solved(sample, Squared(), [Increasing(0)])
    assert steps


def test_kernel_values_that_are_kept_change_no_functional(sample, monkeypatch):
    problem, found = solved(sample, Squared(), [Increasing()])
    a, b = found.solution.a, found.solution.b
    other = compile_rows([Increasing()], Domain(sample[0] + 0.01, grid=15))
    for _ in range(2):
        # By the rows themselves: differences of the function at their points.
        alpha, beta = problem.expansion(a)
        Z = problem.rows.Z
        f = KERNEL(Z, problem.X) @ alpha + KERNEL(Z, problem.taken.Z) @ beta + b[0]
        expected = problem.rows.G @ f
        # Rounding of sums of n products with kernel values of at most one, and of the differences.
        size = np.sum(np.abs(alpha)) + np.sum(np.abs(beta)) + abs(b[0])
        size *= np.max(np.abs(problem.rows.G).sum(axis=1)) * (len(alpha) + len(beta))
        for most in (constrained.KEPT_BYTES, 0):
            monkeypatch.setattr(constrained, "KEPT_BYTES", most)
            eps = np.finfo(float).eps
            np.testing.assert_allclose(problem.values(a, b), expected, atol=2 * eps * size)
            monkeypatch.undo()
        problem.values(a, b)  # kept again, before there are more rows
        problem.append(other)
