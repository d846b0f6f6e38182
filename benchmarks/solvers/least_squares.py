"""Least squares: what a fit costs beside its Cholesky factor, and 100,000 rows without a matrix.

``least_squares.py full`` measures and keeps every number in ``least_squares.json``, so that a run
that was cut short goes on, and writes the page of the documentation; ``report`` writes the page
alone. ``short`` is a test of a minute that fails if answers differ or fits are far too slow. Who is
compared takes turns in one process; each large problem has a process, and so a memory, of its own.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from threadpoolctl import threadpool_limits

# What the benchmark of exact machines shares with the tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.common.clock import forget_peak, memory
from benchmarks.common.environment import THREADS, environment
from benchmarks.solvers.least_squares_page import PAGE, page
from data import draw
from mercer import KernelRegressor
from mercer.gram import Tiled
from mercer.kernels import Gaussian
from mercer.losses import Squared
from mercer.problems import RegularizedRisk
from mercer.regularizers import Empty
from mercer.smoothing import Spectral
from mercer.solvers import ConjugateGradient, minimize
from mercer.solvers.minimizing import minimize_together

HERE = Path(__file__).resolve().parent
TABLE = HERE / "least_squares.json"
C, WIDTH, TOL = 10.0, 2.0, 1e-6
FITS, PATHS, PEERS = (1000, 2000, 4000, 8000), (1000, 2000), 4000
# Rows, preconditioner and targets of the problems without a matrix; weight and width of their fits.
LARGE = (
    (25_000, "auto", 1),
    (25_000, "none", 1),
    (25_000, "auto", 10),
    (50_000, "auto", 1),
    (100_000, "auto", 1),
    (100_000, "none", 1),
)
SHORT = ((4_000, "auto", 1), (4_000, "none", 1), (4_000, "auto", 10))
LARGE_C, LARGE_WIDTH = 1.0, 1.0
# Iterations without a preconditioner on more rows than these: to the end they would take an hour.
PATIENT, PATIENCE = 25_000, 30
ROUNDS = 5


def toy(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 8))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)


def in_turn(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, dict[str, float]]:
    """Return the medians of clock and processor over rounds in which everybody has a turn."""
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for k in range(rounds + 1):
        for name, call in calls.items():
            wall, cpu = time.perf_counter(), time.process_time()
            call()
            if k:  # the first round warms caches and memory
                runs[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    medians = {name: np.median(times, axis=0) for name, times in runs.items()}
    return {name: {"wall": float(m[0]), "cpu": float(m[1])} for name, m in medians.items()}


def fits(n: int, rounds: int = ROUNDS) -> dict[str, Any]:
    """Measure a fit against LAPACK's factorization alone, its kernel matrix, and its peers."""
    X, y = toy(n)
    kernel = Gaussian(WIDTH)
    K = kernel(X)
    spare = np.empty((n, n), order="F")
    found: dict[str, Any] = {}

    def bare() -> None:
        np.copyto(spare, K)
        np.fill_diagonal(spare, spare[0, 0] + 1 / C)
        wall, cpu = time.perf_counter(), time.process_time()
        dpotrf(spare, lower=1, clean=0, overwrite_a=1)
        found.setdefault("bare", []).append((time.perf_counter() - wall, time.process_time() - cpu))

    def given() -> None:
        found["given"] = KernelRegressor(kernel="precomputed", C=C, solver="direct").fit(K, y)

    def ridge() -> None:
        found["ridge"] = KernelRidge(alpha=1 / C, kernel="precomputed").fit(K, y)

    calls: dict[str, Callable[[], Any]] = {
        "bare and copy": bare,
        "fit of a given matrix": given,
        "kernel matrix": lambda: kernel(X),
        "fit of points": lambda: KernelRegressor(kernel=kernel, C=C, solver="direct").fit(X, y),
    }
    if n <= PEERS:
        process = GaussianProcessRegressor(RBF(WIDTH, "fixed"), alpha=1 / C, optimizer=None)
        calls["KernelRidge, given matrix"] = ridge
        calls["GaussianProcessRegressor"] = lambda: process.fit(X, y)
    times = in_turn(calls, rounds if n < PEERS else min(rounds, 3))
    bare_wall, bare_cpu = np.median(found["bare"][1:], axis=0)
    del times["bare and copy"]
    times = {"dpotrf": {"wall": float(bare_wall), "cpu": float(bare_cpu)}} | times
    solution = found["given"].solution_
    result = {"n": n, "times": times, "violation": solution.violation}
    if n <= PEERS:
        # Without an intercept the two machines are one.
        ours = KernelRegressor(kernel="precomputed", C=C, null_space=Empty()).fit(K, y)
        result["apart"] = float(np.max(np.abs(ours.solution_.a - found["ridge"].dual_coef_)))
    return result


