"""The table of the benchmark of few centres, and its page."""

import datetime
import json
import platform
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reduced.figure import draw
from benchmarks.reduced.runs import BYTES, EXACT, SECONDS, Run, plan, settings_of
from benchmarks.reduced.sets import (
    CATEGORIES,
    CENTRES,
    FIT,
    HEAVY,
    HELD,
    HINGE,
    SETS,
    SHARE,
    SHARES,
    task,
)

HERE = Path(__file__).resolve().parent
TABLE = HERE / "quality.json"
PAGE = HERE.parents[1] / "docs" / "explanation" / "scale-quality.md"
FIGURE = "scale_quality.svg"
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")
KEYS = ("n", "error", "absolute", "cpu", "wall", "peak", "predict", "failure")
FOUND = (
    "gap",
    "objective",
    "passes",
    "approximation_cost",
    "iterations",
    "most",
    "leaves",
    "trees",
)
# Errors that differ by less than this share are equal.
EQUAL = 0.01
# At equal centres, width and weight: one problem, two ways.
TWINS = (
    ("mercer LSSVR", "Nystroem + Ridge"),
    ("mercer LSSVC", "Nystroem + Ridge"),
    ("mercer SVC", "Nystroem + LinearSVC"),
    ("mercer LSSVR", "Falkon"),
    ("mercer LSSVC", "Falkon"),
)
Result = dict[str, Any]


def gather(lines: dict[str, dict[Run, Result]]) -> str:
    """Make one table of the lines of all families, in the order of the plan."""
    known = {run: r for family in lines.values() for run, r in family.items()}
    runs = [run for name in SETS for run in plan(name) if run in known]
    table = {
        "about": about([r for r in known.values() if "calibration" in r]),
        "settings": {name: settings_of(name) for name in SETS if any(r.set == name for r in runs)},
        "shapes": {name: shape(name) for name in SETS if any(r.set == name for r in runs)},
        "results": [result(run, known[run]) for run in runs],
    }
    text = json.dumps(table, indent=1) + "\n"
    # A result in one line.
    return re.sub(r"\{[^{}]*\}", lambda found: " ".join(found[0].split()), text)


def result(run: Run, line: Result) -> Result:
    """Return what a line says, in few digits."""
    found = {k: v for k, v in line.get("found", {}).items() if k in FOUND}
    kept = {k: line[k] for k in KEYS if k in line} | found
    named = {"set": run.set, "method": run.method, "m": run.m, "rows": run.rows}
    return named | {k: float(f"{v:.5g}") if isinstance(v, float) else v for k, v in kept.items()}


