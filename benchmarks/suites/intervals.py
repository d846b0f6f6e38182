"""Intervals of the recommended regressor beside quantiles of boosted trees; ten minutes.

90 % intervals on ten sets of the contest on tables: those of the fit itself, and LightGBM's
quantiles moved by a quarter of the rows set aside (conformalized quantile regression, by PEERS).
``--short`` takes half a minute and fails if coverage is far from nominal.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.store import Record
from benchmarks.suites.tables import Split, split

SETS = (
    *("abalone", "airfoil", "bike_sharing", "california", "concrete"),
    *("cpusmall", "house8l", "power_plant", "protein_casp", "wine_quality"),
)
SPLITS, LARGEST = {500: 3, 2000: 1}, ("airfoil", "concrete")
COVERAGE, ASIDE = 0.9, 0.25
INTERPRETERS = {"LightGBM, CQR": "PEERS"}
PACKAGES = {"PEERS": ("lightgbm", "scikit-learn")}
Ends = Callable[[Any], tuple[np.ndarray, np.ndarray]]


def cases(short: bool) -> list[dict[str, Any]]:
    if short:
        return [{"set": "friedman1", "size": 300}]
    # Two sets have not 2,000 rows to learn from.
    return [
        {"set": name, "size": size}
        for size in SPLITS
        for name in SETS
        if size == 500 or name not in LARGEST
    ]


def contenders(case: dict[str, Any]) -> list[str]:
    return ["AutoRegressor", "LightGBM, CQR"]


def repeats(case: dict[str, Any], name: str) -> int:
    return SPLITS.get(case["size"], 1)


def ours(data: Split) -> Ends:
    from mercer import AutoRegressor

    machine = AutoRegressor().fit(data.X, data.y)
    return lambda X: tuple(machine.predict_interval(X, COVERAGE).T)


def quantiles(data: Split) -> Ends:
    import lightgbm

    order = np.random.default_rng(0).permutation(len(data.y))
    aside, learn = np.split(order, [round(ASIDE * len(order))])
    machines = [
        lightgbm.LGBMRegressor(
            objective="quantile", alpha=level, n_jobs=1, verbose=-1, random_state=0
        ).fit(data.X.iloc[learn], data.y[learn])
        for level in (0.5 - 0.5 * COVERAGE, 0.5 + 0.5 * COVERAGE)
    ]
    low, high = (machine.predict(data.X.iloc[aside]) for machine in machines)
    scores = np.sort(np.maximum(low - data.y[aside], data.y[aside] - high))
    rank = int(np.ceil(COVERAGE * (len(aside) + 1)))
    moved = scores[min(rank, len(aside)) - 1]
    return lambda X: (machines[0].predict(X) - moved, machines[1].predict(X) + moved)


def run(case: dict[str, Any], name: str, number: int) -> dict[str, float]:
    """Return interval score, coverage and mean width on the test rows, and seconds of the fit."""
    data = split(case["set"], number, case["size"], 2000)
    cpu = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ends = (quantiles if name in INTERPRETERS else ours)(data)
        cpu = time.process_time() - cpu
        low, high = ends(data.X_test)
    y = data.y_test
    outside = np.maximum(low - y, 0.0) + np.maximum(y - high, 0.0)
    return {
        "score": float(np.mean(high - low + 2.0 / (1.0 - COVERAGE) * outside)),
        "coverage": float(np.mean((y >= low) & (y <= high))),
        "seconds": cpu,
    }


def line(values: dict[str, Any]) -> str:
    return str(values)


def means(records: list[Record], size: int, name: str) -> dict[str, tuple[float, float]]:
    """Return mean score and coverage over splits, by set."""
    return {
        r.case["set"]: (float(np.mean(r.all("score"))), float(np.mean(r.all("coverage"))))
        for r in records
        if r.case["size"] == size and r.contender == name and "score" in r
    }


def claims(records: list[Record], short: bool) -> list[str]:
    """Name sets whose coverage is beyond four standard errors of a share of 300 rows."""
    slack = 4.0 * np.sqrt(COVERAGE * (1.0 - COVERAGE) / 300)
    return [
        f"{r.case}: {r.get('failure') or r['coverage']}"
        for r in records
        if r.contender not in INTERPRETERS and not abs(r.get("coverage", 0.0) - COVERAGE) <= slack
    ]
