"""Logistic regression of several classes at once: scikit-learn's, its settings and its refusals."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from mercer import KernelLogisticRegression, Nystrom, tune
from mercer.kernels import Gaussian
from mercer.local import Local
from mercer.regularizers import Columns, Constant, Empty
from mercer.solvers import ConvergenceWarning, Status

X, Y = load_iris(return_X_y=True)
X = StandardScaler().fit_transform(X)
LABELS = np.array(["red", "green", "blue"])[Y]
WEIGHTS = np.random.default_rng(0).uniform(0.1, 3.0, len(Y))


def machine(kernel="rbf", **settings):
    return KernelLogisticRegression(kernel, **{"tol": 1e-10, **settings}, multi_class="multinomial")


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize(
    ("weights", "class_weight"),
    # With "balanced" the twin counts the weights of samples, as this library's SVC does not.
    [(None, None), (WEIGHTS, None), (None, "balanced"), (WEIGHTS, {"red": 3.0, "green": 0.5})],
    ids=["equal", "weights", "balanced", "both"],
)
def test_the_linear_kernel_is_logistic_regression(C, weights, class_weight):
    """Both minimize the same function; the twin is solved to half its digits (see test_general)."""
    ours = machine("linear", C=C, class_weight=class_weight).fit(X, LABELS, weights)
    twin = LogisticRegression(C=C, class_weight=class_weight, solver="newton-cg", tol=1e-12,
                              max_iter=1000).fit(X, LABELS, weights)  # fmt: skip
    np.testing.assert_array_equal(ours.classes_, twin.classes_)
    np.testing.assert_allclose(ours.coef_, twin.coef_, atol=1e-6)
    shift = twin.intercept_.mean()
    np.testing.assert_allclose(ours.intercept_, twin.intercept_ - shift, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), twin.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(ours.predict(X), twin.predict(X))


def test_without_a_constant():
    ours = machine("linear", null_space=Empty()).fit(X, Y)
    twin = LogisticRegression(fit_intercept=False, solver="newton-cg", tol=1e-12, max_iter=1000)
    np.testing.assert_allclose(ours.predict_proba(X), twin.fit(X, Y).predict_proba(X), atol=1e-6)


def test_two_classes_are_the_binary_machine():
    two = Y < 2
    coupled, apart = (
        KernelLogisticRegression(multi_class=how).fit(X[two], Y[two])
        for how in ("multinomial", "ovr")
    )
    np.testing.assert_array_equal(coupled.decision_function(X), apart.decision_function(X))
    np.testing.assert_array_equal(coupled.predict_proba(X), apart.predict_proba(X))


def test_the_fitted_machine_is_what_its_solution_says():
    fitted = machine(C=3.0).fit(X, Y, WEIGHTS)
    solution = fitted.solution_
    assert solution.converged
    assert solution.relative_gap < 1e-10
    F = fitted.decision_function(X)
    np.testing.assert_allclose(F.T.ravel(), solution.f, atol=1e-11)
    assert fitted.dual_coef_.shape == (3, len(Y))
    np.testing.assert_allclose(fitted.dual_coef_.sum(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(fitted.dual_coef_.sum(axis=1), 0.0, atol=1e-11)
    # Coefficients are weights times what the probabilities miss.
    missed = np.eye(3)[Y] - fitted.predict_proba(X)
    np.testing.assert_allclose(fitted.dual_coef_.T, 3.0 * WEIGHTS[:, None] * missed, atol=1e-8)
    risk = log_loss(Y, fitted.predict_proba(X), sample_weight=WEIGHTS)
    assert fitted.empirical_risk_ == pytest.approx(risk, rel=1e-10)
    assert fitted.regularized_risk_ * 3.0 * WEIGHTS.sum() == pytest.approx(solution.objective)
    assert fitted.intercept_interval_.shape == (3, 2)


def test_a_weight_of_two_is_a_sample_twice():
    twice = np.r_[np.arange(150), np.arange(0, 150, 7)]
    weights = np.where(np.arange(150) % 7 == 0, 2.0, 1.0)
    once = machine(Gaussian(1.0)).fit(X, Y, weights).predict_proba(X)
    np.testing.assert_allclose(
        machine(Gaussian(1.0)).fit(X[twice], Y[twice]).predict_proba(X), once, atol=1e-8
    )


def test_precomputed_kernels():
    K = Gaussian(1.3)(X)
    given = machine("precomputed").fit(K, Y)
    computed = machine(Gaussian(1.3)).fit(X, Y)
    np.testing.assert_allclose(given.predict_proba(K), computed.predict_proba(X), atol=1e-9)


def test_unpenalized_columns():
    free = machine(Gaussian(1.0), null_space=Constant() + Columns([3])).fit(X, Y)
    assert free.null_space_coef_.shape == (3, 2)
    assert free.solution_.residual < 1e-13
    assert free.solution_.objective < machine(Gaussian(1.0)).fit(X, Y).solution_.objective


def test_a_class_without_weight_has_no_probability():
    weights = np.where(Y == 1, 0.0, 1.0)
    fitted = machine(C=2.0, tol=1e-6).fit(X, Y, weights)
    P = fitted.predict_proba(X)
    assert P[:, 1].max() < 1e-12
    binary = KernelLogisticRegression(fitted.kernel_, C=4.0, tol=1e-8).fit(X[Y != 1], Y[Y != 1])
    np.testing.assert_allclose(P[:, [0, 2]], binary.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("n", [3, 4, 5])
def test_a_sample_for_each_class(n):
    rows = [0, 60, 120, 1, 61][:n]
    fitted = machine(C=1e3).fit(X[rows], Y[rows])
    assert fitted.solution_.converged
    np.testing.assert_array_equal(fitted.predict(X[rows]), Y[rows])


def test_constant_inputs_give_frequencies():
    fitted = machine().fit(np.zeros((12, 2)), np.repeat([0, 1, 2], [6, 4, 2]))
    np.testing.assert_allclose(fitted.predict_proba([[0.0, 0.0]])[0], [1 / 2, 1 / 3, 1 / 6])


def test_separable_classes_with_a_large_weight():
    """Objectives are small beside the weights there, and the gap is still small beside them."""
    wine, kinds = load_wine(return_X_y=True)
    fitted = machine("linear", C=1e8, tol=1e-3, standardize=True).fit(wine, kinds)
    assert fitted.solution_.converged
    assert fitted.solution_.relative_gap < 0.01


def test_a_warm_start_takes_fewer_steps():
    cold = machine(C=30.0, tol=1e-6).fit(X, Y)
    warm = machine(C=10.0, tol=1e-6, warm_start=True).fit(X, Y)
    warm.set_params(C=30.0).fit(X, Y)
    assert warm.solution_.n_iter < cold.solution_.n_iter
    np.testing.assert_allclose(warm.predict_proba(X), cold.predict_proba(X), atol=1e-5)
    # Another number of classes starts afresh.
    warm.fit(X[Y < 2], Y[Y < 2])
    assert warm.fit(X, Y).solution_.converged


def test_a_limit_of_steps_is_told_with_a_gap():
    exact = machine(C=1e3).fit(X, Y).solution_.objective
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter"):
        fitted = machine(C=1e3, max_iter=3).fit(X, Y)
    assert fitted.solution_.status is Status.MAX_ITER
    assert 0.0 < fitted.solution_.objective - exact <= fitted.solution_.gap


def test_no_time_is_told_with_a_gap():
    exact = machine(C=1e3).fit(X, Y).solution_.objective
    with pytest.warns(ConvergenceWarning, match="stopped at max_time"):
        fitted = machine(C=1e3, max_time=1e-9).fit(X, Y)
    assert fitted.solution_.status is Status.MAX_TIME
    # No worse than the frequencies of the classes.
    assert fitted.solution_.objective <= 1e3 * 150 * np.log(3.0) * (1 + 1e-12)
    assert fitted.solution_.objective - exact <= fitted.solution_.gap


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"approximation": Nystrom(20)}, "without an approximation"),
        ({"approximation": "auto"}, "without an approximation"),
        ({"approximation": Local(50)}, "without an approximation"),
        ({"solver": "smo"}, "give solver='auto', not 'smo'"),
        ({"multi_class": "crammer_singer"}, "multi_class"),
    ],
)
def test_settings_that_it_does_not_follow_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        clone(machine()).set_params(**settings).fit(X, Y)


def test_tuning_chooses_kernel_and_weight_by_the_evidence():
    found = tune(machine(Gaussian(0.1), tol=1e-3), X, Y, budget=6).best_estimator_
    assert found.multi_class == "multinomial"
    assert found.kernel_.length_scale > 0.3
    assert found.score(X, Y) > 0.95


def test_probabilities_are_better_than_against_the_rest():
    """Three overlapping classes in a row: the middle is no half-space against the rest."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-4, 4, 3000)[:, None]
    odds = np.column_stack([-3.0 * x[:, 0], 3.0 + 0.0 * x[:, 0], 3.0 * x[:, 0]])
    y = np.argmax(odds + rng.gumbel(size=odds.shape), axis=1)
    losses = [
        log_loss(y[200:], KernelLogisticRegression("linear", C=10.0, multi_class=how)
                 .fit(x[:200], y[:200]).predict_proba(x[200:]))
        for how in ("ovr", "multinomial")
    ]  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        best = log_loss(y[200:], np.exp(odds[200:]) / np.exp(odds[200:]).sum(1, keepdims=True))
    assert losses[1] < best + 0.02 < losses[0]
