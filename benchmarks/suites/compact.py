"""A compact kernel by its neighbours, 3,125 to 200,000 points of the plane; ten minutes.

Every point has 50 neighbours. Beside: the whole matrix, and scikit-learn with it, up to 12,500
points. ``--short`` takes a minute and fails if memory outgrows the rows or answers differ.
"""

import math
from typing import Any

import numpy as np
from sklearn import kernel_ridge, svm

from benchmarks.store import Record, taken
from mercer import SVC, KernelRegressor
from mercer.kernels import BSpline
from mercer.losses import Huber, Squared

FRESH = True
NEIGHBOURS, C = 50, 1.0
WAYS, MACHINES = ("neighbours", "whole matrix", "scikit-learn"), ("ridge", "huber", "svc")
SIZES, SHORT = (3_125, 6_250, 12_500, 25_000, 50_000, 100_000, 200_000), (1_000, 4_000)
# Beyond, a matrix in double precision takes more than a gigabyte and a factorization minutes.
WHOLE = 12_500


def cases(short: bool) -> list[dict[str, Any]]:
    return [{"machine": m, "n": n} for m in MACHINES for n in (SHORT if short else SIZES)]


def contenders(case: dict[str, Any]) -> list[str]:
    if case["n"] > WHOLE:
        return [WAYS[0]]
    return [way for way in WAYS if (case["machine"], way) != ("huber", "scikit-learn")]


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
    loss = Squared() if name == "ridge" else Huber(0.3)
    return KernelRegressor(loss, kernel=kernel(n), C=C, gram=gram)


def run(case: dict[str, Any], way: str, repeat: int) -> dict[str, Any]:
    """Fit once and say what it took; the kernel matrix is part of the fit for everybody."""
    name, n = case["machine"], case["n"]
    X, y = sample(n)
    y = np.sign(y) if name == "svc" else y
    if way == "scikit-learn":
        peer = kernel_ridge.KernelRidge(alpha=1 / C, kernel="precomputed")
        peer = svm.SVC(kernel="precomputed", C=C) if name == "svc" else peer
        took, _ = taken(lambda: peer.fit(kernel(n)(X), y))
        return {"fit": took["cpu"], "peak": took["peak"]}
    machine(name, way, 600).fit(X[:600], y[:600])  # compiled code is loaded here
    took, fitted = taken(lambda: machine(name, way, n).fit(X, y))
    solution = fitted.solution_
    found = {
        "fit": took["cpu"],
        "peak": took["peak"],
        "solver": solution.solver,
        "objective": solution.objective,
        "gap": solution.gap,
        "converged": solution.converged,
    }
    if way == "neighbours":
        new = sample(n // 10, seed=1)[0]
        found["predict"] = taken(lambda: fitted.predict(new))[0]["wall"]
    return found


def line(values: dict[str, Any]) -> str:
    return str(values.get("failure") or f"{values['fit']:.2f} s, {values['peak'] / 2**20:.0f} MiB")


def growth(records: list[Record], name: str, key: str) -> float:
    """Return the exponent with which a quantity grows with the rows, over neighbours."""
    rows = [r for r in records if r.case["machine"] == name and r.contender == WAYS[0]]
    n, value = [math.log(r.case["n"]) for r in rows], [math.log(r[key]) for r in rows]
    return float(np.polyfit(n, value, 1)[0])


def claims(records: list[Record], short: bool) -> list[str]:
    """Say which answers differ by more than their gaps, and whose memory outgrows its rows."""
    found = [
        f"{r.case}: {r.contender} {r.get('failure', 'did not converge')}"
        for r in records
        if "failure" in r or not r.get("converged", True)
    ]
    by = {(r.case["machine"], r.case["n"], r.contender): r for r in records if "gap" in r}
    for (name, n, way), whole in by.items():
        near = by[name, n, WAYS[0]]
        apart = abs(near["objective"] - whole["objective"])
        if apart > near["gap"] + whole["gap"] + 1e-9 * abs(near["objective"]):
            found.append(f"{name} {n} {way}: the objectives differ by {apart:.1e}")
    if not short:
        found += [
            f"{name}: memory grows faster than rows"
            for name in MACHINES
            if growth(records, name, "peak") > 1.05
        ]
    return found
