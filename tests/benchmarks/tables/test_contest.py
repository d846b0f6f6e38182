"""The contest on tables: its plan, its splits, its metrics, its statistics and its page."""

import json

import numpy as np
import pytest
from scipy.stats import wilcoxon
from sklearn.metrics import log_loss

from benchmarks.tables import contest, pretrained
from benchmarks.tables.columns import columns
from benchmarks.tables.judge import duel, holm, relative
from benchmarks.tables.page import PAGE, TABLE, first_splits, page, panels, priced
from benchmarks.tables.price_figure import prices
from benchmarks.tables.sets import (
    EVERY,
    FLOOR,
    FRESH,
    PLAN,
    SETS,
    SIZES,
    UNSEEN,
    UNSEEN_SIZE,
    Split,
    fits,
    planned_splits,
    split,
)
from benchmarks.tables.standing import standing
from benchmarks.tables.table import METHODS, METRICS, OURS, PEERS, Field, gather, task_of
from data import MISSING

pd = pytest.importorskip("pandas")
REGRESSION = SETS["regression"]


def test_the_plan_names_sets_once_and_subsets_of_them():
    names = [name for sets in SETS.values() for name in sets]
    assert len(set(names)) == len(names) == 32
    assert set(names) > FRESH
    assert set(PLAN["subset"]["sets"]) <= set(names)
    assert {how["group"] for f in PLAN["contenders"].values() for how in f.values()} <= set(
        PLAN["groups"]
    )
    assert OURS in METHODS
    unseen = [name for sets in UNSEEN.values() for name in sets]
    assert len(set(unseen)) == len(unseen) == 22
    assert not set(unseen) & set(names)


def test_unseen_sets_have_one_size_or_a_share_of_their_rows(monkeypatch):
    X, y = pd.DataFrame({"x": np.arange(300.0)}), np.arange(300.0)
    monkeypatch.setattr("benchmarks.tables.sets.frame", lambda name: (X, y, True))
    assert fits("yacht", UNSEEN_SIZE)
    assert not fits("yacht", 500)
    assert not fits("airfoil", UNSEEN_SIZE)
    data = split("yacht", 0, UNSEEN_SIZE)
    assert (len(data.y), len(data.y_test)) == (210, 90)


@pytest.mark.parametrize("name", ["diabetes", "breast_cancer"])
def test_a_split_is_the_same_for_everybody_and_parts_share_no_rows(name):
    one, again, other = (split(name, number, 150, 100) for number in (3, 3, 4))
    pd.testing.assert_frame_equal(one.X, again.X)
    assert not one.X.equals(other.X)
    assert len(one.y) == 150
    assert len(one.y_test) == 100
    rows = {tuple(x) for x in one.X.to_numpy()}
    assert not rows & {tuple(x) for x in one.X_test.to_numpy()}
    if one.regression:
        assert one.y.mean() == pytest.approx(0.0, abs=1e-12)
        assert one.y.std() == pytest.approx(1.0)


def test_classes_with_few_expected_rows_are_dropped(monkeypatch):
    y = np.repeat(["a", "b", "c"], [60, 36, 4])
    X = pd.DataFrame({"x": np.arange(100.0)})
    monkeypatch.setattr("benchmarks.tables.sets.frame", lambda name: (X, y, False))
    # Of 50 rows in 100 the classes expect 30, 18 and 2.
    data = split("any", 0, 50, 30)
    assert data.classes == 2
    both = pd.concat([data.X, data.X_test])["x"]
    assert both.max() < 96
    labels = np.concatenate([data.y, data.y_test])
    assert np.array_equal(labels, (both >= 60).astype(int))


def given(y, regression=False):
    X = pd.DataFrame({"x": np.zeros(len(y))})
    return Split(X, y, X, y, regression)


def test_metrics_of_probabilities():
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
    # A certain mistake costs the logarithm of the floor, not infinity.
    sure = given(np.array([0, 1])).judge(np.array([[1.0, 0.0], [1.0, 0.0]]))
    assert sure["log_loss"] == pytest.approx(-np.log(FLOOR) / 2, rel=1e-5)


