"""LinearSVC and LinearSVR: scikit-learn's answers, certificates, and what is refused."""

import io
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression

import mercer
from mercer import LinearSVC, LinearSVR
from mercer.io import load, save
from mercer.machines.solving import EarlyStop

X, FOUR = make_classification(120, 8, n_informative=5, n_classes=4, random_state=0)
TWO = FOUR > 1
WEIGHTS = np.random.default_rng(0).uniform(0.2, 2.0, len(X))
POINTS, TARGETS = make_regression(120, 6, noise=5.0, random_state=0)
# Relative to the sizes of weights: what a tolerance of 1e-8 leaves of them.
CLOSE = 1e-5

CLASSIFIERS = [
    {"dual": True},
    {"dual": False},
    {"loss": "hinge", "dual": True},
    {"class_weight": "balanced", "dual": True},
    {"class_weight": {0: 3.0, 1: 0.5}, "loss": "hinge", "dual": True},
    {"penalty": "l1", "dual": False},
    {"multi_class": "crammer_singer"},
    {"fit_intercept": False, "dual": True},
    {"intercept_scaling": 3.0, "dual": True},
]
REGRESSORS = [
    {"epsilon": 1.0, "dual": True},
    {"loss": "squared_epsilon_insensitive", "epsilon": 0.5, "dual": True},
    {"loss": "squared_epsilon_insensitive", "epsilon": 0.5, "dual": False},
    {"fit_intercept": False, "dual": True},
]


