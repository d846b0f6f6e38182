"""The page of machines with neighbours, made of what was measured."""

import math
from pathlib import Path
from typing import Any

import numpy as np

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "compact.md"
NEIGHBOURS, C = 50, 1.0
WAYS = ("neighbours", "whole matrix", "scikit-learn")
TITLES = {
    "ridge": "`KernelRegressor(Squared())`",
    "huber": "`KernelRegressor(Huber(0.3))`",
    "svc": "`SVC()`",
}
HEAD = """\
# Kernels with neighbours

A kernel of compact support is zero for all but the neighbours of a point, and so is its matrix:
`gram="sparse"`, the choice of `"auto"` where neighbours are few, finds them in a tree, holds their
values alone, and solves by products with them. This page is written by `make bench SUITE=compact`;
do not
edit it by hand.

Points of the unit square, a cubic B-spline that sees {neighbours} of them from each, C = {C:g},
`tol=1e-3`. A fit begins with the points: neighbours, matrix, solution and certificate are in its
time. Memory is what the process took above what it held before. Predictions are of n / 10 new
points. One thread, {processor}, {cores} cores, Python {python}, {versions}; {date}. The
load of the machine was {load:.1f}: where that is more than its cores, read the processor's time.
"""
SECTION = """
## {title}

Over neighbours, from the smallest to the largest sample, entries grow with the power {nnz:.2f} of
n, memory with {peak:.2f} and processor time with {fit_cpu:.2f}.

| n | matrix | solver | entries a row | fit, s | processor, s | memory, MiB | predict, s | gap |
| ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
{rows}
"""
TAIL = """
## What limits it

Squared losses and Newton's method multiply by the matrix a number of times that depends on C and
the kernel, hardly on n. Machines with a kink (`SVC`, `SVR`) go through working sets of a few
thousand samples: each looks at all n samples once, and the number of sets grows with the support
vectors, so that their time grows nearly with the square of n while their memory does not. Points
on a line are factorized instead, as a narrow band, in time that grows with n.

How memory and time grow with n is drawn in {{doc}}`/auto_examples/large/plot_compact_growth`.
"""


def select(results: list[dict[str, Any]], name: str, way: str) -> list[dict[str, Any]]:
    return [r for r in results if (r["machine"], r["way"]) == (name, way)]


def growth(results: list[dict[str, Any]], name: str, key: str) -> float:
    """Return the exponent with which a quantity grows with the rows, over neighbours."""
    rows = select(results, name, WAYS[0])
    n, value = ([math.log(r[k]) for r in rows] for k in ("n", key))
    return float(np.polyfit(n, value, 1)[0])


def line(r: dict[str, Any]) -> str:
    cells = [
        f"{r['n']:,}",
        r["way"],
        r.get("solver", ""),
        f"{r['nnz'] / r['n']:.1f}" if "nnz" in r else "",
        f"{r['fit']:.1f}",
        f"{r['fit_cpu']:.1f}",
        f"{r['peak'] / 2**20:,.0f}",
        f"{r['predict']:.2f}" if "predict" in r else "",
        f"{r['gap'] / abs(r['objective']):.0e}" if "gap" in r else "",
    ]
    return "| " + " | ".join(cells) + " |"


def page(about: dict[str, Any], results: list[dict[str, Any]]) -> str:
    """Return the page."""
    names = ("numpy", "scipy", "scikit-learn")
    versions = ", ".join(f"{name} {about['versions'][name]}" for name in names)
    text = HEAD.format(neighbours=NEIGHBOURS, C=C, **about | {"versions": versions})
    for name, title in TITLES.items():
        rows = "\n".join(line(r) for way in WAYS for r in select(results, name, way))
        powers = {key: growth(results, name, key) for key in ("nnz", "peak", "fit_cpu")}
        text += SECTION.format(title=title, rows=rows, **powers)
    return text + TAIL.format()


def publish(about: dict[str, Any], results: list[dict[str, Any]]) -> None:
    PAGE.write_text(page(about, results))
