"""Error against time on large tables: the plan, the tables, the standing and the page."""

import json

import numpy as np
import pytest

from benchmarks.large import large, sets
from benchmarks.large.page import PAGE, TABLE, gather, page, standing
from data import MISSING

OTHERS = ("LightGBM", "XGBoost", "CatBoost", "xRFM", "Nystroem")


def test_the_plan_names_known_sets_and_methods():
    assert set(large.PLAN["sets"]) == set(sets.SETS)
    for family in large.FAMILIES:
        for method, by_set in large.PLAN[family].items():
            assert set(by_set) <= {*large.PLAN["sets"], "all"}
            assert method.startswith("mercer") == (family == "mercer")
            assert family == "mercer" or method.startswith(OTHERS)
    runs = [run[:2] for family in large.FAMILIES for run in large.runs(family)]
    assert len(set(runs)) == len(runs)


def test_every_method_of_this_library_is_there():
    from benchmarks.large.ours import METHODS

    assert set(large.PLAN["mercer"]) == set(METHODS)


def test_generated_tables_are_split_and_scaled():
    data = sets.table("friedman1")
    assert data.regression
    assert data.y.mean() == pytest.approx(0.0, abs=1e-12)
    assert data.error(data.y_test) == 0.0
    assert sets.table("moons").error(np.zeros(300)) == pytest.approx(0.5, abs=0.1)


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_categories_of_covtype_are_two_columns():
    data = sets.table("covtype")
    assert data.X.shape == (464_809, 12)
    assert data.categories == [10, 11]
    assert set(np.unique(data.X[:, 10])) == {0.0, 1.0, 2.0, 3.0}
    assert len(np.unique(data.X[:, 11])) == 40


def test_one_per_cent_is_level():
    assert standing(0.98, 1.0) == "better"
    assert standing(0.995, 1.0) == standing(1.009, 1.0) == "level"
    assert standing(1.02, 1.0) == "worse"


def test_a_table_of_lines(monkeypatch):
    monkeypatch.setattr("benchmarks.large.page.shape", lambda name: {"train": 3, "classes": 0})
    line = {"date": "2026-01-01", "versions": {}, "error": 0.5, "fit": 1.23456789}
    run = ["protein_casp", "LightGBM", {}]
    known = {"mercer": {}, "peers": {large.key(*run): {"run": run} | line}}
    made = json.loads(gather(known))
    assert made["results"] == [
        {"set": "protein_casp", "method": "LightGBM", "error": 0.5, "fit": 1.2346, "settings": ""}
    ]


@pytest.mark.skipif(not TABLE.exists(), reason="not measured")
def test_the_page_is_the_table():
    assert PAGE.read_text() == page(json.loads(TABLE.read_text()))
