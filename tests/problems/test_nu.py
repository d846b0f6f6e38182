"""Nu-formulations: the reductions, their way back, and what nu promises."""

import numpy as np
import pytest
from scipy.optimize import linprog

from mercer.gram import Dense
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Hinge
from mercer.problems import RegularizedRisk
from mercer.problems.nu import (
    nu_classification,
    nu_classification_back,
    nu_classifications_back,
    nu_regression,
    nu_regression_back,
    one_class,
)
from mercer.solvers import SMO, InteriorPoint, minimize

SOLVERS = [SMO(tol=1e-7), InteriorPoint(tol=1e-7)]


@pytest.fixture(params=[0, 1])
def data(request):
    rng = np.random.default_rng(request.param)
    X = rng.normal(size=(120, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=120)
    return Gaussian(1.0)(X), y


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("nu", [0.1, 0.4, 0.8])
def test_nu_regression(data, solver, nu):
    K, y = data
    n, C = len(y), 3.0
    solution = minimize(nu_regression(Dense(K), y, np.full(n, C), nu), solver)
    machine = nu_regression_back(solution.a, solution.b)
    assert machine.width > 0
    f = K @ machine.a + machine.b
    outside = np.mean(np.abs(y - f) > machine.width + 1e-5)
    supporting = np.mean(machine.a != 0)
    assert outside <= nu <= supporting
    # The tube it found, given to the machine with a fixed tube, is optimal there.
    fixed = RegularizedRisk(EpsilonInsensitive(machine.width), Dense(K), y, C, np.ones((n, 1)))
    certificate = fixed.certificate(machine.a, machine.b)
    assert certificate.gap <= 1e-5 * certificate.primal
    assert certificate.residual <= 1e-9


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("nu", [0.1, 0.4, 0.7])
def test_nu_classification(data, solver, nu):
    K, y = data
    y = np.where(y > 0, 1.0, -1.0)
    n = len(y)
    solution = minimize(nu_classification(Dense(K), y, np.ones(n), nu), solver)
    machine = nu_classification_back(solution.a, solution.b)
    assert machine.width > 0
    f = K @ machine.a + machine.b
    errors = np.mean(y * f < 1 - 2e-7 / machine.width)  # the tolerance, scaled like f
    supporting = np.mean(machine.a != 0)
    assert errors <= nu <= supporting
    # Divided by rho it is the soft-margin machine with C = 1 / rho.
    soft = RegularizedRisk(Hinge(), Dense(K), y, 1.0 / machine.width, np.ones((n, 1)))
    certificate = soft.certificate(machine.a, machine.b)
    assert certificate.gap <= 1.001 * solution.gap / machine.width**2 + 1e-9


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("nu", [0.05, 0.3, 0.9])
def test_one_class(data, solver, nu):
    K, _ = data
    n = len(K)
    solution = minimize(one_class(Dense(K), np.ones(n), nu), solver)
    assert np.sum(solution.a) == pytest.approx(nu * n)
    outside = np.mean(solution.f < -1e-5)
    assert outside <= nu <= np.mean(solution.a != 0)


def test_infeasible_nu_is_refused_before_solving(data):
    K, y = data
    labels = -np.ones(len(y))
    labels[:6] = 1.0  # the small class can carry nu / 2 of the weight only up to nu = 0.1
    with pytest.raises(ValueError, match="nu is infeasible"):
        nu_classification(Dense(K), labels, np.ones(len(y)), 0.11)
    nu_classification(Dense(K), labels, np.ones(len(y)), 0.1)


def test_weights_scale_the_budget(data):
    K, y = data
    n = len(y)
    once = minimize(nu_regression(Dense(K), y, np.full(n, 2.0), 0.3), SMO(tol=1e-8))
    twice = minimize(nu_regression(Dense(K), y, np.full(n, 4.0), 0.3), SMO(tol=1e-8))
    # (y, C) -> (s y, s C) scales the machine by s.
    scaled = minimize(nu_regression(Dense(K), 2 * y, np.full(n, 4.0), 0.3), SMO(tol=1e-8))
    a, b = nu_regression_back(once.a, once.b), nu_regression_back(scaled.a, scaled.b)
    assert b.width == pytest.approx(2 * a.width, rel=1e-5)
    assert nu_regression_back(twice.a, twice.b).width != pytest.approx(a.width, rel=1e-3)


def test_width_is_what_a_linear_program_finds(data):
    """Given the expansion, intercept and width minimize a piecewise linear function."""
    K, y = data
    n, nu = len(y), 0.35
    solution = minimize(nu_regression(Dense(K), y, np.ones(n), nu), InteriorPoint(tol=1e-9))
    machine = nu_regression_back(solution.a, solution.b)
    r = y - K @ machine.a
    # variables b, eps, xi: min nu n eps + sum xi, |r - b| <= eps + xi
    cost = np.concatenate([[0.0, nu * n], np.ones(n)])
    rows = np.vstack(
        [
            np.column_stack([-np.ones(n), -np.ones(n), -np.eye(n)]),
            np.column_stack([np.ones(n), -np.ones(n), -np.eye(n)]),
        ]
    )
    bounds = [(None, None)] + [(0, None)] * (n + 1)
    lp = linprog(cost, rows, np.concatenate([-r, r]), bounds=bounds)
    ours = nu * n * machine.width + np.maximum(0, np.abs(r - machine.b) - machine.width).sum()
    assert ours == pytest.approx(lp.fun, rel=1e-7)


@pytest.mark.parametrize("one", [0, 1, None])
def test_other_columns_stay_free_beside_the_walls(one):
    """The same machine as the soft margin or tube of the width that nu found, columns and all."""
    rng = np.random.default_rng(4)
    n = 40
    X = rng.normal(size=(n, 2))
    K = Gaussian(0.7)(X)
    trend = X[:, :1]
    B = {0: np.hstack([np.ones((n, 1)), trend]), 1: np.hstack([trend, np.ones((n, 1))])}.get(
        one, trend
    )
    y = 3.0 * X[:, 0] + np.sin(3.0 * X[:, 1]) + 0.1 * rng.normal(size=n)
    exact = InteriorPoint(tol=1e-9)
    solution = minimize(nu_regression(Dense(K), y, np.full(n, 2.0), 0.4, B, one), exact)
    machine = nu_regression_back(solution.a, solution.b, one)
    tube = RegularizedRisk(EpsilonInsensitive(machine.width), Dense(K), y, 2.0, B)
    assert machine.width > 0
    assert tube.certificate(machine.a, machine.b).gap <= 1e-6
    # A class that the free column splits off would have no largest margin.
    labels = np.where(np.sin(3.0 * X[:, 1]) + 0.3 * X[:, 0] > 0, 1.0, -1.0)
    solution = minimize(nu_classification(Dense(K), labels, np.ones(n), 0.3, B, one), exact)
    machine = nu_classification_back(solution.a, solution.b, one)
    margin = RegularizedRisk(Hinge(), Dense(K), labels, 1.0 / machine.width, B)
    assert machine.width > 0
    assert margin.certificate(machine.a, machine.b).gap <= 1e-6


def test_the_region_has_an_offset():
    with pytest.raises(ValueError, match="needs a constant"):
        one_class(Dense(np.eye(2)), np.ones(2), 0.5, np.zeros((2, 0)), None)


def test_machines_laid_end_to_end_have_margins_of_one():
    """Values at the walls, -b of either class before scaling, are 1 and -1 after it."""
    a, sizes = np.arange(1.0, 8.0), np.array([3, 4])
    b = np.array([[-0.3, 0.5], [-2.0, -0.4]])
    found, constants = nu_classifications_back(a, b, sizes)
    for k, part in enumerate((slice(0, 3), slice(3, 7))):
        scale = found[part] / a[part]
        assert np.ptp(scale) == pytest.approx(0.0, abs=1e-15)
        walls = constants[k, 0] - scale[0] * b[k]
        np.testing.assert_allclose(walls, [1.0, -1.0])
        alone = nu_classification_back(a[part], b[k])
        np.testing.assert_allclose(found[part], alone.a)
        np.testing.assert_allclose(constants[k], alone.b)
