"""``max_time`` is a limit by the clock for a whole fit, however many problems it solves."""

import time
import warnings
from contextlib import suppress
from functools import partial

import numpy as np
import pytest
from scipy.optimize import OptimizeResult
from sklearn.exceptions import ConvergenceWarning as Ended

from hostile.generator import _targets, good
from hostile.judge import fit
from hostile.machines import EVERY, MACHINES, UNIVARIATE, exported, kind, make
from mercer import SVC, SVR, _linear_program
from mercer._deadline import deadline, time_left
from mercer.gram.dictionary import DenseDictionary
from mercer.losses import Absolute
from mercer.manifold import PrincipalCurve
from mercer.manifold.curve import CUTS
from mercer.problems.sparse_risk import SparseRisk
from mercer.programs import central_program
from mercer.programs.columns import generate_columns
from mercer.solvers import ConvergenceWarning, Status
from mercer.solvers.monitor import Monitor

# Rows with which a fit looks at the clock often, for machines whose solver goes step by step; all
# machines and larger samples, by the clock, are in ``benchmarks/suites/max_time.py``.
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

# Every estimator, made as its suites make it.
HOSTS = exported(("mercer_research.manifold",)) | {name: partial(make, name) for name in EVERY}


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


# Numbers at which a loop may wait for ever: for a ratio to fall, or for a set to change.
MIXED = 10.0 ** np.tile([-320.0, -160.0, 0.0, 160.0, 300.0], 6)
FACTORS = [1e300, 1e160, 1e100, 1e-100, 1e-160, 0.0]
# Looks at the clock that a fit takes after its limit for what it has to do once: a first iteration
# of each of its problems, and their reports.
LOOKS = 400


def extreme(values):
    """Yield values that are huge, constant, denormal or mixed."""
    with np.errstate(all="ignore"):
        yield from (values * factor for factor in FACTORS)
        yield (values.T * MIXED).T
    yield np.sign(values) * 5e-324


@pytest.mark.timeout(600)
@pytest.mark.parametrize("where", ["X", "y"])
@pytest.mark.parametrize("name", HOSTS)
def test_a_fit_ends_whatever_the_numbers(name, where, clock):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 1 if name in UNIVARIATE else 2))
    y = _targets(kind(HOSTS[name]()), X, rng)
    if where == "y" and y.dtype.kind != "f":
        pytest.skip("labels")
    for values in extreme(X if where == "X" else y):
        machine = HOSTS[name]()
        limited = "max_time" in machine.get_params(deep=False)
        machine.set_params(**{"max_time": 1.0} if limited else {})
        clock.looks = 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # What an error explains is looked at by the hostile suite.
            with suppress(ArithmeticError, ValueError, TypeError):
                fit(machine, *((values, y) if where == "X" else (X, values)))
        assert clock.looks <= LOOKS or not limited


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("closed", [False, True])
def test_a_length_is_found_whatever_the_unit_of_the_data(closed):
    """Weights that are doubled and halved took 131 fits, and 148 of a closed curve."""
    X = 1e100 * np.random.default_rng(0).normal(size=(20, 2))
    curve = PrincipalCurve(4, length=1.0, closed=closed, n_init=1, max_iter=2).fit(X)
    assert curve.length_ <= 1.0
    # The first curve, some weights to either side of the length, and cuts between them.
    assert len(curve.path_) <= 10 + CUTS


@pytest.mark.filterwarnings("ignore:The curve has the length")
def test_a_curve_ends_soon_after_its_limit(clock):
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.warns(Ended, match="max_time"):
        curve = PrincipalCurve(6, length=2.0, max_time=1.0).fit(X)
    # One fit of one iteration, whose projections look at the clock at every step.
    assert len(curve.path_) == 1


@pytest.mark.parametrize("seconds", [3.0, 8.0])
def test_a_central_path_ends_with_the_time(monkeypatch, clock, seconds):
    """Also inside of a master program, whose rounds are few and long."""
    rng = np.random.default_rng(0)
    G, y = rng.normal(size=(80, 60)), rng.normal(size=80)
    risk = SparseRisk(Absolute(), DenseDictionary(G), y, np.full(80, 3.0))
    steps, plain = [], central_program._Path.step
    monkeypatch.setattr(central_program._Path, "step", lambda path: steps.append(plain(path)))
    ask = _linear_program.linprog

    def on_time(*args, **how):
        """Solve as HiGHS does, which does not always look at its clock where little is left."""
        late = OptimizeResult(status=1, message="Time limit reached.")
        return ask(*args, **how) if time_left() else late

    monkeypatch.setattr(_linear_program, "linprog", on_time)
    whole, all_steps = generate_columns(risk).solution, len(steps)
    assert whole.converged
    steps.clear()
    with deadline(seconds):
        found = generate_columns(risk).solution
    assert found.status is Status.MAX_TIME
    assert len(steps) <= seconds < all_steps
    assert found.dual <= whole.objective + whole.gap
    assert whole.dual <= found.objective
    assert found.gap >= found.objective - found.dual - 1e-9 * abs(found.objective)
