"""The page in a real browser: nobody is asked for anything, and dark is dark."""

import re
import runpy
import shutil
import threading
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

import mercer
from mercer_studio.reporting.page import CSS, Section

pytestmark = pytest.mark.skipif(
    shutil.which("chromium") is None, reason="Debian's chromium is not installed"
)
TOOLS = runpy.run_path(str(Path(__file__).parents[4] / "tools" / "site.py"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] ** 2 + 0.1 * rng.normal(size=60)
    mercer.report(mercer.LSSVR(C=10.0).fit(X, y), X, y, cv=2).save(folder / "report.html")
    (folder / "loud.html").write_text("<img src='http://example.invalid/a.png'>")
    return folder


@pytest.fixture(scope="module")
def root(folder):
    handler = partial(TOOLS["Quiet"], directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def asked(root, page, tmp_path):
    log = tmp_path / "net.json"
    document = TOOLS["browse"](f"{root}/{page}", f"--log-net-log={log}", "--dump-dom")
    return document, TOOLS["requests"](log, root)


def test_the_page_asks_for_nothing_but_itself(root, tmp_path):
    document, requests = asked(root, "report.html", tmp_path)
    assert "What may be claimed" in document
    assert document.count("<svg") > 5
    assert set(requests) == {f"{root}/report.html"}


def test_a_page_that_asks_somebody_is_noticed(root, tmp_path):
    _, requests = asked(root, "loud.html", tmp_path)
    assert "http://example.invalid/a.png" in requests


@pytest.mark.parametrize(("scheme", "bright"), [(1, True), (0, False)])
def test_light_and_dark(root, tmp_path, scheme, bright):
    picture = tmp_path / "page.png"
    look = f"--blink-settings=preferredColorScheme={scheme}"
    TOOLS["browse"](f"{root}/report.html", "--window-size=500,900", look, f"--screenshot={picture}")
    assert (np.median(imread(picture)[..., :3]) > 0.5) == bright


@pytest.mark.parametrize(("width", "margin"), [(1400, 0.08), (500, 0.08)])
def test_no_part_of_the_window_stays_empty(root, tmp_path, width, margin):
    """Ink reaches to both sides of a wide window and of a narrow one, and not beyond."""
    picture = tmp_path / "page.png"
    size = f"--window-size={width},2400"
    TOOLS["browse"](f"{root}/report.html", size, f"--screenshot={picture}")
    pixels = imread(picture)[..., :3]
    inked = np.flatnonzero(np.any(np.abs(pixels - pixels[0, 0]).max(axis=2) > 0.2, axis=0))
    assert inked[0] < margin * width
    assert (1.0 - margin) * width < inked[-1] < width - 8


def test_tables_that_are_wider_than_a_phone_scroll_by_themselves():
    page = Section("Data", "data").table("Inputs", ("a", "b", "c"), [(1, 2, 3)]).html
    assert re.search(r'<div class="wide" tabindex="0"[^>]*><table>', page)
    assert re.search(r"\.wide \{\s*overflow-x: auto", CSS)
