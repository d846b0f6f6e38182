"""Leaving one out: the same as fitting without it, and what single samples do."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import (
    SVC,
    SVR,
    KernelClassifier,
    KernelRegressor,
    NuSVC,
    NuSVR,
    OneClassSVM,
    QuantileSVR,
)
from mercer.kernels import Gaussian
from mercer.regularizers import Empty, Polynomial
from mercer.selection import influence, leave_one_out


def sample(n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    noise = rng.normal(size=n)
    return X, np.where(X[:, 0] + 0.7 * noise > 0, 1, 0), np.sin(2 * X[:, 0]) + 0.2 * noise


CLASSIFIERS = [
    SVC(kernel=Gaussian(1.0), C=2.0, tol=1e-8),
    SVC(kernel=Gaussian(1.0), C=2.0, null_space=Empty(), tol=1e-8),
    NuSVC(kernel=Gaussian(1.0), nu=0.4, tol=1e-8),
    KernelClassifier("squared_hinge", kernel=Gaussian(1.0), C=2.0, tol=1e-8),
    KernelClassifier("logistic", kernel=Gaussian(1.0), C=2.0, tol=1e-8),
]
REGRESSORS = [
    SVR(kernel=Gaussian(1.0), C=2.0, epsilon=0.2, tol=1e-8),
    NuSVR(kernel=Gaussian(1.0), C=2.0, nu=0.4, tol=1e-8),
    QuantileSVR(kernel=Gaussian(1.0), quantile=0.7, tol=1e-8),
    KernelRegressor("squared", kernel=Gaussian(1.0), C=2.0, null_space=Polynomial(1), tol=1e-8),
    KernelRegressor("huber", kernel=Gaussian(1.0), C=2.0, tol=1e-8),
]


def name(machine):
    loss = getattr(machine, "loss", "")
    return f"{type(machine).__name__}{loss}{'' if machine.null_space is None else '-free'}"


@pytest.mark.parametrize("machine", CLASSIFIERS + REGRESSORS, ids=name)
@pytest.mark.parametrize("weighted", [False, True], ids=["alike", "weighted"])
def test_refits_by_hand_agree(machine, weighted):
    X, labels, numbers = sample()
    y = labels if machine in CLASSIFIERS else numbers
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weighted else None
    machine.fit(X, y, weights)
    left = leave_one_out(machine, X, y, sample_weight=weights)
    # In nu-machines every sample counts in the share that nu is of.
    nu = isinstance(machine, NuSVC | NuSVR)
    assert set(left.refitted) == (set(range(30)) if nu else set(machine.support_))
    for i in range(0, len(y), 3):
        keep = np.arange(len(y)) != i
        again = clone(machine)
        again.fit(X[keep], y[keep], None if weights is None else weights[keep])
        by_hand = getattr(again, "decision_function", again.predict)(X[i : i + 1])[0]
        # Optimality conditions hold to 1e-8 in both; the strongly convex part moves decision
        # values by no more than the root of C n times that.
        assert left.decision[i] == pytest.approx(by_hand, abs=np.sqrt(1e-8 * 2.0 * 30))
        if abs(by_hand) > 1e-3:
            assert left.prediction[i] == pytest.approx(again.predict(X[i : i + 1])[0], abs=1e-3)
    if machine in CLASSIFIERS:
        assert left.risk == pytest.approx(np.mean(left.prediction != y))
    else:
        assert left.risk == pytest.approx(np.mean((y - left.decision) ** 2))


def test_the_squared_loss_needs_no_refit():
    X, _, y = sample()
    machine = KernelRegressor("squared", kernel=Gaussian(1.0), C=3.0).fit(X, y)
    left = leave_one_out(machine, X, y)
    for i in range(len(y)):
        keep = np.arange(len(y)) != i
        again = KernelRegressor("squared", kernel=Gaussian(1.0), C=3.0).fit(X[keep], y[keep])
        assert left.decision[i] == pytest.approx(again.predict(X[i : i + 1])[0], abs=1e-9)


def test_several_classes():
    X, _, _ = sample(36)
    y = np.repeat([0, 1, 2], 12)
    X = X + 1.5 * np.stack([y == 1, y == 2], axis=1)
    machine = SVC(kernel=Gaussian(1.0), C=1.0, tol=1e-6).fit(X, y)
    left = leave_one_out(machine, X, y)
    assert left.decision is None
    for i in range(0, 36, 5):
        keep = np.arange(36) != i
        again = SVC(kernel=Gaussian(1.0), C=1.0, tol=1e-6).fit(X[keep], y[keep])
        assert left.prediction[i] == again.predict(X[i : i + 1])[0]


def test_a_region_without_targets():
    X, _, _ = sample(30)
    machine = OneClassSVM(kernel=Gaussian(1.0), nu=0.3, tol=1e-8).fit(X)
    left = leave_one_out(machine, X)
    for i in machine.support_[:5]:
        again = OneClassSVM(kernel=Gaussian(1.0), nu=0.3, tol=1e-8).fit(np.delete(X, i, axis=0))
        by_hand = again.decision_function(X[i : i + 1])[0]
        assert left.decision[i] == pytest.approx(by_hand, abs=1e-4)
    assert left.risk == pytest.approx(np.mean(left.decision <= 0))


def test_another_sample_is_refused():
    X, y, numbers = sample()
    machine = SVC(kernel=Gaussian(1.0)).fit(X, y)
    with pytest.raises(ValueError, match="not fitted on this sample"):
        leave_one_out(machine, X + 1.0 * np.arange(2), 1 - y)
    machine = KernelRegressor().fit(X, np.stack([numbers, numbers], axis=1))
    with pytest.raises(ValueError, match="one problem"):
        influence(machine, X, np.stack([numbers, numbers], axis=1))


@pytest.mark.parametrize("machine", [REGRESSORS[0], REGRESSORS[3]], ids=name)
def test_influence(machine):
    X, _, y = sample()
    machine.fit(X, y)
    points = np.random.default_rng(2).normal(size=(7, 2))
    effect = influence(machine, X, y, points)
    assert effect.curves.shape == (30, 7)
    assert np.all(effect.curves[np.setdiff1d(np.arange(30), machine.support_)] == 0.0)
    for i in machine.support_[:6]:
        again = clone(machine).fit(np.delete(X, i, 0), np.delete(y, i))
        by_hand = 30 * (machine.predict(points) - again.predict(points))
        # Thirty times the accuracy of the two fits, as above.
        assert effect.curves[i] == pytest.approx(by_hand, abs=30 * np.sqrt(1e-8 * 2.0 * 30) / 10)
        own = machine.predict(X[[i]])[0] - again.predict(X[[i]])[0]
        assert effect.own[i] == pytest.approx(own, abs=1e-4)
    at_sample = influence(machine, X, y)
    assert np.diag(at_sample.curves) == pytest.approx(30 * at_sample.own, abs=1e-8)


def test_influence_is_bounded_where_the_loss_is():
    X = np.linspace(0, 6, 30)[:, None]
    y = np.sin(X[:, 0])
    sizes = {}
    for loss in ("squared", "absolute"):
        for shift in (10.0, 100.0):
            dirty = y.copy()
            dirty[15] += shift
            machine = KernelRegressor(loss, kernel=Gaussian(1.0), tol=1e-6).fit(X, dirty)
            sizes[loss, shift] = influence(machine, X, dirty).size[15]
    assert sizes["squared", 100.0] > 9 * sizes["squared", 10.0]
    assert sizes["absolute", 100.0] == pytest.approx(sizes["absolute", 10.0], rel=1e-3)
