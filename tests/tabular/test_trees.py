"""Trees beside kernel machines: judged by rows that they do not know."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from mercer import AutoClassifier, AutoRegressor
from mercer.tabular.tasks import FREE_VOTES

ALL = ["forest", "extra-trees", "boosting"]


def steps(n, seed=0):
    """Return a table whose target jumps in one of its columns."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 4))
    return X, np.where(X[:, 1] > 0.6, 1.0, -1.0) + 0.3 * rng.normal(size=n)


def test_a_row_is_judged_by_the_trees_that_do_not_know_it():
    X, y = steps(120)
    machine = AutoClassifier(members=["forest"]).fit(X, y > 0)
    (member,) = machine.members_
    # The same forest by hand: rows of the sample of each tree are drawn by its random state.
    order = machine._ordered(X, (y > 0)[:, None].astype(int), np.ones(len(X)))
    Z, labels = member.points(X[order]), (y > 0)[order].astype(int)
    forest = RandomForestClassifier(300, bootstrap=True, random_state=0)
    forest.fit(Z, labels, sample_weight=np.ones(len(Z)))
    votes, voters = np.zeros((len(Z), 2)), np.zeros(len(Z))
    for tree, rows in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        unknown = np.setdiff1d(np.arange(len(Z)), rows)
        votes[unknown] += tree.predict_proba(Z[unknown].astype(np.float32))
        voters[unknown] += 1
    shares = votes / voters[:, None] + FREE_VOTES
    odds = np.log(shares[:, 1] / shares[:, 0])
    np.testing.assert_allclose(member.left_out[:, 0], odds, atol=1e-9)


@pytest.mark.parametrize("name", ALL)
def test_left_out_errors_of_trees_are_those_of_new_rows(name):
    X, y = steps(400)
    new, truth = steps(4000, seed=1)
    machine = AutoRegressor(members=[name]).fit(X, y)
    error = np.mean((machine.predict(new) - truth) ** 2)
    left_out = np.mean((machine.left_out_predictions_ - y) ** 2)
    fitted = np.mean((machine.predict(X) - y) ** 2)
    # Four standard errors of a mean of 400 squared errors.
    assert abs(left_out - error) < 4.0 * np.std((machine.left_out_predictions_ - y) ** 2) / 20.0
    assert fitted < left_out


@pytest.mark.parametrize("name", ALL)
def test_trees_say_where_the_jump_is(name):
    X, y = steps(300)
    for machine in (AutoRegressor(members=[name]), AutoClassifier(members=[name])):
        target = y if isinstance(machine, AutoRegressor) else y > 0
        explanation = machine.fit(X, target).explain()
        assert explanation.columns[0][0] == "x1"
        assert explanation.kinds == {"kernel machines": 0.0, "trees": pytest.approx(1.0)}


def test_kernels_alone_are_those_of_the_usual_members():
    X, y = steps(150)
    usual = AutoClassifier().fit(X, y > 0)
    alone = AutoClassifier(members="kernels").fit(X, y > 0)
    names = [member.name for member in alone.members_]
    assert names == [m.name for m in usual.members_ if m.name not in ALL]
    # Trees cost least, and come after the first machine for those with little time.
    assert [m.name for m in usual.members_] == [names[0], *ALL[:2], *names[1:]]
    assert "trees" not in alone.explain().kinds
    assert 0.0 < usual.explain().kinds["trees"] < 1.0
    assert "trees" in str(usual.explain())


def test_classes_that_a_forest_did_not_meet_are_unlikely():
    X, y = steps(90)
    labels = np.where(y > 0, "a", "b").astype(object)
    labels[:30] = "c"
    weights = np.ones(90)
    weights[:30] = 0.0
    machine = AutoClassifier(members=["forest"]).fit(X, labels, sample_weight=weights)
    assert machine.predict_proba(X)[:, 2].max() < 0.05


def test_boosting_is_a_member_of_many_rows(monkeypatch):
    monkeypatch.setattr("mercer.tabular.classifier.BOOSTED", 100)
    X, y = steps(260)
    machine = AutoClassifier(max_rows=150).fit(X, y > 0)
    names = [member.name for member in machine.members_]
    assert {"boosting", "boosting, all rows", "forest"} <= set(names)
    assert "forest, all rows" not in names
    new, truth = steps(500, seed=2)
    assert machine.score(new, truth > 0) > 0.9


def test_noise_is_still_noise():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(150, 5)), rng.normal(size=150) > 0
    with pytest.warns(UserWarning, match="better than a constant"):
        machine = AutoClassifier().fit(X, y)
    assert np.ptp(machine.predict_proba(X)[:, 1]) == 0.0


def test_many_columns_of_two_values_start_alike():
    from mercer.tabular.candidates import CANDIDATES, Features

    rng = np.random.default_rng(0)
    X = (rng.uniform(size=(400, 40)) < np.linspace(0.02, 0.5, 40)).astype(float)
    X = np.column_stack([X, rng.normal(size=400)])
    for candidate in CANDIDATES:
        features = Features.of(X, np.arange(41), np.arange(0), candidate.ranks)
        Z = features(X)
        kernel = features.kernel(candidate, Z, np.random.default_rng(0))
        # Two rows that differ in one mark are as far apart, whichever mark it is.
        apart = np.ptp(Z[:, :40], axis=0) / np.asarray(kernel.length_scale)[:40]
        np.testing.assert_allclose(apart, apart[0], rtol=1e-12)
