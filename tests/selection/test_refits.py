"""A machine is tuned as itself, or refused: never as the least-squares machine that it is not."""

import inspect
from importlib import import_module

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.base import is_classifier

from mercer import LSSVR, SVR, CensoredRegressor, KernelRegressor, ShapeConstrainedRegressor
from mercer.estimators import RobustLSSVR
from mercer.estimators.linear import LinearMachine
from mercer.kernels import Gaussian
from mercer.machines.base import KernelMachine
from mercer.selection import tune
from mercer.selection.least_squares_problem import (
    follows_least_squares,
    is_least_squares,
    prepare_statement,
    state,
)
from mercer.selection.refits import ALIKE, FURTHEST, NEAR, WIDEST, Refits, held_out_loss
from mercer.selection.space import Space
from mercer_research.estimators import HardMarginSVC, PartiallyLinearRegressor

NOISE = 0.3


def truth(X):
    return 2.0 * np.sin(1.5 * X[:, 0])


GRID = np.linspace(-3, 3, 300)[:, None]


def error(machine):
    return np.sqrt(np.mean((machine.predict(GRID) - truth(GRID)) ** 2))


def censored(seed, n):
    """Targets with normal noise, of which those above a random limit are only known to exceed."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 1))
    y = truth(X) + NOISE * rng.normal(size=n)
    limit = rng.normal(0.5, 1.0, size=n)
    return X, np.column_stack([np.minimum(y, limit), np.where(y <= limit, y, np.inf)])


def likelihood(machine, X, pairs):
    """Return the mean log-likelihood of censored targets around predictions."""
    r = (pairs[:, 0] - machine.predict(X)) / NOISE
    return np.mean(np.where(np.isfinite(pairs[:, 1]), norm.logpdf(r), norm.logsf(r)))


@pytest.fixture(scope="module")
def tuned_censored():
    X, pairs = censored(0, 120)
    return tune(CensoredRegressor(), X, pairs)


def test_a_tuned_censored_machine_is_no_least_squares_machine_of_lower_ends(tuned_censored):
    X, pairs = censored(0, 120)
    squares = tune(LSSVR(), X, pairs[:, 0])
    new, targets = censored(1, 1000)
    # The lower ends of 44 per cent of the targets are up to several units below the truth.
    assert error(tuned_censored.best_estimator_) < 0.2 * error(squares.best_estimator_)
    own = likelihood(tuned_censored.best_estimator_, new, targets)
    assert own > likelihood(squares.best_estimator_, new, targets) + 1.0
    # Nor are the parameters of that machine as good for this.
    borrowed = CensoredRegressor(**squares.best_params_).fit(X, pairs)
    assert own > likelihood(borrowed, new, targets)
    assert tuned_censored.best_params_["C"] != squares.best_params_["C"]
    assert tuned_censored.criterion == "held-out loss"


def test_the_choice_minimizes_the_loss_of_its_own_refits(tuned_censored):
    """The value of the report is computed again, by hand, and no other trial is better."""
    X, pairs = censored(0, 120)
    on_all = [trial for trial in tuned_censored.trials_ if trial.rows == 120]
    assert tuned_censored.best_value_ == min(trial.value for trial in on_all)
    search = Refits(
        state(CensoredRegressor(), X, pairs),
        Space.of(Gaussian(), 1),
        machine=CensoredRegressor(),
        X=X,
        y=pairs,
        weights=None,
    )
    search.score(search.statement, search.space.start(1.0), "")
    total = 0.0
    for inside, outside in search.folds[120]:
        machine = CensoredRegressor(**tuned_censored.best_params_).fit(X[inside], pairs[inside])
        f = machine.predict(X[outside])
        short = np.clip(f, pairs[outside, 0], pairs[outside, 1]) - f
        total += 0.5 * np.sum(short**2)
    # Fits are as good as tol=1e-3.
    assert_allclose(tuned_censored.best_value_, total / 120, rtol=1e-2)


def test_weights_of_seen_targets_are_those_of_the_fit():
    X, pairs = censored(2, 40)
    machine = CensoredRegressor(weighting="ipcw").fit(X, pairs)
    anchors, s, _ = machine._targets_of(pairs, None)
    expected = 0.5 * np.sum(s * (anchors - machine.predict(X)) ** 2)
    assert_allclose(held_out_loss(machine, X, pairs), expected)


def test_targets_without_censoring_keep_the_closed_criterion():
    X, pairs = censored(3, 60)
    one, other = (tune(each, X, pairs[:, 0]) for each in (CensoredRegressor(), LSSVR()))
    assert one.best_params_ == other.best_params_


@pytest.mark.parametrize("method", ["huber", "bisquare"])
def test_a_tuned_robust_machine_resists_outliers(method):
    rng = np.random.default_rng(2)
    X = rng.uniform(-3, 3, size=(120, 1))
    y = truth(X) + 0.2 * rng.normal(size=120)
    clean = error(tune(LSSVR(), X, y).best_estimator_)
    y[:12] += rng.choice([-1.0, 1.0], size=12) * rng.uniform(10, 30, size=12)
    robust = tune(RobustLSSVR(method=method), X, y)
    squares = tune(LSSVR(), X, y)
    assert error(robust.best_estimator_) < 2.0 * clean < 0.25 * error(squares.best_estimator_)
    # The choice of the other machine would not do.
    borrowed = RobustLSSVR(method=method, **squares.best_params_).fit(X, y)
    assert error(robust.best_estimator_) < 0.3 * error(borrowed)


X = np.random.default_rng(5).uniform(-2, 2, size=(30, 2))
y = np.sin(2 * X[:, 0]) + 0.2 * np.random.default_rng(6).normal(size=30)


@pytest.mark.parametrize(
    ("machine", "squares", "follows"),
    [
        (LSSVR(), True, True),
        (KernelRegressor("squared"), True, True),
        (KernelRegressor("huber"), False, True),
        (SVR(), False, True),
        (RobustLSSVR(), False, False),
        (RobustLSSVR(exact=True), False, False),
        (RobustLSSVR(method="bisquare"), False, False),
        (ShapeConstrainedRegressor(), True, True),
        (ShapeConstrainedRegressor(constraints={0: 1}), False, False),
        (PartiallyLinearRegressor(), False, False),
        (CensoredRegressor(ranking=1.0), False, False),
    ],
    ids=repr,
)
def test_the_problem_says_which_machine_it_is(machine, squares, follows):
    posed = prepare_statement(machine, X, y, None, state(machine, X, y))
    assert is_least_squares(posed) == squares
    assert follows_least_squares(posed) == follows


def test_constraints_are_kept_while_tuning():
    machine, trials = ShapeConstrainedRegressor(constraints={0: 1}, grid=10), []

    def enough(trial):
        trials.append(trial)
        return sum(one.stage == "refits" for one in trials) > 1

    found = tune(machine, X, -X[:, 0], callback=enough)
    line = np.column_stack([np.linspace(-2, 2, 20), np.zeros(20)])
    assert np.all(np.diff(found.best_estimator_.predict(line)) >= -1e-3)
    assert found.criterion == "held-out loss"


def test_criteria_of_other_machines_are_refused():
    with pytest.raises(ValueError, match="RobustLSSVR is tuned by its own held-out loss"):
        tune(RobustLSSVR(), X, y, criterion="gcv")


def test_a_search_without_any_fit_says_why():
    # Points of both classes coincide, so that no kernel separates them.
    labels = np.arange(30) % 2
    with pytest.raises(ValueError, match="could not be fitted with any"):
        tune(HardMarginSVC(), np.repeat(X[:15], 2, axis=0), labels)


def test_a_listener_can_end_the_refits():
    found = tune(RobustLSSVR(), X, y, callback=lambda trial: len(trial.parameters) > 0)
    assert found.status_ == "stopped"
    assert len(found.trials_) == 1


def test_parameters_that_are_fixed_stay():
    found = tune(RobustLSSVR(C=3.0), X, y, fixed=["C"], budget=3)
    assert "C" not in found.best_params_
    assert found.best_estimator_.C == 3.0


def test_scales_of_features_may_part():
    found = tune(PartiallyLinearRegressor(), X, y, ard=True, budget=3, parameters=["length_scale"])
    assert found.best_params_["kernel"].length_scale.shape == (2,)


ROOMS = (
    "mercer",
    *(f"mercer.{room}" for room in ("estimators", "selection", "preprocessing")),
    *(f"mercer_research.{room}" for room in ("estimators", "fusion", "linear", "density")),
    "mercer_research.selection",
)


def exported():
    """Yield every class with a ``fit`` that the library exports."""
    found = {}
    for room in ROOMS:
        module = import_module(room)
        for name in module.__all__:
            one = getattr(module, name)
            if inspect.isclass(one) and hasattr(one, "fit"):
                found[one] = None
    return sorted(found, key=lambda one: one.__name__)


def made(cls):
    """Return an instance, with a machine inside if it is about one."""
    if cls is HardMarginSVC:
        return cls(kernel="rbf")  # no line separates the classes below
    needed = [
        name
        for name, parameter in inspect.signature(cls).parameters.items()
        if parameter.default is parameter.empty
    ]
    return cls(**{name: {"estimator": LSSVR(), "param_grid": {}}.get(name, 1) for name in needed})


# Machines without targets, with several kernels, and with a kernel that other parameters determine.
UNTUNABLE = {
    "OneClassSVM": "predicts no targets",
    "KernelCDF": "predicts no targets",
    "AdditiveClassifier": "tune='weights'",
    "AdditiveRegressor": "tune='weights'",
    "RegularizationNetwork": "GridSearchCV",
    "SmoothingSpline": "GridSearchCV",
    "ThinPlateSpline": "GridSearchCV",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", exported(), ids=lambda cls: cls.__name__)
def test_every_estimator_tunes_as_itself_or_is_refused(cls):
    machine = made(cls)
    targets = (np.hypot(*X.T) > 1.2).astype(int) if is_classifier(machine) else y
    if isinstance(machine, LinearMachine):
        found = tune(machine, X, targets, max_time=0.5)
        assert type(found.best_estimator_) is cls
        assert found.best_params_["C"] == found.best_estimator_.C
        return
    if not isinstance(machine, KernelMachine):
        with pytest.raises(TypeError, match="GridSearchCV"):
            tune(machine, X, targets)
        return
    if cls.__name__ in UNTUNABLE:
        with pytest.raises(ValueError, match=UNTUNABLE[cls.__name__]):
            tune(machine, X, targets)
        return
    found = tune(machine, X, targets, budget=2, max_time=0.5)
    assert type(found.best_estimator_) is cls
    for name, value in found.best_params_.items():
        assert found.best_estimator_.get_params(deep=False)[name] is value
    assert found.best_estimator_.kernel_ == found.best_params_["kernel"]
    assert len(found.best_estimator_.predict(X)) == 30
    assert np.isfinite(found.best_value_)


def test_folds_are_the_same_for_every_candidate():
    search = Refits(
        state(RobustLSSVR(), X, y),
        Space.of(Gaussian(), 2),
        machine=RobustLSSVR(),
        X=X,
        y=y,
        weights=None,
    )
    theta = search.space.start(1.0)
    assert search.score(search.statement, theta, "") == search.score(search.statement, theta, "")
    assert [len(out) for _, out in search.folds[30]] == [6] * 5


class Scored(Refits):
    """Scores by a function of the length scale and C, with the numbers that were asked."""

    def score(self, statement, theta, stage):
        kernel, C = self.space.at(theta)
        self.tried = [*getattr(self, "tried", []), (kernel.length_scale, C)]
        return self.of(kernel.length_scale, C)


def scored(length_scale, of):
    X = np.linspace(0.0, 1.0, 30)[:, None]
    machine = ShapeConstrainedRegressor(constraints={0: 1})
    search = Scored(
        state(machine, X, y),
        Space.of(Gaussian(length_scale), 1),
        machine=machine,
        X=X,
        y=y,
        weights=None,
    )
    search.of = of
    return search


def test_the_simplex_ends_at_the_minimum():
    search = scored(1.0, lambda width, C: np.log(width / 3.0) ** 2 + np.log(C / 20.0) ** 2)
    end = search.descend(search.statement, search.space.start(1.0), 200, "refits")
    kernel, C = search.space.at(end.theta)
    assert end.status == "converged"
    # Corners of which all are that near to each other surround the minimum.
    assert abs(np.log(kernel.length_scale / 3.0)) < 2.0 * NEAR
    assert abs(np.log(C / 20.0)) < 2.0 * NEAR


@pytest.mark.parametrize(
    ("width", "narrowest", "widest"),
    [
        (0.5, 0.5 / np.exp(FURTHEST), 0.5 * np.exp(FURTHEST)),
        (20.0, 20.0 / np.exp(FURTHEST), WIDEST),
        (0.05, 0.1 / 29.0, 0.05 * np.exp(FURTHEST)),
    ],
)
def test_the_search_near_a_kernel_stays_near_it(width, narrowest, widest):
    """Points are from 0 to 1, 1 / 29 apart: length scales are at least a tenth of that."""
    search = scored(width, lambda width, C: np.log(C) ** 2)
    search.near(1.0, 50)
    ends = [search.space.at(np.append(end[:-1], 0.0))[0] for end in (search.lower, search.upper)]
    assert_allclose([kernel.length_scale for kernel in ends], [narrowest, widest])
    assert np.all(np.isinf([search.lower[-1], search.upper[-1]]))


@pytest.mark.parametrize("part", [0.5, 2.0])
def test_weights_grow_while_the_loss_falls_by_much(part):
    """A weight with which nothing can be fitted is no reason to end."""
    losses = {-4: np.inf, -2: 5.0, 0: 5.0 - part * ALIKE}
    search = scored(0.5, lambda width, C: losses.get(round(np.log10(C)), 9.0))
    search.near(1.0, 50)
    C = [C for _, C in search.tried]
    assert_allclose(C[:4], [1e-4, 1e-2, 1.0, 1e-2 if part < 1.0 else 1.0])


def test_a_machine_with_constraints_starts_from_the_scales_of_least_squares(monkeypatch):
    """Eleven evaluations of five fits are near them; narrow kernels take much longer."""
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(60, 3))
    y = 2.0 * X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=60)
    fits, fit = [], ShapeConstrainedRegressor.fit

    def counted(machine, *args, **kwargs):
        fits.append(machine.kernel.length_scale)
        return fit(machine, *args, **kwargs)

    monkeypatch.setattr(ShapeConstrainedRegressor, "fit", counted)
    found = tune(ShapeConstrainedRegressor({0: 1, 1: 1}, grid=5, lines=8), X, y)
    squares = tune(LSSVR(), X, y, refit=False)
    width, C = squares.best_params_["kernel"].length_scale, squares.best_params_["C"]
    assert len(fits) <= 5 * (3 + 8) + 1
    assert max(np.abs(np.log(np.array(fits) / width))) <= np.log(30.0)
    assert found.best_params_["C"] < 1e3 * C
    assert found.criterion == "held-out loss"
    refits = [trial.value for trial in found.trials_ if trial.stage == "refits"]
    assert found.best_value_ == min(refits) <= refits[0]
    assert len(found.trials_) > len(refits)  # those of least squares are heard from the start
