"""Parts of solvers on their own: when they stop, and estimates they start from."""

import cvxpy as cp
import numpy as np
import pytest

from mercer.gram import Dense
from mercer.gram.low_rank import LowRank
from mercer.kernels import Gaussian
from mercer.losses import Hinge, Huber, SquaredHinge
from mercer.problems import RegularizedRisk
from mercer.solvers import CoordinateDescent, minimize
from mercer.solvers._central_path import Search
from mercer.solvers._preconditioner import _largest
from mercer.solvers.reweighting import Reweighting
from mercer.solvers.small import _laid


def test_a_central_path_ends_where_its_tolerance_is_met():
    path = Search.__new__(Search)
    for score, done in ((np.inf, False), (1.5, False), (1.0, True), (0.0, True)):
        path.score = score
        assert path.done is done


@pytest.mark.parametrize("scale", [2.0**-20, 1.0, 2.0**20])
def test_the_largest_eigenvalue_is_estimated_in_any_units(scale):
    rng = np.random.default_rng(0)
    X, root = rng.normal(size=(60, 5)) + 1.0, rng.uniform(0.5, 2.0, 60)
    exact = np.linalg.eigvalsh((X * root[:, None]).T @ (X * root[:, None]))[-1]
    assert _largest(scale * X, root) == pytest.approx(scale**2 * exact, rel=1e-2)
    assert _largest(0.0 * X, root) == 0.0


def test_one_sample_is_no_small_problem():
    for n, taken in ((1, False), (2, True)):
        y = np.array([1.0, -1.0])[:n]
        risk = RegularizedRisk(Hinge(), Dense(np.eye(n)), y, 1.0, np.ones((n, 1)))
        assert (_laid([risk]) is not None) is taken


def test_reweighting_is_exact_once_it_knows_the_outliers():
    # However loose the tolerance: whose slope is at its bound, the others solve a linear system.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 1))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=40)
    y[::7] += 5.0
    K, B, delta = Gaussian(1.0)(X), np.ones((40, 1)), 0.3
    risk = RegularizedRisk(Huber(delta), Dense(K), y, 2.0, B)
    solution = minimize(risk, Reweighting(tol=1e-2))
    r = y - solution.f
    out = np.abs(r) > delta
    assert out.any()
    expected = np.where(out, 2.0 * delta * np.sign(r), 2.0 * r)
    np.testing.assert_allclose(solution.a, expected, atol=1e-9)
    assert abs(solution.a.sum()) < 1e-9


@pytest.mark.parametrize("p", [1, 3, 4, 7, 9])
def test_sweeps_over_rows_of_any_length_end_at_the_optimum(p):
    rng = np.random.default_rng(p)
    X = rng.normal(size=(50, p))
    y = np.where(X @ np.arange(1.0, p + 1) + 0.5 * rng.normal(size=50) > 0.3, 1.0, -1.0)
    risk = RegularizedRisk(SquaredHinge(), LowRank(X), y, 0.5, np.ones((50, 1)))
    found = minimize(risk, CoordinateDescent(tol=1e-6))
    w, b = cp.Variable(p), cp.Variable()
    loss = 0.25 * cp.sum_squares(cp.pos(1 - cp.multiply(y, X @ w + b)))
    exact = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + loss)).solve(solver="CLARABEL")
    assert found.objective == pytest.approx(exact, rel=1e-5)
