"""Ranges that could not fail are refused, in what is published and in what is still to come."""

import json

import numpy as np
import pytest

from papers import run
from papers.outcome import (
    LARGEST_PART,
    POSSIBLE,
    WIDEST,
    Claim,
    Result,
    at_least,
    at_most,
    near,
    recorded,
    recorded_if_wide,
    within_factor,
)


@pytest.mark.parametrize("name", run.EXPERIMENTS)
def test_every_published_range_can_fail(name):
    claims = run.published()[name].claims
    assert not [f"{claim.what}: {claim.vacuous}" for claim in claims if claim.vacuous]


# What an audit of the page found, and the reason that each is refused for.
FOUND = {
    "any p-value": (at_most("p-value of a rank-sum test", 0.02, 1.0, ""), "every possible value"),
    "accuracy 77 to 104": (
        Claim("Ripley: accuracy in per cent", 89.8, 76.9, 104.1, "", 90.5),
        "beyond the possible",
    ),
    "share above one": (
        Claim("share of samples", 0.4, 0.08, 1.02, "", 0.55),
        "beyond the possible",
    ),
    "nearly any share": (near("share of samples", 0.4, 0.55, 0.47, ""), "possible values agree"),
    "six times the share": (near("sparse, % SV", 12.3, 4.8, 25.6, ""), "times the reference"),
    "any correlation": (at_least("correlation of two errors", 0.9, -1.0, ""), "every possible"),
    "the most frequent class": (
        near("Pima: accuracy in per cent", 74.8, 73.3, 11.0, "", trivial=65.1),
        "learned nothing",
    ),
    "an error below zero": (near("motorcycle: SVM", 557.3, 516.41, 609.0, ""), "times the other"),
    "three quarters": (near("sinc: error", 0.0011, 0.0034, 0.0025, ""), "times the other"),
    "a declared grid": (
        near("width of the least", 2.0, 3.0, 2.5, "", possible=(0.0, 8.0)),
        "possible values agree",
    ),
}


@pytest.mark.parametrize(("claim", "reason"), FOUND.values(), ids=FOUND)
def test_ranges_that_cannot_fail_are_refused(claim, reason):
    assert claim.holds
    assert reason in claim.vacuous


@pytest.mark.parametrize(
    "claim",
    [
        near("sinc: error", 0.0011, 0.0034, 0.6 * 0.0034, ""),
        Claim("iterations over iterations", 1.0, 0.5, 2.0, ""),
        near("share of samples", 0.9, 0.95, 0.2, ""),
        near("share of data sets won by chance", 0.07, 0.12, 0.14, "", trivial=1 / 3),
        near("Pima: accuracy in per cent", 74.8, 73.3, 5.1, "", trivial=65.1),
        at_most("share below the median", 0.46, 0.5, ""),
        near("difference of two ways", 1e-15, 0.0, 1e-12, ""),
        near("margin of the outlier", -0.504, -0.5, 0.01, ""),
        recorded("p-value of a rank-sum test", 0.02, "not printed"),
    ],
    ids=lambda claim: claim.what,
)
def test_ranges_that_can_fail_are_not(claim):
    assert not claim.vacuous


def test_the_widest_range_is_sixty_per_cent_to_each_side():
    assert pytest.approx(1.6 / 0.4) == WIDEST
    assert not near("error", 1.0, 1.0, 0.6, "").vacuous
    assert near("error", 1.0, 1.0, 0.61, "").vacuous
    assert not within_factor("error", 1.9, 1.0, "", must=False).vacuous
    assert within_factor("error", 1.9, 1.0, "").holds
    assert not within_factor("error", 2.1, 1.0, "").holds
    assert LARGEST_PART == 0.5
    assert set(POSSIBLE.values()) == {(0.0, 1.0), (0.0, 100.0), (-1.0, 1.0)}


def test_ranges_end_where_possible_values_end():
    claim = near("share of errors within two deviations", 0.99, 0.95, 0.1, "")
    assert (claim.low, claim.high) == pytest.approx((0.85, 1.0))
    assert not claim.certain


def test_what_is_recorded_only_is_not_judged():
    wide = near("error", 3.0, 1.0, 0.9, "three standard errors")
    told = recorded_if_wide(wide)
    assert not told.judged
    assert not told.must
    assert told.why.startswith("three standard errors; too wide a range to judge: ")
    assert (told.ours, told.reference) == (wide.ours, wide.reference)
    sharp = near("error", 3.0, 1.0, 0.5, "")
    assert recorded_if_wide(sharp) is sharp
    result = Result("t", "s", "", [told, sharp, near("a", 1.0, 1.0, 0.1, "")])
    assert result.tally == "1 of 2, 1 recorded"
    assert [claim.what for claim in result.failures] == ["error"]


def test_declared_values_survive_being_written():
    claims = [
        near("width", 2.0, 3.0, 1.0, "", possible=(0.0, np.inf), trivial=9.0),
        recorded("error", 2.0, "w", reference=1.0),
    ]
    before = Result("t", "s", "", claims)
    text = json.dumps(before.to_dict(), allow_nan=False)
    assert Result.from_dict(json.loads(text)) == before
