"""Error against time on six large real sets: few centres, exact machines, peers, boosted trees.

``quality.py run FAMILIES`` measures what is missing, each fit in a process of its own with
one thread, and appends a line of JSON: ``mercer`` and ``sklearn``, which take turns, and ``peers``
(by an interpreter that has LightGBM, xRFM, Neo LS-SVM and Falkon and need not have this library).
A fit that takes more time or memory than allowed is stopped and recorded as such. ``gather`` makes
the table ``quality.json`` of the lines and the page of the table, ``report`` the page alone,
and ``short`` is a test of half a minute.
"""

import argparse
import ctypes
import gc
import hashlib
import importlib
import json
import os
import sys
import time
import warnings
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
from benchmarks.reduced.runs import BYTES, LINES, SECONDS, Run, plan, settings_of
from benchmarks.reduced.sets import SETS, Task, choose, task

FAMILIES = ("mercer", "sklearn", "peers")
MATRIX = np.random.default_rng(0).standard_normal((600, 600))
WARM = 1_000


def methods(family: str) -> dict[str, Any]:
    if family == "mercer":
        return dict(importlib.import_module("benchmarks.reduced.ours").MACHINES)
    peers = importlib.import_module("benchmarks.reduced.peers")
    return {k: v for k, v in {**peers.CENTRED, **peers.WHOLE}.items() if peers.there(k)}


def calibration() -> float:
    """Return the seconds of a fixed product of matrices: how fast the machine is just now."""
    start = time.process_time()
    for _ in range(5):
        MATRIX @ MATRIX
    return time.process_time() - start


