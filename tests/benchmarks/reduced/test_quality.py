"""The benchmark of few centres: its sets, the rule of width and weights, its tables and page."""

import json

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from benchmarks.reduced import page, quality, sets
from benchmarks.reduced.figure import draw
from benchmarks.reduced.page import best, reach
from benchmarks.reduced.quality import complaints
from benchmarks.reduced.runs import CENTRES, EXACT, HEAVY, SETS, Run, plan
from benchmarks.reduced.sets import SHORT, by_mean, choose, ridge, task
from data import MISSING


@pytest.mark.parametrize("name", SHORT)
def test_parts_share_no_rows_and_are_scaled_by_the_rows_to_learn_from(name):
    data, again = task(name), task(name)
    np.testing.assert_array_equal(data.X, again.X)
    assert not {tuple(x) for x in data.X} & {tuple(x) for x in data.X_test}
    np.testing.assert_allclose(data.X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(data.X.std(axis=0), 1.0)
    if data.regression:
        assert data.y.std() == pytest.approx(1.0)
        errors = data.errors(np.zeros(len(data.y_test)))
        assert errors["error"] == pytest.approx(np.sqrt(np.mean(data.y_test**2)))
        assert errors["absolute"] == pytest.approx(np.mean(np.abs(data.y_test)))
    else:
        assert data.errors(1 - data.y_test) == {"error": 1.0}


def test_a_category_is_the_shrunk_mean_of_its_rows_to_learn_from():
    codes, y = np.array([0, 0, 1, 1, -1, 2]), np.array([1.0, 3.0, 5.0, 100.0, 7.0, 9.0])
    found = by_mean(codes, y, np.array([0, 1, 2, 4]))
    prior = sets.PRIOR
    expected = [4 / (2 + prior)] * 2 + [5 / (1 + prior)] * 2 + [7 / (1 + prior), 0.0]
    np.testing.assert_allclose(found, expected)


def test_the_rule_solves_least_squares_with_an_intercept():
    rng = np.random.default_rng(0)
    X, held, Z = rng.normal(size=(60, 2)), rng.normal(size=(7, 2)), rng.normal(size=(10, 2))
    K, KX, KH = (np.exp(-((A[:, None] - Z) ** 2).sum(axis=2)) for A in (Z, X, held))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]])
    values, vectors = np.linalg.eigh(K)
    T = vectors / np.sqrt(values)
    for C, found in zip(sets.WEIGHTS, ridge(K, KX, KH, Y), strict=True):
        exact = Ridge(alpha=1.0 / C, solver="svd").fit(KX @ T, Y).predict(KH @ T)
        # Normal equations lose half the digits at the largest weight.
        np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-6)


def test_the_rule_finds_the_best_of_its_grid():
    data = task("friedman1").first(900)
    found = choose(data)
    assert set(found) == {"gamma", "C"}
    assert found["C"] in sets.WEIGHTS
    # A smooth function of ten features, five of them noise: far better than a constant.
    n, m = 600, 150
    D = [((A[:, None] - data.X[:m]) ** 2).sum(axis=2) for A in (data.X[:m], data.X[:n], data.X[n:])]
    F = ridge(*(np.exp(-found["gamma"] * d) for d in D), data.y[:n, None])
    f = F[list(sets.WEIGHTS).index(found["C"])][:, 0]
    assert np.mean((data.y[n:] - f) ** 2) < 0.1


def test_the_plan_has_every_set_and_every_kind():
    assert set(EXACT) == set(SETS)
    for name in SETS:
        runs = list(plan(name))
        assert len(set(runs)) == len(runs)
        assert {r.m for r in runs} == {0, *CENTRES}
        assert {r.family for r in runs} == {"mercer", "sklearn", "peers"}
        assert any("absolute" in r.method for r in runs) == (name in HEAVY)


def test_a_fit_that_takes_too_much_is_stopped():
    run = Run("sklearn", "friedman1", "Nystroem + Ridge", 100)
    # No interpreter starts in a millisecond, nor in ten kilobytes.
    assert quality.alone(run, 1e-3, 1e12) == {"failure": "time", "allowed": 1e-3}
    assert quality.alone(run, 1e6, 1e4) == {"failure": "memory", "allowed": 1e4}


def test_the_cheapest_of_equal_errors_counts():
    runs = [{"error": e, "cpu": t} for e, t in ((0.2, 1.0), (0.1005, 2.0), (0.1, 9.0))]
    assert best(runs, "error")["cpu"] == 2.0
    assert reach(runs, "error", 0.199)["cpu"] == 1.0
    assert reach(runs, "error", 0.15)["cpu"] == 2.0
    assert reach(runs, "error", 0.05) is None


def test_each_complaint_can_be_made():
    good = {"error": 0.1, "cpu": 1.0, "found": {"gap": 1e-4, "objective": 10.0}}
    assert complaints("moons", "a", "b", good, good, 300) == []
    bad = {"error": 0.2, "cpu": 9.0, "found": {"gap": 1.0, "objective": 10.0}}
    for name in ("moons", "friedman1"):
        found = "\n".join(complaints(name, "a", "b", bad, good, 300))
        for text in ("more errors", "slow", "a gap of 1e-01"):
            assert text in found


def test_the_figure_names_every_method_and_does_not_change(tmp_path):
    results = [
        {"method": k, "m": m, "n": 9, "error": 0.1 + 1 / m, "cpu": float(m)}
        for k in ("mercer SVC", "Falkon")
        for m in (10, 20)
    ]
    results.append({"method": "LightGBM default", "m": 0, "n": 9, "error": 0.1, "cpu": 1.0})
    for name in ("one.svg", "two.svg"):
        draw({"a set": ("error", results)}, tmp_path / name)
    text = (tmp_path / "one.svg").read_text()
    assert all(r["method"] in text for r in results)
    assert (tmp_path / "two.svg").read_text() == text


@pytest.mark.data
@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_lines_become_a_table_and_a_page(monkeypatch):
    monkeypatch.setattr(page, "settings_of", lambda name: {"gamma": 1.0, "C": 10.0})
    rng = np.random.default_rng(0)
    shape = {"train": 41157, "test": 4573, "features": 9, "classes": 0}
    monkeypatch.setattr(page, "shape", lambda name: shape)
    lines = {"mercer": {}, "sklearn": {}, "peers": {}}
    for run in plan("protein_casp"):
        line = {k: rng.uniform(1.0, 2.0) for k in ("error", "cpu", "wall", "peak", "predict")}
        line |= {"n": 5, "calibration": [0.1, 0.2], "found": {"gap": 0.1, "objective": 2.0}}
        lines[run.family][run] = {"failure": "memory"} if run.m == 3_000 else line
    table = json.loads(page.gather(lines))
    assert len(table["results"]) == len(list(plan("protein_casp")))
    text = page.page(table)
    assert "too large" in text
    assert "| protein_casp | 1,000 | LSSVR and Nystroem + Ridge |" in text
    assert "nan" not in text


def test_the_page_is_that_of_the_table():
    table = json.loads(page.TABLE.read_text())
    assert page.PAGE.read_text() == page.page(table)
    assert list(table["shapes"]) == list(SETS)
