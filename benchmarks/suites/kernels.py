"""Five machines with four kernels on 100 to 10,000 rows beside scikit-learn; ten minutes.

Real tables, standardized; the largest are read from the folder MERCER_DATA. Objectives of both are
computed by one formula from what the machines say. ``--short`` takes 300 rows and twenty seconds.
"""

import time
from functools import lru_cache
from typing import Any

import numpy as np
import sklearn.svm
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.preprocessing import StandardScaler

import mercer
from benchmarks.ranking import geometric
from benchmarks.store import Record
from mercer.datasets import fetch, load_abalone

KERNELS, WEIGHTS, ROWS = ("linear", "poly", "sigmoid", "rbf"), (0.1, 1.0, 100.0), (100, 300, 1000)
# Fits a machine at least and most, and the seconds of processor time that they may take.
LEAST, MOST, SECONDS = 3, 25, 0.3
# A fit of the peer that takes longer is not repeated; from so many rows on it has a limit of
# steps, which makes its time a lower bound.
LONG, LIMITED_ROWS, LIMIT = 2.0, 3000, 200_000
# What counts as equal objectives: a tolerance of 1e-3 leaves about that of both.
EQUAL = 1e-3
# What counts as slower: ratios of the same code were met that differ by a fifth on a busy machine.
NOISE = 0.1


def cases(short: bool) -> list[dict[str, Any]]:
    """Return machines, kernels and settings; weights where a machine has them."""
    found = []
    for rows in (300,) if short else (*ROWS, 3000, 10_000):
        few = rows > 3000
        for machine in ("SVC", "SVR") if few else ("SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"):
            weights: tuple[Any, ...] = (1.0,) if few or short else WEIGHTS
            for kernel in KERNELS:
                for C in weights if machine in ("SVC", "SVR", "NuSVR") else (None,):
                    settings: dict[str, Any] = {"kernel": kernel} | ({} if C is None else {"C": C})
                    if not machine.startswith("SV"):
                        settings["nu"] = 0.1 if machine == "OneClassSVM" else 0.5
                    found.append({"machine": machine, "rows": rows, "settings": settings})
    return found


def contenders(case: dict[str, Any]) -> list[str]:
    return ["mercer", "scikit-learn"]


@lru_cache(maxsize=2)
def table(rows: int, regression: bool) -> tuple[Any, Any]:
    """Return standardized features and targets of a table with as many rows."""
    if rows > 4000:
        bunch = fetch("california" if regression else "elec2")
        X, y = np.asarray(bunch.data, dtype=float), np.asarray(bunch.target)
    elif rows > 600:
        X, y = load_abalone(return_X_y=True)
        X = X[:, 1:]  # measures, without a category
        y = y if regression else y > np.median(y)
    else:
        X, y = (load_diabetes if regression else load_breast_cancer)(return_X_y=True)
    some = np.random.default_rng(0).permutation(len(X))[:rows]
    X, y = StandardScaler().fit_transform(np.asarray(X, dtype=float)[some]), np.asarray(y)[some]
    return np.ascontiguousarray(X), (y - y.mean()) / y.std() if regression else y


def objective(machine: Any, case: dict[str, Any], X: Any, y: Any) -> float:
    """Return the objective of a fitted machine, the margin or tube of a nu-machine at its best."""
    s, coef = case["settings"], np.asarray(machine.dual_coef_).ravel()
    names = {"gamma": 1.0 / (X.shape[1] * X.var())} if s["kernel"] != "linear" else {}
    names |= {"poly": {"degree": 3, "coef0": 0.0}, "sigmoid": {"coef0": 0.0}}.get(s["kernel"], {})
    S = X[machine.support_]
    square = float(coef @ pairwise_kernels(S, metric=s["kernel"], **names) @ coef)
    if case["machine"] == "OneClassSVM":
        score, level = machine.score_samples(X), float(np.ravel(machine.offset_)[0])
        return 0.5 * square + np.maximum(0.0, level - score).sum() - s["nu"] * len(X) * level
    if case["machine"] in ("SVC", "NuSVC"):
        sign = np.where(y == np.unique(y)[1], 1.0, -1.0)
        hinge = float(np.maximum(0.0, 1.0 - sign * machine.decision_function(X)).sum())
        if case["machine"] == "SVC":
            return 0.5 * square + s["C"] * hinge
        # Of f / rho the best rho is known, and with it rho^2 |f|^2 / 2 + rho (hinge - nu n).
        return -0.5 * max(s["nu"] * len(X) - hinge, 0.0) ** 2 / max(square, 1e-300)
    r = np.abs(y - machine.predict(X))
    if case["machine"] == "SVR":
        return 0.5 * square + s["C"] * float(np.maximum(0.0, r - 0.1).sum())
    width = float(np.quantile(r, 1.0 - s["nu"], method="inverted_cdf"))
    outside = float(np.maximum(0.0, r - width).sum()) + s["nu"] * len(X) * width
    return 0.5 * square + s["C"] * outside


