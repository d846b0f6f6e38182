"""Commands on real sets from files: what they choose, say, save and predict."""

import json
import os
import subprocess
import sys
from io import StringIO

import click
import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

import mercer
from cli.commands import call, shell
from mercer import datasets, io
from mercer_studio.cli.app import EXAMPLES, app
from mercer_studio.cli.models import tuned
from mercer_studio.cli.telling import Falling, Teller


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def split(bunch, stem, ending):
    """Write four fifths of a set to a file and the rest to another."""
    order = np.random.default_rng(0).permutation(len(bunch.frame))
    held = len(order) // 5
    parts = {stem: order[held:], f"{stem}-new": order[:held]}
    for name, rows in parts.items():
        frame = bunch.frame.iloc[rows].reset_index(drop=True)
        if ending == "csv":
            frame.to_csv(f"{name}.csv", index=False)
        elif ending == "parquet":
            frame.to_parquet(f"{name}.parquet")
        else:
            frame.to_feather(f"{name}.arrow")
    return bunch.target_name


# Times and gaps -----------------------------------------------------------------------------------


def test_times_with_an_event_are_those_of_a_censored_machine(here):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"dose": rng.uniform(0.0, 2.0, 80), "sex": rng.choice(["f", "m"], 80)})
    life = np.exp(frame["dose"] + 0.3 * rng.standard_normal(80))
    ends = rng.uniform(0.5, 8.0, 80)
    frame["time"], frame["seen"] = np.minimum(life, ends), (life <= ends).astype(int)
    frame.to_csv("times.csv", index=False)
    said = shell("mercer fit times.csv --target time --event seen")
    assert "task: survival of time, because seen says what was seen" in said
    shell("mercer predict times.skops times.csv --output predicted.csv")
    found = pd.read_csv("predicted.csv")["prediction"].to_numpy()
    z = frame["dose"].to_numpy()
    Z = np.column_stack([(z - z.mean()) / z.std(), frame["sex"] == "f", frame["sex"] == "m"])
    y = np.column_stack([frame["time"], np.where(frame["seen"] == 1, frame["time"], np.inf)])
    alone = mercer.CensoredRegressor(log=True, cv=5, C="auto").fit(Z.astype(float), y)
    np.testing.assert_allclose(found, alone.predict(Z.astype(float)), rtol=1e-9)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ([2, 1] * 20, "must hold 1 where the event happened"),
        ([0] * 36 + [1] * 4, "happened in 4 rows"),
    ],
)
def test_events_that_say_nothing_are_refused(here, column, words):
    frame = pd.DataFrame({"x": np.arange(40.0), "time": np.arange(1.0, 41.0), "seen": column})
    frame.to_csv("times.csv", index=False)
    status, _, err = call("fit", "times.csv", "--target", "time", "--event", "seen")
    assert status == 1
    assert words in err


def test_a_number_that_stands_for_gaps_is_a_gap_in_fits_and_predictions(here):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"pressure": rng.normal(70.0, 5.0, 60), "age": rng.uniform(20, 60, 60)})
    frame["y"] = 0.1 * frame["pressure"] + rng.standard_normal(60)
    frame.to_csv("with.csv", index=False, na_rep="")
    lost = frame["pressure"].mask(np.arange(60) % 7 == 0)
    frame.assign(pressure=lost).to_csv("empty.csv", index=False)
    frame.assign(pressure=lost.fillna(0.0)).to_csv("zero.csv", index=False)
    shell("mercer fit empty.csv --target y --machine LSSVR")
    shell("mercer fit zero.csv --target y --machine LSSVR --missing pressure=0")
    said = [shell(f"mercer predict {name}.skops {name}.csv") for name in ("empty", "zero")]
    assert said[0] == said[1]
    said = shell("mercer fit with.csv --target y --machine LSSVR --missing pressure=0")
    assert "note: pressure holds no 0, so no cell of it becomes a gap." in said


# Three real sets, each in another format, as they are --------------------------------------------


