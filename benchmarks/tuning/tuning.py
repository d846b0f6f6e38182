"""Tuning on real tables: one call against a grid with cross-validation, and against the defaults.

``tuning.py run FAMILY`` measures the methods of a family on all sets and splits, one
line of JSON each, and goes on where it was cut short: ``sklearn``, ``mercer``, ``peers`` (by an
interpreter that has LightGBM, xRFM and Neo LS-SVM and need not have this library) and ``timing``,
where a grid and a call take turns. ``gather`` makes the table ``tuning.json`` of the lines and the
page of the table, ``report`` the page alone, and ``short`` is a test of a minute.
"""

import argparse
import importlib
import json
import os
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

# One thread for everybody, before a library reads how many it may have.
os.environ |= dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.common.ranking import geometric
from benchmarks.tuning.sets import CLASSIFICATION, REGRESSION, SHORT, SPLITS, TRAIN, Split, split

LINES = Path(__file__).resolve().parent / "results"
FAMILIES = {
    "sklearn": "benchmarks.tuning.grids",
    "mercer": "benchmarks.tuning.ours",
    "peers": "benchmarks.tuning.peers",
    "timing": "benchmarks.tuning.timing",
}
MATRIX = np.random.default_rng(0).standard_normal((400, 400))


def calibration() -> float:
    """Return the seconds of a fixed product of matrices: how fast the machine is just now."""
    start = time.process_time()
    for _ in range(5):
        MATRIX @ MATRIX
    return time.process_time() - start


def measure(fit: Any, data: Split) -> dict[str, Any]:
    """Return the error of a method, what its fit took and what it chose."""
    before = calibration()
    wall, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine, chosen = fit(data)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        predicted = machine.predict(data.X_test)
    return {
        "n": len(data.y),
        "error": data.error(predicted),
        "seconds": cpu,
        "wall": wall,
        "chosen": chosen,
        "calibration": [before, calibration()],
    }


def run(
    family: str,
    sets: Iterable[str],
    splits: Iterable[int],
    methods: Iterable[str] = (),
    done: Iterable[tuple[str, int, str]] = (),
    rows: int = TRAIN,
) -> Iterator[dict[str, Any]]:
    """Measure the methods of a family, or some of them, where this was not done; split by split."""
    module = importlib.import_module(FAMILIES[family])
    sets, methods, done = list(sets), set(methods), set(done)
    warm: set[str] = set()
    for number in splits:
        for name in sets:
            data = split(name, number, rows)
            kind = module.REGRESSORS if data.regression else module.CLASSIFIERS
            for method, fit in kind.items():
                if (methods and method not in methods) or (name, number, method) in done:
                    continue
                # What compiles or loads does it now; of five hundred fits the first does not count.
                if method not in warm and "grid" not in method:
                    measure(fit, split(name, number, rows=100))
                    warm.add(method)
                yield {"set": name, "split": number, "method": method} | measure(fit, data)


def kept(family: str) -> list[dict[str, Any]]:
    """Return what was measured of a family."""
    path = LINES / f"{family}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def keep(family: str, sets: Iterable[str], splits: Iterable[int], methods: Iterable[str]) -> None:
    """Measure what is missing and append it to the lines of the family."""
    LINES.mkdir(parents=True, exist_ok=True)
    done = {(r["set"], r["split"], r["method"]) for r in kept(family)}
    for result in run(family, sets, splits, methods, done):
        with (LINES / f"{family}.jsonl").open("a") as out:
            out.write(json.dumps(result, default=str) + "\n")
        print(line(result), flush=True)


def line(result: dict[str, Any]) -> str:
    return "{set} {split} {method}: {error:.4f} in {seconds:.3f} s".format_map(result)


def complaints(results: list[dict[str, Any]]) -> list[str]:
    """Say where a call is much worse than the grid beside it, or not several times faster."""
    found = []
    for method, grid in importlib.import_module(FAMILIES["timing"]).PAIRS:
        ours, theirs = (
            {(r["set"], r["split"]): r for r in results if r["method"] == name}
            for name in (method, grid)
        )
        error, grids = (np.mean([r["error"] for r in kind.values()]) for kind in (ours, theirs))
        worse = error / grids
        faster = geometric([theirs[key]["seconds"] / r["seconds"] for key, r in ours.items()])[0]
        print(f"{method}: error {worse:.3f} times that of {grid}, {faster:.1f} times as fast")
        # Two splits of a set or two: a tenth is about the spread of such a mean, and a hundredth
        # that of few mistakes. The bars of the full benchmark are 20 and 5; a machine that does
        # other things as well is granted half.
        if worse > 1.1 and error > grids + 0.01:
            found.append(f"{method} is worse than {grid}")
        if faster < (10.0 if "LSSV" in method else 2.5):
            found.append(f"{method} is slow beside {grid}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["run", "gather", "report", "short"])
    parser.add_argument("family", nargs="?", choices=FAMILIES)
    parser.add_argument("--methods", nargs="*", default=[])
    parser.add_argument("--sets", nargs="*", default=[*REGRESSION, *CLASSIFICATION])
    parser.add_argument("--splits", nargs="*", type=int, default=range(SPLITS))
    options = parser.parse_args()
    if options.action == "run":
        keep(options.family, options.sets, options.splits, options.methods)
        return 0
    if options.action == "short":
        results = []
        for result in run("timing", SHORT, range(2), rows=150):
            print(line(result), flush=True)
            results.append(result)
        wrong = complaints(results)
        print("\n".join(wrong) or "as good as the grids, and faster")
        return int(bool(wrong))
    page = importlib.import_module("benchmarks.tuning.page")
    if options.action == "gather":
        page.TABLE.write_text(page.gather({family: kept(family) for family in FAMILIES}))
    page.publish(json.loads(page.TABLE.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
