"""What the results say: ratios, geometric means, and whether what is claimed is true."""

import re
from collections.abc import Iterable
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benchmarks.svm.problems import COMMON

Result = dict[str, Any]

# What the short run must show: times as fast as scikit-learn-intelex, geometric mean.
FAST_ENOUGH = 1.2
# A looser objective than this, relative to the best one found, would not be the same answer.
SAME_OBJECTIVE = 1e-5


class Ratio(NamedTuple):
    """How many times as long one contender takes as another: median over rounds, and extremes.

    A contender that passed the limit counts with the limit, and ``bound`` says so.
    """

    middle: float
    low: float
    high: float
    bound: bool = False


def clock_of(environment: dict[str, Any]) -> str:
    """Return which clock is fair: processor time unless several threads are to be paid off."""
    return "cpu" if environment["conditions"]["threads"] == 1 else "wall"


def middle(contender: dict[str, Any], what: str) -> float:
    return float(median(run[what] for run in contender["runs"]))


def ratio(result: Result, other: str, what: str, clock: str, base: str = "mercer") -> Ratio | None:
    """Compare two contenders round by round; none if they never met."""
    ours, theirs = (result["contenders"].get(name) for name in (base, other))
    if ours and theirs:
        key = f"{what}_{clock}"
        values = [
            their[key] / our[key] for our, their in zip(ours["runs"], theirs["runs"], strict=False)
        ]
        return Ratio(median(values), min(values), max(values))
    over = re.match(r"over (\d+) s", result["failures"].get(other, ""))
    if ours and over and what == "fit":
        least = float(over[1]) / middle(ours, "fit_wall")
        return Ratio(least, least, least, bound=True)
    return None


def ratios(
    results: Iterable[Result], other: str, what: str, clock: str, base: str = "mercer"
) -> list[tuple[Result, Ratio]]:
    found = ((result, ratio(result, other, what, clock, base)) for result in results)
    return [(result, value) for result, value in found if value is not None]


def geometric_mean(values: Iterable[float]) -> float:
    logarithms = np.log(list(values))
    return float(np.exp(logarithms.mean())) if logarithms.size else float("nan")


def exponent(rows: list[float], seconds: list[float]) -> float:
    """Return the slope of least squares through the logarithms."""
    if len(rows) < 2:
        return float("nan")
    return float(np.polyfit(np.log(rows), np.log(seconds), 1)[0])


def title(result: Result) -> str:
    p = result["problem"]
    return " ".join(filter(None, (p["machine"], p["data"], f"{p['n']:,}", p["label"])))


def disagreements(results: Iterable[Result]) -> list[str]:
    """Return what contradicts the claim that all contenders solved the same problems."""
    wrong = []
    for result in results:
        name = title(result)
        wrong += [f"{name}: {library} {why}" for library, why in result["failures"].items()]
        for library, c in result["contenders"].items():
            if library == "bare":
                continue
            # More than the violations explain, and more than float32 rows do.
            if c["disagreement"] > 1 and c["excess"] > SAME_OBJECTIVE:
                wrong.append(
                    f"{name}: {library} stopped {c['excess']:.1e} above the best objective"
                )
            # The spread is twice the tolerance where a solver measures from its intercept.
            if c["violation"] > 2 * COMMON["tol"]:
                wrong.append(f"{name}: {library} stopped at a violation of {c['violation']:.1e}")
        wrong += [f"{name}: {text}" for text in own_faults(result)]
    return wrong


def own_faults(result: Result) -> list[str]:
    """Return what is wrong with Mercer's answer and its certificate."""
    ours = result["contenders"].get("mercer")
    if ours is None:
        return [f"mercer {result['failures'].get('mercer', 'did not run')}"]
    faults = []
    if ours["excess"] > SAME_OBJECTIVE:
        faults.append(f"mercer is {ours['excess']:.1e} above the best objective")
    # Sums of n terms, each known to float64, are known to about n times its spacing.
    if ours["infeasibility"] > 1e-12 * result["problem"]["n"]:
        faults.append(f"mercer leaves the feasible set by {ours['infeasibility']:.1e}")
    # Objective and bound carry the rounding of float32 kernel values, both the same: a small part
    # of the gap between them, or of a tenth of what separates equal objectives.
    dual, relative_gap = -ours["certificate"]["dual"], ours["certificate"]["relative_gap"]
    if abs(dual - ours["objective"]) > max(0.05 * relative_gap, 0.1 * SAME_OBJECTIVE) * (
        1 + abs(dual)
    ):
        faults.append(f"mercer certifies {dual}, measured {ours['objective']}")
    return faults


def failing(results: list[Result], clock: str) -> list[str]:
    """Return why the short run fails, if it does."""
    wrong = disagreements(results)
    measured = ratios(results, "scikit-learn-intelex", "fit", clock)
    if measured:
        mean = geometric_mean(r.middle for _, r in measured)
        print(f"fit against scikit-learn-intelex: {mean:.2f} times as fast (geometric mean)")
        if mean < FAST_ENOUGH:
            wrong.append(f"{mean:.2f} is less than {FAST_ENOUGH}")
    return wrong
