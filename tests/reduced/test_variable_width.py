"""Margins and tubes of variable width, against conic programs in the user's terms."""

import cvxpy as cp
import numpy as np
import pytest

from mercer.data import as_source, draw
from mercer.kernels import Gaussian
from mercer.losses import Hinge, Pinball
from mercer.problems.nu import nu_classification_back, nu_regression_back
from mercer.reduced.multipliers import minimize_kinked
from mercer.reduced.newton import Newton
from mercer.reduced.nystrom import Nystrom, NystromMap
from mercer.reduced.oracle import Oracle
from mercer.reduced.passes import Passes, take_census
from mercer.reduced.problem import (
    Codes,
    Ones,
    Problem,
    Values,
    VariableMargin,
    VariableOffset,
    VariableTube,
)
from mercer.reduced.solve import Task, solve
from mercer.regularizers.null_space import Constant, Empty, Functions, Polynomial

N, M, NU = 90, 12, 0.3
rng = np.random.default_rng(3)
X = rng.normal(size=(N, 2))
S = rng.choice([0.0, 0.5, 1.0, 2.0], N)
KERNEL = Gaussian(1.5)
SPACES = [Constant(), Empty(), Polynomial(1)]
WALLED = [Constant(), Empty(), Constant() + Functions([np.sin], on=[1])]
# Clarabel's default accuracy, relative to the objective.
CONIC = 1e-7


def one(space):
    return space.names(2).index("1") if "1" in space.names(2) else None


def codes(n_classes):
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] ** 2, np.linspace(0.0, 1.0, n_classes - 1))
    pairs = [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]
    book = np.zeros((n_classes, len(pairs)))
    for k, (i, j) in enumerate(pairs):
        book[i, k], book[j, k] = (-1.0, 1.0) if n_classes == 2 else (1.0, -1.0)
    return y, Codes(np.arange(n_classes), book, np.ones(n_classes)), pairs


def found(targets, loss, walls, space, y, C=1.0, tol=1e-6):
    source = as_source(X, y, S)
    passes, how = Passes(source, rows=32, n_jobs=1, room=2.0**30), Nystrom(M, n_jobs=1)
    census = take_census(passes, N, 0, False)
    task = Task(KERNEL, space, targets, loss, C * np.ones(targets.k), tol=tol, walls=walls)
    answer = solve(task, census, passes, how)
    return answer, answer.map.features(answer.map.raw(X))


def conic(phi, space, cost):
    """Minimize over all functions; `cost` makes sums and constraints of decision values."""
    w, b, width = cp.Variable(phi.shape[1]), cp.Variable(max(space.size(2), 1)), cp.Variable()
    P = space(X) if space.size(2) else np.zeros((N, 1))
    f = phi @ w + P @ b
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + cost(f, width)))
    problem.solve(solver="CLARABEL")
    return problem.value, f.value, float(width.value)


def certify(solution, value):
    """The minimum lies between the dual and the primal value, and they are as close as asked."""
    scale = abs(value)
    assert solution.dual - CONIC * scale <= value <= solution.objective + CONIC * scale
    assert solution.gap <= 1.01e-7 * scale  # a tenth of tol, for each of the problems
    assert solution.residual < 1e-5


@pytest.mark.parametrize("space", [Constant(), Polynomial(1)], ids=repr)
def test_one_class(space):
    got, phi = found(Ones(), Hinge(0.0), VariableOffset(NU, one(space)), space, None)
    w, b = cp.Variable(phi.shape[1]), cp.Variable(space.size(2))
    errors = S @ cp.pos(-phi @ w - space(X) @ b)
    level = NU * S.sum() * b[one(space)]
    least = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + errors + level))
    certify(got.solution, least.solve(solver="CLARABEL"))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("space", WALLED, ids=str)