def text(n=150, d=400, k=20, seed=0):
    """Return sparse rows of unit length, and one of k classes for each."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    rows = sp.random_array((n, d), density=0.03, rng=rng, format="lil")
    rows[np.arange(n), labels] = 0.3
    rows = sp.csr_array(rows)
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return sp.csr_array(sp.diags_array(1.0 / lengths) @ rows), labels


def risk(machine, X, y, weights=None, by_class=None):
    """Return the objective of a linear machine, from its weights alone."""
    W, b = np.atleast_2d(machine.coef_), np.atleast_1d(machine.intercept_)
    F, C = X @ W.T + b, machine.C
    weights = np.ones(len(y)) if weights is None else weights
    if isinstance(machine, LinearSVR):
        costs = np.maximum(np.abs(y[:, None] - F) - machine.epsilon, 0.0)
    else:
        classes = machine.classes_ if len(machine.classes_) > 2 else machine.classes_[1:]
        costs = np.maximum(1.0 - np.where(y[:, None] == classes, 1.0, -1.0) * F, 0.0)
        if getattr(machine, "multi_class", "") == "crammer_singer":
            own = np.searchsorted(machine.classes_, y)
            rows = np.arange(len(y))
            margins = 1.0 + F - F[rows, own][:, None]
            margins[rows, own] = 0.0
            costs = margins.max(axis=1)[:, None]
    costs = costs**2 if "squared" in machine.loss and costs.shape[1] == F.shape[1] else costs
    free = 0.0 if machine.fit_intercept is False else b / machine.intercept_scaling
    norm = np.abs if getattr(machine, "penalty", "l2") == "l1" else lambda w: 0.5 * w**2
    return norm(W).sum() + np.sum(norm(free)) + C * float(weights @ costs.sum(axis=1))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("labels", [TWO, FOUR], ids=["two", "four"])
@pytest.mark.parametrize("settings", CLASSIFIERS, ids=str)
def test_classifiers_are_those_of_scikit_learn(settings, labels, kind):
    settings = settings | {"C": 0.02}
    theirs = sklearn.svm.LinearSVC(**settings, tol=1e-9, max_iter=1_000_000, random_state=0)
    theirs.fit(X, labels, WEIGHTS)
    ours = LinearSVC(**settings, tol=1e-8, max_iter=-1).fit(kind(X), labels, WEIGHTS)
    scale = max(np.max(np.abs(theirs.coef_)), 0.01)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=CLOSE * scale)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=CLOSE * scale)
    assert np.shape(ours.intercept_) == np.shape(theirs.intercept_)
    scores = ours.decision_function(kind(X)), theirs.decision_function(X)
    np.testing.assert_allclose(*scores, atol=100 * CLOSE * scale)
    assert ours.solution_.converged


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("settings", REGRESSORS, ids=str)
def test_regressors_are_those_of_scikit_learn(settings, kind):
    theirs = sklearn.svm.LinearSVR(**settings, tol=1e-10, max_iter=1_000_000, random_state=0)
    theirs.fit(POINTS, TARGETS, WEIGHTS)
    ours = LinearSVR(**settings, tol=1e-8, max_iter=-1).fit(kind(POINTS), TARGETS, WEIGHTS)
    scale = np.max(np.abs(theirs.coef_))
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=CLOSE * scale)
    assert ours.coef_.shape == theirs.coef_.shape
    np.testing.assert_allclose(ours.predict(kind(POINTS)), theirs.predict(POINTS), atol=1e-2)


@pytest.mark.parametrize("settings", [s for s in CLASSIFIERS if "class_weight" not in s], ids=str)
@pytest.mark.parametrize("labels", [TWO, FOUR], ids=["two", "four"])
def test_the_objective_is_that_of_the_weights(settings, labels):
    """Recomputed from outside; the optimum of a tight fit lies between it and the bound."""
    machine = LinearSVC(**settings, C=0.02, tol=1e-3, max_iter=-1).fit(X, labels)
    solution = machine.solution_
    # The difference of two coupled functions is kept, whose norm is another.
    if settings.get("multi_class") != "crammer_singer" or labels is FOUR:
        np.testing.assert_allclose(risk(machine, X, labels), solution.objective, rtol=1e-8)
    best = clone(machine).set_params(tol=1e-8).fit(X, labels).solution_.objective
    assert solution.dual <= best * (1 + 1e-9) <= solution.objective * (1 + 2e-9)


@pytest.mark.parametrize("settings", REGRESSORS, ids=str)
def test_the_objective_of_regressors(settings):
    machine = LinearSVR(**settings, C=0.1, tol=1e-3, max_iter=-1).fit(POINTS, TARGETS)
    np.testing.assert_allclose(
        risk(machine, POINTS, TARGETS), machine.solution_.objective, rtol=1e-8
    )
    best = clone(machine).set_params(tol=1e-8, max_iter=-1).fit(POINTS, TARGETS)
    assert machine.solution_.dual <= best.solution_.objective * (1 + 1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_classes_side_by_side_are_those_one_by_one(loss):
    """Twenty classes are vectors of sixteen and of four; each is a problem of its own."""
    X, labels = text()
    machine = LinearSVC(loss=loss, dual=True, tol=1e-6, max_iter=-1).fit(X, labels)
    assert machine.solution_.converged
    for k in (0, 15, 16, 19):
        alone = LinearSVC(loss=loss, dual=True, tol=1e-6, max_iter=-1).fit(X, labels == k)
        np.testing.assert_allclose(machine.coef_[k], alone.coef_[0], atol=1e-4)


def test_threads_do_not_change_a_bit():
    X, labels = text()
    for settings in ({}, {"penalty": "l1"}):
        alone, several = (
            LinearSVC(dual=not settings, n_jobs=n, **settings).fit(X, labels) for n in (1, 2)
        )
        np.testing.assert_array_equal(alone.coef_, several.coef_)
        np.testing.assert_array_equal(alone.intercept_, several.intercept_)


@pytest.mark.parametrize("settings", [{}, {"dual": True}, {"loss": "hinge", "dual": True}], ids=str)
def test_single_precision_is_read_as_it_is(settings):
    machine = LinearSVC(**settings, tol=1e-6, max_iter=-1).fit(X.astype(np.float32), FOUR)
    double = LinearSVC(**settings, tol=1e-6, max_iter=-1).fit(
        X.astype(np.float32).astype(float), FOUR
    )
    np.testing.assert_allclose(machine.coef_, double.coef_, atol=1e-4)
    assert machine.coef_.dtype == np.float64


def test_seeds_give_one_answer():
    X, labels = text()
    fits = [
        LinearSVC(dual=True, tol=1e-7, random_state=seed, max_iter=-1).fit(X, labels)
        for seed in (0, 1)
    ]
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, atol=1e-4)
    again = LinearSVC(dual=True, tol=1e-7, random_state=0, max_iter=-1).fit(X, labels)
    np.testing.assert_array_equal(fits[0].coef_, again.coef_)


@pytest.mark.parametrize(
    "machine",
    [
        LinearSVC(dual=True, max_iter=2, tol=1e-8),
        LinearSVC(penalty="l1", max_iter=1, tol=1e-8),
        LinearSVC(multi_class="crammer_singer", max_iter=1, tol=1e-8),
        LinearSVC(dual=True, max_time=1e-9, tol=1e-8),
        LinearSVC(dual=False, max_iter=1, tol=1e-8),
    ],
    ids=str,
)
def test_no_answer_is_silently_unfinished(machine):
    with pytest.warns(EarlyStop, match="stopped at max_"):
        machine.fit(X, FOUR)
    solution = machine.solution_
    assert not solution.converged
    # What there is has a certificate all the same.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = clone(machine).set_params(max_iter=-1, max_time=None).fit(X, FOUR).solution_
    assert solution.dual <= best.objective * (1 + 1e-9) <= solution.objective * (1 + 1e-8)


REFUSED = [
    ({"loss": "hinge", "dual": False}, "loss is not smooth"),
    ({"penalty": "l1", "loss": "hinge"}, "takes the squared hinge"),
    ({"penalty": "l1", "dual": True}, "takes the squared hinge and its primal"),
    ({"penalty": "l1", "multi_class": "crammer_singer"}, "Coupled classes take the penalty 'l2'"),
    ({"penalty": "l3"}, "penalty"),
    ({"C": 0.0}, "C"),
]


@pytest.mark.parametrize(("settings", "words"), REFUSED, ids=str)
def test_what_cannot_be_done_is_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        LinearSVC(**settings).fit(X, TWO)


def test_one_class_with_weight_is_refused():
    with pytest.raises(ValueError, match="same class"):
        LinearSVC().fit(X, TWO, np.where(TWO, 1.0, 0.0))
    with pytest.raises(ValueError, match="not smooth"):
        LinearSVR(dual=False).fit(POINTS, TARGETS)


def test_the_weight_is_tuned_on_held_out_rows():
    tuning = mercer.tune(LinearSVC(C=1e-2), X, TWO)
    assert tuning.best_params_["C"] == tuning.best_estimator_.C
    assert tuning.best_value_ == min(trial.value for trial in tuning.trials_)
    assert len(tuning.trials_) > 3
    with pytest.raises(ValueError, match="no kernel"):
        mercer.tune(LinearSVC(), X, TWO, criterion="loo")


def test_files_and_sparse_weights():
    machine = LinearSVC(penalty="l1", C=0.05).fit(X, TWO)
    scores = machine.decision_function(X)
    np.testing.assert_allclose(machine.sparsify().decision_function(X), scores, rtol=1e-12)
    file = io.BytesIO()
    save(machine.densify(), file)
    np.testing.assert_array_equal(load(file).decision_function(X), scores)