def test_metrics_of_targets():
    found = given(np.array([-1.0, 1.0, 0.0]), regression=True).judge(np.array([-1.0, 1.0, 0.3]))
    assert found["rmse"] == pytest.approx(0.3 / np.sqrt(3))
    assert found["r2"] == pytest.approx(1 - 0.09 / 2)
    with pytest.raises(ValueError, match="finite"):
        given(np.zeros(2), regression=True).judge(np.array([0.0, np.nan]))


def test_columns_know_missing_cells_and_new_levels():
    kind = pd.CategoricalDtype(["a", "b", "c"])
    X = pd.DataFrame(
        {"n": [1.0, np.nan, 3.0, 8.0], "k": pd.Series(["a", "b", None, "a"], dtype=kind)}
    )
    new = pd.DataFrame({"n": [np.nan], "k": pd.Series(["c"], dtype=kind)})
    data = Split(X, np.zeros(4), new, np.zeros(1), True)
    made = columns(data, scale=False)
    # The median of 1, 3 and 8; then a, b and missing.
    assert made.transform(X)[1:3].tolist() == [[3.0, 0.0, 1.0, 0.0], [3.0, 0.0, 0.0, 1.0]]
    assert made.transform(new).tolist() == [[3.0, 0.0, 0.0, 0.0]]


def test_wins_ties_losses_and_failures():
    theirs = np.array([1.0, 1.0, 1.0, np.inf, 0.5, np.inf, 0.0])
    ours = np.array([0.9, 1.005, 1.1, 0.7, np.inf, np.inf, 0.0])
    found = duel(ours, theirs, 0.01)
    assert found.counts == (2, 3, 2)
    assert found.ratio == pytest.approx((0.9 * 1.005 * 1.1) ** (1 / 3))


def test_the_test_is_that_of_signed_ranks_of_log_ratios():
    rng = np.random.default_rng(0)
    ours, theirs = rng.uniform(0.1, 1.0, (2, 16))
    # Relative differences are tanh(log ratio / 2): the same signs and the same order.
    logs = np.log(ours / theirs)
    np.testing.assert_allclose(relative(ours, theirs), np.tanh(logs / 2), rtol=1e-12)
    assert duel(ours, theirs, 0.01).p_value == wilcoxon(logs).pvalue
    assert duel(ours, ours, 0.01).p_value == 1.0
    # Six differences of one sign: two of the 64 equally likely patterns of signs.
    six = duel(np.array([0.5, 0.6, 0.7, 0.8, 0.85, 0.9]), np.ones(6), 0.01)
    assert six.p_value == pytest.approx(2 / 64)


def test_p_values_are_corrected_step_down():
    # 4 x 0.01; 3 x 0.015; 2 x 0.02 is raised to the one before; 1 x 0.5.
    np.testing.assert_allclose(holm([0.5, 0.01, 0.02, 0.015]), [0.5, 0.04, 0.045, 0.045])
    assert holm([0.6, 0.7]).tolist() == [1.0, 1.0]


@pytest.fixture
def shapes(monkeypatch):
    """Describe the sets without reading them: the first two have every size, others only 500."""

    def shape(name):
        sizes = list(SIZES) if name in SETS[task_of(name)][-2:] else [500]
        sizes = [UNSEEN_SIZE] if name in UNSEEN[task_of(name)] else sizes
        return {"sizes": sizes, "numbers": 3, "categories": 1, "classes": [2]}

    monkeypatch.setattr("benchmarks.tables.table.shape", shape)
    return shape


def lines(shape, level):
    """Return lines of all contenders; ``level`` maps a method and a set to a value."""
    found = []
    for family in PLAN["contenders"].values():
        for method, how in family.items():
            few = PLAN["subset"]["sets"] if how["group"] == "subset" else None
            for task, sets in EVERY.items():
                for name in sets if few is None else few:
                    if name not in sets:
                        continue
                    for size in shape(name)["sizes"]:
                        for i in range(planned_splits(how, size)):
                            v = level(method, name) + 1e-4 * i
                            of = dict.fromkeys(METRICS[task], v)
                            base = {"method": method, "set": name, "size": size, "split": i}
                            found.append(base | of | {"seconds": 1.0, "predict": 0.1})
    return found


