"""Programs of every cone against cvxpy, their prices against differences, and what has none."""

import cvxpy as cp
import numpy as np
import pytest

from mercer.programs import Infeasible, Unbounded
from mercer.programs.cones import Exponential, Power, SecondOrder, Semidefinite
from mercer.programs.program import Program
from mercer.solvers import Status


def data(m=12, n=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, n)), rng.normal(size=m)


def chebyshev(A, y, method="auto"):
    p = Program()
    x, t = p.variable(A.shape[1]), p.variable(1, lower=0.0)
    p.cost(t, 1.0)
    one = np.ones((len(y), 1))
    above = p.at_least([(A, x), (one, t)], y)
    below = p.at_most([(A, x), (-one, t)], y)
    found = p.solve(1e-9, method=method)
    return found, found[x], found.multiplier(above), found.multiplier(below)


@pytest.mark.parametrize("method", ["auto", "simplex", "interior", "conic"])
def test_linear_program(method):
    A, y = data()
    found, _, above, below = chebyshev(A, y, method)
    z = cp.Variable(4)
    value = cp.Problem(cp.Minimize(cp.norm_inf(A @ z - y))).solve(solver="CLARABEL")
    assert found.objective == pytest.approx(value, abs=1e-7)
    assert found.gap < 1e-7
    assert found.residual < 1e-8
    assert found.converged
    assert np.all(above > -1e-9)
    assert np.all(below < 1e-9)
    assert np.sum(above - below) == pytest.approx(1.0, abs=1e-7)
    np.testing.assert_allclose(A.T @ (above + below), 0.0, atol=1e-7)
    assert found.solver == ("clarabel" if method == "conic" else "highs")


def test_multipliers_are_prices():
    A, y = data(6, 4, seed=3)
    G = np.eye(4)[:2]

    def solve(y, g):
        p = Program()
        x, e = p.variable(4, lower=-2.0, upper=[2.0, 2.0, np.inf, 2.0]), p.variable(6)
        p.square(x)
        p.square(e, weight=3.0)
        data = p.equal([(A, x), (np.eye(6), e)], y)
        known = p.at_least([(G, x)], g)
        found = p.solve(1e-11)
        return found.objective, found.multiplier(data), found.multiplier(known)

    g, h = np.array([1.5, -1.0]), 1e-4
    _, a, price = solve(y, g)
    for i in range(6):
        d = h * np.eye(6)[i]
        slope = (solve(y + d, g)[0] - solve(y - d, g)[0]) / (2 * h)
        assert a[i] == pytest.approx(slope, abs=1e-5)
    for i in range(2):
        d = h * np.eye(2)[i]
        slope = (solve(y, g + d)[0] - solve(y, g - d)[0]) / (2 * h)
        assert price[i] == pytest.approx(slope, abs=1e-5)
    assert price[0] > 0.1  # the bound that holds x up costs something


def test_second_order_cone():
    A, y = data(seed=1)
    p = Program()
    x, t = p.variable(4), p.variable(1)
    p.cost(t, 1.0)
    p.square(x, weight=0.5)
    p.norm([(A, x)], -y, [(np.ones(1), t)])
    found = p.solve(1e-9)
    z = cp.Variable(4)
    cost = cp.norm(A @ z - y) + 0.25 * cp.sum_squares(z)
    assert found.objective == pytest.approx(
        cp.Problem(cp.Minimize(cost)).solve("CLARABEL"), abs=1e-7
    )
    assert found.gap < 1e-7


def test_exponential_and_power_cones():
    A, _ = data(3, 2, seed=2)
    p = Program()
    x, t, u = p.variable(2), p.variable(3), p.variable(3)
    p.cost(t, 1.0)
    p.cost(u, 1.0)
    for i in range(3):
        first, last = np.array([[1.0], [0.0], [0.0]]), np.array([[0.0], [0.0], [1.0]])
        e = np.zeros((1, 3))
        e[0, i] = 1.0
        p.exponential([(first @ A[i : i + 1], x), (last @ e, t)], [0.0, 1.0, 0.0])
        p.power([(last @ A[i : i + 1], x), (first @ e, u)], [0.0, 1.0, 0.3], 1 / 1.5)
    found = p.solve(1e-9)
    z = cp.Variable(2)
    cost = cp.sum(cp.exp(A @ z)) + cp.sum(cp.power(cp.abs(A @ z + 0.3), 1.5))
    assert found.objective == pytest.approx(
        cp.Problem(cp.Minimize(cost)).solve("CLARABEL"), abs=1e-6
    )
    assert found.gap < 1e-6
    assert found.residual < 1e-7


