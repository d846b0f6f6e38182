"""Small fits beside scikit-learn: both libraries in one process, one thread, in turns.

``small.py full`` fits every problem of `small_problems` by both, predicts one row at a time, and
writes a line for each to ``small.jsonl`` and the page of the documentation. Times are processor
time; compiling is left out, and so are the first calls. ``short`` is a test of half a minute on
some of them, ``profile`` tells where the time of a fit goes, and ``report`` writes the page again.
"""

import argparse
import cProfile
import json
import os
import pstats
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.svm
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import mercer
from benchmarks.common.environment import environment
from benchmarks.svm.small_page import publish
from benchmarks.svm.small_problems import PROBLEMS, SHORT, Small

RESULTS = Path(__file__).resolve().parent / "small.jsonl"
# Both are fitted in turns for so many seconds of processor time, so many times at least and most.
SECONDS, LEAST, MOST = 0.8, 5, 60
ROWS = 400
# A grid of 24 settings in five folds.
GRID = {"svc__C": [0.1, 1.0, 10.0, 100.0], "svc__gamma": [1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3]}
# The part of the ratio on the page that the short form lets pass. Both libraries take turns, so
# that a busy machine slows both: ratios of the same code were met that differ by a fifth.
LEVEL = 0.6


def machine(library: Any, problem: Small) -> Any:
    estimator = getattr(library, problem.machine)(**problem.settings)
    if problem.grid:
        pipeline = make_pipeline(StandardScaler(), estimator)
        pipeline.steps[1] = ("svc", estimator)
        return GridSearchCV(pipeline, GRID, cv=5)
    return estimator


def turns(
    calls: list[Callable[[], Any]], seconds: float, least: int, most: int
) -> list[np.ndarray]:
    """Return processor seconds of calls that take turns, the first ones left out."""
    for call in calls:
        call()
    found: list[list[float]] = [[] for _ in calls]
    begin = time.process_time()
    while len(found[0]) < least or (
        time.process_time() - begin < seconds * len(calls) and len(found[0]) < most
    ):
        for call, times in zip(calls, found, strict=True):
            start = time.process_time()
            call()
            times.append(time.process_time() - start)
    return [np.array(times) for times in found]


def measured(problem: Small, seconds: float = SECONDS, rows: int = ROWS) -> dict[str, Any]:
    X, y = problem.sample()
    ours, theirs = machine(mercer, problem), machine(sklearn.svm, problem)
    least = 2 if problem.grid or problem.fits_only else LEAST
    fits = turns([lambda: ours.fit(X, y), lambda: theirs.fit(X, y)], seconds, least, MOST)
    result = {
        "name": problem.name,
        "kind": problem.kind,
        "machine": problem.machine,
        "rows": X.shape[0],
        "fit": [float(np.median(times)) for times in fits],
    }
    if not (problem.grid or problem.fits_only):
        if problem.settings.get("kernel") == "precomputed":
            some = [X[i : i + 1] for i in range(16)]
        else:
            some = [X[[i]] for i in range(16)]
        k = iter(range(10**9))
        calls = [
            lambda: ours.predict(some[next(k) % 16]),
            lambda: theirs.predict(some[next(k) % 16]),
        ]
        asked = turns(calls, 1e9, rows, rows)
        result["row"] = [np.percentile(times, [50, 99]).tolist() for times in asked]
    if hasattr(ours, "solution_"):
        result["relative_gap"] = ours.solution_.relative_gap
    return result


def stages(problem: Small, repeats: int) -> list[tuple[str, float]]:
    """Return microseconds of a fit by the room of the code, functions of C added to their callers.

    The profiler slows Python code down by more than compiled code: the parts are scaled to add up
    to the time of a fit without it.
    """
    X, y = problem.sample()
    fit = machine(mercer, problem).fit
    fit(X, y)
    plain = float(np.median(turns([lambda: fit(X, y)], 1e9, repeats, repeats)[0]))
    profile = cProfile.Profile(time.process_time)
    profile.enable()
    for _ in range(repeats):
        fit(X, y)
    profile.disable()
    total: dict[str, float] = defaultdict(float)
    for (file, _, _), (_, _, own, _, callers) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        if callers and not file.endswith(".py"):
            for (where, _, _), (_, _, part, _) in callers.items():
                total[room(where)] += part
        else:
            total[room(file)] += own
    everything = sum(total.values())
    parts = [(name, 1e6 * plain * part / everything) for name, part in total.items()]
    return sorted(parts, key=lambda one: -one[1])