def test_ranks_and_duels_are_over_sets_with_failures_last(shapes):
    def level(method, name):
        # The recommended estimator is the first; no two sets have the same ratio.
        return 0.1 * (1 + METHODS.index(method)) + 1e-3 * EVERY[task_of(name)].index(name)

    given = lines(shapes, level)
    for r in given:
        if (r["method"], r["set"], r["size"], r["split"]) == ("CatBoost", "airfoil", 500, 2):
            for key in ("rmse", "r2", "seconds", "predict"):
                del r[key]
            r["failed"] = "too long"
    table = json.loads(gather(given, {}))
    assert table["failures"] == ["CatBoost, airfoil, 500 rows, split 2: too long"]
    field = Field(table, "regression", "rmse", 500)
    assert field.sets == list(REGRESSION)
    hows = {m: how for family in PLAN["contenders"].values() for m, how in family.items()}
    methods = [m for m in METHODS if planned_splits(hows[m], 500) == 5]
    assert "TabM" not in methods
    assert field.methods() == methods
    assert np.isinf(field.values("CatBoost")[0])
    # The mean of five splits, of five digits each.
    assert field.values(OURS)[0] == pytest.approx(level(OURS, "airfoil") + 2e-4, rel=1e-5)
    found = field.ranking()
    average = dict(zip(found.names, found.ranks, strict=True))
    n, k, place = len(REGRESSION), len(methods), 1 + methods.index("CatBoost")
    assert average[OURS] == 1.0
    assert average["CatBoost"] == pytest.approx(((n - 1) * place + k) / n)
    duels = field.duels()
    assert (
        set(duels) == {m for m in methods if not m.startswith("mercer")} == set(duels) & set(PEERS)
    )
    assert all(d.counts == (n, 0, 0) for d, _ in duels.values())
    # All signs alike, and as many hypotheses as peers.
    assert duels["XGBoost"][1] == pytest.approx(len(duels) * 2 / 2**n)
    # At all sizes together only those that were measured at all sizes.
    every = Field(table, "regression", "rmse", None)
    assert "xRFM" not in every.methods()
    assert "LightGBM tuned" in every.methods()
    fresh = Field(table, "regression", "rmse", 500, kind="fresh")
    assert set(fresh.sets) == FRESH & set(REGRESSION)
    unseen = Field(table, "regression", "rmse", UNSEEN_SIZE, kind="unseen")
    assert unseen.sets == list(UNSEEN["regression"])
    assert "AutoGluon best 60 s" in unseen.duels()
    # One split of three: only where the first splits are compared.
    assert "AutoGluon best 300 s" not in unseen.methods()
    first = Field(table, "regression", "rmse", UNSEEN_SIZE, kind="unseen", splits=1)
    assert "AutoGluon best 300 s" in first.duels()


def test_a_price_is_of_splits_that_both_have(shapes):
    def level(method, name):
        return 0.5 if method == "CatBoost" else 0.25

    given = lines(shapes, level)
    for r in given:
        if r["method"] == "TabM":
            # One split of 500 rows; the first split of CatBoost has no addition.
            assert (r["size"], r["split"]) in {(500, 0), (2000, 0), (1000, 0), (1000, 1), (1000, 2)}
            r["seconds"] = 4.0
    table = json.loads(gather(given, {}))
    field = Field(table, "regression", "rmse", 500)
    assert field.done("TabM") == 1
    assert field.done("CatBoost") == 5
    assert field.price("TabM") == pytest.approx((0.5, 4.0))
    assert field.price("CatBoost") == (1.0, 1.0)
    # Ten sets are not all of them.
    assert field.price("EBM") is None


def test_unfinished_methods_are_left_out_and_gaps_are_not_paired(shapes):
    given = lines(shapes, lambda method, name: 0.5)
    given = [r for r in given if (r["method"], r["split"]) != ("XGBoost", 1)]
    given = [r for r in given if (r["method"], r["set"]) != ("LightGBM", "pol")]
    table = json.loads(gather(given, {}))
    assert table["results"]["XGBoost"]["500"]["pol"]["rmse"] == [0.5]
    methods = Field(table, "regression", "rmse", 500).methods()
    assert "XGBoost" not in methods
    assert "LightGBM" not in methods
    assert "CatBoost" in methods