def about(results: list[Result]) -> Result:
    """Say where and when; the calibration tells how unsteady the machine was."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    calibrations = [c for r in results for c in r["calibration"]]
    waits = [r["wall"] / r["cpu"] for r in results if r["cpu"] > 1.0]
    return {
        "date": datetime.date.today().isoformat(),
        "python": platform.python_version(),
        "processor": next(s.split(":")[1].strip() for s in lines if s.startswith("model name")),
        "versions": {name: version(name) for name in PACKAGES},
        "calibration": [round(float(q), 5) for q in np.quantile(calibrations, [0.05, 0.5, 0.95])],
        "waiting": round(float(np.median(waits)), 2),
    }


def shape(name: str) -> Result:
    data = task(name)
    return {
        "train": len(data.y),
        "test": len(data.y_test),
        "features": data.X.shape[1],
        "classes": 0 if data.regression else len(np.unique(data.y)),
    }


def measures(name: str) -> tuple[str, ...]:
    """Return what is compared on a set: the error, and the mean absolute one of heavy tails."""
    return ("error", "absolute") if name in HEAVY else ("error",)


def of(table: Result, name: str, *, finished: bool = True) -> list[Result]:
    return [r for r in table["results"] if r["set"] == name and ("failure" not in r) == finished]


def best(results: list[Result], measure: str) -> Result:
    """Return the cheapest of those whose error is equal to the least one."""
    least = min(r[measure] for r in results)
    return min((r for r in results if r[measure] <= least * (1 + EQUAL)), key=lambda r: r["cpu"])


def reach(results: list[Result], measure: str, error: float) -> Result | None:
    """Return the cheapest one with at most this error."""
    enough = [r for r in results if r[measure] <= error * (1 + EQUAL)]
    return min(enough, key=lambda r: r["cpu"]) if enough else None


def row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def seconds(value: float) -> str:
    return f"{value:.2f}" if value < 1.0 else f"{value:.1f}" if value < 10.0 else f"{value:,.0f}"


def times(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 1.0 else f"{ratio:.1f}"


def mebi(value: float) -> str:
    return f"{value / 2**20:,.0f}"


def share(r: Result, measure: str, table: Result) -> str:
    if table["shapes"][r["set"]]["classes"]:
        return f"{100 * r[measure]:.2f} %"
    return f"{r[measure]:.4f}"


def called(r: Result) -> str:
    """Name a run: the method with its centres, or the rows that it was given."""
    text = f"{r['method']}, m = {r['m']:,}" if r["m"] else r["method"]
    return text + (f", {r['rows']:,} rows" if r["rows"] else "")


def title(table: Result, name: str, measure: str) -> str:
    if measure == "absolute":
        return f"{name}, mean absolute error"
    return f"{name}, " + ("mistakes" if table["shapes"][name]["classes"] else "RMSE")


def ours(results: list[Result]) -> list[Result]:
    return [r for r in results if r["method"].startswith("mercer")]


def equal_error(table: Result) -> str:
    """Each peer's best run, and the cheapest machine of this library that is as good."""
    lines = []
    for name in table["shapes"]:
        found = of(table, name)
        mine = ours(found)
        for measure in measures(name):
            for method in dict.fromkeys(r["method"] for r in found if r not in mine):
                if ("absolute" in method) != (measure == "absolute") or not mine:
                    continue
                peer = best([r for r in found if r["method"] == method], measure)
                match = reach(mine, measure, peer[measure])
                least = min(mine, key=lambda r: r[measure])
                tail = (
                    ("not reached", "", f"least: {share(least, measure, table)}", "")
                    if match is None
                    else (
                        called(match).removeprefix("mercer "),
                        seconds(match["cpu"]),
                        share(match, measure, table),
                        times(peer["cpu"] / match["cpu"]),
                    )
                )
                head = (title(table, name, measure), called(peer), share(peer, measure, table))
                lines.append(row(*head, seconds(peer["cpu"]), mebi(peer["peak"]), *tail))
    return "\n".join(lines)


def equal_centres(table: Result) -> str:
    """The same centres' number, width and weight: error, time and memory of two ways."""
    lines = []
    for name in table["shapes"]:
        by = {(r["method"], r["m"]): r for r in table["results"] if r["set"] == name}
        for mine, theirs in TWINS:
            for (method, m), r in by.items():
                peer = by.get((theirs, m))
                if method != mine or not m or "failure" in r or peer is None:
                    continue
                head = (name, f"{m:,}", f"{mine.removeprefix('mercer ')} and {theirs}")
                a, b = share(r, "error", table), seconds(r["cpu"])
                if "failure" in peer:
                    tail = (stopped(peer), "", "")
                else:
                    tail = (share(peer, "error", table), seconds(peer["cpu"]), mebi(peer["peak"]))
                ratio = "" if "failure" in peer else times(peer["cpu"] / r["cpu"])
                lines.append(row(*head, a, b, mebi(r["peak"]), *tail, ratio))
    return "\n".join(lines)


def stopped(r: Result) -> str:
    return {"time": "too slow", "memory": "too large"}.get(r["failure"], r["failure"])


def curve(table: Result, name: str) -> str:
    """Error against centres, all methods of a set."""
    several = len(measures(name)) > 1
    found = [r for r in table["results"] if r["set"] == name]
    counts = sorted({r["m"] for r in found if r["m"]})
    head = ["method", *(f"m = {m:,}" for m in counts)]
    lines = [row(*head), row("---", *("---:" for _ in counts))]
    for method in dict.fromkeys(r["method"] for r in found if r["m"]):
        by = {r["m"]: r for r in found if r["method"] == method}
        cells = [_cell(by[m], table, several) if m in by else "" for m in counts]
        lines.append(row(method, *cells))
    head = ("without centres", "rows", "error; processor, s; MiB")
    lines += ["", row(*head), row("---", "---:", "---:")]
    for r in found:
        if not r["m"]:
            rows = r["rows"] or table["shapes"][name]["train"]
            lines.append(row(r["method"], f"{rows:,}", _cell(r, table, several)))
    return "\n".join(lines)


def _cell(r: Result, table: Result, several: bool) -> str:
    if "failure" in r:
        return stopped(r)
    error = share(r, "error", table) + (f" ({r['absolute']:.4f})" if several else "")
    return f"{error}; {seconds(r['cpu'])}; {mebi(r['peak'])}"


