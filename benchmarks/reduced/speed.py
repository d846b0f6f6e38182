"""What a pass over few centres costs beside its bare loop, fits beside scikit-learn, and growth.

``speed.py speed`` measures passes and fits, ``slope`` time and memory from 10^5 to 10^7 rows
of Parquet files; every number is kept in ``speed.json``, so that a run that was cut short
goes on (``--again SECTION`` forgets one). ``report`` prints the tables. ``short`` is a test of
less than a minute that fails if a pass or a fit is far too slow, a gap is left open or memory grows
with the rows. Everything runs on one thread; each fit has a process, and so a memory, of its own.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

# One thread for everybody, before a library reads how many it may have.
os.environ |= dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from benchmarks.common.clock import forget_peak, memory
from benchmarks.common.environment import environment
from mercer import KernelRegressor
from mercer.data import open as open_rows
from mercer.estimators import KernelClassifier
from mercer.kernels import Gaussian
from mercer.losses import SquaredHinge
from mercer.reduced import Nystrom
from mercer.reduced.panel import Panel

Array = np.ndarray
TABLE = Path(__file__).resolve().parent / "speed.json"

PASSES = [
    (d, m, dtype) for dtype in ("float64", "float32") for d in (5, 10, 50, 784) for m in (500, 2000)
]
# Rows of a strip that the bare loop may choose from, and rounds in which it and ours take turns.
STRIPS, ROUNDS = (32, 64, 128, 256, 512, 1024), 25
WIDTH, FEATURES, BATCH = 3.0, 10, 100_000


class Fit(NamedTuple):
    """A fit: which library and machine, on how many rows, with how many centres, from where."""

    section: str
    library: str
    machine: str
    n: int
    m: int
    files: bool = False
    limit: str = "2GB"


FITS = [
    Fit("fits", library, machine, n, m)
    for machine, n, m in (
        ("ridge", 100_000, 500),
        ("ridge", 100_000, 1_000),
        ("squared hinge", 100_000, 500),
        ("squared hinge", 50_000, 1_000),
    )
    for library in ("mercer", "scikit-learn")
]
# Falkon 0.9.0 on one core of this kind, ../shared/landscape.md: processor seconds and bytes.
FALKON = {100_000: (26.0, 1.24e9), 1_000_000: (286.0, 8.44e9)}
LARGE = [Fit("falkon", "mercer", "ridge", n, 2_000) for n in FALKON]
GROWTH = [
    Fit("slope", "mercer", machine, n, m, True, "500MB")
    for machine, m in (("ridge", 300), ("squared hinge", 100))
    for n in (100_000, 1_000_000, 10_000_000)
]
SHORT = [
    *(Fit("fits", library, "ridge", 30_000, 600) for library in ("mercer", "scikit-learn")),
    *(Fit("slope", "mercer", "ridge", n, 100, True, "100MB") for n in (100_000, 600_000)),
]


# Passes ------------------------------------------------------------------------------------------


def one_pass(d: int, m: int, dtype: str, rounds: int = ROUNDS) -> dict[str, Any]:
    """Measure a pass over kernel values against its product, exponential and two more products.

    The bare loop gets points in its own precision with two columns appended, so that one product
    gives the exponents, and the size of strips that it is fastest with. Ours gets points as they
    are in files, in double precision.
    """
    n = 8192 if d < 100 else 2048
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    kind = np.dtype(dtype)
    y, a = rng.normal(size=n), rng.normal(size=m)
    width = np.sqrt(d)
    U, V = X / width, Z / width
    left = np.hstack([U, np.ones((n, 1)), -0.5 * np.sum(U * U, axis=1, keepdims=True)])
    right = np.hstack([V, -0.5 * np.sum(V * V, axis=1, keepdims=True), np.ones((m, 1))]).T
    left, right = left.astype(kind), np.ascontiguousarray(right, dtype=kind)
    targets, weights = y.astype(kind), a.astype(kind)

    def bare(rows: int) -> Array:
        K = np.empty((rows, m), dtype=kind)
        total = np.zeros(m, dtype=kind)
        for i in range(0, n, rows):
            np.matmul(left[i : i + rows], right, out=K)
            np.exp(K, out=K)
            total += (K @ weights - targets[i : i + rows]) @ K
        return total

    panel, A = Panel(Gaussian(width), Z), a[:, None]

    def ours() -> Array:
        def slopes(F: Array, part: slice, K: Array) -> Array:
            return F - y[part, None]

        return panel.sweep(X, A, slopes, single=kind == np.float32)

    calls: dict[str, Callable[[], Array]] = {f"{rows}": partial(bare, rows) for rows in STRIPS}
    best = {name: times.min() for name, times in in_turn(calls, max(3, rounds // 5)).items()}
    rows = min(best, key=best.__getitem__)
    times = in_turn({"bare": calls[rows], "ours": ours}, rounds)
    exact = bare(256).astype(float)
    apart = np.abs(ours()[:, 0] - exact).max() / np.abs(exact).max()
    each = {name: 1e9 * float(seconds.min()) / (n * m) for name, seconds in times.items()}
    return {
        "rows": int(rows),
        "nanoseconds": each,
        # Of neighbours in time, because other work on the machine comes and goes.
        "ratio": float(np.median(times["ours"] / times["bare"])),
        "apart": float(apart),
    }


def in_turn(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, Array]:
    """Return the processor times of calls over rounds in which everybody has a turn."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for k in range(rounds + 1):
        for name, call in calls.items():
            start = time.process_time()
            call()
            if k:  # the first round compiles, and warms caches and memory
                times[name].append(time.process_time() - start)
    return {name: np.array(seconds) for name, seconds in times.items()}


