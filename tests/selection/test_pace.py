"""A search and the fit after it end before their limit, by a clock that only evaluations move."""

import time

import numpy as np
import pytest

from mercer import LSSVR, SVC, tune
from mercer._deadline import time_left
from mercer.estimators import RobustLSSVR
from mercer.selection import objective, refits
from mercer.selection.objective import KEPT, LEAST, Pace, Stop

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=60)


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)
    return clock


def slowed(monkeypatch, clock, owner, name):
    """Let a second pass in every call of a function."""
    own = getattr(owner, name)

    def slow(*args, **kwargs):
        clock.now += 1.0
        return own(*args, **kwargs)

    monkeypatch.setattr(owner, name, slow)


@pytest.mark.parametrize("machine", [LSSVR(), SVC()])
def test_no_evaluation_is_begun_that_would_end_after_the_limit(monkeypatch, clock, machine):
    for name in ("Factored", "Spectral"):
        slowed(monkeypatch, clock, objective, name)
    left, fit = [], type(machine).fit

    def fitted(self, *args, **kwargs):
        left.append(time_left())
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(type(machine), "fit", fitted)
    found = tune(machine, X, y if isinstance(machine, LSSVR) else y > 0, max_time=7.9)
    # Seven end in time, but a quarter of an evaluation is kept for the fit.
    assert clock.now == len(found.trials_) == 7
    assert found.status_ == "stopped"
    assert left == [pytest.approx(0.9)]
    # Where evaluations fill the limit to its end there is one less.
    clock.now = 0.0
    found = tune(machine, X, y if isinstance(machine, LSSVR) else y > 0, max_time=7.1)
    assert clock.now == len(found.trials_) == 6


def test_refits_are_counted_before_they_begin(monkeypatch, clock):
    slowed(monkeypatch, clock, refits.Refits, "_held_out")
    found = tune(RobustLSSVR(), X, y, max_time=4.5, refit=False)
    assert clock.now == len(found.trials_) == 4


def test_an_evaluation_on_more_rows_is_judged_by_one_on_few(clock):
    pace = Pace(limit=10.0)
    pace.start(500)
    clock.now = 0.5
    pace.end(500)
    pace.start(1000)  # 16/3 as long
    with pytest.raises(Stop):
        pace.start(2000)  # 24 times as long
    # Half of the limit at most is kept for the last fit, however many rows it has.
    pace.rows = 10**6
    pace.start(500)
    clock.now = 10.0 * (1.0 - KEPT)
    with pytest.raises(Stop):
        pace.start(500)


def test_a_fit_after_a_search_that_is_late_is_given_a_moment(clock):
    pace = Pace(limit=1.0)
    with pace.last_fit():
        assert time_left() == 1.0
    clock.now = 5.0
    assert pace.late
    with pace.last_fit():
        assert time_left() == pytest.approx(LEAST)
    with Pace().last_fit():
        assert time_left() == np.inf
