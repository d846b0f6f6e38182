"""Ratios and means of made-up results, and what fails a short run."""

from typing import Any

import pytest

from benchmarks.svm.claims import Ratio, disagreements, exponent, failing, geometric_mean, ratio


def contender(*fits: float, **changes: Any) -> dict[str, Any]:
    runs = [
        {"fit_cpu": t, "fit_wall": 2 * t, "predict_cpu": t / 10, "predict_wall": t / 10, "score": 1}
        for t in fits
    ]
    answer = {
        "runs": runs,
        "peak": 1e6,
        "support": 3,
        "objective": -5.0,
        "excess": 0.0,
        "violation": 1e-3,
        "infeasibility": 0.0,
        "disagreement": 0.1,
        "certificate": {"dual": 5.0, "relative_gap": 1e-6, "status": "converged"},
    }
    return answer | changes


def result(failures: dict[str, str] | None = None, **contenders: dict[str, Any]) -> dict[str, Any]:
    problem = {"machine": "SVC", "data": "made_up", "n": 100, "label": ""}
    named = {name.replace("_", "-"): c for name, c in contenders.items()}
    return {"problem": problem, "failures": failures or {}, "contenders": named}


def test_ratios_are_taken_within_rounds():
    r = result(mercer=contender(1.0, 2.0, 1.0), scikit_learn=contender(3.0, 2.0, 2.0))
    assert ratio(r, "scikit-learn", "fit", "cpu") == Ratio(2.0, 1.0, 3.0)
    assert ratio(r, "LIBSVM", "fit", "cpu") is None


def test_who_was_measured_once_is_compared_once():
    r = result(mercer=contender(1.0, 2.0, 1.0), scikit_learn=contender(70.0))
    assert ratio(r, "scikit-learn", "fit", "cpu") == Ratio(70.0, 70.0, 70.0)


@pytest.mark.parametrize("why", ["over 300 s", "over 300 s at 50,000 rows"])
def test_who_passed_the_limit_counts_with_it(why):
    r = result({"scikit-learn": why}, mercer=contender(5.0))
    assert ratio(r, "scikit-learn", "fit", "cpu") == Ratio(30.0, 30.0, 30.0, bound=True)
    assert ratio(r, "scikit-learn", "predict", "cpu") is None


def test_who_failed_otherwise_does_not_count():
    r = result({"scikit-learn": "ValueError: no"}, mercer=contender(5.0))
    assert ratio(r, "scikit-learn", "fit", "cpu") is None


def test_means_and_exponents():
    assert geometric_mean([1.0, 4.0, 16.0]) == pytest.approx(4.0)
    assert exponent([100, 200, 400], [1.0, 4.0, 16.0]) == pytest.approx(2.0)


def test_a_short_run_fails_when_slow_and_only_then():
    fast = [result(mercer=contender(1.0), scikit_learn_intelex=contender(1.3))]
    slow = [result(mercer=contender(1.0), scikit_learn_intelex=contender(1.1))]
    assert failing(fast, "cpu") == []
    assert failing(slow, "cpu") == ["1.10 is less than 1.2"]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"excess": 2e-5}, "above the best objective"),
        ({"violation": 3e-3}, "violation of 3.0e-03"),
        ({"infeasibility": 1e-6}, "feasible set"),
        ({"objective": -5.1}, "certifies"),
    ],
)
def test_a_wrong_answer_is_named(fault, words):
    wrong = disagreements([result(mercer=contender(1.0, **fault), scikit_learn=contender(1.0))])
    assert len(wrong) == 1
    assert words in wrong[0]


def test_what_tolerances_explain_is_no_fault_of_a_peer():
    peers = result(mercer=contender(1.0), scikit_learn=contender(1.0, excess=1e-3))
    assert disagreements([peers]) == []
    peers["contenders"]["scikit-learn"]["disagreement"] = 2.0
    assert len(disagreements([peers])) == 1
