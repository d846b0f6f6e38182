"""Two thousand hostile fits: an answer with a bound that holds, or a sentence.

What a case is says `hostile.generator`, what counts as which end `hostile.judge`. ``make night
STEPS=fuzz``
has two thousand more, counts how they end, and prints for each failure what it is; in `tests`,
``python -m hostile.fuzz NUMBER 1`` makes it again.
"""

import os

import numpy as np
import pytest

from hostile.fuzz import run
from hostile.generator import case, weighted
from hostile.judge import Outcome, refused
from hostile.known import KNOWN
from hostile.machines import EVERY, MACHINES

# An interrupt that falls into the clearing of memory is dropped by the interpreter, with a warning.
pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="limits time by a signal"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

CASES, STRETCH = 2000, 100


@pytest.mark.parametrize("first", range(0, CASES, STRETCH))
def test_a_hostile_fit_ends_in_an_answer_or_in_a_sentence(first):
    ends = {number: run(number) for number in range(first, first + STRETCH)}
    failures = {
        number: f"{outcome.kind}: {words}: {outcome.detail}"
        for number, (words, outcome) in ends.items()
        if outcome.failed and number not in KNOWN
    }
    assert not failures, "\n".join(failures.values())
    # A suite that refuses everything proves nothing, nor does one without hostility.
    kinds = [outcome.kind for _, outcome in ends.values()]
    assert kinds.count("answer") >= 0.25 * STRETCH
    assert kinds.count("refusal") >= 0.25 * STRETCH


@pytest.mark.parametrize("first", range(0, 4 * len(EVERY), len(EVERY)))
def test_weights_from_the_smallest_to_the_largest_leave_no_false_bound(first):
    ends = [run(number, "weights") for number in range(first, first + len(EVERY))]
    failures = [f"{end.kind}: {words}: {end.detail}" for words, end in ends if end.failed]
    assert not failures, "\n".join(failures)
    assert [end.kind for _, end in ends].count("answer") >= 0.7 * len(EVERY)


def test_any_stretch_of_cases_meets_every_estimator():
    assert {case(number).name for number in range(len(MACHINES))} == {*MACHINES}
    assert {weighted(number).name for number in range(len(EVERY))} == {*EVERY}


def test_a_case_is_made_again_from_its_number():
    for number in range(80):
        one, two = case(number), case(number)
        assert str(one) == str(two)
        if isinstance(one.X, np.ndarray) and one.X.dtype == float:
            np.testing.assert_array_equal(one.X, two.X)


@pytest.mark.parametrize(
    ("broken", "kind"),
    [
        (lambda: [][0], "IndexError"),
        (lambda: 1 / 0, "ZeroDivisionError"),
        (lambda: np.linalg.inv(np.zeros((2, 2))), "LinAlgError"),
        (lambda: np.zeros(0).reshape(0, -1), "ValueError"),
    ],
)
def test_bare_errors_are_no_refusals(broken, kind):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        broken()
    assert refused(caught.value) == Outcome(kind, str(caught.value))
