"""Low-rank machines: passes beside the bare loop, fits beside scikit-learn, growth; an hour.

Passes over landmarks beside a product, an exponential and two more products; ridge and hinge fits
beside ``Nystroem`` with ``Ridge``, ``LinearSVC`` and ``LinearSVR``; time and memory from 10^5 to
10^7 rows of Parquet files. ``--short`` takes a minute and fails if any of it is far too slow, a gap
is left open or memory grows with the rows.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.linalg as la
from scipy.optimize import minimize_scalar
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC, LinearSVR

from benchmarks.ranking import geometric
from benchmarks.store import Record, in_turn, taken
from data import load
from mercer import SVC, SVR, KernelRegressor
from mercer.data import open as open_rows
from mercer.estimators import KernelClassifier
from mercer.kernels import Gaussian
from mercer.losses import SquaredHinge
from mercer.reduced import Nystrom
from mercer.reduced.nystrom import Panel

FRESH = True
PASSES = [
    (d, m, kind) for kind in ("float64", "float32") for d in (5, 10, 50, 784) for m in (500, 2000)
]
SHORT_PASSES = [(10, 500, "float64"), (10, 2000, "float32"), (50, 500, "float32")]
# Rows of a strip that the bare loop may choose from, and rounds in which it and ours take turns.
STRIPS, ROUNDS, SHORT_ROUNDS = (32, 64, 128, 256, 512, 1024), 25, 7
WIDTH, FEATURES, BATCH = 3.0, 10, 100_000
FITS = [("ridge", 10**5, 500), ("ridge", 10**5, 1000)]
FITS += [("squared hinge", 10**5, 500), ("squared hinge", 50_000, 1000)]
GROWTH = [("ridge", 300), ("squared hinge", 100)]
# Losses with kinks over the same landmarks as LIBLINEAR, at equal objectives.
KINKED, EPSILON = {"covtype": 0.5, "a9a": 0.02, "protein_casp": 0.5}, 0.1


def cases(short: bool) -> list[dict[str, Any]]:
    """Return passes, fits, fits of growing files, and losses with kinks."""
    passes = SHORT_PASSES if short else PASSES
    fits = [("ridge", 30_000, 600)] if short else FITS
    sizes = (10**5, 6 * 10**5) if short else (10**5, 10**6, 10**7)
    growth = [("ridge", 100)] if short else GROWTH
    kinked = (
        [] if short else [(s, m, C) for s in KINKED for m in (300, 500, 1000) for C in (1.0, 10.0)]
    )
    return [
        *({"part": "pass", "d": d, "m": m, "dtype": kind} for d, m, kind in passes),
        *({"part": "fit", "machine": k, "rows": n, "m": m} for k, n, m in fits),
        *({"part": "growth", "machine": k, "rows": n, "m": m} for k, m in growth for n in sizes),
        *({"part": "kinked", "set": name, "m": m, "C": C} for name, m, C in kinked),
    ]


def contenders(case: dict[str, Any]) -> list[str]:
    return ["mercer", "scikit-learn"] if case["part"] == "fit" else ["mercer"]


def run(case: dict[str, Any], name: str, repeat: int) -> dict[str, Any]:
    if case["part"] == "pass":
        return one_pass(case["d"], case["m"], case["dtype"])
    if case["part"] == "kinked":
        return kinked(case["set"], case["m"], case["C"])
    return fit(case, name)


def one_pass(d: int, m: int, dtype: str) -> dict[str, Any]:
    """Measure a pass over kernel values against its product, exponential and two more products.

    The bare loop gets points in its own precision with two columns appended, so that one product
    gives the exponents, and the size of strips that it is fastest with. Ours gets points as they
    are in files, in double precision.
    """
    n = 8192 if d < 100 else 2048
    rng, kind, width = np.random.default_rng(0), np.dtype(dtype), np.sqrt(d)
    X, Z = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    y, a = rng.normal(size=n), rng.normal(size=m)
    U, V = X / width, Z / width
    left = np.hstack([U, np.ones((n, 1)), -0.5 * np.sum(U * U, axis=1, keepdims=True)])
    right = np.hstack([V, -0.5 * np.sum(V * V, axis=1, keepdims=True), np.ones((m, 1))]).T
    left, right = left.astype(kind), np.ascontiguousarray(right, dtype=kind)
    targets, weights = y.astype(kind), a.astype(kind)

    def bare(rows: int) -> np.ndarray:
        K, total = np.empty((rows, m), dtype=kind), np.zeros(m, dtype=kind)
        for i in range(0, n, rows):
            np.matmul(left[i : i + rows], right, out=K)
            np.exp(K, out=K)
            total += (K @ weights - targets[i : i + rows]) @ K
        return total

    panel, A = Panel(Gaussian(width), Z), a[:, None]

    def slopes(F: np.ndarray, part: slice, K: np.ndarray) -> np.ndarray:
        return F - y[part, None]

    def ours() -> np.ndarray:
        return panel.sweep(X, A, slopes, single=kind == np.float32)

    strips = {
        rows: min(t) for rows, t in in_turn({r: lambda r=r: bare(r) for r in STRIPS}, 5).items()
    }
    best = min(strips, key=strips.__getitem__)
    times = in_turn({"bare": lambda: bare(best), "ours": ours}, ROUNDS)
    return {
        "nanoseconds": 1e9 * min(times["ours"]) / (n * m),
        # Of neighbours in time, because other work on the machine comes and goes.
        "ratio": float(np.median(np.divide(times["ours"], times["bare"]))),
    }


def truth(X: np.ndarray) -> np.ndarray:
    """A function of five of the features, two pairs of which interact."""
    return np.asarray(np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + np.cos(2.0 * X[:, 3]) * X[:, 4])


def batch(number: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return some rows, the same whoever asks; those with negative numbers are for tests."""
    rng = np.random.default_rng([number + 1_000, 7])
    X = rng.normal(size=(n, FEATURES))
    return X, truth(X) + 0.5 * rng.normal(size=n)