def test_the_standing_is_of_splits_that_both_have():
    base = {"size": 500, "set": "airfoil"}
    given = [
        base | {"method": "a", "split": 0, "rmse": 0.1},
        base | {"method": "a", "split": 1, "rmse": 0.9},
        base | {"method": "b", "split": 0, "rmse": 0.2},
        base | {"method": "b", "split": 0, "rmse": 0.2, "set": "abalone"},
        base | {"method": "a", "split": 0, "failed": "no", "set": "abalone"},
    ]
    (both,) = standing(given, "a", developed=False)
    assert "1/0/1  ratio 0.500" in both
    (seen,) = standing(given, "a", developed=True)
    assert "1/0/0  ratio 0.500" in seen


def test_the_page_has_every_section_and_the_figure_every_field(shapes, tmp_path):
    rng = np.random.default_rng(0)
    about = {"mercer": {"processor": "p", "python": "3", "versions": {"a": "1"}, "date": "d"}}
    table = json.loads(gather(lines(shapes, lambda m, s: rng.uniform(0.1, 0.2)), about))
    text = page(table)
    for title in ("Regression, RMSE, all sets", "Classification, log loss, sets on which"):
        assert f"\n## {title}" in text
    assert "| CatBoost tuned |" in text
    assert "What was decided after which numbers" in text
    dear = first_splits(table, "regression", "rmse", 500, "all")
    assert "recommended: better / tied / worse" in dear
    assert "TabM" in dear
    assert "EBM" not in dear
    assert "EBM" in first_splits(table, "regression", "rmse", 500, "subset")
    assert "### Regression, RMSE, unseen sets" in text
    assert "Everything that the plan has was measured." in text
    # Three metrics at three sizes, and on unseen sets.
    assert len(dict(panels(table))) == 12
    # One point a contender and size; dear contenders of few sets have none.
    points = priced(table)["regression, RMSE"]
    assert {method for method, *_ in points} == set(METHODS) - {"EBM"}
    assert len({point[:2] for point in points}) == len(points)
    prices(priced(table), METHODS, tmp_path / "prices.svg")
    assert "AutoGluon best 300 s" in (tmp_path / "prices.svg").read_text(encoding="utf-8")
    # Without the recommended estimator there are ranks and no duels.
    del table["results"][OURS]
    assert "p nan" not in page(table)
    assert "| against |" not in page(table)


def test_the_page_names_contenders_without_lines(shapes):
    rng = np.random.default_rng(0)
    given = lines(shapes, lambda method, name: rng.uniform(0.1, 0.2))
    given = [r for r in given if r["method"] not in ("TabPFN", "AutoGluon best 60 s")]
    given = [r for r in given if (r["method"], r["size"]) != ("RealMLP", UNSEEN_SIZE)]
    text = page(json.loads(gather(given, {})))
    needs = "TabPFN (needs weights in the folder that MERCER_WEIGHTS names)"
    assert f"without a line yet: {needs}, AutoGluon best 60 s." in text
    assert "Planned and not complete: RealMLP (1,000 rows)." in text
    assert "Without a point, for want of lines: EBM, TabPFN, AutoGluon best 60 s." in text


def test_pretrained_models_need_weights_of_both_tasks(tmp_path):
    names = ["tabpfn-v2-regressor.ckpt", "tabicl-classifier-v2.ckpt", "tabicl-regressor-v1.ckpt"]
    for name in (*names, "tabicl-regressor-v2.ckpt"):
        (tmp_path / name).touch()
    assert pretrained.weights("tabpfn", str(tmp_path)) == {}
    found = pretrained.weights("tabicl", str(tmp_path))
    assert found["regressor"].name == "tabicl-regressor-v2.ckpt"
    assert set(pretrained.at_hand(str(tmp_path))) <= {"TabICL"}


@pytest.mark.skipif(not TABLE.exists(), reason="the contest was not gathered yet")
def test_the_page_is_that_of_the_table():
    assert PAGE.read_text(encoding="utf-8") == page(json.loads(TABLE.read_text()))


@pytest.mark.data
@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_tables_are_as_they_are():
    adult = split("adult", 0, 500)
    assert len(adult.categories) == 8
    assert adult.X[adult.categories].isna().to_numpy().any()
    flights = split("flights_nyc13", 0, 500)
    assert "dep_delay" not in flights.X
    assert flights.categories == ["carrier", "origin", "dest"]


