"""``max_time`` is a limit by the clock for a whole fit, however many problems it solves."""

import time
import warnings

import numpy as np
import pytest

from hostile.generator import good
from hostile.judge import fit
from hostile.machines import MACHINES
from mercer import SVC, SVR
from mercer._deadline import deadline, time_left
from mercer.solvers import ConvergenceWarning, Status
from mercer.solvers.monitor import Monitor

# Rows with which a fit looks at the clock often, for machines whose solver goes step by step; all
# machines and larger samples, by the clock, are in ``benchmarks/solvers/max_time.py``.
ROWS = {
    "HuberSVR": 300,
    "KernelLogisticRegression": 300,
    "HeteroscedasticSVR": 3000,
    "PartiallyLinearRegressor": 300,
    "NuSVC": 3000,
    "NuSVR": 3000,
    "HeteroscedasticNuSVR": 300,
    "QuantileSVR": 3000,
    "SVC": 3000,
    "SVR": 3000,
    "ShapeConstrainedClassifier": 300,
    "SupportVectorTube": 3000,
}


class Clock:
    """A clock by which a second passes from one look at it to the next."""

    looks = 0

    def __call__(self):
        self.looks += 1
        return float(self.looks)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)
    return clock


@pytest.mark.parametrize("name", ROWS)
def test_a_fit_ends_soon_after_its_limit(name, clock):
    X, y = good(name, seed=1, n=ROWS[name])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        machine = fit(MACHINES[name](max_time=1.0), X, y)
    at_once, clock.looks = clock.looks, 0
    assert machine.solution_.status is Status.MAX_TIME
    assert any(issubclass(w.category, ConvergenceWarning) for w in told)
    # What is done after the limit looks at the clock as often wherever the limit is.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(MACHINES[name](max_time=8.0), X, y)
    assert clock.looks <= 8 + at_once + 2  # the last step, and its report


@pytest.mark.filterwarnings("ignore::mercer.solvers.ConvergenceWarning")
def test_all_problems_of_a_machine_share_one_clock(clock):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 2)), rng.integers(0, 10, 600)
    machine = SVC(C=1e4, max_time=100.0, solver="smo").fit(X, y)
    limited, clock.looks = clock.looks, 0
    assert machine.solution_.status is Status.MAX_TIME
    SVC(C=1e4, max_time=1.0, solver="smo").fit(X, y)
    # A hundred looks more for all of 45 pairs, not for each.
    assert limited <= clock.looks + 200


def test_monitors_read_the_deadline_around_them():
    assert Monitor().max_time == np.inf
    assert Monitor(max_time=5.0).max_time == 5.0
    with deadline(1.0):
        assert Monitor().max_time <= 1.0
        assert Monitor(max_time=0.5).max_time == 0.5
        with deadline(100.0):
            assert time_left() <= 1.0
    assert time_left() == np.inf


def test_a_limit_that_is_not_reached_changes_nothing():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)), rng.normal(size=100)
    assert np.array_equal(SVR().fit(X, y).dual_coef_, SVR(max_time=100.0).fit(X, y).dual_coef_)
