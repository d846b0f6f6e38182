"""Four journeys through the studio, from a raw file to script, model and report; their tables."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.studio.browser import choose, download, fit, go, load, look
from mercer.datasets import load_concrete
from mercer_studio.browser.views import VIEWS

TABLES = {
    "concrete": "regression",
    "pima": "classification",
    "meuse": "spatial",
}


def views_of():
    """Return the titles of the views of a model."""
    return [view.title for view in VIEWS.values() if "fit" in view.inputs]


def tables(folder, full):
    """Put the tables of the journeys into a folder; return which are there."""
    source = Path(os.environ.get("MERCER_DATA", "../shared/data"))
    there = []
    for name, kind in TABLES.items():
        path = source / kind / f"{name}.parquet"
        if path.exists():
            (folder / path.name).write_bytes(path.read_bytes())
            there.append(name)
        elif name == "concrete":
            load_concrete(as_frame=True).frame.to_parquet(folder / "concrete.parquet")
            there.append(name)
    rng = np.random.default_rng(0)
    pd.DataFrame({"age": np.arange(60), "salary": rng.normal(5e4, 9e3, 60)}).to_csv(
        folder / "secret.csv", index=False
    )
    for name, n in (("hard", 12_000), ("cone", 1500), *((("many", 100_000),) if full else ())):
        X = rng.uniform(-2.0, 2.0, size=(n, 5))
        y = np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(n)
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(5)]).assign(y=y)
        frame["word"] = rng.choice(["red", "green", "blue"], n)
        frame.to_parquet(folder / f"{name}.parquet")
    return there


def concrete(page):
    load(page, "concrete.parquet", "strength")
    go(page, "Machine")
    choose(page, "Machine", "LSSVR")
    choose(page, "Prediction intervals", "90 %")


def shape(page):
    load(page, "concrete.parquet", "strength")
    others = ("slag", "fly_ash", "water", "superplasticizer", "coarse_aggregate", "fine_aggregate")
    choose(page, "Leave out", [*others])
    page.wait_for_timeout(500)
    go(page, "Machine")
    page.get_by_text("because").first.wait_for()
    choose(page, "The prediction rises with", ["cement", "age"])


def pima(page):
    load(page, "pima.parquet", "y")
    zero = ["glucose", "pressure", "triceps", "insulin", "mass"]
    choose(page, "Columns in which a number stands for a gap", zero)
    page.get_by_role("button", name="Gaps", exact=True).click()
    page.get_by_text("have none.").wait_for()
    go(page, "Machine")
    choose(page, "Machine", "SVC")


def meuse(page):
    load(page, "meuse.parquet", "zinc")
    others = [
        "cadmium",
        "copper",
        "lead",
        "elev",
        "dist",
        "om",
        "ffreq",
        "soil",
        "lime",
        "landuse",
        "dist.m",
    ]
    choose(page, "Leave out", others)
    page.wait_for_timeout(500)
    go(page, "Machine")
    page.get_by_label("Rows are places, and I need a map with its errors").check()


JOURNEYS = {
    "concrete": concrete,
    "shape": shape,
    "pima": pima,
    "meuse": meuse,
}


def journey(page, name, folder):
    """Go from a raw file to script, model and report, and let the script predict again."""
    began = time.perf_counter()
    JOURNEYS[name](page)
    page.get_by_text("because").first.wait_for()
    fit(page)
    look(page, "Picture")
    go(page, "Take away")
    page.get_by_text("read_table(").wait_for()
    page.get_by_role("button", name="Write the report").click()
    for file in ("Model", "Report"):
        button = page.get_by_role("button", name=file, exact=True)
        button.and_(page.locator(":not([disabled])")).wait_for()
    files = {file: download(page, file, folder) for file in ("Script", "Model", "Predictions")}
    files["Report"] = download(page, "Report", folder)
    report = files["Report"].read_text()
    assert report.startswith("<!DOCTYPE html>")
    assert "https:" not in report
    assert page.errors == [], page.errors
    script = files["Script"]
    script.write_text(
        script.read_text() + "np_ = __import__('numpy')\nnp_.save('again', predictions)\n"
    )
    done = subprocess.run(
        [sys.executable, script.name], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    again = np.load(folder / "again.npy")
    shown = pd.read_csv(files["Predictions"])
    assert np.array_equal(shown["prediction"].to_numpy(), again), (
        f"{name}: the script predicts something else"
    )
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "rows": len(shown),
        "bit-equal": True,
        "report, kilobytes": round(len(report) / 1e3),
    }
