"""The page of small fits, made of what was measured."""

from pathlib import Path
from typing import Any

import numpy as np

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "small.md"
HEAD = """\
# Small fits

Most fits have some hundred rows, and take a millisecond or two: what is done around the solver
counts as much as the solver. This page is written by `make bench SUITE=small`; do not edit it by
hand.
Both libraries are fitted in turns in one process on one thread, compiling is left out, and times
are medians of processor time. {processor}, {cores} cores, Python {python}, {versions}; {date},
commit `{commit}`, load of the machine {load:.1f}.

*Ratios* are scikit-learn's time over ours: above one we are faster. Geometric mean over all fits
**{all:.2f}**, over those of 100 to 1,000 rows **{some:.2f}**{before}. One row is predicted
{asked} times; ratios are of the medians and of the 99th percentiles.
"""
COLUMNS = """
| problem | machine | rows | fit, ms | ratio |{earlier} row, ms | ratio, p50 | p99 |
| --- | --- | ---: | ---: | ---: |{dashes} ---: | ---: | ---: |
"""
STAGES = """
## Where the time goes

A grid search spends about half of its time in scikit-learn's own cloning, slicing, scaling and
scoring, whatever the machine is.

Microseconds of a fit by the part of the code that spends them: rooms of this library, and packages
below it. Compiled functions count where they are called. A profiler slows Python down more than
compiled code, so that parts are exact to a tenth or so; they are scaled to add up to the whole.
"""


def geometric(rows: list[dict[str, Any]], low: int = 0, high: int = 10**9) -> float:
    ratios = [r["fit"][1] / r["fit"][0] for r in rows if low <= r["rows"] <= high]
    return float(np.exp(np.mean(np.log(ratios))))


def line(r: dict[str, Any], before: dict[str, Any]) -> str:
    ours, theirs = r["fit"]
    cells = [r["name"], r["machine"], f"{r['rows']:,}", f"{1e3 * ours:.2f}", f"{theirs / ours:.2f}"]
    if before:
        old = before.get(r["name"])
        cells.append(f"{old['fit'][1] / old['fit'][0]:.2f}" if old else "")
    if "row" in r:
        (p50, p99), (q50, q99) = r["row"]
        cells += [f"{1e3 * p50:.2f}", f"{q50 / p50:.2f}", f"{q99 / p99:.2f}"]
    else:
        cells += ["", "", ""]
    return f"| {' | '.join(cells)} |"


def publish(kept: list[dict[str, Any]]) -> None:
    """Write the page from the lines of results, with those labelled *before* beside."""
    now = [r for r in kept if r["label"] == "now"] or [r for r in kept if r["label"] == "before"]
    about = next(r["about"] for r in now if "about" in r)
    fits = [r for r in now if "fit" in r]
    before = {r["name"]: r for r in kept if r["label"] == "before" and "fit" in r}
    old = list(before.values())
    told = ""
    if old and now[0]["label"] != "before":
        means = f"{geometric(old):.2f} and {geometric(old, 100, 1000):.2f}"
        told = f" (before small fits were looked at {means})"
    else:
        before = {}
    versions = ", ".join(
        f"{name} {about['versions'][name]}" for name in ("mercer", "scikit-learn", "numpy", "numba")
    )
    numbers = {
        "all": geometric(fits),
        "some": geometric(fits, 100, 1000),
        "before": told,
        "asked": 400,
    }
    text = HEAD.format(**about | {"versions": versions} | numbers)
    for kind, title in (("table", "Known problems"), ("more", "More problems")):
        text += f"\n## {title}\n" + COLUMNS.format(
            earlier=" before |" if before else "", dashes=" ---: |" if before else ""
        )
        text += "\n".join(line(r, before) for r in fits if r["kind"] == kind) + "\n"
    profiles = [r for r in kept if "stages" in r]
    if profiles:
        text += STAGES
    for name in dict.fromkeys(r["name"] for r in profiles):
        columns = {r["label"]: dict(r["stages"]) for r in profiles if r["name"] == name}
        labels = [label for label in ("before", "now") if label in columns]
        parts = sorted(
            {part for column in columns.values() for part in column},
            key=lambda part: -max(column.get(part, 0.0) for column in columns.values()),
        )
        text += f"\n| {name} | {' | '.join(labels)} |\n| --- |{' ---: |' * len(labels)}\n"
        for part in parts[:12]:
            cells = [f"{columns[k].get(part, 0.0):,.0f}" for k in labels]
            text += f"| `{part}` | {' | '.join(cells)} |\n"
        totals = [f"{sum(columns[k].values()):,.0f}" for k in labels]
        text += f"| all | {' | '.join(totals)} |\n"
    PAGE.write_text(text)
