"""Machines of a compact kernel: time and memory against rows, when each point has 50 neighbours.

``compact.py full`` measures 3,125 to 200,000 points of the unit square over neighbours, and up to
12,500 over the whole matrix and by scikit-learn, keeps the numbers in ``compact.json`` and writes
the page of the documentation. ``short`` is a test of a minute that fails if memory grows faster
than rows or answers differ. Every fit has a process of its own, so that its memory is its own.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import kernel_ridge, svm

# What the benchmark of exact machines shares with the tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.common.clock import forget_peak, memory
from benchmarks.common.environment import environment, share_threads
from benchmarks.solvers.compact_page import (
    NEIGHBOURS,
    TITLES,
    WAYS,
    C,
    growth,
    line,
    publish,
    select,
)
from mercer import SVC, KernelRegressor
from mercer.kernels import BSpline
from mercer.losses import Huber, Squared
from mercer.machines.subproblems import Rows

HERE = Path(__file__).resolve().parent
TABLE = HERE / "compact.json"
FULL = (3_125, 6_250, 12_500, 25_000, 50_000, 100_000, 200_000)
SHORT = (1_000, 4_000)
# Beyond, a matrix in double precision takes more than a gigabyte and a factorization minutes.
WHOLE = 12_500


def kernel(n: int) -> BSpline:
    """Return a kernel whose support, a square with sides of four units, holds 50 of n points."""
    return BSpline(math.sqrt(NEIGHBOURS / n) / 4.0)


def sample(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    return X, np.sin(9 * X[:, 0]) * np.cos(7 * X[:, 1]) + 0.3 * rng.normal(size=n)


def machine(name: str, way: str, n: int) -> Any:
    gram = "sparse" if way == "neighbours" else "dense"
    if name == "svc":
        return SVC(kernel=kernel(n), C=C, gram=gram)
    return KernelRegressor(
        Squared() if name == "ridge" else Huber(0.3), kernel=kernel(n), C=C, gram=gram
    )


def one(name: str, way: str, n: int) -> dict[str, Any]:
    """Fit once and say what it took; the kernel matrix is part of the fit for everybody."""
    X, y = sample(n)
    y = np.sign(y) if name == "svc" else y
    new = sample(n // 10, seed=1)[0]
    if way != "scikit-learn":
        machine(name, way, 600).fit(X[:600], y[:600])  # compiled code is loaded here
    forget_peak()
    held, wall, cpu = memory("VmRSS"), time.perf_counter(), time.process_time()
    if way == "scikit-learn":
        K = kernel(n)(X)
        peer = kernel_ridge.KernelRidge(alpha=1 / C, kernel="precomputed")
        peer = svm.SVC(kernel="precomputed", C=C) if name == "svc" else peer
        peer.fit(K, y)
        found: dict[str, Any] = {}
    else:
        fitted = machine(name, way, n).fit(X, y)
        solution = fitted.solution_
        found = {
            "solver": solution.solver,
            "iterations": solution.n_iter,
            "objective": solution.objective,
            "gap": solution.gap,
            "converged": solution.converged,
            "support": len(fitted.support_),
        }
    found |= {"fit": time.perf_counter() - wall, "fit_cpu": time.process_time() - cpu}
    found |= {"peak": memory("VmHWM") - held}
    if way == "neighbours":
        found["nnz"] = fitted._make_gram(Rows(X)).nnz
        wall = time.perf_counter()
        fitted.predict(new)
        found["predict"] = time.perf_counter() - wall
    return {"machine": name, "way": way, "n": n} | found


def apart(name: str, way: str, n: int) -> dict[str, Any]:
    """Measure in a process of its own."""
    command = [sys.executable, __file__, "one", name, way, str(n)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    result: dict[str, Any] = json.loads(answer.splitlines()[-1])
    return result


def asked(sizes: tuple[int, ...]) -> Iterator[tuple[str, str, int]]:
    for name in TITLES:
        for way in WAYS:
            for n in sizes:
                if way == "neighbours" or (n <= WHOLE and (name, way) != ("huber", WAYS[2])):
                    yield name, way, n


def complaints(results: list[dict[str, Any]]) -> list[str]:
    """Say which answers differ by more than their gaps, and whose matrix outgrows its rows."""
    found = [
        f"{r['machine']} {r['n']} did not converge" for r in results if not r.get("converged", True)
    ]
    for name in TITLES:
        found += [f"{name}: entries grow faster than rows"] * (growth(results, name, "nnz") > 1.05)
        for near in select(results, name, WAYS[0]):
            for whole in select(results, name, WAYS[1]):
                apart = abs(near["objective"] - whole["objective"])
                bound = near["gap"] + whole["gap"] + 1e-9 * abs(near["objective"])
                if near["n"] == whole["n"] and apart > bound:
                    found.append(f"{name} {near['n']}: the objectives differ by {apart:.1e}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", choices=["full", "short", "report", "one"])
    parser.add_argument("one", nargs="*", help="machine, way and number of points")
    options = parser.parse_args()
    share_threads(1)
    if options.suite == "one":
        name, way, n = options.one
        print(json.dumps(one(name, way, int(n))))
        return 0
    if options.suite != "report":
        results = []
        for case in asked(FULL if options.suite == "full" else SHORT):
            results.append(apart(*case))
            print(case[0], line(results[-1]), flush=True)
        wrong = complaints(results)
        print("\n".join(wrong) or "memory follows the neighbours, and all objectives agree")
        if options.suite == "short" or wrong:
            return int(bool(wrong))
        about = environment({"threads": 1}) | {"load": os.getloadavg()[2]}
        TABLE.write_text(json.dumps({"about": about, "results": results}, indent=1) + "\n")
    kept = json.loads(TABLE.read_text())
    publish(kept["about"], kept["results"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
