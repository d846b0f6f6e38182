"""Studies of principal manifolds beside peers: sensors, video, closed curves and novelty.

``studies.py full`` runs every study whose result is missing or older than the source, each
in a process of its own, keeps results in ``studies.json`` and writes the page of the
documentation; names choose some, ``--fresh`` runs what has a result too. ``short`` takes few rows
and some seconds, keeps nothing, and fails if a number that must hold does not. ``page`` writes the
page alone.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.common.environment import environment, source
from benchmarks.manifold import novelty, profiles, sensors, video
from benchmarks.manifold.page import PAGE, page
from benchmarks.manifold.shared import MissingDataError, Study, timed

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "studies.json"
STUDIES = {
    "sensors": sensors.run,
    "video": video.run,
    "video-blocks": video.run_blocks,
    "profiles": profiles.run,
    "novelty": novelty.run,
}


# The two studies of video differ by the frames that are tested alone.
QUICK = ("sensors", "video", "profiles", "novelty")


def digest(name: str) -> str:
    """Return what tells one state of the library and of a study from another."""
    module = sys.modules[STUDIES[name].__module__]
    files = [Path(str(module.__file__)), HERE / "shared.py"]
    text = b"".join(path.read_bytes() for path in files)
    return hashlib.sha256(text + source()).hexdigest()[:12]


def stored() -> dict[str, Any]:
    """Return what was found so far, by the name of the study."""
    return dict(json.loads(RESULTS.read_text(encoding="utf-8"))) if RESULTS.exists() else {}


def keep(name: str, record: dict[str, Any]) -> None:
    """Keep a result in the place of an older one."""
    records = stored() | {name: record}
    ordered = {key: records[key] for key in STUDIES if key in records}
    text = json.dumps(ordered, indent=1, ensure_ascii=False)
    RESULTS.write_text(text + "\n", encoding="utf-8")


def published() -> list[tuple[dict[str, Any], Study]]:
    """Return conditions and results of the studies that are stored, in the order of the page."""
    return [(r["about"], Study.from_dict(r["study"])) for r in stored().values()]


def one(name: str) -> None:
    """Run a study and keep it."""
    about = environment({"threads": 1})
    study, seconds = timed(lambda: STUDIES[name](short=False))
    keep(name, {"digest": digest(name), "about": about, "study": study.to_dict()})
    print(f"{name}: {seconds:.0f} s", flush=True)


def full(names: list[str], fresh: bool) -> list[str]:
    """Run studies, and return complaints about what is stored."""
    for name in names or STUDIES:
        if fresh or stored().get(name, {}).get("digest") != digest(name):
            subprocess.run([sys.executable, __file__, "one", name], check=True)
    PAGE.write_text(page(published()), encoding="utf-8")
    return [line for _, study in published() for line in study.complaints]


def short(names: list[str]) -> list[str]:
    """Run studies on few rows, and return complaints."""
    found = []
    for name in names or QUICK:
        study, seconds = timed(lambda name=name: STUDIES[name](short=True))
        print(f"{name}: {seconds:.1f} s", flush=True)
        found += study.complaints
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", choices=["full", "short", "page", "one"])
    parser.add_argument("names", nargs="*", help=", ".join(STUDIES))
    parser.add_argument("--fresh", action="store_true", help="run what has a result too")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(STUDIES):
        parser.error(f"no study is called {', '.join(sorted(unknown))}")
    # Peers warn of graphs in several parts and of sparse matrices; the tables show what they found.
    warnings.simplefilter("ignore")
    try:
        if options.suite == "one":
            one(*options.names)
            return 0
        if options.suite == "page":
            PAGE.write_text(page(published()), encoding="utf-8")
            return 0
        if options.suite == "short":
            wrong = short(options.names)
        else:
            wrong = full(options.names, options.fresh)
    except MissingDataError as reason:
        print(f"left out, {reason}")
        return 0
    print("\n".join(wrong) or "everything that must hold does")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
