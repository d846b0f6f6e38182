"""Length scales of local machines come from rows that are as dense as their leaves."""

import numpy as np
import pytest

from mercer import LSSVC, LSSVR, SVR
from mercer.kernels import Gaussian
from mercer.local import Local
from mercer.selection import local_tuning, tune

RNG = np.random.default_rng(0)
N = 6000
X = RNG.uniform(size=(N + 1000, 2))
# Forty waves along the first feature: two hundred random rows are too few to see them.
F = np.sin(80 * np.pi * X[:, 0]) + X[:, 1]
Y = F + 0.1 * RNG.normal(size=len(F))
TRAIN, TEST = slice(0, N), slice(N, None)


def error(machine):
    return float(np.sqrt(np.mean((machine.predict(X[TEST]) - F[TEST]) ** 2)))


def test_parts_see_what_random_rows_do_not():
    settings = {"ard": True, "max_rows": 200, "criterion": "evidence"}
    machine = LSSVR(kernel=Gaussian(0.2), approximation=Local(600, adapt=False))
    local = tune(machine, X[TRAIN], Y[TRAIN], **settings)
    spread = tune(LSSVR(kernel=Gaussian(0.2)), X[TRAIN], Y[TRAIN], refit=False, **settings)
    scales = local.best_params_["kernel"].length_scale
    # A wave is 0.025 long.
    assert 0.003 < scales[0] < 0.02 < scales[1]
    everywhere = machine.set_params(**spread.best_params_).fit(X[TRAIN], Y[TRAIN])
    assert error(local.best_estimator_) < 0.2 < 0.5 < error(everywhere)
    assert local.notes_ == ["Chosen from 6 parts of about 200 neighbouring rows of 6000."]
    assert len(local.best_estimator_.leaves_) == 10


@pytest.mark.parametrize(
    "machine", [LSSVC(gamma=1.0, standardize=True), SVR(gamma=1.0)], ids=lambda m: type(m).__name__
)
def test_named_kernels_and_other_losses(machine):
    slow = np.sin(8 * X[TRAIN, 0]) + X[TRAIN, 1] + 0.1 * RNG.normal(size=N)
    y = np.where(slow > 0.5, "above", "below") if isinstance(machine, LSSVC) else slow
    machine.set_params(approximation=Local(600, adapt=False))
    found = tune(machine, X[TRAIN], y, max_rows=150, refit=False)
    assert not hasattr(found.best_estimator_, "solution_")
    fitted = found.best_estimator_.fit(X[TRAIN], y)
    assert fitted.score(X[TRAIN], y) > 0.85


def test_time_and_callbacks_end_the_search():
    machine = LSSVR(kernel=Gaussian(0.2), approximation=Local(600, adapt=False))
    quick = tune(machine, X[TRAIN], Y[TRAIN], max_rows=100, max_time=1e-3, refit=False)
    assert "1 parts" in quick.notes_[0]
    calls = []
    stopped = tune(
        machine,
        X[TRAIN],
        Y[TRAIN],
        max_rows=100,
        refit=False,
        callback=lambda trial: calls.append(trial) or len(calls) == 3,
    )
    assert stopped.status_ == "stopped"
    assert len(calls) == 3


def test_medians_of_logarithms():
    found = local_tuning.middle(
        [
            {"C": 1.0, "kernel": Gaussian([1.0, 2.0]), "standardize": False},
            {"C": 4.0, "kernel": Gaussian([4.0, 8.0]), "standardize": False},
        ]
    )
    assert found["C"] == pytest.approx(2.0)
    np.testing.assert_allclose(found["kernel"].length_scale, [2.0, 4.0])
    assert found["standardize"] is False