def test_classes(space, n_classes):
    y, targets, pairs = codes(n_classes)
    got, phi = found(targets, Hinge(0.0), VariableMargin(NU, one(space), targets), space, y)
    total = 0.0
    for k, (i, j) in enumerate(pairs):
        label = targets.book[y, k]
        c = S * (label != 0)

        def cost(f, rho, c=c, label=label):
            return c @ cp.pos(rho - cp.multiply(label, f)) - NU * c.sum() * rho

        value, f, rho = conic(phi, space, cost)
        total += value
        b = got.b[:, k]
        if one(space) is not None:
            sides = [-1 - j, -1 - i] if n_classes == 2 else [-1 - i, -1 - j]
            b = np.append(b[:n_classes][sides], b[n_classes:])
        machine = nu_classification_back(got.A[:, k], b, one(space))
        # The norm of the error of f / rho is at most the root of twice the relative gap.
        np.testing.assert_allclose(machine.width, rho, rtol=2e-3)
        mine = got.map.raw(X) @ machine.a + space(X) @ machine.b
        np.testing.assert_allclose(mine[c > 0], f[c > 0] / rho, atol=5e-3 * np.abs(f / rho).max())
    certify(got.solution, total)


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_tube(space):
    y, C = np.sin(2.0 * X[:, 0]) + X[:, 1] + 3.0, 2.0
    got, phi = found(Values(1), Pinball(), VariableTube(NU, one(space)), space, y, C)

    def cost(f, epsilon):
        return C * (S @ cp.pos(cp.abs(y - f) - epsilon) + NU * S.sum() * epsilon)

    value, f, epsilon = conic(phi, space, cost)
    certify(got.solution, value)
    a = got.A[:, 0]
    machine = nu_regression_back(np.append(a, 0 * a), got.b[:, 0], one(space))
    np.testing.assert_allclose(machine.width, epsilon, atol=2e-3)
    mine = got.map.raw(X) @ machine.a + space(X) @ machine.b
    np.testing.assert_allclose(mine[S > 0], f[S > 0], atol=5e-3)


def tube():
    y = np.sin(2.0 * X[:, 0]) + X[:, 1]
    phi = NystromMap(KERNEL, X[:M])
    walls = VariableTube(NU, 0)
    return y, Problem(phi, Constant(), Values(1), Pinball(), 2.0 * np.ones(1), 2, walls=walls)


def minimum(rows: int, n_jobs: int, tol: float):
    y, problem = tube()
    source = as_source(X, y, S)
    passes = Passes(source, rows=rows, n_jobs=n_jobs, room=2.0**30)
    start = np.zeros((problem.map.r, 1)), np.array([[-0.5], [0.5]])
    return minimize_kinked(Newton(tol=tol), Oracle(problem, passes, draw(source, N, 0)), *start)


def test_sums_of_a_row_seen_twice():
    """The value is that of the functional, written out."""
    y, problem = tube()
    got = minimum(32, 1, 1e-6)
    phi, b = problem.map.features(problem.map.raw(X)), got.b
    f = (phi @ got.W)[:, 0]
    excess = np.maximum(y - f - b[0], 0.0) + np.maximum(f + b[1] - y, 0.0)
    price = 0.5 * NU * 2.0 * S.sum() * (b[0, 0] - b[1, 0])
    expected = 0.5 * np.sum(got.W**2) + 2.0 * S @ excess + price
    np.testing.assert_allclose(got.value.primal[0], expected, rtol=1e-12)
    assert got.value.gap[0] <= 1e-6 * got.value.primal[0]


def test_blocks_and_threads_do_not_matter():
    values = [minimum(*how, 1e-4).value.primal for how in ((31, 1), (31, 2), (1000, 1))]
    np.testing.assert_array_equal(values[0], values[1])
    np.testing.assert_allclose(values[0], values[2], rtol=1e-4)


def test_more_errors_than_a_class_has():
    y, targets, _ = codes(2)
    with pytest.raises(ValueError, match="infeasible"):
        found(targets, Hinge(0.0), VariableMargin(0.99, 0, targets), Constant(), y)


def test_a_margin_that_is_not_bounded():
    """A line tells these classes apart with fewer errors than nu, at any distance."""
    y, targets, _ = codes(2)
    with pytest.raises(ValueError, match="not penalized"):
        found(targets, Hinge(0.0), VariableMargin(NU, 0, targets), Polynomial(1), y)
