"""AutoRegressor and AutoClassifier: properties, tables with words and gaps, budgets, contract."""

import itertools
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import AutoClassifier, AutoRegressor
from mercer.tabular import automatic
from mercer.tabular.members import Cost
from mercer.tabular.tasks import Squares

FEW = ["laplacian-ranks", "gaussian"]


def smooth(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 50.0, 0.01]
    y = np.sin(2 * X[:, 0]) + 0.02 * X[:, 1] + 0.2 * rng.normal(size=n)
    return X, y


def frame(n, seed=0):
    rng = np.random.default_rng(seed)
    colour = rng.choice(["red", "green", "blue"], size=n)
    size = rng.normal(size=n)
    y = size**2 + 2.0 * (colour == "red") + 0.1 * rng.normal(size=n)
    table = pd.DataFrame({"size": size, "colour": pd.Categorical(colour), "useless": rng.random(n)})
    table.loc[rng.random(n) < 0.1, "size"] = np.nan
    return table, y


@pytest.fixture(scope="module")
def fitted():
    X, y = smooth(150)
    return X, y, AutoRegressor(members=FEW).fit(X, y)


# Properties ---------------------------------------------------------------------------------------


def test_prediction_does_not_depend_on_the_order_of_rows(fitted):
    X, y, machine = fitted
    order = np.random.default_rng(1).permutation(len(y))
    other = AutoRegressor(members=FEW).fit(X[order], y[order])
    assert np.array_equal(other.predict(X), machine.predict(X))
    assert np.array_equal(other.left_out_predictions_, machine.left_out_predictions_[order])


def test_prediction_does_not_depend_on_units(fitted):
    X, y, machine = fitted
    other = AutoRegressor(members=FEW).fit(X * [1000.0, 0.1, 7.0] + [3.0, -1.0, 0.0], 5.0 * y + 2.0)
    moved = other.predict(X * [1000.0, 0.1, 7.0] + [3.0, -1.0, 0.0])
    # Searches end where the evidence hardly changes, at slightly different points.
    assert (moved - 2.0) / 5.0 == pytest.approx(machine.predict(X), abs=0.02)


def test_constant_and_duplicate_columns_change_nothing(fitted):
    X, y, machine = fitted
    more = np.column_stack([X, np.full(len(X), 3.0), X[:, 0]])
    other = AutoRegressor(members=FEW).fit(more, y)
    assert np.array_equal(other.predict(more), machine.predict(X))
    assert set(other.encoder_.dropped_) == {"x3", "x4"}


def test_useless_columns_change_little(fitted):
    X, y, machine = fitted
    rng = np.random.default_rng(5)
    new, truth = smooth(500, seed=3)
    other = AutoRegressor(members=FEW).fit(np.column_stack([X, rng.normal(size=(len(X), 3))]), y)
    error = np.mean((other.predict(np.column_stack([new, rng.normal(size=(500, 3))])) - truth) ** 2)
    assert error < 1.3 * np.mean((machine.predict(new) - truth) ** 2)


@pytest.mark.parametrize("classes", [False, True])
def test_permuted_targets_are_recognized(classes):
    X, y = smooth(120)
    recognized = 0
    for seed in range(5):
        shuffled = np.random.default_rng(seed).permutation(y)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if classes:
                machine = AutoClassifier(members=["laplacian-ranks"]).fit(X, shuffled > 0)
                constant = np.ptp(machine.predict_proba(X)[:, 1]) == 0
            else:
                machine = AutoRegressor(members=["laplacian-ranks"]).fit(X, shuffled)
                constant = np.ptp(machine.predict(X)) == 0
        said = any("constant" in str(warning.message) for warning in caught)
        assert said == constant
        recognized += constant
    # A test with two standard errors is wrong once in forty times.
    assert recognized >= 4


def test_left_out_predictions_are_honest(fitted):
    _, y, machine = fitted
    new, truth = smooth(1000, seed=3)
    left_out = np.mean((machine.left_out_predictions_ - y) ** 2)
    # 150 left-out squares have a standard error of a ninth of their mean.
    assert left_out == pytest.approx(np.mean((machine.predict(new) - truth) ** 2), rel=0.4)
    assert machine.left_out_score_ == pytest.approx(1 - left_out / np.var(y))


# Tables -------------------------------------------------------------------------------------------


