"""The benchmark of neighbours: a measurement, what it complains of, and the page."""

import json
from copy import deepcopy

import pytest

from benchmarks.solvers.compact import TABLE, asked, complaints, one
from benchmarks.solvers.compact_page import PAGE, growth, page


@pytest.fixture(scope="module")
def results():
    return [one(*case) for case in asked((700, 1000))]


def test_a_measurement_says_what_it_took(results):
    near = results[0]
    assert (near["machine"], near["way"], near["n"]) == ("ridge", "neighbours", 700)
    assert near["converged"]
    assert 40 * 700 < near["nnz"] < 50 * 700  # at the edge of the square there are fewer
    assert min(near[key] for key in ("fit", "fit_cpu", "predict")) > 0
    assert "predict" not in results[2]  # a whole matrix


def test_answers_that_agree_and_grow_with_neighbours_pass(results):
    assert complaints(results) == []
    assert growth(results, "svc", "nnz") == pytest.approx(1.0, abs=0.1)


def test_each_complaint_can_be_made(results):
    wrong = deepcopy(results)
    wrong[0]["objective"] *= 1.01
    wrong[1]["converged"] = False
    wrong[1]["nnz"] *= 1.1
    found = "\n".join(complaints(wrong))
    assert "ridge 700: the objectives differ" in found
    assert "ridge 1000 did not converge" in found
    assert "ridge: entries grow faster than rows" in found


def test_the_page_is_that_of_the_table():
    kept = json.loads(TABLE.read_text())
    assert complaints(kept["results"]) == []
    assert PAGE.read_text() == page(kept["about"], kept["results"])
    largest = [r for r in kept["results"] if r["n"] == 200_000]
    assert {r["machine"] for r in largest} == {"ridge", "huber", "svc"}
    assert all(r["converged"] and r["peak"] < 2e9 for r in largest)
