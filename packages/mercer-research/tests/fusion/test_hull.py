"""Convex combinations of machines against a conic solver and brute force."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
from sklearn.model_selection import KFold

from mercer import KernelRegressor
from mercer.kernels import Gaussian
from mercer_research.fusion import (
    Decomposition,
    FusedLSSVR,
    ValidationPath,
    minimize_over_hull,
    simplex_least_squares,
)


def conic(P, y):
    g = cp.Variable(P.shape[1], nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(P @ g - y)), [cp.sum(g) == 1])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12)
    return problem.value


@pytest.mark.parametrize("seed", range(5))
def test_least_squares_on_the_simplex(seed):
    rng = np.random.default_rng(seed)
    P, y = rng.normal(size=(15, 10)), rng.normal(size=15)
    g = simplex_least_squares(P, y)
    assert np.all(g >= 0)
    assert abs(g.sum() - 1) < 1e-12
    # The solver's own tolerance on a cost of size 10.
    assert abs(np.sum((P @ g - y) ** 2) - conic(P, y)) < 1e-8


def test_degenerate_simplices():
    P = np.array([[1.0, 1.0, 3.0], [2.0, 2.0, 2.0]])
    np.testing.assert_allclose(P @ simplex_least_squares(P, [2.0, 0.0]), [2.0, 2.0])
    np.testing.assert_allclose(simplex_least_squares(P[:, :1], [9.0, 9.0]), [1.0])
    np.testing.assert_allclose(P @ simplex_least_squares(P, [1.5, 2.0]), [1.5, 2.0])
    with pytest.raises(ValueError, match="at least one column"):
        simplex_least_squares(np.empty((3, 0)), np.zeros(3))


@pytest.fixture
def path():
    rng = np.random.default_rng(3)
    X = rng.uniform(-3, 3, (80, 1))
    y = np.sinc(X) + 0.3 * rng.standard_normal((80, 1))
    K, B = Gaussian(0.6)(X), np.ones((80, 1))
    T, V = slice(50), slice(50, 80)
    part = Decomposition(K[T, T], B[T]).against(y[T], K[V, T], B[V], y[V])
    return ValidationPath([part])


def test_nodes_against_a_conic_solver(path):
    nodes = np.geomspace(1e-3, 1e4, 10)
    hull = minimize_over_hull(path, nodes)
    assert abs(hull.cost - conic(path.errors(nodes).T, np.zeros(30))) < 1e-7
    assert hull.cost <= path.cost(nodes).min() + 1e-12


def test_one_node_is_that_machine_and_more_nodes_never_cost_more(path):
    assert minimize_over_hull(path, [2.0]).cost == pytest.approx(float(path.cost(2.0)), rel=1e-12)
    # Every grid holds the one before it.
    grids = [np.geomspace(1e-3, 1e4, 2**k + 1) for k in range(8)]
    costs = [minimize_over_hull(path, grid).cost for grid in grids]
    assert all(before >= after - 1e-9 for before, after in itertools.pairwise(costs))


def test_the_whole_path_is_the_limit_of_nodes(path):
    whole = minimize_over_hull(path)
    dense = minimize_over_hull(path, np.geomspace(1e-6, 1e8, 4000))
    assert whole.gap <= 1e-6
    assert whole.cost <= dense.cost + 1e-9
    # Nodes are 0.8 % apart, and costs vary with the square of that distance.
    assert dense.cost - whole.cost < 1e-4 * whole.cost
    assert len(whole.labels) <= 8


def test_one_combined_machine_predicts_like_its_nodes():
    rng = np.random.default_rng(4)
    X = rng.uniform(-3, 3, (60, 1))
    y = np.sinc(X[:, 0]) + 0.3 * rng.standard_normal(60)
    nodes, kernel = [0.01, 1.0, 100.0], Gaussian(0.6)
    val = {"X_val": X[40:], "y_val": y[40:]}
    machine = FusedLSSVR(kernel, strategy="hull", nodes=nodes).fit(X[:40], y[:40], **val)
    single = [
        FusedLSSVR(kernel, strategy="hull", nodes=[C]).fit(X[:40], y[:40], **val).predict(X)
        for C in machine.nodes_
    ]
    np.testing.assert_allclose(machine.predict(X), machine.node_weights_ @ single, atol=1e-10)


def test_folds_stack_what_their_machines_predict():
    rng = np.random.default_rng(5)
    X = rng.uniform(-3, 3, (45, 1))
    y = np.sinc(X[:, 0]) + 0.3 * rng.standard_normal(45)
    nodes, splits = np.array([0.03, 0.3, 30.0, 3000.0]), list(KFold(3).split(X))
    machine = FusedLSSVR(Gaussian(0.6), strategy="hull", nodes=nodes, cv=splits).fit(X, y)
    P = np.empty((45, 4))
    for rest, fold in splits:
        for k, C in enumerate(nodes):
            one = KernelRegressor(kernel=Gaussian(0.6), C=C, tol=1e-8).fit(X[rest], y[rest])
            P[fold, k] = one.predict(X[fold])
    # The machines are fitted to a relative gap of 1e-8, their functions to its root at worst.
    assert machine.cost_ == pytest.approx(conic(P, y), rel=1e-4)
    assert machine.node_weights_.sum() == pytest.approx(1.0)


def test_nodes_must_be_positive():
    with pytest.raises(ValueError, match="must be positive"):
        FusedLSSVR(strategy="hull", nodes=[0.0, 1.0]).fit(np.eye(10), np.arange(10.0))
