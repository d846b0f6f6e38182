"""One class: the same region as scikit-learn's."""

import numpy as np
import pytest
import sklearn.svm

from estimators.twins import TOL, agree, name_of, sample, slack
from mercer import OneClassSVM

X, _, _, T = sample()
WEIGHT = np.where((np.arange(60) % 7 == 0) | (np.arange(60) % 11 == 0), 0.0, 1.5)


def objective(machine, K, c, kept, nu):
    a = np.zeros(60)
    a[kept[machine.support_]] = machine.dual_coef_[0]
    rho, f = machine.offset_, K @ a
    return 0.5 * a @ f + np.sum(c * (np.maximum(0.0, rho - f) - nu * rho))


@pytest.mark.parametrize("weights", [None, WEIGHT], ids=["", "weights"])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"nu": 0.13}, {"nu": 0.91}, {"gamma": "auto"}, {"gamma": 2.0}, {"shrinking": False}],
    ids=name_of,
)
def test_equals_scikit_learn(parameters, weights):
    parameters = {"nu": 0.47, **parameters}
    ours = OneClassSVM(tol=TOL, **parameters).fit(X, sample_weight=weights)
    theirs = sklearn.svm.OneClassSVM(tol=TOL, **parameters).fit(X, sample_weight=weights)
    c = np.ones(60) if weights is None else np.maximum(weights, 0.0)
    K, kept, nu = ours.kernel_(X), np.flatnonzero(c), ours.nu
    value = objective(ours, K, c, np.arange(60), nu)
    assert value == pytest.approx(ours.solution_.objective, rel=1e-9)
    excess = objective(theirs, K, c, kept, nu) - (value - ours.solution_.gap)
    room = slack(ours, excess, np.sum(theirs.dual_coef_), 1.0)
    agree(ours.decision_function(T), theirs.decision_function(T), room)
    agree(ours.score_samples(T), theirs.score_samples(T), room)
    agree(ours.offset_, theirs.offset_, room)
    agree(ours.intercept_, theirs.intercept_, room)
    np.testing.assert_array_equal(ours.support_, kept[theirs.support_])
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    assert ours.dual_coef_.shape == theirs.dual_coef_.shape
    assert ours.offset_.shape == theirs.offset_.shape == (1,)
    far = np.abs(theirs.decision_function(T)) > room
    assert far.sum() > 20
    np.testing.assert_array_equal(ours.predict(T)[far], theirs.predict(T)[far])
    assert ours.predict(T).dtype == theirs.predict(T).dtype


def test_weights_are_repetitions():
    repeats = np.arange(60) % 3
    weighted = OneClassSVM(nu=0.4, gamma=1.0, tol=TOL).fit(X, sample_weight=repeats)
    repeated = OneClassSVM(nu=0.4, gamma=1.0, tol=TOL).fit(np.repeat(X, repeats, axis=0))
    room = slack(weighted, repeated.solution_.gap, 0.0, 1.0)
    agree(weighted.decision_function(T), repeated.decision_function(T), room)


def test_fit_predict_ignores_targets():
    machine = OneClassSVM(nu=0.3)
    np.testing.assert_array_equal(machine.fit_predict(X), machine.fit(X, np.arange(60)).predict(X))


def test_is_an_outlier_detector_and_nothing_else():
    tags = OneClassSVM().__sklearn_tags__()
    assert tags.estimator_type == "outlier_detector"
    assert not tags.target_tags.required
    assert not hasattr(OneClassSVM, "score")


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("copies", [1, 2])
def test_labels_do_not_depend_on_the_batch(kernel, copies):
    for seed in range(20):
        points = np.random.default_rng(seed).normal(size=(23, 2))
        points = np.repeat(points, copies, axis=0)
        machine = OneClassSVM(kernel=kernel, nu=0.9).fit(points)
        labels, values = machine.predict(points), machine.decision_function(points)
        alone = [machine.predict(points[i : i + 1]) for i in range(len(points))]
        np.testing.assert_array_equal(np.concatenate(alone), labels)
        np.testing.assert_array_equal(labels > 0, values >= 0)
        # All others are what they were.
        raw = machine._evaluate(points)
        np.testing.assert_array_equal(values[values != 0], raw[values != 0])
        np.testing.assert_allclose(values, raw, rtol=0, atol=1e-10)
