"""Pages that commands write, and the sample that a page needs."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from cli.commands import call, shell


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Return a folder with a table, a model of it and a page, and a row without a target."""
    folder, rng = tmp_path_factory.mktemp("fitted"), np.random.default_rng(0)
    frame = pd.DataFrame({"dose": rng.uniform(0, 3, 90), "site": rng.choice(["a", "b"], 90)})
    frame["effect"] = np.sin(frame.dose) + (frame.site == "b") + 0.1 * rng.normal(size=90)
    frame.loc[7, "effect"] = np.nan
    frame.iloc[:60].to_csv(folder / "trial.csv", index=False)
    frame.iloc[60:].to_csv(folder / "new.csv", index=False)
    said = json.loads(
        shell(
            f"mercer fit {folder}/trial.csv --target effect --machine LSSVR --set C=10 "
            f"-o {folder}/m.skops --report {folder}/fit.html --json"
        )
    )
    assert said["report"] == f"{folder}/fit.html"
    return folder


def test_a_fit_writes_its_page(fitted):
    page = (fitted / "fit.html").read_text(encoding="utf-8")
    assert "LSSVR predicts effect" in page
    assert "A report on 59 rows and 2 inputs" in page
    assert "With probability 95 %" not in page  # no rows were kept apart


def test_an_evaluation_finds_the_sample_and_tests_with_new_rows(fitted, tmp_path):
    line = f"mercer evaluate {fitted}/m.skops {fitted}/new.csv --report {tmp_path}/new.html"
    assert "report: " in shell(line)
    page = (tmp_path / "new.html").read_text(encoding="utf-8")
    assert "A report on 59 rows and 2 inputs" in page
    assert "test rows" in page
    assert "test rows" not in (fitted / "fit.html").read_text(encoding="utf-8")
    scores = json.loads(shell(f"mercer evaluate {fitted}/m.skops {fitted}/new.csv --json"))
    assert f"{scores['scores']['R2']:.3f}"[:4] in page


def test_only_the_rows_of_the_fit_are_taken_for_them(fitted, tmp_path):
    shutil.copy(fitted / "m.skops", tmp_path)
    shutil.copy(fitted / "new.csv", tmp_path)
    ask = ["evaluate", tmp_path / "m.skops", tmp_path / "new.csv", "--report", tmp_path / "r.html"]
    assert "there is no file of the rows that" in call(*ask)[2]
    changed = pd.read_csv(fitted / "trial.csv")
    changed.loc[0, "dose"] += 1e-9
    changed.to_csv(tmp_path / "trial.csv", index=False)
    assert "trial.csv; give the file with --sample" in call(*ask)[2]
    assert "does not hold the rows" in call(*ask, "--sample", tmp_path / "trial.csv")[2]
    assert call(*ask, "--sample", fitted / "trial.csv")[0] == 0
    assert (tmp_path / "r.html").exists()


@pytest.mark.parametrize(
    ("added", "sentence"),
    [
        (["--report", "r.txt"], "must end in .html"),
        (["--report", "nowhere/r.html"], "there is no folder nowhere"),
        (["--sample", "x.csv"], "--sample is for --report"),
    ],
)
def test_what_cannot_be_written_is_said_first(fitted, added, sentence):
    status, _, err = call("evaluate", fitted / "m.skops", fitted / "new.csv", *added)
    assert status == 1
    assert sentence in err


def test_rows_of_a_cluster_are_elsewhere(fitted):
    ask = [
        "fit",
        fitted / "trial.csv",
        "--target",
        "effect",
        "--cluster",
        "x",
        "--report",
        "r.html",
    ]
    assert "--report cannot be had together with --cluster" in call(*ask)[2]
