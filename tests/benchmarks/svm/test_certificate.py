"""The judge of certificates: it passes what holds, and finds what does not."""

import dataclasses

import pytest

from benchmarks.svm import certificate
from mercer.problems import RegularizedRisk
from mercer.solvers.small import GAP, SolutionBatch

# A classifier and a tube of some 600 rows each.
NUMBERS = [k for k in range(200) if len(certificate.drawn(k)[2]) < 650][:2]


@pytest.mark.parametrize("number", NUMBERS)
def test_bounds_of_the_default_path_hold(number):
    result = certificate.judged(number)
    assert not result["false"]
    assert result["gap"] >= result["true_gap"] - 2 * result["rounding"]


def test_a_gap_that_is_too_small_is_found(monkeypatch):
    plain, compiled = RegularizedRisk.certificate, SolutionBatch.measure

    def flattering(*args, **kwargs):
        found = plain(*args, **kwargs)
        return dataclasses.replace(found, gap=0.9 * found.gap)

    def flattering_small_fits(self, tol):
        loose = compiled(self, tol)
        self.values[:, GAP] *= 0.9
        return loose

    monkeypatch.setattr(RegularizedRisk, "certificate", flattering)
    monkeypatch.setattr(SolutionBatch, "measure", flattering_small_fits)
    assert certificate.judged(NUMBERS[0])["false"]


def test_the_page_counts_what_was_judged():
    results = [certificate.judged(number) for number in NUMBERS]
    rows = certificate.summary(results)
    assert sum(row["fits"] for row in rows) == len(NUMBERS)
    assert sum(row["false"] for row in rows) == 0