def test_semidefinite_cone():
    rng = np.random.default_rng(4)
    C = rng.normal(size=(3, 3))
    C = C + C.T
    upper = [(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)]
    p = Program()
    x = p.variable(6)
    p.cost(x, [C[i, j] * (1.0 if i == j else 2.0) for i, j in upper])
    p.equal([(np.array([[float(i == j) for i, j in upper]]), x)], 1.0)
    scale = np.diag([1.0 if i == j else np.sqrt(2.0) for i, j in upper])
    p.semidefinite([(scale, x)], 0.0, 3)
    found = p.solve(1e-9)
    assert found.objective == pytest.approx(np.linalg.eigvalsh(C)[0], abs=1e-7)
    S = Semidefinite(3).matrix(scale @ found[x])
    assert np.trace(S) == pytest.approx(1.0, abs=1e-7)
    assert S[0, 1] == pytest.approx(found[x][1])


@pytest.mark.parametrize("method", ["highs", "conic"])
def test_what_has_no_optimum_is_said(method):
    p = Program()
    x = p.variable(1, lower=1.0, upper=0.0)
    p.cost(x, 1.0)
    with pytest.raises(Infeasible, match="no point"):
        p.solve(method=method)
    p = Program()
    x = p.variable(1, upper=0.0)
    p.cost(x, 1.0)
    with pytest.raises(Unbounded, match="without end"):
        p.solve(method=method)


def test_limits_are_kept_and_said():
    A, y = data(60, 30)
    p = Program()
    x, t = p.variable(30), p.variable(1)
    p.cost(t, 1.0)
    p.norm([(A, x)], -y, [(np.ones(1), t)])
    found = p.solve(max_iter=2)
    assert found.status is Status.MAX_ITER
    assert not found.converged
    with pytest.raises(ValueError, match="linear programs"):
        p.solve(method="simplex")


def test_shapes_are_checked():
    p = Program()
    x = p.variable(3)
    with pytest.raises(ValueError, match="matrix of that shape"):
        p.equal([(np.ones((2, 2)), x)], [1.0, 1.0])
    with pytest.raises(ValueError, match="many columns"):
        p.square(x, np.ones((2, 2)))


def test_solution_of_a_machine():
    A, y = data()
    found, x, *_ = chebyshev(A, y)
    solution = found.solution(x, np.zeros(0), A @ x)
    assert solution.objective == found.objective
    assert solution.gap == found.gap
    assert solution.converged
    assert solution.reason == "a linear program"


def test_cones_know_what_lies_outside():
    assert SecondOrder().outside(np.array([1.0, 0.6, 0.8])) == pytest.approx(0.0, abs=1e-15)
    assert SecondOrder().outside(np.array([0.5, 0.6, 0.8])) == pytest.approx(0.5)
    assert Exponential().outside(np.array([0.0, 1.0, 1.0])) == 0.0
    assert Exponential().outside(np.array([1.0, 1.0, 1.0])) == pytest.approx(np.e - 1.0)
    assert Exponential().outside(np.array([1.0, 0.0, 1.0])) == 1.0
    # A multiplier of the boundary point (0, 1, 1): orthogonal to it, and inside the dual cone.
    assert Exponential().outside_dual(np.array([-1.0, -1.0, 1.0])) == pytest.approx(0.0, abs=1e-15)
    assert Exponential().outside_dual(np.array([1.0, 0.0, 0.0])) == 1.0
    assert Power(0.5).outside(np.array([4.0, 1.0, 2.0])) == 0.0
    assert Power(0.5).outside(np.array([1.0, 1.0, 2.0])) == 1.0
    assert Power(0.5).outside_dual(np.array([0.5, 0.5, 1.0])) == 0.0
