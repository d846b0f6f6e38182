"""A studio and a real browser that drives it: helpers for the check, the tour and the pictures."""

import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking"]
SIZES = {"desktop": (1380, 900), "phone": (390, 844)}
PATIENCE = 180_000
"""Milliseconds after which something that is waited for will not come."""


@contextmanager
def studio(folder):
    """Run ``mercer studio`` in a folder, as a process of its own, and give its address."""
    command = [sys.executable, "-m", "mercer", "studio", "--no-browser"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
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
def visitor(browser, address, size="desktop", scheme="light"):
    """Open the studio as a visitor of their own: no cookie is shared with others."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, accept_downloads=True
    )
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
