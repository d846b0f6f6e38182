"""A benchmark from the first process to the page, on a problem that takes no time."""

from dataclasses import asdict

import pytest

from benchmarks.common.environment import environment
from benchmarks.svm import path, report, store
from benchmarks.svm.bench import excuses
from benchmarks.svm.measure import Conditions, measure
from benchmarks.svm.problems import Problem

TINY = Problem("SVC", "breast_cancer", 200, 50, 1 / 30, {"C": 1.0}, source="this test")
LIBRARIES = ["mercer", "scikit-learn", "bare"]


@pytest.fixture(scope="module")
def result():
    return measure(TINY, LIBRARIES, Conditions(rounds=2), {})


def test_everybody_answers_in_every_round(result):
    assert result["failures"] == {}
    assert list(result["contenders"]) == LIBRARIES
    assert all(len(c["runs"]) == 2 for c in result["contenders"].values())
    assert result["contenders"]["mercer"]["excess"] < 1e-5
    assert result["contenders"]["scikit-learn"]["violation"] <= 1.001e-3


def test_who_passes_the_limit_is_stopped_and_not_asked_again():
    conditions = Conditions(rounds=2, limits=(("scikit-learn", 0.0),))
    result = measure(TINY, LIBRARIES, conditions, {})
    assert result["failures"] == {"scikit-learn": "over 0 s"}
    assert list(result["contenders"]) == ["mercer", "bare"]
    larger = Problem(**TINY.key() | {"n": 400})
    assert excuses(larger, [result]) == {"scikit-learn": "over 0 s at 200 rows"}
    assert excuses(TINY, [result]) == {}


def test_a_slow_first_fit_is_the_only_one():
    result = measure(TINY, ["mercer", "scikit-learn"], Conditions(rounds=2, once=0.0), {})
    assert all(len(c["runs"]) == 1 for c in result["contenders"].values())


def test_a_path_ends_where_a_cold_fit_does(result):
    walked = path.measure(TINY, Conditions(rounds=1))
    assert walked["disagreement"] <= 1
    assert max(walked["violation"].values()) <= 2e-3
    assert report.line(walked).startswith("SVC breast_cancer 200: path / cold fit ")


def test_results_are_kept_until_the_problem_or_the_conditions_change(result, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(store, "RECORDS", tmp_path)
    kept = store.Store("exact", {"rounds": 2})
    kept.describe({"date": "today"})
    assert store.recorded("exact") is None
    kept.put(TINY.name, result)
    assert kept.get(TINY.name, TINY.key())["contenders"] == result["contenders"]
    assert kept.get(TINY.name, TINY.key() | {"gamma": 1.0}) is None
    assert store.Store("exact", {"rounds": 3}).get(TINY.name, TINY.key()) is None
    kept.finish([result])
    about, results = store.recorded("exact")
    assert about == {"date": "today"}
    assert [r["problem"] for r in results] == [TINY.key()]


def test_the_page_says_what_was_measured(result, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(store, "RECORDS", tmp_path)
    monkeypatch.setattr(report, "PAGE", tmp_path / "benchmark.md")
    told = asdict(Conditions(rounds=2)) | {"libraries": LIBRARIES}
    about = environment(told) | {"startup": {"mercer": [{"cpu": 3.0}, {"cpu": 0.25}]}}
    for suite in ("exact", "growth", "hard"):
        kept = store.Store(suite, told)
        kept.describe(about)
        kept.finish([result])
    kept = store.Store("path", told)
    kept.describe(about)
    kept.finish([path.measure(TINY, Conditions(rounds=1))])
    report.publish()
    page = (tmp_path / "benchmark.md").read_text()
    ours = result["contenders"]["mercer"]
    for words in (
        "Geometric means over 1 problems",
        f"{ours['support']:,}",
        f"{ours['objective']:.8g}",
        "| mercer | 3.00 | 0.25 |",
        "this test",
        "LIBSVM is not installed here",
        "ten values of C within 2.5 cold fits",
        "slower than LIBSVM nowhere",
    ):
        assert words in page
    assert (tmp_path / report.FIGURE).read_text().count("exponent") == 0
