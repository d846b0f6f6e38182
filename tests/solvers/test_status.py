"""The last check of every fit: no convergence next to a gap that is not finite or not small."""

import dataclasses
import warnings

import numpy as np
import pytest

from mercer import (
    LSSVC,
    LSSVR,
    SVC,
    SVR,
    KernelLogisticRegression,
    KernelRegressor,
    NuSVR,
    Nystrom,
    OneClassSVM,
    QuantileSVR,
    ShapeConstrainedRegressor,
)
from mercer.estimators import SparseAdditiveRegressor, SparseRegressor
from mercer.gram import Dense
from mercer.kernels import Gaussian
from mercer.losses import Absolute, Logistic, Squared
from mercer.problems import RegularizedRisk
from mercer.solvers import SMO, ConvergenceWarning, Newton, Status, minimize
from mercer.solvers.monitor import Monitor
from mercer.solvers.rounding import decision_error, rounding_effect, worst_of_rounding
from mercer.solvers.solution import join
from mercer.solvers.status import GAP_ROUNDING, MAX_RELATIVE_GAP, check, relative_gap

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))
y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=40)


def test_relative_gaps_have_no_unit():
    for scale in (1e-200, 1e-12, 1.0, 1e200):
        assert relative_gap(2.0 * scale, 1.5 * scale, 0.5 * scale) == pytest.approx(0.25)
        assert relative_gap(-1.5 * scale, -2.0 * scale, 0.5 * scale) == pytest.approx(0.25)
    assert relative_gap(0.0, -3.0, 3.0) == 1.0
    assert relative_gap(1.0, -np.inf, np.inf) == np.inf
    assert relative_gap(0.0, 0.0, 0.0) == 0.0


@pytest.mark.parametrize(("C", "useless"), [(1e11, False), (1e13, True)])
def test_what_rounding_changes_has_no_unit(C, useless):
    """Twice the targets have four times the squared errors: objective, dual value, and gap."""
    K = Dense(np.ones((2, 2)))
    certificates = []
    for unit in (2.0**-20, 1.0, 2.0**20):
        # Both points are the same, so that opposite slopes cancel, and prove the minimum.
        a, b = unit * np.array([1.0, -1.0]), np.empty(0)
        risk = RegularizedRisk(Squared(), K, a / C, C, np.empty((2, 0)))
        exact = risk.certificate(a, b, np.zeros(2))
        assert exact.gap == pytest.approx(0.0, abs=8 * np.finfo(float).eps * exact.primal)
        effect = rounding_effect(risk, a, exact.f, decision_error(risk, a, b, exact.f))
        part = effect / exact.primal
        assert part > MAX_RELATIVE_GAP if useless else GAP_ROUNDING < part < MAX_RELATIVE_GAP
        found = worst_of_rounding(risk, a, b, exact)
        assert (found.primal > exact.primal * (1.0 + 0.1 * MAX_RELATIVE_GAP)) == useless
        certificates.append(np.array([found.primal, found.dual, found.gap]) / unit**2)
    # Powers of two change no digit.
    np.testing.assert_array_equal(certificates[0], certificates[1])
    np.testing.assert_array_equal(certificates[2], certificates[1])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_never_converged(bad):
    assert check(Status.CONVERGED, bad, 1.0, 0.0) is Status.STALLED
    assert check(Status.CONVERGED, 1.0, -bad, bad) is Status.STALLED
    assert check(Status.MAX_ITER, bad, 1.0, bad) is Status.MAX_ITER


def test_the_bound_is_the_documented_one():
    inside, outside = 0.99 * MAX_RELATIVE_GAP, 1.01 * MAX_RELATIVE_GAP
    assert check(Status.CONVERGED, 1.0, 1.0 - inside, inside) is Status.CONVERGED
    assert check(Status.CONVERGED, 1.0, 1.0 - outside, outside) is Status.LOOSE
    assert check(Status.CONVERGED, 1.0, 1.0 - outside, outside, 2 * outside) is Status.CONVERGED