# Fits --------------------------------------------------------------------------------------------


def truth(X: Array) -> Array:
    """A function of five of the features, two pairs of which interact."""
    value: Array = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + np.cos(2.0 * X[:, 3]) * X[:, 4]
    return value


def batch(number: int, n: int) -> tuple[Array, Array]:
    """Return some rows, the same whoever asks; those with negative numbers are for tests."""
    rng = np.random.default_rng([number + 1_000, 7])
    X = rng.normal(size=(n, FEATURES))
    return X, truth(X) + 0.5 * rng.normal(size=n)


def rows_of(n: int) -> tuple[Array, Array]:
    parts = [batch(k, min(BATCH, n - k * BATCH)) for k in range(-(-n // BATCH))]
    X, y = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return X, y


def write(folder: Path, n: int) -> None:
    """Write rows to files of a million, a batch a row group."""
    names = [f"x{j}" for j in range(FEATURES)]
    for first in range(0, n, 10 * BATCH):
        with pq.ParquetWriter(
            folder / f"part-{first // BATCH:05d}.parquet",
            pa.schema([(name, pa.float64()) for name in (*names, "y")]),
            compression="none",
            use_dictionary=False,
        ) as file:
            for start in range(first, min(first + 10 * BATCH, n), BATCH):
                X, y = batch(start // BATCH, min(BATCH, n - start))
                file.write_table(pa.table(dict(zip(names, X.T, strict=True)) | {"y": y}))


def weight(fit: Fit) -> float:
    """Return C: that of a penalty of 1e-6 on the mean for regression, as Falkon had."""
    return 1e6 / fit.n if fit.machine == "ridge" else 1.0


def machine(fit: Fit) -> Any:
    C, width = weight(fit), WIDTH
    if fit.library == "scikit-learn":
        centres = Nystroem(gamma=0.5 / width**2, n_components=fit.m, random_state=0)
        linear = Ridge(alpha=1.0 / C) if fit.machine == "ridge" else LinearSVC(C=C)
        return make_pipeline(centres, linear)
    few = Nystrom(fit.m, memory_limit=fit.limit, n_jobs=1)
    if fit.machine == "ridge":
        return KernelRegressor(kernel=Gaussian(width), C=C, approximation=few)
    return KernelClassifier(loss=SquaredHinge(), kernel=Gaussian(width), C=C, approximation=few)


def measure(fit: Fit, folder: str) -> dict[str, Any]:
    """Fit once, in this process, after a small fit that loads and compiles what is needed."""
    classes = fit.machine != "ridge"
    X, y = batch(-2, 2_000)
    machine(fit._replace(m=20)).fit(X, y > 0 if classes else y)
    if fit.files:
        data: tuple[Any, ...] = (open_rows(f"{folder}/*.parquet", target="y"),)
        if classes:
            data = (data[0].map(as_classes),)
    else:
        X, y = rows_of(fit.n)
        data = (X, y > 0 if classes else y)
    forget_peak()
    held, wall, cpu = memory("VmRSS"), time.perf_counter(), time.process_time()
    fitted = machine(fit).fit(*data)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = memory("VmHWM")
    T = batch(-1, 20_000)[0]
    exact = truth(T)
    found = fitted.predict(T)
    wrong = np.mean(found != (exact > 0)) if classes else np.sqrt(np.mean((found - exact) ** 2))
    result: dict[str, Any] = {
        "cpu": cpu,
        "wall": wall,
        "held": held,
        "peak": peak,
        "error": float(wrong),
    }
    if fit.library == "mercer":
        solution = fitted.solution_
        result |= {
            "gap": float(solution.gap / max(abs(solution.objective), 1e-300)),
            "passes": int(solution.passes),
            "status": str(solution.status),
        }
    return result


def as_classes(block: Any) -> Any:
    return block._replace(y=np.asarray(block.y) > 0)


def apart(fit: Fit, folder: str = "", size: int = 0) -> dict[str, Any]:
    """Measure a fit in a process of its own, to files of some size if to files."""
    call = [sys.executable, __file__, "one", json.dumps([list(fit), folder])]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{fit}: {done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1])) | {"bytes": size, "limit": fit.limit}


# Tables ------------------------------------------------------------------------------------------


class Kept:
    """Measurements by section and key, in a file or not."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.table: dict[str, Any] = {}
        if path is not None and path.exists():
            self.table = json.loads(path.read_text())

    def get(self, section: str, key: list[Any], job: Callable[[], dict[str, Any]]) -> None:
        """Measure what is not there yet."""
        rows = self.table.setdefault(section, [])
        if any(row["key"] == key for row in rows):
            return
        rows.append({"key": key} | job())
        print(section, key, {k: v for k, v in rows[-1].items() if k != "key"}, flush=True)
        self.save()

    def save(self) -> None:
        if self.path is not None:
            self.path.write_text(json.dumps(self.table, indent=1) + "\n")

    def rows(self, section: str, *first: Any) -> list[dict[str, Any]]:
        """Return rows of a section whose keys begin so."""
        found: list[dict[str, Any]] = self.table.get(section, [])
        return [row for row in found if row["key"][: len(first)] == list(first)]


def speed(kept: Kept) -> None:
    for d, m, dtype in PASSES:
        kept.get("passes", [d, m, dtype], partial(one_pass, d, m, dtype))
    for fit in (*FITS, *LARGE):
        kept.get(fit.section, list(fit[1:5]), partial(apart, fit))


def slope(kept: Kept, fits: list[Fit]) -> None:
    """Measure fits of growing files, which are written to a folder of their own and removed."""
    for n in sorted({fit.n for fit in fits}):
        todo = [fit for fit in fits if fit.n == n]
        known = [row["key"] for row in kept.rows("slope")]
        if all(list(fit[1:5]) in known for fit in todo):
            continue
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), n)
            size = sum(file.stat().st_size for file in Path(folder).iterdir())
            for fit in todo:
                kept.get("slope", list(fit[1:5]), partial(apart, fit, folder, size))


def exponent(rows: list[dict[str, Any]], what: str = "cpu") -> float:
    """Return the slope of the logarithm of a quantity against that of the rows."""
    n, t = (
        [np.log(value) for value in v]
        for v in zip(*((r["key"][2], r[what]) for r in rows), strict=True)
    )
    return float(np.polyfit(n, t, 1)[0])


def complaints(kept: Kept, ratio: float, faster: float, grows: float, flat: float) -> list[str]:
    """Say what is not as it should be."""
    found = [
        f"a pass of {row['key']} takes {row['ratio']:.2f} of its bare loop"
        for row in kept.rows("passes")
        if row["ratio"] > ratio
    ]
    for ours in kept.rows("fits", "mercer"):
        (theirs,) = kept.rows("fits", "scikit-learn", *ours["key"][1:])
        if theirs["cpu"] < faster * ours["cpu"]:
            found.append(f"{ours['key']}: {ours['cpu']:.1f} s against {theirs['cpu']:.1f} s")
        if ours["error"] > 1.02 * theirs["error"] + 1e-3:
            found.append(f"{ours['key']}: error {ours['error']:.4f}, not {theirs['error']:.4f}")
    for row in kept.rows("falkon"):
        cpu, peak = FALKON[row["key"][2]]
        if row["cpu"] > cpu / 2 or (row["key"][2] == 10**6 and row["peak"] > peak / 10):
            found.append(f"{row['key']}: {row['cpu']:.0f} s and {row['peak'] / 1e9:.2f} GB")
    for section in ("fits", "falkon", "slope"):
        for row in kept.rows(section, "mercer"):
            if row["gap"] > 1e-3:
                found.append(f"{row['key']}: a gap of {row['gap']:.0e} is left")
    for name in {row["key"][1] for row in kept.rows("slope")}:
        rows = kept.rows("slope", "mercer", name)
        if abs(exponent(rows) - 1.0) > grows:
            found.append(f"time of {name} grows with the power {exponent(rows):.3f} of the rows")
        over = [row["peak"] - row["held"] for row in rows]
        if max(over) - min(over) > flat:
            found.append(f"memory of {name} grows: {[f'{byte / 1e6:.0f} MB' for byte in over]}")
    return found


def report(kept: Kept) -> str:
    lines = ["| d | m | precision | bare, ns | ours, ns | ratio |", "| --- " * 6 + "|"]
    for row in kept.rows("passes"):
        (d, m, dtype), each = row["key"], row["nanoseconds"]
        lines.append(
            f"| {d} | {m} | {dtype} | {each['bare']:.2f} | {each['ours']:.2f} "
            f"| {row['ratio']:.2f} |"
        )
    lines += ["", "| fit | rows | m | CPU s | memory, MB | error | gap |", "| --- " * 7 + "|"]
    for section in ("fits", "falkon", "slope"):
        for row in kept.rows(section):
            library, name, n, m = row["key"]
            lines.append(
                f"| {library} {name} | {n:,} | {m:,} | {row['cpu']:.1f} "
                f"| {(row['peak'] - row['held']) / 1e6:.0f} | {row['error']:.4f} "
                f"| {row.get('gap', np.nan):.0e} |"
            )
    for name in sorted({row["key"][1] for row in kept.rows("slope")}):
        rows = kept.rows("slope", "mercer", name)
        if len(rows) > 1:
            lines.append(f"\ntime of {name} grows with the power {exponent(rows):.3f} of the rows")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["speed", "slope", "short", "report", "one"])
    parser.add_argument("one", nargs="?", help="a fit and its folder")
    parser.add_argument("--again", nargs="*", default=[], help="sections to forget")
    options = parser.parse_args()
    if options.action == "one":
        fit, folder = json.loads(options.one)
        print(json.dumps(measure(Fit(*fit), folder)))
        return 0
    if options.action == "short":
        kept = Kept(None)
        for d, m, dtype in ((10, 500, "float64"), (10, 2000, "float32"), (50, 500, "float32")):
            kept.get("passes", [d, m, dtype], partial(one_pass, d, m, dtype, 7))
        for fit in SHORT[:2]:
            kept.get(fit.section, list(fit[1:5]), partial(apart, fit))
        slope(kept, SHORT[2:])
        # Generous: other work on the machine, and a small problem's start.
        wrong = complaints(kept, ratio=2.0, faster=0.8, grows=0.3, flat=30e6)
        print("\n".join(wrong) or "passes and fits are fast, gaps are closed, memory is flat")
        return int(bool(wrong))
    kept = Kept(TABLE)
    for section in options.again:
        kept.table.pop(section, None)
    if options.action != "report":
        kept.table["about"] = environment({}) | {"load": os.getloadavg()[2]}
    if options.action == "speed":
        speed(kept)
    elif options.action == "slope":
        slope(kept, GROWTH)
    print(report(kept))
    wrong = complaints(kept, ratio=1.3, faster=2.0, grows=0.05, flat=50e6)
    print("\n" + ("\n".join(wrong) or "all as it should be"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
