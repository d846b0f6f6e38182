"""The built site in a real browser: requests to elsewhere, what its search finds, pictures.

``python docs/browser.py check`` opens one page of every kind in Chromium, headless, and fails where
one asks another machine for anything, where the search of the site does not list the answer to a
frequent question among its first three results, or not the page that a word names among the first
two. ``python docs/browser.py pictures FOLDER`` takes pictures in light, dark and at the width of a
phone, to be looked at.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, urlsplit

SITE = Path(__file__).resolve().parent / "_build" / "html"
PAGES = {
    "landing": "index.html",
    "chart": "choose.html",
    "tutorials": "tutorials/index.html",
    "tutorial": "tutorials/survival.html",
    "guides": "how-to/index.html",
    "gallery": "auto_examples/index.html",
    "example": "auto_examples/first/plot_show_a_fit.html",
    "names": "reference/index.html",
    "reference": "reference/generated/mercer.SVR.html",
    "results": "explanation/index.html",
    "tables": "explanation/tables.html",
    "formulas": "explanation/operators.html",
    "faq": "how-to/faq.html",
    "limitations": "explanation/limitations.html",
    "cheat-sheet": "cheat-sheet.html",
    "production": "how-to/put-it-into-production.html",
}
# What people type, and the pages that answer it.
QUESTIONS = {
    "slow fit": ("faq",),
    "scale features": ("faq",),
    "choose C gamma epsilon": ("faq", "tune"),
    "which kernel": ("faq", "choose"),
    "probabilities": ("faq",),
    "unbalanced classes": ("faq",),
    "memory of a fit": ("faq", "large", "few-functions"),
    "ConvergenceWarning": ("faq",),
    "exact solution": ("faq", "certificate"),
    "missing values": ("faq", "missing"),
    "categories dates columns": ("faq", "table"),
    "custom kernel": ("faq", "kernel"),
    "custom loss": ("faq", "loss"),
    "feature importance": ("faq", "effect", "show"),
    "multi-output": ("faq", "outputs", "MultiOutput"),
    "prediction interval": ("faq", "intervals"),
    "save load model": ("faq", "save"),
    "reproducible": ("faq",),
    "faster prediction": ("faq", "make-prediction-fast"),
    "boosted trees": ("faq", "choose", "tables"),
}
# Words that name a page, which is to be one of the first two results.
WORDS = {
    "install": ("install",),
    "cite": ("cite",),
    "limitations": ("limitations",),
    "monotone": ("tutorials/monotone", "use-shape"),
    "survival": ("tutorials/survival", "fit-censored-targets"),
    "custom kernel": ("faq", "add-a-kernel"),
    "10^7 rows": ("fit-large-samples", "fit-on-a-cluster"),
    "intervals": ("predict-intervals", "tutorials/intervals"),
    "FAQ": ("faq",),
    "cheat sheet": ("cheat-sheet",),
    "command line": ("use-the-command-line",),
    "boosted trees": ("faq", "choose", "tables"),
}
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
)
# The browser has errands of its own; no name is looked up, so that nothing leaves this machine.
ALONE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
WAIT = ("--virtual-time-budget=15000",)


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *args: object) -> None:
        pass


def browse(address: str, *flags: str) -> str:
    """Open a page, and return its document once scripts have run."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        raise SystemExit("there is no chromium: install the package of that name.")
    with tempfile.TemporaryDirectory() as profile:
        command = [browser, *FLAGS, ALONE, f"--user-data-dir={profile}", *flags, address]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


def requests(log: Path, root: str) -> list[str]:
    """Return the addresses that a page asked for, and its own."""
    found = json.loads(log.read_text())
    kind = found["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"]
    jobs = [one["params"] for one in found["events"] if one["type"] == kind and "params" in one]
    return [
        job["url"]
        for job in jobs
        if "url" in job and (job["url"].startswith(root) or root in job.get("initiator", ""))
    ]


def leaving(root: str) -> list[str]:
    """Return what pages ask other machines for."""
    wrong = []
    for name, page in PAGES.items():
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "net.json"
            browse(f"{root}/{page}", f"--log-net-log={log}", "--dump-dom", *WAIT)
            asked = requests(log, root)
        if not any(url.startswith(root) for url in asked):
            wrong.append(f"{name}: the page itself was not asked for")
        wrong += [
            f"{name} asks for {url}"
            for url in asked
            if urlsplit(url).scheme in {"http", "https", "ws", "wss"} and not url.startswith(root)
        ]
    return wrong


def results(root: str, words: str) -> list[str]:
    """Return the first pages that the search of the site lists."""
    document = browse(f"{root}/search.html?q={quote(words)}", "--dump-dom", *WAIT)
    _, _, listed = document.partition('id="search-results"')
    links = re.findall(r'<li[^>]*>\s*<a href="([^"?#]+)', listed)
    return links[:3]


def unfound(root: str) -> list[str]:
    """Return questions and words whose page is not among the first three, or two, results."""
    wrong = []
    for asked, first in ((QUESTIONS, 3), (WORDS, 2)):
        for words, pages in asked.items():
            links = results(root, words)[:first]
            if not any(page in link for page in pages for link in links):
                wrong.append(f"search for {words!r} lists {links}")
    return wrong


def pictures(root: str, folder: Path) -> None:
    """Take pictures of pages in light, dark and at the width of a phone."""
    folder.mkdir(parents=True, exist_ok=True)
    looks = {
        "light": ("--window-size=1280,1600",),
        "dark": ("--window-size=1280,1600", "--blink-settings=preferredColorScheme=0"),
        "phone": ("--window-size=500,1400",),
    }
    for name, page in PAGES.items():
        for look, flags in looks.items():
            target = folder / f"{name}-{look}.png"
            browse(f"{root}/{page}", *flags, f"--screenshot={target}", *WAIT)
            print(target, flush=True)


def main() -> int:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    root = f"http://127.0.0.1:{server.server_port}"
    if sys.argv[1:2] == ["pictures"]:
        pictures(root, Path(sys.argv[2]))
        return 0
    wrong = leaving(root) + unfound(root)
    print(
        "\n".join(wrong)
        or f"{len(PAGES)} pages ask nobody else; {len(QUESTIONS) + len(WORDS)} answers found"
    )
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
