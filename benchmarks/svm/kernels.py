"""Five machines with four kernels, 100 to 10,000 rows of real tables, beside scikit-learn.

    python benchmarks/svm/kernels.py [full | report] [ROWS ...]

Both libraries are fitted in turns in one process; times are medians of processor time without the
first fits, which compile. Objectives of both are computed by one formula from what the machines
say. Each line of ``kernels.jsonl`` is a problem; ``full`` measures those that are not there yet,
``report`` writes the page again. The largest tables are read from the folder ``MERCER_DATA``.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.svm
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.preprocessing import StandardScaler

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import mercer
from benchmarks.common.environment import environment
from mercer.datasets import fetch, load_abalone

RESULTS = Path(__file__).with_suffix(".jsonl")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "kernels.md"

KERNELS = ("linear", "poly", "sigmoid", "rbf")
WEIGHTS = (0.1, 1.0, 100.0)
# Fits a machine at least and most, and the seconds of processor time that they may take.
LEAST, MOST, SECONDS = 3, 25, 0.3
# A fit of the peer that takes longer is not repeated; from so many rows on it has a limit of
# steps, which makes its time a lower bound.
LONG, LIMITED_ROWS, LIMIT = 2.0, 3000, 200_000
# Rows of objectives, and what counts as equal: a tolerance of 1e-3 leaves about that of both.
EQUAL = 1e-3
# What counts as slower: ratios of the same code were met that differ by a fifth on a busy machine.
NOISE = 0.1

Problem = dict[str, Any]


def problems(rows: int) -> list[Problem]:
    """Return the machines, kernels and settings of a number of rows."""
    few = rows > 3000
    found: list[Problem] = []
    for machine in ("SVC", "SVR") if few else ("SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"):
        weighted = machine in ("SVC", "SVR", "NuSVR")
        for kernel in KERNELS:
            for C in ((1.0,) if few else WEIGHTS) if weighted else (None,):
                settings = {"kernel": kernel} | ({} if C is None else {"C": C})
                if not machine.startswith("SV"):
                    settings["nu"] = 0.1 if machine == "OneClassSVM" else 0.5
                found.append({"machine": machine, "rows": rows, "settings": settings})
    return found


def table(rows: int, regression: bool) -> tuple[str, Any, Any]:
    """Return the name, standardized features and targets of a table with as many rows."""
    if rows > 4000:
        name = "california" if regression else "elec2"
        bunch = fetch(name)
        X, y = np.asarray(bunch.data, dtype=float), np.asarray(bunch.target)
    elif rows > 600:
        name, (X, y) = "abalone", load_abalone(return_X_y=True)
        X = X[:, 1:]  # measures, without a category
        y = y if regression else y > np.median(y)
    elif regression:
        name, (X, y) = "diabetes", load_diabetes(return_X_y=True)
    else:
        name, (X, y) = "breast cancer", load_breast_cancer(return_X_y=True)
    some = np.random.default_rng(0).permutation(len(X))[:rows]
    X, y = StandardScaler().fit_transform(np.asarray(X, dtype=float)[some]), np.asarray(y)[some]
    return name, np.ascontiguousarray(X), (y - y.mean()) / y.std() if regression else y


def objective(machine: Any, problem: Problem, X: Any, y: Any) -> float:
    """Return the objective of a fitted machine, the margin or tube of a nu-machine at its best."""
    s, coef = problem["settings"], np.asarray(machine.dual_coef_).ravel()
    names = {"gamma": 1.0 / (X.shape[1] * X.var())} if s["kernel"] != "linear" else {}
    names |= {"poly": {"degree": 3, "coef0": 0.0}, "sigmoid": {"coef0": 0.0}}.get(s["kernel"], {})
    S = X[machine.support_]
    square = float(coef @ pairwise_kernels(S, metric=s["kernel"], **names) @ coef)
    if problem["machine"] == "OneClassSVM":
        score, level = machine.score_samples(X), float(np.ravel(machine.offset_)[0])
        return 0.5 * square + np.maximum(0.0, level - score).sum() - s["nu"] * len(X) * level
    if problem["machine"] in ("SVC", "NuSVC"):
        sign = np.where(y == np.unique(y)[1], 1.0, -1.0)
        hinge = float(np.maximum(0.0, 1.0 - sign * machine.decision_function(X)).sum())
        if problem["machine"] == "SVC":
            return 0.5 * square + s["C"] * hinge
        # Of f / rho the best rho is known, and with it rho^2 |f|^2 / 2 + rho (hinge - nu n).
        return -0.5 * max(s["nu"] * len(X) - hinge, 0.0) ** 2 / max(square, 1e-300)
    r = np.abs(y - machine.predict(X))
    if problem["machine"] == "SVR":
        return 0.5 * square + s["C"] * float(np.maximum(0.0, r - 0.1).sum())
    width = float(np.quantile(r, 1.0 - s["nu"], method="inverted_cdf"))
    return 0.5 * square + s["C"] * float(
        np.maximum(0.0, r - width).sum() + s["nu"] * len(X) * width
    )


def seconds(machine: Any, X: Any, y: Any) -> float:
    begin = time.process_time()
    machine.fit(X, y)
    return time.process_time() - begin


def measured(problem: Problem) -> dict[str, Any]:
    """Fit both libraries in turns."""
    name, X, y = table(problem["rows"], problem["machine"].endswith("SVR"))
    limit = {"max_iter": LIMIT} if len(X) >= LIMITED_ROWS else {}
    ours = getattr(mercer, problem["machine"])(**problem["settings"])
    theirs = getattr(sklearn.svm, problem["machine"])(**problem["settings"], **limit)
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
    values = [objective(machine, problem, X, y) for machine in (ours, theirs)]
    return problem | {
        "rows": len(X),
        "table": name,
        "columns": X.shape[1],
        "fit": fit,
        "objective": values,
        "limited": bool(limit) and int(np.max(theirs.n_iter_)) >= LIMIT,
        "solver": ours.solution_.solver,
        "relative_gap": float(ours.solution_.relative_gap),
        "converged": bool(ours.solution_.converged),
    }


def key(one: dict[str, Any]) -> str:
    return json.dumps([one["machine"], one["asked"], one["settings"]])


def kept() -> list[dict[str, Any]]:
    """Return the lines of the record, the first of which says where it was measured."""
    return [json.loads(line) for line in RESULTS.read_text().splitlines()]


def ratio(one: dict[str, Any]) -> float:
    return float(one["fit"][1] / one["fit"][0])


def worse(one: dict[str, Any]) -> float:
    """Return by how much our objective is above the peer's, relative to it."""
    ours, theirs = one["objective"]
    return float((ours - theirs) / max(abs(theirs), 1e-12))


