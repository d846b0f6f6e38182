"""A problem that was declared is the problem of the fit, and its solution is the machine."""

from copy import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from mercer import (
    LSSVC,
    LSSVR,
    SVC,
    SVR,
    CensoredRegressor,
    KernelClassifier,
    KernelRegressor,
    NuSVC,
    NuSVR,
    OneClassSVM,
    QuantileSVR,
)
from mercer.estimators import HeteroscedasticNuSVR, HeteroscedasticSVR, HuberSVR, SupportVectorTube
from mercer.machines.base import unfitted
from mercer.machines.subproblems import Rows, SolvedSubproblem, prepare
from mercer.regularizers import AutoRegressive
from mercer.solvers import minimize
from mercer.solvers.solution import join
from mercer_research.estimators import PartiallyLinearRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
y = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=40)
CLASSES = np.digitize(X[:, 0], [-0.4, 0.4])
WEIGHTS = RNG.uniform(0.5, 2.0, size=40)

REGRESSORS = [
    SVR(),
    NuSVR(),
    SupportVectorTube(exceptions=3),
    PartiallyLinearRegressor(),
    HeteroscedasticNuSVR(),
    HeteroscedasticNuSVR(symmetric=False),
    HeteroscedasticSVR(lambda Z: 0.1 + 0.05 * np.abs(Z[:, 0])),
    LSSVR(C=10.0),
    KernelRegressor(errors=AutoRegressive(0.3)),
    CensoredRegressor(ranking=1.0),
]
CLASSIFIERS = [SVC(), NuSVC(nu=0.3), LSSVC(), KernelClassifier("logistic")]


def named(machine):
    return type(machine).__name__


@pytest.mark.parametrize(
    ("machine", "target"),
    [(machine, y) for machine in REGRESSORS] + [(machine, CLASSES) for machine in CLASSIFIERS],
    ids=lambda value: named(value) if hasattr(value, "fit") else "",
)
def test_four_steps_make_the_machine_of_the_fit(machine, target):
    machine = clone(machine).set_params(tol=1e-8)
    fitted = clone(machine).fit(X, target, WEIGHTS)
    prepared = prepare(unfitted(machine), X, target, WEIGHTS)
    made = prepared.machine
    solutions = [minimize(one.risk, made._make_solver()) for one in prepared.subproblems]
    made.solution_ = join(solutions)
    read = zip(prepared.subproblems, solutions, strict=True)
    made._assemble(prepared.sample, [SolvedSubproblem(s, *one.read(s)) for one, s in read])
    if prepared.sample.order is not None:
        made.support_ = prepared.sample.order[made.support_].astype(np.int32)
    method = "decision_function" if target is CLASSES else "predict"
    expected, found = (getattr(one, method)(X) for one in (fitted, made))
    # By strong convexity |f - f'|_K^2 <= 2 (gap + gap'), which is some 1e-7 here.
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3 * np.std(expected))
    assert found.shape == expected.shape


@pytest.mark.parametrize("machine", [*REGRESSORS, *CLASSIFIERS], ids=named)
def test_declaring_a_clone_leaves_the_machine_as_it_was(machine):
    before = copy(vars(machine))
    prepare(unfitted(machine), X, CLASSES if machine in CLASSIFIERS else y)
    assert vars(machine) == before
    with pytest.raises(NotFittedError):
        machine.predict(X)


@pytest.mark.parametrize(
    ("machine", "target"),
    [
        (SVC(), CLASSES),
        (LSSVC(), CLASSES),
        (KernelClassifier("squared_hinge"), CLASSES),
        (SVR(epsilon=0.2), y),
        (QuantileSVR(quantile=0.3), y),
        (HuberSVR(delta=0.5), y),
        (LSSVR(), y),
    ],
    ids=lambda value: named(value) if hasattr(value, "fit") else "",
)
def test_an_approximation_has_the_loss_of_the_exact_problem(machine, target):
    prepared = prepare(unfitted(machine), X, target)
    labels = np.unique(target) if target is CLASSES else None
    loss = prepared.machine._low_rank_problem(Rows(None), labels).loss
    assert all(risk.loss == loss for risk in prepared.risks)


def test_other_weights_pose_the_problem_again():
    prepared = prepare(unfitted(SVR(C=2.0)), X, y, WEIGHTS)
    twice = prepared.reweighted(2.0 * WEIGHTS)
    np.testing.assert_array_equal(twice.risks[0].c, 2.0 * prepared.risks[0].c)
    np.testing.assert_array_equal(prepared.risks[0].c, 2.0 * WEIGHTS)


def test_a_loss_that_is_of_a_sample_is_not_told_without_it():
    """An unfitted clone that answered for censored targets had them tuned as plain ones."""
    for machine in (CensoredRegressor(), HeteroscedasticSVR()):
        with pytest.raises(ValueError, match="sample"):
            machine._loss()
    pairs = np.column_stack([y, np.where(y > 0.5, np.inf, y)])
    (risk,) = prepare(unfitted(CensoredRegressor()), X, pairs).risks
    assert np.all(np.isinf(risk.loss.above[y > 0.5]))


def test_a_machine_without_targets_is_declared_without_them():
    (risk,) = prepare(unfitted(OneClassSVM(nu=0.3)), X).risks
    assert risk.n == 40


def test_strangers_are_refused():
    with pytest.raises(TypeError, match="no kernel machine"):
        unfitted(object())
    with pytest.raises(ValueError, match="no parameter C"):
        unfitted(NuSVC(), C=1.0)