def room(file: str) -> str:
    """Return the package that a file belongs to; of this library, the room."""
    for mark in ("mercer/", "sklearn/", "scipy/", "numba/", "numpy/", "threadpoolctl"):
        if mark in file:
            rest = file.rsplit(mark, 1)[1].split("/")
            inside = rest[0].removesuffix(".py")
            return f"mercer.{inside}" if mark == "mercer/" else mark.rstrip("/")
    return "Python"


def fitting(names: set[str] | None = None) -> list[dict[str, Any]]:
    results = []
    for problem in PROBLEMS:
        if names is not None and problem.name not in names:
            continue
        try:
            result = measured(problem) if names is None else measured(problem, 0.25, 100)
        except Exception as error:
            print(f"{problem.name}: {type(error).__name__}: {error}", flush=True)
            raise
        results.append(result)
        ours, theirs = result["fit"]
        line = f"{problem.name:36} fit {1e3 * ours:9.2f} ms, {theirs / ours:6.2f} times"
        if "row" in result:
            (p50, p99), (q50, q99) = result["row"]
            line += f"; row {1e3 * p50:.2f} ms, {q50 / p50:.2f} and {q99 / p99:.2f} times"
        print(line, flush=True)
    return results


def mean(results: list[dict[str, Any]], low: int = 0, high: int = 10**9) -> float:
    """Return the geometric mean of scikit-learn's time over ours."""
    ratios = [r["fit"][1] / r["fit"][0] for r in results if low <= r["rows"] <= high]
    return float(np.exp(np.mean(np.log(ratios))))


def slower(results: list[dict[str, Any]], kept: list[dict[str, Any]]) -> list[str]:
    """Return the problems whose ratio is far below the one that the page has."""
    known = {r["name"]: r["fit"] for r in kept if r["label"] == "now" and "fit" in r}
    told = []
    for result in results:
        (ours, theirs), (our, their) = result["fit"], known[result["name"]]
        if theirs / ours < LEVEL * their / our:
            told.append(f"{result['name']} ({theirs / ours:.2f}, {their / our:.2f} on the page)")
    return told


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["full", "short", "profile", "report"])
    parser.add_argument("--label", default="now", help="kept beside results of other labels")
    parser.add_argument("--only", nargs="*", help="names of problems")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = (
        [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []
    )
    if arguments.what == "short":
        results = fitting(SHORT)
        slow = slower(results, kept)
        print(f"geometric mean {mean(results):.2f}; far slower than it was: {slow or 'none'}")
        return int(bool(slow))
    if arguments.what == "full":
        results = fitting(set(arguments.only) if arguments.only else None)
        few = mean(results, 100, 1000)
        print(f"geometric mean {mean(results):.2f}, of 100 to 1,000 rows {few:.2f}")
        if not arguments.only:
            about = environment({"threads": 1}) | {"load": os.getloadavg()[2]}
            lines = [{"label": arguments.label, "about": about}]
            lines += [{"label": arguments.label} | result for result in results]
            kept = [line for line in kept if line["label"] != arguments.label or "stages" in line]
            kept += lines
    if arguments.what in ("full", "profile") and not arguments.only:
        kept = [line for line in kept if line["label"] != arguments.label or "stages" not in line]
        for problem in PROBLEMS:
            if problem.name in ("binary, 100 rows", "iris", "digits"):
                found = stages(problem, 3 if problem.name == "digits" else 50)
                kept.append({"label": arguments.label, "name": problem.name, "stages": found})
                print(problem.name, [(name, round(part)) for name, part in found[:12]])
    if arguments.what != "report" and not arguments.only:
        RESULTS.write_text("".join(json.dumps(line) + "\n" for line in kept))
    publish(kept)
    return 0


if __name__ == "__main__":
    sys.exit(main())
