"""Single precision where it is enough: what it does to the certificate, and when it is left."""

from dataclasses import replace

import numpy as np
import pytest

from mercer.gram import Tiled
from mercer.kernels import Gaussian, Laplacian
from mercer.losses import EpsilonInsensitive, Hinge
from mercer.problems import RegularizedRisk
from mercer.solvers import SMO, Status, minimize, smo
from mercer.solvers.base import Answer
from mercer.solvers.certify import CHECKED_TOL_PART, believed
from mercer.solvers.monitor import Monitor

N = 1200


def problem(loss, C, seed=0, kernel=Gaussian(1.5)):  # noqa: B008, a value
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 4))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=N)
    y = np.where(f > 0, 1.0, -1.0) if isinstance(loss, Hinge) else f
    return RegularizedRisk(loss, Tiled(kernel, X), y, C, np.ones((N, 1)))


def exact(risk):
    """Return the same problem over the matrix in float64."""
    return RegularizedRisk(risk.loss, Tiled(risk.K.kernel, risk.K.X), risk.y, risk.c, risk.B)


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.1)])
@pytest.mark.parametrize("C", [0.1, 10.0, 1e3])
@pytest.mark.parametrize("kernel", [Gaussian(1.5), Gaussian(0.3), Laplacian(2.0)], ids=repr)
def test_bounds_are_those_of_double_precision(loss, C, kernel):
    risk = problem(loss, C, kernel=kernel)
    solution = minimize(risk, SMO(tol=1e-3))
    assert solution.status is Status.CONVERGED
    truth = exact(risk).certificate(solution.a, solution.b)
    # Rounding of float64 in sums of |a_i a_j k_ij| and of weighted losses.
    A = np.abs(solution.a)
    slack = 8 * np.finfo(float).eps * (float(A @ exact(risk).K.matvec(A)) + C * N)
    assert solution.objective >= truth.primal - slack
    assert solution.dual <= truth.dual + slack
    assert solution.gap >= truth.gap - slack
    # And they say no more than they must: rows on the safe side add nothing.
    assert solution.objective == pytest.approx(truth.primal, rel=1e-9)
    assert solution.gap == pytest.approx(truth.gap, rel=1e-6, abs=slack)
    assert truth.violation <= 1e-3 * (1 + 1e-9)


def test_errors_that_are_admitted_are_errors(monkeypatch):
    """The bound holds for the products of a run, and it is not zero where they are rounded."""
    seen = []
    plain = smo._State.correct

    def look(state, everywhere=False):
        seen.append((state.F.copy(), state.error(), state.a.copy(), state.K))
        plain(state, everywhere)

    monkeypatch.setattr(smo._State, "correct", look)
    for C in (1.0, 100.0):
        minimize(problem(Hinge(), C), SMO(tol=1e-3))
    for F, error, a, K in seen:
        off = np.abs(F - exact_product(K, a))
        assert np.all(off <= error)
        assert np.max(off) > 0.0
        assert np.median(error) < 1.0  # of a margin that is one


def exact_product(K, a):
    return Tiled(K.kernel, K.X).matvec(a)


def test_products_in_single_precision_are_used_and_checked(monkeypatch):
    asked = []
    monkeypatch.setattr(
        Tiled, "matvec", lambda *arguments: asked.append(1) or pytest.fail("a full product")
    )
    risk = problem(Hinge(), 1.0)
    assert minimize(risk, SMO(tol=1e-3)).converged
    assert not asked


@pytest.mark.parametrize("stall", [smo.MAX_FLOAT32_STEPS_PER_ROW, 10**9])
def test_large_weights_are_met_in_double_precision(monkeypatch, stall):
    monkeypatch.setattr(
        smo, "MAX_FLOAT32_STEPS_PER_ROW", stall
    )  # the steps in single precision may take their time
    risk = problem(Hinge(), 2e4)
    solution = minimize(risk, SMO(tol=1e-3))
    assert solution.converged
    assert exact(risk).certificate(solution.a, solution.b).violation <= 1e-3 * (1 + 1e-6)


def test_double_precision_takes_over_where_single_stalls(monkeypatch):
    monkeypatch.setattr(smo, "MAX_FLOAT32_STEPS_PER_ROW", 0)
    monkeypatch.setattr(smo, "MAX_CALL_WORK", 1)  # a hundred steps a call
    everywhere = []
    plain = smo._State.correct

    def watch(state, everywhere_=False, **how):
        everywhere.append(bool(how.get("everywhere", everywhere_)))
        plain(state, everywhere[-1])

    monkeypatch.setattr(smo._State, "correct", watch)
    risk = problem(Hinge(), 100.0)
    solution = minimize(risk, SMO(tol=1e-3))
    assert everywhere[-1]
    assert solution.converged
    assert exact(risk).certificate(solution.a, solution.b).violation <= 1e-3 * (1 + 1e-6)


def test_a_wrong_product_is_not_believed():
    risk = problem(Hinge(), 1.0)
    a = SMO(tol=1e-3).solve(risk, None, Monitor()).a
    Ka = exact(risk).K.matvec(a)
    answer = Answer(a, np.zeros(1), 1, Ka)
    assert believed(risk, answer, 1e-3)
    assert not believed(risk, replace(answer, Ka=Ka + 2 * CHECKED_TOL_PART * 1e-3), 1e-3)
    assert not believed(risk, replace(answer, Ka=None), 1e-3)
    admitted = replace(answer, Ka=Ka + 0.1, error=np.full(N, 0.11))
    assert believed(risk, admitted, 1e-3)


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
    monkeypatch.setattr("mercer.gram.row_store.MAX_WHOLE_ROWS", 0)
    again = minimize(risk, SMO(), start)
    assert again.converged
    # A step or two, because coefficients were settled; not the several hundred rows of the support.
    assert again.n_iter <= 4
    assert sum(map(len, added)) <= 8 < len(start.support)
