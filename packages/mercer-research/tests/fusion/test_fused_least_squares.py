"""Fusion with validation against refits, grids, a conic solver and closed forms."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelRegressor
from mercer.kernels import Gaussian, Linear, Matern
from mercer.regularizers import Empty, Polynomial
from mercer.smoothing import Spectral
from mercer_research.fusion import (
    Decomposition,
    Filtered,
    FusedLSSVR,
    ValidationPath,
    relax,
    shrinkage,
)


def sinc(n=70, seed=0, outputs=None):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 1))
    y = np.sinc(X) + 0.3 * rng.standard_normal((n, outputs or 1))
    return X, y if outputs else y[:, 0]


def part_of(X, Y, n, kernel, B, weights=None):
    """Return the first n rows against the others."""
    K, Y = kernel(X), Y.reshape(len(X), -1)
    sample = Decomposition(K[:n, :n], B[:n], weights)
    return sample.against(Y[:n], K[n:, :n], B[n:], Y[n:])


@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("degree", [None, 0, 1])
def test_costs_are_those_of_refits(outputs, degree):
    X, y = sinc(outputs=outputs)
    space = Empty() if degree is None else Polynomial(degree)
    rng = np.random.default_rng(1)
    weights, kernel = rng.uniform(0.5, 2.0, 40), Matern(1.0, nu=1.5)
    path = ValidationPath([part_of(X, y, 40, kernel, space(X), weights)])
    Cs = np.exp(rng.uniform(np.log(1e-3), np.log(1e4), 20))
    spectral = Spectral(kernel(X[:40]), space(X[:40]), weights)
    for C, cost in zip(Cs, path.cost(Cs), strict=True):
        a, b = spectral.coefficients(y[:40], C)
        refit = np.sum((y[40:] - kernel(X[40:], X[:40]) @ a - space(X[40:]) @ b) ** 2)
        # No eigenvalue of this kernel is below 1e-10 of the largest, where components are dropped.
        assert cost == pytest.approx(refit, rel=1e-8)


def test_slopes_are_differences():
    X, y = sinc()
    path = ValidationPath([part_of(X, y, 40, Gaussian(0.6), np.ones((70, 1)))])
    u, h = np.linspace(-5, 8, 25), 1e-5
    numeric = (path.cost(np.exp(u + h)) - path.cost(np.exp(u - h))) / (2 * h)
    # Central differences: rounding of the cost over h.
    scale = np.max(path.cost(np.exp(u)))
    np.testing.assert_allclose(path.slope(np.exp(u)), numeric, atol=1e-9 * scale)


@pytest.mark.parametrize("seed", range(5))
def test_no_grid_finds_a_better_C(seed):
    X, y = sinc(seed=seed)
    path = ValidationPath([part_of(X, y, 40, Gaussian(0.4), np.ones((70, 1)))])
    best = path.minimum()
    assert best.cost <= path.cost(np.geomspace(1e-8, 1e12, 10_000)).min() + 1e-12
    assert best.cost == pytest.approx(float(path.cost(best.C)), rel=1e-12)


def test_the_global_one_of_several_minima_is_found():
    # Two components that want opposite shrinkage: a minimum at large and one at small C.
    values = np.array([1.0, 1e-4])
    F, t = np.diag([1.0, 3.0]), np.array([0.4, 3.0])
    path = ValidationPath([Filtered(values, F, t, np.ones(2))])
    u = np.linspace(-6, 20, 4001)
    cost = path.cost(np.exp(u))
    minima = np.flatnonzero((cost[1:-1] < cost[:-2]) & (cost[1:-1] < cost[2:]))
    assert len(minima) >= 1
    assert path.minimum().cost <= cost.min() + 1e-12


def test_ends_of_the_path_are_reported():
    values, F = np.array([2.0, 1.0]), np.eye(2)
    none = ValidationPath([Filtered(values, F, -np.ones(2), np.ones(2))]).minimum()
    all_of_it = ValidationPath([Filtered(values, F, 2 * np.ones(2), np.ones(2))]).minimum()
    assert (none.C, none.boundary) == (0.0, "zero")
    assert (all_of_it.C, all_of_it.boundary) == (np.inf, "infinity")
    # Validation targets are a constant: no kernel part helps.
    X, y = sinc()
    machine = FusedLSSVR(Gaussian(0.5)).fit(X, y, X_val=X, y_val=np.full(70, y.mean()))
    assert machine.boundary_ == "zero"
    np.testing.assert_allclose(machine.predict(X), y.mean())


def test_degrees_of_freedom_grow_with_C():
    mu = shrinkage(np.array([3.0, 1.0, 0.01]), np.geomspace(1e-3, 1e3, 30))
    assert np.all(np.diff(mu.sum(axis=1)) > 0)


@pytest.mark.parametrize("tight", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_relaxation_against_a_conic_solver(tight, seed):
    rng = np.random.default_rng(seed)
    values = np.sort(rng.uniform(0.1, 3.0, 8))[::-1]
    F, t = rng.normal(size=(12, 8)), rng.normal(size=12)
    mu = cp.Variable(8)
    rules = [mu >= 0, mu <= 1, cp.diff(cp.multiply(mu, 1 / values)) >= 0]
    rules += [cp.diff(mu) <= 0] if tight else []
    problem = cp.Problem(cp.Minimize(cp.sum_squares(F @ mu - t)), rules)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12)
    found = relax(Filtered(values, F, t, np.ones(8)), tight=tight)
    # The certified gap of one, and the tolerance of the other.
    assert found.cost - found.lower_bound <= 1e-7
    assert found.cost == pytest.approx(problem.value, abs=1e-7)
    assert found.lower_bound <= problem.value + 1e-8


def test_equal_eigenvalues_share_a_filter():
    rng = np.random.default_rng(0)
    values, F, t = np.array([2.0, 1.0, 1.0, 0.5]), rng.normal(size=(9, 4)), rng.normal(size=9)
    found = relax(Filtered(values, F, t, np.ones(4)))
    assert found.filter[1] == found.filter[2]
    merged = np.c_[F[:, 0], F[:, 1] + F[:, 2], F[:, 3]]
    other = relax(Filtered(values[[0, 1, 3]], merged, t, np.ones(3)))
    assert found.cost == pytest.approx(other.cost, abs=1e-8)


def test_a_filter_of_one_C_is_recovered_and_has_no_gap():
    rng = np.random.default_rng(0)
    values = np.geomspace(10, 1e-3, 12)
    F, mu = rng.normal(size=(30, 12)), shrinkage(values, 7.0)
    part = Filtered(values, F, F @ mu, rng.uniform(0.5, 2.0, 12))
    path = ValidationPath([part])
    assert path.nearest([mu]) == pytest.approx(7.0, rel=1e-6)
    found = relax(part)
    # Costs are squares: a gap of 1e-9 of the start leaves errors of its root.
    assert found.cost < 1e-6
    assert path.nearest([found.filter]) == pytest.approx(7.0, rel=1e-2)


def test_order_of_samples_and_rotation_of_inputs_change_nothing():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=60)
    turn, order = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.permutation(40)
    for strategy in ("path", "hull", "spectral"):
        machine = FusedLSSVR(Gaussian(1.5), strategy=strategy)
        first = machine.fit(X[:40], y[:40], X_val=X[40:], y_val=y[40:]).cost_
        machine.fit((X @ turn)[order], y[order], X_val=(X @ turn)[40:], y_val=y[40:])
        assert machine.cost_ == pytest.approx(first, rel=1e-5)


def test_the_machine_is_that_of_its_C():
    X, y = sinc()
    machine = FusedLSSVR(Gaussian(0.5)).fit(X[:40], y[:40], X_val=X[40:], y_val=y[40:])
    same = KernelRegressor(kernel=Gaussian(0.5), C=machine.C_, tol=1e-8).fit(X[:40], y[:40])
    np.testing.assert_allclose(machine.predict(X), same.predict(X), atol=1e-6)
    Cs, costs = machine.validation_curve_
    assert machine.cost_ <= costs.min()
    assert len(Cs) == len(costs)


def test_a_machine_forgets_another_strategy_and_survives_a_failure():
    X, y = sinc()
    machine = FusedLSSVR(Gaussian(0.5), strategy="hull").fit(X, y)
    assert len(machine.nodes_)
    machine.set_params(strategy="path").fit(X, y)
    assert not hasattr(machine, "nodes_")
    before = machine.predict(X)
    with pytest.raises(ValueError, match="n_splits"):
        machine.set_params(cv=1).fit(X, y)
    np.testing.assert_array_equal(machine.predict(X), before)


def test_folds_add_up():
    X, y = sinc(60)
    splits = [(np.arange(0, 40), np.arange(40, 60)), (np.arange(20, 60), np.arange(0, 20))]
    machine = FusedLSSVR(Gaussian(0.5), cv=splits).fit(X, y)
    total = 0.0
    for rest, fold in splits:
        one = KernelRegressor(kernel=Gaussian(0.5), C=machine.C_, tol=1e-8).fit(X[rest], y[rest])
        total += np.sum((y[fold] - one.predict(X[fold])) ** 2)
    assert machine.cost_ == pytest.approx(total, rel=1e-6)
    whole = KernelRegressor(kernel=Gaussian(0.5), C=machine.C_, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(machine.predict(X), whole.predict(X), atol=1e-6)
    relaxed = FusedLSSVR(Gaussian(0.5), cv=splits, strategy="spectral").fit(X, y)
    assert relaxed.lower_bound_ <= machine.cost_ <= relaxed.upper_bound_ + 1e-9


def test_thin_factors_give_the_same_as_the_matrix():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    Y = X @ rng.normal(size=(3, 2)) + rng.normal(size=(80, 2))
    fits = {
        "factor": FusedLSSVR(Linear()).fit(X, Y),
        "matrix": FusedLSSVR(lambda A, B: A @ B.T).fit(X, Y),
        "sparse": FusedLSSVR(Linear()).fit(sp.csr_array(X), Y),
    }
    for name in ("matrix", "sparse"):
        assert pytest.approx(fits["factor"].C_, rel=1e-6) == fits[name].C_
        new = sp.csr_array(X) if name == "sparse" else X
        np.testing.assert_allclose(fits[name].predict(new), fits["factor"].predict(X), atol=1e-8)


def test_precomputed_kernels_and_named_columns():
    X, y = sinc()
    K = Gaussian(0.5)(X)
    plain = FusedLSSVR(Gaussian(0.5)).fit(X[:40], y[:40], X_val=X[40:], y_val=y[40:])
    given = FusedLSSVR("precomputed").fit(K[:40, :40], y[:40], X_val=K[40:, :40], y_val=y[40:])
    assert pytest.approx(plain.C_, rel=1e-8) == given.C_
    frame = pd.DataFrame({"x": X[:, 0]})
    named = FusedLSSVR(Gaussian(0.5).on(["x"])).fit(frame, y)
    np.testing.assert_allclose(named.predict(frame), FusedLSSVR(Gaussian(0.5)).fit(X, y).predict(X))


def test_the_start_of_smoothed_residuals():
    X, y = sinc()
    K, A = Gaussian(0.5)(X), Gaussian(0.5)(X[:40])
    residual = y[:40] - A @ y[:40] / A.sum(axis=1)
    z = K[40:, :40] @ residual
    machine = FusedLSSVR(Gaussian(0.5), strategy="nw", null_space=Empty())
    machine.fit(X[:40], y[:40], X_val=X[40:], y_val=y[40:])
    assert pytest.approx(max(0.0, z @ y[40:] / (z @ z)), rel=1e-6) == machine.C_
    best = FusedLSSVR(Gaussian(0.5), null_space=Empty())
    assert best.fit(X[:40], y[:40], X_val=X[40:], y_val=y[40:]).cost_ <= machine.cost_
    with pytest.raises(ValueError, match="must not be negative"):
        FusedLSSVR("linear", strategy="nw").fit(X, y)


def test_what_cannot_be_done_is_refused():
    X, y = sinc(20)
    with pytest.raises(ValueError, match="both, or neither"):
        FusedLSSVR().fit(X, y, X_val=X)
    with pytest.raises(ValueError, match="X_val has 20 rows and y 1 outputs"):
        FusedLSSVR().fit(X, y, X_val=X, y_val=np.c_[y, y])
    with pytest.raises(ValueError, match="zero for all samples"):
        FusedLSSVR().fit(X, y, np.zeros(20))
    with pytest.raises(ValueError, match="one of the two"):
        Decomposition(None, np.ones((3, 1)))


@parametrize_with_checks([FusedLSSVR(gamma="auto", cv=2)])
def test_estimator_checks(estimator, check):
    check(estimator)
