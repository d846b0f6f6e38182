"""Fits on a cluster by its address: the file is read by workers, the model is an ordinary one."""

import json

import numpy as np
import pandas as pd
import pytest

from cli.commands import call, shell

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def address():
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(1200, 3)), columns=list("abc"))
    frame["side"] = np.where(frame.c > 0, "left", "right")
    frame["y"] = np.sin(frame.a) + (frame.side == "left")
    frame["kind"] = np.where(frame.a * frame.b > 0, "yes", "no")
    frame.loc[3, "a"] = np.nan
    frame.iloc[:1000].to_parquet("rows.parquet")
    frame.iloc[1000:].to_csv("new.csv", index=False)


@pytest.mark.parametrize(
    ("target", "other", "measure", "least"),
    [("y", "kind", "R2", 0.98), ("kind", "y", "accuracy", 0.9)],
)
def test_a_model_of_a_cluster_predicts_here(files, address, target, other, measure, least):
    where = f"--cluster {address} --drop {other} --drop c --set approximation=100"
    out = shell(f"mercer fit rows.parquet --target {target} {where} --json")
    assert json.loads(out)["rows"] == 1000
    scores = json.loads(shell("mercer evaluate rows.skops new.csv --json"))["scores"]
    assert scores[measure] > least
    assert f"of {target}, fitted to 1000 rows" in shell("mercer inspect rows.skops")


def test_no_cluster_and_what_it_cannot_do_are_said(files):
    status, _, err = call("fit", "rows.parquet", "--target", "y", "--cluster", "nonsense://x")
    assert status == 1
    assert "no scheduler of Dask answers at nonsense://x" in err
    fit = ["fit", "rows.parquet", "--target", "y", "--cluster", "x"]
    assert "--tune cannot be had" in call(*fit, "--tune", "1s")[2]
