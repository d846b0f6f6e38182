"""The page of the contest on tables, and its figures: error against time, average ranks."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.ranking_figure import ranks
from benchmarks.tables.price_figure import Point, prices
from benchmarks.tables.sets import (
    FRESH,
    PLAN,
    SETS,
    SIZES,
    UNSEEN,
    UNSEEN_SIZE,
    planned_splits,
)
from benchmarks.tables.table import BASE, JUDGED, METHODS, OURS, PEERS, Field, gather, geometric

__all__ = ["PAGE", "TABLE", "gather", "page", "publish"]

HERE = Path(__file__).resolve().parent
TABLE = HERE / "contest.json"
PAGE = HERE.parents[1] / "docs" / "explanation" / "tables.md"
FIGURE = "tables_ranks.svg"
PRICES = "tables_prices.svg"
TITLES = {"rmse": "RMSE", "error": "error", "log_loss": "log loss", "brier": "Brier score"}
TITLES |= {"ece": "calibration error", "r2": "R2"}

HEAD = """\
# Tables: the recommended estimators beside others

{answer}

```{{image}} ../_static/tables.png
:alt: average ranks on tables, and the error on six large tables beside the best other method
```

Average ranks among the methods that were measured on all tables of a size; the panel on the right
is about [large tables](large-tables.md).

## Error against time

```{{image}} {prices}
:alt: error against processor time, both relative to CatBoost
```

Error against processor seconds of the fit, one point a contender and size, both as ratios to
CatBoost with its defaults (geometric means over sets): points left of the grey line are faster,
points below the other are better. A set on which a fit failed, or on which one of the two errors is
zero, is left out of the point; {unseen_size} are the unseen sets. {without}

Average ranks, ratios and tests of the recommended estimators, untouched, against boosted trees and
others on {regression} regression and {classification} classification sets with their categories and
missing cells, and on {unseen} unseen sets. Training rows: {sizes}. Sets, sizes, splits,
contenders and metrics were decided in `benchmarks/tables/plan.json` before anything was measured,
except what the list of decisions below names.
This page is written by `make bench SUITE=tables`; do not edit it by hand.

## Average ranks and duels

{summary}

## Settings

- {rows}
- {features}
- {failures}
- {seen}
- {missing}
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


KINDS = {"all": "all sets", "fresh": "sets on which no rule was developed"}