def test_words_and_missing_cells():
    table, y = frame(200)
    machine = AutoRegressor(members=[*FEW, "matern", "metric"]).fit(table, y)
    new, truth = frame(400, seed=1)
    assert machine.score(new, truth) > 0.8
    text = str(machine.explain())
    assert text.index("colour") < text.index("useless")
    effect = machine.effect(table, "colour")
    assert list(effect.values) == ["blue", "green", "red"]
    assert effect.mean[2] - effect.mean[0] == pytest.approx(2.0, abs=0.3)
    curve = machine.effect(table, "size", points=9)
    assert curve.mean[0] > curve.mean[4] < curve.mean[-1]
    # A category that was never seen is no error.
    new["colour"] = pd.Categorical(["violet"] * len(new))
    assert np.all(np.isfinite(machine.predict(new)))


def test_effects_are_of_columns_that_are_there(fitted):
    X, y, machine = fitted
    with pytest.raises(ValueError, match="there is no column 9; the table has"):
        machine.effect(X, 9)
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    table = pd.DataFrame({"weight": X[:, 0], "length": X[:, 1]})
    other = polars.DataFrame({name: table[name].to_numpy() for name in table})
    named = AutoRegressor(members=["gaussian"]).fit(table, y)
    with pytest.raises(ValueError, match=r"is called 'wieght'\. Did you mean 'weight'"):
        named.effect(table, "wieght")
    effects = named.effect(table, "weight"), named.effect(other, 0)
    assert effects[0].column == effects[1].column == "weight"
    np.testing.assert_array_equal(effects[0].mean, effects[1].mean)
    drawn = named.plot(other, y)
    assert {effect.name for effect in drawn.effects} == {"weight", "length"}


def test_classes_are_words_and_probabilities_calibrated():
    table, y = frame(250)
    labels = np.where(y > np.quantile(y, 0.7), "high", np.where(y > 0.5, "middle", "low"))
    machine = AutoClassifier(members=["laplacian-ranks", "squares-gaussian"]).fit(table, labels)
    new, truth = frame(500, seed=1)
    wanted = np.where(truth > np.quantile(y, 0.7), "high", np.where(truth > 0.5, "middle", "low"))
    P = machine.predict_proba(new)
    assert machine.score(new, wanted) > 0.75
    assert log_loss(wanted, P, labels=machine.classes_) < 0.65
    assert np.array_equal(machine.predict(new), machine.classes_[P.argmax(axis=1)])
    assert machine.decision_function(new).shape == (500, 3)
    left = machine.left_out_probabilities_
    assert log_loss(labels, left, labels=machine.classes_) == pytest.approx(
        machine.explain().error, rel=1e-9
    )


def test_a_date_in_words_decides():
    """A trend that is in the dates alone: it was a constant when dates in words were left out."""
    days = pd.date_range("2020-01-01", periods=60)
    x, y = np.random.default_rng(0).normal(size=60), np.arange(60.0)
    new = pd.DataFrame({"d": ["2020-01-15"], "x": [0.0]})
    typed = pd.DataFrame({"d": days, "x": x})
    model = AutoRegressor(members=["matern"]).fit(typed.assign(d=days.astype(str)), y)
    assert abs(model.predict(new)[0] - 14.0) < 0.1
    said = "Column 'd': words such as '2020-01-01' are read as dates (year, month, day)."
    assert said in model.notes_
    assert said in str(model.explain())
    same = AutoRegressor(members=["matern"]).fit(typed, y)
    np.testing.assert_array_equal(same.predict(typed), model.predict(typed.astype({"d": str})))
    classifier = AutoClassifier(members=["matern"]).fit(typed, y > 30)
    assert classifier.predict(new.assign(d="2020-02-20"))[0]