def give_back() -> None:
    """Return to the system what was freed, lest a fit be said to take none of it."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def measure(run: Run, data: Task, settings: dict[str, float]) -> dict[str, Any]:
    """Return the errors of a method, what its fit and its predictions took and what it found."""
    fit = methods(run.family)[run.method]
    warnings.simplefilter("ignore")
    data = data.first(run.rows or None)
    # What compiles or loads does it now.
    fit(data.first(WARM), settings, min(run.m, WARM // 4))[0].predict(data.X_test[:10])
    before = calibration()
    give_back()
    forget_peak()
    held = memory("VmRSS")
    wall, cpu = time.perf_counter(), time.process_time()
    machine, found = fit(data, settings, run.m)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = memory("VmHWM") - held
    start = time.process_time()
    # Part by part, as scikit-learn's map would take more memory for all rows than for its fit.
    parts = np.array_split(data.X_test, max(1, len(data.X_test) // 10_000))
    predicted = np.concatenate([np.ravel(machine.predict(part)) for part in parts])
    return data.errors(predicted) | {
        "n": len(data.y),
        "cpu": cpu,
        "wall": wall,
        "peak": peak,
        "predict": time.process_time() - start,
        "found": found,
        "calibration": [before, calibration()],
    }


def source() -> str:
    """Return what tells one state of this library's source from another."""
    files = sorted((Path(__file__).resolve().parents[2] / "src" / "mercer").rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


def alone(run: Run, seconds: float, most: float) -> dict[str, Any]:
    """Measure in a process of its own, which is ended when it takes too much."""
    command = [sys.executable, __file__, "one", json.dumps(run)]
    return limited(command, seconds, most)


def one(text: str) -> None:
    run = Run(*json.loads(text))
    data = task(run.set)
    print(json.dumps(measure(run, data, settings_of(run.set, data))))


def kept(family: str) -> dict[Run, dict[str, Any]]:
    """Return what was measured of a family; the last line of a run counts."""
    path = LINES / f"{family}.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {Run(*line.pop("run")): line for line in lines}


def keep(options: argparse.Namespace) -> None:
    """Measure what is missing and append it to the lines of its family; families take turns."""
    LINES.mkdir(parents=True, exist_ok=True)
    known = {run: r for family in options.families for run, r in kept(family).items()}
    # What broke is tried again; what took too much is not, nor what another state of this library
    # did unless one asks for it.
    now = source()
    done = {
        run
        for run, r in known.items()
        if r.get("failure", "time") in {"time", "memory"}
        and not (options.fresh and run.family == "mercer" and r.get("source") != now)
    }
    able = {family: methods(family) for family in options.families}
    for name in options.sets:
        settings_of(name)
        for run in plan(name):
            wanted = not options.methods or run.method in options.methods
            wanted &= not options.centres or run.m in options.centres
            if run in done or not wanted or run.method not in able.get(run.family, {}):
                continue
            result = {"run": run} | alone(run, options.seconds, options.bytes)
            if run.family == "mercer":
                result["source"] = now
            with (LINES / f"{run.family}.jsonl").open("a") as out:
                out.write(json.dumps(result) + "\n")
            print(line(run, result), flush=True)


def line(run: Run, result: dict[str, Any]) -> str:
    head = f"{run.set} {run.method} m={run.m} rows={run.rows or 'all'}: "
    if "failure" in result:
        return head + f"stopped, {result['failure']}"
    form = "{error:.4f} in {cpu:.1f} s, {wall:.1f} by the clock, {peak:.2g} bytes"
    return head + form.format_map(result)


def short() -> list[str]:
    """Say where few centres are worse or much slower than scikit-learn's, on generated sets."""
    found = []
    for name, pairs in PAIRS.items():
        data = task(name)
        settings = choose(data)
        for ours, theirs in pairs:
            a, b = (
                measure(Run(family, name, method, 200), data, settings)
                for family, method in (("mercer", ours), ("sklearn", theirs))
            )
            print(line(Run("mercer", name, ours, 200), a))
            print(line(Run("sklearn", name, theirs, 200), b))
            found += complaints(name, ours, theirs, a, b, len(data.y_test))
    return found


PAIRS = {
    "friedman1": [("mercer LSSVR", "Nystroem + Ridge")],
    "moons": [("mercer LSSVC", "Nystroem + Ridge"), ("mercer SVC", "Nystroem + LinearSVC")],
}


def complaints(
    name: str, ours: str, theirs: str, a: dict[str, Any], b: dict[str, Any], rows: int
) -> list[str]:
    """Compare two measurements of one problem."""
    found = []
    # Other centres and, of a few hundred rows, two standard errors of a share of mistakes or
    # of a root mean square.
    spread = 2.0 * np.sqrt(b["error"] * (1 - b["error"]) / rows) if name == "moons" else 0.1
    if a["error"] > b["error"] + spread * (1.0 if name == "moons" else b["error"]):
        found.append(f"{name}: {ours} has more errors than {theirs}")
    # Milliseconds of start-up are granted, and a machine with other work.
    if a["cpu"] > 3.0 * b["cpu"] + 0.5:
        found.append(f"{name}: {ours} is slow beside {theirs}")
    gap, size = a["found"]["gap"], max(1.0, abs(a["found"]["objective"]))
    if gap > 2e-3 * size:
        found.append(f"{name}: {ours} left a gap of {gap / size:.0e}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["run", "gather", "report", "short", "one"])
    parser.add_argument("families", nargs="*")
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--methods", nargs="*", default=[])
    parser.add_argument("--centres", nargs="*", type=int, default=[])
    parser.add_argument("--fresh", action="store_true", help="measure this library again")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--bytes", type=float, default=BYTES)
    options = parser.parse_args()
    if options.action == "one":
        one(options.families[0])
        return 0
    if options.action == "run":
        keep(options)
        return 0
    if options.action == "short":
        wrong = short()
        print("\n".join(wrong) or "few centres are as good here as there")
        return int(bool(wrong))
    page = importlib.import_module("benchmarks.reduced.page")
    if options.action == "gather":
        page.TABLE.write_text(page.gather({family: kept(family) for family in FAMILIES}))
    page.publish(json.loads(page.TABLE.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