UNSEEN_HEAD = """
## Unseen sets

Sets on which nothing may be tuned, with {size} or a share of {share} of their rows; the list of
decisions says what had been seen of them before. Means over the splits, then ranks and duels.
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


def sizes_of(kind: str) -> tuple[int | None, ...]:
    return (UNSEEN_SIZE,) if kind == "unseen" else (*SIZES, None)


def ranked(table: dict[str, Any], task: str, metric: str, kind: str) -> str:
    """Return the table of average ranks: methods by sizes, best at the smallest size first."""
    fields = [Field(table, task, metric, size, kind=kind) for size in sizes_of(kind)]
    found = [field.ranking() for field in fields]
    by = [dict(zip(r.names, r.ranks, strict=True)) if r else {} for r in found]
    heads = [f"{rows(f.size)}, {len(f.sets)} sets" for f in fields]
    text = head(["method"], heads)
    names = [m for m in METHODS if any(m in some for some in by)]
    for name in sorted(names, key=lambda m: by[0].get(m, np.inf)):
        text += row(name, *(number(some.get(name), 2) for some in by))
    return text + row("critical difference", *(number(r.distance, 2) if r else "" for r in found))


def against(table: dict[str, Any], task: str, metric: str, kind: str) -> str:
    """Return the table of duels of the recommended estimator: peers by sizes."""
    sizes = sizes_of(kind)
    by = [Field(table, task, metric, size, kind=kind).duels() for size in sizes]
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
    every = [*((size, "all") for size in SIZES), (UNSEEN_SIZE, "unseen")]
    if task == "classification":
        kinds = [("brier", "Brier"), ("ece", "calibration error"), *kinds]
    fields = [Field(table, task, JUDGED[task][0], size, kind=kind) for size, kind in every]
    fields = [field for field in fields if field.methods()]
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


def set_table(table: dict[str, Any], task: str, metric: str, size: int, kind: str = "all") -> str:
    field = Field(table, task, metric, size, kind=kind)
    found = {m: field.values(m) for m in field.methods()}
    if not found:
        return ""
    text = head(["set", "numbers, categories"], found)
    for i, name in enumerate(field.sets):
        shape, best = table["sets"][name], min(v[i] for v in found.values())
        cells = (number(v[i]) for v in found.values())
        bold = (
            f"**{c}**" if v[i] == best else c for c, v in zip(cells, found.values(), strict=True)
        )
        mark = " (developed)" if kind == "all" and name not in FRESH else ""
        text += row(name + mark, f"{shape['numbers']}, {shape['categories']}", *bold)
    return text


def first_splits(table: dict[str, Any], task: str, metric: str, size: int, kind: str) -> str:
    """Return values of the first split, of contenders that have not all splits beside others."""
    field = Field(table, task, metric, size, kind=kind, splits=1)
    whole = Field(table, task, metric, size, kind="all" if kind == "subset" else kind)
    planned = PLAN["sizes"][str(size)]["splits"]
    shorter = "subset" if kind == "subset" else "first split"
    few = [
        m
        for m in field.methods()
        if (whole.done(m) == 0 if shorter == "subset" else whole.done(m) < planned)
    ]
    if not few:
        return ""
    wanted = (OURS, BASE, "LightGBM tuned", "SVM grid", *few)
    shown = [m for m in dict.fromkeys(wanted) if m in field.methods()]
    found = {m: field.values(m) for m in shown}
    title = {"unseen": ", unseen sets", "subset": f", {len(field.sets)} sets"}.get(kind, "")
    text = f"\n{task}, {TITLES[metric]}, {rows(size)}{title}:\n\n" + head(["set"], shown)
    for i, name in enumerate(field.sets):
        text += row(name, *(number(v[i]) for v in found.values()))
    duels = field.duels()
    cells = ["" if m not in duels else "/".join(map(str, duels[m][0].counts)) for m in shown]
    ratios = ["" if m not in duels else number(duels[m][0].ratio) for m in shown]
    if duels:
        text += row("recommended: better / tied / worse", *cells)
        text += row("recommended: ratio", *ratios)
    return text


def fields_of(table: dict[str, Any], task: str, metric: str) -> list[Field]:
    """Return a field a size, the last of unseen sets."""
    fields = [Field(table, task, metric, size) for size in SIZES]
    return [*fields, Field(table, task, metric, UNSEEN_SIZE, kind="unseen")]


def priced(table: dict[str, Any]) -> dict[str, list[Point]]:
    """Return the points of the figure of error against time, a list a metric."""
    found: dict[str, list[Point]] = {}
    for task, metrics in JUDGED.items():
        for metric in metrics:
            points = found.setdefault(f"{task}, {TITLES[metric]}", [])
            for field in fields_of(table, task, metric):
                for method in METHODS:
                    ratios = field.price(method)
                    if ratios is not None and field.size is not None:
                        points.append((method, field.size, *ratios))
    return found


def unpriced(table: dict[str, Any]) -> str:
    """Name the contenders without a point."""
    shown = {method for points in priced(table).values() for method, *_ in points}
    left = [method for method in METHODS if method not in shown]
    return f"Without a point, for want of lines: {', '.join(left)}." if left else ""


def missing(table: dict[str, Any]) -> str:
    """Say which contenders of the plan were not measured, or not on all of it."""
    none, part = [], []
    for family in PLAN["contenders"].values():
        for method, how in family.items():
            short = [
                f"{field.size:,}"
                for task, metrics in JUDGED.items()
                for field in fields_of(table, task, metrics[0])
                if how["group"] != "subset"
                and field.done(method) < planned_splits(how, field.size or 0)
            ]
            if method not in table["results"]:
                none.append(method + (f" (needs {how['needs']})" if "needs" in how else ""))
            elif short:
                part.append(f"{method} ({', '.join(dict.fromkeys(short))} rows)")
    text = f"Planned and without a line yet: {', '.join(none)}." if none else ""
    more = f" Planned and not complete: {', '.join(part)}." if part else ""
    return (text + more).strip() or "Everything that the plan has was measured."


def unseen(table: dict[str, Any]) -> str:
    """Return the section of the unseen sets."""
    text = ""
    for task, metrics in JUDGED.items():
        for metric in metrics:
            values = set_table(table, task, metric, UNSEEN_SIZE, "unseen")
            if values:
                text += f"\n### {task.capitalize()}, {TITLES[metric]}, unseen sets\n\n" + values
                text += "\n" + ranked(table, task, metric, "unseen")
                text += "\n" + against(table, task, metric, "unseen")
    return text or "\nNo contender has all splits of them yet.\n"


def summary(table: dict[str, Any]) -> str:
    """Return, task by task, the average rank beside that of the best peer, and wins over one."""
    text = ""
    for task, metrics in JUDGED.items():
        for metric in metrics:
            parts = []
            for field in fields_of(table, task, metric):
                found, duels = field.ranking(), field.duels()
                if found is None or OURS not in found.names:
                    continue
                by = dict(zip(found.names, found.ranks, strict=True))
                best = min((m for m in by if m in PEERS), key=lambda m: by[m])
                which = "unseen sets" if field.kind == "unseen" else rows(field.size)
                part = f"{by[OURS]:.2f} with {which} (best peer: {best}, {by[best]:.2f}"
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


def answer(table: dict[str, Any]) -> str:
    """Return the result in plain words: where the recommended estimators lead, and the price."""
    first: dict[str, list[str]] = {}
    others, seconds = [], []
    for task, metrics in JUDGED.items():
        for metric in metrics:
            for field in fields_of(table, task, metric):
                found, price = field.ranking(), field.price(OURS)
                if found is None or OURS not in found.names:
                    continue
                by = dict(zip(found.names, found.ranks, strict=True))
                best = min((m for m in by if m in PEERS), key=lambda m: by[m])
                which = "unseen sets" if field.kind == "unseen" else rows(field.size)
                if by[OURS] < by[best]:
                    first.setdefault(which, []).append(f"{task} ({TITLES[metric]})")
                else:
                    how = "shares the lowest rank with" if by[OURS] == by[best] else "is behind"
                    others.append(f"in {task} ({TITLES[metric]}) with {which} it {how} {best}")
                if price is not None:
                    seconds.append(price[1])
    every = sum(map(len, JUDGED.values()))
    led = "; ".join(
        f"with {which} in {'every measure' if len(names) == every else ', '.join(names)}"
        for which, names in first.items()
    )
    text = f"Untouched, the recommended estimator has the lowest average rank {led}.\n"
    if others:
        text += f"It does not lead everywhere: {'; '.join(others)}.\n"
    if seconds:
        text += f"A fit takes {min(seconds):.1f} to {max(seconds):.1f} times as long as CatBoost's "
        text += "with its defaults (geometric means over sets)."
    return text.rstrip("\n")


def panels(table: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for task, metrics in JUDGED.items():
        for metric in metrics:
            for field in fields_of(table, task, metric):
                found = field.ranking()
                if found is not None:
                    which = f"{len(field.sets)} unseen sets" if field.kind == "unseen" else ""
                    which = which or f"{rows(field.size)}, {len(field.sets)} sets"
                    yield f"{task}, {TITLES[metric]}, {which}", found


def contenders(table: dict[str, Any]) -> str:
    text = ""
    for family in PLAN["contenders"].values():
        for name, how in family.items():
            if name in table["results"]:
                sizes = ", ".join(
                    f"{int(s):,}" + f" ({n} split{'s' * (n > 1)})" * (n < planned["splits"])
                    for s, planned in PLAN["sizes"].items()
                    if (n := planned_splits(how, int(s)))
                )
                few = f"; {len(PLAN['subset']['sets'])} sets"
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
        answer=answer(table),
        summary=summary(table),
        regression=len(SETS["regression"]),
        classification=len(SETS["classification"]),
        unseen=sum(map(len, UNSEEN.values())),
        unseen_size=rows(UNSEEN_SIZE),
        sizes=", ".join(
            f"{int(s):,} (x {how['splits']} splits{', unseen sets' * ('unseen' in how)})"
            for s, how in PLAN["sizes"].items()
        ),
        rows=PLAN["rows"],
        features=PLAN["features"],
        failures=PLAN["failures"],
        seen=PLAN["seen before"],
        missing=missing(table),
        prices=PRICES,
        without=unpriced(table),
        machines=machines(table["about"]),
        commits=", ".join(table["commits"]),
        contenders=contenders(table),
        metrics="".join(row(k, v) for k, v in PLAN["metrics"].items()).rstrip("\n"),
        figure=FIGURE,
    )
    text += DUELS.format(tie=PLAN["ties"])
    text += UNSEEN_HEAD.format(size=rows(UNSEEN_SIZE), share=PLAN["share"]) + unseen(table)
    for task, metrics in JUDGED.items():
        means = "time" if task == "regression" else "calibration and time"
        for metric in metrics:
            for kind, which in KINDS.items():
                text += f"\n## {task.capitalize()}, {TITLES[metric]}, {which}\n\n"
                text += ranked(table, task, metric, kind)
                text += "\n" + against(table, task, metric, kind)
        text += f"\n## {task.capitalize()}, {means}\n\n"
        text += "Geometric means over sets.\n\n" + other_means(table, task)
    text += "\n## Dear contenders\n\n"
    text += "The first split alone, of contenders that have not all splits; some on few sets.\n"
    for task, metrics in JUDGED.items():
        for metric in metrics:
            text += first_splits(table, task, metric, UNSEEN_SIZE, "unseen")
            for kind in ("all", "subset"):
                text += "".join(first_splits(table, task, metric, s, kind) for s in SIZES)
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
    prices(priced(table), METHODS, PAGE.parent / PRICES)
    PAGE.write_text(page(table), encoding="utf-8")