def test_no_solution_can_be_made_that_claims_more():
    risk = RegularizedRisk(Squared(), Dense(Gaussian(1.0)(X)), y, 1.0)
    solution = minimize(risk, Newton())
    assert solution.converged
    assert dataclasses.replace(solution, gap=np.nan).status is Status.STALLED
    assert dataclasses.replace(solution, gap=0.1 * solution.objective).status is Status.LOOSE


def _answer(risk, solver):
    answer = solver.solve(risk, None, Monitor())
    return answer.a, answer.b


@pytest.mark.parametrize("solver", [SMO, Newton])
def test_solvers_go_on_until_the_gap_is_small(solver):
    """Conditions met to tol leave a gap of tol times the weights, half of a small objective."""
    newton = solver is Newton
    loss, target, c = (Logistic(), np.sign(y), 1e6) if newton else (Absolute(), 0.1 * y, 1e3)
    risk = RegularizedRisk(loss, Dense(Gaussian(0.02)(X)), target, c, np.ones((40, 1)))
    rough = risk.certificate(*_answer(risk, solver(tol=1e-3)))
    assert relative_gap(rough.primal, rough.dual, rough.gap) > 0.1
    lines = []
    found = minimize(risk, solver(tol=1e-3), listener=lines.append)
    assert found.converged
    assert found.relative_gap <= MAX_RELATIVE_GAP
    assert [line.iteration for line in lines] == sorted(line.iteration for line in lines)
    assert len(lines) == len(found.history)
    assert lines[-1].iteration == found.history[-1].iteration == found.n_iter
    best = minimize(risk, solver(tol=1e-9))
    assert found.objective - best.objective <= found.gap * (1 + 1e-9)


def test_a_gap_that_stays_large_is_said_with_its_number():
    risk = RegularizedRisk(Absolute(), Dense(Gaussian(1.0)(X)), 1e-150 * y, 1.0, np.ones((40, 1)))
    with pytest.warns(ConvergenceWarning, match=r"gap .* is 1 times the objective"):
        found = minimize(risk, SMO())
    assert found.status is Status.LOOSE
    assert not found.converged


MACHINES = [
    *(LSSVR(), LSSVR(approximation=Nystrom(5)), SVR(epsilon=0.0), SVR(C=1e3, gamma=100.0)),
    *(SVR(approximation=Nystrom(20)), NuSVR(), QuantileSVR(), KernelRegressor("huber")),
    *(
        ShapeConstrainedRegressor({0: 1}, grid=20),
        SparseRegressor(),
        SparseAdditiveRegressor(mu=1.0),
    ),
    *(SVC(C=1e3, gamma=1e3), LSSVC(), KernelLogisticRegression(C=1e6, gamma=1e3)),
    *(KernelLogisticRegression(approximation=Nystrom(10)), OneClassSVM(gamma=1e-3)),
]


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
@pytest.mark.parametrize("scale", [0.0, 1e-6, 1.0, 1e160])
@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_every_machine_says_what_its_gap_is_worth(machine, scale):
    classes = hasattr(machine, "predict_proba") or isinstance(machine, SVC | LSSVC | OneClassSVM)
    target, inputs = (y > 0, X * max(scale, 1e-6)) if classes else (scale * y, X)
    refused = (ValueError, ArithmeticError, np.linalg.LinAlgError) if scale == 1e160 else ()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        try:
            solution = machine.fit(inputs, target).solution_
        except refused:
            return
    told = any(issubclass(line.category, ConvergenceWarning) for line in caught)
    assert told == (solution.status is not Status.CONVERGED)
    assert np.isfinite(solution.objective)
    if solution.converged:
        assert np.isfinite(solution.gap)
        assert solution.relative_gap <= MAX_RELATIVE_GAP or solution.gap <= solution.resolution


def test_converged_solutions_are_converged_together():
    risk = RegularizedRisk(Squared(), Dense(Gaussian(1.0)(X)), y, 1.0)
    one = minimize(risk, Newton())
    gap = 0.02 * one.objective
    small = dataclasses.replace(one, gap=gap, resolution=gap)  # a large gap that counts as none
    assert small.converged
    assert join([small, small]).converged
    assert not join([small, dataclasses.replace(one, gap=gap)]).converged
