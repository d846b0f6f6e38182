"""The bound on the excess over the whole problem: never below the truth, and near to it."""

import warnings

import numpy as np
import pytest

from mercer import (
    LSSVR,
    SVC,
    SVR,
    KernelClassifier,
    KernelLogisticRegression,
    KernelRegressor,
    Nystrom,
    RandomFeatures,
)
from mercer.gram import Dense
from mercer.kernels import Gaussian, Matern
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Pinball,
    Squared,
    SquaredHinge,
)
from mercer.problems import RegularizedRisk
from mercer.reduced import approximation_error as total_module
from mercer.solvers import InteriorPoint, minimize

LOSSES = [
    *(Absolute(), EpsilonInsensitive(0.1), Huber(), Pinball(0.8), Squared()),
    *(Hinge(), Logistic(), SquaredHinge()),
]
MARGINS = (Hinge, Logistic, SquaredHinge)


def _fitted(X, y, s, loss, how, C):
    kind = KernelClassifier if isinstance(loss, MARGINS) else KernelRegressor
    machine = kind(loss, kernel=Gaussian(1.0), C=C, approximation=how)
    return machine.fit(X, y, sample_weight=s).solution_


def _sample(seed, loss):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 70))
    X = rng.normal(size=(n, 2))
    y = np.sin(2 * X[:, 0]) + 0.4 * rng.normal(size=n)
    y = np.where(y > 0, 1.0, -1.0) if isinstance(loss, MARGINS) else y
    return X, y, rng.uniform(0.2, 1.0, n), float(10 ** rng.uniform(-1, 2)), int(rng.integers(3, 15))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("how", [Nystrom, RandomFeatures])
def test_the_bound_is_never_below_the_excess(how, loss):
    for seed in range(7):
        X, y, s, C, m = _sample(seed, loss)
        found = _fitted(X, y, s, loss, how(m), C)
        risk = RegularizedRisk(loss, Dense(Gaussian(1.0)(X)), y, C * s, np.ones((len(y), 1)))
        exact = minimize(risk, InteriorPoint(tol=1e-9))
        assert found.total_gap_proved
        excess, rounding = found.objective - exact.objective, 1e-8 * exact.objective
        assert excess <= found.total_gap + rounding
        # And not by much more: some steps towards the whole problem were made.
        assert found.total_gap <= 1.1 * max(excess, 0.0) + 0.02 * found.objective


@pytest.mark.parametrize(
    "loss", [Squared(), Hinge(), EpsilonInsensitive(0.1), Logistic()], ids=repr
)
def test_scaling_alone_is_a_bound_too(loss, monkeypatch):
    monkeypatch.setattr(total_module, "_solver", lambda risk: None)
    for seed in range(5):
        X, y, s, C, m = _sample(seed, loss)
        found = _fitted(X, y, s, loss, Nystrom(m), C)
        risk = RegularizedRisk(loss, Dense(Gaussian(1.0)(X)), y, C * s, np.ones((len(y), 1)))
        excess = found.objective - minimize(risk, InteriorPoint(tol=1e-9)).objective
        assert excess <= found.total_gap + 1e-8 * found.objective
        # Coefficients as they are, and none at all, are two of the scales; to restore B'a = 0
        # costs a part of the objective that the tolerance leaves.
        cost = found.gap + found.approximation_cost
        assert found.total_gap <= min(cost, found.objective) + 1e-3 * found.objective


@pytest.mark.parametrize(
    "machine",
    [LSSVR(C=10.0), SVR(C=10.0), SVC(C=10.0), KernelLogisticRegression(C=10.0)],
    ids=lambda machine: type(machine).__name__,
)
def test_machines_carry_the_bound(machine, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.3 * rng.normal(size=400)
    classes = isinstance(machine, SVC | KernelLogisticRegression)
    target = y > 0 if classes else y
    machine = machine.set_params(kernel=Matern(1.0, nu=1.5))
    exact = machine.fit(X, target).solution_
    few = machine.set_params(approximation=Nystrom(20)).fit(X, target).solution_
    excess = few.objective - exact.objective
    assert few.total_gap_proved
    assert excess - exact.gap <= few.total_gap <= 1.05 * excess
    # Estimated from a sample of rows where there are more than the matrix is made for.
    monkeypatch.setattr(total_module, "MAX_WHOLE_ROWS", 100)
    monkeypatch.setattr(total_module, "MAX_EVALUATED_WHOLE_ROWS", 100)
    guess = machine.fit(X, target).solution_
    assert not guess.total_gap_proved
    assert excess - exact.gap <= guess.total_gap
    assert guess.total_gap <= min(guess.objective, guess.gap + guess.approximation_cost) * 1.001


def test_nothing_is_said_of_what_is_not_known():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = LSSVR(kernel="sigmoid", approximation=Nystrom(10)).fit(X, X[:, 0]).solution_
    assert np.isnan(found.total_gap)
    assert not found.total_gap_proved
