"""Tables of studies: what a row may hold, and that rows of peers outlive a run without them."""

import pytest

from studies import study
from studies.study import Table

NAMES = sorted(path.stem for path in study.RESULTS.glob("*.json"))


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
    monkeypatch.setattr(study, "RESULTS", tmp_path)
    study.store("one", table(ours=1.5, theirs=2.0))
    study.store("one", table(ours=1.0))
    assert study.load("one").rows == [
        {"machine": "ours", "error": 1.0},
        {"machine": "theirs", "error": 2.0},
    ]


@pytest.mark.parametrize("name", NAMES)
def test_stored_tables_say_who_won_and_who_lost(name):
    found = study.load(name)
    assert len(found.rows) > 3
    assert found.question.endswith("?")
    assert found.settings
    assert found.notes
    assert all(set(row) - {"machine"} <= set(found.columns) for row in found.rows)
    assert (study.HERE / f"{name}.py").exists()


def test_there_is_a_table_for_every_study():
    modules = {path.stem for path in study.HERE.glob("*.py")} - {"__init__", "data", "study"}
    assert modules == set(NAMES)
