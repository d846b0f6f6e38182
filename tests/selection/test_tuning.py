"""Tuning in one call: not worse than grids, no surprises, and bounded."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes, load_iris, make_moons

from mercer import LSSVR, SVC, SVR, KernelClassifier, KernelRegressor, NuSVR, QuantileSVR
from mercer.kernels import Gaussian, Linear
from mercer.losses import Absolute, Huber
from mercer.regularizers import AutoRegressive, Polynomial
from mercer.selection import tune
from mercer.selection.refits import held_out_loss
from mercer.smoothing import Spectral
from mercer.smoothing.criteria import CrossValidation, Evidence, LeaveOneOut

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(120, 2))
y = np.sin(3 * X[:, 0]) + 0.1 * X[:, 1] + 0.2 * RNG.normal(size=120)
MOONS = make_moons(150, noise=0.25, random_state=0)


def leave_one_out(kernel, C, X=X, y=y):
    return LeaveOneOut().value(Spectral(kernel(X), np.ones((len(X), 1))).at(y, C))


def test_no_grid_is_much_better_than_the_descent():
    found = tune(LSSVR(), X, y, criterion="loo")
    grid = min(
        leave_one_out(Gaussian(width), C)
        for width in np.geomspace(0.3, 5, 15)
        for C in np.geomspace(1, 1e4, 17)
    )
    # It ends when a step changes the criterion by less than 3e-5 of itself.
    assert found.best_value_ <= grid * 1.0001
    assert_allclose(
        found.best_value_,
        leave_one_out(found.best_params_["kernel"], found.best_params_["C"]),
        rtol=1e-9,
    )
    assert found.status_ == "converged"
    assert found.best_params_["C"] == found.best_estimator_.C
    assert found.best_estimator_.solution_.converged


def test_a_feature_that_does_not_matter_gets_a_wide_scale():
    noise = np.column_stack([X, RNG.normal(size=(120, 2))])
    found = tune(LSSVR(), noise, y, ard=True)
    scale = found.best_params_["kernel"].length_scale
    assert scale.shape == (4,)
    assert np.all(scale[1:] > 2 * scale[0])
    assert found.best_value_ < tune(LSSVR(), noise, y).best_value_


@pytest.mark.parametrize(
    "criterion",
    [
        "loo",
        "gcv",
        "aic",
        "bic",
        "evidence",
        Evidence(),
        LeaveOneOut(Huber(0.3)),
        LeaveOneOut(Absolute()),
    ],
)
def test_criteria_agree_about_an_easy_problem(criterion):
    found = tune(LSSVR(), X, y, criterion=criterion)
    assert found.best_estimator_.score(X, y) > 0.85
    assert 0.2 < found.best_params_["kernel"].length_scale < 3


def test_folds_follow_the_rows_that_are_used():
    labels = np.arange(120) % 6
    part = tune(LSSVR(), X, y, criterion=CrossValidation(labels), max_rows=80)
    assert {trial.rows for trial in part.trials_} == {80}
    assert any("80 of 120 rows" in note for note in part.notes_)
    assert part.best_estimator_.support_.size == 120
    rows = np.sort(np.random.default_rng(0).permutation(120)[:80])
    spectral = Spectral(part.best_params_["kernel"](X[rows]), np.ones((80, 1)))
    expected = CrossValidation(labels[rows]).value(spectral.at(y[rows], part.best_params_["C"]))
    assert_allclose(part.best_value_, expected, rtol=1e-6)


def test_a_large_sample_is_first_looked_at_in_part():
    X = RNG.uniform(-2, 2, size=(800, 1))
    found = tune(LSSVR(), X, np.sin(3 * X[:, 0]) + 0.2 * RNG.normal(size=800))
    assert {trial.rows for trial in found.trials_} == {250, 447, 800}
    assert sum(trial.rows == 800 for trial in found.trials_) <= 5


def test_the_answer_depends_on_nothing_but_its_arguments():
    one, other = tune(LSSVR(), X, y), tune(LSSVR(), X, y)
    assert one.best_params_["C"] == other.best_params_["C"]
    estimator = LSSVR(kernel=Gaussian(3.0), C=7.0)
    tune(estimator, X, y)
    assert estimator.C == 7.0
    assert estimator.kernel == Gaussian(3.0)


def test_samples_without_weight_do_not_count():
    weights = np.where(np.arange(120) < 90, 1.0, 0.0)
    wrong = np.where(weights > 0, y, 1e3)
    one = tune(LSSVR(), X, wrong, sample_weight=weights)
    other = tune(LSSVR(), X[:90], y[:90])
    assert_allclose(one.best_value_, other.best_value_, rtol=1e-3)


def test_classes_are_tuned_by_the_machine_of_least_squares():
    found = tune(KernelClassifier(loss="squared"), *MOONS)
    assert found.best_estimator_.score(*MOONS) > 0.9
    flowers = tune(KernelClassifier(loss="squared"), *load_iris(return_X_y=True))
    assert flowers.best_estimator_.score(*load_iris(return_X_y=True)) > 0.95


@pytest.mark.parametrize("machine", [SVC(), KernelClassifier(loss="logistic")])
def test_classifiers_of_other_losses_choose_their_own_weight(machine):
    found = tune(machine, *MOONS, refine=True)
    assert found.best_estimator_.score(*MOONS) > 0.9
    stages = {trial.stage for trial in found.trials_}
    assert "held out, C" in stages
    held = [trial for trial in found.trials_ if trial.stage == "held out, C"]
    assert found.best_value_ == min(trial.value for trial in held)
    assert found.best_params_["C"] in {trial.parameters["C"] for trial in held}


@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize(
    "machine",
    [
        SVR(),
        NuSVR(),
        QuantileSVR(quantile=0.8),
        KernelRegressor(loss="absolute", null_space=Polynomial(1)),
    ],
)
def test_regressors_of_other_losses_choose_their_own_weight(machine, refine):
    if refine and machine.null_space is not None:
        machine = KernelRegressor(loss="huber", null_space=Polynomial(1))
    found = tune(machine, X[:80], y[:80], refine=refine)
    below = np.mean(y[:80] <= found.best_estimator_.predict(X[:80]))
    wanted = 0.8 if isinstance(machine, QuantileSVR) else 0.5
    assert abs(below - wanted) < 0.12
    assert found.status_ == "converged"
    assert ("nu" in found.best_params_) == isinstance(machine, NuSVR)


def test_the_tube_follows_the_noise_unless_it_is_fixed():
    found = tune(SVR(), X, y)
    assert found.best_params_["epsilon"] == found.best_estimator_.epsilon != 0.1
    assert found.best_params_["C"] == found.best_estimator_.C
    given = tune(SVR(epsilon=0.3), X, y, fixed=["epsilon"])
    assert given.best_estimator_.epsilon == 0.3
    again = SVR(**found.best_params_).fit(X, y)
    assert_allclose(again.predict(X), found.best_estimator_.predict(X), atol=1e-2)


def test_the_weight_of_the_tube_follows_that_of_the_squared_loss():
    """C E[r^2] / E[r rho'(r)] over the errors left out by the tuned least-squares machine."""
    squares, tube = tune(LSSVR(), X, y), tune(SVR(), X, y)
    C, kernel = squares.best_params_["C"], squares.best_params_["kernel"]
    left = Spectral(kernel(X), np.ones((120, 1))).leave_one_out(y, C)
    outside = np.abs(left)[np.abs(left) > tube.best_params_["epsilon"]]
    expected = C * np.sum(left**2) / np.sum(outside)
    assert_allclose(tube.best_params_["C"], expected, rtol=1e-6)
    assert tube.best_estimator_._squared_weight is None


def test_classifiers_take_their_weight_from_least_squares():
    found = tune(SVC(), *MOONS)
    assert {trial.stage for trial in found.trials_} == {"start", "descent"}
    assert found.best_estimator_.score(*MOONS) > 0.9


def test_held_out_losses_are_those_of_the_machine():
    machine = QuantileSVR(quantile=0.8).fit(X, y)
    r = y - machine.predict(X)
    pinball = np.sum(np.where(r > 0, 0.8 * r, -0.2 * r))
    assert_allclose(held_out_loss(machine, X, y), pinball, rtol=1e-9)
    tube = SVR(epsilon=5.0).fit(X, y)
    squares = 0.5 * np.sum((y - tube.predict(X)) ** 2)
    assert_allclose(held_out_loss(tube, X, y), squares, rtol=1e-9)
    assert_allclose(held_out_loss(tube, X, y, np.full(120, 2.0)), 2 * squares, rtol=1e-9)


def test_a_kernel_without_widths_leaves_the_weight():
    found = tune(LSSVR(kernel=Linear()), X, X @ [1.0, 2.0] + 0.1 * RNG.normal(size=120))
    assert found.best_params_["C"] > 1


def test_a_strong_prior_keeps_scales_together():
    noise = np.column_stack([X, RNG.normal(size=(120, 2))])
    loose = tune(LSSVR(), noise, y, ard=True, prior=0.1).best_params_["kernel"].length_scale
    tight = tune(LSSVR(), noise, y, ard=True, prior=1e5).best_params_["kernel"].length_scale
    assert np.ptp(np.log(loose)) > 1.0
    assert np.ptp(np.log(tight)) < 0.1


def test_a_spent_budget_is_told():
    found = tune(LSSVR(), X, y, budget=2)
    assert found.status_ == "budget of 2 evaluations spent"


def test_a_listener_can_end_the_search():
    seen = []

    def enough(trial):
        seen.append(trial)
        return len(seen) == 2

    found = tune(LSSVR(), X, y, callback=enough)
    assert found.status_ == "stopped"
    assert len(found.trials_) == 2
    assert found.best_value_ == min(trial.value for trial in seen)
    assert tune(SVR(), X, y, max_time=1e-9).status_ == "stopped"


def test_the_report_tells_what_was_tried():
    found = tune(SVR(), X[:60], y[:60], refit=False, refine=True)
    report = found.report()
    assert report.count("\n") >= len(found.trials_) + 1
    assert "held out, C" in report
    assert not hasattr(found.best_estimator_, "support_")


def test_what_cannot_be_tuned_is_refused():
    with pytest.raises(TypeError, match="GridSearchCV"):
        tune(load_diabetes, X, y)
    with pytest.raises(ValueError, match="estimate_errors"):
        tune(KernelRegressor(errors=AutoRegressive(0.5)), X, y)
    with pytest.raises(ValueError, match="no parameters"):
        tune(LSSVR(kernel="precomputed"), X @ X.T, y)
    with pytest.raises(ValueError, match="criterion must be"):
        tune(LSSVR(), X, y, criterion="best")
