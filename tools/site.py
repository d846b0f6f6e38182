"""The built site: opened in a real browser, and put beside other versions.

``python tools/site.py check`` opens one page of every kind in Chromium, headless, and fails where
one asks another machine for anything, where the search of the site does not list the answer to a
frequent question among its first three results, or not the page that a word names among the first
two. ``python tools/site.py versions SITE`` copies the built site to SITE/VERSION, writes the menu
of versions anew in every version there, and lets SITE/index.html lead to the newest release;
``--base /mercer/`` says where SITE is served, if not at the root of its host.
"""

import argparse
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

from mercer._version import __version__

BUILT = Path(__file__).resolve().parents[1] / "docs" / "_build" / "html"
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
    "tables": "explanation/benchmark.html",
    "formulas": "explanation/operators.html",
    "faq": "how-to/faq.html",
    "limitations": "explanation/limitations.html",
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
    "boosted trees": ("faq", "choose", "benchmark"),
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
    "command line": ("use-the-command-line",),
    "boosted trees": ("faq", "choose", "benchmark"),
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


def check() -> int:
    """Serve the site on this machine, look at it, and return how much is wrong."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(BUILT)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    root = f"http://127.0.0.1:{server.server_port}"
    wrong = leaving(root) + unfound(root)
    asked = len(QUESTIONS) + len(WORDS)
    print("\n".join(wrong) or f"{len(PAGES)} pages ask nobody else; {asked} answers found")
    return int(bool(wrong))


REDIRECT = (
    '<!doctype html><meta http-equiv="refresh" content="0; url={0}/"><a href="{0}/">{0}</a>\n'
)


def order(version: str) -> tuple[tuple[int, ...], bool]:
    """Return what versions are sorted by: numbers, a release after what led to it."""
    numbers, _, rest = version.partition(".dev")
    return tuple(map(int, re.findall(r"\d+", numbers))), not rest


def entries(versions: list[str], base: str = "/") -> list[dict[str, object]]:
    """Return the lines of the menu, the newest version first; the newest release is preferred."""
    listed = sorted(versions, key=order, reverse=True)
    newest = next((v for v in listed if ".dev" not in v), listed[0])
    return [
        {
            "name": f"{v} (stable)" if v == newest else v,
            "version": v,
            "url": f"{base}{v}/",
            "preferred": v == newest,
        }
        for v in listed
    ]


def assemble(built: Path, site: Path, version: str, base: str = "/") -> list[str]:
    """Copy a built site to its place among others, and return the versions that are there."""
    if not (built / "index.html").exists():
        raise SystemExit(f"there is no site in {built}: run 'make docs' first.")
    target = site / version
    if target.exists():
        shutil.rmtree(target)
    shutil.copytree(built, target, ignore=shutil.ignore_patterns(".doctrees", "_sources"))
    found = [one.parent.name for one in site.glob("*/index.html")]
    menu = entries(found, base)
    for one in found:
        path = site / one / "_static" / "switcher.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(menu, indent=1) + "\n", encoding="utf-8")
    newest = next(line["version"] for line in menu if line["preferred"])
    (site / "index.html").write_text(REDIRECT.format(newest), encoding="utf-8")
    return [str(line["version"]) for line in menu]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check", help="open the site in Chromium")
    asked = commands.add_parser("versions", help="put the site beside others")
    asked.add_argument("site", type=Path)
    asked.add_argument("--base", default="/")
    given = parser.parse_args()
    if given.command == "check":
        return check()
    print(*assemble(BUILT, given.site, __version__, given.base), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
