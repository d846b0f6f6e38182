"""Where results are kept, so that a run that was cut short goes on, and what a first fit costs."""

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.common.environment import source
from benchmarks.svm.contender import Contender, NoAnswerError

HERE = Path(__file__).resolve().parent
# Results of a run that may be cut short, and committed results of runs that were finished: pages
# are made from these, so that no page depends on what else was measured where it is written.
RESULTS = HERE / "results"
RECORDS = HERE


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
