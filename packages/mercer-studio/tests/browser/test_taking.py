"""What a person takes away: the script repeats what is on the screen to the last bit."""

import numpy as np
import pandas as pd
import pytest

from mercer import io
from mercer_studio.browser import taking
from mercer_studio.browser.session import Session
from mercer_studio.cli.models import Model
from mercer_studio.cli.tables import Memory, Read, read


@pytest.fixture(scope="module")
def session():
    with Session() as made:
        yield made


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write tables with everything that tables have."""
    place = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    n = 90
    frame = pd.DataFrame(
        {
            "dose, mg": np.where(rng.random(n) < 0.1, 0.0, rng.uniform(1.0, 9.0, n)),
            'quoted "name"': rng.integers(0, 40, n),
            "word": rng.choice(["a", "b", None], n),
            "day": pd.date_range("2020-01-01", periods=n).astype(str),
            "zip": rng.choice([1010, 2020, 3030], n),
        }
    )
    frame["y"] = frame["dose, mg"] + rng.standard_normal(n)
    frame.loc[3, "y"] = np.nan
    frame["kind"] = np.where(frame["dose, mg"] > 4.0, "large", "small")
    frame.to_csv(place / "table.csv", index=False)
    text = frame[["dose, mg", "y"]].map(lambda v: f"{v:.3f}".replace(".", ",")).dropna()
    text[text["y"] != "nan"].to_csv(place / "commas.csv", sep=";", index=False)
    return place


CASES = {
    "numbers": ("table.csv", {"target": "y"}, {"machine": "SVR", "coverage": 0.8}),
    "gaps": ("table.csv", {"target": "y", "gaps": {"dose, mg": 0.0}}, {"machine": "LSSVR"}),
    "names": ("table.csv", {"target": "y", "categorical": ("zip",)}, {"machine": "LSSVR"}),
    "table": (
        "table.csv",
        {"target": "y", "drop": ("kind",)},
        {"settings": {"members": ["gaussian"]}},
    ),
    "classes": ("table.csv", {"target": "kind"}, {"machine": "SVC", "settings": {"C": 3.0}}),
    "whole": ("table.csv", {"target": "zip", "drop": ("day",)}, {"machine": "LSSVC"}),
    "monotone": ("table.csv", {"target": "y"}, {"monotone": {"zip": 1, "dose, mg": 1}}),
    "commas": ("commas.csv", {"target": "y"}, {"machine": "LSSVR"}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_script_predicts_what_the_screen_shows(session, folder, monkeypatch, case):
    name, question, machine = CASES[case]
    start = {"target": None, "task": None, "drop": (), "categorical": (), "gaps": {}}
    session.load(folder / name).prepare(**{**start, **question})
    plain = {"machine": None, "settings": {}, "monotone": {}, "coverage": None}
    session.choose(**{**plain, **machine}).tune(1.0 if case == "monotone" else None)
    fitted = session.bring("fit")
    prepared = session.value("preparation")
    text = taking.model_script(prepared, fitted, name)
    monkeypatch.chdir(folder)
    found = {}
    exec(compile(text, "script.py", "exec"), found)
    np.testing.assert_array_equal(found["predictions"], fitted.predictions)
    if fitted.intervals is not None:
        np.testing.assert_array_equal(found["intervals"], fitted.intervals)
    # The model file, and with it the command line, predict the same rows as well.
    (folder / "model.skops").write_bytes(taking.model_file(prepared, fitted))
    model = Model.read(io.load(folder / "model.skops"))
    frame = read(name, Memory()).frame
    frame = frame[frame[question["target"]].notna()].reset_index(drop=True)
    rows = model.features(Read(name, frame))
    np.testing.assert_array_equal(model.pipeline.predict(rows), fitted.predictions)


def test_names_of_columns_cannot_write_code(session, folder):
    evil = 'x"]; import os; os.abort() #\n'
    frame = pd.DataFrame({evil: np.arange(30.0), "b": np.arange(30.0) ** 0.5})
    session.load(frame).prepare(target="b", task=None, drop=(), categorical=(), gaps={evil: 0.0})
    session.choose(machine="LSSVR", settings={}, monotone={}, coverage=None).tune(None)
    fitted = session.bring("fit")
    text = taking.model_script(session.value("preparation"), fitted, "a.csv")
    assert all(not line.startswith(("import os", "os.")) for line in text.splitlines())
    compile(text, "script.py", "exec")


NAMES = [
    "a \"b\" 'c'",
    "two\nlines\r\n",
    "back\\nslash\\",
    "smile \U0001f600",
    "\u202eright to left \u05e9\u05dc\u05d5\u05dd",
    "nu\x00ll",
    "line \u2028 \u0085",
    "{braces} %s",
    "gr\u00f6\u00dfe",
    "gro\u0308sse",
    "\ufeffmark",
]


@pytest.mark.parametrize("target", NAMES, ids=ascii)
def test_scripts_have_every_name_of_a_column(session, target):
    """As feature, category, missing number and target; the file of the script is UTF-8."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.uniform(1.0, 9.0, 24) for name in NAMES})
    features = [name for name in NAMES if name != target]
    first, second = features[:2]
    frame[first] = np.where(np.arange(24) % 3 > 0, "v", "w")
    frame.loc[5, second] = 0.0
    session.load(frame).prepare(
        target=target, task=None, drop=(), categorical=(), gaps={second: 0.0}
    )
    session.choose(machine="LSSVR", settings={}, monotone={}, coverage=None).tune(None)
    fitted = session.bring("fit")
    written = taking.model_script(session.value("preparation"), fitted, "a.csv").encode()
    reads, rest = 'table = read_table("a.csv")\n', written.decode()
    assert reads in rest
    found = {"table": frame.copy()}
    exec(compile(rest.replace(reads, ""), "script.py", "exec"), found)
    assert sorted(found["X"].columns) == sorted(features)
    np.testing.assert_array_equal(found["y"], frame[target])
    np.testing.assert_array_equal(found["predictions"], fitted.predictions)
    assert session.bring("script").encode()


