"""Fits on a cluster of processes: what is told meanwhile, what was searched, and the script."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from mercer_studio.browser.session import Session
from mercer_studio.cli.text import Refusal

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def address():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(900, 3)), columns=list("abc"))
    frame["side"] = np.where(frame.c > 0, "left", "right")
    frame["y"] = np.sin(frame.a) + (frame.side == "left")
    frame.to_csv(tmp_path / "rows.csv", sep=";", index=False)
    return tmp_path / "rows.csv"


def test_passes_are_told_and_the_script_fits_there_again(address, table):
    with Session() as session:
        session.load(table, delimiter=";").prepare(target="y", drop=("c",))
        session.choose(machine="LSSVR", settings={"C": 10.0, "approximation": 100})
        session.change_fit(cluster=address)
        fitted = session.bring("fit")
        told = session.job("fit").shown.last
        script = session.bring("script")
        y = session.value("preparation").question.y
    assert told.startswith("LSSVR")
    assert np.sqrt(np.mean((fitted.predictions - y) ** 2)) < 0.05
    (table.parent / "fit.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "fit.py"], cwd=table.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    again = pd.read_csv(table.parent / "predictions.csv")["prediction"]
    np.testing.assert_allclose(again, fitted.predictions, rtol=1e-9, atol=1e-9)


def test_what_a_search_found_is_fitted_there(address, table):
    with Session() as session:
        session.load(table, delimiter=";").prepare(target="y")
        session.choose(machine="LSSVR", settings={"approximation": 60}).tune(1.0)
        found = session.bring("tuning").machine
        fitted = session.change_fit(cluster=address).bring("fit")
    assert found.C != type(found)().C
    assert fitted.model.machine.C == found.C
    assert f"C={found.C}" in fitted.command


def test_what_a_cluster_cannot_do_is_said(table):
    with Session() as session:
        session.load(table, delimiter=";").prepare(target="y")
        session.choose(machine="LSSVR", coverage=0.9).change_fit(cluster="tcp://127.0.0.1:9")
        with pytest.raises(Refusal, match="--intervals cannot be had together with --cluster"):
            session.bring("fit")
        session.choose(coverage=None)
        with pytest.raises(Refusal, match=r"no scheduler of Dask answers at tcp://127\.0\.0\.1:9"):
            session.bring("fit")
        session.load(pd.DataFrame({"x": np.arange(30.0), "y": np.arange(30.0)})).prepare(target="y")
        with pytest.raises(Refusal, match="this table is in memory only"):
            session.bring("fit")