def write(folder: Path, n: int, classes: bool) -> None:
    """Write rows to files of a million, a batch a row group."""
    names = [*(f"x{j}" for j in range(FEATURES)), "y"]
    schema = pa.schema([(name, pa.float64()) for name in names])
    for first in range(0, n, 10 * BATCH):
        path = folder / f"part-{first // BATCH:05d}.parquet"
        with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as file:
            for start in range(first, min(first + 10 * BATCH, n), BATCH):
                X, y = batch(start // BATCH, min(BATCH, n - start))
                y = (y > 0).astype(float) if classes else y
                file.write_table(pa.table([*X.T, y], names=names))


def machine(case: dict[str, Any], name: str, m: int) -> Any:
    """Return an unfitted machine; C of ridge is a penalty of 1e-6 on the mean."""
    ridge = case["machine"] == "ridge"
    C = 1e6 / case["rows"] if ridge else 1.0
    if name == "scikit-learn":
        from sklearn.pipeline import make_pipeline

        landmarks = Nystroem(gamma=0.5 / WIDTH**2, n_components=m, random_state=0)
        return make_pipeline(landmarks, Ridge(alpha=1.0 / C) if ridge else LinearSVC(C=C))
    limit = "500MB" if case["part"] == "growth" else "2GB"
    few = Nystrom(m, memory_limit=limit, n_jobs=1)
    if ridge:
        return KernelRegressor(kernel=Gaussian(WIDTH), C=C, approximation=few)
    return KernelClassifier(loss=SquaredHinge(), kernel=Gaussian(WIDTH), C=C, approximation=few)


def fit(case: dict[str, Any], name: str) -> dict[str, Any]:
    """Fit once, after a small fit that loads and compiles what is needed."""
    classes = case["machine"] != "ridge"
    X, y = batch(-2, 2_000)
    machine(case, name, 20).fit(X, (y > 0).astype(float) if classes else y)
    with tempfile.TemporaryDirectory() as folder:
        data: tuple[Any, ...]
        if case["part"] == "growth":
            write(Path(folder), case["rows"], classes)
            data = (open_rows(f"{folder}/*.parquet", target="y"),)
        else:
            parts = [batch(k, BATCH) for k in range(-(-case["rows"] // BATCH))]
            X, y = (np.concatenate(a)[: case["rows"]] for a in zip(*parts, strict=True))
            data = (X, (y > 0).astype(float) if classes else y)
        took, fitted = taken(lambda: machine(case, name, case["m"]).fit(*data))
    T = batch(-1, 20_000)[0]
    exact, found = truth(T), fitted.predict(T)
    wrong = np.mean(found != (exact > 0)) if classes else np.sqrt(np.mean((found - exact) ** 2))
    values = {"cpu": took["cpu"], "peak": took["peak"], "error": float(wrong)}
    if name == "mercer":
        values["gap"] = float(fitted.solution_.relative_gap)
    return values


class Kinked:
    """A problem over landmarks, with its value at any point."""

    def __init__(self, name: str, m: int, C: float) -> None:
        found = load(name, binary=True) if name == "covtype" else load(name)
        X = np.asarray(found.X.toarray() if hasattr(found.X, "toarray") else found.X, dtype=float)
        y = np.asarray(found.y, dtype=float)
        X = X[:, :10] if name == "covtype" else X
        if name != "a9a":
            X = (X - X.mean(axis=0)) / X.std(axis=0)
        self.regression = name == "protein_casp"
        y = (y - y.mean()) / y.std() if self.regression else np.where(y > np.min(y), 1.0, -1.0)
        order = np.random.default_rng(0).permutation(len(X))
        rows = order[: BATCH if name == "covtype" else None]
        self.X, self.y, self.C, self.gamma = np.ascontiguousarray(X[rows]), y[rows], C, KINKED[name]
        self.Z = self.X[:m]

    def losses(self, f: np.ndarray) -> float:
        r = self.y - f if self.regression else 1.0 - self.y * f
        return float(np.sum(np.maximum((np.abs(r) - EPSILON) if self.regression else r, 0.0)))

    def ours(self) -> Any:
        how = Nystrom(len(self.Z), centres=self.Z)
        if self.regression:
            return SVR(gamma=self.gamma, C=self.C, epsilon=EPSILON, approximation=how)
        return SVC(gamma=self.gamma, C=self.C, approximation=how)

    def outside(self, machine: Any) -> float:
        """Return the objective of a fitted machine, from its predictions and kernel values."""
        kernel = Gaussian(1.0 / np.sqrt(2.0 * self.gamma))
        f = machine.predict(self.X) if self.regression else machine.decision_function(self.X)
        K = kernel(self.Z)
        at_centres = f[: len(self.Z)] - float(np.ravel(machine.intercept_)[0])
        a = la.solve(K + 1e-12 * np.eye(len(K)), at_centres, assume_a="pos")
        return 0.5 * float(a @ at_centres) + self.C * self.losses(f)

    def peer(self) -> tuple[dict[str, float], float]:
        """Return what LIBLINEAR takes over the same landmarks, and its objective."""
        how: dict[str, Any] = {"C": self.C, "dual": True, "tol": 1e-4}
        machine = LinearSVC(loss="hinge", **how)
        if self.regression:
            machine = LinearSVR(epsilon=EPSILON, **how)
        landmarks = Nystroem(gamma=self.gamma, n_components=len(self.Z), random_state=0)

        def fit() -> np.ndarray:
            phi = landmarks.fit(self.Z).transform(self.X)
            machine.fit(phi, self.y)
            return np.asarray(phi)

        took, phi = taken(fit)
        w, b = np.ravel(machine.coef_), float(np.ravel(machine.intercept_)[0])
        values = phi @ w
        found = minimize_scalar(
            lambda b: self.losses(values + b), bounds=(b - 1.0, b + 1.0), method="bounded"
        )
        return took, 0.5 * float(w @ w) + self.C * float(found.fun)


def kinked(name: str, m: int, C: float) -> dict[str, Any]:
    Kinked(name, 100, 1.0).ours().fit(*(lambda k: (k.X[:3000], k.y[:3000]))(Kinked(name, 100, 1.0)))
    case = Kinked(name, m, C)
    took, fitted = taken(lambda: case.ours().fit(case.X, case.y))
    theirs, value = case.peer()
    return {
        "cpu": took["cpu"],
        "peer": theirs["cpu"],
        "objective": fitted.solution_.objective,
        "outside objective": case.outside(fitted),
        "peer objective": value,
        "gap": fitted.solution_.relative_gap,
    }


def line(values: dict[str, Any]) -> str:
    return str(values)


def part(records: list[Record], name: str) -> list[Record]:
    return [r for r in records if r.case["part"] == name]


def exponent(records: list[Record]) -> float:
    """Return the power of the rows with which the seconds grow."""
    n, seconds = np.log([(r.case["rows"], r["cpu"]) for r in records]).T
    return float(np.polyfit(n, seconds, 1)[0])


def claims(records: list[Record], short: bool) -> list[str]:
    """Say what is slow beside the bare loop or scikit-learn, worse, loose, or grows."""
    # Generous in short: other work on the machine, and a small problem's start.
    slow, faster, grows, flat = (2.0, 0.8, 0.3, 30e6) if short else (1.3, 2.0, 0.05, 50e6)
    found = [f"{r.case}: {r['failure']}" for r in records if "failure" in r]
    records = [r for r in records if "failure" not in r]
    for r in part(records, "pass"):
        found += [f"{r.case}: {r['ratio']:.2f} of the bare loop"] * (r["ratio"] > slow)
    by = {(str(r.case), r.contender): r for r in part(records, "fit")}
    for (case, name), theirs in by.items():
        ours = by[case, "mercer"]
        if name == "scikit-learn" and theirs["cpu"] < faster * ours["cpu"]:
            found.append(f"{case}: {ours['cpu']:.1f} s against {theirs['cpu']:.1f} s")
        if name == "scikit-learn" and ours["error"] > 1.02 * theirs["error"] + 1e-3:
            found.append(f"{case}: error {ours['error']:.4f}, not {theirs['error']:.4f}")
    found += [
        f"{r.case}: a gap of {r['gap']:.0e} is left" for r in records if r.get("gap", 0) > 1e-3
    ]
    for name in dict.fromkeys(r.case["machine"] for r in part(records, "growth")):
        some = [r for r in part(records, "growth") if r.case["machine"] == name]
        if abs(exponent(some) - 1.0) > grows:
            found.append(f"time of {name} grows with the power {exponent(some):.3f} of the rows")
        peaks = [r["peak"] for r in some]
        if max(peaks) - min(peaks) > flat:
            found.append(f"memory of {name} grows: {[f'{b / 1e6:.0f} MB' for b in peaks]}")
    for r in part(records, "kinked"):
        if r["objective"] > r["peer objective"] * (1.0 + 1e-3):
            found.append(f"{r.case}: {r['objective']:.6g} is above LIBLINEAR's objective")
    ratios = [r["peer"] / r["cpu"] for r in part(records, "kinked")]
    if ratios:
        print(f"losses with kinks: {geometric(ratios):.1f} times as fast as LIBLINEAR")
    return found