def test_auto_mpg_from_csv_with_gaps_and_intervals(here):
    target = split(datasets.load_auto_mpg(as_frame=True), "mpg", "csv")
    few = "members=['laplacian', 'gaussian']"
    said = shell(f'mercer fit mpg.csv --target {target} --set "{few}"')
    assert "task: regression of mpg, because it has" in said
    assert "machine: AutoRegressor, because" in said
    found = json.loads(shell("mercer evaluate mpg.skops mpg-new.csv --intervals 0.9 --json"))
    assert found["scores"]["R2"] > 0.8
    assert found["notes"] == []
    # What is saved is a pipeline of scikit-learn that predicts the same in Python.
    model, new = io.load("mpg.skops"), pd.read_csv("mpg-new.csv")
    assert isinstance(model, Pipeline)
    assert isinstance(model[0], ColumnTransformer)
    shell("mercer predict mpg.skops mpg-new.csv --intervals 0.8 --keep weight -o p.parquet")
    written = pd.read_parquet("p.parquet")
    assert written.columns.tolist() == ["weight", "prediction", "low", "high"]
    np.testing.assert_array_equal(written.prediction, model.predict(new))
    np.testing.assert_array_equal(written.weight, new.weight)
    assert np.all(written.low < written.prediction)
    assert np.all(written.prediction < written.high)
    shell("mercer predict mpg.skops mpg-new.csv --intervals 0.9 -o p.csv")
    inside = pd.read_csv("p.csv").eval("low <= @new.mpg <= high")
    assert found["scores"]["coverage of intervals"] == pytest.approx(inside.mean(), abs=1e-12)


def test_german_credit_from_parquet_with_categories(here):
    target = split(datasets.load_german_credit(as_frame=True), "credit", "parquet")
    said = shell(f"mercer fit credit.parquet --target {target} --machine KernelLogisticRegression")
    assert "7 numbers: scaled" in said
    assert "13 categories: one column for each" in said
    found = json.loads(shell("mercer evaluate credit.skops credit-new.parquet --json"))["scores"]
    assert found["accuracy"] > found["accuracy of the most frequent class"]
    assert found["area under the ROC curve"] > 0.7
    out = shell("mercer predict credit.skops credit-new.parquet --probabilities")
    lines = out.splitlines()
    assert lines[0] == "prediction,p_bad,p_good"
    assert len(lines) == 201
    total = np.array([line.split(",")[1:] for line in lines[1:]], dtype=float).sum(axis=1)
    np.testing.assert_allclose(total, 1.0, rtol=1e-12)


def test_house_votes_from_arrow_compared_and_evaluated(here):
    target = split(datasets.load_house_votes(as_frame=True), "votes", "arrow")
    line = f"mercer compare votes.arrow --target {target} --machine SVC --machine LSSVC --folds 3"
    found = json.loads(shell(f"{line} --json"))
    assert found["best"] in ("SVC", "LSSVC")
    assert found["scores"][found["best"]]["mean"] > 0.9 > found["scores"]["constant"]["mean"]
    shell(f"mercer fit votes.arrow --target {target} --machine SVC --budget 3s")
    assert "accuracy" in shell("mercer evaluate votes.skops votes-new.arrow")
    # The same rows again are recognized.
    assert "fitted to these rows" in shell("mercer evaluate votes.skops votes.arrow")


# Options ------------------------------------------------------------------------------------------


@pytest.fixture
def shop(here):
    """Write a table with dates, words, gaps, names of rows and a constant."""
    rng, n = np.random.default_rng(0), 300
    days = pd.date_range("2022-01-01", periods=n)
    frame = pd.DataFrame(
        {
            "day": days.strftime("%Y-%m-%d"),
            "price": rng.uniform(1, 3, n),
            "shop": rng.choice(["north", "south"], n),
            "id": [f"row{k}" for k in range(n)],
            "zone": rng.integers(1, 4, n),
            "always": 7,
        }
    )
    frame["sold"] = (
        np.where(days.day_of_week > 4, 5.0, 0.0)
        - 2 * frame.price
        + frame.zone.map({1: 0.0, 2: 3.0, 3: -3.0})
        + 0.1 * rng.normal(size=n)
    )
    frame.loc[3:8, "price"], frame.loc[9, "shop"] = np.nan, None
    frame.loc[11, "sold"] = np.nan
    frame.to_csv("shop.csv", index=False)
    return frame