def seconds(machine: Any, X: Any, y: Any) -> float:
    begin = time.process_time()
    machine.fit(X, y)
    return time.process_time() - begin


def together(case: dict[str, Any], names: list[str], short: bool) -> dict[str, dict[str, Any]]:
    """Fit both libraries in turns; the first fits, which compile, do not count."""
    X, y = table(case["rows"], case["machine"].endswith("SVR"))
    limit = {"max_iter": LIMIT} if len(X) >= LIMITED_ROWS else {}
    ours = getattr(mercer, case["machine"])(**case["settings"])
    theirs = getattr(sklearn.svm, case["machine"])(**case["settings"], **limit)
    times: tuple[list[float], list[float]] = ([], [seconds(theirs, X, y)])
    long = times[1][0] > LONG
    seconds(ours, X, y)
    begin = time.process_time()
    while len(times[0]) < (1 if long else LEAST) or (
        not long and time.process_time() - begin < SECONDS and len(times[0]) < MOST
    ):
        times[0].append(seconds(ours, X, y))
        if not long:
            times[1].append(seconds(theirs, X, y))
    fit = [float(np.median(t[1:] if k and len(t) > 1 else t)) for k, t in enumerate(times)]
    solution = ours.solution_
    return {
        "mercer": {
            "fit": fit[0],
            "objective": objective(ours, case, X, y),
            "solver": solution.solver,
            "converged": bool(solution.converged),
        },
        "scikit-learn": {
            "fit": fit[1],
            "objective": objective(theirs, case, X, y),
            "limited": bool(limit) and int(np.max(theirs.n_iter_)) >= LIMIT,
        },
    }


def line(values: dict[str, Any]) -> str:
    return f"{1e3 * values['fit']:.2f} ms, objective {values['objective']:.6g}"


def pairs(records: list[Record]) -> list[tuple[dict[str, Any], Record, Record]]:
    """Return case, our record and the peer's, fewest rows first."""
    by = {(str(r.case), r.contender): r for r in records}
    found = [
        (r.case, r, by[str(r.case), "scikit-learn"]) for r in records if r.contender == "mercer"
    ]
    return sorted(found, key=lambda one: one[0]["rows"])


def ratio(ours: Record, theirs: Record) -> float:
    return float(theirs["fit"] / ours["fit"])


def sentence(records: list[Record]) -> str:
    """Return what is said of all problems together."""
    found, rows = [ratio(*pair[1:]) for pair in pairs(records)], [r.case["rows"] for r in records]
    slow = sum(one < 1.0 - NOISE for one in found)
    return (
        f"{geometric(found):.1f} times as fast (geometric mean of {len(found)} fits of {min(rows)}"
        f" to {max(rows):,} rows with four kernels; from {min(found):.2g} to {max(found):,.0f}"
        f" times, slower by more than a tenth in {slow})"
    )


def claims(records: list[Record], short: bool) -> list[str]:
    """Name fits whose objective is above the peer's, and those that should converge and do not.

    Sigmoids are not positive definite: each library ends at a stationary point of its own.
    """
    wrong = []
    for case, ours, theirs in pairs(records):
        a, b = ours["objective"], theirs["objective"]
        if case["settings"]["kernel"] != "sigmoid" and a - b > EQUAL * max(abs(b), 1e-12):
            wrong.append(f"{case}: objective {a:.6g}, scikit-learn's {b:.6g}")
        if not ours["converged"] and abs(a) > 1e-6:
            wrong.append(f"{case}: not converged")
    print(f"fits are {sentence(records)}")
    return wrong
