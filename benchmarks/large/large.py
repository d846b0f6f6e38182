"""Error against processor time on six large real tables, beside boosted trees with large trees.

``large.py run FAMILY`` measures what is missing in the plan (``plan.json``, which was fixed
in advance), each fit in a process of its own with one thread, and appends a line of JSON:
``mercer``, or ``peers`` by an interpreter that has LightGBM, XGBoost, CatBoost and xRFM. A fit that
takes more time or memory than allowed is stopped and recorded as such. ``gather`` makes the table
``large.json`` and the page of the lines, ``report`` the page alone, ``short`` is a test of half a
minute on generated rows.
"""

import argparse
import importlib
import json
import os
import platform
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

# One thread for everybody, before a library reads how many it may have.
os.environ |= dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from benchmarks.common.apart import limited
from benchmarks.common.clock import forget_peak, memory
from benchmarks.large.sets import table

HERE = Path(__file__).resolve().parent
PLAN = json.loads((HERE / "plan.json").read_text())
LINES = HERE / "results"
FAMILIES = {"mercer": "benchmarks.large.ours", "peers": "benchmarks.large.peers"}
# Rows that compile and load what a fit needs, and rows that are predicted at once.
WARM, AT_ONCE = 1_000, 100_000


def runs(family: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Return set, method and settings of what is measured, in the order of the plan."""
    return [
        (name, method, settings)
        for name in PLAN["sets"]
        for method, by_set in PLAN[family].items()
        if (settings := by_set.get(name, by_set.get("all"))) is not None
    ]


def measure(family: str, name: str, method: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Return error, processor seconds of fit and prediction, memory, and what was found."""
    warnings.simplefilter("ignore")
    module = importlib.import_module(FAMILIES[family])
    fit, data = module.METHODS[method], table(name)
    if family == "mercer":
        fit(data.first(WARM), **settings)[0](data.X_test[:10])
    forget_peak()
    held = memory("VmRSS")
    wall, cpu = time.perf_counter(), time.process_time()
    predict, found = fit(data, **settings)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = memory("VmHWM") - held
    began = time.process_time()
    parts = np.array_split(data.X_test, -(-len(data.X_test) // AT_ONCE))
    predicted = np.concatenate([np.ravel(predict(part)) for part in parts])
    return {
        "error": data.error(predicted),
        "fit": cpu,
        "wall": wall,
        "predict": time.process_time() - began,
        "peak": peak,
        "rows": len(data.y),
        "found": found,
    }


def key(name: str, method: str, settings: dict[str, Any]) -> str:
    return json.dumps([name, method, settings], sort_keys=True)


def kept(family: str) -> dict[str, dict[str, Any]]:
    """Return what was measured of a family; the last line of a run counts."""
    path = LINES / f"{family}.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {key(*line["run"]): line for line in lines}


def keep(family: str, sets: list[str]) -> None:
    """Measure what is missing, and append it."""
    LINES.mkdir(parents=True, exist_ok=True)
    packages = importlib.import_module(FAMILIES[family]).PACKAGES
    versions = {"python": platform.python_version()} | {name: version(name) for name in packages}
    for run in runs(family):
        # What broke is tried again; what took too much is not.
        if kept(family).get(key(*run), {"failure": "new"}).get("failure", "time") in {
            "time",
            "memory",
        } or (sets and run[0] not in sets):
            continue
        command = [sys.executable, __file__, "one", family, json.dumps(run)]
        result = limited(command, PLAN["seconds"], PLAN["bytes"])
        line = {"run": run, "date": time.strftime("%Y-%m-%d"), "versions": versions} | result
        with (LINES / f"{family}.jsonl").open("a") as out:
            out.write(json.dumps(line) + "\n")
        print(run[0], run[1], {k: v for k, v in result.items() if k != "found"}, flush=True)


def short() -> list[str]:
    """Say where local machines or the pilot go wrong on generated rows."""
    found = []
    trials = (
        ("friedman1", "mercer local", {"leaf_size": 1_000}, 0.12),
        ("moons", "mercer auto", {}, 0.14),
    )
    for name, method, settings, most in trials:
        result = measure("mercer", name, method, settings)
        print(name, method, f"{result['error']:.3f} in {result['fit']:.1f} s", flush=True)
        if not result["error"] < most:
            found.append(f"{name}: {method} has the error {result['error']:.3f}")
        if not result["found"]["gap"] <= 2e-3 * max(1.0, abs(result["found"]["objective"])):
            found.append(f"{name}: {method} left a gap of {result['found']['gap']:.1e}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["run", "gather", "report", "short", "one"])
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--sets", nargs="*", default=[])
    options = parser.parse_args()
    if options.action == "one":
        family, run = options.rest
        print(json.dumps(measure(family, *json.loads(run))))
        return 0
    if options.action == "run":
        for family in options.rest:
            keep(family, options.sets)
        return 0
    if options.action == "short":
        wrong = short()
        print("\n".join(wrong) or "local machines and the pilot are as they should be")
        return int(bool(wrong))
    page = importlib.import_module("benchmarks.large.page")
    if options.action == "gather":
        page.TABLE.write_text(page.gather({family: kept(family) for family in FAMILIES}))
    page.publish(json.loads(page.TABLE.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
