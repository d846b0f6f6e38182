"""Prediction intervals of the recommended regressor beside conformalized quantile regression.

``intervals.py run FAMILY`` measures 90 % intervals on ten sets of the contest on tables:
``mercer`` the intervals of the fit itself, ``peers`` LightGBM's quantiles moved by a quarter of the
rows set aside (conformalized quantile regression), by an interpreter that has LightGBM and need not
have this library. Lines are appended, and a run goes on where it was cut short. ``report`` writes
the page.
"""

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ |= dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.tables.sets import FRESH, Split, fits, split

Array = NDArray[np.float64]
Ends = Callable[[Any], tuple[Array, Array]]

HERE = Path(__file__).resolve().parent
LINES = HERE / "results"
PAGE = HERE.parents[1] / "docs" / "explanation" / "table-intervals.md"
SETS = (
    *("abalone", "airfoil", "bike_sharing", "california", "concrete"),
    *("cpusmall", "house8l", "power_plant", "protein_casp", "wine_quality"),
)
SPLITS = {500: 3, 2000: 1}
COVERAGE, ASIDE = 0.9, 0.25
NAMES = {"mercer": "AutoRegressor", "peers": "LightGBM, CQR"}

HEAD = """\
# Intervals on tables

{answer}

```{{image}} ../auto_examples/studies/images/sphx_glr_plot_study_intervals_001.png
:alt: coverage of several methods by temperature and by hour, on two sets
:target: ../auto_examples/studies/plot_study_intervals.html
```

An average hides where intervals fail: the figure, of another study, shows coverage in parts of two
sets.

Intervals of 90 % of `AutoRegressor().predict_interval`, untouched, beside LightGBM's quantiles
(default settings) moved by a quarter of the rows set aside, which is conformalized quantile
regression. Ten sets, {splits}. The interval score is the mean width plus twenty times the distance
of targets outside, in standard deviations of the training target: smaller is better. Written by
`make bench SUITE=tables-intervals`; do not edit it by hand. Sets with a star were not used while
the
estimator was developed.

"""


def mercer(data: Split) -> Ends:
    from mercer import AutoRegressor

    machine = AutoRegressor().fit(data.X, data.y)
    return lambda X: tuple(machine.predict_interval(X, COVERAGE).T)


def peers(data: Split) -> Ends:
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


def measure(fit: Callable[[Split], Ends], data: Split) -> dict[str, float]:
    """Return interval score, coverage and mean width on the test rows, and seconds of the fit."""
    cpu = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ends = fit(data)
        cpu = time.process_time() - cpu
        low, high = ends(data.X_test)
    y = data.y_test
    outside = np.maximum(low - y, 0.0) + np.maximum(y - high, 0.0)
    return {
        "score": float(np.mean(high - low + 2.0 / (1.0 - COVERAGE) * outside)),
        "coverage": float(np.mean((y >= low) & (y <= high))),
        "width": float(np.mean(high - low)),
        "seconds": cpu,
    }


def kept(folder: Path, family: str) -> list[dict[str, Any]]:
    path = folder / f"intervals_{family}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(folder: Path, family: str) -> None:
    """Measure what is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    done = {(r["set"], r["size"], r["split"]) for r in kept(folder, family)}
    for size, splits in SPLITS.items():
        for number in range(splits):
            for name in SETS:
                if (name, size, number) in done or not fits(name, size):
                    continue
                found = measure(globals()[family], split(name, number, size))
                result = {"set": name, "size": size, "split": number} | found
                with (folder / f"intervals_{family}.jsonl").open("a") as out:
                    out.write(json.dumps(result) + "\n")
                print(result, flush=True)


def page(lines: dict[str, list[dict[str, Any]]]) -> str:
    """Return the page: a table for every size, and means."""
    described = ", ".join(f"{size:,} rows x {n}" for size, n in SPLITS.items())
    text, said = "", []
    for size in SPLITS:
        text += f"## {size:,} training rows\n\n"
        text += "| set | score | CQR's score | ratio | coverage | CQR's coverage |\n"
        text += "| --- | ---: | ---: | ---: | ---: | ---: |\n"
        means = []
        for name in SETS:
            by = [
                [r for r in lines[family] if (r["set"], r["size"]) == (name, size)]
                for family in NAMES
            ]
            if not all(by):
                continue
            ours, theirs = (
                {key: float(np.mean([r[key] for r in rows])) for key in ("score", "coverage")}
                for rows in by
            )
            means.append((ours["score"], theirs["score"], ours["coverage"], theirs["coverage"]))
            star = "*" if name in FRESH else ""
            text += (
                f"| {name}{star} | {means[-1][0]:.3f} | {means[-1][1]:.3f} | "
                f"{means[-1][0] / means[-1][1]:.3f} | {means[-1][2]:.3f} | {means[-1][3]:.3f} |\n"
            )
        table = np.array(means)
        ratio = float(np.exp(np.mean(np.log(table[:, 0] / table[:, 1]))))
        mean = table.mean(axis=0)
        said.append(
            f"With {size:,} rows intervals of 90 % contain {mean[2]:.1%} of new targets, and their"
            f" score is {ratio:.2f} of that of LightGBM's conformalized quantiles (geometric mean"
            f" of {len(table)} sets; lower on {int(np.sum(table[:, 0] < table[:, 1]))} of them)."
        )
        text += (
            f"| **mean** | {mean[0]:.3f} | {mean[1]:.3f} | {ratio:.3f} | "
            f"{mean[2]:.3f} | {mean[3]:.3f} |\n\n"
        )
    head = HEAD.format(answer="\n".join(said), splits=f"{described} splits")
    return head + text + "The mean of the ratios is geometric.\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["run", "report"])
    parser.add_argument("family", nargs="?", choices=NAMES)
    parser.add_argument("--out", type=Path, default=LINES)
    options = parser.parse_args()
    if options.action == "run":
        run(options.out, options.family)
        return 0
    PAGE.write_text(page({family: kept(options.out, family) for family in NAMES}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