def test_jobs_are_broad_first_and_dear_methods_last(monkeypatch):
    monkeypatch.setattr(contest, "fits", lambda name, size: size == 500 or name == "covtype")
    found = list(contest.jobs("peers"))
    assert len(set(found)) == len(found)
    groups = [PLAN["contenders"]["peers"][job.method]["group"] for job in found]
    assert groups == sorted(groups, key=PLAN["groups"].index)
    cheap = [job for job, group in zip(found, groups, strict=True) if group == "cheap"]
    assert [job.size for job in cheap] == sorted(job.size for job in cheap)
    assert {job.split for job in found if job.method == "EBM"} == {0}
    assert {job.size for job in found if job.method == "SVM grid"} == {500}
    assert {job.split for job in found if (job.method, job.size) == ("TabM", 500)} == {0}


FAKE = """
import subprocess
import sys

PACKAGES = ("numpy",)

def good(data):
    return lambda X: 0.0 * X.iloc[:, 0], {"kept": 1}

def bad(data):
    raise RuntimeError("no")

def slow(data):
    while True:
        pass

def child(data):
    subprocess.run([sys.executable, "-c", "sum(range(10_000_000))"], check=True)
    return lambda X: 0.0 * X.iloc[:, 0], {}

METHODS = {"good": good, "bad": bad, "slow": slow, "child": child}
"""


def test_a_fit_that_raises_or_takes_too_long_is_recorded(tmp_path, monkeypatch):
    (tmp_path / "contest_fake.py").write_text(FAKE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(contest.FAMILIES, "fake", "contest_fake")
    monkeypatch.setitem(PLAN, "limit", 0.3)
    worker = contest.Worker("fake")
    try:
        assert worker.methods == ["good", "bad", "slow", "child"]
        job = contest.Job("bad", "friedman1", 500, 0)
        assert worker(job) == {"failed": "RuntimeError: no"}
        found = worker(job._replace(method="good"))
        assert found["n"] == 500
        assert found["chosen"] == {"kept": 1}
        assert worker(job._replace(method="slow")) == {"failed": "more than 0.3 processor seconds"}
        assert worker.process is None  # it was ended, and the next job starts another
        # What a process that a fit has started did counts.
        monkeypatch.setitem(PLAN, "limit", 60)
        assert worker(job._replace(method="child"))["seconds"] > 10 * found["seconds"]
        own = {"slow": {"group": "dear", "limit": 0.2}}
        monkeypatch.setitem(PLAN["contenders"], "fake", own)
        assert worker(job._replace(method="slow")) == {"failed": "more than 0.2 processor seconds"}
    finally:
        worker.end()


def test_lines_of_another_commit_are_measured_again_if_asked(tmp_path, monkeypatch):
    """The process is replaced: the order of jobs and what is left out are seen without a fit."""

    class Worker:
        methods, about = ["XGBoost"], {}

        def __init__(self, family):
            pass

        def __call__(self, job):
            return {"rmse": 0.5, "seconds": 1.0}

        def end(self):
            pass

    monkeypatch.setattr(contest, "Worker", Worker)
    monkeypatch.setattr(contest, "fits", lambda name, size: (name, size) == ("pol", 500))
    calls = [("one", False, 5), ("two", False, 5), ("two", True, 10), ("two", True, 10)]
    for now, again, expected in calls:
        monkeypatch.setattr(contest, "commit", lambda now=now: now)
        some = ["peers", "--out", str(tmp_path), *(["--again"] * again)]
        monkeypatch.setattr(contest.sys, "argv", ["contest.py", "run", *some])
        assert contest.main() == 0
        assert len(contest.kept(tmp_path, "peers")) == expected
    assert {r["commit"] for r in contest.kept(tmp_path, "peers")[5:]} == {"two"}


def test_a_poor_or_slow_fit_is_complained_of():
    base = {"set": "s", "split": 0}
    good = [
        base | {"method": "ours", "error": 0.10, "seconds": 1.0},
        base | {"method": "usual", "error": 0.10, "seconds": 1.0},
    ]
    assert contest.complaints(good, "ours", "usual") == []
    bad = [good[0] | {"error": 0.2, "seconds": 20.0}, good[1]]
    assert len(contest.complaints(bad, "ours", "usual")) == 2
