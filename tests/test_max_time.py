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

# Rows with which a fit would take several seconds, for machines whose solver goes step by step. One
# factorization (LSSVR, and what begins with one) is not cut into pieces and ends when it is done.
ROWS = {
    "HuberSVR": 3000,
    "KernelLogisticRegression": 3000,
    "HeteroscedasticSVR": 20_000,
    "PartiallyLinearRegressor": 6000,
    "NuSVC": 20_000,
    "NuSVR": 8000,
    "NuSparseRegressor": 600,
    "HeteroscedasticNuSVR": 3000,
    "QuantileSVR": 8000,
    "SVC": 20_000,
    "SVR": 20_000,
    "ShapeConstrainedClassifier": 3000,
    "SparseClassifier": 1500,
    "SparseRegressor": 1500,
    "SupportVectorTube": 20_000,
    "MultiOutputSVR": 400,
}
LIMIT = 0.15
# What is left to do at the limit: a last working set, the certificate, and the machine itself.
SLACK = 0.25 * LIMIT + 1.5


@pytest.mark.parametrize("name", ROWS)
def test_a_fit_ends_soon_after_its_limit(name):
    machine = MACHINES[name](max_time=LIMIT)
    X, y = good(name, seed=1, n=ROWS[name])
    begin, used = time.perf_counter(), time.process_time()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fit(machine, X, y)
    taken, used = time.perf_counter() - begin, time.process_time() - used
    assert used < LIMIT + SLACK
    # On a fast machine a fit may be over before its limit; one that is not says so.
    in_time = machine.solution_.converged and taken <= LIMIT + SLACK
    assert in_time or machine.solution_.status is Status.MAX_TIME
    assert in_time or any(issubclass(w.category, ConvergenceWarning) for w in told)


@pytest.mark.filterwarnings("ignore::mercer.solvers.ConvergenceWarning")
def test_all_problems_of_a_machine_share_one_clock():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 2)), rng.integers(0, 10, 1500)
    begin = time.process_time()
    machine = SVC(C=1e4, max_time=LIMIT, solver="smo").fit(X, y)  # 45 pairs, seconds each
    assert time.process_time() - begin < LIMIT + SLACK
    assert machine.solution_.status is Status.MAX_TIME


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