def above(fits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the fits of positive definite kernels whose objective is above the peer's."""
    return [one for one in fits if one["settings"]["kernel"] != "sigmoid" and worse(one) > EQUAL]


def slower(fits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the fits that take longer than the peer's beyond noise, the worst first."""
    return sorted((one for one in fits if ratio(one) < 1.0 - NOISE), key=ratio)


def claim(lines: list[dict[str, Any]]) -> str:
    """Return the sentence about all problems that README quotes."""
    ratios, rows = np.array([ratio(one) for one in lines]), [one["rows"] for one in lines]
    mean, least, most = np.exp(np.log(ratios).mean()), ratios.min(), ratios.max()
    return (
        f"{mean:.1f} times as fast (geometric mean of {len(ratios)} fits of {min(rows)} to "
        f"{max(rows):,} rows with four kernels; from {least:.2g} to {most:,.0f} times, slower by "
        f"more than a tenth in {len(slower(lines))})"
    )


def publish(lines: list[dict[str, Any]]) -> None:
    """Write the page from the record."""
    about, fits = lines[0]["about"], sorted(lines[1:], key=lambda one: one["rows"])
    ended = [one for one in fits if not one["converged"]]
    text = [
        "# Kernels beside scikit-learn",
        "",
        "Ratios are scikit-learn's time over ours for a fit: above one we are faster. Real tables, "
        "standardized: breast cancer and diabetes up to 569 rows, abalone up to 3,000, elec2 and "
        "california beyond; C = 0.1, 1 and 100 where a machine has it, nu = 0.5 (0.1 for one "
        "class), other parameters by default. Both are fitted in turns in one process, one thread; "
        "times are medians of processor time, compiling left out. This page is written by "
        "`make bench SUITE=kernels`; do not edit it by hand. "
        f"{about['processor']}, {about['cores']} cores, Python {about['python']}, scikit-learn "
        f"{about['versions']['scikit-learn']}; {about['date']}, commit `{about['commit']}`.",
        "",
        f"In all: fits are {claim(fits)}; two runs of the same code differ "
        f"by up to a fifth on a busy machine. Our objective is above "
        f"scikit-learn's by more than {EQUAL:g} of it in {len(above(fits))} of them; sigmoids are "
        "left out of that, which are not positive definite, so that each library ends at a "
        f"stationary point of its own. {len(ended)} fits of nu-machines ended with a warning: "
        "their margin is nothing, and so is their objective.",
        "",
        "Each cell has the least and the largest ratio; `+` marks times of scikit-learn that end "
        f"at {LIMIT:,} steps, so that the ratio is a lower bound.",
        "",
        "| machine | rows | " + " | ".join(KERNELS) + " |",
        "| --- | ---: |" + " ---: |" * len(KERNELS),
    ]
    cells: dict[tuple[str, int], dict[str, list[dict[str, Any]]]] = defaultdict(dict)
    for one in fits:
        row = cells[one["machine"], one["rows"]]
        row.setdefault(one["settings"]["kernel"], []).append(one)
    for (machine, rows), row in cells.items():
        shown = [f"`{machine}`", f"{rows:,}"]
        for kernel in KERNELS:
            those = row.get(kernel, [])
            ratios = sorted(map(ratio, those))
            mark = "+" if any(one["limited"] for one in those) else ""
            both = f"{ratios[0]:.2f} to {ratios[-1]:,.2f}{mark}" if len(ratios) > 1 else ""
            shown.append(both or (f"{ratios[0]:.2f}{mark}" if ratios else ""))
        text.append(f"| {' | '.join(shown)} |")
    slow = slower(fits)
    if slow:
        text += ["", "## Where scikit-learn is faster", ""]
        text += ["| machine | kernel | rows | C | ours, ms | ratio | solver |"]
        text += ["| --- | --- | ---: | ---: | ---: | ---: | --- |"]
    for one in slow:
        s = one["settings"]
        text.append(
            f"| `{one['machine']}` | {s['kernel']} | {one['rows']:,} | {s.get('C', '')} | "
            f"{1e3 * one['fit'][0]:.1f} | {ratio(one):.2f} | {one['solver']} |"
        )
    PAGE.write_text("\n".join([*text, ""]), encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Measure what is not in the record, and write the page."""
    warnings.simplefilter("ignore")
    what = (arguments or ["full"])[0]
    if what == "full":
        if not RESULTS.exists():
            RESULTS.write_text(json.dumps({"about": environment({"threads": 1})}) + "\n")
        known = {key(one) for one in kept()[1:]}
        for rows in [int(n) for n in arguments[1:]] or [100, 300, 1000, 3000, 10_000]:
            for problem in problems(rows):
                if key(problem | {"asked": rows}) in known:
                    continue
                one = measured(problem) | {"asked": rows}
                with RESULTS.open("a") as file:
                    file.write(json.dumps(one) + "\n")
                print(
                    f"{one['machine']:12}{one['settings']} {one['table']} {one['rows']:,}: "
                    f"{1e3 * one['fit'][0]:.2f} ms, {ratio(one):.2f} times, objective "
                    f"{worse(one):+.1e}, gap {one['relative_gap']:.0e}, {one['solver']}",
                    flush=True,
                )
    lines = kept()
    publish(lines)
    print(f"fits are {claim(lines[1:])}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
