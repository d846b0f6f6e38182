"""Losses with kinks over landmarks, beside LIBLINEAR over the same landmarks, and growth.

``kinked.py run`` fits covtype, a9a and protein_casp by both in turn, at equal objectives, and keeps
every line in ``kinked.json`` (``--again`` begins anew); ``growth`` fits 10^5 to 10^7 made rows from
Parquet files, each in a process of its own; ``report`` prints the tables. Objectives of both are
computed here, from predictions and kernel values in float64; the gap is the one that the fit
certifies. One thread, processor seconds; compiled loops are ready before the first line.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

# One thread for everybody, before a library reads how many it may have.
os.environ |= dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.linalg as la
from scipy.optimize import minimize_scalar
from sklearn.kernel_approximation import Nystroem
from sklearn.svm import LinearSVC, LinearSVR

from benchmarks.common.clock import forget_peak, memory
from benchmarks.common.environment import environment
from data import load
from mercer import LSSVR, SVC, SVR
from mercer.data import open as open_rows
from mercer.kernels import Gaussian
from mercer.reduced import Nystrom

Array = np.ndarray
TABLE = Path(__file__).resolve().parent / "kinked.json"
GAMMAS, EPSILON = {"covtype": 0.5, "a9a": 0.02, "protein_casp": 0.5}, 0.1
CASES = [
    (name, m, C)
    for name in ("covtype", "a9a", "protein_casp")
    for m in (300, 500, 1000)
    for C in (1.0, 10.0)
]
ROWS = {"covtype": 100_000}


def task(name: str) -> tuple[Array, Array]:
    """Return scaled features and targets, in random order."""
    found = load(name, binary=True) if name == "covtype" else load(name)
    X = np.asarray(found.X.toarray() if hasattr(found.X, "toarray") else found.X, dtype=float)
    y = np.asarray(found.y, dtype=float)
    if name == "covtype":
        X = X[:, :10]
    if name != "a9a":
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = (y - y.mean()) / y.std() if name == "protein_casp" else np.where(y > np.min(y), 1.0, -1.0)
    rows = np.random.default_rng(0).permutation(len(X))[: ROWS.get(name)]
    return np.ascontiguousarray(X[rows]), y[rows]


class Case:
    """A problem over landmarks, with its value at any point and a bound from any slopes."""

    def __init__(self, name: str, m: int, C: float) -> None:
        self.X, self.y = task(name)
        self.Z, self.C, self.regression = self.X[:m], C, name == "protein_casp"
        self.gamma = GAMMAS[name]

    def losses(self, f: Array) -> float:
        r = self.y - f if self.regression else 1.0 - self.y * f
        return float(np.sum(np.maximum((np.abs(r) - EPSILON) if self.regression else r, 0.0)))

    def ours(self) -> Any:
        how = Nystrom(len(self.Z), centres=self.Z)
        if self.regression:
            return SVR(gamma=self.gamma, C=self.C, epsilon=EPSILON, approximation=how)
        return SVC(gamma=self.gamma, C=self.C, approximation=how)

    def squared(self) -> Any:
        return LSSVR(gamma=self.gamma, C=self.C, approximation=Nystrom(len(self.Z), centres=self.Z))

    def outside(self, machine: Any) -> float:
        """Return the objective of a fitted machine, from its predictions and kernel values."""
        kernel = Gaussian(1.0 / np.sqrt(2.0 * self.gamma))
        f = machine.predict(self.X) if self.regression else machine.decision_function(self.X)
        K = kernel(self.Z)
        at_centres = f[: len(self.Z)] - float(np.ravel(machine.intercept_)[0])
        a = la.solve(K + 1e-12 * np.eye(len(K)), at_centres, assume_a="pos")
        return 0.5 * float(a @ at_centres) + self.C * self.losses(f)


def peer_fit(case: Case) -> tuple[float, float, float]:
    """Return seconds of the features and of the fit, and the objective at the best intercept."""
    start = time.process_time()
    m = len(case.Z)
    # All of the landmarks, which are drawn from themselves.
    phi = Nystroem(gamma=case.gamma, n_components=m, random_state=0).fit(case.Z).transform(case.X)
    made = time.process_time() - start
    how: dict[str, Any] = {"C": case.C, "dual": True, "tol": 1e-4}
    machine = LinearSVC(loss="hinge", **how)
    if case.regression:
        machine = LinearSVR(epsilon=EPSILON, **how)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine.fit(phi, case.y)
    spent = time.process_time() - start
    w, b = np.ravel(machine.coef_), float(np.ravel(machine.intercept_)[0])
    values = phi @ w
    best = minimize_scalar(
        lambda b: case.losses(values + b), bounds=(b - 1.0, b + 1.0), method="bounded"
    )
    return made, spent, 0.5 * float(w @ w) + case.C * float(best.fun)


def measure(name: str, m: int, C: float) -> dict[str, Any]:
    case = Case(name, m, C)
    found: dict[str, Any] = {"set": name, "rows": len(case.X), "m": m, "C": C}
    start = time.process_time()
    machine = case.ours().fit(case.X, case.y)
    found["ours"] = time.process_time() - start
    solution = machine.solution_
    found |= {
        "objective": solution.objective,
        "relative gap": solution.relative_gap,
        "outside": case.outside(machine),
        "steps": solution.n_iter,
    }
    start = time.process_time()
    case.squared().fit(case.X, case.y)
    found["squared"] = time.process_time() - start
    made, spent, value = peer_fit(case)
    return found | {"peer features": made, "peer": made + spent, "peer objective": value}


def grown(n: int, loss: str) -> dict[str, Any]:
    """Fit made rows of a Parquet file in this process, and return seconds and memory."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.parquet"
        names = [f"x{j}" for j in range(10)]
        schema = pa.schema([*((name, pa.float64()) for name in names), ("y", pa.float64())])
        with pq.ParquetWriter(file, schema) as out:
            for start in range(0, n, 100_000):
                X = rng.normal(size=(min(100_000, n - start), 10))
                y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + rng.standard_t(3, size=len(X))
                columns = [*X.T, np.sign(y) if loss == "hinge" else y]
                out.write_table(pa.table(columns, schema=schema))
        how = Nystrom(300)
        machine = SVC if loss == "hinge" else SVR
        source = open_rows(file, "y")
        # Loops are compiled by a fit of few rows.
        machine(approximation=Nystrom(10)).fit(
            rng.normal(size=(200, 10)), np.tile([-1.0, 1.0], 100)
        )
        forget_peak()
        held = memory("VmRSS")
        start = time.process_time()
        fitted = machine(gamma=0.05, approximation=how).fit(source)
        spent = time.process_time() - start
    solution = fitted.solution_
    return {
        "rows": n,
        "loss": loss,
        "seconds": spent,
        "memory": memory("VmHWM") - held,
        "relative gap": solution.relative_gap,
        "steps": solution.n_iter,
        "passes": solution.passes,
    }


