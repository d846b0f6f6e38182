"""Tables of studies: what a row may hold, and that rows of peers outlive a run without them."""

import sys

import pytest

from papers import places, run, study
from papers.study import Table


def table(**numbers):
    found = Table("A title", "Which?", "Settings.", {"error": "in percent"})
    for machine, error in numbers.items():
        found.row(machine, error=error)
    return found


def test_rows_have_the_columns_of_their_table():
    with pytest.raises(ValueError, match="no columns"):
        table().row("ours", seconds=1.0)
    lines = str(table(ours=1.5, theirs=2.0)).splitlines()
    assert lines[0] == "A title"
    assert lines[3].split() == ["ours", "1.5"]


def test_rows_that_were_not_measured_again_stay(tmp_path, monkeypatch):
    monkeypatch.setitem(places.PLACES, "one", tmp_path / "one.py")
    study.store("one", table(ours=1.5, theirs=2.0))
    study.store("one", table(ours=1.0))
    assert study.load("one").rows == [
        {"machine": "ours", "error": 1.0},
        {"machine": "theirs", "error": 2.0},
    ]


@pytest.mark.parametrize("name", run.STUDIES)
def test_stored_tables_say_who_won_and_who_lost(name):
    found = study.load(name)
    assert len(found.rows) > 3
    assert found.question.endswith("?")
    assert found.settings
    assert found.notes
    assert all(set(row) - {"machine"} <= set(found.columns) for row in found.rows)


def test_every_module_is_an_experiment_or_a_study():
    files = list(places.HERE.glob("*/*.py"))
    assert len(files) == len(places.PLACES)
    assert set(places.PLACES) == {*run.EXPERIMENTS, *run.STUDIES, "fits"}
    results = {path.stem for path in places.HERE.glob("*/results/*.json")}
    assert results == {*run.EXPERIMENTS, *run.STUDIES}


class Module:
    """A study of one row."""

    @staticmethod
    def run(short):
        return table(ours=1.0 if short else 2.0)


def test_the_runner_keeps_a_study_unless_it_is_short(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(places.PLACES, "one", tmp_path / "topic" / "one.py")
    (tmp_path / "topic").mkdir()
    monkeypatch.setattr(run, "STUDIES", ("one",))
    monkeypatch.setitem(sys.modules, "papers.topic.one", Module)
    monkeypatch.setattr(sys, "argv", ["run.py", "--studies", "--short"])
    assert run.main() == 0
    assert "A title" in capsys.readouterr().out
    assert not places.results_of("one").exists()
    monkeypatch.setattr(sys, "argv", ["run.py", "one"])
    assert run.main() == 0
    assert study.load("one").rows == [{"machine": "ours", "error": 2.0}]
