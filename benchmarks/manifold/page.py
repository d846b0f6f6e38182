"""The page of the studies of manifolds, made of what was found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.manifold.shared import Study, Table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "manifold-studies.md"
HEAD = """\
# Studies of principal manifolds

{{class}}`mercer.manifold.PrincipalManifold` beside other methods on real data, wins and losses
alike. Settings are chosen on rows of their own, by reconstruction; labels and test rows are never
used for a choice; lists of candidates were shortened for time after first runs had been seen.
Seconds are of one thread, and include every candidate that a method chose among.
A blank is a question that a method has no answer to. This page is written by `make bench
SUITE=manifold`;
do not edit it by hand.

{conditions}
"""
TAIL = """
## What is not here

The study of single cells (embryonic qPCR data of the R package destiny, beside princurve,
slingshot and ElPiGraph) needs R and these packages, which were not installed where the page was
made; the closed curve and novelty stand in. UMAP, ugtm and MiniSom were not installed either:
where they appear, numbers come from an earlier run on the same rows.
"""


def number(value: float | None) -> str:
    """Return three digits that can be seen, or nothing."""
    if value is None:
        return ""
    if value == round(value) and abs(value) < 1e6:
        return f"{value:.0f}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def lines_of(table: Table) -> list[str]:
    """Return a table with its caption."""
    lines = ["| method | " + " | ".join(table.columns) + " |"]
    lines.append("| --- |" + " ---: |" * len(table.columns))
    for name, *values in table.rows:
        lines.append(f"| {name} | " + " | ".join(map(number, values)) + " |")
    return [table.caption, "", *lines, ""]


def section(study: Study) -> list[str]:
    """Return the section of a study."""
    lines = [f"## {study.title}", "", study.question, "", study.settings, ""]
    for table in study.tables:
        lines += lines_of(table)
    if study.chosen:
        lines += [f"Chosen: {study.chosen}.", ""]
    if study.claims:
        held = [
            f"{words} {number(ours)} (at most {most:g}{'' if ours <= most else ', **missed**'})"
            for words, ours, most in study.claims
        ]
        lines += ["Must hold: " + "; ".join(held) + ".", ""]
    return [*lines, *(line for note in study.notes for line in (f"- {note}",)), ""]


def condition(about: dict[str, Any]) -> str:
    """Return a sentence on machine and versions."""
    names = ("numpy", "scipy", "scikit-learn")
    versions = ", ".join(f"{name} {about['versions'][name]}" for name in names)
    return (
        f"{about['processor']}, {about['cores']} cores, Python {about['python']}, {versions}; "
        f"commit {about['commit']}, {about['date']}."
    )


def page(found: Sequence[tuple[dict[str, Any], Study]]) -> str:
    """Return the page."""
    conditions = list(dict.fromkeys(condition(about) for about, _ in found))
    text = HEAD.format(conditions="\n".join(conditions))
    lines = [line for _, study in found for line in section(study)]
    return (text + "\n" + "\n".join(lines)).rstrip("\n") + "\n" + TAIL
