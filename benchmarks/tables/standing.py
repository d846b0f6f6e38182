"""The contest before it is complete: one method against others, where both are done."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from benchmarks.tables.judge import duel
from benchmarks.tables.sets import EVERY, PLAN

Line = dict[str, Any]
JUDGED = (("regression", "rmse"), ("classification", "error"), ("classification", "log_loss"))


def standing(lines: Iterable[Line], ours: str, developed: bool) -> Iterator[str]:
    """Yield wins, ties, losses and ratio of a method against every other, by size and metric.

    Sets count with the mean over the splits that both methods have. ``developed`` keeps to the
    sets on which rules may be changed, so that nobody sees the others while doing so.
    """
    found = {(r["method"], r["size"], r["set"], r["split"]): r for r in lines}
    others = [m for m in dict.fromkeys(method for method, *_ in found) if m != ours]
    for task, metric in JUDGED:
        sets = PLAN["sets"][task]["developed"] if developed else EVERY[task]
        for size in sorted({size for _, size, *_ in found}):
            for method in others:
                a, b = common(found, (ours, method), size, sets, metric)
                if len(a):
                    score = duel(a, b, PLAN["ties"])
                    counts = "/".join(map(str, score.counts))
                    yield (
                        f"{task} {metric} {size:>6} rows, {ours} against {method:<22} "
                        f"{counts:>8}  ratio {score.ratio:.3f}  p {score.p_value:.3f}"
                    )


def common(
    found: dict[tuple[str, int, str, int], Line],
    methods: Iterable[str],
    size: int,
    sets: Iterable[str],
    metric: str,
) -> list[np.ndarray]:
    """Return the means (sets,) of each method over the splits that all methods have."""
    methods, rows = list(methods), []
    for name in sets:
        done = [
            {i for m, n, s, i in found if (m, n, s) == (method, size, name)} for method in methods
        ]
        splits = set.intersection(*done)
        if splits:
            values = [
                [found[method, size, name, i].get(metric, np.inf) for i in splits]
                for method in methods
            ]
            rows.append(np.mean(values, axis=1))
    return list(np.array(rows).reshape(-1, len(methods)).T)
