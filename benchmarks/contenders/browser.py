"""A studio, a real browser that drives it, and four journeys from a raw file to a report."""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.store import ONE_THREAD
from mercer.datasets import load_concrete
from mercer_studio.browser.views import VIEWS

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking"]
# Milliseconds after which something that is waited for will not come.
PATIENCE = 180_000


@contextmanager
def studio(folder):
    """Run ``mercer studio`` in a folder, as a process of its own, and give its address."""
    command = [sys.executable, "-m", "mercer", "studio", "--no-browser"]
    free = {k: v for k, v in os.environ.items() if k not in ONE_THREAD}
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, text=True, env=free
    ) as process:
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.send_signal(signal.SIGINT)


@contextmanager
def chromium():
    """Start a browser without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def visitor(browser, address):
    """Open the studio as a visitor of their own: no cookie is shared with others."""
    context = browser.new_context(viewport={"width": 1380, "height": 900}, accept_downloads=True)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.asked, page.errors = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("websocket", lambda socket: page.asked.append(socket.url))
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    try:
        page.goto(address)
        page.get_by_label("In this folder").wait_for()
        yield page
    finally:
        context.close()


def go(page, step):
    """Open a step by its button on the left."""
    page.get_by_role("button", name=step).first.click()
    page.get_by_role("heading", name=step, exact=True).wait_for()


def choose(page, label, value):
    """Choose a value, or several, in a field."""
    page.get_by_label(label, exact=True).select_option(value)


def load(page, name, target=None):
    """Open a table of the folder and, if a target is given, choose it."""
    choose(page, "In this folder", name)
    page.get_by_text("First 12 rows").wait_for()
    if target is not None:
        go(page, "Question")
        choose(page, "Target", target)
        page.get_by_text("What every column is taken for").wait_for()


def fit(page, wait=True):
    """Press Fit, and wait until rows that were left out are predicted."""
    go(page, "Fit")
    page.get_by_role("button", name="Fit", exact=True).click()
    if wait:
        page.get_by_text("fitted in").wait_for()
        page.locator("dl.tiles, p:has-text('has no way back')").first.wait_for()


def look(page, view):
    """Open a view of the model, and wait until it is drawn."""
    go(page, "Understand")
    page.get_by_role("button", name=view, exact=True).click()
    drawn(page)


def text_of(page):
    """Return all words of a page, those that are hidden too: shadow roots, values and options."""
    return page.evaluate(
        """() => {
            const all = (root) => [...root.querySelectorAll('*')].flatMap(
                (e) => e.shadowRoot ? [e, ...all(e.shadowRoot)] : [e]);
            return all(document).filter((e) => !['STYLE', 'SCRIPT'].includes(e.tagName)).flatMap(
                (e) => [...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data).concat(
                    e.value || [])).join(' ');
        }"""
    )


def drawn(page):
    """Wait until no pane that is seen says that it is being drawn."""
    page.wait_for_timeout(350)  # two looks of the screen at its stages
    page.wait_for_function(
        """() => {
            const all = (root) => [...root.querySelectorAll('*')].flatMap(
                (e) => e.shadowRoot ? [e, ...all(e.shadowRoot)] : [e]);
            return !all(document).some((e) => e.tagName === 'P'
                && /^drawing/.test(e.textContent) && e.getClientRects().length);
        }"""
    )


def download(page, name, folder):
    """Press a button of the last step, and return the file that comes."""
    with page.expect_download() as coming:
        page.get_by_role("button", name=name, exact=True).click()
    path = Path(folder) / coming.value.suggested_filename
    coming.value.save_as(path)
    return path


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
    seen = shown["prediction"].to_numpy()
    assert np.array_equal(seen, again), f"{name}: the script predicts something else"
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "rows": len(shown),
        "bit-equal": True,
        "report, kilobytes": round(len(report) / 1e3),
    }
