"""The studio in Chromium: entry, four journeys, answers during fits, 100,000 rows; ten minutes.

``--short`` is for every change, a minute: entry, requests, weight, one journey, answers during a
fit, and cancelling. What is late by the clock of a shared machine is said, and fails the long form
alone.
"""

import http.client
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import numpy as np

from benchmarks.contenders.browser import (
    CHROMIUM,
    JOURNEYS,
    choose,
    chromium,
    drawn,
    fit,
    go,
    journey,
    load,
    studio,
    tables,
    text_of,
    views_of,
    visitor,
)
from mercer_studio.browser import app

LIMITS = {
    "first widget, seconds": 4.0,
    "page, megabytes": 5.0,
    "answer during a fit, milliseconds": 200.0,
    "cancel SMO, seconds": 0.5,
    "cancel a cone program, seconds": 2.0,
    "slowest view of 100,000 rows, seconds": 2.0,
}


def entry(address):
    """Ask without the token, with a wrong one, and from a foreign page."""
    root, token = address.rsplit("/", 1)
    found = {}
    for what, url in {
        "root": f"{root}/",
        "wrong token": f"{root}/{token[:-1]}x",
        "a session without the token": f"{root}/ws",
        "a file": f"{root}/../pyproject.toml",
    }.items():
        try:
            with urllib.request.urlopen(url) as answer:
                found[what] = answer.status
        except urllib.error.HTTPError as error:
            found[what] = error.code
    assert all(status in (403, 404) for status in found.values()), found
    handshake = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Origin": "http://elsewhere.example",
    }
    where = urllib.parse.urlsplit(address)
    line = http.client.HTTPConnection(where.hostname, where.port, timeout=10)
    line.request("GET", f"{where.path}/ws", headers=handshake)
    found["foreign origin"] = line.getresponse().status
    line.close()
    assert found["foreign origin"] == 403, found
    with urllib.request.urlopen(address) as answer:
        assert answer.status == 200
    return found


def foreign(page):
    """Return what was asked of other machines."""
    own = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")
    return [url for url in page.asked if not url.startswith(own)]


def weight(browser, address):
    """Return seconds until the first field is there, and megabytes that came, with a cold cache."""
    context = browser.new_context()
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    total = [0]
    session.on(
        "Network.loadingFinished", lambda e: total.__setitem__(0, total[0] + e["encodedDataLength"])
    )
    began = time.perf_counter()
    page.goto(address)
    page.get_by_label("In this folder").wait_for()
    seconds = time.perf_counter() - began
    page.wait_for_timeout(500)
    context.close()
    return seconds, total[0] / 1e6


ANSWER = """async ([button, shown]) => {
    const all = (root) => [...root.querySelectorAll('*')].flatMap(
        (e) => e.shadowRoot ? [e, ...all(e.shadowRoot)] : [e]);
    const seen = (e) => e.getClientRects().length > 0;
    const pressed = all(document).find(
        (e) => e.tagName === 'BUTTON' && e.textContent.trim().startsWith(button) && seen(e));
    const there = () => all(document).some((e) => e.children.length === 0
        && e.textContent.trim().startsWith(shown) && e.tagName !== 'BUTTON' && seen(e));
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const began = performance.now();
    pressed.click();
    do { await frame(); } while (!there() && performance.now() - began < 20000);
    return performance.now() - began;
}"""
"""Press a button, and return the milliseconds until a frame in which words are seen."""

# What is pressed while a fit goes on, and the words by which the answer is known.
PRESSED = (
    ("Data", "Choose a table"),
    ("Question", "What do you want to know"),
    ("Columns", "What every column is taken for"),
    ("Gaps", "No cell of the columns"),
    ("Machine", "What do you know, and what"),
    ("Compare", "Every fit is kept"),
    ("Fit", "Fit:"),
)


def answers(page, rounds=4):
    """Return milliseconds until what was asked for is seen, while a fit goes on: middle, worst."""
    found = []
    for _ in range(rounds):
        for button, words in PRESSED:
            found.append(page.evaluate(ANSWER, [button, words]))
            page.wait_for_timeout(120)  # a person looks before they press again
        assert page.get_by_role("button", name="Cancel").is_enabled(), "it ended"
    return float(np.median(found)), float(np.max(found))


def cancelled(page):
    """Press Cancel, and return seconds until nothing runs."""
    go(page, "Fit")
    began = time.perf_counter()
    page.get_by_role("button", name="Cancel").click()
    page.locator("button:has-text('Cancel')[disabled]").wait_for()
    return time.perf_counter() - began


def busy(page, name, prepare, wait):
    """Begin a long fit after a short one; return answers meanwhile, time to cancel, and the old."""
    load(page, name, "y")
    page.get_by_role("button", name="Gaps", exact=True).click()
    page.get_by_text("No cell of the columns").wait_for()
    go(page, "Machine")
    choose(page, "Machine", "LSSVR")
    choose(page, "Search hyperparameters for", "no search")
    fit(page)
    go(page, "Machine")
    prepare(page)
    fit(page, wait=False)
    page.locator(".state.running", has_text=wait).wait_for()
    page.wait_for_timeout(700)
    found = answers(page)
    seconds = cancelled(page)
    page.get_by_text("this is the last model").wait_for()
    assert page.get_by_text("LSSVR, fitted in").is_visible()
    return found, seconds


