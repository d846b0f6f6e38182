"""The benchmark of tuning: its splits, its statistics, its figure and its page."""

import json

import numpy as np
import pytest

from benchmarks.common.ranking import compare, geometric, rank
from benchmarks.common.ranking_figure import ranks
from benchmarks.tuning import tuning
from benchmarks.tuning.page import PAGE, RANKED, SETS, TABLE, errors, gather, page
from benchmarks.tuning.sets import SHARE, split
from benchmarks.tuning.timing import PAIRS
from data import MISSING


@pytest.mark.parametrize("name", ["diabetes", "breast_cancer"])
def test_a_split_is_the_same_for_everybody_and_parts_share_no_rows(name):
    one, again, other = split(name, 3, 200), split(name, 3, 200), split(name, 4, 200)
    np.testing.assert_array_equal(one.X, again.X)
    assert not np.array_equal(one.X, other.X)
    rows = {tuple(x) for x in one.X}
    assert len(rows) == 200
    assert not rows & {tuple(x) for x in one.X_test}


def test_targets_are_standardized_by_the_rows_to_learn_from():
    data = split("diabetes", 0)
    assert len(data.y) == min(300, int(SHARE * 442))
    assert data.y.mean() == pytest.approx(0.0, abs=1e-12)
    assert data.y.std() == pytest.approx(1.0)
    # The mean of the rows to learn from is 0: predicting it costs the spread of the others.
    assert data.error(np.zeros(len(data.y_test))) == pytest.approx(np.sqrt(np.mean(data.y_test**2)))


def test_classes_keep_their_shares():
    data = split("breast_cancer", 0, 200)
    # Rounding moves at most one row from one class to the other.
    assert abs(200 * data.y_test.mean() - data.y.sum()) < 1 + 200 / len(data.y_test)
    assert data.error(1 - data.y_test) == 1.0


def test_wins_ties_and_losses():
    theirs = np.array([[1.0, 1.2, 0.8], [1.0, 1.2, 0.8], [1.0, 1.2, 0.8], [1.0, 1.2, 0.8]])
    apart = [[-0.1, -0.12, -0.08], [0.005, 0.005, 0.005], [0.3, -0.2, 0.1], [0.2, 0.21, 0.19]]
    found = compare(theirs + apart, theirs)
    # Clearly better; half a percent; a mean of 0.067 with a standard error of 0.145; worse.
    assert found.sets == (1, 2, 1)
    assert found.splits == (4, 3, 5)
    assert found.ratio == pytest.approx(np.prod([0.9, 1.005, 1 + 0.2 / 3, 1.2]) ** 0.25)
    assert found.whole == pytest.approx(1 + (-0.1 + 0.005 + 0.2 / 3 + 0.2) / 4)


def test_the_test_is_that_of_signed_ranks():
    theirs = np.ones((6, 2))
    found = compare(theirs * np.array([0.5, 0.6, 0.7, 0.8, 0.85, 0.9])[:, None], theirs)
    # Six differences of one sign: two of the 64 equally likely patterns of signs.
    assert found.p_value == pytest.approx(2 / 64)
    assert compare(theirs, theirs).p_value == 1.0
    none = compare(np.array([[0.0, 0.0], [0.1, 0.1]]), np.array([[0.0, 0.0], [0.2, 0.2]]))
    assert none.ratio == pytest.approx(0.5)  # a set without mistakes has no ratio
    assert none.sets == (1, 1, 0)


# Demsar (2006), table 5a: critical values of the two-tailed Nemenyi test at 5 %.
@pytest.mark.parametrize(("k", "q"), [(3, 2.343), (5, 2.728), (10, 3.164)])
def test_critical_differences_are_those_of_the_table(k, q):
    rng = np.random.default_rng(0)
    n = 12
    found = rank({str(i): rng.uniform(size=n) for i in range(k)})
    # The table has three decimals.
    assert found.distance == pytest.approx(q * np.sqrt(k * (k + 1) / (6 * n)), abs=6e-4)


def test_groups_are_the_longest_runs_within_the_critical_difference():
    n = 50
    given = {name: np.full(n, value) for name, value in zip("dbca", (4, 2, 3, 1), strict=True)}
    given["b"][:25], given["c"][:25] = 3, 2
    found = rank(given)
    assert found.names == ("a", "b", "c", "d")
    assert found.ranks == (1.0, 2.5, 2.5, 4.0)
    assert found.distance < 1.5
    assert found.groups == ((1, 2),)


def test_ties_share_a_rank():
    found = rank({"a": np.array([1.0, 1.0]), "b": np.array([1.0, 2.0]), "c": np.array([3.0, 3.0])})
    assert found.ranks == (1.25, 1.75, 3.0)
    assert geometric([1.0, 4.0]) == (2.0, 1.0, 4.0)


def test_the_figure_names_every_method(tmp_path):
    rng = np.random.default_rng(0)
    names = ["one machine", "another", "a third"]
    found = rank({name: rng.uniform(size=9) for name in names})
    path = tmp_path / "ranks.svg"
    ranks({"these": found}, path)
    text = path.read_text()
    assert all(name in text for name in names)
    ranks({"these": found}, tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text() == text


def lines(splits):
    rng = np.random.default_rng(0)
    base = {"calibration": [0.01, 0.01], "seconds": 0.5}
    return [
        base | {"method": m, "set": name, "split": i, "error": rng.uniform(0.1, 0.2)}
        for task, methods in RANKED.items()
        for m in methods
        for name in SETS[task]
        for i in range(splits)
    ]


@pytest.mark.data
@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_methods_are_compared_on_the_splits_that_both_have():
    found = lines(4)
    unfinished = [r | {"method": "unfinished"} for r in found if r["set"] == "boston"]
    late = [r for r in found if r["split"] < 3 or r["method"] != "SVC grid"]
    table = json.loads(gather({"sklearn": late + unfinished}))
    assert "unfinished" not in table["errors"]
    assert len(table["errors"]["SVC grid"]["heart"]) == 3
    ours, theirs = errors(table, "classification", "mercer SVC tuned", "SVC grid")
    assert ours.shape == theirs.shape == (len(SETS["classification"]), 3)
    assert errors(table, "regression", "SVR grid")[0].shape[1] == 4
    assert "| mercer LSSVR tuned | KernelRidge grid |" in page(table)


def test_the_page_is_that_of_the_table():
    assert PAGE.read_text() == page(json.loads(TABLE.read_text()))


def test_a_call_that_is_worse_or_slow_is_complained_of():
    pairs = PAIRS
    good = [
        {"set": "s", "split": 0, "method": m, "error": 0.2, "seconds": 0.01 if i == 0 else 1.0}
        for pair in pairs
        for i, m in enumerate(pair)
    ]
    assert tuning.complaints(good) == []
    bad = [r | ({"error": 0.3} if r["method"] == pairs[0][0] else {}) for r in good]
    bad = [r | ({"seconds": 0.6} if r["method"] == pairs[1][0] else {}) for r in bad]
    assert tuning.complaints(bad) == [
        "mercer LSSVR tuned is worse than KernelRidge grid",
        "mercer SVR tuned is slow beside SVR grid",
    ]
