"""Where results are kept, so that a run that was cut short goes on, and under what conditions."""

import datetime
import hashlib
import json
import os
import platform
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from contender import Contender, NoAnswerError
from libraries import version

HERE = Path(__file__).resolve().parent
# Results of a run that may be cut short, and committed results of runs that were finished: pages
# are made from these, so that no page depends on what else was measured where it is written.
RESULTS = HERE / "results"
RECORDS = HERE
PACKAGES = (
    "mercer",
    "scikit-learn",
    "scikit-learn-intelex",
    "libsvm-official",
    "thundersvm-cpu",
    "numpy",
    "scipy",
    "numba",
)
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def share_threads(threads: int) -> None:
    """Tell the processes that will be started from here how many threads each may have."""
    os.environ |= dict.fromkeys(THREADS, str(threads))


class Store:
    """A folder of one suite's results, for one state of the source and one set of conditions."""

    def __init__(self, suite: str, conditions: dict[str, Any]) -> None:
        self.suite = suite
        text = json.dumps(conditions, sort_keys=True)
        mark = hashlib.sha256(text.encode() + source()).hexdigest()[:12]
        self.folder = RESULTS / suite / mark
        self.folder.mkdir(parents=True, exist_ok=True)
        self.about = self.folder / "environment.json"

    def describe(self, environment: dict[str, Any]) -> None:
        self.about.write_text(json.dumps(environment, indent=1))

    def finish(self, results: list[dict[str, Any]]) -> None:
        """Record that everything has been measured: this is what the page shows."""
        about = json.loads(self.about.read_text())
        text = json.dumps({"about": about, "results": results}, indent=1)
        (RECORDS / f"{self.suite}.json").write_text(text + "\n")

    def get(self, name: str, key: dict[str, Any]) -> dict[str, Any] | None:
        """Return what was measured of a problem, if it was this very problem."""
        path = self.folder / f"{name}.json"
        found = json.loads(path.read_text()) if path.exists() else {}
        return found if found.get("problem") == key else None

    def put(self, name: str, result: dict[str, Any]) -> None:
        (self.folder / f"{name}.json").write_text(json.dumps(result, indent=1))


def recorded(suite: str) -> tuple[dict[str, Any], list[dict[str, Any]]] | None:
    """Return environment and results of the suite's last finished run."""
    path = RECORDS / f"{suite}.json"
    if not path.exists():
        return None
    record = json.loads(path.read_text())
    return record["about"], record["results"]


def source() -> bytes:
    """Return what tells one state of the library's source from another."""
    files = sorted((HERE.parent / "src" / "mercer").rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).digest()


def environment(conditions: dict[str, Any]) -> dict[str, Any]:
    git = ["git", "-C", str(HERE), "describe", "--always", "--dirty"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    affinity = getattr(os, "sched_getaffinity", None)
    return {
        "date": datetime.date.today().isoformat(),
        "commit": commit,
        "python": platform.python_version(),
        "processor": processor(),
        "cores": len(affinity(0)) if affinity else os.cpu_count(),
        "versions": {name: version(name) for name in PACKAGES},
        "conditions": conditions,
    }


def processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def startup(libraries: list[str], threads: int) -> dict[str, list[dict[str, float]]]:
    """Measure what a first fit costs, before anything was compiled on this machine and after."""
    cost = {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        for library in libraries:
            try:
                cost[library] = [first_fit(library, threads) for _ in range(2)]
            except NoAnswerError:
                # It will say why with every problem.
                continue
        del os.environ["NUMBA_CACHE_DIR"]
    return cost


def first_fit(library: str, threads: int) -> dict[str, float]:
    contender = Contender(library, threads)
    try:
        return dict(contender.ask("start"))
    finally:
        contender.close()
