"""The dual of the dual is the primal: multipliers of one are variables of the other."""

import numpy as np
import pytest

from mercer.gram import Dense
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive
from mercer.problems import RegularizedRisk
from mercer.problems.nu import nu_regression, nu_regression_back
from mercer.programs.program import Program
from mercer.solvers import InteriorPoint, minimize

RNG = np.random.default_rng(0)
X = RNG.uniform(0, 4, (30, 1))
Y = np.sin(X[:, 0]) + 0.2 * RNG.normal(size=30)
K = Gaussian(0.7)(X)
# Clarabel's own tolerance is 1e-8; multipliers are determined to about its root.
CLOSE = 1e-4


def test_a_linear_program_both_ways():
    A = RNG.uniform(0.1, 1.0, (6, 4))
    b, c = RNG.uniform(0.5, 1.0, 6), RNG.uniform(1.0, 2.0, 4)
    primal = Program()
    x = primal.variable(4, lower=0.0)
    primal.cost(x, c)
    rows = primal.at_least([(A, x)], b)
    dual = Program()
    z = dual.variable(6, lower=0.0)
    dual.cost(z, -b)
    columns = dual.at_most([(A.T, z)], c)
    here, there = primal.solve(), dual.solve()
    assert here.objective == pytest.approx(-there.objective, rel=1e-9)
    # Random coefficients have one vertex each, so that multipliers are unique.
    np.testing.assert_allclose(here.multiplier(rows), there[z], atol=1e-8)
    np.testing.assert_allclose(-there.multiplier(columns), here[x], atol=1e-8)


def halves(epsilon, C):
    """Return the dual of support vector regression, with its two halves and its rows open."""
    program = Program()
    up, down = (program.variable(30, lower=0.0, upper=C) for _ in range(2))
    root = np.linalg.cholesky(K + 1e-10 * np.eye(30)).T
    both = program.variable(30)
    program.equal([(root, up), (-root, down), (-np.eye(30), both)], np.zeros(30))
    program.square(both)
    program.cost(up, epsilon - Y)
    program.cost(down, epsilon + Y)
    return program, up, down


def test_the_intercept_is_the_multiplier_of_the_sum():
    program, up, down = halves(0.1, 2.0)
    ones = np.ones((1, 30))
    row = program.equal([(ones, up), (-ones, down)], np.zeros(1))
    found = program.solve()
    risk = RegularizedRisk(EpsilonInsensitive(0.1), Dense(K), Y, 2.0, np.ones((30, 1)))
    machine = minimize(risk, InteriorPoint(tol=1e-9))
    # K a + epsilon - y = -b where a coefficient is free.
    assert found.multiplier(row)[0] == pytest.approx(-machine.b[0], abs=CLOSE)
    np.testing.assert_allclose(found[up] - found[down], machine.a, atol=20 * CLOSE)
    f = K @ (found[up] - found[down]) - found.multiplier(row)
    free = (found[up] > 0.01) & (found[up] < 1.99)
    assert free.any()
    np.testing.assert_allclose((Y - f)[free], 0.1, atol=CLOSE)


def test_the_width_of_a_tube_is_the_multiplier_of_the_budget():
    program, up, down = halves(0.0, 2.0)
    ones, nu = np.ones((1, 30)), 0.4
    sum_row = program.equal([(ones, up), (-ones, down)], np.zeros(1))
    budget = program.at_most([(ones, up), (ones, down)], np.array([nu * 60.0]))
    found = program.solve()
    solution = minimize(nu_regression(Dense(K), Y, np.full(30, 2.0), nu), InteriorPoint(tol=1e-9))
    machine = nu_regression_back(solution.a, solution.b)
    assert -found.multiplier(budget)[0] == pytest.approx(machine.width, abs=CLOSE)
    assert -found.multiplier(sum_row)[0] == pytest.approx(machine.b[0], abs=CLOSE)