def paths(n: int, rounds: int = ROUNDS) -> dict[str, Any]:
    """Measure a path of 100 weights with all leave-one-out errors against one bare eigh."""
    X, y = toy(n)
    K, B = Gaussian(WIDTH)(X), np.ones((n, 1))
    weights = np.logspace(-3, 3, 100)
    found: dict[str, Any] = {}

    def path() -> None:
        found["loo"] = Spectral(K, B).leave_one_out(y, weights)

    times = in_turn({"eigh": lambda: np.linalg.eigh(K), "path and errors": path}, rounds)
    one = np.linalg.inv(np.block([[K + np.eye(n) / weights[60], B], [B.T, np.zeros((1, 1))]]))[
        :n, :n
    ]
    exact = (one @ y) / np.diag(one)
    return {"n": n, "times": times, "apart": float(np.max(np.abs(found["loo"][60] - exact)))}


def bare_values(X: np.ndarray, rows: int = 1000) -> float:
    """Return processor seconds of n^2 / 2 Gaussians in float32 by BLAS and exp alone."""
    Z = X.astype(np.float32) / np.float32(LARGE_WIDTH)
    half = 0.5 * np.einsum("ij,ij->i", Z, Z)
    left = np.column_stack([Z, -half, np.ones_like(half)])
    right = np.ascontiguousarray(np.column_stack([Z, np.ones_like(half), -half]).T)
    block, rows = np.empty((50, len(Z)), np.float32), min(rows, len(Z) // 50 * 50)
    with threadpool_limits(1):
        cpu = time.process_time()
        for k in range(0, rows, 50):
            np.matmul(left[k : k + 50], right, out=block)
            np.exp(block, out=block)
        return (time.process_time() - cpu) * len(Z) / rows / 2


def large(n: int, kind: str, targets: int) -> dict[str, Any]:
    """Solve without a matrix once and say what it took."""
    sample = draw("cod_rna", n)
    X, y = sample.X, 2.0 * sample.y - 1.0
    Y = [y, *np.random.default_rng(0).normal(size=(targets - 1, n))]
    patience = PATIENCE if kind == "none" and n > PATIENT else -1
    solver = ConjugateGradient(
        TOL, max_iter=patience, preconditioner=None if kind == "none" else kind
    )
    small = [RegularizedRisk(Squared(), Tiled(Gaussian(1.0), X[:600]), y[:600], 1.0)]
    minimize(small[0], ConjugateGradient(1e-2))  # compiled code is loaded here
    kernel = Gaussian(LARGE_WIDTH)
    gram = Tiled(kernel, X)
    B = np.ones((n, 1))
    risks = [RegularizedRisk(Squared(), gram, target, LARGE_C, B) for target in Y]
    forget_peak()
    held, wall, cpu = memory("VmRSS"), time.perf_counter(), time.process_time()
    marks: list[tuple[float, float]] = []

    def listen(line: Any) -> bool:
        marks.append((time.perf_counter(), time.process_time()))
        print(line.iteration, f"{line.violation:.1e} {marks[-1][1] - cpu:.1f} s", file=sys.stderr)
        return False

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solutions = minimize_together(risks, solver, listeners=[listen] + [None] * (targets - 1))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = memory("VmHWM") - held
    steps = np.diff(marks, axis=0)
    first = solutions[0]
    return {
        "n": n,
        "preconditioner": kind,
        "targets": targets,
        "iterations": first.n_iter,
        "wall": wall,
        "cpu": cpu,
        # The median: the few steps that begin a round hold a product in float64.
        "step_wall": float(np.median(steps[:, 0])),
        "step_cpu": float(np.median(steps[:, 1])),
        "bare": bare_values(X),
        "peak": peak,
        "points": float(X.nbytes),
        "violation": max(s.violation for s in solutions),
        "gap": max(s.gap / abs(s.objective) for s in solutions),
        "converged": all(s.converged for s in solutions),
        "history": [float(line.violation) for line in first.history],
    }


def apart(case: tuple[int, str, int]) -> dict[str, Any]:
    """Measure a large problem in a process of its own, on all cores."""
    command = [sys.executable, __file__, "one", *map(str, case)]
    free = {key: value for key, value in os.environ.items() if key not in THREADS}
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=free).stdout
    result: dict[str, Any] = json.loads(answer.splitlines()[-1])
    return result


