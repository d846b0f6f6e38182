"""Claims, results that outlive a run, and the page made of them."""

import json
import sys

import numpy as np
import pytest

from papers import page, places, run
from papers.outcome import MissingDataError, Result, at_least, at_most, near


def result(ours=1.0, must=True, **options):
    claims = [near("a number", ours, 1.0, 0.1, "chance", printed=True, must=must)]
    return Result("A title (here)", "Figure 1", "Settings.", claims, {"x": [1 / 3]}, **options)


class Module:
    """An experiment that counts how often it is run."""

    def __init__(self, answer):
        self.answer, self.runs = answer, 0

    def run(self, short, random_state):
        self.runs += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    """Return a function that sets up one experiment in an empty folder of results."""

    def install(answer):
        module = Module(answer)
        monkeypatch.setitem(places.PLACES, "trial", tmp_path / "topic" / "trial.py")
        monkeypatch.setattr(run, "PAGE", tmp_path / "page.md")
        monkeypatch.setattr(run, "EXPERIMENTS", ("trial",))
        monkeypatch.setattr(run, "digest", lambda name: "state")
        monkeypatch.setitem(sys.modules, "papers.topic.trial", module)
        return module

    return install


def call(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["run.py", *arguments])
    return run.main()


def test_claims_hold_within_their_range():
    assert near("", 1.1, 1.0, 0.125, "").holds
    assert not near("", 1.2, 1.0, 0.125, "").holds
    assert at_most("", 2.0, 2.0, "").holds
    assert not at_least("", 2.0, 2.1, "").holds
    assert not near("", np.nan, 0.0, 1.0, "").holds
    assert result(2.0).failures
    assert not result(2.0, must=False).failures


def test_results_survive_being_written():
    before = Result("t", "s", "", [at_most("a", 1.0, 2.0, "w"), at_least("b", 1.0, 0.0, "w")])
    text = json.dumps(before.to_dict(), allow_nan=False)
    assert Result.from_dict(json.loads(text)) == before


def test_a_run_is_kept_until_something_changes(experiment, monkeypatch, tmp_path):
    module = experiment(result())
    assert call(monkeypatch) == 0
    assert call(monkeypatch) == 0
    assert module.runs == 1
    kept = json.loads(places.results_of("trial").read_text())
    assert kept["result"]["data"] == {"x": [0.333333]}
    call(monkeypatch, "--fresh")
    assert module.runs == 2
    monkeypatch.setattr(run, "digest", lambda name: "another")
    call(monkeypatch)
    assert module.runs == 3


def test_a_claim_that_fails_is_told_and_fails_the_run(experiment, monkeypatch, capsys):
    experiment(result(2.0))
    assert call(monkeypatch) == 1
    assert "trial: a number: 2, 0.9 to 1.1" in capsys.readouterr().out
    experiment(result(2.0, must=False))
    assert call(monkeypatch, "--fresh") == 0


def test_a_claim_that_cannot_fail_fails_the_run(experiment, monkeypatch, capsys):
    claims = [near("an error", 1.0, 1.0, 0.9, "chance")]
    experiment(Result("t", "s", "", claims))
    assert call(monkeypatch) == 1
    assert "trial: an error: one end is more than 4 times the other" in capsys.readouterr().out
    # With few data sets ranges are wide; but not so wide that nothing is outside.
    assert call(monkeypatch, "--short") == 0
    experiment(Result("t", "s", "", [at_most("p-value", 0.3, 1.0, "any")]))
    assert call(monkeypatch, "--short", "--fresh") == 1


def test_a_short_run_writes_no_page(experiment, monkeypatch, tmp_path):
    experiment(result())
    call(monkeypatch, "--short")
    assert places.results_of("trial", short=True).exists()
    assert not (tmp_path / "page.md").exists()


def test_missing_data_are_a_reason_and_no_failure(experiment, monkeypatch, capsys):
    experiment(MissingDataError("no data here"))
    assert call(monkeypatch) == 0
    assert "trial: left out, no data here" in capsys.readouterr().out


def test_unknown_names_are_refused(experiment, monkeypatch):
    experiment(result())
    with pytest.raises(SystemExit):
        call(monkeypatch, "no_such_experiment")


def test_a_digest_follows_the_experiment():
    assert run.digest("haar") == run.digest("haar") != run.digest("jumps")


def test_a_row_shows_the_figure_that_differs(experiment):
    experiment(result())
    claims = [at_most("a bound", 1.0, 2.0, ""), near("|x|", 1.0, 1.0, 0.1, "", printed=True)]
    row = page.row("trial", Result("T", "Figure 1", "", claims, note="A note."))
    start = "| [T](../../packages/mercer-research/papers/topic/trial.py) | Figure 1 | "
    assert row == f"{start}yes, 2/2 | \\|x\\| | 1 | 1 | A note. |"
    claims.append(near("an error", 3e-5, 1e-5, 1e-6, "", must=False))
    row = page.row("trial", Result("T", "Figure 1", "", claims))
    assert row == f"{start}partly, 2/3 | an error | 1e-5* | 3e-5 |  |"
    assert "| no, 0/1 |" in page.row("trial", result(2.0, must=False))
    text = page.page({"trial": Result("T", "Figure 1", "", claims)})
    assert "Of 3 claims that are judged in 1 experiments, 2 hold." in text


def test_the_page_is_that_of_the_results():
    results = run.published()
    assert set(results) == set(run.EXPERIMENTS)
    assert not [claim for result in results.values() for claim in result.failures]
    assert page.PAGE.read_text(encoding="utf-8") == page.page(results)
