"""The page of the contest on tables, and its figure of average ranks."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.ranking_figure import ranks
from benchmarks.tables.sets import FRESH, PLAN, SETS, SIZES
from benchmarks.tables.table import JUDGED, METHODS, OURS, Field, gather, geometric

__all__ = ["PAGE", "TABLE", "gather", "page", "publish"]

HERE = Path(__file__).resolve().parent
TABLE = HERE / "contest.json"
PAGE = HERE.parents[1] / "docs" / "explanation" / "tables.md"
FIGURE = "tables_ranks.svg"
TITLES = {"rmse": "RMSE", "error": "error", "log_loss": "log loss", "brier": "Brier score"}
TITLES |= {"ece": "calibration error", "r2": "R2"}

HEAD = """\
# Tables: the recommended estimators beside others

{summary}

Average ranks, ratios and tests of the recommended estimators, untouched, against boosted trees and
others on {regression} regression and {classification} classification sets with their categories and
missing cells. Training rows: {sizes}. Sets, sizes, splits,
contenders and metrics were decided in `benchmarks/tables/plan.json` before anything was measured.
This page is written by `make bench-tables`; do not edit it by hand.

## Settings

- {rows}
- {features}
- {failures}
- {seen}
- One thread each. {machines} The recommended estimators are those of commit {commits}.

| contender | settings | training rows |
| --- | --- | --- |
{contenders}

| metric | meaning |
| --- | --- |
{metrics}

```{{image}} {figure}
:alt: average ranks with critical differences
```

Bars join methods that Nemenyi's test at 5 % does not tell apart. The critical difference grows with
the number of methods; the pairs that matter are tested by themselves below.
"""

DUELS = """
Against the recommended estimator: sets on which it is better / tied within {tie:.0%} / worse, the
geometric mean of the ratios (below 1: the recommended estimator is better), and p of Wilcoxon's
signed ranks over sets after Holm's correction for the number of peers.
"""

LIMITS = """
## Limits

- Splits of one set share rows: only sets are independent, and some seventeen of them tell apart
  what differs clearly.
- Peers were given little tuning: a specialist would do better with each of them. RealMLP smooths
  labels by default, which its authors advise against where log loss matters.
