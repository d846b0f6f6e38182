"""Single precision where it is enough: what it does to the certificate, and when it is left."""

from dataclasses import replace

import numpy as np
import pytest

from mercer.gram import Tiled
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Hinge
from mercer.problems import RegularizedRisk
from mercer.solvers import SMO, Status, minimize, smo
from mercer.solvers.base import CHECK, Answer, Monitor, believed

N = 1200


def problem(loss, C, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 4))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=N)
    y = np.where(f > 0, 1.0, -1.0) if isinstance(loss, Hinge) else f
    return RegularizedRisk(loss, Tiled(Gaussian(1.5), X), y, C, np.ones((N, 1)))


def exact(risk):
    """Return the same problem over the matrix in float64."""
    return RegularizedRisk(risk.loss, Tiled(risk.K.kernel, risk.K.X), risk.y, risk.c, risk.B)


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.1)])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_objective_bound_and_gap_are_those_of_double_precision(loss, C):
    risk = problem(loss, C)
    solution = minimize(risk, SMO(tol=1e-3))
    assert solution.status is Status.CONVERGED
    truth = exact(risk).certificate(solution.a, solution.b)
    # Both ends move by half of a'(F - Ka), a sum of n errors of a few units of float32.
    unit = np.finfo(np.float32).eps
    slack = 4 * unit * N**0.5 * np.linalg.norm(solution.a) * np.abs(solution.a).max()
    assert solution.objective == pytest.approx(truth.primal, abs=slack)
    assert solution.dual == pytest.approx(truth.dual, abs=slack)
    # The gap does not: its slope in F is a violation, at most tol for each unit of weight.
    assert solution.gap == pytest.approx(truth.gap, rel=0.05)
    assert truth.violation <= (1 + 2 * CHECK) * 1e-3


def test_products_in_single_precision_are_used_and_checked(monkeypatch):
    asked = []
    monkeypatch.setattr(
        Tiled, "matvec", lambda *arguments: asked.append(1) or pytest.fail("a full product")
    )
    risk = problem(Hinge(), 1.0)
    assert minimize(risk, SMO(tol=1e-3)).converged
    assert not asked


def test_double_precision_takes_over_where_single_is_not_enough(monkeypatch):
    monkeypatch.setattr(smo, "STALL", 10**9)  # the steps in single precision may take their time
    risk = problem(Hinge(), 2e4)
    solver = SMO(tol=1e-3)
    rough = solver.solve(risk, None, Monitor())
    assert not believed(risk, rough, solver.tol)
    solution = minimize(risk, solver)
    assert solution.converged
    assert solution.n_iter >= rough.n_iter
    assert exact(risk).certificate(solution.a, solution.b).violation <= 1e-3 * (1 + 1e-6)


def test_double_precision_takes_over_where_single_stalls():
    risk = problem(Hinge(), 2e4)
    answer = SMO(tol=1e-3).solve(risk, None, Monitor())
    assert answer.n_iter > smo.STALL * risk.n
    assert believed(risk, answer, 1e-3)
    assert exact(risk).certificate(answer.a, answer.b).violation <= 1e-3 * (1 + 1e-6)


def test_a_wrong_product_is_not_believed():
    risk = problem(Hinge(), 1.0)
    a = SMO(tol=1e-3).solve(risk, None, Monitor()).a
    Ka = exact(risk).K.matvec(a)
    answer = Answer(a, np.zeros(1), 1, Ka)
    assert believed(risk, answer, 1e-3)
    assert not believed(risk, replace(answer, Ka=Ka + 2 * CHECK * 1e-3), 1e-3)
    assert not believed(risk, replace(answer, Ka=None), 1e-3)


def test_small_tolerances_are_met_in_double_precision():
    risk = problem(EpsilonInsensitive(0.1), 1.0)
    solution = minimize(risk, SMO(tol=1e-7))
    assert solution.converged
    truth = exact(risk).certificate(solution.a, solution.b)
    assert truth.violation <= 1e-7 * (1 + 1e-6)
    assert solution.objective == pytest.approx(truth.primal, rel=1e-12)


def test_a_start_that_no_longer_holds_is_recomputed():
    first = problem(Hinge(), 1.0)
    second = problem(Hinge(), 1.0, seed=1)
    start = minimize(first, SMO())
    solution = minimize(second, SMO(), start)
    cold = minimize(second, SMO())
    assert solution.converged
    assert solution.objective == pytest.approx(cold.objective, rel=1e-4)


def test_a_start_that_holds_needs_no_rows_of_its_support(monkeypatch):
    risk = problem(Hinge(), 1.0)
    start = minimize(risk, SMO())
    added = []
    plain = Tiled.add_rows
    monkeypatch.setattr(
        Tiled,
        "add_rows",
        lambda K, F, index, *rest: added.append(index) or plain(K, F, index, *rest),
    )
    monkeypatch.setattr("mercer.gram.rows.WHOLE", 0)
    again = minimize(risk, SMO(), start)
    assert again.converged
    # A step or two, because coefficients were settled; not the several hundred rows of the support.
    assert again.n_iter <= 4
    assert sum(map(len, added)) <= 8 < len(start.support)
