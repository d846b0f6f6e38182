"""Newton steps over free coefficients: the minimum if it is inside, never a larger dual value."""

import numpy as np
import pytest

from mercer.gram import Dense, Tiled
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Hinge, Huber, SquaredHinge
from mercer.problems import RegularizedRisk
from mercer.solvers import SMO, minimize, smo
from mercer.solvers._free_newton import newton_step
from mercer.solvers._pairs import pack


def problem(loss, n, groups, C=5.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n)
    if "Hinge" in type(loss).__name__:
        y = np.where(y > 0, 1.0, -1.0)
    ends = np.linspace(0, n, groups + 1).astype(int) if groups else np.array([n])
    B = np.eye(max(groups, 1))[np.minimum(np.arange(n) * groups // n, groups - 1)][:, :groups]
    return RegularizedRisk(loss, Tiled(Gaussian(0.7), X), y, C, B), X, ends


def dual(risk, K, a):
    return 0.5 * a @ K @ a + float(np.sum(risk.terms.conjugate(a)))


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), EpsilonInsensitive(0.1), Huber(0.3)])
@pytest.mark.parametrize("groups", [0, 1, 2])
def test_a_step_lowers_the_dual_value_and_keeps_box_and_rows(loss, groups):
    risk, X, ends = problem(loss, 120, groups)
    K = Gaussian(0.7)(X)
    near = minimize(risk, SMO(tol=0.3)).a
    found = newton_step(K, near, K @ near, pack(risk.terms), ends)
    lower, upper = risk.box()
    assert np.all((found >= lower) & (found <= upper))
    np.testing.assert_allclose(risk.B.T @ found, risk.B.T @ near, atol=1e-12 * np.sum(np.abs(near)))
    assert dual(risk, K, found) < dual(risk, K, near)


@pytest.mark.parametrize(("dtype", "relative"), [(np.float32, 1e-3), (np.float64, 1e-11)])
@pytest.mark.parametrize("groups", [0, 1, 2])
def test_a_step_inside_the_box_solves_the_bordered_system(groups, dtype, relative):
    # Huber's loss without bounds in reach: the dual is one quadratic.
    risk, X, ends = problem(Huber(1e3), 60, groups)
    K, rng = Gaussian(0.7)(X), np.random.default_rng(1)
    a = rng.normal(size=60)
    a -= risk.B @ np.linalg.lstsq(risk.B, a, rcond=None)[0]
    found = newton_step(K.astype(dtype), a, K @ a, pack(risk.terms), ends)
    A = K + np.diag(np.full(60, 1.0 / 5.0))  # the conjugate's curvature is one over the weight
    system = np.block([[A, risk.B], [risk.B.T, np.zeros((groups, groups))]])
    exact = np.linalg.solve(system, np.concatenate([risk.y, np.zeros(groups)]))[:60]
    # Thirty roundings on the diagonal of a matrix with smallest eigenvalue 1/5.
    assert np.max(np.abs(found - exact)) < relative * np.max(np.abs(exact))


def test_duplicate_samples_leave_a_singular_matrix_to_the_jitter():
    risk, X, ends = problem(EpsilonInsensitive(0.1), 80, 1)
    X = np.repeat(X[:40], 2, axis=0)
    K, y = Gaussian(0.7)(X), np.repeat(risk.y[:40], 2)
    twice = RegularizedRisk(risk.loss, Tiled(Gaussian(0.7), X), y, 5.0, np.ones((80, 1)))
    a = minimize(twice, SMO(tol=0.3)).a
    found = newton_step(K, a, K @ a, pack(twice.terms), ends)
    assert np.all(np.isfinite(found))
    assert dual(twice, K, found) <= dual(twice, K, a)


@pytest.mark.parametrize("groups", [1, 2])
def test_pairs_that_creep_are_helped_to_the_same_optimum(groups, monkeypatch):
    risk, _, _ = problem(EpsilonInsensitive(0.05), 2200, groups, C=100.0)
    monkeypatch.setattr(smo, "MAX_CALL_WORK", 1e6)
    monkeypatch.setattr(smo, "MAX_STORED_ROWS", 0)
    taken = []

    def counted(*arguments):
        taken.append(1)
        return newton_step(*arguments)

    monkeypatch.setattr(smo, "newton_step", counted)
    helped = minimize(risk, SMO())
    assert taken
    monkeypatch.setattr(smo, "newton_cost", lambda n_free: np.inf)
    pairs = minimize(risk, SMO())
    assert helped.converged
    assert pairs.converged
    assert helped.n_iter < pairs.n_iter
    assert abs(helped.dual - pairs.dual) <= helped.gap + pairs.gap


def test_pairs_that_creep_over_all_samples_are_helped(monkeypatch):
    # Two columns for 35 samples: pairs alone take 2e8 steps, three minutes.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(35, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=35)
    risk = RegularizedRisk(Huber(1.0), Dense(X @ X.T), y, 1e6, np.ones((35, 1)))
    monkeypatch.setattr(smo, "MAX_CALL_WORK", 1e5)
    found = minimize(risk, SMO(tol=1e-8, max_iter=100_000))
    assert found.converged