def test_the_plan_is_said_and_saved(shop):
    said = shell("mercer fit shop.csv --target sold --machine LSSVR --categorical zone --tune 5s")
    assert "note: 1 row without sold is left out." in said
    assert "plan: id is left out, because it has 299 categories, none of which is frequent" in said
    assert "If a part of it matters, make a column of that part" in said
    assert "plan: always is left out, because it has one value: 7" in said
    assert "plan: 1 date: days since 1970" in said
    card = io.load("shop.skops").card_
    assert card["columns"] == {
        "price": "number", "zone": "category", "shop": "category", "day": "date",
    }  # fmt: skip
    # Weekends are in the dates alone, and zones in no order: a machine that saw neither fails.
    again = shop.dropna(subset=["sold"]).assign(zone=lambda f: f.zone.astype(float))
    again.to_csv("again.csv", index=False)
    scores = json.loads(shell("mercer evaluate shop.skops again.csv --json"))["scores"]
    assert scores["R2"] > 0.95
    assert "plan: 1 date" in shell("mercer inspect shop.skops")


def test_categories_by_name_matter(shop):
    frame = shop.dropna(subset=["sold"])
    frame.iloc[:200].to_csv("train.csv", index=False)
    frame.iloc[200:].to_csv("test.csv", index=False)
    shell("mercer fit train.csv --target sold --machine LSSVR --tune 5s --drop zone -o a.skops")
    shell(
        "mercer fit train.csv --target sold --machine LSSVR --tune 5s --categorical zone -o b.skops"
    )
    a, b = (
        json.loads(shell(f"mercer evaluate {name}.skops test.csv --json"))["scores"]["RMSE"]
        for name in "ab"
    )
    assert b < 0.5 * a


def test_monotone_predictions_are_monotone(shop):
    shell("mercer fit shop.csv --target sold --monotone price:down --drop day -o m.skops")
    prices = np.linspace(shop.price.min(), shop.price.max(), 200)
    grid = pd.DataFrame({"price": prices, "shop": "north", "zone": 2})
    f = io.load("m.skops").predict(grid)
    # The machine's tolerance: tol in units of the target for the whole range of the column.
    assert np.max(np.diff(f)) <= 1e-3
    assert f[0] - f[-1] > 1.0


def test_a_model_is_exported_and_runs_elsewhere(shop):
    shell("mercer fit shop.csv --target sold --machine LSSVR --drop day -o e.skops")
    said = shell("mercer export e.skops e.onnx")
    assert "inputs: price, shop, zone" in said
    session = onnxruntime.InferenceSession("e.onnx")
    new = shop.iloc[:50]
    words = [["nan" if w != w else w] for w in new.shop.astype(object).fillna(np.nan)]
    feed = {
        "price": new.price.to_numpy()[:, None],
        "zone": new.zone.to_numpy(dtype=float)[:, None],
        "shop": np.array(words, dtype=object),
    }
    shell("mercer predict e.skops shop.csv -o e.csv")
    found = session.run(None, feed)[0].ravel()
    np.testing.assert_allclose(found, pd.read_csv("e.csv").prediction[:50], rtol=0, atol=1e-10)


def test_an_automatic_model_with_dates_and_gaps_is_exported(shop):
    few = "members=['laplacian-ranks', 'gaussian']"
    shell(f'mercer fit shop.csv --target sold --set "{few}" -o a.skops')
    said = shell("mercer export a.skops -o a.onnx")
    assert "days since 1970-01-01 in float64 go in for day" in said
    new = shop.iloc[:50]
    feed = {
        "day": pd.to_datetime(new.day).to_numpy("datetime64[D]").astype(float)[:, None],
        "price": new.price.to_numpy()[:, None],
        "zone": new.zone.to_numpy(dtype=float)[:, None],
        "shop": new[["shop"]].fillna("").to_numpy(object),
    }
    shell("mercer predict a.skops shop.csv -o a.csv")
    found = onnxruntime.InferenceSession("a.onnx").run(["prediction"], feed)[0].ravel()
    np.testing.assert_allclose(found, pd.read_csv("a.csv").prediction[:50], rtol=0, atol=1e-10)


def test_svmlight_dense_and_sparse(here):
    rng = np.random.default_rng(0)
    for name, p in (("few", 5), ("wide", 3000)):
        lines = []
        for _ in range(80):
            at = np.sort(rng.choice(p, 3, replace=False)) + 1
            x = rng.normal(size=3).round(3)
            lines.append(f"{1 if x.sum() > 0 else -1} " + " ".join(map("{}:{}".format, at, x)))
        (here / f"{name}.svm").write_text("\n".join(lines))
        shell(f"mercer fit {name}.svm --target target --machine SVC")
        score = json.loads(shell(f"mercer evaluate {name}.skops {name}.svm --json"))["scores"]
        assert score["accuracy"] > 0.8
    assert "sparse features" in shell("mercer fit wide.svm --target target --force")


