"""The benchmark of least squares: a measurement, what it complains of, and the page."""

import json
from copy import deepcopy

import pytest

import data
from benchmarks.solvers.least_squares import TABLE, complaints, fits, large, paths
from benchmarks.solvers.least_squares_page import PAGE, page


@pytest.fixture(scope="module")
def results():
    found = {"fits": [fits(300, 1)], "paths": [paths(200, 1)], "large": []}
    if not data.MISSING:
        found["large"] = [large(700, "auto", 2), large(700, "none", 1)]
    return found


def test_measurements_agree_with_their_oracles(results):
    assert complaints(results, slack=1e9) == []
    assert set(results["fits"][0]["times"]) >= {"dpotrf", "fit of points", "kernel matrix"}
    for r in results["large"]:
        assert r["converged"]
        assert len(r["history"]) == r["iterations"]
        assert min(r[key] for key in ("cpu", "wall", "step_cpu", "bare", "points")) > 0


def test_each_complaint_can_be_made(results):
    wrong = deepcopy(results)
    wrong["fits"][0] |= {"violation": 1.0, "apart": 1.0}
    wrong["paths"][0]["apart"] = 1.0
    found = "\n".join(complaints(wrong, slack=0.0))
    for text in ("of dpotrf", "fit 300: violation", "fit 300: off by", "path 200: errors off"):
        assert text in found


def test_the_page_is_that_of_the_table():
    kept = json.loads(TABLE.read_text())
    assert complaints(kept, slack=4.0) == []
    assert PAGE.read_text() == page(kept)
    thin = [r for r in kept["large"] if r["preconditioner"] == "auto"]
    assert max(r["n"] for r in thin) == 100_000
    # Half a gigabyte for the thin factor, and as much again for what makes it and all vectors.
    assert all(r["converged"] and r["peak"] < 1.2e9 for r in thin)
