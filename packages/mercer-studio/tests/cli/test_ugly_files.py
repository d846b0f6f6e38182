"""Text files as others write them: the command and pandas lead to the same columns."""

import json
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.commands import call, shell
from mercer import AutoRegressor, io
from mercer.preprocessing import TableEncoder
from mercer_studio.cli.models import Question, Wishes
from mercer_studio.cli.tables import Memory, read
from mercer_studio.cli.telling import Teller

SCRIPT = runpy.run_path(str(Path(__file__).with_name("ugly_files.py")))
UGLY, sales, by_pandas = SCRIPT["UGLY"], SCRIPT["sales"], SCRIPT["columns_by_pandas"]
ROWS = sales()

# What must be said of a file, beside the columns.
SAID = {
    "decimal commas": "Column 'area': words such as '100,5' are read as numbers (decimal comma).",
    "latin-1": "is not UTF-8 and is read as cp1252; say another with --encoding.",
    "days first": "are read as dates (day, month, year).",
    "months first": "are read as dates (month, day, year).",
    "names of rows": "Column 'id' is left out",
    "one bad cell": "Column 'area': 1 cell that is no number ('oops') is taken as missing.",
    "two of a name": "has two columns of the name 'area': one is called 'area.1'.",
    "no names": "has no line of names: columns are called 1, 2, ...",
    "an index": "Column 'Unnamed: 0' is left out: it has no name and numbers the rows.",
    "currency": "are read as numbers (sign EUR).",
    "thousands": "are read as numbers (thousands separated by ',').",
    "percent": "are read as numbers (sign %).",
    "yes and Yes": "are read as 1 and 0.",
    "an empty column": "Column 'note' is left out: it has no values.",
    "a constant column": "Column 'country' is left out: it has one value: 'DE'.",
    "trailing separators": "Column 'Unnamed: 6' is left out: it has no values.",
    "spellings of missing": "Column 'area': 2 cells that are no numbers are taken as missing.",
}


def written(folder, name):
    path = folder / "file.csv"
    path.write_bytes(UGLY[name].write(ROWS))
    return path


def question(path, ugly):
    """Return what ``mercer fit`` makes of a file, and what it notes."""
    options = dict(zip(ugly.options[::2], ugly.options[1::2], strict=True))
    target = options.pop("--target", "rent")
    table = read(str(path), Memory(None), **{k.lstrip("-"): v for k, v in options.items()})
    teller = Teller(as_json=True)
    asked = Question.of(table, target, Wishes(), teller)
    return asked, [*table.notes, *teller.notes]


def test_there_are_twenty_and_more():
    assert len(UGLY) >= 20
    assert SAID.keys() <= UGLY.keys()


@pytest.mark.parametrize("name", [name for name in UGLY if not UGLY[name].refused])
def test_the_command_and_pandas_give_the_same_columns(tmp_path, name):
    """To a machine that reads tables: the same names and numbers, whoever read the file."""
    path, ugly = written(tmp_path, name), UGLY[name]
    found, notes = question(path, ugly)
    ours = TableEncoder().fit(found.X)
    theirs = by_pandas(path, ugly)
    assert ours.names_ == theirs.names_
    frame = pd.read_csv(path, **ugly.pandas)
    matrix = theirs.transform(frame[theirs.feature_names_in_])
    np.testing.assert_allclose(ours.transform(found.X), matrix, rtol=1e-12)
    np.testing.assert_array_equal(found.y, ROWS.rent)
    left_out = {c.name for c in found.plan.columns if c.kind == "left out"}
    assert left_out == set(theirs.dropped_)
    assert SAID.get(name, "") in "\n".join(notes)
    assert name in SAID or not notes
    # The columns of a clean file, unless the file has others.
    clean = ["area", "price", "sold_days", "sold_week_cos", "sold_week_sin", "district", "garden"]
    other = {
        "no names": ["1", "2"],
        "two of a name": ["area", "area.1", *clean[2:]],
        "lines in quotes": [*clean, "kind"],
        "one bad cell": [*clean, "area_missing"],
        "spellings of missing": [*clean, "area_missing"],
    }
    assert ours.names_ == other.get(name, clean)


@pytest.mark.parametrize("name", [name for name in UGLY if UGLY[name].refused])
def test_what_is_refused_names_the_file_and_the_remedy(tmp_path, name):
    status, _, err = call("fit", written(tmp_path, name), "--target", "rent")
    assert status == 1
    assert "file.csv cannot be read" in err
    assert UGLY[name].refused in err


def test_a_model_of_an_ugly_file_reads_new_rows_alike(tmp_path, monkeypatch):
    """Decimal commas from the fit to the evaluation; a cell that cannot be read is missing."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "decimal commas")
    shell("mercer fit file.csv --target rent --machine LSSVR --tune 1s -o m.skops")
    scores = json.loads(shell("mercer evaluate m.skops file.csv --json"))["scores"]
    assert scores["R2"] > 0.9
    new = ROWS.head(3).assign(area=["oops", *(f"{a}".replace(".", ",") for a in ROWS.area[1:3])])
    Path("new.csv").write_text(new.to_csv(index=False, sep=";", decimal=","))
    shell("mercer predict m.skops new.csv -o new-predicted.csv")
    predicted = pd.read_csv("new-predicted.csv").prediction
    filled = new.assign(area=[ROWS.area.median(), *ROWS.area[1:3]])
    Path("filled.csv").write_text(filled.to_csv(index=False, sep=";"))
    shell("mercer predict m.skops filled.csv -o filled-predicted.csv")
    np.testing.assert_allclose(predicted, pd.read_csv("filled-predicted.csv").prediction)


def test_the_command_and_python_fit_the_same_machine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, ugly = written(tmp_path, "days first"), UGLY["days first"]
    shell("mercer fit file.csv --target rent --set \"members=['gaussian']\" -o m.skops")
    frame = pd.read_csv(path, **ugly.pandas)
    X, y = frame.drop(columns="rent"), frame["rent"]
    ours = AutoRegressor(members=["gaussian"]).fit(X, y)
    # The model of the command takes the frame of pandas as it is.
    np.testing.assert_allclose(io.load("m.skops").predict(X), ours.predict(X), rtol=1e-9)
    shell("mercer predict m.skops file.csv -o p.csv")
    np.testing.assert_allclose(pd.read_csv("p.csv").prediction, ours.predict(X), rtol=1e-9)


def test_the_script_prints_a_line_for_a_file():
    (line, refused) = SCRIPT["table_of"](["currency", "comments, not asked"])
    assert line[0] == "currency"
    assert "price: number" in line[1]
    assert "sign EUR" in line[1]
    assert refused[1].startswith("refused: file1.csv cannot be read")


def test_one_row_is_too_few_and_not_a_table_of_constants(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.csv").write_text("a,b,y\n1,2,3\n")
    status, _, said = call("fit", "one.csv", "--target", "y")
    assert status != 0
    assert "one.csv has 1 row with a target; at least 10 are needed." in said