def test_a_column_that_determines_the_target_is_named(here):
    a, b = np.random.default_rng(0).normal(size=(2, 40))
    pd.DataFrame({"a": a, "b": b, "y": 3.0 * a}).to_csv("rows.csv", index=False)
    status, out, err = call("fit", "rows.csv", "--target", "y", "--machine", "LSSVR")
    assert status == 0
    assert "Column 'a' determines the target: it is 3 x in all 40 rows" in out + err
    assert "'b' determines" not in out + err


def test_sparse_features_are_not_compared_with_the_target(here):
    lines = [f"{k / 8} {k + 1}:1 3000:{k / 8}" for k in range(40)]
    (here / "wide.svm").write_text("\n".join(lines))
    status, out, err = call("fit", "wide.svm", "--target", "target", "--machine", "LSSVR")
    assert status == 0
    assert "sparse features" in out
    assert "determines" not in out + err


def test_a_model_saved_in_python_predicts_too(here):
    X = pd.DataFrame({"a": np.arange(20.0), "b": np.ones(20)})
    io.save(mercer.LSSVR().fit(X, X.a**2), "own.skops")
    X.assign(c="x").to_csv("x.csv", index=False)
    shell("mercer predict own.skops x.csv -o p.csv")
    expected = mercer.LSSVR().fit(X, X.a**2).predict(X)
    np.testing.assert_allclose(pd.read_csv("p.csv").prediction, expected, rtol=1e-12)
    assert "does not say what it predicts" in call("evaluate", "own.skops", "x.csv")[2]


# Help, completion, progress -----------------------------------------------------------------------


def examples():
    """Return the lines below the word examples in the help of every command."""
    found = {}
    for name, command in app.commands.items():
        text = command.get_help(click.Context(command, info_name=name))
        assert EXAMPLES in text, name
        lines = text.split(EXAMPLES)[1].splitlines()
        found[name] = [line.strip() for line in lines if line.strip().startswith("mercer ")]
    return found


def test_every_example_in_help_runs(here):
    lines = examples()
    first = ["demo", "fit", "predict", "evaluate", "inspect", "compare", "export"]
    # The studio has tests of its own: it does not end.
    assert set(first) | {"studio"} == set(lines)
    for name in first:
        assert lines[name], name
        for line in lines[name]:
            assert line.split()[1] == name
            shell(line)


def test_help_is_quick():
    """Help imports neither NumPy nor scikit-learn."""
    code = (
        "import sys\n"
        "from mercer_studio.cli import main\n"
        "status = main(['fit', '--help'])\n"
        "print(status, [m for m in ('numpy', 'sklearn', 'rich') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.splitlines()[-1] == "0 []"


def test_shells_complete_commands_and_options():
    words = {
        "_MERCER_COMPLETE": "bash_complete",
        "COMP_WORDS": "mercer fit --tar",
        "COMP_CWORD": "2",
    }
    code = "from mercer_studio.cli import main; main([])"
    found = [
        subprocess.run(
            [sys.executable, "-c", code], env=os.environ | asked, capture_output=True, text=True
        )
        for asked in ({"_MERCER_COMPLETE": "bash_source"}, words)
    ]
    assert "complete -o nosort -F" in found[0].stdout
    assert found[1].stdout.split() == ["plain,--target"]


class Terminal(StringIO):
    def isatty(self):
        return True


def test_progress_shows_the_gap_and_the_criterion_falling(monkeypatch):
    written, teller = Terminal(), Teller()
    monkeypatch.setattr("sys.stderr", written)
    X = np.random.default_rng(0).normal(size=(200, 2))
    with teller.working("fitting") as shown:
        mercer.SVR(C=1e3, solver="smo", verbose=True).fit(X, np.sin(3 * X[:, 0]))
    assert len(shown.values) >= 2
    assert shown.values[-1] < shown.values[0]
    assert "fitting  00:00, SVR: iteration " in written.getvalue()
    assert written.getvalue().endswith("\r")
    searched = Falling("tuning")
    tuned(mercer.LSSVR(), X, np.sin(3 * X[:, 0]), 10.0, searched)
    assert "criterion" in searched.last
    assert min(searched.values) < searched.values[0]