def smo(page):
    choose(page, "Machine", "SVR")
    page.get_by_label("epsilon", exact=True).wait_for()  # the fields of this machine
    page.get_by_label("C", exact=True).fill("1000000")
    page.get_by_label("C", exact=True).press("Enter")
    page.get_by_label("epsilon", exact=True).fill("0.0001")
    page.get_by_label("epsilon", exact=True).press("Enter")
    page.wait_for_timeout(600)


def cone(page):
    choose(page, "The prediction rises with", ["x0", "x1", "x2"])
    page.wait_for_timeout(600)
    # With a kernel of its own nothing is searched, and the program begins at once.
    for name, value in (("C", "1000"), ("gamma", "0.5")):
        page.get_by_label(name, exact=True).fill(value)
        page.get_by_label(name, exact=True).press("Enter")
    page.wait_for_timeout(600)


def many_rows(browser, address):
    """Return seconds of every view of 100,000 rows, from the click to the picture."""
    found = {}
    with visitor(browser, address) as page:
        began = time.perf_counter()
        load(page, "many.parquet", "y")
        found["read, prepare and list columns"] = time.perf_counter() - began
        for view in ("Gaps", "Clouds", "Noise"):
            began = time.perf_counter()
            page.get_by_role("button", name=view, exact=True).click()
            page.locator("figure, p.lead").and_(page.locator(":visible")).first.wait_for()
            drawn(page)
            found[view] = time.perf_counter() - began
        go(page, "Machine")
        choose(page, "Machine", "LSSVR")
        choose(page, "Search hyperparameters for", "no search")
        began = time.perf_counter()
        fit(page)
        found["fit and validation"] = time.perf_counter() - began
        go(page, "Understand")
        for view in views_of():
            began = time.perf_counter()
            page.get_by_role("button", name=view, exact=True).click()
            drawn(page)
            found[view] = time.perf_counter() - began
        assert page.errors == [], page.errors
    return {name: round(value, 2) for name, value in found.items()}


def two_visitors(browser, address):
    """Let two people load tables at once; neither sees anything of the other."""
    with visitor(browser, address) as one, visitor(browser, address) as other:
        load(one, "concrete.parquet", "strength")
        load(other, "secret.csv", "salary")
        go(one, "Data")
        go(other, "Data")
        for page, own, foreign_word in ((one, "cement", "salary"), (other, "salary", "cement")):
            text = text_of(page)
            assert own in text
            assert foreign_word not in text
    return True


def in_a_notebook(browser):
    """Open what a notebook shows, fit there, and return what was asked of other machines."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    view = app(X, X[:, 0] - X[:, 1])
    page = browser.new_page()
    page.asked = []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("websocket", lambda socket: page.asked.append(socket.url))
    try:
        page.set_content(view._repr_html_())
        inside = page.frame_locator("iframe")
        inside.get_by_role("button", name="Machine").first.click()
        inside.get_by_label("Machine", exact=True).select_option("LSSVR")
        inside.get_by_role("button", name="Fit").first.click()
        inside.get_by_role("button", name="Fit", exact=True).click()
        inside.get_by_text("LSSVR, fitted in").wait_for()
        model = view.session.value("fit").model
        assert type(model.machine).__name__ == "LSSVR"
        return foreign(page)
    finally:
        page.close()
        view.close()


def cases(short):
    return [{"part": "all" if not short else "short"}]


def contenders(case):
    return ["studio"]


def together(case, names, short):
    """Do all checks, and return their figures."""
    if CHROMIUM is None:
        print("there is no chromium on this machine; nothing was checked.")
        return {}
    found = {}
    with tempfile.TemporaryDirectory() as held:
        folder = Path(held)
        there = tables(folder, not short)
        with studio(folder) as address, chromium() as browser:
            entry(address)
            with visitor(browser, address) as page:  # the first visitor waits for imports
                load(page, "concrete.parquet", "strength")
            found["first widget, seconds"], found["page, megabytes"] = weight(browser, address)
            names = ["concrete"] if short else [n for n in JOURNEYS if n in there or n == "shape"]
            found["journeys"], asked = {}, []
            for name in names:
                with visitor(browser, address) as page:
                    found["journeys"][name] = journey(page, name, folder)
                    asked += foreign(page)
                    print(name, found["journeys"][name], flush=True)
            asked += in_a_notebook(browser)
            assert asked == [], asked
            with visitor(browser, address) as page:
                waits, seconds = busy(page, "hard.parquet", smo, "Fit")
                found["answer during a fit, milliseconds"] = waits[1]
                found["cancel SMO, seconds"] = seconds
            if not short:
                with visitor(browser, address) as page:
                    _, seconds = busy(page, "cone.parquet", cone, "Fit")
                    found["cancel a cone program, seconds"] = seconds
                two_visitors(browser, address)
                found["rows"] = many_rows(browser, address)
                views = [v for k, v in found["rows"].items() if not k.startswith(("fit", "read"))]
                found["slowest view of 100,000 rows, seconds"] = max(views)
    return {"studio": found}


def line(values):
    return ", ".join(f"{name} {values[name]:.3g}" for name in LIMITS if name in values)


def claims(records, short):
    """Say what is later or larger than it may be."""
    late = [
        f"{name}: {r[name]:.3g}, at most {limit:g}"
        for r in records
        for name, limit in LIMITS.items()
        if r.get(name, 0.0) > limit
    ]
    if short and late:
        print("\n".join(late))
        return []
    return late
