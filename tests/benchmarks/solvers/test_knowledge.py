"""The growth of machines that know something: measurements, complaints and the page."""

import pytest

from benchmarks.solvers.knowledge import CASES, PAGE, complaints, growth, load, one, page

FEW = ("local tube", "additive, squared", "censored, squared", "gaps, expected, squared")


@pytest.mark.parametrize("name", FEW)
def test_a_measurement_has_a_certificate(name):
    row = one(name, 150)
    assert (row["machine"], row["n"]) == (name, 150)
    assert row["converged"]
    assert row["gap"] < 1e-3
    assert complaints([row]) == []
    assert complaints([row | {"converged": False}]) == [f"{name}, 150: not converged"]


def test_growth_is_a_power():
    rows = [{"machine": "m", "n": n, "seconds": 1e-6 * n**2} for n in (10, 100, 1000)]
    assert growth(rows, "m") == pytest.approx(2.0)


def test_page_is_that_of_the_results():
    assert PAGE.read_text(encoding="utf-8") == page(load())


def test_every_machine_was_measured():
    assert {row["machine"] for row in load()} == set(CASES)
