"""How machines that know something grow: seconds of one core and certificate against rows.

    python benchmarks/solvers/knowledge.py [full | page] [NAME ...]

Each fit runs in a process of its own with a limit of time, so that one that does not end takes no
other with it. Results are added to ``benchmarks/solvers/knowledge.json``; ``page`` writes
``docs/explanation/sizes.md`` from them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer import (
    AdditiveClassifier,
    AdditiveRegressor,
    CensoredRegressor,
    ConformalRegressor,
    MissingInputRegressor,
    Nystrom,
    QuantileBand,
    ShapeConstrainedRegressor,
)
from mercer.estimators import (
    HeteroscedasticNuSVR,
    HeteroscedasticSVR,
    MissingInputClassifier,
    SparseAdditiveClassifier,
    SparseAdditiveRegressor,
    SparseClassifier,
    SparseRegressor,
    SupportVectorTube,
)
from mercer.kernels import Gaussian
from mercer.regularizers import Constant, Convex, Functions, Increasing
from mercer_research.estimators import (
    AdaptiveMarginSVC,
    HardMarginSVC,
    NuSparseClassifier,
    NuSparseRegressor,
    WorstCase,
)

HERE = Path(__file__).parent
RESULTS = HERE / "knowledge.json"
PAGE = HERE.parents[1] / "docs" / "explanation" / "sizes.md"

SIZES = (250, 500, 1000, 2000)
LARGE = (5000, 20000)
LIMIT = 240.0
"""Seconds after which a fit is given up; a size is left out if the one before says it would be."""

KERNEL = Gaussian(0.5)
FEW = Nystrom(300)
WIDTH = Constant() + Functions([np.abs], on=[0])


def sample(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points, a noisy surface that increases with the first feature, and noisy labels."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (n, 4))
    f = 2.0 * X[:, 0] + np.sin(4.0 * X[:, 1]) + X[:, 2] ** 2
    y = f + 0.3 * rng.normal(size=n)
    return X, y, np.where(f + 0.6 * rng.normal(size=n) > np.median(f), 1, -1)


def regression(n: int) -> tuple[Any, Any]:
    X, y, _ = sample(n)
    return X, y


def classification(n: int) -> tuple[Any, Any]:
    X, _, labels = sample(n)
    return X, labels


def separated(n: int) -> tuple[Any, Any]:
    """Return two classes with a gap between them."""
    X, _, _ = sample(n)
    f = 2.0 * X[:, 0] + np.sin(4.0 * X[:, 1]) + X[:, 2] ** 2
    keep = np.abs(f - np.median(f)) > 0.2
    return X[keep], np.where(f[keep] > np.median(f), 1, -1)


def censored(n: int) -> tuple[Any, Any]:
    """Return targets of which a third is known only to lie above some value."""
    X, y, _ = sample(n)
    end = np.random.default_rng(1).normal(1.0, 1.5, n)
    return X, np.column_stack([np.minimum(y, end), np.where(y <= end, y, np.inf)])


def holes(X: np.ndarray) -> np.ndarray:
    """Return points of which a tenth of the cells is missing."""
    gone = np.random.default_rng(2).uniform(size=X.shape) < 0.1
    return np.where(gone, np.nan, X)


def gaps(n: int) -> tuple[Any, Any]:
    X, y, _ = sample(n)
    return holes(X), y


def gaps_in_classes(n: int) -> tuple[Any, Any]:
    X, _, labels = sample(n)
    return holes(X), labels


@dataclass(frozen=True)
class Case:
    """A machine, the data it is given, and the sizes at which it is measured."""

    make: Callable[[], Any]
    data: Callable[[int], tuple[Any, Any]]
    sizes: tuple[int, ...] = SIZES


BOTH = (*SIZES, *LARGE)

CASES: dict[str, Case] = {
    "local tube": Case(
        lambda: HeteroscedasticSVR(0.2, 0.4, kernel=KERNEL, cache_size=1000), regression, BOTH
    ),
    "parametric nu-tube": Case(
        lambda: HeteroscedasticNuSVR(WIDTH, nu=0.2, kernel=KERNEL), regression
    ),
    "support vector tube": Case(lambda: SupportVectorTube(KERNEL, mu=50.0), regression),
    "tube with exceptions": Case(
        lambda: SupportVectorTube(KERNEL, mu=50.0, exceptions=20), regression
    ),
    "band of three quantiles": Case(lambda: QuantileBand(kernel=KERNEL), regression, BOTH),
    "band of three expectiles": Case(
        lambda: QuantileBand((0.1, 0.5, 0.9), kind="expectile", kernel=KERNEL), regression
    ),
    "intervals by jackknife+": Case(lambda: ConformalRegressor(method="jackknife+"), regression),
    "intervals, few functions": Case(lambda: ConformalRegressor(method="split"), regression, BOTH),
    "sparse regression, tube": Case(
        lambda: SparseRegressor("epsilon_insensitive", KERNEL), regression, BOTH
    ),
    "sparse regression, squared": Case(lambda: SparseRegressor("squared", KERNEL), regression),
    "sparse classification": Case(lambda: SparseClassifier("hinge", KERNEL), classification, BOTH),
    "sparse nu-regression": Case(lambda: NuSparseRegressor(0.3, KERNEL), regression),
    "sparse nu-classification": Case(lambda: NuSparseClassifier(0.3, KERNEL), classification),
    "hard margin": Case(lambda: HardMarginSVC(kernel=KERNEL), separated, BOTH),
    "adaptive margin": Case(
        lambda: AdaptiveMarginSVC(1.0, kernel=KERNEL), classification, (*SIZES, 5000)
    ),
    "adaptive margin, 300 columns": Case(
        lambda: AdaptiveMarginSVC(1.0, kernel=KERNEL, columns=300), classification, (*SIZES, 5000)
    ),
    "additive, squared": Case(lambda: AdditiveRegressor(kernel=KERNEL), regression),
    "additive, logistic": Case(lambda: AdditiveClassifier(kernel=KERNEL), classification),
    "additive, few functions": Case(
        lambda: AdditiveRegressor(kernel=KERNEL, approximation=FEW), regression, BOTH
    ),
    "structure, squared": Case(
        lambda: SparseAdditiveRegressor(kernel=KERNEL, mu=20.0, C=1.0, refit=False),
        regression,
        BOTH,
    ),
    "structure, hinge": Case(
        lambda: SparseAdditiveClassifier(kernel=KERNEL, mu=20.0, C=1.0, refit=False), classification
    ),
    "increasing": Case(
        lambda: ShapeConstrainedRegressor([Increasing(0)], kernel=KERNEL),
        regression,
        (*SIZES, 5000),
    ),
    "increasing, tube": Case(
        lambda: ShapeConstrainedRegressor([Increasing(0)], "epsilon_insensitive", KERNEL),
        regression,
    ),
    "convex": Case(lambda: ShapeConstrainedRegressor([Convex(2)], kernel=KERNEL), regression),
    "increasing, few functions": Case(
        lambda: ShapeConstrainedRegressor([Increasing(0)], kernel=KERNEL, approximation=FEW),
        regression,
        BOTH,
    ),
    "censored, squared": Case(lambda: CensoredRegressor("squared", KERNEL), censored),
    "censored, tube": Case(
        lambda: CensoredRegressor("epsilon_insensitive", KERNEL, cache_size=1000), censored, BOTH
    ),
    "censored, few functions": Case(
        lambda: CensoredRegressor("squared", KERNEL, approximation=FEW), censored, BOTH
    ),
    "gaps, expected, squared": Case(lambda: MissingInputRegressor(kernel=KERNEL), gaps),
    "gaps, expected, hinge": Case(lambda: MissingInputClassifier(kernel=KERNEL), gaps_in_classes),
    "gaps, worst case, hinge": Case(
        lambda: MissingInputClassifier(kernel=KERNEL, strategy=WorstCase()), gaps_in_classes
    ),
}


def one(name: str, n: int) -> dict[str, Any]:
    """Fit once, after a fit to few rows that compiles what is compiled."""
    case = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case.make().fit(*case.data(120))
        X, y = case.data(n)
        start = time.process_time()
        machine = case.make().fit(X, y)
        seconds = time.process_time() - start
    solution = getattr(machine, "solution_", None)
    return {
        "machine": name,
        "n": n,
        "seconds": round(seconds, 3),
        "converged": None if solution is None else bool(solution.converged),
        "gap": None if solution is None else float(solution.relative_gap),
    }


def load() -> list[dict[str, Any]]:
    """Return what was measured so far."""
    return list(json.loads(RESULTS.read_text(encoding="utf-8"))) if RESULTS.exists() else []


def store(row: dict[str, Any]) -> None:
    """Keep a measurement in the place of an older one."""
    rows = [r for r in load() if (r["machine"], r["n"]) != (row["machine"], row["n"])]
    order = {name: k for k, name in enumerate(CASES)}
    rows = sorted([*rows, row], key=lambda r: (order.get(r["machine"], len(order)), r["n"]))
    RESULTS.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")


def measure(names: list[str]) -> None:
    """Measure machines at their sizes, each fit in a process of its own."""
    for name in names or CASES:
        last: tuple[int, float] | None = None
        for n in CASES[name].sizes:
            # Cubes are the worst that is expected: what would take longer is not begun.
            if last is not None and last[1] * (n / last[0]) ** 2 > LIMIT:
                print(f"{name}, {n}: left out, would take too long", flush=True)
                break
            command = [sys.executable, __file__, "one", name, str(n)]
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, timeout=2.5 * LIMIT, check=True
                )
            except subprocess.TimeoutExpired:
                print(f"{name}, {n}: given up", flush=True)
                break
            except subprocess.CalledProcessError as error:
                print(f"{name}, {n}: {error.stderr.strip().splitlines()[-1]}", flush=True)
                break
            row = json.loads(done.stdout.splitlines()[-1])
            print(f"{name}, {n}: {row['seconds']} s, gap {row['gap']}", flush=True)
            store(row)
            last = (n, row["seconds"])


def growth(rows: list[dict[str, Any]], name: str) -> float:
    """Return the power of n with which the seconds of a machine grow between its last two sizes."""
    points = [(r["n"], r["seconds"]) for r in rows if r["machine"] == name and r["seconds"] > 0]
    if len(points) < 2:
        return float("nan")
    (n, s), (m, t) = points[-2:]
    return float(np.log(t / s) / np.log(m / n))


def complaints(rows: list[dict[str, Any]]) -> list[str]:
    """Return what is wrong with measurements: machines without a certificate."""
    return [
        f"{row['machine']}, {row['n']}: not converged" for row in rows if row["converged"] is False
    ]


def page(rows: list[dict[str, Any]]) -> str:
    """Return the page of the growth of machines."""
    sizes = sorted({row["n"] for row in rows})
    lines = [
        "# How far each machine goes",
        "",
        "Seconds of one core for a fit with fixed parameters: four features, noise, a Gaussian "
        "kernel of width 0.5, compiling left out. *Growth* is the power of n between the last two "
        "sizes. A blank is a size that was not asked for or would have taken more than four "
        "minutes. Every fit ends with a certificate; `*` marks those that stopped before their "
        "tolerance and warned. `make bench SUITE=knowledge` measures again what is here.",
        "",
        "| machine | " + " | ".join(f"{n:,}" for n in sizes) + " | growth |",
        "| --- |" + " ---: |" * (len(sizes) + 1),
    ]
    for name in CASES:
        mine = {row["n"]: row for row in rows if row["machine"] == name}
        if not mine:
            continue
        cells = [
            f"{mine[n]['seconds']:.3g}{'*' if mine[n]['converged'] is False else ''}"
            if n in mine
            else ""
            for n in sizes
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {growth(rows, name):.1f} |")
    return "\n".join([*lines, ""])


def main(arguments: list[str]) -> int:
    """Measure and write the page, or only write it; complain of what has no certificate."""
    what, names = (arguments or ["full"])[0], arguments[1:]
    if what == "one":
        print(json.dumps(one(names[0], int(names[1]))))
        return 0
    if what == "full":
        measure(names)
    PAGE.write_text(page(load()), encoding="utf-8")
    print("\n".join(complaints(load())) or "every fit ended with a certificate")
    return int(bool(complaints(load())))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