- The random splits ignore the order in time of bike_sharing, elec2 and flights_nyc13.
- Processor seconds were measured on a machine that had other work.
"""


def row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |\n"


def head(first: Iterable[str], others: Iterable[str]) -> str:
    first, others = list(first), list(others)
    return row(*first, *others) + row(*["---"] * len(first), *["---:"] * len(others))


def number(value: float | None, digits: int = 3) -> str:
    if value is None:
        return ""
    return "failed" if np.isinf(value) else f"{value:.{digits}f}"


def rows(size: int | None) -> str:
    return "all sizes" if size is None else f"{size:,} rows"


def ranked(table: dict[str, Any], task: str, metric: str, fresh: bool) -> str:
    """Return the table of average ranks: methods by sizes, best at the smallest size first."""
    fields = [Field(table, task, metric, size, fresh=fresh) for size in (*SIZES, None)]
    found = [field.ranking() for field in fields]
    by = [dict(zip(r.names, r.ranks, strict=True)) if r else {} for r in found]
    heads = [f"{rows(f.size)}, {len(f.sets)} sets" for f in fields]
    text = head(["method"], heads)
    names = [m for m in METHODS if any(m in some for some in by)]
    for name in sorted(names, key=lambda m: by[0].get(m, np.inf)):
        text += row(name, *(number(some.get(name), 2) for some in by))
    return text + row("critical difference", *(number(r.distance, 2) if r else "" for r in found))


def against(table: dict[str, Any], task: str, metric: str, fresh: bool) -> str:
    """Return the table of duels of the recommended estimator: peers by sizes."""
    sizes = (*SIZES, None)
    by = [Field(table, task, metric, size, fresh=fresh).duels() for size in sizes]
    if not any(by):
        return ""
    text = head(["against"], map(rows, sizes))
    for name in [m for m in METHODS if any(m in found for found in by)]:
        cells = []
        for found in by:
            if name in found:
                duel, p = found[name]
                counts = "/".join(map(str, duel.counts))
                cells.append(f"{counts}, {duel.ratio:.3f}, p {p:.2g}")
            else:
                cells.append("")
        text += row(name, *cells)
    return text


def other_means(table: dict[str, Any], task: str) -> str:
    """Return geometric means over sets of seconds, and of the metrics without ranks."""
    kinds = [("seconds", "fit, s"), ("predict", "predict, s")]
    if task == "classification":
        kinds = [("brier", "Brier"), ("ece", "calibration error"), *kinds]
    fields = [Field(table, task, JUDGED[task][0], size) for size in SIZES]
    text = head(["method"], (f"{what}, {rows(f.size)}" for _, what in kinds for f in fields))
    for name in METHODS:
        cells = []
        for key, _ in kinds:
            for field in fields:
                values = field.values(name, key)
                cells.append("" if values is None else f"{geometric(values):.2g}")
        if any(cells):
            text += row(name, *cells)
    return text


def set_table(table: dict[str, Any], task: str, metric: str, size: int) -> str:
    field = Field(table, task, metric, size)
    found = {m: field.values(m) for m in field.methods()}
    text = head(["set", "numbers, categories"], found)
    for i, name in enumerate(field.sets):
        shape, best = table["sets"][name], min(v[i] for v in found.values())
        cells = (number(v[i]) for v in found.values())
        bold = (
            f"**{c}**" if v[i] == best else c for c, v in zip(cells, found.values(), strict=True)
        )
        mark = "" if name in FRESH else " (developed)"
        text += row(name + mark, f"{shape['numbers']}, {shape['categories']}", *bold)
    return text


def dear(table: dict[str, Any], task: str, metric: str, size: int) -> str:
    """Return the sets that dear peers were given: their values beside some others."""
    field = Field(table, task, metric, size, subset=True)
    few = [m for m, how in PLAN["contenders"]["peers"].items() if how["group"] == "subset"]
    wanted = (OURS, "CatBoost", "LightGBM tuned", "SVM grid", *few)
    shown = [m for m in wanted if m in field.methods()]
    if not set(few) & set(shown):
        return ""
    found = {m: field.values(m) for m in shown}
    text = f"\n{task}, {TITLES[metric]}, {rows(size)}:\n\n" + head(["set"], shown)
    for i, name in enumerate(field.sets):
        text += row(name, *(number(v[i]) for v in found.values()))
    duels = field.duels()
    cells = ["" if m not in duels else "/".join(map(str, duels[m][0].counts)) for m in shown]
    return text + (row("recommended: better / tied / worse", *cells) if duels else "")


def summary(table: dict[str, Any]) -> str:
    """Return, task by task, the average rank beside that of the best peer, and wins over one."""
    text = ""
    for task, metrics in JUDGED.items():
        for metric in metrics:
            parts = []
            for size in SIZES:
                field = Field(table, task, metric, size)
                found, duels = field.ranking(), field.duels()
                if found is None or OURS not in found.names:
                    continue
                by = dict(zip(found.names, found.ranks, strict=True))
                best = min((m for m in by if m in PLAN["contenders"]["peers"]), key=lambda m: by[m])
                part = f"{by[OURS]:.2f} with {rows(size)} (best peer: {best}, {by[best]:.2f}"
                if "CatBoost" in duels:
                    duel, p = duels["CatBoost"]
                    counts = "/".join(map(str, duel.counts))
                    part += f"; against CatBoost better, tied, worse on {counts} sets, p {p:.2g}"
                parts.append(part + ")")
            if parts:
                text += (
                    f"- {task.capitalize()}, {TITLES[metric]}: average rank {'; '.join(parts)}.\n"
                )
    return text.rstrip("\n")


def panels(table: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for task, metrics in JUDGED.items():
        for metric in metrics:
            for size in SIZES:
                field = Field(table, task, metric, size)
                found = field.ranking()
                if found is not None:
                    yield f"{task}, {TITLES[metric]}, {rows(size)}, {len(field.sets)} sets", found


def contenders(table: dict[str, Any]) -> str:
    text = ""
    for family in PLAN["contenders"].values():
        for name, how in family.items():
            if name in table["results"]:
                sizes = ", ".join(f"{s:,}" for s in how.get("sizes", SIZES))
                few = f"; {len(PLAN['subset']['sets'])} sets, one split"
                text += row(name, how["about"], sizes + few * (how["group"] == "subset"))
    return text.rstrip("\n")


def machines(about: dict[str, Any]) -> str:
    texts = []
    for facts in about.values():
        versions = ", ".join(f"{k} {v}" for k, v in facts["versions"].items())
        texts.append(
            f"{facts['processor']}, Python {facts['python']}, {versions}; {facts['date']}."
        )
    return " ".join(texts)


def page(table: dict[str, Any]) -> str:
    """Return the page."""
    text = HEAD.format(
        summary=summary(table),
        regression=len(SETS["regression"]),
        classification=len(SETS["classification"]),
        sizes=", ".join(f"{s:,} (x {PLAN['sizes'][str(s)]['splits']} splits)" for s in SIZES),
        rows=PLAN["rows"],
        features=PLAN["features"],
        failures=PLAN["failures"],
        seen=PLAN["seen before"],
        machines=machines(table["about"]),
        commits=", ".join(table["commits"]),
        contenders=contenders(table),
        metrics="".join(row(k, v) for k, v in PLAN["metrics"].items()).rstrip("\n"),
        figure=FIGURE,
    )
    text += DUELS.format(tie=PLAN["ties"])
    for task, metrics in JUDGED.items():
        means = "time" if task == "regression" else "calibration and time"
        for metric in metrics:
            for fresh in (False, True):
                which = "sets on which no rule was developed" if fresh else "all sets"
                text += f"\n## {task.capitalize()}, {TITLES[metric]}, {which}\n\n"
                text += ranked(table, task, metric, fresh)
                text += "\n" + against(table, task, metric, fresh)
        text += f"\n## {task.capitalize()}, {means}\n\n"
        text += "Geometric means over sets.\n\n" + other_means(table, task)
    text += "\n## Tuned CatBoost and additive trees\n\n"
    text += "Dear peers were given a subset of the sets, and the first split alone.\n"
    for task, metrics in JUDGED.items():
        for metric in metrics:
            text += "".join(dear(table, task, metric, size) for size in SIZES)
    text += "\n## What was decided after which numbers\n\n" + PLAN["decided"] + "\n\n"
    text += "".join(f"- {decision}\n" for decision in PLAN["decisions"])
    text += "\n## Set by set\n"
    for task, metrics in JUDGED.items():
        for metric in metrics:
            for size in SIZES:
                text += f"\n### {task.capitalize()}, {TITLES[metric]}, {rows(size)}\n\n"
                text += set_table(table, task, metric, size)
    if table["failures"]:
        text += "\n## Failed fits\n\n" + "".join(f"- {f}\n" for f in table["failures"])
    return re.sub(r"\n{3,}", "\n\n", text + LIMITS)


def publish(table: dict[str, Any]) -> None:
    found = dict(panels(table))
    if not found:
        raise SystemExit("no three methods are complete yet; ask for the standing instead")
    ranks(found, PAGE.parent / FIGURE)
    PAGE.write_text(page(table), encoding="utf-8")
