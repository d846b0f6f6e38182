"""Trees beside kernel machines: judged by rows that they do not know."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from mercer import AutoClassifier, AutoRegressor
from mercer.tabular.forest import Forest
from mercer.tabular.members import TableSample
from mercer.tabular.tasks import FREE_VOTES, Squares
from mercer.tabular.trees import PATIENCE, ROUNDS, STEP, TREES, judge_trees

ALL = ["forest", "extra-trees", "boosting"]
FORESTS = [
    RandomForestClassifier,
    ExtraTreesClassifier,
    RandomForestRegressor,
    ExtraTreesRegressor,
]


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
    order, _, _ = machine._ordered(X, (y > 0)[:, None].astype(int), np.ones(len(X)))
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


def test_boosting_judges_the_first_rows_by_trees_of_other_folds():
    """All rows are fitted, and of these only the first are judged."""
    X, y = steps(90)
    task = Squares(y[:, None], np.ones(90))
    none, names = np.empty(0, dtype=np.intp), list("abcd")
    columns = TableSample(X, np.arange(4), none, fitted=90, judged=60, seed=0, names=names)
    member = judge_trees(TREES[-1], columns, task)
    assert member.left_out.shape == (60, 1)
    Z, fold = member.points(X), columns.folds(task, 90)
    for k in range(5):
        inside, outside = fold != k, np.flatnonzero(fold[:60] == k)
        trees = HistGradientBoostingRegressor(
            learning_rate=STEP,
            max_iter=ROUNDS,
            early_stopping=True,
            n_iter_no_change=PATIENCE,
            random_state=0,
        ).fit(Z[inside], y[inside])
        # The same additions, of points rounded to float32: no threshold lies that near to a row.
        np.testing.assert_allclose(
            trees.predict(Z[outside]), member.left_out[outside, 0], rtol=1e-12
        )


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


@pytest.mark.parametrize("n", [1, 2, 3, 5, 400])
@pytest.mark.parametrize("kind", FORESTS)
def test_flat_forests_say_what_scikit_learn_says(kind, n):
    X, y = steps(400)
    target = np.digitize(y, [-1.0, 0.0, 1.0]) if "Classifier" in kind.__name__ else y
    if kind is ExtraTreesRegressor:
        target = np.column_stack([y, -y])
    X = X.astype(np.float32)
    for depth in (1, None):
        machine = kind(20, max_depth=depth, random_state=0).fit(X, target)
        forest = Forest.of(machine)
        forest.check_indices()
        new = steps(n, seed=1)[0].astype(np.float32)
        # A point on a cut, which goes to the left.
        new[0, machine.estimators_[0].tree_.feature[0]] = machine.estimators_[0].tree_.threshold[0]
        # The same sums in the same order: the same bits.
        if forest.classes_ is None:
            assert np.array_equal(forest.predict(new), machine.predict(new))
        else:
            assert np.array_equal(forest.predict_proba(new), machine.predict_proba(new))
            assert np.array_equal(forest.classes_, machine.classes_)


@pytest.mark.parametrize("n", [1, 7, 400])
@pytest.mark.parametrize("k", [0, 2, 3])
def test_flat_boosted_trees_say_what_scikit_learn_says(k, n):
    X, y = steps(400)
    X = X.astype(np.float32)
    kind = HistGradientBoostingClassifier if k else HistGradientBoostingRegressor
    target = np.digitize(y, [-0.5, 0.5][: k - 1]) if k else y
    machine = kind(max_iter=15, min_samples_leaf=5, random_state=0).fit(X, target)
    forest = Forest.of(machine)
    forest.check_indices()
    new = steps(n, seed=1)[0].astype(np.float32)
    # A point on a cut, which goes to the left.
    root = machine._predictors[0][0].nodes[0]
    new[0, root["feature_idx"]] = root["num_threshold"]
    # The same sums in the same order: the same bits.
    if not k:
        assert np.array_equal(forest.predict(new), machine.predict(new))
        return
    assert np.array_equal(forest.classes_, machine.classes_)
    # Exponentials of the same numbers, by another function.
    np.testing.assert_allclose(forest.predict_proba(new), machine.predict_proba(new), rtol=1e-14)


@pytest.mark.parametrize("start", [np.zeros(2), np.zeros((1, 1)), np.zeros(0), [0.0]])
def test_sums_that_do_not_fit_the_trees_are_refused(start):
    X, y = steps(60)
    trees = HistGradientBoostingRegressor(max_iter=3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="sums that do not fit"):
        replace(Forest.of(trees), start=start).check_indices()


def test_a_tree_may_be_a_single_leaf():
    machine = RandomForestRegressor(3, random_state=0).fit(np.zeros((5, 2)), np.ones(5))
    assert np.array_equal(Forest.of(machine).predict(np.ones((4, 2))), np.ones(4))


def test_forests_refuse_points_of_other_features():
    X, y = steps(60)
    forest = Forest.of(RandomForestRegressor(3, random_state=0).fit(X, y))
    with pytest.raises(ValueError, match="a forest of 4 features"):
        forest.predict(X[:, :3])
    with pytest.raises(ValueError, match="must be finite"):
        forest.predict(np.full((1, 4), np.nan))


@pytest.mark.parametrize("name", ["forest", "boosting"])
def test_models_with_trees_of_scikit_learn_predict_as_before(name):
    """As files of earlier releases hold them."""
    X, y = steps(150)
    machine = AutoClassifier(members=[name]).fit(X, y > 0)
    (member,) = machine.members_
    order, _, _ = machine._ordered(X, (y > 0)[:, None].astype(int), np.ones(len(X)))
    Z = member.points(X[order]).astype(np.float32)
    labels = (y > 0)[order].astype(int)
    older = clone(member.template).fit(Z, labels, sample_weight=np.ones(len(Z)))
    expected = machine.predict_proba(X)
    machine.members_ = [replace(member, machine=older)]
    np.testing.assert_allclose(machine.predict_proba(X), expected, rtol=1e-13)