def complaints(results: dict[str, Any], slack: float) -> list[str]:
    """Say which answers differ, and which fits take more than `slack` of the factorization."""
    found = []
    for r in results["fits"]:
        times = r["times"]
        ratio = times["fit of a given matrix"]["cpu"] / times["dpotrf"]["cpu"]
        found += [f"fit {r['n']}: {ratio:.2f} of dpotrf"] * (ratio > slack)
        found += [f"fit {r['n']}: violation {r['violation']:.1e}"] * (r["violation"] > 1e-9)
        # Coefficients of at most C |r|, from a system with condition C |K| <= C n.
        apart = r.get("apart", 0.0)  # the largest has no peer beside it
        found += [f"fit {r['n']}: off by {apart:.1e}"] * (apart > 1e-8)
    for r in results["paths"]:
        found += [f"path {r['n']}: errors off by {r['apart']:.1e}"] * (r["apart"] > 1e-8)
    for r in results["large"]:
        name = f"{r['n']} rows, {r['preconditioner']}, {r['targets']} targets"
        wrong = r["preconditioner"] != "none" and not r["violation"] <= TOL
        found += [f"{name}: violation {r['violation']:.1e}"] * wrong
    return found


def run(kept: dict[str, Any], save: Callable[[], None], short: bool) -> None:
    """Measure what is not there yet."""
    rounds = 2 if short else ROUNDS
    jobs: list[tuple[str, Any, Callable[[], dict[str, Any]]]] = []
    for n in (1000, 2000) if short else FITS:
        jobs.append(("fits", n, lambda n=n: fits(n, rounds)))
    for n in (500,) if short else PATHS:
        jobs.append(("paths", n, lambda n=n: paths(n, rounds)))
    for case in SHORT if short else LARGE:
        jobs.append(("large", list(case), lambda case=case: apart(case)))
    for section, key, job in jobs:
        done = [r["key"] for r in kept.setdefault(section, [])]
        if key not in done:
            # Factorizations are compared on one thread; a large problem is another process.
            with threadpool_limits(1):
                kept[section].append({"key": key} | job())
            print(section, key, flush=True)
            save()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", choices=["full", "short", "report", "one"])
    parser.add_argument("one", nargs="*", help="rows, preconditioner and targets")
    options = parser.parse_args()
    if options.suite == "one":
        n, kind, targets = options.one
        print(json.dumps(large(int(n), kind, int(targets))))
        return 0
    kept: dict[str, Any] = {}
    if options.suite == "short":
        run(kept, lambda: None, short=True)
        wrong = complaints(kept, slack=4.0)
        print("\n".join(wrong) or "all answers agree, and fits cost little beside their factors")
        return int(bool(wrong))
    if TABLE.exists():
        kept = json.loads(TABLE.read_text())
    if options.suite == "full":

        def save() -> None:
            TABLE.write_text(json.dumps(kept, indent=1) + "\n")

        kept["about"] = environment({}) | {"load": os.getloadavg()[2]}
        kept["settings"] = {"width": LARGE_WIDTH, "C": LARGE_C, "tol": TOL}
        run(kept, save, short=False)
        kept["large"].sort(key=lambda r: (r["n"], r["targets"], r["preconditioner"]))
        save()
    PAGE.write_text(page(kept))
    return 0


if __name__ == "__main__":
    sys.exit(main())