def certificates(table: Result) -> str:
    """What the machines with centres say of themselves."""
    lines = []
    for r in ours(table["results"]):
        if r["m"] and "failure" not in r and "gap" in r:
            gap = r["gap"] / max(1.0, abs(r["objective"]))
            cost = r.get("approximation_cost")
            loss = "" if cost is None else f"{cost / max(1.0, abs(r['objective'])):.0e}"
            passes = f"{r['passes']:.0f}" if "passes" in r else ""
            kind = r["method"].removeprefix("mercer ")
            lines.append(row(r["set"], kind, f"{r['m']:,}", passes, f"{gap:.0e}", loss))
    return "\n".join(lines)


def verdict(table: Result) -> str:
    """Say set by set who has the least error, and how far the others are from it."""
    lines = []
    for name in table["shapes"]:
        for measure in measures(name):
            found = of(table, name)
            mine = ours(found)
            others = [r for r in found if r not in mine]
            if not mine or not others:
                continue
            a, b = (min(group, key=lambda r: r[measure]) for group in (mine, others))
            ratio = a[measure] / b[measure]
            word = "equal" if abs(ratio - 1) <= EQUAL else "better" if ratio < 1 else "worse"
            lines.append(
                row(
                    title(table, name, measure),
                    f"{called(a).removeprefix('mercer ')}: {share(a, measure, table)}",
                    seconds(a["cpu"]),
                    f"{called(b)}: {share(b, measure, table)}",
                    seconds(b["cpu"]),
                    word,
                )
            )
    return "\n".join(lines)


def first(table: Result) -> str:
    """Sum up in a paragraph what the tables show."""
    ratios: dict[str, list[float]] = {}
    for name in table["shapes"]:
        by = {(r["method"], r["m"]): r for r in of(table, name)}
        for mine, theirs in TWINS:
            for (method, m), r in by.items():
                peer = by.get((theirs, m))
                if method == mine and m and peer:
                    ratios.setdefault(theirs, []).append(peer["cpu"] / r["cpu"])
    parts = [
        f"{times(np.exp(np.mean(np.log(v))))} times as fast as {k} at equal centres, width and "
        f"weight ({times(min(v))} to {times(max(v))}, {len(v)} pairs)"
        for k, v in ratios.items()
    ]
    return "By geometric means, this library's machines are " + ", ".join(parts) + "."


def page(table: Result) -> str:
    here, sets = table["about"], table["shapes"]
    versions = ", ".join(f"{k} {v}" for k, v in here["versions"].items())
    low, middle, high = here["calibration"]
    shapes = "\n".join(
        row(
            name,
            f"{s['train']:,}",
            f"{s['test']:,}",
            str(s["features"]),
            str(s["classes"] or "numbers"),
            SPLITS.get(name, f"random, {SHARES.get(name, SHARE):.0%} to learn from"),
            f"{table['settings'][name]['gamma']:.3g}",
            f"{table['settings'][name]['C']:g}",
            f"{table['settings'][name].get('C_hinge', float('nan')):g}".replace("nan", ""),
        )
        for name, s in sets.items()
    )
    curves = "\n\n".join(
        f"### {name}\n\n{NOTES.get(name, '')}{curve(table, name)}" for name in sets
    )
    return TEXT.format(
        first=first(table),
        verdict=verdict(table),
        shapes=shapes,
        equal_error=equal_error(table),
        equal_centres=equal_centres(table),
        curves=curves,
        certificates=certificates(table),
        processor=here["processor"],
        python=here["python"],
        versions=versions,
        date=here["date"],
        waiting=here["waiting"],
        low=low / middle,
        high=high / middle,
        fit=FIT,
        held=HELD,
        centres=CENTRES,
        hinge=HINGE,
        limit=SECONDS / 60,
        bytes=BYTES / 1e9,
        equal=100 * EQUAL,
        figure=FIGURE,
        most=max(max(rows) for rows in EXACT.values()),
        coded=", ".join(sorted({c for cs in CATEGORIES.values() for c in cs})),
    )


SPLITS = {"cod_rna": "official", "mnist": "official"}
NOTES = {
    "mnist": "Mistakes of ten classes; exact `SVC` of both libraries decides between pairs,\n"
    "`LinearSVC` and least squares between one and the rest.\n\n",
    "flights_nyc13": "RMSE, and in brackets the mean absolute error.\n\n",
    "flights_3m": "RMSE, and in brackets the mean absolute error.\n\n",
}