def test_notes_have_names_of_columns_and_not_of_parameters():
    """They were `right__kernel__length_scale` and features that were counted after encoding."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"key": rng.integers(0, 30, 100) * 1.0, "x": rng.normal(size=100)})
    table["city"], effects = rng.choice(list("abcd"), 100), rng.normal(size=30)
    noise = 0.05 * rng.normal(size=100)
    y = effects[table["key"].astype(int)] + noise + (table["city"] == "a")
    model = AutoRegressor(members=["gaussian"]).fit(table, y)
    assert model.notes_ == [
        "gaussian: the length scale of column city is as small as it may be: different values say "
        "nothing about each other."
    ]


def test_columns_that_are_left_out_are_named():
    table, y = frame(60)
    table["id"], table["same"] = [f"row {i}" for i in range(60)], 1.0
    with pytest.warns(UserWarning, match="'id' is left out.*make a column of that part"):
        model = AutoRegressor(members=["gaussian"]).fit(table, y)
    assert model.dropped_ == {
        "id": "has 60 categories, none of which is frequent", "same": "has one value: 1",
    }  # fmt: skip
    for name in model.dropped_:
        assert any(f"Column {name!r} is left out: it has" in note for note in model.notes_)
        assert f"Column {name!r} is left out" in str(model.explain())


def test_free_text_is_left_out_with_a_warning():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60)})
    words = np.array([f"word{i}" for i in range(300)])
    frame["remark"] = [" ".join(row) for row in rng.choice(words, (60, 4))]
    few = {"members": ["gaussian"]}
    with pytest.warns(UserWarning, match="'remark' is left out: it holds free text"):
        found = AutoRegressor(**few).fit(frame, frame["x"])
    plain = AutoRegressor(**few).fit(frame[["x"]], frame["x"])
    np.testing.assert_array_equal(found.predict(frame), plain.predict(frame[["x"]]))
    assert list(found.dropped_) == ["remark"]


def test_weights_of_zero_leave_rows_out():
    X, y = smooth(120)
    spoiled = y.copy()
    spoiled[80:] = 100.0
    weights = np.r_[np.ones(80), np.zeros(40)]
    machine = AutoRegressor(members=["gaussian"]).fit(X, spoiled, sample_weight=weights)
    assert np.mean((machine.predict(X[80:]) - y[80:]) ** 2) < 0.5 * np.var(y)


def test_several_outputs():
    X, y = smooth(150)
    Y = np.column_stack([y, 10.0 - 3.0 * np.cos(X[:, 0])])
    machine = AutoRegressor(members=FEW).fit(X, Y)
    assert machine.predict(X[:5]).shape == (5, 2)
    assert machine.weights_.shape == (2, 2)
    assert machine.predict_interval(X[:5]).shape == (5, 2, 2)
    new, truth = smooth(300, seed=1)
    assert machine.score(new, np.column_stack([truth, 10.0 - 3.0 * np.cos(new[:, 0])])) > 0.8


# Intervals ----------------------------------------------------------------------------------------


def test_intervals_cover():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1400, 1))
    y = np.sin(6 * X[:, 0]) + (0.05 + 0.4 * X[:, 0]) * rng.normal(size=1400)
    machine = AutoRegressor(members=["gaussian"]).fit(X[:400], y[:400])
    low, high = machine.predict_interval(X[400:], coverage=0.8).T
    inside = np.mean((y[400:] >= low) & (y[400:] <= high))
    # Three standard errors of 1000 new and 400 left-out samples.
    assert inside == pytest.approx(0.8, abs=0.07)
    assert (high - low)[X[400:, 0] > 0.9].mean() > 2 * (high - low)[X[400:, 0] < 0.1].mean()
    quantiles = machine.predict_quantiles(X[:10], [0.1, 0.5, 0.9])
    assert np.all(np.diff(quantiles, axis=1) >= 0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        machine.predict_interval(X, coverage=1.0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        machine.predict_quantiles(X, [0.0])


@pytest.mark.parametrize("counts", [[45, 27, 18], [60, 30]])
def test_classes_that_nothing_predicts_have_their_frequencies(counts):
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    with pytest.warns(UserWarning, match="predictions are the constant"):
        machine = AutoClassifier(members=["gaussian"]).fit(rng.normal(size=(90, 2)), labels)
    # Half a row more of each class, so that none is impossible.
    share = (np.array(counts) + 0.5) / (90 + 0.5 * len(counts))
    P = machine.predict_proba(rng.normal(size=(7, 2)))
    np.testing.assert_allclose(P, np.tile(share, (7, 1)), rtol=1e-12)


# Size and time ------------------------------------------------------------------------------------


def test_more_rows_than_exact_machines_take(monkeypatch):
    monkeypatch.setattr("mercer.tabular.automatic.JUDGED", 100)
    X, y = smooth(900)
    machine = AutoRegressor(members=FEW, max_rows=200).fit(X, y)
    assert [member.name for member in machine.members_] == [
        *FEW,
        *(f"{name}, all rows" for name in FEW),
    ]
    assert any("900 rows" in note for note in machine.notes_)
    assert np.isnan(machine.left_out_predictions_).sum() == 900 - 350
    new, truth = smooth(500, seed=1)
    exact = AutoRegressor(members=FEW).fit(X[:200], y[:200])
    error, less = (np.mean((m.predict(new) - truth) ** 2) for m in (machine, exact))
    assert error < 1.02 * less


@pytest.mark.parametrize("members", [FEW, FEW[::-1]])
def test_of_machines_judged_by_some_rows_the_best_is_fitted_to_all(members, monkeypatch):
    monkeypatch.setattr("mercer.tabular.automatic.JUDGED", 40)
    monkeypatch.setattr("mercer.tabular.automatic.KEPT", 1)
    X, y = smooth(60)
    alone = {name: AutoRegressor(members=[name]).fit(X, y).left_out_score_ for name in members}
    assert alone["gaussian"] > alone["laplacian-ranks"] + 0.01
    machine = AutoRegressor(members=members).fit(X, y)
    assert [member.name for member in machine.members_] == ["gaussian"]
    assert len(machine.members_[0].machine.support_) == 60


@pytest.mark.parametrize("affordable", [1e4, 1e9])
def test_classes_of_more_rows(monkeypatch, affordable):
    monkeypatch.setattr("mercer.tabular.automatic.JUDGED", 100)
    monkeypatch.setattr("mercer.tabular.classifier.AFFORDABLE", affordable)
    X, y = smooth(600)
    machine = AutoClassifier(max_rows=200).fit(X, y > 0)
    assert any("least squares" in note for note in machine.notes_) is (affordable < 1e9)
    kernels = [member for member in machine.members_ if hasattr(member.machine, "kernel_")]
    logistic = [not member.name.startswith("squares") for member in kernels]
    assert any(logistic) is (affordable == 1e9)
    new, truth = smooth(500, seed=1)
    assert machine.score(new, truth > 0) > 0.8


def test_several_classes_of_more_rows_are_fitted_in_parts_against_the_rest(monkeypatch):
    monkeypatch.setattr("mercer.tabular.automatic.JUDGED", 100)
    X, y = smooth(600)
    thirds = np.quantile(y, [1 / 3, 2 / 3])
    fitted = AutoClassifier(members=["gaussian"], max_rows=200).fit(X, np.digitize(y, thirds))
    hows = {member.name: member.machine.multi_class for member in fitted.members_}
    assert set(hows.items()) <= {("gaussian", "multinomial"), ("gaussian, all rows", "ovr")}
    assert "ovr" in hows.values()
    new, truth = smooth(500, seed=1)
    assert fitted.score(new, np.digitize(truth, thirds)) > 0.6


def test_a_machine_that_was_begun_is_ended():
    # Half a machine was weighed with 0, so that the larger class was predicted everywhere.
    X, y = load_iris(return_X_y=True)
    machine = AutoClassifier(budget=1e-3, random_state=0).fit(X[::2], y[::2])
    assert machine.score(X[1::2], y[1::2]) > 0.9


def test_budget_ends_the_fit(monkeypatch):
    X, y = smooth(300)
    # By this clock a second passes from one look at it to the next.
    ticks = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))
    machine = AutoRegressor(budget=5.0).fit(X, y)
    assert len(machine.members_) == 1
    assert "budget" in machine.notes_[-1]
    assert next(ticks) < 100


@pytest.mark.parametrize("kind", [AutoRegressor, AutoClassifier])
@pytest.mark.parametrize("max_rows", [450, 10_000])
def test_rows_are_as_many_as_the_budget_pays_for(monkeypatch, kind, max_rows):
    X, y = smooth(700)
    y = y if kind is AutoRegressor else y > 0
    # Time stands still, and a machine of 400 rows is said to take a second.
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)
    monkeypatch.setattr(Cost, "measured", classmethod(lambda cls, *of: Cost(1.0)))
    members, paid = ["gaussian", "matern"], Cost(1.0).rows(0.2 * 10.0)
    assert 450 < paid < 700
    machine = kind(budget=10.0, members=members, max_rows=max_rows)
    if max_rows < paid:
        machine.fit(X, y)
        assert any("no time for machines of all 700 rows" in note for note in machine.notes_)
    else:
        with pytest.warns(UserWarning, match=f"{paid} of the 700 rows"):
            machine.fit(X, y)
    used = min(paid, max_rows)
    assert [len(member.left_out) for member in machine.members_] == [used, used]
    judged = (
        machine.left_out_predictions_
        if kind is AutoRegressor
        else (machine.left_out_probabilities_[:, 0])
    )
    assert np.sum(np.isfinite(judged)) == used
    assert machine.score(X, y) > 0.8


def test_an_ample_budget_changes_nothing(monkeypatch):
    X, y = smooth(500)
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)
    limited = AutoRegressor(members=FEW, budget=1e6).fit(X, y)
    assert np.array_equal(limited.predict(X), AutoRegressor(members=FEW).fit(X, y).predict(X))


def test_members_without_weight_are_not_asked(monkeypatch):
    X, y = smooth(60)
    machine = AutoRegressor(members=["laplacian", "gaussian", "matern-ranks"]).fit(X, y)
    values = np.stack([member.values(machine._encoded(X), 1) for member in machine.members_])
    together = np.einsum("km,mnk->nk", machine._weights, values)[:, 0]
    np.testing.assert_allclose(
        machine.predict(X), machine._mean + together * machine._scale, rtol=1e-12
    )
    # Members of one form of the features have it in common.
    assert machine.members_[0].features is machine.members_[1].features
    asked, says = [], Squares.says
    monkeypatch.setattr(
        Squares, "says", staticmethod(lambda one, Z, d: asked.append(one) or says(one, Z, d))
    )
    machine._weights = np.array([[0.25, 0.0, 0.75]])
    machine.weights_ = machine._weights[0]
    together = 0.25 * values[0, :, 0] + 0.75 * values[2, :, 0]
    np.testing.assert_allclose(
        machine.predict(X), machine._mean + together * machine._scale, rtol=1e-12
    )
    assert asked == [machine.members_[0].fitted, machine.members_[2].fitted]


def test_unknown_members_are_refused():
    X, y = smooth(30)
    with pytest.raises(ValueError, match="laplacian-ranks"):
        AutoRegressor(members=["orchard"]).fit(X, y)
    with pytest.raises(ValueError, match="matern"):
        AutoRegressor(members=["metric"]).fit(X, y)


def test_fit_is_deterministic(fitted):
    X, y, machine = fitted
    again = clone(machine).fit(X, y)
    assert np.array_equal(again.predict(X), machine.predict(X))


def test_verbose_says_a_line_for_each_machine(capsys):
    X, y = smooth(60)
    AutoRegressor(members=FEW, verbose=True).fit(X, y)
    *lines, _ = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[1] for line in lines] == FEW


REPEATED = {
    "check_sample_weight_equivalence_on_dense_data": "a row is not left out with its copies"
}


@parametrize_with_checks(
    [AutoRegressor(members=["gaussian"]), AutoClassifier(members=["gaussian"])],
    expected_failed_checks=lambda machine: REPEATED,
)
def test_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        check(estimator)


# Threads ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [AutoRegressor, AutoClassifier])
@pytest.mark.parametrize("judged", [3000, 60])
def test_predictions_do_not_depend_on_the_number_of_jobs(monkeypatch, kind, judged):
    monkeypatch.setattr("mercer.tabular.automatic.JUDGED", judged)
    X, y = smooth(80)
    y = y if kind is AutoRegressor else y > 0
    members = ["gaussian", "matern", "metric"]
    one, other = (kind(members=members, n_jobs=n_jobs).fit(X, y) for n_jobs in (None, 2))
    predict = "predict_interval" if kind is AutoRegressor else "predict_proba"
    assert np.array_equal(getattr(other, predict)(X), getattr(one, predict)(X))
    assert [m.name for m in other.members_] == [m.name for m in one.members_]
    assert np.array_equal(other.weights_, one.weights_)
    assert other.notes_ == one.notes_


def test_machines_are_fitted_at_the_same_time(monkeypatch):
    X, y = smooth(60)
    both, judge = threading.Barrier(2, timeout=60), automatic.judge

    def meet(name, *args):
        both.wait()
        return judge(name, *args)

    monkeypatch.setattr(automatic, "judge", meet)
    machine = AutoRegressor(members=["gaussian", "laplacian"], n_jobs=2).fit(X, y)
    assert len(machine.members_) == 2


def test_the_metric_begins_after_the_machine_whose_gradients_it_takes(monkeypatch):
    X, y = smooth(60)
    order, judge, judge_metric = [], automatic.judge, automatic.judge_metric

    def first(name, *args):
        found = judge(name, *args)
        order.append(name)
        return found

    def second(base, *args):
        assert base.name == "matern"
        assert "matern" in order
        order.append("metric")
        return judge_metric(base, *args)

    monkeypatch.setattr(automatic, "judge", first)
    monkeypatch.setattr(automatic, "judge_metric", second)
    AutoRegressor(members=["metric", "gaussian", "matern"], n_jobs=3).fit(X, y)
    assert sorted(order) == ["gaussian", "matern", "metric"]


def test_an_error_in_a_thread_leaves_the_machine_as_it_was(monkeypatch):
    X, y = smooth(60)
    machine = AutoRegressor(members=FEW, n_jobs=2).fit(X, y)
    before, judge = machine.predict(X), automatic.judge

    def stopped(name, *args):
        if name == "gaussian":
            raise KeyboardInterrupt
        return judge(name, *args)

    monkeypatch.setattr(automatic, "judge", stopped)
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X[:40], -y[:40])
    assert np.array_equal(machine.predict(X), before)
