"""Boosting: its weights, its margins, and the theorem about them."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from mercer_research.linear import MarginBoost, boosting_bound

X, Y = make_moons(120, noise=0.3, random_state=0)


def test_decisions_are_those_of_scikit_learn():
    stump = DecisionTreeClassifier(max_depth=1, random_state=0)
    ours = MarginBoost(stump, n_estimators=15).fit(X, Y)
    theirs = AdaBoostClassifier(stump, n_estimators=15).fit(X, Y)
    # Theirs has weights, and a normalized function, twice as large.
    np.testing.assert_allclose(
        ours.estimator_weights_, 0.5 * theirs.estimator_weights_[:15], rtol=1e-9
    )
    f = 0.5 * theirs.decision_function(X)
    np.testing.assert_allclose(ours.decision_function(X), f, atol=1e-9)


def test_the_last_learner_is_as_good_as_chance_in_its_weights():
    model = MarginBoost(n_estimators=12).fit(X, Y)
    assert model.weights_.sum() == pytest.approx(1.0)
    wrong = model.estimators_[-1].predict(X) != Y
    assert model.weights_[wrong].sum() == pytest.approx(0.5)
    assert np.mean(model.predict(X) != Y) <= np.prod(model.normalizers_)
    assert np.all(np.abs(model.decision_function(X)) <= 1.0)
    np.testing.assert_allclose(model.margins_, np.where(Y == 1, 1, -1) * model.decision_function(X))


def test_margin_errors_keep_to_the_theorem_at_every_stage():
    model = MarginBoost(n_estimators=40).fit(X, Y)
    staged, grid = model.staged_margins(X, Y), np.linspace(-0.5, 0.5, 21)
    for t in (1, 5, 20, len(model.estimators_)):
        below = np.mean(staged[t - 1][None, :] < grid[:, None], axis=1)
        assert np.all(below <= boosting_bound(model.estimator_errors_[:t], grid) + 1e-12)


@pytest.mark.parametrize("rho", [0.01, 0.1, 0.24])
def test_the_second_form_follows_from_the_first(rho):
    # Errors of 1/2 - 2 rho give at most (1 - rho^2)^(T/2).
    assert boosting_bound(np.full(30, 0.5 - 2 * rho), rho) < (1 - rho**2) ** 15


def test_a_perfect_learner_is_enough_and_a_useless_one_too_little():
    deep = MarginBoost(DecisionTreeClassifier(random_state=0)).fit(X, Y)
    assert len(deep.estimators_) == 1
    assert deep.score(X, Y) == 1.0
    np.testing.assert_array_equal(deep.margins_, 1.0)
    constant = np.zeros((20, 1))
    with pytest.raises(ValueError, match="chance"):
        MarginBoost().fit(constant, np.arange(20) % 2)
    with pytest.raises(ValueError, match="binary"):
        MarginBoost().fit(X, np.arange(120) % 3)
    with pytest.raises(ValueError, match="1/2"):
        boosting_bound([0.6], 0.0)


def test_weights_are_the_first_distribution():
    weights = np.random.default_rng(0).integers(1, 4, len(Y))
    weighted = MarginBoost(n_estimators=5, random_state=0).fit(X, Y, weights)
    repeated = MarginBoost(n_estimators=5, random_state=0).fit(
        np.repeat(X, weights, axis=0), np.repeat(Y, weights)
    )
    np.testing.assert_allclose(weighted.estimator_errors_, repeated.estimator_errors_, atol=1e-12)