TEXT = """# Error against time on large sets

Machines with few centres beside exact ones, scikit-learn's `Nystroem` with `Ridge`, `LinearSVC`
and stochastic gradients, Falkon, xRFM, Neo LS-SVM and LightGBM, on six sets of 41 thousand to 2.7
million rows. This page is written by `make bench SUITE=quality`; do not edit it by hand. It is
about few
Gaussian centres: what this library does best on such tables, with other kernels, exact or local
machines, is on {{doc}}`large-tables`.

{first}

| set | least of few centres | processor, s | least of others | processor, s | few centres are |
| --- | --- | ---: | --- | ---: | --- |
{verdict}

## Settings

| set | to learn from | to be judged by | features | classes | split | gamma | C | C, hinge |
| --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: |
{shapes}

- Features are scaled by the moments of the rows to learn from (mnist by one mean and one deviation
  for all pixels); missing values are means. Categories ({coded}) are coded by the mean target of
  their rows. All methods are given the same table. Targets that are numbers have mean 0 and
  variance 1: an error of 1 is that of a constant.
- Of covtype the task is class 2 against the rest. Delays of flights are split at random, as the
  literature does, though they are ordered in time.
- One rule for the width and the weights, and all kernel methods but those that choose for
  themselves have the same: gamma and C have the least validated error of least squares with
  {centres:,} uniform centres on {fit:,} rows, {held:,} others to validate; the weight of the hinge
  (also of the logistic loss) is that of the best exact machine of {hinge:,} rows at this gamma.
  Weights are of sums over rows: Ridge has alpha = 1/C, stochastic gradients alpha = 1/(C n),
  Falkon the penalty 1/(C n).
- This library's machines have `Nystrom(m)`, uniform centres, and the default tolerance, and
  certify it. scikit-learn's `LinearSVC` has the hinge loss and its default tolerance and number of
  steps. Stochastic gradients are averaged, in 5 passes over batches; their centres come from the
  first rows.
- LightGBM as it is, and the best of three sizes of trees, each stopped early by a tenth of the
  rows. xRFM as in its manual, with leaves of 6,000 rows instead of 60,000, which are meant for
  graphics processors; Neo LS-SVM as it is, one against the rest for ten classes. Where a peer took
  more than some minutes or more memory than there was it was given the first rows alone: the
  tables say how many.
- One thread each, in a process of its own, {processor}, Python {python}, {versions}; {date}. The
  machine had other work: the clock showed {waiting} times the processor's seconds (median), so
  times are the processor's, without loading, compiling and the choice of width and weights; a
  fixed product of matrices took between {low:.1f} and {high:.1f} times its median time (5 and 95
  %). Memory is the peak of the fit above what was held with the rows loaded. A fit of more than
  {limit:.0f} minutes is "too slow", a process of more than {bytes:.0f} GB "too large".

## Time to equal error

The best run of each peer, and the fit of this library that reaches its error, or one at most
{equal:.0f} % larger, in the least time. The last column is the peer's time over ours: below one
the peer is faster.

| set | peer | error | processor, s | MiB | this library | processor, s | error | times as fast |
| --- | --- | ---: | ---: | ---: | --- | ---: | ---: | ---: |
{equal_error}

```{{image}} {figure}
:alt: error against the processor's time, set by set
```

Curves run over the number of centres; dotted ones over the rows of exact machines.

## Equal centres

The same number of uniform centres, width and weight: one problem, solved in two ways (centres are
drawn differently, intercepts of `LinearSVC` are penalized, and Falkon has none).

| set | m | methods | error | processor, s | MiB | error | processor, s | MiB | times as fast |
| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
{equal_centres}

## Error against centres

A cell has the error, the processor's seconds and the peak memory in MiB.

{curves}

## Certificates

The duality gap of the problem with centres, relative to its objective, and the estimate of what
the centres cost, likewise relative: by how much the exact machine's objective may be lower.

| set | machine | m | passes | gap | cost of the centres |
| --- | --- | ---: | ---: | ---: | ---: |
{certificates}
"""


def publish(table: Result) -> None:
    panels = {
        title(table, name, measure): (measure, of(table, name))
        for name in table["shapes"]
        for measure in measures(name)
    }
    draw(panels, PAGE.parent / FIGURE)
    PAGE.write_text(page(table), encoding="utf-8")
