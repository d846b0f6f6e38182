"""The table of the contest: what was measured, by method, size and set, and how it is read."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.ranking import Ranking, rank
from benchmarks.tables.judge import Duel, duel, holm
from benchmarks.tables.sets import EVERY, FRESH, PLAN, SETS, UNSEEN, fits, split

Array = NDArray[np.float64]
METRICS = {"regression": ("rmse", "r2"), "classification": ("error", "log_loss", "brier", "ece")}
# Those by which methods are ranked.
JUDGED = {"regression": ("rmse",), "classification": ("error", "log_loss")}
METHODS = [m for family in PLAN["contenders"].values() for m in family]
OURS = PLAN["recommended"]
# Our own older ways are no peers: they would make the correction of tests harder for nothing.
PEERS = [m for name, family in PLAN["contenders"].items() if name != "mercer" for m in family]
BASE = "CatBoost"
FEW = PLAN["subset"]["sets"]
KINDS = {
    "all": SETS,
    "fresh": {task: tuple(n for n in sets if n in FRESH) for task, sets in SETS.items()},
    "unseen": UNSEEN,
    "subset": {task: tuple(n for n in sets if n in FEW) for task, sets in SETS.items()},
}


def gather(lines: Iterable[dict[str, Any]], about: dict[str, Any]) -> str:
    """Make one table of the lines of all families; of a repeated measurement the last counts.

    A failed fit has no number, and its reason is kept beside.
    """
    results: dict[str, Any] = {}
    failures: list[str] = []
    found = {(r["method"], r["size"], r["set"], r["split"]): r for r in lines}
    for (method, size, name, number), r in sorted(found.items(), key=str):
        by = results.setdefault(method, {}).setdefault(str(size), {}).setdefault(name, {})
        if number != len(by.get("seconds", [])):
            continue  # splits count from the first: a gap would pair different ones
        for key in (*METRICS[task_of(name)], "seconds", "predict"):
            value = r.get(key)
            by.setdefault(key, []).append(None if value is None else float(f"{value:.5g}"))
        if "clock" in r:  # older lines have none
            by.setdefault("clock", []).append(float(f"{r['clock']:.5g}"))
        if "failed" in r:
            failures.append(f"{method}, {name}, {size:,} rows, split {number}: {r['failed']}")
    commits = sorted({r.get("commit", "") for key, r in found.items() if key[0] == OURS})
    table = {
        "about": about,
        "commits": commits,
        "sets": {name: shape(name) for sets in EVERY.values() for name in sets},
        "results": results,
        "failures": failures,
    }
    text = json.dumps(table, indent=1) + "\n"
    return re.sub(r"\[[^][{}\"]*\]", lambda found: " ".join(found[0].split()), text)


def shape(name: str) -> dict[str, Any]:
    """Describe a set; the number of classes is that at each size."""
    sizes = [size for size in map(int, PLAN["sizes"]) if fits(name, size)]
    data = {size: split(name, 0, size) for size in sizes}
    first = data[sizes[0]]
    return {
        "sizes": sizes,
        "numbers": len(first.numbers),
        "categories": len(first.categories),
        "missing": bool(first.X.isna().to_numpy().any()),
        "classes": [part.classes for part in data.values()],
    }


def task_of(name: str) -> str:
    return next(task for task, sets in EVERY.items() if name in sets)


class Field:
    """The sets of a task at a size, or at all sizes together, and what methods did there.

    Parameters
    ----------
    table : dict
        The gathered table.
    task, metric : str
        What is read; smaller is better.
    size : int or None
        Training rows; None is the mean over all sizes that a set has.
    kind : {"all", "fresh", "unseen", "subset"}
        Which sets: all that have several sizes, those of them on which no rule was developed, those
        that were added later, or those that dear peers were given.
    splits : int or None
        How many splits, from the first; None is what the plan has.
    """

    def __init__(
        self,
        table: dict[str, Any],
        task: str,
        metric: str,
        size: int | None,
        *,
        kind: str = "all",
        splits: int | None = None,
    ) -> None:
        self.table, self.task, self.metric, self.size = table, task, metric, size
        self.kind, self.splits = kind, splits
        self.sets = [
            name
            for name in KINDS[kind][task]
            if size is None or size in table["sets"][name]["sizes"]
        ]

    def values(self, method: str, metric: str = "") -> Array | None:
        """Return means over splits (sets,), infinite where a fit failed; None if any is missing."""
        found = [self._mean(method, name, metric or self.metric) for name in self.sets]
        return None if not found or None in found else np.array(found)

    def _mean(self, method: str, name: str, metric: str) -> float | None:
        sizes = self.table["sets"][name]["sizes"] if self.size is None else [self.size]
        means = []
        for size in sizes:
            wanted = self.splits or PLAN["sizes"][str(size)]["splits"]
            splits = self._found(method, name, size, metric)[:wanted]
            if len(splits) < wanted:
                return None
            means.append(np.inf if None in splits else float(np.mean(splits)))
        return float(np.mean(means))

    def _found(self, method: str, name: str, size: int, metric: str) -> list[float | None]:
        by = self.table["results"].get(method, {}).get(str(size), {}).get(name, {})
        found: list[float | None] = by.get(metric, [])
        return found

    def done(self, method: str) -> int:
        """Return how many splits of every set a method has, of those that the plan has."""
        if self.size is None or not self.sets:
            return 0
        planned: int = PLAN["sizes"][str(self.size)]["splits"]
        found = (self._found(method, name, self.size, self.metric) for name in self.sets)
        return min(planned, *map(len, found))

    def price(self, method: str) -> tuple[float, float] | None:
        """Return geometric means over sets of the error and of the seconds, those of CatBoost 1.

        They are of the splits that both have; None unless these include the first of every set.
        """
        splits = min(self.done(method), self.done(BASE))
        if not splits:
            return None
        both = Field(self.table, self.task, self.metric, self.size, kind=self.kind, splits=splits)
        error, seconds = (
            duel(both.values(method, key), both.values(BASE, key), PLAN["ties"]).ratio
            for key in (self.metric, "seconds")
        )
        return error, seconds

    def methods(self) -> list[str]:
        """Return the methods that were measured on all sets and splits of the field."""
        return [m for m in METHODS if self.values(m) is not None]

    def ranking(self) -> Ranking | None:
        """Return average ranks with Nemenyi's critical difference, of three methods or more."""
        names = self.methods()
        if len(names) < 3 or len(self.sets) < 2:
            return None
        return rank({name: self.values(name) for name in names})

    def duels(self) -> dict[str, tuple[Duel, float]]:
        """Return the recommended estimator against every other, with p-values after Holm."""
        ours = self.values(OURS)
        if ours is None:
            return {}
        names = [m for m in self.methods() if m in PEERS]
        found = [duel(ours, self.values(name), PLAN["ties"]) for name in names]
        corrected = holm([d.p_value for d in found])
        return {n: (d, float(p)) for n, d, p in zip(names, found, corrected, strict=True)}


def geometric(values: Sequence[float] | Array) -> float:
    """Return the geometric mean of what is positive and finite."""
    v = np.asarray(values, dtype=float)
    v = v[np.isfinite(v) & (v > 0)]
    return float(np.exp(np.log(v).mean())) if len(v) else np.nan
