"""The contest on tables: its plan, its splits, its metrics, and how its results are read."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from benchmarks.store import Record
from benchmarks.suites import tables
from benchmarks.suites.tables import (
    FLOOR,
    FRESH,
    OURS,
    PLAN,
    SETS,
    UNSEEN,
    UNSEEN_SIZE,
    Field,
    Split,
    claims,
    columns,
    split,
)

pd = pytest.importorskip("pandas")


def test_the_plan_names_sets_once_and_subsets_of_them():
    names = [name for sets in SETS.values() for name in sets]
    unseen = [name for sets in UNSEEN.values() for name in sets]
    assert len(set(names)) == len(names) == 32
    assert len(set(unseen)) == len(unseen) == 22
    assert not set(unseen) & set(names)
    assert set(names) > FRESH
    assert set(PLAN["subset"]["sets"]) <= set(names)


@pytest.mark.parametrize("name", ["diabetes", "breast_cancer"])
def test_a_split_is_the_same_for_everybody_and_parts_share_no_rows(name):
    one, again, other = (split(name, number, 150, 100) for number in (3, 3, 4))
    pd.testing.assert_frame_equal(one.X, again.X)
    assert not one.X.equals(other.X)
    assert (len(one.y), len(one.y_test)) == (150, 100)
    rows = {tuple(x) for x in one.X.to_numpy()}
    assert not rows & {tuple(x) for x in one.X_test.to_numpy()}
    if one.regression:
        assert one.y.mean() == pytest.approx(0.0, abs=1e-12)
        assert one.y.std() == pytest.approx(1.0)


def test_unseen_sets_have_one_size_or_a_share_of_their_rows(monkeypatch):
    X, y = pd.DataFrame({"x": np.arange(300.0)}), np.arange(300.0)
    monkeypatch.setattr(tables, "frame", lambda name: (X, y, True))
    sizes = {case["set"]: case["size"] for case in tables.cases(False)}
    assert sizes["yacht"] == UNSEEN_SIZE
    assert "airfoil" not in sizes  # 500 rows are more than 0.7 of 300
    data = split("yacht", 0, UNSEEN_SIZE)
    assert (len(data.y), len(data.y_test)) == (210, 90)


def test_classes_with_few_expected_rows_are_dropped(monkeypatch):
    y = np.repeat(["a", "b", "c"], [60, 36, 4])
    X = pd.DataFrame({"x": np.arange(100.0)})
    monkeypatch.setattr(tables, "frame", lambda name: (X, y, False))
    # Of 50 rows in 100 the classes expect 30, 18 and 2.
    data = split("any", 0, 50, 30)
    assert data.classes == 2
    both = pd.concat([data.X, data.X_test])["x"]
    assert both.max() < 96
    assert np.array_equal(np.concatenate([data.y, data.y_test]), (both >= 60).astype(int))


def given(y, regression=False):
    X = pd.DataFrame({"x": np.zeros(len(y))})
    return Split(X, y, X, y, regression)


def test_metrics_of_probabilities_and_targets():
    y = np.array([0, 1, 1, 2])
    P = np.array([[0.7, 0.2, 0.1], [0.0, 1.0, 0.0], [0.6, 0.3, 0.1], [0.2, 0.2, 0.6]])
    found = given(y).judge(P)
    assert found["error"] == 0.25
    # The floor moves a probability of 1 by two floors, and others by less.
    assert found["log_loss"] == pytest.approx(log_loss(y, P), abs=2 * FLOOR)
    parts = [0.09 + 0.04 + 0.01, 0.0, 0.36 + 0.49 + 0.01, 0.04 + 0.04 + 0.16]
    assert found["brier"] == pytest.approx(np.mean(parts), abs=1e-5)
    # Bins of 1/15: 0.7 is alone, 1.0 is alone, both 0.6 are in one with one hit.
    assert found["ece"] == pytest.approx((0.3 + 0.0 + abs(1 - 1.2)) / 4, abs=1e-5)
    targets = given(np.array([-1.0, 1.0, 0.0]), regression=True)
    assert targets.judge(np.array([-1.0, 1.0, 0.3]))["rmse"] == pytest.approx(0.3 / np.sqrt(3))
    with pytest.raises(ValueError, match="finite"):
        targets.judge(np.array([0.0, np.nan, 0.0]))


def test_columns_know_missing_cells_and_new_levels():
    kind = pd.CategoricalDtype(["a", "b", "c"])
    words = pd.Series(["a", "b", None, "a"], dtype=kind)
    X = pd.DataFrame({"n": [1.0, np.nan, 3.0, 8.0], "k": words})
    new = pd.DataFrame({"n": [np.nan], "k": pd.Series(["c"], dtype=kind)})
    made = columns(Split(X, np.zeros(4), new, np.zeros(1), True), scale=False)
    # The median of 1, 3 and 8; then a, b and missing.
    assert made.transform(X)[1:3].tolist() == [[3.0, 0.0, 1.0, 0.0], [3.0, 0.0, 0.0, 1.0]]
    assert made.transform(new).tolist() == [[3.0, 0.0, 0.0, 0.0]]


def lines(levels, splits=5, seconds=1.0):
    """Return records of 500 rows of all regressions; levels are errors by method."""
    return [
        Record(
            {"set": name, "size": 500},
            method,
            tuple({"rmse": level + 1e-3 * k, "seconds": seconds} for _ in range(splits)),
            {},
        )
        for method, level in levels.items()
        for k, name in enumerate(SETS["regression"])
    ]


def test_ranks_and_duels_are_over_sets_with_failures_last():
    found = lines({OURS: 0.1, "CatBoost": 0.2, "LightGBM": 0.3})
    broken = next(r for r in found if r.contender == "CatBoost")
    found[found.index(broken)] = Record(
        broken.case, "CatBoost", (*broken.runs[:2], {"failure": "too long"}, *broken.runs[3:]), {}
    )
    field = Field(found, "rmse", 500)
    n = len(field.sets)
    assert np.isinf(field.values("CatBoost")[0])
    ranks = field.ranking().ranks
    assert ranks[OURS] == 1.0
    assert ranks["CatBoost"] == pytest.approx((2 * (n - 1) + 3) / n)
    duels = field.duels()
    assert duels["CatBoost"][0].counts == (n, 0, 0)
    # All signs alike, and two hypotheses.
    assert duels["LightGBM"][1] == pytest.approx(2 * 2 / 2**n)


def test_unfinished_methods_are_left_out_and_prices_are_of_common_splits():
    found = lines({OURS: 0.1, "CatBoost": 0.2}) + lines({"XGBoost": 0.1}, splits=2, seconds=4.0)
    field = Field(found, "rmse", 500)
    assert "XGBoost" not in field.methods()
    assert field.ranking() is None  # two methods
    assert field.done("XGBoost") == 2
    error, seconds = field.price("XGBoost")
    assert (error < 1.0, seconds) == (True, 4.0)
    assert field.price("EBM") is None


def test_a_short_run_names_what_is_worse_or_slow():
    def record(name, method, **values):
        return Record({"set": name, "size": 150}, method, (values,) * 2, {})

    usual = [
        record("diabetes", tables.USUAL, rmse=0.7, seconds=0.1),
        record("breast_cancer", tables.USUAL, error=0.03, log_loss=0.1, seconds=0.1),
    ]
    good = [
        record("diabetes", OURS, rmse=0.75, seconds=2.0),
        record("breast_cancer", OURS, error=0.035, log_loss=0.1, seconds=2.0),
    ]
    assert claims(usual + good, True) == []
    good[0] = record("diabetes", OURS, rmse=0.8, seconds=20.0)
    good[1] = record("breast_cancer", OURS, failure="ValueError: no")
    wrong = claims(usual + good, True)
    assert [word in text for word, text in zip(("worse", "slow", "no"), wrong, strict=True)] == [
        True
    ] * 3