@pytest.mark.parametrize("path", [*NAMES, "lone \ud800.csv", "bytes \udc80\udcff.csv"], ids=ascii)
def test_scripts_have_every_name_of_a_file(session, folder, path):
    """Bytes of a path that are no UTF-8 are lone surrogates, which no column of pandas can have."""
    session.load(folder / "commas.csv").prepare(
        target="y", task=None, drop=(), categorical=(), gaps={}
    )
    session.choose(machine="LSSVR", settings={}, monotone={}, coverage=None).tune(None)
    written = taking.model_script(session.value("preparation"), session.bring("fit"), path)
    (call,) = (line for line in written.encode().decode().splitlines() if "read_table(" in line)
    found = {"read_table": lambda name: name}
    exec(call, found)
    assert found["table"] == path
    assert taking._plain(path).isprintable()


@pytest.mark.parametrize("case", ["numbers", "classes"])
def test_a_report_is_one_page_that_asks_nobody(session, folder, case):
    name, question, machine = CASES[case]
    start = {"target": None, "task": None, "drop": (), "categorical": (), "gaps": {}}
    session.load(folder / name).prepare(**{**start, **question})
    plain = {"machine": None, "settings": {}, "monotone": {}, "coverage": None}
    session.choose(**{**plain, **machine}).tune(None)
    html = session.bring("report")
    assert html.startswith("<!DOCTYPE html>")
    assert "http:" not in html
    assert "https:" not in html
    assert html.count("<svg") > 3


@pytest.mark.parametrize(("target", "measure"), [("y", "R²"), ("kind", "accuracy")])
def test_the_score_after_a_fit_is_that_of_all_rows(session, folder, target, measure):
    """Of a stack: the screen, the report and the model have one score, of all rows."""
    session.load(folder / "table.csv").prepare(
        target=target, task=None, drop=("word", "day"), categorical=(), gaps={}
    )
    settings = {"members": ["gaussian"]}
    session.choose(machine=None, settings=settings, monotone={}, coverage=None).tune(None)
    validated = session.bring("validation")
    machine = session.value("fit").model.machine
    rows = 89 if target == "y" else 90
    assert validated.scores[measure] == pytest.approx(machine.left_out_score_, rel=1e-12)
    assert validated.said == f"{rows} rows, each predicted by the fit without it"
    html = session.bring("report")
    assert f"{measure}, out of fold</dt><dd>{machine.left_out_score_:.3g}</dd>" in html


def test_time_for_a_search_is_no_limit_of_the_fit(folder):
    with Session() as session:
        session.load(folder / "table.csv").prepare(target="y", drop=("kind",))
        session.choose(settings={"members": ["gaussian"]}).tune(5.0)
        assert session.bring("fit").model.machine.budget is None
        assert "stops after a time" not in session.bring("script")
        session.choose(settings={"members": ["gaussian"], "budget": 30.0})
        assert session.bring("fit").model.machine.budget == 30.0
        assert "stops after a time" in session.bring("script")
