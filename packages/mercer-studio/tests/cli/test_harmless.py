"""Words of files on terminals and in spreadsheets, files that exist, and paths in models."""

import io
import json
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import mercer.io
import mercer_studio.cli.predicting as predicting
from cli.commands import call, shell
from mercer_studio.cli.telling import Teller
from mercer_studio.cli.text import visible

ESCAPE = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e"
ACTIVE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")
LABELS = ["=cmd|' /C calc'!A0", "+SUM(1;2)", "@x", "-1", "plain", "\tx"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def table(here):
    """A table whose names and labels hold escapes, and a name of a file that does."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"a{ESCAPE}": rng.normal(size=60), "b": rng.normal(size=60)})
    frame[f"word{ESCAPE}"] = rng.choice([f"red{ESCAPE}", "blue"], 60)
    frame["y"] = np.where(frame.b > 0, f"yes{ESCAPE}", "no")
    name = "rows\x1b[2J.csv"
    frame.to_csv(name, index=False)
    return name


def test_a_terminal_is_told_nothing_by_files(table):
    for line in (
        ("inspect", table),
        ("inspect", table, "--target", "y"),
        ("fit", table, "--target", "y", "--machine", "SVC", "--output", "m.skops"),
        ("fit", table, "--target", f"a{ESCAPE}", "--machine", "SVC"),
        ("fit", table, "--target", "none"),
        ("fit", table, "--target", "y", "--set", f"C={ESCAPE}"),
        ("inspect", "m.skops"),
        ("evaluate", "m.skops", table),
        ("evaluate", "m.skops", f"gone{ESCAPE}.csv"),
        ("predict", "m.skops", table, "--keep", f"{ESCAPE}"),
        ("inspect", table, "--json"),
        ("export", "m.skops", f"{ESCAPE}.txt"),
        (f"no{ESCAPE}",),
    ):
        status, out, err = call(*line)
        assert not ACTIVE.search(out + err), (line, status)
    assert "\\x1b[2J" in call("inspect", table)[1]
    assert json.loads(call("inspect", table, "--json")[1])["plan"][0]["name"] == f"a{ESCAPE}"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_and_notes_are_shown_not_obeyed(monkeypatch):
    written = io.StringIO()
    teller = Teller(console=Console(file=written, force_terminal=False))
    teller.note(f"the column {ESCAPE}")
    teller.table([f"a{ESCAPE}"], [[f"b{ESCAPE}"]])
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    with teller.working("fitting") as shown:
        shown.heard(f"column {ESCAPE}")
    assert visible(f"column {ESCAPE}") in terminal.getvalue()
    assert not ACTIVE.search(terminal.getvalue().replace("\r", ""))
    assert not ACTIVE.search(written.getvalue())


def test_predictions_on_a_terminal_and_in_a_pipe(monkeypatch):
    for stream, expected in ((Terminal(), visible(ESCAPE)), (io.StringIO(), ESCAPE)):
        monkeypatch.setattr("sys.stdout", stream)
        predicting.Printed(False).write({"x": [ESCAPE]})
        assert stream.getvalue() == f"x\n{expected}\n"


def test_formulas_are_text_and_numbers_are_numbers(here):
    X = pd.DataFrame({"x": np.arange(60.0) - 30, "=name": np.tile(LABELS, 10)})
    y = np.tile(LABELS[:2], 30)
    X.assign(y=y).to_csv("rows.csv", index=False)
    shell("mercer fit rows.csv --target y --machine SVC --output m.skops")
    keep = ("--keep", "=name", "--keep", "x")
    assert call("predict", "m.skops", "rows.csv", *keep, "--output", "out.csv")[0] == 0
    found = pd.read_csv("out.csv")
    assert list(found) == ["'=name", "x", "prediction"]
    assert found.x.tolist() == X.x.tolist()
    safe = ["'=cmd|' /C calc'!A0", "'+SUM(1;2)", "'@x", "-1", "plain", "'\tx"]
    assert found["'=name"].tolist() == safe * 10
    assert set(found.prediction) <= {f"'{word}" for word in LABELS[:2]}
    printed = call("predict", "m.skops", "rows.csv", *keep)[1]
    assert printed == Path("out.csv").read_text()
    for name in ("kept.csv", "rows.parquet"):
        assert call("predict", "m.skops", "rows.csv", *keep, "--output", name,
                    *(["--keep-formulas"] if name == "kept.csv" else []))[0] == 0  # fmt: skip
    assert pd.read_csv("kept.csv")["=name"].tolist() == LABELS * 10
    assert pd.read_parquet("rows.parquet")["=name"].tolist() == LABELS * 10


def test_files_that_exist_are_overwritten_by_force_only(here):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60)})
    frame.assign(y=frame.x**2).to_csv("rows.csv", index=False)
    fit = ("fit", "rows.csv", "--target", "y", "--machine", "LSSVR")
    assert call(*fit)[0] == 0
    commands = {
        "rows.skops": fit,
        "page.html": (*fit, "--output", "other.skops", "--report", "page.html"),
        "p.csv": ("predict", "rows.skops", "rows.csv", "--output", "p.csv"),
        "p.parquet": ("predict", "rows.skops", "rows.csv", "--output", "p.parquet"),
        "m.onnx": ("export", "rows.skops", "m.onnx"),
        "e.html": ("evaluate", "rows.skops", "rows.csv", "--report", "e.html"),
    }
    for name, line in commands.items():
        if name != "rows.skops":
            Path(name).write_text("mine")
        before = Path(name).read_bytes()
        status, _, err = call(*line)
        assert status == 1
        assert f"{name} exists; add --force to overwrite it" in err
        assert Path(name).read_bytes() == before
        status, _, err = call(*line, "--force")
        assert status == 0, err
        assert Path(name).read_bytes() != before
    assert "is no model" in call(*fit, "--output", "p.csv", "--force")[2]
    assert call(*fit, "--output", "rows.csv", "--force")[0] == 1
    # A link that leads nowhere is there too.
    os.symlink("elsewhere", "link.csv")
    assert "link.csv exists" in call("predict", "rows.skops", "rows.csv", "-o", "link.csv")[2]


@pytest.mark.parametrize("where", ["absolute", "above", "backslash", "number"])
def test_a_model_cannot_say_which_file_is_read(where, here):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60)})
    (here / "secret").mkdir()
    (here / "here").mkdir()
    rows = here / "secret" / "rows.csv"
    frame.assign(y=frame.x**2).to_csv(rows, index=False)
    assert call("fit", rows, "--target", "y", "--machine", "LSSVR", "-o", "here/m.skops")[0] == 0
    model = mercer.io.load("here/m.skops")
    named = {"absolute": str(rows), "above": "../secret/rows.csv", "number": 3}
    model.card_["data"] = named.get(where, "..\\secret\\rows.csv")
    y, digest = frame.x**2, mercer.io.describe("here/m.skops").data_sha256
    mercer.io.save(model, "here/m.skops", data=(frame, y.to_numpy()))
    assert mercer.io.describe("here/m.skops").data_sha256 == digest
    frame[:20].assign(y=y[:20]).to_csv("here/new.csv", index=False)
    status, _, err = call("evaluate", "here/m.skops", "here/new.csv", "--report", "here/r.html")
    assert status == 1
    assert "there is no file of the rows" in err
    assert "secret" not in err
