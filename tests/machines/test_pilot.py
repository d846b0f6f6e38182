"""What ``approximation="auto"`` chooses, and that the choice is what is fitted."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import LSSVC, LSSVR, SVC, QuantileSVR
from mercer.data import Arrays
from mercer.kernels import Gaussian, Laplacian
from mercer.local import Local
from mercer.machines import pilot
from mercer.reduced import Nystrom

RNG = np.random.default_rng(0)
X = RNG.uniform(-3, 3, (2000, 2))
WAVES = np.sin(4 * X[:, 0]) * np.cos(4 * X[:, 1]) + 0.1 * RNG.normal(size=len(X))
PLANE = X @ [1.0, 2.0] + 4.0 * RNG.normal(size=len(X))


@pytest.fixture
def small(monkeypatch):
    """Make a sample of two thousand rows a large one, and exact machines dear."""
    for name, value in {
        "MAX_EXACT_ROWS": 500,
        "PART_ROWS": 500,
        "QUICK_SECONDS": 0.0,
        "MAX_EXACT_SECONDS": 0.0,
    }.items():
        monkeypatch.setattr(pilot, name, value)


def test_few_rows_are_exact():
    machine = LSSVR(kernel=Gaussian(0.5), approximation="auto").fit(X[:400], WAVES[:400])
    exact = LSSVR(kernel=Gaussian(0.5)).fit(X[:400], WAVES[:400])
    assert machine.approximation_ is None
    assert machine.approximation_reason_ == "Exact: 400 rows take seconds."
    np.testing.assert_array_equal(machine.predict(X), exact.predict(X))
    assert machine.get_params()["approximation"] == "auto"


@pytest.mark.usefixtures("small")
def test_waves_are_local(monkeypatch):
    # So few landmarks that no function of them has as many waves.
    monkeypatch.setattr(pilot, "MIN_LANDMARKS", 8)
    monkeypatch.setattr(pilot, "MAX_LANDMARKS", 32)
    machine = LSSVR(kernel=Gaussian(0.3), C=10.0, approximation="auto").fit(X, WAVES)
    assert isinstance(machine.approximation_, Local)
    assert machine.approximation_reason_.startswith("Local: parts of 500 rows")
    same = clone(machine).set_params(approximation=Local()).fit(X, WAVES)
    np.testing.assert_array_equal(machine.predict(X[:50]), same.predict(X[:50]))
    assert len(machine.leaves_) == len(same.leaves_)


@pytest.mark.usefixtures("small")
def test_planes_need_few_functions():
    machine = LSSVR(kernel=Gaussian(5.0), approximation="auto").fit(X, PLANE)
    assert isinstance(machine.approximation_, Nystrom)
    same = clone(machine).set_params(approximation=Nystrom()).fit(X, PLANE)
    np.testing.assert_allclose(machine.predict(X[:50]), same.predict(X[:50]), rtol=1e-12)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("limit", ["QUICK_SECONDS", "MAX_EXACT_SECONDS"])
def test_exact_machines_that_are_affordable(monkeypatch, limit):
    monkeypatch.setattr(pilot, limit, 1e9)
    # Parts that are divided into machines of fifty rows are worse than whole ones.
    monkeypatch.setattr(pilot, "Local", lambda: Local(50, adapt=False))
    monkeypatch.setattr(pilot, "MIN_LANDMARKS", 8)
    monkeypatch.setattr(pilot, "MAX_LANDMARKS", 16)
    choice = pilot.choose_approximation(LSSVR(kernel=Gaussian(0.3), C=10.0), X, WAVES)
    assert choice.how is None
    assert choice.reason.startswith("Exact: " + ("all" if limit == "QUICK_SECONDS" else "parts"))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "machine", [SVC(kernel=Laplacian(1.0)), LSSVC(gamma=1.0), QuantileSVR(quantile=0.3, gamma=1.0)]
)
def test_any_loss_and_weights(machine):
    classes = isinstance(machine, SVC | LSSVC)
    y = np.where(WAVES > 0, "up", "down") if classes else WAVES
    weights = RNG.uniform(0.5, 2.0, len(X))
    machine = clone(machine).set_params(approximation="auto")
    machine.fit(X, y, sample_weight=weights.tolist())
    same = clone(machine).set_params(approximation=machine.approximation_)
    same.fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(machine.predict(X[:50]), same.predict(X[:50]))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("bytes_", [0.0, 1e9])
def test_fits_that_do_not_end_are_too_slow(monkeypatch, bytes_):
    monkeypatch.setattr(pilot, "MAX_PILOT_SECONDS", 1e-9)
    monkeypatch.setattr(pilot, "MAX_FACTORED_BYTES", bytes_)
    monkeypatch.setattr(pilot, "MAX_EXACT_SECONDS", 1e9)
    machine = LSSVR(kernel=Gaussian(0.3), C=1e7) if bytes_ == 0.0 else SVC(kernel=Gaussian(0.3))
    y = WAVES if bytes_ == 0.0 else np.where(WAVES > 0, 1, -1)
    choice = pilot.choose_approximation(machine, X, y)
    assert choice.how is not None
    assert "too slow" in choice.reason


@pytest.mark.usefixtures("small")
def test_alike_neighbours():
    y = np.where(np.arange(len(X)) == 7, "rare", "usual")
    choice = pilot.choose_approximation(SVC(), X, y)
    assert isinstance(choice.how, Nystrom)
    assert "alike" in choice.reason


def test_rows_in_blocks_have_few_functions():
    machine = LSSVR(gamma=1.0, approximation="auto").fit(Arrays(X[:600], WAVES[:600]))
    assert machine.solution_.m >= 256
