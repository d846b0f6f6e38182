"""A fit that fails or is interrupted leaves an estimator as it was, bit by bit."""

import pickle
import warnings

import numpy as np
import pytest

from hostile.generator import case, good
from hostile.judge import fit, fitted, interrupted, state
from hostile.machines import MACHINES, kind


# An interrupt that falls into the clearing of memory is dropped by the interpreter, with a warning.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", MACHINES)
def test_an_interrupt_changes_nothing(name):
    number = [*MACHINES].index(name)
    outcome = interrupted(case(number), np.random.default_rng(number))
    assert not outcome.failed, outcome.detail


@pytest.mark.parametrize("name", MACHINES)
def test_a_refusal_changes_nothing(name):
    machine = pickle.loads(fitted(name))
    before = state(machine)
    X, y = good(name, seed=1, n=24, p=2)
    series = kind(machine) == "series"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for late in (False, True):
            # Late: the columns are read, and nothing comes of them.
            y_bad = np.full(24, "a", dtype=object) if series else y[:23] if not late else y
            X_bad = np.full_like(X, 1e200) if late else X
            try:
                fit(machine, X_bad, y_bad)
            except Exception:  # whatever it is: that is judged elsewhere
                assert state(machine) == before
            else:
                machine = pickle.loads(fitted(name))


def test_every_estimator_is_guarded():
    assert all(getattr(machine.fit, "all_or_nothing", False) for machine in MACHINES.values())