def keep(lines: dict[str, Any]) -> None:
    TABLE.write_text(json.dumps(lines, indent=1) + "\n")


def run(lines: dict[str, Any]) -> None:
    """Measure what is missing, after a case that compiles and does not count."""
    done = {(line["set"], line["m"], line["C"]) for line in lines["fits"]}
    missing = [case for case in CASES if case not in done]
    if missing:
        for name in ("covtype", "protein_casp"):
            measure(name, 100, 1.0)
    for case in missing:
        lines["fits"].append(measure(*case))
        keep(lines)
        print(fit_line(lines["fits"][-1]), flush=True)


def growth(lines: dict[str, Any]) -> None:
    done = {(line["rows"], line["loss"]) for line in lines["growth"]}
    for n in (10**5, 10**6, 10**7):
        for loss in ("hinge", "tube"):
            if (n, loss) in done:
                continue
            command = [sys.executable, __file__, "one", str(n), loss]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            lines["growth"].append(json.loads(out.splitlines()[-1]))
            keep(lines)
            print(out.splitlines()[-1], flush=True)


def fit_line(line: dict[str, Any]) -> str:
    return (
        f"{line['set']} {line['rows']} m = {line['m']} C = {line['C']:g}: {line['ours']:.2f} s, "
        f"LIBLINEAR {line['peer']:.2f} s, {line['peer'] / line['ours']:.1f} times; squared loss "
        f"{line['squared']:.2f} s; objective {line['objective']:.6g} (from outside "
        f"{line['outside']:.6g}, peer {line['peer objective']:.6g}), gap {line['relative gap']:.1e}"
    )


def report(lines: dict[str, Any]) -> None:
    print("\n".join(fit_line(line) for line in lines["fits"]))
    ratios = [line["peer"] / line["ours"] for line in lines["fits"]]
    if ratios:
        mean = float(np.exp(np.mean(np.log(ratios))))
        print(f"{min(ratios):.1f} to {max(ratios):.1f} times, geometric mean {mean:.1f}")
    for loss in ("hinge", "tube"):
        own = sorted((x["rows"], x["seconds"]) for x in lines["growth"] if x["loss"] == loss)
        if len(own) > 1:
            n, seconds = np.log(np.array(own)).T
            print(f"{loss}: seconds {[round(s, 2) for _, s in own]}, exponent "
                  f"{np.polyfit(n, seconds, 1)[0]:.2f}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["run", "growth", "report", "one"])
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--again", action="store_true", help="forget what was measured")
    options = parser.parse_args()
    if options.action == "one":
        print(json.dumps(grown(int(options.rest[0]), options.rest[1])))
        return
    lines: dict[str, Any] = {"fits": [], "growth": []}
    if TABLE.exists():
        lines = json.loads(TABLE.read_text())
    if options.again:
        lines[{"run": "fits", "growth": "growth"}[options.action]] = []
    if options.action == "report":
        report(lines)
        return
    lines["environment"] = environment({"threads": 1})
    (run if options.action == "run" else growth)(lines)
    report(lines)


if __name__ == "__main__":
    main()
