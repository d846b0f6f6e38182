"""Machines that tune themselves are machines: the same answers as tuning first and fitting then."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import LSSVR, tune
from mercer.kernels import Matern
from mercer.selection import LSSVCCV, LSSVRCV, SVCCV, SVRCV

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(80, 2)) * [1.0, 1000.0]
y = np.sin(3 * X[:, 0]) + 1e-4 * X[:, 1] + 0.2 * RNG.normal(size=80)


def test_it_is_tuning_and_fitting():
    machine = LSSVRCV().fit(X, y)
    found = tune(LSSVR(standardize=True), X, y)
    assert found.best_params_["C"] == machine.C_
    assert_allclose(machine.predict(X), found.best_estimator_.predict(X))
    assert machine.tuning_.status_ == "converged"
    assert machine.solution_.converged
    assert machine.n_features_in_ == 2


def test_scales_of_features_do_not_matter():
    one = LSSVRCV().fit(X, y).predict(X)
    other = LSSVRCV().fit(X * [100.0, 0.001], y).predict(X * [100.0, 0.001])
    assert_allclose(one, other, atol=1e-6)


def test_intervals_and_deviations_come_with_the_machine():
    machine = LSSVRCV(Matern(nu=1.5)).fit(X, y)
    interval = machine.predict_interval(X, coverage=0.9)
    assert 0.8 < np.mean((interval[:, 0] <= y) & (y <= interval[:, 1])) <= 1.0
    _, std = machine.predict(X, return_std=True)
    assert std.shape == (80,)


@pytest.mark.parametrize("machine", [LSSVCCV(), SVCCV(), LSSVCCV(class_weight="balanced")])
def test_classifiers(machine):
    points, labels = make_moons(120, noise=0.2, random_state=0)
    names = np.array(["left", "right"])[labels]
    machine = clone(machine).fit(points, names)
    assert list(machine.classes_) == ["left", "right"]
    assert machine.score(points, names) > 0.9
    assert machine.decision_function(points).shape == (120,)
    if isinstance(machine, LSSVCCV):
        assert_allclose(machine.predict_proba(points).sum(axis=1), 1.0)


def test_several_classes():
    flowers = load_iris(return_X_y=True)
    assert LSSVCCV(codes="one-vs-one").fit(*flowers).score(*flowers) > 0.95


def test_the_tube_follows_the_noise():
    machine = SVRCV().fit(X, y)
    assert 0.0 < machine.machine_.epsilon_ < 0.4
    assert machine.score(X, y) > 0.8


def test_it_works_where_estimators_do():
    frame = pd.DataFrame(X, columns=["a", "b"])
    machine = LSSVRCV(ard=True, budget=10).fit(frame, y)
    assert list(machine.feature_names_in_) == ["a", "b"]
    pipeline = make_pipeline(StandardScaler(), LSSVRCV(standardize=False))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.6


@pytest.mark.parametrize("value", [0.0, 1.0, -3.7])
@pytest.mark.parametrize("n", [30, 52])
def test_points_that_are_all_alike_leave_the_mean(value, n):
    """Rounding of the kernel matrix, which has no variance then, is no unit of C."""
    same, noise = np.full((n, 3), value), np.random.default_rng(n).normal(size=n)
    machine = LSSVRCV(budget=2).fit(same, noise)
    assert machine.C_ <= 1.0  # all weights are alike, and large ones are no better
    assert_allclose(machine.predict(same), np.mean(noise), rtol=1e-12)
    assert_allclose(machine.predict(same[:1]), machine.predict(same)[:1], rtol=1e-15)
