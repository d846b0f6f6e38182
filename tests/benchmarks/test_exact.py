"""Ratios and means of made-up results, what fails a run, and a problem measured in turns."""

import pytest

from benchmarks.contenders.machines import Problem
from benchmarks.store import Record
from benchmarks.suites import exact
from benchmarks.suites.exact import Ratio, claims, disagreements, geometric_mean, results

CASE = {"machine": "SVC", "data": "made_up", "n": 100, "gamma": 1.0}


def values(*fits, **changes):
    rounds = [{"fit_cpu": t, "fit_wall": 2 * t, "predict_cpu": t / 10} for t in fits]
    answer = {"rounds": rounds, "objective": -5.0, "excess": 0.0, "violation": 1e-3}
    answer |= {"infeasibility": 0.0, "disagreement": 0.1}
    answer["certificate"] = {"dual": 5.0, "relative_gap": 1e-6, "status": "converged"}
    return answer | changes


def records(**by):
    return [Record(CASE, name.replace("_", "-"), (v,), {}) for name, v in by.items()]


def result(**by):
    (found,) = results(records(**by))
    return found


def test_ratios_are_taken_within_rounds():
    r = result(mercer=values(1.0, 2.0, 1.0), scikit_learn=values(3.0, 2.0, 2.0))
    assert r.ratio("scikit-learn", "fit") == Ratio(2.0, 1.0, 3.0)
    assert r.ratio("LIBSVM", "fit") is None
    once = result(mercer=values(1.0, 2.0, 1.0), scikit_learn=values(70.0))
    assert once.ratio("scikit-learn", "fit") == Ratio(70.0, 70.0, 70.0)


@pytest.mark.parametrize("why", ["over 300 s", "over 300 s at 50,000 rows"])
def test_who_passed_the_limit_counts_with_it(why):
    r = result(mercer=values(5.0), scikit_learn={"failure": why})
    assert r.ratio("scikit-learn", "fit") == Ratio(30.0, 30.0, 30.0, bound=True)
    assert r.ratio("scikit-learn", "predict") is None
    assert disagreements([r]) == []


def test_who_failed_otherwise_is_named_and_does_not_count():
    r = result(mercer=values(5.0), scikit_learn={"failure": "ValueError: no"})
    assert r.ratio("scikit-learn", "fit") is None
    assert disagreements([r]) == ["SVC made_up 100: scikit-learn ValueError: no"]
    assert "did not run" in disagreements([result(scikit_learn=values(1.0))])[0]
    assert geometric_mean([1.0, 4.0, 16.0]) == pytest.approx(4.0)


def test_a_short_run_fails_when_slow_and_only_then():
    fast = records(mercer=values(1.0), scikit_learn_intelex=values(1.3))
    slow = records(mercer=values(1.0), scikit_learn_intelex=values(1.1))
    assert claims(fast, True) == []
    assert claims(slow, True) == ["1.10 is less than 1.2"]


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
    wrong = claims(records(mercer=values(1.0, **fault), scikit_learn=values(1.0)), True)
    assert len(wrong) == 1
    assert words in wrong[0]


def test_what_tolerances_explain_is_no_fault_of_a_peer():
    loose = values(1.0, excess=1e-3)
    assert disagreements([result(mercer=values(1.0), scikit_learn=loose)]) == []
    loose["disagreement"] = 2.0
    assert len(disagreements([result(mercer=values(1.0), scikit_learn=loose)])) == 1


def test_everybody_answers_in_every_round():
    problem = Problem("SVC", "hastie", 300, 50, 0.1, {"C": 1.0})
    found = exact.turns(problem, ["mercer", "scikit-learn", "bare"], 2)
    rounds = {name: len(v["rounds"]) for name, v in found.items()}
    assert rounds == {"mercer": 2, "scikit-learn": 2, "bare": 2}
    made = [Record(problem.case(), name, (v,), {}) for name, v in found.items()]
    assert disagreements(results(made)) == []


def test_who_takes_too_long_is_not_asked_for_more_rows(monkeypatch):
    asked = []

    def turns(problem, names, rounds):
        asked.append(names)
        return {name: {"failure": "over 60 s"} for name in names}

    monkeypatch.setattr(exact, "turns", turns)
    monkeypatch.setattr(exact, "EXCUSED", {})
    few, many = (Problem("SVC", "hastie", n, 50, 0.1, {"C": 1.0}).case() for n in (300, 400))
    exact.together(few, ["scikit-learn"], True)
    found = exact.together(many, ["mercer", "scikit-learn"], True)
    assert asked == [["scikit-learn"], ["mercer"]]
    assert found["scikit-learn"]["failure"] == "over 60 s at 300 rows"
