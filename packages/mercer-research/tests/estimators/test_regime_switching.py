"""Regimes that are known are found, and each machine is that of its own samples."""

import numpy as np
import pytest

from mercer import LSSVR
from mercer_research.estimators import RegimeSwitchingRegressor

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (240, 1))
WHO = np.repeat([0, 1, 0, 1], 60)
Y = np.where(WHO == 0, np.sin(3 * X[:, 0]), -0.5 - X[:, 0]) + 0.02 * RNG.normal(size=240)
BASE = LSSVR(C=100.0)


@pytest.mark.parametrize("seed", range(4))
def test_regimes_are_found(seed):
    found = RegimeSwitchingRegressor(BASE, random_state=seed).fit(X, Y)
    same = np.mean(found.labels_ == WHO)
    assert max(same, 1 - same) > 0.95  # a few samples beside the switches may go either way
    assert found.errors_[-1] < found.errors_[0]
    np.testing.assert_allclose(found.shares_.sum(axis=1), 1.0)


def test_three_regimes_are_found():
    """Of three regimes a machine that takes the samples it predicts worst finds none."""
    who = np.repeat([0, 1, 2], 80)
    y = np.choose(who, [np.sin(3 * X[:, 0]), -1.5 - X[:, 0], 2.0 + X[:, 0] ** 2])
    found = RegimeSwitchingRegressor(BASE, n_regimes=3).fit(X, y)
    counts = np.array([np.bincount(found.labels_[who == k], minlength=3) for k in range(3)])
    assert sorted(np.argmax(counts, axis=1)) == [0, 1, 2]
    # At each of the two switches a window of 10 samples may go either way.
    assert np.sum(np.max(counts, axis=1)) >= len(y) - 2 * 10


def test_each_machine_is_that_of_its_samples():
    found = RegimeSwitchingRegressor(BASE).fit(X, Y)
    for k, machine in enumerate(found.estimators_):
        mine = found.labels_ == k
        alone = LSSVR(C=100.0).fit(X, Y, sample_weight=mine.astype(float))
        np.testing.assert_allclose(machine.predict(X), alone.predict(X))


def test_the_last_regime_goes_on():
    found = RegimeSwitchingRegressor(BASE).fit(X, Y)
    assert set(np.flatnonzero(WHO == 1)) & set(found.last_segment())
    np.testing.assert_array_equal(
        found.predict(X[:5]), found.estimators_[found.labels_[-1]].predict(X[:5])
    )


def test_one_machine_has_no_rival():
    alone = RegimeSwitchingRegressor(BASE, n_regimes=1, n_rounds=2).fit(X, Y)
    np.testing.assert_allclose(alone.predict(X), BASE.fit(X, Y).predict(X))


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="at least 1"):
        RegimeSwitchingRegressor(n_regimes=0).fit(X, Y)
