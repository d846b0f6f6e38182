"""Surfaces and successive halving."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_moons
from sklearn.linear_model import Ridge

from mercer import LSSVR, SVC, SVR
from mercer.selection import criterion_surface, halve, tune
from mercer.smoothing import Spectral
from mercer.smoothing.criteria import GCV

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(150, 2))
y = np.sin(3 * X[:, 0]) + 0.2 * RNG.normal(size=150)


def test_a_surface_holds_the_criterion_of_every_pair():
    surface = criterion_surface(LSSVR(gamma=0.5), X, y, criterion="gcv")
    k, m = 12, 20
    spectral = Spectral(surface.kernels[k](X), np.ones((150, 1)))
    expected = GCV().value(spectral.at(y, float(surface.Cs[m])))
    assert_allclose(surface.values[k, m], expected, rtol=1e-9)
    assert surface.factors[k] == pytest.approx(1.0)
    assert_allclose(surface.kernels[k].length_scale, 1.0)


def test_the_descent_ends_no_higher_than_the_lowest_point_of_the_surface():
    surface = criterion_surface(LSSVR(), X, y)
    found = tune(LSSVR(), X, y, criterion="loo")
    assert found.best_value_ <= surface.values[surface.best] * 1.0001
    assert set(surface.best_params) == {"kernel", "C"}
    with pytest.raises(ValueError, match="positive"):
        criterion_surface(LSSVR(), X, y, Cs=[0.0])


def test_halving_finds_what_is_best_on_all_rows():
    grid = {"gamma": [1e-3, 1.0, 1e3], "C": [0.1, 10.0, 1000.0]}
    found = halve(SVR(epsilon=0.05), X, y, grid, min_rows=50)
    rounds = {}
    for trial in found.trials_:
        rounds.setdefault(trial.rows, []).append(trial)
    assert list(rounds) == [50, 150]
    assert [len(tried) for tried in rounds.values()] == [9, 3]
    best = min(rounds[150], key=lambda trial: trial.value)
    assert found.best_params_ == best.parameters
    assert found.best_params_["gamma"] == 1.0
    assert found.best_estimator_.score(X, y) > 0.8
    assert found.status_ == "converged"


def test_halving_takes_any_estimator_and_a_list():
    moons = make_moons(120, noise=0.2, random_state=0)
    found = halve(SVC(), *moons, [{"gamma": 1.0}, {"gamma": 1e-4}], refit=False)
    assert found.best_params_ == {"gamma": 1.0}
    assert not hasattr(found.best_estimator_, "support_")
    assert halve(Ridge(), X, y, {"alpha": [1.0]}).best_params_ == {"alpha": 1.0}


def test_halving_can_be_ended():
    found = halve(SVR(), X, y, {"C": [1.0, 10.0]}, callback=lambda trial: True)
    assert found.status_ == "stopped"
    assert len(found.trials_) == 1
    assert found.best_params_ == {"C": 1.0}
    assert halve(SVR(), X, y, {"C": [1.0, 2.0]}, max_time=1e-9).status_ == "stopped"


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        halve(SVR(), X, y, {"C": [1.0]}, keep=1.0)
    with pytest.raises(ValueError, match="at least one"):
        halve(SVR(), X, y, [])
